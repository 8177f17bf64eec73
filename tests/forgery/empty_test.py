#!/usr/bin/env python3
"""Agents that change nothing and try to look as if they did. The gate passes on base, so that only the demand
for a change stops them. Each passes where the phase says `may_be_empty: true`."""

import unittest

from pawl_testing import PawlTest

FILES = {"a": "x\n", "check.sh": "[ -e check.sh ]\n"}
NOTHING = {
    "touches a file": "touch a",
    "writes a file as it was": "cat a >b; cat b >a; rm b",
    "exchanges a file for its copy": "cat a >b; mv b a",
    "makes a folder": "mkdir d",
    "makes a repository in a folder": "mkdir d; cd d; git init -q .",
    "changes permissions that git does not keep": "chmod 600 a",
    "removes and writes a file": "rm a; echo x >a",
}
# Each is as small as a change can be.
WORK = {"a content": "echo y >a", "a new file": ": >b", "a deletion": "rm a", "the executable bit": "chmod +x a",
        "a link": "ln -s a b", "another target": "ln -sf check.sh l", "a rename": "mv a b; mkdir a; mv b a/b"}


class Empty(PawlTest):
    def attempts(self, agent, more="", max_attempts=1, gate="sh check.sh"):
        for path, text in FILES.items():
            self.write(f"source/{path}", text)
        (self.root / "source/l").unlink(missing_ok=True)
        (self.root / "source/l").symlink_to("a")
        self.write("agent.sh", agent + "\n")
        self.write("plan.yaml", f"""\
version: 1
workflow: empty
source: {{path: source}}
max_attempts: {max_attempts}
gates: {{check: {{steps: [{{name: unit, run: {gate}}}]}}}}
tiers: [{{phases: [{{id: p, goal: g, agent: {{run: sh /plan/agent.sh}}, gates: [check]{more}}}]}}]
""")
        self.pawl("run", "plan.yaml", expect=None)
        return self.pawl_json("inspect", "last")["phases"][0]["attempts"]

    def attempt(self, agent, more=""):
        return self.attempts(agent, more)[0]

    def test_each_is_caught_and_passes_without_the_defence(self):
        for name, agent in NOTHING.items():
            with self.subTest(name):
                caught = self.attempt(agent)
                self.assertNotEqual(caught["verdict"], "passed")
                self.assertEqual([f"{s['gate_id']}.{s['kind']}" for s in caught["signals"] if not s["passed"]], ["diff.empty"])
                self.assertEqual(self.attempt(agent, ", may_be_empty: true")["verdict"], "passed")
                self.assertEqual(self.pawl("diff", "last").stdout, "")

    def test_none_passes_in_a_later_attempt(self):
        for name, agent in NOTHING.items():
            with self.subTest(name):
                self.assertEqual({one["verdict"] for one in self.attempts(agent, max_attempts=2)} & {"passed"}, set())

    def test_an_agent_may_take_back_what_an_attempt_broke(self):
        agent = '[ $PAWL_ATTEMPT = 1 ] && echo exit 1 >check.sh || echo "[ -e check.sh ]" >check.sh'
        self.assertEqual([one["verdict"] for one in self.attempts(agent, max_attempts=2)], ["failed_retryable", "passed"])

    def test_each_change_is_work(self):
        for name, agent in WORK.items():
            with self.subTest(name):
                self.assertEqual(self.attempt(agent)["verdict"], "passed")
                self.assertNotEqual(self.pawl("diff", "last").stdout, "")


if __name__ == "__main__":
    unittest.main()
