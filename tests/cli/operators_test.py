#!/usr/bin/env python3
"""What a person decides about a run, where the program has to say no, and what is counted of it."""

import unittest

from pawl_runs import WithRun
from pawl_testing import TIMEOUT_S, plan

TOKEN = "ghp_" + "a1B2" * 9


class Operators(WithRun):
    def lose_the_agent(self):
        self.make_simple(agent="echo x >new; sleep 100", resume="escalate")
        run = self.start("run", "plan.yaml")
        self.wait_for_step("the agent runs")
        self.kill_all(run)
        self.pawl("resume", "last", expect=11)

    def test_work_that_was_lost_is_not_approved(self):
        self.lose_the_agent()
        self.assertNotIn("approve", self.pawl("why", "last").stdout)
        said = self.pawl("approve", "last", "p1", expect=1).stderr
        self.assertIn("what the agent of p1.1 did was lost: there is no work to take; `pawl retry` or `pawl skip` the phase", said)
        self.assertEqual(self.pawl_json("status", "last")["phases"][0]["outcome"], "escalate")
        self.assertIn("no phase nobody", self.pawl("approve", "last", "nobody", expect=1).stderr)

    def test_more_attempts_for_a_run_that_is_over_are_refused(self):
        self.make_simple(gate="exit 1", max_attempts=1)
        self.pawl("run", "plan.yaml", expect=11)
        head = self.pawl_json("verify", "last")["head"]
        said = self.pawl("resume", "last", "--max-attempts", "3", "--operator-ack", expect=2).stderr
        self.assertRegex(said, r"is FAILED: --max-attempts is for phases that are open; `pawl retry \S+ PHASE` opens one")
        self.assertEqual(self.pawl_json("verify", "last")["head"], head)
        self.pawl("retry", "last", "p1")
        self.pawl("resume", "last", "--max-attempts", "2", "--operator-ack", expect=11)
        self.assertEqual(self.pawl_json("status", "last")["phases"][0]["max_attempts"], 2)

    def test_a_reason_is_kept_without_secrets_and_has_an_end(self):
        self.make_simple(gate="exit 1", max_attempts=1)
        self.pawl("run", "plan.yaml", expect=11)
        self.pawl("skip", "last", "p1", "--reason", f"token {TOKEN} does\x1b[31m not work", )
        export = str(self.chains(self.run_id()))
        self.assertNotIn(TOKEN, export)
        self.assertIn("token ", export)
        self.assertNotIn("\x1b", self.pawl("status", "last").stdout + self.pawl("why", "last").stdout)
        runs = len(self.pawl_json("status")["runs"])
        self.pawl("run", "plan.yaml", "--max-attempts", "1", "--reason", "x" * 4097, expect=2)
        self.assertEqual(len(self.pawl_json("status")["runs"]), runs, "nothing was begun")
        self.assertIn("at most 4096 bytes", self.pawl("retry", "last", "p1", "--reason", "x" * 4097, expect=1).stderr)

    def test_a_cancelled_step_is_time_and_no_resume(self):
        self.make_simple(agent="sleep 100")
        run = self.start("run", "plan.yaml")
        self.wait_for_step("the agent runs")
        self.pawl("cancel", "last")
        run.wait(timeout=TIMEOUT_S)
        stats = self.pawl_json("stats", "last")
        self.assertEqual(stats["resumes"], {})
        spent = {row["unit"]: row["spent"] for row in self.budgets()}["sandbox_ms"]
        self.assertGreater(spent, 0)
        self.assertEqual(stats["sandbox_milliseconds"], spent)

    def budgets(self):
        return [{"unit": unit, **row} for unit, row in self.pawl_json("budget", "last")["budget"].items()]

    def test_runs_that_are_not_listed_are_told(self):
        self.make_simple()
        self.write("plan.yaml", plan())
        for _ in range(51):
            self.pawl("run", "plan.yaml")
        listed = self.pawl("status").stdout.splitlines()
        self.assertEqual((len(listed), listed[-1]), (51, "and older ones: `pawl status --json` has them"))
        self.assertEqual(len(self.pawl_json("status")["runs"]), 51)


if __name__ == "__main__":
    unittest.main()
