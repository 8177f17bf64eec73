#!/usr/bin/env python3
"""`resume: continue`: an agent goes on in the workspace and HOME of its lost execution, whatever was killed when.

The agent pays calls. HOME has one line for each call that was sent, and the workspace one for each answer that was used. Before the answer to
call K is used, an execution that is to be killed waits."""

import pathlib
import shutil

import at_once
from pawl_runs import WithRun
from pawl_testing import TIMEOUT_S

CALLS = 6
AGENT = """\
count() { if [ -e "$1" ]; then wc -l <"$1"; else echo 0; fi; }
echo "continues [${PAWL_CONTINUES:-}] sent $(count ~/sent) used $(count used)"
[ -e folder/kept ] || { rm -r folder; mkdir folder; echo kept >folder/kept; }
while [ "$(count used)" -lt CALLS ]; do
  n=$(($(count used) + 1))
  echo "$n" >>~/sent
  for k in WAITS; do if [ "$n" = "$k" ] && [ ! -e ~/waited-$k ]; then touch ~/waited-$k; ENDS; fi; done
  echo "$n" >>used
done
"""
# The work of all executions, judged on base: what the first one replaced, and all that was used.
GATE = "[ ! -e folder/old ] && cat folder/kept && [ \"$(cat used | tr -d '\\n')\" = 123456 ] && [ ! -e sent ]"
WAIT = "sleep 60"


class WithAgent(WithRun):
    def make(self, waits=(3,), ends=WAIT, gate=GATE, resume="continue", agent=AGENT, **top):
        self.write("source/folder/old", "x\n")
        text = agent.replace("CALLS", str(CALLS)).replace("WAITS", " ".join(str(k) for k in waits)).replace("ENDS", ends)
        self.make_simple(agent=text, gate=gate, **({"resume": resume} if resume else {}), **top)

    def waited(self, k):
        """How many agents wait in call k, or have waited there."""
        return len(list(self.root.glob(f"source/.pawl/homes/*/*/waited-{k}")))

    def start_and_wait(self, *words, k, agents=1):
        process = self.start(*words)
        self.wait_until(lambda: self.waited(k) >= agents, f"{agents} wait in call {k}")
        self.wait_for_output("continues", "agent")
        return process

    def rows_of(self, kind):
        return [row for row in self.chains("last")["p1"] if row["type"] == kind]

    def resumes(self):
        return [row for row in self.rows_of("resume") if row["decision"] not in ("adopt", "reattach")]

    def decisions(self):
        return [row["decision"] for row in self.resumes()]

    def log(self, *words):
        return [line for line in self.pawl("logs", "last", "p1", *words).stdout.splitlines() if line.startswith("continues")]

    def assert_passed(self, decisions):
        self.assertEqual(self.decisions(), decisions, self.pawl("inspect", "last").stdout)
        [phase] = self.pawl_json("status", "last")["phases"]
        self.assertEqual((phase["outcome"], phase["attempts_total"]), ("passed", 1))
        self.pawl("verify", "last")
        self.assertEqual(list(self.root.glob("source/.pawl/homes/*")), [])
        self.assertEqual(list(self.root.glob("source/.pawl/work/*")), [])
        diff = self.pawl("diff", "last").stdout
        for line in ("-x", "+kept", *(f"+{n}" for n in range(1, CALLS + 1))):
            self.assertIn(f"\n{line}\n", diff)


class LostSteps(WithAgent):
    def test_it_goes_on_when_the_supervisor_is_killed(self):
        self.make()
        run = self.start_and_wait("run", "plan.yaml", k=3)
        self.kill_supervisors()
        self.assertEqual(run.wait(timeout=TIMEOUT_S), 0)
        self.assert_passed(["continue"])
        row, = self.resumes()
        self.assertRegex(row["layer"], "^[0-9a-f]{64}$")
        self.assertEqual(self.log(), ["continues [] sent 0 used 0", "continues [1] sent 3 used 2"])
        self.assertIn("continue", self.pawl("inspect", "last").stdout)

    def test_it_goes_on_when_everything_is_killed_twice_and_gc_runs_between(self):
        self.make(waits=(2, 5))
        self.kill_all(self.start_and_wait("run", "plan.yaml", k=2))
        self.pawl("gc", "--older-than", "0s")
        self.kill_all(self.start_and_wait("resume", "last", k=5))
        self.pawl("gc", "--older-than", "0s")
        self.pawl("resume", "last")
        self.assert_passed(["continue", "continue"])
        self.assertEqual(self.log()[-1], "continues [1] sent 6 used 4")

    def test_the_third_loss_ends_the_attempt(self):
        self.make(waits=(1, 2, 3), max_attempts=1)
        self.kill_all(self.start_and_wait("run", "plan.yaml", k=1))
        self.kill_all(self.start_and_wait("resume", "last", k=2))
        self.kill_all(self.start_and_wait("resume", "last", k=3))
        self.pawl("resume", "last", expect=None)
        self.assertEqual(self.decisions(), ["continue", "continue", "skip"])
        self.assertEqual(len(self.rows_of("attempt")), 1)

    def test_it_holds_at_each_moment_of_the_recovery(self):
        for label in ("spool.abandoned.fsync", "store.begin_step.before_commit", "store.begin_step.after_commit"):
            with self.subTest(label):
                shutil.rmtree(self.root / "source", ignore_errors=True)
                self.make()
                self.kill_all(self.start_and_wait("run", "plan.yaml", k=3))
                self.pawl("resume", "last", expect=-9, env={
                    "PAWL_CRASH_ROLE": "executor", "PAWL_CRASH_AT": "1", "PAWL_CRASH_COUNT": str(self.root / label),
                    "PAWL_CRASH_LABEL": label})
                self.pawl("gc", "--older-than", "0s")
                self.pawl("resume", "last")
                self.assert_passed(["continue"] * (2 if label.endswith("after_commit") else 1))
                self.assertEqual(self.log()[-1], "continues [1] sent 3 used 2")

    def test_it_goes_on_when_a_supervisor_dies_before_its_sandbox_starts(self):
        self.make()
        self.kill_all(self.start_and_wait("run", "plan.yaml", k=3))
        self.pawl("resume", "last", env={"PAWL_CRASH_ROLE": "supervisor", "PAWL_CRASH_AT": "1", "PAWL_CRASH_COUNT": str(self.root / "count"),
                                         "PAWL_CRASH_LABEL": "homes.removed"})
        self.assert_passed(["continue", "continue"])
        self.assertEqual(self.log(), ["continues [] sent 0 used 0", "continues [1] sent 3 used 2"])

    def test_without_its_home_it_begins_anew_and_a_row_says_so(self):
        self.make()
        self.kill_all(self.start_and_wait("run", "plan.yaml", k=3))
        for home in filter(pathlib.Path.is_dir, self.root.glob("source/.pawl/homes/*/*")):
            shutil.rmtree(home)
        again = self.start_and_wait("resume", "last", k=3)
        row, = self.resumes()
        self.assertEqual((row["decision"], row["not_continued"]), ("re_execute", "home"))
        self.assertNotIn("layer", row)
        self.kill_supervisors()
        self.assertEqual(again.wait(timeout=TIMEOUT_S), 0)
        self.assert_passed(["re_execute", "continue"])
        self.assertEqual(self.log()[1], "continues [] sent 0 used 0")
        self.assertIn("not continued: home", self.pawl("inspect", "last").stdout)

    def test_after_a_restart_of_the_machine_it_begins_anew(self):
        self.make()
        self.kill_all(self.start_and_wait("run", "plan.yaml", k=3))
        for path in self.root.glob("source/.pawl/spool/*/supervisor"):
            host, _, pid, start = path.read_text().split("/")[0], *path.read_text().split("/")[-3:]
            path.write_text(f"{host}/another-boot/{pid}/{start}")
        self.pawl("resume", "last")
        row, = self.resumes()
        self.assertEqual((row["decision"], row["not_continued"]), ("re_execute", "restart"))

    def test_each_of_several_episodes_goes_on_in_its_own(self):
        self.make(waits=(3,))
        text = (self.root / "plan.yaml").read_text()
        self.write("plan.yaml", text.replace("goal: g,", "goal: g, best_of: 2,"))
        self.kill_all(self.start_and_wait("run", "plan.yaml", "--workers", "2", k=3, agents=2))
        self.pawl("resume", "last", "--workers", "2", expect=None)
        self.assertEqual(set(self.decisions()) - {"cancelled"}, {"continue"})
        self.assertIn("continues [1] sent 3 used 2", self.log("--episode", "1"))
        self.pawl("verify", "last")


class OtherEnds(WithAgent):
    def test_an_agent_that_is_killed_alone_goes_on_in_the_same_attempt(self):
        self.make(ends="kill -9 $$")
        self.pawl("run", "plan.yaml")
        self.assert_passed(["continue"])
        self.assertEqual(self.log()[-1], "continues [1] sent 3 used 2")

    def test_so_does_one_that_its_provider_refused(self):
        limited = """printf '{"type":"result","is_error":true,"result":"Claude AI usage limit reached|%s"}\\n' $(($(date +%s) + 3)); exit 1"""
        self.make(ends=limited)
        text = (self.root / "plan.yaml").read_text()
        self.write("plan.yaml", text.replace("agent: {run:", "agent: {usage: claude_code, run:"))
        self.pawl("run", "plan.yaml")
        self.assert_passed(["wait"])
        self.assertRegex(self.resumes()[0]["layer"], "^[0-9a-f]{64}$")
        self.assertEqual(self.log()[-1], "continues [1] sent 3 used 2")

    def test_without_the_policy_nothing_of_the_lost_execution_is_kept(self):
        self.make(resume=None)
        self.kill_all(self.start_and_wait("run", "plan.yaml", k=3))
        self.pawl("resume", "last")
        self.assert_passed(["re_execute"])
        self.assertEqual(self.log()[-1], "continues [] sent 3 used 0")
        self.assertFalse({"layer", "not_continued"} & set(self.resumes()[0]))


PROFILE = """\
version: 1
run: [tool, first, "{args}", "{prompt}"]
continue: [tool, again, "{args}", "{prompt}"]
"""
# Each needs a moment before it has a session.
SLOW_TOOL = """\
#!/bin/sh
echo "tool $1"
if [ "$1" = again ] && [ ! -e ~/session ]; then echo "no session to go on in"; exit 1; fi
[ -e ~/waited-1 ] || { touch ~/waited-1; sleep 60; }
touch ~/session
echo 12 >>used
"""
TOOL = """\
#!/bin/sh
echo "tool $1: $2"
if [ "$1" = first ]; then echo 1 >used; touch ~/waited-1; sleep 60; fi
echo 2 >>used
"""


class Programs(WithAgent):
    def start_tool(self, tool, **top):
        self.make(gate='[ "$(cat used | tr -d "\\n")" = 12 ]', resume=None, mounts=f"[{{src: {self.root}/tools}}]", **top)
        self.write("tools/bin/tool", tool, 0o755)
        self.write("config/pawl/agents/mine.yaml", PROFILE)
        text = (self.root / "plan.yaml").read_text()
        at = text.index("agent: {run:")
        self.write("plan.yaml", text[:at] + "agent: {use: mine}" + text[text.index("}, gates:", at) + 1:])
        run = self.start("run", "plan.yaml", env={"XDG_CONFIG_HOME": str(self.root / "config")})
        self.wait_until(lambda: self.waited(1), "the program works")
        self.wait_for_output("tool first", "agent")
        return run

    def test_one_that_was_killed_before_it_had_a_session_begins_anew_in_the_same_attempt(self):
        run = self.start_tool(SLOW_TOOL, max_attempts=1)
        self.kill_supervisors()
        self.assertEqual(run.wait(timeout=TIMEOUT_S), 0)
        self.assertEqual(self.decisions(), ["continue", "re_execute"])
        self.assertEqual(self.resumes()[1]["not_continued"], "session")
        self.assertIn("not continued: session", self.pawl("inspect", "last").stdout)
        self.assertEqual(self.pawl_json("status", "last")["phases"][0]["attempts_total"], 1)
        self.pawl("verify", "last")

    def test_one_that_never_has_a_session_has_as_many_executions_as_any_other(self):
        run = self.start_tool(SLOW_TOOL.replace("touch ~/session", "kill -9 $$"), max_attempts=1)
        self.kill_supervisors()
        self.assertNotEqual(run.wait(timeout=TIMEOUT_S), 0)
        self.assertEqual(self.decisions(), ["continue", "re_execute"])
        self.assertEqual(len(self.rows_of("pre_execute")), 3)
        self.assertEqual(len(self.rows_of("attempt")), 1)

    def test_a_program_with_a_command_for_it_goes_on_by_itself(self):
        run = self.start_tool(TOOL)
        self.kill_supervisors()
        self.assertEqual(run.wait(timeout=TIMEOUT_S), 0)
        self.assertEqual(self.decisions(), ["continue"])
        log = self.pawl("logs", "last", "p1").stdout
        self.assertIn("tool first: g\n", log)
        self.assertIn("tool again: You were interrupted. The files are as you left them. Go on with your task:\n\ng\n", log)
        self.pawl("verify", "last")


if __name__ == "__main__":
    at_once.main()
