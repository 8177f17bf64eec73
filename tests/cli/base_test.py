#!/usr/bin/env python3
"""Gates run on base before an agent is paid: what stops a run there, what does not, and that no step is
paid twice."""

import re
import sqlite3
import subprocess
import unittest

from pawl_runs import WithRun

PLAN = """\
version: 1
workflow: base
source: {{path: source}}
max_attempts: 2
gates:
  check: {{steps: [{steps}], {more}}}
tiers:
  - phases: [{{id: p, goal: g, agent: {{run: "{agent}"}}, gates: [check]}}]
"""


class Base(WithRun):
    def make(self, steps, agent="echo >>file", more="signals: [build]"):
        self.write("source/file", "x\n")
        self.write("plan.yaml", PLAN.format(steps=steps, agent=agent, more=more))

    def ran(self):
        attempts = self.pawl_json("inspect", "last")["phases"][0]["attempts"]
        return [step["label"].removeprefix("p.") for attempt in attempts for step in attempt["steps"]]

    def stops(self, steps, *words, more="signals: [build]"):
        self.make(steps, more=more)
        said = self.pawl("run", "plan.yaml", expect=11).stdout
        for word in ("gate check, step unit", *words):
            self.assertIn(word, said)
        self.assertEqual([name for name in self.ran() if name.startswith("agent.")], [], "no agent is paid")
        self.assertIn(words[0], self.pawl("why", "last").stdout)
        self.assertIn("\n  pawl retry ", self.pawl("status", "last").stdout)
        self.assertNotIn("approve", self.pawl("status", "last").stdout)
        self.assertIn("no agent was started in p.1: there is no work to take; `pawl retry`", self.pawl("approve", "last", "p", expect=1).stderr)

    def test_a_program_that_is_not_there_stops_the_run_with_the_remedy(self):
        for run in ('"no-such-tox -q"', "[no-such-tox, -q]", '"true\\nno-such-tox"', '"timeout 5 no-such-tox"', '"env no-such-tox"',
                    '"sh -c no-such-tox"', '"bash -c no-such-tox"'):
            with self.subTest(run):
                self.stops(f"{{name: unit, run: {run}}}", "`no-such-tox` is not in the sandbox", "install it", "baseline: none")
        self.write("source/check", "#!/no/such/interpreter\n", 0o755)
        self.stops('{name: unit, run: "./check"}', "(127)")
        self.write("source/plain", "true\n")
        self.stops('{name: unit, run: "./plain"}', "`./plain` can't be executed")

    def test_a_report_that_is_not_where_the_plan_says_stops_the_run(self):
        good = "echo '<testsuite><testcase name=\\\"a\\\"/></testsuite>' >out.xml"
        for more in ("signals: [build]", "signals: [tests]"):
            self.stops(f'{{name: unit, run: "{good}", reports: {{junit: ["build/*.xml"]}}}}', "wrote no report of tests", more=more)

    def test_what_is_missing_behind_another_code_stops_the_run_too(self):
        self.write("source/Makefile", "test:\n\tno-such-tox -q\nall:\n\t$(MAKE) test\nuse:\n\t./made\n")
        for run, missing in (("make test", "no-such-tox"), ("make all", "no-such-tox"), ("python3 -m nose2", "python3 -m nose2"),
                             ("python3 /plan/typo.py", "/plan/typo.py"), ("sh -c 'cat /plan/typo.txt'", "/plan/typo.txt"),
                             ("sh /plan/typo.sh", "/plan/typo.sh"), ("git no-such-tool", "git no-such-tool"), ("no-such-tox || exit 1", "no-such-tox"),
                             ("no-such-tox > log 2>&1 || { cat log; exit 1; }", "no-such-tox")):
            with self.subTest(run):
                self.stops(f'{{name: unit, run: "{run}"}}', f"`{missing}` is not in the sandbox", "baseline: none")
        for run in ("make use", "python3 -m made", "echo /plan/typo.py; test -e made", "sh made", "./made || exit 1", "no-such-tox || ./made || exit 1"):
            with self.subTest(run):
                self.make(f'{{name: unit, run: "{run}"}}', "echo '#!/bin/sh' >made; chmod 755 made; echo >made.py")
                self.pawl("run", "plan.yaml")

    def test_a_script_in_a_file_that_can_hide_a_failure_is_told_at_check(self):
        self.write("one.sh", "true\n")
        self.write("two.sh", "sh test.sh\nsh lint.sh\n")
        self.write("strict.sh", "set -e\nsh test.sh\nsh lint.sh\n")
        self.write("source/ci.sh", "sh test.sh | tee log\n")
        self.write("folder.sh", "set -eu\nDIR=$(cd x && pwd)\nsh $DIR/test.sh\n")
        self.write("code.sh", "sh test.sh; rc=$?\nsh clean.sh\nexit $rc\n")
        for run, told in (("sh /plan/two.sh", "/plan/two.sh"), ("cd x && bash -u /plan/two.sh", "/plan/two.sh"), ("sh ci.sh", "ci.sh"),
                          ("bash /plan/folder.sh", ""), ("sh /plan/code.sh", ""), ("cd sub && sh ci.sh", ""), ("sh /plan/one.sh", ""), ("sh -e /plan/two.sh", ""), ("sh /plan/strict.sh", ""), ("cat /plan/two.sh", "")):
            with self.subTest(run):
                self.make(f'{{name: unit, run: "{run}"}}')
                said = self.pawl("check", "plan.yaml").stderr
                self.assertEqual(f"step unit: {told} can pass although a command failed" in said, bool(told), said)

    def test_a_gate_on_the_whole_folder_of_the_plan_is_told_at_check(self):
        self.write("test_held_back.py", "")
        for run, told in (("pytest /plan", True), ("cd /plan; pytest test_*.py", True), ("cp -r /plan/. /tmp/g", True),
                          ("pytest /plan/test_held_back.py", False), ("ls /planned my/plan", False)):
            with self.subTest(run):
                self.make(f'{{name: unit, run: "{run}"}}')
                said = self.pawl("check", "plan.yaml").stderr
                self.assertEqual("step unit runs on the whole folder /plan, whose files agents see" in said, told, said)

    def test_what_is_missing_behind_a_red_step_stops_at_the_first_attempt_that_reaches_it(self):
        red = '{name: unit, run: "test -e made"}, '
        for lint in ('"no-such-ruff check"', '"no-such-ruff || exit 1"'):
            with self.subTest(lint):
                self.make(red + f"{{name: lint, run: {lint}}}", "touch made", "")
                said = self.pawl("run", "plan.yaml", expect=11).stdout
                self.assertIn("gate check, step lint: `no-such-ruff` is not in the sandbox (", said)
                self.assertNotIn("baseline: none", said)
                self.assertEqual([name for name in self.ran() if name.startswith("agent.")], ["agent.run.attempt1"])
                self.pawl("verify", "last")
        with self.subTest("a step that installs it"):
            self.write("source/install.sh", "test -e made || exit 1\nif [ -e tool ]; then mkdir -p .deps; cp tool .deps/no-such-ruff; fi\n")
            self.write("source/Makefile", "lint:\n\tPATH=$$PWD/.deps:$$PATH no-such-ruff\n")
            self.make('{name: install, run: "sh install.sh"}, {name: lint, run: "make lint"}',
                      "touch made; [ $PAWL_ATTEMPT = 1 ] || { echo '#!/bin/sh' >tool; chmod 755 tool; }", "")
            self.pawl("run", "plan.yaml")
        for lint, agent in (("./lint", "touch made; [ $PAWL_ATTEMPT = 1 ] || { echo true >lint; chmod 755 lint; }"),
                            ("test -e more", "touch made; [ $PAWL_ATTEMPT = 1 ] || touch more")):
            with self.subTest(lint):
                self.make(red + f'{{name: lint, run: "{lint}"}}', agent, "")
                self.pawl("run", "plan.yaml")
                self.assertEqual([name for name in self.ran() if name.startswith("agent.")], ["agent.run.attempt1", "agent.run.attempt2"])

    def test_a_file_of_the_plan_that_is_not_there_is_told_at_check(self):
        self.write("run.sh", "true\n")
        for run, told in (("sh /plan/run.sh", ""), ("sh /plan/typo.sh", "/plan/typo.sh"), ("cat /plan/run.sh '/plan/sub/a b'", "/plan/sub/a"),
                          ("cat /plan/*.txt /plan/$x /plan/", ""), ("cat my/plan/x", "")):
            with self.subTest(run):
                self.make(f'{{name: unit, run: "{run}"}}')
                said = self.pawl("check", "plan.yaml").stderr
                self.assertEqual(f"step unit names {told}, which is not beside the plan" in said, bool(told), said)
                self.assertEqual("not beside the plan" in said, bool(told), said)

    def test_a_runner_that_ends_at_a_failure_is_told_at_check(self):
        unit = "{{name: unit, run: {}, reports: {{junit: [out.xml]}}}}"
        told = " stops the runner of step unit at the first failure"
        self.write("source/package.json", '{"scripts": {"test": "mocha --bail"}}')
        self.write("source/sub/pytest.ini", "[pytest]\naddopts = -x\n")
        for run, option in (("pytest -vx", "`-x`"), ("npm test", "`--bail` in package.json"), ("cd sub && pytest", "`-x` in sub/pytest.ini"),
                            ("pytest", ""), ("make", "")):
            with self.subTest(run):
                self.make(unit.format(f'"{run}"'), more="signals: [tests]")
                said = self.pawl("check", "plan.yaml").stderr
                self.assertEqual(option + told in said, bool(option), said)
                self.assertEqual(told in said, bool(option), said)
        self.make("{name: unit, run: npm test}")
        self.assertNotIn(told, self.pawl("check", "plan.yaml").stderr, "exit codes alone have no tests")

    def test_a_file_that_decides_what_a_gate_runs_is_told_at_check(self):
        self.write("source/Makefile", "include mk/more.mk\ntest:\n\ttrue\nunit:\n\t@prove -l t\n")
        for path in ("mk/more.mk", "CMakeLists.txt", "sub/Cargo.toml", "pytest.ini", "tests/conftest.py", "setup.cfg", "jest.config.js", "sub/.cargo/config.toml",
                     "vite.config.ts", ".proverc"):
            self.write(f"source/{path}", "# x\n")
        self.write("source/package.json", '{"scripts": {"test": "jest --ci", "unit": "vitest run"}}')
        self.write("source/tox.ini", "[pytest]\n")
        for run, files in (("make test", ["Makefile", "mk/more.mk"]), ("npm test", ["package.json", "jest.config.js"]), ("cmake . && ctest", ["CMakeLists.txt"]),
                           ("npm run unit", ["package.json", "vite.config.ts"]), ("make unit", ["Makefile", "mk/more.mk", ".proverc"]),
                           ("pytest -q", ["tests/conftest.py", "pytest.ini", "tox.ini"]), ("python3 -m pytest", ["tests/conftest.py", "pytest.ini", "tox.ini"]),
                           ("cd sub && cargo test", ["sub/Cargo.toml", "sub/.cargo/config.toml"]), ("sh check.sh", [])):
            for more in ("signals: [build]", 'protect_existing: ["**"]'):
                with self.subTest(run + more):
                    self.make(f'{{name: unit, run: "{run}"}}', more=more)
                    said = self.pawl("check", "plan.yaml").stderr
                    told = re.findall(r"agents may change (\S+), and its changes decide what `\w+` runs in the gate: add `protect_existing: ", said)
                    self.assertEqual(told, files if "signals" in more else [], said)

    def test_a_setting_is_read_in_the_commit_that_the_run_takes(self):
        self.make("{name: unit, run: pytest, reports: {junit: [out.xml]}}", more="signals: [tests]")
        self.write("source/pytest.ini", "[pytest]\naddopts = -x\n")
        git = ["git", "-C", str(self.root / "source"), "-c", "user.name=a", "-c", "user.email=a@b"]
        for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "base"]):
            subprocess.run([*git, *command], check=True)
        (self.root / "source/pytest.ini").unlink()
        plan = (self.root / "plan.yaml").read_text()
        for source, is_told in (("{path: source, ref: HEAD}", True), ("{path: source}", False)):
            self.write("plan.yaml", plan.replace("{path: source}", source))
            said = self.pawl("check", "plan.yaml").stderr
            self.assertEqual("`-x` in pytest.ini stops the runner" in said, is_told, said)

    def test_a_file_that_the_phase_makes_is_no_reason_to_stop(self):
        for run in ('"./made"', "[./made]", '"tools/made"', '"sh -c ./made"', '"cd tools && ./made"', '"/workspace/made"'):
            with self.subTest(run):
                self.make(f"{{name: unit, run: {run}}}", "mkdir tools; echo true >made; chmod 755 made; cp made tools/")
                self.pawl("run", "plan.yaml")
                self.assertEqual(self.ran(), ["check.unit@base.attempt1", "agent.run.attempt1", "check.unit.attempt1"])

    IGNORED = ".venv/\n/out/\n"

    def test_a_program_that_no_work_can_bring_stops_the_run(self):
        """Files that the source ignores, that are installed, or that tools store for themselves never
        reach a gate."""
        self.write("source/.gitignore", self.IGNORED)
        self.write("source/web/file", "x\n")
        for run in ('"node_modules/.bin/jest --ci"', "[node_modules/.bin/jest, --ci]", '".venv/bin/pytest -q"', '"/workspace/.venv/bin/pytest"',
                    '"cd web && node_modules/.bin/jest"', '"timeout 5 ./out/check"',
                    '".tox/py/bin/pytest"', '"export CI=1; sh -c out/check"'):
            with self.subTest(run):
                self.stops(f"{{name: unit, run: {run}}}", "is not in the sandbox (127), and an agent can't add it", "ignored: keep")
        self.make('{name: unit, run: "out/check"}', "mkdir out; echo true >out/check; chmod 755 out/check")
        self.write("plan.yaml", "ignored: keep\n" + (self.root / "plan.yaml").read_text())
        self.pawl("run", "plan.yaml")

    def test_a_program_that_the_work_may_put_in_path_is_no_reason_to_stop(self):
        """The gate itself has a folder of the workspace in PATH, or installs the work before."""
        greet = "mkdir -p bin; echo '#!/bin/sh' >bin/greet; echo 'echo hello' >>bin/greet; chmod 755 bin/greet; touch wanted"
        self.write("source/env.sh", "PATH=$PWD/bin:$PATH\n")
        self.write("source/install.sh", "[ ! -e wanted ] || { mkdir -p /tmp/b; cp bin/greet /tmp/b/; }\n")
        for run in ('"PATH=$PWD/bin:$PATH greet"', '"export PATH=bin:$PATH\ngreet"', '[env, "PATH=/workspace/bin:/usr/bin:/bin", greet]',
                    '"PATH=$PWD/bin:$PATH greet | grep hello"', '". ./env.sh && greet"', '"sh install.sh && PATH=/tmp/b:$PATH greet"'):
            with self.subTest(run):
                self.make(f"{{name: unit, run: {run}}}", greet)
                self.write("plan.yaml", "allow_shadowing: [bin]\n" + (self.root / "plan.yaml").read_text())
                self.pawl("run", "plan.yaml")
                self.assertEqual(self.ran(), ["check.unit@base.attempt1", "agent.run.attempt1", "check.unit.attempt1"])

    def test_a_program_that_is_nowhere_stops_the_run_whatever_else_the_script_has(self):
        self.write("source/.gitignore", "/out/\n")
        for run in ('"PYTHONPATH=src no-such-tox"', '"PATH=/opt/x/bin:$PATH no-such-tox"', '"cd . || exit 1; no-such-tox"',
                    '"true install; no-such-tox"'):
            with self.subTest(run):
                self.stops(f"{{name: unit, run: {run}}}", "`no-such-tox` is not in the sandbox", "install it on this host")
        self.stops('{name: unit, run: "PATH=out/bin:$PATH no-such-tox"}', "is not in the sandbox (127), and an agent can't add it")

    def test_a_program_that_the_gate_makes_of_the_work_is_no_reason_to_stop(self):
        self.write("source/.gitignore", self.IGNORED)
        self.write("source/install.sh", "[ ! -e wanted ] || { mkdir -p out; echo true >out/check; chmod 755 out/check; }\n")
        for steps in ('{name: unit, run: "sh install.sh && out/check"}', '{name: unit, run: "sh install.sh\nout/check"}',
                      '{name: install, run: "sh install.sh"}, {name: unit, run: "out/check"}',
                      '{name: unit, run: "[ -x out/check ] || sh install.sh; out/check"}', '{name: unit, run: "sh made.sh"}'):
            with self.subTest(steps):
                self.write("source/made.sh", "sh install.sh\nout/check\n")
                self.make(steps, "touch wanted")
                self.pawl("run", "plan.yaml")
                self.assertIn("agent.run.attempt1", self.ran())

    def test_what_an_earlier_step_would_have_made_is_not_missed(self):
        self.make('{name: make, run: "test -e made"}, {name: unit, run: "no-such-program || test -e made"}', "touch made")
        self.write("plan.yaml", (self.root / "plan.yaml").read_text().replace("no-such-program || ", "command -v no-such || "))
        self.pawl("run", "plan.yaml")

    def test_the_same_content_runs_once(self):
        self.make('{name: unit, run: "test -e made"}', "touch made")
        said = self.pawl("run", "plan.yaml").stdout
        self.assertIn("gate check is red on base", said)
        self.pawl("run", "plan.yaml")
        self.assertEqual(self.ran(), ["agent.run.attempt1", "check.unit.attempt1"], "another run of the same content")
        self.write("source/file", "another\n")
        self.pawl("run", "plan.yaml")
        self.assertEqual(self.ran()[0], "check.unit@base.attempt1", "another content")
        self.make('{name: unit, run: "test -e made", memory_limit_mib: 512}', "touch made")
        self.pawl("run", "plan.yaml")
        self.assertEqual(self.ran()[0], "check.unit@base.attempt1", "another step")

    def test_another_script_of_the_plan_is_another_gate(self):
        self.make('{name: unit, run: "sh /plan/check.sh"}', "touch made")
        for script in ("test -e made", "test -e made || test -e other"):
            self.write("check.sh", script + "\n")
            self.pawl("run", "plan.yaml")
            self.assertEqual(self.ran()[0], "check.unit@base.attempt1", script)

    def test_a_base_that_is_green_is_told(self):
        self.make('{name: unit, run: "true"}')
        self.assertIn("gate check is green on base: it does not tell whether the work is done", self.pawl("run", "plan.yaml").stdout)
        signals = self.pawl_json("inspect", "last")["phases"][0]["attempts"][0]["signals"]
        self.assertEqual([s["details"] for s in signals if s["kind"] == "base"], [{"green": True}])

    def test_what_stopped_is_looked_for_again(self):
        """The sandbox of the host has the program meanwhile: here the plan's folder stands for the host."""
        self.make('{name: unit, run: "PATH=/plan:$PATH tool"}')
        self.pawl("run", "plan.yaml", expect=11)
        run = self.run_id()
        self.pawl("retry", run, "p", "--reason", "installed")
        self.pawl("resume", run, expect=11)
        self.assertEqual(self.ran(), ["check.unit@base.attempt1", "check.unit@base.attempt2"], "it is not kept")

    def test_baseline_none_is_the_way_out(self):
        self.make('{name: unit, run: "PATH=tools:$PATH tool"}', "mkdir tools; echo true >tools/tool; chmod 755 tools/tool",
                  "signals: [build]")
        self.pawl("run", "plan.yaml", expect=11)
        self.make('{name: unit, run: "PATH=tools:$PATH tool"}', "mkdir tools; echo true >tools/tool; chmod 755 tools/tool",
                  "signals: [build], baseline: none")
        self.write("plan.yaml", "allow_shadowing: [tools/tool]\n" + (self.root / "plan.yaml").read_text())
        self.pawl("run", "plan.yaml")
        self.assertEqual(self.ran(), ["agent.run.attempt1", "check.unit.attempt1"])

    def test_tests_that_fail_on_base_are_told_to_the_next_agent(self):
        self.make('{name: unit, run: "sh run.sh", reports: {junit: [out.xml]}}', "[ -z $PAWL_FEEDBACK ] || cp $PAWL_FEEDBACK .",
                  "signals: [tests]")
        self.write("source/run.sh", "echo '<testsuite><testcase name=\"a\"/><testcase name=\"b\"><failure/></testcase></testsuite>' "
                   ">out.xml; exit 1\n")
        said = self.pawl("run", "plan.yaml", expect=11).stdout
        self.assertIn("gate check is red on base: there fail b", said)
        self.assertIn("on base fail, too: b", said)
        attempts = self.pawl_json("inspect", "last")["phases"][0]["attempts"]
        self.assertIn("failing_on_base_names: b", attempts[0]["feedback"]["summary"])

    def test_of_several_episodes_one_runs_on_base(self):
        self.make('{name: unit, run: "test -e made"}', "touch made")
        self.write("plan.yaml", (self.root / "plan.yaml").read_text().replace("gates: [check]}]", "gates: [check], best_of: 3}]"))
        self.pawl("run", "plan.yaml", "--workers", "3")
        ran = self.ran()
        self.assertEqual(ran[0], "check.unit@base.attempt1.episode1")
        self.assertEqual(sum("@base" in name for name in ran), 1)

    # One test has the time in its name, one a random word, and two have fixed names.
    MOVING = """\
word=$(tr -dc a-z </dev/urandom | head -c 9)
{ echo '<testsuite><testcase classname="t" name="adds"/>'
  [ -e .without ] || echo "<testcase classname='t' name='at $(date +%s%N)'/>"
  echo "<testcase classname='t' name='user[$word]'/>"
  [ -e made ] && echo '<testcase classname="t" name="made"/>' || echo '<testcase classname="t" name="made"><failure/></testcase>'
  echo '</testsuite>'; } >out.xml
[ -e made ]
"""

    def test_names_that_move_are_found_by_a_second_run_on_base(self):
        self.make('{name: unit, run: "sh run.sh", reports: {junit: [out.xml]}}', "touch made", "signals: [tests]")
        self.write("source/run.sh", self.MOVING)
        self.pawl("run", "plan.yaml")
        ran = ["check.unit@base.attempt1", "agent.run.attempt1", "check.unit.attempt1", "check.unit@base2.attempt1"]
        self.assertEqual(self.ran(), ran)
        signals = self.pawl_json("inspect", "last")["phases"][0]["attempts"][0]["signals"]
        told = next(s["details"] for s in signals if s["kind"] == "tests")
        self.assertEqual((told["moving"], told["moving_names"]), (2, "t::at #, t::user[*"))
        self.pawl("verify", "last")
        self.make('{name: unit, run: "sh run.sh", reports: {junit: [out.xml]}}', "touch made .without", "signals: [tests]")
        self.pawl("run", "plan.yaml", expect=11)
        self.assertNotIn("check.unit@base2.attempt1", self.ran(), "a test is gone without another in its place")
        signals = self.pawl_json("inspect", "last")["phases"][0]["attempts"][0]["signals"]
        self.assertIn("t::at ", next(s["details"]["gone_names"] for s in signals if s["kind"] == "tests"))

    PROVE = """mkdir -p tap/t && printf 'ok 1 - old\\n1..1\\n' >tap/t/old.t
[ -e made ] && printf "$(cat made)" >tap/t/new.t || >tap/t/new.t
grep -q ok tap/t/new.t
"""

    def test_a_test_file_that_base_cannot_load_waits_for_the_work(self):
        self.write("source/run.sh", self.PROVE)
        self.write("source/t/new.t", "")
        unit = '{name: unit, run: "sh run.sh", reports: {tap: ["tap/**"]}}'
        for work, code in (("echo 'ok 1 - new\\\\n1..1' >made", 0), ("echo >made", 11), ("echo '1..0 # SKIP ok' >made", 11),
                           ("echo 'ok 1 - new\\\\n1..1' >made; rm t/new.t", 11)):
            with self.subTest(work):
                self.make(unit, work, "signals: [tests]")
                self.pawl("run", "plan.yaml", expect=code)
                self.assertIn("agent.run.attempt1", self.ran())

    def test_a_second_run_on_base_is_made_once_and_never_for_names_that_stay(self):
        self.make('{name: unit, run: "sh run.sh", reports: {junit: [out.xml]}}', "touch made", "signals: [tests]")
        self.write("source/run.sh", self.MOVING)
        self.pawl("run", "plan.yaml")
        self.pawl("run", "plan.yaml")
        self.assertEqual(self.ran(), ["agent.run.attempt1", "check.unit.attempt1"], "it is kept by content")
        self.write("source/run.sh", self.MOVING.replace("$(date +%s%N)", "noon").replace("$word", "ann"))
        self.pawl("run", "plan.yaml")
        self.assertEqual(self.ran(), ["check.unit@base.attempt1", "agent.run.attempt1", "check.unit.attempt1"])

    def test_a_second_run_on_base_goes_on_after_a_kill(self):
        self.make('{name: unit, run: "sh run.sh", reports: {junit: [out.xml]}}', "touch made", "signals: [tests]")
        self.write("source/run.sh", "[ -e made ] || sleep 2\n" + self.MOVING)
        run = self.start("run", "plan.yaml")
        self.wait_for_step("base runs again", "unit@base2")
        self.kill_all(run)
        self.pawl("resume", "last")
        self.assertEqual(self.ran()[3:], ["check.unit@base2.attempt1"] * 2)
        self.pawl("verify", "last")

    def test_nothing_is_paid_twice_when_it_is_killed_on_base(self):
        self.make('{name: unit, run: "[ -e made ] || sleep 6; test -e made"}', "touch made")
        run = self.start("run", "plan.yaml")
        self.wait_for_step("base runs", "unit@base")
        self.kill_all(run)
        self.pawl("resume", "last")
        self.assertEqual(self.ran(), ["check.unit@base.attempt1"] * 2 + ["agent.run.attempt1", "check.unit.attempt1"])
        with sqlite3.connect(self.root / "source/.pawl/pawl.db") as db:
            steps = db.execute("SELECT count(*) FROM steps").fetchone()
            self.assertEqual(db.execute("SELECT count(*) FROM cost").fetchone(), steps, "a cost row each, the lost one's too")
        self.pawl("verify", "last")


if __name__ == "__main__":
    unittest.main()
