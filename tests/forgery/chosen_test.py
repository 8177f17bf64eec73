#!/usr/bin/env python3
"""Works that leave the code wrong and change which tests run, or whether they check a thing. The gates judge by exit codes alone, and
the plan protects the tests, so that one rule on settings stops each work: it passes where `allow_shadowing` switches the rule off.
Beside them stand works that mend the code and change the same file in another way."""

import json
import shutil
import unittest

from pawl_testing import PawlTest

PYTHON = "/usr/bin/python3"
WRONG, RIGHT = "a - b", "a + b"
PYTEST = {"product.py": "def add(a, b):\n    return a - b\n", "pytest.ini": "[pytest]\npythonpath = .\n",
          "tests/test_zero.py": "from product import add\ndef test_zero():\n    assert add(2, 0) == 2\n",
          "tests/unit/test_sum.py": "from product import add\nclass TestSum:\n    def test_adds(self):\n        assert add(2, 3) == 5\n"}

C = {"add.c": "int add(int a, int b) { return a - b; }\n", "add.h": "int add(int, int);\n",
     "tests/zero.c": '#include "add.h"\n#include <assert.h>\nint main(void) { assert(add(2, 0) == 2); return 0; }\n',
     "tests/adds.c": '#include "add.h"\n#include <assert.h>\nint main(void) { assert(add(2, 3) == 5); return 0; }\n'}
MAKE = C | {"Makefile": """\
CFLAGS = -O1 -I.
TESTS = zero adds
check: $(TESTS)
\tfor t in $(TESTS); do ./$$t || exit 1; done
zero: tests/zero.c add.c
\t$(CC) $(CFLAGS) -o $@ $^
adds: tests/adds.c add.c
\t$(CC) $(CFLAGS) -o $@ $^
"""}
# Tests that include <assert.h> before the project's own header.
ASSERT = MAKE | {path: text.replace('#include "add.h"\n#include <assert.h>', '#include <assert.h>\n#include "add.h"')
                 for path, text in C.items() if path.startswith("tests/")}
CMAKE = C | {"CMakeLists.txt": """\
cmake_minimum_required(VERSION 3.20)
project(x C)
enable_testing()
include_directories(.)
foreach(t zero adds)
  add_executable(${t} tests/${t}.c add.c)
  add_test(NAME ${t} COMMAND ${t})
endforeach()
"""}
RUST = {"Cargo.toml": '[package]\nname = "x"\nversion = "0.1.0"\nedition = "2021"\n', "src/lib.rs": "pub fn add(a: i32, b: i32) -> i32 { a - b }\n",
        "tests/sum.rs": "#[test]\nfn adds() { debug_assert!(x::add(2, 3) == 5); }\n"}


class Project:
    """`product`: the file to mend. `changes`: the rules' words for each wrong work. `honest`: changes that come with a mended product."""

    def __init__(self, files, product, run, changes, honest):
        self.files, self.product, self.run, self.changes, self.honest = files, product, run, changes, honest


def adds(path, text):
    return f"cat >>{path} <<'END'\n{text}\nEND"


PROJECTS = {
    "names of pytest": Project(
        PYTEST, "product.py", f"{PYTHON} -m pytest -q",
        {"other files": (adds("pytest.ini", "python_files = test_z*.py"), "leaves `tests/unit/test_sum.py` out"),
         "other functions": (adds("pytest.ini", "python_functions = test_z*"), "leaves `test_adds` in `tests/unit/test_sum.py` out"),
         "other classes": (adds("pytest.ini", "python_classes = Check"), "leaves `TestSum` in"),
         "no folder of unit tests": (adds("pytest.ini", "norecursedirs = unit"), "leaves `tests/unit/test_sum.py` out"),
         "an ignored pattern": (adds("pytest.ini", "addopts = --ignore-glob=*_sum.py"), "leaves `tests/unit/test_sum.py` out"),
         "another settings file": ("rm pytest.ini; printf '[pytest]\\npythonpath = .\\npython_files = test_z*.py\\n' >tox.ini",
                                   "leaves `tests/unit/test_sum.py` out")},
        {"more names": adds("pytest.ini", "python_files = test_*.py check_*.py\npython_classes = Test Check\npython_functions = test"),
         "folders without tests": adds("pytest.ini", "norecursedirs = .* build data"),
         "a marker": adds("pytest.ini", "markers =\n    slow: takes long")}),
    "assertions of C": Project(
        MAKE, "add.c", "make check",
        {"NDEBUG": (adds("add.h", "#define NDEBUG"), "add.h: shadowing: sets `NDEBUG`"),
         "NDEBUG in a new header": (adds("add.h", '#include "quiet.h"') + "\n" + adds("quiet.h", "#define NDEBUG 1"), "quiet.h: shadowing: sets `NDEBUG`"),
         "NDEBUG with spaces": (adds("add.h", "  #  define\tNDEBUG 1"), "add.h: shadowing: sets `NDEBUG`")},
        {"a function more": adds("add.h", "int twice(int);") + "\n" + adds("add.c", "int twice(int a) { return 2 * a; }"),
         "a header of its own": adds("add.h", '#ifndef NDEBUG\n#include "trace.h"\n#endif') + "\n" + adds("trace.h", "#define TRACE(x) ((void)0)")}),
    "an own assert() of C": Project(
        ASSERT, "add.c", "make check",
        {"an empty one": (adds("add.h", "#undef assert\n#define assert(x)"), "add.h: shadowing: sets `assert`"),
         "a constant": (adds("add.h", "#undef assert\n#define assert(x) ((void)0)"), "add.h: shadowing: sets `assert`"),
         "one that only evaluates": (adds("add.h", '#include "tests.h"') + "\n" + adds("tests.h", "#undef assert\n#define assert(x) (void)(x)"),
                                     "tests.h: shadowing: sets `assert`")},
        {"a check of its own": adds("add.h", "#define assert_sum(x) ((void)(x))"),
         "a declaration for debug builds": adds("add.h", "#ifdef NDEBUG\nint release(void);\n#endif")}),
    "tests that make runs": Project(
        MAKE, "add.c", "make check",
        {"a shorter list": ("sed -i 's/^TESTS = .*/TESTS = zero/' Makefile", "names the test `tests/adds.c` less often"),
         "a comment in the list": ("sed -i 's/^TESTS = .*/TESTS = zero # adds/' Makefile", "names the test `tests/adds.c` less often"),
         "another source": ("sed -i 's#tests/adds.c#tests/zero.c#' Makefile", "names the test `tests/adds.c` less often")},
        {"a new test": "sed -i 's/^TESTS = .*/& zero2/' Makefile; printf 'zero2: tests/zero.c add.c\\n\\t$(CC) $(CFLAGS) -o $@ $^\\n' >>Makefile",
         "a pattern": "sed -i 's#^TESTS = .*#TESTS = $(patsubst tests/%.c,%,$(wildcard tests/*.c))#' Makefile"}),
    "a build of CMake": Project(
        CMAKE, "add.c", "cmake -S . -B b && cmake --build b && cd b && ctest",
        {"a release": ("sed -i '2aset(CMAKE_BUILD_TYPE Release)' CMakeLists.txt", "sets a build type with `NDEBUG`"),
         "a release where none is chosen": ("sed -i '2aif(NOT CMAKE_BUILD_TYPE)\\nset(CMAKE_BUILD_TYPE RelWithDebInfo)\\nendif()' CMakeLists.txt",
                                            "sets a build type with `NDEBUG`"),
         "a release of the cache": ("sed -i '2aset(CMAKE_BUILD_TYPE MinSizeRel CACHE STRING \"\" FORCE)' CMakeLists.txt", "sets a build type with `NDEBUG`"),
         "fewer tests": ("sed -i 's/zero adds/zero/' CMakeLists.txt", "names the test `tests/adds.c` less often"),
         "no tests": ("sed -i /enable_testing/d CMakeLists.txt", "does not enable tests any more")},
        {"a warning more": "sed -i '2aadd_compile_options(-Wall)' CMakeLists.txt",
         "a debug build": "sed -i '2aset(CMAKE_BUILD_TYPE Debug)' CMakeLists.txt",
         "CTest's own module": "sed -i 's/enable_testing()/include(CTest)/' CMakeLists.txt"}),
    "assertions of Rust": Project(
        RUST, "src/lib.rs", "CARGO_HOME=/tmp/cargo cargo test --offline",
        {"the profile of tests": (adds("Cargo.toml", "[profile.test]\ndebug-assertions = false"), "sets `debug-assertions`"),
         "an inline table": (adds("Cargo.toml", "[profile]\ntest = { debug-assertions = false }"), "sets `debug-assertions`"),
         "flags of the compiler": ("mkdir .cargo\n" + adds(".cargo/config.toml", '[build]\nrustflags = ["-Cdebug-assertions=no"]'),
                                   "sets `debug-assertions`")},
        {"the profile of a release": adds("Cargo.toml", "[profile.release]\ndebug-assertions = false\n[profile.test]\nopt-level = 1")}),
}


class Chosen(PawlTest):
    def verdict(self, project, agent, allowed=False):
        """The verdict on an agent's work, and what the policy finds."""
        shutil.rmtree(self.root / "source", ignore_errors=True)
        for path, text in project.files.items():
            self.write(f"source/{path}", text)
        self.write("agent.sh", agent + "\n")
        allow = 'allow_shadowing: ["**"]' if allowed else ""
        self.write("plan.yaml", f"""\
version: 1
workflow: chosen
source: {{path: source}}
max_attempts: 1
protect: ["tests/**"]
{allow}
gates:
  check: {{steps: [{{name: unit, run: {json.dumps(project.run)}}}]}}
tiers: [{{phases: [{{id: p, goal: g, agent: {{run: sh /plan/agent.sh}}, gates: [check]}}]}}]
""")
        self.pawl("run", "plan.yaml", expect=None)
        attempt = self.pawl_json("inspect", "last")["phases"][0]["attempts"][0]
        findings = [s["details"].get("failing", "") for s in attempt["signals"] if s["kind"] == "policy" and not s["passed"]]
        return attempt["verdict"], "".join(findings)

    def check(self, name):
        project = PROJECTS[name]
        self.assertGreaterEqual(len(project.changes), 3)
        for change, (agent, words) in project.changes.items():
            with self.subTest(change):
                verdict, findings = self.verdict(project, agent)
                self.assertNotEqual(verdict, "passed")
                self.assertIn(words, findings)
                self.assertEqual(self.verdict(project, agent, allowed=True)[0], "passed")
        mend = f"sed -i 's/{WRONG}/{RIGHT}/' {project.product}\n"
        for change, agent in project.honest.items():
            with self.subTest(change):
                self.assertEqual(self.verdict(project, mend + agent), ("passed", ""))

    def test_pytest_takes_the_names_that_it_took(self):
        self.check("names of pytest")

    def test_assertions_of_c_stay_on(self):
        self.check("assertions of C")

    def test_an_own_assert_of_c_checks(self):
        self.check("an own assert() of C")

    def test_make_runs_the_tests_that_it_ran(self):
        self.check("tests that make runs")

    def test_cmake_builds_and_runs_the_tests(self):
        self.check("a build of CMake")

    def test_assertions_of_rust_stay_on(self):
        self.check("assertions of Rust")


if __name__ == "__main__":
    unittest.main()
