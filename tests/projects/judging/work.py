"""Words for works: what an agent hands in, as data, and the projects that they are works on."""

import dataclasses
import os
import pathlib
import shutil
import subprocess

# The least of the three plans that can see that a work is wrong.
EXIT, REPORTS, STRICT = PLANS = ("exit", "reports", "strict")

SCRIPT_TIMEOUT_S = 900


@dataclasses.dataclass(frozen=True)
class Edit:
    """Text that is in the file once gives way to another."""
    file: str
    old: str
    new: str

    def apply(self, tree):
        path = tree / self.file
        text = path.read_text()
        if text.count(self.old) != 1:
            raise ValueError(f"{self.file} has {text.count(self.old)} times: {self.old!r}")
        path.write_text(text.replace(self.old, self.new))


@dataclasses.dataclass(frozen=True)
class Write:
    file: str
    text: str
    mode: int = 0o644

    def apply(self, tree):
        path = tree / self.file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.text)
        path.chmod(self.mode)


@dataclasses.dataclass(frozen=True)
class Remove:
    file: str

    def apply(self, tree):
        (tree / self.file).unlink()


@dataclasses.dataclass(frozen=True)
class Move:
    file: str
    to: str

    def apply(self, tree):
        (tree / self.to).parent.mkdir(parents=True, exist_ok=True)
        (tree / self.file).rename(tree / self.to)


@dataclasses.dataclass(frozen=True)
class Run:
    """A script that the agent runs when its files are in place: for what only a compiler can leave."""
    script: str

    def apply(self, tree):
        subprocess.run(["sh", "-c", self.script], cwd=tree, env=bare_environment(tree), check=True, capture_output=True,
                       timeout=SCRIPT_TIMEOUT_S)


@dataclasses.dataclass(frozen=True)
class Work:
    name: str
    right: bool
    why: str
    changes: tuple
    seen_by: str = EXIT    # for a wrong work: the least plan that can see it
    forbidden: str = ""    # for a right work: why the strict plan forbids it


def right(name, why, *changes, forbidden=""):
    return Work(name, True, why, changes, forbidden=forbidden)


def wrong(name, why, *changes, seen_by=EXIT):
    return Work(name, False, why, changes, seen_by=seen_by)


@dataclasses.dataclass(frozen=True)
class Project:
    name: str
    archive: str
    seed: tuple        # the changes that put the bug into what the authors ship
    goal: str
    steps: str         # the gate's, YAML, for exit codes only
    reported: str      # the same with reports
    protect: tuple     # the tests, and what runs them
    code: tuple        # patterns (! for what is not): what of a work the truth takes besides base's tests
    suite: str         # the suite by hand, on base's tests
    names: str         # a regular expression: a test that passed, in what the suite prints
    acceptance: str    # a script that nobody who works on the project has seen; run where the suite was run
    failing: tuple     # two regular expressions: the test that fails on base, and its message
    works: tuple
    inside: str = ""   # the folder of the archive that is the project, where that is not its only one
    prepare: str = ""  # a script that makes base of what the authors ship
    plan_files: tuple = ()  # (name, text) beside the plan


def bare_environment(home):
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(pathlib.Path(home).parent), "LANG": "C.UTF-8", "TZ": "UTC"}


def unpack(project, fetched, base):
    """The project as its authors ship it, with the bug."""
    archive = fetched / project.archive
    base.mkdir(parents=True)
    if archive.suffix == ".deb":
        subprocess.run(["dpkg", "-x", archive, base.parent / "package"], check=True)
        shutil.copytree(base.parent / "package" / project.inside, base, dirs_exist_ok=True)
    else:
        subprocess.run(["tar", "-xf", archive, "-C", base, "--strip-components=1", "--no-same-owner"], check=True)
    for change in project.seed:
        change.apply(base)
    if project.prepare:
        subprocess.run(["sh", "-e", "-c", project.prepare], cwd=base, env={**bare_environment(base), "FETCHED": str(fetched)},
                       check=True, capture_output=True, timeout=SCRIPT_TIMEOUT_S)


def files_of(tree):
    return {str(path.relative_to(tree)): path for path in tree.rglob("*") if path.is_symlink() or path.is_file()}


def pack(work, base, folder):
    """Writes what an agent does who hands in this work: folder/agent.sh and folder/files."""
    files = folder / "files"
    files.mkdir(parents=True)
    runs = [change.script for change in work.changes if isinstance(change, Run)]
    brought = set()
    for change in work.changes:
        if isinstance(change, Run):
            continue
        if change.file not in brought and os.path.lexists(base / change.file):
            (files / change.file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(base / change.file, files / change.file, follow_symlinks=False)
        brought.add(change.file)
        change.apply(files)
    removed = sorted({change.file for change in work.changes if isinstance(change, (Remove, Move))})
    lines = ["set -e"] + [f"rm '{name}'" for name in removed]
    if any(files.iterdir()):
        lines.append("cp -r --preserve=mode /plan/files/. .")
    (folder / "agent.sh").write_text("\n".join(lines + runs) + "\n")
