#!/usr/bin/env python3
"""Agents that speak the Agent Client Protocol, in real sandboxes. The agent is AGENT: it keeps its sessions in HOME, pays a call for each step of
its work, and does what its first argument says."""

import json
import pathlib
import re
import shutil

import at_once
from pawl_runs import WithRun

STEPS = 4
SECRET = "Tangerine/moon=4417+of.a.test"
AGENT = r'''
import json, os, pathlib, signal, sys, time
SCENARIO, STEPS = sys.argv[1], 4
home, work = pathlib.Path.home(), pathlib.Path("used")
signal.signal(signal.SIGTERM, signal.SIG_IGN)
def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)
def hear():
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    print("HEARD", line, end="", file=sys.stderr, flush=True)
    return json.loads(line)
def update(session, what, **rest):
    send(method="session/update", params={"sessionId": session, "update": {"sessionUpdate": what, **rest}})
def say(session, text):
    update(session, "agent_message_chunk", content={"type": "text", "text": text + "\n"})
def ask(method, params):
    send(id="ask", method=method, params=params)
    answer = hear()
    assert answer["id"] == "ask", answer
    return answer
def store(session, done):
    path = home / "sessions" / session
    path.parent.mkdir(exist_ok=True)
    path.write_text(str(done))
def wait_once(name):
    if not (home / name).exists():
        (home / name).touch()
        time.sleep(60)
def turn(session, prompt):
    done = int((home / "sessions" / session).read_text())
    for n in range(done + 1, STEPS + 1):
        update(session, "tool_call", toolCallId=f"c{n}", title=f"step {n}", kind="edit", rawInput={"price": 0.5})
        with open(home / "paid", "a") as paid:
            paid.write(f"{n}\n")
        if SCENARIO in ("killed", "resumes", "forgets", "loses") and n == 3:
            wait_once("waited")
        answer = ask("session/request_permission", {"sessionId": session, "toolCall": {"toolCallId": f"c{n}", "rawInput": {"step": n}}, "options": [
            {"optionId": "no", "name": "No", "kind": "reject_once"}, {"optionId": "yes", "name": "Yes", "kind": "allow_once"}]})
        assert answer["result"]["outcome"]["outcome"] == "selected", answer
        with open(work, "a") as used:
            used.write(f"{n}\n" if answer["result"]["outcome"]["optionId"] == "yes" else "-\n")
        update(session, "tool_call_update", toolCallId=f"c{n}", status="completed")
        store(session, n)
    say(session, "all is done")
def hostile(session, id):
    if SCENARIO == "huge":
        print('{"jsonrpc":"2.0","method":"session/update","params":"' + "x" * (40 << 20) + '"}', flush=True)
    if SCENARIO == "deep":
        print('{"jsonrpc":"2.0","method":"session/update","params":' + "[" * 100000 + "]" * 100000 + "}", flush=True)
    if SCENARIO == "garbage":
        os.write(1, b'no JSON at all\n\xff\xfe\x00\n{"jsonrpc": \n7\n\n' + bytes(range(256)) + b"\n")
    if SCENARIO == "unknown":
        assert ask("fs/write_text_file", {"path": "/x", "content": ""})["error"]["code"] == -32601
    if SCENARIO == "secret":
        # A secret across each size at which a client might cut. The script has it backwards, and is not a leak.
        secret = open(__file__).read().split("SECRET ")[-1].strip()[::-1]
        for size in (300, 1000, 2000, 4 << 20):
            text = "x" * min(size - 12, 8000) + secret
            for n in range(1 if size <= 2000 else 1000):
                update(session, "agent_message_chunk", content={"type": "text", "text": text[:-12]})
                update(session, "agent_message_chunk", content={"type": "text", "text": text[-12:]})
                update(session, "tool_call", toolCallId="t", title=text, kind="read")
                if n == 0:
                    update(session, "plan", entries=[{"status": "in_progress", "content": text}])
                    print(text, flush=True)
                    ask("session/request_permission", {"toolCall": {"title": text}, "options": [{"optionId": "y", "kind": "allow_once"}]})
        send(id=id, error={"code": -1, "message": "x" * 988 + secret, "data": "x" * 988 + secret})
        sys.exit(0)
    if SCENARIO == "many":
        for n in range(20000):
            update(session, "tool_call", toolCallId=str(n), title="y" * 500, kind="read")
# So opencode ends a turn in which its provider failed.
FAILS = {"unreachable": "Cannot connect to API: The socket connection was closed unexpectedly.", "too_many": "Too Many Requests: Please try again in 3s"}
can = {"resumes": {"loadSession": True, "sessionCapabilities": {"resume": {}}}, "forgets": {}}
while True:
    message = hear()
    method, params, id = message.get("method"), message.get("params", {}), message.get("id")
    if method == "initialize":
        version = 2 if SCENARIO == "version" else params["protocolVersion"]
        send(id=id, result={"protocolVersion": version, "agentInfo": {"name": "scripted", "version": "1"},
                            "agentCapabilities": can.get(SCENARIO, {"loadSession": True})})
    elif method == "session/new":
        assert params == {"cwd": "/workspace", "mcpServers": []}, params
        if SCENARIO == "login" or SCENARIO == "limited" and not (home / "refused").exists():
            (home / "refused").touch()
            error = {"code": -32000, "message": "Authentication required"}
            limited = {"code": 429, "message": "Please try again in 3s"}
            send(id=id, error=error if SCENARIO == "login" else limited)
            continue
        session = f"s{len(os.listdir(home / 'sessions')) if (home / 'sessions').exists() else 0}"
        store(session, 0)
        models = [{"modelId": "small"}, {"modelId": "large"}]
        send(id=id, result={"sessionId": session, "models": {"currentModelId": "small", "availableModels": models}})
    elif method == "session/set_model":
        send(id=id, result={})
    elif method in ("session/load", "session/resume"):
        session = params["sessionId"]
        if SCENARIO == "loses":
            send(id=id, error={"code": -32603, "message": "Internal error", "data": {"details": "No such session"}})
            continue
        if method == "session/load":
            say(session, "said before")
        send(id=id, result=None if method == "session/load" else {})
    elif method == "session/prompt":
        if SCENARIO in FAILS and not (home / "refused").exists():
            (home / "refused").touch()
            send(id=id, error={"code": -32603, "message": "Internal error: " + FAILS[SCENARIO], "data": {"errorName": "APIError"}})
            continue
        if SCENARIO == "dies":
            os._exit(9)
        if SCENARIO == "leaves":
            os.system("sleep 300 &")
            os._exit(9)
        if SCENARIO == "leaves_a_talker":
            os.system("while :; do echo; sleep 0.01; done &")
            os._exit(9)
        if SCENARIO == "reads_no_answers":
            while True:
                send(id=1, method="any")
        if SCENARIO == "deaf":
            time.sleep(60)
        if SCENARIO == "hangs":
            cancel = hear()
            assert cancel["method"] == "session/cancel", cancel
            send(id=id, result={"stopReason": "cancelled"})
            continue
        hostile(session, id)
        turn(session, params["prompt"][0]["text"])
        reason = SCENARIO if SCENARIO in ("max_tokens", "refusal") else "end_turn"
        send(id=id, result={"stopReason": reason, "usage": {"totalTokens": 30, "inputTokens": 20, "outputTokens": 10}})
'''
PLAN = """\
version: 1
workflow: acp
source: {path: source}
max_attempts: %(max_attempts)s
%(top)s
gates:
  check: {steps: [{name: unit, run: '%(gate)s'}], baseline: none}
tiers:
  - phases:
      - {id: p1, goal: "do the work", agent: {%(agent)s}, gates: [check]}
"""
GATE = '[ "$(tr -d "\\n" <used)" = 1234 ] && [ ! -e /pawl-acp ]'  # a file that an agent alone sees


class WithAcp(WithRun):
    def make(self, scenario, agent="acp: [python3, /plan/acp_agent.py, %s]", gate=GATE, max_attempts=1, top=""):
        self.write("source/file", "x\n")
        self.write("acp_agent.py", AGENT)
        self.write("plan.yaml", PLAN % {"agent": agent % scenario, "gate": gate, "max_attempts": max_attempts, "top": top})

    def log(self, *words):
        return self.pawl("logs", "last", "p1", *words).stdout

    def heard(self):
        """The messages that the agent got in its last execution."""
        out = [json.loads(line) for line in re.findall(r"^HEARD (.*)$", self.log(), re.M)]
        last = max(at for at, message in enumerate(out) if message.get("method") == "initialize")
        return out[last:]

    def rows_of(self, kind):
        return [row for row in self.chains("last")["p1"] if row["type"] == kind]

    def usage(self):
        """The rows of the run's last step."""
        self.pawl("export", "last", "evidence")
        rows = [json.loads(line) for line in (self.root / "evidence/cost/agent.jsonl").read_text().splitlines()]
        shutil.rmtree(self.root / "evidence")
        return rows

    def assert_passed(self):
        [phase] = self.pawl_json("status", "last")["phases"]
        self.assertEqual((phase["outcome"], phase["attempts_total"]), ("passed", 1), self.log())
        self.pawl("verify", "last")

    def agent_signal(self):
        attempt = self.pawl_json("inspect", "last")["phases"][0]["attempts"][-1]
        signal, = (each for each in attempt["signals"] if each["kind"] == "agent")
        return signal["details"]


class Turns(WithAcp):
    def test_an_agent_gets_its_goal_and_what_it_does_is_seen(self):
        self.make("works")
        self.pawl("run", "plan.yaml")
        self.assert_passed()
        log = self.log()
        for line in ("acp: scripted 1", "tool: edit: step 1", "acp: allowed: step 1", "agent: all is done", "acp: done"):
            self.assertIn(f"\n{line}\n", "\n" + log)
        self.assertRegex(log, r'\{"exit_code":0,"session":"s0","stop_reason":"end_turn","tool_calls":4,')
        prompt = next(message for message in self.heard() if message.get("method") == "session/prompt")
        self.assertEqual(prompt["params"], {"sessionId": "s0", "prompt": [{"type": "text", "text": "do the work"}]})
        row, = self.usage()
        self.assertEqual((row["model"], row["input_tokens"], row["output_tokens"], row["source"]), ("small", 20, 10, "acp"))

    def test_the_next_attempt_hears_of_the_judgement_in_a_session_of_its_own(self):
        self.make("works", gate="echo the colour is wrong; exit 1", max_attempts=2)
        self.pawl("run", "plan.yaml", expect=11)
        first, second = (re.search(r'^HEARD .*"session/prompt".*', self.log("--attempt", str(n)), re.M)[0] for n in (1, 2))
        self.assertNotIn("earlier attempt", first)
        self.assertIn("An earlier attempt did not pass", second)
        self.assertIn("the colour is wrong", second)
        self.assertIn('"s0"', second, "its HOME is new")

    def test_the_agent_has_the_model_of_the_attempt(self):
        self.make("works", gate="false", top="models: [small, large]", max_attempts=2)
        self.pawl("run", "plan.yaml", expect=11)
        asked = [re.findall(r'"method":"session/set_model","params":{"modelId":"(\w+)"', self.log("--attempt", str(n))) for n in (1, 2)]
        self.assertEqual(asked, [[], ["large"]], "small is the agent's own")
        self.assertEqual([row["model"] for row in self.usage()], ["small", "large"])
        self.make("works", agent="model: none, acp: [python3, /plan/acp_agent.py, %s]")
        self.pawl("run", "plan.yaml", expect=11)
        self.assertEqual(self.agent_signal()["exit_code"], 20)
        self.assertIn("the agent does not offer the model none, but: small, large", self.log())

    def test_how_a_turn_ends_decides(self):
        for scenario, code, means in (("version", 20, "does not speak"), ("dies", 21, "ended before"), ("leaves", 21, "ended before"),
                                      ("leaves_a_talker", 21, "ended before"), ("reads_no_answers", 20, "does not speak"),
                                      ("max_tokens", 22, "max_tokens"), ("refusal", 24, "refused")):
            with self.subTest(scenario):
                self.make(scenario)
                self.pawl("run", "plan.yaml", expect=11)
                details = self.agent_signal()
                self.assertEqual(details["exit_code"], code, self.log())
                self.assertIn(means, details["means"])

    def test_a_program_that_is_not_there(self):
        self.make("", agent="acp: [/plan/none]%s")
        self.pawl("run", "plan.yaml", expect=11)
        self.assertEqual(self.agent_signal()["exit_code"], 21)
        self.assertIn("acp: the agent's exit code is 127\n", self.log())
        self.make("", agent="acp: [no-such-agent]%s")
        self.assertIn("agent of phase p1 starts no-such-agent", self.pawl("check", "plan.yaml").stderr)

    def test_hostile_messages_end_nothing(self):
        for scenario, line in (("huge", "acp: a message of more than 16 MiB is left out"), ("deep", "acp: a message can't be read: {"),
                               ("garbage", "acp: no message: no JSON at all"), ("unknown", "acp: not offered: fs/write_text_file"),
                               ("many", "acp: further lines are left out")):
            with self.subTest(scenario):
                self.make(scenario)
                self.pawl("run", "plan.yaml")
                self.assert_passed()
                log = self.log()
                self.assertIn(f"\n{line}", log)
                self.assertLess(len(log), 6 << 20)

    def test_no_part_of_a_secret_is_shown(self):
        self.make("secret")
        with open(self.root / "acp_agent.py", "a") as script:
            script.write("# SECRET " + SECRET[::-1])
        self.pawl("run", "plan.yaml", env={"PAWL_SECRETS": "KEY", "KEY": SECRET}, expect=11)
        said = re.sub(r"^HEARD .*\n", "", self.log(), flags=re.M)
        self.assertGreater(said.count("<redacted:env:KEY:"), 500)
        self.assertIn("acp: further lines are left out\n", said)
        for size in (6, 12):
            self.assertNotIn(SECRET[:size], said)
            self.assertNotIn(SECRET[-size:], said)

    def test_a_stop_cancels_the_turn(self):
        self.make("hangs", agent="time_budget_seconds: 3, acp: [python3, /plan/acp_agent.py, %s]")
        self.pawl("run", "plan.yaml", expect=11)
        self.assertEqual([message.get("method") for message in self.heard()][-1], "session/cancel")
        self.assertIn('"stop_reason":"cancelled"', self.log())

    def test_an_agent_that_hears_of_no_stop_is_left(self):
        self.make("deaf", agent="time_budget_seconds: 3, acp: [python3, /plan/acp_agent.py, %s]")
        self.pawl("run", "plan.yaml", expect=11)
        self.assertIn('\n{"exit_code":25,', self.log())
        self.assertEqual(self.agent_signal()["outcome"], "timed_out")


class Refused(WithAcp):
    def test_a_login_is_waited_for(self):
        self.make("login")
        self.pawl("run", "plan.yaml", expect=11)
        row, = self.rows_of("waited")
        self.assertEqual((row["refusal"], row["status"]), ("unauthorized", 401))
        self.assertIn("Authentication required", row["message"])

    def test_so_is_the_end_of_a_limit(self):
        self.make("limited")
        self.pawl("run", "plan.yaml")
        self.assert_passed()
        row, = self.rows_of("waited")
        self.assertEqual((row["refusal"], row["source"], row["status"]), ("limited", "provider", 429))

    def test_the_words_of_a_turn_that_failed_count_without_a_status(self):
        self.make("too_many")
        self.pawl("run", "plan.yaml")
        self.assert_passed()
        row, = self.rows_of("waited")
        self.assertEqual((row["refusal"], row["source"], row["status"]), ("limited", "provider", 429))

    def waits_for_a_time(self):
        said = self.pawl("why", "last", "--json", "--dir", "source/.pawl", expect=None).stdout
        return said.startswith("{") and json.loads(said).get("waits_for") == "not_before"

    def test_so_does_a_provider_that_it_cannot_reach(self):
        self.make("unreachable", agent='network: scoped, egress: ["127.0.0.1:9"], acp: [python3, /plan/acp_agent.py, %s]')
        process = self.start("run", "plan.yaml")
        self.wait_until(self.waits_for_a_time, "it waits")
        self.kill_all(process)
        row, = self.rows_of("waited")
        self.assertEqual((row["refusal"], row["source"], row["status"]), ("limited", "backoff", 0))
        self.pawl("resume", "last", "--now")
        self.assert_passed()


class GoesOn(WithAcp):
    def kill_in_the_third_step(self, *words):
        process = self.start(*words)
        self.wait_until(lambda: list(self.root.glob("source/.pawl/homes/*/*/waited")), "the agent waits")
        self.wait_for_output("tool: edit", "agent", times=3)
        self.kill_all(process)

    def assert_goes_on(self, scenario, methods, paid):
        self.make(scenario, gate=GATE + " && cat file")
        self.kill_in_the_third_step("run", "plan.yaml")
        self.pawl("resume", "last")
        self.assert_passed()
        self.assertEqual([row["decision"] for row in self.rows_of("resume")], ["continue"])
        self.assertEqual([message["method"] for message in self.heard() if "method" in message], ["initialize", *methods, "session/prompt"])
        self.assertEqual(self.log().count("tool: edit"), paid, "each is a call that is paid")
        prompt = [message for message in self.heard() if message.get("method") == "session/prompt"][-1]["params"]["prompt"][0]["text"]
        self.assertTrue(prompt.startswith("You were interrupted."), prompt)
        self.assertNotIn("said before", self.log())

    def test_in_its_session_when_everything_is_killed(self):
        self.assert_goes_on("killed", ["session/load"], STEPS + 1)

    def test_without_a_replay_where_the_agent_can_resume(self):
        self.assert_goes_on("resumes", ["session/resume"], STEPS + 1)

    def assert_begins_a_new_session(self, scenario, methods, why):
        self.make(scenario, gate="true")
        self.kill_in_the_third_step("run", "plan.yaml")
        self.pawl("resume", "last")
        self.assertEqual([row["decision"] for row in self.rows_of("resume")], ["continue"])
        self.assertIn(why, self.log())
        self.assertEqual([message["method"] for message in self.heard() if "method" in message], ["initialize", *methods, "session/prompt"])

    def test_in_a_new_session_where_the_agent_can_load_none(self):
        self.assert_begins_a_new_session("forgets", ["session/new"], "acp: the agent can't load a session: it begins a new one")

    def test_in_a_new_session_where_the_agent_lost_the_old_one(self):
        why = "acp: the agent can't load its session, and begins a new one: error -32603: Internal error: No such session"
        self.assert_begins_a_new_session("loses", ["session/load", "session/new"], why)


class Permissions(WithAcp):
    ASKS = "permissions: ask, time_budget_seconds: 3600, acp: [python3, /plan/acp_agent.py, %s]"

    def questions(self):
        return self.pawl_json("answer", "last", expect=None) if self.steps_at_work(".agent.") else []

    def answer(self, step, choice="allow_once"):
        """Waits for the question of this step. Returns its key."""
        def is_open(one):
            return "answer" not in one and f'{{"step":{step}}}' in one["question"]
        self.wait_until(lambda: any(map(is_open, self.questions())), f"step {step} is asked for")
        [key] = [one["key"] for one in self.questions() if is_open(one)]
        self.pawl("answer", "last", "p1", key, choice)
        return key

    def asked(self):
        return [row["details"]["key"] for row in self.rows_of("agent") if row["event"] == "question"]

    def test_a_person_answers_each(self):
        self.make("works", agent=self.ASKS)
        run = self.start("run", "plan.yaml")
        self.wait_until(self.questions, "it asks")
        [question] = self.questions()
        self.assertEqual((question["question"], question["choices"]), ('permission for step 1 {"step":1} (reject_once: No; allow_once: Yes)', ["reject_once", "allow_once"]))
        self.assertIn(f"  pawl answer last p1 {question['key']} allow_once\n", self.pawl("answer", "last").stdout)
        self.assertIn("p1 asks: permission for step 1", self.pawl("why", "last").stdout)
        self.pawl("answer", "last", "p1", question["key"], "perhaps", expect=1)
        keys = [self.answer(step) for step in (1, 2, 3, 4)]
        self.assertEqual(run.wait(), 0)
        self.assert_passed()
        self.assertEqual(self.asked(), keys)
        for line in ('waits for a person: step 1 {"step":1}', "allow_once, says a person: step 1"):
            self.assertIn(f"\nacp: {line}\n", self.log())

    def test_a_refusal_is_heard(self):
        self.make("works", agent=self.ASKS, gate='[ "$(tr -d "\\n" <used)" = 1-34 ]')
        run = self.start("run", "plan.yaml")
        for step, choice in ((1, "allow_once"), (2, "reject_once"), (3, "allow_once"), (4, "allow_once")):
            self.answer(step, choice)
        self.assertEqual(run.wait(), 0)
        self.assert_passed()

    def test_no_person_answers_twice_when_everything_is_killed(self):
        """The agent forgets its session, so it asks again for what it was allowed before."""
        self.make("forgets", agent=self.ASKS, gate="true")
        run = self.start("run", "plan.yaml")
        keys = [self.answer(step) for step in (1, 2)]
        self.wait_until(lambda: list(self.root.glob("source/.pawl/homes/*/*/waited")), "the agent waits")
        self.kill_all(run)
        run = self.start("resume", "last")
        keys += [self.answer(step) for step in (3, 4)]
        self.assertEqual(run.wait(), 0)
        self.assert_passed()
        self.assertEqual(self.asked(), keys)
        self.assertEqual([message["method"] for message in self.heard() if "method" in message], ["initialize", "session/new", "session/prompt"])

    def test_a_stop_cancels_the_request(self):
        self.make("works", agent=self.ASKS.replace("3600", "10"))
        run = self.start("run", "plan.yaml")
        self.wait_until(self.questions, "it asks")
        self.assertEqual(run.wait(), 11)
        self.assertEqual(len(self.asked()), 1)
        self.assertIn({"outcome": {"outcome": "cancelled"}}, [message.get("result") for message in self.heard()])
        self.assertEqual(self.agent_signal()["outcome"], "timed_out")


PROFILE = """\
version: 1
acp: [python3, /plan/acp_agent.py, "{args}", "{model_args}"]
model_args: ["{model}"]
set: {OF_PROFILE: "{base_url}"}
base_url: {default: "https://api.example.org/v1"}
exit_codes: {24: own words}
"""


class Profiles(WithAcp):
    def test_a_profile_may_say_it(self):
        self.write("config/pawl/agents/mine.yaml", PROFILE)
        env = {"XDG_CONFIG_HOME": str(self.root / "config")}
        self.make("works", agent="use: mine, model: m1, args: [%s]")
        self.pawl("run", "plan.yaml", env=env)
        self.assert_passed()
        row, = self.usage()
        self.assertEqual((row["model"], row["source"]), ("small", "acp"), "what the agent says")
        self.make("refusal", agent="use: mine, args: [%s]")
        self.pawl("run", "plan.yaml", env=env, expect=11)
        self.assertEqual(self.agent_signal()["means"], "own words")
        listed = json.loads(self.pawl("agents", "--json", env=env).stdout)
        mine, = [each for each in listed["agents"] if each["name"] == "mine"]
        self.assertTrue(mine["continues"])
        self.assertEqual(mine["usage"], "acp")


EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples/agents"
STAND_IN = r"""#!/usr/bin/python3
import json, os, pathlib, sys
assert sys.argv[1:] == ["--acp"] and os.environ["GEMINI_API_KEY"] == "key-of-a-test", sys.argv
results = {"initialize": {"protocolVersion": 1}, "session/new": {"sessionId": "s"}, "session/prompt": {"stopReason": "end_turn"}}
for line in sys.stdin:
    message = json.loads(line)
    if message["method"] == "session/prompt":
        pathlib.Path("greeting").write_text("hello, world")
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": results[message["method"]]}), flush=True)
"""


class Example(WithAcp):
    def test_its_plan_runs_with_a_stand_in_of_its_program(self):
        shutil.copytree(EXAMPLES, self.root / "agents")
        self.write("tools/bin/gemini", STAND_IN, 0o755)
        path = self.root / "agents/plan-acp.yaml"
        path.write_text(path.read_text() + f"mounts: [{{src: {self.root}/tools}}]\n")
        self.pawl("run", path.name, cwd="agents", env={"GEMINI_API_KEY": "key-of-a-test"})
        self.assertEqual(self.pawl_json("status", "last", cwd="agents")["phases"][0]["outcome"], "passed")


if __name__ == "__main__":
    at_once.main()
