#!/usr/bin/env python3
"""The repository at /workspace/.git: what git says in it, and that nothing of it leaves the step."""

import json
import os

import at_once
from pawl_runs import WithRun
from pawl_testing import TIMEOUT_S, plan

LOOK = 'echo "status [$(git status --porcelain)] $(git log --format=%s) $(git branch --show-current) [$(git remote)] [$(ls .git/hooks 2>&-)]"'
FOUND = "status [] The workspace at the start of this step pawl [] []\n"
WORK = "echo y >file; echo new >added; git diff --stat; git add -A; git commit -qm work; git log --format='%an: %s' -1; git status --porcelain"
# All ways in which a repository makes git run something, or read elsewhere.
HOSTILE = """\
printf '#!/bin/sh\\ntouch /workspace/ran\\n' >.git/hooks-own; chmod +x .git/hooks-own; mkdir -p .git/hooks; cp .git/hooks-own .git/hooks/post-checkout
git config core.fsmonitor /workspace/.git/hooks-own; git config core.hooksPath /workspace/.git; git config alias.status '!touch ran'
git config filter.x.clean /workspace/.git/hooks-own; git update-ref refs/heads/other HEAD; echo /etc >.git/objects/info-alternates
mkfifo .git/fifo; ln -s / .git/root; mkdir -p .git/closed/below; chmod 0 .git/closed; git config include.path /etc/passwd"""


class Git(WithRun):
    def git(self, *args, cwd="source"):
        return super().git(*args, cwd=cwd)

    def log(self, *args):
        return self.pawl("logs", "last", "p1", *args).stdout

    def of_source(self):
        files = sorted(path for path in self.root.glob("source/.git/**/*") if path.is_file())
        return [(str(path), path.read_bytes()) for path in files]

    def test_agents_and_gates_work_in_one_of_their_own(self):
        self.make_simple(agent=f"{LOOK}; {WORK}", gate=f"{LOOK}; cat added; git ls-files; git cat-file -p HEAD:file")
        self.write("source/secret", "a key\n")
        self.commit_all("source")
        self.git("rm", "-q", "secret")
        self.git("commit", "-qm", "no key any more")
        self.git("remote", "add", "origin", "https://example.org/x")
        before = self.of_source()
        self.pawl("run", "plan.yaml")
        log = self.log()
        self.assertIn(f"{FOUND} file | 2 +-\n", log)
        self.assertIn("agent: work\n", log)
        self.assertIn(f"{FOUND}new\nadded\nfile\ny\n", log)
        self.assertEqual(self.of_source(), before)
        diff = self.pawl("diff", "last").stdout
        self.assertEqual([line for line in diff.splitlines() if line.startswith("diff ")],
                         ["diff --git a/added b/added", "diff --git a/file b/file"])
        self.pawl("apply", "last")
        self.assertEqual(self.git("log", "--format=%s", "-1"), "no key any more\n")

    def test_status_knows_what_changed_after_it_has_a_cache(self):
        """git trusts its cache of untracked files from the second after it was written."""
        changes = ("true", "echo >d/new", "rm d/new", "rm d/file", "mv d e", "mkdir d; echo >d/file", "echo d >.gitignore")
        asks = "a=$(git status --porcelain); b=$(git --no-optional-locks -c core.untrackedCache=false status --porcelain); echo \"[$a]\"; [ \"$a\" = \"$b\" ]"
        self.make_simple(agent="git status; set -e; grep -c UNTR .git/index; " + "; ".join(f"sleep 1.1; {change}; {asks}" for change in changes))
        self.write("source/d/file", "x\n")
        self.write("source/d/below/file", "x\n")
        self.commit_all("source")
        self.pawl("run", "plan.yaml")
        self.assertIn("\n1\n[]\n[?? d/new]\n[]\n[ D d/file]\n[ D d/below/file\n D d/file\n?? e/]\n", self.log())

    def test_it_has_no_object_of_the_sources_history(self):
        self.make_simple(agent="git cat-file --batch-all-objects --batch | strings; git cat-file --batch-all-objects --batch-check | wc -l")
        self.write("source/secret", "a key\n")
        self.commit_all("source")
        self.git("rm", "-q", "secret")
        self.git("commit", "-qm", "removed")
        self.pawl("run", "plan.yaml")
        self.assertNotIn("a key", self.log())
        self.assertIn("\n3\n", self.log(), "a commit, a tree, a file")

    def test_what_an_agent_leaves_there_reaches_nobody(self):
        self.make_simple(agent=f"{HOSTILE}\necho y >file", gate=f"{LOOK}; git checkout -q -b b; git status; [ ! -e ran ]; grep y file",
                         sandbox="{refused_entries: fail}")
        self.commit_all("source")
        self.pawl("run", "plan.yaml")
        self.assertIn(FOUND, self.log())
        self.assertNotIn("refused", self.pawl("inspect", "last", "p1").stdout)
        self.assertEqual(list(self.root.glob("source/.pawl/objects/layers/*/tree/.git/closed")), [])
        self.assertEqual(list(self.root.glob("source/.pawl/objects/layers/*/tree/.git/fifo")), [])
        self.pawl("verify", "last")

    def test_a_later_step_of_a_gate_sees_what_earlier_ones_built(self):
        self.write("source/file", "x\n")
        self.write("source/.gitignore", "*.o\n")
        self.commit_all("source")
        first = f"touch a.o made; {HOSTILE.splitlines()[0]}; git config core.fsmonitor no"
        second = "git config core.fsmonitor || git status --porcelain --ignored; ls .git/hooks || true"
        self.write("plan.yaml", plan(agent="echo y >file").replace(
            'run: "true"}]', f"run: {json.dumps(first)}}}, {{name: second, run: {json.dumps(second)}}}]"))
        self.pawl("run", "plan.yaml")
        self.assertIn("?? made\n!! a.o\n", self.log())
        self.assertNotIn("post-checkout", self.log())

    def test_the_next_phase_finds_the_accepted_work_committed(self):
        self.make_simple(agent=f'{LOOK}; git show HEAD:p2 2>&1 || true; echo $PAWL_PHASE_ID >p2', gate=LOOK, phases=2)
        self.commit_all("source")
        self.pawl("run", "plan.yaml")
        second = self.pawl("logs", "last", "p2").stdout
        self.assertEqual(second.count(FOUND), 2)
        self.assertIn(f"{FOUND}p1\n", second)

    def test_a_folder_without_a_repository_has_one(self):
        self.make_simple(agent=LOOK, gate=LOOK)
        self.write("source/.gitignore", "build\n")
        self.write("source/build/product", "p\n")
        self.pawl("run", "plan.yaml")
        self.assertEqual(self.log().count(FOUND), 2)

    def test_a_plan_can_do_without(self):
        self.make_simple(agent="ls -A; git init -q; echo y >file", gate="[ ! -e .git ]", git="none")
        self.commit_all("source")
        self.pawl("run", "plan.yaml")
        self.assertNotIn(".git", self.log())
        self.assertIn(".git", self.pawl("inspect", "last", "p1").stdout, "what it made is refused, and named")
        self.write("plan.yaml", plan(git="full"))
        self.assertIn("git: ", self.pawl("check", "plan.yaml", expect=2).stderr)

    def test_a_probe_sees_what_the_agent_committed(self):
        self.make_simple(agent="git commit -q --allow-empty -m effect; sync; sleep 30", gate="true", max_attempts=1,
                         resume='{probe: "git log -1 --format=%s | grep effect"}')
        self.commit_all("source")
        run = self.start("run", "plan.yaml")
        self.wait_until(lambda: list(self.root.glob("source/.pawl/work/*/upper/.git/logs/HEAD")), "the agent is at work")
        self.kill_supervisors()
        self.assertEqual(run.wait(timeout=TIMEOUT_S), 0)
        self.assertIn("probed", {row["decision"] for row in self.chains("last")["p1"] if row["type"] == "resume"})

    def test_it_counts_against_the_disk_limit(self):
        self.make_simple(agent="head -c 20000000 /dev/urandom | git hash-object -w --stdin; sleep 60", sandbox="{disk_limit_mib: 8}",
                         max_attempts=1)
        self.commit_all("source")
        self.pawl("run", "plan.yaml", expect=None)
        outcomes = {row["outcome"] for row in self.chains("last")["p1"] if row["type"] == "executed"}
        self.assertIn("disk_limit", outcomes)

    def test_a_changed_one_is_not_used(self):
        self.make_simple(agent="echo y >file")
        self.commit_all("source")
        self.pawl("run", "plan.yaml")
        for path in self.root.glob("source/.pawl/objects/layers/*/tree/.git/config"):
            path.write_text(path.read_text() + "[core]\n\tfsmonitor = ./run\n")
        done = self.pawl("run", "plan.yaml", expect=None)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("was changed since it was kept", done.stderr)


if __name__ == "__main__":
    at_once.main()
