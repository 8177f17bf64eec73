#!/usr/bin/env python3
"""Each bug that the sources can plant (base/planted.h) is found by the simulator, and it says after how many histories."""

import os
import pathlib
import re
import subprocess
import unittest

HISTORIES_MAX = 20000
SOURCE = pathlib.Path(__file__).resolve().parents[2] / "src"


class Planted(unittest.TestCase):
    def test_each_is_found(self):
        bugs = sorted({bug for path in SOURCE.rglob("*.cc") for bug in re.findall(r'planted\("(\w+)"\)', path.read_text())})
        self.assertGreaterEqual(len(bugs), 15)
        for bug in bugs:
            with self.subTest(bug):
                done = subprocess.run([os.environ["PAWL_SIM"], "--planted", bug, "--histories", str(HISTORIES_MAX)],
                                      capture_output=True, text=True, timeout=600)
                found = re.search(r"VIOLATION in seed \d+, history (\d+): (.*)", done.stdout)
                self.assertTrue(found, f"not found: {done.stdout[-300:]}{done.stderr}")
                self.assertEqual(done.returncode, 1)
                print(f"{bug}: history {found[1]}: {found[2]}")


if __name__ == "__main__":
    unittest.main(verbosity=2)
