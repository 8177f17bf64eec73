#!/usr/bin/env python3
"""`policy` of a plan: pinned by its content, judged before the gates, reported by file and line. The rules
themselves: tests/gates, tests/forgery."""

import re
import subprocess
import unittest

from pawl_testing import PawlTest, plan

AGENT = "echo x >conftest.py; echo more >>file"
TOKEN = "ghp_" + "A" * 36  # in two parts, so that no scanner takes it for one


class Policy(PawlTest):
    def setUp(self):
        super().setUp()
        self.write("source/file", "x\n")

    def digest(self, name="policy.yaml"):
        return subprocess.run(["b3sum", "--no-names", self.root / name], capture_output=True, text=True, check=True).stdout.strip()

    def write_plan(self, rules, agent=AGENT, **kwargs):
        self.write("policy.yaml", f"version: 1\n{rules}\n")
        self.write("plan.yaml", plan(agent=agent, policy=f"{{file: policy.yaml, blake3: {self.digest()}}}", max_attempts=1, **kwargs))

    def attempts(self):
        return self.pawl_json("inspect", "last")["phases"][0]["attempts"]

    @staticmethod
    def failing(attempt):
        return [f"{s['gate_id']}.{s['kind']}" for s in attempt["signals"] if not s["passed"]]

    def policy_signal(self):
        return next((s for s in self.attempts()[0]["signals"] if s["kind"] == "policy"), None)

    def test_what_steers_a_build_is_told_without_any_policy(self):
        self.write("plan.yaml", plan(agent=AGENT))
        self.pawl("run", "plan.yaml")
        signal = self.policy_signal()
        self.assertTrue(signal["passed"])
        self.assertEqual(signal["details"]["telling"], "conftest.py: watched: steers pytest")
        self.write("plan.yaml", plan(agent="echo more >>file"))
        self.pawl("run", "plan.yaml")
        self.assertIsNone(self.policy_signal())

    def test_test_files_that_an_agent_changes_are_told_unless_a_rule_forbids_it(self):
        for name in ("a", "b"):
            self.write(f"source/tests/test_{name}.py", "x\n")
        cheat = "echo y >tests/test_a.py; rm tests/test_b.py; echo new >tests/test_c.py"
        names = "tests/test_a.py, tests/test_b.py (deleted)"
        for keys, told in (({}, True), ({"protect": "[file]"}, True), ({"protect_existing": "['tests/**']"}, False)):
            with self.subTest(keys):
                self.write("plan.yaml", plan(agent=cheat, max_attempts=1, **keys))
                said = self.pawl("run", "plan.yaml", expect=0 if told else 11).stdout
                self.assertEqual(said.count(f"; changed test files: {names}"), told, said)
                signals = [s for s in self.attempts()[0]["signals"] if (s["gate_id"], s["kind"]) == ("diff", "policy")]
                self.assertEqual([s["details"].get("test_file_names") for s in signals], [names] if told else [])
                self.assertEqual([s["details"].get("test_files") for s in signals], [2] if told else [])
                self.assertEqual(f"changed test files: {names}" in " ".join(self.pawl("inspect", "last").stdout.split()), told)
        self.write("plan.yaml", plan(agent="echo new >tests/test_c.py"))
        self.assertNotIn("test files", self.pawl("run", "plan.yaml").stdout)

    def test_a_person_reads_what_is_told_of_work_that_passed(self):
        files = ("Makefile", "conftest.py", "jest.config.js", "package.json", "pytest.ini", "tox.ini", "vite.config.ts")
        for agent, shown in ((AGENT, ["told: conftest.py: watched: steers pytest"]),
                             ("echo more >>file", []),
                             (f"touch {' '.join(files)}", [f"told: {name}: watched: steers" for name in files[:5]] + ["told: and 2 more"])):
            self.write("plan.yaml", plan(agent=agent))
            printed = re.findall("^ +(told: .*)", self.pawl("run", "plan.yaml").stdout, re.MULTILINE)
            self.assertEqual(len(printed), len(shown), printed)
            for line, words in zip(printed, shown):
                self.assertTrue(line.startswith(words), line)
            told = re.findall("^ +(told: .*)", self.pawl("inspect", "last").stdout, re.MULTILINE)
            self.assertEqual(len(told), len(files) if len(shown) > 1 else len(shown), told)

    def test_a_failed_rule_ends_the_attempt_before_its_gates_and_the_next_agent_reads_why(self):
        self.write("agent.sh", f'if [ -s "$PAWL_FEEDBACK" ]; then cp "$PAWL_FEEDBACK" said; else (echo; echo "k = {TOKEN}") >conf; fi\n')
        self.write_plan("secrets: fail", agent="sh /plan/agent.sh")
        self.write("plan.yaml", (self.root / "plan.yaml").read_text().replace("max_attempts: 1", "max_attempts: 2"))
        self.pawl("run", "plan.yaml")
        first, second = self.attempts()
        self.assertEqual((first["verdict"], self.failing(first)), ("failed_retryable", ["diff.policy"]))
        self.assertEqual([s["kind"] for s in first["signals"]], ["agent", "policy"], "no gate has run")
        self.assertEqual(second["verdict"], "passed")
        patch = self.pawl("diff", "last").stdout
        self.assertIn("conf:2: secrets: looks like a github_token", patch)
        self.assertNotIn(TOKEN, patch)

    def test_a_policy_is_pinned(self):
        self.write("policy.yaml", "version: 1\n")
        self.write("plan.yaml", plan(policy="{file: policy.yaml}"))
        told = self.pawl("run", "plan.yaml", expect=2).stderr
        self.assertRegex(told, r"plan.yaml:\d+:1: error: policy: is not pinned: add `blake3: " + self.digest())
        self.write_plan("secrets: tell")
        self.write("policy.yaml", "version: 1\nsecrets: allow\n")
        for command in ("check", "run"):
            told = self.pawl(command, "plan.yaml", expect=2).stderr
            self.assertRegex(told, rf"plan.yaml:\d+:1: error: policy: policy.yaml has the BLAKE3 {self.digest()}, not the one that is pinned")

    def test_each_mistake_has_its_place(self):
        self.write_plan("limit: {files: 3}")
        self.assertIn("policy.yaml:2:1: error: unknown key 'limit'", self.pawl("check", "plan.yaml", expect=2).stderr)
        problems = self.pawl_json("check", "plan.yaml", expect=2)["problems"]
        self.assertEqual([(p["file"], p["line"]) for p in problems], [("policy.yaml", 2)])
        self.write("plan.yaml", plan(policy="{file: nothing.yaml}"))
        self.assertRegex(self.pawl("check", "plan.yaml", expect=2).stderr, r"plan.yaml:\d+:1: error: policy: .*nothing.yaml")
        self.write("plan.yaml", plan(policy="{file: policy.yaml, blake3: abc}"))
        self.assertRegex(self.pawl("check", "plan.yaml", expect=2).stderr, r"plan.yaml:\d+:\d+: error: blake3: expected the 64")
        self.write("source/policy.yaml", "version: 1\n")
        self.write("plan.yaml", plan(policy=f"{{file: source/policy.yaml, blake3: {self.digest('source/policy.yaml')}}}"))
        self.assertIn("lies inside the source", self.pawl("check", "plan.yaml", expect=2).stderr)

    def test_a_run_keeps_the_policy_that_it_began_with(self):
        self.write_plan("watched: fail")
        self.pawl("run", "plan.yaml", expect=11)
        (self.root / "policy.yaml").unlink()
        self.pawl("gc")
        self.pawl("retry", "last", "p1", "--reason", "once more")
        self.pawl("resume", "last", expect=11)
        self.assertEqual([self.failing(attempt) for attempt in self.attempts()], [["diff.policy"]] * 2)
        for blob in (self.root / "source/.pawl/objects/blobs").rglob("*"):
            if blob.is_file() and blob.read_bytes() == b"version: 1\nwatched: fail\n":
                blob.unlink()
        self.assertIn("the policy of run", self.pawl("retry", "last", "p1", "--reason", "again", expect=None).stderr)


if __name__ == "__main__":
    unittest.main()
