"""The types hold, and what the README and the examples show is so."""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

from tests.agentd import SDK, TIMEOUT_S, AgentdTest

EXAMPLES = SDK.parents[1] / "examples"


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


class Examples(AgentdTest):
    """They are killed again and again, and run as what they are: the agents of plans."""

    PROMPTS = ["area", "perimeter", "diagonal", "first", "shout", "count"]
    WORDS = ["pawl", "ratchet", "ledger", "checkpoint", "episode"]

    def killed(self, program: "list[str]", source: pathlib.Path, episode: str, kill_after: int) -> "list[str]":
        """Runs an agent until it has ended, each time in a fresh workspace; each process is killed when it has said so many
        lines. The last word of each line."""
        workspace = self.root / episode
        said: "list[str]" = []
        for _ in range(20):
            shutil.rmtree(workspace, ignore_errors=True)
            shutil.copytree(source, workspace)
            process = subprocess.Popen(program, cwd=workspace, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                       env=self.environment(PAWL_EPISODE_ID=episode, PATH=f"{self.bin()}:{os.environ['PATH']}"))
            self.addCleanup(self.closed, process)
            assert process.stderr is not None
            lines = 0
            for line in process.stderr:
                if not line.startswith(("model: ", "working on ")):
                    self.fail(line + process.stderr.read())
                said.append(line.split()[-1])
                lines += 1
                if lines == kill_after:
                    process.kill()
            if process.wait(TIMEOUT_S) == 0:
                subprocess.run(["sh", "test.sh"], cwd=workspace, check=True)
                return said
        self.fail("it does not end")

    def bin(self) -> pathlib.Path:
        folder = self.root / "bin"
        if not folder.exists():
            folder.mkdir()
            shutil.copy(os.environ["PAWL"], folder / "pawl")
        return folder

    def test_the_agent_in_python_pays_again_at_most_what_was_in_flight(self) -> None:
        example = EXAMPLES / "python-agent"
        program = [sys.executable, str(example / "agent.py")]
        self.assertEqual(sorted(self.killed(program, example / "source", "whole", 100)), sorted(self.PROMPTS))
        said = self.killed(program, example / "source", "killed", 3)
        self.assertEqual(set(said), set(self.PROMPTS))
        self.assertLessEqual(len(said), len(self.PROMPTS) + 2 * 5)  # two threads, so two in flight at each kill
        pages = {(self.root / episode / "FUNCTIONS.md").read_text() for episode in ("whole", "killed")}
        self.assertEqual(len(pages), 1)

    def test_the_agent_in_shell_does_a_line_again_at_most(self) -> None:
        example = EXAMPLES / "shell-agent"
        said = self.killed(["sh", str(example / "agent.sh")], example / "source", "killed", 2)
        self.assertEqual(list(dict.fromkeys(said)), self.WORDS)
        self.assertLessEqual(len(said), 2 * len(self.WORDS))

    def test_their_plans_run(self) -> None:
        for name, beside, result in (("python-agent", SDK / "pawl", "perimeter"), ("shell-agent", self.bin(), "ratchet: 7")):
            with self.subTest(name):
                folder = self.root / name
                shutil.copytree(EXAMPLES / name, folder)
                shutil.copytree(beside, folder / beside.name)
                for args in (["run", "plan.yaml"], ["diff", "last"]):
                    done = subprocess.run([os.environ["PAWL"], *args], cwd=folder, text=True, capture_output=True,
                                          timeout=TIMEOUT_S, env=self.environment())
                    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertIn(result, done.stdout)


if __name__ == "__main__":
    unittest.main()
