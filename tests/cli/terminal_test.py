#!/usr/bin/env python3
"""Commands on a terminal: no text of agents, gates and repositories reaches it as something that it obeys."""

import json
import re
import unicodedata
import unittest

from pawl_runs import WithRun

# Each part ends or moves something on some terminal: colours, the clipboard, the title; CSI and OSC as one
# character and as one byte; the direction of text; characters without width; a line of its own.
NASTY = "\x1b[35mpink\x1b]52;c;aGk=\x07\x9b35m\x9d52;c;aGk=\x9c\u202eoverride\u2066isolate\u200bgap\x7f\x08"
IN_BYTES = NASTY.encode() + b"\x9b35m\xff"
PATH = "\x9b35m\x9d52;c;aGk=\x9c\u202eoverride\u2066isolate"  # a name of a file that is stored
REFUSED = NASTY + "\nCOMPLETE"  # a name that is reported, and not stored

PLAN = """\
version: 1
workflow: nasty
source: {path: source}
protect: [{pattern: "kept/**", may_be_absent: true}]
max_attempts: 1
gates:
  perl:
    steps: [{name: unit, run: "sh /plan/tap.sh", reports: {tap: [out.tap]}}]
    signals: [build, tests]
  suite:
    steps: [{name: unit, run: "cp /plan/jest.json out.json; cat /plan/nasty; exit 1", reports: {jest: [out.json]}}]
    signals: [build, tests]
tiers:
  - phases:
      - {id: fix, goal: g, agent: {run: "sh /plan/agent.sh"}, gates: [perl, suite]}
"""
AGENT = """\
ask() { curl -sS --unix-socket "$PAWL_SOCKET" "$@"; }
ask -X PUT -d @/plan/question.json 'http://pawl/v1/question?key=deploy' >/dev/null
for i in 1 2 3 4 5 6 7 8 9; do cat /plan/said; sleep 0.1; done
for i in 1 2 3 4 5 6; do ask 'http://pawl/v1/question?key=deploy&wait_ms=20000' >/tmp/a; grep -q '"answer"' /tmp/a && break; done
mkdir kept; echo mine >"$(cat /plan/refused)"; echo mine >"$(cat /plan/path)"; echo mine >"kept/$(cat /plan/path)"
"""
# The codes that Pawl itself writes.
OWN = re.compile(r"\x1b\[(?:[0-2]|3[1-3])m|\x1b\[[012]?[JKHA]")


class Terminal(WithRun):
    def make(self):
        self.write("source/file", "x\n")
        self.write("plan.yaml", PLAN)
        self.write("agent.sh", AGENT)
        for name in ("nasty", "said"):  # for the gates, whose file agents do not see, and for the agent
            self.write(name, IN_BYTES + b"\n")
        self.write("path", PATH)
        self.write("refused", REFUSED)
        name = json.dumps(NASTY)
        self.write("jest.json", '{"numTotalTests":1,"numFailedTests":1,"success":false,"testResults":[{"name":"/workspace/a.js","status":"failed",'
                                f'"assertionResults":[{{"ancestorTitles":[{name}],"title":{name},"status":"failed","failureMessages":[{name}]}}]}}]}}')
        self.write("tap.sh", "{ echo 1..1; printf 'not ok 1 - '; cat /plan/nasty; } >out.tap; cat /plan/nasty; exit 1\n")
        self.write("question.json", json.dumps({"question": NASTY, "choices": ["yes", "no"]}))

    def assert_obeys_nothing(self, *words, expect=0):
        seen = self.on_a_terminal(*words, expect=expect)
        with self.subTest(words[0]):
            text = seen.decode()  # the output is UTF-8
            rest = OWN.sub("", text).replace("\r", "").replace("\n", "")
            hidden = sorted({c for c in rest if unicodedata.category(c) in ("Cc", "Cf")})
            self.assertEqual(hidden, [], text)
            if words[0] != "report":  # in HTML the end of a line is a space
                self.assertNotRegex(text, r"(?m)^COMPLETE", "a name begins no line")
        return text

    def test_nothing_of_a_run_is_obeyed(self):
        self.make()
        asked = self.start("run", "plan.yaml")
        self.wait_until(lambda: "asks:" in self.pawl("answer", "last", expect=None).stdout, "it asks", 20)
        for command in ("why", "status", "answer"):
            self.assertIn(r"\x1b[35mpink" if command != "answer" else "pink", self.assert_obeys_nothing(command, "last"), command)
        self.assertIn(r"\u202eoverride", self.assert_obeys_nothing("answer", "last", "--json"))
        self.pawl("answer", "last", "fix", "deploy", "no")
        asked.wait()

        for command in (["gate", "last", "fix", "suite"], ["gate", "last", "fix", "perl"]):
            self.assertIn(r"\u202eoverride", self.assert_obeys_nothing(*command, expect=1))
        for command in (["inspect", "last"], ["inspect", "last", "--json"], ["status", "last"], ["status", "last", "--json"], ["why", "last"],
                        ["logs", "last", "fix"], ["logs", "last", "fix", "--json"], ["stats", "last"], ["cost", "last"], ["verify", "last"],
                        ["report", "last", "-o", "-"], ["gate", "last", "fix", "suite", "--json"]):
            self.assert_obeys_nothing(*command, expect=1 if command[0] == "gate" else 0)
        shown = self.assert_obeys_nothing("approve", "last", "fix")
        self.assertRegex(shown, r"left out, because the plan protects it: .*\\u202eoverride")
        for command in (["diff", "last"], ["diff", "last", "--json"], ["attest", "last"], ["fork", "last", "--from", "fix"]):
            self.assert_obeys_nothing(*command)

    def test_progress_is_not_obeyed(self):
        """Tests that fail on base, the live line, and how a step and an attempt end."""
        self.make()
        agent = AGENT.splitlines()
        self.write("agent.sh", "\n".join(agent[2:3] + agent[4:]) + "\n")
        shown = self.assert_obeys_nothing("run", "plan.yaml", expect=11)
        self.assertRegex(shown, r"is red on base: there fail .*\\u202eoverride")
        self.assertRegex(shown, r"fix\.agent\.run\.attempt1 \d+s \| .*\\u202eoverride", "the live line")

    def test_json_on_a_terminal_is_the_same_json(self):
        self.make()
        self.write("agent.sh", "true\n")
        self.pawl("run", "plan.yaml", expect=None)
        for command in ("inspect", "status"):
            seen = self.on_a_terminal(command, "last", "--json").decode()
            self.assertEqual(json.loads(seen), self.pawl_json(command, "last"))


if __name__ == "__main__":
    unittest.main(verbosity=1)
