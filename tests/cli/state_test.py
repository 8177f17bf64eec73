"""State folders that are trusted or refused, and what is read of one that can't be written."""

import os
import shutil
import sqlite3
import subprocess
import unittest

from pawl_runs import WithRun
from pawl_testing import PAWL, TIMEOUT_S, PawlTest, plan


OFF = {"PAWL_WALLS_OFF": "state_folder"}


class PrivateState(PawlTest):
    def others_may(self, *below):
        """The parts of the state folder, and of these folders below it, to which other users have any
        right."""
        state = self.root / "source/.pawl"
        found = [state, *state.iterdir(), *(path for part in below for path in (state / part).rglob("*"))]
        return sorted(str(path.relative_to(state)) for path in found if path.name not in (".gitignore", "ledger.pub") and path.lstat().st_mode & 0o77)

    def make(self):
        self.write("source/file", "x\n")
        self.write("plan.yaml", plan(agent="echo y >>file"))

    def test_nobody_else_reads_it_whatever_the_umask(self):
        for umask, mode in (0, 0o755), (0o022, 0o2775), (0o077, 0o755), (0o002, 0o3777), (0o177, 0o755), (0o277, 0o755):
            with self.subTest(umask=oct(umask), folder=oct(mode)):
                shutil.rmtree(self.root / "source", ignore_errors=True)
                self.make()
                (self.root / "source").chmod(mode)
                before = os.umask(umask)
                try:
                    self.pawl("run", "plan.yaml")
                finally:
                    os.umask(before)
                self.pawl("verify", "last")
                self.pawl("diff", "last")
                self.assertEqual((self.root / "source/.pawl").stat().st_mode & 0o777, 0o700)
                self.assertEqual(self.others_may("keys", "spool"), [])
                self.assertEqual((self.root / "source/.pawl/pawl.db").stat().st_mode & 0o777, 0o600)

    def test_what_others_may_read_is_taken_from_them(self):
        self.make()
        self.pawl("run", "plan.yaml")
        subprocess.run(["chmod", "-R", "go+rX", self.root / "source/.pawl"], check=True)
        self.assertIn("pawl.db", self.others_may())
        self.refused("keys/ledger.key is readable for others", "chmod 600")
        (self.root / "source/.pawl/keys/ledger.key").chmod(0o600)
        self.refused("keys/redaction.key is readable for others", "chmod 600")
        (self.root / "source/.pawl/keys/redaction.key").chmod(0o600)
        self.pawl("status")
        self.assertEqual(self.others_may(), [])
        self.pawl("run", "plan.yaml")
        self.pawl("verify", "last")

    def refused(self, *words):
        for command in (("status",), ("run", "plan.yaml"), ("gc",), ("verify", "last")):
            said = self.pawl(*command, expect=1).stderr
            for word in (*words, "so it is not used"):
                self.assertIn(word, said)
        self.pawl("verify", "last", env=OFF)  # without the defence it is used, and signs

    def test_one_that_others_can_write_is_not_used(self):
        self.make()
        self.pawl("run", "plan.yaml")
        state = self.root / "source/.pawl"
        for part in (".", "keys", "objects", "pawl.db", "keys/ledger.key"):
            mode = (state / part).stat().st_mode & 0o777
            (state / part).chmod(0o777)
            self.refused("is writable for others", "chmod -R go-w")
            (state / part).chmod(mode)
        self.pawl("verify", "last")

    def test_one_that_is_a_link_or_has_one_in_it_is_not_used(self):
        self.make()
        self.pawl("run", "plan.yaml")
        state = self.root / "source/.pawl"
        for part in (".", "keys", "objects", "work", "homes", "objects/layers", "keys/ledger.key"):
            path = state / part if part != "." else state
            elsewhere = self.root / "elsewhere"
            path.rename(elsewhere)
            path.symlink_to(elsewhere)
            self.refused("is a symbolic link")
            path.unlink()
            elsewhere.rename(path)
        self.pawl("verify", "last")

    def test_a_database_elsewhere_that_others_can_write_is_not_used(self):
        self.make()
        self.pawl("run", "plan.yaml", "--store", "sqlite:own.db")
        self.pawl("status", "--dir", "source/.pawl", "--store", "sqlite:own.db")
        (self.root / "own.db").chmod(0o666)
        for command in (("status", "--dir", "source/.pawl"), ("run", "plan.yaml")):
            self.assertIn("own.db is writable for others", self.pawl(*command, "--store", "sqlite:own.db", expect=1).stderr)
            self.pawl(*command, "--store", "sqlite:own.db", env=OFF)


class OthersState(PawlTest):
    """State folders of other runs, with names of their own, in what steps see."""
    SEES = "cat /workspace/*/keys/* /workspace/*/*/keys/* /plan/*/keys/* /plan/*/pawl.db || true; ls -R /plan /workspace; echo y >>file"

    def make(self, agent="echo y >>file", **kwargs):
        self.write("src/file", "x\n")
        self.write("plan/helper.sh", "true\n")
        self.write("plan/plan.yaml", plan(agent=agent, **kwargs).replace("{path: source", "{path: ../src"))

    def keys_of(self, state):
        return [(state / "keys" / name).read_text().strip() for name in ("ledger.key", "redaction.key")]

    def make_states(self):
        """A state folder in the folder of the plan, and copies of it in the source."""
        self.make()
        self.pawl("run", "plan/plan.yaml", "--dir", "plan/state1")
        for copy in "st8", "deep/er copy":
            shutil.copytree(self.root / "plan/state1", self.root / "src" / copy)

    def test_no_step_sees_them_and_check_and_run_name_them(self):
        self.make_states()
        self.make(agent=self.SEES, gate="for one in /plan/state1 /workspace/st8; do test ! -e $one; done")
        checked = self.pawl("check", "plan/plan.yaml").stderr
        ran = self.pawl("run", "plan/plan.yaml", "--dir", "state2").stderr
        for said in checked, ran:
            for folder in "src/st8", "src/deep/er copy", "plan/state1":
                self.assertEqual(said.count(f"{self.root / folder} is a state folder of Pawl"), 1, said)
        log = self.pawl("logs", "last", "p1", "--dir", "state2").stdout
        self.assertIn("helper.sh", log)
        for hidden in ("st8", "er copy", "state1", "objects", *self.keys_of(self.root / "plan/state1")):
            self.assertNotIn(hidden, log)

    def test_a_source_that_is_one_is_refused(self):
        self.make_states()
        text = (self.root / "plan/plan.yaml").read_text()
        for source in "state1", "../src/st8":
            self.write("plan/plan.yaml", text.replace("{path: ../src", "{path: " + source))
            self.assertIn("is a state folder of Pawl", self.pawl("run", "plan/plan.yaml", "--dir", "state2", expect=2).stderr)

    def test_work_in_a_source_with_one_is_applied_and_the_folder_stays(self):
        self.make_states()
        self.commit_all("src")
        self.pawl("run", "plan/plan.yaml", "--dir", "state2")
        self.assertNotIn("st8", self.pawl("diff", "last", "--dir", "state2").stdout)
        self.pawl("apply", "last", "--dir", "state2")
        branch = self.git("for-each-ref", "--format=%(refname)", "refs/heads/pawl", cwd="src").strip()
        self.assertEqual(self.git("diff", "--name-only", "HEAD", branch, cwd="src").split(), ["file"])


class WithState(PawlTest):
    """One state folder, and ways to bring another."""

    def setUp(self):
        super().setUp()
        self.write("source/file", "x\n")
        # Without the repository that a step gets: git takes one in a tracked folder for a submodule.
        self.write("plan.yaml", plan(agent="echo y >>file", git="none"))
        self.pawl("run", "plan.yaml")
        self.state = self.root / "source/.pawl"

    @staticmethod
    def make_private(state):
        for path in (state, *state.rglob("*")):
            if not path.is_symlink():
                path.chmod(0o700 if path.is_dir() else 0o600)

    def refused(self, state, *words):
        """Each command refuses the folder. Returns its message."""
        self.write("other.yaml", plan().replace("path: source", "path: other"))
        self.write("other/file", "x\n")
        for command in (("status",), ("verify", "--all"), ("gc",), ("run", "other.yaml"), ("migrate", "status"), ("agentd",)):
            said = self.pawl(*command, "--dir", state, expect=1).stderr
            for word in (*words, "so it is not used"):
                self.assertIn(word, said)
        self.pawl("verify", "--all", "--dir", state, env=OFF)
        return said


class Tracked(WithState):
    """Whatever the form in which git has a state folder: it is found and not used."""

    def there(self, *options, files=()):
        """Makes a repository with the state folder of `source`."""
        there = self.root / "there"
        shutil.rmtree(there, ignore_errors=True)
        shutil.copytree(self.root / "source", there)
        (there / ".pawl/.gitignore").unlink()
        for name in (".editorconfig", ".paw", ".pawl-not", *files):
            (there / name).write_text("x\n")
        self.git("init", "-q", *options, cwd="there")
        self.commit_all("there")
        return there

    def clone(self, *options, umask=0o022):
        here = self.root / "here"
        shutil.rmtree(here, ignore_errors=True)
        before = os.umask(umask)
        try:
            self.git("-c", "protocol.file.allow=always", "clone", "-q", *options, "there", "here")
        finally:
            os.umask(before)
        return here

    def found_then_forgotten(self, tree):
        state = tree / ".pawl"
        self.make_private(state)
        self.refused(state, "is tracked by git")
        self.git("rm", "-r", "-q", "--cached", ".pawl", cwd=tree)
        self.pawl("verify", "--all", "--dir", state)

    def test_in_a_clone_in_each_format_of_an_index(self):
        for objects in ("sha1", "sha256"):
            self.there(f"--object-format={objects}")
            for version in (2, 3, 4):
                for split in ("no", "yes", "in steps"):
                    with self.subTest(objects=objects, version=version, split=split):
                        here = self.clone()
                        self.git("update-index", "--index-version", str(version), cwd=here)
                        if version == 3:  # git writes this version when it needs it
                            self.write("here/later", "x\n")
                            self.git("add", "-N", "later", cwd=here)
                        if split != "no":
                            self.git("update-index", "--split-index", cwd=here)
                        if split == "in steps":
                            self.git("rm", "-q", "--cached", "file", cwd=here)
                        self.found_then_forgotten(here)

    def test_in_a_worktree_and_in_a_submodule(self):
        self.there()
        here = self.clone()
        self.git("worktree", "add", "-q", "../tree", cwd=here)
        self.found_then_forgotten(self.root / "tree")
        self.git("init", "-q", "outer")
        self.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../there", "inner", cwd="outer")
        self.found_then_forgotten(self.root / "outer/inner")
        self.git("worktree", "add", "-q", "../split", cwd=here)
        self.git("update-index", "--split-index", cwd="split")
        self.found_then_forgotten(self.root / "split")

    def test_below_another_work_tree(self):
        there = self.there()
        shutil.copytree(there / ".pawl", there / "below/a/.pawl")
        self.commit_all("there")
        here = self.clone()
        self.git("init", "-q", "below", cwd=here)
        self.make_private(here / "below/a/.pawl")
        self.refused(here / "below/a/.pawl", "is tracked by git")

    def test_as_a_submodule_of_its_own(self):
        there = self.there()
        shutil.move(there / ".pawl", self.root / "own")
        self.commit_all("own")
        self.commit_all("there")
        self.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../own", ".pawl", cwd="there")
        self.commit_all("there")
        here = self.clone("--recurse-submodules")
        self.assertTrue((here / ".pawl/pawl.db").exists())
        self.make_private(here / ".pawl")
        self.refused(here / ".pawl", "is tracked by git")
        (here / ".pawl/.git").unlink()
        self.refused(here / ".pawl", "is tracked by git")

    def test_with_a_folder_of_a_submodule_in_it(self):
        there = self.there()
        self.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},.pawl/keys/here", cwd=there)
        self.git("commit", "-q", "-m", "empty", cwd=there)
        for umask in (0o022, 0o077):
            here = self.clone(umask=umask)
            self.assertEqual(list((here / ".pawl/keys/here").iterdir()), [])
            self.make_private(here / ".pawl")
            self.refused(here / ".pawl", "is tracked by git")

    def test_an_index_that_is_none_is_named(self):
        self.there()
        here = self.clone()
        (here / ".git/index").write_bytes((here / ".git/index").read_bytes()[:-30])
        self.make_private(here / ".pawl")
        self.assertIn("is no index of git", self.pawl("status", "--dir", here / ".pawl", expect=1).stderr)

    def test_a_copy_is_used(self):
        shutil.copytree(self.state, self.root / "copy")
        self.pawl("verify", "--all", "--dir", "copy")

    def test_what_is_not_tracked_is_used(self):
        """Beside tracked names that begin alike, and in a worktree whose repository is missing."""
        self.git("init", "-q", cwd="source")
        self.write("source/.pawlx/file", "x\n")
        self.commit_all("source")
        self.pawl("verify", "--all", "--dir", self.state)
        shutil.rmtree(self.root / "source/.git")
        self.write("source/.git", "gitdir: /nowhere/at/all\n")
        self.pawl("verify", "--all", "--dir", self.state)


class Links(WithRun):
    """Files below a state folder are read, written and removed there, and never where a link leads."""

    def setUp(self):
        super().setUp()
        self.make_simple(agent="echo said; echo y >>file")
        self.pawl("run", "plan.yaml")
        self.state = self.root / "source/.pawl"
        self.write("elsewhere/precious", "x\n")

    def link(self, place):
        path = self.state / place
        if path.exists():
            shutil.move(path, self.root / "kept")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(self.root / "elsewhere")
        return path

    def assert_nothing_was_touched(self):
        self.assertEqual([path.name for path in (self.root / "elsewhere").iterdir()], ["precious"])

    def test_gc_takes_nothing_away_through_one(self):
        for args in (("--dry-run",), ()):
            for place in ("objects/blobs/ab", "objects/blobs/" + next((self.state / "objects/blobs").iterdir()).name):
                path = self.link(place)
                said = self.pawl("gc", "--older-than", "0s", *args, expect=1).stderr
                self.assertIn(place + ": a symbolic link", said)
                self.assert_nothing_was_touched()
                self.pawl("gc", "--older-than", "0s", *args, env={"PAWL_WALLS_OFF": "beneath"})
                self.assertEqual((self.root / "elsewhere/precious").exists(), bool(args), "without the defence it is gone")
                self.write("elsewhere/precious", "x\n")
                path.unlink()
                if (self.root / "kept").exists():
                    shutil.move(self.root / "kept", path)
        self.pawl("gc", "--older-than", "0s")

    def test_gc_takes_a_link_for_what_it_is(self):
        places = ("objects/git/x", "objects/tmp/x", "objects/tmp/object.abcdef", "objects/blobs/ab/x")
        for place in places:
            self.link(place)
            os.utime(self.state / place, (0, 0), follow_symlinks=False)
        self.pawl("gc", "--older-than", "0s")
        self.assert_nothing_was_touched()
        for place in places:
            self.assertFalse((self.state / place).is_symlink(), place)

    def test_no_log_is_kept_through_one(self):
        shutil.rmtree(self.state / "objects/blobs")
        (self.state / "objects/blobs").mkdir()
        for number in range(256):
            (self.state / f"objects/blobs/{number:02x}").symlink_to(self.root / "elsewhere")
        self.write("plan.yaml", plan(agent="date +%N; head -c 99 /dev/urandom | base64"))
        self.assertIn("is a symbolic link", self.pawl("run", "plan.yaml", expect=None).stderr)
        self.assert_nothing_was_touched()

    def test_no_row_is_written_through_one(self):
        self.write("plan.yaml", plan(gate="false", max_attempts=1))
        self.pawl("run", "plan.yaml", expect=None)
        run = self.run_id()
        for place, verb in ((f"runs/{run}/phases", "retry"), (f"runs/{run}/phases/p1", "skip")):
            path = self.link(place)
            self.assertIn("a symbolic link", self.pawl(verb, "last", "p1", expect=1).stderr)
            self.assert_nothing_was_touched()
            path.unlink()
            shutil.move(self.root / "kept", path)
        own = self.state / f"runs/{run}/run.jsonl"
        before = own.read_text()
        own.rename(self.root / "elsewhere/precious")
        own.symlink_to(self.root / "elsewhere/precious")
        self.pawl("retry", "last", "p1")
        self.assertEqual((self.root / "elsewhere/precious").read_text(), before)
        self.assertFalse(own.is_symlink())
        self.assertTrue(own.read_text().startswith(before))


class ReadOnly(WithRun):
    COMMANDS = ("status", "status last", "budget last", "verify last", "cost", "logs last p1")

    def read(self):
        """The output of each command for source/.pawl, on a read-only file system, where it changes no
        file."""
        script = "mount --bind source source && mount -o remount,bind,ro source || exit 98\n"
        script += "\n".join(f"'{PAWL}' {command} --dir source/.pawl || exit 99; echo end" for command in self.COMMANDS)
        script += f"\n! '{PAWL}' cancel last --dir source/.pawl\n"
        done = subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script], cwd=self.root, capture_output=True,
                              text=True, timeout=TIMEOUT_S, env=self.environment({"TMPDIR": str(self.root / "temporary")}))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout.split("end\n")[:-1]

    def test_what_was_committed_last_is_read_where_no_log_can_be_taken_in(self):
        """After kill -9, without the file beside the log that only a process with the open database needs."""
        (self.root / "temporary").mkdir()
        self.make_simple(agent="echo said; sleep 60 || true")
        run = self.start("run", "plan.yaml")
        self.wait_for_step("the agent runs")
        self.kill_all(run)
        state = self.root / "source/.pawl"
        self.assertGreater((state / "pawl.db-wal").stat().st_size, 0)
        (state / "pawl.db-shm").unlink()
        before = {path: path.stat().st_mtime_ns for path in state.rglob("*")}
        read = self.read()
        self.assertEqual({path: path.stat().st_mtime_ns for path in state.rglob("*")}, before)
        self.assertEqual(list((self.root / "temporary").iterdir()), [], "no copy is left")
        self.assertEqual(read, [self.pawl(*command.split(), "--dir", "source/.pawl").stdout for command in self.COMMANDS])
        with sqlite3.connect(state / "pawl.db") as db:
            self.assertEqual(db.execute("SELECT state FROM runs").fetchall(), [("EXECUTING",)])
        db.close()


if __name__ == "__main__":
    unittest.main()
