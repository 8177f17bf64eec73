"""Shared by the tests of `pawl agentd`: the daemon, and a plain client of its socket."""

import base64
import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess

from pawl_testing import PAWL, PawlTest

http.client._MAXLINE = 1 << 20  # a header with 64 KiB of metadata in base64 exceeds the default of 64 KiB


class Connection(http.client.HTTPConnection):
    """HTTP on a Unix socket."""

    def __init__(self, path, timeout=60):
        super().__init__("pawl", timeout=timeout)
        self.path = str(path)

    def connect(self):
        self.sock = connect(self.path, self.timeout)

    def ask(self, method, target, body=None, headers=None):
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
        self.request(method, target, body=body, headers=headers or {})
        answer = self.getresponse()
        answer.body = answer.read()
        is_json = answer.body and "json" in (answer.getheader("Content-Type") or "")
        answer.json = json.loads(answer.body) if is_json else None
        return answer


def connect(path, timeout=60):
    out = socket.socket(socket.AF_UNIX)
    out.connect(str(path))  # blocking: with a timeout, a full backlog would be an error
    out.settimeout(timeout)
    return out


def saved(answer):
    """The checkpoint in the headers of a load response."""
    return json.loads(base64.b64decode(answer.getheader("Pawl-Checkpoint"), validate=True))


class AgentdTest(PawlTest):
    def agentd(self, *args, folder="work", env=None):
        """Starts the daemon, and returns its process when it serves. Its socket is self.socket."""
        (self.root / folder).mkdir(exist_ok=True)
        with open(self.root / "agentd.log", "ab") as log:
            process = subprocess.Popen([PAWL, "agentd", "--dir", str(self.root / folder / ".pawl"), "--json", *map(str, args)],
                                       cwd=self.root, stdout=subprocess.PIPE, stderr=log, stdin=subprocess.DEVNULL, text=True,
                                       env=self.environment(env))
        self.addCleanup(self.end, process)
        line = process.stdout.readline()
        self.assertTrue(line, (self.root / "agentd.log").read_text())
        told = json.loads(line)
        self.assertEqual(sorted(told), ["pid", "socket"])
        self.assertEqual(told["pid"], process.pid)
        self.socket = told["socket"]
        self.folder = self.root / folder / ".pawl"
        return process

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stdout.close()

    def stop_gently(self, process):
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(timeout=30), 0)

    def client(self, timeout=60):
        out = Connection(self.socket, timeout)
        self.addCleanup(out.close)
        return out

    def peer(self, timeout=60):
        """A connected socket without HTTP."""
        out = connect(self.socket, timeout)
        self.addCleanup(out.close)
        return out

    def ask(self, *args, expect=None, **kwargs):
        with_connection = Connection(self.socket)
        try:
            answer = with_connection.ask(*args, **kwargs)
        finally:
            with_connection.close()
        if expect is not None:
            self.assertEqual(answer.status, expect, answer.body)
        return answer


def memory_kib(pid, field="VmRSS"):
    for line in pathlib.Path("/proc", str(pid), "status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1])
    raise AssertionError(field)


