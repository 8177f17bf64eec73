#!/usr/bin/env python3
"""The simulator finds each mutant of the sources (base/mutant.h), and prints the seed that shows it."""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import unittest

HISTORIES_MAX = 8000
SHRUNK = "spec_hash_not_compared"
SOURCE = pathlib.Path(__file__).resolve().parents[2] / "src"


class Planted(unittest.TestCase):
    def test_each_is_found(self):
        bugs = sorted({bug for path in SOURCE.rglob("*.cc") for bug in re.findall(r'mutant\("(\w+)"\)', path.read_text())})
        self.assertGreaterEqual(len(bugs), 15)
        self.assertIn(SHRUNK, bugs)

        def look(bug):
            # Shrinking is for people and takes longer than finding the mutant, so only one mutant is shrunk.
            command = [os.environ["PAWL_SIM"], "--mutant", bug, "--first", "1", "--histories", str(HISTORIES_MAX),
                       "--shrink", str(int(bug == SHRUNK))]
            return subprocess.run(command, capture_output=True, text=True, timeout=600)

        with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
            looked = list(pool.map(look, bugs))
        for bug, done in zip(bugs, looked):
            with self.subTest(bug):
                found = re.search(r"VIOLATION in seed (\d+), history \d+: (.*)", done.stdout)
                self.assertTrue(found, f"not found: {done.stdout[-300:]}{done.stderr}")
                self.assertEqual(done.returncode, 1)
                print(f"{bug}: seed {found[1]}: {found[2]}")


if __name__ == "__main__":
    unittest.main(verbosity=2)
