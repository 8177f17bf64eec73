"""Agents whose provider refuses them: nothing is spent, the phase waits, and it goes on at the reset, whatever was killed meanwhile. The
messages are those of the real programs."""

import datetime
import json
import signal
import sqlite3
import time

import at_once
from pawl_runs import WithRun
from pawl_testing import TIMEOUT_S, plan

# The agent is refused once. HOME stays, so its next execution knows that. RESET is the time in whole seconds.
AGENT = """\
if [ -e "$HOME/refused" ]; then echo done >done; exit 0; fi
touch "$HOME/refused"
echo working
RESET=$(($(date +%s) + {seconds}))
{says}
exit {code}
"""

CLAUDE = ("""printf '{"type":"result","subtype":"success","is_error":true,"duration_ms":610,"result":"Claude AI usage limit reached|%s"}\\n' """
          "$RESET")
CODEX = """\
echo '{"type":"error","message":"Rate limit reached for gpt-5 in organization o on tokens per min. Please try again in SECONDSs."}'
echo '{"type":"turn.failed","error":{"message":"Rate limit reached for gpt-5."}}'"""
# The others end with an event. pi and Qwen Code end with 0, whatever the provider says.
OPENCODE = """\
echo '{"type":"error","error":{"name":"APIError","data":{"message":"Rate limit reached","statusCode":429,"responseHeaders":{"retry-after":"SECONDS"}}}}'
echo 'a line of standard error' >&2"""
PI = """\
echo '{"type":"agent_end","messages":[{"role":"assistant","stopReason":"error","errorMessage":"429 Slow down. Please try again in SECONDSs."}]}'
echo '{"type":"auto_retry_end","success":false,"attempt":3,"finalError":"429 Slow down. Please try again in SECONDSs."}'"""
QWEN = """\
echo '[{"type":"result","is_error":false,"result":"[API Error: 429 Please try again in SECONDSs.]","stats":{"models":{"m":{"api":{"totalErrors":7}}}}}]'"""
TALK = """\
echo '{"type":"agent_end","messages":[{"role":"assistant","stopReason":"stop","content":[{"type":"text","text":"429 Slow down"}]}]}'"""
OVERLOADED = """echo 'API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'"""
NO_MONEY = """echo '{"type":"auto_retry_end","success":false,"attempt":3,"finalError":"402 Insufficient Balance"}'"""
NO_KEY = """echo 'Invalid API key · Please run /login'"""

PROVIDERS = {"claude_code": "anthropic", "codex": "openai", "opencode": "opencode's provider", "pi": "pi's provider", "qwen_code": "Qwen Code's provider"}

SOON_S = 4
WITHIN_S = 5  # counted from the reset


def seconds_of(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


class Waits(WithRun):
    def make(self, says, program="claude_code", seconds=SOON_S, code=1, **kwargs):
        self.write("source/file", "x\n")
        text = plan(agent="sh /plan/agent.sh", **kwargs)
        self.write("plan.yaml", text.replace("agent: {run:", f"agent: {{usage: {program}, run:") if program else text)
        self.write("agent.sh", AGENT.format(seconds=seconds, says=says.replace("SECONDS", str(seconds)), code=code))

    def columns(self, *names, phase="p1"):
        with sqlite3.connect(self.root / "source/.pawl/pawl.db") as db:
            row = db.execute(f"SELECT {', '.join(names)} FROM phases WHERE phase_id = ?", (phase,)).fetchone()
        db.close()
        return row

    def rows_of(self, kind):
        return [row for row in self.chains("last")["p1"] if row["type"] == kind]

    def starts_of_agent(self):
        return [row for row in self.rows_of("pre_execute") if ".agent." in row["label"]]

    def waits_for(self):
        said = self.pawl("why", "last", "--json", "--dir", "source/.pawl", expect=None).stdout
        return json.loads(said).get("waits_for") if said.startswith("{") else None

    def begin_to_wait(self):
        process = self.start("run", "plan.yaml")
        self.wait_until(lambda: self.waits_for() == "not_before", "it waits")
        return process

    def leave(self, process):
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=TIMEOUT_S), 130)

    def assert_nothing_spent(self, waits=1):
        self.assertEqual(self.columns("state", "outcome", "attempts_used", "attempts_total"), ("COMPLETE", "passed", 1, 1))
        self.assertEqual([row["number"] for row in self.rows_of("waited")], list(range(1, waits + 1)))
        decisions = [row["decision"] for row in self.rows_of("resume")]
        self.assertEqual([word for word in decisions if word != "adopt"], ["wait"] * waits)
        self.assertEqual(len(self.rows_of("attempt")), 1)
        self.pawl("verify", "last")

    def assert_on_time(self, row, reset_s):
        began = seconds_of(self.starts_of_agent()[-1]["started_at"])
        self.assertGreaterEqual(began, reset_s, "it went on too early")
        self.assertLess(began, reset_s + WITHIN_S, row)


class Limited(Waits):
    def test_a_window_with_a_reset_costs_nothing_and_the_agent_goes_on_then(self):
        for program, says, code in (("claude_code", CLAUDE, 1), ("codex", CODEX, 1), ("opencode", OPENCODE, 1), ("pi", PI, 0), ("qwen_code", QWEN, 0)):
            with self.subTest(program):
                self.make(says, program, code=code)
                said = self.pawl("run", "plan.yaml").stdout
                self.assertIn("and nothing is spent", said)
                self.assert_nothing_spent()
                row, = self.rows_of("waited")
                self.assertEqual((row["refusal"], row["source"], row["status"]), ("limited", "provider", 429))
                self.assertEqual(row["provider"], PROVIDERS[program])
                self.assert_on_time(row, seconds_of(row["reset"]))
                self.assertEqual([each["execution"] for each in self.starts_of_agent()], [1, 2])
                story = self.pawl_json("inspect", "last")["phases"][0]["attempts"][0]
                self.assertEqual([each["type"] for each in story["decisions"]], ["resume", "waited"])
                self.assertEqual([each["state"] for each in story["steps"]], ["waited", "done", "done"])
                self.assertEqual(self.pawl_json("stats", "last")["lost_steps"], 0)
                self.assertIn("limited by", self.pawl("inspect", "last").stdout)
                refused, last = [step["text"] for step in self.pawl_json("logs", "last", "p1")["steps"] if ".agent." in step["label"]]
                self.assertTrue(refused.startswith("working\n"), refused)
                self.assertNotIn("working", last)

    @at_once.waits
    def test_a_kill_of_everything_does_not_change_that(self):
        self.make(CLAUDE, seconds=45)  # a busy machine with sanitizers takes 20 s to the resume
        self.kill_all(self.begin_to_wait())
        reset = seconds_of(self.rows_of("waited")[0]["reset"])
        self.assertLess(time.time(), reset, "the machine is too slow for this test")
        why = self.pawl_json("why", "last")
        self.assertEqual(why["waits_for"], "not_before")
        self.assertIn("anthropic refused its agent for now (429: Claude AI usage limit reached", why["sentence"])
        self.assertIn("waiting: phase p1 is not to start before", self.pawl("resume", "last").stdout)
        self.assert_nothing_spent()
        self.assert_on_time(why, reset)

    def test_a_kill_while_the_agent_ends_does_not_either(self):
        for label in ("store.wait.before_commit", "store.wait.after_commit"):
            with self.subTest(label):
                self.make(CLAUDE)
                self.pawl("run", "plan.yaml", expect=-9, env={
                    "PAWL_CRASH_ROLE": "executor", "PAWL_CRASH_AT": "1", "PAWL_CRASH_COUNT": str(self.root / label),
                    "PAWL_CRASH_LABEL": label})
                self.pawl("resume", "last")
                self.assert_nothing_spent()

    def test_an_overload_names_no_time_and_a_person_does_not_have_to_wait(self):
        self.make(OVERLOADED)
        self.leave(self.begin_to_wait())
        row, = self.rows_of("waited")
        self.assertEqual((row["source"], row["status"], row["reset"]), ("backoff", 529, ""))
        self.assertLess(abs(row["delay_ms"] - 61_000), 1_001)
        status = self.pawl_json("status", "last")
        self.assertEqual(status["phases"][0]["not_before"], row["not_before"])
        self.assertEqual([(wait["phase_id"], wait["status"]) for wait in status["waits"]], [("p1", 529)])
        said = self.pawl("status", "last").stdout
        self.assertRegex(said, r"phase p1 waits until \S+Z, and nothing is spent: anthropic refused its agent for now \(529: ")
        self.assertRegex(said, r"\n  pawl resume \S+ --now\n")
        command = self.pawl_json("why", "last")["command"]
        self.assertIn("--now", command)
        self.pawl(*command.split()[1:])
        self.assert_nothing_spent()
        self.assertEqual([each["action"] for each in self.rows_of("operator")], ["go_on"])

    def test_a_time_that_no_provider_has_is_not_believed(self):
        self.make(CLAUDE, seconds=400 * 24 * 3600)
        self.leave(self.begin_to_wait())
        row, = self.rows_of("waited")
        self.assertEqual(row["source"], "backoff")
        self.assertLess(row["delay_ms"], 65_000)

    def test_an_agent_that_has_spent_its_own_budget_does_not_run_again(self):
        used = """echo '{"type":"turn.completed","usage":{"input_tokens":%d,"cached_input_tokens":0,"output_tokens":0}}'\n"""
        for tokens, waits in (900, 1), (1000, 0):
            with self.subTest(tokens):
                self.make(used % tokens + CODEX, "codex", max_attempts=1)
                text = (self.root / "plan.yaml").read_text()
                self.write("plan.yaml", text.replace("agent: {", "agent: {budget: {tokens: 1000}, "))
                self.pawl("run", "plan.yaml", expect=None)
                self.assertEqual(len(self.rows_of("waited")), waits)
                self.assertEqual(len(self.starts_of_agent()), 1 + waits)

    def test_episodes_wait_together(self):
        self.make(CLAUDE)
        text = (self.root / "plan.yaml").read_text()
        self.write("plan.yaml", text.replace("goal: g,", "goal: g, best_of: 2,"))
        self.pawl("run", "plan.yaml", "--workers", "2")
        self.assertEqual(self.columns("outcome", "attempts_total"), ("passed", 1))
        self.assertIn(len(self.rows_of("waited")), (1, 2))
        self.pawl("verify", "last")


class Outages(Waits):
    """The provider fails, or can't be reached. So each program says."""

    NETWORK = 'network: scoped, egress: ["127.0.0.1:9"], '
    UNREACHABLE = {
        "claude_code": ('{"type":"result","subtype":"success","is_error":true,"api_error_status":null,'
                        '"result":"API Error: Unable to connect to API (ECONNRESET)"}', 1),
        "codex": ('{"type":"turn.failed","error":{"message":"stream disconnected before completion: error sending request"}}', 1),
        "gemini_cli": ('{"session_id": "s", "error": {"type": "Error", "message": "exception TypeError: fetch failed sending request", "code": 1}}', 1),
        "opencode": ('{"type":"error","error":{"name":"APIError","data":{"message":"Cannot connect to API: The socket connection was closed unexpectedly."}}}', 1),
        "pi": ('{"type":"auto_retry_end","success":false,"attempt":3,"finalError":"Connection error."}', 0),
        "qwen_code": ('[{"type":"result","is_error":false,"result":"[API Error: Connection error. (cause: fetch failed)]",'
                      '"stats":{"models":{"m":{"api":{"totalErrors":1}}}}}]', 0)}
    FAILED = {
        "codex": ('{"type":"turn.failed","error":{"message":"exceeded retry limit, last status: 500 Internal Server Error"}}', 1, 500),
        "claude_code": ('{"type":"result","is_error":true,"api_error_status":500,"result":"API Error: 500 Internal server error"}', 1, 500),
        "opencode": ('{"type":"error","error":{"name":"APIError","data":{"message":"Bad Gateway","statusCode":502}}}', 1, 502),
        "pi": ('{"type":"auto_retry_end","success":false,"attempt":3,"finalError":"504 Gateway Timeout"}', 0, 504)}

    def make_event(self, program, event, code, network=NETWORK, before="", **kwargs):
        self.make(f"{before}\ncat /plan/event", program, code=code, **kwargs)
        self.write("event", event + "\n")
        text = (self.root / "plan.yaml").read_text()
        self.write("plan.yaml", text.replace("agent: {", "agent: {" + network))

    def test_it_waits_and_goes_on(self):
        ends = [(name, *each, 0) for name, each in self.UNREACHABLE.items()] + [(name, *each) for name, each in self.FAILED.items()]
        for program, event, code, status in ends:
            with self.subTest(program, status=status):
                self.make_event(program, event, code)
                self.leave(self.begin_to_wait())
                row, = self.rows_of("waited")
                self.assertEqual((row["refusal"], row["source"], row["status"]), ("limited", "backoff", status))
                said = self.pawl("status", "last").stdout
                self.assertIn("can't be reached (" if status == 0 else f"refused its agent for now ({status}: ", said)
                self.pawl("resume", "last", "--now")
                self.assert_nothing_spent()

    def assert_does_not_wait(self):
        said = self.pawl("run", "plan.yaml", expect=None).stdout
        self.assertEqual(self.rows_of("waited"), [])
        return said

    def test_an_agent_that_only_talks_of_one_does_not_wait(self):
        words = "API Error: Unable to connect to API; stream disconnected before completion: error sending request; fetch failed; Connection error.; " \
                "Cannot connect to API; Request timed out; Selected model is at capacity. Please try a different model.; last status: 500"
        for program, event in (("claude_code", {"type": "result", "is_error": False, "result": words}),
                               ("codex", {"type": "item.completed", "item": {"type": "agent_message", "text": words}}),
                               ("gemini_cli", {"session_id": "s", "response": words}),
                               ("opencode", {"type": "text", "part": {"text": words}}),
                               ("pi", {"type": "agent_end", "messages": [{"stopReason": "stop", "content": [{"text": words}]}]}),
                               ("qwen_code", [{"type": "result", "is_error": False, "result": words}])):
            with self.subTest(program):
                self.make_event(program, json.dumps(event, separators=(",", ":")), 1)
                self.assert_does_not_wait()

    def test_an_agent_whose_sandbox_lets_it_reach_nothing_does_not_wait(self):
        event, code = self.UNREACHABLE["pi"]
        asks = "getent hosts model.example || true"
        for network, before in (("", ""), (self.NETWORK, asks)):
            with self.subTest(network):
                self.make_event("pi", event, code, network, before, gate="exit 1")
                self.assertIn("the agent ended with: Connection error.", self.assert_does_not_wait())

    def test_a_program_asks_for_other_hosts_while_the_provider_is_down(self):
        self.make_event("pi", *self.UNREACHABLE["pi"], before="getent hosts other.example || true; (: </dev/tcp/127.0.0.1/9) || true")
        text = (self.root / "plan.yaml").read_text()
        self.write("plan.yaml", text.replace("sh /plan/agent.sh", "bash /plan/agent.sh"))
        self.leave(self.begin_to_wait())


class Unauthorized(Waits):
    def test_it_waits_for_a_person_who_learns_where_the_credential_comes_from(self):
        self.make(NO_KEY)
        text = (self.root / "plan.yaml").read_text()
        self.write("plan.yaml", text.replace("agent: {", "agent: {credentials: {ANTHROPIC_API_KEY: {env: MY_KEY}}, "))
        env = {"MY_KEY": "key-of-the-tests"}
        said = self.pawl("run", "plan.yaml", env=env, expect=11).stdout
        self.assertIn("anthropic refused the credential of its agent (401: Invalid API key", said)
        self.assertIn("Next: set the credential right, then pawl resume", said)
        self.assertEqual(self.columns("state", "attempts_used"), ("EXECUTING", 1))
        for command in ("why", "status"):
            self.assertEqual(self.pawl_json(command, "last")["waits_for"], "person")
            said += self.pawl(command, "last").stdout
        self.assertGreaterEqual(said.count("the agent takes it from the environment variable MY_KEY\n"), 3, said)
        self.assertEqual(self.pawl_json("resume", "last", env=env, expect=11)["exit_code"], 11)
        self.assertEqual(len(self.starts_of_agent()), 1, "nothing was begun")
        self.pawl("resume", "last", "--now", env=env)
        self.assert_nothing_spent()
        row, = self.rows_of("waited")
        self.assertEqual((row["refusal"], row["source"]), ("unauthorized", "person"))

    def test_an_account_without_money_waits_for_a_person_too(self):
        self.make(NO_MONEY, "pi", code=0)
        said = self.pawl("run", "plan.yaml", expect=11).stdout
        self.assertIn("has no money left (402: Insufficient Balance); pay there, or raise its limit\n", said)
        self.assertRegex(said, r"\nNext: pay, or set the credential right, then pawl resume \S+ --now\n")
        self.assertEqual(self.columns("state", "attempts_used"), ("EXECUTING", 1))
        row, = self.rows_of("waited")
        self.assertEqual((row["refusal"], row["source"], row["status"]), ("unauthorized", "person", 402))

    def test_a_plan_without_a_credential_can_only_be_run_anew(self):
        """No login that the program has elsewhere is in a sandbox."""
        self.make(NO_KEY)
        said = self.pawl("run", "plan.yaml", expect=11).stdout
        self.assertIn("\nNext: pawl cancel ", said)
        why = self.pawl_json("why", "last")
        self.assertEqual((why["waits_for"], why["command"]), ("person", "pawl cancel " + self.run_id()))
        said += why["sentence"] + self.pawl("status", "last").stdout
        self.assertGreaterEqual(said.count("the plan gives it none: start a new run whose plan has `credentials` for it"), 3, said)
        self.assertNotIn("--now", said)
        self.assertEqual(self.rows_of("waited")[0]["credential"], "")


class OtherEnds(Waits):
    def test_an_agent_that_did_its_work_or_that_is_not_known_does_not_wait(self):
        for name, program, code, verdict in (("done", "claude_code", 0, "passed"), ("unknown", "", 1, "failed_retryable")):
            with self.subTest(name):
                self.make(CLAUDE, program, code=code, max_attempts=2)
                self.pawl("run", "plan.yaml", expect=None)
                self.assertEqual(self.rows_of("attempt")[0]["verdict"], verdict)
                self.assertEqual(self.rows_of("waited"), [])

    def test_an_agent_that_only_talks_of_a_limit_does_not_wait(self):
        self.make(TALK, "pi", code=0)
        self.pawl("run", "plan.yaml", expect=None)
        self.assertEqual(self.rows_of("waited"), [])

    def test_an_agent_that_names_another_error_does_not_wait_whatever_its_texts_say(self):
        end = '{"exit_code":26,"type":"acp_end","usage":[]}'
        for program, code, *lines in (
                ("codex", 1, '{"type":"item.completed","item":{"type":"agent_message","text":"unexpected status 401 Unauthorized"}}',
                 '{"type":"turn.failed","error":{"message":"ran out of room in the context window"}}'),
                ("claude_code", 1, '{"type":"user","message":{"content":[{"type":"tool_result","content":"API Error: 429 is what it says"}]}}',
                 '{"type":"result","subtype":"error_max_turns","is_error":true}'),
                ("claude_code", 1, '{"type":"result","subtype":"error_max_turns","is_error":true,"permission_denials":[{"tool_input":'
                 '{"command":"grep \'Invalid API key\' src"}}]}'),
                ("claude_code", 1, '{"type":"result","is_error":false,"result":"It prints API Error: 429 now."}'),
                ("gemini_cli", 53, "retry on RESOURCE_EXHAUSTED is what src/client.ts does", "{", '  "error": {', '    "message": "Reached max turns",',
                 '    "code": 53', "  }", "}"),
                ("gemini_cli", 1, "{", '  "response": "It retries on RESOURCE_EXHAUSTED.",', '  "stats": {}', "}"),
                ("acp", 26, "acp: error -32603: File not found: test 500 failed at line 502", end),
                ("acp", 26, "acp: error -32603: max output of 408 tokens", end),
                ("acp", 21, "acp: error 429", "acp: the agent ended before its turn did", end)):
            with self.subTest(program, lines=lines):
                self.make("cat /plan/output", program, code=code, max_attempts=1, gate="exit 1")
                self.write("output", "\n".join(lines) + "\n")
                self.pawl("run", "plan.yaml", expect=11)
                self.assertEqual(self.rows_of("waited"), [])

    def test_the_reason_has_the_line_that_says_why_an_agent_failed(self):
        error = '{\n  "error": {\n    "message": "API key not valid.",\n    "code": 7\n  }\n}\n'
        for program, output, words in (
                ("", "I work\nit broke\n", "it broke"),
                ("", 'Error: no such file\n{\n  "done": 0\n}\n', "Error: no such file"),
                ("", error, '"message": "API key not valid.",'),
                ("gemini_cli", "Ripgrep is not available.\n" + error, "API key not valid."),
                ("codex", '{"type":"turn.failed","error":{"message":"no such model"}}\n', "no such model"),
                ("claude_code", '{"type":"result","subtype":"error_max_turns","is_error":true}\n', "error_max_turns"),
                ("acp", 'acp: error 404: no such model\n{"exit_code":26,"type":"acp_end","usage":[]}\n}\n', "acp: error 404: no such model")):
            with self.subTest(program, output=output):
                self.make("cat /plan/output", program, gate="exit 1", max_attempts=1)
                self.write("output", output)
                self.pawl("run", "plan.yaml", expect=11)
                reason = self.pawl_json("status", "last")["phases"][0]["last_failure_reason"]
                self.assertTrue(reason.endswith("; the agent ended with: " + words), reason)

    def test_the_policy_of_the_phase_decides_about_an_agent_that_must_not_run_twice(self):
        self.make(CLAUDE, max_attempts=1, resume="escalate")
        self.pawl("run", "plan.yaml", expect=11)
        self.assertEqual(self.rows_of("waited"), [])


if __name__ == "__main__":
    at_once.main()
