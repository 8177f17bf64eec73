#!/usr/bin/env python3
"""A gate passes only when all of its steps pass, and a script only when all of its commands succeed."""

import itertools
import json
import pathlib

import at_once
from forgery_test import blake3
from pawl_testing import PawlTest

SCHEMA = json.loads((pathlib.Path(__file__).resolve().parents[2] / "docs/plan.schema.json").read_text())
# All kinds that a gate can require: the list of docs/plan.schema.json, which plan.* compares with the parser.
KINDS = SCHEMA["$defs"]["gate"]["properties"]["signals"]["items"]["enum"]
# Evidence for every kind: a step that leaves it gets every signal.
GOOD = ("run: \"cp /plan/out.xml /plan/out.sarif /plan/osv.json .\", trace: true, "
        "reports: {junit: [out.xml], sarif: [out.sarif], osv: [osv.json]}")
# A failing command, and a script of which only the last line is true.
FAILS = ("exit 1", "false | tee log\\ntrue")


class Steps(PawlTest):
    def run_steps(self, steps, signals, later="true"):
        """Runs a phase with one attempt: gate `first` has these steps, and gate `second` follows it."""
        self.write("source/answer", "x\n")
        self.write("policy.yaml", "version: 1\n")
        listed = "".join(f"\n      - {{name: {name}, {keys}}}" for name, keys in steps)
        self.write("plan.yaml", f"""\
version: 1
workflow: forgery
source: {{path: source}}
max_attempts: 1
policy: {{file: policy.yaml, blake3: {blake3(self.root / "policy.yaml")}}}
gates:
  first:
    signals: {signals}
    steps:{listed}
  second: {{steps: [{{name: later, run: "{later}"}}]}}
tiers: [{{phases: [{{id: p, goal: g, agent: {{run: echo y >>answer}}, gates: [first, second]}}]}}]
""")
        code = self.pawl("run", "plan.yaml", expect=None).returncode
        attempt = self.pawl_json("inspect", "last")["phases"][0]["attempts"][0]
        labels = [step["label"].split(".") for step in attempt["steps"]]
        return code, attempt, [name for _, gate, name, _ in labels if gate in ("first", "second")]

    def fails_its_gate_in_every_order(self, kind):
        self.write("out.xml", "<testsuite><testcase name='a'/></testsuite>")
        self.write("out.sarif", '{"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "t"}}, "results": []}]}')
        self.write("osv.json", '{"results": []}')
        for run, order in itertools.product(FAILS, itertools.permutations((kind, "unit", "third"))):
            with self.subTest(run=run, order=order):
                steps = {kind: GOOD, "unit": f"run: \"{run}\"", "third": "run: \"true\""}
                code, attempt, ran = self.run_steps([(name, steps[name]) for name in order], [kind])
                self.assertEqual((code, attempt["verdict"]), (11, "escalate"))
                named = [s for s in attempt["signals"] if not s["passed"] and s["details"].get("step") == "unit"]
                self.assertTrue(named, attempt["signals"])
                self.assertNotIn("later", ran)
        # Without the defence: the plan says that the step may fail.
        code, attempt, ran = self.run_steps(((kind, GOOD), ("unit", "may_fail: true, run: \"exit 1\"")), [kind])
        self.assertEqual((code, attempt["verdict"]), (0, "passed"), attempt)
        self.assertEqual([name for name in ran if not name.endswith("@base")], [kind, "unit", "later"])

    def test_a_step_that_leaves_what_it_may_not_fails_its_gate_for_every_signal(self):
        for kind in ("build", "policy"):
            for leaves, holds in (("refused_entries: fail", False), ("refused_entries: record", True)):
                with self.subTest(kind=kind, leaves=leaves):
                    code, attempt, _ = self.run_steps((("unit", f"{leaves}, run: \"mkfifo pipe\""),), [kind])
                    self.assertEqual(code == 0, holds)
                    if not holds:
                        self.assertIn("pipe", [s["details"].get("refused_names") for s in attempt["signals"] if not s["passed"]])

    def test_a_failing_step_is_retried_and_named(self):
        code, attempt, _ = self.run_steps((("build", "run: \"true\""), ("unit", "run: \"exit 7\"")), ["build"])
        self.assertEqual((code, attempt["feedback"]["failing_signals"]), (11, ["first.step.unit"]))
        plan = (self.root / "plan.yaml").read_text().replace("max_attempts: 1", "max_attempts: 2")
        (self.root / "plan.yaml").write_text(plan)
        self.pawl("run", "plan.yaml", expect=11)
        attempts = self.pawl_json("inspect", "last")["phases"][0]["attempts"]
        self.assertEqual([a["verdict"] for a in attempts], ["failed_retryable", "escalate"])
        self.assertIn("FAILED first.step.unit", attempts[0]["feedback"]["summary"])

    def test_a_step_that_may_fail_has_to_run(self):
        for run, holds in (("exit 125", True), ("exit 126", False), ("no-such-program", False), ("kill -9 $$", False)):
            with self.subTest(run):
                code, _, _ = self.run_steps((("unit", f"may_fail: true, run: \"{run}\""),), ["build"])
                self.assertEqual(code == 0, holds)

    def test_a_command_that_fails_ends_its_script(self):
        """Each script contains a failing suite. The script fails the gate, or a warning says how it hides the
        failure."""
        self.write("source/test.sh", "echo '1 failed'; exit 1\n")
        fails = ("|\n          sh test.sh\n          true", "\"sh test.sh; true\"", "\"sh test.sh | tee log\"",
                 "\"sh test.sh | tee log | cat; true\"", "\"x=$(sh test.sh); true\"", "\"(sh test.sh); true\"",
                 "\"for i in 1 2; do sh test.sh; done; true\"", "\"{ sh test.sh; true; }\"", "\"if true; then sh test.sh; fi; true\"",
                 "\"f() { sh test.sh; true; }; f; true\"", "\"true && sh test.sh; true\"", "[sh, -e, -c, \"sh test.sh; true\"]")
        for run in fails:
            with self.subTest(run):
                self.assertEqual(self.run_script(run)[0], 11)
        hides = ("\"sh test.sh || true\"", "\"sh test.sh & wait\"", "\"if sh test.sh; then true; fi\"", "\"set +e; sh test.sh; true\"",
                 "\"echo $(sh test.sh)\"", "\"sh test.sh && true; true\"", "\"! true; true\"", "[sh, -c, \"sh test.sh; true\"]",
                 "\"sh -c 'sh test.sh; true'\"")
        for run in hides:
            with self.subTest(run):
                code, said = self.run_script(run)
                self.assertEqual(code, 0)
                self.assertRegex(said, r"plan\.yaml:\d+:\d+: warning: run: can pass although a command failed: |"
                                       r"warning: .*plan\.yaml:\d+:\d+: run: can pass although a command failed: ")

    def test_the_shell_is_the_one_that_the_plan_names(self):
        for shell, run, holds in (("sh", "test -z \"$BASH_VERSION\"", True), ("bash", "test -n \"$BASH_VERSION\"", True),
                                  ("sh", "false | true", True), ("bash", "false | true", False)):
            with self.subTest(shell=shell, run=run):
                code, said = self.run_script(f"'{run}', shell: {shell}")
                self.assertEqual(code == 0, holds)
                self.assertEqual("counts only the last command of a pipeline" in said, shell == "sh" and "|" in run)
        self.assertIn("shell: needs `run` as a string", self.run_script("[true], shell: sh", expect=2)[1])

    def run_script(self, run, expect=None):
        self.write("source/answer", "x\n")
        step = f"{{name: unit, run: {run}}}" if not run.startswith("|") else f"\n        name: unit\n        run: {run}"
        self.write("plan.yaml", f"""\
version: 1
workflow: forgery
source: {{path: source}}
max_attempts: 1
gates:
  check:
    steps:
      - {step}
tiers: [{{phases: [{{id: p, goal: g, agent: {{run: echo y >>answer}}, gates: [check]}}]}}]
""")
        done = self.pawl("run", "plan.yaml", expect=expect)
        return done.returncode, done.stderr


# One test case for each kind, so that they run at once.
for each in KINDS:
    setattr(Steps, f"test_a_step_that_fails_fails_its_gate_for_{each}_in_every_order",
            lambda self, kind=each: self.fails_its_gate_in_every_order(kind))


if __name__ == "__main__":
    at_once.main()
