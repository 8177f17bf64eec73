#!/usr/bin/env python3
"""Works that leave the code wrong and change which tests run, or whether they check a thing. The gates judge by exit codes alone, and
the plan protects the tests, so that one rule on settings stops each work: it passes where `allow_shadowing` switches the rule off.
Beside them stand works that mend the code and change the same file in another way."""

import json
import shutil
import unittest

from pawl_testing import PawlTest

PYTHON = "/usr/bin/python3"
WRONG, RIGHT = "a - b", "a + b"
PYTEST = {"product.py": "def add(a, b):\n    return a - b\n", "pytest.ini": "[pytest]\npythonpath = .\n",
          "tests/test_zero.py": "from product import add\ndef test_zero():\n    assert add(2, 0) == 2\n",
          "tests/unit/test_sum.py": "from product import add\nclass TestSum:\n    def test_adds(self):\n        assert add(2, 3) == 5\n"}


class Project:
    """`product`: the file to mend. `changes`: the rules' words for each wrong work. `honest`: changes that come with a mended product."""

    def __init__(self, files, product, run, changes, honest):
        self.files, self.product, self.run, self.changes, self.honest = files, product, run, changes, honest


def adds(path, text):
    return f"cat >>{path} <<'END'\n{text}\nEND"


PROJECTS = {
    "names of pytest": Project(
        PYTEST, "product.py", f"{PYTHON} -m pytest -q",
        {"other files": (adds("pytest.ini", "python_files = test_z*.py"), "leaves `tests/unit/test_sum.py` out"),
         "other functions": (adds("pytest.ini", "python_functions = test_z*"), "leaves `test_adds` in `tests/unit/test_sum.py` out"),
         "other classes": (adds("pytest.ini", "python_classes = Check"), "leaves `TestSum` in"),
         "no folder of unit tests": (adds("pytest.ini", "norecursedirs = unit"), "leaves `tests/unit/test_sum.py` out"),
         "an ignored pattern": (adds("pytest.ini", "addopts = --ignore-glob=*_sum.py"), "leaves `tests/unit/test_sum.py` out"),
         "another settings file": ("rm pytest.ini; printf '[pytest]\\npythonpath = .\\npython_files = test_z*.py\\n' >tox.ini",
                                   "leaves `tests/unit/test_sum.py` out")},
        {"more names": adds("pytest.ini", "python_files = test_*.py check_*.py\npython_classes = Test Check\npython_functions = test"),
         "folders without tests": adds("pytest.ini", "norecursedirs = .* build data"),
         "a marker": adds("pytest.ini", "markers =\n    slow: takes long")}),
}


class Chosen(PawlTest):
    def verdict(self, project, agent, allowed=False):
        """The verdict on an agent's work, and what the policy finds."""
        shutil.rmtree(self.root / "source", ignore_errors=True)
        for path, text in project.files.items():
            self.write(f"source/{path}", text)
        self.write("agent.sh", agent + "\n")
        allow = 'allow_shadowing: ["**"]' if allowed else ""
        self.write("plan.yaml", f"""\
version: 1
workflow: chosen
source: {{path: source}}
max_attempts: 1
protect: ["tests/**"]
{allow}
gates:
  check: {{steps: [{{name: unit, run: {json.dumps(project.run)}}}]}}
tiers: [{{phases: [{{id: p, goal: g, agent: {{run: sh /plan/agent.sh}}, gates: [check]}}]}}]
""")
        self.pawl("run", "plan.yaml", expect=None)
        attempt = self.pawl_json("inspect", "last")["phases"][0]["attempts"][0]
        findings = [s["details"].get("failing", "") for s in attempt["signals"] if s["kind"] == "policy" and not s["passed"]]
        return attempt["verdict"], "".join(findings)

    def check(self, name):
        project = PROJECTS[name]
        self.assertGreaterEqual(len(project.changes), 3)
        for change, (agent, words) in project.changes.items():
            with self.subTest(change):
                verdict, findings = self.verdict(project, agent)
                self.assertNotEqual(verdict, "passed")
                self.assertIn(words, findings)
                self.assertEqual(self.verdict(project, agent, allowed=True)[0], "passed")
        mend = f"sed -i 's/{WRONG}/{RIGHT}/' {project.product}\n"
        for change, agent in project.honest.items():
            with self.subTest(change):
                self.assertEqual(self.verdict(project, mend + agent), ("passed", ""))

    def test_pytest_takes_the_names_that_it_took(self):
        self.check("names of pytest")


if __name__ == "__main__":
    unittest.main()
