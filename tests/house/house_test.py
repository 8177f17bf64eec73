#!/usr/bin/env python3
"""The rules of the source tree, and a proof that each rule can fail."""

import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from functions import STRING, functions

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINES_MAX = 500
FUNCTION_LINES_MAX = 60
PARAMETERS_MAX = 5
METHODS_MAX = 25

# Methods of an interface; a destructor is none.
METHOD = re.compile(r"^ +virtual [^~;]*?\b(\w+)\(", re.M)
VERBS = "|".join(METHOD.findall((ROOT / "src/store/verbs.h").read_text()))

# The rules: a pattern of calls, and the folders (or files) below src/ that may have them.
RULES = {
    "starts a process": (r"\b(fork|vfork|clone|posix_spawnp?|system|popen|execv[pe]*|execveat|execl[pe]*)\s*\(|SYS_clone|syscall\(SYS_exec",
                         ["os/process.cc", "sandbox/namespace/child.cc", "sandbox/namespace/command.cc", "sandbox/namespace/idmap.cc"]),
    "has a process started": (r"\bos::(output_of|spawn_piped|spawn_detached|become)\s*\(",
                              ["agent/acp/program.cc", "cli/front/main.cc", "executor/credentials.cc", "supervisor/step_runner.cc"]),
    # A step begins with its marker, which is durable before the step starts. Other code has a supervisor::StepEnder.
    "can start a step": (r"\b(StepRunner|make_step_runner)\b", ["supervisor/", "executor/step_starter.h", "executor/open_world.", "executor/session.cc",
                                              "executor/gate_again.cc"]),
    # A view or an export of the ledger takes a store::Reader, which has no verb, or a State whose verbs it does not call.
    "can change runs": (rf"\bstore::(Store|Verbs)\b|\bstore_?(\.|->)({VERBS})\(", ["executor/", "cli/", "store/"]),
    "makes a namespace": (r"\b(unshare|setns|pivot_root|mount|umount2)\s*\(|CLONE_NEW|SYS_pivot_root",
                          ["sandbox/namespace/"]),
    "reads the clock": (r"clock_gettime|system_clock|steady_clock|gettimeofday|\btime\s*\(\s*(nullptr|NULL|0)\s*\)",
                        ["os/clock.cc", "workspace/objects.cc"]),
    "makes randomness": (r"\brand\s*\(|std::random_device|getrandom\s*\(|mt19937", ["os/random.cc"]),
    "uses std::regex": (r"std::regex", []),
    "prints": (r"std::cout|std::cerr|\bprintf\s*\(", []),
    # Text of a sandbox or a repository reaches a terminal through cli/render/say.h alone, which spells it.
    "writes text as it is": (r"\bf(write|puts|putc|printf)\s*\(|\bput(s|char)\s*\(",
                             ["cli/render/terminal.cc", "cli/commands/sandbox.cc", "cli/front/main.cc", "supervisor/", "sandbox/namespace/", "base/error.cc"]),
    # nlohmann's value() throws when a member has another type; text_in() and its like do not. The listed
    # files catch the exception.
    "reads JSON by what throws": (r"[.]value[(]\"", ["sandbox/spec.cc", "supervisor/spool.cc", "workspace/tree.cc", "gates/base.cc"]),
    # The registry says them (sandbox/backend.h). A plan has words of its own.
    "names a sandbox backend": (r"\"(shared_kernel|namespace)\"", ["base/isolation.h", "sandbox/namespace/", "plan/sections.cc"]),
    # An error has a kind and fields. Reports of test tools have messages, too, and no fields. An error of libgit2 has a class and a text: git.cc
    # finds errno in it, and a missing object. So that no alias hides a text, none is kept as a view, and none is compared with strerror(3).
    "decides by the text of an error": (r"(\.|->)message\s*(\.\s*(r?find\w*|contains|starts_with|ends_with|substr|compare)\s*\(|[!=]=\s*\")|"
                                        r"\bstring_view\s+\w+\s*=[^;]*(\.|->)message\b|"
                                        r"(\b(r?find|contains|starts_with|ends_with|compare)\s*\(|[!=]=)\s*(std::)?strerror(_r)?\s*\(",
                                        ["gates/formats/", "workspace/git/git.cc"]),
    # open.cc and registry.cc choose by name. All other code is the same for each database and each backend.
    "includes a database's driver": (r"#include \"(store/)?sqlite/", ["sqlite/", "store/sqlite/", "store/open.cc", "agent/"]),
    "includes a backend's parts": (r"#include \"sandbox/namespace/", ["sandbox/namespace/", "sandbox/registry.cc"]),
    "builds SQL from strings": (r"\"(SELECT|INSERT|UPDATE|DELETE) [^\"]*\"\s*\+", []),
}

# Between clone3 and exec nothing allocates (sandbox/namespace/child.h): another thread may hold the lock of malloc.
CHILD = ("child.cc", "command.cc", "listeners.cc", "renames.cc", "landlock.cc", "handover.cc")
ALLOCATES = {"allocates": (r"std::(multi|unordered_)?(set|map)<|std::(deque|list)<|std::(function<|to_string|make_(unique|shared))|"
                           r"std::(string|vector<[^&]*>)\s+\w|std::string\(|([=(]|return)\s*new\b|\b[mc]alloc\(|#include <(set|map|deque|list)>", [])}

# How a test says that it was not run. The brackets keep these lines from matching.
SKIPS = {
    (".cc", ".h", ".py", ".txt"): r"GTEST[_]SKIP|\bDISABLED[_]|unittest[.](skip|expected)|skip[T]est|Skip[T]est|SKIP[_]RE",
    (".txt",): r"\bDISABLED +(TRUE|ON|1)\b",
    # The last pattern finds tests that exist for some users only. Marks of pytest also stand in texts: in
    # projects that tests judge.
    (".py",): r"pytest[.](skip|xfail)\(|^ *if .*geteuid.*:\n+ +(class|def) ",
    (".ts", ".mjs"): r"\b(it|test|describe)[.](skip|todo)\b",
}


def code_of(text):
    """The text without comments, with its lines. String contents remain, because SQL and format strings
    are checked, too."""
    return re.sub(STRING + r"|//[^\n]*", lambda found: "" if found[0].startswith("//") else found[0], text)


def listed(name):
    """The lines `NAME: word ...` of a list beside this file."""
    out = {}
    for line in (pathlib.Path(__file__).parent / name).read_text().splitlines():
        if line and not line.startswith("#"):
            left, _, words = line.partition(":")
            out[left] = set(words.split())
    return out


def layers():
    return listed("layers.txt")


def layer_problems(root, allowed):
    out = []
    for path in sorted((root / "src").rglob("*")):
        if path.suffix not in (".cc", ".h"):
            continue
        room = path.relative_to(root / "src").parts[0]
        if room not in allowed:
            out.append(f"{path}: room {room} is not in layers.txt")
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            included = re.match(r'#include "(\w+)/', line)
            if included and included[1] != room and included[1] in allowed and included[1] not in allowed[room]:
                out.append(f"{path}:{number}: {room} may not include {included[1]}")
    return out


def door_problems(root, doors):
    """Includes of a sub-folder of another room that is no door, and doors that no other room includes."""
    out, used = [], set()
    for path in sorted((root / "src").rglob("*")):
        if path.suffix not in (".cc", ".h"):
            continue
        room = path.relative_to(root / "src").parts[0]
        for number, line in enumerate(path.read_text().splitlines(), 1):
            included = re.match(r'#include "((\w+)/[\w/]+)/([\w.]+)"', line)
            if not included or included[2] == room:
                continue
            used.add((included[1], included[3]))
            if included[3] not in doors.get(included[1], ()):
                out.append(f"{path}:{number}: {included[1]}/{included[3]} is no door of {included[2]}")
    return out + [f"doors.txt: no other room includes {folder}/{name}" for folder, names in doors.items() for name in names
                  if (folder, name) not in used]


def detail_problems(root):
    """Includes of a header that says in its first comment that it is a detail of its room or folder, from outside of it."""
    texts = {path.relative_to(root / "src"): path.read_text() for path in sorted((root / "src").rglob("*")) if path.suffix in (".cc", ".h")}
    inside = {}
    for path, text in texts.items():
        comment = re.match(r"(//.*\n)*", text)[0].replace("\n//", "")
        if found := re.search(r"(?:detail of|Internal to) this (room|folder)", comment):
            inside[path.as_posix()] = path.parts[0] if found[1] == "room" else path.parent.as_posix()
    return [f"{path}: {name} is a detail of {inside[name]}" for path, text in texts.items()
            for name in re.findall(r'^#include "([^"]+)"', text, re.M) if name in inside and not path.is_relative_to(inside[name])]


def function_problems(text):
    for name, line, lines, parameters in functions(text):
        if lines > FUNCTION_LINES_MAX:
            yield f"{line}: {name} has {lines} lines"
        if parameters > PARAMETERS_MAX:
            yield f"{line}: {name} has {parameters} parameters"


def method_problems(text):
    """Classes with more virtual methods of their own than METHODS_MAX."""
    for name, body in re.findall(r"^(?:class|struct) (\w+)[^;{]*\{\n(.*?)^\};", text, re.M | re.S):
        methods = len(METHOD.findall(body))
        if methods > METHODS_MAX:
            yield f"{name} has {methods} virtual methods"


def rooms_of(page):
    """The tables of rooms of docs/architecture.md: room -> (door, rooms that it may include)."""
    doors, below = {}, {}
    for line in page.split("## Which rooms are there?")[1].split("\n## ")[0].splitlines():
        room, *cells = [cell.strip() for cell in line.split("|")[1:-1]] or [""]
        if not cells or room == "room" or room.startswith("---"):
            continue
        if len(cells) == 2:
            doors[room] = cells[1]
        else:
            below[room] = set(re.findall(r"\w+", cells[0]))
    return {room: (door, below[room]) for room, door in doors.items()}


def rule_problems(root, rules, names=None):
    """Of the files with these names, or of all."""
    out = []
    for path in sorted((root / "src").rglob("*")):
        if path.suffix not in (".cc", ".h") or (names and path.name not in names):
            continue
        inside = str(path.relative_to(root / "src"))
        for number, line in enumerate(code_of(path.read_text()).splitlines(), 1):
            for what, (pattern, places) in rules.items():
                if re.search(pattern, line) and not any(inside.startswith(p) for p in places):
                    out.append(f"{path}:{number}: {what} outside of {places}: {line.strip()}")
    return out


# A mutant that stands in the code that it changes hides it: a name says what the mutant does.
MUTANT_WITH_A_NAME = re.compile(r"\bbool\s+\w+(\(\)\s*(const\s*)?\{\s*return|\s*=)\s*!?mutant\(\"\w+\"\);")


def mutant_problems(text):
    """Lines with a mutant that is not all of a predicate, or of a constant."""
    text = code_of(text)
    named = {found.end() for found in MUTANT_WITH_A_NAME.finditer(text)}
    return [text.count("\n", 0, found.start()) + 1 for found in re.finditer(r"\bmutant\(\"\w+\"\);?", text) if found.end() not in named]


def skip_problems(files):
    return [f"{path}:{text.count(chr(10), 0, found.start()) + 1}: a test that is not run: {found[0].strip()}" for path in files
            for endings, pattern in SKIPS.items() if path.suffix in endings
            for text in [path.read_text()] for found in re.finditer(pattern, text, re.M)]


# Names that say no subject: whatever has no place of its own ends up in such a file.
NO_SUBJECT = re.compile(r"(^|[_-])(common|shared|utils?|helpers?|manager|misc)([_-]test)?$")


def name_problems(names):
    return [name for name in names if NO_SUBJECT.search(pathlib.PurePath(name).stem)]


def is_first_of_its_source(header):
    source = header.with_suffix(".cc")
    first = re.search(r'^#include ["<](.*)[">]', source.read_text(), re.M) if source.exists() else None
    return first is not None and header.as_posix().endswith(f"/src/{first[1]}")


class House(unittest.TestCase):
    def test_rooms_include_only_what_is_below_them(self):
        self.assertEqual(layer_problems(ROOT, layers()), [])

    def test_other_rooms_include_only_doors_of_a_sub_folder(self):
        self.assertEqual(door_problems(ROOT, listed("doors.txt")), [])

    def test_a_detail_is_included_where_it_says(self):
        self.assertEqual(detail_problems(ROOT), [])

    def test_the_page_has_the_rooms(self):
        rooms = rooms_of((ROOT / "docs/architecture.md").read_text())
        self.assertEqual({room: below for room, (_, below) in rooms.items()}, layers())
        for room, (door, _) in rooms.items():
            for header in re.findall(r"`([^`]+)`", door):
                self.assertTrue((ROOT / header).exists(), f"{room}: {header}")

    def test_functions_stay_small(self):
        found = [f"{path}:{problem}" for path in sorted((ROOT / "src").rglob("*")) if path.suffix in (".cc", ".h")
                 for problem in function_problems(path.read_text())]
        self.assertEqual(found, [])

    def test_interfaces_stay_small(self):
        found = [f"{path}: {problem}" for path in sorted((ROOT / "src").rglob("*.h")) for problem in method_problems(path.read_text())]
        self.assertEqual(found, [])
        wide = "class A {\n public:\n  virtual ~A() = default;\n" + "  virtual B<C> f(D d) = 0;\n" * (METHODS_MAX + 1) + "};\n"
        self.assertEqual(list(method_problems(wide)), [f"A has {METHODS_MAX + 1} virtual methods"])

    def test_the_layers_have_no_cycle(self):
        allowed = layers()
        done = set()
        while len(done) < len(allowed):
            free = {room for room, below in allowed.items() if room not in done and below <= done}
            self.assertTrue(free, f"a cycle among {set(allowed) - done}")
            done |= free

    def test_processes_and_namespaces_are_made_in_their_rooms(self):
        self.assertEqual(rule_problems(ROOT, RULES), [])

    def test_nothing_allocates_between_clone_and_exec(self):
        self.assertEqual(rule_problems(ROOT, ALLOCATES, CHILD), [])

    def test_a_mutant_has_a_name(self):
        found = [f"{path}:{line}" for path in sorted((ROOT / "src").rglob("*")) if path.suffix in (".cc", ".h")
                 for line in mutant_problems(path.read_text())]
        self.assertEqual(found, [])
        for bad in ('if (a && !mutant("b")) c();', 'if (mutant("b") || a) c();', 'd = a ||\n    mutant("b");', 'if (mutant("b")) return;',
                    'int d = mutant("b") ? 0 : a;', 'bool c(int a) { return a && mutant("b"); }'):
            self.assertEqual(len(mutant_problems(bad)), 1, bad)
        for good in ('bool b() { return mutant("b"); }  // && mutant("c")', 'bool b() {\n  return mutant("b");\n}', 'const bool b = !mutant("b");'):
            self.assertEqual(mutant_problems(good), [], good)

    def test_files_stay_small(self):
        tracked = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True,
                                 text=True, check=True).stdout.split()
        for name in tracked:
            if not name.endswith((".cc", ".h", ".py", ".sql")) or not (ROOT / name).exists():
                continue
            lines = (ROOT / name).read_text().count("\n")
            self.assertLessEqual(lines, LINES_MAX, name)

    def test_each_file_is_named_for_a_subject(self):
        tracked = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        self.assertEqual(name_problems(name for name in tracked.split() if (ROOT / name).exists()), [])
        bad = ["src/a/common.h", "src/a/text_utils.cc", "tests/a/shared_test.cc", "sdk/helpers.py", "src/a/manager.h"]
        self.assertEqual(name_problems([*bad, "src/a/shared_objects.h", "src/a/lines.h"]), bad)

    def test_no_test_is_skipped(self):
        files = [path for tests in (ROOT / "tests", *ROOT.glob("sdk/*/tests")) for path in sorted(tests.rglob("*")) if path.is_file()]
        self.assertEqual(skip_problems(files), [])

    def test_headers_compile_alone(self):
        """Headers that no source of their name includes first. Other headers compile alone where
        scripts/tidy compiles each source by itself, behind the precompiled headers."""
        includes = subprocess.run(["pkg-config", "--cflags", "sqlite3", "libgit2"], capture_output=True, text=True,
                                  check=True).stdout.split()
        generated = os.environ["PAWL_GENERATED"]
        # The object is not needed, but the compiler cache does not store the result of -fsyntax-only.
        ccache = shutil.which("ccache")
        cached = {**os.environ, "CCACHE_BASEDIR": str(ROOT), "CCACHE_NOHASHDIR": "1"}

        def compile_one(path, to):
            done = subprocess.run([*([ccache] if ccache else []), "c++", "-std=c++23", "-x", "c++", "-DPAWL_TEST_HOOKS", f"-I{ROOT}/src",
                                   f"-I{generated}", *includes, "-c", str(path), "-o", to], capture_output=True, text=True, env=cached)
            return done.stderr if done.returncode else ""

        headers = [path for path in sorted((ROOT / "src").rglob("*.h")) if not is_first_of_its_source(path)]
        self.assertGreater(len(headers), 10)
        with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(2) as pool:
            objects = [f"{folder}/{number}.o" for number in range(len(headers))]
            for path, error in zip(headers, pool.map(compile_one, headers, objects)):
                self.assertEqual(error, "", path)

    def test_the_rules_can_fail(self):
        with tempfile.TemporaryDirectory() as name:
            root = pathlib.Path(name)
            (root / "src/base").mkdir(parents=True)
            (root / "src/base/bad.cc").write_text('#include "store/store.h"\nint f() { return fork(); }\nint g() { return unshare(0); }\n')
            self.assertEqual(len(layer_problems(root, layers())), 1)
            self.assertEqual(len(rule_problems(root, RULES)), 2)
            self.assertEqual(door_problems(root, {}), [])
            (root / "src/base/bad.cc").write_text('#include "store/sqlite/group.h"\n')
            self.assertEqual(len(door_problems(root, {"store/sqlite": {"connection.h"}})), 2, "no door, and a door that is not used")
            (root / "src/os/part").mkdir(parents=True)
            (root / "src/os/part/detail.h").write_text("// Finds a place. A\n// detail of this room.\n")
            (root / "src/os/user.cc").write_text('#include "os/part/detail.h"\n')
            (root / "src/base/bad.cc").write_text('#include "os/part/detail.h"\n')
            self.assertEqual(len(detail_problems(root)), 1)
            (root / "src/os/part/detail.h").write_text("// Finds a place. A detail of this folder.\n")
            self.assertEqual(len(detail_problems(root)), 2)
            (root / "src/base/bad.cc").write_text("static_cast<supervisor::StepRunner&>(world_.starter).start(id);\n")
            self.assertEqual(len(rule_problems(root, RULES)), 1)
            (root / "src/base/bad.cc").write_text("auto r = supervisor::make_step_runner(options);\n")
            self.assertEqual(len(rule_problems(root, RULES)), 1)
            for line in ("state.store->operator_skip(run_id);", "void f(store::Verbs& verbs);", "store_.judge_again(lease, {}, now);", "os::output_of(command, 1, 2);",
                         '#include "store/sqlite/group.h"', '#include "sandbox/namespace/child.h"', "execveat(fd, path);"):
                (root / "src/base/bad.cc").write_text(line + "\n")
                self.assertEqual(len(rule_problems(root, RULES)), 1, line)
            for line in ("std::set<int> a;", "std::string a(b);", "std::vector<std::string> a;", "f(std::to_string(1));", "auto a = new int;"):
                (root / "src/base/command.cc").write_text(line + "\n")
                self.assertEqual(len(rule_problems(root, ALLOCATES, CHILD)), 1, line)
            (root / "src/base/command.cc").write_text("void f(const std::vector<int>& a);  // new\n")
            self.assertEqual(rule_problems(root, ALLOCATES, CHILD), [])
            for line in ('if (a.error().message.find("x") == 0) f();', 'if (status.error().message == "x") f();', 'if (error->message.contains("x")) f();',
                         'const std::string_view said = error != nullptr ? error->message : "";', 'if (text.ends_with(strerror_r(number, buffer, 9))) f();',
                         'if (text == std::strerror(ENOSPC)) f();'):
                (root / "src/base/bad.cc").write_text(line + "\n")
                self.assertEqual(len(rule_problems(root, RULES)), 1, line)
            # A string holds no comment, and a comment holds no call.
            hiding = ['f("http://a"); fork();', "f('\"'); g(\"//\"); fork();", 'f("\\\\"); fork();  // "', 'f(R"(" // )"); fork();',
                      "f(1'000, \"//\", '\\''); fork();"]
            for line in hiding:
                (root / "src/base/bad.cc").write_text(line + "\n")
                self.assertEqual(len(rule_problems(root, RULES)), 1, line)
            for line in ("// fork();", 'f("a");  // it\'s "fork();', "f(1'000);  // fork() isn't", 'f(\'"\');  // fork();'):
                (root / "src/base/bad.cc").write_text(line + "\n")
                self.assertEqual(rule_problems(root, RULES), [], line)
            for name, line in (("a.cc", "GTEST" + "_SKIP();"), ("a.py", "@unittest" + ".skipIf(True)"), ("a.ts", 'test.skip("a", f);'),
                               ("b.py", "pytest" + ".skip('no')"), ("b.txt", "set_tests_properties(a PROPERTIES DISABLED" + " TRUE)"),
                               ("c.py", "x = 1\nif os.geteuid() == 0:\n" + "    class Case:")):
                (root / name).write_text(line + "\n")
                self.assertEqual(len(skip_problems([root / name])), 1, line)


class Functions(unittest.TestCase):
    """The reader of functions, with what C++ may put before and into a body."""

    FOUND = [
        ("int f(int a, int b) {\n  return a;\n}\n", [("f", 3, 2)]),
        ("namespace a {\nnamespace {\nvoid g() {}\n}\n}\n", [("g", 1, 0)]),
        ("struct S {\n  explicit S(int a) : a_(a), b_{1, 2} {\n    f();\n  }\n  ~S() { g(); }\n};\n", [("S", 3, 1), ("~S", 1, 0)]),
        ("template <typename T>\nauto g(std::map<int, T> a, T b = {1, 2}) -> T {\n  return {};\n}\n", [("g", 4, 2)]),
        ("Result<int> f(\n    const std::function<void(int, int)>& a,\n    int b[3]) try {\n} catch (const E& e) {\n  g();\n}\n", [("f", 6, 2)]),
        ("bool S::operator()(int a) const noexcept {\n  return a;\n}\n", [("operator()", 3, 1)]),
        ("void f(void*, int, const char* c) {\n  const char* a = \"}\"; // }\n  char b = '}';\n  if (a) { g([](int x, int y) { return x; }); }\n}\n",
         [("f", 5, 1)]),
        ("constexpr int kTable[] = {1, 2};\nconst auto a = [] { return f(1); }();\nint g(int a);\nvoid h() {\n}\n", [("h", 2, 0)]),
        ("int f() {\n  const auto text = R\"(void g() {)\";\n  return 0;\n}\n", [("f", 4, 0)]),
        ("#define A(x) \\\n  int x() {\nint f() {\n}\n", [("f", 2, 0)]),
    ]

    def test_each_is_found_with_its_lines_and_parameters(self):
        for text, expected in self.FOUND:
            self.assertEqual([(name, lines, parameters) for name, _, lines, parameters in functions(text)], expected, text)

    def test_no_body_of_the_tree_is_outside_of_a_function(self):
        """A statement of control flow is in a function, or in the value of a constant: those that the reader does not find are few."""
        outside = []
        for path in sorted((ROOT / "src").rglob("*.cc")):
            text = path.read_text()
            spans = [(line, line + lines) for _, line, lines, _ in functions(text)]
            outside += [f"{path}:{number}" for number, line in enumerate(code_of(text).splitlines(), 1)
                        if re.match(r"  (if|for|while|switch) \(", line) and not any(first <= number < last for first, last in spans)]
        self.assertEqual(outside, [])

    def test_what_is_too_large_is_found(self):
        long = "void f() {\n" + "  g();\n" * FUNCTION_LINES_MAX + "}\n"
        self.assertEqual(list(function_problems(long)), [f"1: f has {FUNCTION_LINES_MAX + 2} lines"])
        wide = "void f(" + ", ".join(f"int a{n}" for n in range(PARAMETERS_MAX + 1)) + ") {}\n"
        self.assertEqual(list(function_problems(wide)), [f"1: f has {PARAMETERS_MAX + 1} parameters"])


if __name__ == "__main__":
    unittest.main(verbosity=1)
