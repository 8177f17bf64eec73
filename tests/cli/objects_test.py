#!/usr/bin/env python3
"""Objects that a person without the key changed on disk: no result is built upon them, judged by them or
signed. With the defence `objects` off each change passes."""

import contextlib
import os
import sqlite3
import stat
import unittest

from pawl_runs import WithRun

# The first attempt of the last phase changes no file, so that it has no work. The attempt of a retry changes
# one.
PLAN = """\
version: 1
workflow: objects
source: {path: source%s}
gates:
  check: {steps: [{name: unit, run: "sh /plan/check.sh && sh tests/t.sh", reports: {junit: ["*.xml"]}}], signals: [tests]}
tiers:
  - phases:
"""
AGENT = "sh /plan/agent.sh"
WORKS = """\
rm -f gone
[ "$PAWL_PHASE_ID.$PAWL_ATTEMPT" = end.1 ] || echo work > made.$PAWL_PHASE_ID
"""
TESTS = """echo '<testsuite><testcase name="one"/><testcase name="two"/></testsuite>' > out.xml"""
OFF = {"PAWL_WALLS_OFF": "objects"}


class Objects(WithRun):
    def make(self, phases=("p1", "end"), ref=""):
        self.write("source/tests/t.sh", TESTS + "\n")
        self.write("source/gone", "x\n")
        for number in range(20):
            self.write(f"source/pad/{number}", f"{number}\n")
        if ref:
            self.commit_all("source")
        self.write("check.sh", "true  # for gates\n")
        self.write("agent.sh", WORKS)
        self.write("plan.yaml", PLAN % ref + "".join(
            f'      - {{id: {name}, goal: g, max_attempts: 1, agent: {{run: "{AGENT}"}}, gates: [check]}}\n' for name in phases))

    def objects(self, pattern):
        return sorted((self.root / "source/.pawl/objects").glob(pattern))

    def written(self):
        """All rows of runs, heads, attempts, and of what base has for gates."""
        with sqlite3.connect(self.root / "source/.pawl/pawl.db") as db:
            rows = [db.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall() for table in ("runs", "heads", "inventories", "attempts")]
        db.close()
        return rows

    @contextlib.contextmanager
    def changed(self, path, text="exit 0\n"):
        """Replaces the file and not its inode, because other names may share the inode."""
        kept = self.root / "source/.pawl/kept"  # not in the plan's folder
        os.rename(path, kept)
        path.write_text(text)
        try:
            yield
        finally:
            os.rename(kept, path)

    def refused(self, *command):
        before = self.written()
        self.assertIn("was changed since it was kept", self.pawl(*command, expect=13).stderr)
        self.assertEqual(self.written(), before, "nothing is signed, spent or stored")

    def stopped(self, *command, steps):
        """A run that began on the changed object: no agent is paid. A gate on base that saw the object is
        lost, unless its answer is known. That holds also when the object is restored."""
        self.assertIn("was changed since it was kept", self.pawl(*command, expect=13).stderr)
        with sqlite3.connect(self.root / "source/.pawl/pawl.db") as db:
            last, = db.execute("SELECT max(run_id) FROM runs").fetchone()
            found = db.execute("SELECT gate_id, state FROM steps WHERE run_id = ?", (last,)).fetchall()
        db.close()
        self.assertEqual(found, steps)

    def goes_on(self):
        self.pawl("resume", "last")
        self.pawl("attest", "last")

    def one(self, pattern, text=None):
        found = [path for path in self.objects(pattern) if text is None or text in path.read_text()]
        self.assertEqual(len(found), 1, found)
        return found[0]

    def test_what_a_run_begins_with(self):
        self.make(phases=("p1",))
        self.pawl("run", "plan.yaml")
        base = self.one("bases/*/tree/tests/t.sh")
        of_gates = self.one("bases/*/tree/check.sh")
        of_agents = [path for path in self.objects("bases/*/tree/agent.sh") if path.parent != of_gates.parent]
        self.assertEqual(len(of_agents), 1)
        for path in (base, of_gates, *of_agents):
            with self.changed(path, path.read_text() + "true\n"):
                if path != base:
                    self.refused("run", "plan.yaml")
                self.refused("apply" if path == base else "diff", "last")
                self.refused("attest", "last")
                self.refused("gate", "last", "p1", "check")
                self.refused("fork", "last", "--from", "p1")
                self.pawl("run", "plan.yaml", env=OFF)
                self.pawl("attest", "last", env=OFF)
            self.pawl("run", "plan.yaml")  # the object is restored
            self.pawl("attest", "last")
        with self.changed(base, base.read_text() + "true\n"):
            self.stopped("run", "plan.yaml", steps=[])
        self.goes_on()
        self.write("check.sh", "true  # what base says is not known any more\n")
        (base.parent / "more.sh").write_text("true\n")
        self.stopped("run", "plan.yaml", steps=[("check", "lost")])
        (base.parent / "more.sh").unlink()
        self.goes_on()

    def test_what_a_run_goes_on_from(self):
        self.make()
        self.pawl("run", "plan.yaml", expect=11)
        tree = self.one("layers/*/tree/made.p1").parent
        paths = (tree / "made.p1", self.one("bases/*/tree/tests/t.sh"), self.one("bases/*/tree/check.sh"))
        for path in paths:
            with self.changed(path):
                for verb in (("gate", "last", "p1", "check"), ("fork", "last", "--from", "end"), ("diff", "last"), ("attest", "last")):
                    self.refused(*verb)
        self.pawl("retry", "last", "end")
        for path in paths:
            with self.changed(path):
                self.refused("resume", "last")
        with self.changed(paths[0]):
            self.pawl("resume", "last", env=OFF)
            self.refused("attest", "last")
        self.pawl("attest", "last")

    def test_what_a_layer_hides_and_shows(self):
        self.make(phases=("p1",))
        self.pawl("run", "plan.yaml")
        tree = self.one("layers/*/tree/made.p1").parent
        gate = ("gate", "last", "p1", "check")
        changes = ((lambda: (tree / "evil").write_text("x\n"), (tree / "evil").unlink),
                   (lambda: os.mknod(tree / "pad", stat.S_IFCHR), (tree / "pad").unlink),
                   ((tree / "gone").unlink, lambda: os.mknod(tree / "gone", stat.S_IFCHR)))
        for change, take_back in changes:
            change()
            for verb in (gate, ("apply", "last"), ("attest", "last")):
                self.refused(*verb)
            self.pawl(*gate, env=OFF)
            take_back()
            self.pawl(*gate)

    def test_what_a_step_printed(self):
        """Whatever its size: the next agent reads the end of a large log."""
        self.make(phases=("p1",))
        self.write("agent.sh", WORKS + "head -c 1500000 /dev/zero | tr '\\0' x; echo\n")
        self.write("check.sh", "[ ! -e made.p1 ]  # for gates\n")
        self.pawl("run", "plan.yaml", expect=11)
        logs = ("logs", "last", "p1")
        whole = self.pawl(*logs).stdout
        large = next(path for path in self.objects("blobs/*/*") if path.stat().st_size > 1 << 20)
        text = large.read_text()
        with self.changed(large, "y" + text[1:]):
            self.assertIn("was changed since it was kept", self.pawl(*logs, expect=13).stderr)
            self.assertNotEqual(self.pawl(*logs, env=OFF).stdout, whole)
            self.pawl("retry", "last", "p1")
            for _ in range(2):
                self.assertIn("was changed since it was kept", self.pawl("resume", "last", expect=13).stderr)
            self.pawl("resume", "last", env=OFF, expect=None)
        self.assertEqual(self.pawl(*logs, "--attempt", "1").stdout, whole)

    def test_a_base_of_parts(self):
        self.make(phases=("p1",), ref=", ref: HEAD")
        self.pawl("run", "plan.yaml")
        self.write("source/pad/7", "seven\n")
        self.commit_all("source")
        self.pawl("run", "plan.yaml")
        self.assertEqual(len(self.objects("derived/*")), 1)
        for path in (self.one("layers/*/tree/pad/7"), self.one("bases/*/tree/pad/8")):
            with self.changed(path):
                self.stopped("run", "plan.yaml", steps=[])
            self.goes_on()
            with self.changed(path):
                self.pawl("run", "plan.yaml", env=OFF)
            self.pawl("run", "plan.yaml")

    def test_layers_that_are_merged(self):
        self.make(phases=("p1", "p2", "p3", "p4", "end"))
        self.pawl("run", "plan.yaml", expect=None)
        self.pawl("retry", "last", "end")
        tree = next(path.parent for path in self.objects("layers/*/tree/made.p2") if (path.parent / "made.p4").exists())
        with self.changed(tree / "made.p2"):
            for _ in range(2):
                self.assertIn("was changed since it was kept", self.pawl("resume", "last", expect=13).stderr)
        self.one("merges/*").write_text("0" * 128)  # from a person who has no key
        self.pawl("resume", "last")
        ended = self.pawl_json("status", "last")["phases"][-1]
        self.assertEqual((ended["state"], ended["attempts_total"]), ("COMPLETE", 2))
        self.pawl("attest", "last")


if __name__ == "__main__":
    unittest.main(verbosity=2)
