#!/usr/bin/env python3
"""State folders and sources of another user or of a group: only root can make them."""

import os
import shutil
import stat
import subprocess

import at_once
from pawl_runs import WithRun
from pawl_testing import PAWL, TIMEOUT_S, plan


class AsRoot(WithRun):
    def setUp(self):
        super().setUp()
        self.assertEqual(os.geteuid(), 0, "only root can give files to others: docs/testing.md has what needs root")


class Groups(AsRoot):
    """A folder that a team shares gives its group to files made in it (the set-group-ID bit)."""

    def shared(self, path):
        os.chown(path, 0, 50)
        path.chmod(0o2775)

    def test_the_workspace_of_a_shared_folder_can_be_written(self):
        self.make_simple(agent="echo 2 >file && echo 1 >new && mkdir folder")
        self.shared(self.root)
        self.shared(self.root / "source")
        self.pawl("run", "plan.yaml")

    def test_one_that_was_made_before_can_be_too(self):
        self.make_simple(agent="echo 2 >file && mkdir folder")
        self.pawl("run", "plan.yaml")
        for path in (".pawl", ".pawl/objects", ".pawl/objects/bases", ".pawl/objects/tmp", ".pawl/objects/layers", ".pawl/work", ".pawl/spool"):
            if (self.root / "source" / path).exists():
                self.shared(self.root / "source" / path)
                (self.root / "source" / path).chmod(0o2755)  # a folder that others can write is refused
        self.write("source/file", "another\n")
        self.pawl("run", "plan.yaml")


class Devices(AsRoot):
    """Nodes of this test's own: a command that replaced the machine's would harm everybody."""

    def test_an_output_file_that_is_a_device_is_written_and_stays(self):
        self.make_simple()
        self.pawl("run", "plan.yaml")
        nothing, full, link = (self.root / name for name in ("nothing", "full", "link"))
        os.mknod(nothing, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        os.mknod(full, stat.S_IFCHR | 0o666, os.makedev(1, 7))
        link.symlink_to(nothing.name)
        for command in ("attest", "report"):
            for options in ((), ("--force",)):
                with self.subTest(command, options=options):
                    self.pawl(command, "last", "-o", nothing, *options)
                    self.pawl(command, "last", "-o", link, *options)
                    self.assertIn("No space left", self.pawl(command, "last", "-o", full, *options, expect=1).stderr)
                    self.assertTrue(nothing.is_char_device() and full.is_char_device() and link.is_symlink())


class Owners(AsRoot):
    """Root uses a state folder that a user made, as `sudo pawl` does."""

    USER = 1234

    def setUp(self):
        super().setUp()
        folder = self.root / "bin"
        folder.mkdir()
        for name in ("pawl", "pawl-engine", "pawl-supervisor", "pawl-reader"):
            shutil.copy(os.path.join(os.path.dirname(PAWL), name), folder)
        self.root.chmod(0o755)
        self.make_simple(agent="echo 2 >file")
        for path in (self.root / "source", *self.root.glob("source/**/*"), self.root / "plan.yaml", self.root):
            os.chown(path, self.USER, self.USER)

    def pawl_of_user(self, *args):
        done = subprocess.run([self.root / "bin/pawl", *args], cwd=self.root, user=self.USER, group=self.USER, extra_groups=[], timeout=TIMEOUT_S,
                              capture_output=True, text=True, env={"PATH": os.environ["PATH"], "HOME": "/tmp"})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def test_a_step_that_takes_the_rights_from_its_folder_is_kept(self):
        for mode in ("000", "555", "111"):
            self.write("plan.yaml", plan(agent=f"touch file; echo {mode} >new; chmod {mode} ."))
            self.pawl_of_user("run", "plan.yaml")
            self.assertIn(f"+{mode}", self.pawl_of_user("diff", "last"))

    def test_it_is_told_whose_it_is_and_how_to_take_it_over(self):
        self.pawl_of_user("run", "plan.yaml")
        said = self.pawl("run", "plan.yaml", expect=1).stderr
        self.assertIn("belongs to uid 1234", said)
        command = said[said.index("`") + 1:said.rindex("`")]
        subprocess.run(command, shell=True, check=True)
        self.assertEqual(len(self.pawl_json("status")["runs"]), 1, "no run was begun")
        self.pawl("run", "plan.yaml")

    def test_root_applies_nothing_to_a_repository_of_theirs(self):
        def whose():
            return {path: path.lstat().st_uid for path in self.root.glob("source/.git/**/*")}

        subprocess.run(["chown", "-R", "0:0", "source"], cwd=self.root, check=True)
        self.commit_all("source")
        subprocess.run(["chown", "-R", f"{self.USER}:{self.USER}", "source"], cwd=self.root, check=True)
        self.pawl("run", "plan.yaml")
        before = whose()
        said = self.pawl("apply", "last", expect=1).stderr
        self.assertIn("belongs to uid 1234", said)
        self.assertEqual(whose(), before, "nothing was written")
        command = said[said.index("`") + 1:said.rindex("`")]
        self.assertIn("sudo -u '#1234' pawl apply ", command)
        as_user = command.replace("sudo -u '#1234' pawl", f"setpriv --reuid=1234 --regid=1234 --clear-groups {self.root}/bin/pawl")
        subprocess.run(as_user, shell=True, cwd=self.root, check=True)
        self.assertEqual(set(whose().values()), {self.USER})
        self.assertGreater(len(whose()), len(before))

    def test_a_run_of_theirs_is_not_resumed_as_somebody_else(self):
        self.write("plan.yaml", plan(agent="exit 1", budget="{sandbox_seconds: 1}").replace("exit 1", "sleep 1.2"))
        os.chown(self.root / "plan.yaml", self.USER, self.USER)
        subprocess.run([self.root / "bin/pawl", "run", "plan.yaml"], cwd=self.root, user=self.USER, group=self.USER, extra_groups=[],
                       capture_output=True, timeout=TIMEOUT_S, check=False, env={"PATH": os.environ["PATH"], "HOME": "/tmp"})
        self.assertIn("belongs to uid 1234", self.pawl("resume", "last", expect=1).stderr)


if __name__ == "__main__":
    at_once.main()
