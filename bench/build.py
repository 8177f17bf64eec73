"""Builds and installs what the wanted parts need, and nothing else; gives them the place where they work, and clears it up."""

import contextlib
import dataclasses
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable

ROOT = pathlib.Path(__file__).resolve().parents[1]
RELEASE, DEV = ROOT / "build/release", ROOT / "build/dev"
LOOKS_MAX = 100
INSTALLED = ("pawl", "pawl-engine", "pawl-reader", "pawl-supervisor")

# The targets and services that a part can need.
PAWL, BENCH, LOAD, HOOKS, SIMULATOR, SAVERS, PROGRAMS = (
    "pawl", "pawl_bench", "agent_load", "pawl with test hooks", "pawl-sim", "savers", "agent programs")
RELEASE_TARGETS = (PAWL, BENCH, LOAD)
DEV_TARGETS = {HOOKS: "pawl", SIMULATOR: "pawl-sim"}  # a release has neither the test hooks nor the simulator


@dataclasses.dataclass(frozen=True)
class Place:
    folder: pathlib.Path  # absolute; removed at the end
    say: Callable[[str], None]
    pawl: pathlib.Path = RELEASE / "installed/pawl"
    bench: pathlib.Path = RELEASE / "bench/pawl_bench"
    load: pathlib.Path = RELEASE / "bench/agent_load"
    hooked: pathlib.Path = DEV / "pawl"
    simulator: pathlib.Path = DEV / "tests/sim/pawl-sim"

    def fresh(self, name):
        folder = self.folder / name
        folder.mkdir()
        return folder


def run(argv):
    subprocess.run(argv, check=True, cwd=ROOT, stdout=sys.stderr)


def build(needs, say):
    run(["scripts/setup", "bench"])
    if SAVERS in needs:
        run(["scripts/setup", "savers"])
    if PROGRAMS in needs:
        run(["scripts/setup", "test"])
    release = [target for target in RELEASE_TARGETS if target in needs]
    dev = [target for need, target in DEV_TARGETS.items() if need in needs]
    if release:
        say(f"building: {' '.join(release)}")
        run(["cmake", "--preset", "release"])  # each time, since the benchmark library may have been installed after the first
        run(["cmake", "--build", "--preset", "release", "--target", *release])
    if dev:
        say(f"building, with test hooks: {' '.join(dev)}")
        if not (DEV / "build.ninja").exists():
            run(["cmake", "--preset", "dev"])
        run(["cmake", "--build", "--preset", "dev", "--target", *dev])
    if PAWL in needs:
        install()


def install():
    """Measured as they are installed: what a linker wrote lies in the cache page by page, and starts 0.2 ms later."""
    (RELEASE / "installed").mkdir(exist_ok=True)
    for program in INSTALLED:
        installed = RELEASE / "installed" / program
        installed.unlink(missing_ok=True)
        shutil.copy(RELEASE / program, installed)


def end_what_is_left(mark):
    """Ends every process that has `mark` in its command or environment: a supervisor outlives who started it, by design."""
    for _ in range(LOOKS_MAX):
        if not sum(kill_if_marked(entry, mark.encode()) for entry in pathlib.Path("/proc").iterdir() if entry.name.isdigit()):
            return
        time.sleep(0.05)  # killed processes need time to end, and the next look finds the processes that they started last


def kill_if_marked(entry, mark):
    if int(entry.name) == os.getpid():
        return False
    try:
        marked = any(mark in (entry / file).read_bytes() for file in ("cmdline", "environ"))
        if marked:
            os.kill(int(entry.name), signal.SIGKILL)
        return marked
    except OSError:  # it has ended, or belongs to another user
        return False


@contextlib.contextmanager
def prepare(needs, say):
    build(needs, say)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="pawl-bench-", dir=ROOT / "build"))
    os.environ["BENCH_FOLDER"] = str(folder)  # identifies grandchildren, too
    try:
        yield Place(folder, say)
    finally:
        end_what_is_left(str(folder))
        shutil.rmtree(folder, ignore_errors=True)
        if folder.exists():
            say(f"could not be removed: {folder}")
