"""What parts that measure whole processes share."""

import statistics
import subprocess
import time

BWRAP_FULL = "bwrap --unshare-all --ro-bind / / --dev /dev --proc /proc --tmpfs /tmp /bin/true".split()
BWRAP = "bwrap --unshare-all --ro-bind / / true".split()


def seconds(argv, **kwargs):
    started = time.perf_counter()
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, **kwargs)
    return time.perf_counter() - started


def median_ms(count, argv, **kwargs):
    return statistics.median(seconds(argv, **kwargs) for _ in range(count)) * 1000


def plan(phases, agent='["true"]'):
    lines = ["version: 1", "workflow: bench", "source: {path: source}", "gates:",
             "  check: {steps: [{name: unit, run: [\"true\"]}]}", "tiers:", "  - phases:"]
    return "\n".join(lines + [f"      - {{id: p{i}, may_be_empty: true, goal: g, agent: {{run: {agent}}}, gates: [check]}}" for i in range(phases)]) + "\n"


def own_steps(attempt):
    """The steps of an attempt as `pawl inspect --json` has them, without those that ask base."""
    return [step for step in attempt["steps"] if "@base" not in step["label"]]


def with_source(folder):
    (folder / "source").mkdir()
    (folder / "source/file").write_text("x\n")
    return folder
