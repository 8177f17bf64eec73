#!/usr/bin/env python3
"""Work that counts on what base does not say: a base run that failed has no tests to miss, and a later phase may delete what an
earlier one was accepted with. Each is stopped, and each passes with `baseline: none`: so no line holds for another reason."""

import json
import unittest

from pawl_testing import PawlTest

# The runner looks at each file of tests/ and says so; `mishap` is what goes wrong with it on base.
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
# A test of base, and what looks like it and tests something else.
EXCHANGED = {
    "another number behind a hash": ("fixes bug #12", "fixes bug #99"),
    "another word behind a hash": ("counts # of items", "counts # of nothing"),
    "what begins like a skip": ("sorts #skiplist", "sorts #skipnot"),
    "another language": ("reads C# files", "reads C"),
}


class Base(PawlTest):
    def plan(self, phases, baseline):
        text = "".join(f"  - phases: [{{id: {name}, goal: g, agent: {{run: \"{run}\"}}, gates: [check]}}]\n" for name, run in phases)
        self.write("plan.yaml", f"""\
version: 1
workflow: forgery
source: {{path: source}}
max_attempts: 1
gates:
  check:
    {baseline}
    steps: [{{name: unit, run: sh run.sh, time_budget_seconds: 2, reports: {{junit: [out.xml]}}}}]
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
        """The work makes the second runner write nothing. Without the defence: a plan that does not ask for its report."""
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

    def test_known_failing_lets_no_other_test_fail(self):
        """Each is refused with the key, but for the first; without a report nobody could tell them apart."""
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
