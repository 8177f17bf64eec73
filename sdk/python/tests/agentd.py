"""What the tests share: a temporary folder with a real `pawl agentd` in it, which can be killed and started again.

PAWL names the program under test.
"""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from typing import Any, Callable, Dict, List, Optional

import pawl
from pawl.transport import Transport

SDK = pathlib.Path(__file__).resolve().parents[1]
TIMEOUT_S = 120


class AgentdTest(unittest.TestCase):
    def setUp(self) -> None:
        if "PAWL" not in os.environ:
            self.fail("PAWL has to name the program `pawl`: these tests ask the real `pawl agentd`")
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="pawl-sdk-"))
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)
        self.socket = self.root / "s"
        self.log = open(self.root / "agentd.log", "ab")
        self.addCleanup(self.log.close)
        self.start_agentd()

    def start_agentd(self) -> None:
        self.agentd = subprocess.Popen(
            [os.environ["PAWL"], "agentd", "--dir", str(self.root / "state"), "--socket", str(self.socket), "--json"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.log, text=True, env=self.environment())
        self.addCleanup(self.closed, self.agentd)
        assert self.agentd.stdout is not None
        line = self.agentd.stdout.readline()  # printed when it serves
        self.assertTrue(line, (self.root / "agentd.log").read_text())
        self.assertEqual(json.loads(line)["socket"], str(self.socket))

    def kill_agentd(self) -> None:
        self.stop(self.agentd)

    @staticmethod
    def stop(process: "subprocess.Popen[Any]") -> None:
        """kill -9."""
        if process.poll() is None:
            process.kill()
        process.wait()

    def wait_until(self, condition: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + TIMEOUT_S
        while time.monotonic() < deadline:
            if condition():
                return
            time.sleep(0.01)
        self.fail(f"not within {TIMEOUT_S} s: {what}")

    def connect(self, goal: Optional[str] = None, episode: Optional[str] = None) -> pawl.Agent:
        agent = pawl.connect(str(self.socket), goal, episode)
        self.addCleanup(agent.close)
        return agent

    def environment(self, **extra: str) -> Dict[str, str]:
        out = {name: value for name, value in os.environ.items() if not name.startswith("PAWL")}
        return {**out, "PYTHONPATH": str(SDK), "PAWL_SOCKET": str(self.socket), **extra}

    def start(self, program: str, *args: str, **env: str) -> "subprocess.Popen[str]":
        """Another process of the agent: Python text, or the path of a file."""
        command: List[str] = [sys.executable, program] if program.endswith(".py") else [sys.executable, "-c", program]
        process = subprocess.Popen([*command, *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   text=True, cwd=self.root, env=self.environment(**env))
        self.addCleanup(self.closed, process)
        return process

    def closed(self, process: "subprocess.Popen[str]") -> None:
        self.stop(process)
        for stream in (process.stdout, process.stderr):
            if stream is not None:
                stream.close()

    def run_program(self, program: str, *args: str, expect: int = 0, **env: str) -> str:
        process = self.start(program, *args, **env)
        out, err = process.communicate(timeout=TIMEOUT_S)
        self.assertEqual(process.returncode, expect, out + err)
        return out

    def answer(self, key: str, answer: str, episode: str = "default") -> None:
        """A person answers, on the socket that agents do not see."""
        operator = Transport(str(self.root / "state" / "operator.sock"), None, episode)
        told = {"key": key, "answer": answer, "who": "a person"}
        operator.call("POST", "/v1/answer", body=json.dumps(told).encode())
        operator.close()
