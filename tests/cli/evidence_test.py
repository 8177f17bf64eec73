#!/usr/bin/env python3
"""An export in the hands of a third person: `pawl verify`, and the two programs of docs/ledger-format.md."""

import json
import os
import pathlib
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import unittest

from pawl_testing import PawlTest, plan

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs/ledger-format.md"


def block(language):
    return re.search(rf"```{language}\n(.*?)```", DOCS.read_text(), re.S)[1]


class Evidence(PawlTest):
    def setUp(self):
        super().setUp()
        self.write("source/file", "x\n")
        self.write("plan.yaml", plan(agent='echo "$PAWL_ATTEMPT" >> file', gate="grep -q 2 file || exit 1", phases=1))
        self.write("plan.yaml", (self.root / "plan.yaml").read_text().replace('echo', '[ \\"$PAWL_ATTEMPT\\" = 1 ] || echo'))
        self.pawl("run", "plan.yaml")
        self.pawl("export", "last", "honest")
        self.honest = self.root / "honest"

    def by_pawl(self, folder):
        return self.pawl_json("verify", folder, expect=None)

    def by_shell(self, folder):
        done = subprocess.run(["sh", "-c", block("sh")], cwd=folder, capture_output=True, text=True, timeout=60)
        return done.stdout + done.stderr

    def by_python(self, folder):
        done = subprocess.run([sys.executable, "-c", block("python")], cwd=folder, capture_output=True, text=True, timeout=60)
        for name in ("key.der", "sig", "body"):
            (folder / name).unlink(missing_ok=True)
        return done.returncode

    def tampered(self, name, data):
        folder = self.root / "tampered"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.honest, folder)
        (folder / name).write_bytes(data)
        return folder

    def files(self):
        return {str(p.relative_to(self.honest)): p.read_bytes() for p in sorted(self.honest.rglob("*")) if p.is_file()}

    def test_gates_whose_names_have_dots_may_share_a_label(self):
        self.write("source/a", "x\n")
        self.write("plan.yaml", """\
version: 1
workflow: dots
source: {path: source}
gates:
  a: {steps: [{name: b.c, run: "true"}]}
  a.b: {steps: [{name: c, run: "true"}]}
tiers: [{phases: [{id: p.1, goal: g, agent: {run: "echo hi > f"}, gates: [a, a.b]}]}]
""")
        self.pawl("run", "plan.yaml")
        self.pawl("verify", "last")
        self.pawl("export", "last", "dots")
        self.pawl("verify", "dots")

    def test_an_honest_export_verifies_in_three_ways(self):
        self.assertTrue(self.by_pawl(self.honest)["ok"])
        self.assertEqual(self.by_shell(self.honest), "")
        self.assertEqual(self.by_python(self.honest), 0)
        self.assertEqual(sorted(self.files()), ["cost/sandbox.jsonl", "head.json", "ledger.pub", "phases/p1/attempts.jsonl", "run.jsonl",
                                                "store_head.json"])

    def test_pawl_finds_every_single_byte_change(self):
        # tests/ledger changes every byte of every file to several values, in one process. Here the real
        # program reads real files, with every 7th byte changed (every 49th with sanitizers, which are slow to
        # start).
        rng = random.Random(7)
        every = int(os.environ.get("PAWL_BYTES_EVERY", "7"))
        for name, data in self.files().items():
            for at in range(rng.randrange(every), len(data), every):
                changed = bytearray(data)
                changed[at] ^= 1 << rng.randrange(8)
                report = self.by_pawl(self.tampered(name, bytes(changed)))
                self.assertFalse(report["ok"], (name, at))
                self.assertIn(name, [p["file"] for p in report["problems"]], (at, report))

    def test_rows_deleted_swapped_repeated_and_cut_are_named_by_kind(self):
        for name in ("run.jsonl", "phases/p1/attempts.jsonl", "cost/sandbox.jsonl"):
            rows = self.files()[name].splitlines(keepends=True)
            for i in range(len(rows)):
                last = i + 1 == len(rows)
                cases = {"truncated" if last else "missing": rows[:i] + rows[i + 1:], "extra": rows[:i] + [rows[i]] + rows[i:]}
                if not last:
                    cases["reordered"] = rows[:i] + [rows[i + 1], rows[i]] + rows[i + 2:]
                else:
                    cases["truncated"] = rows[:i] + [rows[i][:-9]]
                for kind, changed in cases.items():
                    report = self.by_pawl(self.tampered(name, b"".join(changed)))
                    self.assertEqual([p["kind"] for p in report["problems"]], [kind], (name, i, report))
                    self.assertEqual(report["problems"][0]["file"], name)

    def test_the_shell_and_python_lines_find_the_same(self):
        rng = random.Random(1)
        for name in ("run.jsonl", "phases/p1/attempts.jsonl"):
            data = self.files()[name]
            rows = data.splitlines(keepends=True)
            changed = bytearray(data)
            changed[rng.randrange(len(data))] ^= 1
            for what in (bytes(changed), b"".join(rows[1:]), b"".join(rows[:-1]), b"".join([rows[1], rows[0], *rows[2:]]),
                         b"".join([rows[0], *rows]), data[:-30]):
                folder = self.tampered(name, what)
                self.assertNotEqual(self.by_shell(folder), "", what[-200:])
                self.assertNotEqual(self.by_python(folder), 0)

    def test_a_changed_key_or_signature_is_found(self):
        head = json.loads((self.honest / "head.json").read_text())
        head["signature"] = "0" * 128
        folder = self.tampered("head.json", (json.dumps(head, sort_keys=True, separators=(",", ":")) + "\n").encode())
        self.assertEqual({p["kind"] for p in self.by_pawl(folder)["problems"]}, {"forged"})
        self.assertNotEqual(self.by_python(folder), 0)
        self.assertFalse(self.pawl_json("verify", self.honest, "--key", "0" * 64, expect=13)["ok"])
        self.assertFalse(self.pawl_json("verify", self.honest, "--anchor", "0" * 64, expect=13)["ok"])


    def test_what_the_store_had_signed_is_kept(self):
        database = sqlite3.connect(self.root / "source/.pawl/pawl.db")
        body, key, signature = database.execute("SELECT body, public_key, signature FROM heads").fetchone()
        database.close()
        kept = json.loads((self.honest / "store_head.json").read_text())
        self.assertEqual(kept, {"body": body, "public_key": key, "signature": signature})
        self.assertNotEqual(kept["signature"], json.loads((self.honest / "head.json").read_text())["signature"])
        folder = self.tampered("store_head.json", b"")
        (folder / "store_head.json").unlink()
        self.assertEqual([(p["kind"], p["file"]) for p in self.by_pawl(folder)["problems"]], [("missing", "store_head.json")])


if __name__ == "__main__":
    unittest.main(verbosity=1)
