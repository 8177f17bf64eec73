#!/usr/bin/env python3
"""README and docs are true: plans run, commands and options exist, links lead somewhere."""

import datetime
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import unittest

from pawl_testing import PAWL, PawlTest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
WITH_SHELL = [*PAGES, *sorted(ROOT.glob("sdk/*/README.md")), *sorted(ROOT.glob("examples/**/README.md"))]

# Blocks of shell that need more than a finished run: (page, first word) -> the file that runs them. Of a session with prompts: its first line.
ELSEWHERE = {
    ("README.md", "scripts/demo"): "scripts/demo",  # it installs and builds
    ("README.md", "$ cd examples/hello && pawl run plan.yaml"): "tests/cli/docs_test.py",
    ("README.md", "$ cd my-project"): "tests/agents/programs_test.py",
    ("docs/agents.md", "api()"): "tests/cli/docs_test.py",
    ("docs/attestation.md", "field()"): "tests/cli/attest_test.py",
    ("docs/invariants.md", "build/dev/tests/sim/pawl-sim"): "tests/sim/CMakeLists.txt",
    ("docs/ledger-format.md", "find"): "tests/cli/evidence_test.py",
    ("docs/operations.md", "sqlite3"): "tests/cli/docs_test.py",
    ("docs/operations.md", "systemd-run"): "scripts/test-cgroup-v2",
    ("docs/testing.md", "PAWL_ROUNDS=1250"): "tests/workspace/layers_test.cc",
    ("examples/langgraph-js/README.md", "(cd"): "tests/sdk/typescript/run.py",
    ("sdk/python/README.md", "pip"): "tests/sdk/CMakeLists.txt",
    ("sdk/python/README.md", "PAWL=/path/to/pawl"): "tests/sdk/CMakeLists.txt",
}


def shell_blocks(text):
    """The blocks of shell of a page: those fenced as sh, and indented ones that begin with a program."""
    yield from re.findall(r"^```sh\n(.*?)^```$", text, re.S | re.M)
    plain = re.sub(r"^```.*?^```$", "", text, flags=re.S | re.M)
    for block in re.findall(r"\n\n((?:    .*\n)+)", plain):
        if re.match(r"    (\$ |\(?cd |[A-Z_]+=\S+ |export |(pawl|sqlite3|systemd-run|pip|npm|curl|git|scripts/\S+|build/\S+)\s)", block):
            yield re.sub(r"^    ", "", block, flags=re.M)


def rows_of(page):
    """The functions and the paths that each row of a page's tables names. A row without a first cell continues the one above."""
    rows = []
    for line in page.splitlines():
        cells = line.split("|")[1:-1]
        if not cells:
            continue
        if cells[0].strip() or not rows:
            rows.append(([], []))
        rows[-1][0].extend(re.findall(r"`(?:\w+::)?([a-z_]\w*)\(\)`", line))
        rows[-1][1].extend(re.findall(r"`((?:src|tests|docs)/[\w./-]+)`", line))
    return rows


def files_at(path):
    return [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]


class Docs(PawlTest):
    def test_the_first_plan_of_the_readme_runs_as_it_says(self):
        shown = re.search(r"```yaml\n(.*?)```", (ROOT / "README.md").read_text(), re.S)[1]
        shutil.copytree(ROOT / "examples/hello", self.root / "hello")
        self.assertIn(shown, (self.root / "hello/plan.yaml").read_text())
        out = self.pawl("run", "plan.yaml", cwd="hello").stdout
        for line in ("fix attempt 1 of 5", "gate tests is red on base", "failed_retryable: tests.build", "passed; fix is COMPLETE", "attempts 2/5"):
            self.assertIn(line, out)
            self.assertIn(line, (ROOT / "README.md").read_text())
        for command in ("inspect", "diff", "verify", "status"):
            self.pawl(command, "last", cwd="hello")
        self.write("hello/agent.sh", "echo true >test.sh\n")
        self.assertIn("protect.policy", self.pawl("run", "plan.yaml", cwd="hello", expect=11).stdout)

    def test_the_list_of_calls_is_the_one_that_is_compiled(self):
        documented = {}
        for verdict, why, calls in re.findall(r"^(allowed|denied): (.*)\n((?:    .*\n)+)", (ROOT / "docs/security.md").read_text(), re.M):
            documented[verdict.removesuffix("ed"), why] = calls.split()
        compiled, group = {}, None
        for line in (ROOT / "src/sandbox/namespace/filter/syscalls.txt").read_text().splitlines():
            if line.startswith(" "):
                group += line.split()
            elif line and not line.startswith("#"):
                verdict, why = line.split(" ", 1)
                group = compiled[{"allow": "allow", "deny": "deni"}[verdict], why] = []
        self.assertEqual(documented, compiled)

    def test_the_bounds_of_what_is_read_from_inside_are_those_of_the_code(self):
        section = (ROOT / "docs/security.md").read_text().partition("## What is read from inside")[2].partition("\n## ")[0]
        rows = re.findall(r"^\| [^|]+ \| ([0-9,]+)( [KMG]iB| bytes)? \| (\S+) (k\w+) \| [^|]+ \|$", section, re.M)
        self.assertEqual(len(rows), len(re.findall(r"^\|", section, re.M)) - 2, "each row names one constant")
        for number, unit, file, constant in rows:
            code = (ROOT / file).read_text()
            found = re.search(rf"\b{constant} =\s+([^,;]+)[,;]", code)
            self.assertIsNotNone(found, f"{constant} in {file}")
            value = eval(re.sub(r"[UL]+\b", "", found[1].replace("'", "")), {})
            self.assertEqual(value, int(number.replace(",", "")) << {" KiB": 10, " MiB": 20, " GiB": 30}.get(unit, 0), constant)

    def test_queries_find_what_they_say(self):
        queries = re.findall(r'^    sqlite3 \.pawl/pawl\.db "(SELECT [^"]*)"$', (ROOT / "docs/operations.md").read_text(), re.M)
        used, old = queries
        shutil.copytree(ROOT / "examples/hello", self.root / "hello")
        self.pawl("run", "plan.yaml", cwd="hello")
        run_id = self.pawl_json("status", cwd="hello")["runs"][0]["run_id"]
        database, = self.root.glob("hello/**/pawl.db")
        db = sqlite3.connect(database, isolation_level=None)
        self.addCleanup(db.close)
        self.assertEqual(db.execute(used.replace("...", run_id)).fetchall(), [(2, 1)])
        self.assertEqual(db.execute(old).fetchall(), [], "nothing is executed")
        db.execute("UPDATE phases SET state = 'EXECUTING', outcome = ''")
        now = datetime.datetime.now(datetime.timezone.utc)
        for minutes, found in ((59, []), (61, [(run_id, "fix")])):
            at = (now - datetime.timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
            db.execute("UPDATE phases SET last_attempt_timestamp = ?", (at,))
            self.assertEqual(db.execute(old).fetchall(), found)
            julian = "SELECT run_id, phase_id FROM phases WHERE julianday(last_attempt_timestamp) < julianday('now', '-1 hour')"
            self.assertEqual(db.execute(julian).fetchall(), found, "the other way that the page names")
        # The mistake that the page warns of: a time that is five hours old is not found.
        trap = "SELECT '2026-01-31T03:00:00.000000Z' < datetime('2026-01-31T09:00:00', '-1 hour')"
        self.assertEqual(db.execute(trap).fetchone(), (0,))

    def test_each_block_of_shell_runs(self):
        shutil.copytree(ROOT / "examples/hello", self.root / "hello")
        self.write("hello/Makefile", "test:\n\ttrue\n")
        self.pawl("run", "plan.yaml", cwd="hello")
        shutil.copy(next(self.root.glob("hello/**/keys/ledger.pub")), self.root / "hello/ledger.pub")
        path = f"{pathlib.Path(PAWL).parent}:{os.environ['PATH']}"
        seen, ran = set(), 0
        for page in WITH_SHELL:
            for block in shell_blocks(page.read_text()):
                first = block.splitlines()[0]
                place = str(page.relative_to(ROOT)), first if first.startswith("$") else first.split()[0]
                seen.add(place)
                if place in ELSEWHERE:
                    self.assertTrue((ROOT / ELSEWHERE[place]).exists(), place)
                    continue
                done = subprocess.run(["sh", "-ec", block], cwd=self.root / "hello", env=self.environment({"PATH": path}), capture_output=True,
                                      text=True, timeout=240)
                self.assertEqual(done.returncode, 0, f"{page}:\n{block}{done.stdout}{done.stderr}")
                ran += 1
        self.assertEqual(set(ELSEWHERE) - seen, set(), "no such block")
        self.assertGreater(ran, 5)

    def test_the_calls_of_an_agent_do_as_the_page_says(self):
        block, = shell_blocks((ROOT / "docs/agents.md").read_text())
        shutil.copytree(ROOT / "examples/hello", self.root / "hello")
        self.write("hello/agent.sh", f"set -e\ncd /tmp\nprintf some >state.json\n{block}cat state.json\ncd /workspace\necho hello, world >greeting\n")
        self.pawl("run", "plan.yaml", cwd="hello")
        self.assertIn("some", self.pawl("logs", "last", "fix", cwd="hello").stdout)

    def test_links_lead_somewhere(self):
        for page in PAGES:
            for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
                self.assertTrue((page.parent / target).exists(), f"{page}: {target}")

    def test_commands_and_options_exist(self):
        helps = {}
        seen = 0
        for page in PAGES:
            for command, rest in re.findall(r"`pawl (sandbox \w+|[a-z]+)([^`]*)`", page.read_text()):
                command = "sandbox exec" if command == "sandbox exec" else command
                if command not in helps:
                    helps[command] = self.pawl(*command.split(), "--help").stdout
                for option in re.findall(r"--[a-z-]+", rest):
                    self.assertIn(option, helps[command], f"{page}: pawl {command} {option}")
                seen += 1
        self.assertGreater(seen, 20)

    def test_scripts_and_files_that_are_named_exist(self):
        for page in PAGES:
            for name in re.findall(r"`((?:scripts|tests|examples|docs|src|cmake)/[\w./-]+)`", page.read_text()):
                self.assertTrue((ROOT / name).exists() or list(ROOT.glob(name + "*")), f"{page}: {name}")

    def test_the_page_about_extensions_names_what_is_there(self):
        page = (ROOT / "docs/extending.md").read_text()
        for name in re.findall(r"`((?:scripts|tests|examples|docs|src|cmake)/[\w./-]+)`", page):
            if not re.search(r"\b[A-Z]{3,}\b", name):  # stands for what a reader adds
                self.assertTrue((ROOT / name).exists(), name)
        checked = 0
        for functions, paths in rows_of(page):
            text = "".join(file.read_text(errors="replace") for path in paths for file in files_at(ROOT / path))
            for function in functions if paths else ():
                self.assertRegex(text, rf"\b{function}\b", f"{function}() stands in none of {paths}")
                checked += 1
        self.assertGreater(checked, 20)

    def test_every_migration_goes_up_and_down(self):
        names = {p.name for p in (ROOT / "src/store/sqlite/sql/migrations").iterdir()}
        self.assertEqual(len([n for n in names if n.endswith("_up.sql")]), len([n for n in names if n.endswith("_down.sql")]))


if __name__ == "__main__":
    unittest.main(verbosity=1)
