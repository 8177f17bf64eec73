#!/usr/bin/env python3
"""docs/commands has a page for each command, which is its help. `--update` writes the pages anew."""

import pathlib
import re
import subprocess
import sys
import unittest

from pawl_testing import PAWL

PAGES = pathlib.Path(__file__).resolve().parents[2] / "docs/commands"


def help_of(*words):
    return subprocess.run([PAWL, *words, "--help"], capture_output=True, text=True, check=True).stdout


def commands_in(text):
    """The subcommands that a help lists, each with its line."""
    listed = text.partition("\nSubcommands:\n")[2].partition("\n\n")[0]
    return dict(re.findall(r"^  (\S+) +(.+)$", listed, re.M))


def block(text):
    return f"```text\n{text.strip()}\n```\n"


def page_of(command):
    text = help_of(command)
    parts = [f"# pawl {command}\n", "The output of `--help`. A test compares this page with it.\n", block(text)]
    for sub in commands_in(text):
        parts += [f"## pawl {command} {sub}\n", block(help_of(command, sub))]
    return "\n".join(parts)


def pages():
    commands = commands_in(help_of())
    index = ["# Commands\n", "One page for each command, from its `--help`. A test compares them.\n", "| command | what it does |\n|---|---|"]
    out = {"README.md": "\n".join(index) + "".join(f"\n| [{name}]({name}.md) | {line} |" for name, line in commands.items()) + "\n"}
    return out | {f"{name}.md": page_of(name) for name in commands}


class Pages(unittest.TestCase):
    maxDiff = None

    def test_each_command_has_its_page_and_no_other_is_there(self):
        made = pages()
        self.assertGreater(len(made), 20)
        self.assertEqual({path.name: path.read_text() for path in PAGES.iterdir()}, made, "run this test with --update")

    def test_each_help_has_an_example(self):
        for name, text in pages().items():
            with self.subTest(name):
                for part in text.split("```text\n")[1:]:
                    self.assertTrue("Example" in part or "Subcommands:" in part, part)


if __name__ == "__main__":
    if "--update" in sys.argv:
        PAGES.mkdir(exist_ok=True)
        for old in PAGES.iterdir():
            old.unlink()
        for page, content in pages().items():
            (PAGES / page).write_text(content)
    else:
        unittest.main()
