#!/usr/bin/env python3
"""docs/testing.md against `ctest -N` of a build: each test is in one row, each row has a test, and the row
names the builds that run it.

BUILD names the build folder, PRESET its preset. A label of a test is `PRESET/room/...`; scripts/test runs
the test in that preset. In the preset tsan only the tests that run there are checked: the programs of the
others are not built. Tests that scripts/fuzz replays and CTest does not know are checked with dev."""

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
    """The rows of the table of suites: (pattern, builds)."""
    table = page.split("## Suites")[1].split("\n## ")[0]
    return [(cells[0].strip("`"), cells[2].split(", ")) for cells in
            ([cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if line.startswith("| `"))]


def problems(rows, tests, preset):
    """`tests` maps names to builds. Returns what does not fit, in words."""
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


def listed(build):
    """All tests of a build, as CTest describes them."""
    shown = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True, text=True, check=True)
    return json.loads(shown.stdout)["tests"]


def words_of(test):
    """The words of a test's label: PRESET, room, and more."""
    labels = [value for item in test.get("properties", []) if item["name"] == "LABELS" for value in item["value"]]
    return labels[0].split("/") if labels else []


def tests_of(build):
    words = {test["name"]: words_of(test) for test in listed(build)}
    return {name: each[:1] + (["tsan"] if "tsan" in each[1:] else []) for name, each in words.items()}


def fits(patterns, name):
    return any(re.fullmatch(pattern, name) for pattern in patterns)


def left_out_problems(page, rooms, lines):
    """`rooms` maps names of tests to what they are about. The table of tests that --changed leaves out
    must list them."""
    table = page.split("## What --changed leaves out")[1].split("\n## ")[0]
    told = {}
    for _, left, right, _ in (line.split("|") for line in table.splitlines() if re.match(r"\| (`|every)", line)):
        told.setdefault(left.strip("` "), []).extend(re.findall("`([^`]+)`", right))
    runs = {path.name: changed.tests_for(f"src/{path.name}/x", lines) for path in (ROOT / "src").iterdir()}
    left = {room: {name for name, about in rooms.items() if about == room and not fits(patterns, name)} for room, patterns in runs.items()}
    left["every room"] = {name for name, about in rooms.items() if about not in runs and not fits({"house.rules"}.union(*runs.values()), name)}
    return ([f"{room} leaves out {name}, and docs/testing.md does not say so" for room, names in left.items() for name in names
             if not fits(told.get(room, []), name)] +
            [f"{room} leaves out nothing that is called {pattern}" for room, patterns in told.items() for pattern in patterns
             if not any(re.fullmatch(pattern, name) for name in left.get(room, ()))])


def quick_problems(page, labels):
    """`labels` maps names of tests to the words of their labels. The section about --quick must list the tests of the rooms that it leaves out."""
    section = page.split("## What --quick leaves out")[1].split("\n## ")[0]
    told = [pattern.replace(".", r"\.").replace("*", ".*") for pattern in re.findall(r"`([^`]+)`", section)]
    rooms = {path.name for path in (ROOT / "src").iterdir()}
    left = {name for name, words in labels.items() if name.split(".")[0] in rooms and words[1] in rooms and "quick" not in words}
    return ([f"--quick leaves out {name}, and docs/testing.md does not say so" for name in left if not fits(told, name)] +
            [f"--quick leaves out nothing that is called {pattern}" for pattern in told if not any(re.fullmatch(pattern, name) for name in left)])


def lost(dev, asan):
    """Both map names to builds. The tests that the build dev leaves to the build asan, which does not have them; and the reverse."""
    return {name for name, builds in dev.items() if "asan" in builds} - set(asan) | {name for name, builds in asan.items() if "dev" in builds}


def cases_in(tests):
    """Every case of GoogleTest in the sources below `tests`: room.Suite.Name."""
    return {f"{path.relative_to(tests).parts[0]}.{suite}.{name}" for path in tests.rglob("*.cc")
            for suite, name in re.findall(r"^TEST(?:_[FP])?\(\s*(\w+),\s*(\w+)\)", path.read_text(), re.M)}


def unseen(cases, tests):
    """The cases that no test of a build runs. A program that ordinary_user.py runs contains the suite
    OfOrdinaryUser."""
    seen = {re.sub(r"^(\w+\.)(?:\w+/)?(\w+\.\w+).*", r"\1\2", test["name"], flags=re.S) for test in tests}
    whole = {pathlib.Path(word).name.removesuffix("_test") for test in tests if any(word.endswith("/ordinary_user.py") for word in test.get("command", []))
             for word in test["command"]}
    return {case for case in cases - seen if not (case.split(".")[0] in whole and case.split(".")[1] == "OfOrdinaryUser")}


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

    def test_each_test_is_in_the_build_that_runs_it(self):
        self.assertEqual(lost({"a": ["asan"], "b": ["dev"]}, {"a": ["asan"]}), set())
        self.assertEqual(lost({"a": ["asan"]}, {"b": ["asan"], "c": ["dev"]}), {"a", "c"})
        build = pathlib.Path(os.environ["BUILD"])
        if os.environ["PRESET"] == "asan" and (build.parent / "dev/build.ninja").exists():  # scripts/test builds both
            self.assertEqual(lost(tests_of(build.parent / "dev"), tests_of(build)), set())

    def test_the_page_has_what_quick_leaves_out(self):
        if os.environ["PRESET"] != "dev":
            return
        labels = {test["name"]: words_of(test) for test in listed(os.environ["BUILD"])}
        page = PAGE.read_text()
        self.assertEqual(quick_problems(page, labels), [])
        self.assertEqual(len(quick_problems(page, labels | {"store.Some.Test": ["asan", "store"]})), 1)
        self.assertEqual(len(quick_problems(page.replace("`agent.api`", "`agent.gone`"), labels)), 2)

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
        words = {word for test in listed(os.environ["BUILD"]) for word in test.get("command", [])}
        scripts = {str(path) for path in (ROOT / "tests").rglob("*_test.py")}
        self.assertGreater(len(scripts), 40)
        self.assertEqual(scripts - words, set())

    def test_the_page_has_what_changed_leaves_out(self):
        if os.environ["PRESET"] != "dev":
            return
        rooms = {test["name"]: words_of(test)[1] for test in listed(os.environ["BUILD"])}
        lines = changed.lines_of((ROOT / "tests/changed.txt").read_text())
        page = PAGE.read_text()
        self.assertEqual(left_out_problems(page, rooms, lines), [])
        self.assertEqual(len(left_out_problems(page.replace("| `golden` |", "| |"), rooms, lines)), 1)
        self.assertEqual(len(left_out_problems(page.replace("| `golden` |", "| `golden`, `ledger.*` |"), rooms, lines)), 1)

    def test_each_case_of_a_test_program_is_a_test(self):
        if os.environ["PRESET"] != "dev":
            return
        tests, cases = listed(os.environ["BUILD"]), cases_in(ROOT / "tests")
        self.assertGreater(len(cases), 500)
        self.assertEqual(unseen(cases, tests), set())
        some = {"store.Never.Seen", "supervisor.OfOrdinaryUser.Seen", "store.OfOrdinaryUser.Seen"}
        self.assertEqual(unseen(cases | some, tests), {"store.Never.Seen", "store.OfOrdinaryUser.Seen"})

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
