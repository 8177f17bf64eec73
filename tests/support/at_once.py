"""Runs the cases of a test file at the same time, since most of them wait more than they work.

Each case is a process of its own, with its own environment and exit status. Without arguments `main` runs all cases; with arguments it is
unittest.main, which runs the named ones one after another. A skipped case fails, and so does a file without cases.
"""

import os
import sys
import tempfile
import time
import unittest


def waits(case):
    """Marks a case that only waits for most of its time: it runs beside all others."""
    case.waits = True
    return case


def main(at_once=4, enter=None):
    """Runs `at_once` cases at a time, and all cases marked with @waits beside them. Each process first calls `enter` with the name of its case."""
    if len(sys.argv) > 1:
        unittest.main(verbosity=1)
    cases = list(flat(unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"])))
    beside = [case for case in cases if is_marked(case)]
    others = [case for case in cases if not is_marked(case)]
    started, running, failed = time.monotonic(), {}, []
    for case in beside:
        start(case, enter, running)
    while others or running:
        while others and sum(not is_marked(case) for case, *_ in running.values()) < at_once:
            start(others.pop(0), enter, running)
        pid, status = os.wait()
        if pid not in running:
            continue  # an orphan of a case, which this process has adopted
        case, output, began = running.pop(pid)
        output.seek(0)
        said = output.read().decode(errors="replace")
        print(f"{'ok' if status == 0 else 'FAILED'} {name_of(case)} in {time.monotonic() - began:.1f} s\n{said}", end="", flush=True)
        if status != 0:
            failed.append(name_of(case))
    print(f"{len(cases)} cases in {time.monotonic() - started:.1f} s, {len(failed)} failed: {' '.join(failed)}")
    sys.exit(0 if cases and not failed else 1)


def flat(suite):
    for each in suite:
        if isinstance(each, unittest.TestSuite):
            yield from flat(each)
        else:
            yield each


def is_marked(case):
    return getattr(getattr(case, case._testMethodName, None), "waits", False)


def name_of(case):
    return f"{type(case).__name__}.{case._testMethodName}"


def start(case, enter, running):
    output = tempfile.TemporaryFile()
    began = time.monotonic()
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
            if enter:
                enter(name_of(case))
            code = 0 if run(case) else 1
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    running[pid] = (case, output, began)


def run(case):
    """Like unittest.main, but prints problems only."""
    result = unittest.TextTestRunner(stream=open(os.devnull, "w")).run(unittest.TestSuite([case]))
    for what, problems in (("ERROR", result.errors), ("FAIL", result.failures)):
        for where, text in problems:
            print(f"{what}: {where}\n{text}")
    for _, reason in result.skipped:
        print(f"skipped: {reason}")
    return result.wasSuccessful() and not result.skipped
