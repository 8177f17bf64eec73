#!/usr/bin/env python3
"""Tables that somebody changed without the key: `pawl resume` believes none of them, and says so with exit code 13."""

import unittest

from pawl_runs import WithRun

TWO_PHASES = """\
version: 1
workflow: two
source: {path: source}
gates:
  check:
    steps: [{name: unit, run: "true"}]
tiers:
  - phases:
      - {id: p1, goal: "one", agent: {run: "echo 1 >one; sleep 100"}, gates: [check], max_attempts: 2}
  - phases:
      - {id: p2, goal: "two", agent: {run: "echo 2 >two"}, gates: [check]}
"""

# A run that goes on, by its rows.
OPEN = (
    "UPDATE runs SET state = 'COMPLETE'",
    "UPDATE runs SET state = 'COMPLETE', ended_at = created_at",
    "UPDATE runs SET state = 'x'",
    "UPDATE runs SET plan_content = 'x'",
    "UPDATE runs SET created_at = '2020-01-01T00:00:00.000Z'",
    "UPDATE phases SET outcome = 'x'",
    "UPDATE phases SET state = 'x'",
    "UPDATE phases SET outcome = 'passed' WHERE phase_id = 'p1'",
    "UPDATE phases SET outcome = 'passed'",
    "UPDATE phases SET state = 'COMPLETE', outcome = 'passed'",
    "UPDATE phases SET tier_index = 1, phase_index = 5 WHERE phase_id = 'p1'",
    "UPDATE tiers SET tier_index = 7 WHERE tier_index = 1",
    "DELETE FROM tiers",
    "UPDATE budgets SET reserved = 999999999999",
    "UPDATE steps SET state = 'x'",
    "INSERT INTO episodes SELECT run_id, phase_id, attempt_id, 1, 'passed', 1, 0, 0, '' FROM attempts",
)
# A run that is over, and failed.
OVER = (
    "UPDATE runs SET state = 'COMPLETE'",
    "UPDATE phases SET outcome = 'x'",
    "UPDATE phases SET state = 'COMPLETE', outcome = 'passed'",
    "UPDATE phases SET outcome = 'failed_unrecoverable'",
)


class Tables(WithRun):
    def refused(self, change, *commands):
        with self.subTest(change=change), self.changed_in_database(change):
            for command in commands:
                done = self.pawl(*command, expect=13)
                self.assertIn("restore the state folder from a backup", done.stderr.lower(), command)
            self.pawl("verify", "last", expect=13)

    def test_a_run_that_goes_on_is_not_left_out(self):
        self.make_simple()
        self.write("plan.yaml", TWO_PHASES)
        run = self.start("run", "plan.yaml")
        self.wait_for_step("the agent runs")
        self.kill_all(run)
        for change in OPEN:
            self.refused(change, ("resume", "--if-any"), ("resume", "last"))
        self.pawl("cancel", "last", "p1")
        self.pawl("resume", "last", expect=1)
        self.pawl("verify", "last")

    def test_a_damaged_run_does_not_keep_another_from_going_on(self):
        self.make_simple(gate="exit 1", max_attempts=1)
        for _ in range(2):
            self.pawl("run", "plan.yaml", expect=11)
            self.pawl("retry", "last", "p1")
        second, first = (run["run_id"] for run in self.pawl_json("status")["runs"])
        with self.changed_in_database(f"UPDATE runs SET created_at = '2020-01-01T00:00:00.000Z' WHERE run_id = '{first}'"):
            self.assertIn(f"run {first} are not what its ledger says", self.pawl("resume", "--if-any", expect=13).stderr)
            states = {run["run_id"]: run["state"] for run in self.pawl_json("status")["runs"]}
            self.assertEqual(states, {first: "EXECUTING", second: "FAILED"})

    def test_a_run_of_another_state_folder_is_told(self):
        self.make_simple()
        self.pawl("run", "plan.yaml")
        with self.changed_in_database("UPDATE heads SET public_key = 'x'"):
            self.assertIn("is of another state folder, and is not looked at", self.pawl("resume", "--if-any").stderr)
            self.pawl("resume", "last", expect=13)

    def test_a_run_that_is_over_ended_as_its_rows_say(self):
        self.make_simple(gate="exit 1", max_attempts=1)
        self.pawl("run", "plan.yaml", expect=11)
        for change in OVER:
            self.refused(change, ("resume", "--if-any"), ("resume", "last"))
        self.pawl("resume", "--if-any")
        self.pawl("resume", "last", expect=11)


if __name__ == "__main__":
    unittest.main()
