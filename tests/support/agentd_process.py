"""A `pawl agentd` of a test's own. PAWL names the program."""

import os
import signal
import subprocess


def start_agentd(folder):
    """The process, and the socket that it listens at by now."""
    socket = folder / "agentd.sock"
    agentd = subprocess.Popen([os.environ["PAWL"], "agentd", "--dir", folder / "state", "--socket", socket], stdout=subprocess.PIPE)
    agentd.stdout.readline()  # it says where it listens when it does
    return agentd, socket


def stop(agentd):
    """Its exit code after SIGTERM, or words when it did not end."""
    agentd.send_signal(signal.SIGTERM)
    try:
        return agentd.wait(timeout=60)
    except subprocess.TimeoutExpired:
        agentd.kill()
        agentd.wait()
        return "nothing: SIGTERM did not end it"
