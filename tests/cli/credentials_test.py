#!/usr/bin/env python3
"""A credential reaches the agent's step alone: it is in no file, argument, log or diff, and in no environment but that of the agent's
command, through kills of everything."""

import base64
import hashlib
import json
import os
import pathlib
import sqlite3
import unittest

from pawl_runs import WithRun
from pawl_testing import TIMEOUT_S

# This process alone has them: the processes of the machine are searched.
FIRST, SECOND = f"sk-first-0f8b1c77{os.getpid():08x}", f"sk-second-7d0a61f3{os.getpid():08x}"
NEEDLES = [FIRST, SECOND, *(base64.b64encode(value.encode()).decode()[2:-4] for value in (FIRST, SECOND))]

# Shows that it has the value, in several spellings. The first execution then waits to be killed.
AGENT = """\
echo "the key is $API_KEY, in base64 $(printf %s "$API_KEY" | base64 -w0), of ${#API_KEY} bytes"
printf '%s' "$API_KEY" | sha256sum | cut -c 1-16
echo "at work" >&2
if [ ! -e ~/session ]; then touch ~/session; sleep 60; fi
echo done >made"""
GATE = 'echo "gate: [$API_KEY]"; env; cat made'


def digest(value):
    return hashlib.sha256(value.encode()).hexdigest()[:16]


class Credentials(WithRun):
    def make(self, agent=AGENT, gate=GATE, source="{file: SECRET}", **top):
        """A plan whose agent has a credential. The file SECRET is outside of the plan's folder."""
        self.secret = self.write("outside/secret", FIRST + "\n")
        self.make_simple(agent=agent, gate=gate, **top)
        text = (self.root / "plan.yaml").read_text()
        credentials = "credentials: {API_KEY: " + source.replace("SECRET", str(self.secret)) + "}"
        self.write("plan.yaml", text.replace("agent: {", "agent: {" + credentials + ", "))
        if not (self.root / "source/.git").exists():
            self.commit_all("source")

    # --- searching

    def state(self):
        return self.root / "source/.pawl"

    def assert_in_no_file(self):
        hits = []
        for path in self.state().rglob("*"):
            try:
                if path.is_file() and not path.is_symlink() and any(needle.encode() in path.read_bytes() for needle in NEEDLES):
                    hits.append(str(path))
            except FileNotFoundError:
                continue  # a step ended
        self.assertEqual(hits, [])
        names = [str(path) for path in self.state().rglob("*") if any(needle in path.name for needle in NEEDLES)]
        self.assertEqual(names, [])

    def assert_in_no_database(self):
        for path in [self.state() / "pawl.db", *self.state().glob("agents/**/*.db")]:
            database = sqlite3.connect(path)
            dump = "\n".join(database.iterdump())
            database.close()
            self.assertEqual([needle for needle in NEEDLES if needle in dump], [], path)

    def holders(self, file):
        """The processes with a value in this file of /proc, by their names."""
        out = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                text = pathlib.Path(f"/proc/{pid}/{file}").read_bytes()
                if any(needle.encode() in text for needle in NEEDLES):
                    out.append(pathlib.Path(f"/proc/{pid}/comm").read_text().strip())
            except OSError:
                continue  # gone, or it may not be looked into
        return sorted(set(out))

    def assert_nowhere(self, *commands):
        self.assert_in_no_file()
        self.assert_in_no_database()
        self.assertEqual(self.holders("environ"), [])
        self.assertEqual(self.holders("cmdline"), [])
        for words in commands or (("inspect", "last"), ("inspect", "last", "--json"), ("logs", "last", "p1"), ("diff", "last"), ("status", "last"),
                                  ("why", "last"), ("export", "last", self.root / "out")):
            said = self.pawl(*words, expect=None)
            self.assertEqual([needle for needle in NEEDLES if needle in said.stdout + said.stderr], [], words)
        hits = [str(path) for path in (self.root / "out").rglob("*") if path.is_file() and any(n.encode() in path.read_bytes() for n in NEEDLES)]
        self.assertEqual(hits, [])

    def wait_until_at_work(self):
        def is_at_work():
            outputs = (step / "output" for step in self.steps_at_work(".agent."))
            return any("at work" in output.read_text() for output in outputs if output.is_file())

        self.wait_until(is_at_work, "the agent is at work")

    def kill_all_at_work(self):
        run = self.start("run", "plan.yaml")
        self.wait_until_at_work()
        self.kill_all(run)
        self.assert_in_no_file()
        self.assertEqual(self.holders("environ"), [])

    def assert_complete(self, value, executions):
        [phase] = self.pawl_json("status", "last")["phases"]
        self.assertEqual((phase["state"], phase["attempts_total"]), ("COMPLETE", 1), self.pawl("inspect", "last").stdout)
        log = self.pawl("logs", "last", "p1").stdout
        self.assertIn(digest(value), log, "the agent has this value")
        self.assertIn("<redacted:env:API_KEY:", log)
        self.assertIn("gate: []\n", log)
        self.assertNotIn("API_KEY=", log, "no variable of the gate")
        rows = self.chains("last")["p1"]
        begun = [row["execution"] for row in rows if row["type"] == "pre_execute" and ".agent." in row["label"]]
        self.assertEqual(begun, list(range(1, executions + 1)))
        hashes = {row["sandbox_spec_hash"] for row in rows if row["type"] == "pre_execute" and ".agent." in row["label"]}
        self.assertEqual(len(hashes), 1, "the value is no part of the specification")
        self.pawl("verify", "last")

    # --- where it is

    def test_only_the_command_of_the_agent_has_it(self):
        self.make()
        run = self.start("run", "plan.yaml")
        self.wait_until_at_work()
        self.assertIn("sleep", self.holders("environ"))
        self.assertLessEqual(set(self.holders("environ")), {"sleep", "sh", "bash"}, "not pawl, pawl-supervisor or the sandbox's init")
        self.assertEqual(self.holders("cmdline"), [])
        self.assert_in_no_file()
        self.kill_all(run)
        self.assert_in_no_file()
        self.pawl("resume", "last")
        self.assert_complete(FIRST, 2)
        self.assert_nowhere()

    def test_a_variable_is_in_no_other_environment_while_steps_run(self):
        """The variable of the user's shell: `pawl run` itself has it, and no process that it starts but the agent's command."""
        self.make(source="{env: MY_KEY}", agent=AGENT.replace("sleep 60", "sleep 2"), gate=f"{GATE}; echo judging >&2; sleep 2")
        run = self.start("run", "plan.yaml", env={"MY_KEY": FIRST})
        self.wait_until_at_work()
        self.assertIn("sleep", self.holders("environ"))
        self.assertLessEqual(set(self.holders("environ")), {"sleep", "sh", "bash", "pawl-engine"})
        self.assertEqual(self.holders("cmdline"), [])
        self.wait_for_output("judging", ".check.")
        self.assertEqual(self.holders("environ"), ["pawl-engine"])
        self.assertEqual(run.wait(timeout=TIMEOUT_S), 0)
        self.assert_complete(FIRST, 1)
        self.assert_nowhere()

    def test_a_value_of_the_environment_reaches_no_other_step(self):
        self.make(source="{env: MY_KEY}", doctor='{run: "env >&2; cat; env", after_failures: 1}',
                  agent=AGENT.replace("sleep 60", "echo done >made; exit 1"), max_attempts=2)
        self.pawl("run", "plan.yaml", env={"MY_KEY": FIRST}, expect=None)
        for step in self.root.glob("source/.pawl/objects/blobs/**/*"):
            if step.is_file():
                self.assertNotIn(b"MY_KEY", step.read_bytes())
        self.assert_nowhere()

    def test_a_command_gives_it_on_the_host(self):
        self.make(source="{command: [sh, -c, \"echo read >>SECRET.log; cat SECRET\"]}", agent=AGENT.replace("sleep 60", ":"))
        self.pawl("check", "plan.yaml")
        self.assertFalse(self.secret.with_suffix(".log").exists(), "check runs no command")
        self.pawl("run", "plan.yaml")
        self.assertEqual(self.secret.with_suffix(".log").read_text(), "read\nread\n", "before the claim, and for the agent")
        self.assert_complete(FIRST, 1)
        self.assert_nowhere()

    # --- kills

    def test_another_value_after_everything_was_killed(self):
        self.make()
        self.kill_all_at_work()
        self.secret.write_text(SECOND)
        self.pawl("resume", "last")
        self.assert_complete(SECOND, 2)
        self.assertIn("<redacted:env:API_KEY:", self.pawl("logs", "last", "p1").stdout)
        self.assert_nowhere()

    def test_the_executor_is_killed_and_the_value_changes(self):
        self.make(agent=AGENT.replace("sleep 60", "sleep 3"))
        run = self.start("run", "plan.yaml")
        self.wait_until_at_work()
        run.kill()
        run.wait()
        self.secret.write_text(SECOND)
        self.pawl("resume", "last")
        self.assert_complete(FIRST, 1)
        self.assert_nowhere()

    def test_the_supervisor_is_killed_and_the_value_changes(self):
        self.make()
        run = self.start("run", "plan.yaml")
        self.wait_until_at_work()
        self.secret.write_text(SECOND)
        for pid in self.supervisors():
            os.kill(pid, 9)
        self.assertEqual(run.wait(timeout=TIMEOUT_S), 0)
        self.assert_complete(SECOND, 2)
        self.assert_nowhere()

    def test_lost_work_is_probed_only_with_the_same_value(self):
        for value, code in ((FIRST, 0), (SECOND, 11)):
            with self.subTest(value=value):
                self.make(agent="echo done >made; " + AGENT, resume='{probe: "test -e made"}')
                self.kill_all_at_work()
                self.secret.write_text(value)
                self.pawl("resume", "last", expect=code)
                self.assert_nowhere()

    # --- what is missing

    def test_what_is_missing_costs_no_attempt(self):
        for source, words in (("{env: PAWL_TEST_ABSENT}", "the environment variable PAWL_TEST_ABSENT: it is not set"),
                              ("{file: SECRET.absent}", "No such file"),
                              ("{file: SECRET, json: /a}", "is not JSON"),
                              ("{command: [sh, -c, \"echo it broke >&2; exit 3\"]}", "it ended with exit code 3"),
                              ("{command: [pawl-no-such-program]}", "this machine has no such program")):
            with self.subTest(source=source):
                self.make(source=source)
                said = self.pawl("run", "plan.yaml", expect=11)
                self.assertIn("credential API_KEY of phase p1, from ", said.stderr)
                self.assertIn(words, said.stderr)
                self.assertIn("No attempt was spent", said.stderr)
                [phase] = self.pawl_json("status", "last")["phases"]
                self.assertEqual((phase["state"], phase["attempts_total"]), ("QUEUED", 0))
                self.assertEqual("it broke" in said.stderr, "it broke" in source, "the command's own words are shown")

    def test_what_was_missing_is_there_at_the_resume(self):
        self.make(source="{env: MY_KEY}", agent=AGENT.replace("sleep 60", ":"))
        self.pawl("run", "plan.yaml", expect=11)
        self.pawl("resume", "last", env={"MY_KEY": FIRST})
        self.assert_complete(FIRST, 1)
        self.assert_nowhere()

    def test_what_gets_lost_between_two_attempts_stops_the_run(self):
        self.make(source="{command: [sh, -c, \"cat SECRET\"]}", gate="cat made | grep 2", max_attempts=3,
                  agent="echo $PAWL_ATTEMPT >made; [ $PAWL_ATTEMPT = 2 ] || sleep 3")
        run = self.start("run", "plan.yaml")
        self.wait_until(lambda: self.steps_at_work(".agent."), "the agent is at work")
        self.secret.rename(self.secret.with_suffix(".away"))
        self.assertEqual(run.wait(timeout=TIMEOUT_S), 11)
        said = max(self.root.glob("started-*.log")).read_text()
        self.assertIn("credential API_KEY of phase p1, from the command", said)
        self.secret.with_suffix(".away").rename(self.secret)
        self.pawl("resume", "last")
        [phase] = self.pawl_json("status", "last")["phases"]
        self.assertEqual((phase["state"], phase["attempts_total"]), ("COMPLETE", 2), "the second attempt went on")

    def test_check_says_what_it_sees_and_reads_nothing(self):
        self.make(source="{env: PAWL_TEST_ABSENT}")
        said = self.pawl("check", "plan.yaml")
        self.assertRegex(said.stderr, r"plan.yaml:\d+:\d+: warning: credential API_KEY of phase p1, from the environment variable PAWL_TEST_ABSENT: it is not set")
        self.assertIn("note: the agent of phase p1 gets API_KEY from the environment variable PAWL_TEST_ABSENT", said.stdout)
        self.assertNotIn("warning: credential", self.pawl("check", "plan.yaml", env={"PAWL_TEST_ABSENT": FIRST}).stderr)
        self.make(source="{file: SECRET.absent}")
        self.assertIn("there is no such file", self.pawl("check", "plan.yaml").stderr)
        self.make(source="{command: [pawl-no-such-program]}")
        self.assertIn("this machine has no such program", self.pawl("check", "plan.yaml").stderr)

    def test_a_command_of_a_changed_database_does_not_run(self):
        self.make(source="{file: SECRET.absent}")
        self.pawl("run", "plan.yaml", expect=11)
        mark = self.root / "ran"
        command = json.dumps(["touch", str(mark)])
        change = f"UPDATE planned_phases SET row = replace(row, '\"command\":[]', '\"command\":{command}')"
        with self.changed_in_database(change):
            said = self.pawl("resume", "last", expect=13)
            self.assertFalse(mark.exists(), said.stderr)

    # --- work

    def test_work_with_the_value_is_not_stored_and_the_next_attempt_hears_why(self):
        leak = ('if [ $PAWL_ATTEMPT = 1 ]; then echo "key = $API_KEY" >config; ln -s "$API_KEY" link; mkdir -p "a/$API_KEY"; touch "a/$API_KEY/f"; '
                'else cat "$PAWL_FEEDBACK"; ls /pawl/evidence; fi; echo done >made')
        self.make(agent=leak, gate="! [ -e config ]", max_attempts=2)
        said = self.pawl("run", "plan.yaml").stdout
        self.assertRegex(said, "; not stored, for the value of a credential: .*config")
        self.assertNotIn("the agent ended with", said)
        attempts = self.pawl_json("inspect", "last")["phases"][0]["attempts"]
        self.assertEqual([attempt["verdict"] for attempt in attempts], ["failed_retryable", "passed"])
        signals = {signal["kind"]: signal for signal in attempts[0]["signals"]}
        self.assertFalse(signals["agent"]["passed"])
        self.assertIn("config", signals["agent"]["details"]["withheld_names"])
        feedback = self.pawl("logs", "last", "p1", "--attempt", "2").stdout
        self.assertIn("files with the value of a credential are never stored: leave it out", feedback)
        self.assertIn("config", feedback)
        self.assert_nowhere()
        changed = [line for line in self.pawl("diff", "last").stdout.splitlines() if line.startswith("diff ")]
        self.assertEqual(changed, ["diff --git a/made b/made"])

    def test_a_file_that_the_source_ignores_fails_nothing_and_is_not_stored(self):
        self.make(agent='echo "API_KEY=$API_KEY" >.env; echo done >made', gate="! [ -e .env ]")
        self.write("source/.gitignore", ".env\n")
        self.commit_all("source")
        self.pawl("run", "plan.yaml")
        self.assertIn(".env", self.pawl("inspect", "last").stdout)
        self.assert_nowhere()

    def test_each_of_several_episodes_has_it(self):
        self.make(agent=AGENT.replace("sleep 60", ":"))
        text = (self.root / "plan.yaml").read_text()
        self.write("plan.yaml", text.replace("may_be_empty: true", "may_be_empty: true, best_of: 2"))
        self.pawl("run", "plan.yaml", "--workers", "2")
        self.assertIn(digest(FIRST), self.pawl("logs", "last", "p1").stdout)
        self.assert_nowhere()


if __name__ == "__main__":
    unittest.main()
