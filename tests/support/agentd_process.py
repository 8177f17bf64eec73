"""A `pawl agentd` for one test. PAWL names the program."""

import os
import signal
import subprocess


def start_agentd(folder):
    """Returns the process, and the socket that it serves already."""
    socket = folder / "agentd.sock"
    agentd = subprocess.Popen([os.environ["PAWL"], "agentd", "--dir", folder / "state", "--socket", socket], stdout=subprocess.PIPE)
    agentd.stdout.readline()  # it prints the line when it listens
    return agentd, socket


def stop(agentd):
    """Returns its exit code after SIGTERM, or a text when it did not end."""
    agentd.send_signal(signal.SIGTERM)
    try:
        return agentd.wait(timeout=60)
    except subprocess.TimeoutExpired:
        agentd.kill()
        agentd.wait()
        return "nothing: SIGTERM did not end it"
