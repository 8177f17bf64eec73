#!/usr/bin/env python3
"""`pawl gc` removes only what no row names any more, also beside runs and after crashes."""

import os
import random
import time

import at_once
from pawl_runs import WithRun
from pawl_testing import TIMEOUT_S

# Three phases. The third one works on the merged work of two, which no row names. Its gate also starts from a
# tree that no row names: the same one without the report that the gate is to write.
MERGED = """\
version: 1
workflow: merged
source: {path: source}
gates:
  check:
    steps:
      - {name: first, run: "cat /workspace/made-*; [ ! -e /workspace/made-p3 ] || sleep 60 || true; cat made-* >seen", reports: {tap: ["seen"]}}
      - {name: second, run: "cat made-*; [ ! -e made-p3 ] || sleep 60 || true; cat made-* >again; diff seen again"}
    signals: [build]
tiers:
  - phases:
      - {id: p1, goal: g, agent: {run: "echo 1 >made-p1; echo old >seen"}, gates: [check]}
      - {id: p2, goal: g, agent: {run: "echo 2 >made-p2"}, gates: [check]}
      - {id: p3, goal: g, agent: {run: "cat made-p1 made-p2; sleep 60 || true; cat made-p1 made-p2 >made-p3"}, gates: [check]}
"""


class Gc(WithRun):
    def gc(self, *args, expect=0):
        return self.pawl_json("gc", "--older-than", "0s", *args, expect=expect)

    def make_merged(self):
        self.write("source/file", "x\n")
        self.write("plan.yaml", MERGED)

    def wait_until_inside(self, label):
        """The step's command runs and has read from its workspace: it prints before it sleeps. A step's
        folder exists before its supervisor does, and killing an executor in between loses the step."""
        self.wait_until(lambda: any(self.has_said_something(step) for step in self.steps_at_work(label)), label)

    @staticmethod
    def has_said_something(step):
        try:
            return (step / "output").stat().st_size > 0
        except FileNotFoundError:
            return False  # not begun, or over

    def assert_complete(self, phases, run="last"):
        found = self.pawl_json("status", run)["phases"]
        self.assertEqual([(p["state"], p["attempts_total"]) for p in found], [("COMPLETE", 1)] * phases,
                         self.pawl("inspect", run).stdout)
        markers = [row for rows in self.chains(run).values() for row in rows if row["type"] == "pre_execute"]
        self.assertEqual({row["execution"] for row in markers}, {1}, "no step was lost")

    def test_what_a_step_works_on_is_kept_while_it_runs_and_for_the_next(self):
        self.make_merged()
        run = self.start("run", "plan.yaml")
        for step in ("p3.agent.run", "p3.check.first", "p3.check.second"):
            self.wait_until_inside(step)
            self.gc()
            self.wake(step)
        self.assertEqual(run.wait(timeout=TIMEOUT_S), 0)
        self.assert_complete(3)
        diff = self.pawl("diff", "last").stdout
        self.assertIn("+1\n+2\n", diff)

    def test_what_ended_and_is_not_recorded_yet_is_kept(self):
        self.make_simple(agent="sleep 60 || true; echo made >made; echo said", gate="grep made made")
        run = self.start("run", "plan.yaml")
        self.wait_for_step("the agent runs")
        run.kill()
        run.wait()
        self.gc()
        self.wake()
        self.wait_until(lambda: not self.supervisors(), "the agent ended, and nobody has recorded it")
        self.gc()
        self.pawl("resume", "last")
        self.assert_complete(1)
        self.assertEqual([row["decision"] for row in self.chains("last")["p1"] if row["type"] == "resume"], ["adopt"])
        self.assertIn("said", self.pawl("logs", "last", "p1").stdout)

    def test_a_killed_run_goes_on_after_gc_where_it_was(self):
        self.make_merged()
        run = self.start("run", "plan.yaml")
        self.wait_until_inside("p3.agent.run")
        self.wake("p3.agent.run")
        self.wait_until_inside("p3.check.first")
        run.kill()
        run.wait()
        self.gc()
        run = self.start("resume", "last")
        self.wake("p3.check.first")
        self.wake("p3.check.second")
        self.assertEqual(run.wait(timeout=TIMEOUT_S), 0)
        self.assert_complete(3)

    def test_what_it_says_it_would_do_is_what_it_does(self):
        self.make_simple(agent="head -c 300000 /dev/urandom >made; echo said")
        self.pawl("run", "plan.yaml")
        self.write("source/.pawl/spool/left/job.json", "{}")
        self.write("source/.pawl/work/left/upper/file", "x")
        folder = self.root / "source/.pawl"
        before = {p: p.stat().st_mtime_ns for p in folder.rglob("*")}
        would = self.gc("--dry-run")
        self.assertEqual({p: p.stat().st_mtime_ns for p in folder.rglob("*")}, before, "it only looked")
        self.assertGreater(would["freed_bytes"], 300000)
        self.assertEqual({k: v for k, v in would.items() if k != "freed_bytes"},
                         {"dry_run": True, "older_than": "0s", "old_runs": 1, "bases": 3, "layers": 3, "blobs": 1, "steps": 2, "episodes": 0, "homes": 0,
                          "temporaries": 0})
        done = self.gc()
        self.assertEqual({**done, "dry_run": True, "freed_bytes": 0}, {**would, "freed_bytes": 0})
        self.assertRegex(self.pawl("gc", "--older-than", "0s").stdout,
                         r"^freed \d+ KiB: 0 base\(s\), 0 layer\(s\), 0 log\(s\), 0 folder\(s\) of steps, 0 of agents' episodes, 0 with HOME of agents, 0 temporary folder\(s\)\n$")
        for place in ("objects/bases", "objects/layers", "objects/tmp", "spool", "work"):
            self.assertEqual(list((folder / place).iterdir()), [], place)
        self.assertTrue(self.pawl_json("verify", "last")["ok"])
        self.assertEqual(self.pawl_json("cost", "last")["steps"], 2)
        self.assertTrue((folder / "runs" / self.run_id() / "run.jsonl").exists())
        self.pawl("gc", "--older-than", "soon", expect=2)

    def test_who_holds_the_objects_is_waited_for(self):
        self.make_simple(gate="sleep ${SLOW:-0}", env="[SLOW]")
        self.pawl("run", "plan.yaml")
        gate = self.start("gate", "last", "p1", "check", env={"SLOW": "2"})
        self.wait_for_step("the gate runs again")
        took = self.gc()
        self.assertEqual(gate.wait(timeout=TIMEOUT_S), 0, "what it judges was there to its end")
        self.assertGreater(took["bases"], 0, "and then it was not")

    def test_in_a_loop_and_killed_beside_two_runs(self):
        seed = int(os.environ.get("PAWL_CRASH_SEED", "5"))
        rng = random.Random(seed)
        # Both make the same files as an old run made: one object, which several runs need.
        self.write("source/file", "x\n")
        phases = "".join(f"""      - {{id: p{i}, goal: g, agent: {{run: "cat made-* >all || true; echo {i} >made-{i}; sleep 0.3; echo said"}}, gates: [check]}}
""" for i in range(6))
        self.write("plan.yaml", MERGED[:MERGED.index("      - {id: p1")].replace("sleep 60", "sleep 0.2") + phases)
        self.pawl("run", "plan.yaml")
        started = time.monotonic()
        self.gc("--dry-run")
        takes = time.monotonic() - started
        runs = [self.start("run", "plan.yaml") for _ in range(2)]
        freed = kills = 0
        while any(run.poll() is None for run in runs):
            if rng.random() < 0.7:
                freed += self.gc()["freed_bytes"]
                continue
            gc = self.start("gc", "--older-than", "0s")
            time.sleep(rng.random() * takes)
            gc.kill()
            gc.wait()
            kills += 1
        self.assertEqual([run.wait() for run in runs], [0, 0], f"PAWL_CRASH_SEED={seed}")
        self.assertGreater(freed, 0)
        self.assertGreater(kills, 3)
        for run in [run["run_id"] for run in self.pawl_json("status")["runs"]]:
            self.assert_complete(6, run)
        self.gc()
        for kind in ("bases", "layers"):
            self.assertEqual(list((self.root / "source/.pawl/objects" / kind).iterdir()), [])


if __name__ == "__main__":
    at_once.main()
