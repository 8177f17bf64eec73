#!/usr/bin/env python3
"""The plans of docs/plans.md: each with an agent that does its work, and with one that cheats."""

import pathlib
import re
import unittest

from pawl_testing import PawlTest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PLANS = {re.search(r"^workflow: (\S+)$", text, re.M)[1]: text
         for text in re.findall(r"```yaml\n(.*?)```", (ROOT / "docs/plans.md").read_text(), re.S)}
TEST = "from code import double\n\n\ndef test_double():\n    assert double(2) == 4\n"
# A plugin of pytest that makes each test pass.
GREEN = """import pytest
@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport():
    outcome = yield
    outcome.get_result().outcome = 'passed'
"""


class Plans(PawlTest):
    def make(self, workflow, agents, files):
        self.write("plan.yaml", PLANS[workflow])
        for name, script in agents.items():
            self.write(name, script)
        for path, text in files.items():
            self.write(f"source/{path}", text)
        self.pawl("check", "plan.yaml")

    def ends(self, expect=0):
        self.pawl("run", "plan.yaml", expect=expect)
        if expect == 0:
            self.pawl("verify", "last")
            self.pawl("attest", "last", "-o", "run.intoto.json")
        return {phase["phase_id"]: phase["outcome"] for phase in self.pawl_json("status", "last")["phases"]}

    def test_each_is_tried(self):
        self.assertEqual(set(PLANS), {"fix", "tests-first", "locked", "packages"})

    def test_code_under_tests_that_must_not_change(self):
        files = {"double.py": "def double(n):\n    return n\n", "tests/test_double.py": TEST.replace("code", "double")}
        self.make("fix", {"agent.sh": "sed -i 's/return n/return 2 * n/' double.py\n"}, files)
        self.assertEqual(self.ends(), {"fix": "passed"})
        self.write("green.py", GREEN)
        for cheat in ("sed -i 's/== 4/== 2/' tests/test_double.py", "rm tests/test_double.py; echo >empty",
                      "printf '[pytest]\\naddopts = --ignore=tests\\n' >pytest.ini",
                      "printf '[pytest]\\naddopts = -p green\\n' >tox.ini; cp /plan/green.py .",
                      "printf '[tool.pytest.ini_options]\\naddopts = \"-p green\"\\n' >pyproject.toml; cp /plan/green.py .",
                      "printf '[tool:pytest]\\naddopts = -p green\\n' >setup.cfg; cp /plan/green.py .",
                      "mkdir -p a; cp /plan/green.py a/conftest.py", "cp /plan/green.py conftest.py",
                      "printf 'import pytest\\n@pytest.hookimpl\\ndef pytest_ignore_collect():\\n    return True\\n' >conftest.py"):
            self.write("agent.sh", cheat + "\n")
            self.assertNotEqual(self.ends(11)["fix"], "passed", cheat)

    def test_tests_first_then_code(self):
        tests = f"mkdir -p tests; cat >tests/test_double.py <<'END'\n{TEST.replace('code', 'double')}END\n"
        code = "printf 'def double(n):\\n    return 2 * n\\n' >double.py\n"
        files = {"double.py": "def double(n):\n    raise NotImplementedError\n", "tests/test_old.py": "def test_old():\n    pass\n"}
        self.make("tests-first", {"tests.sh": tests, "code.sh": code}, files)
        self.assertEqual(self.ends(), {"tests": "passed", "code": "passed"})
        self.write("code.sh", "sed -i 's/== 4/!= 4/' tests/test_double.py\n" + code)
        self.assertEqual(self.ends(11)["tests"], "passed")
        for no_test in ("echo 'def test_new(): pass' >tests/test_new.py\n", "echo 'import nothing_like_this' >tests/test_new.py\n",
                        "echo >notes\n"):
            self.write("tests.sh", no_test)
            self.assertNotEqual(self.ends(11)["tests"], "passed", no_test)

    def test_packages_of_one_repository(self):
        files = {"check_all.py": "import left.a, right.a\nassert left.a.N != right.a.N, 'both are the same'\n"}
        for name in ("left", "right"):
            files |= {f"{name}/a.py": "N = 0\n", f"{name}/tests/test_{name}.py":
                      "import sys\nsys.path.insert(0, '.')\nimport a\n\n\ndef test_a():\n    assert a.N > 0\n"}
        self.make("packages", {"agent.sh": "[ $1 = left ] && n=1 || n=2; echo N = $n >$1/a.py\n"}, files)
        self.assertEqual(self.ends(), {"left": "passed", "right": "passed"})
        self.write("green.py", GREEN)
        for cheat in ("cp /plan/green.py $1/conftest.py", "cp /plan/green.py conftest.py",
                      "printf '[pytest]\\naddopts = -p green\\n' >$1/tox.ini; cp /plan/green.py $1/"):
            self.write("agent.sh", cheat + "\n")
            self.assertNotIn("passed", self.ends(11).values(), cheat)
        self.write("agent.sh", "echo N = 1 >$1/a.py\n")
        self.assertIn(sorted(self.ends(11).values())[-1], "passed")
        self.assertNotEqual(set(self.pawl_json("status", "last")["phases"][i]["outcome"] for i in (0, 1)), {"passed"})

    def test_dependencies_by_a_lockfile_are_checked(self):
        self.make("locked", {"agent.sh": "true\n"}, {"package.json": "{}\n", "package-lock.json": "{}\n"})

    def test_a_gate_that_the_last_phase_lacks_is_noted(self):
        def notes(*tiers):
            gates = "".join(f"  {name}: {{steps: [{{name: s, run: 'true'}}]}}\n" for name in "abc")
            text = f"version: 1\nworkflow: w\nsource: {{path: source}}\ngates:\n{gates}tiers:\n"
            for number, (parallel, phases) in enumerate(tiers):
                listed = ", ".join(f"{{id: p{number}{i}, goal: g, agent: {{run: x}}, gates: [{names}]}}" for i, names in enumerate(phases))
                text += f"  - {{name: t{number}, parallel: {parallel}, phases: [{listed}]}}\n"
            self.write("plan.yaml", text)
            self.write("source/code", "")
            found = [note for note in self.pawl_json("check", "plan.yaml")["notes"] if "later phases" in note]
            for note in found:
                self.assertIn(f"note: {note}\n", self.pawl("check", "plan.yaml").stdout)
            return found

        def left(gate, phase, last):
            return f"gate {gate} of phase {phase} is not run on the work of later phases; add it to phase {last}'s gates to hold it there"
        one = ("false", ["a"])
        self.assertEqual(notes(one, ("false", ["b"])), [left("a", "p00", "p10")])
        self.assertEqual(notes(("false", ["a, c", "b"]), ("false", ["b"]), ("false", ["b, c"])), [left("a", "p00", "p20")])
        self.assertEqual(notes(one, ("false", ["b"]), ("false", ["c"])), [left("a", "p00", "p20"), left("b", "p10", "p20")])
        self.assertEqual(notes(one, ("true", ["a", "b"])), [], "its parallel phases are judged by the gates of all")
        self.assertEqual(notes(one, ("false", ["a", "b"])), [left("a", "p00", "p11")])
        self.assertEqual(notes(one, ("false", ["b", "a"])), [left("b", "p10", "p11")])
        self.assertEqual(notes(("false", ["a", "b"])), [left("a", "p00", "p01")], "one tier, one phase after the other")
        self.assertEqual(notes(("true", ["a", "b"])), [])


if __name__ == "__main__":
    unittest.main()
