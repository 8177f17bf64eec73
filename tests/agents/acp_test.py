#!/usr/bin/env python3
"""Real agent programs by the Agent Client Protocol: each does a task in a real sandbox with a scripted model, and goes on when everything is
killed. AGENTS is the folder of their packages."""

import json
import os
import pathlib
import shutil
import tempfile

import at_once
from pawl_runs import WithRun
from scripted_model import ScriptedModel

MODULES = pathlib.Path(os.environ["AGENTS"]) / "node_modules"
GREETING = "/workspace/greeting"
TURNS = [{"text": "I look.", "calls": [{"read": GREETING}]}, {"calls": [{"write": GREETING, "text": "hello, world\n"}]},
         {"calls": [{"shell": "sh test.sh"}]}, {"text": "It is done."}]
PROGRAMS = {"gemini_acp": ("gemini", "gemini-2.5-pro", ""), "qwen_acp": ("qwen", "coder", "/v1")}
PLAN = """\
version: 1
workflow: acp
source: {path: source}
protect: [test.sh]
max_attempts: 2
mounts: [{src: %(tools)s}, {src: %(modules)s, dst: /opt/agents}]
gates:
  tests: {steps: [{name: unit, run: "sh test.sh"}]}
tiers:
  - phases:
      - id: fix
        goal: "Make the test in test.sh pass."
        agent: {use: %(use)s, model: %(model)s, base_url: "%(url)s", memory_limit_mib: 3000, time_budget_seconds: 300}
        gates: [tests]
"""


class Programs(WithRun):
    def make(self, use, model):
        program, name, path = PROGRAMS[use]
        script = (MODULES / ".bin" / program).resolve().relative_to(MODULES.resolve())
        self.write(f"tools/bin/{program}", f'#!/bin/sh\nexec node /opt/agents/{script} "$@"\n', 0o755)
        self.write("source/greeting", "x\n")
        self.write("source/test.sh", "grep -q 'hello, world' greeting\n")
        self.write("plan.yaml", PLAN % {"tools": self.root / "tools", "modules": MODULES, "use": use, "model": name, "url": model.address + path})

    def model_folder(self):
        """Not below the test's folder: `kill_all` takes a process that names it for one of Pawl."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="acp-model-"))
        self.addCleanup(shutil.rmtree, folder)
        return folder

    def log(self):
        return self.pawl("logs", "last", "fix").stdout

    def assert_passed(self):
        [phase] = self.pawl_json("status", "last")["phases"]
        self.assertEqual((phase["outcome"], phase["attempts_total"]), ("passed", 1), self.log())
        self.pawl("verify", "last")

    def does_its_task(self, use):
        with ScriptedModel(self.model_folder(), TURNS) as model:
            self.make(use, model)
            self.pawl("run", "plan.yaml")
            self.assert_passed()
            self.assertEqual(len(model.calls()), len(TURNS))
        log = self.log()
        self.assertIn("\nagent: I look.\n", log)
        self.assertIn("\nagent: It is done.\n", log)
        self.assertIn('"stop_reason":"end_turn"', log)
        self.pawl("export", "last", "evidence")
        rows = [json.loads(line) for line in (self.root / "evidence/cost/agent.jsonl").read_text().splitlines()]
        self.assertGreater(sum(row["input_tokens"] for row in rows), 1000)
        self.assertEqual({row["source"] for row in rows}, {"acp"})

    def goes_on(self, use):
        with ScriptedModel(self.model_folder(), TURNS, [{"kind": "hang", "at": 3, "times": 1}]) as model:
            self.make(use, model)
            run = self.start("run", "plan.yaml")
            self.wait_until(lambda: len(model.calls()) == 3, "it asks for the third turn")
            self.kill_all(run)
            self.pawl("resume", "last")
            self.assert_passed()
        decisions = [row["decision"] for row in self.chains("last")["fix"] if row["type"] == "resume"]
        self.assertEqual(decisions, ["continue"])
        return self.log()

    def test_gemini_does_its_task(self):
        self.does_its_task("gemini_acp")

    def test_qwen_does_its_task(self):
        self.does_its_task("qwen_acp")

    def test_gemini_goes_on(self):
        # Within the minute of its first start it writes over its own session, and finds none.
        self.assertRegex(self.goes_on("gemini_acp"), "acp: goes on in session|acp: the agent can't load its session, and begins a new one")

    def test_qwen_goes_on(self):
        self.assertIn("acp: goes on in session", self.goes_on("qwen_acp"))


if __name__ == "__main__":
    at_once.main()
