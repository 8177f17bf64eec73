"""A task for a real agent program in a real sandbox, with a scripted model. AGENTS is the folder of the programs' packages."""

import os
import pathlib
import shutil
import tempfile

from pawl_runs import WithRun

MODULES = pathlib.Path(os.environ["AGENTS"]) / "node_modules"
GREETING = "/workspace/greeting"
TURNS = [{"text": "I look.", "calls": [{"read": GREETING}]}, {"calls": [{"write": GREETING, "text": "hello, world\n"}]},
         {"calls": [{"shell": "sh test.sh"}]}, {"text": "It is done."}]
# By profile: the program, a name of a model, and the path below the server's address.
PROGRAMS = {"claude_code": ("claude", "claude-sonnet-4-5", ""), "codex": ("codex", "gpt-5-codex", "/v1"), "gemini": ("gemini", "gemini-2.5-pro", ""),
            "qwen": ("qwen", "coder", "/v1"), "opencode": ("opencode", "coder", "/v1"), "pi": ("pi", "coder", "/v1"),
            "gemini_acp": ("gemini", "gemini-2.5-pro", ""), "qwen_acp": ("qwen", "coder", "/v1")}
PLAN = """\
version: 1
workflow: agents
source: {path: source}
protect: [test.sh]
max_attempts: 2
%(top)s
mounts: [{src: %(tools)s}, {src: %(modules)s, dst: /opt/agents/node_modules}]
gates:
  tests: {steps: [{name: unit, run: "sh test.sh"}]}
tiers:
  - phases:
      - id: fix
        goal: "Make the test in test.sh pass."
        agent: {use: %(use)s, model: %(model)s, base_url: "%(url)s", memory_limit_mib: 3000, time_budget_seconds: 300}
        gates: [tests]
"""


class WithAgent(WithRun):
    def make(self, use, model, top=""):
        program, name, path = PROGRAMS[use]
        start = MODULES.joinpath(".bin", program).resolve()
        with open(start, "rb") as file:
            runtime = "" if file.read(4) == b"\x7fELF" else "node "
        self.write(f"tools/bin/{program}", f'#!/bin/sh\nexec {runtime}/opt/agents/node_modules/{start.relative_to(MODULES.resolve())} "$@"\n', 0o755)
        self.write("source/greeting", "x\n")
        self.write("source/test.sh", "grep -q 'hello, world' greeting\n")
        self.write("plan.yaml", PLAN % {"tools": self.root / "tools", "modules": MODULES, "use": use, "model": name,
                                        "url": model.address + path, "top": top})

    def model_folder(self):
        """Not below the test's folder: `kill_all` takes a process that names it for one of Pawl."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="agent-model-"))
        self.addCleanup(shutil.rmtree, folder)
        return folder

    def log(self):
        return self.pawl("logs", "last", "fix").stdout

    def assert_passed(self, attempts=1):
        [phase] = self.pawl_json("status", "last")["phases"]
        self.assertEqual((phase["outcome"], phase["attempts_total"]), ("passed", attempts), self.log())
        self.pawl("verify", "last")
