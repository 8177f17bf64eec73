"""Whether a work is right, found without Pawl: the suite run by hand, and a test that no agent has seen."""

import collections
import fnmatch
import hashlib
import json
import pathlib
import re
import shutil
import subprocess
import threading

from judging.work import SCRIPT_TIMEOUT_S, bare_environment, files_of


def matches(name, patterns):
    """Whether a pattern has the name, and none that begins with ! has it."""
    if any(matches(name, [p[1:]]) for p in patterns if p.startswith("!")):
        return False
    return any(fnmatch.fnmatchcase(name, p) and (p.count("/") == name.count("/") or "**" in p) for p in patterns)


def changed_files(base, tree):
    before, after = files_of(base), files_of(tree)
    return sorted(name for name in before.keys() | after.keys() if name not in before or name not in after or
                  (not after[name].is_symlink() and after[name].read_bytes() != before[name].read_bytes()))


def passed_tests(project, tree):
    """The suite's exit code, and how often a test of each name passed."""
    done = subprocess.run(["bash", "-c", project.suite], cwd=tree, env=bare_environment(tree), text=True, errors="replace",
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SCRIPT_TIMEOUT_S)
    return done.returncode, collections.Counter(re.findall(project.names, done.stdout, re.MULTILINE)), done.stdout


class Truth:
    """Judges the works of one project. Results are kept by what they came from."""

    def __init__(self, project, base, folder, kept):
        self.project, self.base, self.folder, self.kept = project, base, folder, kept
        self.tests, self.lock = None, threading.Lock()
        self.folder.mkdir(parents=True)
        self.kept.mkdir(parents=True, exist_ok=True)

    def key(self, work):
        definition = [self.project.archive, self.project.seed, self.project.prepare, self.project.suite, self.project.names,
                      self.project.acceptance, self.project.code, self.project.works[0].changes, work.changes, work.name]
        code = pathlib.Path(__file__).read_bytes() + (pathlib.Path(__file__).parent / "work.py").read_bytes()
        return hashlib.sha256(repr(definition).encode() + code).hexdigest()[:32]

    def tree_of(self, work, name):
        tree = self.folder / f"{work.name}.{name}" / "tree"
        shutil.copytree(self.base, tree, symlinks=True)
        for change in work.changes:
            change.apply(tree)
        return tree

    def clean_copy(self, work, whole):
        """Base, and of the work only its code: so the tests and their runner are base's."""
        clean = self.folder / f"{work.name}.clean" / "tree"
        shutil.copytree(self.base, clean, symlinks=True)
        for name in changed_files(self.base, whole):
            if not matches(name, self.project.code):
                continue
            if (whole / name).exists():
                (clean / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(whole / name, clean / name)
            else:
                (clean / name).unlink()
        return clean

    def mended_tests(self):
        """The tests of base that pass once the bug is mended."""
        with self.lock:
            if self.tests is None:
                mend = self.project.works[0]
                tree = self.tree_of(mend, "mended")
                code, self.tests, printed = passed_tests(self.project, tree)
                shutil.rmtree(tree.parent)
                if code != 0 or not self.tests:
                    raise RuntimeError(f"{self.project.name}: the suite does not pass with {mend.name}: {printed[-2000:]}")
            return self.tests

    def judge(self, work):
        """(whether it is right, why)."""
        path = self.kept / f"{self.project.name}.{work.name}.{self.key(work)}.json"
        if not path.exists():
            found = self.look(work)
            path.with_suffix(".new").write_text(json.dumps(found))
            path.with_suffix(".new").replace(path)
        return json.loads(path.read_text())

    def look(self, work):
        whole = self.tree_of(work, "whole")
        clean = self.clean_copy(work, whole)
        only_code = not changed_files(clean, whole)
        try:
            code, passed, printed = passed_tests(self.project, clean)
            if code != 0:
                return [False, "base's suite fails: " + printed[-300:]]
            done = subprocess.run(["bash", "-e", "-c", self.project.acceptance], cwd=clean, env=bare_environment(clean), text=True,
                                  errors="replace", capture_output=True, timeout=SCRIPT_TIMEOUT_S)
            if done.returncode != 0 or done.stdout.splitlines()[-1:] != ["accepted"]:
                return [False, "the hidden test fails: " + (done.stdout + done.stderr)[-300:]]
            if not only_code:  # else this run of the suite has judged it already
                _, passed, printed = passed_tests(self.project, whole)
            lost = self.mended_tests() - passed
            return [False, f"{lost.total()} tests of base do not pass: {sorted(lost)[:3]} {printed[-200:]}"] if lost else [True,
            "all pass"]
        finally:
            shutil.rmtree(whole.parent)
            shutil.rmtree(clean.parent)
