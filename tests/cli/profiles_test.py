#!/usr/bin/env python3
"""Agent programs by their profiles: what each known program gets, a user's own profiles, and `pawl agents`.

tests/golden/programs/NAME.json is what a program finds when a plan says `use: NAME`: its arguments, its variables and the files in HOME. Only
`profiles_test.py --update` writes them. The programs here are small scripts of their names.
"""

import contextlib
import http.server
import json
import os
import pathlib
import re
import shutil
import sys
import threading
import unittest

import yaml
from pawl_runs import WithRun

GOLDENS = pathlib.Path(__file__).resolve().parents[1] / "golden/programs"
PROGRAMS = {"aider": "aider", "claude_code": "claude", "codex": "codex", "gemini": "gemini", "gemini_acp": "gemini", "mini_swe_agent": "mini", "opencode": "opencode",
            "openhands": "openhands", "pi": "pi", "qwen": "qwen", "qwen_acp": "qwen"}
URL = "http://127.0.0.1:9/v1"

# A program that says what it was given, as one line of JSON, and does its work. With --acp it gets its goal by the Agent Client Protocol.
HEARS_ACP = r'''
prompt = {}
if "--acp" in sys.argv:
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
        self.home = {"HOME": str(self.root / "home"), "XDG_CONFIG_HOME": ""}

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


class Known(WithPrograms):
    maxDiff = None

    def given_by_name(self):
        for program in PROGRAMS.values():
            self.program(program)
        self.make(*(f'use: {name}, model: the-model, args: [--more, "a b"], base_url: "{URL}"' for name in PROGRAMS),
                  *(f"use: {name}, model: the-model" for name in PROGRAMS), gate="true", top="")
        # A phase changes nothing when an earlier one wrote the same.
        text = (self.root / "plan.yaml").read_text().replace("gates: [check]}", "gates: [check], may_be_empty: true}")
        self.write("plan.yaml", text)
        self.pawl("run", "plan.yaml", env=self.home)
        names = list(PROGRAMS)
        return {name: {"with base_url and args": self.given(f"p{i + 1}")[0], "with a model": self.given(f"p{i + 1 + len(names)}")[0]}
                for i, name in enumerate(names)}

    def test_each_program_gets_what_its_golden_says(self):
        for name, given in self.given_by_name().items():
            with self.subTest(name):
                self.assertEqual(given, json.loads((GOLDENS / f"{name}.json").read_text()), "if that is meant: profiles_test.py --update")
        self.assertEqual({path.stem for path in GOLDENS.glob("*.json")}, set(PROGRAMS))

    def test_the_goldens_hold_what_a_program_needs(self):
        for name in PROGRAMS:
            golden = json.loads((GOLDENS / f"{name}.json").read_text())
            with self.subTest(name):
                with_url, plain = golden["with base_url and args"], golden["with a model"]
                self.assertIn('the "goal" of $HOME `id`', [*with_url["argv"], with_url.get("prompt")])
                self.assertIn("--more", with_url["argv"])
                self.assertIn(URL, json.dumps(with_url))
                self.assertIn("the-model", json.dumps(plain))
                self.assertNotIn(URL, json.dumps(plain))
                self.assertIn("none", with_url["variables"].values(), "a key that no server asks for")
                self.assertNotIn("none", plain["variables"].values())
                for text in (*with_url["files"].values(), *plain["files"].values()):
                    if text.startswith("{"):
                        json.loads(text)

    def test_the_model_of_an_attempt(self):
        self.program("claude")
        self.make("use: claude_code", gate='grep -q "$PAWL_ATTEMPT" work; exit 1', top="models: [small, large]")
        self.pawl("run", "plan.yaml", env=self.home, expect=11)
        self.assertEqual([given["argv"][given["argv"].index("--model") + 1] for given in self.given()], ["small", "large"])
        self.make("use: claude_code, model: own", top="models: [small, large]")
        self.pawl("run", "plan.yaml", env=self.home)
        self.assertEqual([given["argv"][-1] for given in self.given()], ["own"])
        self.assertEqual([attempt["model"] for attempt in self.pawl_json("inspect", "last")["phases"][0]["attempts"]], ["own"])
        self.make("use: claude_code")
        self.pawl("run", "plan.yaml", env=self.home)
        self.assertNotIn("--model", self.given()[0]["argv"])

    def test_the_next_attempt_hears_of_the_judgement(self):
        self.program("claude")
        self.make("use: claude_code", gate="echo the colour is wrong; test $(cat work) = right", top="")
        self.pawl("run", "plan.yaml", env=self.home, expect=11)
        first, second = (given["argv"][2] for given in self.given())
        self.assertEqual(first, 'the "goal" of $HOME `id`')
        self.assertTrue(second.startswith(first + "\n\nAn earlier attempt did not pass. "), second)
        self.assertIn("the colour is wrong", second)

    def test_a_program_that_no_step_finds_is_named(self):
        self.make("use: codex")
        (self.root / "tools").mkdir()
        self.write("home/.local/bin/codex", "#!/usr/bin/env own-node\n", 0o755)
        self.write("home/node/bin/own-node", FAKE, 0o755)
        path = f"{self.root}/home/node/bin:{os.environ['PATH']}"
        said = self.pawl("check", "plan.yaml", env=self.home | {"PATH": path}).stderr
        self.assertIn("agent of phase p1 starts codex, which no step finds: ", said)
        self.assertIn("Add to the plan: `mounts: [{src: ~/.local/bin}, {src: ~/node}]`", said, "with its interpreter")


OWN = """\
version: 1
run: [own-tool, "{model_args}", "{args}", --say, "{prompt}"]
model_args: [-m, "{model}"]
set: {OWN_URL: "{base_url}"}
files: {.own/settings.json: '{"url": "{base_url}"}'}
key: OWN_KEY
login: [.own/login.json]
base_url: {default: "https://api.example.org/v1"}
exit_codes: {41: the key is missing}
"""


class Own(WithPrograms):
    def setUp(self):
        super().setUp()
        self.profile("own", OWN)

    def test_a_users_own_profile_is_used(self):
        self.program("own-tool")
        self.make('use: own, model: m1, args: ["-x y"], base_url: "http://localhost:9/v1"')
        self.pawl("run", "plan.yaml", env=self.home)
        given, = self.given()
        self.assertEqual(given, {"argv": ["own-tool", "-m", "m1", "-x y", "--say", 'the "goal" of $HOME `id`'],
                                 "variables": {"OWN_URL": "http://localhost:9/v1", "OWN_KEY": "none"},
                                 "files": {".own/settings.json": '{"url": "http://localhost:9/v1"}\n'}})
        self.pawl("verify", "last")

    def test_its_endpoint_is_reached_and_no_other(self):
        self.program("own-tool", """#!/bin/sh
curl -sS "$OWN_URL/hello" && echo; curl -sS -m 5 http://127.0.0.1:1/ && exit 1; echo >work
""")
        with server() as url:
            self.make(f'use: own, base_url: "{url}"')
            self.pawl("run", "plan.yaml", env=self.home)
        self.assertIn("the server of the host heard /hello\n", self.pawl("logs", "last", "p1").stdout)

    def test_what_an_exit_code_means_is_told(self):
        self.program("own-tool", "#!/bin/sh\nexit 41\n")
        self.make("use: own", top="")
        self.pawl("run", "plan.yaml", env=self.home, expect=11)
        attempt = self.pawl_json("inspect", "last")["phases"][0]["attempts"][-1]
        agent, = (signal for signal in attempt["signals"] if signal["kind"] == "agent")
        self.assertEqual((agent["details"]["exit_code"], agent["details"]["means"]), (41, "the key is missing"))
        self.assertIn("the key is missing", self.pawl("inspect", "last").stdout)

    def test_a_run_keeps_the_profile_of_its_start(self):
        self.program("own-tool")
        self.make("use: own", gate="test -e work && test -e fine")
        self.pawl("run", "plan.yaml", env=self.home, expect=11)
        self.profile("own", OWN.replace("--say", "--tell"))
        self.pawl("retry", "last", "p1")
        self.pawl("resume", "last", env=self.home, expect=11)
        self.assertEqual({given["argv"][-2] for given in self.given()}, {"--say"})
        (self.root / "home/.config/pawl/agents/own.yaml").unlink()
        self.pawl("fork", "last", "--from", "p1", env=self.home)
        self.pawl("resume", "last", env=self.home, expect=11)
        self.assertEqual({given["argv"][-2] for given in self.given()}, {"--say"})
        self.assertIn("no profile 'own'", self.pawl("check", "plan.yaml", env=self.home, expect=2).stderr)

    def test_it_takes_the_place_of_a_known_one(self):
        self.program("own-tool")
        self.profile("codex", OWN)
        self.make("use: codex")
        self.pawl("run", "plan.yaml", env=self.home)
        self.assertEqual(self.given()[0]["argv"][0], "own-tool")

    def test_its_folder_can_be_elsewhere(self):
        self.program("own-tool")
        (self.root / "home/.config").rename(self.root / "config")
        self.make("use: own")
        self.pawl("check", "plan.yaml", env=self.home, expect=2)
        self.pawl("check", "plan.yaml", env=self.home | {"XDG_CONFIG_HOME": str(self.root / "config")})

    def test_a_mistake_is_named_with_file_line_and_column(self):
        place = self.profile("own", OWN.replace("{prompt}", "{goal}").replace("key: OWN_KEY", "keys: OWN_KEY"))
        self.make("use: own")
        for command in ("check", "run"):
            said = self.pawl(command, "plan.yaml", env=self.home, expect=2).stderr
            self.assertIn(f"{place}:2:50: error: run: {{goal}} has no place here\n", said)
            self.assertIn(f"{place}:6:1: error: unknown key 'keys' in the profile; did you mean 'key'?\n", said)
        self.assertIn(f"{place}:2:50: error: ", self.pawl("agents", env=self.home, expect=2).stderr)
        self.profile("own", OWN + "#" * (64 << 10))
        self.assertIn("own.yaml", self.pawl("check", "plan.yaml", env=self.home, expect=2).stderr)


@contextlib.contextmanager
def server():
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(f"the server of the host heard {self.path}".encode())

        def log_message(self, *_):
            """Standard error stays empty."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        threading.Thread(target=listening.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{listening.server_port}"
        listening.shutdown()


class Listed(WithPrograms):
    def listed(self, **env):
        found = self.pawl_json("agents", env=self.home | env)["agents"]
        return {agent["name"]: agent for agent in found}

    def test_programs_are_found_with_version_and_login(self):
        self.write("home/.local/bin/claude", FAKE, 0o755)
        self.write("home/.own/bin/own-tool", FAKE, 0o755)
        self.write("home/.claude/.credentials.json", "a secret of the test")
        self.profile("own", OWN)
        path = f"{self.root}/home/.own/bin:{os.environ['PATH']}"
        found = self.listed(PATH=path, OWN_KEY="another secret")
        self.assertEqual(set(found), {*PROGRAMS, "own"})
        claude, own = found["claude_code"], found["own"]
        self.assertEqual((claude["path"], claude["version"], claude["mounts"]), (f"{self.root}/home/.local/bin/claude", "3.1.4-beta", ["~/.local/bin"]))
        self.assertEqual(claude["login"], {"variable": "ANTHROPIC_API_KEY", "is_set": False, "files": ["~/.claude/.credentials.json"]})
        self.assertEqual((own["mounts"], own["login"]["is_set"], own["egress"]), (["~/.own"], True, ["api.example.org:443"]))
        self.assertTrue(own["own_file"].endswith("/agents/own.yaml"))
        said = self.pawl("agents", env=self.home | {"PATH": path, "OWN_KEY": "another secret"}).stdout
        self.assertRegex(said, r"claude_code  3\.1\.4-beta  \S+/home/\.local/bin/claude\n  login: ANTHROPIC_API_KEY is not set, ~/\.claude/\.credentials\.json\n"
                               r"  plan:  agent: \{use: claude_code\}\n         mounts: \[\{src: ~/\.local/bin\}\]\n")
        self.assertIn("OWN_KEY is set", said)
        self.assertNotIn("secret", said + json.dumps(found))

    def test_what_it_says_makes_a_plan_that_checks(self):
        self.write("home/.local/bin/claude", FAKE, 0o755)
        claude = self.listed()["claude_code"]
        (self.root / "tools").mkdir()
        self.make(claude["plan"].removeprefix("agent: {").removesuffix("}"))
        text = (self.root / "plan.yaml").read_text()
        self.write("plan.yaml", re.sub("mounts: .*", "mounts: [" + ", ".join(f"{{src: {src}}}" for src in claude["mounts"]) + "]", text))
        self.assertNotIn("no step finds", self.pawl("run", "plan.yaml", env=self.home).stderr)

    def test_a_program_that_may_not_be_shown_or_has_no_version(self):
        self.write("home/bin/pi", "#!/bin/sh\nexit 1\n", 0o755)
        self.write("home/bin/.env", "SECRET=1\n")
        self.write("home/other/bin/qwen", "#!/bin/sh\nexit 1\n", 0o755)
        found = self.listed(PATH=f"{self.root}/home/other/bin:{os.environ['PATH']}")
        self.assertEqual((found["qwen"]["version"], found["qwen"]["can_be_used"]), ("", True))
        self.assertEqual((found["pi"]["mounts"], found["pi"]["can_be_used"]), (["~/bin/pi"], False), "the file alone is not in PATH")
        said = self.pawl("agents", env=self.home).stdout
        self.assertRegex(said, r"not on this machine: .*codex \(codex\)")


EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples/agents"
WORKS = r'''#!/usr/bin/python3
import json, pathlib, sys
pathlib.Path("greeting").write_text("hello, world\n")
''' + HEARS_ACP


class Examples(WithPrograms):
    def test_each_plan_runs_with_a_stand_in_of_its_program(self):
        shutil.copytree(EXAMPLES, self.root / "agents")
        plans = sorted(set((self.root / "agents").glob("plan-*.yaml")) - {self.root / "agents/plan-acp.yaml"})  # acp_test.py
        self.assertEqual([path.stem.removeprefix("plan-") for path in plans], sorted(PROGRAMS))
        for program in PROGRAMS.values():
            self.program(program, WORKS)
        for path in plans:
            with self.subTest(path.name):
                path.write_text(path.read_text() + f"mounts: [{{src: {self.root}/tools}}]\n")
                self.pawl("run", path.name, cwd="agents", env=self.home)
                self.assertEqual(self.pawl_json("status", "last", cwd="agents")["phases"][0]["outcome"], "passed")


class Made(WithPrograms):
    """`pawl run --agent`: no plan is needed."""

    def setUp(self):
        super().setUp()
        self.home["ANTHROPIC_API_KEY"] = "key-of-the-tests"
        self.write("home/.local/bin/claude", WORKS, 0o755)
        self.write("source/test.sh", "grep -q 'hello, world' greeting\n")
        self.write("source/greeting", "x\n")
        self.commit_all("source")

    def made(self, *args, cwd="source", expect=0, gate="sh test.sh", goal="Greet \"it\" – 'so'\n# now"):
        return self.pawl("run", "--agent", "claude_code", "--goal", goal, "--gate", gate, *args, cwd=cwd, env=self.home, expect=expect)

    def plan(self):
        path, = (self.root / "source/.pawl/plans").glob("*/plan.yaml")
        return yaml.safe_load(path.read_text())

    def test_a_plan_is_made_kept_and_run(self):
        said = self.made().stdout
        path, = (self.root / "source/.pawl/plans").glob("*/plan.yaml")
        self.assertTrue(said.startswith(f"plan {path}\n"), said)
        phase = self.plan()["tiers"][0]["phases"][0]
        self.assertEqual((phase["goal"], phase["agent"]["use"]), ("Greet \"it\" – 'so'\n# now", "claude_code"))
        self.assertEqual(self.plan()["mounts"], [{"src": "~/.local/bin"}])
        self.assertEqual(self.pawl_json("status", "last", cwd="source")["phases"][0]["outcome"], "passed")
        self.assertIn("+hello, world", self.pawl("diff", "last", cwd="source").stdout)
        self.pawl("verify", "last", cwd="source")
        self.pawl("apply", "last", cwd="source")
        self.pawl("run", path, env=self.home)

    def test_its_options_are_in_the_plan(self):
        self.made("-C", "source", "--attempts", "2", "--best-of", "3", "--model", "m", "--base-url", "http://localhost:9", cwd=".")
        phase = self.plan()["tiers"][0]["phases"][0]
        self.assertEqual((self.plan()["max_attempts"], phase["best_of"]), (2, 3))
        self.assertEqual((phase["agent"]["model"], phase["agent"]["base_url"]), ("m", "http://localhost:9"))

    def test_keys_at_hand_are_credentials(self):
        value = "key-Zk3r9Wq7LmX2"
        tells = "#!/bin/sh\n" + 'echo "hello, world" >greeting; for n in ANTHROPIC_API_KEY OTHER_TOKEN; do eval "v=\\${$n:-}"; echo "$n ${#v}"; done\n'
        self.write("home/.local/bin/claude", tells, 0o755)
        for number, (args, names, sizes) in enumerate((
                ([], ["ANTHROPIC_API_KEY"], "ANTHROPIC_API_KEY 16\nOTHER_TOKEN 0\n"),
                (["--credential", "OTHER_TOKEN"], ["OTHER_TOKEN"], "ANTHROPIC_API_KEY 0\nOTHER_TOKEN 16\n"),
                (["--credential", "OTHER_TOKEN", "--credential", "ANTHROPIC_API_KEY"], ["ANTHROPIC_API_KEY", "OTHER_TOKEN"],
                 "ANTHROPIC_API_KEY 16\nOTHER_TOKEN 16\n"))):
            with self.subTest(names):
                state = self.root / f"state{number}"
                self.home |= {"ANTHROPIC_API_KEY": value, "OTHER_TOKEN": value}
                self.made("--dir", state, *args)
                plan, = state.glob("plans/*/plan.yaml")
                phase = yaml.safe_load(plan.read_text())["tiers"][0]["phases"][0]
                self.assertEqual(phase["agent"]["credentials"], {name: {"env": name} for name in names})
                self.assertIn(sizes, self.pawl("logs", "last", "work", "--dir", state).stdout)
        self.home["ANTHROPIC_API_KEY"] = "short"
        self.assertIn("ANTHROPIC_API_KEY has less than 8 bytes", self.made("--dir", self.root / "short", expect=11).stderr)
        missing = self.made("--dir", self.root / "none", "--credential", "OTHER_KEY", expect=11)
        self.assertIn("OTHER_KEY", missing.stdout + missing.stderr)

    def test_without_a_key_no_attempt_is_spent(self):
        self.home["ANTHROPIC_API_KEY"] = ""
        said = self.made(expect=11).stderr
        self.assertIn("--agent claude_code: claude has no key: ANTHROPIC_API_KEY is not set", said)
        self.assertIn("`export ANTHROPIC_API_KEY=...`", said)
        self.assertIn("`--credential NAME`", said)
        self.assertFalse((self.root / "source/.pawl").exists())

    def test_a_token_of_a_subscription_is_a_key_too(self):
        self.home |= {"ANTHROPIC_API_KEY": "", "CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-of-a-person"}
        said = self.made("--dir", self.root / "state").stderr
        self.assertIn("the agent gets CLAUDE_CODE_OAUTH_TOKEN in place of ANTHROPIC_API_KEY", said)
        plan, = (self.root / "state").glob("plans/*/plan.yaml")
        agent = yaml.safe_load(plan.read_text())["tiers"][0]["phases"][0]["agent"]
        self.assertEqual(agent["credentials"], {"CLAUDE_CODE_OAUTH_TOKEN": {"env": "CLAUDE_CODE_OAUTH_TOKEN"}})
        said = json.loads(self.pawl("agents", "--json", env=self.home).stdout)
        login, = [program["login"] for program in said["agents"] if program["name"] == "claude_code"]
        self.assertEqual((login["variable"], login["is_set"]), ("CLAUDE_CODE_OAUTH_TOKEN", True))

    def test_a_server_may_need_no_key_and_a_login_is_told(self):
        self.home["ANTHROPIC_API_KEY"] = ""
        said = self.made("--base-url", "http://127.0.0.1:9").stderr
        self.assertIn("ANTHROPIC_API_KEY is not set: the agent works without a key", said)
        self.write("home/.claude/.credentials.json", "{}")
        said = self.made("--dir", self.root / "state").stderr
        self.assertIn("ANTHROPIC_API_KEY is not set, and no step sees the login in ~/.claude/.credentials.json", said)

    def test_the_state_can_lie_elsewhere(self):
        self.made("--dir", self.root / "state")
        self.assertEqual(len(list((self.root / "state/plans").glob("*/plan.yaml"))), 1)
        self.assertFalse((self.root / "source/.pawl").exists())

    def test_what_cannot_be_is_said_and_leaves_nothing(self):
        (self.root / "home/.local/bin/claude").unlink()
        self.assertIn("--agent claude_code: claude is not on this machine", self.made(expect=2).stderr)
        for args, words in (([], "name a plan's file, or an agent"), (["--agent", "claude_code", "--goal", "g"], "needs --goal TEXT and --gate CMD"),
                            (["plan.yaml", "--goal", "g"], "need --agent"), (["plan.yaml", "--agent", "pi"], "not both"),
                            (["--agent", "pi", "--goal", "g", "--gate", "x"], "needs a model"),
                            (["--agent", "nobody", "--goal", "g", "--gate", "x"], "no profile 'nobody'"),
                            (["--agent", "pi", "--goal", "g", "--gate", "x", "-C", "nowhere"], "-C: nowhere is not a folder")):
            with self.subTest(words):
                self.assertIn(words, self.pawl("run", *args, cwd="source", env=self.home, expect=2).stderr)
        self.assertFalse((self.root / "source/.pawl").exists())


if __name__ == "__main__":
    if "--update" in sys.argv:
        playing = Known()
        try:
            playing.setUp()
            GOLDENS.mkdir(exist_ok=True)
            for program, gets in playing.given_by_name().items():
                (GOLDENS / f"{program}.json").write_text(json.dumps(gets, indent=1) + "\n")
        finally:
            playing.doCleanups()
    else:
        unittest.main(verbosity=1)
