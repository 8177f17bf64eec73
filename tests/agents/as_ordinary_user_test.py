#!/usr/bin/env python3
"""Real agent programs under an ordinary user, also when root starts this test: each does its task by its profile and by the Agent Client
Protocol, and goes on when everything is killed.

It runs copies, since only root may be able to read the build folder. The programs' packages are mounted."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import at_once

ORDINARY = 1234
SIX = ("claude_code", "codex", "gemini", "qwen", "opencode", "pi")
BY_ACP = ("gemini", "qwen", "opencode")
HERE = pathlib.Path(__file__).parent
BUILT = pathlib.Path(os.environ["PAWL"]).parent
PAWL_PROGRAMS = ("pawl", "pawl-engine", "pawl-reader", "pawl-supervisor")
# Shows the packages at another place, and goes on as the user.
AS_USER = f'mount --bind "$0" "$1" && shift && exec setpriv --reuid={ORDINARY} --regid={ORDINARY} --clear-groups "$@"'


class OrdinaryUser(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="agents-user-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.folder.chmod(0o755)
        for name in PAWL_PROGRAMS:
            shutil.copy(BUILT / name, self.folder)
        for tests in (HERE, HERE.parent / "support"):
            shutil.copytree(tests, self.folder / "tests" / tests.name)
        self.agents, self.home = self.folder / "agents", self.folder / "home"
        self.agents.mkdir()
        self.home.mkdir()
        self.user = []
        if os.geteuid() == 0:
            os.chown(self.home, ORDINARY, ORDINARY)
            self.user = ["unshare", "--mount", "sh", "-c", AS_USER, os.environ["AGENTS"], str(self.agents)]

    def passes(self, file, *cases):
        env = {**os.environ, "PAWL": str(self.folder / "pawl"), "HOME": str(self.home), "PYTHONDONTWRITEBYTECODE": "1",
               "PYTHONPATH": str(self.folder / "tests/support")}
        if self.user:
            env["AGENTS"] = str(self.agents)
        command = [*self.user, sys.executable, self.folder / "tests" / HERE.name / file, *(f"Programs.test_{case}" for case in cases)]
        done = subprocess.run(command, cwd="/", env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.assertEqual(done.returncode, 0, done.stdout)
        self.assertRegex(done.stdout, rf"Ran {len(cases)} tests? in .*\n\nOK\n$")

    def test_the_user_is_not_root(self):
        said = subprocess.run([*self.user, "id", "-u"], capture_output=True, text=True, check=True).stdout
        self.assertNotEqual(said, "0\n")

    def test_by_profiles(self):
        self.passes("programs_test.py", *(f"{use}_does_its_task" for use in SIX))

    def test_a_kill_of_everything(self):
        self.passes("programs_test.py", *(f"{use}_goes_on_when_all_ends_in_a_tool" for use in SIX))

    def test_by_the_agent_client_protocol(self):
        self.passes("acp_test.py", *(f"{use}_does_its_task" for use in BY_ACP))


if __name__ == "__main__":
    at_once.main()
