#!/usr/bin/env python3
"""Every mistake that a plan can have: exit code 2, quickly, and one error with file:line:column that says
what was expected."""

import json
import pathlib
import resource
import unittest

import jsonschema
import yaml
from pawl_testing import PawlTest

GOOD = """\
version: 1
workflow: hello
source: {path: .}
gates:
  tests:
    steps: [{name: unit, run: make test}]
    signals: [build]
tiers:
  - phases:
      - {id: fix, goal: g, agent: {run: "true"}, gates: [tests]}
"""


UNGUARDED = "nothing is protected: work that"
EXIT_CODES = "it is judged by exit codes alone, and nothing is protected"


def change(old, new, count=1):
    assert old in GOOD, old
    return GOOD.replace(old, new, count)


# name, plan, line, column, words of the message, whether the schema finds the mistake, too
def override(text):
    return change("signals: [build]", "signals: [build]\n    attempt_overrides: {" + text + "}")


def credentials(text):
    return change('agent: {run: "true"}', 'agent: {run: "true", credentials: ' + text + "}")


AT = credentials("").splitlines()[9].index("credentials: ") + len("credentials: ") + 1  # the column of their mapping

BAD = [
    ("empty file", "", 0, 0, "empty", False),
    ("only a comment", "# nothing\n", 0, 0, "empty", False),
    ("not a mapping", "- a\n- b\n", 1, 1, "mapping", True),
    ("not YAML", "version: [1\n", 2, 1, "", False),
    ("tab as indentation", "version: 1\nsource:\n\tpath: .\n", 3, 6, "", False),
    ("version missing", change("version: 1\n", ""), 1, 1, "version", True),
    ("version of the future", change("version: 1", "version: 2"), 1, 10, "1", True),
    ("version as text", change("version: 1", "version: one"), 1, 10, "one", True),
    ("workflow missing", change("workflow: hello\n", ""), 1, 1, "workflow", True),
    ("workflow a list", change("hello", "[a]"), 2, 11, "string", True),
    ("workflow with a slash", change("hello", "a/b"), 2, 11, "a/b", True),
    ("source missing", change("source: {path: .}\n", ""), 1, 1, "source", True),
    ("source a string", change("{path: .}", "."), 3, 9, "mapping", True),
    ("source without path", change("{path: .}", "{ref: HEAD}"), 3, 9, "path", True),
    ("source with a typo", change("{path: .}", "{paht: ., path: .}"), 3, 10, "path", True),
    ("exclude leaves the tree", change("{path: .}", '{path: ., exclude: [ok, "../x"]}'), 3, 33, "../x", True),
    ("exclude an absolute path", change("{path: .}", '{path: ., exclude: [/etc]}'), 3, 29, "/etc", True),
    ("exclude no list", change("{path: .}", "{path: ., exclude: big}"), 3, 28, "list", True),
    ("unknown key", change("gates:\n", "tires: 3\ngates:\n"), 4, 1, "tiers", True),
    ("duplicate key", change("source:", "workflow: again\nsource:"), 3, 1, "workflow", False),
    ("no gates in a phase", change("gates: [tests]}", "gates: []}"), 10, 57, "gate", True),
    ("gate that is not there", change("gates: [tests]}", "gates: [test]}"), 10, 58, "tests", False),
    ("gate named twice", change("gates: [tests]}", "gates: [tests, tests]}"), 10, 65, "twice", True),
    ("gate without steps", change("    steps: [{name: unit, run: make test}]\n", ""), 6, 5, "steps", True),
    ("gate with no step", change("[{name: unit, run: make test}]", "[]"), 6, 12, "empty", True),
    ("step without run", change("{name: unit, run: make test}", "{name: unit}"), 6, 13, "run", True),
    ("step that runs blanks", change("run: make test", 'run: "  "'), 6, 31, "blanks and comments only", False),
    ("step that runs a comment", change("run: make test", 'run: "# make test\\n\\n  # and more"'), 6, 31, "blanks and comments only", False),
    ("step whose program is blank", change("run: make test", 'run: [" ", x]'), 6, 31, "blank first word", False),
    ("agent that runs blanks", change('"true"', '"\\t\\n"'), 10, 41, "blanks and comments only", False),
    ("goal of blanks", change("goal: g", 'goal: " \\n"'), 10, 25, "blank", False),
    ("step without name", change("{name: unit, run: make test}", "{run: make test}"), 6, 13, "name", True),
    ("step with an empty command", change("make test", "[]"), 6, 31, "run", True),
    ("step named twice", change("[{name: unit, run: make test}]", "[{name: a, run: x}, {name: a, run: y}]"), 6, 32, "'a'", False),
    ("agent with two commands", change('{run: "true"}', "{use: codex, run: x}"), 10, 48, "leave one of them out", True),
    ("agent with no command", change('{run: "true"}', "{time_budget_seconds: 9}"), 10, 35, "run", True),
    ("use of no profile", change('{run: "true"}', "{use: codx}"), 10, 41, "codex", False),
    ("acp that is one text", change('{run: "true"}', '{acp: "my-agent --acp"}'), 10, 41, "the words of a command", True),
    ("acp beside a command", change('{run: "true"}', '{acp: [my-agent], run: "true"}'), 10, 53, "leave one of them out", True),
    ("use without its model", change('{run: "true"}', "{use: pi}"), 10, 41, "needs a model", False),
    ("model without use", change('{run: "true"}', "{run: x, model: m}"), 10, 44, "use", True),
    ("model with a space", change('{run: "true"}', '{use: codex, model: "a b"}'), 10, 55, "a b", True),
    ("args without use", change('{run: "true"}', "{run: x, args: [a]}"), 10, 44, "use", True),
    ("base_url with a password", change('{run: "true"}', '{use: codex, base_url: "http://a:b@c.org"}'), 10, 58, "credentials", True),
    ("base_url of a file", change('{run: "true"}', '{use: codex, base_url: "file:///x"}'), 10, 58, "http", True),
    ("egress of a program without network", change('{run: "true"}', '{use: codex, network: none, egress: ["a.org:80"]}'), 10, 63, "scoped", True),
    ("shell of a list", change("run: make test}", "run: [make, test], shell: bash}"), 6, 45, "string", True),
    ("shell of a list in an override", override("2: {unit: {run: [x], shell: sh}}"), 8, 46, "string", True),
    ("shell without run in an override", override("2: {unit: {shell: sh}}"), 8, 36, "string", True),
    ("shell of an agent's list", change('{run: "true"}', '{run: ["true"], shell: sh}'), 10, 51, "string", True),
    ("shell of a doctor's list", change("gates:\n", "doctor: {run: [x], shell: sh}\ngates:\n"), 4, 20, "string", True),
    ("shell of a replanner's list", change("gates:\n", "replan: {run: [x], shell: sh}\ngates:\n"), 4, 20, "string", True),
    ("step with too much time", change("run: make test}", "run: make test, time_budget_seconds: 601}"), 6, 63, "600", True),
    ("step without time", change("run: make test}", "run: make test, time_budget_seconds: 0}"), 6, 63, "1", True),
    ("memory as text", change("run: make test}", "run: make test, memory_limit_mib: lots}"), 6, 60, "lots", True),
    ("memory as a fraction", change("run: make test}", "run: make test, memory_limit_mib: 1.5}"), 6, 60, "1.5", True),
    ("refused entries ignored", change("run: make test}", "run: make test, refused_entries: ignore}"), 6, 59, "record", True),
    ("unknown signal", change("signals: [build]", "signals: [biuld]"), 7, 15, "build", True),
    ("trace without a trace", change("signals: [build]", "signals: [trace]"), 7, 14, "needs a step with `trace: true`", False),
    ("policy without one", change("signals: [build]", "signals: [policy]"), 7, 14, "needs the plan's `policy: {file: ...}`", False),
    ("cve_delta without a scanner", change("signals: [build]", "signals: [cve_delta]"), 7, 14,
     "needs a step with `reports` of one of cyclonedx, grype, npm_audit, osv", False),
    ("unknown signal", change("signals: [build]", "signals: [sarif]"), 7, 15, "sarif_delta", True),
    ("a signal of the attempt", change("signals: [build]", "signals: [agent]"), 7, 15, "expected one of", True),
    ("override of no step", override("2: {unti: {run: x}}"), 8, 29, "unti", False),
    ("override of no attempt", override("0: {unit: {run: x}}"), 8, 25, "1 to 100", False),
    ("override of a name", override("2: {unit: {name: x}}"), 8, 36, "name", True),
    ("override without a step", override("2: x"), 8, 28, "steps of the gate", True),
    ("override with too much time", override("2: {unit: {time_budget_seconds: 601}}"), 8, 57, "600", True),
    ("signals a word", change("signals: [build]", "signals: build"), 7, 14, "list", True),
    ("tiers missing", GOOD[:GOOD.index("tiers:")], 1, 1, "tiers", True),
    ("tiers empty", GOOD[:GOOD.index("tiers:")] + "tiers: []\n", 8, 8, "tiers", True),
    ("phase id leaves its folder", change("id: fix", "id: ../x"), 10, 14, "../x", True),
    ("phase id in capitals", change("id: fix", "id: Fix"), 10, 14, "Fix", True),
    ("phase id too long", change("id: fix", "id: " + "a" * 65), 10, 14, "63", True),
    ("duplicate phase id", GOOD + '      - {id: fix, goal: g, agent: {run: "true"}, gates: [tests]}\n', 11, 14, "fix", False),
    ("phase without goal", change("goal: g, ", ""), 10, 9, "goal", True),
    ("phase without agent", change('agent: {run: "true"}, ', ""), 10, 9, "agent", True),
    ("agent without run", change('{run: "true"}', "{}"), 10, 35, "run", True),
    ("scoped to nothing", change('{run: "true"}', '{run: "true", network: scoped}'), 10, 58, "HOST:PORT", False),
    ("egress without a port", change('{run: "true"}', '{run: "true", network: scoped, egress: ["a.example.org"]}'), 10, 75, "HOST:PORT", True),
    ("egress to a top-level domain", change('{run: "true"}', '{run: "true", network: scoped, egress: ["*.org:443"]}'), 10, 75, "top-level", False),
    ("egress without network", change('{run: "true"}', '{run: "true", egress: ["a.example.org:443"]}'), 10, 49, "network", True),
    ("attempts below one", change("gates:\n", "max_attempts: 0\ngates:\n"), 4, 15, "1", True),
    ("attempts without bound", change("gates:\n", "max_attempts: 1000000\ngates:\n"), 4, 15, "", True),
    ("too many episodes", change("gates: [tests]}", "gates: [tests], best_of: 9}"), 10, 75, "8", True),
    ("no episode", change("gates: [tests]}", "gates: [tests], best_of: 0}"), 10, 75, "1", True),
    ("doctor without run", change("gates:\n", "doctor: {after_failures: 2}\ngates:\n"), 4, 9, "run", False),
    ("a doctor never asked", change("gates:\n", "doctor: {run: x, after_failures: 0}\ngates:\n"), 4, 34, "after_failures", False),
    ("too many replans", change("gates:\n", "replan: {run: x, max_replans: 101}\ngates:\n"), 4, 31, "max_replans", False),
    ("backoff without a start", change("gates:\n", "backoff: {max_seconds: 9}\ngates:\n"), 4, 10, "initial_seconds", False),
    ("backoff that shrinks", change("gates:\n", "backoff: {initial_seconds: 9, max_seconds: 8}\ngates:\n"), 4, 44, "less than", False),
    ("a gate named doctor", change("gates:\n", "gates:\n  doctor: {steps: [{name: u, run: x}]}\n"), 5, 3, "reserved", False),
    ("budget of no money", change("gates:\n", 'budget: {usd: "5.0x"}\ngates:\n'), 4, 15, "like \"5.00\"", True),
    ("budget of floating money", change("gates:\n", "budget: {usd: 5.00}\ngates:\n"), 4, 15, "in quotes", True),
    ("budget of no tokens", change("gates:\n", "budget: {tokens: 0}\ngates:\n"), 4, 18, "1", True),
    ("policy", change("gates:\n", "policy: {file: p.yaml, blake3: abc}\ngates:\n"), 4, 32, "expected the 64 lower-case hexadecimal digits", True),
    ("resume unknown", change("gates:\n", "resume: re-execute\ngates:\n"), 4, 9, "re_execute", True),
    ("resume by nothing", change("gates:\n", "resume: {}\ngates:\n"), 4, 9, "probe", False),
    ("durable unknown", change("gates:\n", "durable: best-effort\ngates:\n"), 4, 10, "best_effort", True),
    ("protect leaves the tree", change("gates:\n", 'protect: ["../x"]\ngates:\n'), 4, 11, "../x", True),
    ("protect an absolute path", change("gates:\n", 'protect: ["/etc/passwd"]\ngates:\n'), 4, 11, "/etc/passwd", True),
    ("env a secret", change("gates:\n", "env: [GITHUB_TOKEN]\ngates:\n"), 4, 7, "GITHUB_TOKEN", True),
    ("env a word", change("gates:\n", "env: CI\ngates:\n"), 4, 6, "a mapping of `names` and `set`", True),
    ("env with a typo", change("gates:\n", "env: {sets: {A: b}}\ngates:\n"), 4, 7, "did you mean 'set'?", True),
    ("env of names that are none", change("gates:\n", "env: {names: [A, 1B]}\ngates:\n"), 4, 18, "'1B' is not a name", True),
    ("env of a secret by name", change("gates:\n", "env: {names: [DB_TOKEN]}\ngates:\n"), 4, 15, "DB_TOKEN looks like a secret", True),
    ("env set to no mapping", change("gates:\n", "env: {set: [A]}\ngates:\n"), 4, 12, "names to values", True),
    ("env set to a number", change("gates:\n", "env: {set: {PORT: 3000}}\ngates:\n"), 4, 19, "put the value in quotes", True),
    ("env set to a boolean", change("gates:\n", "env: {set: {CI: true}}\ngates:\n"), 4, 17, "put the value in quotes", True),
    ("env set to nothing", change("gates:\n", "env: {set: {CI: }}\ngates:\n"), 4, 17, "put the value in quotes", True),
    ("env set to a list", change("gates:\n", "env: {set: {CI: [a]}}\ngates:\n"), 4, 17, "found a list", True),
    ("env with a NUL", change("gates:\n", 'env: {set: {A: "x\\0y"}}\ngates:\n'), 4, 16, "NUL", False),
    ("env sets a secret", change("gates:\n", "env: {set: {API_KEY: x}}\ngates:\n"), 4, 13, "API_KEY looks like a secret", True),
    ("env sets PATH", change("gates:\n", "env: {set: {PATH: /opt/bin}}\ngates:\n"), 4, 13, "PATH is Pawl's own", True),
    ("env sets a name of Pawl's", change("gates:\n", "env: {set: {PAWL_GOAL: x}}\ngates:\n"), 4, 13, "PAWL_ are Pawl's own", True),
    ("env sets what is no name", change("gates:\n", "env: {set: {A-B: x}}\ngates:\n"), 4, 13, "'A-B' is not a name", True),
    ("env passes and sets a name", change("gates:\n", "env: {set: {A: x, B: y}, names: [C, B]}\ngates:\n"), 4, 19,
     "B is in `names` and in `set`", False),
    ("env sets a name twice", change("gates:\n", "env: {set: {A: x, A: y}}\ngates:\n"), 4, 19, "A", False),
    ("env sets credentials", change("gates:\n", 'env: {set: {DB: "postgres://me:word@db/x"}}\ngates:\n'), 4, 17, "credentials in a URL", False),
    ("env sets a password", change("gates:\n", 'env: {set: {DB: "jdbc:x://db/x?password=y"}}\ngates:\n'), 4, 17, "has a password in it", False),
    ("env sets too long a value", change("gates:\n", "env: {set: {A: " + "x" * 131_000 + "}}\ngates:\n"), 4, 16, "at most 131000 with its name", False),
    ("env sets too much", change("gates:\n", "env: {set: {" + ", ".join(f"A{i}: {'x' * 90_000}" for i in range(3)) + "}}\ngates:\n"), 4, 12,
     "all variables together have at most 262144", False),
    ("env sets too many", change("gates:\n", "env: {set: {" + ", ".join(f"A{i}: x" for i in range(1001)) + "}}\ngates:\n"), 4, 12,
     "at most 1000 variables", True),
    ("credentials no mapping", credentials("[API_KEY]"), 10, AT, "a mapping of at most 16", True),
    ("credentials that are too many", credentials("{" + ", ".join(f"A{i}: {{env: A}}" for i in range(17)) + "}"), 10, AT, "found more", True),
    ("credential of no name", credentials("{1B: {env: A}}"), 10, AT + 1, "'1B' is not a name", True),
    ("credential over PATH", credentials("{PATH: {env: A}}"), 10, AT + 1, "PATH' is Pawl's own", False),
    ("credential of a name of Pawl's", credentials("{PAWL_KEY: {env: A}}"), 10, AT + 1, "PAWL_ are Pawl's own", False),
    ("credential that env has, too", credentials("{A: {env: A}}").replace("gates:\n", "env: [A]\ngates:\n", 1), 11, AT + 1, "is in `env` of the plan, too", False),
    ("credential that env sets", credentials("{A: {env: A}}").replace("gates:\n", "env: {set: {A: b}}\ngates:\n", 1), 11, AT + 1, "is in `env` of the plan, too", False),
    ("credential twice", credentials("{A: {env: A}, A: {env: B}}"), 10, AT + 14, "A", False),
    ("credential as a word", credentials("{A: A}"), 10, AT + 4, "mapping", True),
    ("credential without a source", credentials("{A: {}}"), 10, AT + 4, "one of `env`, `file` and `command`", True),
    ("credential of two sources", credentials("{A: {env: A, file: /a}}"), 10, AT + 4, "one of `env`, `file` and `command`", True),
    ("credential with a typo", credentials("{A: {en: A, env: A}}"), 10, AT + 5, "env", True),
    ("credential of a variable with a dash", credentials("{A: {env: A-B}}"), 10, AT + 10, "'A-B' is not a name", True),
    ("credential of a relative file", credentials("{A: {file: a/b}}"), 10, AT + 11, "begin with ~/", True),
    ("credential of a file that leaves its folder", credentials("{A: {file: ~/../b}}"), 10, AT + 11, "without ..", False),
    ("credential of JSON by dots", credentials("{A: {file: /a, json: a.b}}"), 10, AT + 21, "a JSON Pointer, such as", True),
    ("credential of JSON with a wrong escape", credentials("{A: {file: /a, json: /a~2}}"), 10, AT + 21, "a JSON Pointer, such as", False),
    ("credential of JSON without a file", credentials("{A: {env: A, json: /a}}"), 10, AT + 19, "needs `file`", True),
    ("credential of a script", credentials("{A: {command: get token}}"), 10, AT + 14, "a list of words", True),
    ("credential of no words", credentials("{A: {command: []}}"), 10, AT + 14, "", True),
    ("credential of a program of the folder", credentials("{A: {command: [./get]}}"), 10, AT + 14, "an absolute path, or a name", False),
    ("mounts no list", change("gates:\n", "mounts: /opt\ngates:\n"), 4, 9, "a list of at most 32", True),
    ("too many mounts", change("gates:\n", "mounts: [" + ", ".join(["{src: /usr}"] * 33) + "]\ngates:\n"), 4, 9, "found more", True),
    ("mount without src", change("gates:\n", "mounts: [{dst: /a}]\ngates:\n"), 4, 10, "src", True),
    ("mount with a typo", change("gates:\n", "mounts: [{src: /usr, dts: /a}]\ngates:\n"), 4, 22, "dst", True),
    ("mount of a relative path", change("gates:\n", "mounts: [{src: tools}]\ngates:\n"), 4, 16, "begin with ~/", True),
    ("mount of another's home", change("gates:\n", "mounts: [{src: ~me/x}]\ngates:\n"), 4, 16, "begin with ~/", True),
    ("mount that leaves its folder", change("gates:\n", "mounts: [{src: /opt/../etc}]\ngates:\n"), 4, 16, "without ..", True),
    ("mount of everything", change("gates:\n", "mounts: [{src: /}]\ngates:\n"), 4, 16, "'/' must be", True),
    ("mount at a relative path", change("gates:\n", "mounts: [{src: /usr, dst: ~/x}]\ngates:\n"), 4, 27, "must be an absolute path", True),
    ("mount of nothing", change("gates:\n", "mounts: [{src: /no/such/place}]\ngates:\n"), 4, 10, "No such file", False),
    ("mount of a home", change("gates:\n", "mounts: [{src: /root, dst: /a}]\ngates:\n"), 4, 10, "it is a home folder", False),
    ("mount of the kernel's", change("gates:\n", "mounts: [{src: /proc/self, dst: /a}]\ngates:\n"), 4, 10, "it is below /proc", False),
    ("mount over the system", change("gates:\n", "mounts: [{src: /usr/share, dst: /usr/local/go}]\ngates:\n"), 4, 10,
     "below a folder of the system", False),
    ("mount in the workspace", change("gates:\n", "mounts: [{src: /usr/share, dst: /workspace/a}]\ngates:\n"), 4, 10,
     "below a folder of the system", False),
    ("mount over the plan", change("gates:\n", "mounts: [{src: /usr/share, dst: /plan/x}]\ngates:\n"), 4, 10, "below /plan, which Pawl fills", False),
    ("mount that hides a folder", change("gates:\n", "mounts: [{src: /usr/share, dst: /var}]\ngates:\n"), 4, 10, "would hide /var/tmp", False),
    ("mounts that overlap", change("gates:\n", "mounts: [{src: /usr/share, dst: /opt/a}, {src: /usr/lib, dst: /opt/a/b}]\ngates:\n"), 4, 42,
     "of another mount overlap", False),
    ("backend unknown", change("gates:\n", "sandbox: {backend: dokcer}\ngates:\n"), 4, 20, "", True),
    ("backend of a later version", change("gates:\n", "sandbox: {backend: microvm}\ngates:\n"), 4, 20, "not available yet", True),
    ("on_failure unknown", change("  - phases:", "  - on_failure: halt\n    phases:"), 9, 17, "stop", True),
    ("parallel as text", change("  - phases:", "  - parallel: maybe\n    phases:"), 9, 15, "true", True),
    ("an anchor that contains itself", change("gates:\n", "env: &a [*a]\ngates:\n"), 4, 10, "", False),
    ("anchors that explode", "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{chr(98 + i)}: &{chr(98 + i)} [{','.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(8)), 7, 17, "", False),
    ("a NUL", change("hello", "he\0llo"), 2, 13, "NUL", False),
    ("not UTF-8", change("hello", "h\udce9llo"), 2, 12, "UTF-8", False),
    ("nested too deep", "a: " + "[" * 5000 + "]" * 5000 + "\n", 1, 0, "", False),
    ("100 MB", "# " + "x" * 100_000_000 + "\n", 0, 0, "", False),
]


def cpu_seconds():
    """The CPU time of the programs that ran, because wall time measures the load of the machine."""
    use = resource.getrusage(resource.RUSAGE_CHILDREN)
    return use.ru_utime + use.ru_stime


class BadPlans(PawlTest):
    def test_each_mistake_gets_one_clear_error(self):
        self.assertGreaterEqual(len(BAD), 40)
        for name, text, line, column, words, _ in BAD:
            with self.subTest(name):
                path = self.write("plan.yaml", text.encode("utf-8", "surrogateescape"))
                before = cpu_seconds()
                done = self.pawl("check", path, expect=2)
                self.assertLess(cpu_seconds() - before, 1)
                errors = [l for l in done.stderr.splitlines() if ": warning:" not in l]
                self.assertEqual(len(errors), 1, done.stderr)
                place = f"{path}:{line}:{column}:" if column else (f"{path}:{line}:" if line else f"{path}:")
                self.assertTrue(errors[0].startswith(place), f"expected {place} in {errors[0][:300]}")
                self.assertIn(words, errors[0][len(str(path)):])
                self.assertEqual(done.stdout, "")

    def test_run_refuses_a_bad_plan_and_leaves_nothing(self):
        self.write("plan.yaml", change("id: fix", "id: ../x"))
        self.pawl("run", "plan.yaml", expect=2)
        self.assertFalse((self.root / ".pawl").exists())

    def test_json_says_the_same(self):
        self.write("plan.yaml", change("gates: [tests]}", "gates: [test]}"))
        out = self.pawl_json("check", "plan.yaml", expect=2)
        self.assertFalse(out["ok"])
        self.assertEqual((out["problems"][0]["line"], out["problems"][0]["column"]), (10, 58))

    def test_a_plan_that_is_not_there(self):
        self.assertIn("no.yaml", self.pawl("check", "no.yaml", expect=2).stderr)
        self.assertIn("no.yaml", self.pawl("run", "no.yaml", expect=2).stderr)


class Warnings(PawlTest):
    """A construct that can hide a failure is reported at its place; the plan is valid all the same."""

    def warnings_of(self, step):
        self.write("plan.yaml", change("{name: unit, run: make test}", step))
        said = self.pawl_json("check", "plan.yaml")
        self.assertTrue(said["ok"], said)
        return [(w["line"], w["column"], w["message"]) for w in said["warnings"]
                if "nothing is protected" not in w["message"] and "which no step finds" not in w["message"]]

    def test_a_script_that_can_hide_a_failure_is_named_where_it_stands(self):
        for run, words in (("make || cat log", "`|| cat` hides"), ("{ a; b; } || exit 1", "-e is off in what"),
                           ('test -z \\"$(gofmt -l .)\\"', "`$(...)` among a command's words is lost"),
                           ("X=1 sh -c 'a; b'", "without -e ends with its last command's exit code")):
            for keys in ("", ", may_fail: true"):
                with self.subTest(run + keys):
                    found = [w for w in self.warnings_of(f'{{name: unit, run: "{run}"{keys}}}') if "hide" in w[2] or "run:" in w[2]]
                    self.assertEqual([w[:2] for w in found], [(6, 31)], found)
                    self.assertIn("run: can pass although a command failed: ", found[0][2])
                    self.assertIn(words, found[0][2])
        self.assertEqual(len(self.warnings_of('{name: unit, run: [env, A=1, sh, -c, "a; b"]}')), 1)
        for run in ("make && make test", "make || exit 1", "sh -c 'cd app && make'", "[ -e f ] || make", "make test | tee log"):
            with self.subTest(run):
                self.assertEqual(self.warnings_of(f'{{name: unit, run: "{run}"}}'), [])

    def test_a_step_that_may_fail_needs_a_signal_that_reads_it(self):
        scanner = "{name: unit, run: make test, may_fail: true, reports: {sarif: [a.sarif]}}"
        said = self.warnings_of(scanner)
        self.assertEqual(len(said), 1, said)
        self.assertIn("gate tests: step unit has `may_fail`, and no signal of the gate reads a report of it", said[0][2])
        (self.root / "plan.yaml").write_text((self.root / "plan.yaml").read_text().replace("signals: [build]", "signals: [sarif_delta]"))
        self.assertEqual(self.pawl_json("check", "plan.yaml")["warnings"], [])

    def test_a_report_that_no_signal_reads_is_named(self):
        for form, kind in (("junit", "tests"), ("tap", "tests"), ("sarif", "sarif_delta"), ("grype", "cve_delta")):
            said = self.warnings_of(f"{{name: unit, run: make test, reports: {{{form}: [out]}}}}")
            self.assertEqual(len(said), 1, said)
            self.assertIn(f"gate tests: no signal reads the {form} reports of step unit", said[0][2])
            self.assertIn(f"add `{kind}` to `signals`", said[0][2])
            # Without `signals`, the gate has those that its reports give.
            (self.root / "plan.yaml").write_text((self.root / "plan.yaml").read_text().replace("    signals: [build]\n", ""))
            left = [w["message"] for w in self.pawl_json("check", "plan.yaml")["warnings"]]
            self.assertEqual([UNGUARDED in message for message in left], [True] if kind == "tests" else [])

    def test_a_gate_whose_tests_nothing_protects_is_told_by_check(self):
        protected = "protect: [{pattern: \"tests/**\", may_be_absent: true}]"
        reported = change("make test}", "make test, reports: {junit: [out.xml]}}").replace("signals: [build]", "signals: [tests]")
        for plan, exit_codes, weakened in (
                (GOOD, True, True), (GOOD + protected + "\n", False, False), (reported, False, True), (reported + protected + "\n", False, False),
                (change("signals: [build]", "signals: [build]\n    " + protected), False, False)):
            self.write("plan.yaml", plan)
            said = self.pawl("check", "plan.yaml").stderr
            self.assertEqual((EXIT_CODES in said, "nothing is protected" in said), (exit_codes, weakened), said)

    def test_a_runner_is_answered_with_its_format(self):
        for runner, words in (("pytest", "use junit: pytest --junitxml=out.xml"), ("go", "use gotest: go test -json"),
                              ("vitest", "use jest: vitest run --reporter=json"), ("tape", "use tap: ")):
            self.write("plan.yaml", change("{name: unit, run: make test}", f"{{name: unit, run: make test, reports: {{{runner}: [out.xml]}}}}"))
            self.assertIn(f"'{runner}' is a runner, and no format: {words}", self.pawl("check", "plan.yaml", expect=2).stderr)


class Schema(PawlTest):
    """docs/plan.schema.json is for editors; the parser decides."""

    def setUp(self):
        super().setUp()
        self.docs = pathlib.Path(__file__).resolve().parents[2] / "docs"
        self.validator = jsonschema.Draft202012Validator(json.loads((self.docs / "plan.schema.json").read_text()))

    def test_it_is_a_schema(self):
        jsonschema.Draft202012Validator.check_schema(self.validator.schema)

    def test_it_agrees_with_the_parser(self):
        self.validator.validate(yaml.safe_load(GOOD))
        for name, text, _, _, _, seen in BAD:
            if not seen:
                continue
            with self.subTest(name):
                self.assertTrue(list(self.validator.iter_errors(yaml.safe_load(text))), "the schema lets it pass")

    def test_plans_of_the_repository_pass_both(self):
        root = self.docs.parent
        plans = sorted(root.glob("examples/**/plan*.yaml"))
        self.assertTrue(plans)
        for path in plans:
            with self.subTest(path.name):
                self.validator.validate(yaml.safe_load(path.read_text()))
                self.pawl("check", path)


if __name__ == "__main__":
    unittest.main(verbosity=1)
