"""How steady the machine is: bare commits of one small row, made durable one by one, counted in short turns."""

import dataclasses
import pathlib
import sqlite3
import statistics
import tempfile
import time

TURNS = 10
TURN_S = 0.2  # a disk that needs 4 ms per commit still makes 50 of them
SPREAD_MAX = 0.25  # a quiet machine stays below half of this
DRIFT_MAX = 0.20


@dataclasses.dataclass(frozen=True)
class Noise:
    per_s: float
    spread: float  # range of the middle eight of ten turns, as a fraction of the median


def of_rates(rates):
    rates = sorted(rates)
    tenth = len(rates) // 10
    median = statistics.median(rates)
    return Noise(median, (rates[-1 - tenth] - rates[tenth]) / median)


def measure(folder):
    with tempfile.TemporaryDirectory(prefix="pawl-noise-", dir=folder) as place:
        # Without the library's own transactions, so each INSERT is a commit.
        database = sqlite3.connect(pathlib.Path(place) / "bare.db", isolation_level=None)
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = FULL")
        database.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, x TEXT)")
        rates = []
        for _ in range(TURNS):
            commits, started = 0, time.perf_counter()
            while (took := time.perf_counter() - started) < TURN_S:
                database.execute("INSERT INTO t (x) VALUES ('one small row of a few dozen bytes')")
                commits += 1
            rates.append(commits / took)
        database.close()
        return of_rates(rates)


def lines(before, after=None):
    """What a person is told of the noise, as far as it was measured; a warning when figures are to be taken with care."""
    known = {when: each for when, each in (("before", before), ("after", after)) if each}
    if not known:
        return []
    out = ["noise: bare commits: " + "; ".join(f"{when} {each.per_s:.0f}/s, spread {each.spread:.0%}" for when, each in known.items())]
    rates, spread = [each.per_s for each in known.values()], max(each.spread for each in known.values())
    reasons = []
    if spread > SPREAD_MAX:
        reasons.append(f"equal work differs by {spread:.0%}")
    if max(rates) > (1 + DRIFT_MAX) * min(rates):
        reasons.append(f"its pace changed from {before.per_s:.0f}/s to {after.per_s:.0f}/s")
    if reasons:
        out.append(f"warning: this machine is not quiet: {' and '.join(reasons)}. Take the figures with care, most of all those in ms, us and 1/s; "
                   "ratios are measured side by side and hold better. Close what else runs, and measure again.")
    return out
