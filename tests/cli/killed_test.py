#!/usr/bin/env python3
"""kill -9 of a process that hosts a sandbox without a marker, and of a run in another login. The next run,
resume or gc removes what is left, and touches no living process."""

import os
import pathlib
import signal
import subprocess
import unittest

from pawl_runs import WithRun

CGROUPS = pathlib.Path("/sys/fs/cgroup")
HIERARCHIES = [CGROUPS] if (CGROUPS / "cgroup.controllers").exists() else [CGROUPS / name for name in ("memory", "pids", "cpu")]


def cgroups_of(pid):
    """Folders of sandboxes' cgroups in which this process is."""
    found = []
    for line in pathlib.Path(f"/proc/{pid}/cgroup").read_text().splitlines():
        _, names, path = line.split(":", 2)
        for name in names.split(",") if names else [""]:
            folder = pathlib.Path(f"{CGROUPS}/{name}/{path}")
            if folder.name.startswith("pawl-") and folder.is_dir():
                found.append(folder)
    return found


def below(pid):
    """All processes that a process started, and those that these started."""
    try:
        children = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []  # it has gone
    return [int(child) for child in children] + [each for child in children for each in below(child)]


def cgroups_below(pid):
    """The cgroups of all processes below: helpers come and go, so the place of the command among them is not known."""
    found = []
    for each in below(pid):
        try:
            found += [folder for folder in cgroups_of(each) if folder not in found]
        except OSError:
            continue  # it has gone
    return found


def is_alive(pid):
    """A zombie is not alive, nor is a process whose memory is gone already."""
    try:
        return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes() != b""
    except OSError:
        return False


class Killed(WithRun):
    def setUp(self):
        super().setUp()
        self.tmp = self.root / "tmp"
        self.tmp.mkdir()
        self.write("base/file", "x\n")
        self.make_simple()
        self.pawl("run", "plan.yaml")  # a state for gc

    def folders(self):
        return sorted(self.tmp.glob("pawl-*"))

    def start_exec(self, script, *options):
        process = self.start("sandbox", "exec", "--workspace", "base", *options, "--", "sh", "-c", f"touch up; {script}",
                             env={"TMPDIR": str(self.tmp)})
        self.wait_until(lambda: any(self.tmp.glob("pawl-*/upper/up")) or any(self.root.glob("out.*/upper/up")), "begun")
        return process, cgroups_below(process.pid)

    def kill(self, process):
        children = below(process.pid)
        process.kill()
        process.wait()
        self.wait_until(lambda: not any(pathlib.Path(f"/proc/{pid}").exists() for pid in children), "its sandbox is gone")

    def gc(self):
        self.pawl("gc", env={"TMPDIR": str(self.tmp)})

    def assert_cgroups(self, cgroups):
        if os.geteuid() == 0 and any(os.access(each, os.W_OK) for each in HIERARCHIES):
            self.assertTrue(cgroups)

    def test_exec_leaves_what_gc_takes(self):
        process, cgroups = self.start_exec("sleep 300")
        self.assert_cgroups(cgroups)
        self.kill(process)
        self.assertEqual(len(self.folders()), 1)
        self.gc()
        self.assertEqual(self.folders(), [])
        self.assertEqual([each for each in cgroups if each.exists()], [])

    def test_run_and_resume_take_it_too(self):
        for again in (["run", "plan.yaml"], ["resume", "last"]):
            process, cgroups = self.start_exec("sleep 300")
            self.kill(process)
            self.pawl(*again, env={"TMPDIR": str(self.tmp)}, expect=None)
            self.assertEqual(self.folders(), [], again)
            self.assertEqual([each for each in cgroups if each.exists()], [])

    def test_gc_takes_nothing_of_a_living_one_whose_cgroups_are_empty(self):
        process, cgroups = self.start_exec("until [ -e /workspace/end ]; do sleep 0.01; done; exit 7")
        self.assert_cgroups(cgroups)
        inside = below(process.pid)
        os.kill(process.pid, signal.SIGSTOP)  # it can't see that its command ended
        try:
            os.kill(inside[0], signal.SIGTERM)  # the init passes it on
            self.wait_until(lambda: not any(map(is_alive, inside[1:])), "its command is gone")
            self.gc()
            self.assertEqual(len(self.folders()), 1)
            self.assertEqual([each for each in cgroups if not each.exists()], [])
        finally:
            os.kill(process.pid, signal.SIGCONT)
        self.assertEqual(process.wait(timeout=30), 128 + signal.SIGTERM)
        self.assertEqual(self.folders(), [])
        self.assertEqual([each for each in cgroups if each.exists()], [])

    def test_a_copy_out_takes_what_one_to_the_same_place_left(self):
        process, _ = self.start_exec("sleep 300", "--copy-out", "out")
        self.kill(process)
        self.assertEqual(len(list(self.root.glob("out.*"))), 1)
        self.pawl("sandbox", "exec", "--copy-out", "out", "--", "touch", "made")
        self.assertEqual([each.name for each in self.root.glob("out*")], ["out"])

    def test_health_leaves_what_gc_takes(self):
        def left_by_one():
            process = self.start("sandbox", "health", env={"TMPDIR": str(self.tmp)})
            self.wait_until(lambda: self.folders() or process.poll() is not None, "begun")
            self.stop(process)
            return self.folders()
        self.wait_until(left_by_one, "killed with its folder there")

        def all_taken():  # its sandbox may still be ending, and holds the folder until then
            self.gc()
            return not self.folders()
        self.wait_until(all_taken, "taken")


class OfAnotherLogin(WithRun):
    """The run's cgroup is another one, and so is the place where it makes those of its sandboxes. A user
    who may not make a cgroup for a login has none to remove, but the rest holds."""

    def setUp(self):
        super().setUp()
        self.logins = [each / f"login-{os.getpid()}" for each in HIERARCHIES if os.access(each, os.W_OK)]
        for login in self.logins:
            login.mkdir()
            self.addCleanup(login.rmdir)
        self.addCleanup(self.kill_and_wait)  # runs before the logins are removed
        self.make_simple(agent="touch up; sleep 300")
        join = "".join(f"echo $$ >{login}/cgroup.procs; " for login in self.logins)
        with open(self.root / "run.log", "wb") as log:
            run = subprocess.Popen(["sh", "-c", f"{join}exec $0 run plan.yaml", os.environ["PAWL"]], cwd=self.root, stdout=log, stderr=log,
                                   env=self.environment({}))
        self.addCleanup(self.stop, run)
        self.wait_until(lambda: any(self.root.glob("*/.pawl/work/*/upper/up")), "at work")
        self.made = self.left()
        self.assertEqual(bool(self.made), bool(self.logins))
        self.stop(run)

    def left(self):
        return [each for login in self.logins for each in login.glob("pawl-*")]

    def kill_and_wait(self):
        self.kill_supervisors()
        self.wait_until(lambda: not self.supervisors(), "gone")

    def test_resume_takes_the_cgroups_of_a_supervisor_that_died(self):
        self.kill_and_wait()
        self.assertEqual(self.left(), self.made)
        self.start("resume", "last")
        self.wait_until(lambda: not self.left(), "its cgroups are taken")

    def test_cancel_takes_those_of_one_that_it_kills(self):
        self.pawl("cancel", "last")
        self.assertEqual(self.left(), [])


if __name__ == "__main__":
    unittest.main()
