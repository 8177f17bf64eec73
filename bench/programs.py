"""Real agent programs with a scripted model: in a sandbox of Pawl, and outside of it with the same script."""

import dataclasses
import json
import os
import re
import shutil
import sqlite3
import statistics
import subprocess
import sys
import time

from build import ROOT

os.environ.setdefault("AGENTS", str(ROOT / "build/agents"))
sys.path.insert(0, str(ROOT / "tests/agents"))
import agent_task  # noqa: E402
from scripted_model import ScriptedModel  # noqa: E402

KEY = "sk-scripted"
SIX = ("claude_code", "codex", "gemini", "qwen", "opencode", "pi")
PART = float(os.environ.get("PAWL_BENCH_PART", 1))  # as in bench/amount.h
ROUNDS = max(1, round(5 * PART))
FIGURES = tuple((f"programs.{use}_by_outside", "ratio", "<= 1.05") for use in SIX)

FIRST_CALL_ROUNDS = max(1, round(3 * PART))
FIRST_CALL_FIGURES = tuple((f"programs.{use}_first_call_s", "s", "<= 2") for use in SIX)

WAIT_S = 90
RESET_FIGURES = tuple((f"programs.{use}_after_reset_s", "s", "<= 5") for use in SIX)
WAITED = re.compile(r"^(\w+) +(?:killed|left alone) *: (-?[0-9.]+) s after the reset", re.MULTILINE)


def resets(place):
    """The later one of two runs: one is left alone, and everything of the other is killed while it waits. All run at once."""
    environment = {**os.environ, "WAIT_SECONDS": str(WAIT_S), "WAIT_PROGRAMS": " ".join(SIX), "PAWL": str(place.pawl),
                   "PYTHONPATH": str(ROOT / "tests/support")}
    done = subprocess.run([sys.executable, ROOT / "tests/agents/waits_test.py"], env=environment, stdout=subprocess.PIPE, text=True)
    seconds = {}
    for use, late in WAITED.findall(done.stdout):
        seconds.setdefault(use, []).append(float(late))
    for use in SIX:
        if len(seconds.get(use, ())) != 2:
            raise RuntimeError(f"{use} did not go on twice:\n{done.stdout}")
        yield f"programs.{use}_after_reset_s", max(seconds[use])


def measure(place):
    for use in SIX:
        ratios = []
        for number in range(ROUNDS):  # in turns: the machine is shared
            folder = place.fresh(f"{use}{number}")
            ratios.append(inside_ms(place, folder, use) / outside(folder, use).ms)
        yield f"programs.{use}_by_outside", statistics.median(ratios)


def first_calls(place):
    """How much later the first call is than that of the same program outside, from the start of a user's first `pawl run` in a repository."""
    for use in SIX:
        later = []
        for number in range(FIRST_CALL_ROUNDS):
            folder = place.fresh(f"{use}_first{number}")
            inside = first_call_of_new_user_s(place, folder, use)
            later.append(inside - outside(folder, use).first_call_s)
        yield f"programs.{use}_first_call_s", statistics.median(later)


def first_call_of_new_user_s(place, folder, use):
    """One command, in a repository and a home without a file of Pawl."""
    _, name, path = agent_task.PROGRAMS[use]
    agent_task.write_source(folder)
    source, home = folder / "source", folder / "new_home"
    home.mkdir()
    as_somebody = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "base"]):
        subprocess.run([*as_somebody, *words], cwd=source, check=True)
    environment = {**os.environ, "HOME": str(home), "PATH": f"{agent_task.MODULES}/.bin:{os.environ['PATH']}", agent_task.KEYS[use]: KEY}
    with ScriptedModel(folder / "first_model", agent_task.TURNS) as model:
        started = time.time()
        subprocess.run([place.pawl, "run", "--agent", use, "--model", name, "--base-url", model.address + path, "--goal", agent_task.GOAL,
                        "--gate", "sh test.sh"], cwd=source, env=environment, check=True, capture_output=True)
        return model.calls()[0]["at"] - started


def inside_ms(place, folder, use):
    """The agent's step alone."""
    with ScriptedModel(folder / "model", agent_task.TURNS) as model:
        agent_task.write(folder, use, model.address)
        subprocess.run([place.pawl, "run", "plan.yaml"], cwd=folder, check=True, capture_output=True)
    seen = subprocess.run([place.pawl, "inspect", "last", "--json"], cwd=folder, check=True, capture_output=True, text=True)
    [step] = [step for step in json.loads(seen.stdout)["phases"][0]["attempts"][0]["steps"] if ".agent." in step["label"]]
    return step["run"]["duration_ms"]


@dataclasses.dataclass(frozen=True)
class Outside:
    ms: float
    first_call_s: float  # since the start


def outside(folder, use):
    """The same command, which the plan's rows have, with a repository and a HOME of its own."""
    with sqlite3.connect(folder / "source/.pawl/pawl.db") as database:
        phase = json.loads(database.execute("SELECT row FROM planned_phases").fetchone()[0])
    source, home = folder / "outside", folder / "home"
    home.mkdir()
    shutil.copytree(folder / "source", source, ignore=shutil.ignore_patterns(".pawl"))
    subprocess.run(["git", "init", "-q", source], check=True)
    turns = json.loads(json.dumps(agent_task.TURNS).replace("/workspace", str(source)))
    with ScriptedModel(folder / "other_model", turns) as model:
        agent_task.write(folder, use, model.address, inside=agent_task.MODULES)
        places = {"/home/agent": str(home), "directories /pawl": f"directories {home}", url_in(phase): model.address}
        command = [replaced(word, places) for word in phase["agent"]["argv"]]
        environment = {"HOME": str(home), "PATH": f"{folder}/tools/bin:{os.environ['PATH']}", "LANG": "C.UTF-8", "IS_SANDBOX": "1",
                       agent_task.KEYS[use]: KEY, "PAWL_GOAL": phase["goal"], "PAWL_FEEDBACK": "", "PAWL_MODEL": phase["agent_model"]}
        at, started = time.time(), time.monotonic()
        subprocess.run(command, cwd=source, env=environment, check=True, capture_output=True, stdin=subprocess.DEVNULL)
        took = time.monotonic() - started
        if "hello" not in (source / "greeting").read_text():
            raise RuntimeError(f"{use} did not do its task outside")
        return Outside(took * 1000, model.calls()[0]["at"] - at)


def replaced(word, places):
    for place, other in places.items():
        word = word.replace(place, other)
    return word


def url_in(phase):
    """The address of the model that the run had."""
    endpoint, = phase["agent"]["egress"]
    return f"http://{endpoint}"
