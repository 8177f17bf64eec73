"""Runs of a real agent program in a real sandbox, with a scripted model."""

import os
import pathlib
import shutil
import signal
import tempfile

import agent_task
from agent_task import KEYS, MODULES, PROGRAMS, TURNS
from pawl_runs import WithRun
from pawl_testing import TIMEOUT_S
from scripted_model import ScriptedModel


class WithAgent(WithRun):
    def make(self, use, address, top="", goal=agent_task.GOAL):
        agent_task.write(self.root, use, address, top, goal=goal)

    def run_without_a_plan(self, use, address):
        """As a new user does: a repository, a package of npm in PATH, a key in a variable, and a home that has nothing."""
        _, name, path = PROGRAMS[use]
        agent_task.write_source(self.root)
        self.commit_all("source")
        home = self.root / "home"
        home.mkdir()
        env = {"HOME": str(home), "PATH": f"{MODULES}/.bin:{os.environ['PATH']}", KEYS[use]: "sk-scripted"}
        self.pawl("run", "--agent", use, "--model", name, "--base-url", address + path, "--goal", agent_task.GOAL, "--gate", "sh test.sh",
                  cwd="source", env=env)

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

    def is_interrupted_while_it_waits(self, seconds=TIMEOUT_S):
        """Starts the run, and interrupts it while it waits for its provider: no attempt is over. Returns the row of the wait."""
        run = self.start("run", "plan.yaml")
        self.wait_until(lambda: '"waits_for":"not_before"' in self.pawl("why", "last", "--json", expect=None).stdout, "it waits", seconds)
        run.send_signal(signal.SIGINT)
        self.assertEqual(run.wait(timeout=TIMEOUT_S), 130)
        [phase] = self.pawl_json("status", "last")["phases"]
        self.assertEqual((phase["state"], phase["attempts_total"]), ("EXECUTING", 1), self.log())
        [row] = self.waits()
        self.assertEqual((row["refusal"], row["source"]), ("limited", "backoff"))
        return row

    def waits_for_a_person(self, use, fault, status=401):
        """When the provider refuses its key. Its exit code does not say so."""
        with ScriptedModel(self.model_folder(), TURNS, [fault | {"times": 0, "everywhere": True}]) as model:
            self.make(use, model.address)
            self.pawl("run", "plan.yaml", expect=11)
        [phase] = self.pawl_json("status", "last")["phases"]
        self.assertEqual((phase["state"], phase["attempts_total"]), ("EXECUTING", 1), self.log())
        [row] = self.waits()
        self.assertEqual((row["refusal"], row["status"]), ("unauthorized", status))
