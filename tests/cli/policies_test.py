"""The policies of a phase, on the real program: the doctor, the replanner, backoff, and the probe of a lost step."""

import json
import os
import signal
import sqlite3
import time

import at_once
from pawl_runs import WithRun
from pawl_testing import TIMEOUT_S, plan

ANSWER = "cat >/dev/null; cat /plan/answer.json"


class Policies(WithRun):
    def doctored(self, answer, after_failures=1, **kwargs):
        self.make_simple(doctor=f'{{run: "{ANSWER}", after_failures: {after_failures}}}', **kwargs)
        self.write("answer.json", answer if isinstance(answer, str) else json.dumps(answer))

    def columns(self, *names, phase="p1"):
        with sqlite3.connect(self.root / "source/.pawl/pawl.db") as db:
            row = db.execute(f"SELECT {', '.join(names)} FROM phases WHERE phase_id = ?", (phase,)).fetchone()
        db.close()
        return row

    def rows_of(self, kind, phase="p1"):
        return [row for row in self.chains("last")[phase] if row["type"] == kind]


class Budget(Policies):
    def test_it_stops_between_two_steps_and_goes_on_when_the_cap_is_raised(self):
        self.make_simple(budget="{sandbox_seconds: 1}", agent="sleep 1.2; echo 1 >done", gate="true")
        said = self.pawl("run", "plan.yaml", expect=11).stdout
        self.assertRegex(said, r"  budget: \d+\.\d of 1\.0 seconds in sandboxes are spent\n")
        self.assertRegex(said, r"\nStopped: \d+\.\d of 1\.0 seconds in sandboxes are spent; nothing is lost\.\n"
                               r"Next: pawl budget \S+ --sandbox-seconds N   then pawl resume \S+\n$")
        self.assertEqual(self.columns("state", "attempts_total", "lease_owner"), ("EXECUTING", 1, ""))
        why = self.pawl_json("why", "last")
        self.assertEqual(why["waits_for"], "budget")
        self.assertRegex(why["sentence"], r"phase p1 waits for the budget: \d+\.\d of 1\.0 ")
        self.assertEqual(self.pawl_json("resume", "last", expect=11)["exit_code"], 11)
        self.assertEqual(len(self.rows_of("pre_execute")), 1, "nothing more was begun")

        self.assertIn("of 60.0 seconds", self.pawl("budget", "last", "--sandbox-seconds", "60",
                                                   "--reason", "worth it").stdout)
        row = [row for row in self.chains("last")[""] if row["type"] == "operator"][0]
        self.assertEqual((row["action"], row["reason"]), ("budget sandbox_ms 60000", "worth it"))
        self.pawl("resume", "last")
        self.assertEqual(self.columns("attempts_total", "outcome"), (1, "passed"))
        self.assertEqual([row["label"] for row in self.rows_of("pre_execute")],
                         ["p1.agent.run.attempt1", "p1.check.unit.attempt1"])
        budget = self.pawl_json("status", "last")["budget"]["sandbox_ms"]
        spent = sum(row["duration_ms"] for row in self.rows_of("executed"))
        self.assertEqual(budget, {"cap": 60000, "spent": spent, "reserved": 0})
        self.assertIn("of 60.0 seconds", self.pawl("status", "last").stdout)
        self.assertIn("COMPLETE", self.pawl("budget", "last", "--sandbox-seconds", "5", expect=1).stderr)
        self.pawl("verify", "last")

    def test_a_run_without_a_budget_left_does_not_stop_the_others(self):
        for budget in ("{sandbox_seconds: 1000}", "{sandbox_seconds: 1}"):  # the newest run is read first
            self.make_simple(budget=budget, agent="sleep 1.2")
            self.pawl("run", "plan.yaml", expect=-9, env={
                "PAWL_CRASH_ROLE": "executor", "PAWL_CRASH_AT": "1", "PAWL_CRASH_COUNT": str(self.root / budget),
                "PAWL_CRASH_LABEL": "store.create_run.after_commit"})
        self.pawl("resume", expect=11)
        self.assertEqual(sorted(run["state"] for run in self.pawl_json("status")["runs"]), ["COMPLETE", "EXECUTING"])

    def test_a_budget_stops_a_step_that_would_be_executed_again(self):
        self.make_simple(budget="{sandbox_seconds: 1}", agent="sleep 100")
        process = self.start("run", "plan.yaml")
        self.wait_for_step("the agent runs")
        time.sleep(1.1)  # longer than the budget
        self.kill_all(process)
        said = self.pawl("resume", "last", expect=11).stdout
        self.assertIn("found nothing, re_execute", said)
        self.pawl("budget", "last", "--sandbox-seconds", "1000")
        process = self.start("resume", "last")
        self.wait_for_step("the agent runs again")
        self.kill_all(process)
        self.assertEqual([row["execution"] for row in self.rows_of("pre_execute")], [1, 2])


class Approve(Policies):
    def test_a_person_takes_what_a_gate_would_not(self):
        self.make_simple(agent="echo new >made", gate="false", max_attempts=1, phases=2)
        self.pawl("run", "plan.yaml", expect=11)
        self.assertEqual(self.columns("state", "outcome"), ("FAILED", "escalate"))
        self.assertEqual(self.columns("state", phase="p2"), ("SKIPPED",))
        self.assertIn("pawl approve", self.pawl("why", "last").stdout)
        self.assertIn("no finished attempt", self.pawl("approve", "last", "p2", expect=1).stderr)
        said = self.pawl("approve", "last", "p1", "--reason", "the test is wrong").stdout
        self.assertIn("p1 is COMPLETE (approved, not passed) with the work of p1.1\nfailed, and overruled: check.build\n"
                      "p2 is QUEUED again\nNext: pawl resume", said)
        self.assertEqual(self.columns("state", "outcome", "last_failure_reason"),
                         ("COMPLETE", "approved", f"approve p1.1 by uid {os.getuid()}: the test is wrong"))
        row = self.rows_of("operator")[0]
        self.assertEqual((row["action"], row["from_state"], row["to_state"], row["reason"]),
                         ("approve p1.1", "FAILED", "COMPLETE", "the test is wrong"))
        self.assertIn("+new", self.pawl("diff", "last").stdout)
        self.assertIn("does not allow to approve it", self.pawl("approve", "last", "p1", expect=1).stderr)
        self.pawl("resume", "last", expect=11)
        self.assertEqual(self.columns("attempts_total", "outcome", phase="p2"), (1, "escalate"))
        self.pawl("verify", "last")

    def test_work_that_gc_took_is_not_approved(self):
        self.make_simple(agent="echo new >made", gate="false", max_attempts=1)
        self.pawl("run", "plan.yaml", expect=11)
        self.pawl("gc", "--older-than", "0s")
        self.assertIn("the work of p1.1 is gone", self.pawl("approve", "last", "p1", expect=1).stderr)
        self.assertEqual(self.columns("state"), ("FAILED",))

    def test_protected_paths_are_left_out(self):
        self.make_simple(agent="echo new >made; echo evil >guarded", max_attempts=1, protect="[{pattern: guarded, may_be_absent: true}]")
        self.pawl("run", "plan.yaml", expect=11)
        done = self.pawl_json("approve", "last", "p1")
        self.assertEqual((done["attempt_id"], done["left_out"], done["phases"]), ("p1.1", ["guarded"], ["p1"]))
        diff = self.pawl("diff", "last").stdout
        self.assertIn("made", diff)
        self.assertNotIn("guarded", diff)
        self.assertEqual(self.pawl_json("status", "last")["state"], "COMPLETE")


class Doctor(Policies):
    def test_a_hint_reaches_the_next_agent_and_only_that_one(self):
        agent = 'grep -o \'"hint":"[^"]*"\' "$PAWL_FEEDBACK" || true; [ "$PAWL_ATTEMPT" = 3 ]'
        # The doctor answers once, and has no more answers afterwards.
        self.make_simple(agent=agent, max_attempts=3,
                         doctor='{run: "python3 /plan/doctor.py", after_failures: 1}')
        self.write("doctor.py", """\
import json, os, sys
question = json.load(sys.stdin)
assert question["goal"] == question["original_goal"] == "g", question
assert os.path.exists(question["evidence"][-1]) or not question["evidence"], question
assert question["attempts"][-1]["failing_signals"] == ["agent.agent"], question
if len(question["attempts"]) == 1:
    print(json.dumps({"action": "retry_with_hint", "hint": "look left", "reason": "two\\nlines"}))
""")
        self.assertIn("; the doctor gives a hint\n", self.pawl("run", "plan.yaml").stdout)
        first, second = self.rows_of("doctor")
        self.assertEqual((first["understood"], first["action"], first["hint"], first["reason"]),
                         (True, "retry_with_hint", "look left", "two lines"))
        self.assertFalse(second["understood"], "an answer that is none is a call, too")
        self.assertEqual(self.columns("attempts_total", "doctor_calls", "outcome"), (3, 2, "passed"))
        logs = self.pawl("logs", "last", "p1", "--attempt", "2").stdout
        self.assertIn("look left", logs)
        self.assertNotIn("look left", self.pawl("logs", "last", "p1", "--attempt", "3").stdout)
        self.assertIn("doctor: retry_with_hint", self.pawl("inspect", "last").stdout)
        with sqlite3.connect(self.root / "source/.pawl/pawl.db") as db:
            self.assertEqual(db.execute("SELECT doctor_calls FROM runs").fetchone()[0], 2)
            with self.assertRaises(sqlite3.IntegrityError):
                db.execute("UPDATE runs SET doctor_calls = 11")
        db.close()
        cost = [json.loads(line)["gate_id"] for line in
                (self.root / "source/.pawl/cost/sandbox.jsonl").read_text().splitlines()]
        self.assertEqual(cost, ["agent", "doctor", "agent", "doctor", "agent", "check"])

    def test_two_calls_a_phase(self):
        self.doctored({"action": "retry_with_hint", "hint": "again"}, agent='echo "$PAWL_ATTEMPT" >n; exit 1',
                      gate="false", max_attempts=5)
        self.pawl("run", "plan.yaml", expect=12)  # the same failure three times
        self.assertEqual(self.columns("doctor_calls", "attempts_total"), (2, 3))
        self.assertEqual(len(self.rows_of("doctor")), 2)

    def test_its_actions(self):
        for action, states, outcome, code in (("skip_phase", ["SKIPPED", "COMPLETE"], "skipped", 0),
                                              ("mark_failed", ["FAILED", "SKIPPED"], "failed_unrecoverable", 12),
                                              ("abort_run", ["FAILED", "CANCELLED"], "failed_unrecoverable", 12)):
            with self.subTest(action):
                self.doctored({"action": action, "reason": "no use"}, phases=2,
                              agent='[ "$PAWL_PHASE_ID" = p2 ]')
                result = self.pawl_json("run", "plan.yaml", expect=code)
                self.assertEqual([phase["state"] for phase in result["phases"]], states)
                self.assertEqual(result["phases"][0]["outcome"], outcome)
                self.assertEqual(result["phases"][0]["last_failure_reason"], f"doctor: {action}: no use")
                self.assertEqual(result["phases"][0]["attempts_total"], 1)

    def test_what_it_answers_is_believed_no_further_than_its_limits(self):
        answers = ["", "not json", "[]", '{"action": "rm -rf"}', '{"action": 7}', '{"action": "retry_with_hint"}',
                   json.dumps({"action": "retry_with_hint", "hint": "x" * 5000}),
                   json.dumps({"action": "skip_phase", "reason": ["no"]}), "[" * 100000, '{"action": "replan"}']
        for answer in answers:
            with self.subTest(answer[:40]):
                self.doctored(answer, agent="exit 1", max_attempts=2, after_failures=2)
                self.pawl("run", "plan.yaml", expect=11)
                self.assertEqual(self.columns("doctor_calls", "outcome", "attempts_used"), (1, "escalate", 2))
                self.assertEqual(len(self.rows_of("doctor")), 1)

    def test_abort_ends_what_runs_beside_it(self):
        self.write("source/file", "x\n")
        self.write("answer.json", json.dumps({"action": "abort_run", "reason": "stop"}))
        text = plan(agent='[ "$PAWL_PHASE_ID" = p1 ] && exit 1; sleep 200', phases=2, doctor=f'{{run: "{ANSWER}", after_failures: 1}}')
        self.write("plan.yaml", text.replace("  - phases:", "  - parallel: true\n    phases:"))
        result = self.pawl_json("run", "plan.yaml", "--workers", "2", expect=12)
        self.assertEqual([phase["state"] for phase in result["phases"]], ["FAILED", "CANCELLED"])
        self.assertEqual(self.our_processes(), [])
        self.assertTrue(self.pawl_json("verify", "last")["ok"])

    def test_a_doctor_that_is_killed_is_called_once(self):
        self.make_simple(agent="exit 1", max_attempts=2,
                         doctor='{run: "sleep 30", after_failures: 1}')
        process = self.start("run", "plan.yaml")
        self.wait_until(lambda: self.supervisors() and self.columns("doctor_calls") == (1,), "the doctor runs")
        self.kill_all(process)
        self.assertEqual(self.columns("doctor_calls"), (1,), "counted before it ran")
        process = self.start("resume", "last")
        self.wait_for_step("it runs again")
        self.assertEqual(self.columns("doctor_calls"), (1,), "and not counted twice")
        self.pawl("cancel", "last")
        process.wait(timeout=TIMEOUT_S)


class Overrides(Policies):
    def test_a_step_of_one_attempt_is_another_one(self):
        self.write("source/file", "x\n")
        self.write("plan.yaml", """\
version: 1
workflow: overrides
source: {path: source}
gates:
  check:
    steps:
      - {name: first, run: echo first}
      - {name: unit, run: exit 1}
    attempt_overrides:
      2: {unit: {run: echo twice; sleep 9, time_budget_seconds: 1}}
      3: {unit: {run: echo thrice}}
    retry: {timeout_retryable: true}
    baseline: none
tiers:
  - phases:
      - {id: p, may_be_empty: true, goal: g, agent: {run: "true"}, gates: [check]}
""")
        self.pawl("run", "plan.yaml")
        attempts = self.pawl_json("inspect", "last")["phases"][0]["attempts"]
        ends = [[(step["label"].split(".")[2], step["run"]["outcome"]) for step in attempt["steps"][1:]] for attempt in attempts]
        self.assertEqual(ends, [[("first", "exited"), ("unit", "exited")], [("first", "exited"), ("unit", "timed_out")],
                                [("first", "exited"), ("unit", "exited")]])
        self.assertTrue(self.pawl_json("verify", "last")["ok"])


class Replan(Policies):
    PLANNER = """\
import json, sys
question = json.load(sys.stdin)
assert question["original_goal"] == "g", question
print(json.dumps({"goal": "do it in revision %d" % (question["revision"] + 1), "reason": "stuck"}))
"""

    def test_a_revised_goal_starts_afresh_and_survives_a_restart(self):
        self.make_simple(agent='echo "goal: $PAWL_GOAL / $PAWL_ORIGINAL_GOAL / $PAWL_MODEL"; [ "$PAWL_ATTEMPT" = 4 ]',
                         max_attempts=2, models="[small, large]",
                         replan='{run: "python3 /plan/replan.py", max_replans: 1}')
        self.write("replan.py", self.PLANNER)
        # Killed once the replan is a row: everything that determines the rest is in the database.
        process = self.start("run", "plan.yaml")
        self.wait_until(lambda: (self.root / "source/.pawl/pawl.db").exists() and self.has_replanned(), "it replans")
        process.kill()
        process.wait()
        self.pawl("resume", "last")
        self.assertEqual(self.columns("attempts_used", "attempts_total", "replans", "revision", "escalation_level"),
                         (2, 4, 1, 1, 1))
        self.assertEqual([(row["understood"], row["goal"], row["revision"]) for row in self.rows_of("replan")],
                         [(True, "do it in revision 1", 1)])
        self.assertIn("goal: g / g / small", self.pawl("logs", "last", "p1", "--attempt", "1").stdout)
        third = self.pawl("logs", "last", "p1", "--attempt", "3").stdout
        self.assertIn("goal: do it in revision 1 / g / large", third, "the level of the ladder does not go down")
        self.assertIn("replan: do it in revision 1", self.pawl("inspect", "last").stdout)

    def has_replanned(self):
        try:
            return self.columns("revision") == (1,)
        except (sqlite3.OperationalError, TypeError):
            return False  # no tables, or no phases, yet

    def test_replans_are_bounded(self):
        self.make_simple(agent='date +%N >n; exit 1', gate="false", max_attempts=1,
                         replan='{run: "python3 /plan/replan.py", max_replans: 2}')
        self.write("replan.py", self.PLANNER)
        self.pawl("run", "plan.yaml", expect=11)
        self.assertEqual(self.columns("attempts_total", "replans", "revision", "outcome"), (3, 2, 2, "escalate"))

    def test_a_doctor_may_ask_for_it(self):
        self.doctored({"action": "replan", "reason": "wrong way"}, agent='[ "$PAWL_GOAL" = better ]', max_attempts=5,
                      replan='{run: "cat >/dev/null; echo {\\\\\\"goal\\\\\\": \\\\\\"better\\\\\\"}"}')
        self.pawl("run", "plan.yaml")
        self.assertEqual(self.columns("attempts_total", "replans", "doctor_calls"), (2, 1, 1))

    def test_a_planner_without_an_answer_costs_its_call(self):
        self.make_simple(agent="exit 1", max_attempts=1, replan='{run: "exit 3"}')
        self.pawl("run", "plan.yaml", expect=11)
        self.assertEqual(self.columns("replans", "revision", "outcome"), (1, 0, "escalate"))
        self.assertFalse(self.rows_of("replan")[0]["understood"])


class Stats(Policies):
    def test_it_counts_what_the_rows_say(self):
        self.doctored({"action": "skip_phase", "reason": "no use"}, phases=2, agent='[ "$PAWL_PHASE_ID" = p2 ]')
        self.pawl("run", "plan.yaml")
        stats = self.pawl_json("stats")
        self.assertEqual((stats["runs"], stats["phases"], stats["attempts"], stats["doctor_calls"]), (1, 2, 2, 1))
        self.assertEqual(stats["attempts_used"], {"1": 2})
        self.assertEqual(stats["states"], [{"state": "COMPLETE", "cause": "", "phases": 1},
                                           {"state": "SKIPPED", "cause": "doctor: skip_phase: no use", "phases": 1}])
        self.assertEqual((stats["steps"], stats["lost_steps"], stats["stuck"], stats["resumes"]), (4, 0, [], {}))
        self.assertEqual(stats, self.pawl_json("stats", "last"))
        self.assertIn("phases by state and cause:", self.pawl("stats").stdout)

    def test_stuck_is_what_nobody_holds(self):
        self.make_simple(agent="sleep 30")
        process = self.start("run", "plan.yaml")
        self.wait_for_step("the agent runs")
        self.assertEqual(self.pawl_json("stats")["stuck"], [], "its holder lives")
        self.kill_all(process)
        stuck, = self.pawl_json("stats")["stuck"]
        self.assertEqual((stuck["phase_id"], stuck["command"]), ("p1", f"pawl resume {self.run_id()}"))
        self.assertIn(f"stuck: p1 since {stuck['last_attempt_timestamp']}; its holder is gone\n",
                      self.pawl("stats").stdout)


    def test_a_holder_that_is_stopped_is_not_called_gone(self):
        self.make_simple(agent="sleep 30")
        process = self.start("run", "plan.yaml", env={"PAWL_LEASE_MS": "500"})
        self.wait_for_step("the agent runs")
        process.send_signal(signal.SIGSTOP)
        self.wait_until(lambda: self.pawl_json("stats")["stuck"], "its lease has run out")
        said = self.pawl("stats").stdout
        process.send_signal(signal.SIGCONT)
        self.kill_all(process)
        self.assertRegex(said, r"stuck: p1 since \S+; its lease has run out\n")

    def test_budgets_are_told_of_each_run_that_has_one(self):
        self.make_simple(budget="{sandbox_seconds: 600, tokens: 5000}")
        self.pawl("run", "plan.yaml")
        first = self.run_id()
        self.make_simple()
        self.pawl("run", "plan.yaml")
        said = [line for line in self.pawl("stats").stdout.splitlines() if line.startswith("budget")]
        self.assertEqual(len(said), 2, "the second run has none")
        self.assertRegex(said[0], rf"^budget of {first}: \d+\.\d of 600\.0 seconds in sandboxes are spent$")
        self.assertEqual(said[1], f"budget of {first}: 0 of 5000 tokens are spent")

    def test_a_step_of_that_name_is_no_crash_loop(self):
        self.make_simple(gate="exit 1", max_attempts=1)
        self.write("plan.yaml", (self.root / "plan.yaml").read_text().replace("name: unit", "name: crash_loop"))
        self.pawl("run", "plan.yaml", expect=None)
        self.assertIn("crash_loop", json.dumps(self.pawl_json("inspect", "last")["phases"][0]["attempts"][0]["signals"]))
        self.assertEqual(self.pawl_json("stats")["crash_loops"], 0)

    def test_a_step_that_is_lost_too_often_is_a_crash_loop(self):
        self.make_simple(agent="sleep 30", max_attempts=1)
        for command in (("run", "plan.yaml"), ("resume", "last"), ("resume", "last")):
            process = self.start(*command)
            self.wait_for_step("the agent runs")
            self.kill_all(process)
        self.pawl("resume", "last", expect=11)
        self.assertEqual(self.pawl_json("stats")["crash_loops"], 1)


class Backoff(Policies):
    def test_the_next_attempt_waits_and_why_says_so(self):
        self.make_simple(agent='[ "$PAWL_ATTEMPT" = 2 ]', backoff="{initial_seconds: 86400, max_seconds: 86400}")
        process = self.start("run", "plan.yaml")
        self.wait_until(lambda: '"waits_for":"not_before"' in
                        self.pawl("why", "last", "--json", "--dir", "source/.pawl", expect=None).stdout, "it waits")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=TIMEOUT_S), 130)
        not_before, state = self.columns("not_before", "state")
        self.assertEqual(state, "EXECUTING")
        with sqlite3.connect(self.root / "source/.pawl/pawl.db") as db:
            db.execute("UPDATE phases SET not_before = '2020-01-01T00:00:00.000000Z'")
        db.close()
        self.pawl("resume", "last")
        self.assertGreater(not_before, "2020")


class MaxAttempts(Policies):
    def waiting(self):
        """p1 has failed once and may not start before a random part of a day has passed. No process works on it."""
        self.make_simple(agent='[ "$PAWL_PHASE_ID$PAWL_ATTEMPT" != p11 ]', max_attempts=3, phases=2,
                         backoff="{initial_seconds: 86400, max_seconds: 86400}")
        process = self.start("run", "plan.yaml")
        self.wait_until(lambda: '"waits_for":"not_before"' in
                        self.pawl("why", "last", "--json", "--dir", "source/.pawl", expect=None).stdout, "it waits")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=TIMEOUT_S), 130)

    def why_command(self):
        return self.pawl_json("why", "last")["command"].split()[1:]

    def test_fewer_than_are_used_end_the_phase(self):
        self.waiting()
        self.pawl("resume", "last", "--max-attempts", "1", expect=11)
        self.assertEqual(self.columns("state", "outcome", "max_attempts"), ("FAILED", "escalate", 1))
        self.assertEqual(self.columns("state", "last_failure_reason", phase="p2"), ("SKIPPED", "stopped: p1 failed"))
        row, = self.rows_of("operator")
        self.assertEqual((row["action"], row["from_state"], row["to_state"]), ("max_attempts 1", "EXECUTING", "FAILED"))
        self.pawl("verify", "last")
        self.pawl(*self.why_command())
        self.assertIn("--operator-ack", self.pawl("resume", "last", "--max-attempts", "4", expect=2).stderr)
        self.pawl("resume", "last", "--max-attempts", "3")  # the plan's own number
        self.assertEqual(self.columns("attempts_total", "outcome", "max_attempts"), (2, "passed", 3))
        self.assertEqual(self.columns("outcome", "max_attempts", phase="p2"), ("passed", 3))
        self.pawl("verify", "last")

    def test_why_names_a_command_that_moves_what_an_older_version_stranded(self):
        self.waiting()
        with sqlite3.connect(self.root / "source/.pawl/pawl.db") as db:
            db.execute("UPDATE phases SET max_attempts = 1, not_before = '' WHERE phase_id = 'p1'")
        db.close()
        self.assertEqual(self.start("resume", "last").wait(timeout=60), 1)
        printed = max(self.root.glob("started-*.log")).read_text()
        places = [printed.index(text) for text in ("pawl: stalled: phase p1", " is EXECUTING\n", "\nNext: ")]
        self.assertEqual(places, sorted(places), printed)
        self.assertEqual(self.pawl_json("why", "last")["waits_for"], "person")
        self.pawl(*self.why_command())
        self.assertEqual(self.columns("attempts_total", "outcome"), (2, "passed"))


class Probe(Policies):
    def lost(self, probe, agent='echo done > effect; sync; [ "$PAWL_ATTEMPT" = 2 ] || sleep 30'):
        self.make_simple(agent=agent, resume=f'{{probe: "{probe}"}}', gate="test -e effect")
        process = self.start("run", "plan.yaml")
        self.wait_until(lambda: list(self.root.glob("source/.pawl/*/*/upper/effect")), "the effect is there")
        self.kill_all(process)

    def decisions(self):
        return [row["decision"] for row in self.rows_of("resume")]

    def test_it_happened_counts_as_done(self):
        self.lost("grep -q done effect && test -e file && test -e /plan/plan.yaml && ! touch new")
        self.pawl("resume", "last")
        self.assertEqual(self.decisions(), ["probed"])
        self.assertEqual(self.columns("attempts_total", "outcome"), (1, "passed"))
        self.assertEqual([row["execution"] for row in self.rows_of("pre_execute")], [1, 1])
        self.assertIn("+done", self.pawl("diff", "last").stdout)

    def test_a_crash_while_it_answers_repeats_nothing(self):
        """At each point of a resume: the agent is never run again, and an answer that is a row is never
        lost."""
        seen = []
        for point in range(1, 100):
            self.lost("test -e effect", "echo done $PAWL_RUN_ID > effect; sync; sleep 30")
            count = self.root / f"count{point}"
            done = self.pawl("resume", "last", expect=None, env={
                "PAWL_CRASH_ROLE": "executor", "PAWL_CRASH_AT": str(point), "PAWL_CRASH_COUNT": str(count)})
            if done.returncode != -9:
                break
            code = self.pawl("resume", "last", expect=None).returncode
            seen.append(self.decisions())
            self.assertEqual(self.columns_of_last("attempts_total"), (1,))
            self.assertIn(code, (0, 11), seen)
            if "probed" in seen[-1]:
                self.assertEqual(code, 0, seen)
        self.assertIn(["probed", "adopt"], seen)

    def columns_of_last(self, names):
        with sqlite3.connect(self.root / "source/.pawl/pawl.db") as db:
            row = db.execute(f"SELECT {names} FROM phases ORDER BY run_id DESC LIMIT 1").fetchone()
        db.close()
        return row

    def test_it_did_not_runs_again(self):
        self.lost("exit 1", agent="[ -e effect ] && exit 7; echo done > effect; sleep 30")
        process = self.start("resume", "last")
        self.wait_for_step("it runs again, from the base")
        self.pawl("cancel", "last")
        process.wait(timeout=TIMEOUT_S)
        self.assertEqual(self.decisions()[0], "re_execute")

    def test_a_step_that_never_began_runs_without_asking(self):
        self.make_simple(agent="echo ran >> made", resume='{probe: "exit 2"}')
        self.pawl("run", "plan.yaml", expect=-9, env={
            "PAWL_CRASH_ROLE": "executor", "PAWL_CRASH_AT": "1", "PAWL_CRASH_COUNT": str(self.root / "count"),
            "PAWL_CRASH_LABEL": "store.begin_step.after_commit"})
        self.pawl("resume", "last")
        self.assertEqual(self.decisions(), ["re_execute"])

    def test_after_a_power_cut_that_nothing_is_left_is_no_answer(self):
        """A start writes without a sync: after a power cut the step's effect may exist although its files
        are gone."""
        self.lost("exit 0")
        for identity in self.root.glob("source/.pawl/spool/*/supervisor"):
            identity.unlink()
        with sqlite3.connect(self.root / "source/.pawl/pawl.db") as db:
            owner, = db.execute("SELECT executor FROM attempts").fetchone()
            host, _, rest = owner.split("/", 2)
            db.execute("UPDATE attempts SET executor = ?", (f"{host}/another-boot/{rest}",))
        db.close()
        self.pawl("resume", "last", expect=11)
        self.assertEqual(self.decisions(), ["escalate"])

    def test_anything_else_needs_a_person(self):
        self.lost("exit 2")
        self.pawl("resume", "last", expect=11)
        self.assertEqual(self.decisions(), ["escalate"])


if __name__ == "__main__":
    at_once.main()
