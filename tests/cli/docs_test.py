#!/usr/bin/env python3
"""What README and docs say is so: plans run, commands and options exist, links lead somewhere."""

import pathlib
import re
import shutil
import unittest

from pawl_testing import PawlTest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


class Docs(PawlTest):
    def test_the_first_plan_of_the_readme_runs_as_it_says(self):
        shown = re.search(r"```yaml\n(.*?)```", (ROOT / "README.md").read_text(), re.S)[1]
        shutil.copytree(ROOT / "examples/hello", self.root / "hello")
        self.assertIn(shown, (self.root / "hello/plan.yaml").read_text())
        out = self.pawl("run", "plan.yaml", cwd="hello").stdout
        for line in ("fix attempt 1 of 5", "failed_retryable: tests.build", "passed; fix is COMPLETE", "attempts 2/5"):
            self.assertIn(line, out)
            self.assertIn(line, (ROOT / "README.md").read_text())
        for command in ("inspect", "diff", "verify", "status"):
            self.pawl(command, "last", cwd="hello")

    def test_the_list_of_calls_is_the_one_that_is_compiled(self):
        documented = {}
        for verdict, why, calls in re.findall(r"^\| (allowed|denied) \| (.*) \| (.*) \|$", (ROOT / "docs/security.md").read_text(), re.M):
            documented[verdict.removesuffix("ed"), why] = calls.split()
        compiled, group = {}, None
        for line in (ROOT / "src/sandbox/namespace/filter/syscalls.txt").read_text().splitlines():
            if line.startswith(" "):
                group += line.split()
            elif line and not line.startswith("#"):
                verdict, why = line.split(" ", 1)
                group = compiled[{"allow": "allow", "deny": "deni"}[verdict], why] = []
        self.assertEqual(documented, compiled)

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

    def test_every_migration_goes_up_and_down(self):
        names = {p.name for p in (ROOT / "src/store/sqlite/sql/migrations").iterdir()}
        self.assertEqual(len([n for n in names if n.endswith("_up.sql")]), len([n for n in names if n.endswith("_down.sql")]))


if __name__ == "__main__":
    unittest.main(verbosity=1)
