#!/usr/bin/env python3
"""A restart reads the rows of its plan. The text, which evidence is about, is parsed when a run is made
and never again."""

import sqlite3
import unittest

from pawl_runs import WithRun
from pawl_testing import plan

NOT_A_PLAN = "this: [is no plan"
BEFORE_PLANS = 10  # the version of the schema
KILLED = {"PAWL_CRASH_ROLE": "executor", "PAWL_CRASH_AT": "1", "PAWL_CRASH_LABEL": "store.create_run.after_commit"}


class Restart(WithRun):
    def database(self, *statement):
        with sqlite3.connect(self.root / "source/.pawl/pawl.db") as db:
            rows = db.execute(*statement).fetchall()
        db.close()
        return rows

    def spoil_the_text(self):
        self.texts = self.database("SELECT run_id, text FROM plans")
        self.database("UPDATE plans SET text = ?", (NOT_A_PLAN,))

    def mend_the_text(self):
        """Restores the text: results leave a run only with the plan that its ledger names."""
        self.assertIn("the plan differs from the ledger's rows", self.pawl("diff", "last", expect=13).stderr)
        for run_id, text in self.texts:
            self.database("UPDATE plans SET text = ? WHERE run_id = ?", (text, run_id))

    def made_and_killed(self, **kwargs):
        """A run of three phases whose maker was killed before the first claim."""
        self.make_simple(phases=3, **kwargs)
        self.pawl("run", "plan.yaml", expect=-9, env={**KILLED, "PAWL_CRASH_COUNT": str(self.root / "count")})
        self.assertEqual(self.database("SELECT COUNT(*) FROM planned_phases"), [(3,)], "they come with the run")

    def test_a_run_that_was_killed_before_its_first_claim_parses_nothing(self):
        self.made_and_killed(agent="echo $PAWL_MODEL > made", models="[small]")
        self.spoil_the_text()
        self.pawl("resume", "last", "--workers", "2")
        self.assertEqual(self.database("SELECT DISTINCT model FROM attempts"), [("small",)])

    def test_so_do_a_retry_and_the_reports_of_what_was_done(self):
        self.make_simple(phases=2, agent="echo done > made-$PAWL_PHASE_ID", gate="test -e made-p2")
        self.pawl("run", "plan.yaml", expect=11)
        self.spoil_the_text()
        self.pawl("retry", "last")
        self.pawl("resume", "last", expect=11)
        self.mend_the_text()
        self.pawl("diff", "last")
        self.assertTrue(self.pawl_json("gate", "last", "p1", "check", expect=1)["same"])  # it fails as before

    def test_a_fork_has_rows_of_its_own_plan(self):
        self.make_simple(phases=2)
        self.pawl("run", "plan.yaml")
        before, after = (text.splitlines(True) for text in ((self.root / "plan.yaml").read_text(), plan(agent="echo other > made", phases=2)))
        self.write("other.yaml", "".join(new if "id: p2" in new else old for old, new in zip(before, after, strict=True)))
        self.pawl("fork", "last", "--from", "p2", "--plan", "other.yaml")
        self.spoil_the_text()
        self.pawl("resume", "last")
        self.mend_the_text()
        self.assertIn("+other", self.pawl("diff", "last").stdout)
        self.assertEqual(self.database("SELECT COUNT(*) FROM planned_phases"), [(4,)])

    def test_a_revised_goal_outlives_it(self):
        self.make_simple(agent='echo "$PAWL_GOAL" > goal', gate="grep -q better goal", max_attempts=1,
                         replan="""{run: "echo '{\\"goal\\": \\"a better one\\"}'", max_replans: 1}""")
        self.pawl("run", "plan.yaml", expect=-9, env={**KILLED, "PAWL_CRASH_LABEL": "store.finish.after_commit",
                                                      "PAWL_CRASH_COUNT": str(self.root / "count")})
        self.spoil_the_text()
        self.pawl("resume", "last")
        self.mend_the_text()
        self.assertIn("+a better one", self.pawl("diff", "last").stdout)

    def test_rows_that_a_ledger_names_are_not_made_from_the_text_alone(self):
        self.made_and_killed()
        while self.pawl_json("migrate", "down", "--destroy-data")["database"] > BEFORE_PLANS:
            pass
        text = (self.root / "plan.yaml").read_text()
        self.assertEqual(self.database("SELECT plan_text FROM runs"), [(text,)], "an older Pawl goes on from it")
        self.pawl("migrate", "up")
        self.assertEqual(self.database("SELECT COUNT(*) FROM planned_phases"), [(0,)])
        # The text lacks what only the start of a run knows, so rows of it would not be those that the ledger names.
        self.assertIn("planned rows of the run are gone", self.pawl("resume", "last", expect=13).stderr)
        self.assertEqual(self.database("SELECT COUNT(*) FROM planned_phases"), [(0,)])


if __name__ == "__main__":
    unittest.main()
