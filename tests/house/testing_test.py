#!/usr/bin/env python3
"""docs/testing.md against `ctest -N` of a build: each test is in one row, each row has a test, and the build is the one it runs in.

BUILD names the build folder, PRESET its preset. A label of a test is `PRESET/room/...`; the preset is where scripts/test runs it. Of the
preset tsan the tests that run there are looked at: the programs of the others are not built. What scripts/fuzz replays and CTest does not
know is looked at with dev."""

import json
import os
import pathlib
import re
import subprocess
import unittest

import changed

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/testing.md"


def rows_of(page):
    """Rows of the table of suites: (pattern, builds)."""
    table = page.split("## Suites")[1].split("\n## ")[0]
    return [(cells[0].strip("`"), cells[2].split(", ")) for cells in
            ([cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line.startswith("| `"))]


def problems(rows, tests, preset):
    """`tests`: names to builds. What does not fit, in words."""
    out = []
    for name, builds in tests.items():
        fitting = [row for row in rows if re.fullmatch(row[0], name)]
        if len(fitting) != 1:
            out.append(f"{name} is in {len(fitting)} rows of docs/testing.md")
        elif fitting[0][1] != builds:
            out.append(f"{name} runs in {builds}, and docs/testing.md says {fitting[0][1]}")
    for pattern, builds in rows:
        if preset in builds and not any(re.fullmatch(pattern, name) for name in tests):
            out.append(f"the row {pattern} of docs/testing.md has no test in {preset}")
    return out


def tests_of(build):
    shown = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True, text=True, check=True)
    out = {}
    for test in json.loads(shown.stdout)["tests"]:
        labels = [value for item in test.get("properties", []) if item["name"] == "LABELS" for value in item["value"]]
        words = labels[0].split("/") if labels else []
        out[test["name"]] = words[:1] + (["tsan"] if "tsan" in words[1:] else [])
    return out


def fuzzed():
    """The readers that scripts/test runs from their seeds, as tests of the build `fuzz`."""
    listed = subprocess.run([ROOT / "scripts/fuzz", "--list"], capture_output=True, text=True, check=True).stdout.split()
    return {f"fuzz.{name}": ["fuzz"] for name in listed}


class Testing(unittest.TestCase):
    def test_the_page_and_the_builds_agree(self):
        preset = os.environ["PRESET"]
        tests = tests_of(os.environ["BUILD"])
        if preset == "tsan":
            tests = {name: builds for name, builds in tests.items() if "tsan" in builds}
        self.assertGreater(len(tests), 100)
        self.assertEqual(problems(rows_of(PAGE.read_text()), tests, preset), [])

    def test_each_reader_that_is_fuzzed_has_a_row_and_seeds(self):
        readers = fuzzed()
        self.assertEqual({name.removeprefix("fuzz.") for name in readers}, {path.name for path in (ROOT / "tests/fuzz/seeds").iterdir()})
        rows = [row for row in rows_of(PAGE.read_text()) if row[0].startswith("fuzz.")]
        self.assertEqual(problems(rows, readers, "fuzz"), [])
        self.assertIn("scripts/fuzz --seconds", (ROOT / "scripts/test").read_text())

    def test_what_runs_for_a_changed_file_is_there(self):
        if os.environ["PRESET"] != "dev":
            return
        tests = tests_of(os.environ["BUILD"])
        lines = changed.lines_of((ROOT / "tests/changed.txt").read_text())
        for beginning, patterns in lines:
            for pattern in patterns:
                self.assertTrue("%" in pattern or any(re.fullmatch(pattern, name) for name in tests), f"{beginning}: {pattern}")
        tracked = subprocess.run(["git", "ls-files", "src", "tests", "sdk", "scripts", "docs", "cmake"], cwd=ROOT, capture_output=True, text=True,
                                 check=True).stdout.split()
        for path in tracked:
            patterns = changed.tests_for(path, lines)
            self.assertTrue(patterns or path.startswith("tests/fuzz/"), path)
            self.assertTrue(all(any(re.fullmatch(pattern, name) for name in tests) for pattern in patterns), f"{path}: {patterns}")

    def test_each_script_of_tests_is_run(self):
        if os.environ["PRESET"] != "dev":
            return
        shown = subprocess.run(["ctest", "--test-dir", os.environ["BUILD"], "--show-only=json-v1"], capture_output=True, text=True, check=True)
        words = {word for test in json.loads(shown.stdout)["tests"] for word in test.get("command", [])}
        scripts = {str(path) for path in (ROOT / "tests").rglob("*_test.py")}
        self.assertGreater(len(scripts), 40)
        self.assertEqual(scripts - words, set())

    def test_what_does_not_fit_is_found(self):
        rows = [("a.*", ["asan", "tsan"]), ("b", ["dev"]), ("c", ["dev"])]
        good = {"a.one": ["asan", "tsan"], "b": ["dev"], "c": ["dev"]}
        self.assertEqual(problems(rows, good, "dev"), [])
        for tests in (good | {"d": ["dev"]}, good | {"b": ["asan"]}, {"a.one": ["asan", "tsan"], "b": ["dev"]},
                      good | {"a.two": ["asan"]}):
            self.assertEqual(len(problems(rows, tests, "dev")), 1, tests)
        self.assertEqual(len(problems([*rows, ("b*", ["dev"])], good, "dev")), 1, "two rows")

    def test_the_page_says_how_to_run_each_alone(self):
        page = PAGE.read_text()
        for pattern, builds in rows_of(page):
            line = next(line for line in page.splitlines() if line.startswith(f"| `{pattern}`"))
            self.assertEqual(len(line.strip("|").split("|")), 5, line)
            self.assertRegex(line.strip("|").split("|")[3], r"\d", line)
            self.assertRegex(", ".join(builds), "^((asan|dev)(, tsan)?|tsan|fuzz)$", line)


if __name__ == "__main__":
    unittest.main()
