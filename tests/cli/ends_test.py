#!/usr/bin/env python3
"""How attempts and phases end: the same failure, no work, an agent's exit code, a hang, and work that a
person takes."""

import base64
import json

import at_once
from pawl_runs import WithAttempts
from pawl_testing import plan

SUITE = """\
n=0; bad=0
for t in a b c d; do
  n=$((n+1))
  if [ "$(cat $t)" = 1 ]; then echo "ok $n - $t"; else echo "not ok $n - $t"; bad=1; fi
done
echo 1..4
exit $bad
"""


class Ends(WithAttempts):
    def make_suite(self, agent, retry="", top=""):
        for name in "abcd":
            self.write(f"source/{name}", "0\n")
        self.write("source/test.sh", SUITE)
        self.write("agent.sh", agent)
        self.write("plan.yaml", f"""\
version: 1
workflow: suite
source: {{path: source}}
{top}
gates:
  suite:
    steps: [{{name: unit, run: "sh test.sh >out.tap", reports: {{tap: [out.tap]}}}}]
    signals: [build, tests]
    {retry}
tiers: [{{phases: [{{id: fix, goal: "mend it", agent: {{run: "sh /plan/agent.sh"}}, gates: [suite]}}]}}]
""")

    def one(self, agent, keys="", gate="true", expect=11, attempts=1):
        self.write("source/file", "x\n")
        self.write("source/.gitignore", "build/\n")
        self.write("plan.yaml", f"""\
version: 1
workflow: one
source: {{path: source}}
max_attempts: {attempts}
gates: {{check: {{steps: [{{name: unit, run: {json.dumps(gate)}}}]}}}}
tiers: [{{phases: [{{id: p1, goal: g, agent: {{run: {json.dumps(agent)}}}, gates: [check]{keys}}}]}}]
""")
        return self.pawl("run", "plan.yaml", expect=expect)


class SameFailure(Ends):
    MENDS_ONE = 'i=0; for t in a b c d; do i=$((i+1)); [ $i -gt $PAWL_ATTEMPT ] || echo 1 >$t; done; echo $PAWL_ATTEMPT >n\n'

    def test_a_failing_test_less_is_progress(self):
        self.make_suite(self.MENDS_ONE)
        self.pawl("run", "plan.yaml")
        self.assertEqual(len(self.attempts()), 4)
        failures = [row.get("failure") for row in self.rows("attempt", "fix")]
        self.assertEqual((len(set(failures[:3])), failures[3]), (3, None))

    LOADS = """\
{ echo '<testsuite>'; bad=0
for t in a b c d; do
  if [ "$(cat $t)" = 1 ]; then echo "<testcase classname='$t' name='works'/>"
  else echo "<testcase classname='' name='$t'><error message='collection failure'>$(cat why)</error></testcase>"; bad=2; fi
done
echo '</testsuite>'; } >out.xml
exit $bad
"""

    def test_a_file_less_that_can_not_be_loaded_is_progress(self):
        for agent, used, code in ((self.MENDS_ONE, 4, 0), ("echo $PAWL_ATTEMPT >n\n", 3, 11),
                                  ("case $PAWL_ATTEMPT in 4) for t in a b c d; do echo 1 >$t; done ;; *) echo ImportError: no $(seq -s x $PAWL_ATTEMPT) | "
                                   "tr 1-9 a-i >why ;; esac\n", 4, 0)):
            with self.subTest(agent):
                self.make_suite(agent)
                self.write("source/test.sh", self.LOADS)
                self.write("source/why", "no module\n")
                self.write("plan.yaml", (self.root / "plan.yaml").read_text().replace("out.tap", "out.xml").replace("tap:", "junit:").replace(" >out.xml", ""))
                self.pawl("run", "plan.yaml", expect=code)
                self.assertEqual(len(self.attempts()), used)

    def test_the_same_tests_go_to_a_person_who_can_take_the_work(self):
        self.make_suite('echo 1 >a; echo "$PAWL_ATTEMPT $(date +%N)" >n; echo "attempt $PAWL_ATTEMPT"\n')
        self.assertIn("the same failure 3 attempts in a row", self.pawl("run", "plan.yaml", expect=11).stdout)
        self.assertEqual(len(self.attempts()), 3)
        said = self.pawl("approve", "last", "fix", "--reason", "good enough").stdout
        self.assertIn("failed, and overruled: suite.tests", said)
        self.assertEqual(self.outcome("fix"), "approved")

    def test_the_plan_says_how_often(self):
        for most, attempts, code in (("1", 1, 11), ("2", 2, 11), ("off", 5, 11)):
            with self.subTest(most):
                self.make_suite("echo $PAWL_ATTEMPT >n\n", retry=f"retry: {{same_failure_max: {most}}}")
                self.pawl("run", "plan.yaml", expect=code)
                self.assertEqual(len(self.attempts()), attempts)
        for wrong in ("0", "101", "never"):
            self.make_suite("true", retry=f"retry: {{same_failure_max: {wrong}}}")
            self.assertIn("same_failure_max", self.pawl("check", "plan.yaml", expect=2).stderr)

    def test_each_model_of_the_ladder_has_its_chance(self):
        self.make_suite('[ $PAWL_MODEL = d ] && for t in a b c d; do echo 1 >$t; done; echo $PAWL_ATTEMPT >n\n', top="models: [a, b, c, d]")
        self.pawl("run", "plan.yaml")
        self.assertEqual([attempt["model"] for attempt in self.attempts()], ["a", "b", "c", "d"])

    def test_without_reports_what_differs_each_time_does_not_count(self):
        gate = 'echo "no /tmp/x.$$/a in $(date +%N) ns, at 0x$(date +%N)"; echo "expected yes"; exit 1'
        self.make_simple(agent="echo $PAWL_ATTEMPT >n", gate=gate)
        self.pawl("run", "plan.yaml", expect=11)
        self.assertEqual(len(self.attempts()), 3)

    def test_without_reports_another_end_is_progress(self):
        self.make_simple(agent="echo $PAWL_ATTEMPT | tr 12345 abcde >n", gate="echo \"undefined: $(cat n)\"; grep -q e n")
        self.pawl("run", "plan.yaml")
        self.assertEqual(len(self.attempts()), 5)

    def test_an_agent_that_leaves_no_work_fails_for_good(self):
        self.make_simple(agent="sleep 9")
        text = (self.root / "plan.yaml").read_text().replace('{run: "sleep 9"}', '{run: "sleep 9", time_budget_seconds: 1}')
        self.write("plan.yaml", text)
        self.pawl("run", "plan.yaml", expect=12)
        attempts = self.attempts()
        self.assertEqual(len(attempts), 3)
        self.assertEqual(attempts[0]["signals"][0]["details"]["time_budget_seconds"], 1)
        self.pawl("approve", "last", "p1", "--reason", "nothing was to be done")
        self.assertEqual(self.outcome(), "approved")


class Hangs(Ends):
    SECONDS = 6  # enough for a step that ends in time, also with sanitizers on a busy machine
    AGENT = '[ -n "$PAWL_FEEDBACK" ] && { cp "$PAWL_FEEDBACK" told.json; echo ": done" >test.sh; } || echo "%s" >test.sh'

    def hang(self, script, retry=""):
        self.write("source/test.sh", "true\n")
        self.write("agent.sh", self.AGENT % script + "\n")
        self.write("plan.yaml", f"""\
version: 1
workflow: hang
source: {{path: source}}
gates: {{suite: {{steps: [{{name: unit, run: "sh test.sh", time_budget_seconds: {self.SECONDS}}}]{retry}}}}}
tiers: [{{phases: [{{id: p1, goal: g, agent: {{run: "sh /plan/agent.sh"}}, gates: [suite]}}]}}]
""")

    @at_once.waits
    def test_the_next_attempt_is_told_of_the_time_and_the_test(self):
        for line, name in (("=== RUN   TestLoop", "TestLoop"), ("[ RUN      ] Loop.Ends", "Loop.Ends"), ("    Start 3: loop", "loop"),
                           ("t/loop.t ..", "t/loop.t"), ("ok 1 - first", "after first"), ("# Subtest: loop", "loop"),
                           ("test loops ...", "loops")):
            with self.subTest(line):
                self.hang(f"echo '{line}'; while :; do sleep 1; done")
                self.pawl("run", "plan.yaml")
                details = self.attempts()[0]["signals"][-1]["details"]
                self.assertEqual((details["outcome"], details["time_budget_seconds"], details["last_test"]), ("timed_out", self.SECONDS, name))
                told = json.loads(self.pawl("diff", "last").stdout.split("told.json\n")[-1].split("\n+")[1].split("\n")[0])
                self.assertIn(f"time_budget_seconds: {self.SECONDS}", told["summary"])
                self.assertIn("last_test: " + name, told["summary"])

    @at_once.waits
    def test_a_plan_may_send_it_to_a_person(self):
        self.hang("while :; do sleep 1; done", ", retry: {timeout_retryable: false}")
        self.pawl("run", "plan.yaml", expect=11)
        self.assertEqual(len(self.attempts()), 1)

    @at_once.waits
    def test_an_agents_time_is_not_that_of_gates(self):
        self.hang("true", ", retry: {timeout_retryable: false}")
        self.write("agent.sh", 'echo "$PAWL_ATTEMPT" >new; [ "$PAWL_ATTEMPT" = 2 ] || sleep 60 || true\n')
        self.write("plan.yaml", (self.root / "plan.yaml").read_text().replace('agent.sh"}', f'agent.sh", time_budget_seconds: {self.SECONDS}}}'))
        self.pawl("run", "plan.yaml")
        first, second = self.attempts()
        self.assertEqual((first["verdict"], second["verdict"]), ("failed_retryable", "passed"))
        self.assertEqual([(s["gate_id"], s["kind"], s["passed"]) for s in first["signals"]][:1], [("agent", "agent", False)])
        self.assertIn(f"time_budget_seconds: {self.SECONDS}", first["summary"])


class NoWork(Ends):
    def test_what_changes_no_file_is_no_work(self):
        for agent in ("true", "cat file", "echo y >new; rm new", "mkdir build && echo x >build/x"):
            with self.subTest(agent):
                self.assertIn("diff.empty", self.one(agent).stdout)
                self.assertEqual(self.failing(), [["diff.empty"]])
        self.assertIn("source ignores", self.attempts()[0]["summary"])

    # Each writes something that a patch can't have.
    UNSEEN = ("echo x >file", "touch file", "cat file >other && cp other file && rm other", "cat file >other && mv other file",
              "mkdir folder", "mkdir folder && cd folder && git init -q .", "chmod 600 file", "chmod 666 file",
              "cp file other && chmod 604 other && mv other file")

    def test_what_git_does_not_see_is_no_work(self):
        for agent in self.UNSEEN:
            with self.subTest(agent):
                self.assertIn("diff.empty", self.one(agent).stdout)
                self.assertEqual(self.failing(), [["diff.empty"]])
                self.assertIn("changed nothing", self.pawl("inspect", "last", "p1").stdout)
                self.assertIn("git keeps no empty folders", self.attempts()[0]["summary"])

    def test_what_git_does_not_see_is_told_where_a_phase_may_be_empty(self):
        for agent in self.UNSEEN[1::4]:
            with self.subTest(agent):
                self.assertIn("changed nothing", self.one(agent, ", may_be_empty: true", expect=0).stdout)
                self.assertIn("changed nothing", self.pawl("inspect", "last", "p1").stdout)
                self.assertIn("the patch is empty", self.pawl("diff", "last").stderr)

    def test_its_gates_run_for_the_feedback(self):
        self.one("true", gate="exit 1")
        self.assertEqual(self.failing(), [["check.build", "diff.empty"]])

    def test_any_change_is_one(self):
        for agent in ("chmod +x file", "rm file", "ln -s file link", "echo y >file"):
            with self.subTest(agent):
                self.one(agent, expect=0)

    def test_a_phase_may_allow_it(self):
        self.assertIn("changed nothing", self.one("true", ", may_be_empty: true", expect=0).stdout)
        self.assertEqual([s["passed"] for s in self.attempts()[0]["signals"] if s["kind"] == "empty"], [True])
        diff = self.pawl("diff", "last")
        self.assertEqual(diff.stdout, "")
        self.assertIn("the patch is empty", diff.stderr)
        self.one("true", ", resume: {probe: 'true'}", expect=0)


class ExitCodes(Ends):
    def test_gates_that_pass_leave_it_to_a_person(self):
        said = self.one("echo y >file; exit 3").stdout
        self.assertIn("agent.agent: every gate passed, and the agent ended with exit code 3", said)
        self.assertEqual(self.attempts()[0]["verdict"], "escalate")
        self.pawl("approve", "last", "p1", "--reason", "it always ends so")
        self.assertIn("+y", self.pawl("diff", "last").stdout)

    def test_a_command_line_that_its_program_does_not_take_costs_one_attempt(self):
        for agent, tried in (("ls --no-such-flag", 1), ("echo y >file; ls --no-such-flag", 2), ("seq 20; ls --no-such-flag", 2)):
            with self.subTest(agent):
                said = self.one(agent, gate="exit 1", attempts=2).stdout
                self.assertEqual((len(self.attempts()), "its command line: ls: unrecognized option" in said), (tried, tried == 1))

    def test_a_plan_may_take_any_code(self):
        self.one("echo y >file; exit 3", ", agent_exit: any", expect=0)
        self.assertEqual(self.attempts()[0]["signals"][0]["details"]["exit_code"], 3)
        self.assertIn("diff.empty", self.one("exit 3", ", agent_exit: any").stdout)

    def test_any_code_says_nothing_of_one_that_left_nothing(self):
        for agent in ("exit 3", "echo y >new; rm new; exit 1", "mkdir build; echo x >build/x; exit 255"):
            with self.subTest(agent):
                self.one(agent, ", agent_exit: any, may_be_empty: true", expect=0)
                self.assertEqual(self.labels()[-1], "p1.check.unit.attempt1", "its gate judged what is there")
                self.one(agent, ", agent_exit: any, may_be_empty: true", gate="exit 1")
                self.assertEqual(self.failing(), [["check.build"]])
                self.one(agent, ", agent_exit: any", gate="exit 1")
                self.assertEqual(self.failing(), [["check.build", "diff.empty"]], "the next agent reads what fails")

    def test_both_are_told(self):
        self.one("echo y >file; exit 3", gate="exit 1")
        self.assertEqual(self.failing(), [["agent.agent", "check.build"]])

    def test_one_that_failed_and_left_nothing_is_not_judged(self):
        self.one("exit 3")
        self.assertEqual(self.labels()[1:], ["p1.agent.run.attempt1"])


class Approve(Ends):
    ANSWER = "cat >/dev/null; cat /plan/answer.json"

    def test_any_phase_that_ended_and_what_it_was_not_judged_by(self):
        self.write("answer.json", '{"action": "mark_failed", "reason": "enough"}')
        self.make_simple(agent="echo y >>file", gate="exit 1", doctor=f'{{run: "{self.ANSWER}", after_failures: 1}}')
        self.pawl("run", "plan.yaml", expect=12)
        self.assertIn("pawl approve", self.pawl("status", "last").stdout)
        done = self.pawl_json("approve", "last", "p1", "--reason", "because")
        self.assertEqual((done["failing_signals"], done["not_judged"]), (["check.build"], []))
        self.assertEqual((self.outcome(), self.pawl_json("status", "last")["state"]), ("approved", "COMPLETE"))
        self.assertEqual(self.pawl_json("status", "last")["phases"][0]["outcome"], "approved")
        self.assertTrue(self.pawl_json("verify", "last")["ok"])

    def test_work_of_skipped_and_cancelled_phases(self):
        self.write("answer.json", '{"action": "skip_phase"}')
        self.make_simple(agent="echo y >>file", gate="exit 1", doctor=f'{{run: "{self.ANSWER}", after_failures: 1}}')
        self.pawl("run", "plan.yaml")
        self.pawl("approve", "last", "p1", "--reason", "because")
        self.assertIn("+y", self.pawl("diff", "last").stdout)
        self.make_simple(agent="echo y >>file", gate="sleep 60 || true")
        run = self.start("run", "plan.yaml")
        self.wait_for_step("the gate runs", "p1.check")
        self.pawl("cancel", "last", "p1", "--reason", "no time")
        run.wait()
        self.assertIn("not judged: gate check", self.pawl("approve", "last", "p1", "--reason", "because").stdout)
        self.assertEqual(self.outcome(), "approved")

    def test_not_what_nobody_did(self):
        self.make_simple(agent="echo y >>file", gate="exit 1", max_attempts=1, phases=2)
        self.pawl("run", "plan.yaml", expect=11)
        self.assertIn("p2", self.pawl("approve", "last", "p2", "--reason", "because", expect=1).stderr)

    def test_attestations_tell(self):
        self.write("source/file", "x\n")
        self.commit_all("source")
        self.write("plan.yaml", plan(agent="echo y >>file", gate="exit 1", max_attempts=1).replace("{path: source}", "{path: source, ref: HEAD}"))
        self.pawl("run", "plan.yaml", expect=11)
        self.pawl("approve", "last", "p1", "--reason", "because")
        self.pawl("attest", "last", "-o", "run.json")
        said = self.pawl_json("verify", "--attestation", "run.json")
        self.assertTrue(said["ok"])
        statement = base64.b64decode(json.loads((self.root / "run.json").read_text())["payload"]).decode()
        self.assertIn('"accepted_by":"operator"', statement)
        self.assertIn('"outcome":"approved"', statement)
        self.assertNotIn('"outcome":"passed"', statement)


class WhatIsMissing(Ends):
    def test_diff_and_apply_name_it(self):
        self.write("source/test.sh", "exit 0\n")
        self.commit_all("source")
        self.write("plan.yaml", """\
version: 1
workflow: w
source: {path: source, ref: HEAD}
max_attempts: 1
gates: {good: {steps: [{name: unit, run: "true"}]}, bad: {steps: [{name: unit, run: "false"}]}}
tiers:
  - on_failure: continue
    phases:
      - {id: one, goal: g, agent: {run: "echo 1 >one"}, gates: [good]}
      - {id: two, goal: g, agent: {run: "echo 2 >two"}, gates: [bad]}
      - {id: three, goal: g, agent: {run: "echo 3 >three"}, gates: [good]}
""")
        self.pawl("run", "plan.yaml", expect=11)
        for command in ("diff", "apply"):
            said = self.pawl(command, "last", cwd="source")
            self.assertIn("without the work of phase two, which is FAILED", said.stderr)
            self.assertNotIn("phase one", said.stderr)
        self.assertEqual([one["phase_id"] for one in self.pawl_json("diff", "last")["missing"]], ["two"])
        self.assertIn("phase two waits for a person", self.pawl("status", "last").stdout)
        self.assertIn("waits for a person", self.pawl("status").stdout)

    def test_a_run_that_waits_for_its_budget_says_so(self):
        self.make_simple(budget="{sandbox_seconds: 1}", agent="sleep 1.2; echo y >>file", phases=2)
        self.pawl("run", "plan.yaml", expect=11)
        self.assertIn("waits for its budget", self.pawl("status", "last").stdout)
        self.assertIn("its budget is spent", self.pawl("status").stdout)
        self.assertEqual(self.pawl_json("status", "last")["waits_for"], "budget")

    def test_check_says_what_holds_where_a_plan_says_nothing(self):
        self.make_suite("true")
        said = self.pawl("check", "plan.yaml").stdout
        for word in ("may_be_empty", "agent_exit", "timeout_retryable"):
            self.assertIn(word, said)


if __name__ == "__main__":
    at_once.main()
