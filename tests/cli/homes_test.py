#!/usr/bin/env python3
"""HOME of agents: one folder an episode, for all its executions, and never a part of the work."""

import shutil

import at_once
from pawl_runs import WithRun
from pawl_testing import TIMEOUT_S

# Prints what HOME has. The first execution of the first attempt then waits to be killed.
AGENT = """\
echo "home [$(ls -A ~)] $HOME $(stat -c %U ~)"
if [ $PAWL_ATTEMPT = 1 ] && [ ! -e ~/session ]; then
  mkdir -p ~/closed/below; chmod 0 ~/closed; ln -s /workspace/file ~/link; echo paid >~/session; sleep 60
fi
echo $PAWL_ATTEMPT >made"""
GATE = """echo "gate [$(ls -A ~)] $HOME"; echo gate >~/session; [ ! -e session ] && grep -q 2 made"""


class Homes(WithRun):
    def make(self, agent=AGENT, gate=GATE, **top):
        self.make_simple(agent=agent, gate=gate, max_attempts=2, **top)
        self.commit_all("source")

    def homes(self):
        return sorted(self.root.glob("source/.pawl/homes/*"))

    def sessions(self):
        return [path.read_text() for path in self.root.glob("source/.pawl/homes/*/*/session")]

    def start_and_wait(self):
        run = self.start("run", "plan.yaml")
        self.wait_until(lambda: self.sessions() == ["paid\n"], "the agent is at work")
        return run

    def gc(self, *args):
        return self.pawl_json("gc", "--older-than", "0s", *args)

    def assert_kept_by_the_second_execution_alone(self):
        [phase] = self.pawl_json("status", "last")["phases"]
        self.assertEqual((phase["state"], phase["attempts_total"]), ("COMPLETE", 2), self.pawl("inspect", "last").stdout)
        first, second = (self.pawl("logs", "last", "p1", "--attempt", n).stdout for n in "12")
        self.assertIn("home [closed\nlink\nsession] /home/agent agent\n", first)
        self.assertIn("home [] /home/agent agent\n", second, "another attempt has a HOME of its own")
        for log in (first, second):
            self.assertIn("gate [] /home/agent\n", log)
        rows = self.chains("last")["p1"]
        self.assertEqual([row["execution"] for row in rows if row["type"] == "pre_execute" and ".agent." in row["label"]], [1, 2, 1])
        self.assertEqual(self.homes(), [])
        diff = self.pawl("diff", "last").stdout
        self.assertIn("+2\n", diff)
        self.assertNotIn("session", diff)
        self.pawl("apply", "last")
        self.assertEqual((self.root / "source/file").read_text(), "x\n")
        self.assertEqual(list((self.root / "source").glob("**/session")), [])

    def test_it_outlives_the_supervisor(self):
        self.make()
        run = self.start_and_wait()
        self.kill_supervisors()
        self.assertEqual(run.wait(timeout=TIMEOUT_S), 0)
        self.assert_kept_by_the_second_execution_alone()

    def test_it_outlives_everything_and_gc(self):
        self.make()
        self.kill_all(self.start_and_wait())
        self.assertEqual(self.sessions(), ["paid\n"])
        self.assertEqual(self.gc()["homes"], 0, "its attempt is not over")
        self.pawl("resume", "last")
        self.assert_kept_by_the_second_execution_alone()

    def test_it_outlives_the_executor_and_then_the_supervisor(self):
        self.make()
        run = self.start_and_wait()
        run.kill()
        run.wait()
        again = self.start("resume", "last")
        log = max(self.root.glob("started-*.log"))
        self.wait_until(lambda: "reattach" in log.read_text(), "it waits for the supervisor")
        self.kill_supervisors()
        self.assertEqual(again.wait(timeout=TIMEOUT_S), 0)
        self.assert_kept_by_the_second_execution_alone()

    def test_each_of_several_episodes_has_its_own(self):
        self.make(agent='echo "home [$(ls -A ~)]"; touch ~/of-$PAWL_EPISODE; sleep 0.2; echo "then [$(ls -A ~)]"', gate="false")
        text = (self.root / "plan.yaml").read_text()
        self.write("plan.yaml", text.replace("{id: p1,", "{id: p1, best_of: 3,").replace("max_attempts: 2", "max_attempts: 1"))
        self.pawl("run", "plan.yaml", "--workers", "3", expect=None)
        for episode in "123":
            self.assertIn(f"home []\nthen [of-{episode}]\n", self.pawl("logs", "last", "p1", "--episode", episode).stdout)
        self.assertEqual(self.homes(), [])

    def test_an_operator_ends_it_with_the_attempt(self):
        self.make()
        run = self.start_and_wait()
        self.pawl("cancel", "last")
        run.wait(timeout=TIMEOUT_S)
        self.assertEqual(self.homes(), [])

    def test_an_operator_ends_it_with_the_phase_when_no_agent_runs(self):
        for verb in ("cancel", "skip"):
            with self.subTest(verb):
                shutil.rmtree(self.root / "source", ignore_errors=True)
                self.make(agent="touch ~/session; exit 1", on_retry="continue")
                self.pawl("run", "plan.yaml", expect=-9, env={
                    "PAWL_CRASH_ROLE": "executor", "PAWL_CRASH_AT": "1", "PAWL_CRASH_COUNT": str(self.root / verb),
                    "PAWL_CRASH_LABEL": "store.finish.after_commit"})
                self.assertEqual(len(self.homes()), 1)
                self.pawl(verb, "last")
                self.assertEqual(self.homes(), [])

    def test_gc_takes_what_a_crash_left(self):
        self.make(agent="mkdir -p ~/a/b; touch ~/a/b/c; chmod 0 ~/a; ln -s / ~/root; chmod 0 ~; echo 2 >made")
        crash = {"PAWL_CRASH_ROLE": "executor", "PAWL_CRASH_COUNT": str(self.root / "count"), "PAWL_CRASH_AT": "1",
                 "PAWL_CRASH_LABEL": "store.finish.after_commit"}
        self.pawl("run", "plan.yaml", expect=-9, env=crash)
        self.assertEqual([home.name for home in self.homes()], [self.run_id() + ".p1.1"])
        outside = self.root / "outside"
        outside.mkdir()
        (outside / "file").write_text("stays")
        (self.root / "source/.pawl/homes/unknown.p1.1").mkdir()
        (self.root / "source/.pawl/homes/unknown.p1.1/link").symlink_to(outside)
        self.assertEqual((self.gc("--dry-run")["homes"], len(self.homes())), (2, 2))
        self.assertEqual((self.gc()["homes"], self.homes()), (2, []))
        self.assertEqual((outside / "file").read_text(), "stays")

    def test_it_counts_against_the_disk_limit(self):
        self.make(agent="head -c 20000000 /dev/zero >~/large; sleep 60", gate="true", sandbox="{disk_limit_mib: 8}")
        self.pawl("run", "plan.yaml", expect=None)
        outcomes = {row["outcome"] for row in self.chains("last")["p1"] if row["type"] == "executed"}
        self.assertEqual(outcomes, {"disk_limit"})
        self.assertEqual(self.homes(), [])

    def test_sandbox_exec_has_an_empty_one(self):
        for words in ((), ("--workspace", "source")):
            self.write("source/file", "x\n")
            done = self.pawl("sandbox", "exec", *words, "--", "sh", "-c", "echo $HOME; ls -A ~; touch ~/file && ls -A ~")
            self.assertEqual(done.stdout, "/home/agent\nfile\n")

    def test_only_its_owner_can_enter_the_folder_of_all(self):
        self.make()
        run = self.start_and_wait()
        for folder in (self.root / "source/.pawl/homes", *self.homes()):
            self.assertEqual(folder.stat().st_mode & 0o777, 0o700, folder)
        self.kill_all(run)


if __name__ == "__main__":
    at_once.main()
