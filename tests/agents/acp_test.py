#!/usr/bin/env python3
"""Real agent programs by the Agent Client Protocol: each does a task in a real sandbox with a scripted model, and goes on when everything is
killed."""

import json
import time

import at_once
from agent_runs import WithAgent
from agent_task import GOAL, TURNS
from scripted_model import ScriptedModel

GOES_ON = "acp: goes on in session"
MINUTE_S = 60

# Gemini CLI without --yolo: it asks before it writes a file or runs a command.
ASKS = """\
mkdir -p ~/.gemini
echo '{"security": {"auth": {"selectedType": "gemini-api-key"}}}' >~/.gemini/settings.json
exec gemini --acp --skip-trust --model gemini-2.5-pro
"""


KEY = {"GEMINI_API_KEY": "sk-scripted"}


class Programs(WithAgent):
    def make_without_profile(self, model, agent):
        """Gemini CLI as any agent that speaks the protocol."""
        top = f"env: {{set: {{GOOGLE_GEMINI_BASE_URL: \"{model.address}\"}}}}"
        self.make("gemini_acp", model.address, top)
        used = f'use: gemini_acp, model: gemini-2.5-pro, base_url: "{model.address}", '
        asks = (f"{agent}, credentials: {{GEMINI_API_KEY: {{env: GEMINI_API_KEY}}}}, network: scoped, "
                f'egress: ["{model.address.removeprefix("http://")}"], ')
        plan = (self.root / "plan.yaml").read_text().replace("max_attempts: 2", "max_attempts: 1")
        self.assertIn(used, plan)
        self.write("plan.yaml", plan.replace(used, asks))

    def test_gemini_needs_no_profile(self):
        """As examples/agents/plan-acp.yaml has it. It offers to allow each request once, and first to allow all later ones."""
        with ScriptedModel(self.model_folder(), TURNS) as model:
            self.make_without_profile(model, "acp: [gemini, --acp]")
            self.pawl("run", "plan.yaml", env=KEY)
            self.assert_passed()
            self.assertEqual(len(model.calls()), len(TURNS))
        self.assertNotIn("MODE_UPDATE", self.log())

    def asks_a_person(self, choice):
        """Gemini CLI, whose requests all get this answer. Returns the questions."""
        with ScriptedModel(self.model_folder(), TURNS) as model:
            self.make_without_profile(model, "acp: [sh, /plan/asks.sh], permissions: ask")
            self.write("asks.sh", ASKS)
            run = self.start("run", "plan.yaml", env=KEY)
            answered = {}
            while True:
                self.wait_until(lambda: self.open_questions() or run.poll() is not None, "it asks, or ends")
                if run.poll() is not None:
                    return list(answered.values())
                for question in self.open_questions():
                    answered[question["key"]] = question["question"]
                    self.pawl("answer", "last", "fix", question["key"], choice, expect=None)  # the agent may end meanwhile

    def open_questions(self):
        done = self.pawl("answer", "last", "--json", expect=None)
        every = json.loads(done.stdout) if done.stdout.startswith("[") else []
        return [one for one in every if "answer" not in one]

    def test_a_person_allows_what_gemini_asks_for(self):
        questions = self.asks_a_person("allow_once")
        self.assert_passed()
        self.assertEqual(len(questions), 2, questions)
        for question, word in zip(questions, ("greeting", "test.sh")):
            self.assertIn(word, question)

    def test_a_person_rejects_what_gemini_asks_for(self):
        self.asks_a_person("reject_once")
        self.assertIn("acp: reject_once, says a person: ", self.log())
        [attempt] = self.pawl_json("inspect", "last")["phases"][0]["attempts"]
        self.assertIn("empty", [signal["kind"] for signal in attempt["signals"] if not signal["passed"]], "it wrote nothing")

    def does_its_task(self, use):
        with ScriptedModel(self.model_folder(), TURNS) as model:
            self.make(use, model.address, goal=f"/fix {GOAL}")  # as a command of the agent begins
            self.pawl("run", "plan.yaml")
            self.assert_passed()
            self.assertEqual(len(model.calls()), len(TURNS))
        log = self.log()
        self.assertIn("\nagent: I look.\n", log)
        self.assertIn("\nagent: It is done.\n", log)
        self.assertIn('"stop_reason":"end_turn"', log)
        self.pawl("export", "last", "evidence")
        rows = [json.loads(line) for line in (self.root / "evidence/cost/agent.jsonl").read_text().splitlines()]
        self.assertGreater(sum(row["input_tokens"] for row in rows), 1000)
        self.assertEqual({row["source"] for row in rows}, {"acp"})

    def goes_on(self, use, first=lambda: None):
        """Calls `first` between the kill and `pawl resume`. At most the call in flight is asked again."""
        with ScriptedModel(self.model_folder(), TURNS, [{"kind": "hang", "at": 3, "times": 1}]) as model:
            self.make(use, model.address)
            run = self.start("run", "plan.yaml")
            self.wait_until(lambda: len(model.calls()) == 3, "it asks for the third turn")
            self.kill_all(run)
            first()
            self.pawl("resume", "last")
            self.assert_passed()
            asked = len(model.calls())
        decisions = [row["decision"] for row in self.chains("last")["fix"] if row["type"] == "resume"]
        self.assertEqual(decisions, ["continue"])
        self.assertIn(GOES_ON, self.log())
        again = asked - len(TURNS)
        print(f"{use:12} all        in call 3: 3 calls before, {asked - 3} after, {again} paid twice", flush=True)
        self.assertLessEqual(again, 1, self.log())

    def test_gemini_does_its_task(self):
        self.does_its_task("gemini_acp")

    def test_qwen_does_its_task(self):
        self.does_its_task("qwen_acp")

    def test_gemini_waits_for_a_person(self):
        self.waits_for_a_person("gemini_acp", {"kind": "invalid_key", "at": 1}, status=400)

    def test_qwen_waits_for_a_person(self):
        self.waits_for_a_person("qwen_acp", {"kind": "unauthorized", "at": 2})

    def test_opencode_does_its_task(self):
        self.does_its_task("opencode_acp")

    def test_opencode_goes_on(self):
        self.goes_on("opencode_acp")

    def test_gemini_goes_on(self):
        # Within the minute of its first start it writes over its own session, finds none, and begins a new one.
        self.goes_on("gemini_acp", first=lambda: time.sleep(MINUTE_S - time.time() % MINUTE_S))

    def test_qwen_goes_on(self):
        self.goes_on("qwen_acp")


if __name__ == "__main__":
    at_once.main()
