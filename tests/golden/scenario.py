"""The source of the goldens: four short runs of the real program that write every type of row, and its
reports."""

import pathlib
import re

from pawl_testing import PawlTest

PLAN = """\
version: 1
workflow: golden
source: {path: source, ref: HEAD}
models: [small, large]
protect: ["tests/**"]
budget: {sandbox_seconds: 600}
doctor: {run: "cat >/dev/null; cat /plan/doctor.json", after_failures: 1}
replan: {run: "cat >/dev/null; cat /plan/replan.json"}
gates:
  check:
    steps:
      - {name: build, run: "cp answer built"}
      - {name: unit, run: "sh tests/run.sh", reports: {junit: ["*.xml"]}}
    signals: [build, tests]
tiers:
  - phases:
      - {id: fix, goal: "make it right", agent: {run: "sh /plan/agent.sh"}, gates: [check]}
      - {id: slow, goal: "take your time", resume: continue, agent: {run: "sleep 8; echo said; mkdir -p made; echo made >made/$PAWL_PHASE_ID"}, gates: [check]}
"""

STUCK = """\
version: 1
workflow: stuck
source: {path: source, ref: HEAD}
max_attempts: 1
gates: {check: {steps: [{name: unit, run: "echo 'it is \\"not\\" right \\u00fc'; exit 3"}], signals: [build]}}
tiers:
  - phases:
      - {id: never, may_be_empty: true, goal: g, gates: [check], agent: {usage: codex, run: "[ -e ~/refused ] || { touch ~/refused; echo 'Rate limit reached for m. Please try again in 1s.'; exit 1; }"}}
      - {id: after, may_be_empty: true, goal: g, agent: {run: "true"}, gates: [check]}
"""

TOGETHER = """\
version: 1
workflow: together
source: {path: source, ref: HEAD}
max_attempts: 1
gates: {good: {steps: [{name: unit, run: "true"}], baseline: none}, bad: {steps: [{name: unit, run: "exit 3"}]}}
tiers:
  - parallel: true
    phases:
      - {id: first, goal: g, agent: {run: "echo 1 >first"}, gates: [good]}
      - {id: second, goal: g, agent: {run: "sleep 4; echo 2 >second"}, gates: [good]}
  - phases:
      - {id: refused, goal: g, resume: continue, agent: {run: "[ -e refused ] || { echo 3 >refused; kill -9 $$; }"}, gates: [bad]}
"""

FILES = {
    "source/answer": "old\n",
    "source/tests/run.sh": """\
echo '<testsuite><testcase name="exists"/><testcase name="right">' >out.xml
grep -q right answer || echo '<failure message="it is not right"/>' >>out.xml
echo '</testcase></testsuite>' >>out.xml
grep -q right answer
""",
    "plan.yaml": PLAN,
    "stuck.yaml": STUCK,
    "together.yaml": TOGETHER,
    # The agent stores a checkpoint, one of its steps is lost to another process, and a model is paid.
    "agent.sh": """\
ask() { curl -sS --unix-socket "$PAWL_SOCKET" "$@" >/dev/null; }
ask -H 'Pawl-Session: first' -X PUT --data-binary kept 'http://pawl/v1/checkpoint?id=main-0'
for session in first second; do
  ask -H "Pawl-Session: $session" -d '{"key":"read","kind":"pure","args_hash":"x"}' http://pawl/v1/steps/begin
done
ask -H 'Pawl-Session: second' -d '{"id":"call-1","model":"small","input_tokens":1200,"output_tokens":34,"cached_tokens":5,"usd":"0.0125"}' http://pawl/v1/usage
ask -H 'Pawl-Session: second' -d '{"id":"call-2","model":"large","input_tokens":7,"output_tokens":8}' http://pawl/v1/usage
ask -H 'Pawl-Session: second' 'http://pawl/v1/checkpoint?id=main-0-f00d'
case $PAWL_GOAL in *otherwise*) echo right >answer ;; *) echo wrong >answer ;; esac
""",
    "doctor.json": '{"action": "replan", "reason": "it goes in circles"}',
    "replan.json": '{"goal": "do it otherwise", "reason": "the first way was wrong"}',
}

# Exactly the values that differ from one run of the scenario to the next. They are replaced in the bytes as
# they are, so that the goldens also pin the order of keys, the separators and the escapes.
VOLATILE = (
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z", "<time>"),
    (r'(?<=")\d{4}-\d\d-\d\d(?=":)', "<day>"),  # a key of `cost`
    (r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}", "<id>"),
    (r'(?<="executor":")[^"/]+/[0-9a-f-]+/\d+/\d+/\d+(?=")', "<worker>"),
    (r"\b(?!0{64})[0-9a-f]{64}\b", "<hash>"),
    (r'(?<="base_commit":")[0-9a-f]{40}(?=")', "<commit>"),
    (r'(?<="uid":)\d+', "<uid>"),
    (r"\b[0-9a-f]{32}\b", "<word>"),
    (r'(?<="version":")\d+\.\d+\.\d+(?=")', "<version>"),
    (r'(?<="build":")\d+\.\d+\.\d+(?=")', "<version>"),
    (r'(?<=_ms":)\d+', "<ms>"),
    (r'(?<=_milliseconds":)[1-9]\d*', "<ms>"),
    (r'(?<=_milliseconds_per_completed_phase":)\d+', "<ms>"),
    (r'(?<=_milliseconds_per_passed_attempt":)\d+', "<ms>"),
    (r'(?<="spent":)\d+', "<ms>"),
    (r"(?<=by uid )\d+", "<uid>"),
    (r"(?<=by process )\d+ on [^:]+(?=: step)", "<process>"),
    (r"(?<= runs for )[0-9.]+m?s(?= )", "<duration>"),
    (r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "<time>"),
    (r'(?<="max_rss_kib":)\d+', "<kib>"),
    (r'(?<="freed_bytes":)\d+', "<bytes>"),
)


def normal(text, root):
    text = text.replace(str(root), "<root>")
    for pattern, word in VOLATILE:
        text = re.sub(pattern, word, text)
    return text


class Scenario(PawlTest):
    """Not a test of its own; play() returns {golden's name: text}."""

    def runTest(self):
        pass

    def last_run(self):
        return self.pawl_json("status")["runs"][0]["run_id"]

    def play(self):
        for path, text in FILES.items():
            self.write(path, text)
        self.commit_all("source")
        reports = {}

        def report(name, *args, expect=0):
            reports[f"reports/{name}.json"] = self.pawl(*args, "--json", expect=expect).stdout

        # An agent whose step is lost before it wrote a file, and one whose result is found.
        run = self.start("run", "plan.yaml")
        self.wait_for_step("the slow agent runs", "slow.agent")
        report("why", "why", "last")
        self.kill_all(run)
        resumed = self.start("resume", "last")
        self.wait_for_step("the slow agent runs", "slow.agent")
        resumed.kill()
        resumed.wait()
        self.wait_until(lambda: not self.supervisors(), "the agent ended")
        report("run", "resume", "last")
        mended = self.last_run()
        for name in ("verify", "inspect", "status", "cost", "stats"):
            report(name, name, mended)
        report("gate", "gate", mended, "fix", "check", "--attempt", "1", expect=1)

        # A person decides.
        report("run_that_failed", "run", "stuck.yaml", expect=11)
        stuck = self.last_run()
        self.pawl("retry", stuck, "never", "--reason", 'once "more"')
        self.pawl("budget", stuck, "--sandbox-seconds", "100", "--reason", "enough")
        self.pawl("skip", stuck, "never")
        self.pawl("cancel", stuck, "after")
        report("status_of_all", "status")

        # Two phases that are judged together, and one whose agent goes on after a kill, and whose work a person takes.
        self.pawl("run", "together.yaml", "--workers", "2", expect=11)
        together = self.last_run()
        report("approve", "approve", together, "refused", "--reason", "it is right")

        report("fork", "fork", mended, "--from", "slow", "--reason", "another way")
        forked = self.last_run()
        self.pawl("resume", forked)
        rows = {}
        for run in (mended, stuck, together, forked):
            for line in self.lines_of(run):
                kind = re.search(r'"(?:entry_)?type":"([a-z_.]+)"', line)[1]
                rows[f"rows/{kind}.jsonl"] = rows.get(f"rows/{kind}.jsonl", "") + line + "\n"
        report("export", "export", mended, self.root / "evidence")
        report("gc", "gc", "--older-than", "0s")
        return {name: normal(text, self.root) for name, text in (rows | reports).items()}

    def lines_of(self, run):
        """Every line of a run's ledger and of its costs, unchanged."""
        folder = self.root / f"export-{run}"
        self.pawl("export", run, folder)
        phases = sorted((folder / "phases").iterdir())
        files = [folder / "run.jsonl", *(phase / "attempts.jsonl" for phase in phases), *sorted((folder / "cost").iterdir())]
        for path in files:
            yield from pathlib.Path(path).read_text().splitlines()
