"""The types hold, and what the README and the example show is so."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import unittest

from tests.agentd import SDK, TIMEOUT_S, AgentdTest

EXAMPLE = SDK.parents[1] / "examples/python-agent"


class Types(unittest.TestCase):
    def test_mypy_finds_nothing(self) -> None:
        whats: "list[list[str]]" = [[], ["tests"]]
        for what in whats:
            done = subprocess.run(["mypy", "--strict", "--cache-dir=" + os.devnull, *what], cwd=SDK, text=True, capture_output=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


class Readme(AgentdTest):
    def test_its_programs_run_and_do_not_pay_twice(self) -> None:
        writer, children = re.findall(r"```python\n(.*?)```", (SDK / "README.md").read_text(), re.S)
        last = "WRITE OF WIND / WRITE OF SAND / WRITE OF STARS for 0.0375 dollars\n"
        self.assertEqual(self.run_program(writer),
                         "".join(f"paying for: write of {title}\n" for title in ("wind", "sand", "stars")) + last)
        self.assertEqual(self.run_program(writer), last)
        for _ in range(2):
            self.assertEqual(self.run_program(children), "['lead-0/0.0 has read 3 pages', 'lead-0/0.1 has read 3 pages']\n")


class Example(AgentdTest):
    PROMPTS = ["area", "perimeter", "diagonal", "first", "shout", "count"]

    def in_episode(self, episode: str, kill_after: int) -> "list[str]":
        """Runs the example until it has ended; each process is killed when the model was called so often. The prompts."""
        workspace = self.root / episode
        shutil.copytree(EXAMPLE / "source", workspace)
        prompts: "list[str]" = []
        for _ in range(20):
            process = subprocess.Popen(["python3", str(EXAMPLE / "agent.py")], cwd=workspace, text=True, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE, env=self.environment(PAWL_EPISODE_ID=episode))
            self.addCleanup(self.closed, process)
            assert process.stderr is not None
            called = 0
            for line in process.stderr:
                if not line.startswith("model: "):
                    self.fail(line + process.stderr.read())
                prompts.append(line.split()[-1])
                called += 1
                if called == kill_after:
                    process.kill()
            if process.wait(TIMEOUT_S) == 0:
                return prompts
        self.fail("it does not end")

    def test_killed_again_and_again_it_pays_at_most_what_was_in_flight_again(self) -> None:
        whole = self.in_episode("whole", 100)
        self.assertEqual(sorted(whole), sorted(self.PROMPTS))
        killed = self.in_episode("killed", 3)
        self.assertEqual(set(killed), set(self.PROMPTS))
        self.assertLessEqual(len(killed), len(self.PROMPTS) + 2 * 5)  # two threads, so two in flight at each kill
        pages = {(self.root / episode / "FUNCTIONS.md").read_text() for episode in ("whole", "killed")}
        self.assertEqual(len(pages), 1)
        for episode in ("whole", "killed"):
            subprocess.run(["sh", "test.sh"], cwd=self.root / episode, check=True)

    def test_its_plan_checks(self) -> None:
        folder = self.root / "example"
        shutil.copytree(EXAMPLE, folder)
        done = subprocess.run([os.environ["PAWL"], "check", "plan.yaml"], cwd=folder, text=True, capture_output=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
