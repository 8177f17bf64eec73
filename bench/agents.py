"""Plain clients of an agent's socket: alone, many at once, and one among hostile ones."""

import json
import os
import re
import subprocess
import time

STEPS_SECONDS = 5
HOSTILE_SECONDS = 40  # thousands of requests, whose slowest hundredth counts


def journaled_steps(place):
    """Begin and complete, both durable."""
    folder = place.fresh("agentd")
    socket_path = folder / "load.sock"
    agentd = subprocess.Popen([place.pawl, "agentd", "--dir", folder / "agentd", "--socket", socket_path], stdout=subprocess.DEVNULL)
    try:
        while not socket_path.exists() and agentd.poll() is None:
            time.sleep(0.01)
        for connections in (1, 64):
            done = subprocess.run([place.load, socket_path, str(connections), str(STEPS_SECONDS)], check=True, capture_output=True, text=True)
            yield f"agent.steps_{connections}_in_flight_per_s", json.loads(done.stdout)["steps_per_s"]
    finally:
        agentd.terminate()
        agentd.wait()


def among_hostile_clients(place):
    """An honest client's requests while six others do their worst, for PAWL_HOSTILE_SECONDS."""
    env = {"PAWL_HOSTILE_SECONDS": str(HOSTILE_SECONDS), **os.environ, "PAWL": str(place.pawl), "PYTHONPATH": "tests/support"}
    done = subprocess.run(["/usr/bin/python3", "tests/agent/hostile_test.py", "Hostile.test_an_honest_client_among_hostile_ones"],
                          env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)  # the test fails when the goal is missed
    yield "agent.p99_among_hostile_ms", float(re.search(r"p99 ([0-9.]+) ms", done.stdout)[1])
