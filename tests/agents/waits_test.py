#!/usr/bin/env python3
"""Real agent programs whose provider refuses each call until a time that it says. Each goes on then, without an attempt for it, also when everything
was killed before. A line for each says how late its first call was; scripts/bench has the bound for it.

    waits_test.py                    two programs that end when they are refused, and a refusal of SHORT_S
    WAIT_SECONDS=90 WAIT_PROGRAMS="codex pi" waits_test.py"""

import os
import time

import at_once
from agent_runs import WithAgent
from agent_task import TURNS
from scripted_model import ScriptedModel

SHORT_S = 20
# Between the server's decision and its line in the log.
CLOCKS_S = 1
WAIT_S = int(os.environ.get("WAIT_SECONDS", SHORT_S))
# Claude Code and Codex say when the window of a subscription ends. The others have a rate limit; Gemini CLI names no time for a day's quota.
WINDOW = {"kind": "usage_window"}
LIMIT = {"kind": "rate_limit", "retry_after": WAIT_S}
REFUSALS = {"claude_code": WINDOW, "codex": WINDOW, "gemini": LIMIT, "qwen": LIMIT, "opencode": LIMIT, "pi": LIMIT}
# A shell writes, because some programs write no file that they have not read since their start.
WRITES = TURNS[:1] + [{"calls": [{"shell": "echo hello, world >greeting"}]}] + TURNS[2:]
TOKEN = "CLAUDE_CODE_OAUTH_TOKEN"
# With a program's start on a machine that is busy with other tests. A wrong wait of Pawl would be a minute.
LATE_S = 45
# Gemini CLI waits for the reset by itself, or asks again at times of its own.
ASKS_BY_ITSELF = ("gemini",)
# How long a program may go on to ask by itself.
ENDS_S = 300


class Waits(WithAgent):
    def make(self, use, address):
        super().make(use, address)
        if use == "claude_code":
            self.subscribe()

    def subscribe(self):
        """Claude Code signs in with the token of a subscription."""
        text = (self.root / "plan.yaml").read_text()
        self.write("plan.yaml", text.replace("agent: {", f"agent: {{credentials: {{{TOKEN}: {{env: {TOKEN}}}}}, "))

    def environment(self, env):
        return super().environment({TOKEN: "sk-ant-oat01-scripted", **(env or {})})

    def goes_on_at_the_reset(self, use, is_killed):
        fault = REFUSALS[use] | {"at": 2, "times": 0, "everywhere": True, "lasts": WAIT_S}
        with ScriptedModel(self.model_folder(), WRITES, [fault]) as model:
            self.make(use, model.address)
            run = self.start("run", "plan.yaml")
            self.wait_until(lambda: len(model.calls()) > 1, "it is refused")
            refused_at = model.calls()[1]["at"]
            if is_killed:
                time.sleep(WAIT_S / 3)
                self.kill_all(run)
                run = self.start("resume", "last")
            run.wait(timeout=WAIT_S + ENDS_S)
            calls = model.calls()
        self.assert_passed()
        on = next(call["at"] for call in calls[1:] if call["answered"] != fault["kind"])
        waits = [row["source"] for row in self.waits()]
        late = on - refused_at - WAIT_S
        print(f"{use:12} {'killed' if is_killed else 'left alone':10}: {late:.1f} s after the reset; "
              f"{len(calls)} calls; waits of Pawl: {', '.join(waits) or 'none'}", flush=True)
        if use not in ASKS_BY_ITSELF:
            self.assertGreaterEqual(late, -CLOCKS_S)
            self.assertLessEqual(late, LATE_S)
            self.assertTrue(waits or not is_killed, self.log())


def add(use, is_killed):
    test = at_once.waits(lambda self: self.goes_on_at_the_reset(use, is_killed))
    setattr(Waits, f"test_{use}_{'is_killed_and_' if is_killed else ''}goes_on_at_the_reset", test)


for program in os.environ.get("WAIT_PROGRAMS", "claude_code codex").split():
    for killed in (False, True):
        add(program, killed)

if __name__ == "__main__":
    at_once.main()
