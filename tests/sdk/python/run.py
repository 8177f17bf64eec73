#!/usr/bin/python3
"""PawlSaver (Python) with LangGraph: our tests, langgraph-checkpoint-conformance, and LangGraph's own tests of its graphs.

PAWL names the program, SDK_PYTHON the folder with the packages of requirements.txt (scripts/setup test).
Fails when a test fails, was skipped, or is missing.
"""

import asyncio
import importlib.metadata
import itertools
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

from agentd_process import start_agentd, stop

HERE = pathlib.Path(__file__).resolve().parent
SDK = HERE.parents[2] / "sdk/python"
PACKAGES = pathlib.Path(os.environ.get("SDK_PYTHON", HERE.parents[2] / "build/sdk-python")).resolve()
CONFORMANCE_TESTS = 81
GRAPH_TESTS = 636  # LangGraph's own tests that ask for a checkpointer, without LEFT_OUT
LEFT_OUT = {
    "test_stream_subgraphs_during_execution": "expects chunks within tenths of a second",
    "test_stream_buffering_single_node": "expects chunks within tenths of a second",
    "test_imp_nested": "expects that a task of no work ends within a hundredth of a second",
}


def in_the_venv():
    if pathlib.Path(sys.prefix) != PACKAGES / "venv":
        python = PACKAGES / "venv/bin/python"
        if not python.exists():
            sys.exit(f"{python} is missing: run scripts/setup test")
        os.execv(python, [python, *sys.argv])
    os.environ["PYTHONPATH"] = str(SDK)
    sys.path[:0] = [str(SDK)]


def told(what, passed, failed, skipped):
    """What is wrong with it."""
    print(f"{what}: {passed} of {passed + failed + skipped} tests passed, {failed} failed, {skipped} skipped", flush=True)
    return [f"{what}: tests failed or were skipped"] if failed or skipped else []


def our_tests():
    result = unittest.TextTestRunner().run(unittest.TestLoader().loadTestsFromName("tests.saver"))
    failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
    skipped = len(result.skipped) + len(result.expectedFailures)
    wrong = told("PawlSaver", result.testsRun - failed - skipped, failed, skipped)
    return wrong if result.testsRun else ["no test of ours was run"]


def conformance():
    import pawl
    from langgraph.checkpoint.conformance import checkpointer_test, validate
    from langgraph.checkpoint.conformance.report import ProgressCallbacks
    from pawl.langgraph import PawlSaver
    episodes = map("conformance-{}".format, itertools.count())

    @checkpointer_test(name="PawlSaver")
    async def saver():
        with pawl.connect(episode=next(episodes)) as agent:
            yield PawlSaver(agent)

    results = asyncio.run(validate(saver, progress=ProgressCallbacks.verbose())).results.values()
    passed, failed, skipped = (sum(getattr(result, f"tests_{how}") for result in results) for how in ("passed", "failed", "skipped"))
    wrong = told(f"langgraph-checkpoint-conformance {importlib.metadata.version('langgraph-checkpoint-conformance')}",
                 passed, failed, skipped)
    return wrong if passed == CONFORMANCE_TESTS else [*wrong, f"the conformance has {passed} tests that pass instead of {CONFORMANCE_TESTS}"]


def graphs(folder):
    tests = shutil.copytree(PACKAGES / "langgraph/tests", folder / "tests")
    for needs_a_database in ("conftest_checkpointer.py", "conftest_store.py"):
        (tests / needs_a_database).unlink()
    shutil.copy(HERE / "conftest.py", tests)
    files = [file for file in sorted(tests.glob("test_*.py")) if "sync_checkpointer" in file.read_text()]
    report = folder / "graphs.xml"
    subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-W", "ignore", "--tb=short", f"--junitxml={report}",
                    "-k", "not (" + " or ".join(LEFT_OUT) + ")", *files], cwd=folder)
    cases = xml.etree.ElementTree.parse(report).getroot().findall(".//testcase")
    skipped = sum(case.find("skipped") is not None for case in cases)
    failed = sum(case.find("failure") is not None or case.find("error") is not None for case in cases)
    wrong = told(f"langgraph {importlib.metadata.version('langgraph')}, its own tests with a checkpointer",
                 len(cases) - failed - skipped, failed, skipped)
    for name, why in LEFT_OUT.items():
        print(f"  left out: {name}: {why}", flush=True)
    return wrong if len(cases) == GRAPH_TESTS else [*wrong, f"LangGraph has {len(cases)} tests with a checkpointer instead of {GRAPH_TESTS}"]


def main():
    in_the_venv()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="pawl-sdk-"))
    wrong = our_tests()
    agentd, socket = start_agentd(folder)
    os.environ["PAWL_SOCKET"] = str(socket)
    try:
        wrong += conformance() + graphs(folder)
    finally:
        ended = stop(agentd)
        shutil.rmtree(folder)
    sys.exit("\n".join(wrong) or (f"agentd ended with {ended}" if ended != 0 else 0))


main()
