"""The part of an agent's files that is work, and messages before an attempt is spent on a plan that can't
work."""

import json
import os
import pty
import shutil
import subprocess

import at_once
from pawl_runs import WithRun
from pawl_testing import PAWL, TIMEOUT_S, plan

AGENT = "mkdir -p build deep/gen && echo object >build/a.o && echo g >deep/gen/g && echo 2 >file && echo log >kept.log"
# Pawl reads it for more than a second. With sanitizers, where evidence_test.py also does less, 3 GiB take ten minutes.
A_SECOND_BYTES = 256 << 20 if int(os.environ.get("PAWL_BYTES_EVERY", "1")) > 7 else 3 << 30
SEEN = "ls build deep/gen 2>&1 | tr '\\n' ' '; cat file kept.log"


class Ignored(WithRun):
    def make(self, **top):
        self.write("source/.gitignore", "build/\n*.log\n")
        self.write("source/deep/.gitignore", "/gen\n")
        self.write("source/deep/f", "f\n")
        self.write("source/file", "1\n")
        self.write("source/kept.log", "first\n")
        self.git("init", "-q", cwd="source")
        self.git("add", "-f", "kept.log", cwd="source")
        self.commit_all("source")
        self.write("agent.sh", AGENT)
        self.write("gate.sh", SEEN)
        self.write("plan.yaml", plan(agent="sh /plan/agent.sh", gate="sh /plan/gate.sh", **top))

    def signal(self):
        signals = self.pawl_json("inspect", "last")["phases"][0]["attempts"][-1]["signals"]
        return [signal for signal in signals if signal["kind"] == "ignored"]

    def test_it_is_not_judged_not_accepted_and_not_in_what_comes_out(self):
        self.make()
        self.pawl("run", "plan.yaml")
        self.assertRegex(self.pawl("logs", "last", "p1").stdout, "cannot access 'build'.*\n?.*2\n.*log")
        details = self.signal()[0]["details"]
        self.assertEqual((details["entries"], details["bytes"]), (4, 9), "build, build/a.o, deep/gen, deep/gen/g")
        self.assertRegex(self.pawl("inspect", "last").stdout, r"diff\.ignored +passed +bytes=9 entries=4")
        patch = self.pawl("diff", "last").stdout
        self.assertIn("+log", patch, "it is committed: git would see the change")
        self.assertNotIn("a.o", patch)
        self.assertNotIn("gen", patch)
        self.pawl("apply", "last")
        branch = self.git("for-each-ref", "--format=%(refname)", "refs/heads/pawl", cwd="source").split()[-1]
        self.assertEqual(self.git("ls-tree", "-r", "--name-only", branch, cwd="source").split(),
                         [".gitignore", "deep/.gitignore", "deep/f", "file", "kept.log"])
        self.pawl("verify", "last")
        self.pawl("attest", "last", "--force", "-o", self.root / "statement.json")

    def test_a_committed_file_that_is_gone_with_a_move_is_named(self):
        self.make()
        self.write("agent.sh", "mv kept.log other.log && echo more >>other.log && echo 2 >file")
        self.write("gate.sh", "true")
        named = "kept.log (perhaps now other.log)"
        self.assertIn(f"passed; gone from the source, and not in the work: {named}", self.pawl("run", "plan.yaml").stdout)
        details = self.signal()[0]["details"]
        self.assertEqual((details["lost"], details["lost_names"]), (1, named))
        self.pawl("verify", "last")

    def test_steps_of_one_gate_see_what_the_gate_itself_made(self):
        self.make()
        text = (self.root / "plan.yaml").read_text()
        steps = '[{name: make, run: "mkdir build && echo new >build/b.o"}, {name: use, run: "cat build/b.o && ! ls build/a.o"}]'
        start = text.index("steps: ") + len("steps: ")
        self.write("plan.yaml", text[:start] + steps + text[text.index(", signals", start):])
        self.pawl("run", "plan.yaml")

    def test_it_is_work_where_the_plan_says_so(self):
        self.make(ignored="keep")
        self.pawl("run", "plan.yaml")
        self.assertEqual(self.signal(), [])
        patch = self.pawl("diff", "last").stdout
        self.assertIn("build/a.o", patch)
        self.assertIn("deep/gen/g", patch)

    def test_work_that_its_own_rules_hide_from_git_add_is_told(self):
        self.make()
        for agent, told in (("echo hidden >>.gitignore; echo 1 >hidden", "changes .gitignore:"), ("echo 2 >file", ""),
                            ("mkdir n; echo hidden >n/.gitignore; echo 1 >n/hidden", "changes n/.gitignore:"),
                            ("rm .gitignore; echo 1 >gitignore", "")):
            self.write("agent.sh", agent)
            self.pawl("run", "plan.yaml")
            done = self.pawl("diff", "last")
            self.assertEqual(done.stderr.count("git apply --index"), 1 if told else 0, agent)
            self.assertIn(told, done.stderr)
            # The commands in the message have every file.
            self.git("clone", "-q", "source", "clone")
            subprocess.run(["git", "apply", "--index"], cwd=self.root / "clone", input=done.stdout, text=True, check=True)
            self.commit_all("clone")
            self.pawl("apply", "last")
            branch = self.git("for-each-ref", "--format=%(refname:short)", "refs/heads/pawl", cwd="source").strip()
            self.assertEqual(self.git("rev-parse", "HEAD^{tree}", cwd="clone"), self.git("rev-parse", f"{branch}^{{tree}}", cwd="source"))
            self.git("branch", "-D", branch, cwd="source")
            shutil.rmtree(self.root / "clone")

    def test_another_word_is_named_with_its_place(self):
        self.make(ignored="drop")
        self.assertRegex(self.pawl("check", "plan.yaml", expect=2).stderr,
                         r"plan\.yaml:\d+:\d+: error: ignored: expected one of .*keep.*, found 'drop'")

    def test_work_that_is_all_ignored_is_none(self):
        self.make()
        self.write("agent.sh", "mkdir build && echo 1 >build/x")
        self.write("gate.sh", "! ls build")
        self.pawl("run", "plan.yaml")
        self.assertEqual(self.pawl("diff", "last").stdout, "")

    def test_apply_goes_by_the_same_rules(self):
        self.make()
        self.write("source/d/top", "exit 0\n")
        self.write("source/.gitignore", "build/\n*.log\nd/*\n!top\n")
        self.git("add", ".gitignore", cwd="source")
        self.git("commit", "-qm", "rules", cwd="source")
        self.pawl("run", "plan.yaml")
        self.assertIn("d/top", self.pawl("apply", "last", expect=1).stderr, "git status shows it, so nobody else has it")

    def test_a_new_file_that_a_command_would_filter_is_in_no_commit(self):
        self.make()
        self.write("source/.gitattributes", "*.enc filter=rot\n")
        self.git("config", "filter.rot.clean", "tr a-z n-za-m", cwd="source")
        self.commit_all("source")
        self.write("agent.sh", "echo secret >k.enc")
        self.pawl("run", "plan.yaml")
        self.assertRegex(self.pawl("apply", "last", expect=1).stderr, "k.enc has filter=rot .*pawl diff")
        self.assertIn("+secret", self.pawl("diff", "last").stdout)

    def test_a_folder_without_a_commit_is_told_why_it_has_none(self):
        """The run takes the folder as it is; a commit needs another commit to build upon."""
        git = self.root / "source/.git"

        def no_commit():
            self.git("init", "-q", cwd="source")

        def bad_settings():
            self.commit_all("source")
            (git / "config").write_text("[broken\n")

        def lost_commit():
            self.commit_all("source")
            shutil.rmtree(git / "objects")
            (git / "objects").mkdir()

        for prepare, told in ((no_commit, "source has no commit yet: commit it, and run the plan again; use `pawl diff"),
                              (bad_settings, "its git repository can't be read: .*config.*; use `pawl diff"),
                              (lost_commit, "its last commit can't be read: .*; use `pawl diff")):
            with self.subTest(told):
                shutil.rmtree(git, ignore_errors=True)
                self.make_simple(agent="echo more >> file", gate="grep -q more file")
                prepare()
                self.pawl("run", "plan.yaml")
                self.assertRegex(self.pawl("apply", "last", expect=1).stderr, told)

    def test_what_an_operator_approves_is_without_it(self):
        self.make(max_attempts=1)
        self.write("gate.sh", "exit 1")
        self.pawl("run", "plan.yaml", expect=None)
        self.pawl("approve", "last", "p1", "--reason", "it is right")
        self.assertNotIn("a.o", self.pawl("diff", "last").stdout)
        self.assertIn("+log", self.pawl("diff", "last").stdout)

    def test_the_next_attempt_is_shown_the_work_only(self):
        self.make(max_attempts=2)
        self.write("agent.sh", AGENT + '\n[ "$PAWL_ATTEMPT" = 1 ] || cat /pawl/evidence/previous.patch')
        self.write("gate.sh", '[ "$(cat file)" = 3 ]')
        self.pawl("run", "plan.yaml", expect=None)
        said = self.pawl("logs", "last", "p1", "--attempt", "2").stdout
        self.assertIn("+log", said)
        self.assertNotIn("a.o", said)

    def test_what_is_ignored_and_refused_fails_nothing(self):
        self.write("source/.gitignore", "mods/\n*.sock\n")
        leaves = "echo more >> file; mkdir -p mods/a/.git; mkfifo mods/a/pipe a.sock; for i in $(seq 150); do mkfifo mods/$i; done"
        for ignored, code in (("leave_out", 0), ("keep", 11)):
            self.write("source/file", "x\n")
            self.write("plan.yaml", f"""version: 1
workflow: w
source: {{path: source}}
ignored: {ignored}
sandbox: {{refused_entries: fail}}
gates:
  check: {{steps: [{{name: unit, run: "{leaves}"}}], signals: [build]}}
tiers:
  - phases:
      - {{id: p, goal: g, max_attempts: 1, agent: {{run: "{leaves}"}}, gates: [check]}}
""")
            self.pawl("run", "plan.yaml", expect=code)


class Sources(WithRun):
    """The part of a source that is taken, and what is said of the rest before a run starts."""

    BAD = b"dir/caf\xe9 \x01"

    def make(self, source="path: source", agent="echo 2 >file; rm -rf dir", gate="cat file"):
        (self.root / "source/dir").mkdir(parents=True, exist_ok=True)
        self.write("source/file", "1\n")
        self.write("source/dir/x", "1\n")
        self.write("agent.sh", agent)
        self.write("gate.sh", gate)
        self.write("plan.yaml", plan(agent="sh /plan/agent.sh", gate="sh /plan/gate.sh", max_attempts=1))
        text = (self.root / "plan.yaml").read_text()
        start = text.index("source: {") + len("source: {")
        self.write("plan.yaml", text[:start] + source + text[text.index("}", start):])

    def commit(self):
        if not (self.root / "source/.git").exists():
            self.git("init", "-q", cwd="source")
        self.commit_all("source")

    def test_a_name_that_can_not_be_used_is_shown_with_the_line_that_leaves_it_out(self):
        self.make()
        with open(os.fsencode(self.root / "source") + b"/" + self.BAD, "wb") as file:
            file.write(b"x")
        self.commit()
        for source in ("path: source", "path: source, ref: HEAD"):
            self.make(source)
            said = self.pawl("run", "plan.yaml", expect=2).stderr
            self.assertIn("dir/caf\\xe9 \\x01 can't be used", said)
            self.assertIn("`exclude: [\"dir/caf? ?\"]`", said)
            self.make(source + ', exclude: ["dir/caf? ?"]')
            self.pawl("check", "plan.yaml")
            self.pawl("run", "plan.yaml")
            patch = self.pawl("diff", "last").stdout
            self.assertIn("+2", patch)
            self.assertNotIn("caf", patch)
            self.pawl("apply", "last")
            self.pawl("attest", "last", "--force", "-o", self.root / "statement.json")
            branch = self.git("for-each-ref", "--format=%(refname)", "refs/heads/pawl", cwd="source").split()[-1]
            self.assertEqual(self.git("diff-tree", "-r", "--name-status", "HEAD", branch, cwd="source"), "D\tdir/x\nM\tfile\n")
        self.make('path: source, exclude: ["dir/caf? ?", "huge"]', agent="mkdir huge; echo 1 >huge/x")
        self.assertEqual(self.pawl("run", "plan.yaml", expect=None).returncode, 11, "nobody makes what is left out")

    def test_the_line_that_leaves_a_name_out_leaves_no_other_file_out(self):
        for name, line in (("*\x01", "??"), ("**\x01", "???"), ("[a]\x01", "[a]?"), ("b\\\x01", "b\\\\?"), ("?\x01", "??")):
            with self.subTest(name=name):
                self.make()
                (self.root / "source" / name).write_text("x")
                said = self.pawl("run", "plan.yaml", expect=2).stderr
                self.assertIn(f'`exclude: ["{line}"]`', said)
                self.make(f'path: source, exclude: ["{line}"]')
                self.pawl("run", "plan.yaml")
                self.assertIn("+2", self.pawl("diff", "last").stdout)
                (self.root / "source" / name).unlink()

    def test_a_link_that_can_not_be_kept_is_shown_with_the_line_that_leaves_it_out(self):
        self.make()
        self.commit()
        for target in (b"caf\xe9", b"", b"a\0b", b"x" * 4096):
            for source in ("path: source, ref: HEAD", "path: source"):
                with self.subTest(target=target[:9], source=source):
                    if "ref" in source:
                        blob = subprocess.run(["git", "hash-object", "-w", "--stdin"], input=target, cwd=self.root / "source", check=True, capture_output=True)
                        self.git("update-index", "--add", "--cacheinfo", "120000," + blob.stdout.decode().strip() + ",l", cwd="source")
                        self.git("commit", "-qm", "link", cwd="source")
                    elif target == b"caf\xe9":
                        os.symlink(target, os.fsencode(self.root / "source/l"))
                    else:
                        continue  # no folder can have such a link
                    self.make(source)
                    said = self.pawl("run", "plan.yaml", expect=2).stderr
                    self.assertRegex(said, "l can't be used: the target of a link is UTF-8 .*`exclude: \\[\"l\"\\]`")
                    self.make(source + ', exclude: ["l"]')
                    self.pawl("run", "plan.yaml")
                    self.assertIn("+2", self.pawl("diff", "last").stdout)
                    self.pawl("attest", "last", "--force", "-o", self.root / "statement.json")

    def test_what_was_built_before_is_built_again_in_each_run(self):
        """Also where an earlier run left the same layer, before the source's owner built anew."""
        one, two = '[{name: unit, run: "sh /plan/gate.sh"}]', '[{name: make, run: "echo exit 1 >a"}, {name: use, run: "sh /plan/gate.sh"}]'
        for agent, steps in (("echo exit 1 >a", one), ("echo exit 1 >a; ln a zz", one), ("echo 1 >new", two)):
            self.make(agent=agent, gate="make -s && sh prog")
            self.write("plan.yaml", (self.root / "plan.yaml").read_text().replace(one, steps))
            self.write("source/Makefile", "prog: a\n\tcp a prog\n")
            self.write("source/a", "exit 0\n")
            self.write("source/prog", "exit 0\n")
            for _ in range(2):
                os.utime(self.root / "source/prog")
                self.assertEqual(self.pawl("run", "plan.yaml", expect=None).returncode, 11, agent)

    def test_a_step_sees_the_present_times_of_an_unchanged_source(self):
        self.make(gate='if [ file -nt dir/x ]; then echo stale; else echo fresh; fi', agent="echo 1 >>made")
        for newer, older, seen in (("file", "dir/x", "stale"), ("dir/x", "file", "fresh"), ("file", "dir/x", "stale")):
            os.utime(self.root / "source" / older, (1_600_000_000, 1_600_000_000))
            os.utime(self.root / "source" / newer, (1_700_000_000, 1_700_000_000))
            self.pawl("run", "plan.yaml")
            self.assertIn(seen, self.pawl("logs", "last", "p1").stdout)

    def test_a_plan_in_the_sources_own_folder_is_no_copy_of_it(self):
        self.write("file", "1\n")
        for i in range(40):
            self.write(f"pad/{i}", "x\n")
        for i in range(3):
            self.write("agent.sh", f"echo agent-{i}; cat /plan/pad/1; ls /plan; echo {i} >>file")
            self.write("plan.yaml", plan(agent="sh /plan/agent.sh", gate="test -e file").replace("path: source", "path: ."))
            self.pawl("run", "plan.yaml")
            said = self.pawl("logs", "last", "p1").stdout
            self.assertIn(f"agent-{i}", said)
            self.assertIn("agent.sh", said)
            self.assertNotIn("plan.yaml", said, "agents do not see the plan")
        # /plan shows only a few files.
        self.assertEqual(len(list((self.root / ".pawl/objects/bases").glob("*/tree/pad/39"))), 1)
        self.pawl("gc", "--older-than", "0s")
        for kind in ("bases", "derived", "git", "folders"):
            self.assertEqual(list((self.root / ".pawl/objects" / kind).iterdir()), [], kind)

    def test_what_is_not_checked_out_is_said_by_check_and_run(self):
        self.make()
        self.write("lib/l.txt", "l\n")
        self.git("init", "-q", cwd="lib")
        self.commit_all("lib")
        self.git("init", "-q", cwd="source")
        self.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "../lib", "lib", cwd="source")
        self.commit()
        self.assertNotIn("lib", self.pawl("check", "plan.yaml").stderr)
        shutil.rmtree(self.root / "source/lib")
        for command in ("check", "run"):
            said = self.pawl(command, "plan.yaml").stderr
            self.assertRegex(said, r"plan.yaml:\d+:\d+: warning: source: 1 submodule.*: lib; .*`git submodule update --init")
        self.assertIn("lib (a submodule without a folder", self.pawl("apply", "last", expect=None).stderr)

    def test_check_refuses_a_filter_as_run_does(self):
        self.make()
        self.write("source/.gitattributes", "*.txt filter=shout\n")
        self.write("source/a.txt", "quiet\n")
        self.commit()
        self.pawl("check", "plan.yaml")
        self.git("config", "filter.shout.clean", "tr a-z A-Z", cwd="source")
        for command in ("check", "run"):
            self.assertRegex(self.pawl(command, "plan.yaml", expect=2).stderr, r"plan.yaml:\d+:\d+: error: source: a.txt has filter=shout")
        self.make('path: source, exclude: ["*.txt"]')
        self.pawl("check", "plan.yaml")

    # They stand for git-lfs-clean(1) and git-lfs-smudge(1), which find contents in .git/lfs.
    LFS = {"clean": """\
f=$(mktemp); cat >$f; h=$(sha256sum <$f | cut -c1-64); d=$(git rev-parse --git-dir)/lfs/objects/$(echo $h | cut -c1-2)/$(echo $h | cut -c3-4)
if grep -q '^oid sha256:' $f; then cat $f; else
  mkdir -p $d && cp $f $d/$h && printf 'version https://git-lfs.github.com/spec/v1\\noid sha256:%s\\nsize %s\\n' $h $(stat -c %s $f)
fi; rm $f
""", "smudge": """\
h=$(sed -n 's/^oid sha256://p'); cat $(git rev-parse --git-dir)/lfs/objects/$(echo $h | cut -c1-2)/$(echo $h | cut -c3-4)/$h
"""}

    def test_the_patch_of_a_folder_with_git_lfs_applies_and_gives_what_apply_commits(self):
        self.make(agent="echo 2 >file; seq 9 >>a.png; cp tool.png new.png; rm gone.png; mv kept.png to.png; chmod +x tool.png; echo 3 >>id")
        self.write("source/.gitattributes", "*.png filter=lfs -text\nid ident\n")
        for name in ("a", "gone", "kept", "tool"):
            self.write(f"source/{name}.png", name * 3000)
        self.write("source/id", "1\n$Id$\n2\n")
        self.git("init", "-q", cwd="source")
        for kind, script in self.LFS.items():
            self.git("config", "filter.lfs." + kind, "sh " + str(self.write(f"{kind}.sh", script)), cwd="source")
        self.git("config", "filter.lfs.required", "true", cwd="source")
        self.commit()
        (self.root / "source/id").unlink()
        self.git("checkout", "-q", "id", cwd="source")
        self.pawl("run", "plan.yaml")
        patch = self.pawl("diff", "last").stdout
        self.write("patch", patch)
        self.assertEqual(patch, self.pawl("diff", "last").stdout)
        shutil.copytree(self.root / "source", self.root / "kept", symlinks=True, ignore=shutil.ignore_patterns(".pawl"))
        self.pawl("apply", "last")
        branch = self.git("for-each-ref", "--format=%(refname)", "refs/heads/pawl", cwd="source").split()[-1]
        wanted = self.git("rev-parse", branch + "^{tree}", cwd="source")
        for how in ([], ["--index"]):
            shutil.rmtree(self.root / "clone", ignore_errors=True)
            shutil.copytree(self.root / "kept", self.root / "clone", symlinks=True)
            self.git("status", cwd="clone")
            self.git("apply", *how, "../patch", cwd="clone")
            self.assertEqual((self.root / "clone/to.png").read_text(), "kept" * 3000)
            self.assertTrue((self.root / "clone/a.png").read_text().endswith("8\n9\n"))
            self.git("add", "-A", cwd="clone")
            self.assertEqual(self.git("write-tree", cwd="clone"), wanted, how)
        # Where no content can be stored, the file that is left out is named, and the rest comes out.
        shutil.rmtree(self.root / "source/.git/lfs")
        self.write("source/.git/lfs", "")
        refused = self.pawl("diff", "last", expect=1)
        self.assertIn("not in the patch: a.png: its content can't be put where Git LFS looks for it", refused.stderr)
        self.assertIn("+++ b/file", refused.stdout)
        self.assertNotIn("a.png", refused.stdout)
        self.assertIn("`pawl apply` makes no commit: a.png: its content can't be put", refused.stderr)
        self.assertNotEqual(self.pawl("apply", "last", expect=None).returncode, 0)

    def test_diff_says_whether_apply_commits_what_is_too_large_for_a_patch(self):
        self.make(agent="truncate -s 513M big; echo 2 >file")
        self.git("init", "-q", cwd="source")
        self.commit()
        self.pawl("run", "plan.yaml")
        said = self.pawl("diff", "last", expect=1).stderr
        self.assertIn("not in the patch: big: its 537919488 bytes", said)
        self.assertIn("`pawl apply` commits what is not in the patch", said)
        # git could not use commits there.
        self.git("config", "core.repositoryformatversion", "1", cwd="source")
        self.git("config", "-f", "source/.git/config", "extensions.compatObjectFormat", "sha256")
        said = self.pawl("diff", "last", expect=1).stderr
        self.assertRegex(said, "`pawl apply` makes no commit: .*compatObjectFormat")
        self.assertIn("compatObjectFormat", self.pawl("apply", "last", expect=None).stderr)
        self.assertIn("no commit is attested", self.pawl("attest", "last", "--force", "-o", self.root / "statement.json").stderr)

    def test_a_terminal_sees_how_far_a_snapshot_is(self):
        self.make()
        with open(self.root / "source/large", "wb") as file:
            file.truncate(A_SECOND_BYTES)
        ours, theirs = pty.openpty()
        program = subprocess.Popen([PAWL, "run", "plan.yaml"], cwd=self.root, stdout=subprocess.DEVNULL, stderr=theirs)
        os.close(theirs)
        seen = b""
        try:
            while chunk := os.read(ours, 65536):
                seen += chunk
        except OSError:
            pass  # all writers have ended
        os.close(ours)
        self.assertEqual(program.wait(TIMEOUT_S), 0, seen)
        self.assertRegex(seen.decode(), r"making the run: \d+ files, \d+ MiB read or copied, \d+ s")


class Sizes(WithRun):
    MOST = 131_000

    def test_a_goal_that_fits_reaches_the_agent_whole(self):
        self.make_simple(agent='[ "$(printf %s "$PAWL_GOAL" | wc -c)" = ' + str(self.MOST) + " ]")
        self.replace("goal: ", "g" * self.MOST)
        self.pawl("run", "plan.yaml")

    def replace(self, key, value):
        text = (self.root / "plan.yaml").read_text()
        start = text.index(key) + len(key)
        end = text.index(",", start)
        self.write("plan.yaml", text[:start] + value + text[end:])

    def refused(self, *words):
        said = self.pawl("check", "plan.yaml", expect=2).stderr
        for word in words:
            self.assertRegex(said, word)
        self.pawl("run", "plan.yaml", expect=2)

    def test_one_that_does_not_is_refused_with_a_way_out(self):
        self.make_simple()
        self.replace("goal: ", "g" * (self.MOST + 1))
        self.refused(r"plan\.yaml:\d+:\d+: error: goal: 131001 bytes; at most 131000 .*/plan")

    def test_a_model_that_does_not_is_refused(self):
        self.make_simple(models="[" + "m" * (self.MOST + 1) + "]")
        self.refused(r"plan\.yaml:\d+:\d+: error: models: a name of 131001 bytes; at most 131000 fit into PAWL_MODEL")

    def test_a_script_and_a_word_that_are_too_long_are_refused(self):
        self.make_simple(agent="true " + "x" * self.MOST)
        self.refused(r"plan\.yaml:\d+:\d+: error: run: 131005 bytes; .*/plan")

    def test_a_script_that_fits_runs(self):
        self.make_simple(agent="true " + "x" * (self.MOST - 5))
        self.pawl("run", "plan.yaml")

    def test_words_that_are_too_long_together_are_refused(self):
        self.make_simple()
        self.replace("agent: {run: ", json.dumps(["echo", *(["x" * 120_000] * 9)]) + "}")
        self.refused(r"run: 1080004 bytes; a command has at most 1048576")


if __name__ == "__main__":
    at_once.main()
