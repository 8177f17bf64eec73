"""Plans for agent programs with profiles, and small scripts of the names of these programs."""

import json
import re

from pawl_runs import WithRun

PROGRAMS = {"aider": "aider", "claude_code": "claude", "codex": "codex", "gemini": "gemini", "gemini_acp": "gemini", "mini_swe_agent": "mini", "opencode": "opencode",
            "opencode_acp": "opencode", "openhands": "openhands", "pi": "pi", "qwen": "qwen", "qwen_acp": "qwen"}
# By program, the variables that sign it in.
KEYS_OF = {"claude": ["ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"], "gemini": ["GEMINI_API_KEY"], "openhands": ["LLM_API_KEY"],
           **{program: ["OPENAI_API_KEY"] for program in ("aider", "codex", "mini", "opencode", "pi", "qwen")}}
VALUE = "key-Zk3r9Wq7LmX2"
KEYS = {"ANTHROPIC_API_KEY": VALUE, "GEMINI_API_KEY": VALUE, "LLM_API_KEY": VALUE, "OPENAI_API_KEY": VALUE, "OWN_KEY": VALUE}

# A program that says what it was given, as one line of JSON, and does its work. With --acp, or acp, it gets its goal by the Agent Client Protocol.
HEARS_ACP = r'''
prompt = {}
if {"--acp", "acp"} & set(sys.argv):
    for result in ({"protocolVersion": 1}, {"sessionId": "s"}, {"stopReason": "end_turn"}):
        message = json.loads(sys.stdin.readline())
        if message["method"] == "session/prompt":
            prompt["prompt"] = message["params"]["prompt"][0]["text"]
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
'''
FAKE = r'''#!/usr/bin/python3
import json, os, pathlib, sys
if sys.argv[1:] == ["--version"]:
    print("tool version 3.1.4-beta (build 9)")
    raise SystemExit
''' + HEARS_ACP + r'''
home = pathlib.Path(os.environ["HOME"])
own = {"HOME", "LANG", "LOGNAME", "OLDPWD", "PATH", "PWD", "SHLVL", "TMPDIR", "TZ", "USER", "_", "LC_CTYPE"}
print("GIVEN " + json.dumps(prompt | {
    "argv": [pathlib.Path(sys.argv[0]).name, *sys.argv[1:]],
    "variables": {name: value for name, value in os.environ.items() if name not in own and not name.startswith("PAWL_")},
    "files": {str(path.relative_to(home)): path.read_text() for path in sorted(home.rglob("*"))
              if path.is_file() and not path.name.startswith(".pawl")}}), file=sys.stderr)
pathlib.Path("work").write_text("done")
'''

# A program that does nothing without its key.
WORKS = f'''#!/usr/bin/python3
import json, os, pathlib, sys
keys = {KEYS_OF!r}[pathlib.Path(sys.argv[0]).name]
if not any(os.environ.get(key) for key in keys):
    sys.exit("Missing environment variable: " + keys[0])
pathlib.Path("greeting").write_text("hello, world\\n")
''' + HEARS_ACP

PLAN = """\
version: 1
workflow: profiles
source: {path: source}
mounts: [{src: %(root)s/tools}]
max_attempts: 2
%(top)s
gates:
  check: {steps: [{name: unit, run: %(gate)s}], baseline: none}
tiers:
  - phases:
%(phases)s
"""


class WithPrograms(WithRun):
    def setUp(self):
        super().setUp()
        self.write("source/file", "x\n")
        (self.root / "home").mkdir()
        self.home = {"HOME": str(self.root / "home"), "XDG_CONFIG_HOME": "", "CLAUDE_CODE_OAUTH_TOKEN": "", "ANTHROPIC_AUTH_TOKEN": "", **dict.fromkeys(KEYS, "")}
        self.with_keys = self.home | KEYS

    def program(self, name, text=FAKE):
        self.write(f"tools/bin/{name}", text, 0o755)

    def profile(self, name, text):
        return self.write(f"home/.config/pawl/agents/{name}.yaml", text)

    def make(self, *agents, gate="test -e work", top=""):
        phases = "\n".join(f"      - {{id: p{i}, goal: 'the \"goal\" of $HOME `id`', agent: {{{agent}}}, gates: [check]}}"
                           for i, agent in enumerate(agents, 1))
        self.write("plan.yaml", PLAN % {"root": self.root, "top": top, "gate": json.dumps(gate), "phases": phases})

    def given(self, phase="p1"):
        """What the program of each attempt got."""
        phases = {one["phase_id"]: one["attempts"] for one in self.pawl_json("inspect", "last")["phases"]}
        said = [self.pawl("logs", "last", phase, "--attempt", str(number + 1)).stdout for number in range(len(phases[phase]))]
        return [json.loads(line) for text in said for line in re.findall(r"GIVEN (.*)", text)]
