"""Nothing leads out of a state folder, and what is read of one that can't be written."""

import os
import shutil
import sqlite3
import subprocess
import unittest

from pawl_runs import WithRun
from pawl_testing import PAWL, TIMEOUT_S, plan


class Links(WithRun):
    """What is below a state folder is read, written and removed there, and nowhere that a link leads to."""

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
                path.unlink()
                if (self.root / "kept").exists():
                    shutil.move(self.root / "kept", path)
        self.pawl("gc", "--older-than", "0s")

    def test_gc_takes_a_link_for_what_it_is(self):
        for place in ("objects/git/x", "objects/tmp/x", "objects/blobs/ab/x"):
            self.link(place)
            os.utime(self.state / place, (0, 0), follow_symlinks=False)
        self.pawl("gc", "--older-than", "0s")
        self.assert_nothing_was_touched()
        for place in ("objects/git/x", "objects/tmp/x", "objects/blobs/ab/x"):
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
        """What each command prints of source/.pawl, on a file system that is read-only, and that it changes nothing."""
        script = "mount --bind source source && mount -o remount,bind,ro source || exit 98\n"
        script += "\n".join(f"'{PAWL}' {command} --dir source/.pawl || exit 99; echo end" for command in self.COMMANDS)
        script += f"\n! '{PAWL}' cancel last --dir source/.pawl\n"
        done = subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script], cwd=self.root, capture_output=True,
                              text=True, timeout=TIMEOUT_S, env=self.environment({"TMPDIR": str(self.root / "temporary")}))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout.split("end\n")[:-1]

    def test_what_was_committed_last_is_read_where_no_log_can_be_taken_in(self):
        """After kill -9, without the file beside the log that only who has the database open needs."""
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
