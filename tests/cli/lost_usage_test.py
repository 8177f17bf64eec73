#!/usr/bin/env python3
"""The use of executions that were lost: what their programs had printed counts once, and a row says that the rest is unknown.

The stand-ins print the events of the real programs. Each execution but the last prints what the first half of its work took and waits."""

import json
import sqlite3

import at_once
from pawl_runs import WithRun
from pawl_testing import TIMEOUT_S, plan

CODEX = """\
{"type":"thread.started","thread_id":"0199-EXECUTION"}
{"type":"turn.completed","usage":{"input_tokens":NUMBER00,"cached_input_tokens":50,"output_tokens":7}}"""
OPENCODE = '{"type":"step_finish","part":{"cost":0.01,"tokens":{"input":NUMBER00,"output":7,"reasoning":0,"cache":{"read":50,"write":0}}}}'
PI = '{"type":"message_end","message":{"role":"assistant","model":"m","usage":{"input":NUMBER00,"output":7,"cacheRead":50,"cacheWrite":0}}}'
CLAUDE = """\
{"type":"assistant","message":{"role":"assistant","usage":{"input_tokens":NUMBER00,"output_tokens":7}}}"""
CLAUDES_END = """
{"type":"result","is_error":false,"modelUsage":{"m":{"inputTokens":200,"outputTokens":7,"cacheReadInputTokens":50,"costUSD":0.01}}}"""
PROGRAMS = {"codex": (CODEX, ""), "opencode": (OPENCODE, ""), "pi": (PI, ""), "claude_code": (CLAUDE, CLAUDES_END)}
# Input tokens of a first execution that is lost, and of a second one that ends.
TOLD = {"codex": (50, 150), "opencode": (100, 200), "pi": (100, 200), "claude_code": (None, 200)}

AGENT = """\
number=1
while [ -e ~/begun-$number ]; do number=$((number + 1)); done
touch ~/begun-$number
sed "s/NUMBER/$number/; s/EXECUTION/$number/" /plan/printed
if [ "$number" -le LOST ]; then ENDS; fi
cat /plan/end
echo done >>file
"""
WAIT = "touch ~/waited-$number; echo waits; sleep 60"


class LostUsage(WithRun):
    def make(self, program, lost=1, ends=WAIT, resume="continue", agent=", ", **top):
        printed, end = PROGRAMS[program]
        self.write("printed", printed + "\n")
        self.write("end", end + "\n" if end else "")
        self.write("agent.sh", AGENT.replace("LOST", str(lost)).replace("ENDS", ends))
        self.write("source/file", "x\n")
        text = plan(agent="sh /plan/agent.sh", resume=resume, **top)
        if program in PROGRAMS and agent is not None:
            text = text.replace("agent: {run:", f"agent: {{usage: {program}, run:")
        self.write("plan.yaml", text)

    def waits(self, *words, execution=1):
        process = self.start(*words)
        self.wait_until(lambda: list(self.root.glob(f"source/.pawl/homes/*/*/waited-{execution}")), f"execution {execution} waits")
        self.wait_for_output("waits", "agent")
        return process

    def lines(self):
        """Lines of cost/agent.jsonl in an export that verifies."""
        folder = self.root / f"evidence-{len(list(self.root.glob('evidence-*')))}"
        self.pawl("export", "last", folder)
        self.assertTrue(self.pawl_json("verify", folder)["ok"])
        self.assertTrue(self.pawl_json("verify", "last")["ok"])
        path = folder / "cost/agent.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def rows_of(self, kind):
        return [row for row in self.chains("last")["p1"] if row["type"] == kind]

    def decisions(self):
        return [row["decision"] for row in self.rows_of("resume") if row["decision"] not in ("adopt", "reattach")]

    def assert_told(self, tokens, unknown=1):
        """`tokens`: the input of each call that was printed, in order."""
        lines = self.lines()
        told = [line for line in lines if line["entry_type"] == "cost.agent.usage"]
        nobody_knows = [line["sandbox_run_id"] for line in lines if line["entry_type"] == "cost.agent.unknown"]
        self.assertEqual([line["input_tokens"] for line in told], tokens, lines)
        self.assertEqual((len(nobody_knows), len(set(nobody_knows))), (unknown, unknown), lines)
        self.assertLessEqual(set(nobody_knows), {row["sandbox_run_id"] for row in self.rows_of("resume")})
        in_part = {line["sandbox_run_id"] for line in told}
        self.assertEqual({row["sandbox_run_id"]: row["known"] for row in self.rows_of("usage") if "known" in row},
                         {step: "part" if step in in_part else "nothing" for step in nobody_knows})
        cost = self.pawl_json("cost", "last")
        self.assertEqual((cost["input_tokens"], cost["unknown_executions"]), (sum(tokens), unknown))
        said = self.pawl("cost", "last").stdout
        self.assertEqual("execution(s) of agents used more than is known" in said, unknown > 0, said)
        if tokens:
            self.assertEqual(f"at least {sum(tokens)} in" in said, unknown > 0, said)
        shown = self.pawl("inspect", "last").stdout
        self.assertEqual(f"the use of {unknown} execution(s) of agents is unknown" in shown, unknown > 0)
        spent = self.pawl_json("budget", "last")["budget"]
        for unit, text in (("tokens", "{} "), ("usd_nanos", "${}")):
            if amount := spent.get(unit, {}).get("spent"):
                text = text.format(amount if unit == "tokens" else f"{amount / 1e9:g}")
                self.assertIn(("  at least " if unknown else "  ") + text, shown)
        self.assertEqual(self.pawl_json("inspect", "last").get("unknown_executions", 0), unknown)

    def end(self, victim, process):
        if victim == "all":
            self.kill_all(process)
            self.pawl("resume", "last")
            return
        self.kill_supervisors()
        self.assertEqual(process.wait(timeout=TIMEOUT_S), 0)

    def crash_at(self, label):
        return {"PAWL_CRASH_ROLE": "executor", "PAWL_CRASH_AT": "1", "PAWL_CRASH_COUNT": str(self.root / label), "PAWL_CRASH_LABEL": label}


class OfEachProgram(LostUsage):
    def test_when_everything_is_killed_or_its_supervisor_alone(self):
        for program, (first, second) in TOLD.items():
            for victim in ("all", "supervisor"):
                with self.subTest((program, victim)):
                    self.make(program)
                    self.end(victim, self.waits("run", "plan.yaml"))
                    self.assertEqual(self.decisions(), ["continue"])
                    self.assert_told([tokens for tokens in (first, second) if tokens])

    def test_when_the_agent_alone_is_killed_and_goes_on(self):
        for program, (first, second) in TOLD.items():
            with self.subTest(program):
                self.make(program, ends="kill -9 $$")
                self.pawl("run", "plan.yaml")
                self.assertEqual(self.decisions(), ["continue"])
                self.assert_told([tokens for tokens in (first, second) if tokens])

    def test_of_one_whose_use_nobody_reads_no_row_tells(self):
        self.make("codex", agent=None)
        self.end("all", self.waits("run", "plan.yaml"))
        self.assertEqual(self.lines(), [])
        self.assertEqual(self.pawl_json("cost", "last")["unknown_executions"], 0)
        self.assertNotIn("known", self.pawl("cost", "last").stdout)


class AtEachMoment(LostUsage):
    def test_of_the_recovery(self):
        for label in ("spool.abandoned.fsync", "store.agent_usage.before_commit", "store.agent_group.before_commit",
                      "store.agent_group.after_commit", "store.begin_step.before_commit", "store.begin_step.after_commit"):
            with self.subTest(label):
                self.make("opencode")
                self.kill_all(self.waits("run", "plan.yaml"))
                self.pawl("resume", "last", expect=-9, env=self.crash_at(label))
                self.pawl("gc", "--older-than", "0s")
                self.pawl("resume", "last")
                began = label == "store.begin_step.after_commit"  # a second execution has its marker, and no supervisor yet
                self.assertEqual(self.decisions(), ["continue"] * (2 if began else 1))
                self.assert_told([100, 200])

    def test_of_the_report_of_a_supervisor(self):
        for label, unknown in (("supervisor.executed", 1), ("store.agent_usage.before_commit", 1), ("store.agent_group.before_commit", 1),
                               ("store.agent_group.after_commit", 1), ("spool.result.fsync", 0)):
            with self.subTest(label):
                self.make("opencode", lost=0)
                self.pawl("run", "plan.yaml", env={**self.crash_at(label), "PAWL_CRASH_ROLE": "supervisor"})
                self.assertEqual(self.decisions(), ["re_execute" if label == "spool.result.fsync" else "continue"])
                self.assert_told([100, 200], unknown)


class Decisions(LostUsage):
    def lose(self, executions=1, expect=None):
        self.kill_all(self.waits("run", "plan.yaml"))
        for execution in range(2, executions + 1):
            self.kill_all(self.waits("resume", "last", execution=execution))
        return self.pawl("resume", "last", expect=expect)

    def test_each_says_what_is_unknown(self):
        for resume, decision, told in (("re_execute", "re_execute", [100, 200]), ("skip", "skip", [100]), ("escalate", "escalate", [100]),
                                       ('{probe: "true"}', "probed", [100]), ('{probe: "false"}', "re_execute", [100, 200]),
                                       ('{probe: "exit 9"}', "escalate", [100])):
            with self.subTest(resume):
                self.make("opencode", resume=resume, max_attempts=1)
                self.lose()
                self.assertEqual(self.decisions(), [decision])
                self.assert_told(told)

    def test_a_crash_loop_has_a_row_for_each_loss(self):
        for program, told in (("opencode", [100, 200, 300]), ("claude_code", [])):
            with self.subTest(program):
                self.make(program, lost=3, max_attempts=1)
                self.lose(executions=3)
                self.assertEqual(self.decisions(), ["continue", "continue", "skip"])
                self.assert_told(told, unknown=3)

    def test_an_operators_end_too(self):
        for alive in (True, False):
            with self.subTest(alive):
                self.make("opencode")
                process = self.waits("run", "plan.yaml")
                if not alive:
                    self.kill_all(process)
                self.pawl("cancel", "last", "--reason", "enough")
                process.wait(timeout=TIMEOUT_S)
                self.assert_told([100])

    def test_each_of_several_episodes_has_its_own(self):
        self.make("opencode")
        text = (self.root / "plan.yaml").read_text()
        self.write("plan.yaml", text.replace("goal: g,", "goal: g, best_of: 2,"))
        process = self.start("run", "plan.yaml", "--workers", "2")
        self.wait_until(lambda: len(list(self.root.glob("source/.pawl/homes/*/*/waited-1"))) == 2, "both wait")
        self.wait_for_output("waits", "agent")
        self.kill_all(process)
        self.pawl("resume", "last", "--workers", "2", expect=None)
        self.assertEqual(set(self.decisions()) - {"cancelled"}, {"continue"})
        lines = [line for line in self.lines() if line["entry_type"] == "cost.agent.unknown"]
        self.assertGreaterEqual(len(lines), 2)
        self.assertEqual(len({line["sandbox_run_id"] for line in lines}), len(lines))

    def test_one_that_waits_for_its_provider_told_what_it_printed(self):
        refused = """echo '{"type":"error","error":{"name":"APIError","data":{"message":"Rate limit","statusCode":429,"responseHeaders":{"retry-after":"1"}}}}'; exit 1"""
        self.make("opencode", ends=refused)
        self.pawl("run", "plan.yaml")
        self.assertEqual(self.decisions(), ["wait"])
        self.assert_told([100, 200], unknown=0)

    def test_a_restart_of_the_machine_leaves_what_was_written(self):
        self.make("opencode")
        self.kill_all(self.waits("run", "plan.yaml"))
        for path in self.root.glob("source/.pawl/spool/*/supervisor"):
            host, *_, pid, start = path.read_text().split("/")
            path.write_text(f"{host}/another-boot/{pid}/{start}")
        self.pawl("resume", "last")
        self.assert_told([100, 200])


class Budgets(LostUsage):
    def test_what_was_printed_counts_and_the_sum_is_a_lower_bound(self):
        self.make("opencode", budget="{tokens: 1000}")
        self.end("all", self.waits("run", "plan.yaml"))
        row = self.pawl_json("budget", "last")["budget"]["tokens"]
        self.assertEqual((row["spent"], row["reserved"], row["unknown_executions"]), (314, 0, 1))
        for words in (["budget", "last"], ["inspect", "last"], ["stats", "last"], ["status", "last"]):
            self.assertIn("at least 314 of 1000 tokens are spent (the use of 1 execution(s) is unknown)", self.pawl(*words).stdout)
        self.assertEqual(next(iter(self.pawl_json("stats", "last")["budgets"].values()))["tokens"]["unknown_executions"], 1)

    def test_a_budget_that_a_lost_execution_used_up_starts_no_other(self):
        self.make("opencode", budget="{tokens: 105}")
        self.kill_all(self.waits("run", "plan.yaml"))
        self.pawl("resume", "last", expect=None)
        self.assertEqual(self.pawl_json("why", "last")["waits_for"], "budget")
        self.pawl("budget", "last", "--tokens", "1000")
        self.pawl("resume", "last")
        self.assert_told([100, 200])


class Forged(LostUsage):
    def test_a_row_that_says_less_is_found(self):
        self.make("claude_code")
        self.end("all", self.waits("run", "plan.yaml"))
        like = "line LIKE '%cost.agent.unknown%'"
        for statement in (f"DELETE FROM usage WHERE {like}", f"UPDATE usage SET line = replace(line, 'claude_code', 'codex') WHERE {like}"):
            with self.subTest(statement), sqlite3.connect(self.root / "source/.pawl/pawl.db", isolation_level=None) as db:
                guards = db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'usage'").fetchall()
                db.execute("BEGIN")
                for name, _ in guards:
                    db.execute(f"DROP TRIGGER {name}")
                kept = db.execute("SELECT * FROM usage").fetchall()
                self.assertEqual(db.execute(statement).rowcount, 1)
                for _, text in guards:
                    db.execute(text)
                db.execute("COMMIT")
                self.assertIn("cost/agent.jsonl of run", self.pawl("cost", "last", expect=13).stderr)
                self.pawl("verify", "last", expect=13)
                db.execute("BEGIN")
                for name, _ in guards:
                    db.execute(f"DROP TRIGGER {name}")
                db.execute("DELETE FROM usage")
                db.executemany(f"INSERT INTO usage VALUES ({', '.join('?' * len(kept[0]))})", kept)
                for _, text in guards:
                    db.execute(text)
                db.execute("COMMIT")
                self.pawl("verify", "last")
            db.close()


if __name__ == "__main__":
    at_once.main()
