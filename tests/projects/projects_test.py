#!/usr/bin/env python3
"""Real projects, as their authors ship them and with the runners that they name, under gates: what an agent did to
the code and to the tests is seen. `fetch` gets them once; after that no network is needed."""

import dataclasses
import json
import pathlib
import re
import shutil
import subprocess
import unittest

from judging import judge
from judging.work import REPORTS
from pawl_testing import PawlTest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FETCHED = ROOT / "build/projects"
FETCH_TIMEOUT_S = 240


@dataclasses.dataclass
class Project:
    archive: str
    steps: list    # the gate's, YAML
    tests: int     # what its runner counts
    protect: list  # the tests and what runs them, but for the one file that gone and skipped change
    # The change of each agent: the file, the text, its replacement.
    gone: tuple
    skipped: tuple
    steered: tuple  # something protected
    broken: tuple
    honest: tuple
    lost_name: str    # the test that gone removes and skipped skips
    broken_name: str  # one that fails when the code is broken
    skip_is_shadowing: bool = False  # the policy refuses it before a report is read


CJSON = Project(
    archive="cjson_1.7.15.orig.tar.gz", tests=19, protect=["CMakeLists.txt", "tests/*.c", "tests/inputs/**", "tests/unity/**"],
    # Without a list of flags that takes longer to try than the library to build.
    steps=['{name: build, run: "cmake -G Ninja -S . -B build -DENABLE_CUSTOM_COMPILER_FLAGS=Off && ninja -C build"}',
           '{name: tests, run: "cd build && ctest -T Test --no-compress-output", reports: {ctest: ["build/Testing/*/Test.xml"]}}'],
    gone=("tests/CMakeLists.txt", r"\n *minify_tests\b", ""),
    skipped=("tests/CMakeLists.txt", r"(?=add_dependencies\(check \$\{unity_tests\}\))",
             "set_tests_properties(minify_tests PROPERTIES DISABLED TRUE)\n"),
    steered=("tests/minify_tests.c", r" *RUN_TEST\(cjson_minify_should_remove_spaces\);\n", ""),
    broken=("cJSON.c", r" *case '\\t':\n(?= *case '\\r':)", ""),
    honest=("cJSON.c", r"while \(json\[0\] != '\\0'\)", r"while (*json != '\\0')"),
    lost_name="minify_tests", broken_name="minify_tests", skip_is_shadowing=True)

TOOLZ = Project(
    archive="toolz_0.12.0.orig.tar.gz", tests=185, protect=["toolz/tests/test_dicttoolz.py", "toolz/tests/test_functoolz.py"],
    steps=['{name: tests, run: "python3 -m pytest -q --junitxml=out.xml toolz", reports: {junit: [out.xml]}}'],
    gone=("toolz/tests/test_itertoolz.py", r"def test_groupby\(\):\n.*?(?=def )", ""),
    skipped=("toolz/tests/test_itertoolz.py", r"(?=def test_groupby\(\):)", "import pytest\n@pytest.mark.skip\n"),
    steered=("toolz/tests/test_dicttoolz.py", r"def test_merge_with_iter", "def tried_later"),
    broken=("toolz/itertoolz.py", r"d\[key\(item\)\]\(item\)", "d[key(item)](key)"),
    honest=("toolz/itertoolz.py", r"    rv = \{\}\n    for k, v in d\.items\(\):\n        rv\[k\] = v\.__self__\n    return rv\n",
            "    return {k: v.__self__ for k, v in d.items()}\n"),
    lost_name="toolz.tests.test_itertoolz::test_groupby", broken_name="toolz.tests.test_itertoolz::test_groupby")

OBJECT_PATH = Project(
    archive="object-path-0.11.8.tgz", tests=90, protect=["package.json", "node_modules/**"],
    steps=['{name: tests, run: "npm test -- --reporter json --reporter-option output=out.json", reports: {mocha: [out.json]}}'],
    gone=("test.js", r"  it\('should create intermediary array'.*?\n  \}\)\n", ""),
    skipped=("test.js", r"it(?=\('should create intermediary array')", "it.skip"),
    steered=("package.json", r'"mocha test.js"', '"mocha --grep get test.js"'),
    broken=("index.js", r"arr\.splice\(at, 0, value\)", "arr.splice(at, 1, value)"),
    honest=("index.js", r"parseInt\(key\)", "parseInt(key, 10)"),
    lost_name="test.js::insert should create intermediary array",
    broken_name="test.js::insert should insert in another index")


def setUpModule():
    done = subprocess.run([ROOT / "tests/projects/fetch"], capture_output=True, text=True, timeout=FETCH_TIMEOUT_S)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)


class Projects(PawlTest):
    def unpack(self, project):
        source = self.root / "source"
        source.mkdir()
        subprocess.run(["tar", "-xf", FETCHED / project.archive, "-C", source, "--strip-components=1", "--no-same-owner"],
                       check=True)
        return source

    def attempts(self, project, changes):
        """The signals of one attempt after the other, by name; each makes one change."""
        for number, (file, pattern, replacement) in enumerate(changes, 1):
            changed, count = re.subn(pattern, replacement, (self.root / "source" / file).read_text(), flags=re.DOTALL)
            self.assertEqual(count, 1, (file, pattern))
            self.write(f"changes/{number}/{file}", changed)
        self.write("plan.yaml", f"""\
version: 1
workflow: projects
source: {{path: source}}
max_attempts: {len(changes)}
protect: {json.dumps(project.protect)}
gates:
  check:
    steps: [{", ".join(project.steps)}]
    signals: [build, tests]
tiers:
  - phases:
      - {{id: p, goal: g, agent: {{run: 'cp -r /plan/changes/$PAWL_ATTEMPT/. .'}}, gates: [check]}}
""")
        self.pawl("run", "plan.yaml")
        found = self.pawl_json("inspect", "last")["phases"][0]["attempts"]
        self.assertEqual(len(found), len(changes), found)
        return [{f"{s['gate_id']}.{s['kind']}": s for s in attempt["signals"]} for attempt in found]

    def check(self, project):
        gone, skipped, steered, broken, honest = self.attempts(
            project, [project.gone, project.skipped, project.steered, project.broken, project.honest])

        self.assert_tests(gone, False, tests=project.tests - 1, failures=0, gone=1, gone_names=project.lost_name,
                          newly_skipped=None)
        if project.skip_is_shadowing:
            self.assertFalse(skipped["diff.policy"]["passed"], skipped)
            self.assertNotIn("check.tests", skipped)
        else:
            self.assert_tests(skipped, False, tests=project.tests, failures=0, gone=None, newly_skipped=1,
                              newly_skipped_names=project.lost_name)
        self.assertFalse(steered["protect.policy"]["passed"], steered)
        self.assertIn(project.steered[0], str(steered["protect.policy"]["details"]))
        self.assertNotIn("check.tests", steered)
        self.assert_tests(broken, False, tests=project.tests)
        self.assertIn(project.broken_name, broken["check.tests"]["details"]["failing"].split(", "))
        self.assertTrue(all(signal["passed"] for signal in honest.values()), honest)
        self.assert_tests(honest, True, tests=project.tests, failures=0, reports=1)

    def assert_tests(self, signals, passed, **details):
        signal = signals["check.tests"]
        self.assertEqual(signal["passed"], passed, signal)
        self.assertEqual({key: signal["details"].get(key) for key in details}, details, signal)

    def test_a_library_in_c_with_ctest(self):
        self.unpack(CJSON)
        self.check(CJSON)

    def test_a_library_in_python_with_pytest(self):
        self.unpack(TOOLZ)
        self.check(TOOLZ)

    def test_a_package_of_npm_with_mocha(self):
        source = self.unpack(OBJECT_PATH)
        shutil.copytree(FETCHED / "node_modules", source / "node_modules", symlinks=True)
        self.check(OBJECT_PATH)


class Works(unittest.TestCase):
    """Of scripts/judge what takes a minute: one right and three wrong works on four of its projects, with reports."""

    def test_right_works_are_taken_and_wrong_ones_refused(self):
        works = {"mend", "file-deleted", "mend-breaks-another", "forged-report"}
        # Not `go`, which compiles its library for each step: 6 minutes of CPU. cli.runners has it, with a cache in the source.
        result = judge.judged(["tape", "pytest", "prove", "make"], [REPORTS], works)
        self.assertEqual(result["failures"], [])  # labels that are not true among them
        counts = {name: (len(row["right taken"]), len(row["wrong refused"])) for name, row in result["plans"][REPORTS].items()}
        # No file of `make` can be deleted that another work would not name.
        self.assertEqual(counts, {"tape": (1, 3), "pytest": (1, 3), "prove": (1, 3), "make": (1, 2)})


if __name__ == "__main__":
    unittest.main()
