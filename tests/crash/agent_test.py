#!/usr/bin/env python3
"""An agent of 50 steps with a paid call in each is killed with -9 at random moments and at its socket calls.

This process takes and counts the paid calls, outside of every sandbox. The test uses only public surfaces: the socket, the plan, the ledger.
PAWL_CRASH_KILLS=N kills at N random moments (default 12). PAWL_CRASH_EVERY=N kills at every Nth of the agent's socket calls (default 15:
another victim each time; 1: every victim at every call). PAWL_CRASH_SEED sets the seed.
"""

import http.server
import itertools
import json
import os
import pathlib
import random
import signal
import sys
import threading
import time
import unittest

from pawl_testing import PawlTest

KILLS = int(os.environ.get("PAWL_CRASH_KILLS", "12"))
EVERY = int(os.environ.get("PAWL_CRASH_EVERY", "15"))
SEED = int(os.environ.get("PAWL_CRASH_SEED", "20"))
STEPS = 50
CALLS = 1 + 4 * STEPS  # a load, then begin, complete, usage and save of each step
HOW = ("agent", "unread", "supervisor", "executor", "all")  # killed at a call; unread: before the response is read
ELAPSED_LOST_MS = 200  # at most, when a supervisor is killed: it records the time every 100 ms
LOSSES_MAX = 2  # per run: the third execution of a step is its last

PLAN = """\
version: 1
workflow: paid
source: {{path: source}}
gates:
  check: {{steps: [{{name: whole, run: "test -s result.json"}}], signals: [build], baseline: none}}
tiers:
  - phases:
      - id: work
        goal: "fifty steps"
        agent: {{run: [/usr/bin/python3, /plan/agent.py, "{port}", "{die_at}", "{how}"], network: scoped, egress: ["127.0.0.1:{port}"]}}
        gates: [check]
"""

AGENT = '''\
import http.client, json, os, pathlib, signal, socket, sys, uuid

port, die_at, how = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
calls = 0
session = uuid.uuid4().hex


class Unix(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(os.environ["PAWL_SOCKET"])


api = Unix("pawl")


def call(method, path, body=None, headers={}):
    global calls
    data = body if isinstance(body, (bytes, type(None))) else json.dumps(body).encode()
    calls += 1
    dies = calls == die_at and context["session"] == 1  # once: the next process is another session
    api.request(method, path, data, {"Pawl-Session": session, **headers})
    if dies and how == "unread":
        os.kill(os.getpid(), signal.SIGKILL)
    answer = api.getresponse()
    text = answer.read()
    if dies and how == "agent":
        os.kill(os.getpid(), signal.SIGKILL)
    if dies:
        post("/kill/" + how)
    return answer, text


def post(path):
    server = http.client.HTTPConnection("127.0.0.1", port)
    server.request("POST", path)
    return json.loads(server.getresponse().read())


context = {"session": 0}
context = json.loads(call("GET", "/v1/context")[1])
calls = 0
answer, text = call("GET", "/v1/checkpoint?id=main-0")
state = json.loads(text) if answer.status == 200 else {"messages": [], "step": 0, "tokens": 0, "elapsed": []}
while state["step"] < %d:
    key = "call-%%d" %% state["step"]
    begun = json.loads(call("POST", "/v1/steps/begin", {"key": key, "kind": "effect", "args_hash": key, "on_lost": "re_execute"})[1])
    if begun["answer"] == "run":
        result = post("/pay/" + key)
        call("POST", "/v1/steps/complete", {"key": key, "result": result})
    else:
        result = begun["result"]
    told = json.loads(call("POST", "/v1/usage", {"id": key, "model": "small", "input_tokens": 10, "output_tokens": 1, "usd": "0.01"})[1])
    state = {"messages": state["messages"] + [result["message"]], "step": state["step"] + 1, "tokens": state["tokens"] + 11,
             "elapsed": state["elapsed"] + [told["spent"]["milliseconds"]]}
    call("PUT", "/v1/checkpoint?id=main-0", json.dumps(state).encode())
state["spent"] = json.loads(call("GET", "/v1/context")[1])["spent"]
pathlib.Path("result.json").write_text(json.dumps(state))
print("RESULT " + json.dumps(state))
''' % STEPS


class Till(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        what, key = self.path.split("/")[1:]
        if what == "kill":
            self.server.kill(key)
        else:
            with self.server.lock:
                self.server.paid.append(key)
        body = json.dumps({"message": f"answer to {key}"}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class TillServer(http.server.ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], ConnectionError):  # the agent of the connection is dead
            super().handle_error(request, client_address)


class Agent(PawlTest):
    def setUp(self):
        super().setUp()
        self.till = TillServer(("127.0.0.1", 0), Till)
        self.till.lock, self.till.paid = threading.Lock(), []
        threading.Thread(target=self.till.serve_forever, daemon=True).start()
        self.addCleanup(lambda: (self.till.shutdown(), self.till.server_close()))
        self.write("source/README", "x\n")
        self.write("agent.py", AGENT)
        self.folder = self.root / ".pawl"

    def begin(self, die_at=0, how="agent"):
        self.till.paid.clear()
        self.write("plan.yaml", PLAN.format(port=self.till.server_address[1], die_at=die_at, how=how))
        before = self.runs()
        process = self.start("run", "plan.yaml", "--dir", self.folder)
        self.till.kill = lambda who: self.kill(who, process)
        self.wait_until(lambda: len(self.runs()) > len(before), "the run is there")
        return process, self.runs()[-1]

    def runs(self):
        """All run ids, oldest first: an id begins with the time. `pawl status` lists only the last fifty."""
        return sorted(path.name for path in (self.folder / "runs").glob("[!.]*"))

    def state(self, run_id):
        return self.pawl_json("status", run_id, "--dir", self.folder)["state"]

    def agents(self):
        """Process ids of the agent itself."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            try:
                argv = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
            except OSError:
                continue
            if argv[:2] == [b"/usr/bin/python3", b"/plan/agent.py"] and argv[2:3] == [str(self.till.server_address[1]).encode()]:
                found.append(int(entry.name))
        return found

    def kill(self, who, process):
        """Kills the victims. True when one of them was a process whose death loses the step."""
        victims = {"executor": [], "agent": self.agents(), "supervisor": self.supervisors(), "all": self.supervisors() + self.agents()}[who]
        if who in ("executor", "all") and process.poll() is None:
            os.kill(process.pid, signal.SIGKILL)
        for pid in victims:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        return bool(victims)

    def finish(self, run_id, process):
        process.wait()
        while self.state(run_id) == "EXECUTING":
            process = self.start("resume", run_id, "--dir", self.folder)
            process.wait()

    def check(self, run_id, undisturbed):
        self.assertEqual(self.state(run_id), "COMPLETE", self.pawl("inspect", run_id, "--dir", self.folder).stdout)
        log = self.pawl("logs", run_id, "work", "--dir", self.folder).stdout
        result = json.loads([line for line in log.splitlines() if line.startswith("RESULT ")][-1][7:])
        elapsed = result.pop("elapsed") + [result["spent"].pop("milliseconds")]
        self.assertEqual(len(elapsed), STEPS + 1)
        for before, after in itertools.pairwise(elapsed):
            self.assertGreaterEqual(after, before - ELAPSED_LOST_MS, "the time of a process before does not count")
        self.assertEqual(result, undisturbed)
        chain = self.ledger(run_id)
        # An attempt that was killed before it stored any state cannot continue, and is over. Otherwise the
        # attempt continued. The payments are checked below: a further attempt after stored state would show
        # there.
        *before, last = [r["attempt_id"] for r in chain if r["type"] == "attempt"]
        self.assertEqual([r["outcome"] for r in chain if r["type"] == "executed" and r["attempt_id"] in before], ["signaled"] * len(before))
        told = [r for r in chain if r["type"] in ("agent", "usage") and r.get("attempt_id") != last]
        self.assertEqual(told, [], "an attempt that had kept something did not go on")
        orphans = [r["details"]["key"] for r in chain if r["type"] == "agent" and r["event"] == "step_lost"]
        # A call that was in flight when it was lost is paid at most once more, and the ledger records it.
        for step in range(STEPS):
            key = f"call-{step}"
            self.assertLessEqual(1, self.till.paid.count(key), key)
            self.assertLessEqual(self.till.paid.count(key), 1 + orphans.count(key), f"{key} was paid for again")
        # Usage is reported once, and each row is written once.
        usage = [json.loads(line) for line in (self.folder / "cost/agent.jsonl").read_text().splitlines()]
        self.assertEqual(sorted(row["usage_id"] for row in usage if row["run_id"] == run_id), sorted(f"call-{i}" for i in range(STEPS)))
        self.pawl("verify", run_id, "--dir", self.folder)
        return len(orphans)

    def ledger(self, run_id):
        path = self.folder / "runs" / run_id / "phases/work/attempts.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()]

    def undisturbed(self):
        process, run_id = self.begin()
        started = time.monotonic()
        self.assertEqual(process.wait(), 0)
        log = self.pawl("logs", run_id, "work", "--dir", self.folder).stdout
        result = json.loads([line for line in log.splitlines() if line.startswith("RESULT ")][-1][7:])
        self.assertEqual((result["step"], result["tokens"], len(result["messages"])), (STEPS, 11 * STEPS, STEPS))
        self.assertGreater(result["spent"].pop("milliseconds"), result.pop("elapsed")[0])
        self.assertEqual(result["spent"], {"usd": "0.5", "tokens": 11 * STEPS})
        self.assertEqual(self.check(run_id, result), 0)
        return result, time.monotonic() - started

    def test_killed_at_random_moments(self):
        wanted, took = self.undisturbed()
        rng = random.Random(SEED)
        kills, runs, orphans = {}, 0, 0
        while sum(kills.values()) < KILLS:
            process, run_id = self.begin()
            losses = 0
            while self.state(run_id) == "EXECUTING" and sum(kills.values()) < KILLS and losses < LOSSES_MAX:
                time.sleep(rng.uniform(0, took))
                who = rng.choice(["executor", "agent", "supervisor", "all"])
                if self.state(run_id) != "EXECUTING" or (who != "executor" and not self.supervisors()):
                    continue
                losses += self.kill(who, process)
                kills[who] = kills.get(who, 0) + 1
                if who in ("executor", "all"):
                    process.wait()
                    process = self.start("resume", run_id, "--dir", self.folder)
            self.finish(run_id, process)
            orphans += self.check(run_id, wanted)
            runs += 1
        print(f"seed {SEED}: {sum(kills.values())} kills {kills} in {runs} runs, {orphans} orphans")

    def test_killed_at_its_socket_calls(self):
        wanted, _ = self.undisturbed()
        calls = range(3, CALLS + 1, EVERY)  # before the third call there may be no state to continue from
        points = [(call, how) for i, call in enumerate(calls) for how in (HOW if EVERY == 1 else [HOW[i % len(HOW)]])]
        for die_at, how in points:
            with self.subTest(call=die_at, how=how):
                process, run_id = self.begin(die_at, how)
                self.finish(run_id, process)
                self.check(run_id, wanted)
                self.assertEqual(len([r for r in self.ledger(run_id) if r["type"] == "resume"]), 1, "it died")
        print(f"{len(points)} deaths at {len(calls)} of {CALLS} calls")


if __name__ == "__main__":
    unittest.main()
