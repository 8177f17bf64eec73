"""The front of scripts/bench: names, the list, figures as they come, JSON, Ctrl-C, exit codes. Nothing is measured."""

import contextlib
import io
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import build  # noqa: E402
import figures  # noqa: E402
import front  # noqa: E402
import noise  # noqa: E402
from figure import Figure, Group, Part  # noqa: E402

QUIET = noise.Noise(1000, 0.01)
LINE = re.compile(r"^(\S+) +([0-9.]+) (\S+)(?: +((?:<|>)=? \S+) +(ok|MISSED))?$")


def fast(_):
    yield "fast_ms", 1.23456
    yield "slow_ms", 99.0


def rate(_):
    yield "rate", 7.0


def breaks(_):
    yield "first", 1.0
    raise OSError("no such program")


def is_interrupted(_):
    yield "first", 1.0
    raise KeyboardInterrupt


def part(measure, *figures, needs=()):
    return Part("something", measure, tuple(Figure(*each) for each in figures), frozenset(needs))


TIMES = Group("times", "times of something", (part(fast, ("fast_ms", "ms", "< 10"), ("slow_ms", "ms", "< 10"), needs=["a"]),))
RATES = Group("rates", "rates of something", (part(rate, ("rate", "1/s"), needs=["b"]),))


class Front(unittest.TestCase):
    def bench(self, *argv, groups=(TIMES, RATES), noises=(QUIET, QUIET)):
        """The exit code; stdout and stderr are kept, and what was built."""
        self.built, left = [], list(noises)

        @contextlib.contextmanager
        def prepare(needs, say):
            self.built.append(needs)
            yield build.Place(pathlib.Path("/nowhere"), say)

        out, err = io.StringIO(), io.StringIO()
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                return front.main(list(argv), groups, prepare, out, err, lambda _: left.pop(0))
        except SystemExit as ended:
            return ended.code
        finally:
            self.out, self.err = out.getvalue(), err.getvalue()

    def figures_in(self, text):
        return {found[1]: found.groups()[1:] for found in map(LINE.match, text.splitlines()) if found}

    def test_without_a_name_all_is_measured_and_a_missed_figure_is_no_failure(self):
        self.assertEqual(self.bench(), 0)
        self.assertEqual(self.figures_in(self.out), {"fast_ms": ("1.23", "ms", "< 10", "ok"), "slow_ms": ("99.00", "ms", "< 10", "MISSED"),
                                                     "rate": ("7.00", "1/s", None, None)})
        self.assertEqual(len(self.out.splitlines()), 3)
        self.assertIn("3 figures, 1 missed: slow_ms", self.err)
        self.assertRegex(self.err, r"time: times \d+ s, rates \d+ s; in all \d+ s")

    def test_a_group_builds_and_measures_only_itself(self):
        self.assertEqual(self.bench("rates"), 0)
        self.assertEqual(list(self.figures_in(self.out)), ["rate"])
        self.assertEqual(self.built, [frozenset("b")])

    def test_a_figure_is_printed_without_what_is_measured_beside_it(self):
        self.assertEqual(self.bench("slow_ms"), 0)
        self.assertEqual(list(self.figures_in(self.out)), ["slow_ms"])

    def test_an_unknown_name_lists_near_ones_and_builds_nothing(self):
        self.assertEqual(self.bench("times", "fsat_ms"), 2)
        self.assertIn("fast_ms", self.err)
        self.assertEqual((self.out, self.built), ("", []))

    def test_an_unknown_option_is_the_same_exit_code(self):
        self.assertEqual(self.bench("--jsn"), 2)

    def test_help_has_an_example_and_the_exit_codes(self):
        self.assertEqual(self.bench("--help"), 0)
        self.assertIn("scripts/bench sandbox workspace", self.out)
        self.assertIn("130", self.out)

    def test_the_list_has_groups_and_goals_and_builds_nothing(self):
        self.assertEqual(self.bench("--list"), 0)
        self.assertRegex(self.out, r"times: times of something\n  fast_ms +ms +< 10\n")
        self.assertEqual(self.built, [])

    def test_json_is_one_object_and_all_else_is_on_stderr(self):
        self.assertEqual(self.bench("--json"), 0)
        self.assertEqual(json.loads(self.out), {"fast_ms": {"value": 1.235, "unit": "ms", "goal": "< 10", "ok": True},
                                                "slow_ms": {"value": 99.0, "unit": "ms", "goal": "< 10", "ok": False},
                                                "rate": {"value": 7.0, "unit": "1/s", "goal": "", "ok": True}})
        self.assertEqual(len(self.figures_in(self.err)), 3)

    def test_what_fails_is_named_and_the_rest_is_measured(self):
        broken = Group("broken", "breaks", (part(breaks, ("first", "ms"), ("second", "ms")),))
        self.assertEqual(self.bench(groups=(broken, RATES)), 1)
        self.assertEqual(list(self.figures_in(self.out)), ["first", "rate"])
        self.assertRegex(self.err, "not measured: second: .*no such program")

    def test_ctrl_c_leaves_what_was_measured(self):
        stopped = Group("stopped", "is interrupted", (part(is_interrupted, ("first", "ms")),))
        self.assertEqual(self.bench(groups=(stopped, RATES)), 130)
        self.assertEqual(list(self.figures_in(self.out)), ["first"])
        self.assertIn("noise: bare commits: before 1000/s, spread 1%\n", self.err)
        self.assertEqual(self.bench("--json", groups=(stopped, RATES)), 130)
        self.assertEqual(list(json.loads(self.out)), ["first"])

    def test_a_quiet_machine_gets_no_warning(self):
        self.bench("rates")
        self.assertIn("noise:", self.err)
        self.assertNotIn("warning:", self.err)

    def test_a_machine_whose_equal_work_differs_gets_a_warning(self):
        self.bench("rates", noises=(QUIET, noise.Noise(1000, 0.6)))
        self.assertRegex(self.err, "warning: .*60%")
        stopped = Group("stopped", "is interrupted", (part(is_interrupted, ("first", "ms")),))
        self.bench(groups=(stopped,), noises=(noise.Noise(1000, 0.6),))
        self.assertRegex(self.err, "warning: .*60%")

    def test_a_machine_that_changes_its_pace_gets_a_warning(self):
        self.bench("rates", noises=(QUIET, noise.Noise(500, 0.01)))
        self.assertRegex(self.err, "warning: .*1000/s to 500/s")


class Noise(unittest.TestCase):
    def test_one_turn_that_was_disturbed_is_not_the_spread(self):
        self.assertLess(noise.of_rates([1000.0] * 9 + [10.0]).spread, 0.01)

    def test_turns_that_differ_are(self):
        self.assertGreater(noise.of_rates([1000.0, 600.0] * 5).spread, 0.3)


class Promised(unittest.TestCase):
    def test_no_two_figures_or_groups_have_one_name(self):
        names = [group.name for group in figures.GROUPS] + [each.name for group in figures.GROUPS for each in group.figures()]
        self.assertEqual(len(names), len(set(names)))

    def test_every_goal_can_be_met_and_missed(self):
        for each in (each for group in figures.GROUPS for each in group.figures() if each.goal):
            self.assertNotEqual(each.ok(0), each.ok(1e12), each)

    def test_what_is_needed_can_be_built(self):
        known = {*build.RELEASE_TARGETS, *build.DEV_TARGETS, build.SAVERS, build.PROGRAMS}
        for group in figures.GROUPS:
            for each in group.parts:
                self.assertTrue(each.needs and each.needs <= known, each)


class LeftOver(unittest.TestCase):
    def test_a_process_that_outlived_its_parent_is_ended(self):
        # Given a child in a session of its own, with the mark in its environment.
        mark = f"bench-test-{os.getpid()}-{time.monotonic_ns()}"
        child = subprocess.Popen(["sleep", "60"], env={**os.environ, "BENCH_FOLDER": mark}, start_new_session=True)
        # execve(2) closes the pipe that Popen waits for before the kernel shows the new environment.
        while mark.encode() not in pathlib.Path(f"/proc/{child.pid}/environ").read_bytes():
            time.sleep(0.01)
        build.end_what_is_left(mark)
        self.assertEqual(child.wait(timeout=30), -signal.SIGKILL)


if __name__ == "__main__":
    unittest.main()
