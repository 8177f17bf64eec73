#!/usr/bin/env python3
"""The bytes that other programs read: one golden for each type of row and each report, and projections that
only grow.

rows/TYPE.jsonl and reports/COMMAND.json are the output of the scenario at its last intended change. A
fixed word replaces each value that differs from run to run (scenario.VOLATILE). The goldens are compared
as text: the order of keys, separators and escapes are a part of the promise. Only `golden_test.py
--update` writes them; look at `git diff` then, and say in the commit why readers can bear the change."""

import difflib
import hashlib
import json
import pathlib
import re
import shutil
import sys
import tempfile
import threading
import time
import unittest

from pawl_runs import WithRun
from scenario import Scenario, normal

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def goldens(folder=HERE):
    return {str(path.relative_to(folder)): path.read_text() for kind in ("rows", "reports")
            for path in sorted((folder / kind).glob("*.json*"))}


def digests(folder):
    return {path: hashlib.sha256(path.read_bytes()).hexdigest() for kind in ("rows", "reports") for path in (folder / kind).iterdir()}


def played():
    scenario = Scenario()
    try:
        scenario.setUp()
        return scenario.play()
    finally:
        scenario.doCleanups()


def differences(found, folder=HERE):
    """The differences that a person has to look at, as text; empty when each golden is what the program
    wrote, byte for byte."""
    expected = goldens(folder)
    out = [f"{name} is not written any more" for name in sorted(expected.keys() - found.keys())]
    out += [f"{name} is new" for name in sorted(found.keys() - expected.keys())]
    for name in sorted(expected.keys() & found.keys()):
        if found[name] != expected[name]:
            out.append(f"{name} is no longer what it was; if that is meant: tests/golden/golden_test.py --update\n" + "".join(
                difflib.unified_diff(expected[name].splitlines(True), found[name].splitlines(True), "golden", "now")))
    return out


def update(found, folder=HERE):
    for name in goldens(folder).keys() - found.keys():
        (folder / name).unlink()
    for name, text in found.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    print(f"{len(found)} goldens written; look at: git diff {folder}")


class Golden(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.before = digests(HERE)
        cls.found = played()

    def test_each_golden_is_what_the_program_writes_byte_for_byte(self):
        self.assertEqual(differences(self.found), [])

    def test_every_type_of_row_has_one(self):
        page = (ROOT / "docs/ledger-format.md").read_text()
        types = set(re.findall(r"^\| ([a-z_]+) \| (?:run|phase)", page, re.M))
        self.assertGreater(len(types), 10)
        self.assertEqual({path.stem for path in (HERE / "rows").iterdir()}, types | {"cost.sandbox.run", "cost.agent.usage", "cost.agent.unknown"})

    def test_every_line_has_the_form_that_is_promised(self):
        def check(pairs):
            keys = [key for key, _ in pairs]
            if keys[-1:] == ["hash"]:
                keys.pop()
            self.assertEqual(keys, sorted(keys))
            return dict(pairs)

        for name, text in goldens().items():
            self.assertTrue(text.endswith("\n"), name)
            if name.startswith("reports/"):
                self.assertEqual(text.count("\n"), 1, f"{name}: a report is one line")
            for line in text.splitlines():
                line = re.sub(r":<\w+>", ":0", line)
                again = json.dumps(json.loads(line, object_pairs_hook=check, parse_float=str), ensure_ascii=False, separators=(",", ":"))
                self.assertEqual(again.replace('"0.000"', "0.000"), line, "keys sorted, no spaces, minimal escapes")
                ledger = name.startswith("rows/") and "cost" not in name
                self.assertEqual(line.endswith(',"hash":"<hash>"}'), ledger, name)

    def test_what_is_replaced_is_not_more_than_what_changes(self):
        line = '{"exit_code":0,"prev_hash":"' + "0" * 64 + '","label":"a.b-1.attempt10","seq":12,"reason":"3s of 2026"}'
        self.assertEqual(normal(line, "/nowhere"), line)

    def test_a_run_never_writes_them_and_a_changed_one_is_found(self):
        self.assertEqual(digests(HERE), self.before)
        # The same on a copy with one byte changed: a comparison reports the change and leaves the copy alone.
        # An update writes it again.
        with tempfile.TemporaryDirectory() as folder:
            copy = pathlib.Path(folder, "golden")
            shutil.copytree(HERE, copy, ignore=shutil.ignore_patterns("__pycache__"))
            victim = copy / "rows/resume.jsonl"
            victim.write_text(victim.read_text().replace('"found":"nothing"', '"found": "nothing"'))
            (copy / "rows/no_such_row.jsonl").write_text("{}\n")
            changed = digests(copy)
            said = differences(self.found, copy)
            self.assertEqual([line.split(" is ")[0] for line in said], ["rows/no_such_row.jsonl", "rows/resume.jsonl"])
            self.assertEqual(digests(copy), changed, "a comparison writes nothing")
            update(self.found, copy)
            self.assertEqual(goldens(copy), goldens())


class Projections(WithRun):
    def watch(self, process):
        """Reads every projection over and over while `process` runs: {path: [each content that differs
        from the one before]}."""
        seen = {}
        over = threading.Event()

        def look():
            last = False
            while not last:
                last = over.is_set()  # then one more look, which sees the final content
                folder = self.root / "source/.pawl"
                for path in (*folder.glob("runs/*/*.jsonl"), *folder.glob("runs/*/phases/*/*.jsonl"), *folder.glob("cost/*.jsonl")):
                    text = path.read_bytes()
                    texts = seen.setdefault(path, [])
                    if not texts or texts[-1] != text:
                        texts.append(text)
                time.sleep(0.001)

        thread = threading.Thread(target=look)
        thread.start()
        process.wait()
        over.set()
        thread.join()
        return seen

    def assert_only_grown(self, seen):
        for path, texts in seen.items():
            for before, after in zip(texts, texts[1:]):
                self.assertTrue(after.startswith(before), f"{path} was rewritten:\n{before}\n{after}")

    def test_they_only_grow_also_when_a_run_goes_on(self):
        self.make_simple(phases=3, agent='sleep 0.1; [ "$PAWL_ATTEMPT" -gt 2 ]', gate="sleep 0.1")
        run = self.start("run", "plan.yaml")
        self.wait_until(lambda: list((self.root / "source/.pawl/runs").glob("*/phases/p2/attempts.jsonl")), "p2 was tried")
        stopper = threading.Timer(0.3, run.kill)
        stopper.start()
        first = self.watch(run)
        stopper.join()
        second = self.watch(self.start("resume", "last"))
        self.assertEqual(len(second), 5, "a run, three phases, and the costs")
        seen = {path: first.get(path, []) + texts for path, texts in second.items()}
        self.assert_only_grown(seen)
        for path, texts in seen.items():
            self.assertGreaterEqual(len(set(texts)), 2, f"{path} was seen to grow")
        self.pawl("export", "last", self.root / "out")
        for path in (self.root / "out").glob("**/*.jsonl"):
            name = path.relative_to(self.root / "out")
            mine = self.root / "source/.pawl" / (name if name.parts[0] == "cost" else pathlib.Path("runs", self.run_id(), name))
            self.assertEqual(second[mine][-1], path.read_bytes(), name)


if __name__ == "__main__":
    if "--update" in sys.argv:
        update(played())
    else:
        unittest.main(verbosity=1)
