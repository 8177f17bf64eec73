#!/usr/bin/env python3
"""`git: history`: each step sees the source's commits, all of its objects read-only, and nothing else of its repository."""

import os
import shutil

import at_once
from pawl_runs import WithRun
from pawl_testing import plan

LOOK = "git log --format='%s|%h' | tee; git blame -s file | cut -d' ' -f1,3; git show HEAD~2:file; git diff HEAD~1 --stat; git status --porcelain"
# Says the commit that it begins with, before and after a crash.
SAY = 'echo "head $(git rev-parse HEAD) of [$(git log --format=%s HEAD~1 | tr "\\n" " ")]"'


class History(WithRun):
    def git(self, *args, cwd="source"):
        return super().git(*args, cwd=cwd)

    def make(self, source="{path: source, ref: main}", **kwargs):
        if not (self.root / "source").exists():
            for text in ("one\n", "one\ntwo\n", "one\ntwo\nthree\n"):
                self.write("source/file", text)
                self.commit_all("source")
        self.write("plan.yaml", plan(**{"git": "history", **kwargs}).replace("{path: source}", source))

    def log(self, run="last"):
        return self.pawl("logs", run, "p1").stdout

    def said(self, word, run="last"):
        return [line for line in self.log(run).splitlines() if line.startswith(f"{word} ")]

    def id(self, name, cwd="source"):
        return self.git("rev-parse", name, cwd=cwd).strip()

    def test_agents_and_gates_see_the_sources_commits(self):
        self.make(agent=f"{LOOK}; echo four >>file; git commit -qam work; git diff HEAD~2 --stat", gate=f"{LOOK}; git log --format=%H -1 HEAD~1")
        self.pawl("run", "plan.yaml")
        log = self.log()
        for name in ("HEAD", "HEAD~1", "HEAD~2"):
            self.assertEqual(log.count(f"base|{self.id(name)[:7]}\n"), 2, log)
            self.assertGreaterEqual(log.count(self.id(name)[:7]), 4, "a line of `git blame`, too")
        self.assertEqual(log.count(" file | 1 +\n"), 2, "the agent's commit, and the work in a gate")
        self.assertIn(f"{self.id('HEAD')}\n", log, "the parent of what a gate judges")
        self.pawl("verify", "last")

    def test_the_folder_with_what_is_not_committed(self):
        self.make("{path: source}", agent="git show HEAD --format=%s; git status --porcelain")
        self.write("source/file", "uncommitted\n")
        self.pawl("run", "plan.yaml")
        self.assertIn("+uncommitted\n", self.log())

    def test_nothing_but_objects_is_shown_and_nothing_can_be_written(self):
        self.make(agent="cd /pawl-git; ls -A . 0/info; { find . | grep -E 'config|hooks|HEAD|alternates'; grep -rl secret-of-config . /workspace/.git; } || true; "
                        "git -C /workspace config -l; for at in . 0 0/info 0/pack; do ! sh -c \": >$at/new\" 2>&1 || exit 9; done; echo written nowhere")
        self.git("remote", "add", "origin", "https://me:secret-of-config@example.org/x")
        self.write("source/.git/hooks/post-checkout", "#!/bin/sh\ntouch ran\n", 0o755)
        self.write("source/.git/objects/info/commit-graph", "a file of info\n")
        self.pawl("run", "plan.yaml")
        log = self.log()
        self.assertIn("0/info:\n", log)
        for word in ("hook", "remote", "secret", "alternates", "commit-graph"):
            self.assertNotIn(word, log)
        self.assertIn("written nowhere\n", log)

    def test_kill_9_and_resume_give_the_same(self):
        self.make(agent=f"{SAY}; sleep 60 || true; {SAY}; {LOOK}", gate=SAY)
        run = self.start("run", "plan.yaml")
        self.wait_for_sleep("p1.agent")
        self.wait_for_output("head ", "p1.agent")
        first = self.id("HEAD")
        self.kill_all(run)
        self.write("source/file", "later\n")
        self.commit_all("source")
        self.git("gc", "-q", "--prune=now")
        again = self.start("resume", "last")
        self.wake("p1.agent")
        self.assertEqual(again.wait(timeout=240), 0)
        said = self.said("head")
        self.assertEqual(len(said), 4, "of the lost execution, twice of the next one, and of the gate")
        self.assertEqual(len(set(said)), 1, said)
        self.assertIn("of [base base base ]", said[0])
        self.assertIn(first[:7], self.log())
        begun = [row["sandbox_spec_hash"] for row in self.chains("last")["p1"] if row["type"] == "pre_execute" and "agent" in row["label"]]
        self.assertEqual((len(begun), len(set(begun))), (2, 1), "the specification names the commit")

    def test_a_retry_and_a_fork_begin_with_the_same_commit(self):
        self.make(agent=f"{SAY}; echo x >x", gate=f"{SAY}; [ -s /workspace/never ]", max_attempts=2)
        self.pawl("run", "plan.yaml", expect=None)
        self.git("commit", "-q", "--allow-empty", "-m", "later")
        self.pawl("fork", "last", "--from", "p1")
        self.pawl("resume", "last", expect=None)
        runs = [run["run_id"] for run in self.pawl_json("status")["runs"]]
        self.assertEqual(len(runs), 2)
        said = [line for run in runs for line in self.said("head", run)]
        self.assertEqual({line.split(" of ")[1] for line in said}, {"[base base base ]"})
        self.assertEqual(len(set(said)), 2, "that of agents, and that of the work")

    def test_a_gate_runs_on_base_again_when_the_parent_is_another(self):
        self.make(files="[plan.yaml]")
        counts = []
        self.write("plan.yaml", (self.root / "plan.yaml").read_text().replace(", baseline: none", ""))
        for message in ("", "", "empty"):
            if message:
                self.git("commit", "-q", "--allow-empty", "-m", message)
            self.pawl("run", "plan.yaml")
            counts.append(sum("@base" in row["label"] for row in self.chains(self.run_id())["p1"] if row["type"] == "pre_execute"))
        self.assertEqual(counts, [1, 0, 1])

    def test_what_an_agent_writes_to_alternates_shows_no_more(self):
        self.write("other/secret", "of another repository\n")
        self.commit_all("other")
        secret = self.id("HEAD", cwd="other")
        look = f"! git cat-file -e {secret} 2>&1; git log --format=%s | tail -1; ! grep other .git/objects/info/alternates"
        self.make(agent=f"{look}; echo {self.root}/other/.git/objects >>.git/objects/info/alternates; ! git cat-file -e {secret}; "
                        f"rm .git/objects/info/alternates; ! git log; echo y >file", gate=look)
        self.pawl("run", "plan.yaml")
        self.assertEqual(self.log().count("\nbase\n"), 2, self.log())
        self.assertNotIn("alternates", self.pawl("diff", "last").stdout)
        self.pawl("verify", "last")

    def test_borrowed_and_linked_databases(self):
        self.make(agent=SAY)
        self.git("clone", "-q", "--shared", "source", "shared", cwd=".")
        self.git("worktree", "add", "-q", "../linked", "-b", "linked")
        for name in ("shared", "linked"):
            self.write("plan.yaml", plan(git="history", agent=f"{SAY} 2>&1").replace("path: source", f"path: {name}"))
            self.pawl("run", "plan.yaml", cwd=".", env=None)
            found = self.pawl("logs", "last", "p1", cwd=name).stdout
            self.assertIn("of [base base base ]", found)
            self.assertNotIn("error", found, "git looks for no path of the host")

    def test_history_that_is_gone_is_told_and_a_run_goes_on_when_it_is_back(self):
        self.make(agent=f"sleep 60 || true; {SAY}")
        run = self.start("run", "plan.yaml")
        self.wait_for_sleep("p1.agent")
        self.kill_all(run)
        shutil.move(self.root / "source/.git", self.root / "away")
        done = self.pawl("resume", "last", expect=None)
        self.assertNotIn(done.returncode, (0, -6, -11), done.stderr)
        self.assertRegex(done.stdout + done.stderr, "git: history: .*source is in no git repository; `git: snapshot`")
        shutil.move(self.root / "away", self.root / "source/.git")
        again = self.start("resume", "last")
        self.wake("p1.agent")
        self.assertEqual(again.wait(timeout=240), 0)
        self.assertIn("of [base base base ]", self.said("head")[-1])
        self.pawl("verify", "last")

    def test_a_probe_sees_it(self):
        self.make(agent="git commit -q --allow-empty -m effect; sync; sleep 60", gate="true", max_attempts=1,
                  resume='{probe: "git log --format=%s | tr -d \\"\\\\n\\" | grep effectThe.*basebasebase"}')
        run = self.start("run", "plan.yaml")
        self.wait_until(lambda: list(self.root.glob("source/.pawl/*/*/upper/.git/logs/HEAD")), "the agent is at work")
        self.kill_all(run)
        self.pawl("resume", "last")
        self.assertIn("probed", {row["decision"] for row in self.chains("last")["p1"] if row["type"] == "resume"})

    def test_check_says_what_it_shows_and_what_has_no_history(self):
        self.make(source="{path: source}")
        notes = [note for note in self.pawl_json("check", "plan.yaml")["notes"] if "git" in note]
        self.assertEqual(len(notes), 1, notes)
        self.assertIn(f"each step can read all objects in {self.root}/source/.git/objects: other branches", notes[0])
        self.write("source/below/file", "x\n")
        self.commit_all("source")
        self.make(source="{path: source/below}")
        self.assertIn("has /workspace/FILE as below/FILE", self.pawl("check", "plan.yaml").stdout)
        shutil.rmtree(self.root / "source/.git")
        self.make(source="{path: source}")
        for command in ("check", "run"):
            said = self.pawl(command, "plan.yaml", expect=2).stderr
            self.assertRegex(said, r"plan\.yaml:4:6: error: git: history: .*source is in no git repository; `git: snapshot` gives")
        self.git("init", "-q", "--object-format=sha256")
        self.assertIn("objects of the format sha256", self.pawl("check", "plan.yaml", expect=2).stderr)
        self.make(git="full")
        self.assertIn("plan.yaml:4:6: error: git: expected one of", self.pawl("check", "plan.yaml", expect=2).stderr)

    def test_status_reads_no_file(self):
        """Other bytes of the same size and time: git would see them only if it read the file."""
        self.make("{path: source}", agent="touch -r file /tmp/then; printf 'ONE\\nTWO\\nTHREE\\n' >file; touch -r /tmp/then file; git status --porcelain; "
                        "touch file; git status --porcelain")
        os.utime(self.root / "source/file", (1580000000, 1580000000))  # git reads a file of the second in which the index was written
        self.pawl("run", "plan.yaml")
        self.assertEqual(self.log().count(" M file\n"), 1, self.log())


if __name__ == "__main__":
    at_once.main()
