#!/usr/bin/env python3
"""A person's decisions about a run, cases where the program has to refuse them, and what is counted."""

import contextlib
import itertools
import json
import signal
import sqlite3
import threading
import time
import unittest

from pawl_runs import WithRun
from pawl_testing import TIMEOUT_S, plan

TOKEN = "ghp_" + "a1B2" * 9


class Operators(WithRun):
    def lose_the_agent(self):
        self.make_simple(agent="echo its last words; echo x >new; sleep 100", resume="escalate")
        run = self.start("run", "plan.yaml")
        self.wait_for_step("the agent runs")
        self.wait_until(lambda: "its last words\n" in self.pawl("logs", "last", "p1").stdout, "it prints")
        self.kill_all(run)
        self.pawl("resume", "last", expect=11)

    def test_work_that_was_lost_is_not_approved(self):
        self.lose_the_agent()
        for command in ("why", "status"):
            self.assertNotIn("approve", self.pawl(command, "last").stdout)
        said = self.pawl("approve", "last", "p1", expect=1).stderr
        self.assertIn("what the agent of p1.1 did was lost: there is no work to take; `pawl retry` or `pawl skip` the phase", said)
        self.assertEqual(self.pawl_json("status", "last")["phases"][0]["outcome"], "escalate")
        self.assertIn("no phase nobody", self.pawl("approve", "last", "nobody", expect=1).stderr)

    def test_what_the_database_alone_says_is_not_taken(self):
        """A person who writes the database without the key names the work of another attempt, or changes
        it on disk."""
        self.make_simple(agent="echo $PAWL_ATTEMPT >made", gate="false", max_attempts=2)
        self.pawl("run", "plan.yaml", expect=11)
        verbs = [("approve", "last", "p1"), ("gate", "last", "p1", "check"), ("fork", "last", "--from", "p1:2")]
        with self.changed_in_database("UPDATE attempts SET agent_layer = (SELECT agent_layer FROM attempts WHERE attempt_id = 'p1.1')"):
            for verb in verbs:
                self.assertIn("attempt p1.2 differs from the ledger's rows", self.pawl(*verb, expect=13).stderr)
            self.assertFalse(self.pawl_json("verify", "last", expect=13)["ok"])
            self.assertIn("NOT verified", self.pawl("report", "last", "-o", "-").stdout)
        with self.changed_in_database("UPDATE steps SET run = replace(run, '\"exit_code\":1', '\"exit_code\":0') WHERE label LIKE '%check%attempt2'"):
            said = self.pawl_json("verify", "last", expect=13)["problems"]
            self.assertEqual([problem["file"] for problem in said], ["pawl.db"])
        with self.changed_in_database("INSERT INTO accepted_layers SELECT run_id, 1, phase_id, agent_layer FROM attempts WHERE number = 1"):
            for verb in (("diff", "last"), ("apply", "last"), ("retry", "last"), *verbs):
                self.assertIn("work of phase p1", self.pawl(*verb, expect=13).stderr)
        with self.changed_in_database("UPDATE runs SET source_path = '/elsewhere'"):
            for verb in (("diff", "last"), ("apply", "last"), ("retry", "last"), *verbs):
                self.assertIn("source's folder", self.pawl(*verb, expect=13).stderr)
        with self.changed_in_database("UPDATE phases SET state = 'SKIPPED', outcome = 'skipped'"):
            for verb in (("diff", "last"), ("retry", "last"), *verbs):
                self.assertIn("of phase p1", self.pawl(*verb, expect=13).stderr)
        layer, = [path for path in self.root.glob("source/.pawl/objects/layers/*/tree/made") if path.read_text() == "2\n"]
        layer.chmod(0o644)
        layer.write_text("3\n")
        for verb in verbs[:2]:
            self.assertIn("was changed", self.pawl(*verb, expect=13).stderr)
        layer.write_text("2\n")
        self.assertEqual(self.pawl_json("status", "last")["phases"][0]["state"], "FAILED")
        self.pawl("gate", "last", "p1", "check", expect=None)
        self.pawl("approve", "last", "p1")
        self.assertIn("+2", self.pawl("diff", "last").stdout)

    def test_work_goes_nowhere_when_the_row_that_says_where_is_gone(self):
        self.make_simple()
        self.commit_all("source")
        self.pawl("run", "plan.yaml")
        self.git("clone", "-q", "source", "elsewhere")
        elsewhere = self.root / "elsewhere"
        for gone in (("UPDATE plans SET common = ''",), ("UPDATE plans SET common = ''", "DELETE FROM planned_phases")):
            with self.changed_in_database(*gone, f"UPDATE runs SET source_path = '{elsewhere}'"):
                for verb in (("verify", "last"), ("diff", "last"), ("apply", "last"), ("attest", "last"), ("export", "last", "out")):
                    self.pawl(*verb, expect=13)
        self.assertEqual(self.git("branch", "--list", "pawl/*", cwd=elsewhere), "")
        self.pawl("apply", "last")

    def test_planned_rows_that_are_gone_are_said_in_the_same_words(self):
        """As after `pawl migrate down` below the version that has them, and up again. Their start knew more than the plan's text."""
        self.make_simple(gate="false", max_attempts=1)
        self.commit_all("source")
        self.pawl("run", "plan.yaml", expect=11)
        with self.changed_in_database("UPDATE plans SET common = ''", "DELETE FROM planned_phases"):
            for verb in (("verify", "last"), ("diff", "last"), ("attest", "last"), ("retry", "last", "p1"), ("resume", "last")):
                done = self.pawl(*verb, expect=13)
                self.assertIn("the planned rows of the run are gone", done.stdout + done.stderr, verb)
            self.assertEqual(self.pawl_json("verify", "last", expect=13)["problems"][0]["kind"], "missing")
            with contextlib.closing(sqlite3.connect(self.root / "source/.pawl/pawl.db")) as db:
                self.assertEqual(db.execute("SELECT common FROM plans").fetchall(), [("",)])
        self.pawl("verify", "last")

    def test_what_changes_between_check_and_use_is_not_used(self):
        """Another process changes the database to and fro. A command sees one state of it."""
        self.make_simple(agent="echo work of $PAWL_ATTEMPT >made", gate="grep -q 2 made", max_attempts=2)
        self.pawl("run", "plan.yaml")
        over = threading.Event()

        def to_and_fro():
            with contextlib.closing(sqlite3.connect(self.root / "source/.pawl/pawl.db", timeout=TIMEOUT_S)) as db:
                db.execute("PRAGMA synchronous = OFF")
                for number in itertools.cycle((1, 2)):
                    db.execute("UPDATE accepted_layers SET layer_id = (SELECT agent_layer FROM attempts WHERE number = ?)", (number,))
                    db.commit()
                    if number == 2 and over.is_set():
                        return

        attacker = threading.Thread(target=to_and_fro)
        attacker.start()
        try:
            for _ in range(12):
                done = self.pawl("diff", "last", expect=None)
                self.assertIn(done.returncode, (0, 13), done.stderr)
                self.assertNotIn("work of 1", done.stdout)
        finally:
            over.set()
            attacker.join()
        self.assertIn("+work of 2", self.pawl("diff", "last").stdout)

    def test_commands_that_work_on_files_let_the_log_be_cut(self):
        """An open transaction of a reader keeps SQLite from writing its log from the beginning again."""
        self.make_simple(agent="seq 3000000 >made", gate="false", max_attempts=1)
        self.commit_all("source")
        self.pawl("run", "plan.yaml", expect=11)
        for verb in (("approve", "last", "p1"), ("diff", "last"), ("apply", "last"), ("attest", "last", "-o", "run.json"), ("report", "last", "-o", "page.html")):
            process, looks = self.start(*verb), []
            with contextlib.closing(sqlite3.connect(self.root / "source/.pawl/pawl.db", timeout=0, isolation_level=None)) as db:
                while process.poll() is None:
                    try:
                        db.execute("UPDATE runs SET plan_file = ?", (str(len(looks)),))  # which is only shown
                        looks.append(db.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()[0])
                    except sqlite3.OperationalError:
                        looks.append(1)
                    time.sleep(0.005)
            self.assertEqual(process.returncode, 0, verb)
            self.assertLess(sum(looks), len(looks) / 2, verb)

    def test_a_run_that_was_taken_away_is_found(self):
        self.make_simple(gate="true")
        for _ in range(3):
            self.pawl("run", "plan.yaml")
        newest, middle, oldest = (run["run_id"] for run in self.pawl_json("status")["runs"])
        found = self.pawl_json("verify", "--all")
        self.assertEqual((found["ok"], [run["run_id"] for run in found["runs"]], found["missing"]), (True, [newest, middle, oldest], []))
        self.assertIn("3 of 3 runs verified", self.pawl("verify", "--all").stdout)
        tables = ("ledger", "attempts", "steps", "phases", "tiers", "plans", "heads", "runs")
        with self.changed_in_database(*(f"DELETE FROM {table} WHERE run_id = '{middle}'" for table in tables)):
            self.pawl("verify", newest)
            self.assertEqual(self.pawl_json("verify", "--all", expect=13)["missing"],
                             [{"run_id": middle, "kind": "missing", "detail": f"run {newest} started after it"}])
        with self.changed_in_database(f"UPDATE ledger SET line = replace(line, 'r', 's') WHERE run_id = '{middle}' AND chain = '' AND seq = 1"):
            said = self.pawl("verify", "--all", expect=13).stdout
            self.assertIn("NOT verified", said)
            self.assertIn("2 of 3 runs verified, 0 missing or replaced", said)
        self.pawl("verify", "--all", "last", expect=2)

    def test_damage_that_hides_a_run_or_its_tables_is_found(self):
        self.make_simple(gate="true")
        self.pawl("run", "plan.yaml")
        run = self.pawl_json("status")["runs"][0]["run_id"]
        with self.changed_in_database("DELETE FROM runs"):
            missing, = self.pawl_json("verify", "--all", expect=13)["missing"]
            self.assertEqual((missing["run_id"], missing["kind"]), (run, "missing"))
            self.assertIn("other tables have rows", missing["detail"])
        for statement, words in ((f"DELETE FROM plans WHERE run_id = '{run}'", "table plans"),
                                 ("UPDATE attempts SET failing_signals = '['", "not JSON"),
                                 ("UPDATE attempts SET failing_signals = '{}'", "no list")):
            with self.changed_in_database(statement):
                for what in (("--all",), ("last",)):
                    said = self.pawl("verify", *what, expect=13).stdout
                    self.assertIn("NOT verified", said)
                    self.assertRegex(said, f"pawl.db:0: changed: .*{words}")
        with self.changed_in_database("UPDATE runs SET plan_file = 'x'"):
            with contextlib.closing(sqlite3.connect(self.root / "source/.pawl/pawl.db", isolation_level=None)) as db:
                db.execute("PRAGMA ignore_check_constraints = 1")
                db.execute("UPDATE runs SET state = 'X'")
            for what in (("--all",), ("last",)):
                self.assertIn("'X'", self.pawl("verify", *what, expect=13).stderr)
        self.pawl("verify", "--all")

    def test_what_a_lost_step_printed_is_in_the_logs_until_gc(self):
        self.lose_the_agent()
        self.assertIn("its last words\n", self.pawl("logs", "last", "p1").stdout)
        kept, = (self.root / "source/.pawl/spool").iterdir()
        self.assertEqual(sorted(path.name for path in kept.iterdir()), ["lock", "output"], "and nothing else is kept")
        self.pawl("gc")
        self.assertEqual(list((self.root / "source/.pawl/spool").iterdir()), [])
        self.assertNotIn("its last words", self.pawl("logs", "last", "p1").stdout)

    def test_more_attempts_for_a_run_that_is_over_are_refused(self):
        self.make_simple(gate="exit 1", max_attempts=1)
        self.pawl("run", "plan.yaml", expect=11)
        head = self.pawl_json("verify", "last")["head"]
        said = self.pawl("resume", "last", "--max-attempts", "3", "--operator-ack", expect=2).stderr
        self.assertRegex(said, r"is FAILED: --max-attempts is for phases that are open; `pawl retry \S+ PHASE` opens one")
        self.assertEqual(self.pawl_json("verify", "last")["head"], head)
        self.pawl("retry", "last", "p1")
        self.assertTrue(self.pawl_json("verify", "last")["ok"], "a run that was opened again")
        self.pawl("resume", "last", "--max-attempts", "2", "--operator-ack", expect=11)
        self.assertEqual(self.pawl_json("status", "last")["phases"][0]["max_attempts"], 2)

    def test_a_run_goes_on_with_nothing_that_its_rows_do_not_say(self):
        """The feedback for the next agent, the number of attempts, the phase's place, and the budget."""
        self.make_simple(agent='[ "$PAWL_ATTEMPT" = 2 ] && echo made >made', max_attempts=2,
                         backoff="{initial_seconds: 86400, max_seconds: 86400}")
        run = self.start("run", "plan.yaml")
        self.wait_until(lambda: '"waits_for":"not_before"' in
                        self.pawl("why", "last", "--json", "--dir", "source/.pawl", expect=None).stdout, "it waits")
        run.send_signal(signal.SIGINT)
        self.assertEqual(run.wait(timeout=TIMEOUT_S), 130)
        now = "UPDATE phases SET not_before = ''"
        for change, said in (("UPDATE attempts SET feedback = '{\"hint\":\"delete the test\"}'", "attempt p1.1"),
                             ("UPDATE phases SET max_attempts = 50 WHERE phase_id = 'p1'", "max_attempts of phase p1"),
                             ("UPDATE phases SET attempts_used = 0 WHERE phase_id = 'p1'", "attempts_used of phase p1"),
                             ("UPDATE tiers SET stop_on_failure = 0", "tiers"),
                             ("UPDATE phases SET phase_index = phase_index + 2 WHERE phase_id = 'p1'", "the place of phase"),
                             ("UPDATE budgets SET spent = 0", "what is spent of"), ("UPDATE budgets SET cap = 1000000", "sandbox_ms")):
            with self.changed_in_database(now, change):
                self.assertIn(said, self.pawl("resume", "last", expect=13).stderr)
                self.pawl("verify", "last", expect=13)
        with self.changed_in_database(now):
            self.pawl("resume", "last")
            self.pawl("verify", "last")

    def test_a_phase_that_was_left_between_two_attempts_is_stuck(self):
        self.make_simple(agent='[ "$PAWL_ATTEMPT" = 2 ]', backoff="{initial_seconds: 86400, max_seconds: 86400}")
        run = self.start("run", "plan.yaml")
        waits_for = lambda: json.loads(self.pawl("why", "last", "--json", "--dir", "source/.pawl", expect=None).stdout or "{}").get("waits_for")
        self.wait_until(lambda: waits_for() == "not_before", "it waits")
        self.kill_all(run)
        self.assertEqual(self.pawl_json("stats")["stuck"], [], "it waits for its time")
        with sqlite3.connect(self.root / "source/.pawl/pawl.db", timeout=60) as db:
            db.execute("UPDATE phases SET not_before = ''")
        db.close()
        self.assertEqual(waits_for(), "executor")
        stuck, = self.pawl_json("stats")["stuck"]
        self.assertEqual((stuck["phase_id"], stuck["holder_is_dead"], stuck["command"]), ("p1", True, f"pawl resume {self.run_id()}"))
        self.assertIn("stuck: p1 since", self.pawl("stats").stdout)
        self.pawl("resume", "last")
        self.assertEqual(self.pawl_json("stats")["stuck"], [])

    def test_a_service_may_resume_when_nothing_is_open(self):
        self.make_simple()
        self.assertIn("no run is open", self.pawl("resume", "--if-any").stderr, "before the first run")
        self.assertIn("no .pawl here", self.pawl("resume", expect=1).stderr)
        self.assertIn("nowhere: no such state folder", self.pawl("resume", "--if-any", "--dir", "nowhere", expect=1).stderr)
        self.pawl("run", "plan.yaml")
        self.assertIn("no run is open", self.pawl("resume", expect=1).stderr)
        self.assertIn("no run is open", self.pawl("resume", "--if-any").stderr)
        self.pawl("resume", "nobody", "--if-any", expect=1)

    def test_a_reason_is_kept_without_secrets_and_has_an_end(self):
        self.make_simple(gate="exit 1", max_attempts=1)
        self.pawl("run", "plan.yaml", expect=11)
        self.pawl("skip", "last", "p1", "--reason", f"token {TOKEN} does\x1b[31m not work", )
        export = str(self.chains(self.run_id()))
        self.assertNotIn(TOKEN, export)
        self.assertIn("token ", export)
        self.assertNotIn("\x1b", self.pawl("status", "last").stdout + self.pawl("why", "last").stdout)
        runs = len(self.pawl_json("status")["runs"])
        self.pawl("run", "plan.yaml", "--max-attempts", "1", "--reason", "x" * 4097, expect=2)
        self.assertEqual(len(self.pawl_json("status")["runs"]), runs, "nothing was begun")
        self.assertIn("at most 4096 bytes", self.pawl("retry", "last", "p1", "--reason", "x" * 4097, expect=1).stderr)

    def test_a_cancelled_step_is_time_and_no_resume(self):
        self.make_simple(agent="sleep 100")
        run = self.start("run", "plan.yaml")
        self.wait_for_step("the agent runs")
        self.pawl("cancel", "last")
        run.wait(timeout=TIMEOUT_S)
        log, = self.root.glob("started-*.log")
        self.assertNotIn("found nothing", log.read_text(), "nobody goes on with it")
        stats = self.pawl_json("stats", "last")
        self.assertEqual(stats["resumes"], {})
        spent = {row["unit"]: row["spent"] for row in self.budgets()}["sandbox_ms"]
        self.assertGreater(spent, 0)
        self.assertEqual(stats["sandbox_milliseconds"], spent)

    def test_a_cancel_that_is_killed_leaves_no_step(self):
        """Two gates run, no process watches them, and the command is killed when it has ended the first of
        them."""
        self.make_simple(agent="true", gate="sleep 1000", phases=2)
        text = (self.root / "plan.yaml").read_text()
        self.write("plan.yaml", text.replace("  - phases:", "  - parallel: true\n    phases:"))
        run = self.start("run", "plan.yaml", "--workers", "2")
        self.wait_until(lambda: len(self.steps_at_work(".check.")) == 2, "both gates run")
        run.send_signal(signal.SIGINT)
        run.wait(timeout=TIMEOUT_S)
        self.assertEqual(len(self.steps_at_work(".check.")), 2, "they can be gone on with")
        self.pawl("cancel", "last", expect=-9, env={"PAWL_CRASH_ROLE": "executor", "PAWL_CRASH_AT": "1",
                  "PAWL_CRASH_COUNT": str(self.root / "count"), "PAWL_CRASH_LABEL": "spool.abandoned.fsync"})
        self.assertEqual(len(self.steps_at_work(".check.")), 1)
        # The next command ends the other step, also for another run.
        self.make_simple()
        self.pawl("run", "plan.yaml")
        self.assertEqual(self.supervisors(), [])

    def not_judged_with(self):
        """By phase, what `status` and `inspect` say; both, in words and in JSON."""
        shown = []
        for command in ("status", "inspect"):
            found = {each["phase_id"]: each["not_judged_with"] for each in self.pawl_json(command, "last")["phases"] if "not_judged_with" in each}
            said = " ".join(self.pawl(command, "last").stdout.split())
            self.assertEqual("no gate saw" in said, bool(found), said)
            for phase, names in found.items():
                self.assertIn(f"no gate saw the work of {phase} together with that of {', '.join(names)}", said)
            shown.append(found)
        self.assertEqual(shown[0], shown[1])
        return shown[0]

    def test_work_that_no_gate_saw_with_what_a_person_took_is_told(self):
        """The gate of `c` fails, so it is never judged on top of the phases beside it."""
        phases = "".join(f"      - {{id: {name}, goal: g, agent: {{run: 'echo >{name}'}}, gates: [{gate}]}}\n"
                         for name, gate in (("a", "ok"), ("b", "ok"), ("c", "bad")))
        gates = "gates: {ok: {steps: [{name: s, run: 'true'}]}, bad: {steps: [{name: s, run: '[ ! -e c ]'}]}}\n"
        head = "version: 1\nworkflow: beside\nsource: {path: source}\nmax_attempts: 1\n" + gates + "tiers:\n"
        self.make_simple()
        for keys, unseen in (("parallel: true, ", ["a", "b"]), ("on_failure: continue, ", [])):
            with self.subTest(keys):
                self.write("plan.yaml", head + "  - " + keys.replace(", ", "\n") + "    phases:\n" + phases)
                self.pawl("run", "plan.yaml", expect=11)
                self.assertEqual(self.not_judged_with(), {})
                self.pawl("approve", "last", "c", "--reason", "the gate is wrong")
                self.assertEqual(self.not_judged_with(), {"c": unseen} if unseen else {})
                refused = self.pawl("attest", "last", "-o", "run.json", expect=1 if unseen else 0).stderr
                self.assertEqual("together with that of phase a" in refused, bool(unseen), refused)

    def budgets(self):
        return [{"unit": unit, **row} for unit, row in self.pawl_json("budget", "last")["budget"].items()]

    def test_runs_that_are_not_listed_are_told(self):
        self.make_simple()
        self.write("plan.yaml", plan())
        for _ in range(51):
            self.pawl("run", "plan.yaml")
        listed = self.pawl("status").stdout.splitlines()
        self.assertEqual((len(listed), listed[-1]), (51, "and older ones: `pawl status --json` has them"))
        self.assertEqual(len(self.pawl_json("status")["runs"]), 51)


if __name__ == "__main__":
    unittest.main()
