"""Runs of plans, as whole processes: commands, attempts, gates, and an executor that waits or comes back."""

import datetime
import json
import pathlib
import re
import sqlite3
import statistics
import subprocess
import time

from commands import BWRAP, median_ms, own_steps, plan, seconds, with_source

PHASES = 20
SLEEPS = "[sleep, 60]"
LEDGER_ROWS = 1_000_000
GATED_FOLDERS = 500  # folders with 100 files each
RESTARTED = {"1k": 1_000, "10k": 10_000, "100k": 100_000}  # phases


def version(place):
    yield "version_ms", median_ms(50, [place.pawl, "--version"])


def status(place):
    """After a run; then the first page of a run whose ledger has a million rows."""
    folder = with_source(place.fresh("status"))
    (folder / "plan.yaml").write_text(plan(PHASES))
    subprocess.run([place.pawl, "run", "plan.yaml"], check=True, cwd=folder, stdout=subprocess.DEVNULL)
    yield "status_ms", median_ms(50, [place.pawl, "status"], cwd=folder)
    with sqlite3.connect(folder / "source/.pawl/pawl.db") as database:
        # The rows belong to that run, and to phases that the page does not show: ten rows per phase, like real phases.
        database.execute(f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {LEDGER_ROWS}) INSERT INTO ledger (run_id, chain, seq,"
                         " hash, line) SELECT run_id, 'later' || (n.i / 10), n.i, hash, line FROM ledger, n WHERE chain = 'p0' AND seq = 1")
    yield "inspect_a_million_rows_ms", median_ms(50, [place.pawl, "inspect", "last"], cwd=folder)


def attempts(place):
    folder = with_source(place.fresh("attempts"))
    (folder / "plan.yaml").write_text(plan(PHASES))
    attempts, pairs = [], []
    for _ in range(5):  # in turns, with one ratio per round: the machine is shared, and its speed changes
        pairs.append(statistics.median(sum(seconds(BWRAP) for _ in range(2)) for _ in range(10)))
        attempts.append(seconds([place.pawl, "run", "plan.yaml"], cwd=folder) / PHASES)
    yield "two_bwraps_ms", statistics.median(pairs) * 1000
    yield "attempt_ms", statistics.median(attempts) * 1000
    yield "attempt_by_two_bwraps", statistics.median(attempt / pair for attempt, pair in zip(attempts, pairs))


def gates(place):
    """What a gate takes beside its own steps, on 50,000 files: from the start of one gate's step to the next one's."""
    folder = place.fresh("gates")
    for i in range(GATED_FOLDERS):
        (folder / f"large/{i}").mkdir(parents=True)
        for j in range(100):
            (folder / f"large/{i}/{j}").write_text(f"{i} {j}\n")
    names = [f"g{i}" for i in range(21)]
    lines = ["version: 1", "workflow: gates", "source: {path: large}", "gates:"]
    lines += [f"  {name}: {{steps: [{{name: unit, run: [\"true\"]}}]}}" for name in names]
    lines += ["tiers:", "  - phases:", f"      - {{id: p, goal: g, agent: {{run: [touch, new]}}, gates: [{', '.join(names)}]}}"]
    (folder / "gates.yaml").write_text("\n".join(lines) + "\n")
    subprocess.run([place.pawl, "run", "gates.yaml", "--dir", "gates"], check=True, cwd=folder, stdout=subprocess.DEVNULL)
    seen = subprocess.run([place.pawl, "inspect", "last", "--dir", "gates", "--json"], check=True, cwd=folder, capture_output=True, text=True)
    steps = own_steps(json.loads(seen.stdout)["phases"][0]["attempts"][0])[1:]
    started = [datetime.datetime.fromisoformat(step["started_at"].replace("Z", "+00:00")) for step in steps]
    yield "gate_adds_ms", statistics.median((after - before).total_seconds() * 1000 - step["run"]["duration_ms"]
                                            for before, after, step in zip(started, started[1:], steps))


def resident_mib(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1]) / 1024


def ended(executor, pawl, folder, name):
    executor.kill()
    executor.wait()
    subprocess.run([pawl, "cancel", "last", "--reason", "measured", "--dir", name], check=True, cwd=folder, stdout=subprocess.DEVNULL)


def at_rest(place):
    """The memory of an executor that waits for a step."""
    folder = with_source(place.fresh("rest"))
    (folder / "rest.yaml").write_text(plan(1, SLEEPS))
    executor = subprocess.Popen([place.pawl, "run", "rest.yaml", "--dir", "rest"], cwd=folder, stdout=subprocess.DEVNULL)
    try:
        while executor.poll() is None and not list(folder.glob("rest/spool/*/supervisor")):
            time.sleep(0.1)
        time.sleep(1)
        yield "executor_at_rest_mib", resident_mib(executor.pid)
    finally:
        ended(executor, place.pawl, folder, "rest")


def binary(place):
    stripped = place.folder / "stripped"
    subprocess.run(["strip", "-o", stripped, f"{place.pawl}-engine"], check=True)
    yield "binary_mb", stripped.stat().st_size / 1e6


def restart(place, folder, phases):
    """`pawl resume` of a run that nobody has claimed from: to its first claim in ms, and its memory while the step runs."""
    name = f"restart{phases}"
    (folder / f"{name}.yaml").write_text(plan(phases, SLEEPS))
    made = subprocess.Popen([place.pawl, "run", f"{name}.yaml", "--dir", name], cwd=folder, stdout=subprocess.DEVNULL)
    path = folder / name / "pawl.db"

    def attempts():
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=60) as database:
            return database.execute("SELECT COUNT(*) FROM attempts").fetchone()[0]

    while made.poll() is None and not (path.exists() and (folder / name / "runs").exists() and list((folder / name / "runs").iterdir()) and attempts()):
        time.sleep(0.05)
    made.kill()
    made.wait()
    subprocess.run([place.pawl, "cancel", "last", "p0", "--reason", "measured", "--dir", name], check=True, cwd=folder, stdout=subprocess.DEVNULL)
    before, started = attempts(), time.perf_counter()
    executor = subprocess.Popen([place.pawl, "resume", "last", "--dir", name], cwd=folder, stdout=subprocess.DEVNULL)
    try:
        while executor.poll() is None and attempts() == before:
            time.sleep(0.002)
        took = time.perf_counter() - started
        time.sleep(1)
        return took * 1000, resident_mib(executor.pid)
    finally:
        ended(executor, place.pawl, folder, name)


def restarts(place):
    folder, mib = with_source(place.fresh("restarts")), {}
    for name, phases in RESTARTED.items():
        place.say(f"  a run of {phases:,} phases is made, killed and resumed")
        took, mib[name] = restart(place, folder, phases)
        yield f"executor_{name}_phases_mib", mib[name]
    yield "restart_100k_ms", took
    yield "executor_growth", mib["100k"] / mib["1k"]
