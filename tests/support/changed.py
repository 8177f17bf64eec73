#!/usr/bin/env python3
"""Prints one regular expression for ctest, which selects the tests of `scripts/test --changed`. tests/changed.txt names the tests for each file
that differs from the upstream branch (without one from origin's, otherwise from HEAD). The house rules are always included. Prints nothing when
no file differs."""

import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def lines_of(text):
    """The pairs (beginning of a path, tests), in order."""
    lines = [line.partition(":") for line in text.splitlines() if line and not line.startswith("#")]
    return [(beginning, tests.split()) for beginning, _, tests in lines]


def tests_for(path, lines):
    for beginning, tests in lines:
        fits = re.match("([^/]+)".join(map(re.escape, beginning.split("%"))), path)
        if fits:
            return {filled(test, fits.groups()) for test in tests}
    return set()


def filled(test, names):
    left = iter(names)
    return re.sub("%", lambda _: re.escape(next(left)), test)


def regex_for(paths, lines):
    tests = {"house.rules"}.union(*(tests_for(path, lines) for path in paths))
    return f"^({'|'.join(sorted(tests))})$" if paths else ""


def git(*words):
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)


def changed():
    bases = (git("merge-base", "HEAD", other).stdout.strip() for other in ("@{upstream}", "origin/HEAD", "HEAD"))
    base = next(filter(None, bases), "HEAD")
    done = [git("diff", "--name-only", "--no-renames", base), git("ls-files", "-o", "--exclude-standard")]
    if any(one.returncode for one in done):
        sys.exit("".join(one.stderr for one in done))
    return [path for one in done for path in one.stdout.splitlines()]


if __name__ == "__main__":
    print(regex_for(changed(), lines_of((ROOT / "tests/changed.txt").read_text())))
