#!/usr/bin/env python3
"""Runs all tests of a GoogleTest program as an ordinary user, even for root: ordinary_user.py PROGRAM [NAME=FILE ...]

It runs a copy, since only root may be able to read the build folder; NAME is set to a copy of FILE. Fails when a test fails or is skipped,
and when there is none.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ORDINARY = 1234


def main():
    program, *named = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="pawl-user-") as name:
        folder = pathlib.Path(name)
        folder.chmod(0o755)
        report = folder / "report"
        report.mkdir()
        user = ["setpriv", f"--reuid={ORDINARY}", f"--regid={ORDINARY}", "--clear-groups"] if os.geteuid() == 0 else []
        if user:
            os.chown(report, ORDINARY, ORDINARY)
        copies = {variable: shutil.copy(file, folder) for variable, _, file in (each.partition("=") for each in named)}
        command = [*user, shutil.copy(program, folder), f"--gtest_output=json:{report}/tests.json"]
        status = subprocess.run(command, cwd="/", env={**os.environ, **copies}).returncode
        try:
            suites = json.loads((report / "tests.json").read_text())["testsuites"]
        except FileNotFoundError:
            sys.exit(f"it ended with {status} and told nothing of its tests")
    tests = [test for suite in suites for test in suite["testsuite"]]
    unfit = [f"{test['classname']}.{test['name']}" for test in tests if test["result"] != "COMPLETED" or "failures" in test]
    print(f"as an ordinary user: {len(tests) - len(unfit)} of {len(tests)} tests passed")
    if unfit:
        sys.exit("failed or skipped: " + " ".join(unfit))
    sys.exit(status if tests else "no test was run")


main()
