#!/usr/bin/env python3
"""Real agent programs by their profiles: each does a task in a real sandbox with a scripted model, and goes on when it, its supervisor, the
executor or everything is killed in a call. A line for each kill says what the model was asked.

    programs_test.py               the kills of the suite: each of the four for each program
    WHOLE=1 programs_test.py       every kill in every call, and after an attempt that did not pass"""

import json
import os
import pathlib
import signal
import socket
import time

import at_once
from agent_runs import TRIES_ONCE, WithAgent
from agent_task import GOAL, TURNS
from pawl_testing import TIMEOUT_S
from scripted_model import ScriptedModel

SIX = ["claude_code", "codex", "gemini", "qwen", "opencode", "pi"]
VICTIMS = ["agent", "supervisor", "executor", "all"]
# Some programs write their session while they send a call.
SETTLES_S = 1
# Requests to hosts that its profile does not name: opencode asks npm for a package that it goes without.
OTHER_HOSTS = {"opencode": 3}
CALLS = range(1, len(TURNS) + 1)


class Programs(WithAgent):
    def does_its_task(self, use):
        """Its goal begins as an option does."""
        with ScriptedModel(self.model_folder(), TURNS) as model:
            self.make(use, model.address, goal=f"- {GOAL}")
            self.pawl("run", "plan.yaml", expect=None)
            self.assert_passed()
            self.assertEqual(len(model.calls()), len(TURNS))
        signals = self.pawl_json("inspect", "last")["phases"][0]["attempts"][0]["signals"]
        [refused] = [signal["details"].get("egress_refused", 0) for signal in signals if signal["kind"] == "agent"]
        self.assertLessEqual(refused, OTHER_HOSTS.get(use, 0), f"{use} asks for other hosts than its model's")
        self.pawl("export", "last", "evidence")
        rows = [json.loads(line) for line in (self.root / "evidence/cost/agent.jsonl").read_text().splitlines()]
        self.assertGreater(sum(row["input_tokens"] for row in rows), 1000)

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
        for pid in self.programs_inside() if victim == "agent" else self.supervisors():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue  # it ended with another one
        return run.wait(timeout=TIMEOUT_S)

    def goes_on(self, use, victim, call):
        """Ends the victim while the model is asked for the answer of a call. Only a client that lives on gets that answer."""
        faults = [] if victim == "executor" else [{"kind": "hang", "at": call, "times": 1}]
        with ScriptedModel(self.model_folder(), TURNS, faults) as model:
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
        print(f"{use:12} {victim:10} in call {call}: {asked} calls, {asked - len(TURNS)} of them again", flush=True)
        self.assertLessEqual(asked - len(TURNS), 0 if victim == "executor" else 1, self.log())

    def mends_its_work(self, use):
        """`on_retry: continue`: the second attempt is one more turn of the same session. The goal begins as a command of the program does."""
        look = TURNS[0]["calls"]  # again, because some write no file that they have not read since their start
        turns = TURNS[:1] + [{"text": "It is done."}, {"calls": look}] + TURNS[1:]
        with ScriptedModel(self.model_folder(), turns) as model:
            self.make(use, model.address, top="on_retry: continue", goal=f"/fix {GOAL}")
            self.write("source/test.sh", "grep -q 'hello, world' greeting || { echo the greeting is wrong; exit 1; }\n")
            self.pawl("run", "plan.yaml", expect=None)
            self.assert_passed(attempts=2)
            self.assertEqual(len(model.calls()), len(turns), "each turn was asked for once")
        [began] = [row for row in self.chains("last")["fix"] if row["type"] == "pre_execute" and "layer" in row]
        self.assertEqual(began["label"], "fix.agent.run.attempt2")

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
            self.make(use, "http://127.0.0.1:%d" % closed.getsockname()[1], top=TRIES_ONCE)
            run = self.start("run", "plan.yaml")
            self.wait_until(lambda: '"waits_for":"not_before"' in self.pawl("why", "last", "--json", expect=None).stdout, "it waits")
            run.send_signal(signal.SIGINT)
            self.assertEqual(run.wait(timeout=TIMEOUT_S), 130)
        [row] = self.waits()
        self.assertEqual((row["refusal"], row["status"], row["source"]), ("limited", 0, "backoff"))


def add(name, function):
    setattr(Programs, "test_" + name, function)


for program, use in enumerate(SIX):
    add(f"{use}_does_its_task", lambda self, use=use: self.does_its_task(use))
    add(f"{use}_does_not_take_its_arguments", lambda self, use=use: self.does_not_take_its_arguments(use))
    add(f"{use}_mends_its_work", lambda self, use=use: self.mends_its_work(use))
    for order, victim in enumerate(VICTIMS):
        for call in CALLS if os.environ.get("WHOLE") else [1 + (program + order) % len(TURNS)]:
            add(f"{use}_goes_on_when_{victim}_ends_in_call_{call}", lambda self, of=(use, victim, call): self.goes_on(*of))

    # A wrong key, to which Google answers with 400, or one that is refused in the middle of the work.
    refusal = ({"kind": "invalid_key", "at": 1}, 400) if use == "gemini" else ({"kind": "unauthorized", "at": 2}, 401)
    add(f"{use}_waits_for_a_person", lambda self, of=(use, *refusal): self.waits_for_a_person(*of))

# The others ask for minutes.
for use in ("claude_code", "codex", "qwen", "pi"):
    add(f"{use}_waits_while_its_provider_is_down", at_once.waits(lambda self, use=use: self.waits_while_its_provider_is_down(use)))


if __name__ == "__main__":
    at_once.main()
