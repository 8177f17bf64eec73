#!/usr/bin/env python3
"""The commands, as a person and as a script use them: output, exit codes, evidence."""

import csv
import io
import json
import os
import pty
import re
import shutil
import sqlite3
import subprocess
import time
import unittest

from pawl_runs import MEND, WithRun
from pawl_testing import PAWL, TIMEOUT_S, plan


class Cost(WithRun):
    DIMENSIONS = {"workflow", "isolation", "workflow/isolation", "gate", "phase", "model", "day"}

    def test_every_step_is_counted_and_each_table_adds_up(self):
        self.make_mend()
        self.pawl("run", "plan.yaml")
        cost = self.pawl_json("cost", "last")
        rows = self.rows(self.root / "source/.pawl/cost/sandbox.jsonl")
        self.assertEqual((cost["steps"], cost["lost_steps"]), (len(rows), 0))
        self.assertEqual(set(cost["by"]), self.DIMENSIONS)
        for dimension, table in cost["by"].items():
            for key in ("steps", "lost_steps", "sandbox_milliseconds", "microvm_milliseconds"):
                self.assertEqual(sum(line[key] for line in table.values()), cost[key], dimension)
        self.assertEqual((cost["completed_phases"], cost["passed_attempts"]), (1, 1))
        self.assertEqual(cost["sandbox_milliseconds_per_passed_attempt"], cost["sandbox_milliseconds"])
        self.assertEqual({k: v["steps"] for k, v in cost["by"]["gate"].items()}, {"agent": 2, "check": 3})
        self.assertEqual((set(cost["by"]["model"]), set(cost["by"]["isolation"])), ({"small", "large"}, {"shared_kernel"}))
        self.assertEqual(self.pawl_json("cost"), cost, "there is one run")

    def test_a_person_and_a_spreadsheet_read_the_same(self):
        self.make_mend(text=MEND.replace("models: [small,", 'models: ["=1+1",'))
        self.pawl("run", "plan.yaml")
        cost = self.pawl_json("cost")
        lines = list(csv.DictReader(io.StringIO(self.pawl("cost", "--csv").stdout)))
        read = {(line["dimension"], line["key"]): int(line["sandbox_milliseconds"]) for line in lines}
        self.assertEqual((read["total", ""], read["gate", "agent"]),
                         (cost["sandbox_milliseconds"], cost["by"]["gate"]["agent"]["sandbox_milliseconds"]))
        self.assertEqual([line["key"] for line in lines if line["dimension"] == "model"], ["'=1+1", "large"])
        plain, drawn = (self.pawl("cost", *options).stdout for options in ((), ("--plot",)))
        self.assertIn(f"{cost['steps']} step(s), 0 of them lost", plain)
        self.assertEqual(re.sub(r"  [█▏▎▍▌▋▊▉]+", "", drawn), plain)
        self.assertIn("  " + "█" * 40 + "\n", drawn)

    def test_a_step_that_a_crash_lost_is_counted_with_its_time(self):
        self.make_simple(agent="[ -e /plan/quick ] || sleep 30")
        run = self.start("run", "plan.yaml")
        self.wait_for_step("the agent runs")
        time.sleep(0.5)
        self.kill_all(run)
        self.assertEqual(self.pawl_json("cost")["steps"], 0, "nobody knows yet what it cost")
        resumed = self.start("resume", "last")
        self.wait_for_step("the agent runs again")
        self.wait_until(lambda: self.pawl_json("cost")["lost_steps"] == 1, "the lost step is given up")
        cost = self.pawl_json("cost")
        self.assertGreaterEqual(cost["sandbox_milliseconds"], 500)
        self.assertEqual(cost["by"]["gate"]["agent"]["lost_steps"], 1)
        self.kill_all(resumed)


class MainJob(WithRun):
    def test_an_agent_fails_a_gate_reads_why_and_mends_it(self):
        self.make_mend()
        before = self.git("status", "--porcelain", "--ignored", cwd="source")
        done = self.pawl("run", "plan.yaml", "--json")
        result = json.loads(done.stdout.splitlines()[-1])
        self.assertEqual((result["state"], result["exit_code"]), ("COMPLETE", 0))
        self.assertEqual([(p["phase_id"], p["state"], p["outcome"], p["attempts_used"], p["attempts_total"])
                          for p in result["phases"]], [("fix", "COMPLETE", "passed", 2, 2)])
        seen = self.pawl_json("inspect", "last")
        first, second = seen["phases"][0]["attempts"]
        self.assertEqual((first["verdict"], second["verdict"]), ("failed_retryable", "passed"))
        self.assertEqual(first["feedback"]["failing_signals"], ["check.tests"])
        self.assertIn("it is not right", first["feedback"]["summary"])
        self.assertEqual({s["state"] for s in first["steps"] + second["steps"]}, {"done"})
        self.assertIn("model small", self.pawl("logs", "last", "fix", "--attempt", "1").stdout
                      if "--attempt" in self.pawl("logs", "--help").stdout else "model small")
        patch = self.pawl("diff", "last").stdout
        self.assertIn("+right", patch)
        self.write("patch", patch)
        self.git("apply", "--check", "../patch", cwd="source")
        self.assertTrue(self.pawl_json("verify", "last")["ok"])
        applied = self.pawl_json("apply", "last")
        message = self.git("log", "-1", "--format=%B", applied["branch"], cwd="source")
        self.assertIn(f"Pawl-Run: {result['run_id']}", message)
        self.assertIn(f"Pawl-Ledger-Head: {result['ledger_head']}", message)
        self.assertTrue(self.pawl_json("verify", "last", "--anchor", result["ledger_head"])["ok"])
        self.assertEqual(self.git("show", applied["branch"] + ":answer", cwd="source"), "right\n")
        after = self.git("status", "--porcelain", "--ignored", cwd="source")
        self.assertEqual(after.replace("!! .pawl/\n", ""), before, "the working tree is as it was")
        self.assertEqual(self.git("status", "--porcelain", cwd="source"), "", "and git status does not show .pawl")
        self.assertEqual(self.git("branch", "--show-current", cwd="source"), "main\n")

    def test_the_columns_answer_from_plain_sqlite3(self):
        self.make_mend()
        self.pawl("run", "plan.yaml")
        query = ("SELECT attempts_used, COUNT(*) FROM phases WHERE run_id = '%s' GROUP BY attempts_used" % self.run_id())
        found = subprocess.run(["sqlite3", self.root / "source/.pawl/pawl.db", query], capture_output=True, text=True,
                               check=True)
        self.assertEqual(found.stdout, "2|1\n")
        with sqlite3.connect(self.root / "source/.pawl/pawl.db") as db:
            columns = [row[1] for row in db.execute("PRAGMA table_info(phases)")]
            for column in ("run_id phase_id tier_index phase_index state outcome attempts_used max_attempts "
                           "last_attempt_timestamp last_failure_reason not_before lease_owner lease_expires_at fence "
                           "revision attempts_total escalation_level doctor_calls replans").split():
                self.assertIn(column, columns)
            index = [row[2] for row in db.execute("PRAGMA index_info(idx_phase_executable)")]
            self.assertEqual(index, ["run_id", "state", "attempts_used"])
            for bad in ("attempts_used = -1", "attempts_used = max_attempts + 1", "doctor_calls = 3", "replans = -1",
                        "state = 'DONE'", "fence = -1", "attempts_total = -1", "escalation_level = -1"):
                with self.assertRaises(sqlite3.IntegrityError, msg=bad):
                    db.execute(f"UPDATE phases SET {bad}")
        db.close()

    def test_an_agent_that_edits_a_protected_test_fails_by_policy(self):
        self.make_mend(agent='echo "exit 0" > tests/run.sh; echo right > answer\n')
        self.pawl("run", "plan.yaml", expect=11)
        seen = self.pawl_json("inspect", "last")
        failing = seen["phases"][0]["attempts"][0]["feedback"]["failing_signals"]
        self.assertEqual(failing, ["protect.policy"])
        self.assertEqual(self.pawl("diff", "last").stdout, "", "nothing of it is accepted")

    def test_an_agent_that_deletes_a_test_is_found_by_name(self):
        text = MEND.replace('protect: ["tests/**"]\n', "")
        self.make_mend(agent="echo '<testsuite><testcase name=\"exists\"/></testsuite>' > out.xml.new\n"
                             "echo 'cp out.xml.new out.xml' > tests/run.sh\n", text=text)
        self.pawl("run", "plan.yaml", expect=11)
        attempt = self.pawl_json("inspect", "last")["phases"][0]["attempts"][0]
        tests = [s for s in attempt["signals"] if s["kind"] == "tests"][0]
        self.assertFalse(tests["passed"])
        self.assertIn("right", json.dumps(tests["details"]))

    def test_a_folder_without_git_is_a_source_too(self):
        self.make_simple(agent="echo more >> file", gate="grep -q more file")
        self.pawl("run", "plan.yaml")
        self.assertIn("+more", self.pawl("diff", "last").stdout)
        self.assertIn("is in no git repository; use `pawl diff", self.pawl("apply", "last", expect=1).stderr)

    def test_a_program_that_is_not_in_the_source_is_refused_before_anything_starts(self):
        self.write("source/here.sh", "#!/bin/sh\ntrue\n")
        (self.root / "source/here.sh").chmod(0o755)
        simple = "version: 1\nworkflow: w\nsource: {path: source}\ngates: {check: {steps: [{name: unit, run: [./made.sh]}]}}\n"
        for resume, run, said in (("", "[./gone]", "phase one, agent.run: ./gone is not in the source"),
                                  ("resume: {probe: [./gone]}\n", "[./here.sh]", "resume.probe: ./gone is not in the source")):
            self.write("plan.yaml", simple + resume + "tiers: [{phases: [{id: one, goal: g, agent: {run: %s}, gates: [check]}]}]\n" % run)
            done = self.pawl("run", "plan.yaml", expect=2)
            self.assertIn(said, done.stderr)
        self.assertEqual(self.pawl_json("status")["runs"], [])
        # A program that an earlier phase may make is not missing for a later phase.
        self.write("plan.yaml", simple + "tiers: [{phases: [{id: one, goal: g, agent: {run: 'cp here.sh made.sh'}, gates: [check]}, "
                                         "{id: two, may_be_empty: true, goal: g, agent: {run: [./made.sh]}, gates: [check]}]}]\n")
        self.pawl("run", "plan.yaml")

    def test_exec_passes_its_input_on_and_no_terminal(self):
        everything = bytes(range(256)) * 4000

        def fed(*command, **stdin):
            return subprocess.run([PAWL, "sandbox", "exec", "--", *command], capture_output=True, timeout=TIMEOUT_S, **stdin)

        self.assertEqual(fed("cat", input=everything).stdout, everything)
        self.assertEqual(fed("head", "-c", "3", input=everything).stdout, everything[:3])
        self.assertEqual(fed("true", input=everything).returncode, 0)
        (self.root / "file").write_bytes(everything)
        with (self.root / "file").open("rb") as file:
            self.assertEqual(fed("cat", stdin=file).stdout, everything)
        ours, theirs = pty.openpty()
        done = fed("sh", "-c", "test ! -t 0 && wc -c", stdin=theirs)
        self.assertEqual((done.returncode, done.stdout), (0, b"0\n"), "it does not wait for a person")
        folder = os.open(self.root, os.O_RDONLY)
        done = fed("cat", stdin=folder)
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"stdin", done.stderr)
        for fd in (ours, theirs, folder):
            os.close(fd)

    def test_secrets_of_the_host_do_not_reach_the_agent(self):
        self.make_simple(agent="env; ls -a / /root /home 2>&1 || true", env="[MY_NAME, MY_URL]")
        self.pawl("run", "plan.yaml", env={"MY_NAME": "visible", "MY_URL": "https://u:pw@example.org/", "AWS_SECRET": "s3cr3t",
                                           "OTHER": "0th3r"})
        log = self.pawl("logs", "last", "p1").stdout
        self.assertIn("MY_NAME=visible", log)
        for hidden in ("u:pw", "s3cr3t", "0th3r"):
            self.assertNotIn(hidden, log)


class FromAndToGit(WithRun):
    def test_a_patch_of_a_folder_applies_in_it_and_at_the_root(self):
        self.make_simple(agent="echo more >> file", gate="grep -q more file")
        self.write("beside", "beside")
        self.commit_all()
        self.pawl("run", "plan.yaml")
        patch = self.pawl("diff", "last").stdout
        self.assertIn("+++ b/source/file\n", patch)
        self.write("patch", patch)
        for folder in (".", "source"):
            self.git("apply", str(self.root / "patch"), cwd=folder)
            self.assertIn("more", (self.root / "source/file").read_text())
            self.git("checkout", "-q", "source/file")

    def test_no_commit_is_made_of_what_no_gate_saw(self):
        self.make_simple(agent="echo more >> file", gate="sh helper.sh")
        self.commit_all("source")
        self.write("source/helper.sh", "true\n")
        self.pawl("run", "plan.yaml")
        self.assertIn("helper.sh (not committed)", self.pawl("apply", "last", expect=1).stderr)
        attested = self.pawl("attest", "last", "-o", "attested")
        self.assertIn("helper.sh (not committed)", attested.stderr)
        self.assertEqual(self.git("branch", "--list", "pawl/*", cwd="source"), "")

    def test_what_belongs_to_a_submodule_fails_the_attempt(self):
        self.write("lib/l", "l")
        self.commit_all("lib")
        self.make_simple(agent="echo new > vendor/l", gate="true")
        self.commit_all("source")
        self.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(self.root / "lib"), "vendor",
                 cwd="source")
        self.commit_all("source")
        self.pawl("run", "plan.yaml", expect=11)
        attempt = self.pawl_json("inspect", "last")["phases"][0]["attempts"][0]
        self.assertEqual(attempt["feedback"]["failing_signals"], ["protect.policy"])
        self.assertIn("vendor/l", attempt["feedback"]["summary"])

    def test_what_a_filter_of_the_repository_means_is_said_before_a_run(self):
        self.make_simple(agent="echo more >> file", gate="true")
        pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:" + 64 * "0" + "\nsize 12345\n"
        self.write("source/picture.png", pointer)
        self.write("source/.gitattributes", "*.txt filter=shout\n*.png filter=lfs\n")
        self.write("source/a.txt", "quiet\n")
        self.commit_all("source")
        self.assertIn("pointers of Git LFS, and agents and gates get no more of them: picture.png",
                      self.pawl("run", "plan.yaml").stderr)
        self.git("config", "filter.shout.clean", "tr a-z A-Z", cwd="source")
        self.assertIn("a.txt has filter=shout", self.pawl("run", "plan.yaml", expect=2).stderr)


class Endings(WithRun):
    def test_exit_codes(self):
        self.make_simple(gate="false", max_attempts=1)
        self.assertIn("escalate", self.pawl("run", "plan.yaml", expect=11).stdout)
        # The attempt leaves no work that a person could take.
        self.write("plan.yaml", plan(agent="exit 1", gate="false"))
        self.assertIn("failed_unrecoverable", self.pawl("run", "plan.yaml", expect=12).stdout)
        self.pawl("no-such-command", expect=2)
        self.pawl("run", expect=2)
        self.pawl("status", "0000", expect=1)

    def test_twelve_wins_over_eleven(self):
        self.write("source/file", "x\n")
        text = plan(gate="false", max_attempts=2)
        text += '  - phases:\n      - {id: second, may_be_empty: true, goal: g, agent: {run: "exit 1"}, gates: [check], max_attempts: 5}\n'
        self.write("plan.yaml", text.replace("  - phases:\n      - {id: p1", "  - on_failure: continue\n    phases:\n      - {id: p1"))
        self.pawl("run", "plan.yaml", expect=12)
        outcomes = {p["phase_id"]: p["outcome"] for p in self.pawl_json("status", "last")["phases"]}
        self.assertEqual(outcomes, {"p1": "escalate", "second": "failed_unrecoverable"})

    def test_stop_leaves_the_rest_alone(self):
        self.make_simple(gate="false", max_attempts=1, phases=3)
        self.pawl("run", "plan.yaml", expect=11)
        states = [(p["state"], p["last_failure_reason"]) for p in self.pawl_json("status", "last")["phases"]]
        self.assertEqual([s for s, _ in states], ["FAILED", "SKIPPED", "SKIPPED"])
        self.assertIn("p1", states[1][1])

    def test_timeouts_are_not_retried_where_the_plan_says_so(self):
        self.write("source/file", "x\n")
        self.write("plan.yaml", plan().replace('run: "true"}], signals: [build]', 'run: "sleep 60", time_budget_seconds: 1}], retry: {timeout_retryable: false}'))
        self.pawl("run", "plan.yaml", expect=11)
        phase = self.pawl_json("status", "last")["phases"][0]
        self.assertEqual(phase["attempts_used"], 1)
        self.assertIn("timed_out", json.dumps(self.pawl_json("inspect", "last")))

    def what_became_of_a_fifo(self, agent, gate, expect, **top):
        self.make_simple(agent=agent, gate=gate, max_attempts=1, **top)
        self.pawl("run", "plan.yaml", expect=expect)
        attempt = self.pawl_json("inspect", "last")["phases"][0]["attempts"][0]
        return attempt, {s["kind"]: s for s in attempt["signals"]}

    def test_an_entry_that_is_refused_is_told_and_fatal_when_the_plan_says_so(self):
        leaves = "echo more >> file; mkfifo pipe"
        attempt, signals = self.what_became_of_a_fifo(leaves, "test ! -e pipe", 0)
        self.assertTrue(signals["agent"]["passed"])
        self.assertEqual((signals["agent"]["details"]["refused_entries"], signals["agent"]["details"]["refused_names"]), (1, "pipe"))

        attempt, signals = self.what_became_of_a_fifo(leaves, "test ! -e pipe", 11, sandbox="{refused_entries: fail}")
        self.assertFalse(signals["agent"]["passed"])
        self.assertEqual(signals["agent"]["details"]["exit_code"], 0)
        self.assertEqual(list(signals), ["agent"], "no gate is run")
        self.assertIn("refused_names: pipe", attempt["feedback"]["summary"])
        self.assertEqual(attempt["feedback"]["failing_signals"], ["agent.agent"])

    def test_all_entries_that_are_refused_count_beyond_those_with_a_name(self):
        leaves = "echo more >> file; for i in $(seq 500); do mkfifo pipe$i; done"
        attempt, signals = self.what_became_of_a_fifo(leaves, "true", 11, sandbox="{refused_entries: fail}")
        self.assertEqual(signals["agent"]["details"]["refused_entries"], 500)
        run = attempt["steps"][0]["run"]
        self.assertEqual((len(run["refused"]), run["refused_total"]), (100, 500))
        told = self.pawl("inspect", "last", expect=0).stdout
        self.assertEqual(told.count("not kept: pipe"), 100)
        self.assertIn("not kept: and 400 more", told)
        done = self.pawl("sandbox", "exec", "--copy-out", "out", "--", "sh", "-c", leaves, expect=0)
        self.assertEqual(done.stderr.count("not copied out: pipe"), 100)
        self.assertIn("not copied out: and 400 more\n", done.stderr)

    def test_what_matches_a_report_and_is_not_kept_is_told(self):
        self.write("source/file", "x\n")
        self.write("plan.yaml", """version: 1
workflow: w
source: {path: source}
gates:
  check: {steps: [{name: unit, run: "mkdir r; ln -s ../file r/a.xml; mkfifo r/b.xml other", reports: {junit: ["r/*.xml"]}}], signals: [build], baseline: none}
tiers:
  - phases:
      - {id: p, goal: g, agent: {run: "echo y >>file"}, gates: [check]}
""")
        self.pawl("run", "plan.yaml", expect=0)
        run = self.pawl_json("inspect", "last")["phases"][0]["attempts"][0]["steps"][-1]["run"]
        self.assertEqual((run["refused"], run["refused_total"]), (["r/a.xml", "r/b.xml"], 2))

    def test_a_gate_that_leaves_a_refused_entry_fails_when_the_plan_says_so(self):
        attempt, signals = self.what_became_of_a_fifo("echo more >> file", "mkfifo pipe", 0)
        self.assertNotIn("refused_entries", signals["build"]["details"], "nobody keeps what the last step leaves")
        attempt, signals = self.what_became_of_a_fifo("echo more >> file", "mkfifo pipe", 11, sandbox="{refused_entries: fail}")
        self.assertTrue(signals["agent"]["passed"])
        self.assertFalse(signals["build"]["passed"])
        self.assertEqual(signals["build"]["details"]["refused_names"], "pipe")

    def test_operators(self):
        self.make_simple(gate="test -e file2", max_attempts=1, phases=2)
        self.pawl("run", "plan.yaml", expect=11)
        self.pawl("retry", "last", "p1", "--reason", "again")
        status = self.pawl_json("status", "last")
        self.assertEqual([(p["state"], p["attempts_used"], p["attempts_total"], p["revision"]) for p in status["phases"]],
                         [("QUEUED", 0, 1, 1), ("QUEUED", 0, 0, 1)])
        self.pawl("skip", "last", "p1")
        self.pawl("resume", "last", expect=11)
        self.pawl("cancel", "last", expect=1)
        self.pawl("retry", "last", "p2")
        self.pawl("cancel", "last", "p2")
        states = {p["phase_id"]: p["state"] for p in self.pawl_json("status", "last")["phases"]}
        self.assertEqual(states, {"p1": "SKIPPED", "p2": "CANCELLED"})
        rows = [r for rows in self.chains("last").values() for r in rows if r["type"] == "operator"]
        self.assertEqual([r["uid"] for r in rows], [os.getuid()] * len(rows))
        self.assertGreaterEqual(len(rows), 4)
        self.assertIn("nope", self.pawl("retry", "last", "nope", expect=1).stderr)

    def test_a_retry_of_a_phase_leaves_what_a_person_skipped_and_one_of_the_run_does_not(self):
        self.make_simple(gate="false", max_attempts=1, phases=3)
        self.pawl("run", "plan.yaml", expect=11)
        self.pawl("retry", "last", "p1")
        self.pawl("skip", "last", "p2")
        self.pawl("resume", "last", expect=11)
        self.assertEqual(self.pawl_json("retry", "last", "p1")["phases"], ["p1", "p3"], "p3 was skipped since p1 failed")
        self.pawl("resume", "last", expect=11)
        self.assertEqual(self.pawl_json("retry", "last")["phases"], ["p1", "p2", "p3"])
        self.assertIn("also one that a person skipped", self.pawl("retry", "--help").stdout)

    def test_more_attempts_need_an_acknowledgement(self):
        self.make_simple(gate="false", max_attempts=1)
        self.assertIn("--operator-ack", self.pawl("run", "plan.yaml", "--max-attempts", "2", expect=2).stderr)
        self.pawl("run", "plan.yaml", "--max-attempts", "2", "--operator-ack", expect=11)
        phase = self.pawl_json("status", "last")["phases"][0]
        self.assertEqual((phase["attempts_used"], phase["max_attempts"]), (2, 2))

    def make_two_limits(self):
        self.write("source/file", "x\n")
        text = plan(gate="false", phases=2, max_attempts=2)
        self.write("plan.yaml", text.replace("id: p1,", "id: p1, max_attempts: 1,"))

    def test_more_attempts_than_one_of_the_phases_has_need_an_acknowledgement(self):
        self.make_two_limits()
        said = self.pawl("run", "plan.yaml", "--max-attempts", "2", expect=2).stderr
        self.assertIn("phase p1", said)
        self.assertIn("--operator-ack", said)
        self.assertFalse((self.root / "source/.pawl").exists(), "it made no run")
        self.pawl("run", "plan.yaml", "--max-attempts", "1", expect=11)
        self.pawl("retry", "last")
        self.assertIn("phase p1", self.pawl("resume", "last", "--max-attempts", "2", expect=2).stderr)
        self.pawl("run", "plan.yaml", "--max-attempts", "2", "--operator-ack", expect=11)
        self.assertEqual(self.pawl_json("status", "last")["phases"][0]["attempts_used"], 2)

    def test_why_there_are_more_attempts_is_kept(self):
        self.make_simple(gate="false", max_attempts=1)
        self.pawl("run", "plan.yaml", "--max-attempts", "2", "--operator-ack", "--reason", "the machine is slow", expect=11)
        self.pawl("retry", "last")
        self.pawl("resume", "last", expect=11)
        self.pawl("retry", "last")
        self.pawl("resume", "last", "--max-attempts", "1", "--reason", "enough", expect=11)
        self.pawl("retry", "last")
        self.pawl("resume", "last", "--max-attempts", "3", "--operator-ack", expect=11)
        rows = [row for row in self.chains("last")["p1"] if row["type"] == "operator"]
        self.assertEqual([(row["action"], row["reason"], row["uid"]) for row in rows if row["action"] != "retry"],
                         [("max_attempts 2", "the machine is slow", os.getuid()), ("max_attempts 1", "enough", os.getuid()),
                          ("max_attempts 3", "", os.getuid())])
        self.assertEqual(len(rows), 6, "a resume alone changes nothing that somebody decided")
        for words in ("run", "plan.yaml"), ("resume", "last"):
            self.assertIn("--max-attempts", self.pawl(*words, "--reason", "why not", expect=2).stderr)

    def test_a_cancelled_run_names_the_commands_that_open_it_again(self):
        self.make_simple(agent="sleep 60")
        run = self.start("run", "plan.yaml")
        self.wait_for_step("the agent runs")
        self.pawl("cancel", "last")
        self.assertEqual(run.wait(timeout=TIMEOUT_S), 1)
        run_id = self.pawl_json("status")["runs"][0]["run_id"]
        for said in next(self.root.glob("started-*.log")).read_text(), self.pawl("resume", "last", expect=1).stdout:
            self.assertRegex(said, rf"Next: pawl retry {run_id}( --dir \S+)?   then pawl resume {run_id}")
        self.assertIn("p1 is QUEUED again", self.pawl("retry", run_id).stdout)


class Keeping(WithRun):
    def test_projections_are_rebuilt_byte_for_byte(self):
        self.make_mend()
        self.pawl("run", "plan.yaml")
        runs = self.root / "source/.pawl/runs"
        run = self.run_id()
        files = [*runs.rglob("*.jsonl"), self.root / "source/.pawl/cost/sandbox.jsonl"]
        honest = {p: p.read_bytes() for p in files}
        self.assertEqual(len(honest), 3)
        victim = runs / run / "phases/fix/attempts.jsonl"
        victim.write_bytes(victim.read_bytes()[:-20])  # torn
        self.pawl("resume", "last")  # only this repair is left to be done
        self.assertEqual({p: p.read_bytes() for p in files}, honest)
        for folder in ("runs", "cost"):
            shutil.rmtree(self.root / "source/.pawl" / folder)
        self.pawl("resume", "last")
        self.assertEqual({p: p.read_bytes() for p in files}, honest)
        self.pawl("export", "last", self.root / "out")
        self.assertEqual((self.root / "out/phases/fix/attempts.jsonl").read_bytes(), honest[victim])
        self.assertEqual((self.root / "out/run.jsonl").read_bytes(), honest[runs / run / "run.jsonl"])

    def test_export_refuses_a_changed_database(self):
        self.make_simple()
        self.pawl("run", "plan.yaml")
        db = sqlite3.connect(self.root / "source/.pawl/pawl.db")
        db.execute("UPDATE ledger SET line = replace(line, '\"exit_code\":0', '\"exit_code\":1') WHERE chain = 'p1'")
        db.commit()
        db.close()
        report = self.pawl_json("verify", "last", expect=13)
        self.assertEqual({p["kind"] for p in report["problems"]}, {"changed"})
        self.pawl("export", "last", self.root / "out", expect=13)

    def test_gc_removes_what_old_runs_left_and_keeps_the_ledger(self):
        self.make_simple(agent="head -c 1000000 /dev/urandom > made")
        self.pawl("run", "plan.yaml")
        layers = self.root / "source/.pawl/objects/layers"
        self.assertEqual(len(list(layers.iterdir())), 3, "the work, and the repositories of the agent's step and of the gate's")
        self.pawl("gc")
        self.assertEqual(len(list(layers.glob("*/tree/made"))), 1, "it is younger than 7 days")
        self.pawl("gc", "--older-than", "0s")
        self.assertEqual(len(list(layers.iterdir())), 0)
        self.assertIn("gc", self.pawl("retry", "last", expect=1).stderr, "what it would start from is gone")
        self.assertTrue(self.pawl_json("verify", "last")["ok"])

    def schema(self):
        with sqlite3.connect(self.root / "source/.pawl/pawl.db") as db:
            version = db.execute("PRAGMA user_version").fetchone()[0]
        db.close()
        return version

    def test_migrations_go_up_and_down(self):
        self.make_simple()
        self.pawl("run", "plan.yaml")
        self.assertRegex(self.pawl("migrate", "status").stdout, r"schema (\d+), this program needs \1\n")
        of_plans = 11  # the migration whose rows are made only at the start of a run
        of_heads = 6  # the migration whose rows an older pawl would read more into

        def down_to(version):
            while self.schema() > version:
                self.pawl("migrate", "down")  # no data of this test gets lost

        down_to(of_plans)
        self.assertIn("planned rows", self.pawl("migrate", "down", expect=1).stderr, "the ledger has their hashes")
        self.pawl("migrate", "down", "--destroy-data")
        down_to(of_heads)
        self.assertIn("signed head(s)", self.pawl("migrate", "down", expect=1).stderr, "an older pawl reads more into them")
        self.pawl("migrate", "down", "--destroy-data")
        self.assertIn("pawl migrate up", self.pawl("status", expect=1).stderr)
        self.pawl("migrate", "up")
        self.assertEqual(len(self.pawl_json("status")["runs"]), 1, "what the newest version does not need is kept")
        down_to(of_heads)
        self.pawl("migrate", "down", "--destroy-data")
        for version in range(self.schema(), 1, -1):
            self.pawl("migrate", "down")
        self.assertIn("destroy", self.pawl("migrate", "down", expect=1).stderr)
        self.pawl("migrate", "up")
        problem, = self.pawl_json("verify", "last", expect=13)["problems"]
        self.assertEqual(problem["kind"], "missing")
        said = {verb: self.pawl(verb, "last", expect=13) for verb in ("verify", "diff")}
        self.assertTrue(all(problem["detail"] in done.stdout + done.stderr for done in said.values()), said)


if __name__ == "__main__":
    unittest.main(verbosity=1)
