"""PawlSaver against the savers of LangGraph for PostgreSQL and SQLite, all on this machine, in one run."""

import json
import os
import pathlib
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
PACKAGES = HERE.parents[1] / "build/savers"


def as_nobody_special(argv):
    """PostgreSQL does not run as root."""
    return ["runuser", "-u", "postgres", "--"] + argv if os.geteuid() == 0 else argv


def start_postgres(folder):
    data = folder / "postgres"
    data.mkdir()
    if os.geteuid() == 0:
        folder.chmod(0o755)
        shutil.chown(data, "postgres")
    programs = max(pathlib.Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: float(path.parent.name))
    subprocess.run(as_nobody_special([programs / "initdb", "-D", data / "data", "-U", "bench", "-A", "trust"]), check=True,
                   stdout=subprocess.DEVNULL, cwd=data)
    options = f"-c listen_addresses= -c unix_socket_directories={data}"
    server = [programs / "pg_ctl", "-D", data / "data", "-w", "-o", options, "-l", data / "log"]
    subprocess.run(as_nobody_special(server + ["start"]), check=True, stdout=subprocess.DEVNULL, cwd=data)
    stop = as_nobody_special([programs / "pg_ctl", "-D", data / "data", "-m", "immediate", "stop"])
    return stop, f"postgresql:///postgres?host={data}&user=bench"


def measure(pawl):
    subprocess.run([HERE.parents[1] / "tests/sdk/typescript/build", PACKAGES], check=True, stdout=sys.stderr)
    shutil.copy(HERE / "savers.mjs", PACKAGES)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="pawl-savers-", dir=HERE.parents[1] / "build"))
    stop_postgres = agentd = None
    try:
        stop_postgres, url = start_postgres(folder)
        agentd = subprocess.Popen([pawl, "agentd", "--dir", folder / "pawl", "--socket", folder / "agentd.sock"], stdout=subprocess.PIPE)
        agentd.stdout.readline()
        done = subprocess.run(["node", "savers.mjs", folder / "agentd.sock", url, folder / "sqlite.db"], cwd=PACKAGES, check=True,
                              stdout=subprocess.PIPE, text=True)
        return json.loads(done.stdout)
    finally:
        if agentd:
            agentd.send_signal(signal.SIGTERM)
            agentd.wait()
        if stop_postgres:
            subprocess.run(stop_postgres, stdout=subprocess.DEVNULL, cwd=folder)
        shutil.rmtree(folder)


GOALS = {"postgres": dict.fromkeys(("1kib", "64kib", "1mib"), 2), "sqlite": {"1kib": 1, "1mib": 2}}


def figures(pawl):
    out = {}
    for name, rates in measure(pawl).items():
        verb, size = name.split("_", 1)
        out[f"savers.{name}_per_s"] = (statistics.median(rates["pawl"]), "1/s", "", True)
        for other in ("postgres", "sqlite"):
            # A ratio a round: the machine is shared, and changes its pace.
            ratio = statistics.median(ours / theirs for ours, theirs in zip(rates["pawl"], rates[other]))
            goal = GOALS[other].get(size)
            out[f"savers.{name}_vs_{other}"] = (ratio, "ratio", f">= {goal}" if goal else "", goal is None or ratio >= goal)
    return out


if __name__ == "__main__":
    for figure, (value, unit, goal, ok) in figures(sys.argv[1]).items():
        print(f"{figure:36} {value:10.2f} {unit:6} {goal:8} {'' if not goal else 'ok' if ok else 'MISSED'}")
