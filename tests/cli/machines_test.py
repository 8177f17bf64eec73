#!/usr/bin/env python3
"""A mechanism that a machine lacks is reported before it costs anything, and `pawl sandbox` shows a person
what works."""

import ctypes
import json
import os
import shutil
import signal
import struct
import subprocess
import unittest

from pawl_runs import WithRun
from pawl_testing import PAWL, TIMEOUT_S


def be_listened_to():
    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p)]
    set_no_new_privs, call_seccomp, set_filter, new_listener = 38, {"x86_64": 317, "aarch64": 277}[os.uname().machine], 1, 1 << 3
    allow = struct.pack("HBBI", 0x06, 0, 0, 0x7FFF0000)  # BPF_RET, SECCOMP_RET_ALLOW
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(set_no_new_privs, 1, 0, 0, 0)
    if libc.syscall(call_seccomp, set_filter, new_listener, ctypes.byref(Program(1, allow))) < 0:
        raise OSError(ctypes.get_errno(), "seccomp")
    if os.fork() == 0:  # listens for as long as the program runs
        set_death_signal = 1
        libc.prctl(set_death_signal, signal.SIGKILL, 0, 0, 0)
        signal.pause()


class Machines(WithRun):
    def test_what_a_run_has_to_do_without_is_said_and_kept(self):
        self.make_simple(agent="echo more >> file", gate="grep -q more file")
        done = self.pawl("run", "plan.yaml", env={"PAWL_CGROUP": "none"})
        for name in "memory", "pids", "cpu":
            self.assertIn(f"pawl: {name} is degraded: ", done.stderr)
        self.assertIn("pawl sandbox health", done.stderr)
        steps = self.pawl_json("inspect", "last")["phases"][0]["attempts"][0]["steps"]
        for step in steps:
            self.assertEqual(step["run"]["degraded"][:3], ["memory", "pids", "cpu"])
        self.assertIn("degraded: cpu, memory, pids", " ".join(self.pawl("inspect", "last").stdout.split()))
        self.pawl("retry", "last", "one", expect=None)
        self.assertIn("memory is degraded", self.pawl("resume", "last", env={"PAWL_CGROUP": "none"}, expect=None).stderr)

    def test_a_source_below_usr_is_not_seen_wherever_the_state_lies(self):
        self.make_simple(agent="ls -A /usr/src/project > seen; ls -A /usr/src > /dev/null", gate="test -e seen && ! test -s seen")
        text = (self.root / "plan.yaml").read_text()
        self.assertIn("path: source", text)
        self.write("plan.yaml", text.replace("path: source", "path: /usr/src/project"))
        script = ("mount -t tmpfs t /usr/src && cp -r source /usr/src/project && test -e /usr/src/project/file && "
                  f"{PAWL} run plan.yaml --dir {self.root}/state; echo code $?")
        done = subprocess.run(["unshare", "-Urm" if os.geteuid() else "-m", "sh", "-c", script], cwd=self.root,
                              capture_output=True, text=True, timeout=TIMEOUT_S)
        self.assertIn("code 0", done.stdout, done.stdout + done.stderr)

    def test_a_whole_machine_has_nothing_to_say(self):
        self.make_simple(agent="echo more >> file", gate="grep -q more file")
        health = self.pawl_json("sandbox", "health")["backends"][0]["mechanisms"]
        missed = [m["name"] for m in health if m["status"] == "degraded"]
        done = self.pawl("run", "plan.yaml")
        self.assertEqual([line.split()[1] for line in done.stderr.splitlines()], missed)

    def test_who_lives_in_another_pid_namespace_is_not_taken_for_dead(self):
        self.make_simple(agent="echo begun; sleep 4; echo more >> file", gate="grep -q more file")
        first = self.start("run", "plan.yaml")
        self.wait_until(lambda: "begun" in self.pawl("logs", "last", "p1", expect=None).stdout, "the agent has begun")
        alone = ["unshare", "--pid", "--fork", "--mount-proc"] if os.geteuid() == 0 else ["unshare", "-Ur", "--pid", "--fork", "--mount-proc"]
        second = subprocess.run([*alone, PAWL, "resume", "last"], cwd=self.root, capture_output=True, text=True, timeout=TIMEOUT_S)
        self.assertEqual(second.returncode, 0, second.stdout + second.stderr)
        self.assertNotIn("goes on", second.stdout)
        self.assertEqual(first.wait(timeout=TIMEOUT_S), 0)
        attempts = self.pawl_json("inspect", "last")["phases"][0]["attempts"]
        self.assertEqual([[step["execution"] for step in attempt["steps"]] for attempt in attempts], [[1, 1]])
        self.assertEqual(self.pawl_json("stats", "last")["refusals"], [])

    def test_without_namespaces_no_attempt_is_spent(self):
        self.make_mend()
        script = f"echo 0 > /proc/sys/user/max_user_namespaces; {PAWL} run plan.yaml; echo code $?"
        done = subprocess.run(["unshare", "-Ur", "sh", "-c", script], cwd=self.root, capture_output=True, text=True, timeout=TIMEOUT_S)
        self.assertIn("code 1", done.stdout, done.stderr)
        self.assertIn("no sandbox can be made here", done.stderr)
        self.assertIn("pawl sandbox health", done.stderr)
        phase = self.pawl_json("inspect", "last")["phases"][0]
        self.assertEqual(phase["attempts"], [])
        self.pawl("resume", "last", expect=0)

    def test_where_only_a_part_of_a_sandbox_can_be_made_no_attempt_is_spent(self):
        self.make_simple(gate="true")
        # The kernel shows no fresh /proc to a namespace whose own /proc is covered in places, as those of
        # containers are.
        script = f"mount --bind /dev/null /proc/keys && {PAWL} run plan.yaml; echo code $?"
        done = subprocess.run(["unshare", "-m", "sh", "-c", script], cwd=self.root, capture_output=True, text=True, timeout=TIMEOUT_S)
        self.assertIn("code 1", done.stdout, done.stderr)
        self.assertRegex(done.stderr, "no sandbox can be made here: proc .*: Operation not permitted")
        self.assertEqual(self.pawl_json("inspect", "last")["phases"][0]["attempts"], [])
        self.pawl("resume", "last")

    def run_listened_to(self, *args, expect):
        # The kernel gives no second listener to a process that has one already (seccomp(2)).
        done = subprocess.run([PAWL, *args], cwd=self.root, capture_output=True, text=True, timeout=TIMEOUT_S,
                              preexec_fn=be_listened_to)
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done

    def test_a_trace_that_cant_be_had_is_told_before_an_attempt_is_spent(self):
        self.make_simple(gate="true")
        plan = self.root / "plan.yaml"
        plan.write_text(plan.read_text().replace("{name: unit,", "{name: unit, trace: true,"))
        done = self.run_listened_to("run", "plan.yaml", expect=1)
        self.assertIn("gate check, step unit: trace: trace_unavailable", done.stderr)
        self.assertEqual(self.pawl_json("inspect", "last")["phases"][0]["attempts"], [])
        self.pawl("resume", "last")

    def test_a_trace_that_only_a_later_run_asks_for_is_told_as_well(self):
        self.make_simple(agent="sleep 1", gate="true")
        begun = self.start("run", "plan.yaml")
        self.wait_for_step("the agent runs")
        self.kill_all(begun)
        untraced = self.run_id()
        plan = self.root / "plan.yaml"
        plan.write_text(plan.read_text().replace("{name: unit,", "{name: unit, trace: true,"))
        self.run_listened_to("run", "plan.yaml", expect=1)  # the run is made, and no phase of it is claimed
        traced = next(run["run_id"] for run in self.pawl_json("status")["runs"] if run["run_id"] != untraced)
        said = self.run_listened_to("resume", untraced, traced, expect=1).stderr
        self.assertIn(f"run {traced}: gate check, step unit: trace: trace_unavailable", said)
        self.assertEqual(self.pawl_json("inspect", traced)["phases"][0]["attempts"], [])
        self.run_listened_to("resume", untraced, expect=0)
        self.pawl("resume", traced)

    def test_a_run_waits_while_no_sandbox_can_be_made_and_spends_no_attempt(self):
        self.make_simple(phases=2, gate="echo at work; sleep 3")
        self.write("sabotage.sh", f"""\
limit=/proc/sys/user/max_user_namespaces
{PAWL} run plan.yaml >log 2>&1 &
until cat source/.pawl/spool/*/output 2>/dev/null | grep -q "at work"; do sleep 0.05; done  # the gate of p1
before=$(cat $limit)
echo 0 >$limit
until grep -q waiting log; do sleep 0.05; done
echo $before >$limit
wait $!
echo code $?
cat log
""")
        done = subprocess.run(["unshare", "-Ur", "sh", "sabotage.sh"], cwd=self.root, capture_output=True, text=True,
                              timeout=TIMEOUT_S)
        self.assertIn("code 0\n", done.stdout, done.stderr)
        self.assertIn("\nwaiting: no sandbox can be made here", done.stdout)
        phases = self.pawl_json("status", "last")["phases"]
        self.assertEqual([(phase["outcome"], phase["attempts_total"]) for phase in phases], [("passed", 1)] * 2)

    def test_an_ordinary_user_needs_nothing_else(self):
        self.make_mend()
        if os.geteuid() != 0:
            return self.test_an_agent_fails_a_gate_reads_why_and_mends_it()
        for part in ("", "-supervisor", "-engine", "-reader"):  # the build may lie where only root can read
            shutil.copy(f"{PAWL}{part}", self.root)
        for path in [self.root, *self.root.rglob("*")]:
            os.chown(path, 1234, 1234, follow_symlinks=False)

        def run(*args):
            return subprocess.run(["setpriv", "--reuid=1234", "--regid=1234", "--clear-groups", self.root / "pawl", *args],
                                  cwd=self.root, capture_output=True, text=True, timeout=TIMEOUT_S)

        done = run("run", "plan.yaml")  # with the HOME of root, which this user can't read
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        for command in ("diff", "verify", "inspect", "apply"):
            done = run(command, "last")
            self.assertEqual(done.returncode, 0, command + done.stderr)

    def test_sandbox_exec_that_is_interrupted_leaves_nothing(self):
        (self.root / "tmp").mkdir()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            process = subprocess.Popen([PAWL, "sandbox", "exec", "--json", "--", "sh", "-c", "echo begun; sleep 100"],
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                       env={**os.environ, "TMPDIR": str(self.root / "tmp")})
            self.assertEqual(process.stdout.readline(), "begun\n")
            process.send_signal(number)
            _, words = process.communicate(timeout=TIMEOUT_S)
            self.assertEqual(process.returncode, 130)
            run = json.loads(words.splitlines()[-1])
            self.assertEqual(run["reason"], "cancelled")
            self.assertEqual(self.our_cgroups([run["run_id"]]), [])
            self.assertEqual(list((self.root / "tmp").iterdir()), [])

    def test_sandbox_exec_and_health(self):
        self.write("base/file", "old\n")
        done = self.pawl("sandbox", "exec", "--workspace", "base", "--copy-out", "out", "--", "sh", "-c",
                         "cat file; echo new > file; echo e >&2; exit 3", expect=3)
        self.assertEqual((done.stdout, done.stderr), ("old\n", "e\n"))
        self.assertEqual((self.root / "base/file").read_text(), "old\n")
        self.assertEqual((self.root / "out/file").read_text(), "new\n")
        done = self.pawl("sandbox", "exec", "--time-budget-seconds=1", "--", "sleep", "10", expect=124)
        self.assertIn("timed_out", done.stderr)
        for bad in (["--egress", "a:443"], ["--network", "scoped"], ["--network", "scoped", "--egress", "a"]):
            self.assertIn("egress", self.pawl("sandbox", "exec", *bad, "--", "true", expect=2).stderr)
        for bad, said in ((["--nothing"], "not expected: --nothing"), (["--memory-mib=x"], "--memory-mib = x"),
                          (["--network", "all"], "not in {none,scoped}"), (["--env", "GITHUB_TOKEN"], "--env GITHUB_TOKEN: looks like a secret"),
                          (["--json"], "CMD is required")):
            self.assertIn(said, self.pawl("sandbox", "exec", *bad, *([] if "CMD" in said else ["true"]), expect=2).stderr)
        self.assertEqual(self.pawl("sandbox", "exec", "--", "echo", "--json").stdout, "--json\n")
        health = self.pawl_json("sandbox", "health")
        self.assertTrue(health["usable"])
        self.assertIn("memory", [m["name"] for m in health["backends"][0]["mechanisms"]])

    def test_health_says_no_when_a_wall_does_not_hold(self):
        done = self.pawl("sandbox", "health", "--json", expect=1, env={"PAWL_WALLS_OFF": "read_only"})
        health = json.loads(done.stdout)
        self.assertFalse(health["usable"])
        self.assertEqual([m["name"] for m in health["backends"][0]["mechanisms"] if m["status"] == "missing"], ["read_only"])


if __name__ == "__main__":
    unittest.main(verbosity=1)
