#!/usr/bin/env python3
"""All faults at once: ten executors on a few runs, kill -9, SIGSTOP and continue, a full disk, a read-only disk, a deleted
projection. Afterwards plain SQL and the exported ledger check the invariants.

PAWL_TORTURE_SECONDS=N injects faults for N seconds (default 60). PAWL_CRASH_SEED=S sets the seed.
"""

import collections
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
import unittest

import own_namespaces
from pawl_testing import PawlTest

SECONDS = int(os.environ.get("PAWL_TORTURE_SECONDS", "60"))
SEED = int(os.environ.get("PAWL_CRASH_SEED", "21"))
EXECUTORS, RUNS_OPEN, PHASES, MAX_ATTEMPTS = 10, 3, 4, 3
DISK_MIB = 256

PLAN = """\
version: 1
workflow: torture
source: {path: source}
max_attempts: %d
budget: {sandbox_seconds: 1000000}
gates:
  check: {steps: [{name: build, run: "sleep 0.05; test -e made-$(ls | grep -c made-)"}], signals: [build]}
tiers:
  - parallel: true
    on_failure: continue
    phases:
""" % MAX_ATTEMPTS


class Torture(PawlTest):
    def setUp(self):
        super().setUp()
        self.write("source/file", "x\n")
        # Some attempts fail, some steps are slow, each phase adds files of its own.
        agent = 'sleep 0.$((PAWL_ATTEMPT * 3)); echo x >made-1; [ $(od -An -N1 -tu1 /dev/urandom) -gt 60 ]'
        self.write("plan.yaml", PLAN + "".join(
            f"      - {{id: p{i}, goal: g, agent: {{run: {json.dumps(agent)}}}, gates: [check]}}\n"
            for i in range(PHASES)))
        self.state = self.root / "state"
        self.state.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_MIB}m", "torture", self.state], check=True)
        self.addCleanup(subprocess.run, ["umount", self.state], check=True)
        self.dir = self.state / ".pawl"
        self.rng = random.Random(SEED)
        self.executors, self.done = [], collections.Counter()

    def sql(self, statement):
        with sqlite3.connect(self.dir / "pawl.db", timeout=60) as db:
            rows = db.execute(statement).fetchall()
        db.close()
        return rows

    def keep_going(self):
        """Starts an executor, on a new or an open run, while there are fewer than wanted."""
        self.executors = [process for process in self.executors if process.poll() is None]
        env = {"PAWL_LEASE_MS": "1500", "PAWL_DIR": str(self.dir)}
        if len(self.executors) < EXECUTORS:
            runs = self.sql("SELECT COUNT(*) FROM runs WHERE state = 'EXECUTING'") if self.there() else [(0,)]
            what = ["run", "plan.yaml"] if runs[0][0] < RUNS_OPEN else ["resume"]
            self.executors.append(self.start(*what, env=env))

    def there(self):
        try:
            return self.sql("SELECT COUNT(*) FROM sqlite_schema WHERE name = 'runs'")[0][0] == 1
        except sqlite3.OperationalError:
            return False  # not yet

    # --- faults

    def fault(self):
        name = self.rng.choice(["kill"] * 6 + ["kill_supervisor"] * 3 + ["pause"] * 4 + ["forget_projections", "full_disk", "read_only_disk"])
        if getattr(self, name)():
            self.done[name] += 1

    def kill(self):
        process = self.rng.choice(self.executors)
        process.kill()
        process.wait()
        return True

    def kill_supervisor(self):
        found = self.supervisors()
        try:
            if found:
                os.kill(self.rng.choice(found), signal.SIGKILL)
        except ProcessLookupError:
            return False
        return bool(found)

    def pause(self):
        process = self.rng.choice(self.executors)
        if process.poll() is not None:
            return False
        process.send_signal(signal.SIGSTOP)
        time.sleep(self.rng.uniform(0.1, 3))
        process.send_signal(signal.SIGCONT)
        return True

    def forget_projections(self):
        shutil.rmtree(self.dir / "runs", ignore_errors=True)
        return True

    def full_disk(self):
        ballast = self.state / "ballast"
        try:
            with open(ballast, "wb") as file:
                while True:
                    file.write(bytes(1 << 20))
        except OSError:
            pass
        time.sleep(self.rng.uniform(0.1, 1))
        ballast.unlink()
        return True

    def read_only_disk(self):
        for process in self.executors:
            process.kill()
            process.wait()
        self.wait_until(lambda: not self.supervisors(), "the steps that ran are over")
        # mount(8) needs the device name here. Without it, it repeats the existing options, and a user
        # namespace refuses one of them.
        if subprocess.run(["mount", "-o", "remount,ro", "torture", self.state], capture_output=True).returncode != 0:
            return False
        failed = self.pawl("resume", env={"PAWL_DIR": str(self.dir)}, expect=None)
        subprocess.run(["mount", "-o", "remount,rw", "torture", self.state], check=True)
        self.assertEqual(failed.returncode, 1, failed)
        self.assertIn("pawl: ", failed.stderr)
        return True

    # --- invariants

    def runs(self):
        return [run_id for run_id, in self.sql("SELECT run_id FROM runs ORDER BY 1")]

    def project(self):
        """Completes the projections: every command that ends with a run writes the rows that they lack. No work is left to resume."""
        self.pawl("resume", *self.runs(), env={"PAWL_DIR": str(self.dir)}, expect=None)

    @staticmethod
    def ledger_files(folder):
        return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*.jsonl") if path.parent.name != "cost"}

    def check_files(self):
        """Checks every run: the export verifies, its rows are in order, and the projections equal it byte for byte. That
        holds for the projections that crashes and a full disk left, and for new ones."""
        exports = {run_id: self.root / "exports" / run_id for run_id in self.runs()}
        for run_id, folder in exports.items():
            folder.parent.mkdir(exist_ok=True)
            self.pawl("export", run_id, folder, env={"PAWL_DIR": str(self.dir)})
            self.pawl("verify", folder)
            for phase in (folder / "phases").iterdir():
                self.check_order(phase / "attempts.jsonl")
        cost = "".join(f"{line}\n" for line, in self.sql("SELECT line FROM cost ORDER BY cost_seq"))
        for what in ("as they were left", "made anew"):
            self.project()
            for run_id, folder in exports.items():
                self.assertEqual(self.ledger_files(self.dir / "runs" / run_id), self.ledger_files(folder), (what, run_id))
            self.assertEqual((self.dir / "cost/sandbox.jsonl").read_text(), cost, what)
            shutil.rmtree(self.dir / "runs")
            shutil.rmtree(self.dir / "cost")

    def check_order(self, path):
        """Each result comes after one marker, and no step of an attempt comes after the attempt's end."""
        begun, done, ended = set(), set(), set()
        for row in self.rows(path):
            where = (str(path), row["seq"])
            step, attempt = row.get("sandbox_run_id"), row.get("attempt_id")
            if row["type"] == "pre_execute":
                self.assertNotIn(step, begun, where)
                begun.add(step)
            elif row["type"] == "executed":
                self.assertIn(step, begun - done, where)
                done.add(step)
            elif row["type"] == "attempt":
                self.assertNotIn(attempt, ended, where)
                ended.add(attempt)
                continue
            self.assertNotIn(attempt, ended, where)

    def check(self):
        none = [
            ("attempts_total is not the number of attempts", """SELECT run_id, phase_id FROM phases WHERE attempts_total <>
              (SELECT COUNT(*) FROM attempts a WHERE a.run_id = phases.run_id AND a.phase_id = phases.phase_id)"""),
            ("more attempts than the plan allows", f"SELECT run_id FROM phases WHERE attempts_total > {MAX_ATTEMPTS}"),
            ("an attempt that nobody finished", "SELECT * FROM attempts WHERE finished = 0"),
            ("a step that nobody ended", "SELECT * FROM steps WHERE state = 'open'"),
            ("a step with two results, or executed too often", """SELECT run_id, attempt_id, step_index FROM steps
              GROUP BY 1, 2, 3 HAVING SUM(state = 'done') > 1 OR COUNT(*) > 3"""),
            ("a step without its cost row", """SELECT sandbox_run_id FROM steps
              WHERE sandbox_run_id NOT IN (SELECT sandbox_run_id FROM cost)"""),
            ("a reservation that is left", "SELECT * FROM budgets WHERE reserved <> 0"),
            ("spent is less than what the steps took", """SELECT run_id FROM budgets WHERE unit = 'sandbox_ms' AND spent <
              (SELECT COALESCE(SUM(json_extract(run, '$.duration_ms')), 0) FROM steps
               WHERE steps.run_id = budgets.run_id AND state = 'done')"""),
        ]
        for kind, rows in (("pre_execute", "SELECT COUNT(*) FROM steps"),
                           ("executed", "SELECT COUNT(*) FROM steps WHERE state = 'done'"),
                           ("attempt", "SELECT COUNT(*) FROM attempts")):
            none.append((f"{kind} rows of the ledger", f"""SELECT 1 WHERE (SELECT COUNT(*) FROM ledger
              WHERE json_extract(line, '$.type') = '{kind}') <> ({rows})"""))
        for what, statement in none:
            self.assertEqual(self.sql(statement), [], what)
        for run_id in self.runs():
            self.pawl("verify", run_id, env={"PAWL_DIR": str(self.dir)})
        self.check_files()
        logs = "".join(path.read_text(errors="replace") for path in self.root.glob("started-*.log"))
        for word in ("has been writing to it", "broken invariant", "stalled", "corrupt"):
            self.assertNotIn(word, logs)
        self.assertEqual(self.our_cgroups([row[0] for row in self.sql("SELECT sandbox_run_id FROM steps")]), [])

    def test_nothing_is_lost_repeated_or_left(self):
        end = time.monotonic() + SECONDS
        while time.monotonic() < end:
            self.keep_going()
            time.sleep(self.rng.uniform(0, 0.3))
            if self.there():
                self.fault()
        for process in self.executors:
            process.kill()
            process.wait()
        # No more faults: open runs now come to their end.
        done = self.pawl("resume", "--workers", "4", env={"PAWL_DIR": str(self.dir)}, expect=None)
        self.assertIn(done.returncode, (0, 1, 11, 12), done.stderr)
        self.assertEqual(self.sql("SELECT COUNT(*) FROM runs WHERE state = 'EXECUTING'"), [(0,)], done.stderr)
        self.check()
        told = self.sql("""SELECT (SELECT COUNT(*) FROM runs), (SELECT COUNT(*) FROM attempts), (SELECT COUNT(*) FROM steps),
          (SELECT COUNT(*) FROM steps WHERE state = 'lost'), (SELECT COUNT(*) FROM refusals)""")[0]
        print(f"seed {SEED}: {dict(self.done)}; {told[0]} runs, {told[1]} attempts, {told[2]} steps of which {told[3]} lost, "
              f"{told[4]} late commits refused")


if __name__ == "__main__":
    own_namespaces.enter("m", *sys.argv[1:])
    unittest.main(verbosity=2)
