#!/usr/bin/env python3
"""Real agent programs by their profiles: each does a task in a real sandbox with a scripted model, and goes on when it, its supervisor, the
executor or everything is killed in a call. A line for each kill says what the model was asked.

    programs_test.py               the kills of the suite: each of the four for each program
    WHOLE=1 programs_test.py       every kill in every call"""

import base64
import json
import os
import signal
import socket
import time

import at_once
from agent_runs import WithAgent
from agent_task import GOAL, GREETING, INSIDE, KEYS, MODULES, PRINTS, TURNS
from pawl_testing import TIMEOUT_S
from scripted_model import ScriptedModel

SIX = ["claude_code", "codex", "gemini", "qwen", "opencode", "pi"]
VICTIMS = ["agent", "supervisor", "executor", "all"]
# Some programs write their session while they send a call.
SETTLES_S = 1
# A response takes longer than that, and the kill of an executor.
LATE_S = 4
# In so long a parent exits after its child.
ENDS_S = 0.5
# Requests to hosts that its profile does not name: opencode asks npm for a package that it goes without.
OTHER_HOSTS = {"opencode": 3}
CALLS = range(1, len(TURNS) + 1)
# Qwen Code writes no file that it has not read since its start. After such an error a model reads the file again.
READS_AGAIN = TURNS[:1] + [{"calls": TURNS[0]["calls"] + TURNS[1]["calls"]}] + TURNS[2:]
# The output of the gate in attempt 1, where attempt 2 finds it.
GATE_LOG = "/pawl/evidence/fix.tests.unit.attempt1.log"
# A fault before each turn. The stream of turn 2 ends midway.
FAULTS = [{"kind": kind, "at": at} for kind, at in (("rate_limit", 1), ("cut", 3), ("bad_gateway", 5), ("server_error", 7))]
OVERLOADED = {"kind": "overloaded", "times": 0, "everywhere": True}
# For so long a provider is overloaded that a program outlasts by itself.
OVERLOADED_S = 4
KEY = "sk-scripted-0f8b1c77d2e94a55"
# A picture of one dot.
DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
LISTS = {"codex": "[-i, /plan/dot.png]", "opencode": "[-f, /plan/dot.png]"}
# Codex brings ripgrep.
RG = "codex-path/rg"


class Programs(WithAgent):
    def does_its_task(self, use):
        """Its goal begins as an option does."""
        with ScriptedModel(self.model_folder(), TURNS) as model:
            self.make(use, model.address, goal=f"- {GOAL}")
            self.pawl("run", "plan.yaml", expect=None)
            self.assert_passed()
            self.assertEqual(len(model.calls()), len(TURNS))
            self.assertIn(PRINTS, model.calls()[-1]["prompt"], "its shell works")
        self.assert_asks_no_other_host(use)
        self.pawl("export", "last", "evidence")
        rows = [json.loads(line) for line in (self.root / "evidence/cost/agent.jsonl").read_text().splitlines()]
        self.assertGreater(sum(row["input_tokens"] for row in rows), 1000)

    def assert_asks_no_other_host(self, use):
        signals = self.pawl_json("inspect", "last")["phases"][0]["attempts"][0]["signals"]
        [refused] = [signal["details"].get("egress_refused", 0) for signal in signals if signal["kind"] == "agent"]
        self.assertLessEqual(refused, OTHER_HOSTS.get(use, 0), f"{use} asks for other hosts than its model's")

    def runs_without_a_plan(self, use):
        with ScriptedModel(self.model_folder(), TURNS) as model:
            self.run_without_a_plan(use, model.address)
            self.assertEqual(len(model.calls()), len(TURNS))
            self.assertTrue(all(call["key_in"] for call in model.calls()), "it has its key")
        [phase] = self.pawl_json("status", "last", cwd="source")["phases"]
        self.assertEqual((phase["outcome"], phase["attempts_total"]), ("passed", 1))
        self.assertIn("+hello, world", self.pawl("diff", "last", cwd="source").stdout)

    def programs_inside(self):
        """Of the agent, in its sandbox. Some give themselves other names."""
        below = {pid for supervisor in self.supervisors() for pid in self.below(supervisor)}
        return [pid for pid in below if not self.is_ours(pid, b"pawl-supervisor")]

    def end(self, victim, run):
        if victim == "all":
            return self.kill_all(run)
        if victim == "executor":
            run.kill()
            return run.wait()
        # The youngest first: a parent that exits by itself when its child is killed must not hide the signal.
        for pid in sorted(self.programs_inside() if victim == "agent" else self.supervisors(), reverse=True):
            try:
                os.kill(pid, signal.SIGKILL)
                time.sleep(ENDS_S if victim == "agent" else 0)
            except ProcessLookupError:
                continue  # it ended with another one
        return run.wait(timeout=TIMEOUT_S)

    def goes_on(self, use, victim, call):
        """Ends the victim while the model is asked for the answer of a call. Only a client that lives on gets that answer."""
        fault = {"kind": "late", "seconds": LATE_S} if victim == "executor" else {"kind": "hang"}
        with ScriptedModel(self.model_folder(), READS_AGAIN, [fault | {"at": call, "times": 1}]) as model:
            self.make(use, model.address)
            run = self.start("run", "plan.yaml")
            self.wait_until(lambda: len(model.calls()) == call, f"it asks for turn {call}")
            time.sleep(SETTLES_S)
            self.end(victim, run)
            if victim in ("executor", "all"):
                self.pawl("resume", "last")
            self.assert_passed()
            asked = len(model.calls())
        unknown = 0 if victim == "executor" else 1
        self.assertEqual(self.pawl_json("cost", "last")["unknown_executions"], unknown)
        self.assertEqual("at least" in self.pawl("cost", "last").stdout, unknown > 0)
        self.assert_paid_twice(0 if victim == "executor" else 1, f"{use:12} {victim:10} in call {call}", call, asked)

    def assert_paid_twice(self, most, where, before, asked):
        """A line of the crash matrix. `before`: how many calls began before the kill. `asked`: all calls."""
        again = asked - len(TURNS)
        print(f"{where:38}: {before} calls before, {asked - before} after, {again} paid twice", flush=True)
        self.assertLessEqual(again, most, self.log())

    def keeps_its_key_out_of_files(self, use):
        """While it works, and after it: some keep a copy of their environment in HOME."""
        late = {"kind": "late", "seconds": LATE_S, "at": len(TURNS), "times": 1}
        with ScriptedModel(self.model_folder(), TURNS, [late]) as model:
            self.make(use, model.address)
            run = self.start("run", "plan.yaml", env={KEYS[use]: KEY})
            self.wait_until(lambda: len(model.calls()) == len(TURNS), "its tools have worked")
            self.assertEqual(self.files_with(KEY), [])
            self.assertEqual(run.wait(timeout=TIMEOUT_S), 0)
            self.assertTrue(all(call["key_in"] for call in model.calls()), "it has its key")
        self.assertEqual(self.files_with(KEY), [])

    def files_with(self, text):
        def has(path):
            try:
                return path.is_file() and text.encode() in path.read_bytes()
            except OSError:
                return False  # gone, or a socket

        return [str(path) for path in self.root.rglob("*") if has(path)]

    def takes_more_arguments(self, use, args):
        """The last of them is an option that takes a list."""
        with ScriptedModel(self.model_folder(), TURNS) as model:
            self.make(use, model.address)
            (self.root / "dot.png").write_bytes(base64.b64decode(DOT))
            plan = self.root / "plan.yaml"
            plan.write_text(plan.read_text().replace("agent: {", f"agent: {{args: {args}, "))
            self.pawl("run", "plan.yaml", expect=None)
            self.assert_passed()
            self.assertIn(GOAL, model.calls()[0]["prompt"])

    def goes_on_after_a_tool(self, use):
        """Everything is killed while the program's tool works. Only the first start of the tool takes long."""
        tool = [{"calls": [{"shell": f"mkdir ~/began && sleep {TIMEOUT_S}; {TURNS[2]['calls'][0]['shell']}"}]}]
        with ScriptedModel(self.model_folder(), TURNS[:2] + tool + TURNS[3:]) as model:
            self.make(use, model.address)
            run = self.start("run", "plan.yaml")
            self.wait_for_sleep("fix.agent")
            before = len(model.calls())
            self.kill_all(run)
            self.pawl("resume", "last")
            self.assert_passed()
            asked = len(model.calls())
        self.assert_paid_twice(1, f"{use:12} {'all':10} in a tool", before, asked)

    def mends_its_work(self, use):
        """`on_retry: continue`: the second attempt is one more turn of the same session, and reads what the gate printed. The goal begins as a
        command of the program does."""
        look = TURNS[0]["calls"]  # again, because some write no file that they have not read since their start
        turns = TURNS[:1] + [{"text": "It is done."}, {"calls": look}, {"calls": [{"read": GATE_LOG}]}] + TURNS[1:]
        with ScriptedModel(self.model_folder(), turns) as model:
            self.make(use, model.address, top="on_retry: continue", goal=f"/fix {GOAL}")
            self.write("source/test.sh", "grep -q 'hello, world' greeting || { echo the greeting is wrong; exit 1; }\n")
            self.pawl("run", "plan.yaml", expect=None)
            self.assert_passed(attempts=2)
            self.assertEqual(len(model.calls()), len(turns), "each turn was asked for once")
            prompts = [call["prompt"] for call in model.calls()]
            self.assertIn("the greeting is wrong", prompts[2], "the feedback")
            self.assertIn("the greeting is wrong", prompts[4], GATE_LOG)
            self.assert_told(model)
        [began] = [row for row in self.chains("last")["fix"] if row["type"] == "pre_execute" and "layer" in row]
        self.assertEqual(began["label"], "fix.agent.run.attempt2")

    def assert_told(self, model):
        """Its use counts once. Some do not tell of calls for a title, which take no turn."""
        cost = self.pawl_json("cost", "last")
        told = cost["input_tokens"] + cost["cached_tokens"] + cost["output_tokens"]
        main, all_calls = (sum(sum(call.get("tokens", [])) for call in calls) for calls in (model.calls(), model.requests()))
        self.assertTrue(main <= told <= all_calls, f"{main} <= {told} <= {all_calls}")

    def does_not_take_its_arguments(self, use):
        with ScriptedModel(self.model_folder(), TURNS) as model:
            self.make(use, model.address)
            plan = self.root / "plan.yaml"
            plan.write_text(plan.read_text().replace("agent: {", "agent: {args: [--no-such-flag], "))
            said = self.pawl("run", "plan.yaml", expect=None)
        [phase] = self.pawl_json("status", "last")["phases"]
        self.assertEqual((phase["outcome"], phase["attempts_total"]), ("escalate", 1), self.log())
        self.assertIn("the agent does not take its command line", said.stdout + said.stderr)

    def waits_while_its_provider_is_down(self, use):
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))  # nobody else gets this port, and nobody listens
            self.make(use, "http://127.0.0.1:%d" % closed.getsockname()[1])
            self.assertEqual(self.is_interrupted_while_it_waits()["status"], 0)

    def waits_while_its_provider_is_overloaded(self, use):
        with ScriptedModel(self.model_folder(), TURNS, [OVERLOADED]) as model:
            self.make(use, model.address)
            self.assertEqual(self.is_interrupted_while_it_waits()["status"], 529 if use == "claude_code" else 503)

    def outlasts_an_overload(self, use):
        with ScriptedModel(self.model_folder(), TURNS, [OVERLOADED | {"lasts": OVERLOADED_S}]) as model:
            self.make(use, model.address)
            self.pawl("run", "plan.yaml")
            self.assertIn("overloaded", [call["answered"] for call in model.calls()])
        self.assert_passed()

    def goes_on_after_faults(self, use):
        """By itself, or after a wait of Pawl."""
        with ScriptedModel(self.model_folder(), TURNS, FAULTS) as model:
            self.make(use, model.address)
            self.pawl("run", "plan.yaml")
            self.assert_passed()
            answers = [call["answered"] for call in model.calls()]
        kinds = [fault["kind"] for fault in FAULTS]
        self.assertEqual([answer for answer in answers if answer in kinds], kinds)
        self.assertLessEqual(len(answers), len(TURNS) + len(FAULTS), f"at most one call again for a fault: {answers}")
        print(f"{use:12} {', '.join(kinds)}: {len(answers)} calls, {len(self.waits())} waits of Pawl", flush=True)

    def goes_on_after_a_cut(self, use):
        """It ends when a stream ends midway. Pawl waits, and it goes on in its session."""
        with ScriptedModel(self.model_folder(), TURNS, [{"kind": "cut", "at": 3, "times": 1}]) as model:
            self.make(use, model.address)
            self.assertEqual(self.is_interrupted_while_it_waits()["status"], 0)
            self.pawl("resume", "last", "--now")
            self.assert_passed()
            self.assertEqual(len(model.calls()), len(TURNS) + 1)

    def test_opencode_searches_with_ripgrep_of_a_mount(self):
        """Without `rg` in PATH it would fetch one."""
        [rg] = MODULES.glob(f"@openai/codex-linux-*/vendor/*/{RG}")
        turns = [{"calls": [{"read": GREETING}, {"search": "hello, w"}]}] + TURNS[1:]
        with ScriptedModel(self.model_folder(), turns) as model:
            self.make("opencode", model.address)
            self.write("tools/bin/rg", f'#!/bin/sh\nexec {INSIDE}/{rg.relative_to(MODULES)} "$@"\n', 0o755)
            self.pawl("run", "plan.yaml")
            self.assert_passed()
            self.assertIn("test.sh", model.calls()[1]["prompt"])
        self.assert_asks_no_other_host("opencode")


def add(name, function):
    setattr(Programs, "test_" + name, function)


for program, use in enumerate(SIX):
    add(f"{use}_does_its_task", lambda self, use=use: self.does_its_task(use))
    add(f"{use}_does_not_take_its_arguments", lambda self, use=use: self.does_not_take_its_arguments(use))
    add(f"{use}_mends_its_work", lambda self, use=use: self.mends_its_work(use))
    add(f"{use}_keeps_its_key_out_of_files", lambda self, use=use: self.keeps_its_key_out_of_files(use))
    if use in LISTS:
        add(f"{use}_takes_more_arguments", lambda self, use=use: self.takes_more_arguments(use, LISTS[use]))
    for order, victim in enumerate(VICTIMS):
        for call in CALLS if os.environ.get("WHOLE") else [1 + (program + order) % len(TURNS)]:
            add(f"{use}_goes_on_when_{victim}_ends_in_call_{call}", lambda self, of=(use, victim, call): self.goes_on(*of))
    add(f"{use}_goes_on_when_all_ends_in_a_tool", lambda self, use=use: self.goes_on_after_a_tool(use))

    # A wrong key, to which Google answers with 400, or one that is refused in the middle of the work.
    refusal = ({"kind": "invalid_key", "at": 1}, 400) if use == "gemini" else ({"kind": "unauthorized", "at": 2}, 401)
    add(f"{use}_waits_for_a_person", lambda self, of=(use, *refusal): self.waits_for_a_person(*of))

# As a new user has them.
for use in ("claude_code", "codex"):
    add(f"{use}_runs_without_a_plan", lambda self, use=use: self.runs_without_a_plan(use))
# Gemini CLI asks ten times in three minutes before it ends, and Qwen Code for four to eight minutes.
for use in ("gemini", "qwen"):
    add(f"{use}_goes_on_after_a_cut", lambda self, use=use: self.goes_on_after_a_cut(use))
    add(f"{use}_outlasts_an_overload", lambda self, use=use: self.outlasts_an_overload(use))
for use in ("claude_code", "codex", "opencode", "pi"):
    add(f"{use}_waits_while_its_provider_is_overloaded",
        at_once.waits(lambda self, use=use: self.waits_while_its_provider_is_overloaded(use)))
    # The other two take minutes for it.
    add(f"{use}_goes_on_after_faults", lambda self, use=use: self.goes_on_after_faults(use))
# The others ask for minutes.
for use in ("claude_code", "codex", "qwen", "pi"):
    add(f"{use}_waits_while_its_provider_is_down", at_once.waits(lambda self, use=use: self.waits_while_its_provider_is_down(use)))


if __name__ == "__main__":
    at_once.main()
