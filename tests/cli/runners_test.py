#!/usr/bin/env python3
"""Gates that run the real test runners, on ordinary projects: their reports are understood, and a test
that an agent broke or dropped is named."""

import os
import pathlib
import shutil
import subprocess
import unittest

from pawl_testing import PawlTest

# The folder where scripts/setup test puts the runners of JavaScript.
NODE_MODULES = pathlib.Path(os.environ["RUNNERS"]) / "node_modules"
# Go compiles its standard library for each sandbox, which has no cache: a minute of CPU for four gates. This
# cache is made once.
GO_CACHE = pathlib.Path(os.environ["RUNNERS"]) / "go-cache"

PYTHON = """\
import pytest
@pytest.mark.parametrize("n", [1, 2])
def test_many(n):
    assert n
@pytest.mark.skip
def test_left_out():
    pass
"""
PERL = "use Test::More tests => %d;\nsubtest many => sub { plan tests => 2; ok(1, 'one'); ok(1, 'two'); };\n" \
       "SKIP: { skip 'no need', 1; }\n"
GO = """\
package a
import "testing"
func TestMany(t *testing.T) {
	t.Run("one", func(t *testing.T) {})
	t.Run("two", func(t *testing.T) {})
}
func TestLeftOut(t *testing.T) { t.Skip("no need") }
"""
RUST = """\
/// ```
/// assert_eq!(a::one(), 1);
/// ```
pub fn one() -> i32 { 1 }
#[test] fn many() { println!("test noise ... ok"); }
#[test] #[ignore] fn left_out() {}
"""
JAVASCRIPT = "describe('all', () => { it('many', () => {}); it.skip('left out', () => {}); %s });\n"
NODE = "import test from 'node:test';\ntest('all', async (t) => { await t.test('many', () => {}); " \
       "await t.test('left out', {skip: true}, () => {}); });\n%s\n"
CTEST = """\
cmake_minimum_required(VERSION 3.20)
project(a NONE)
include(CTest)
add_test(NAME many COMMAND ${CMAKE_COMMAND} -E true)
add_test(NAME left_out COMMAND ${CMAKE_COMMAND} -E true)
set_tests_properties(left_out PROPERTIES DISABLED TRUE)
"""
VITEST = "import {describe, it} from 'vitest';\n"
FAIL = "throw new Error('broken')"

# name: (format, report, command, file, text without the test, the test, the same test broken, its name)
RUNNERS = {
    "pytest": ("junit", "out.xml", "python3 -m pytest -q -p no:cacheprovider --junitxml=out.xml", "test_a.py", PYTHON,
               "def test_kept():\n    pass\n", "def test_kept():\n    assert 0\n", "test_a::test_kept"),
    "perl": ("tap", "out.tap", "perl a.t > out.tap", "a.t", None, PERL % 3 + "ok(1, 'kept');\n",
             PERL % 3 + "ok(0, 'kept');\n", "kept"),
    "prove": ("tap", "tap/**", "mkdir tap; PERL_TEST_HARNESS_DUMP_TAP=tap prove a.t", "a.t", None, PERL % 3 + "ok(1, 'kept');\n",
              PERL % 3 + "ok(0, 'kept');\n", "kept"),
    "node": ("tap", "out.tap", "node --test --test-reporter=tap a.test.mjs > out.tap", "a.test.mjs", NODE % "",
             "test('kept', () => {});\n", f"test('kept', () => {{ {FAIL} }});\n", "kept"),
    "go": ("gotest", "out.json", "GOCACHE=$PWD/.go GOFLAGS=-mod=mod go test -json ./... > out.json", "a_test.go", GO,
           "func TestKept(t *testing.T) {}\n", "func TestKept(t *testing.T) { t.Fatal() }\n", "example.org/a::TestKept"),
    "cargo": ("cargo", "out.txt", "CARGO_HOME=/tmp/cargo cargo test --offline > out.txt 2>&1", "src/lib.rs", RUST,
              "#[test] fn kept() {}\n", "#[test] fn kept() { panic!() }\n", "src/lib.rs::kept"),
    "ctest": ("ctest", "build/Testing/*/Test.xml", "cmake -G Ninja -S . -B build >/dev/null && cd build && ctest -T Test",
              "CMakeLists.txt", CTEST, "add_test(NAME kept COMMAND ${CMAKE_COMMAND} -E true)\n",
              "add_test(NAME kept COMMAND ${CMAKE_COMMAND} -E false)\n", "kept"),
    "ctest-junit": ("junit", "out.xml", "cmake -G Ninja -S . -B build >/dev/null && cd build && ctest --output-junit ../out.xml",
                    "CMakeLists.txt", CTEST, "add_test(NAME kept COMMAND ${CMAKE_COMMAND} -E true)\n",
                    "add_test(NAME kept COMMAND ${CMAKE_COMMAND} -E false)\n", "kept::kept"),
    "jest": ("jest", "out.json", "node_modules/.bin/jest --rootDir . --json --outputFile=out.json a.jest.js "
             "--testMatch '**/a.jest.js'", "a.jest.js", None, JAVASCRIPT % "it('kept', () => {})",
             JAVASCRIPT % f"it('kept', () => {{ {FAIL} }})", "a.jest.js::all > kept"),
    "vitest": ("jest", "out.json", "node_modules/.bin/vitest run --reporter=json --outputFile=out.json a.test.js",
               "a.test.js", None, VITEST + JAVASCRIPT % "it('kept', () => {})",
               VITEST + JAVASCRIPT % f"it('kept', () => {{ {FAIL} }})", "a.test.js::all > kept"),
    "mocha": ("mocha", "out.json", "node_modules/.bin/mocha --reporter json --reporter-option output=out.json a.cjs",
              "a.cjs", None, JAVASCRIPT % "it('kept', () => {})", JAVASCRIPT % f"it('kept', () => {{ {FAIL} }})",
              "a.cjs::all kept"),
}
# The text without the test, for runners that have no text of their own.
WITHOUT = {"perl": PERL % 2, "prove": PERL % 2, "jest": JAVASCRIPT % "", "vitest": VITEST + JAVASCRIPT % "",
           "mocha": JAVASCRIPT % ""}
# A file of CMake decides what a test runs, and here it is the test.
ALLOWED = "allow_shadowing: [CMakeLists.txt]\n"
# The number of tests that base has beside the one that stays, including those that it skips.
OTHERS = {"pytest": 3, "perl": 4, "prove": 4, "node": 3, "go": 4, "cargo": 3}

# Texts with which a file skips the test, in each way that the runner has.
SKIPS = {
    "pytest": [PYTHON + text for text in ("@pytest.mark.skip\ndef test_kept():\n    pass\n", "def test_kept():\n    pytest." "skip('later')\n",
                                          "@pytest.mark.xfail\ndef test_kept():\n    assert 0\n")],
    "perl": [PERL % 3 + "SKIP: { skip 'later', 1; ok(1, 'kept'); }\n", PERL % 3 + "TODO: { local $TODO = 'later'; ok(1, 'kept'); }\n"],
    "node": [NODE % text for text in ("test.skip('kept', () => {});", "test('kept', {skip: true}, () => {});", "test.todo('kept');",
                                      "test('kept', {todo: true}, () => {});", "test('kept', (t) => { t.skip(); });",
                                      "test.skip('suite', () => { test('kept', () => {}); });")] + ["// nothing is left\n"],
    "go": [GO + text for text in ("func TestKept(t *testing.T) { t.Skip() }\n", "func testKept(t *testing.T) {}\n")],
    "cargo": [RUST + text for text in ("#[test] #[ignore] fn kept() {}\n", "#[cfg(never)] #[test] fn kept() {}\n")],
    "ctest": [CTEST + "add_test(NAME kept COMMAND ${CMAKE_COMMAND} -E true)\nset_tests_properties(kept PROPERTIES DISABLED TRUE)\n"],
    "jest": [JAVASCRIPT % text for text in ("it.skip('kept', () => {})", "xit('kept', () => {})", "it.todo('kept')",
                                            "describe.skip('d', () => { it('kept', () => {}) })", "it.only('other', () => {}); it('kept', () => {})")],
    "mocha": [JAVASCRIPT % text for text in ("it.skip('kept', () => {})", "xit('kept', () => {})", "it('kept')",
                                             "it('kept', function () { this.skip() })", "it.only('other', () => {}); it('kept', () => {})")]
             + ["// nothing is left\n" + JAVASCRIPT % ""],
    "vitest": [VITEST + JAVASCRIPT % text for text in ("it.skip('kept', () => {})", "it.todo('kept')", "it.skipIf(true)('kept', () => {})",
                                                       "it.only('other', () => {}); it('kept', () => {})")],
}
SKIPS["prove"], SKIPS["ctest-junit"] = SKIPS["perl"], SKIPS["ctest"]
# The options by which a runner ends at a failure.
STOPS = {"pytest": ("--junitxml", "-x --junitxml"), "go": ("go test", "go test -failfast"), "mocha": ("bin/mocha", "bin/mocha --bail"),
         "vitest": ("vitest run", "vitest run --bail=1"), "ctest": ("ctest -T Test", "ctest --stop-on-failure -T Test"), "cargo": ("", "")}
# The same as a setting in a file, beside the command as it is.
SETTINGS = {"pytest": ("pytest.ini", "[pytest]\naddopts = -x\n"), "mocha": (".mocharc.json", '{"bail": true}'),
            "vitest": ("vitest.config.mjs", "export default {test: {bail: 1}};\n")}


class Runners(PawlTest):
    def make(self, name):
        _, _, _, file, text, kept, broken, _ = RUNNERS[name]
        without = WITHOUT.get(name, text)
        good, bad = (kept, broken) if text is None else (text + kept, text + broken)
        self.write(f"source/{file}", good)
        for attempt, content in enumerate((bad, without, *SKIPS[name], good + "\n"), 1):
            self.write(f"attempts/{attempt}/{file}", content)
        if name == "go":
            self.write("source/go.mod", "module example.org/a\ngo 1.19\n")
            env = {**os.environ, "GOCACHE": str(GO_CACHE), "GOFLAGS": "-mod=mod"}
            subprocess.run(["go", "test", "./..."], cwd=self.root / "source", env=env, check=True, stdout=subprocess.DEVNULL)
            shutil.copytree(GO_CACHE, self.root / "source/.go")
        if name == "cargo":
            self.write("source/Cargo.toml", '[package]\nname = "a"\nversion = "0.1.0"\nedition = "2021"\n')
        if name in ("jest", "vitest", "mocha"):
            self.write("source/package.json", "{}")  # jest looks for this file
            shutil.copytree(NODE_MODULES, self.root / "source/node_modules", symlinks=True)

    def signals_of(self, name):
        """The tests signals of some attempts: the test is broken, it is gone, it is skipped in each way,
        it passes."""
        form, report, command, *_ = RUNNERS[name]
        self.write("plan.yaml", f"""\
version: 1
workflow: runners
source: {{path: source}}
sandbox: {{pids_limit: 2048, memory_limit_mib: 4096}}
{ALLOWED if name.startswith("ctest") else ""}max_attempts: {len(SKIPS[name]) + 3}
gates:
  check:
    retry: {{same_failure_max: off}}
    steps: [{{name: unit, run: {command!r}, reports: {{{form}: [{report!r}]}}}}]
    signals: [tests]
tiers:
  - phases:
      - {{id: p, goal: g, agent: {{run: 'cp -r /plan/attempts/$PAWL_ATTEMPT/. .'}}, gates: [check]}}
""")
        self.pawl("run", "plan.yaml")
        attempts = self.pawl_json("inspect", "last")["phases"][0]["attempts"]
        return [next(signal for signal in attempt["signals"] if signal["kind"] == "tests") for attempt in attempts]

    def check(self, name):
        self.make(name)
        lost = RUNNERS[name][-1]
        signals = self.signals_of(name)
        self.assertEqual([signal["passed"] for signal in signals], [False] * (len(signals) - 1) + [True], signals)
        self.assertEqual(len(signals), len(SKIPS[name]) + 3)
        broken, gone, *skipped, good = (signal["details"] for signal in signals)
        for text, details in zip(SKIPS[name], skipped):
            missed = details.get("gone_names", "") + ", " + details.get("newly_skipped_names", "")
            self.assertIn(lost, missed.split(", "), (text, details))
        others = OTHERS.get(name, 2)
        self.assertEqual(broken["failing"], lost)
        # After a test that failed, cargo runs no tests of the documentation.
        self.assertEqual(broken["tests"], others + (0 if name == "cargo" else 1))
        self.assertEqual(gone["gone_names"], lost)
        self.assertEqual(gone["tests"], others)
        self.assertEqual((good["tests"], good["failures"], good["reports"]), (others + 1, 0, 1))

    def test_a_script_of_node_may_become_a_file_with_tests(self):
        """Its path is its test's name until the file has tests. A file that is gone is missed."""
        test = "import test from 'node:test';\nimport {f} from './lib.mjs';\nf();\ntest('adds', () => {});\n"
        script = {"a.test.mjs": "console.log('well');\n", "lib.mjs": "export const f = () => 1;\n"}
        throws = {"a.test.mjs": test, "lib.mjs": "export const f = 1;\n"}
        other = "echo \"import test from 'node:test'; test('adds', () => {});\" >b.test.mjs"
        mend = "echo 'export const f = () => 1;' >lib.mjs"
        for form in ("tap", "junit"):
            for files, agent, code in ((script, "cp /plan/test a.test.mjs", 0), (throws, mend, 0),
                                       (script, f"rm a.test.mjs; {other}", 11), (throws, f"{mend}; rm a.test.mjs; {other}", 11),
                                       (script, f"mv a.test.mjs c.mjs; {other}", 11)):
                with self.subTest(form, agent=agent):
                    shutil.rmtree(self.root / "source", ignore_errors=True)
                    for name, text in files.items():
                        self.write(f"source/{name}", text)
                    self.write("test", test)
                    self.write("agent.sh", agent + "\n")
                    self.write("plan.yaml", f"""\
version: 1
workflow: scripts
source: {{path: source}}
max_attempts: 1
gates: {{check: {{steps: [{{name: unit, run: node --test --test-reporter={form} >out, reports: {{{form}: [out]}}}}]}}}}
tiers: [{{phases: [{{id: p, goal: g, agent: {{run: sh /plan/agent.sh}}, gates: [check]}}]}}]
""")
                    said = self.pawl("run", "plan.yaml", expect=code).stdout
                    self.assertEqual(code == 0, "check.tests" not in said, said)

    def stops(self, name, setting=None):
        """Base ends at the test that fails. What it has is a lower bound, and the signal says so."""
        self.make(name)
        if setting:
            self.write(f"source/{setting[0]}", setting[1])
        form, report, command, file, *_ = RUNNERS[name]
        shutil.copy(self.root / f"attempts/1/{file}", self.root / f"source/{file}")
        self.write("plan.yaml", f"""\
version: 1
workflow: runners
source: {{path: source}}
sandbox: {{pids_limit: 2048, memory_limit_mib: 4096}}
{ALLOWED if name.startswith("ctest") else ""}gates:
  check:
    steps: [{{name: unit, run: {(command + ' >log' if setting else command.replace(*STOPS[name], 1))!r}, reports: {{{form}: [{report!r}]}}}}]
    signals: [tests]
tiers:
  - phases:
      - {{id: p, goal: g, agent: {{run: 'cp -r /plan/attempts/{len(SKIPS[name]) + 3}/. .'}}, gates: [check]}}
""")
        self.pawl("run", "plan.yaml")
        signals = self.pawl_json("inspect", "last")["phases"][0]["attempts"][0]["signals"]
        told = next(signal["details"] for signal in signals if signal["kind"] == "tests")
        self.assertTrue(told["base"].startswith("lower bound: "), told)
        self.assertEqual(setting is not None and setting[0] in told["base"], setting is not None, told)

    def test_jest_that_bails_leaves_no_report(self):
        self.make("jest")
        shutil.copy(self.root / "attempts/1/a.jest.js", self.root / "source/a.jest.js")
        command = RUNNERS["jest"][2].replace("bin/jest", "bin/jest --bail")
        self.write("plan.yaml", f"""\
version: 1
workflow: runners
source: {{path: source}}
sandbox: {{pids_limit: 2048, memory_limit_mib: 4096}}
gates: {{check: {{steps: [{{name: unit, run: {command!r}, reports: {{jest: [out.json]}}}}], signals: [tests]}}}}
tiers: [{{phases: [{{id: p, goal: g, agent: {{run: "true"}}, gates: [check]}}]}}]
""")
        self.assertIn("`--bail` may end its runner before it writes one", self.pawl("run", "plan.yaml", expect=11).stdout)


for runner in STOPS:
    setattr(Runners, "test_that_stops_" + runner, lambda self, runner=runner: self.stops(runner))
for runner, setting in SETTINGS.items():
    setattr(Runners, f"test_that_stops_{runner}_by_its_settings", lambda self, of=(runner, setting): self.stops(*of))
for runner in RUNNERS:
    setattr(Runners, "test_" + runner.replace("-", "_"), lambda self, runner=runner: self.check(runner))

if __name__ == "__main__":
    unittest.main()
