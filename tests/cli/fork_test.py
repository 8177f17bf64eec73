"""`pawl fork`: a new run from a point of another run, which never changes."""

import sqlite3
import subprocess
import unittest

from pawl_runs import WithRun
from pawl_testing import plan

# Each phase adds a line of its own, and copies the feedback of the attempt before, if there is any.
AGENT = 'echo "$PAWL_PHASE_ID by one" >> done; cp "$PAWL_FEEDBACK" told-$PAWL_PHASE_ID 2>/dev/null || true'
FAILS_ONCE = '[ -s "$PAWL_FEEDBACK" ] || [ $PAWL_PHASE_ID != p2 ] || exit 1; ' + AGENT


class Fork(WithRun):
    def rows_of_run(self, run):
        """Every row of every table that names the run. Rows of forks are left out: they say where other
        runs come from."""
        with sqlite3.connect(self.root / "source/.pawl/pawl.db") as db:
            tables = [name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
            found = {}
            for table in tables:
                columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
                if "run_id" in columns:
                    found[table] = sorted(map(repr, db.execute(f"SELECT * FROM {table} WHERE run_id = ?", (run,))))
        db.close()
        self.assertGreater(len(found["ledger"]), 3)
        return found

    def made(self, **kwargs):
        self.make_simple(**kwargs)
        self.pawl("run", "plan.yaml", expect=None)
        return self.run_id()

    def states(self, run):
        return [(phase["phase_id"], phase["state"], phase["attempts_total"])
                for phase in self.pawl_json("status", run)["phases"]]

    def test_what_came_before_is_shared_and_not_paid_again(self):
        old = self.made(phases=3, agent=AGENT)
        before = self.rows_of_run(old)
        made = self.pawl_json("fork", old, "--from", "p2", "--reason", "try again")
        new = made["run_id"]
        self.assertEqual(made["shared"], ["p1"])
        self.assertEqual(self.states(new), [("p1", "COMPLETE", 0), ("p2", "QUEUED", 0), ("p3", "QUEUED", 0)])
        self.pawl("resume", new)
        self.assertEqual(self.states(new), [("p1", "COMPLETE", 0), ("p2", "COMPLETE", 1), ("p3", "COMPLETE", 1)])
        self.assertEqual(self.rows_of_run(old), before, "the old run is never touched")
        diff = self.pawl("diff", new).stdout
        for phase in ("p1", "p2", "p3"):
            self.assertIn(f"+{phase} by one", diff)

        chains = self.chains(new)
        forked = [row for row in chains[""] if row["type"] == "forked"][0]
        old_chains = self.chains(old)
        self.assertEqual((forked["from_run"], forked["phase_id"], forked["attempt"], forked["reason"]),
                         (old, "p2", 1, "try again"))
        self.assertEqual(forked["head"], old_chains[""][-1]["hash"])
        layer, = [row["layer"] for row in old_chains[""] if row["type"] == "phase_sealed" and row["phase_id"] == "p1"]
        self.assertEqual(forked["shared"], [{"phase_id": "p1", "state": "COMPLETE", "outcome": "passed", "layer": layer, "merge_seq": 1,
                                             "rows": len(old_chains["p1"]), "head": old_chains["p1"][-1]["hash"]}])
        self.assertEqual([row["label"] for chain in chains.values() for row in chain if row["type"] == "pre_execute"],
                         ["p2.agent.run.attempt1", "p2.check.unit.attempt1",
                          "p3.agent.run.attempt1", "p3.check.unit.attempt1"])
        self.assertIn(f"forked from {old} at attempt 1 of p2", self.pawl("status", new).stdout)
        self.assertEqual(self.pawl_json("status", new)["forked_from"],
                         {"run_id": old, "phase_id": "p2", "attempt": 1})
        self.pawl("verify", new)

    def test_an_attempt_goes_on_with_what_the_one_before_left(self):
        old = self.made(phases=2, agent=FAILS_ONCE)
        self.assertEqual(self.states(old), [("p1", "COMPLETE", 1), ("p2", "COMPLETE", 2)])
        said = self.pawl("fork", old, "--from", "p2:2").stdout
        self.assertRegex(said, r"^run \S+ goes on from \S+ at attempt 2 of p2\nshared: p1\nNext: pawl resume \S+\n$")
        new = self.run_id()
        self.pawl("resume", new)
        self.assertEqual(self.states(new), [("p1", "COMPLETE", 0), ("p2", "COMPLETE", 1)])
        anew = self.pawl_json("fork", old, "--from", "p2")["run_id"]
        self.pawl("resume", anew)
        self.assertEqual(self.states(anew)[1], ("p2", "COMPLETE", 2), "from its beginning: without feedback")

    def test_a_fork_goes_on_with_the_model_of_the_attempt(self):
        self.make_simple(agent="echo $PAWL_MODEL >> model", gate="grep -q large model || exit 1", models="[small, medium, large]", max_attempts=3)
        self.pawl("run", "plan.yaml")
        old = self.run_id()
        models = lambda run: [row["model"] for row in self.chains(run)["p1"] if row["type"] == "attempt"]
        self.assertEqual(models(old), ["small", "medium", "large"])
        for point, plan_of, wanted in (("p1:3", [], ["large"]), ("p1:2", [], ["medium", "medium", "large"]), ("p1", [], ["small", "medium", "large"]),
                                       ("p1:3", ["--plan", "plan.yaml"], ["small", "medium", "large"])):
            with self.subTest(point):
                new = self.pawl_json("fork", old, "--from", point, *plan_of)["run_id"]
                self.pawl("resume", new)
                self.assertEqual(models(new), wanted)

    @staticmethod
    def with_another_p2():
        return "".join(line.replace("by one", "by another") if "id: p2" in line else line
                       for line in plan(phases=2, agent=AGENT).splitlines(keepends=True))

    def test_what_judged_the_shared_phases_is_the_same_in_another_plan(self):
        rules = self.write("rules.yaml", "version: 1\nlimits: {files: 9}\n")
        digest = subprocess.run(["b3sum", "--no-names", rules], capture_output=True, text=True, check=True).stdout.strip()
        old = self.made(phases=2, agent=AGENT)
        good = self.with_another_p2()
        for changed, key in ((good.replace("goal: g", "goal: h", 1), "goal"),
                             (good.replace('run: "true"', 'run: "test ! -e file"'), "gates.check.steps"),
                             (good.replace("gates:\n", "protect: [file]\ngates:\n"), "protect"),
                             (good.replace("gates:\n", f"policy: {{file: rules.yaml, blake3: {digest}}}\ngates:\n"),
                              "policy")):
            self.assertNotEqual(changed, good)
            self.write("other.yaml", changed)
            said = self.pawl("fork", old, "--from", "p2", "--plan", "other.yaml", expect=2).stderr
            self.assertIn(f"the plan has another `{key}` for phase p1 than the run", said)
        self.assertEqual(len(self.pawl_json("status")["runs"]), 1)
        self.pawl("fork", old, "--from", "p1", "--plan", "other.yaml")  # no phase is shared

    def test_another_plan_changes_what_comes_after(self):
        old = self.made(phases=3, agent=AGENT)
        self.write("other.yaml", self.with_another_p2())
        new = self.pawl_json("fork", old, "--from", "p2", "--plan", "other.yaml")["run_id"]
        self.pawl("resume", new)
        diff = self.pawl("diff", new).stdout
        self.assertIn("+p1 by one", diff)
        self.assertIn("+p2 by another", diff)
        self.assertNotIn("p3", diff)
        again = self.pawl_json("fork", new, "--from", "p2")["run_id"]
        self.pawl("resume", again)
        self.assertIn("+p2 by another", self.pawl("diff", again).stdout, "a fork of a fork has its plan")

    def test_points_that_are_none_are_refused_and_nothing_is_made(self):
        old = self.made(phases=3, agent=FAILS_ONCE + "; [ $PAWL_PHASE_ID != p2 ]", models="[m]")
        self.assertEqual([state for _, state, _ in self.states(old)], ["COMPLETE", "FAILED", "SKIPPED"])
        self.write("before.yaml", plan(phases=3).replace("id: p1", "id: p0"))
        self.write("fewer.yaml", plan(phases=1))
        self.write("broken.yaml", "version: 1\n")
        for options, code, said in (
                (("--from", "p9"), 1, f"run {old} has no phase p9"),
                (("--from", "p3"), 2, "phase p2 comes before it and is FAILED: fork from p2 instead"),
                (("--from", "p2:9"), 1, "attempt 9 is not a point to fork from"),
                (("--from", "p2:x"), 2, "--from p2:x: expected PHASE or PHASE:ATTEMPT"),
                (("--from", "p2:0"), 2, "--from p2:0: expected PHASE or PHASE:ATTEMPT"),
                (("--from", "p2", "--plan", "before.yaml"), 2, "the plan has phase p0 where the run has p1"),
                (("--from", "p2", "--plan", "fewer.yaml"), 1, "the plan has no phase p2"),
                (("--from", "p2", "--plan", "broken.yaml"), 2, "broken.yaml")):
            self.assertIn(said, self.pawl("fork", old, *options, expect=code).stderr)
        self.assertEqual(len(self.pawl_json("status")["runs"]), 1)
        self.pawl("fork", old, "--from", "p2")

    def test_what_gc_took_can_not_be_shared(self):
        old = self.made(phases=2, agent=AGENT)
        kept = self.pawl_json("fork", old, "--from", "p2")["run_id"]
        self.pawl("gc", "--older-than", "0s")
        self.pawl("resume", kept)
        self.assertEqual(self.states(kept)[1], ("p2", "COMPLETE", 1), "what an open run shares is kept")
        self.pawl("gc", "--older-than", "0s")
        self.assertIn("is gone (`pawl gc` takes it", self.pawl("fork", old, "--from", "p2", expect=1).stderr)


if __name__ == "__main__":
    unittest.main()
