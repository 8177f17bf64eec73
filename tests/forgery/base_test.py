#!/usr/bin/env python3
"""Work that exploits gaps in the facts of base. A failed run on base has no tests that could be missed, and a
later phase may delete the tests with which an earlier one was accepted. Each case is stopped, and passes with
`baseline: none`, which shows that the comparison with base stops it."""

import json
import unittest

from pawl_testing import PawlTest

# The runner runs each file of tests/ and reports its result. `mishap` breaks the run on base.
RUN = """\
[ -e mishap ] && . ./mishap
fail=0
echo '<testsuite>' >out.xml
for file in tests/*.t; do
  name=$(basename "$file" .t)
  echo "<testcase name=\\"$name\\">" >>out.xml
  if grep -q '^# SKIP' "$file"; then echo '<skipped/>' >>out.xml
  elif ! sh "$file"; then fail=1; echo '<failure message="no"/>' >>out.xml
  fi
  echo '</testcase>' >>out.xml
  if [ -e mishap ]; then after_first; fi
done
echo '</testsuite>' >>out.xml
exit $fail
"""
FILES = {"run.sh": RUN, "tests/first.t": "true\n", "tests/right.t": '[ "$(cat answer)" = right ]\n', "answer": "wrong\n"}

MISHAPS = {
    "base does not compile": "exit 2\n",
    "base hangs": "sleep 60\n",
    "base hangs behind its first test": "after_first() { echo '</testsuite>' >>out.xml; sleep 60; }\n",
    "base crashes behind its first test": "after_first() { echo '</testsuite>' >>out.xml; kill -9 $$; }\n",
    "base's report is cut": "after_first() { exit 1; }\n",
    "base's report is no report": "echo 'Segmentation fault' >out.xml; exit 1\n",
    "base's runner ends before its first test": "echo '<testsuite/>' >out.xml; exit 3\n",
}
LATER = {
    "deletes the test of an earlier phase": "rm tests/added.t",
    "renames the test of an earlier phase": "mv tests/added.t tests/other.t",
    "skips the test of an earlier phase": "echo '# SKIP' >tests/added.t",
    "moves the test of an earlier phase": "mkdir later; mv tests/added.t later/",
}
# A test of base, and a test that looks like it but tests something else.
EXCHANGED = {
    "another number behind a hash": ("fixes bug #12", "fixes bug #99"),
    "another word behind a hash": ("counts # of items", "counts # of nothing"),
    "what begins like a skip": ("sorts #skiplist", "sorts #skipnot"),
    "another language": ("reads C# files", "reads C"),
}


# The same runner with names that move: a test marked with MOVES has the time in its name.
MOVING = RUN.replace('name=$(basename "$file" .t)\n', 'name=$(basename "$file" .t)\n  if grep -q "^# MOVES" "$file"; then name="$name $(date +%s%N)"; fi\n')
MOVES = "# MOVES\ntrue\n"
AMONG_MOVING = {
    "deletes a test whose name moves": "rm tests/one.t",
    "deletes one, and adds another that stays": "rm tests/one.t; echo true >tests/other.t",
    "skips a test whose name moves": "echo '# SKIP' >>tests/one.t",
    "deletes a test that stays, and adds one whose name moves": "rm tests/first.t; cp tests/one.t tests/more.t",
    "renames a test that stays to its form": "mv tests/waits5.t tests/waits6.t",
    "breaks a test whose name moves": "echo false >>tests/one.t",
}
# This runner ends at the first failure, and its report counts all tests that exist.
STOPPING = RUN.replace("echo '<testsuite>'", "echo \"<testsuite tests='$(ls tests/*.t | wc -l)'>\"").replace(
    "  echo '</testcase>' >>out.xml\n", "  echo '</testcase>' >>out.xml\n  [ $fail = 0 ] || break\n")
BEHIND_THE_STOP = {
    "deletes a test behind the stop": "rm tests/zlast.t",
    "moves it": "mkdir later; mv tests/zlast.t later/",
    "leaves it out of the list": "mv tests/zlast.t tests/zlast.off",
}
# How a project may have pytest end at a failure: files, and the step's command. The test that fails on base is first.
KNOWN = {"test_a.py": "def test_known():\n    assert 0\n", "test_b.py": "from calc import one\ndef test_one():\n    assert one() == 1\n",
         "calc.py": "def one():\n    return 1\n"}
A, B = (f"python3 -m pytest -q --junitxml={name}.xml test_{name}.py >log" for name in "ab")
BY_A_FILE = {
    "a setting of pytest.ini": ({"pytest.ini": "[pytest]\naddopts = -q -x\n"}, "python3 -m pytest --junitxml=out.xml >log"),
    "a setting of setup.cfg": ({"setup.cfg": "[tool:pytest]\naddopts =\n  -q\n  --maxfail=1\n"}, "python3 -m pytest --junitxml=out.xml >log"),
    "a recipe": ({"Makefile": "FLAGS = -qx\ntest:\n\tpython3 -m pytest $(FLAGS) --junitxml=out.xml >log\n"}, "make test"),
    "a shell script": ({"test.sh": "python3 -m pytest -x --junitxml=out.xml >log\n"}, "sh test.sh"),
    "lines of a script under -e": ({"test.sh": f"set -e\n{A}\n{B}\n"}, "sh test.sh"),
    "commands in a row": ({"test.sh": f"{A} && {B}\n"}, "sh test.sh"),
    "targets of a Makefile": ({"Makefile": f"test: one two\none:\n\t{A}\ntwo:\n\t{B}\n", "ci.sh": "make test\n"}, "sh ci.sh"),
    "a script of package.json": ({"package.json": json.dumps({"scripts": {"pretest": A, "test": B}})}, "npm test"),
}
# Pawl does not read programs of Python, so it does not see this one.
UNSEEN = ({"run.py": "import pytest, sys\nsys.exit(pytest.main(['-x', '--junitxml=out.xml']))\n"}, "python3 run.py >log")
NODE = "import test, {describe, it} from 'node:test';\nimport assert from 'node:assert';\nimport {add} from './calc.mjs';\n"
NODE_TESTS = "describe('calc', () => {\n  it('adds', () => assert.equal(add(1, 2), 3));\n  it('is there', () => assert.ok(add));\n});\n"
UNLOADED = {
    "empties the file": ": >calc.test.mjs",
    "leaves a comment": "echo '// later' >calc.test.mjs",
    "skips one of its tests": "sed -i \"s/it('adds'/it.skip('adds'/\" calc.test.mjs",
    "skips one by an option": "sed -i \"s/'adds', /'adds', {skip: true}, /\" calc.test.mjs",
    "makes one a todo": "sed -i \"s/it('adds'.*/it.todo('adds');/\" calc.test.mjs",
    "skips the suite": "sed -i \"s/describe('calc'/describe.skip('calc'/\" calc.test.mjs",
    "comments one out": "sed -i \"s/  it('adds'/  \\/\\/ it('adds'/\" calc.test.mjs",
    "deletes one of them": "sed -i \"/'adds'/d\" calc.test.mjs",
    "renames one of them": "sed -i \"s/it('adds'.*/it('more', () => {});/\" calc.test.mjs",
}


class Base(PawlTest):
    def plan(self, phases, baseline, run=None):
        text = "".join(f"  - phases: [{{id: {name}, goal: g, agent: {{run: {json.dumps(agent)}}}, gates: [check]}}]\n" for name, agent in phases)
        self.write("plan.yaml", f"""\
version: 1
workflow: forgery
source: {{path: source}}
max_attempts: 1
gates:
  check:
    {baseline}
    steps: [{{name: unit, run: {run or "sh run.sh, time_budget_seconds: 2, reports: {junit: [out.xml]}"}}}]
    signals: [tests]
tiers:
{text}""")
        self.pawl("run", "plan.yaml", expect=None)
        return {phase["phase_id"]: phase for phase in self.pawl_json("inspect", "last")["phases"]}

    def make(self, files):
        for path, text in files.items():
            self.write(f"source/{path}", text)

    def test_a_base_run_that_failed_is_no_base_without_tests(self):
        self.assertGreaterEqual(len(MISHAPS), 7)
        for name, mishap in MISHAPS.items():
            with self.subTest(name):
                self.make(FILES | {"mishap": "after_first() { :; }\n" + mishap})
                work = [("p", "rm mishap tests/right.t")]
                phase = self.plan(work, "")["p"]
                self.assertEqual((phase["state"], phase["outcome"]), ("FAILED", "escalate"))
                attempt = phase["attempts"][0]
                self.assertEqual([step["label"] for step in attempt["steps"]], ["p.check.unit@base.attempt1"], "no agent is paid")
                signal = next(s for s in attempt["signals"] if s["kind"] == "base")
                self.assertTrue(signal["missing"])
                self.assertTrue(signal["details"]["base"].startswith("tests: unknown: "), signal)
                self.assertIn("baseline: none", attempt["summary"])
                self.assertEqual(self.plan(work, "baseline: none")["p"]["outcome"], "passed", "the defence is off")

    def test_a_known_failure_that_ends_the_runner_by_a_file_is_no_pass(self):
        """The work breaks a test that never runs."""
        def outcome(files, run):
            self.make(KNOWN | files)
            phase = self.plan([("p", "echo 'def one(): return 2' >calc.py")], "known_failing: base",
                              run + ", reports: {junit: ['*.xml']}")["p"]
            return phase["outcome"], phase["attempts"][0]["summary"]
        for name, how in BY_A_FILE.items():
            with self.subTest(name):
                outcome_now, said = outcome(*how)
                self.assertEqual(outcome_now, "escalate")
                self.assertIn("the runner stopped early", said)
                for path in how[0]:
                    (self.root / "source" / path).unlink()
        self.assertEqual(outcome(*UNSEEN)[0], "passed", "the defence is off")

    def test_tests_that_an_earlier_phase_added_are_kept(self):
        self.assertGreaterEqual(len(LATER), 4)
        for name, agent in LATER.items():
            with self.subTest(name):
                self.make(FILES | {"answer": "right\n"})
                phases = [("one", "echo true >tests/added.t"), ("two", agent)]
                done = self.plan(phases, "")
                self.assertEqual((done["one"]["outcome"], done["two"]["state"]), ("passed", "FAILED"))
                signal = next(s for s in done["two"]["attempts"][0]["signals"] if s["kind"] == "tests")
                self.assertIn("added", str(signal["details"]))
                self.assertEqual(self.plan(phases, "baseline: none")["two"]["outcome"], "passed", "the defence is off")

    def test_what_a_person_approved_is_what_later_phases_are_held_to(self):
        self.make(FILES | {"answer": "right\n"})
        phases = [("one", "rm tests/first.t"), ("two", "echo true >tests/more.t"), ("three", "rm tests/right.t")]
        self.assertEqual(self.plan(phases, "")["one"]["outcome"], "escalate")
        run = self.pawl_json("status")["runs"][0]["run_id"]
        self.pawl("approve", run, "one", "--reason", "it tested nothing")
        self.pawl("resume", run, expect=None)
        done = {phase["phase_id"]: phase for phase in self.pawl_json("inspect", run)["phases"]}
        self.assertEqual(done["two"]["outcome"], "passed", "the removal is not missed again")
        self.assertEqual(done["three"]["state"], "FAILED", "and others are")

    def report_plan(self, work, run, keys, signals="[tests]"):
        self.write("plan.yaml", f"""\
version: 1
workflow: forgery
source: {{path: source}}
max_attempts: 1
gates: {{check: {{steps: [{{name: unit, run: "{run}", {keys}, signals: {signals}}}}}
tiers: [{{phases: [{{id: p, goal: g, agent: {{run: {json.dumps(work)}}}, gates: [check]}}]}}]
""")
        self.pawl("run", "plan.yaml", expect=None)
        phase = self.pawl_json("inspect", "last")["phases"][0]
        return phase["outcome"], str(phase["attempts"][-1]["signals"])

    def test_a_test_is_not_exchanged_for_one_that_looks_like_it(self):
        for name, (test, other) in EXCHANGED.items():
            with self.subTest(name):
                self.make({"all.tap": f"1..2\nok 1 - adds\nok 2 - {test}\n"})
                work = f"printf '1..2\\nok 1 - adds\\nok 2 - {other}\\n' >all.tap"
                declared = "reports: {tap: [out.tap]}}]"
                outcome, signals = self.report_plan(work, "cp all.tap out.tap", declared)
                self.assertEqual(outcome, "escalate")
                self.assertIn(f"'gone_names': '{test}'", signals)
                self.assertEqual(self.report_plan(work, "cp all.tap out.tap", declared + ", baseline: none")[0], "passed", "the defence is off")

    def test_one_report_does_not_speak_for_another(self):
        """The work makes the second runner write no report. Without the defence, the plan does not ask
        for that report."""
        files = {"u.xml": "<testsuite><testcase name='a'/></testsuite>\n", "v.xml": "<testsuite><testcase name='b'/></testsuite>\n",
                 "e.tap": "ok 1 c\n1..1\n", "a.sarif": '{"runs":[{"results":[]}]}\n', "b.sarif": '{"runs":[{"results":[]}]}\n'}
        for one, other, both in (("u.xml", "e.tap", "junit: [u.xml], tap: [e.tap]"), ("u.xml", "e.tap", "junit: ['*.xml'], tap: ['**/*.tap']"),
                                 ("u.xml", "v.xml", "junit: [u.xml, v.xml]"), ("a.sarif", "b.sarif", "sarif: [a.sarif, b.sarif]")):
            with self.subTest(both):
                self.make({f"in/{name}": text for name, text in files.items()})
                run = f"cp in/{one} .; [ ! -e in/{other} ] || cp in/{other} ."
                signals = "[sarif_delta]" if one.endswith("sarif") else "[tests]"
                for baseline in (", baseline: none", ""):
                    outcome, found = self.report_plan(f"rm in/{other}", run, f"reports: {{{both}}}}}]{baseline}", signals)
                    self.assertEqual(outcome, "escalate", both + baseline)
                    self.assertIn("no report ", found)
                only = both.split(",")[0] + ("]" if both.count("[") == 1 else "")
                self.assertEqual(self.report_plan(f"rm in/{other}", run, f"reports: {{{only}}}}}], baseline: none", signals)[0], "passed")

    def refused(self, cheats, files, agent="{}", run=None, word=""):
        """Each cheat is refused, and passes with `baseline: none`."""
        for name, cheat in cheats.items():
            with self.subTest(name):
                self.make(files)
                work = [("p", agent.format(cheat))]
                phase = self.plan(work, "", run)["p"]
                self.assertEqual((phase["state"], phase["outcome"]), ("FAILED", "escalate"), phase)
                self.assertIn(word, str(phase["attempts"][0]["signals"]))
                if "breaks" not in name:  # what fails needs no defence
                    self.assertEqual(self.plan(work, "baseline: none", run)["p"]["outcome"], "passed", "the defence is off")

    def test_names_that_move_let_no_other_test_go(self):
        files = FILES | {"run.sh": MOVING, "tests/one.t": MOVES, "tests/two.t": MOVES, "tests/waits5.t": "true\n"}
        self.assertGreaterEqual(len(AMONG_MOVING), 6)
        self.refused(AMONG_MOVING, files, "echo right >answer; {}")
        self.make(files)
        honest = self.plan([("p", "echo right >answer; echo true >tests/more.t")], "")["p"]
        self.assertEqual(honest["outcome"], "passed", honest)

    def test_what_is_behind_a_stop_of_base_is_held_to_by_its_number(self):
        files = FILES | {"run.sh": STOPPING, "tests/zlast.t": "true\n"}
        self.refused(BEHIND_THE_STOP, files, "echo right >answer; {}", word="fewer")
        self.make(files)
        honest = self.plan([("p", "echo right >answer; echo true >tests/more.t")], "")["p"]
        self.assertEqual(honest["outcome"], "passed", honest)
        signal = next(s for s in honest["attempts"][0]["signals"] if s["kind"] == "tests")
        self.assertIn("lower bound: ", signal["details"]["base"])

    def test_what_base_could_not_load_is_not_taken_out(self):
        files = {"calc.test.mjs": NODE + NODE_TESTS, "other.test.mjs": "import test from 'node:test';\ntest('other', () => {});\n"}
        run = "node --test --test-reporter=tap >out.tap, reports: {tap: [out.tap]}"
        wrong = "echo 'export function add(a, b) {{ return 0; }}' >calc.mjs; {}"
        self.assertGreaterEqual(len(UNLOADED), 9)
        self.refused(UNLOADED, files, wrong, run, "unloaded_gone")
        self.make(files)
        work = "echo 'export function add(a, b) { return a + b; }' >calc.mjs; echo \"it('new', () => {});\" >>calc.test.mjs"
        honest = self.plan([("p", work)], "", run)["p"]
        self.assertEqual(honest["outcome"], "passed", honest)

    def test_known_failing_lets_no_other_test_fail(self):
        """With the key, each case but the first is refused. Only the report distinguishes the cases."""
        broken = {"leaves the failing test as it is": ("echo >>answer.txt", "passed"),
                  "breaks another test": ("echo false >tests/first.t", "escalate"),
                  "adds a test that fails": ("echo false >tests/more.t", "escalate"),
                  "deletes a test": ("rm tests/first.t", "escalate"),
                  "deletes the failing test": ("rm tests/right.t", "escalate")}
        self.make(FILES)
        for name, (agent, outcome) in broken.items():
            with self.subTest(name):
                phase = self.plan([("p", agent)], "known_failing: base")["p"]
                self.assertEqual(phase["outcome"], outcome, phase)
        self.assertEqual(self.plan([("p", "echo >>answer.txt")], "")["p"]["outcome"], "escalate")
        reason = self.pawl("why", "last", expect=None).stdout
        self.assertIn("on base fail, too: right", reason)


if __name__ == "__main__":
    unittest.main()
