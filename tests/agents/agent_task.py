"""A task for a real agent program: its plan, its source, and the turns of the model. AGENTS is the folder of the programs' packages."""

import os
import pathlib

MODULES = pathlib.Path(os.environ["AGENTS"]) / "node_modules"
INSIDE = "/opt/agents/node_modules"
GREETING = "/workspace/greeting"
GOAL = "Make the test in test.sh pass."
# Its output is not in its words.
SHELL, PRINTS = 'sh test.sh && echo "the test ended with $?"', "the test ended with 0"
TURNS = [{"text": "I look.", "calls": [{"read": GREETING}]}, {"calls": [{"write": GREETING, "text": "hello, world\n"}]},
         {"calls": [{"shell": SHELL}]}, {"text": "It is done."}]
# By profile: the program, a name of a model, and the path below the server's address.
PROGRAMS = {"claude_code": ("claude", "claude-sonnet-4-5", ""), "codex": ("codex", "gpt-5-codex", "/v1"), "gemini": ("gemini", "gemini-2.5-pro", ""),
            "qwen": ("qwen", "coder", "/v1"), "opencode": ("opencode", "coder", "/v1"), "pi": ("pi", "coder", "/v1"),
            "gemini_acp": ("gemini", "gemini-2.5-pro", ""), "qwen_acp": ("qwen", "coder", "/v1"),
            "opencode_acp": ("opencode", "coder", "/v1")}
KEYS = {"claude_code": "ANTHROPIC_API_KEY", "gemini": "GEMINI_API_KEY", **dict.fromkeys(("codex", "qwen", "opencode", "pi"), "OPENAI_API_KEY")}
PLAN = """\
version: 1
workflow: agents
source: {path: source}
protect: [test.sh]
max_attempts: 2
%(top)s
mounts: [{src: %(tools)s}, {src: %(modules)s, dst: %(inside)s}]
gates:
  tests: {steps: [{name: unit, run: "sh test.sh"}]}
tiers:
  - phases:
      - id: fix
        goal: "%(goal)s"
        agent: {use: %(use)s, model: %(model)s, base_url: "%(url)s", time_budget_seconds: 300}
        gates: [tests]
"""


def write_source(folder):
    """Writes `source` into a folder."""
    (folder / "source").mkdir(parents=True, exist_ok=True)
    (folder / "source/greeting").write_text("x\n")
    (folder / "source/test.sh").write_text("grep -q 'hello, world' greeting\n")


def write(folder, use, address, top="", inside=INSIDE, goal=GOAL):
    """Writes the task of a profile into a folder: `source`, `plan.yaml` and `tools`. `address`: of the model's server. `top`: lines of the plan.
    `inside`: where the program finds its packages."""
    program, name, path = PROGRAMS[use]
    start = MODULES.joinpath(".bin", program).resolve()
    with open(start, "rb") as file:
        runtime = "" if file.read(4) == b"\x7fELF" else "node "
    (folder / "tools/bin").mkdir(parents=True, exist_ok=True)
    tool = folder / "tools/bin" / program
    tool.write_text(f'#!/bin/sh\nexec {runtime}{inside}/{start.relative_to(MODULES.resolve())} "$@"\n')
    tool.chmod(0o755)
    write_source(folder)
    (folder / "plan.yaml").write_text(PLAN % {"tools": folder / "tools", "modules": MODULES, "inside": INSIDE, "use": use, "model": name,
                                              "url": address + path, "top": top, "goal": goal})
