#!/usr/bin/env python3
"""Builds the packages of sdk/, starts `pawl agentd`, and runs their tests and LangGraph's validation against it.

PAWL names the program, SDK_PACKAGES the folder with the packages of package.json (scripts/setup test).
Fails when a test fails, was skipped, or is missing.
"""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

from agentd_process import start_agentd, stop

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
PACKAGES = pathlib.Path(os.environ.get("SDK_PACKAGES", ROOT / "build/sdk-typescript"))
VALIDATION_TESTS = 718 + 8  # LangGraph's validation, and its tests of getDeltaChannelHistory


def prepare():
    # Debian 12 has Node.js 18, which is too old for them: one of these packages is a newer one.
    os.environ["PATH"] = f"{PACKAGES}/node_modules/.bin:{os.environ['PATH']}"
    subprocess.run([HERE / "build", PACKAGES], check=True)
    shutil.rmtree(PACKAGES / "tests", ignore_errors=True)
    shutil.copytree(HERE / "tests", PACKAGES / "tests")
    subprocess.run(["node_modules/.bin/tsc", "-p", "tests"], cwd=PACKAGES, check=True)
    shutil.copytree(ROOT / "examples/langgraph-js", PACKAGES / "tests/example", ignore=shutil.ignore_patterns("node_modules"))


def run_tests(folder, socket):
    results = folder / "results.json"
    command = ["node_modules/.bin/vitest", "run", "--globals", "--root", PACKAGES, "--dir", PACKAGES / "tests", "--maxWorkers=2",
               "--testTimeout=120000", "--hookTimeout=120000", "--reporter=default", "--reporter=json", f"--outputFile={results}",
               *sys.argv[1:]]
    env = {**os.environ, "PAWL_SOCKET": str(socket), "PAWL_STATE": str(folder / "state")}
    status = subprocess.run(command, cwd=PACKAGES, env=env).returncode
    return status, json.loads(results.read_text())


def main():
    prepare()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="pawl-sdk-"))
    agentd, socket = start_agentd(folder)
    try:
        status, found = run_tests(folder, socket)
    finally:
        ended = stop(agentd)
        shutil.rmtree(folder)
    tests = [test for file in found["testResults"] for test in file["assertionResults"]]
    validation = [test for file in found["testResults"] if file["name"].endswith("/validation.test.ts")
                  for test in file["assertionResults"]]
    passed = sum(test["status"] == "passed" for test in validation)
    print(f"@langchain/langgraph-checkpoint-validation: {passed} of {len(validation)} tests passed, "
          f"{len(validation) - passed} skipped or failed")
    print(f"all: {sum(test['status'] == 'passed' for test in tests)} of {len(tests)} passed")
    if not sys.argv[1:] and len(validation) != VALIDATION_TESTS:
        sys.exit(f"the validation has {len(validation)} tests instead of {VALIDATION_TESTS}")
    if any(test["status"] != "passed" for test in tests):
        sys.exit("a test failed or was skipped")
    if ended != 0:
        sys.exit(f"agentd ended with {ended}")
    sys.exit(status)


main()
