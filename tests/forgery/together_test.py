#!/usr/bin/env python3
"""Phases that work side by side and break each other, although their paths do not overlap and each passes
alone. The phase that commits second is judged again on top of the first, so the run is not COMPLETE. Without
that defence, with each phase in a run of its own, each phase passes, and the two patches together fail the
gate."""

import shutil
import subprocess
import unittest

from pawl_testing import PawlTest

SUITE = "for t in t_*.sh; do sh ./$t || { echo $t failed; exit 1; }; done\n"
FILES = {"lib.sh": 'title() { echo "T:$1"; }\n', "t_lib.sh": '. ./lib.sh; type title >/dev/null || type headline >/dev/null\n', "suite.sh": SUITE}

# The work of the two agents.
PAIRS = {
    "one renames what the other calls": ("sed -i 's/title()/headline()/' lib.sh",
                                         """echo '. ./lib.sh; [ "$(title a)" = T:a ]' >t_use.sh"""),
    "one deletes what the other reads": ("rm config; sed -i 's/config/nothing/' t_config.sh",
                                         "echo '[ \"$(cat config)\" = on ]' >t_reads.sh"),
    "both take the same number": ("echo 7 >id_left", "echo 7 >id_right"),
    "one tests what the other changes": ("echo '. ./lib.sh; [ \"$(title a)\" = T:a ]' >t_title.sh", "sed -i 's/T:/U:/' lib.sh"),
    "together they are too large": ("seq 60 >left.txt", "seq 60 >right.txt"),
}
MORE = {"config": "on\n", "t_config.sh": "[ ! -e config ] || grep -q on config\n",
        "t_ids.sh": "[ -z \"$(cat id_* 2>/dev/null | sort | uniq -d)\" ]\n",
        "t_size.sh": "[ \"$(cat *.txt 2>/dev/null | wc -l)\" -lt 100 ]\n"}


class Together(PawlTest):
    def run_phases(self, names, parallel):
        phases = "".join(f"      - {{id: {name}, goal: g, agent: {{run: sh /plan/{name}.sh}}, gates: [suite]}}\n" for name in names)
        self.write("plan/plan.yaml", f"""\
version: 1
workflow: together
source: {{path: ../source}}
max_attempts: 1
gates: {{suite: {{steps: [{{name: unit, run: sh suite.sh}}]}}}}
tiers:
  - parallel: {parallel}
    phases:
{phases}""")
        done = self.pawl("run", "plan/plan.yaml", "--workers", "2", expect=None)
        return done.returncode, {phase["phase_id"]: phase for phase in self.pawl_json("status", "last", cwd="source")["phases"]}

    def make(self, agents):
        shutil.rmtree(self.root / "source", ignore_errors=True)
        for path, text in (FILES | MORE).items():
            self.write(f"source/{path}", text)
        self.commit_all("source")
        for name, agent in agents.items():
            self.write(f"plan/{name}.sh", agent + "\n")

    def patch_holds(self, names):
        """Whether the suite passes on a clean clone with the patches of these runs."""
        shutil.rmtree(self.root / "clone", ignore_errors=True)
        self.git("clone", "-q", "source", "clone")
        for name in names:
            (self.root / "patch").write_text(self.pawl("diff", name, cwd="source").stdout)
            self.git("apply", "../patch", cwd="clone")
        return subprocess.run(["sh", "suite.sh"], cwd=self.root / "clone", capture_output=True).returncode == 0

    def test_phases_that_break_each_other_do_not_both_pass(self):
        for name, (left, right) in PAIRS.items():
            with self.subTest(name):
                self.make({"left": left, "right": right})
                code, phases = self.run_phases(["left", "right"], "true")
                self.assertEqual(code, 11, name)
                self.assertEqual(sorted(phase["outcome"] for phase in phases.values()).count("passed"), 1, phases)
                lost = next(phase for phase in phases.values() if phase["outcome"] != "passed")
                self.assertIn("parallel.merge", self.pawl("inspect", "last", lost["phase_id"], cwd="source").stdout)
                self.assertTrue(self.patch_holds(["last"]), "what was accepted passes its gate")

                runs = []
                for one in ("left", "right"):
                    code, phases = self.run_phases([one], "false")
                    self.assertEqual((code, phases[one]["outcome"]), (0, "passed"), f"{name}: {one} alone")
                    runs.append(self.pawl_json("status", "last", cwd="source")["run_id"])
                self.assertFalse(self.patch_holds(runs), f"{name}: both, without having been judged together")

    def test_phases_that_do_not_break_each_other_pass(self):
        self.make({"left": "echo 7 >id_left", "right": "echo 8 >id_right"})
        code, phases = self.run_phases(["left", "right"], "true")
        self.assertEqual((code, {phase["outcome"] for phase in phases.values()}), (0, {"passed"}))
        self.pawl("verify", "last", cwd="source")
        self.pawl("attest", "last", "-o", "../run.intoto.json", cwd="source")
        self.assertTrue(self.patch_holds(["last"]))

    def test_work_that_a_person_approved_is_not_attested_with_what_its_gates_have_not_seen(self):
        self.make({"left": "echo 7 >id_left", "right": "echo 'exit 1' >t_right.sh"})
        self.run_phases(["left", "right"], "true")
        self.pawl("approve", "last", "right", "--reason", "it is right", cwd="source")
        refused = self.pawl("attest", "last", "-o", "../run.intoto.json", cwd="source", expect=1)
        self.assertRegex(refused.stderr, "right, which a person approved, together with that of phase left")
        self.pawl("apply", "last", cwd="source")
        log = self.git("log", "--format=%s %(trailers:key=Pawl-Outcome)", "-2", self.branch(), cwd="source")
        self.assertEqual(log.count("Pawl-Outcome: approved"), 1)

    def test_work_that_a_person_approved_on_top_of_another_is_attested(self):
        self.make({"left": "echo 7 >id_left", "right": "echo 'exit 1' >t_right.sh"})
        self.run_phases(["left", "right"], "false")
        self.pawl("approve", "last", "right", "--reason", "it is right", cwd="source")
        self.pawl("attest", "last", "-o", "../run.intoto.json", cwd="source")

    def branch(self):
        return "pawl/" + self.pawl_json("status", "last", cwd="source")["run_id"]


if __name__ == "__main__":
    unittest.main()
