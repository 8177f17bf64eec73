#!/usr/bin/env python3
"""What of the host, and which variables, a plan shows every step (`mounts`, `env`)."""

import json
import unittest

from pawl_runs import WithRun
from pawl_testing import plan

TOOL = '#!/bin/sh\necho "the tool says %s"\n'


class Mounts(WithRun):
    def setUp(self):
        super().setUp()
        self.write("home/.tools/bin/tool", TOOL % "one", 0o755)
        self.write("home/.tools/lib/data", "data\n")
        self.home = {"HOME": str(self.root / "home")}

    def make(self, mounts="[{src: ~/.tools}]", baseline=False, **kwargs):
        self.write("source/file", "x\n")
        text = plan(mounts=mounts, **kwargs)
        self.write("plan.yaml", text.replace(", baseline: none", "") if baseline else text)

    def run_plan(self, *args, expect=0):
        return self.pawl("run", "plan.yaml", *args, env=self.home, expect=expect)

    def signals(self):
        attempt = self.pawl_json("inspect", "last")["phases"][0]["attempts"][-1]
        return [signal for signal in attempt["signals"] if signal["kind"] == "mounts"]

    def labels(self, run):
        rows = (self.root / f"source/.pawl/runs/{run}/phases/p1/attempts.jsonl").read_text().splitlines()
        return [row["label"] for row in map(json.loads, rows) if row["type"] == "pre_execute"]

    def test_every_step_sees_them_and_finds_their_programs(self):
        self.make("[{src: ~/.tools}, {src: ~/.tools/lib/data, dst: /opt/data}]",
                  agent="tool && cat /opt/data", gate="tool && cat /opt/data && command -v tool")
        self.run_plan()
        said = self.pawl("logs", "last", "p1").stdout
        self.assertEqual(said.count("the tool says one\ndata\n"), 2, said)
        self.assertIn(f"{self.root}/home/.tools/bin/tool\n", said, "at its path on the host")
        self.assertEqual(self.signals(), [], "nothing changed")
        self.pawl("verify", "last")

    def test_no_step_can_change_them(self):
        write = f"for at in {self.root}/home/.tools/bin/tool {self.root}/home/.tools/new /opt/data; do ! sh -c \": >$at\" || exit 9; done"
        self.make("[{src: ~/.tools}, {src: ~/.tools/lib/data, dst: /opt/data}]", agent=write, gate=write)
        self.run_plan()
        self.assertEqual((self.root / "home/.tools/bin/tool").read_text(), TOOL % "one")
        self.assertEqual((self.root / "home/.tools/lib/data").read_text(), "data\n")
        self.assertFalse((self.root / "home/.tools/new").exists())

    def test_a_change_between_attempts_is_told(self):
        self.make(agent="tool", gate="tool | grep two", max_attempts="1")
        first = self.run_plan(expect=11)
        self.assertNotIn("mounts:", first.stdout + first.stderr)
        self.write("home/.tools/bin/tool", TOOL % "two", 0o755)
        self.pawl("retry", "last", "p1")
        second = self.pawl("resume", "last", env=self.home)
        place = f"{self.root}/home/.tools"
        self.assertIn(f"mounts: {place}: another content than in attempt p1.1", second.stdout + second.stderr)
        signals = self.signals()
        self.assertEqual([(s["gate_id"], s["passed"], s["details"]["changed"]) for s in signals], [("diff", True, place)])
        self.assertRegex(self.pawl("inspect", "last").stdout, "diff[.]mounts +passed +changed=")
        self.pawl("verify", "last")

    def test_a_gate_runs_on_base_again_when_they_changed(self):
        self.make(agent="true", gate="tool", baseline=True, files="[plan.yaml]")  # or /plan would have the tool, too
        counts = []
        for say in ("one", "one", "two"):
            if say == "two":
                self.write("home/.tools/bin/tool", TOOL % say, 0o755)
            self.run_plan()
            counts.append(sum("@base" in label for label in self.labels(self.run_id())))
        self.assertEqual(counts, [1, 0, 1])

    def test_no_key_is_shown(self):
        self.make()
        self.write("home/.tools/lib/.env", "SECRET=1\n")
        for command in ("check", "run"):
            said = self.pawl(command, "plan.yaml", env=self.home, expect=2).stderr
            self.assertRegex(said, r"plan\.yaml:4:10: error: mounts: ~/\.tools: .* it has a \.env in it")
        self.assertFalse((self.root / "source/.pawl").exists())
        (self.root / "home/.tools/lib/.env").unlink()
        self.run_plan("--dir", "source/state")
        self.make(f"[{{src: {self.root}/source, dst: /opt/source}}]")
        said = self.pawl("check", "plan.yaml", env=self.home, expect=2).stderr
        self.assertRegex(said, r"it has a (ledger|redaction)\.key in it: .*/source/state/keys/\1\.key", "a state folder of any name")

    def test_no_login_of_an_agent_program_is_shown(self):
        for folder, login in ((".codex", "auth.json"), (".gemini", "oauth_creds.json"), (".pi", "agent/auth.json"),
                              (".local/share/opencode", "auth.json")):
            self.write(f"home/{folder}/{login}", "{}")
            name = login.split("/")[-1]
            for src, said in ((folder, f"it has a {name} in it: .*/{folder}/{login}"), (f"{folder}/{login}", f"it is or is below a {name}")):
                with self.subTest(src):
                    self.make(f"[{{src: ~/{src}}}]")
                    for command in ("check", "run"):
                        self.assertRegex(self.pawl(command, "plan.yaml", env=self.home, expect=2).stderr,
                                         rf"plan\.yaml:4:10: error: mounts: ~/{src}: .* is not shown in a sandbox: {said}")

    def test_a_program_that_no_step_finds_is_named_with_the_mount_that_shows_it(self):
        self.write("home/.local/share/agent/v1/my-agent", TOOL % "agent", 0o755)
        (self.root / "home/.local/bin").mkdir(parents=True)
        (self.root / "home/.local/bin/my-agent").symlink_to("../share/agent/v1/my-agent")
        self.write("source/file", "x\n")
        self.write("plan.yaml", plan(agent="my-agent && no-such-program", gate="true"))
        for command in ("check", "run"):
            said = self.pawl(command, "plan.yaml", env=self.home, expect=None).stderr
            self.assertIn("plan.yaml: warning: agent of phase p1 starts my-agent, which no step finds: it lies at "
                          f"{self.root}/home/.local/bin/my-agent. Add to the plan: "
                          "`mounts: [{src: ~/.local/bin}, {src: ~/.local/share/agent/v1}]`\n", said)
            self.assertIn("starts no-such-program, which no step finds, nor is it on this machine: ", said)
        self.make("[{src: ~/.local/bin}, {src: ~/.local/share/agent/v1}]", agent="my-agent", gate="true")
        self.assertNotIn("no step finds", self.run_plan().stderr)
        self.assertIn("the tool says agent", self.pawl("logs", "last", "p1").stdout)

    def test_a_run_goes_on_when_one_is_back(self):
        self.make(agent="sleep 60 || true; tool", gate="tool")
        run = self.start("run", "plan.yaml", env=self.home)
        self.wait_for_sleep("p1.agent")  # the sandbox has its mounts
        (self.root / "home/.tools").rename(self.root / "home/.away")
        self.wake("p1.agent")
        run.wait()
        self.assertEqual(run.returncode, 1)
        said = "".join(log.read_text() for log in self.root.glob("started-*.log"))
        self.assertRegex(said, r"mounts: ~/\.tools: .*No such file or directory")
        (self.root / "home/.away").rename(self.root / "home/.tools")
        self.pawl("resume", "last", env=self.home)
        self.assertEqual(self.pawl_json("status")["runs"][0]["state"], "COMPLETE")


class Variables(WithRun):
    def test_values_of_the_plan_reach_every_step(self):
        env = "{names: [MY_NAME], set: {NODE_ENV: test, LANG: C.UTF-8, EMPTY: '', HOME: /workspace, QUOTED: 'a \"$HOME\"'}}"
        look = 'echo "$MY_NAME,$NODE_ENV,$LANG,${EMPTY-unset},$HOME,$QUOTED"'
        self.make_simple(agent=look, gate=look, env=env)
        self.pawl("run", "plan.yaml", env={"MY_NAME": "host", "NODE_ENV": "production", "LANG": "de_DE.UTF-8"})
        said = 'host,test,C.UTF-8,,/workspace,a "$HOME"\n'
        self.assertEqual(self.pawl("logs", "last", "p1").stdout.count(said), 2, "of the agent and of the gate")


if __name__ == "__main__":
    unittest.main(verbosity=1)
