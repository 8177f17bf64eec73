"""Journaled steps through Pawl's TypeScript SDK and through Restate's, all on this machine's loopback, in one run."""

import json
import os
import pathlib
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
PACKAGES = HERE.parents[1] / "build/savers"
WAIT_S = 60


def free_ports(count):
    servers = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [server.getsockname()[1] for server in servers]
    for server in servers:
        server.close()
    return ports


def start_restate(folder, ingress, admin, node):
    program = next((PACKAGES / "node_modules/@restatedev").glob("restate-server-*/bin/restate-server"))
    env = {**os.environ, "RESTATE_LISTEN_MODE": "tcp", "RESTATE_BIND_IP": "127.0.0.1", "RESTATE_DISABLE_TELEMETRY": "true", "DO_NOT_TRACK": "1",
           "RESTATE_INGRESS__BIND_ADDRESS": f"127.0.0.1:{ingress}", "RESTATE_ADMIN__BIND_ADDRESS": f"127.0.0.1:{admin}",
           "RESTATE_BIND_ADDRESS": f"127.0.0.1:{node}", "RESTATE_ADVERTISED_ADDRESS": f"http://127.0.0.1:{node}"}
    with open(folder / "restate.log", "wb") as log:
        server = subprocess.Popen([program, "--base-dir", folder / "restate"], env=env, stdout=log, stderr=log)
    deadline = time.monotonic() + WAIT_S
    while True:
        try:
            urllib.request.urlopen(f"http://127.0.0.1:{admin}/health").close()
            return server
        except OSError:
            if server.poll() is not None or time.monotonic() > deadline:
                server.kill()
                raise
            time.sleep(0.1)


FIGURES = [each for in_flight in (1, 64) for each in ((f"sdk.steps_{in_flight}_in_flight_per_s", "1/s"),
                                                      (f"sdk.steps_{in_flight}_vs_restate", "ratio", ">= 1.3"))]


def measure(place):
    place.say("  the packages of sdk/ are built")
    subprocess.run([HERE.parents[1] / "tests/sdk/typescript/build", PACKAGES], check=True, stdout=sys.stderr)
    shutil.copy(HERE / "steps.mjs", PACKAGES)
    folder = pathlib.Path(tempfile.mkdtemp(prefix="pawl-steps-", dir=HERE.parents[1] / "build"))
    ingress, admin, node, service = free_ports(4)
    started = []
    try:
        agentd = subprocess.Popen([place.pawl, "agentd", "--dir", folder / "pawl", "--socket", folder / "agentd.sock"], stdout=subprocess.PIPE)
        started.append(agentd)
        agentd.stdout.readline()
        started.append(start_restate(folder, ingress, admin, node))
        done = subprocess.run(["node", "steps.mjs", folder / "agentd.sock", f"http://127.0.0.1:{ingress}", f"http://127.0.0.1:{admin}", str(service)],
                              cwd=PACKAGES, check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, "RESTATE_LOGGING": "ERROR"})
    finally:
        for process in started:
            process.send_signal(signal.SIGTERM)
            process.wait()
        shutil.rmtree(folder)
    for in_flight, rates in json.loads(done.stdout.strip().splitlines()[-1]).items():
        yield f"sdk.steps_{in_flight}_in_flight_per_s", statistics.median(rates["pawl"])
        # One ratio per round: the machine is shared, and its speed changes.
        yield f"sdk.steps_{in_flight}_vs_restate", statistics.median(ours / theirs for ours, theirs in zip(rates["pawl"], rates["restate"]))
