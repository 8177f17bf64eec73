#!/usr/bin/env python3
"""`flaky_reruns`: a gate that failed runs again on the same content, and what differs is told. The gate asks a
server, which answers each run as the test says."""

import http.server
import itertools
import threading
import unittest

from pawl_runs import WithRun

FETCH = """import sys, urllib.request
text = urllib.request.urlopen("http://localhost:PORT/").read().decode()
print(text, end="")
sys.exit("not ok" in text)
"""
GOOD, BAD, OTHER = "ok 1 - a\nok 2 - b\n1..2\n", "not ok 1 - a\nok 2 - b\n1..2\n", "ok 1 - a\nnot ok 2 - b\n1..2\n"


class Flaky(WithRun):
    def setUp(self):
        super().setUp()
        self.answers, self.asked, self.held = [], 0, threading.Event()
        test = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                test.asked += 1
                text = test.answers[min(test.asked, len(test.answers)) - 1]
                if text is None:
                    test.held.wait(60)
                    return  # its program was killed
                self.send_response(200)
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)
        self.addCleanup(self.held.set)

    def make(self, *answers, retry="flaky_reruns: 2", top="", attempts=1, limits="", after="{steps: [{name: s, run: \"true\"}], baseline: none}"):
        self.answers, self.asked = list(answers), 0
        port = self.server.server_port
        self.write("source/file", "x\n")
        self.write("fetch.py", FETCH.replace("PORT", str(port)))
        retry = f", retry: {{{retry}}}" if retry else ""
        self.write("plan.yaml", f"""\
version: 1
workflow: flaky
source: {{path: source}}
max_attempts: {attempts}
{top}
gates:
  unit:
    baseline: none
    steps: [{{name: s, run: "python3 /plan/fetch.py >out.tap", network: scoped, egress: ["127.0.0.1:{port}"], reports: {{tap: [out.tap]}}{limits}}}]
    signals: [tests]{retry.replace(", retry", chr(10) + "    retry")}
  after: {after}
tiers: [{{phases: [{{id: p, goal: g, agent: {{run: "echo y >file"}}, gates: [unit, after]}}]}}]
""")

    def attempts(self):
        return self.pawl_json("inspect", "last")["phases"][0]["attempts"]

    def signal(self, attempt=0):
        return next(s for s in self.attempts()[attempt]["signals"] if s["gate_id"] == "unit")

    def gate_labels(self):
        return [step["label"] for attempt in self.attempts() for step in attempt["steps"] if ".unit." in step["label"]]

    def test_other_results_are_flaky_and_pass_only_where_the_plan_says_so(self):
        for answers, retry, top, verdict, runs in (
                ((BAD, GOOD), "flaky_reruns: 2", "", "failed_retryable", "failed, passed"),
                ((BAD, BAD, GOOD), "flaky_reruns: 2", "", "failed_retryable", "failed, failed, passed"),
                ((BAD, OTHER), "flaky_reruns: 5, flaky: pass", "", "failed_retryable", "failed, failed"),
                ((BAD, GOOD), "flaky_reruns: 1, flaky: pass", "", "passed", "failed, passed"),
                ((BAD, GOOD), "", "retry: {flaky_reruns: 1, flaky: pass}", "passed", "failed, passed"),
                ((BAD, GOOD), "flaky: fail", "retry: {flaky_reruns: 1, flaky: pass}", "failed_retryable", "failed, passed")):
            with self.subTest(runs, retry=retry, top=top):
                # The attempt after it passes at once.
                self.make(*answers, GOOD, retry=retry, top=top, attempts=2)
                said = self.pawl("run", "plan.yaml").stdout
                first = self.attempts()[0]
                self.assertEqual(first["verdict"], verdict)
                signal = self.signal()
                self.assertEqual((signal["flaky"], signal["runs"], signal["passed"]), (True, runs, verdict == "passed"))
                told = f"flaky: unit.tests ({runs})"
                self.assertIn(told, said)
                inspected = self.pawl("inspect", "last").stdout
                self.assertIn("flaky, passed" if verdict == "passed" else "flaky, failed", inspected)
                if verdict == "passed":
                    self.assertIn(told, self.pawl_json("status", "last")["phases"][0]["last_failure_reason"])
                    self.assertIn(f"p passed, {told}", self.pawl("why", "last").stdout)
                    self.assertIn("flaky, passed", self.pawl("report", "last", "-o", "-").stdout)
                    self.assertIn("after.build", [f"{s['gate_id']}.{s['kind']}" for s in first["signals"]], "the gates behind it run")
                names = ["p.unit.s.attempt1"] + [f"p.unit.s@rerun{n}.attempt1" for n in range(1, len(answers))]
                self.assertEqual(self.gate_labels()[:len(names)], names)
                self.assertEqual(self.asked, len(answers) + (verdict != "passed"))
                self.assertTrue(self.pawl_json("verify", "last")["ok"])
        report = self.pawl("report", "last", "-o", "-").stdout
        self.assertIn("flaky, failed", report)

    def test_a_gate_that_passed_as_flaky_fails_no_attempt(self):
        def after(run, retry):
            return f'{{steps: [{{name: s, run: "{run}"}}], baseline: none, retry: {{{retry}}}}}'

        passes = "flaky_reruns: 1, flaky: pass"
        for answers, limits, run, verdict in (
                ((None, GOOD), ", time_budget_seconds: 2", "exit 3", "failed_retryable"),
                ((BAD, GOOD), "", "exit 3", "failed_retryable"),
                ((BAD, GOOD), "", "true", "passed")):
            with self.subTest(answers=answers, run=run):
                self.make(*answers, retry=passes, limits=limits, attempts=2, after=after(run, "timeout_retryable: false, same_failure_max: off"))
                self.pawl("run", "plan.yaml", expect=0 if verdict == "passed" else 11)
                first = self.attempts()[0]
                self.assertEqual((first["verdict"], self.signal()["runs"]), (verdict, "failed, passed"))
                for said in ("failing tests", "unit"):
                    self.assertNotIn(said, first["summary"], "the next agent has no test of `unit` to mend")
        # The failure of `after` is the same, with and without the flaky one before it.
        self.make(BAD, GOOD, GOOD, retry=passes, attempts=4, after=after("exit 3", "same_failure_max: 2"))
        self.pawl("run", "plan.yaml", expect=11)
        self.assertEqual(len(self.attempts()), 2)

    def test_what_the_plan_does_not_retry_is_not_run_again(self):
        for retryable, asked, verdict in (("false", 1, "escalate"), ("true", 2, "passed")):
            with self.subTest(retryable=retryable):
                self.make(None, GOOD, limits=", time_budget_seconds: 2", attempts=3,
                          retry=f"flaky_reruns: 2, flaky: pass, timeout_retryable: {retryable}")
                self.pawl("run", "plan.yaml", expect=0 if verdict == "passed" else 11)
                self.assertEqual((self.asked, [a["verdict"] for a in self.attempts()]), (asked, [verdict]))
                if verdict == "escalate":
                    self.assertIn("s timed_out", self.pawl_json("status", "last")["phases"][0]["last_failure_reason"])

    def test_the_same_result_fails_as_without_reruns(self):
        self.make(BAD)
        self.pawl("run", "plan.yaml", expect=11)
        signal = self.signal()
        self.assertEqual((signal["passed"], "flaky" in signal, self.asked), (False, False, 3))
        self.assertNotIn("flaky", self.attempts()[0]["summary"])
        self.make(GOOD)
        self.pawl("run", "plan.yaml")
        self.assertEqual((self.asked, "flaky" in self.signal()), (1, False))
        self.make(BAD, retry="")
        self.pawl("run", "plan.yaml", expect=11)
        self.assertEqual(self.asked, 1, "a plan without the key runs a gate once")

    def test_a_kill_between_the_runs_goes_on_with_the_next(self):
        # The third marker is that of the first rerun, and has the result of the run before it.
        for label, at in itertools.product(("store.begin_step.before_commit", "store.begin_step.after_commit"), (3, 4)):
            with self.subTest(label, at=at):
                self.make(BAD, BAD, GOOD)
                (self.root / "count").unlink(missing_ok=True)
                self.pawl("run", "plan.yaml", expect=-9,
                          env={"PAWL_CRASH_ROLE": "executor", "PAWL_CRASH_AT": str(at), "PAWL_CRASH_LABEL": label,
                               "PAWL_CRASH_COUNT": str(self.root / "count")})
                self.pawl("resume", "last", expect=11)
                self.assertEqual(self.signal()["runs"], "failed, failed, passed")
                self.assertEqual((self.asked, len(self.attempts())), (3, 1), "no run came twice")

    def test_a_kill_of_all_within_a_rerun_repeats_that_rerun_alone(self):
        self.make(BAD, None, GOOD)
        run = self.start("run", "plan.yaml")
        self.wait_until(lambda: self.asked == 2, "the rerun asks")
        self.kill_all(run)
        self.held.set()
        self.pawl("resume", "last", expect=11)
        self.assertEqual(self.signal()["runs"], "failed, passed")
        self.assertEqual(self.gate_labels(), ["p.unit.s.attempt1"] + ["p.unit.s@rerun1.attempt1"] * 2)
        self.assertTrue(self.pawl_json("verify", "last")["ok"])

    def test_a_plan_says_it_well(self):
        for retry, said in (("flaky_reruns: -1", "flaky_reruns"), ("flaky_reruns: 6", "flaky_reruns"), ("flaky_reruns: x", "flaky_reruns"),
                            ("flaky: pass", "says what happens after `flaky_reruns`"), ("flaky_reruns: 0, flaky: pass", "says what happens after `flaky_reruns`"), ("flaky_reruns: 1, flaky: maybe", "maybe")):
            self.make(GOOD, retry=retry)
            self.assertIn(said, self.pawl("check", "plan.yaml", expect=2).stderr)
        self.make(GOOD, retry="flaky_reruns: 1, flaky: pass")
        note = "a gate that failed passes when it passes on the same content, by gate: unit"
        self.assertIn(f"note: {note}", self.pawl("check", "plan.yaml").stdout)

    def test_a_gate_takes_back_the_reruns_of_the_plan(self):
        self.make(BAD, GOOD, retry="flaky_reruns: 0", top="retry: {flaky_reruns: 2, flaky: pass}")
        self.assertIn("same content, by gate: after;", self.pawl("check", "plan.yaml").stdout)
        self.pawl("run", "plan.yaml", expect=11)
        self.assertEqual((self.asked, "flaky" in self.signal()), (1, False))


if __name__ == "__main__":
    unittest.main()
