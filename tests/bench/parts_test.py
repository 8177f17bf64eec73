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
os.chdir(ROOT)
sys.path.insert(0, str(ROOT / "bench"))
import agents  # noqa: E402
import build  # noqa: E402
import figures  # noqa: E402
import in_process  # noqa: E402
import large  # noqa: E402
import programs  # noqa: E402
import runs  # noqa: E402
import sandboxes  # noqa: E402

in_process.ENGINE_ROUNDS, in_process.HISTORIES = 1, 20
agents.STEPS_SECONDS, agents.HOSTILE_SECONDS = 1, 1
sandboxes.COMMANDS, sandboxes.FILES, sandboxes.ROUNDS_MIN, sandboxes.ROUNDS_S = 3, 1, 2, 0
sandboxes.CLIENT = sandboxes.CLIENT.replace("4 << 30", "4 << 20")
large.COMMITS, large.ROUNDS = 1, 1
programs.SIX, programs.WAIT_S = ("codex",), 20  # a run of each takes half a minute on a busy machine
large.WRITES = large.WRITES.replace(f"range({large.NEW_FILES // 100})", "range(3)")
runs.PHASES, runs.LEDGER_ROWS, runs.GATED_FOLDERS = 2, 1000, 1
runs.RESTARTED = {name: 10 * number for number, name in enumerate(runs.RESTARTED, 1)}
# Differences of two times: on a busy machine, a small one may be below zero.
DIFFERENCES = ("_by_written", "_git_ready_ms", "_first_call_s")
# They install databases and packages first.
LEFT_OUT = {"savers", "sdk"}


class Parts(unittest.TestCase):
    def test_each_gives_its_figures(self):
        with tempfile.TemporaryDirectory(prefix="pawl-bench-") as name:
            pawl, bench, load, simulator = (pathlib.Path(os.environ[program]) for program in ("PAWL", "PAWL_BENCH", "PAWL_LOAD", "PAWL_SIM"))
            place = build.Place(pathlib.Path(name), lambda _: None, pawl, bench, load, hooked=pawl, simulator=simulator)
            for part in (part for group in figures.GROUPS if group.name not in LEFT_OUT for part in group.parts):
                with self.subTest(part.says):
                    found = dict(part.measure(place))
                    names = {figure.name for figure in part.figures}
                    self.assertEqual(set(found), {name for name in names if name.startswith("programs.codex_") or not name.startswith("programs.")})
                    self.assertTrue(all(value > 0 for figure, value in found.items() if not figure.endswith(DIFFERENCES)), found)


if __name__ == "__main__":
    unittest.main(verbosity=2)
