#!/usr/bin/env python3
"""Tools that decide what is checked must let no error through: at_once.py, scripts/test and its --changed,
and scripts/tidy."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock

import changed

ROOT = pathlib.Path(__file__).resolve().parents[2]


class InAFolder(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="pawl-tools-"))
        self.addCleanup(shutil.rmtree, self.root)

    def write(self, name, text, mode=0o644):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)
        return path


class AtOnce(InAFolder):
    def status(self, body):
        script = self.write("cases.py", f"import unittest, at_once\nclass Case(unittest.TestCase):\n    {body}\nat_once.main()\n")
        return subprocess.run([sys.executable, script], capture_output=True).returncode

    def test_only_cases_that_ran_and_held_pass(self):
        self.assertEqual(self.status("def test_it(self): pass"), 0)
        self.assertEqual(self.status("def test_it(self): self.fail()"), 1)
        self.assertEqual(self.status("def tset_it(self): pass"), 1, "no case")
        self.assertEqual(self.status("def test_it(self): self.skip" + "Test('no')"), 1)


class InMemory(InAFolder):
    SCRIPT = ROOT / "tests/support/in_memory.sh"

    def said(self, folder=ROOT, words=()):
        done = subprocess.run([*words, self.SCRIPT, "sh", "-c", "stat -f -c %T /tmp; exit 7"], cwd=folder, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stderr), (7, ""))
        return done.stdout.splitlines()

    def test_it_says_which_tmp_the_command_has(self):
        first, kind = self.said()
        self.assertIn(first, ("/tmp is in memory", "/tmp is as it is"))
        if first == "/tmp is in memory":
            self.assertEqual(kind, "tmpfs")

    def test_a_folder_below_tmp_stays_visible(self):
        folder = pathlib.Path(tempfile.mkdtemp(dir="/tmp"))
        self.addCleanup(folder.rmdir)
        self.assertEqual(self.said(folder)[0], "/tmp is as it is")

    def test_who_may_not_mount_has_the_tmp_that_is_there(self):
        words = ["setpriv", "--reuid=1234", "--regid=1234", "--clear-groups"] if os.geteuid() == 0 else []
        with tempfile.TemporaryDirectory(dir="/tmp") as name:
            os.chmod(name, 0o755)
            self.SCRIPT = shutil.copy(self.SCRIPT, name)
            self.assertEqual(self.said("/", words)[0], "/tmp is as it is")


class Stages(InAFolder):
    """scripts/test with stand-ins for the programs that it calls: each writes its name to `called`, and
    fails when FAIL names it."""

    STAND_IN = """#!/bin/sh
name=$(basename "$0")
case "$*" in *build/*) name=${2#build/} ;; *"--preset tsan"*) name=build_of_tsan ;; esac
echo "$name" >>called
if [ "$FAIL" = build_of_tsan ] && [ "$name" = build_of_tsan ]; then
  echo "some.cc:1: error: wrong"
  exit 1
fi
if [ "$name" = "$FAIL" ]; then
  printf '%s\\n' "1/2 Test  #7: one ...   Passed    0.1 sec" "      Start  8: two" " 2/2 Test  #8: two ...***Failed  0.1 sec" "ok Case.a" "FAILED Case.b"
fi
echo "100% tests passed of $name"
[ "$name" != "$FAIL" ]
"""

    def setUp(self):
        super().setUp()
        self.write("scripts/test", (ROOT / "scripts/test").read_text(), 0o755)
        self.write("tests/store/some_test.cc", "")
        self.write("tests/support/in_memory.sh", '#!/bin/sh\nexec "$@"\n', 0o755)
        for preset in ("dev", "asan", "tsan"):
            self.write(f"build/{preset}/build.ninja", "")
        for name in ("scripts/setup", "scripts/format", "scripts/tidy", "scripts/fuzz", "bin/ctest", "bin/cmake"):
            self.write(name, self.STAND_IN, 0o755)

    def run_with(self, fail):
        self.write("called", "")
        env = {**os.environ, "PATH": f"{self.root}/bin:{os.environ['PATH']}", "FAIL": fail}
        done = subprocess.run([self.root / "scripts/test"], env=env, capture_output=True, text=True)
        return done, (self.root / "called").read_text().split()

    def test_a_stage_that_fails_fails_all_and_hides_no_other(self):
        stages = ["asan", "tsan", "fuzz", "tidy", "dev"]
        done, called = self.run_with("none")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertLess(set(stages), set(called))
        self.assertEqual(done.stdout.splitlines()[-1], "100% tests passed of dev", "the last line is of CTest's own summary")
        for stage in stages:
            done, called = self.run_with(stage)
            self.assertEqual(done.returncode, 1, stage)
            self.assertLess(set(stages), set(called), stage)
            *_, own = lines = done.stdout.splitlines()
            self.assertEqual(len([line for line in lines if line.startswith(f"failed: {stage},")]), 1)
            self.assertEqual(own, f"100% tests passed of {stage}")
            if stage in ("asan", "tsan", "dev"):
                at = lines.index(f"failed: {stage}, of which build/{stage}.log has all")
                self.assertEqual(lines[at + 1:at + 3], [" 2/2 Test  #8: two ...***Failed  0.1 sec", "FAILED Case.b"], "what its failed tests printed")
        done, called = self.run_with("build_of_tsan")
        self.assertEqual((done.returncode, "tsan" in called), (1, False))
        self.assertEqual(done.stdout.splitlines()[-1], "some.cc:1: error: wrong", "a build that failed has no summary of CTest")
        self.assertEqual(done.stdout.count("some.cc:1: error: wrong"), 2, "when it happened, and at the end")
        self.assertLess({"asan", "fuzz", "tidy", "dev"}, set(called))

    def test_nothing_runs_after_a_build_that_fails(self):
        for step in ("setup", "format", "cmake"):
            done, called = self.run_with(step)
            self.assertNotEqual(done.returncode, 0, step)
            self.assertNotIn("asan", called, step)


class Changed(unittest.TestCase):
    LINES = changed.lines_of("# a comment\n\nsrc/a/: a.* b\ntests/x/: x.*\ntests/%/%_test.py: %.%.*\ntests/%/: %.*\nempty/:\n")

    def test_the_first_line_that_fits_says_what_runs(self):
        for path, tests in (("src/a/b/c.cc", {"a.*", "b"}), ("tests/x/y_test.py", {"x.*"}), ("tests/cli/gate_test.py", {"cli.gate.*"}),
                            ("tests/cli/CMakeLists.txt", {"cli.*"}), ("empty/file", set()), ("other", set())):
            self.assertEqual(changed.tests_for(path, self.LINES), tests, path)

    def test_the_house_rules_run_whatever_differs(self):
        self.assertEqual(changed.regex_for(["other", "src/a/x"], self.LINES), "^(a.*|b|house.rules)$")
        self.assertEqual(changed.regex_for(["other"], self.LINES), "^(house.rules)$")
        self.assertEqual(changed.regex_for([], self.LINES), "")


class ChangedWithoutUpstream(InAFolder):
    def test_what_was_committed_since_origin_is_changed(self):
        def git(folder, *words):
            subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *words], cwd=folder, check=True, capture_output=True)

        self.write("origin/a", "1")
        git(self.root / "origin", "init", "-q")
        git(self.root / "origin", "add", "a")
        git(self.root / "origin", "commit", "-qm", "a")
        git(self.root, "clone", "-q", "origin", "clone")
        git(self.root / "clone", "checkout", "-q", "--no-track", "-b", "mine")
        self.write("clone/b", "2")
        git(self.root / "clone", "add", "b")
        git(self.root / "clone", "commit", "-qm", "b")
        with unittest.mock.patch.object(changed, "ROOT", self.root / "clone"):
            self.assertEqual(changed.changed(), ["b"])


class Tidy(InAFolder):
    def setUp(self):
        super().setUp()
        self.clone = self.a_clone("one")

    def a_clone(self, name, flags="-O1", sources=("a",)):
        """A tree where cmake, clang-tidy and the compiler are scripts. The last two have no finding, write their
        last word to `calls`, and do what `meanwhile` says."""
        for path, text in (("src/a.h", ""), (".clang-tidy", ""), ("meanwhile", ""), ("build/tidy/dev/generated/x.inc", "1"),
                           ("build/tidy/dev/generated/embedded/sql.cc", "1")):
            self.write(f"{name}/{path}", text)
        clone = self.root / name
        for source in sources:
            self.write(f"{name}/src/{source}.cc", '#include "a.h"\n#include "x.inc"\n')
        unit = self.write(f"{name}/build/tidy/together/together/src/unit.cc", "".join(f'#include "{source}.cc"\n' for source in sources))
        self.write(f"{name}/build/tidy/together/compile_commands.json", json.dumps([{"file": str(unit), "command": ""}]))
        self.write(f"{name}/build/tidy/dev/compile_commands.json", json.dumps([
            {"file": f"{clone}/src/{source}.cc", "command": f"clang++-16 -I{clone}/src {flags} -o {source}.o -c {clone}/src/{source}.cc"} for source in sources]))
        self.write("bin/cmake", "#!/bin/sh\n", 0o755)
        self.write("bin/clang-tidy-16", "#!/bin/bash\n[ $1 = --version ] || { echo ${!#} >>calls; . ./meanwhile; }\n", 0o755)
        self.write("bin/clang++-16", "#!/bin/bash\n[[ $* = *c++-header* ]] || { echo ${!#} >>calls; . ./meanwhile; }\n", 0o755)
        (clone / "scripts").mkdir()
        shutil.copy(ROOT / "scripts/tidy", clone / "scripts")
        subprocess.run(["git", "init", "-q", clone], check=True)
        return clone

    def checked(self, clone=None):
        """The number of sources that scripts/tidy checked."""
        environment = {**os.environ, "PATH": f"{self.root}/bin:{os.environ['PATH']}", "PAWL_TIDY_CACHE": str(self.root / "cache")}
        done = subprocess.run([(clone or self.clone) / "scripts/tidy"], env=environment, capture_output=True, text=True)
        self.assertEqual(done.stderr, "")
        return int(done.stdout.split()[1])

    def records(self):
        return sorted((self.root / "cache").iterdir())

    def test_what_a_finding_depends_on_is_checked_again(self):
        self.assertEqual((self.checked(), self.checked()), (1, 0))
        for path in ("src/a.cc", "src/a.h", ".clang-tidy", "build/tidy/dev/generated/x.inc"):
            with open(self.clone / path, "a") as file:
                file.write("// more\n")
            self.assertEqual((self.checked(), self.checked()), (1, 0), path)

    def test_what_was_generated_and_is_not_included_changes_nothing(self):
        self.checked()
        self.write("one/build/tidy/dev/generated/embedded/sql.cc", "2")
        self.assertEqual(self.checked(), 0)

    def test_another_clone_has_the_same_record_and_other_flags_have_not(self):
        self.assertEqual(self.checked(), 1)
        self.assertEqual(self.checked(self.a_clone("two")), 0)
        self.assertEqual(self.checked(self.a_clone("three", flags="-O2")), 1)

    def test_a_source_that_was_edited_meanwhile_has_no_record(self):
        self.write("one/meanwhile", "echo '// edited' >>src/a.h\n")
        self.assertEqual((self.checked(), self.records()), (1, []))
        self.write("one/meanwhile", "")
        self.assertEqual((self.checked(), self.checked()), (1, 0))

    def test_findings_have_no_record(self):
        self.write("one/meanwhile", "exit 1\n")
        self.assertEqual((self.checked(), self.checked()), (1, 1))

    def test_many_of_one_unit_are_checked_together_and_compiled_by_themselves(self):
        clone = self.a_clone("many", sources="abcd")
        alone, unit = [f"src/{name}.cc" for name in "abcd"], f"{clone}/build/tidy/together/together/src/unit.cc"

        def calls():
            return sorted((clone / "calls").read_text().split())

        # One source does not compile by itself: only that source has no record.
        self.write("many/meanwhile", "case ${!#} in *b.cc) exit 1 ;; esac\n")
        self.assertEqual(self.checked(clone), 4)
        self.assertEqual(calls(), sorted([unit, *alone]))
        self.assertEqual(len(self.records()), 3)
        # A few sources of a unit are quicker without the unit.
        self.write("many/calls", "")
        self.write("many/meanwhile", "")
        self.assertEqual((self.checked(clone), calls()), (1, ["src/b.cc"]))
        # A finding in a unit may be in any of its sources.
        self.write("many/src/a.h", "// more\n")
        self.write("many/meanwhile", "case ${!#} in *unit.cc) exit 1 ;; esac\n")
        self.assertEqual([self.checked(clone), self.checked(clone)], [4, 4])
        self.write("many/meanwhile", "")
        self.assertEqual([self.checked(clone), self.checked(clone)], [4, 0])

    def test_a_record_that_nobody_used_for_a_month_is_removed(self):
        self.checked()
        mine, = self.records()
        other = self.write("cache/other", "")
        long_ago = time.time() - 31 * 24 * 3600
        for record in (mine, other):
            os.utime(record, (long_ago, long_ago))
        self.assertEqual(self.checked(), 0)
        self.assertEqual(self.records(), [mine])


if __name__ == "__main__":
    unittest.main(verbosity=1)
