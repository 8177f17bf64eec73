#!/usr/bin/env python3
"""The keys of agent programs with profiles: `agent: {use: NAME}` in a plan, and `pawl run --agent`, which makes one."""

import json
import unittest

import yaml
from agent_programs import KEYS, VALUE, WORKS, WithPrograms

# Shows which of these variables it has, and how long they are: a value is redacted in its log.
TELLS = r'''#!/usr/bin/python3
import os, pathlib
for name in ("ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN", "OPENAI_API_KEY", "OTHER_TOKEN", "OWN_KEY"):
    if os.environ.get(name):
        print("HAS", name, len(os.environ[name]))
pathlib.Path("work").write_text("done")
'''
OWN = """\
version: 1
run: [claude, "{args}", "{prompt}"]
key: OWN_KEY
login: [.own/login.json]
"""
NONE = "claude has no key: ANTHROPIC_API_KEY is not set"


class Keys(WithPrograms):
    """A plan that says no credentials."""

    def setUp(self):
        super().setUp()
        self.program("claude", TELLS)
        self.program("codex", TELLS)

    def has(self, phase="p1"):
        return [line.removeprefix("HAS ") for line in self.pawl("logs", "last", phase).stdout.splitlines() if line.startswith("HAS ")]

    def notes(self, env):
        return [note for note in self.pawl_json("check", "plan.yaml", env=env)["notes"] if "gets" in note]

    def test_the_first_key_that_is_set_is_the_agents(self):
        token = {"CLAUDE_CODE_OAUTH_TOKEN": VALUE + "-token"}
        for agent, env, has in (
                ("use: claude_code", KEYS | token, ["ANTHROPIC_API_KEY 16"]), ("use: claude_code", token, ["CLAUDE_CODE_OAUTH_TOKEN 22"]),
                ("use: claude_code, credentials: {OTHER_TOKEN: {env: OTHER}}", KEYS | {"OTHER": VALUE + "-other"}, ["ANTHROPIC_API_KEY 16", "OTHER_TOKEN 22"]),
                ("use: claude_code, credentials: {ANTHROPIC_API_KEY: {env: OTHER}}", KEYS | {"OTHER": VALUE + "-other"}, ["ANTHROPIC_API_KEY 22"]),
                ("use: claude_code, credentials: {CLAUDE_CODE_OAUTH_TOKEN: {env: OTHER}}", KEYS | {"OTHER": VALUE + "-other"}, ["CLAUDE_CODE_OAUTH_TOKEN 22"]),
                ("use: claude_code, credentials: {}", KEYS, []),
                ('use: claude_code, base_url: "http://127.0.0.1:9"', KEYS, ["ANTHROPIC_API_KEY 16"])):
            with self.subTest(agent):
                self.make(agent)
                env = self.home | env
                self.assertEqual(sorted(note.split()[6] for note in self.notes(env)), [each.split()[0] for each in has])
                said = self.pawl("run", "plan.yaml", env=env)
                self.assertEqual(self.has(), has)
                self.assertEqual("in place of" in said.stderr, has == ["CLAUDE_CODE_OAUTH_TOKEN 22"] and "credentials" not in agent)
                self.assertEqual([path for path in (self.root / "source/.pawl").rglob("*") if path.is_file() and VALUE.encode() in path.read_bytes()], [])
                self.pawl("verify", "last")

    def test_without_one_no_attempt_is_spent_and_check_says_where(self):
        self.write("home/.claude/.credentials.json", "{}")
        self.make("use: codex, credentials: {}", "use: claude_code", "use: codex")
        place = "plan.yaml:12:65: "
        said = self.pawl("check", "plan.yaml", env=self.home).stderr
        self.assertIn(f"{place}warning: phase p2: {NONE}, and no step sees the login in ~/.claude/.credentials.json; ", said)
        self.assertIn("phase p3: codex has no key: OPENAI_API_KEY is not set; `export OPENAI_API_KEY=...` sets it, and "
                      "`credentials: {OPENAI_API_KEY: {env: VARIABLE}}` takes it from another variable\n", said)
        self.assertNotIn("phase p1", said)
        said = self.pawl("run", "plan.yaml", env=self.home, expect=11).stderr
        self.assertIn(f"{place}error: phase p2: {NONE}", said)
        self.assertIn("`claude setup-token` makes a CLAUDE_CODE_OAUTH_TOKEN", said)
        self.assertFalse((self.root / "source/.pawl").exists())

    def test_a_server_or_a_profile_of_the_user_may_need_none(self):
        self.profile("own", OWN)
        self.make("use: own")
        self.pawl("run", "plan.yaml", env=self.home, expect=11)
        self.write("home/.own/login.json", "{}")
        self.assertIn("OWN_KEY is not set, and no step sees the login in ~/.own/login.json", self.pawl("run", "plan.yaml", env=self.home).stderr)
        self.make('use: claude_code, base_url: "http://127.0.0.1:9"')
        self.assertNotIn("no key", self.pawl("check", "plan.yaml", env=self.home).stderr)
        self.assertIn("ANTHROPIC_API_KEY is not set: the agent works without a key", self.pawl("run", "plan.yaml", env=self.home).stderr)

    def test_a_variable_of_the_plan_may_be_the_key(self):
        self.profile("own", OWN.replace("OWN_KEY", "OWN_SIGN"))
        for top in ("env: [OWN_SIGN]", "env: {set: {OWN_SIGN: none}}"):
            with self.subTest(top):
                self.make("use: own", top=top)
                self.assertNotIn("no key", self.pawl("check", "plan.yaml", env=self.home | {"OWN_SIGN": ""}).stderr)

    def test_the_run_keeps_its_key(self):
        """Also through a retry and a fork: another key that is set by then changes nothing."""
        token = {"CLAUDE_CODE_OAUTH_TOKEN": VALUE + "-token"}
        self.make("use: claude_code", gate="exit 1")
        self.pawl("run", "plan.yaml", env=self.home | token, expect=11)
        self.pawl("retry", "last", "p1")
        for again in ("retried", "forked"):
            with self.subTest(again):
                said = self.pawl("resume", "last", env=self.with_keys, expect=11)
                self.assertIn("credential CLAUDE_CODE_OAUTH_TOKEN of phase p1, from the environment variable CLAUDE_CODE_OAUTH_TOKEN", said.stdout + said.stderr)
                self.pawl("resume", "last", env=self.with_keys | token, expect=11)
                self.assertEqual(set(self.has()), {"CLAUDE_CODE_OAUTH_TOKEN 22"})
                self.pawl("verify", "last")
                self.pawl("fork", "last", "--from", "p1", env=self.home)

    def test_a_fork_with_another_plan_gets_its_keys(self):
        self.make("use: claude_code", "use: codex")
        text = (self.root / "plan.yaml").read_text()
        self.pawl("run", "plan.yaml", env=self.with_keys, expect=None)
        self.write("plan.yaml", text.replace("use: codex", "use: codex, args: [-x]"))
        only_codex = self.home | {"OPENAI_API_KEY": VALUE}
        self.pawl("fork", "last", "--from", "p2", "--plan", "plan.yaml", env=only_codex)
        said = self.pawl("fork", "last", "--from", "p2", "--plan", "plan.yaml", env=self.home, expect=11).stderr
        self.assertIn("phase p2: codex has no key", said)
        self.pawl("resume", "last", env=only_codex, expect=None)
        self.assertEqual(self.has("p2")[0], "OPENAI_API_KEY 16")


class WithClaude(WithPrograms):
    def setUp(self):
        super().setUp()
        self.home["ANTHROPIC_API_KEY"] = VALUE
        self.write("home/.local/bin/claude", WORKS, 0o755)
        self.write("source/test.sh", "grep -q 'hello, world' greeting\n")
        self.write("source/greeting", "x\n")
        self.commit_all("source")

    def made(self, *args, cwd="source", expect=0, gate="sh test.sh", goal="Greet \"it\" – 'so'\n# now", agent="claude_code"):
        return self.pawl("run", "--agent", agent, "--goal", goal, "--gate", gate, *args, cwd=cwd, env=self.home, expect=expect)

    def plan(self):
        path, = (self.root / "source/.pawl/plans").glob("*/plan.yaml")
        return yaml.safe_load(path.read_text())


class Made(WithClaude):
    """`pawl run --agent`: no plan is needed."""

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

    def credentials(self, state):
        plan, = (self.root / state).glob("plans/*/plan.yaml")
        return yaml.safe_load(plan.read_text())["tiers"][0]["phases"][0]["agent"].get("credentials")

    def test_a_credential_comes_beside_the_key(self):
        tells = "#!/bin/sh\n" + 'echo "hello, world" >greeting; for n in ANTHROPIC_API_KEY OTHER_TOKEN; do eval "v=\\${$n:-}"; echo "$n ${#v}"; done\n'
        self.write("home/.local/bin/claude", tells, 0o755)
        self.home |= {"OTHER_TOKEN": VALUE + "-2", "MY_KEY": VALUE + "-of-mine"}
        for state, args, named, sizes in (
                ("alone", [], None, "ANTHROPIC_API_KEY 16\nOTHER_TOKEN 0\n"),
                ("beside", ["--credential", "OTHER_TOKEN"], {"OTHER_TOKEN": "OTHER_TOKEN"}, "ANTHROPIC_API_KEY 16\nOTHER_TOKEN 18\n"),
                ("renamed", ["--credential", "ANTHROPIC_API_KEY=MY_KEY"], {"ANTHROPIC_API_KEY": "MY_KEY"}, "ANTHROPIC_API_KEY 24\nOTHER_TOKEN 0\n"),
                ("both", ["--credential", "OTHER_TOKEN", "--credential", "ANTHROPIC_API_KEY"],
                 {"ANTHROPIC_API_KEY": "ANTHROPIC_API_KEY", "OTHER_TOKEN": "OTHER_TOKEN"}, "ANTHROPIC_API_KEY 16\nOTHER_TOKEN 18\n")):
            with self.subTest(state):
                self.made("--dir", self.root / state, *args)
                self.assertEqual(self.credentials(state), named and {name: {"env": variable} for name, variable in named.items()})
                self.assertIn(sizes, self.pawl("logs", "last", "work", "--dir", self.root / state).stdout)

    def test_without_a_key_no_attempt_is_spent(self):
        login = self.write("home/.claude/.credentials.json", "{}")
        for value, credentials, words in (("", [], "is not set, and no step sees the login in ~/.claude/.credentials.json; "),
                                          ("", ["--credential", "OTHER_TOKEN"], "is not set; "), ("short", [], "has less than 8 bytes; ")):
            with self.subTest(words):
                self.home |= {"ANTHROPIC_API_KEY": value, "OTHER_TOKEN": VALUE}
                said = self.made(*credentials, expect=11).stderr
                self.assertIn("--agent claude_code: claude has no key: ANTHROPIC_API_KEY " + words, said)
                self.assertIn("`export ANTHROPIC_API_KEY=...` sets it, `claude setup-token` makes a CLAUDE_CODE_OAUTH_TOKEN to export", said)
                self.assertIn("`--credential ANTHROPIC_API_KEY=VARIABLE` takes it from another variable", said)
                self.assertFalse((self.root / "source/.pawl").exists())
                login.unlink(missing_ok=True)

    def test_a_token_of_a_subscription_is_a_key_too(self):
        self.home |= {"ANTHROPIC_API_KEY": "", "CLAUDE_CODE_OAUTH_TOKEN": "sk-ant-oat01-of-a-person"}
        said = self.made("--dir", self.root / "state").stderr
        self.assertEqual(said.count("the agent gets CLAUDE_CODE_OAUTH_TOKEN in place of ANTHROPIC_API_KEY"), 1)
        said = json.loads(self.pawl("agents", "--json", env=self.home).stdout)
        login, = [program["login"] for program in said["agents"] if program["name"] == "claude_code"]
        self.assertEqual((login["variable"], login["is_set"]), ("CLAUDE_CODE_OAUTH_TOKEN", True))

    def test_a_server_may_need_no_key(self):
        self.home["ANTHROPIC_API_KEY"] = ""
        said = self.made("--base-url", "http://127.0.0.1:9").stderr
        self.assertIn("ANTHROPIC_API_KEY is not set: the agent works without a key", said)

    def test_it_says_that_nothing_is_protected(self):
        self.assertIn("work that deletes or weakens a test passes", self.made().stderr)

    def test_the_state_can_lie_elsewhere(self):
        self.made("--dir", self.root / "state")
        self.assertEqual(len(list((self.root / "state/plans").glob("*/plan.yaml"))), 1)
        self.assertFalse((self.root / "source/.pawl").exists())

    def test_what_cannot_be_is_said_and_leaves_nothing(self):
        (self.root / "home/.local/bin/claude").unlink()
        self.assertIn("--agent claude_code: claude is not on this machine", self.made(expect=11).stderr)
        for args, words in (([], "name a plan's file, or an agent"), (["--agent", "claude_code", "--goal", "g"], "needs --goal TEXT and --gate CMD"),
                            (["plan.yaml", "--goal", "g"], "need --agent"), (["plan.yaml", "--agent", "pi"], "not both"),
                            (["--agent", "pi", "--goal", "g", "--gate", "x"], "--agent pi needs a model: add `--model NAME`"),
                            (["--agent", "nobody", "--goal", "g", "--gate", "x"], "no profile 'nobody'"),
                            (["--agent", "pi", "--goal", "g", "--gate", "x", "-C", "nowhere"], "-C: nowhere is not a folder")):
            with self.subTest(words):
                self.assertIn(words, self.pawl("run", *args, cwd="source", env=self.home, expect=2).stderr)
        self.assertFalse((self.root / "source/.pawl").exists())


class Refused(WithClaude):
    """Options that a person got wrong, as `pawl run --agent` judges them before a plan is written."""

    def refused(self, *args, expect=2, **made):
        """What is said. No state is left."""
        done = self.made(*args, expect=expect, **made)
        self.assertEqual(done.stdout, "")
        self.assertFalse((self.root / "source/.pawl").exists(), done.stderr)
        for word in ("the plan", "beside", "/plan", "workflow", "base_url", "operator-ack"):
            self.assertNotIn(word, done.stderr, "the user wrote no plan")
        return done.stderr

    def test_a_secret_in_the_place_of_a_variable_is_kept_nowhere(self):
        """The first words of a message say the option, the last ones what to do."""
        self.home |= {"GH": VALUE + "-of-gh", "EMPTY": "", "SECRETINCAPITALS1": "", "CAPITALS": "JBSWY3DPEHPK3PXP"}
        token, key, capitals, any_word = "ghp_" + "AbC1" * 9, "sk-ant-api03-" + "Zk3r-" * 18 + "AA", "SECRETINCAPITALS1", "hunter2hunter2"
        for option, code, words in (
                *((f"GITHUB_TOKEN={secret}", code, "--credential GITHUB_TOKEN=...: ") for secret, code in
                  ((token, 2), (capitals, 11), (any_word, 11), (key, 2), (f"{any_word}=", 2), (f"GH={any_word}", 2), (f"{any_word} {any_word}", 2), ("\udce9" + any_word, 2))),
                *((secret, code, "--credential: ") for secret, code in ((token, 2), (capitals, 11), (any_word, 11), (key, 2))),
                *((f"{secret}=GH", 2, "--credential: ") for secret in (token, key, VALUE + "-of-gh")),
                ("JBSWY3DPEHPK3PXP=CAPITALS", 2, "--credential: "),
                *((f"{secret}=ABSENT", code, "--credential: ") for secret, code in ((token, 2), (any_word, 11), (key, 2))),
                (f"={any_word}", 2, "--credential: expected NAME or NAME=VARIABLE"), (f"{any_word}=", 2, "--credential: expected NAME or NAME=VARIABLE"),
                ("GITHUB_TOKEN=EMPTY", 11, "--credential GITHUB_TOKEN=...: ")):
            with self.subTest(option):
                said = self.refused("--credential", option, expect=code)
                self.assertTrue(said.startswith(f"pawl: {words}"), said)
                files = "".join(path.read_text(errors="replace") for path in self.root.rglob("*") if path.is_file())
                for secret in (token, key, capitals, any_word, "JBSWY3DPEHPK3PXP"):
                    self.assertNotIn(secret, said + files)
                if "expected" not in words:
                    self.assertIn("`export VARIABLE=...`, then `--credential ", said)
        said = self.refused("--credential", "GH", "--credential", any_word, expect=11)
        self.assertTrue(said.startswith("pawl: --credential, number 2 of 2: "), said)

    def test_a_variable_whose_value_is_no_secret_leaves_no_run(self):
        self.home["OTHER_TOKEN"] = "short"
        said = self.refused("--credential", "OTHER_TOKEN", expect=11)
        self.assertIn("--agent claude_code: credential OTHER_TOKEN", said)
        self.assertIn("fewer than 8 bytes", said)
        self.assertIn("; `export` another value\n", said)

    def test_a_secret_in_the_place_of_another_word_is_not_said(self):
        token = "ghp_" + "AbC1" * 9
        for args in (["--credential", "A", token, "--credential", "B", token], ["--credentials", f"A={token}"], ["--base-url", f"https://me:{token}@example.org"],
                     ["--base-url", f"https://example.org/?key={token}"], ["--model", f"m {token}"]):
            with self.subTest(args):
                self.assertNotIn(token, self.made(*args, expect=2).stderr)

    def test_a_credential_has_one_source(self):
        self.home |= {"GH": VALUE + "-1", "OTHER": VALUE + "-2"}
        for second in ("GH", "GH=OTHER"):
            said = self.refused("--credential", "GH", "--credential", second)
            self.assertIn("--credential GH is there twice: leave one out", said)

    def test_a_text_that_says_nothing_or_is_no_text(self):
        for name, args, words in (("--goal", {"goal": " \t\n"}, "is blank: say what the agent shall do"),
                                  ("--gate", {"gate": " "}, "runs no command: name one that fails when the work is wrong, like \"npm test\""),
                                  ("--gate", {"gate": "\n # npm test\n\t#\n"}, "runs no command: ")):
            with self.subTest(args):
                self.assertIn(f"pawl: {name} {words}", self.refused(**args))
        for name in ("--goal", "--gate", "--model", "--base-url", "--agent", "-C"):
            with self.subTest(name):
                args = {name.strip("-"): "caf\udce9"} if name in ("--goal", "--gate", "--agent") else {}
                self.assertIn(f"pawl: {name}: is not UTF-8", self.refused(*([] if args else [name, "caf\udce9"]), **args))

    def test_a_message_names_the_option(self):
        for args, made, words in (
                ([], {"agent": "../x"}, "--agent: '../x' must be letters, digits, '.', '_' or '-', at most 64; `pawl agents` lists the programs"),
                ([], {"goal": "g" * 100_001}, "--goal: 100001 bytes; at most 100000: put the text into a file of the source, and name the file in the goal"),
                ([], {"gate": "true " * 26_001}, "--gate: 130005 bytes; at most 130000: put the commands into a script of the source, and name the script"),
                (["--model", "a b"], {}, "--model: 'a b' "), (["--base-url", "x"], {}, "--base-url: 'x': expected http://HOST"),
                (["--credential", "PATH"], {}, "--credential: 'PATH' is Pawl's own"),
                (["--max-attempts", "10"], {}, "--max-attempts 10 is above the 5 of --attempts: use `--attempts 10`"),
                (["--max-attempts", "4", "--attempts", "3"], {}, "--max-attempts 4 is above the 3 of --attempts: use `--attempts 4`"),
                (["--reason", "why not"], {}, "--reason needs --max-attempts")):
            with self.subTest(words):
                self.assertTrue(self.refused(*args, **made).startswith(f"pawl: {words}"), words)
        self.made("--dir", self.root / "state", "--max-attempts", "10", "--operator-ack")
        self.made("--dir", self.root / "fits", goal="g" * 100_000, gate="sh test.sh" + " " * 129_990)


class Why(WithClaude):
    """`pawl why` of a run whose credential is missing."""

    def why(self):
        why = self.pawl_json("why", "last", cwd="source", env=self.home)
        self.assertIn(f"\n  {why['command']}\n", self.pawl("why", "last", cwd="source", env=self.home).stdout)
        return why

    def test_it_names_the_credential_and_what_helps(self):
        """Whatever phase needs it: `pawl resume` reads the credentials of all that are open."""
        self.program("claude", WORKS)
        key = "use: claude_code, credentials: {ANTHROPIC_API_KEY: {env: ANTHROPIC_API_KEY}%s}"
        for first, second in (("env: GH", ""), ("", "env: GH"), ("", "file: ~/token"), ("", "command: [no-such-program]")):
            with self.subTest((first, second)):
                self.make(*(key % (source and ", GH: {%s}" % source) for source in (first, second)))
                self.home["GH"] = ""
                said = self.pawl("run", "plan.yaml", env=self.home, expect=11).stderr
                self.assertIn("No attempt was spent", said)
                why, variable = self.why(), "env: GH" in (first, second)
                self.assertEqual((why["waits_for"], why["phase_id"]), ("person", "p1" if first else "p2"))
                self.assertIn(f"credential GH of phase {why['phase_id']}, from ", why["sentence"])
                self.assertEqual(why["command"], ("export GH=... && " if variable else "") + f"pawl resume {why['run_id']}")
                if not variable:
                    continue
                self.home["GH"] = "short"
                self.assertIn("fewer than 8 bytes", self.why()["sentence"])
                self.home["GH"] = VALUE
                self.assertEqual(self.why()["waits_for"], "executor")

    def test_a_credential_that_no_open_phase_needs_is_not_missed(self):
        self.program("claude", WORKS)
        self.home["GH"] = VALUE + "-of-gh"
        self.make("use: claude_code, credentials: {ANTHROPIC_API_KEY: {env: ANTHROPIC_API_KEY}, GH: {env: GH}}", "run: exit 1", gate="test -e greeting")
        self.pawl("run", "plan.yaml", env=self.home, expect=11)
        self.pawl("retry", "last", "p2", cwd="source")
        self.home["GH"] = ""
        self.assertEqual(self.why()["waits_for"], "executor")


if __name__ == "__main__":
    unittest.main(verbosity=1)
