#!/usr/bin/env python3
"""No program of the build links with a reference that no library defines: such a call would end it, or do
nothing, at run time. The linker gets the options of each program and an object with such a reference. An
option that hides warnings can hide the reference, too (cmake/uncalled.c).

BUILD names the build folder, CXX the compiler."""

import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest

PROGRAMS = {"pawl", "pawl-engine", "pawl-reader", "pawl-supervisor"}
HIDES = ("-Wl,--no-warnings", "-Wl,--unresolved-symbols=ignore-all", "-Wl,--warn-unresolved-symbols")


def options_of(ninja):
    """Maps the programs to the options that they are linked with."""
    blocks = re.findall(r"^build (\S+): CXX_EXECUTABLE_LINKER__.*\n((?:  .*\n)+)", ninja, re.M)
    return {name: shlex.split(re.search(r"^  LINK_FLAGS = (.*)$", block, re.M)[1]) for name, block in blocks if name in PROGRAMS}


class Links(unittest.TestCase):
    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="pawl-links-"))
        self.addCleanup(shutil.rmtree, self.root)
        self.options = options_of(pathlib.Path(os.environ["BUILD"], "build.ninja").read_text())
        for name, body in (("undefined", ";"), ("defined", " {}")):
            source = self.root / f"{name}.cc"
            source.write_text(f"void nowhere(){body}\nint main() {{ nowhere(); }}\n")
            self.compiler("-fPIE", "-c", source, "-o", self.root / f"{name}.o", check=True)

    def compiler(self, *args, check=False):
        return subprocess.run([os.environ["CXX"], *map(str, args)], capture_output=True, text=True, check=check)

    def link(self, name, options):
        return self.compiler(*options, self.root / f"{name}.o", "-o", self.root / name)

    def test_a_reference_that_no_library_defines_ends_the_link(self):
        self.assertEqual(self.options.keys(), PROGRAMS)
        for program, options in self.options.items():
            with self.subTest(program):
                self.assertEqual(self.link("defined", options).returncode, 0)
                refused = self.link("undefined", options)
                self.assertNotEqual(refused.returncode, 0)
                self.assertRegex(refused.stderr, "undefined.*nowhere")

    def test_an_option_that_hides_it_would_be_found(self):
        kept = [option for option in self.options["pawl-reader"] if "--fatal-warnings" not in option]
        for option in HIDES:
            self.assertEqual(self.link("undefined", [*kept, option]).returncode, 0, option)


if __name__ == "__main__":
    unittest.main()
