#!/usr/bin/env python3
"""An executor that has hardly any memory left, by a limit of the kernel. It judges what fits. A report
that does not fit ends the attempt with its reason, and never the program or the run. With the defence
`memory` off it ends the program."""

import pathlib
import re
import resource
import signal
import subprocess
import unittest

from pawl_runs import WithRun
from pawl_testing import PAWL, TIMEOUT_S

# The memory beyond what the executor has when its first step sleeps. All that is judged here needs a part of
# it. What is too large does not fit at all.
MORE_MIB = 24
PLAN = """\
version: 1
workflow: memory
source: {path: source}
%sgates:
  check: {steps: [{name: unit, run: "sh /plan/gate.sh"%s}], baseline: none}
tiers:
  - phases:
      - {id: p1, goal: g, max_attempts: 2, agent: {run: "sh /plan/agent.sh"}, gates: [check]}
"""
REPORTS = ', reports: {junit: ["*.xml"]}'
# 60,000 tests. Their names are below the bound for all names.
LARGE_REPORT = """\
with open("out.xml", "w") as out:
    out.write("<testsuite>")
    for number in range(60_000):
        out.write('<testcase name="%s %d"/>' % ("n" * 500, number))
    out.write("</testsuite>")
"""
SMALL_REPORT = "open('out.xml', 'w').write('<testsuite><testcase name=\"one\"/></testsuite>')\n"
SLEEP = "sleep 60 || true\n"
OFF = {"PAWL_WALLS_OFF": "memory"}


class Memory(WithRun):
    def make(self, agent="echo work >file\n", gate="true\n", top="", of_step=""):
        self.write("source/file", "x\n")
        self.write("agent.sh", agent)
        self.write("gate.sh", gate)
        self.write("plan.yaml", PLAN % (top, of_step))

    def within(self, *command, env=None):
        """How the executor ends when its memory is limited while its first step sleeps. The step is woken
        then."""
        # Memory that is only reserved counts, too.
        executor = self.start(*command, env={"MALLOC_ARENA_MAX": "1", **(env or {})})
        self.wait_for_step("the first step runs")
        status = pathlib.Path(f"/proc/{executor.pid}/status").read_text()
        most = (int(re.search(r"VmSize:\s+(\d+) kB", status)[1]) << 10) + (MORE_MIB << 20)
        resource.prlimit(executor.pid, resource.RLIMIT_AS, (most, most))
        self.wake()
        return executor.wait(timeout=120)

    def newest(self):
        return self.pawl_json("inspect", "last")["phases"][0]["attempts"][-1]

    def assert_ended_for_want_of_memory(self, code):
        self.assertEqual(code, 11)
        attempt = self.newest()
        self.assertEqual(attempt["verdict"], "escalate")
        self.assertIn("no memory is left", str(attempt["signals"]))
        self.assertIn("no memory is left", attempt["summary"])
        self.pawl("verify", "last")

    def assert_passes_with_memory(self):
        self.pawl("retry", "last", "p1")
        resumed = self.start("resume", "last")
        self.wait_for_step("its first step runs")
        self.wake()
        self.assertEqual(resumed.wait(timeout=120), 0)
        self.pawl("verify", "last")

    def test_what_fits_is_judged(self):
        self.make(gate=SLEEP + "python3 /plan/report.py\n", of_step=REPORTS)
        self.write("report.py", SMALL_REPORT)
        self.assertEqual(self.within("run", "plan.yaml"), 0)

    def test_a_report_that_does_not_fit(self):
        self.make(gate=SLEEP + "python3 /plan/report.py\n", of_step=REPORTS)
        self.write("report.py", LARGE_REPORT)
        self.assert_ended_for_want_of_memory(self.within("run", "plan.yaml"))
        self.assert_passes_with_memory()
        self.assertEqual(self.within("run", "plan.yaml", env=OFF), -signal.SIGABRT)

    def test_work_that_does_not_fit(self):
        policy = self.write("policy.yaml", "version: 1\n")
        digest = subprocess.run(["b3sum", "--no-names", policy], capture_output=True, text=True, check=True).stdout.strip()
        self.make(agent=SLEEP + "yes 0123456789abcd | head -n 900000 >lines || true\n",
                  top=f"policy: {{file: policy.yaml, blake3: {digest}}}\n")
        self.assert_ended_for_want_of_memory(self.within("run", "plan.yaml"))
        self.assert_passes_with_memory()
        self.assertEqual(self.within("run", "plan.yaml", env=OFF), -signal.SIGABRT)

    def test_many_large_files_fit_into_a_repository(self):
        self.make(agent=SLEEP + "for i in $(seq 8); do head -c 6000000 /dev/urandom >large$i.bin; done\n",
                  gate="git status\n")
        self.assertEqual(self.within("run", "plan.yaml"), 0)

    def test_a_repository_that_does_not_fit(self):
        self.make(agent=SLEEP + "head -c 60000000 /dev/urandom >large.bin || true\n", gate="git status\n")
        self.assert_ended_for_want_of_memory(self.within("run", "plan.yaml"))
        self.assert_passes_with_memory()
        self.assertEqual(self.within("run", "plan.yaml", env=OFF), -signal.SIGABRT)

    def test_a_patch_that_does_not_fit_is_left_out(self):
        self.make(agent="[ -s \"$PAWL_FEEDBACK\" ] && grep 'no memory is left' /pawl/evidence/previous.patch >answer\n"
                        "head -c 9000000 /dev/urandom | base64 >work || true\n",
                  # A repository in the gate's workspace would take the memory first.
                  gate="[ -s answer ] && exit 0\n" + SLEEP + "false\n", top="git: none\n")
        self.assertEqual(self.within("run", "plan.yaml"), 0)
        self.assertEqual(self.newest()["verdict"], "passed")
        self.assertEqual(self.within("run", "plan.yaml", env=OFF), -signal.SIGABRT)


    def test_an_export_that_does_not_fit_is_named(self):
        self.make_simple()
        self.pawl("run", "plan.yaml")
        self.pawl("export", "last", "evidence")
        large = self.root / "evidence/phases/p1/attempts.jsonl"
        with open(large, "r+b") as file:
            file.truncate(3 << 30)
        limit = 2_000_000 << 10
        done = subprocess.run([PAWL, "verify", "evidence"], cwd=self.root, capture_output=True, text=True, timeout=TIMEOUT_S,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn("evidence/phases/p1/attempts.jsonl: no memory is left", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
