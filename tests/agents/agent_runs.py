"""Runs of a real agent program in a real sandbox, with a scripted model."""

import pathlib
import shutil
import tempfile

import agent_task
from agent_task import TURNS
from pawl_runs import WithRun
from scripted_model import ScriptedModel

# By itself Claude Code asks for three minutes more.
TRIES_ONCE = 'env: {set: {CLAUDE_CODE_MAX_RETRIES: "1"}}'


class WithAgent(WithRun):
    def make(self, use, address, top="", goal=agent_task.GOAL):
        agent_task.write(self.root, use, address, top, goal=goal)

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

    def waits(self):
        return [row for row in self.chains("last")["fix"] if row["type"] == "waited"]

    def waits_for_a_person(self, use, fault, status=401):
        """When the provider refuses its key. Its exit code does not say so."""
        with ScriptedModel(self.model_folder(), TURNS, [fault | {"times": 0, "everywhere": True}]) as model:
            self.make(use, model.address, top=TRIES_ONCE)
            self.pawl("run", "plan.yaml", expect=11)
        [phase] = self.pawl_json("status", "last")["phases"]
        self.assertEqual((phase["state"], phase["attempts_total"]), ("EXECUTING", 1), self.log())
        [row] = self.waits()
        self.assertEqual((row["refusal"], row["status"]), ("unauthorized", status))
