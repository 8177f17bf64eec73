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

from agent_programs import FAKE, PROGRAMS, WORKS, WithPrograms

GOLDENS = pathlib.Path(__file__).resolve().parents[1] / "golden/programs"
URL = "http://127.0.0.1:9/v1"


class Known(WithPrograms):
    maxDiff = None

    def given_by_name(self):
        for program in PROGRAMS.values():
            self.program(program)
        self.make(*(f'use: {name}, model: the-model, args: [--more, "a b"], base_url: "{URL}"' for name in PROGRAMS),
                  *(f"use: {name}, model: the-model, credentials: {{}}" for name in PROGRAMS), gate="true", top="")
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
        self.pawl("run", "plan.yaml", env=self.with_keys, expect=11)
        self.assertEqual([given["argv"][given["argv"].index("--model") + 1] for given in self.given()], ["small", "large"])
        self.make("use: claude_code, model: own", top="models: [small, large]")
        self.pawl("run", "plan.yaml", env=self.with_keys)
        self.assertEqual([given["argv"][-1] for given in self.given()], ["own"])
        self.assertEqual([attempt["model"] for attempt in self.pawl_json("inspect", "last")["phases"][0]["attempts"]], ["own"])
        self.make("use: claude_code")
        self.pawl("run", "plan.yaml", env=self.with_keys)
        self.assertNotIn("--model", self.given()[0]["argv"])

    def test_the_next_attempt_hears_of_the_judgement(self):
        self.program("claude")
        self.make("use: claude_code", gate="echo the colour is wrong; test $(cat work) = right", top="")
        self.pawl("run", "plan.yaml", env=self.with_keys, expect=11)
        first, second = (given["argv"][2] for given in self.given())
        self.assertEqual(first, 'the "goal" of $HOME `id`')
        self.assertTrue(second.startswith(first + "\n\nAn earlier attempt did not pass. "), second)
        self.assertIn("the colour is wrong", second)

    def test_no_goal_is_taken_for_an_option_or_a_command_of_the_program(self):
        self.program("claude")
        self.program("gemini")
        for goal in ("- Mend the colour.\n- Mend the shape.", "/fix the thing", "!important: mend it", "# The goal", "@file is wrong", " /mend it"):
            with self.subTest(goal):
                self.make("use: claude_code", "use: gemini_acp", gate="exit 1")
                text = (self.root / "plan.yaml").read_text().replace("  - phases:", "  - on_failure: continue\n    phases:")
                self.write("plan.yaml", text.replace("""'the "goal" of $HOME `id`'""", json.dumps(goal)))
                self.pawl("run", "plan.yaml", env=self.with_keys, expect=11)
                for prompts in ([given["argv"][2] for given in self.given("p1")], [given["prompt"] for given in self.given("p2")]):
                    first, second = prompts
                    self.assertEqual(first, "Your task:\n\n" + goal)
                    self.assertTrue(second.startswith(first + "\n\nAn earlier attempt did not pass. "), second)

    def test_a_program_that_no_step_finds_is_named(self):
        self.make("use: codex")
        (self.root / "tools").mkdir()
        self.write("home/.local/bin/codex", "#!/usr/bin/env own-node\n", 0o755)
        self.write("home/node/bin/own-node", FAKE, 0o755)
        self.write("home/node/lib/part", "")
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
        self.pawl("run", "plan.yaml", env=self.with_keys, expect=11)
        attempt = self.pawl_json("inspect", "last")["phases"][0]["attempts"][-1]
        agent, = (signal for signal in attempt["signals"] if signal["kind"] == "agent")
        self.assertEqual((agent["details"]["exit_code"], agent["details"]["means"]), (41, "the key is missing"))
        self.assertIn("the key is missing", self.pawl("inspect", "last").stdout)

    def test_a_run_keeps_the_profile_of_its_start(self):
        self.program("own-tool")
        self.make("use: own", gate="test -e work && test -e fine")
        self.pawl("run", "plan.yaml", env=self.with_keys, expect=11)
        self.profile("own", OWN.replace("--say", "--tell"))
        self.pawl("retry", "last", "p1")
        self.pawl("resume", "last", env=self.with_keys, expect=11)
        self.assertEqual({given["argv"][-2] for given in self.given()}, {"--say"})
        (self.root / "home/.config/pawl/agents/own.yaml").unlink()
        self.pawl("fork", "last", "--from", "p1", env=self.with_keys)
        self.pawl("resume", "last", env=self.with_keys, expect=11)
        self.assertEqual({given["argv"][-2] for given in self.given()}, {"--say"})
        self.assertIn("no profile 'own'", self.pawl("check", "plan.yaml", env=self.with_keys, expect=2).stderr)

    def test_it_takes_the_place_of_a_known_one(self):
        self.program("own-tool")
        self.profile("codex", OWN)
        self.make("use: codex")
        self.pawl("run", "plan.yaml", env=self.with_keys)
        self.assertEqual(self.given()[0]["argv"][0], "own-tool")

    def test_its_folder_can_be_elsewhere(self):
        self.program("own-tool")
        (self.root / "home/.config").rename(self.root / "config")
        self.make("use: own")
        self.pawl("check", "plan.yaml", env=self.with_keys, expect=2)
        self.pawl("check", "plan.yaml", env=self.with_keys | {"XDG_CONFIG_HOME": str(self.root / "config")})

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
        self.assertEqual((own["mounts"], own["login"]["is_set"], own["egress"]), (["~/.own/bin"], True, ["api.example.org:443"]))
        self.assertTrue(own["own_file"].endswith("/agents/own.yaml"))
        said = self.pawl("agents", env=self.home | {"PATH": path, "OWN_KEY": "another secret"}).stdout
        self.assertRegex(said, r"claude_code  3\.1\.4-beta \(its profile is for [0-9.]+\)  \S+/home/\.local/bin/claude\n  login: ANTHROPIC_API_KEY is not set, ~/\.claude/\.credentials\.json \(no step sees it\)\n"
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
        self.assertNotIn("no step finds", self.pawl("run", "plan.yaml", env=self.with_keys).stderr)

    def test_a_program_that_may_not_be_shown_or_has_no_version(self):
        self.write("home/bin/pi", "#!/bin/sh\nexit 1\n", 0o755)
        self.write("home/bin/.env", "SECRET=1\n")
        self.write("home/other/bin/qwen", "#!/bin/sh\nexit 1\n", 0o755)
        found = self.listed(PATH=f"{self.root}/home/other/bin:{os.environ['PATH']}")
        self.assertEqual((found["qwen"]["version"], found["qwen"]["can_be_used"]), ("", True))
        self.assertEqual((found["pi"]["mounts"], found["pi"]["can_be_used"]), (["~/bin/pi"], False), "not in PATH: it lies below /tmp, where steps write")
        said = self.pawl("agents", env=self.home).stdout
        self.assertRegex(said, r"not on this machine: .*codex \(codex\)")


EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples/agents"


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
                self.pawl("run", path.name, cwd="agents", env=self.with_keys)
                self.assertEqual(self.pawl_json("status", "last", cwd="agents")["phases"][0]["outcome"], "passed")


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
