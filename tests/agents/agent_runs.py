"""Runs of a real agent program in a real sandbox, with a scripted model."""

import pathlib
import shutil
import tempfile

import agent_task
from pawl_runs import WithRun


class WithAgent(WithRun):
    def make(self, use, model, top=""):
        agent_task.write(self.root, use, model.address, top)

    def model_folder(self):
        """Not below the test's folder: `kill_all` takes a process that names it for one of Pawl."""
        folder = pathlib.Path(tempfile.mkdtemp(prefix="agent-model-"))
        self.addCleanup(shutil.rmtree, folder)
        return folder

    def log(self):
        return self.pawl("logs", "last", "fix").stdout

    def assert_passed(self, attempts=1):
        [phase] = self.pawl_json("status", "last")["phases"]
        self.assertEqual((phase["outcome"], phase["attempts_total"]), ("passed", attempts), self.log())
        self.pawl("verify", "last")
