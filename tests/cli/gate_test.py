#!/usr/bin/env python3
"""`pawl gate`: runs a gate again on what an attempt left, and changes no recorded data."""

import json
import signal
import sqlite3
import time

import at_once
from pawl_runs import MEND, WithRun
from pawl_testing import TIMEOUT_S


class Gate(WithRun):
    def written(self):
        """All recorded data of runs: the database, row by row, and the projections."""
        with sqlite3.connect(self.root / "source/.pawl/pawl.db") as db:
            rows = list(db.iterdump())
        db.close()
        self.assertGreater(len(rows), 50)
        folder = self.root / "source/.pawl"
        files = {p: p.read_bytes() for place in ("runs", "cost") for p in sorted((folder / place).rglob("*.jsonl"))}
        return rows, files

    def gate(self, *args, expect=0, env=None):
        before = self.written()
        found = self.pawl_json("gate", *args, expect=expect, env=env)
        self.assertEqual(self.written(), before, "nothing is written down")
        self.assert_no_step_is_left()
        return found

    def assert_no_step_is_left(self):
        for place in ("spool", "work"):
            folder = self.root / "source/.pawl" / place
            self.assertEqual(list(folder.iterdir()) if folder.exists() else [], [])

    def test_what_passed_passes_again_and_what_failed_fails_again(self):
        self.make_mend()
        self.pawl("run", "plan.yaml")
        passed = self.gate("last", "fix", "check")
        self.assertEqual({k: v for k, v in passed.items() if k not in ("signals", "recorded")},
                         {"run_id": self.run_id(), "phase_id": "fix", "gate_id": "check", "attempt": 2, "passed": True, "same": True})
        self.assertEqual(passed["signals"], passed["recorded"])
        self.assertEqual([(s["kind"], s["passed"]) for s in passed["signals"]], [("tests", True)])
        failed = self.gate("last", "fix", "check", "--attempt", "1", expect=1)
        self.assertEqual((failed["attempt"], failed["passed"], failed["same"]), (1, False, True))
        self.assertEqual(failed["signals"][0]["details"]["failing"], "right")

        said = self.pawl("gate", "last", "fix", "check")
        self.assertEqual(said.stdout, "gate check of fix, attempt 2\n"
                                      "signal  now     then\n"
                                      "tests   passed  passed\n"
                                      "the same as was recorded then\n")
        self.assertRegex(said.stderr, r"^fix\.check\.unit\.attempt2 exited 0 in \S+\n$")

    def test_a_gate_that_changes_its_mind_is_told(self):
        self.make_simple(gate='echo "mood: $MOOD"; [ -z "$MOOD" ]', env="[MOOD]")
        self.pawl("run", "plan.yaml")
        found = self.gate("last", "p1", "check", env={"MOOD": "bad"}, expect=1)
        self.assertEqual((found["passed"], found["same"]), (False, False))
        self.assertEqual([s["passed"] for s in found["recorded"]], [True])
        said = self.pawl("gate", "last", "p1", "check", env={"MOOD": "bad"}, expect=1)
        self.assertIn("\nbuild   failed  passed\nDIFFERENT from what was recorded then:\n  build: exit_code 1, then 0\n", said.stdout)
        self.assertIn("exited 1", said.stderr)
        self.assertIn("mood: bad\n", said.stderr, "the end of what a failing step printed")
        self.assertTrue(self.gate("last", "p1", "check")["same"])

    def test_steps_that_failed_then_or_now_are_compared_by_name(self):
        self.make_simple(gate="true", env="[FAILS]")
        plan = (self.root / "plan.yaml").read_text()
        steps = "".join(f', {{name: {name}, may_fail: true, run: \'[ "$FAILS" != {name} ] || exit 127\'}}' for name in ("one", "two"))
        (self.root / "plan.yaml").write_text(plan.replace('{name: unit, run: "true"}', '{name: build, run: "true"}' + steps))
        self.pawl("run", "plan.yaml", env={"FAILS": "one"}, expect=None)
        said = self.pawl("gate", "last", "p1", "check", env={"FAILS": "two"}, expect=1)
        self.assertIn("build     passed  passed\nstep.two  failed  -\nstep.one  -       failed\nDIFFERENT", said.stdout)
        self.assertIn("  step.one: exit_code -, then 127\n", said.stdout)
        self.assertIn("  step.two: exit_code 127, then -\n", said.stdout)

    def test_it_judges_the_same_work_with_the_same_steps(self):
        # Later phases see the work of the earlier ones. Later steps of a gate see what its earlier steps
        # made.
        self.write("source/file", "x\n")
        self.write("plan.yaml", """\
version: 1
workflow: two
source: {path: source}
protect: [{pattern: kept, may_be_absent: true}]
gates:
  first: {steps: [{name: unit, run: "true"}], baseline: none}
  check:
    steps:
      - {name: build, run: "cat made-* >built; sleep 0.5"}
      - {name: unit, run: "diff built expected-$(wc -l <built) && sleep 0.5"}
    signals: [build]
    baseline: none
tiers:
  - phases:
      - {id: a, goal: g, agent: {run: "echo a >made-a; echo a >expected-1"}, gates: [check]}
      - {id: b, goal: g, agent: {run: "echo b >made-b; cat made-* >expected-2"}, gates: [first, check]}
""")
        then = self.specs_of("run", "plan.yaml")
        now = self.specs_of("gate", "last", "a", "check") | self.specs_of("gate", "last", "b", "check")
        self.assertEqual(sorted(now), [f"{phase}.check.{step}.attempt1" for phase in "ab" for step in ("build", "unit")])
        self.assertEqual(now, {label: then[label] for label in now})

    def specs_of(self, *command):
        """The specs of a command's steps, by label, as their supervisors receive them."""
        found = {}
        process = self.start(*command)
        while process.poll() is None:
            for job in (self.root / "source/.pawl/spool").glob("*/job.json"):
                try:
                    spec = json.loads(job.read_text())["spec"]
                except FileNotFoundError:
                    continue
                found[spec["label"]] = spec
            time.sleep(0.01)
        self.assertEqual(process.wait(), 0)
        return found

    def test_without_an_inventory_it_takes_one_for_itself(self):
        self.make_mend()
        self.pawl("run", "plan.yaml")
        with sqlite3.connect(self.root / "source/.pawl/pawl.db") as db:
            self.assertEqual(db.execute("DELETE FROM inventories").rowcount, 1)
        db.close()
        said = self.pawl("gate", "last", "fix", "check").stderr
        self.assertRegex(said, r"^fix\.check\.unit@base\.attempt2 exited \d in \S+\n(?s:.*)fix\.check\.unit\.attempt2 exited 0")
        self.assertTrue(self.gate("last", "fix", "check")["same"], "and keeps nothing of it")

    def test_protected_paths_come_from_base_and_a_gate_that_did_not_run_then_has_nothing_recorded(self):
        self.make_mend(agent="echo wrong >answer; echo 'echo cheated; exit 0' >tests/run.sh")
        self.pawl("run", "plan.yaml", expect=None)
        found = self.gate("last", "fix", "check", expect=1)
        self.assertEqual((found["recorded"], found["same"]), ([], False))
        self.assertEqual(found["signals"][0]["details"]["failing"], "right", "the tests of base ran")
        said = self.pawl("gate", "last", "fix", "check", expect=1)
        self.assertIn("tests   failed  -\nnothing is recorded", said.stdout)
        self.assertNotIn("cheated", said.stderr)

    def test_what_is_not_there_is_named_with_the_nearest_that_is(self):
        self.make_mend(text=MEND.replace("reports", "time_budget_seconds: 60, reports"))
        self.pawl("run", "plan.yaml")
        for args, words in ((("last", "fxi", "check"), "has no phase fxi; did you mean 'fix'?"),
                            (("last", "other", "check"), "has no phase other; it has fix"),
                            (("last", "fix", "chekc"), "phase fix has no gate chekc; did you mean 'check'?"),
                            (("last", "fix", "check", "--attempt", "7"), "has no attempt 7; "),
                            (("nothing", "fix", "check"), "no run nothing")):
            self.assertIn(words, self.pawl("gate", *args, expect=1).stderr)
        self.pawl("gate", "last", "fix", "check", "--attempt", "0", expect=2)
        new = self.pawl_json("fork", "last", "--from", "fix")["run_id"]
        self.assertIn("has no attempt whose agent finished", self.pawl("gate", new, "fix", "check", expect=1).stderr)

    def test_what_gc_took_can_not_be_judged(self):
        self.make_mend()
        self.pawl("run", "plan.yaml")
        self.pawl("gc", "--older-than", "0s")
        self.assertIn("is gone (`pawl gc` takes it", self.pawl("gate", "last", "fix", "check", expect=1).stderr)

    def test_it_works_beside_an_executor_also_on_the_attempt_that_runs(self):
        self.make_simple(phases=2, agent='echo "$PAWL_PHASE_ID" >>file', env="[QUICK]",
                         gate='grep p1 file; grep -q p2 file && sleep ${QUICK:-60} || true')
        run = self.start("run", "plan.yaml")
        self.wait_for_step("p1 runs")
        self.wait_until(lambda: "p2.check.unit.attempt1" in self.pawl("inspect", "last", "--json", expect=None).stdout, "the gate of p2 runs", 90)
        self.assertTrue(self.pawl_json("gate", "last", "p1", "check")["same"])
        now = self.pawl_json("gate", "last", "p2", "check", env={"QUICK": "0"})
        self.assertEqual((now["passed"], now["recorded"]), (True, []))
        self.assertIsNone(run.poll(), "the run goes on meanwhile")
        self.wake()
        self.assertEqual(run.wait(timeout=TIMEOUT_S), 0)
        self.assertEqual([p["attempts_total"] for p in self.pawl_json("status", "last")["phases"]], [1, 1])
        self.assertTrue(self.pawl_json("verify", "last")["ok"])

    def test_ctrl_c_ends_its_sandbox(self):
        self.make_simple(gate="sleep ${SLOW:-0}", env="[SLOW]")
        self.pawl("run", "plan.yaml")
        before = self.written()
        gate = self.start("gate", "last", "p1", "check", env={"SLOW": "100"})
        self.wait_for_step("its step runs")
        gate.send_signal(signal.SIGINT)
        self.assertEqual(gate.wait(timeout=TIMEOUT_S), 130)
        self.assertEqual(self.our_processes(), [])
        self.assert_no_step_is_left()
        self.assertEqual(self.written(), before)


if __name__ == "__main__":
    at_once.main()
