#!/usr/bin/env python3
"""The figures, measured in one run: whole processes here, the rest by pawl_bench. See scripts/bench."""

import json
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

PAWL, BENCH = sys.argv[1], sys.argv[2]
AS_JSON = "--json" in sys.argv
PHASES = 20
BWRAP_FULL = "bwrap --unshare-all --ro-bind / / --dev /dev --proc /proc --tmpfs /tmp /bin/true".split()
BWRAP = "bwrap --unshare-all --ro-bind / / true".split()


def seconds(argv, **kwargs):
    started = time.perf_counter()
    subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, **kwargs)
    return time.perf_counter() - started


def plan(phases):
    lines = ["version: 1", "workflow: bench", "source: {path: source}", "gates:",
             "  check: {steps: [{name: unit, run: [\"true\"]}]}", "tiers:", "  - phases:"]
    return "\n".join(lines + [f"      - {{id: p{i}, goal: g, agent: {{run: [\"true\"]}}, gates: [check]}}"
                              for i in range(phases)]) + "\n"


def whole_processes(folder):
    (folder / "source").mkdir()
    (folder / "source/file").write_text("x\n")
    (folder / "plan.yaml").write_text(plan(PHASES))
    version = statistics.median(seconds([PAWL, "--version"]) for _ in range(50))
    attempts, pairs = [], []
    for _ in range(5):  # side by side, and a ratio a round: the machine is shared, and changes its pace
        pairs.append(statistics.median(sum(seconds(BWRAP) for _ in range(2)) for _ in range(10)))
        attempts.append(seconds([PAWL, "run", "plan.yaml"], cwd=folder) / PHASES)
    ratio = statistics.median(attempt / pair for attempt, pair in zip(attempts, pairs))
    status = statistics.median(seconds([PAWL, "status"], cwd=folder) for _ in range(50))
    attempt, pair = statistics.median(attempts), statistics.median(pairs)
    return {
        "version_ms": (version * 1000, "ms", "< 10", version < 0.010),
        "status_ms": (status * 1000, "ms", "< 10", status < 0.010),
        "two_bwraps_ms": (pair * 1000, "ms", "", True),
        "attempt_ms": (attempt * 1000, "ms", "", True),
        "attempt_by_two_bwraps": (ratio, "ratio", "<= 3", ratio <= 3),
    }


def sandboxes():
    """One command in a sandbox with every wall, a whole process, against bubblewrap's."""
    ours, theirs = [], []
    for _ in range(100):
        ours.append(seconds([PAWL, "sandbox", "exec", "--", "/bin/true"]))
        theirs.append(seconds(BWRAP_FULL))
    exec_time, bwrap_time = statistics.median(ours), statistics.median(theirs)
    return {
        "sandbox_exec_ms": (exec_time * 1000, "ms", "", True),
        "bwrap_ms": (bwrap_time * 1000, "ms", "", True),
        "exec_by_bwrap": (exec_time / bwrap_time, "ratio", "<= 0.75", exec_time <= 0.75 * bwrap_time),
    }


def in_process():
    done = subprocess.run([BENCH, "--benchmark_format=json"], check=True, capture_output=True, text=True)
    found = {entry["name"].split("/")[0]: entry for entry in json.loads(done.stdout)["benchmarks"]}
    claim, verify = found["Claim"], found["VerifyLedger"]["bytes_per_second"] / 1e6
    probe, clone = found["Probe"]["probe_us"], found["Probe"]["clone_us"]
    opened, copied = found["WorkspaceOpen"]["real_time"], found["WorkspaceCopyOut"]["real_time"]
    return {
        "claim_p50_us": (claim["p50_us"], "us", "< 200", claim["p50_us"] < 200),
        "claim_p99_us": (claim["p99_us"], "us", "< 2000", claim["p99_us"] < 2000),
        "verify_mb_per_s": (verify, "MB/s", ">= 500", verify >= 500),
        "probe_us": (probe, "us", "", True),
        "probe_by_bare_clone": (probe / clone, "ratio", "<= 2.5", probe <= 2.5 * clone),
        "workspace_open_ms": (opened, "ms", "< 20", opened < 20),
        "workspace_copy_out_ms": (copied, "ms", "< 20", copied < 20),
    }


def main():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="pawl-bench-", dir="build"))
    try:
        figures = whole_processes(folder.resolve())
    finally:
        shutil.rmtree(folder)
    figures.update(sandboxes())
    figures.update(in_process())
    if AS_JSON:
        print(json.dumps({name: dict(zip(("value", "unit", "goal", "ok"), (round(f[0], 3), *f[1:])))
                          for name, f in figures.items()}))
    else:
        for name, (value, unit, goal, ok) in figures.items():
            print(f"{name:24} {value:10.2f} {unit:6} {goal:8} {'' if not goal else 'ok' if ok else 'MISSED'}")


main()
