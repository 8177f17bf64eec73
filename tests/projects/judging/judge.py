#!/usr/bin/env python3
"""Puts right and wrong works on eight real projects before Pawl, under three plans, and compares what it says with the truth.

    scripts/judge                     all of it
    scripts/judge --project NAME      tape, pytest, prove, go, cargo, make, ctest or configure
    scripts/judge --plan NAME         exit (exit codes only), reports, or strict (reports, protect and a policy)
    scripts/judge --json              the result as one JSON object; progress goes to stderr

PAWL names the program; else it is the one of build/dev or build/release. The exit code is 0 when no right work was refused that
the plan allows, no wrong one was taken that the plan can see (with exit codes only: 3 of 100), each that the plan cannot see is told
by `pawl check`, and the feedback of each project names the test that fails, and its message.
"""

import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(HERE.parent))

from judging import compiled, native, scripts  # noqa: E402
from judging.truth import Truth  # noqa: E402
from judging.work import EXIT, PLANS, STRICT, Run, Write, bare_environment, pack, unpack, wrong  # noqa: E402

FETCHED = ROOT / "build/projects"
PROJECTS = {project.name: project for project in scripts.PROJECTS + compiled.PROJECTS + native.PROJECTS}
RUN_TIMEOUT_S = 900
WRONG_TAKEN_MAX = {"exit": 0.03, "reports": 0, "strict": 0}  # the share of wrong works that the plan can see

POLICY = "version: 1\nwatched: fail\nbinaries: fail\nexecutables: fail\nsymlinks: fail\n"
# A work that changes nothing that counts: for what the second attempt is told of the first.
TOLD = wrong("told", "what the next attempt is told", Write("NOTES", "A try.\n"),
             Run('if [ -n "$PAWL_FEEDBACK" ]; then cat "$PAWL_FEEDBACK"; fi'))


def pawl_program():
    places = [os.environ.get("PAWL"), ROOT / "build/dev/pawl", ROOT / "build/release/pawl"]
    for place in places:
        if place and os.access(place, os.X_OK):
            return str(pathlib.Path(place).resolve())
    raise SystemExit("scripts/judge: no pawl in build/dev or build/release. Run scripts/build, or set PAWL.")


class Desk:
    """One project under one plan: each work is a run in the same state folder, so what base has is found once."""

    def __init__(self, project, plan, base, folder, pawl):
        self.project, self.plan, self.base, self.folder, self.pawl = project, plan, base, folder, pawl
        folder.mkdir(parents=True)
        (folder / "policy.yaml").write_text(POLICY)
        self.policy_digest = ""

    def call(self, *arguments):
        environment = bare_environment(self.folder / "home")
        return subprocess.run([self.pawl, *arguments], cwd=self.folder, text=True, errors="replace", capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=RUN_TIMEOUT_S,
                              env={**environment, "PAWL_DIR": str(self.folder / "state"), "NO_COLOR": "1"})

    def plan_of(self, attempts):
        project, strict = self.project, self.plan == STRICT
        pinned = f", blake3: {self.policy_digest}" if self.policy_digest else ""
        lines = ["version: 1", "workflow: judged", f"source: {{path: {self.base}}}", f"max_attempts: {attempts}"]
        if strict:
            lines += [f"protect: {json.dumps(project.protect)}", f"policy: {{file: ../policy.yaml{pinned}}}"]
        lines += ["gates:", "  suite:", f"    steps: {project.steps if self.plan == EXIT else project.reported}"]
        if self.plan != EXIT:
            lines.append("    signals: [build, tests]")
        lines += ["tiers:", "  - phases:",
                  f"      - {{id: mend, goal: {json.dumps(project.goal)}, agent: {{run: sh /plan/agent.sh}}, gates: [suite]}}"]
        return "\n".join(lines) + "\n"

    def prepare(self, work, attempts=1):
        folder = self.folder / work.name
        folder.mkdir()
        pack(work, self.base, folder)
        for name, text in self.project.plan_files:
            (folder / name).write_text(text)
        (folder / "plan.yaml").write_text(self.plan_of(attempts))
        if self.plan == STRICT and not self.policy_digest:
            checked = self.call("check", str(folder / "plan.yaml"))
            self.policy_digest = re.search(r"[0-9a-f]{64}", checked.stdout + checked.stderr)[0]
            (folder / "plan.yaml").write_text(self.plan_of(attempts))
        return folder

    def run(self, work, attempts=1):
        """(whether it was taken, the run's id, what Pawl said in a line)."""
        folder = self.prepare(work, attempts)
        done = self.call("run", str(folder / "plan.yaml"), "--json")
        try:
            said = json.loads(done.stdout.strip().splitlines()[-1])
            run, state = said["run_id"], said["state"]
        except (ValueError, KeyError, IndexError):
            raise RuntimeError(f"{self.project.name}, {self.plan}, {work.name}: {done.stdout[-500:]} {done.stderr[-1000:]}")
        shutil.rmtree(folder)
        return state == "COMPLETE", run, self.reasons(run)

    def reasons(self, run):
        told = json.loads(self.call("inspect", run, "--json").stdout)
        attempts = told["phases"][0]["attempts"]
        if not attempts:
            return "no attempt"
        last = attempts[-1]
        out = [str(last.get("verdict"))]
        for signal in last.get("signals", []):
            if not signal["passed"]:
                keys = ("problem", "gone_names", "newly_skipped_names", "failing", "paths", "exit_code")
                details = [f"{key}={str(signal['details'][key])[:90]!r}" for key in keys if signal["details"].get(key) not in (None, "",
                0)]
                out.append(f"{signal['gate_id']}.{signal['kind']} {' '.join(details)}")
        return "; ".join(out)

    def check(self):
        """What `pawl check` says of the plan, but for the digest."""
        folder = self.prepare(wrong("check", ""))
        done = self.call("check", str(folder / "plan.yaml"))
        shutil.rmtree(folder)
        return (done.stdout + done.stderr).strip()

    def feedback(self):
        """What the attempt after one that failed reads, and whether it names the test and its message."""
        _, run, _ = self.run(TOLD, 2)
        printed = self.call("logs", run, "mend", "--attempt", "2").stdout
        start = printed.find("{")
        try:
            told = json.JSONDecoder().raw_decode(printed[start:])[0] if start >= 0 else {}
        except ValueError:
            told = {}
        text = json.dumps(told.get("failing_signals", "")) + "\n" + str(told.get("summary", ""))
        name, message = self.project.failing
        return {"names_test": bool(re.search(name, text, re.DOTALL)), "has_message": bool(re.search(message, text, re.DOTALL)),
        "text": text}


class Judge:
    def __init__(self, names, plans, folder, works=None):
        self.folder, self.plans, self.pawl = folder, plans, pawl_program()
        self.projects = [PROJECTS[name] for name in names]
        self.only = works
        self.results, self.truths, self.checks, self.feedbacks = {}, {}, {}, {}

    def works_of(self, project):
        return [work for work in project.works if self.only is None or work.name in self.only]

    def note(self, text):
        print(text, file=sys.stderr, flush=True)

    def desk(self, project, plan, base):
        desk = Desk(project, plan, base, self.folder / project.name / plan, self.pawl)
        self.checks[project.name, plan] = desk.check()
        for work in self.works_of(project):
            taken, _, said = desk.run(work)
            self.results[project.name, plan, work.name] = (taken, said)
            self.note(f"{project.name} {plan} {work.name}: {'taken' if taken else 'refused: ' + said}")
        if plan != STRICT and self.only is None:
            self.feedbacks[project.name, plan] = desk.feedback()
        shutil.rmtree(desk.folder)

    def truth(self, project, truth, work):
        found, why = truth.judge(work)
        self.truths[project.name, work.name] = (found, why)
        if found != work.right:
            self.note(f"{project.name} {work.name}: labelled {'right' if work.right else 'wrong'}, and it is not: {why}")

    def run(self):
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            bases = {}
            for project in self.projects:
                bases[project.name] = self.folder / project.name / "base"
            list(pool.map(lambda p: unpack(p, FETCHED, bases[p.name]), self.projects))
            waits = []
            for project in self.projects:
                waits += [pool.submit(self.desk, project, plan, bases[project.name]) for plan in self.plans]
            for project in self.projects:
                truth = Truth(project, bases[project.name], self.folder / project.name / "truth", FETCHED / "truth")
                waits += [pool.submit(self.truth, project, truth, work) for work in self.works_of(project)]
            for wait in concurrent.futures.as_completed(waits):
                wait.result()

    def mislabelled(self):
        return [f"{p.name} {w.name}: {self.truths[p.name, w.name][1]}" for p in self.projects for w in self.works_of(p)
                if self.truths[p.name, w.name][0] != w.right]


def cells(judge, project, plan):
    """Names of works by what became of them."""
    out = {key: [] for key in ("right taken", "right refused", "right forbidden", "wrong refused", "wrong taken", "wrong out of sight")}
    for work in judge.works_of(project):
        taken, said = judge.results[project.name, plan, work.name]
        if work.right:
            forbidden = plan == STRICT and work.forbidden
            key = "right taken" if taken else "right forbidden" if forbidden else "right refused"
        elif not taken:
            key = "wrong refused"
        else:
            key = "wrong taken" if PLANS.index(work.seen_by) <= PLANS.index(plan) else "wrong out of sight"
        out[key].append((work, said))
    return out


def is_told(said):
    """That `pawl check` tells what the plan does not look at: the reports of tests, or changes of the tests."""
    return bool(re.search(r"(warn|note|told|does not|without|no )[^\n]*(protect|report)", said, re.IGNORECASE))


def summary(judge):
    out = {"plans": {}, "mislabelled": judge.mislabelled(), "feedback": judge_feedback(judge)}
    for plan in judge.plans:
        rows = {}
        for project in judge.projects:
            found = cells(judge, project, plan)
            rows[project.name] = {key: [{"work": w.name, "why": w.forbidden if key == "right forbidden" else w.why, "said": said} for w,
            said in works]
                                  for key, works in found.items()}
            rows[project.name]["check"] = judge.checks[project.name, plan]
            rows[project.name]["told"] = is_told(judge.checks[project.name, plan])
        out["plans"][plan] = rows
    out["failures"] = failures(out)
    return out


def judge_feedback(judge):
    return {f"{project} {plan}": told for (project, plan), told in sorted(judge.feedbacks.items())}


def count(rows, key):
    return sum(len(row[key]) for row in rows.values())


def failures(result):
    out = [f"a label is wrong: {text}" for text in result["mislabelled"]]
    for plan, rows in result["plans"].items():
        if count(rows, "right refused"):
            out.append(f"{plan}: {count(rows, 'right refused')} right works refused")
        seen = count(rows, "wrong refused") + count(rows, "wrong taken")
        if count(rows, "wrong taken") > WRONG_TAKEN_MAX[plan] * seen:
            out.append(f"{plan}: {count(rows, 'wrong taken')} of {seen} wrong works taken that the plan can see")
        for project, row in rows.items():
            if row["wrong out of sight"] and not row["told"]:
                out.append(f"{plan}: `pawl check` does not tell that the plan of {project} does not look at tests that change")
    for where, told in result["feedback"].items():
        if where.endswith("reports") and not (told["names_test"] and told["has_message"]):
            out.append(f"the feedback of {where} does not name the test that fails, or not its message")
    return out


def table(result):
    lines = []
    for plan, rows in result["plans"].items():
        lines += [f"## {plan}",
        "| project | right taken | refused | forbidden | wrong refused | taken | out of sight, taken | told by check |",
                  "|---|---|---|---|---|---|---|---|"]
        keys = ("right taken", "right refused", "right forbidden", "wrong refused", "wrong taken", "wrong out of sight")
        for project, row in rows.items():
            lines.append(f"| {project} | " + " | ".join(str(len(row[key])) for key in keys) + f" | {'yes' if row['told'] else 'no'} |")
        lines.append("| all | " + " | ".join(str(count(rows, key)) for key in keys) + " | |")
        for key in ("right refused", "right forbidden", "wrong taken", "wrong out of sight"):
            for project, row in rows.items():
                lines += [f"{key}: {project} {work['work']}: {work['why']}. Pawl: {work['said']}" for work in row[key]]
        for said in dict.fromkeys(row["check"] for row in rows.values()):
            lines.append("`pawl check`: " + " / ".join(said.splitlines()))
        lines.append("")
    for where, told in result["feedback"].items():
        named, message = ("yes" if told[key] else "no" for key in ("names_test", "has_message"))
        lines.append(f"feedback, {where}: test named: {named}, message: {message}")
    return "\n".join(lines)


def judged(names, plans, works=None):
    """Judges in a folder of its own, which is gone afterwards. With names of works: those, and no feedback is looked at."""
    with tempfile.TemporaryDirectory(prefix="pawl-judge-", ignore_cleanup_errors=True) as folder:
        judge = Judge(names, plans, pathlib.Path(folder), works)
        judge.run()
        return summary(judge)


def main():
    parser = argparse.ArgumentParser(prog="scripts/judge", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--project", choices=PROJECTS, action="append")
    parser.add_argument("--plan", choices=PLANS, action="append")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    began = time.monotonic()
    result = judged(options.project or list(PROJECTS), options.plan or list(PLANS))
    print(json.dumps(result) if options.json else table(result))
    for failure in result["failures"]:
        print("scripts/judge: " + failure, file=sys.stderr)
    print(f"scripts/judge: {'not as it should be' if result['failures'] else 'all as it should be'}, {time.monotonic() - began:.0f} s",
        file=sys.stderr)
    raise SystemExit(1 if result["failures"] else 0)


if __name__ == "__main__":
    main()
