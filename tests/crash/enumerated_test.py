#!/usr/bin/env python3
"""Crashes at EVERY commit, fsync and rename of the executor and of the supervisors, not at a sample of them.

A first run counts the points (os/crash_point.h). Then one run for each point crashes there and is resumed. Its ledger,
without timestamps and ids, must equal that of the run that never crashed.
"""

import collections
import concurrent.futures
import os
import pathlib
import shutil
import sqlite3
import unittest

from pawl_testing import PawlTest

AT_ONCE = 3  # runs, each in a folder of its own: one waits for its disk while another works

PLAN = """\
version: 1
workflow: enumerated
source: {path: source}
max_attempts: 4
doctor: {run: "cat /plan/doctor.json", after_failures: 1}
replan: {run: "cat /plan/replan.json"}
gates:
  check:
    steps:
      - {name: build, run: "test -s built"}
      - {name: unit, run: "mkdir -p reports && cp cases.xml reports/unit.xml && ! grep -q wrong cases.xml", reports: {junit: ["reports/*.xml"]}}
    signals: [build, tests]
tiers:
  - phases:
      - {id: mend, goal: "the second revision mends", agent: {run: "sh /plan/agent.sh"}, gates: [check]}
  - phases:
      - {id: add, goal: "one more file", agent: {run: "echo more > more"}, gates: [check]}
"""

AGENT = """\
echo built > built
if [ -s "$PAWL_FEEDBACK" ] && [ "$PAWL_GOAL" = mend ]; then sed -i 's/ wrong=""//' cases.xml; fi
"""

CASES = '<testsuite name="s"><testcase classname="c" name="one" wrong=""/><testcase classname="c" name="two"/></testsuite>\n'

# Fields that differ between any two runs: times, processes, ids, durations.
VOLATILE = {"seq", "at", "prev_hash", "hash", "sandbox_run_id", "started_at", "ended_at", "executor", "duration_ms",
            "run_id", "sandbox_spec_hash", "head", "rows", "execution", "phases", "created_at", "summary",
            "cost", "run",  # both are hashes over times
            "feedback"}  # a hash over a random word


def essence(chains):
    """The rows of each chain without volatile fields, and without rows that a crash may add: decisions and lost steps."""
    out = {}
    for chain, rows in chains.items():
        kept = []
        recorded = {r["sandbox_run_id"] for r in rows if r["type"] == "executed"}
        for row in rows:
            if row["type"] == "resume":
                continue
            if row["type"] == "pre_execute" and row["sandbox_run_id"] not in recorded:
                continue
            kept.append({k: v for k, v in row.items() if k not in VOLATILE})
            if "planned" in row:  # the hash for "" covers the source's folder, which is another one each time
                kept[-1]["planned"] = {phase: value for phase, value in row["planned"].items() if phase}
        out[chain] = kept
    return out


class Enumerated(PawlTest):
    def fresh(self, name):
        folder = self.root / name
        shutil.rmtree(folder, ignore_errors=True)
        self.write(f"{name}/source/cases.xml", CASES)
        self.write(f"{name}/plan.yaml", PLAN)
        self.write(f"{name}/agent.sh", AGENT)
        self.write(f"{name}/doctor.json", '{"action": "replan", "reason": "wrong way"}')
        self.write(f"{name}/replan.json", '{"goal": "mend"}')
        for path in (folder, *folder.rglob("*")):
            os.utime(path, (0, 0))  # times are part of the ids of a base and of a plan's folder
        return folder

    def finish(self, name, env):
        """Runs the plan and resumes it until it is over. Returns the run's chains and the number of crashes."""
        crashes = 0
        # No heartbeats: the number of their commits depends on how long a run takes.
        env = {"PAWL_LEASE_MS": "3600000", **env}
        done = self.pawl("run", "plan.yaml", "--dir", ".pawl", expect=None, env=env, cwd=name)
        while done.returncode == -9:
            crashes += 1
            self.assertLess(crashes, 5, "crashes again and again")
            created = (self.root / name / ".pawl" / "pawl.db").exists() and \
                self.pawl_json("status", "--dir", ".pawl", cwd=name)["runs"]
            again = ("resume", "last") if created else ("run", "plan.yaml")
            done = self.pawl(*again, "--dir", ".pawl", expect=None, env=env, cwd=name)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        runs = self.pawl_json("status", "--dir", ".pawl", cwd=name)["runs"]
        self.assertEqual(len([r for r in runs if r["state"] != "COMPLETE"]), 0)
        chains = self.chains("last", cwd=name)
        projected = self.root / name / ".pawl" / "runs" / runs[0]["run_id"] / "run.jsonl"
        self.assertEqual(self.rows(projected), chains[""], "the projection is what the database holds")
        ids = {r["sandbox_run_id"] for rows in chains.values() for r in rows if "sandbox_run_id" in r}
        self.assertEqual(self.our_cgroups(ids), [])
        with sqlite3.connect(self.root / name / ".pawl" / "pawl.db") as db:
            self.assertEqual(db.execute("SELECT SUM(doctor_calls), SUM(replans), MAX(revision), MAX(attempts_total) "
                                        "FROM phases").fetchone(), (1, 1, 1, 2), "no crash gives or takes a call")
        db.close()
        return chains, crashes

    def wrong_after_a_crash_at(self, role, point, expected):
        """Returns "" when the run recovered to the expected ledger, else a description of the difference."""
        name = f"{role}-{point}"
        self.fresh(name)
        count = self.root / f"{name}.count"  # outside of the plan folder, which is content
        try:
            got, _ = self.finish(name, {"PAWL_CRASH_ROLE": role, "PAWL_CRASH_AT": str(point), "PAWL_CRASH_COUNT": str(count)})
            self.assertEqual(essence(got), expected)
            self.assertGreaterEqual(count.stat().st_size, point, "the point was reached")
        except AssertionError as error:
            return f"{name}: {error}\n{self.pawl('inspect', 'last', '--dir', '.pawl', expect=None, cwd=name).stdout}"
        shutil.rmtree(self.root / name)
        return ""

    def test_every_point_recovers_to_the_same_ledger(self):
        self.fresh("clean")
        log = self.root / "points"
        chains, crashes = self.finish("clean", {"PAWL_CRASH_LOG": str(log)})
        self.assertEqual(crashes, 0)
        expected = essence(chains)
        points = collections.Counter(line.split()[0] for line in log.read_text().splitlines())
        labels = collections.Counter(log.read_text().splitlines())
        self.assertGreater(points["executor"], 10, "the hooks are compiled in (PAWL_TEST_HOOKS)")
        self.assertGreater(points["supervisor"], 10)
        self.assertTrue(any("before_commit" in label for label in labels))
        self.assertTrue(any("rename" in label for label in labels))
        self.assertTrue(any("fsync" in label for label in labels))
        every = int(os.environ.get("PAWL_CRASH_EVERY", "1"))
        chosen = [(role, point) for role in ("executor", "supervisor") for point in range(1, points[role] + 1, every)]
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            wrong = [text for text in pool.map(lambda at: self.wrong_after_a_crash_at(*at, expected), chosen) if text]
        self.assertEqual(wrong, [])
        print(f"crashed at {'each' if every == 1 else f'one in {every}'} of {points['executor']} executor and "
              f"{points['supervisor']} supervisor points")


if __name__ == "__main__":
    unittest.main(verbosity=2)
