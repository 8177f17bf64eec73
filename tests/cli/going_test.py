#!/usr/bin/env python3
"""Runs that are interrupted, joined or killed, or that meet a world that is not as it should be."""

import fcntl
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys

import at_once
import own_namespaces
from pawl_runs import WithRun
from pawl_testing import TIMEOUT_S, plan


class Going(WithRun):
    def test_ctrl_c_leaves_all_resumable_and_says_how(self):
        self.make_simple(agent="sleep 60 || true; echo done > made", gate="test -e made")
        process = self.start("run", "plan.yaml")
        self.wait_for_step("the agent runs")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=TIMEOUT_S), 130)
        log = next(self.root.glob("started-*.log")).read_text()
        self.assertIn("pawl resume", log)
        self.assertTrue(self.supervisors(), "the step goes on under its supervisor")
        resumed = self.start("resume", "last")
        resumed_log = max(self.root.glob("started-*.log"))
        self.wait_until(lambda: "reattach" in resumed_log.read_text(), "it has found it")
        self.wake()
        self.assertEqual(resumed.wait(timeout=TIMEOUT_S), 0, resumed_log.read_text())
        markers = [r for r in self.chains("last")["p1"] if r["type"] == "pre_execute"]
        self.assertEqual(len([r for r in markers if ".agent." in r["label"]]), 1, "it was not paid twice")
        self.assertEqual([r["decision"] for r in self.chains("last")["p1"] if r["type"] == "resume"], ["reattach"])

    def test_a_gate_that_a_crash_lost_runs_again_whatever_resume_says_of_agents(self):
        for policy in ("re_execute", "skip", "escalate", "{probe: 'exit 1'}"):
            with self.subTest(policy=policy):
                self.make_simple(agent="echo done > made", gate="sleep 60 || true; test -e made")
                self.write("plan.yaml", (self.root / "plan.yaml").read_text() + f"resume: {policy}\n")
                process = self.start("run", "plan.yaml")
                self.wait_for_step("the gate runs", ".check.")
                self.kill_all(process)
                resumed = self.start("resume", "last")
                self.wake(".check.")
                self.assertEqual(resumed.wait(timeout=TIMEOUT_S), 0, max(self.root.glob("started-*.log")).read_text())
                labels = [row["label"] for row in self.chains("last")["p1"] if row["type"] == "pre_execute"]
                self.assertEqual(len([label for label in labels if ".agent." in label]), 1, "the agent's work is not paid again")
                self.assertEqual(len([label for label in labels if label == labels[-1]]), 2)

    def test_a_first_snapshot_that_is_ended_leaves_nothing_and_the_next_run_takes_one(self):
        """Ctrl-C removes what was copied. After kill -9 the next command that works there does."""
        count = 8000
        for i in range(count):
            self.write(f"source/many/{i}", f"{i}\n")
        self.commit_all("source")
        temporaries = self.root / "source/.pawl/objects/tmp"
        for source, number, then in (("path: source", signal.SIGINT, None), ("path: source, ref: HEAD", signal.SIGINT, None),
                                     ("path: source", signal.SIGTERM, None), ("path: source", signal.SIGKILL, None),
                                     ("path: source, ref: HEAD", signal.SIGKILL, "gc")):
            with self.subTest(source=source, number=number, then=then):
                shutil.rmtree(self.root / "source/.pawl", ignore_errors=True)
                self.write("plan.yaml", plan(gate=f"test $(ls many | wc -l) = {count} && test $(cat many/{count - 1}) = {count - 1}")
                           .replace("path: source", source))
                process = self.start("run", "plan.yaml")
                self.wait_until(lambda: next(self.root.glob("source/.pawl/objects/tmp/*/tree/many"), None) or process.poll() is not None, "it copies")
                process.send_signal(signal.SIGSTOP)
                bases = self.root / "source/.pawl/objects/bases"
                self.assertEqual((process.poll(), list(bases.iterdir())), (None, []), "it is not done")
                process.send_signal(number)
                process.send_signal(signal.SIGCONT)
                if number == signal.SIGKILL:
                    self.assertEqual(process.wait(timeout=TIMEOUT_S), -number)
                    self.assertEqual(len(list(temporaries.iterdir())), 1)
                else:
                    self.assertEqual(process.wait(timeout=TIMEOUT_S), 130)
                    self.assertIn("interrupted; ", max(self.root.glob("started-*.log")).read_text())
                    self.assertEqual(list(temporaries.iterdir()), [])
                self.assertEqual(self.pawl_json("status")["runs"], [])
                if then:
                    self.assertEqual(self.pawl_json(then)["temporaries"], 1)
                    self.assertEqual(list(temporaries.iterdir()), [])
                self.assertEqual(list(bases.iterdir()), [])
                self.assertEqual(list((self.root / "source/.pawl/objects/folders").iterdir()), [], "nor a memory of it")
                self.pawl("run", "plan.yaml")
                self.assertEqual(list(temporaries.iterdir()), [])
                self.assertEqual([len(list(many.iterdir())) for many in bases.glob("*/tree/many")], [count])
                self.pawl("verify", "last")

    def hold_the_database(self):
        """Holds the lock like a program that is stopped while it writes."""
        holder = sqlite3.connect(self.root / "source/.pawl/pawl.db", isolation_level=None)
        self.addCleanup(holder.close)
        holder.execute("BEGIN IMMEDIATE")
        return holder

    def test_a_database_that_somebody_holds_for_long_is_waited_for(self):
        for workers in 1, 2:
            with self.subTest(workers=workers):
                self.make_simple(agent="[ $PAWL_PHASE_ID = p2 ] || sleep 60 || true", gate="true", phases=2)
                run = self.start("run", "plan.yaml", "--workers", workers, env={"PAWL_BUSY_MS": "200"})
                log = max(self.root.glob("started-*.log"))
                self.wait_for_step("the agent runs", "p1.agent")
                holder = self.hold_the_database()
                self.wake()
                self.wait_until(lambda: run.poll() is not None or "\nwaiting: database" in log.read_text(), "it waits, and says so")
                refused = self.pawl("cancel", "last", env={"PAWL_BUSY_MS": "200"}, expect=14).stderr
                holder.execute("ROLLBACK")
                self.assertEqual(run.wait(timeout=TIMEOUT_S), 0, log.read_text())
                for said in refused, log.read_text():
                    self.assertNotIn("locked", said)
                    self.assertIn(f"process {os.getpid()} (", said)
                    self.assertIn(f"fuser {self.root.resolve()}/source/.pawl/pawl.db", said)
                phases = self.pawl_json("status", "last")["phases"]
                self.assertEqual([(phase["outcome"], phase["attempts_total"]) for phase in phases], [("passed", 1)] * 2)
                markers = [row["label"] for row in self.chains("last")["p1"] if row["type"] == "pre_execute"]
                self.assertEqual(len(markers), len(set(markers)), "nothing was paid twice")
                self.assertNotIn("is held by", log.read_text(), "what it could not give back is not in its own way")

    def test_why_names_what_a_run_waits_for_and_the_command_that_moves_it(self):
        self.write("source/file", "x\n")
        self.write("plan.yaml", plan(agent="sleep 300", phases=2) + """\
  - phases:
      - {id: later, may_be_empty: true, goal: g, agent: {run: "true"}, gates: [check]}
""")
        process = self.start("run", "plan.yaml")
        self.wait_for_step("the agent runs")
        run = self.run_id()
        why = self.pawl_json("why", "last")
        self.assertEqual((why["waits_for"], why["phase_id"], why["command"]), ("lease", "p1", f"pawl logs -f {run} p1"))
        self.assertIn(f"by process {process.pid} on", why["sentence"])
        self.assertIn("step p1.agent.run.attempt1 runs for", why["sentence"])
        self.assertIn("1 of later tiers wait", why["sentence"])

        self.kill_all(process)
        why = self.pawl_json("why", "last")
        self.assertEqual((why["waits_for"], why["phase_id"], why["command"]), ("executor", "p1", f"pawl resume {run}"))
        with sqlite3.connect(self.root / "source/.pawl/pawl.db") as db:
            db.execute("UPDATE phases SET not_before = '2199-01-01T00:00:00.000000Z' WHERE phase_id = 'p1'")
        db.close()
        self.assertEqual(self.pawl_json("why", "last")["waits_for"], "not_before")

        self.pawl("cancel", "last", "--reason", "enough")
        why = self.pawl("why", "last").stdout
        self.assertIn("the run is CANCELLED: it waits for nothing\n  pawl inspect " + run, why)
        self.pawl("why", "nothing-like-it", expect=1)

    def test_why_does_not_say_that_a_dead_step_runs_and_names_who_has_a_lock(self):
        self.make_simple(agent="sleep 30")
        process = self.start("run", "plan.yaml")
        self.wait_for_step("the agent runs")
        self.kill_all(process)
        objects = self.root / "source/.pawl/objects/lock"
        with open(objects, "rb") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            going = self.start("resume", "last")
            self.wait_until(lambda: self.pawl_json("stats")["stuck"] == [], "it is resumed")
            why = self.pawl_json("why", "last")
            self.assertEqual((why["waits_for"], why["command"]), ("lock", f"ps -o pid,etime,args -p {os.getpid()}"))
            self.assertIn(f"; process {os.getpid()} (", why["sentence"])
            self.assertIn(f") has the lock of the objects ({objects})", why["sentence"])
            self.assertIn("step p1.agent.run.attempt1 is to run since", why["sentence"])
            self.assertNotIn("runs for", why["sentence"])
        self.wait_for_step("it goes on")
        why = self.pawl_json("why", "last")
        self.assertEqual(why["waits_for"], "lease")
        self.assertIn("step p1.agent.run.attempt1 runs for", why["sentence"])
        self.kill_all(going)

    def test_who_keeps_the_database_is_named(self):
        self.make_simple(agent="exit 1")
        self.pawl("run", "plan.yaml", expect=None)
        self.pawl("retry", "last")
        db = sqlite3.connect(self.root / "source/.pawl/pawl.db", isolation_level=None)
        self.addCleanup(db.close)
        db.execute("BEGIN IMMEDIATE")
        why = self.pawl_json("why", "last")
        self.assertEqual((why["waits_for"], why["command"]), ("lock", f"ps -o pid,etime,args -p {os.getpid()}"))
        self.assertIn(") has the database's write lock", why["sentence"])
        said = self.pawl("cancel", "last", env={"PAWL_BUSY_MS": "200"}, expect=14).stderr
        self.assertRegex(said, rf"process {os.getpid()} \(.*\) has been writing to it for .* and nothing was changed")
        self.assertNotIn("locked", said)
        db.execute("ROLLBACK")
        self.assertEqual(self.pawl_json("why", "last")["waits_for"], "executor")
        self.pawl("cancel", "last")

    def test_status_watches_until_the_run_is_over(self):
        self.make_simple(agent="sleep 60 || true", gate="true")
        process = self.start("run", "plan.yaml")
        self.wait_for_step("the agent runs")
        watch = self.start("status", "last", "--watch", "--json")
        log = max(self.root.glob("started-*.log"))
        self.wait_until(lambda: "EXECUTING" in log.read_text(), "it says how things are")
        self.wake()
        self.assertEqual(watch.wait(timeout=TIMEOUT_S), 0)
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        self.assertEqual((lines[0]["state"], lines[-1]["state"]), ("EXECUTING", "COMPLETE"))
        self.assertEqual(len(lines), len({json.dumps(line) for line in lines}), "only what changed")
        self.assertEqual(process.wait(timeout=TIMEOUT_S), 0)
        watch = self.start("status", "--watch")
        self.wait_until(lambda: any("COMPLETE" in path.read_text() for path in self.root.glob("started-*.log")
                                    if "attempt" not in path.read_text()), "it lists")
        watch.send_signal(signal.SIGINT)
        self.assertEqual(watch.wait(timeout=TIMEOUT_S), 130)

    def test_why_says_when_a_person_must_decide(self):
        self.make_simple(agent="exit 1")
        self.pawl("run", "plan.yaml", expect=None)
        why = self.pawl_json("why", "last")
        self.assertEqual((why["waits_for"], why["command"]), ("person", f"pawl retry {self.run_id()} p1"))

    def test_another_plan_is_the_one_remedy_where_an_agent_does_not_take_its_command_line(self):
        for agent, remedy in (("ls --no-such-flag", f"pawl run {self.root}/plan.yaml"), ("exit 1", "pawl retry ")):
            with self.subTest(agent):
                self.make_simple(agent=agent, gate="exit 1", max_attempts=1)
                said = self.pawl("run", "plan.yaml", expect=11).stdout
                self.assertIn(remedy, said[said.index("Next: "):])
                self.assertIn("   or: " + remedy, self.pawl("status", "last").stdout)
                self.assertTrue(self.pawl_json("why", "last")["command"].startswith(remedy))

    def test_a_second_resume_joins_and_no_phase_runs_twice(self):
        self.make_simple(agent="sleep 0.2; echo x > made-$PAWL_PHASE_ID", gate="ls made-*", phases=4)
        first = self.start("run", "plan.yaml")
        self.wait_for_step("a step runs")
        second = self.pawl("resume", "last", expect=None)
        self.assertIn(second.returncode, (0, 14), second.stderr)
        self.assertEqual(first.wait(timeout=TIMEOUT_S), 0)
        for phase, rows in self.chains("last").items():
            labels = [r["label"] for r in rows if r["type"] == "pre_execute"]
            self.assertEqual(len(labels), len(set(labels)), phase)

    def test_parallel_phases_run_at_once_and_overlaps_are_judged_again(self):
        self.write("source/file", "x\n")
        self.write("plan.yaml", """\
version: 1
workflow: parallel
source: {path: source}
gates: {check: {steps: [{name: unit, run: "true"}]}}
tiers:
  - parallel: true
    phases:
      - {id: a, goal: g, agent: {run: "[ $PAWL_ATTEMPT = 2 ] || sleep 60 || true; echo a > a; echo a >> file"}, gates: [check]}
      - {id: b, goal: g, agent: {run: "sleep 60 || true; echo b > b"}, gates: [check]}
      - {id: c, goal: g, agent: {run: "[ $PAWL_ATTEMPT = 2 ] || sleep 60 || true; echo c >> file"}, gates: [check]}
  - phases:
      - {id: after, may_be_empty: true, goal: g, agent: {run: "cat a b && grep a file && grep c file"}, gates: [check]}
""")
        process = self.start("run", "plan.yaml", "--workers", "3")
        self.wake(steps=3)  # the three agents run at the same time
        self.assertEqual(process.wait(timeout=TIMEOUT_S), 0)
        used = {p["phase_id"]: p["attempts_used"] for p in self.pawl_json("status", "last")["phases"]}
        self.assertEqual(used["b"], 1)
        self.assertEqual(sorted((used["a"], used["c"])), [1, 2], "the later of the two was sent back")
        self.assertIn("parallel.merge", json.dumps(self.pawl_json("inspect", "last")))

    def test_logs_follow_a_running_step(self):
        self.make_simple(agent="echo first; sleep 60 || true; echo second")
        process = self.start("run", "plan.yaml")
        self.wait_for_step("the agent runs")
        following = self.start("logs", "last", "p1", "-f", "--dir", "source/.pawl")
        followed = max(self.root.glob("started-*.log"))
        self.wait_until(lambda: "first" in followed.read_text(), "what it has said so far")
        self.wake()
        self.assertEqual(following.wait(timeout=TIMEOUT_S), 0)
        self.assertIn("second", followed.read_text())
        process.wait(timeout=TIMEOUT_S)

    def test_inspect_tells_of_a_step_whose_result_is_missing(self):
        self.make_simple(agent="sleep 30")
        process = self.start("run", "plan.yaml")
        self.wait_for_step("the agent runs")
        self.kill_all(process)
        # The init of the sandbox holds the step's lock until it is dead, too.
        self.wait_until(lambda: self.pawl_json("inspect", "last")["phases"][0]["attempts"][0]["steps"][0]["state"]
                        == "execute started, result missing", "it is missing", 60)
        self.assertIn("execute started, result missing", self.pawl("inspect", "last").stdout)

    def test_resume_policies(self):
        for policy, decision, state, code in (("skip", "skip", "COMPLETE", 0), ("escalate", "escalate", "FAILED", 11)):
            with self.subTest(policy):
                self.make_simple(agent='[ "$PAWL_ATTEMPT" = 2 ] || sleep 30', resume=policy)
                process = self.start("run", "plan.yaml")
                self.wait_for_step("the agent runs")
                self.kill_all(process)
                self.pawl("resume", "last", expect=code)
                rows = self.chains("last")["p1"]
                self.assertEqual([r["decision"] for r in rows if r["type"] == "resume"], [decision])
                self.assertEqual(self.pawl_json("status", "last")["phases"][0]["state"], state)

    def test_a_step_that_is_lost_three_times_is_a_crash_loop(self):
        self.make_simple(agent="sleep 30", max_attempts=1)
        command = ["run", "plan.yaml"]
        for _ in range(3):
            process = self.start(*command)
            self.wait_for_step("the agent runs")
            self.kill_all(process)
            command = ["resume", "last"]
        self.pawl("resume", "last", expect=11)
        rows = self.chains("last")["p1"]
        self.assertEqual([r["execution"] for r in rows if r["type"] == "pre_execute"], [1, 2, 3])
        self.assertIn("crash_loop", json.dumps([r for r in rows if r["type"] == "attempt"]))
        self.assertEqual(len([r for r in self.rows(self.root / "source/.pawl/cost/sandbox.jsonl")]), 3)


class BadInput(WithRun):
    def test_sources(self):
        self.make_simple()
        text = plan().replace("{path: source}", "{path: source, ref: HEAD}")
        self.write("plan.yaml", text)
        self.assertIn("git", self.pawl("run", "plan.yaml", expect=2).stderr)
        self.commit_all("source")
        self.write("plan.yaml", text.replace("HEAD", "no-such-branch"))
        self.assertIn("no-such-branch", self.pawl("run", "plan.yaml", expect=2).stderr)
        self.write("plan.yaml", plan().replace("{path: source}", "{path: nowhere}"))
        self.assertIn("nowhere", self.pawl("run", "plan.yaml", expect=2).stderr)

    def test_a_database_that_is_text(self):
        self.make_simple()
        self.write("source/.pawl/pawl.db", "this is no database, it is text\n" * 100)
        self.assertIn("pawl.db", self.pawl("run", "plan.yaml", expect=1).stderr)
        self.assertTrue((self.root / "source/.pawl/pawl.db").read_text().startswith("this is"), "nothing was lost")

    def test_a_database_of_a_newer_schema(self):
        self.make_simple()
        self.pawl("run", "plan.yaml")
        db = sqlite3.connect(self.root / "source/.pawl/pawl.db")
        db.execute("PRAGMA user_version = 99")
        db.commit()
        db.close()
        error = self.pawl("status", expect=1).stderr
        self.assertIn("99", error)
        self.assertIn("99", self.pawl("run", "plan.yaml", expect=1).stderr)
        db = sqlite3.connect(self.root / "source/.pawl/pawl.db")
        self.assertEqual(db.execute("SELECT state FROM runs").fetchall(), [("COMPLETE",)])
        db.close()


class Disks(WithRun):
    """Each case is in a mount namespace of its own."""

    def test_a_full_disk(self):
        self.make_simple(agent="head -c 3000000 /dev/urandom > big-$PAWL_PHASE_ID", gate="true", phases=20, git="none")
        small = self.root / "small"
        small.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12m", "tmpfs", small], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", small], check=False)
        done = self.pawl("run", "plan.yaml", "--dir", small / ".pawl", expect=None)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertRegex(done.stderr, "(?i)no space left|disk is full")
        phases = self.pawl_json("status", "last", "--dir", small / ".pawl")["phases"]
        self.assertEqual(phases[0]["state"], "COMPLETE", "what was committed is still there")
        self.assertEqual({p["attempts_used"] for p in phases if p["attempts_used"]}, {1}, "and no attempt was burnt for it")
        self.assertTrue(self.pawl_json("verify", "last", "--dir", small / ".pawl")["ok"])
        # With the name of the device: without it, mount(8) repeats the old options, and a user namespace
        # refuses one of them.
        subprocess.run(["mount", "-o", "remount,size=200m", "tmpfs", small], check=True)
        self.pawl("resume", "last", "--dir", small / ".pawl")
        subprocess.run(["umount", "-l", small], check=True)

    def test_a_disk_that_is_full_when_an_agent_ends_keeps_its_work(self):
        agent = "echo work >made; echo paid >>~/paid; wc -l <~/paid; [ $(wc -l <~/paid) = 2 ] || head -c 40000000 /dev/zero | tr '\\0' x"
        self.make_simple(agent=agent, gate="cat made", git="none", resume="continue")
        small = self.root / "small"
        small.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", small], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", small], check=False)
        state = ("--dir", small / ".pawl")
        self.assertRegex(self.pawl("run", "plan.yaml", *state, expect=1).stderr, "(?i)no space left|disk is full")
        subprocess.run(["mount", "-o", "remount,size=200m", "tmpfs", small], check=True)
        self.pawl("resume", "last", *state)
        [attempt] = self.pawl_json("inspect", "last", *state)["phases"][0]["attempts"]
        self.assertEqual([row["decision"] for row in attempt["decisions"]], ["continue"])
        self.assertIn("\n2\n", self.pawl("logs", "last", "p1", *state).stdout, "it goes on in its HOME")
        subprocess.run(["umount", "-l", small], check=True)

    def test_a_read_only_state_folder(self):
        self.make_simple()
        self.pawl("run", "plan.yaml")
        state = self.root / "source/.pawl"
        subprocess.run(["mount", "--bind", state, state], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", state], check=False, stderr=subprocess.DEVNULL)
        subprocess.run(["mount", "-o", "remount,bind,ro", state], check=True)
        error = self.pawl("run", "plan.yaml", expect=1).stderr
        self.assertRegex(error, "(?i)read-only")
        subprocess.run(["umount", "-l", state], check=True)
        self.assertEqual(self.pawl_json("status", "last")["state"], "COMPLETE")


if __name__ == "__main__":
    if any(name.startswith("Disks") for name in sys.argv[1:]):
        own_namespaces.enter("m", *sys.argv[1:])
    at_once.main(enter=lambda case: own_namespaces.enter("m", case) if case.startswith("Disks.") else None)
