#!/usr/bin/env python3
"""Agents in runs as a person sees them: what they store, spend and ask."""

import contextlib
import json
import os
import re
import shutil
import sqlite3

import at_once
from pawl_runs import WithRun
from pawl_testing import PAWL

PLAN = """\
version: 1
workflow: agents
source: {path: source}
max_attempts: 2
%(top)s
gates:
  check: {steps: [{name: done, run: "grep -q done file"}], signals: [build]}
tiers:
  - phases:
      - {id: fix, goal: "go on", agent: {run: "sh /plan/agent.sh"%(agent)s}, gates: [check]}
"""
# `state` is the stored state; `spend ID TOKENS` reports a call.
PRELUDE = """\
set -u
PATH=/plan/bin:$PATH
state=$(pawl checkpoint load main-0 2>/dev/null || echo fresh)
echo "state $state episode $PAWL_EPISODE_ID"
keep() { printf %s "$1" | pawl checkpoint save main-0; }
api() { curl -sS --unix-socket "$PAWL_SOCKET" "$@"; echo; }
spend() { api -d '{"id":"'$1'","model":"small","input_tokens":'$2',"output_tokens":0,"usd":"'$3'"}' http://pawl/v1/usage; }
"""


class Agents(WithRun):
    def make(self, script, top="", agent=""):
        self.write("source/file", "x\n")
        self.write("plan.yaml", PLAN % {"top": top, "agent": agent})
        self.write("agent.sh", PRELUDE + script)
        # A program in /usr would be visible without this copy.
        (self.root / "bin").mkdir(exist_ok=True)
        shutil.copy(PAWL, self.root / "bin/pawl")

    def log(self):
        return self.pawl("logs", "last", "fix").stdout

    def events(self):
        return [(row["event"], row["details"]) for row in self.chains(self.run_id())["fix"] if row["type"] == "agent"]

    def test_a_shell_agent_goes_on_after_kill_9(self):
        self.make("""\
if [ "$state" = fresh ]; then keep half; pawl checkpoint list; kill -9 $$; fi
pawl checkpoint show main-0
keep whole; echo "$state" >>file; echo done >>file
""")
        self.pawl("run", "plan.yaml")
        log = self.log()
        self.assertIn("state half episode fix.1", log)
        self.assertIn("saved main-0 as 2: 5 bytes", log)
        self.assertIn(("resumed", {"session": 2, "loaded": "main-0", "seq": 1}), self.events())
        self.assertEqual([row["verdict"] for row in self.chains(self.run_id())["fix"] if row["type"] == "attempt"], ["passed"])
        self.assertEqual(list((self.root / "source/.pawl/agents").rglob("*.db")), [], "success takes what was kept")

    def test_an_agent_that_forgets_its_id_is_told(self):
        """Its id is made of random bits, so the process after a crash finds no state and pays for
        everything again."""
        self.make("""\
id=main-0-$(od -An -N4 -tx4 /dev/urandom | tr -d ' ')
pawl checkpoint load "$id" || echo "exit $?"
printf paid | pawl checkpoint save "$id"
[ "$(pawl checkpoint list | wc -l)" -gt 1 ] || kill -9 $$
echo done >>file
""")
        self.pawl("run", "plan.yaml")
        told = [details for event, details in self.events() if event == "checkpoint_not_found"]
        self.assertEqual([each["id"] for each in told][:1], ["main-0"], "the prelude looks for it")
        known = told[0]["known"]
        self.assertEqual([(each["known"], each["session"]) for each in told], [(known, 2), (known, 2)])
        for id in (known, told[1]["id"]):
            self.assertRegex(id, r"^main-0-\w{8}$")
        self.assertNotEqual(known, told[1]["id"])
        self.assertIn(("resumed", {"session": 2, "loaded": ""}), self.events())
        self.assertIn(f"[warning] there is no checkpoint {told[1]['id']}, but of {known}", self.log())
        self.assertIn(f"but of {known}. An id is the same in every process", self.log())

    def test_a_process_beside_another_resumes_nothing(self):
        self.make("""\
keep half; api -H 'Pawl-Session: beside' http://pawl/v1/context; echo done >>file
""")
        self.pawl("run", "plan.yaml")
        self.assertIn('"session":2', self.log())
        self.assertNotIn("resumed", [event for event, _ in self.events()])

    def test_a_killed_agent_that_kept_but_children_or_answers_goes_on(self):
        spawn = """api -d '{"parent":"main-0","spawn_seq":1,"ordinal":0,"spec_hash":"x"}' http://pawl/v1/children/spawn"""
        finish = """api -d '{"child_id":"main-0/1.0","result":"paid"}' http://pawl/v1/children/finish"""
        ask = """api -X PUT -d '{"question":"Deploy?"}' 'http://pawl/v1/question?key=deploy'"""
        for name, first, wanted in (("child", f"{spawn}; {finish}", '"answer":"done","result":"paid"'), ("question", ask, '"key":"deploy"')):
            with self.subTest(name):
                self.make(f"""\
again=$(api http://pawl/v1/context | grep -c '"resumed":true')
if [ "$PAWL_ATTEMPT" = 1 ] && [ $again = 0 ]; then {first}; kill -9 $$; fi
echo "again $again"; {spawn if name == "child" else ask}; echo done >>file
""")
                self.pawl("run", "plan.yaml")
                self.assertEqual([row["verdict"] for row in self.chains(self.run_id())["fix"] if row["type"] == "attempt"], ["passed"])
                log = self.log()
                self.assertIn("episode fix.1", log)
                self.assertIn("again 1", log)
                self.assertIn(wanted, log[log.index("again 1"):])
                self.assertIn("resumed", [event for event, _ in self.events()])

    def test_files_of_a_killed_execution_are_gone_but_for_home(self):
        self.make("""\
now=$(echo $(ls -A . /tmp) $(cat file))
if [ "$state" = fresh ]; then keep "$now"; echo before >>file; touch kept "$HOME/kept" /tmp/kept; rm lost; kill -9 $$; fi
echo "now $now"
echo "home $(ls -A ~)"
echo done >>file
""")
        self.write("source/lost", "")
        self.pawl("run", "plan.yaml")
        _, state, now = [line for line in self.log().splitlines() if line.startswith(("state ", "now "))]
        self.assertIn(" file lost ", now)
        self.assertIn("home kept\n", self.log())
        self.assertEqual(state, now.replace("now", "state", 1) + " episode fix.1")
        self.assertNotIn("before", self.pawl("diff", "last").stdout)

    def test_an_agent_that_keeps_nothing_has_no_episode(self):
        self.write("source/file", "x\n")
        self.write("plan.yaml", PLAN % {"top": "", "agent": ""})
        self.write("agent.sh", "exit 3\n")  # data that a failed attempt stored would stay
        self.pawl("run", "plan.yaml", expect=11)
        self.assertEqual(list((self.root / "source/.pawl").glob("agents/*")), [])

    def test_the_time_of_the_processes_before_counts(self):
        self.make("""\
if [ "$state" = fresh ]; then sleep 1.2; keep half; sleep 1; kill -9 $$; fi
pawl checkpoint show main-0; api http://pawl/v1/context; keep whole; pawl checkpoint show main-0; echo done >>file
""")
        self.pawl("run", "plan.yaml")
        told = [int(n) for n in re.findall(r'"milliseconds": ?(\d+)', self.log())]
        self.assertEqual(len(told), 3)
        self.assertEqual(told, sorted(told))
        self.assertGreaterEqual(told[0], 1000)
        self.assertGreaterEqual(told[1], told[0] + 1000, "though nothing was told in that second")
        self.assertLess(told[2], 60_000)

    def test_a_heartbeats_note_is_in_the_log(self):
        self.make("""\
for note in reading reading writing; do api -d '{"note":"'$note'"}' http://pawl/v1/heartbeat >/dev/null; done
echo done >>file
""")
        self.pawl("run", "plan.yaml")
        self.assertEqual([line for line in self.log().splitlines() if "[heartbeat]" in line], ["[heartbeat] reading", "[heartbeat] writing"])

    def test_a_new_attempt_starts_afresh(self):
        self.make("""\
if [ "$PAWL_ATTEMPT" = 1 ]; then keep first; exit 3; fi
echo done >>file
""")
        self.pawl("run", "plan.yaml")
        self.assertIn("state fresh episode fix.1", self.pawl("logs", "last", "fix", "--attempt", "1").stdout)
        self.assertIn("state fresh episode fix.2", self.log())
        kept = list((self.root / "source/.pawl/agents").rglob("*.db"))
        self.assertEqual([path.name for path in kept], ["fix.1.db"], "what failed is kept")
        self.pawl("gc", "--older-than", "0s")
        self.assertEqual(list((self.root / "source/.pawl/agents").rglob("*.db")), [])

    def test_a_damaged_checkpoint_is_told_where_a_person_looks(self):
        self.make("""\
if [ "$state" = fresh ]; then keep good; keep bad; sleep 100; fi
pawl checkpoint load main-0; echo done >>file
""")
        process = self.start("run", "plan.yaml")
        kept = self.root / "source/.pawl/agents"
        self.wait_until(lambda: [seq for path in kept.rglob("*.db") for seq in self.kept(path)] == [1, 2], "both are kept")
        self.kill_all(process)
        (path,) = kept.rglob("*.db")
        with contextlib.closing(sqlite3.connect(path)) as database, database:
            database.execute("UPDATE checkpoints SET size = size + 1 WHERE seq = 2")
        self.pawl("resume", "last")
        self.assertIn(("checkpoint_damaged", 2), [(event, details.get("seq")) for event, details in self.events()])
        told = "1 newer checkpoint of main-0 can't be read: loaded the one of seq 1"
        self.assertIn(f"[warning] {told}\n", self.log())
        self.assertIn(f"pawl: {told}\n", self.log())

    @staticmethod
    def kept(path):
        with contextlib.closing(sqlite3.connect(path)) as database:
            try:
                return [row[0] for row in database.execute("SELECT seq FROM checkpoints ORDER BY seq")]
            except sqlite3.OperationalError:
                return []  # the file is being made

    def test_the_cap_of_a_run_stops_and_a_raised_one_goes_on(self):
        self.make("""\
n=0; [ "$state" = fresh ] || n=$state
while [ $n -lt 6 ]; do
  spend call-$n 100 0.10; n=$((n+1)); keep $n; sleep 0.3
done
echo done >>file
""", top='budget: {usd: "0.35"}')
        out = self.pawl("run", "plan.yaml", expect=11).stdout
        self.assertRegex(out, r"Stopped: \$0\.40? of \$0\.35 are spent|Stopped: \$0\.\d+ of \$0\.35 are spent")
        self.assertIn("--usd N", out)
        self.assertIn("--usd N", self.pawl("why", "last").stdout)
        self.assertEqual(self.pawl_json("status", "last")["state"], "EXECUTING")
        self.pawl("resume", "last", expect=11)
        self.pawl("budget", "last", "--usd", "2.00", "--reason", "it is worth it")
        self.pawl("resume", "last")
        self.assertIn("episode fix.1", self.log(), "the same attempt")
        cost = self.pawl_json("cost", "last")
        self.assertEqual((cost["usd"], cost["input_tokens"]), ("0.60", 600), "each call once")
        self.assertIn("usage_limit", [event for event, _ in self.events()])
        self.assertTrue(self.pawl_json("verify", "last")["ok"])
        # The ledger detects a change to the rows of usage.
        self.pawl("export", "last", self.root / "evidence")
        rows = self.root / "evidence/cost/agent.jsonl"
        rows.write_text(rows.read_text().replace('"usd":"0.10"', '"usd":"0.01"', 1))
        report = self.pawl_json("verify", self.root / "evidence", expect=13)
        self.assertEqual([(p["kind"], p["file"]) for p in report["problems"]], [("changed", "cost/agent.jsonl")])

    def test_an_agent_that_ends_when_it_is_told_to_goes_on_after_a_raise(self):
        for code in (0, 3):
            with self.subTest(code):
                self.make(f"""\
if [ "$state" = fresh ]; then keep 1; spend call 100 0.40; exit {code}; fi
echo done >>file
""", top='budget: {usd: "0.35"}')
                self.assertIn("Stopped: $0.40 of $0.35 are spent", self.pawl("run", "plan.yaml", expect=11).stdout)
                self.pawl("budget", "last", "--usd", "2.00", "--reason", "it is worth it")
                self.pawl("resume", "last")
                self.assertIn("episode fix.1", self.log(), "the same attempt")

    def test_the_third_stop_of_an_attempt_is_no_pause(self):
        self.make('n=0; [ "$state" = fresh ] || n=$state\nn=$((n+1)); keep $n; spend call-$PAWL_ATTEMPT-$n 100 0.10; sleep 100\n', top='budget: {usd: "0.10"}')
        out = self.pawl("run", "plan.yaml", expect=11).stdout
        for usd in ("0.20", "0.30"):
            self.assertIn("are spent; nothing is lost.", out)
            self.pawl("budget", "last", "--usd", usd, "--reason", "more")
            out = self.pawl("resume", "last", expect=11).stdout
        self.assertIn("are spent; attempt fix.1 has failed, and the next one of fix starts afresh.", out)
        self.assertNotIn("nothing is lost", out)

    def test_the_cap_of_an_agent_fails_its_attempt(self):
        self.make('spend one 100 0.01; keep x; sleep 100\n', agent=", budget: {tokens: 50}")
        out = self.pawl("run", "plan.yaml", expect=11).stdout
        self.assertIn("attempt 2 of 2", out)
        self.assertEqual(self.pawl_json("status", "last")["state"], "FAILED")

    def test_an_agent_in_a_shell_has_its_grace(self):
        body = """spend one 100 0.01; while :; do sleep 0.1; done\n"""
        for run in ("sh /plan/agent.sh", ["sh", "/plan/agent.sh"], "sh /plan/agent.sh; true"):
            with self.subTest(run):
                self.make("trap 'sleep 0.3; keep last; echo saved last; exit 1' TERM\n" + body, agent=", budget: {tokens: 50}")
                path = self.root / "plan.yaml"
                path.write_text(path.read_text().replace('run: "sh /plan/agent.sh"', "run: " + json.dumps(run)))
                self.pawl("run", "plan.yaml", expect=11)
                self.assertIn("saved last", self.log())

    def test_what_an_agent_used_counts_though_an_operator_ends_it(self):
        self.make('spend one 100 0.01; echo told; sleep 100\n', agent=", budget: {tokens: 500}", top="budget: {tokens: 1000}")
        for alive in (True, False):
            process = self.start("run", "plan.yaml")
            self.wait_until(lambda: '"EXECUTING"' in self.pawl("status", "last", "--json", expect=None).stdout and
                            "told" in self.pawl("logs", "last", "fix", expect=None).stdout, "the agent has told what it used")
            if not alive:
                self.kill_all(process)
            self.pawl("cancel", "last", "--reason", "enough")
            self.assertEqual(self.pawl_json("cost", "last")["input_tokens"], 100)
            budget = self.pawl_json("budget", "last")["budget"]["tokens"]
            self.assertEqual((budget["spent"], budget["reserved"]), (100, 0))
            process.wait()
            self.assertEqual([row["state"] for row in self.chains(self.run_id())[""] if row["type"] == "run_sealed"], ["CANCELLED"] * 2)
            self.assertTrue(self.pawl_json("verify", "last")["ok"])

    def test_what_cannot_be_read_of_an_ended_agent_holds_nobody_up(self):
        self.make('spend one 100 0.01; echo told; sleep 100\n', agent=", budget: {tokens: 500}", top="budget: {tokens: 1000}")
        process = self.start("run", "plan.yaml")
        self.wait_until(lambda: "told" in self.pawl("logs", "last", "fix", expect=None).stdout, "the agent has told what it used")
        self.kill_all(process)
        episode = next((self.root / "source/.pawl/agents").rglob("fix.1.db"))
        kept = [(path, path.read_bytes()) for path in episode.parent.glob("fix.1.db*")]
        for path, _ in kept:
            path.write_bytes(b"not a database" * 1000)
        cancelled = self.pawl("cancel", "last", "--reason", "enough", expect=1)
        self.assertIn("fix is CANCELLED", cancelled.stdout, "it was, though its use is not counted")
        self.assertIn(episode.name, cancelled.stderr)
        self.write("agent.sh", "echo done >>file\n")
        other = self.pawl("run", "plan.yaml")
        self.assertIn("not counted yet", other.stdout + other.stderr)
        for path, content in kept:
            path.write_bytes(content)
        self.pawl("gc")
        run = [one["run_id"] for one in self.pawl_json("status")["runs"] if one["state"] == "CANCELLED"]
        self.assertEqual(self.pawl_json("cost", run[0])["input_tokens"], 100)
        self.assertTrue(self.pawl_json("verify", run[0])["ok"])

    def test_what_a_known_program_prints_of_its_use_is_read(self):
        self.make("""\
echo '{"type":"thread.started","thread_id":"0199a213-81c0-7800"}'
echo '{"type":"turn.completed","usage":{"input_tokens":16504,"cached_input_tokens":9000,"output_tokens":20}}'
if [ "$state" = fresh ]; then keep half; kill -9 $$; fi
echo '{"type":"turn.completed","usage":{"input_tokens":26549,"cached_input_tokens":22272,"output_tokens":1590}}'
echo done >>file
""", agent=", usage: codex")
        self.pawl("run", "plan.yaml")
        cost = self.pawl_json("cost", "last")
        self.assertEqual((cost["input_tokens"], cost["cached_tokens"], cost["output_tokens"]), (7504, 22272, 1590),
                         "what the last turn says of the thread, in which both executions worked; 7,504 were in no cache when they were told")
        self.pawl("export", "last", self.root / "evidence")
        rows = [json.loads(line) for line in (self.root / "evidence/cost/agent.jsonl").read_text().splitlines()]
        self.assertEqual([(row.get("model", "unknown"), row["source"]) for row in rows], [("codex", "codex"), ("unknown", "codex"), ("codex", "codex")],
                         "the first execution was killed")
        self.assertTrue(self.pawl_json("verify", "last")["ok"])

    def test_a_session_of_several_attempts_counts_once(self):
        """Each attempt prints what its thread has used so far. The last one begins another thread."""
        threads = ["0199a213-81c0-7800", "0199a213-81c0-7800", "0199ffff-81c0-7800"]
        prints = "".join(f"""if [ "$PAWL_ATTEMPT" = {n} ]; then
echo '{{"type":"thread.started","thread_id":"{thread}"}}'
echo '{{"type":"turn.completed","usage":{{"input_tokens":{n * 100},"cached_input_tokens":{n},"output_tokens":{n * 10}}}}}'; fi
""" for n, thread in enumerate(threads, 1))
        self.make(prints + "echo wrong >>file\n", agent=", usage: codex")
        plan = self.root / "plan.yaml"
        plan.write_text(plan.read_text().replace("max_attempts: 2", "max_attempts: 3"))
        self.pawl("run", "plan.yaml", expect=11)
        self.assertEqual(self.pawl_json("status", "last")["phases"][0]["attempts_total"], 3)
        cost = self.pawl_json("cost", "last")
        self.assertEqual((cost["input_tokens"], cost["cached_tokens"], cost["output_tokens"]), (198 + 297, 2 + 3, 20 + 30))
        self.assertTrue(self.pawl_json("verify", "last")["ok"])

    def test_what_a_known_program_prints_beyond_its_budget_is_told(self):
        used = '{"type":"turn.completed","usage":{"input_tokens":900,"cached_input_tokens":0,"output_tokens":%d}}'
        for tokens, over in (100, False), (101, True), (5000, True):
            with self.subTest(tokens):
                self.make(f"echo '{used % tokens}'; echo done >>file\n", agent=", usage: codex, budget: {tokens: 1000}")
                words = f"over its budget: by what it printed it used {900 + tokens} tokens of 1000"
                self.assertEqual(words in self.pawl("run", "plan.yaml").stdout, over)
                steps = self.pawl_json("inspect", "last")["phases"][0]["attempts"][0]["steps"]
                self.assertEqual([step["run"]["reason"] for step in steps if step["run"]["reason"]], [words] if over else [])
                self.assertEqual("exited 0 (over" in self.pawl("inspect", "last").stdout, over)
                self.assertEqual(words in self.pawl("why", "last").stdout, over)
                self.assert_why(words if over else None)
                self.pawl("export", "last", self.root / f"evidence{tokens}")
                chain = next((self.root / f"evidence{tokens}").rglob("attempts.jsonl")).read_text()
                rows = [json.loads(line) for line in chain.splitlines()]
                told = [row["details"] for row in rows if row["type"] == "agent" and row["event"] == "usage_limit"]
                self.assertEqual([(one["tokens"], one["tokens_cap"]) for one in told], [(900 + tokens, 1000)] if over else [])
                self.assertTrue(self.pawl_json("verify", "last")["ok"])

    def test_the_budget_of_an_agent_that_a_limit_ended_is_told(self):
        self.make("""\
echo '{"type":"turn.completed","usage":{"input_tokens":900,"cached_input_tokens":0,"output_tokens":101}}'
sleep 60
""", agent=", usage: codex, budget: {tokens: 1000}, time_budget_seconds: 1")
        words = "over its budget: by what it printed it used 1001 tokens of 1000"
        self.assertIn(words, self.pawl("run", "plan.yaml", expect=11).stdout)
        steps = self.pawl_json("inspect", "last")["phases"][0]["attempts"][0]["steps"]
        self.assertIn(f"{words}; the command itself was ended by signal 15", [step["run"]["reason"] for step in steps])
        self.assertIn("timed_out (over its budget", self.pawl("inspect", "last").stdout)

    def assert_why(self, words):
        """The agent of phase `fix` has this remark in `pawl why --json`, or none."""
        why = self.pawl_json("why", "last")
        self.assertEqual(why["agents"], [{"phase_id": "fix", "reason": words}] if words else [])
        self.assertEqual(bool(words and words in why["sentence"]), bool(words))

    def test_why_tells_of_the_budget_of_an_agent_whose_work_did_not_pass(self):
        used = '{"type":"turn.completed","usage":{"input_tokens":%d,"cached_input_tokens":0,"output_tokens":0}}'
        words = "over its budget: by what it printed it used 5900 tokens of 1000"
        # The newest of two attempts counts: the phase stands where that one left it.
        for first, second in ((5900, 5900), (10, 5900), (5900, 10)):
            with self.subTest((first, second)):
                self.make(f"""if [ "$PAWL_ATTEMPT" = 1 ]; then echo '{used % first}'; else echo '{used % second}'; fi; echo wrong >>file\n""",
                          agent=", usage: codex, budget: {tokens: 1000}")
                self.pawl("run", "plan.yaml", expect=11)
                self.assertEqual(self.pawl_json("why", "last")["waits_for"], "person")
                self.assert_why(words if second == 5900 else None)

    def test_an_output_without_its_use_is_told(self):
        self.make("echo done >>file; echo '{\"type\":\"turn.completed\"'\n", agent=", usage: codex")
        self.pawl("run", "plan.yaml")
        self.assertIn("usage: the output has no report of usage as codex prints it", self.log())
        self.assertEqual(self.pawl_json("cost", "last")["input_tokens"], 0)
        self.write("plan.yaml", (self.root / "plan.yaml").read_text().replace("usage: codex", "usage: cdex"))
        bad = self.pawl("run", "plan.yaml", expect=2)
        self.assertIn("plan.yaml:10", bad.stderr)
        self.assertIn("codex", bad.stderr)

    def test_a_question_waits_for_a_person(self):
        self.make("""\
api -X PUT -d '{"question":"Deploy to production?","choices":["yes","no"]}' 'http://pawl/v1/question?key=deploy'
for i in 1 2 3 4 5 6; do api 'http://pawl/v1/question?key=deploy&wait_ms=20000' >/tmp/a; grep -q '"answer"' /tmp/a && break; done
cat /tmp/a; grep -q '"answer":"yes"' /tmp/a && echo done >>file
""")
        run = self.start("run", "plan.yaml")
        self.wait_until(lambda: "Deploy to production?" in self.pawl("answer", "last", expect=None).stdout, "it asks", 60)
        self.assertIn("  pawl answer last fix deploy yes\n  pawl answer last fix deploy no\n", self.pawl("answer", "last").stdout)
        # The output of the run says that it waits.
        said, command = "fix asks: Deploy to production?", f"pawl answer {self.run_id()}"
        log = next(self.root.glob("started-*.log"))
        self.wait_until(lambda: said in log.read_text(), "the run says so")
        for text in (log.read_text(), self.pawl("why", "last").stdout, self.pawl("status", "last").stdout):
            self.assertIn(said, text)
            self.assertIn(command, text)
        why = self.pawl_json("why", "last")
        self.assertEqual((why["waits_for"], why["phase_id"], why["command"]), ("person", "fix", command))
        for found in (why, self.pawl_json("status", "last")):
            self.assertEqual([(q["phase_id"], q["key"], q["question"], q["choices"]) for q in found["questions"]],
                             [("fix", "deploy", "Deploy to production?", ["yes", "no"])])
        self.pawl("answer", "last", "fix", "deploy", "maybe", expect=1)
        self.pawl("answer", "last", "fix", "deploy", expect=2)
        self.pawl("answer", "last", "fix", "deploy", "yes")
        self.assertEqual(run.wait(), 0)
        self.assertEqual([event for event, _ in self.events()], ["question", "answered"])
        self.assertEqual(log.read_text().count(said), 1, "once")
        self.assertEqual(self.pawl_json("why", "last")["questions"], [])
        self.assertNotIn("asks", self.pawl("status", "last").stdout)

    def test_what_is_to_become_of_a_lost_effect_is_asked_aloud(self):
        self.make("""\
begin() { api -H "Pawl-Session: $1" -d '{"key":"pay","kind":"effect","args_hash":"x","on_lost":"ask"}' http://pawl/v1/steps/begin; }
begin one; begin two
until begin two | grep -q '"answer":"run"'; do sleep 0.2; done
echo done >>file
""")
        run = self.start("run", "plan.yaml")
        log = next(self.root.glob("started-*.log"))
        self.wait_until(lambda: "pawl answer " in log.read_text(), "the run says so")
        self.assertIn("step:pay", [q["key"] for q in self.pawl_json("why", "last")["questions"]])
        self.pawl("answer", "last", "fix", "step:pay", "run")
        self.assertEqual(run.wait(), 0)

    def test_outside_of_a_run_it_says_what_to_do(self):
        self.assertIn("pawl agentd", self.pawl("checkpoint", "list", expect=2).stderr)


if __name__ == "__main__":
    os.umask(0o022)
    at_once.main()
