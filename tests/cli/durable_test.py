#!/usr/bin/env python3
"""`durable` of a plan, on a disk that is full: a small file system of the test's own."""

import json
import os
import re
import subprocess
import unittest

from pawl_testing import PAWL, PawlTest

PLAN = """\
version: 1
workflow: durable
source: {path: source}
max_attempts: 2
%s
gates:
  check: {steps: [{name: done, run: "grep -q done file"}], signals: [build]}
tiers:
  - phases:
      - {id: fix, goal: "go on", agent: {run: [/usr/bin/python3, /plan/agent.py]}, gates: [check]}
"""

AGENT = '''\
import http.client, itertools, json, os, signal, socket, sys, time


class Unix(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(os.environ["PAWL_SOCKET"])


api = Unix("pawl")
session = {"Pawl-Session": "s%d" % time.monotonic_ns()}


def call(method, path, body=None):
    api.request(method, path, body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode(), session)
    answer = api.getresponse()
    return answer.status, answer.getheader("Pawl-Kept"), answer.read()


def ended(*_):
    print("SIGTERM", flush=True)
    sys.exit(1)


signal.signal(signal.SIGTERM, ended)
status, _, kept = call("GET", "/v1/checkpoint?id=main-0")
print("state", kept.decode() if status == 200 else "fresh", flush=True)
if status != 200:
    deadline = time.monotonic() + 60
    for number in itertools.count():
        status, told, body = call("PUT", "/v1/checkpoint?id=main-0", b"half %d" % number)
        if (status, told) != (201, None) or time.monotonic() > deadline:
            break  # the disk is full
        print("saved half", number, flush=True)
        time.sleep(0.02)
    print("refused", status, told, flush=True)
    if status == 507:
        time.sleep(60)  # to be stopped
        sys.exit(1)
    print("unkept", json.loads(body)["seq"], flush=True)
with open("file", "a") as file:
    file.write("done\\n")
'''


# Saves more than the disk has room for. The checkpoint that was stored before is small.
LARGE_AGENT = AGENT[: AGENT.index('print("state"')] + '''\
status, _, kept = call("GET", "/v1/checkpoint?id=main-0")
print("state", kept.decode() if status == 200 else "fresh", flush=True)
if status != 200:
    call("PUT", "/v1/checkpoint?id=main-0", b"half")
    status, told, body = call("PUT", "/v1/checkpoint?id=main-0", os.urandom(int(os.environ["MIB"]) << 20))
    print("large", status, told, flush=True)
    if status == 507:
        time.sleep(60)  # to be stopped
        sys.exit(1)
print("step", call("POST", "/v1/steps/begin", {"key": "k", "kind": "pure", "args_hash": ""})[0], flush=True)
with open("file", "a") as file:
    file.write("done\\n")
'''


class Durable(PawlTest):
    def setUp(self):
        super().setUp()
        self.place = self.root / "small"
        self.place.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", self.place], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", self.place], check=True)
        self.folder = self.place / "pawl"
        self.saved = 0  # the last save that was seen in the log
        self.write("source/file", "x\n")
        self.write("agent.py", AGENT)

    def fill(self):
        """Leaves 8 MiB: less than a save asks for, and enough for everything that Pawl writes itself."""
        free = os.statvfs(self.place)
        with open(self.place / "filler", "wb") as filler:
            for _ in range((free.f_bavail * free.f_frsize >> 20) - 8):
                filler.write(bytes(1 << 20))

    def run_until_full(self, durable):
        self.write("plan.yaml", PLAN % durable)
        process = self.start("run", "plan.yaml", "--dir", self.folder)
        self.wait_until(lambda: "saved half" in self.log(), "the agent has saved something")
        self.fill()
        while process.poll() is None:
            self.saved = max([self.saved, *map(int, re.findall(r"^saved half (\d+)$", self.log(), re.M))])
        return process.returncode

    def log(self):
        if not (self.folder / "pawl.db").exists():
            return ""
        return subprocess.run([PAWL, "logs", "last", "fix", "--dir", self.folder], capture_output=True, text=True).stdout

    def state(self):
        return self.pawl_json("status", "last", "--dir", self.folder)

    def rows(self):
        run_id = self.state()["run_id"]
        path = self.folder / "runs" / run_id / "phases/fix/attempts.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()]

    def unsaved(self):
        return [row["details"] for row in self.rows() if row["type"] == "agent" and row["event"] == "not_saved"]

    def test_required_stops_the_agent_and_goes_on_from_what_it_kept(self):
        self.assertEqual(self.run_until_full(""), 1)
        self.assertEqual(self.state()["state"], "EXECUTING")
        # The disk is still full: no step runs again, and no data is lost.
        again = self.pawl("resume", "last", "--dir", self.folder, expect=1)
        self.assertIn("free some space", again.stderr)
        (self.place / "filler").unlink()
        self.pawl("resume", "last", "--dir", self.folder)
        self.assertEqual(self.state()["state"], "COMPLETE")
        found, = map(int, re.findall(r"^state half (\d+)$", self.log(), re.M))
        self.assertGreaterEqual(found, self.saved, "what was answered is there")
        details, = self.unsaved()
        self.assertEqual(details["durable"], "required")
        self.assertGreaterEqual(details["requests"], 1)
        self.assertIn("the disk is full", details["reason"])
        self.assertEqual([row["attempt_id"] for row in self.rows() if row["type"] == "attempt"], ["fix.1"])
        decisions = [row["decision"] for row in self.rows() if row["type"] == "resume"]
        self.assertEqual((decisions[-1], set(decisions[:-1])), ("re_execute", {"adopt"}), "its result was looked at, and it ran once more")
        self.pawl("verify", "last", "--dir", self.folder)

    def test_best_effort_goes_on_and_says_so(self):
        self.assertEqual(self.run_until_full("durable: best_effort"), 0)
        self.assertEqual(self.state()["state"], "COMPLETE")
        self.assertIn("refused 202 no", self.log())
        self.assertIn("unkept 0", self.log())
        details, = self.unsaved()
        self.assertEqual((details["durable"], details["requests"]), ("best_effort", 1))
        self.assertIn("the disk is full", details["reason"])
        self.pawl("verify", "last", "--dir", self.folder)

    def run_large(self, durable, mib):
        subprocess.run(["mount", "-o", "remount,size=50m", self.place], check=True)
        self.write("agent.py", LARGE_AGENT)
        self.write("plan.yaml", PLAN % f"{durable}\nenv: [MIB]")
        return self.pawl("run", "plan.yaml", "--dir", self.folder, env={"MIB": str(mib)}, expect=None)

    def test_a_payload_that_does_not_fit_takes_no_room(self):
        for mib in (28, 60):
            with self.subTest(mib=mib):
                ran = self.run_large("", mib)
                self.assertEqual(ran.returncode, 1, ran.stdout + ran.stderr + self.log())
                self.assertIn(f"it needs {16 + 2 * mib} MiB; free some space", ran.stderr)
                for _ in range(3):  # the agent does not run again before it can save
                    again = self.pawl("resume", "last", "--dir", self.folder, expect=1)
                    self.assertIn(f"it needs {16 + 2 * mib} MiB; free some space", again.stderr)
                subprocess.run(["mount", "-o", "remount,size=250m", self.place], check=True)
                self.pawl("resume", "last", "--dir", self.folder)
                self.assertEqual(self.state()["state"], "COMPLETE")
                self.assertIn("state half\nstep 200", self.log())
                self.assertEqual(len([row for row in self.rows() if row["type"] == "pre_execute" and ".agent." in row["label"]]), 2)

    def test_best_effort_goes_on_without_a_payload_that_does_not_fit(self):
        for mib in (28, 60):
            with self.subTest(mib=mib):
                ran = self.run_large("durable: best_effort", mib)
                self.assertEqual(ran.returncode, 0, ran.stderr)
                self.assertIn("large 202 no\nstep 200", self.log())
                details, = self.unsaved()
                self.assertEqual((details["durable"], details["requests"]), ("best_effort", 1))

    def test_a_command_says_that_it_kept_nothing(self):
        # It has to fit on the disk beside the saved data.
        subprocess.run(["strip", "-o", self.root / "bin-pawl", PAWL], check=True)
        script = """\
printf first | /plan/bin-pawl checkpoint save main-0 --json
for json in '' --json; do
  head -c 62914560 /dev/urandom | /plan/bin-pawl checkpoint save main-0 $json; echo "rc $?"
done
echo "load $(/plan/bin-pawl checkpoint load main-0)"
echo done >>file
"""
        subprocess.run(["mount", "-o", "remount,size=120m", self.place], check=True)
        self.write("agent.sh", script)
        self.write("plan.yaml", (PLAN % "durable: best_effort").replace("[/usr/bin/python3, /plan/agent.py]", "[sh, /plan/agent.sh]"))
        self.pawl("run", "plan.yaml", "--dir", self.folder)
        log = self.log()
        self.assertNotIn("saved main-0", log)
        self.assertEqual(log.count("pawl: main-0 was not kept"), 2)
        self.assertEqual(log.count("rc 1\n"), 2)
        self.assertEqual([json.loads(line)["kept"] for line in log.splitlines() if line.startswith("{")], [True, False])
        self.assertIn("load first", log)


if __name__ == "__main__":
    unittest.main()
