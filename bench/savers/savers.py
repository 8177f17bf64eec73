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


SIZES = ("1kib", "64kib", "1mib", "1mib_fresh", "1kib_of_8")
GOALS = {"postgres": dict.fromkeys(("1kib", "64kib", "1mib"), 2), "sqlite": {"1kib": 1, "1mib": 2}}


def figures_of(verb, size):
    yield f"savers.{verb}_{size}_per_s", "1/s"
    for other in ("postgres", "sqlite"):
        goal = GOALS[other].get(size)
        yield f"savers.{verb}_{size}_vs_{other}", "ratio", f">= {goal}" if goal else ""


FIGURES = [each for size in SIZES for verb in ("put", "get") for each in figures_of(verb, size)]


def measure(place):
    place.say("  the packages of sdk/ are built")
    subprocess.run([HERE.parents[1] / "tests/sdk/typescript/build", PACKAGES], check=True, stdout=sys.stderr)
    shutil.copy(HERE / "savers.mjs", PACKAGES)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="pawl-savers-", dir=HERE.parents[1] / "build"))
    stop_postgres = agentd = node = None
    try:
        stop_postgres, url = start_postgres(folder)
        agentd = subprocess.Popen([place.pawl, "agentd", "--dir", folder / "pawl", "--socket", folder / "agentd.sock"], stdout=subprocess.PIPE)
        agentd.stdout.readline()
        node = subprocess.Popen(["node", "savers.mjs", folder / "agentd.sock", url, folder / "sqlite.db"], cwd=PACKAGES, stdout=subprocess.PIPE, text=True)
        for line in node.stdout:
            (name, rates), = json.loads(line).items()
            yield f"savers.{name}_per_s", statistics.median(rates["pawl"])
            for other in ("postgres", "sqlite"):
                # One ratio per round: the machine is shared, and its speed changes.
                yield f"savers.{name}_vs_{other}", statistics.median(ours / theirs for ours, theirs in zip(rates["pawl"], rates[other]))
        if node.wait() != 0:
            raise subprocess.CalledProcessError(node.returncode, node.args)
    finally:
        for process in filter(None, (node, agentd)):
            process.send_signal(signal.SIGTERM)
            process.wait()
        if stop_postgres:
            subprocess.run(stop_postgres, stdout=subprocess.DEVNULL, cwd=folder)
        shutil.rmtree(folder)
