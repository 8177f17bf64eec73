"""Large sources: bases of git commits and of folders, what gc takes of them, and what a step leaves of many files.

PAWL_BENCH_LARGE_FILES is how many files the source has; the figures are named by it.
"""

import datetime
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import time

from commands import own_steps, seconds
from figure import Figure

FILES = int(os.environ.get("PAWL_BENCH_LARGE_FILES", 20_000))
NEW_FILES = 100_000
NAMED_FILES, NAME_BYTES = 200_000, 125
COMMITS, CHANGED = 5, 10
ROUNDS = 2
STEPS = 2  # per attempt whose gate is known on base
NAME = f"large.{FILES // 1000}k_"

COMMIT_FIGURES = (Figure(f"{NAME}commit_to_first_step_ms", "ms", "<= 150"), Figure(f"{NAME}commit_adds_mb", "MB", "<= 2"))
FIRST_FIGURES = (Figure(f"{NAME}first_by_worktree_add", "ratio", "<= 0.8"),)
FOLDER_FIGURES = (Figure(f"{NAME}folder_unchanged_by_git_status", "ratio", "<= 2"),)
GC_FIGURES = (Figure(f"{NAME}gc_by_rm", "ratio", "<= 1.2"),)
GIT_FIGURES = (Figure(f"{NAME}git_ready_ms", "ms", "<= 30"), Figure(f"{NAME}git_status_by_fresh_clone", "ratio", "<= 1.2"))
COLLECT_FIGURES = (Figure(f"large.{NEW_FILES // 1000}k_new_collected_by_written", "ratio", "<= 1.0"),)
NAMES_FIGURES = (Figure(f"large.{NAMED_FILES // 1000}k_names_executor_mib", "MiB", "<= 200"),)

# File sizes as in a real program: about 4 KB of text per file, in folders of a hundred files.
BYTES_A_FILE = 4000
LINE = b"  and a line of text that is like others, but not the same, number "
STATUSES = """
import subprocess, sys, time
for _ in range(9):
    started = time.perf_counter()
    subprocess.run(["git", "status", "--porcelain"], check=True, stdout=subprocess.DEVNULL)
    print(time.perf_counter() - started)
"""
WRITES = f"""
import os
for folder in range({NEW_FILES // 100}):
    os.makedirs(f"new/{{folder}}")
    for file in range(100):
        with open(f"new/{{folder}}/{{file}}", "w") as out:
            out.write(f"{{folder}} {{file}} " + "x" * 500)
"""
NAMES = f"""
import os
os.makedirs("named")
for file in range({NAMED_FILES}):
    open(f"named/{{file:0{NAME_BYTES}d}}", "w").close()
"""


def content(number, revision):
    lines = BYTES_A_FILE // (len(LINE) + 12)
    return b"".join(LINE + b"%d\n" % (number * 1000003 + revision * 7919 + line * 104729) for line in range(lines))


def commit(repository, numbers, revision, parent):
    """By git's own importer: nothing is checked out."""
    importer = subprocess.Popen(["git", "-C", repository, "fast-import", "--quiet", "--force"], stdin=subprocess.PIPE)
    out = importer.stdin
    out.write(b"commit refs/heads/main\ncommitter bench <bench@localhost> 1700000000 +0000\ndata 1\nx\n")
    if parent:
        out.write(b"from refs/heads/main^0\n")
    for number in numbers:
        text = content(number, revision)
        out.write(b"M 100644 inline d%d/e%d/f%d\ndata %d\n%s\n" % (number // 5000, number // 100, number, len(text), text))
    out.close()
    if importer.wait() != 0:
        raise subprocess.CalledProcessError(importer.returncode, "git fast-import")


def plan(folder, name, source, agent, git="snapshot"):
    (folder / f"{name}.yaml").write_text(
        f"version: 1\nworkflow: {name}\nsource: {json.dumps(source)}\ngit: {git}\ngates:\n  check: {{steps: [{{name: unit, run: [\"true\"]}}]}}\n"
        f"tiers:\n  - phases:\n      - {{id: p, may_be_empty: true, goal: g, agent: {{run: {json.dumps(agent)}}}, gates: [check]}}\n")


def moment(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


def run(place, folder, name, state):
    """(seconds from the start of `pawl run` to that of its first step, which asks base; the attempt's own steps)"""
    started = time.time()
    subprocess.run([place.pawl, "run", f"{name}.yaml", "--dir", state], check=True, cwd=folder, stdout=subprocess.DEVNULL)
    seen = subprocess.run([place.pawl, "inspect", "last", "--dir", state, "--json"], check=True, cwd=folder, capture_output=True, text=True)
    attempt = json.loads(seen.stdout)["phases"][0]["attempts"][0]
    return moment(attempt["steps"][0]["started_at"]) - started, own_steps(attempt)


def disk_bytes(folder):
    done = subprocess.run(["du", "-s", "--block-size=1", folder], check=True, capture_output=True, text=True)
    return int(done.stdout.split()[0])


def repository(place):
    """Made once, for all parts."""
    folder = place.folder / "large"
    if not folder.exists():
        place.say(f"  a repository of {FILES:,} files is made")
        subprocess.run(["git", "init", "-q", "-b", "main", folder / "source"], check=True)
        commit(folder / "source", range(FILES), 0, parent=False)
        plan(folder, "commit", {"path": "source", "ref": "main"}, ["true"])
        plan(folder, "folder", {"path": "checkout"}, ["true"])
        plan(folder, "no_git", {"path": "source", "ref": "main"}, ["true"], git="none")
        plan(folder, "status", {"path": "source", "ref": "main"}, ["python3", "-c", STATUSES])
        plan(folder, "many", {"path": "small"}, ["python3", "-c", WRITES])
        plan(folder, "names", {"path": "small"}, ["python3", "-c", NAMES])
        (folder / "small").mkdir()
        (folder / "small/file").write_text("x\n")
    return folder


def checkout(folder):
    if not (folder / "checkout").exists():
        subprocess.run(["git", "-C", folder / "source", "worktree", "add", "-q", "--detach", folder / "checkout", "main"], check=True)
    return folder / "checkout"


def first(place):
    """In turns, with nothing left to write of the one when the other begins."""
    folder, ratios = repository(place), []
    for number in range(1, ROUNDS + 1):
        place.say(f"  round {number} of {ROUNDS}")
        os.sync()
        added = seconds(["git", "-C", folder / "source", "worktree", "add", "-q", "--detach", folder / "added", "main"])
        os.sync()
        taken, _ = run(place, folder, "commit", f"first{number}")
        ratios.append(taken / added)
        subprocess.run(["git", "-C", folder / "source", "worktree", "remove", "--force", folder / "added"], check=True)
        shutil.rmtree(folder / f"first{number}")
    yield FIRST_FIGURES[0].name, statistics.median(ratios)


def commits(place):
    folder = repository(place)
    run(place, folder, "commit", "commits")
    os.sync()
    took, added = [], []
    for revision in range(1, COMMITS + 1):
        commit(folder / "source", range(revision, FILES, FILES // CHANGED)[:CHANGED], revision, parent=True)
        before = disk_bytes(folder / "commits")
        took.append(run(place, folder, "commit", "commits")[0] * 1000)
        added.append((disk_bytes(folder / "commits") - before) / 1e6)
    yield COMMIT_FIGURES[0].name, statistics.median(took)
    yield COMMIT_FIGURES[1].name, statistics.median(added)


def folder_unchanged(place):
    folder = repository(place)
    tree = checkout(folder)
    run(place, folder, "folder", "folders")
    os.sync()
    time.sleep(2)  # until the times of the last written files are old enough for git and Pawl to trust
    ratios = []
    for _ in range(2 * ROUNDS + 1):
        status = seconds(["git", "-C", tree, "status", "--porcelain"])
        ratios.append(run(place, folder, "folder", "folders")[0] / status)
    yield FOLDER_FIGURES[0].name, statistics.median(ratios[1:])  # the first `git status` writes an index


def gc(place):
    folder, ratios = repository(place), []
    for number in range(1, ROUNDS + 1):
        place.say(f"  round {number} of {ROUNDS}")
        state = f"gc{number}"
        run(place, folder, "commit", state)
        copy = folder / "copy"
        subprocess.run(["cp", "-a", folder / state / "objects/bases", copy], check=True)
        os.sync()
        removed = seconds(["rm", "-rf", copy])
        os.sync()
        taken = seconds([place.pawl, "gc", "--older-than", "0s", "--dir", state], cwd=folder)
        if list(pathlib.Path(folder / state / "objects/bases").iterdir()):
            raise RuntimeError("pawl gc left a base")
        ratios.append(taken / removed)
    yield GC_FIGURES[0].name, statistics.median(ratios)


def collect(place):
    folder, ratios = repository(place), []
    for number in range(1, ROUNDS + 1):
        place.say(f"  round {number} of {ROUNDS}")
        os.sync()
        _, (agent, gate) = run(place, folder, "many", f"many{number}")
        written = agent["run"]["duration_ms"] / 1000
        # The collection runs between the two steps, with some milliseconds of other work.
        ratios.append((moment(gate["started_at"]) - moment(agent["started_at"]) - written) / written)
    yield COLLECT_FIGURES[0].name, statistics.median(ratios)


def names(place):
    """The most memory that an executor had while it judged a work with more names than are stored."""
    folder = repository(place)
    executor = subprocess.Popen([place.pawl, "run", "names.yaml", "--dir", "names"], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _, status, use = os.wait4(executor.pid, 0)
    except BaseException:
        executor.kill()
        raise
    executor.returncode = os.waitstatus_to_exitcode(status)
    if executor.returncode != 0:
        raise RuntimeError(f"pawl run: exit code {executor.returncode}")
    yield NAMES_FIGURES[0].name, use.ru_maxrss / 1024


def git(place):
    """The same steps with a repository that is there and without one, in turns; then `git status` in it, and in a clone."""
    folder = repository(place)
    added, ratios = [], []
    for name in ("commit", "no_git"):
        run(place, folder, name, "git")
    os.sync()
    for _ in range(8 * ROUNDS + 1):
        taken = [seconds([place.pawl, "run", f"{name}.yaml", "--dir", "git"], cwd=folder) for name in ("commit", "no_git")]
        added.append((taken[0] - taken[1]) * 1000 / STEPS)
    yield GIT_FIGURES[0].name, statistics.median(added)
    subprocess.run(["git", "clone", "-q", folder / "source", folder / "clone"], check=True)
    time.sleep(2)  # until git trusts the times of the last files
    for _ in range(ROUNDS):
        clone = subprocess.run(["python3", "-c", STATUSES], check=True, cwd=folder / "clone", capture_output=True, text=True).stdout
        run(place, folder, "status", "git")
        log = subprocess.run([place.pawl, "logs", "last", "p", "--dir", "git"], check=True, cwd=folder, capture_output=True, text=True).stdout
        inside = [float(line) for line in log.splitlines() if line.replace(".", "", 1).isdigit()]
        ratios.append(statistics.median(inside) / statistics.median(float(line) for line in clone.splitlines()))
    yield GIT_FIGURES[1].name, statistics.median(ratios)
