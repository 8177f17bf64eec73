#!/usr/bin/env python3
"""kill -9 at random moments of a plan of 20 phases, `pawl resume` each time: no step is lost or repeated, no process is left.

PAWL_CRASH_KILLS=N kills N executors (default 200), and N/2 executors together with their supervisors. Several storms run at once, each with a
folder and a seed of its own.
"""

import os
import pathlib
import random
import signal
import sqlite3
import time

import at_once
from pawl_testing import PawlTest

KILLS = int(os.environ.get("PAWL_CRASH_KILLS", "200"))
STORMS = 3  # per kind
PHASES = 20
SEED = int(os.environ.get("PAWL_CRASH_SEED", "20"))

PLAN = """\
version: 1
workflow: storm
source: {path: source}
max_attempts: 100
gates:
  check: {steps: [{name: build, run: "test -e done-$(ls | grep -c done-)"}], signals: [build]}
tiers:
  - phases:
"""


class Storm(PawlTest):
    def start_run(self):
        self.write("source/README", "a source\n")
        # Each phase adds one file: a phase that ran twice, or on a lost layer, would show in the workspace.
        agent = "n=$(ls | grep -c done- || true); echo x > done-$((n+1)); sleep 0.02"
        self.write("plan.yaml", PLAN + "".join(
            f'      - {{id: p{i:02}, goal: g, agent: {{run: "{agent}"}}, gates: [check]}}\n' for i in range(1, PHASES + 1)))

    def kill_until_complete(self, rng, with_supervisors, kills_left):
        """Kills and resumes one run until it ends. Returns (run_id, kills)."""
        process = self.start("run", "plan.yaml", "--dir", self.root / ".pawl")
        kills = 0
        run_id = None
        while True:
            time.sleep(rng.uniform(0.0, self.interval))
            if process.poll() is None and kills < kills_left:
                if self.is_at_its_last_try(process):
                    continue
                os.kill(process.pid, signal.SIGKILL)
                kills += 1
                if with_supervisors:
                    for pid in self.supervisors():
                        try:
                            os.kill(pid, signal.SIGKILL)
                        except ProcessLookupError:
                            pass
            process.wait()
            runs = self.pawl_json("status", "--dir", self.root / ".pawl")["runs"] if self.state_is_there() else []
            if not runs:
                process = self.start("run", "plan.yaml", "--dir", self.root / ".pawl")
                continue
            run_id = runs[0]["run_id"]
            if runs[0]["state"] != "EXECUTING":
                return run_id, kills
            process = self.start("resume", run_id, "--dir", self.root / ".pawl")

    def is_at_its_last_try(self, process):
        """Whether a step runs its third execution. Killed then, it would be a crash loop, by design: on a busy machine
        kills overtake steps. Stops the process, so that the result stays true until the kill; continues a spared process."""
        process.send_signal(signal.SIGSTOP)
        self.wait_until(lambda: pathlib.Path(f"/proc/{process.pid}/stat").read_text().rsplit(")", 1)[1].split()[0] in "TZ",
                        "it is stopped, or has ended")
        if not self.state_is_there():
            return False
        try:
            with sqlite3.connect(self.root / ".pawl/pawl.db", timeout=60) as db:
                last = db.execute("SELECT COUNT(*) FROM steps WHERE state = 'open' AND execution = 3").fetchone()[0] > 0
            db.close()
        except sqlite3.OperationalError:
            return False  # no tables yet
        if last:
            process.send_signal(signal.SIGCONT)
        return last

    def state_is_there(self):
        return (self.root / ".pawl" / "pawl.db").exists()

    def check(self, run_id):
        status = self.pawl_json("status", run_id, "--dir", self.root / ".pawl")
        failed = [(p["phase_id"], p["last_failure_reason"]) for p in status["phases"] if p["state"] == "FAILED"]
        self.assertEqual((status["state"], failed), ("COMPLETE", []))
        # The kill may have come between the last commit and the projections: the next command writes them.
        self.pawl("resume", run_id, "--dir", self.root / ".pawl")
        os.chdir(self.root)
        chains = self.chains(run_id)
        ids = set()
        for phase in status["phases"]:
            rows = chains[phase["phase_id"]]
            attempts = [r for r in rows if r["type"] == "attempt"]
            self.assertEqual(len(attempts), phase["attempts_total"], phase)
            self.assertEqual(phase["attempts_used"], phase["attempts_total"])
            self.assertEqual(attempts[-1]["verdict"], "passed")
            markers = {}
            for row in rows:
                if row["type"] == "pre_execute":
                    markers.setdefault(row["label"], []).append(row["sandbox_run_id"])
                    ids.add(row["sandbox_run_id"])
            repeats = sum(len(found) - 1 for found in markers.values())
            declared = [r for r in rows if r["type"] == "resume" and r["decision"] == "re_execute"]
            self.assertEqual(repeats, len(declared), f"{phase['phase_id']}: executions without a decision")
            executed = [r["sandbox_run_id"] for r in rows if r["type"] == "executed"]
            self.assertEqual(len(executed), len(set(executed)), "a result was recorded twice")
        patch = self.pawl("diff", run_id).stdout
        self.assertEqual(patch.count("new file mode"), PHASES, "each phase added its file exactly once")
        cost = self.rows(self.root / ".pawl" / "cost" / "sandbox.jsonl")
        mine = [r["sandbox_run_id"] for r in cost if r["run_id"] == run_id]
        self.assertEqual(sorted(mine), sorted(ids), "one cost row for each marker")
        self.assertEqual(self.our_cgroups(ids), [])

    def storm(self, number, kills, with_supervisors):
        total = kills * (number + 1) // STORMS - kills * number // STORMS
        rng = random.Random(SEED * STORMS + number)
        self.start_run()
        # Kills must be rarer than steps: a step that is killed three times in a row is a crash loop, by
        # design.
        started = time.monotonic()
        self.pawl("run", "plan.yaml", "--dir", self.root / ".pawl")
        self.interval = max(0.25, (time.monotonic() - started) / PHASES * 4)
        killed, runs = 0, 0
        while killed < total:
            run_id, kills = self.kill_until_complete(rng, with_supervisors, total - killed)
            killed += kills
            runs += 1
            self.check(run_id)
        print(f"{killed} kills{' with supervisors' if with_supervisors else ''} over {runs} runs of {PHASES} phases")


for storm in range(STORMS):
    setattr(Storm, f"test_executor_killed_{storm}", lambda self, storm=storm: self.storm(storm, KILLS, with_supervisors=False))
    setattr(Storm, f"test_executor_and_supervisor_killed_together_{storm}", lambda self, storm=storm: self.storm(storm, KILLS // 2, with_supervisors=True))

if __name__ == "__main__":
    at_once.main(at_once=3)
