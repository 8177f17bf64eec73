#!/usr/bin/env python3
"""Phases of one parallel tier: the gates judge the work of one together with what was accepted since it began."""

import json
import sqlite3
import subprocess

import at_once
from pawl_runs import WithAttempts


class Together(WithAttempts):
    """The work of the first phase is accepted while the second one's agent is at work: it sleeps until run_pair sees that."""
    LATE = "[ $PAWL_ATTEMPT != 1 ] || sleep 60 || true"
    AGENT = f"""\
case $PAWL_PHASE_ID in
  rename) sed -i 's/title()/headline()/' lib.sh ;;
  use) {LATE}
       name=$(sed -n 's/() .*//p' lib.sh)
       echo ". ./lib.sh; [ \\"\\$($name a)\\" = T:a ]" >t_use.sh ;;
esac
"""

    def run_pair(self, expect=0, first="rename", second="use"):
        """Returns what `pawl run` printed."""
        run = self.start_pair(first, second)
        self.assertEqual(run.wait(), expect)
        return sorted(self.root.glob("started-*.log"))[-1].read_text()

    def start_pair(self, first="rename", second="use"):
        run = self.start("run", "plan.yaml", "--workers", "2")
        self.wait_for_sleep(f"{second}.agent")
        self.wait_until(lambda: self.outcome(first) == "passed", f"{first} is accepted")
        self.wake(f"{second}.agent")
        return run

    def make_pair(self, agent=AGENT, gates="[suite]"):
        self.write("source/lib.sh", 'title() { echo "T:$1"; }\n')
        self.write("source/test.sh", "for t in t_*.sh; do [ -e $t ] || continue; sh ./$t || exit 1; done\n")
        self.commit_all("source")
        self.write("agent.sh", agent)
        self.write("plan.yaml", f"""\
version: 1
workflow: pair
source: {{path: source, ref: HEAD}}
gates:
  suite: {{steps: [{{name: unit, run: "sh test.sh"}}]}}
  slow: {{steps: [{{name: unit, run: "[ ! -e slow ] || sleep 3; sh test.sh"}}]}}
  small: {{steps: [{{name: unit, run: "[ $(ls | wc -l) -le 3 ]"}}]}}
  none: {{steps: [{{name: unit, run: "true"}}]}}
tiers:
  - parallel: true
    phases:
      - {{id: rename, goal: g, agent: {{run: "sh /plan/agent.sh"}}, gates: [suite]}}
      - {{id: use, goal: g, agent: {{run: "sh /plan/agent.sh"}}, gates: {gates}}}
""")

    def test_what_breaks_another_is_not_accepted_and_the_next_attempt_starts_from_it(self):
        self.make_pair()
        said = self.run_pair()
        self.assertIn("its gates run again together with the work of rename", said)
        use = self.attempts(1)
        self.assertEqual([one["verdict"] for one in use], ["failed_retryable", "passed"])
        self.assertEqual(self.failing(1)[0], ["parallel.merge", "suite.build"])
        self.assertIn("use.suite.unit.attempt1.together1", self.labels(1))
        self.pawl("apply", "last", cwd="source")
        self.git("checkout", "-q", f"pawl/{self.run_id()}", cwd="source")
        self.assertEqual(subprocess.run(["sh", "test.sh"], cwd=self.root / "source").returncode, 0)
        self.pawl("attest", "last", "-o", "run.json")
        self.assertTrue(self.pawl_json("verify", "last")["ok"])

    def test_no_attempt_is_spent_and_each_step_is_counted(self):
        self.make_pair(agent=f"[ $PAWL_PHASE_ID = rename ] || {{ {self.LATE}; }}; echo x >$PAWL_PHASE_ID\n")
        self.run_pair()
        self.assertEqual([len(self.attempts(i)) for i in (0, 1)], [1, 1])
        self.assertEqual([row["phases"] for row in self.rows("judged_again", "use")], [["rename"]])
        cost = [json.loads(line) for line in (self.root / "source/.pawl/cost/sandbox.jsonl").read_text().splitlines()]
        steps = self.labels(0) + self.labels(1)
        self.assertEqual(len([label for label in steps if "@base" not in label]), 5)
        self.assertEqual(len(cost), len(steps))
        self.assertEqual(len({row["sandbox_run_id"] for row in cost}), len(steps))

    def test_the_gates_of_those_beside_it_must_go_on_to_hold(self):
        self.make_pair(gates="[none]", agent=f'[ $PAWL_PHASE_ID = rename ] && echo x >x || {{ {self.LATE}; echo "exit 1" >t_bad.sh; }}\n')
        self.run_pair(expect=11)
        self.assertEqual(self.failing(1)[0], ["parallel.merge", "suite.build"])
        taken = self.pawl_json("approve", "last", "use", "--reason", "because")
        self.assertEqual((taken["failing_signals"], taken["not_judged"]), (["suite.build"], []), "it was judged, and failed")

    def test_a_phase_without_a_change_is_judged_with_the_others(self):
        self.make_pair(gates="[small]", agent=f"[ $PAWL_PHASE_ID = rename ] && echo x >x && echo y >y || {{ {self.LATE}; }}\n")
        self.write("plan.yaml", (self.root / "plan.yaml").read_text().replace("{id: use,", "{id: use, may_be_empty: true,"))
        self.run_pair(expect=11)
        self.assertIn("parallel.merge", self.failing(1)[0])

    def test_a_round_goes_on_after_kill_9(self):
        self.make_pair(gates="[slow]", agent=f"[ $PAWL_PHASE_ID = rename ] && echo x >slow || {{ {self.LATE}; echo y >y; }}\n")
        run = self.start_pair()
        self.wait_for_step("the round runs", "together1")
        run.kill()
        run.wait()
        self.pawl("resume", "last")
        self.assertEqual([len(self.attempts(i)) for i in (0, 1)], [1, 1])
        self.assertEqual(len(self.rows("judged_again", "use")), 1)
        self.assertTrue(self.pawl_json("verify", "last")["ok"])

    def test_paths_that_the_gates_of_another_protect_are_its_own_to_change(self):
        """`code` is done first, and its gates also judge the tests of `tests`: each of its steps sees
        those tests."""
        for rule, work in (("protect", "echo true >tests/new.sh"), ("protect", "echo '[ -e lib.sh ]' >tests/old.sh"),
                           ("protect_existing", "rm tests/old.sh; echo true >tests/new.sh"),
                           ("protect", "[ $PAWL_ATTEMPT = 1 ] && echo false >tests/new.sh || echo true >tests/new.sh")):
            with self.subTest(rule, work=work):
                self.write("source/lib.sh", "true\n")
                self.write("source/tests/old.sh", "true\n")
                self.write("agent.sh", f"[ $PAWL_PHASE_ID = code ] && echo : >>lib.sh || {{ {self.LATE}; {work}; }}\n")
                unit = "for t in tests/*.sh; do sh $t || exit 1; done; [ -e tests/new.sh ] || ! grep -q new /plan/agent.sh || [ ! -e seen ]"
                self.write("plan.yaml", f"""\
version: 1
workflow: beside
source: {{path: source}}
max_attempts: 2
gates:
  unit:
    {rule}: ["tests/**"]
    steps:
      - {{name: first, run: {json.dumps("[ ! -e tests/new.sh ] || touch seen; " + unit)}}}
      - {{name: second, run: {json.dumps(unit)}}}
  lint: {{steps: [{{name: lint, run: "true"}}]}}
tiers:
  - parallel: true
    phases:
      - {{id: code, goal: g, agent: {{run: "sh /plan/agent.sh"}}, gates: [unit]}}
      - {{id: tests, goal: g, agent: {{run: "sh /plan/agent.sh"}}, gates: [lint]}}
""")
                self.run_pair(first="code", second="tests")
                used = 2 if "PAWL_ATTEMPT" in work else 1
                self.assertEqual(len(self.attempts(1)), used, self.failing(1))
                self.assertIn(f"tests.unit.second.attempt{used}", "\n".join(self.labels(1)))
                self.assertEqual([key for each in self.failing(1) for key in each if key.startswith("protect.")], [])

    def test_a_tree_that_no_gate_saw_is_not_attested(self):
        self.make_pair(agent=f"[ $PAWL_PHASE_ID = rename ] || {{ {self.LATE}; }}; echo x >$PAWL_PHASE_ID\n")
        self.run_pair()
        with sqlite3.connect(self.root / "source/.pawl/pawl.db") as db:  # as an older version left it
            db.execute("UPDATE attempts SET joined_round = 0, joined_merge_seq = 0")
        self.assertIn("no gate has seen the work of phase use together with that of phase rename",
                      self.pawl("attest", "last", expect=1).stderr)


if __name__ == "__main__":
    at_once.main()
