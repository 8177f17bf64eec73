#!/usr/bin/env python3
"""`on_retry: continue`: the next attempt goes on in the workspace and HOME of the failed one, with its feedback, whatever was killed when.

Each attempt adds a line to a file of its work, to an ignored one and to one in HOME. The gate wants `attempts` lines."""

import pathlib
import shutil

import at_once
from pawl_runs import WithRun

AGENT = """\
echo "continues [${PAWL_CONTINUES:-}] feedback [${PAWL_FEEDBACK:+yes}] home [$(cat ~/tries 2>/dev/null | tr -d '\\n')] built [$(cat built 2>/dev/null | tr -d '\\n')]"
rm -f old
echo "$PAWL_ATTEMPT" >>~/tries
echo "$PAWL_ATTEMPT" >>built
echo "$PAWL_ATTEMPT" >>used
ENDS
"""
PASSES = "[ ! -e old ] && [ \\\"$(cat used | tr -d '\\\\n')\\\" = WANTED ]"


class WithRetries(WithRun):
    def make(self, wanted="123", ends="", phase="", attempts=5, top=""):
        self.write("source/old", "x\n")
        self.write("source/.gitignore", "built\n")
        self.write("agent.sh", AGENT.replace("ENDS", ends))
        self.write("plan.yaml", f"""\
version: 1
workflow: retries
source: {{path: source}}
max_attempts: {attempts}
on_retry: continue
retry: {{same_failure_max: off}}
{top}
gates:
  check: {{steps: [{{name: build, run: "{PASSES.replace('WANTED', wanted)}"}}]}}
tiers:
  - phases:
      - {{id: p1, goal: g, agent: {{run: sh /plan/agent.sh}}, gates: [check]{phase}}}
""")
        self.write("source/keep", "y\n")

    def first_fails(self, **more):
        """Leaves a run whose first attempt failed and whose second did not begin."""
        self.make(**more)
        self.pawl("run", "plan.yaml", expect=-9, env={
            "PAWL_CRASH_ROLE": "executor", "PAWL_CRASH_AT": "1", "PAWL_CRASH_LABEL": "store.finish.after_commit",
            "PAWL_CRASH_COUNT": str(self.root / "count")})
        self.assertEqual(self.begins(), [""])

    def begins(self):
        """How each attempt's first step of the agent began, by its row."""
        rows = [row for row in self.chains("last")["p1"] if row["type"] == "pre_execute" and ".agent." in row["label"]]
        return ["layer" if "layer" in row else row.get("not_continued", "") for row in rows if row["execution"] == 1]

    def log(self):
        return [line for n in range(1, 9) for line in
                self.pawl("logs", "last", "p1", "--attempt", str(n), expect=None).stdout.splitlines() if line.startswith("continues")]

    def assert_clean(self):
        self.assertEqual(list(self.root.glob("source/.pawl/homes/*")), [])
        self.assertEqual(list(self.root.glob("source/.pawl/work/*")), [])


class Goes(WithRetries):
    def test_each_attempt_goes_on_in_the_one_before_and_the_whole_is_judged_on_base(self):
        self.make()
        out = self.pawl("run", "plan.yaml")
        self.assertIn("goes on in the work of the attempt before", out.stdout + out.stderr)
        self.assertEqual(self.begins(), ["", "layer", "layer"])
        self.assertEqual(self.log(), [
            "continues [] feedback [] home [] built []",
            "continues [retry] feedback [yes] home [1] built [1]",
            "continues [retry] feedback [yes] home [12] built [12]"])
        diff = self.pawl("diff", "last").stdout
        for line in ("-x", "+1", "+2", "+3"):
            self.assertIn(f"\n{line}\n", diff)
        self.assertNotIn("built", diff)
        self.assert_clean()
        self.pawl("verify", "last")
        self.assertIn("began p1.agent.run.attempt2: goes on in the work of the attempt before", self.pawl("inspect", "last").stdout)
        self.pawl("export", "last", "evidence")
        self.pawl("verify", "evidence")

    def test_fresh_is_the_default_and_a_phase_can_say_so(self):
        self.make(phase=", on_retry: fresh", attempts=2)
        self.pawl("run", "plan.yaml", expect=None)
        self.assertEqual(self.begins(), ["", ""])
        self.assertEqual(self.log()[1], "continues [] feedback [yes] home [] built []")
        self.assert_clean()

    def test_what_a_failed_attempt_left_is_gone_when_the_phase_ends(self):
        self.make(wanted="never", attempts=2)
        self.pawl("run", "plan.yaml", expect=None)
        self.assertEqual(self.begins(), ["", "layer"])
        self.assert_clean()

    def test_a_phase_that_an_operator_ends_between_attempts_leaves_no_home(self):
        self.first_fails()
        self.pawl("gc", "--older-than", "0s")
        self.assertEqual(len(list(self.root.glob("source/.pawl/homes/*/*/tries"))), 1)
        self.pawl("cancel", "last", "--reason", "test")
        self.assert_clean()

    def test_it_is_not_for_best_of(self):
        self.make(phase=", best_of: 2")
        self.assertIn("on_retry: continue: not with best_of", self.pawl("check", "plan.yaml", expect=2).stderr)

    def test_a_wrong_word_is_named_with_its_place(self):
        self.make()
        self.write("plan.yaml", (self.root / "plan.yaml").read_text().replace("on_retry: continue", "on_retry: again"))
        self.assertRegex(self.pawl("check", "plan.yaml", expect=2).stderr, r"plan\.yaml:5:11: error: on_retry")


class Killed(WithRetries):
    def test_it_holds_at_each_moment_between_two_attempts(self):
        self.make(wanted="12")
        log = self.root / "passed"
        self.pawl("run", "plan.yaml", env={"PAWL_CRASH_LOG": str(log)})
        points = [line.split(" ", 1)[1] for line in log.read_text().splitlines() if line.startswith("executor ")]
        first = points.index("store.finish.before_commit")
        last = next(i for i, label in enumerate(points) if i > first and label == "store.begin_step.after_commit")
        self.assertIn("homes.rename.rename", points[first:last])
        for i in range(first, last + 1):
            label, at = points[i], points[:i + 1].count(points[i])
            with self.subTest(label=label, at=at):
                shutil.rmtree(self.root / "source")
                self.make(wanted="12")
                self.pawl("run", "plan.yaml", expect=-9, env={
                    "PAWL_CRASH_ROLE": "executor", "PAWL_CRASH_AT": str(at), "PAWL_CRASH_LABEL": label,
                    "PAWL_CRASH_COUNT": str(self.root / f"count{i}")})
                self.pawl("gc", "--older-than", "0s")
                self.pawl("resume", "last")
                self.assertEqual(self.begins()[:2], ["", "layer"])
                # Where only the marker is there, the agent never began, and goes on in the first attempt.
                word = "1" if label == "store.begin_step.after_commit" else "retry"
                self.assertEqual(self.log()[1], f"continues [{word}] feedback [yes] home [1] built [1]")
                self.pawl("verify", "last")
                self.assert_clean()

    def test_a_lost_execution_of_the_second_attempt_goes_on_too(self):
        waits = "if [ $PAWL_ATTEMPT = 2 ] && [ ! -e ~/waited ]; then touch ~/waited; sleep 60; fi"
        self.make(wanted="122", ends=waits)
        run = self.start("run", "plan.yaml")
        self.wait_until(lambda: list(self.root.glob("source/.pawl/homes/*/*/waited")), "the second attempt waits")
        self.kill_all(run)
        self.pawl("gc", "--older-than", "0s")
        self.pawl("resume", "last")
        self.assertEqual([row["decision"] for row in self.chains("last")["p1"] if row["type"] == "resume"], ["continue"])
        self.assertIn("continues [1] feedback [yes] home [12] built [12]", self.log())
        self.pawl("verify", "last")
        self.assert_clean()


class Anew(WithRetries):
    def test_without_its_home_it_begins_anew_and_a_row_says_so(self):
        self.first_fails(wanted="2")
        for home in filter(pathlib.Path.is_dir, self.root.glob("source/.pawl/homes/*/*")):
            shutil.rmtree(home)
        out = self.pawl("resume", "last", expect=None)
        self.assertEqual(self.begins(), ["", "home"], out.stdout + out.stderr)
        self.assertIn("begins anew: the HOME of the agent before is gone", self.pawl("inspect", "last").stdout)
        self.assert_clean()

    def assert_begins(self, *how, **more):
        self.make(**more)
        out = self.pawl("run", "plan.yaml", expect=None)
        self.assertEqual(self.begins(), list(how), out.stdout + out.stderr + "\n".join(self.log()))
        self.pawl("verify", "last")
        self.assert_clean()

    def test_after_an_agent_that_failed_without_a_change(self):
        fails = "if [ $PAWL_ATTEMPT != 3 ]; then git checkout -q . ; rm -f used built; exit 1; fi"
        self.assert_begins("", "workspace", "workspace", ends=fails, wanted="3", attempts=3)
        self.assertEqual(self.log()[1], "continues [] feedback [yes] home [] built []")

    def test_not_after_one_that_failed_with_a_change(self):
        self.assert_begins("", "layer", ends="[ $PAWL_ATTEMPT = 2 ]", wanted="12")

    def test_after_its_disk_limit(self):
        fills = "if [ $PAWL_ATTEMPT = 1 ]; then dd if=/dev/zero of=$HOME/full bs=1M count=64 2>/dev/null; sleep 30; fi"
        self.assert_begins("", "disk", ends=fills, wanted="2", top="sandbox: {disk_limit_mib: 32}")

    def test_in_a_new_revision(self):
        self.make(wanted="1", attempts=1, ends="[ $PAWL_ATTEMPT = 2 ] || echo x >>used")
        self.pawl("run", "plan.yaml", expect=None)
        self.pawl("retry", "last", "p1", "--reason", "test")
        self.pawl("resume", "last", expect=None)
        self.assertEqual(self.begins(), ["", "revision"])

    def test_with_another_value_of_a_credential(self):
        self.make(wanted="12", phase="", ends='[ $PAWL_ATTEMPT = 2 ] || echo "$TOKEN" >~/token; cat ~/token || true')
        text = (self.root / "plan.yaml").read_text()
        self.write("plan.yaml", text.replace("agent: {run:", f"agent: {{credentials: {{TOKEN: {{command: [sh, {self.root}/token.sh]}}}}, run:"))
        self.write("token.sh", f'echo x >>{self.root}/asked; echo "token-$(wc -l <{self.root}/asked)-Zk3r9Wq7LmX2"\n')
        self.pawl("run", "plan.yaml", expect=None)
        self.assertEqual(self.begins()[:2], ["", "credentials"])
        self.assertNotIn("Zk3r9Wq7LmX2", "".join(self.pawl("logs", "last", "p1", "--attempt", n, expect=None).stdout for n in "12"))

    def test_with_another_value_after_a_crash_that_had_handed_home_on(self):
        self.make(wanted="12")
        text = (self.root / "plan.yaml").read_text()
        self.write("plan.yaml", text.replace("agent: {run:", f"agent: {{credentials: {{TOKEN: {{file: {self.root}/token}}}}, run:"))
        self.write("token", "token-one-Zk3r9Wq7LmX2")
        self.pawl("run", "plan.yaml", expect=-9, env={
            "PAWL_CRASH_ROLE": "executor", "PAWL_CRASH_AT": "2", "PAWL_CRASH_LABEL": "homes.rename.fsync_dir",
            "PAWL_CRASH_COUNT": str(self.root / "count")})
        self.assertEqual(len(list(self.root.glob("source/.pawl/homes/*.p1.2/p1.2/tries"))), 1)
        self.write("token", "token-two-Zk3r9Wq7LmX2")
        self.pawl("resume", "last", expect=None)
        self.assertEqual(self.begins()[:2], ["", "credentials"])
        self.assertEqual(self.log()[1], "continues [] feedback [yes] home [] built []")

    def test_a_wait_in_the_second_attempt_goes_on(self):
        limited = """if [ $PAWL_ATTEMPT = 2 ] && [ ! -e ~/waited ]; then touch ~/waited
printf '{"type":"result","is_error":true,"result":"Claude AI usage limit reached|%s"}\\n' $(($(date +%s) + 2)); exit 1; fi"""
        self.make(wanted="122", ends=limited)
        text = (self.root / "plan.yaml").read_text()
        self.write("plan.yaml", text.replace("agent: {run:", "agent: {usage: claude_code, run:"))
        self.pawl("run", "plan.yaml")
        self.assertEqual(self.begins(), ["", "layer"])
        self.assertEqual([row["decision"] for row in self.chains("last")["p1"] if row["type"] == "resume"], ["wait"])
        self.assert_clean()

    def test_an_attempt_that_takes_its_change_back_passes(self):
        self.make()
        self.write("agent.sh", "if [ $PAWL_ATTEMPT = 1 ]; then echo bad >keep; else echo y >keep; fi")
        text = (self.root / "plan.yaml").read_text()
        at = text.index('run: "[ ')
        self.write("plan.yaml", text[:at] + 'run: "grep -q y keep' + text[text.index('"}]}', at):])
        self.pawl("run", "plan.yaml")
        self.assertEqual(self.begins(), ["", "layer"])
        self.assertEqual(self.pawl("diff", "last").stdout.strip(), "")


if __name__ == "__main__":
    at_once.main()
