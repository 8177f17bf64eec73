#!/usr/bin/env python3
"""The figures, measured in one run: whole processes here, the rest by pawl_bench. See scripts/bench."""

import datetime
import json
import os
import pathlib
import re
import shutil
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "savers"))
import savers  # noqa: E402
import steps  # noqa: E402

PAWL, BENCH = sys.argv[1], sys.argv[2]
LOAD = str(pathlib.Path(BENCH).with_name("agent_load"))
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
    for _ in range(300):
        for times, argv in ((ours, [PAWL, "sandbox", "exec", "--", "/bin/true"]), (theirs, BWRAP_FULL)):
            time.sleep(0.005)  # the kernel is still taking the namespaces of the one before apart
            times.append(seconds(argv))
    exec_time, bwrap_time = statistics.median(ours), statistics.median(theirs)
    health = statistics.median(seconds([PAWL, "sandbox", "health"]) for _ in range(5))
    return {
        "sandbox_exec_ms": (exec_time * 1000, "ms", "", True),
        "bwrap_ms": (bwrap_time * 1000, "ms", "", True),
        "exec_by_bwrap": (exec_time / bwrap_time, "ratio", "<= 0.75", exec_time <= 0.75 * bwrap_time),
        "health_ms": (health * 1000, "ms", "< 2000", health < 2),
    }


def compile_project(folder):
    """Fifty C files in a sandbox, with a trace, and without two of its walls, which only a build with test hooks can leave out."""
    project = folder / "project"
    project.mkdir()
    for i in range(50):
        (project / f"f{i}.c").write_text(f"#include <stdio.h>\n#include <stdlib.h>\nint f{i}(int n) {{ return printf(\"%d\", n) + {i}; }}\n")
    build = ["sh", "-c", "for f in *.c; do cc -O1 -c $f -o /tmp/$f.o || exit 1; done"]
    plain = [PAWL, "sandbox", "exec", "--workspace", project, "--"] + build
    traced = plain[:3] + ["--trace", folder / "trace"] + plain[3:]
    hooked = ["build/dev/pawl"] + plain[1:]
    bwrap = BWRAP_FULL[:-1] + ["--bind", project, "/mnt", "--chdir", "/mnt"] + build
    fewer = {**os.environ, "PAWL_WALLS_OFF": "seccomp landlock"}
    ways = {"plain": (plain, None), "traced": (traced, None), "bwrap": (bwrap, None), "walls": (hooked, None), "fewer": (hooked, fewer)}
    times = {name: [] for name in ways}
    for _ in range(100):
        for name, (argv, env) in ways.items():
            times[name].append(seconds(argv, env=env))
    # A ratio a round: the machine is shared, and changes its pace.
    trace, walls, by_bwrap = (statistics.median(a / b for a, b in zip(times[over], times[under]))
                              for over, under in (("traced", "plain"), ("walls", "fewer"), ("plain", "bwrap")))
    return {
        "build_ms": (statistics.median(times["plain"]) * 1000, "ms", "", True),
        "build_traced_by_plain": (trace, "ratio", "<= 1.10", trace <= 1.10),
        "build_by_fewer_walls": (walls, "ratio", "<= 1.03", walls <= 1.03),
        "build_by_bwrap": (by_bwrap, "ratio", "", True),
    }


def gates(folder):
    """What a gate takes beside its own steps, on 50,000 files: from the start of one gate's step to the next one's."""
    for i in range(500):
        (folder / f"large/{i}").mkdir(parents=True)
        for j in range(100):
            (folder / f"large/{i}/{j}").write_text(f"{i} {j}\n")
    names = [f"g{i}" for i in range(21)]
    lines = ["version: 1", "workflow: gates", "source: {path: large}", "gates:"]
    lines += [f"  {name}: {{steps: [{{name: unit, run: [\"true\"]}}]}}" for name in names]
    lines += ["tiers:", "  - phases:", f"      - {{id: p, goal: g, agent: {{run: [touch, new]}}, gates: [{', '.join(names)}]}}"]
    (folder / "gates.yaml").write_text("\n".join(lines) + "\n")
    subprocess.run([PAWL, "run", "gates.yaml", "--dir", "gates"], check=True, cwd=folder, stdout=subprocess.DEVNULL)
    seen = subprocess.run([PAWL, "inspect", "last", "--dir", "gates", "--json"], check=True, cwd=folder, capture_output=True, text=True)
    steps = json.loads(seen.stdout)["phases"][0]["attempts"][0]["steps"][1:]
    started = [datetime.datetime.fromisoformat(step["started_at"].replace("Z", "+00:00")) for step in steps]
    added = [(after - before).total_seconds() * 1000 - step["run"]["duration_ms"]
             for before, after, step in zip(started, started[1:], steps)]
    return {"gate_adds_ms": (statistics.median(added), "ms", "< 20", statistics.median(added) < 20)}


CLIENT = """
import json, socket, sys, time
def connect():
    return socket.create_connection(("127.0.0.1", int(sys.argv[1])))
firsts = []
for _ in range(50):
    start = time.perf_counter()
    with connect() as peer:
        peer.recv(1)
    firsts.append(time.perf_counter() - start)
buffer, total, start = bytearray(65536), 0, time.perf_counter()
with connect() as peer:
    while got := peer.recv_into(buffer):
        total += got
        if total >= 4 << 30:
            break
print(json.dumps({"gb_per_s": total / 1e9 / (time.perf_counter() - start), "first_ms": sorted(firsts)[25] * 1000}))
"""


def relay():
    """What an egress passes on, from a server on this machine's loopback to a client in a sandbox."""
    server = socket.create_server(("127.0.0.1", 0))
    port = server.getsockname()[1]

    def serve():
        block = bytes(65536)
        while True:
            peer, _ = server.accept()
            with peer:
                try:
                    while True:
                        peer.sendall(block)
                except OSError:
                    pass  # it has read enough

    threading.Thread(target=serve, daemon=True).start()
    done = subprocess.run([PAWL, "sandbox", "exec", "--network", "scoped", "--egress", f"127.0.0.1:{port}", "--",
                           "/usr/bin/python3", "-c", CLIENT, str(port)], check=True, capture_output=True, text=True)
    found = json.loads(done.stdout)
    speed, first = found["gb_per_s"], found["first_ms"]
    return {
        "relay_gb_per_s": (speed, "GB/s", ">= 1", speed >= 1),
        "relay_first_byte_ms": (first, "ms", "< 2", first < 2),
    }


def reports():
    """A test report of 100 MB, in a process of its own: its memory counts."""
    bench = subprocess.Popen([BENCH, "--benchmark_format=json", "--benchmark_filter=ReadReport"],
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    read = json.loads(bench.stdout.read())["benchmarks"][0]["real_time"]
    _, status, use = os.wait4(bench.pid, 0)
    bench.returncode = os.waitstatus_to_exitcode(status)
    memory = use.ru_maxrss / 1024
    return {
        "read_junit_100_mb_ms": (read, "ms", "< 1500", read < 1500),
        "read_junit_100_mb_mib": (memory, "MiB", "< 64", memory < 64),
    }


def a_million_rows(folder):
    """The first page of a run whose ledger has a million rows: `pawl inspect`, a whole process."""
    with sqlite3.connect(folder / "source/.pawl/pawl.db") as database:
        run_id, chain, first = database.execute("SELECT run_id, chain, MIN(seq) FROM ledger WHERE chain <> '' GROUP BY chain").fetchone()
        database.execute("WITH RECURSIVE n(i) AS (SELECT 1000 UNION ALL SELECT i + 1 FROM n WHERE i < 1000999) INSERT INTO ledger (run_id, chain,"
                         " seq, hash, line) SELECT run_id, chain, n.i, hash, line FROM ledger, n WHERE run_id = ? AND chain = ? AND seq = ?",
                         (run_id, chain, first))
    seen = statistics.median(seconds([PAWL, "inspect", "last"], cwd=folder) for _ in range(50)) * 1000
    return {"inspect_a_million_rows_ms": (seen, "ms", "< 100", seen < 100)}


def journaled_steps(folder):
    """A plain client of an agent's socket: begin and complete, both durable."""
    socket_path = folder / "load.sock"
    agentd = subprocess.Popen([PAWL, "agentd", "--dir", folder / "agentd", "--socket", socket_path], stdout=subprocess.DEVNULL)
    try:
        while not socket_path.exists():
            time.sleep(0.01)
        found = {}
        for connections, goal in ((1, 2500), (64, 20000)):
            done = subprocess.run([LOAD, socket_path, str(connections), "5"], check=True, capture_output=True, text=True)
            rate = json.loads(done.stdout)["steps_per_s"]
            found[f"agent.steps_{connections}_in_flight_per_s"] = (rate, "1/s", f">= {goal}", rate >= goal)
        return found
    finally:
        agentd.terminate()
        agentd.wait()


def among_hostile_clients():
    """An honest client's requests while six others do their worst, for PAWL_HOSTILE_SECONDS."""
    env = {"PAWL_HOSTILE_SECONDS": "180", **os.environ, "PAWL": PAWL, "PYTHONPATH": "tests/support"}
    done = subprocess.run(["/usr/bin/python3", "tests/agent/hostile_test.py", "Hostile.test_an_honest_client_among_hostile_ones"],
                          env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)  # which fails when this is missed
    p99 = float(re.search(r"p99 ([0-9.]+) ms", done.stdout)[1])
    return {"agent.p99_among_hostile_ms": (p99, "ms", "< 20", p99 < 20)}


def simulator():
    """Histories of the real executor and store: a call into the world is what anything can happen at."""
    done = subprocess.run(["build/dev/tests/sim/pawl-sim", "--histories", "1500"], check=True, capture_output=True, text=True)
    calls, histories = (int(re.search(rf"(\d+) {word}", done.stdout)[1]) for word in ("calls", "histories"))
    a_second = int(re.search(r"(\d+) a second", done.stdout)[1])
    of_200 = a_second * calls / histories / 200
    return {
        "sim_histories_per_s": (a_second, "1/s", "", True),
        "sim_histories_of_200_calls_per_s": (of_200, "1/s", ">= 300", of_200 >= 300),
    }


def at_rest(folder):
    """The memory of an executor that waits for a step, and the largest program without its symbols."""
    (folder / "rest.yaml").write_text(plan(1).replace('agent: {run: ["true"]}', "agent: {run: [sleep, 60]}"))
    executor = subprocess.Popen([PAWL, "run", "rest.yaml", "--dir", "rest"], cwd=folder, stdout=subprocess.DEVNULL)
    try:
        while executor.poll() is None and not list(folder.glob("rest/spool/*/supervisor")):
            time.sleep(0.1)
        time.sleep(1)
        resident = resident_mib(executor.pid)
    finally:
        executor.kill()
        executor.wait()
        subprocess.run([PAWL, "cancel", "last", "--reason", "measured", "--dir", "rest"], check=True, cwd=folder, stdout=subprocess.DEVNULL)
    subprocess.run(["strip", "-o", folder / "stripped", f"{PAWL}-engine"], check=True)
    size = (folder / "stripped").stat().st_size / 1e6
    return {
        "executor_at_rest_mib": (resident, "MiB", "< 25", resident < 25),
        "binary_mb": (size, "MB", "< 20", size < 20),
    }


def resident_mib(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text())[1]) / 1024


def restart(folder, phases):
    """`pawl resume` of a run that nobody has claimed from: to its first claim in ms, and its memory while the step runs."""
    name = f"restart{phases}"
    (folder / f"{name}.yaml").write_text(plan(phases).replace('agent: {run: ["true"]}', "agent: {run: [sleep, 60]}"))
    made = subprocess.Popen([PAWL, "run", f"{name}.yaml", "--dir", name], cwd=folder, stdout=subprocess.DEVNULL)
    path = folder / name / "pawl.db"

    def attempts():
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=60) as database:
            return database.execute("SELECT COUNT(*) FROM attempts").fetchone()[0]

    while made.poll() is None and not (path.exists() and (folder / name / "runs").exists() and list((folder / name / "runs").iterdir()) and attempts()):
        time.sleep(0.05)
    made.kill()
    made.wait()
    subprocess.run([PAWL, "cancel", "last", "p0", "--reason", "measured", "--dir", name], check=True, cwd=folder, stdout=subprocess.DEVNULL)
    before, started = attempts(), time.perf_counter()
    executor = subprocess.Popen([PAWL, "resume", "last", "--dir", name], cwd=folder, stdout=subprocess.DEVNULL)
    try:
        while executor.poll() is None and attempts() == before:
            time.sleep(0.002)
        took = time.perf_counter() - started
        time.sleep(1)
        return took * 1000, resident_mib(executor.pid)
    finally:
        executor.kill()
        executor.wait()
        subprocess.run([PAWL, "cancel", "last", "--reason", "measured", "--dir", name], check=True, cwd=folder, stdout=subprocess.DEVNULL)


def restarts(folder):
    found = {phases: restart(folder, phases) for phases in (1_000, 10_000, 100_000)}
    took, growth = found[100_000][0], found[100_000][1] / found[1_000][1]
    return {
        "restart_100k_ms": (took, "ms", "< 500", took < 500),
        "executor_1k_phases_mib": (found[1_000][1], "MiB", "", True),
        "executor_10k_phases_mib": (found[10_000][1], "MiB", "", True),
        "executor_100k_phases_mib": (found[100_000][1], "MiB", "", True),
        "executor_growth": (growth, "ratio", "<= 1.1", growth <= 1.1),
    }


def in_process():
    done = subprocess.run([BENCH, "--benchmark_format=json", "--benchmark_filter=-ReadReport"], check=True, capture_output=True, text=True)
    found = {entry["name"].split("/iterations")[0]: entry for entry in json.loads(done.stdout)["benchmarks"]}
    found |= {name.split("/")[0]: entry for name, entry in found.items()}
    claim, verify = found["Claim"], found["VerifyLedger"]["bytes_per_second"] / 1e6
    probe, clone = found["Probe"]["probe_us"], found["Probe"]["clone_us"]
    opened, copied = found["WorkspaceOpen"]["real_time"], found["WorkspaceCopyOut"]["real_time"]
    redact = found["Redact"]["bytes_per_second"] / 1e6
    bare = found["BareCommits"]["items_per_second"]
    alone, many = found["Engine/1"]["transitions_per_s"], found["Engine/64"]["transitions_per_s"]
    cpu = found["Engine/64"]["cpu_us_per_transition"]
    growth, of_all = found["AgentGrowth"]["ratio"], found["AgentGrowth"]["ratio_all_kept"]
    saved, loaded, of_many = found["AgentSave"]["p50_ms"], found["AgentLoad"]["p50_ms"], found["AgentLoadOfAMillion"]["p50_us"]
    return {
        "bare_commits_per_s": (bare, "1/s", "", True),
        "engine_transitions_per_s": (alone, "1/s", ">= 7500", alone >= 7500),
        "engine_by_bare_commits": (bare / alone, "ratio", "<= 1.5", bare <= 1.5 * alone),
        "engine_64_transitions_per_s": (many, "1/s", ">= 24000", many >= 24000),
        "engine_64_cpu_us_per_transition": (cpu, "us", "<= 40", cpu <= 40),
        "claim_p50_us": (claim["p50_us"], "us", "< 200", claim["p50_us"] < 200),
        "claim_p99_us": (claim["p99_us"], "us", "< 2000", claim["p99_us"] < 2000),
        "verify_mb_per_s": (verify, "MB/s", ">= 500", verify >= 500),
        "redact_mb_per_s": (redact, "MB/s", ">= 300", redact >= 300),
        "probe_us": (probe, "us", "", True),
        "probe_by_bare_clone": (probe / clone, "ratio", "<= 2.5", probe <= 2.5 * clone),
        "workspace_open_ms": (opened, "ms", "< 20", opened < 20),
        "workspace_copy_out_ms": (copied, "ms", "< 20", copied < 20),
        "agent.growth": (growth, "ratio", "<= 2", growth <= 2),
        "agent.growth_all_kept": (of_all, "ratio", "<= 12", of_all <= 12),
        "agent.save_1mib_1kb_change_ms": (saved, "ms", "< 1", saved < 1),
        "agent.load_1mib_ms": (loaded, "ms", "< 3", loaded < 3),
        "agent.load_of_a_million_us": (of_many, "us", "< 200", of_many < 200),
    }


def main():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="pawl-bench-", dir="build"))
    try:
        figures = whole_processes(folder.resolve())
        figures.update(compile_project(folder.resolve()))
        figures.update(gates(folder.resolve()))
        figures.update(a_million_rows(folder.resolve()))
        figures.update(journaled_steps(folder.resolve()))
        figures.update(at_rest(folder.resolve()))
        figures.update(restarts(folder.resolve()))
        figures.update(among_hostile_clients())
    finally:
        shutil.rmtree(folder)
    figures.update(sandboxes())
    figures.update(relay())
    figures.update(reports())
    figures.update(in_process())
    figures.update(simulator())
    figures.update(savers.figures(PAWL))
    figures.update(steps.figures(PAWL))
    if AS_JSON:
        print(json.dumps({name: dict(zip(("value", "unit", "goal", "ok"), (round(f[0], 3), *f[1:])))
                          for name, f in figures.items()}))
    else:
        for name, (value, unit, goal, ok) in figures.items():
            print(f"{name:36} {value:10.2f} {unit:6} {goal:8} {'' if not goal else 'ok' if ok else 'MISSED'}")


main()
