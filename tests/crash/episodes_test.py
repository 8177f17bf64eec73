#!/usr/bin/env python3
"""Several episodes of one attempt (best_of) keep separate layers and separate checkpoints, whichever process is killed and when.

PAWL_CRASH_KILLS=N kills at N random moments (default 12). PAWL_CRASH_SEED sets the seed.
"""

import json
import os
import pathlib
import random
import re
import signal
import time
import unittest

from pawl_testing import PawlTest

KILLS = int(os.environ.get("PAWL_CRASH_KILLS", "12"))
SEED = int(os.environ.get("PAWL_CRASH_SEED", "21"))
REPETITIONS = 20
STEPS = 8
LOSSES_MAX = 2  # per run: the third execution of a step is its last

PLAN = """\
version: 1
workflow: episodes
source: {{path: source}}
max_attempts: {attempts}
gates:
  first: {{steps: [{{name: exists, run: "test -s work"}}], signals: [build], baseline: none}}
  second: {{steps: [{{name: right, run: "grep -q right work"}}], signals: [build], baseline: none}}
tiers:
  - phases:
      - id: {phase}
        goal: "three tries"
        agent: {{run: {agent}}}
        gates: [first, second]
        best_of: 3
"""

# The agent stores its work after each step, and prints CROSSED when it finds the work of another episode.
AGENT = '''\
import http.client, json, os, pathlib, socket, time, uuid

session = uuid.uuid4().hex
me = os.environ["PAWL_EPISODE_ID"]


class Unix(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(os.environ["PAWL_SOCKET"])


api = Unix("pawl")


def call(method, path, body=None):
    api.request(method, path, body, {"Pawl-Session": session})
    answer = api.getresponse()
    return answer.status, answer.read()


status, text = call("GET", "/v1/checkpoint?id=main-0")
state = json.loads(text) if status == 200 else {"of": me, "steps": []}
if state["of"] != me:
    print("CROSSED " + json.dumps(state), flush=True)
while len(state["steps"]) < %d:
    time.sleep(0.03)
    state["steps"].append([me, len(state["steps"])])
    call("POST", "/v1/usage", json.dumps({"id": "%%s-%%d" %% (me, len(state["steps"])), "model": "m", "input_tokens": 1, "output_tokens": 1}))
    call("PUT", "/v1/checkpoint?id=main-0", json.dumps(state).encode())
print("RESULT " + json.dumps(state), flush=True)
pathlib.Path("work").write_text("right\\n" if os.environ["PAWL_EPISODE"] == "3" else "wrong\\n")
''' % STEPS


class Episodes(PawlTest):
    def setUp(self):
        super().setUp()
        self.write("source/README", "x\n")

    def plan(self, agent, attempts=1, phase="work"):
        self.write("agent.py", AGENT)
        return self.write("plan.yaml", PLAN.format(agent=json.dumps(agent), attempts=attempts, phase=phase))

    def last(self):
        """The id of the newest run, or None. `pawl status` lists only the last fifty, so a count would not show a new run."""
        runs = self.pawl_json("status")["runs"] if (self.root / "source/.pawl/pawl.db").exists() else []
        return runs[0]["run_id"] if runs else None

    def attempts(self, run_id, phase="work"):
        chain = self.chains(run_id)[phase]
        return chain, [row for row in chain if row["type"] == "attempt"]

    def kept(self, row):
        kept = [(one["episode"], one["kept_by"]) for one in row["episodes"] if "kept_by" in one]
        self.assertEqual(len(kept), 1, row["episodes"])
        return kept[0]

    def test_the_first_that_passes_ends_the_others(self):
        phase = "a" * 64  # makes the longest names of episodes
        self.plan("case $PAWL_EPISODE in 1) echo wrong >work; sleep 0.5;; 2) echo right >work;; 3) sleep 1000;; esac", phase=phase)
        self.pawl("run", "plan.yaml", "--workers", "3")
        run = self.last()
        chain, (row,) = self.attempts(run, phase)
        self.assertEqual(row["verdict"], "passed")
        self.assertEqual([one["outcome"] for one in row["episodes"]], ["failed", "passed", "cancelled"])
        self.assertEqual(self.kept(row), (2, "passed"))
        self.assertEqual([one["gates_passed"] for one in row["episodes"]], [1, 2, 0])
        cancelled = [r for r in chain if r["type"] == "resume"]
        self.assertEqual([(r["label"], r["decision"]) for r in cancelled], [(f"{phase}.agent.run.attempt1.episode3", "cancelled")])
        # All three run at once: the markers of the agents come before the first end.
        kinds = [(r["type"], r["label"].rpartition(".")[2]) for r in chain if "label" in r]
        self.assertEqual(kinds[:3], [("pre_execute", f"episode{n}") for n in (1, 2, 3)])
        phases = self.pawl_json("status", run)["phases"]
        self.assertEqual((phases[0]["attempts_used"], phases[0]["state"]), (1, "COMPLETE"))
        costs = [json.loads(line) for line in (self.root / "source/.pawl/cost/sandbox.jsonl").read_text().splitlines()]
        self.assertEqual(len(costs), len([r for r in chain if r["type"] == "pre_execute"]), "one cost row an executed step")
        self.assertIn("+right", self.pawl("diff", run).stdout)
        # The output that users see.
        attempt = self.pawl_json("inspect", run)["phases"][0]["attempts"][0]
        self.assertEqual(attempt["episodes"], row["episodes"])
        self.assertEqual({step["episode"] for step in attempt["steps"]}, {1, 2, 3})
        self.assertRegex(self.pawl("inspect", run).stdout, r"#2 +passed +2 +0 .*by passed")
        self.pawl("report", run, "-o", "report.html")
        self.assertIn("by passed", (self.root / "report.html").read_text())
        logs = self.pawl("logs", run, phase, "--episode", "2").stdout
        self.assertEqual(set(re.findall(r"episode\d", logs)), {"episode2"})
        self.assertEqual(self.pawl_json("gate", run, phase, "second")["passed"], True)

    def test_one_worker_takes_one_after_the_other(self):
        self.plan("echo $PAWL_EPISODE >>work; test $PAWL_EPISODE != 2 || echo right >>work")
        self.pawl("run", "plan.yaml")
        chain, (row,) = self.attempts(self.last())
        self.assertEqual([one["outcome"] for one in row["episodes"]], ["failed", "passed", "not_run"])
        running = 0
        for r in chain:
            running += {"pre_execute": 1, "executed": -1}.get(r["type"], 0)
            self.assertLessEqual(running, 1)
        self.assertEqual(self.pawl("diff", self.last()).stdout.count("\n+"), 3, "+++ and two lines: nothing of the first episode")

    def test_the_kept_one_is_the_same_each_time(self):
        # The last episode equals the second in every criterion. The first to be ready changes, and half of
        # the runs crash.
        agent = ("case $PAWL_EPISODE in 1) n=30;; *) n=10;; esac; seq $n >work;"
                 " sleep 0.$(($(od -An -N1 -tu1 /dev/urandom) % 3))")
        self.plan(agent)
        found, rng = set(), random.Random(SEED)
        for repetition in range(REPETITIONS):
            before = self.last()
            process = self.start("run", "plan.yaml", "--workers", "3")
            self.wait_until(lambda: self.last() != before, "the run is there")
            if repetition % 2:
                time.sleep(rng.uniform(0, 0.4))
                rng.choice([self.kill_all, self.stop])(process)
            process.wait()
            run = self.last()
            while self.state(run) == "EXECUTING":
                self.start("resume", run, "--workers", rng.choice("123")).wait()
            self.assertEqual(self.state(run), "FAILED")
            _, (row,) = self.attempts(run)
            found.add(json.dumps([self.kept(row), [(o["outcome"], o["gates_passed"], o["changed_lines"]) for o in row["episodes"]]]))
        self.assertEqual([json.loads(one) for one in found], [[[2, "episode"], [["failed", 1, 30], ["failed", 1, 10], ["failed", 1, 10]]]])

    def test_the_next_attempt_learns_from_the_kept_one(self):
        self.plan("echo try $PAWL_EPISODE; test -z \"$PAWL_FEEDBACK\" || { cat $PAWL_FEEDBACK; ls /pawl/evidence; cat /pawl/evidence/previous.patch; };"
                  " echo $PAWL_EPISODE >work; test $PAWL_EPISODE = 2 || echo more >>work", attempts=2)
        self.pawl("run", "plan.yaml", "--workers", "2", expect=11)
        run = self.last()
        _, rows = self.attempts(run)
        self.assertEqual([self.kept(row) for row in rows], [(2, "changed_lines")] * 2)
        self.assertEqual(self.pawl_json("status", run)["phases"][0]["attempts_used"], 2)
        log = self.pawl("logs", run, "work", "--attempt", "2", "--episode", "1").stdout
        self.assertEqual(set(re.findall(r"attempt1\.episode(\d)", log)), {"2"})
        self.assertIn("+2\n", log)
        self.assertNotIn("+more", log)

    def test_what_one_leaves_of_the_budget_the_others_have(self):
        agent = ("curl -sS --unix-socket $PAWL_SOCKET http://pawl/v1/context; echo; curl -sS -o /dev/null --unix-socket $PAWL_SOCKET"
                 " -d '{\"id\":\"c\",\"model\":\"m\",\"input_tokens\":4,\"output_tokens\":1}' http://pawl/v1/usage; echo wrong >work")
        path = self.plan(agent)
        for budget in ("agent: {budget: {tokens: 30}, run:", "agent: {run:"):
            text = PLAN.format(agent=json.dumps(agent), attempts=1, phase="work").replace("agent: {run:", budget)
            path.write_text(text if "budget" in budget else text.replace("gates:\n", "budget: {tokens: 30}\ngates:\n", 1))
            self.pawl("run", "plan.yaml", expect=11)
            log = self.pawl("logs", self.last(), "work").stdout
            caps = [json.loads(line)["caps"]["tokens"] for line in log.splitlines() if '"caps"' in line]
            self.assertEqual(caps, [10, (30 - 5 + 1) // 2 if budget == "agent: {run:" else (30 - 5) // 2, 20])
            rows = [json.loads(line) for line in (self.root / "source/.pawl/cost/agent.jsonl").read_text().splitlines()]
            self.assertEqual(len([r for r in rows if r["run_id"] == self.last()]), 3, "the same name in each episode: three calls")

    def test_killed_at_random_moments(self):
        rng = random.Random(SEED)
        kills, runs = {}, 0
        while sum(kills.values()) < KILLS:
            self.plan(["/usr/bin/python3", "/plan/agent.py"])
            workers = rng.choice(["1", "2", "3"])
            before = self.last()
            process = self.start("run", "plan.yaml", "--workers", workers)
            self.wait_until(lambda: self.last() != before, "the run is there")
            run, losses = self.last(), 0
            while self.state(run) == "EXECUTING" and losses < LOSSES_MAX and sum(kills.values()) < KILLS:
                time.sleep(rng.uniform(0, 1))
                who = rng.choice(["executor", "supervisors", "one", "all"])
                victims = self.supervisors()
                if who != "executor" and not victims:
                    continue
                if who in ("executor", "all"):
                    process.kill()
                for pid in {"executor": [], "one": victims[:1]}.get(who, victims):
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except ProcessLookupError:
                        pass
                losses += 1  # a killed executor counts, too: it may die between a marker and its step
                kills[who] = kills.get(who, 0) + 1
                if who in ("executor", "all"):
                    process.wait()
                    process = self.start("resume", run, "--workers", workers)
            process.wait()
            while self.state(run) == "EXECUTING":
                self.start("resume", run, "--workers", workers).wait()
            self.check(run)
            runs += 1
        print(f"seed {SEED}: {sum(kills.values())} kills {kills} in {runs} runs")

    def state(self, run):
        return self.pawl_json("status", run)["state"]

    def check(self, run):
        self.assertEqual(self.state(run), "COMPLETE", self.pawl("inspect", run).stdout)
        chain, (row,) = self.attempts(run)
        self.assertEqual([one["outcome"] for one in row["episodes"]], ["failed", "failed", "passed"])
        self.assertEqual(self.kept(row), (3, "passed"))
        results = [r["label"] for r in chain if r["type"] == "executed"]
        self.assertEqual(len(results), len(set(results)), "a step has one result, and is not run again")
        for n in (1, 2, 3):
            log = self.pawl("logs", run, "work", "--episode", str(n)).stdout
            self.assertNotIn("CROSSED", log)
            result = json.loads([line for line in log.splitlines() if line.startswith("RESULT ")][-1][7:])
            self.assertEqual(result, {"of": f"work.1.e{n}", "steps": [[f"work.1.e{n}", i] for i in range(STEPS)]})
        usage = [json.loads(line) for line in (self.root / "source/.pawl/cost/agent.jsonl").read_text().splitlines()]
        self.assertEqual(sorted(r["usage_id"] for r in usage if r["run_id"] == run),
                         sorted(f"work.1.e{n}-{i}" for n in (1, 2, 3) for i in range(1, STEPS + 1)), "each call counted once")
        # Success removes the checkpoints of its own episode only.
        kept = self.root / f"source/.pawl/agents/{run}/work"
        self.assertEqual(sorted(path.name for path in kept.glob("*.db")), ["work.1.e1.db", "work.1.e2.db"])


if __name__ == "__main__":
    unittest.main()
