"""Parts of scripts/bench with few files and rounds: each still gives its figures, whatever became of plans and outputs that it
reads. The values mean nothing."""

import os
import pathlib
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
os.environ["PAWL_BENCH_LARGE_FILES"] = "300"
os.environ["PAWL_BENCH_PART"] = "0.02"
sys.path.insert(0, str(ROOT / "bench"))
import build  # noqa: E402
import figures  # noqa: E402
import in_process  # noqa: E402
import large  # noqa: E402
import runs  # noqa: E402

in_process.ENGINE_ROUNDS = 1
large.COMMITS, large.ROUNDS = 1, 1
large.WRITES = large.WRITES.replace(f"range({large.NEW_FILES // 100})", "range(3)")
runs.PHASES, runs.LEDGER_ROWS, runs.GATED_FOLDERS = 2, 1000, 1
MEASURED = [runs.version, runs.status, runs.attempts, runs.gates, runs.at_rest, large.commits, large.first, large.folder_unchanged,
            large.gc, large.collect, in_process.engine, in_process.claims, in_process.verify, in_process.redact, in_process.probe,
            in_process.workspace, in_process.agent_growth, in_process.agent_state]


class Parts(unittest.TestCase):
    def test_each_gives_its_figures(self):
        with tempfile.TemporaryDirectory(prefix="pawl-bench-") as name:
            place = build.Place(pathlib.Path(name), lambda _: None, pawl=pathlib.Path(os.environ["PAWL"]), bench=pathlib.Path(os.environ["PAWL_BENCH"]))
            parts = {part.measure: part for group in figures.GROUPS for part in group.parts}
            for measure in MEASURED:
                part = parts[measure]
                with self.subTest(part.says):
                    found = dict(measure(place))
                    self.assertEqual(set(found), {figure.name for figure in part.figures})
                    self.assertTrue(all(value > 0 for figure, value in found.items() if not figure.endswith("_by_written")), found)


if __name__ == "__main__":
    unittest.main(verbosity=2)
