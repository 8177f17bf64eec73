#!/usr/bin/env python3
"""A credential that has another value in the agent's next execution. HOME and the work of the execution before may have the old value, which
nothing could find there any more: the agent begins anew in an empty HOME, whatever ended the execution before."""

import shutil

import at_once
from pawl_runs import WithRun

FIRST, SECOND = "sk-first-0f8b1c77d2e94a55", "sk-second-7d0a61f3b9c24e18"

# Stores the credential in HOME, and takes what it finds there into the work. With the first value it ends in the way of the test.
AGENT = """\
echo "begins [${PAWL_CONTINUES:-}] home [$(cat ~/key 2>&1)]"
[ ! -e ~/key ] || cp ~/key taken
[ ! -e work ] || cp work found
printf %s "$TOKEN" >~/key
echo at work >>work
case $TOKEN in sk-first-*) ENDS;; esac
echo done >made
"""
REFUSED = """printf '{"type":"result","is_error":true,"api_error_status":%s,"result":"%s"}\\n'; exit 1"""
UNAUTHORIZED = REFUSED % (401, "Invalid API key")
LIMITED = """printf '{"type":"result","is_error":true,"result":"Claude AI usage limit reached|%s"}\\n' $(($(date +%s) + 2)); exit 1"""
WAITS = "sleep 60"
KILLED = "kill -9 $$"


class ChangedCredentials(WithRun):
    def make(self, ends, resume, source="{file: TOKEN}"):
        self.token = self.write("outside/token", FIRST + "\n")
        self.write("source/file", "x\n")
        self.write("outside/second", SECOND + "\n")
        # The second value as soon as an agent has had the first one.
        self.write("outside/next.sh", f"if ls {self.root}/source/.pawl/homes/*/*/key >/dev/null 2>&1; then cat {self.root}/outside/second; "
                                      f"else cat {self.token}; fi\n")
        self.make_simple(agent=AGENT.replace("ENDS", ends), gate="[ -e made ]", resume=resume)
        text = (self.root / "plan.yaml").read_text()
        source = source.replace("TOKEN", str(self.token)).replace("NEXT", f"{self.root}/outside/next.sh")
        self.write("plan.yaml", text.replace("agent: {run:", f"agent: {{usage: claude_code, credentials: {{TOKEN: {source}}}, run:"))

    def change(self):
        self.token.write_text(SECOND + "\n")

    def begins(self):
        """How each execution of the agent began."""
        rows = [row for row in self.chains("last")["p1"] if row["type"] == "pre_execute" and ".agent." in row["label"]]
        return [row.get("not_continued", "") for row in rows]

    def log(self):
        return [line for line in self.pawl("logs", "last", "p1").stdout.splitlines() if line.startswith("begins")]

    def assert_begins_anew(self, reason="credentials"):
        self.assertEqual(self.begins(), ["", reason], self.pawl("inspect", "last").stdout)
        self.assertRegex(self.log()[-1], r"^begins \[\] home \[cat: ")
        [phase] = self.pawl_json("status", "last")["phases"]
        self.assertEqual((phase["outcome"], phase["attempts_total"]), ("passed", 1))
        diff = self.pawl("diff", "last").stdout
        self.assertNotIn("taken", diff)
        self.assertNotIn("found", diff)
        self.pawl("verify", "last")
        self.assert_in_no_file()

    def assert_in_no_file(self):
        state = self.root / "source/.pawl"
        self.assertEqual([str(path) for path in state.rglob("*") if path.is_file() and not path.is_symlink()
                          and any(value.encode() in path.read_bytes() for value in (FIRST, SECOND))], [])

    def wait_for_work(self):
        self.wait_until(lambda: list(self.root.glob("source/.pawl/homes/*/*/key")), "the agent is at work")
        self.wait_for_output("begins", "agent")

    def test_after_a_refused_credential(self):
        for resume in ("continue", "re_execute"):
            with self.subTest(resume):
                shutil.rmtree(self.root / "source", ignore_errors=True)
                self.make(UNAUTHORIZED, resume)
                self.pawl("run", "plan.yaml", expect=11)
                self.change()
                self.pawl("resume", "last", "--now")
                self.assert_begins_anew()
                self.assertIn("begins anew: the credentials have other values", self.pawl("inspect", "last").stdout)

    def test_after_a_kill_of_everything(self):
        for resume in ("continue", "re_execute"):
            with self.subTest(resume):
                shutil.rmtree(self.root / "source", ignore_errors=True)
                self.make(WAITS, resume)
                run = self.start("run", "plan.yaml")
                self.wait_for_work()
                self.kill_all(run)
                self.change()
                self.pawl("resume", "last")
                self.assert_begins_anew()

    def test_after_a_limit_with_a_value_that_changes_by_itself(self):
        for resume in ("continue", "re_execute"):
            with self.subTest(resume):
                shutil.rmtree(self.root / "source", ignore_errors=True)
                self.make(LIMITED, resume, "{command: [sh, NEXT]}")
                self.pawl("run", "plan.yaml")
                self.assert_begins_anew()

    def test_after_a_kill_of_the_agent_alone(self):
        self.make(KILLED, "continue", "{command: [sh, NEXT]}")
        self.pawl("run", "plan.yaml")
        self.assert_begins_anew()

    def test_it_stays_so_after_a_crash_at_each_moment_of_the_next_start(self):
        """HOME is removed by the next supervisor, and only then is the new value one that HOME had."""
        for role, label in (("executor", "store.begin_step.before_commit"), ("executor", "store.begin_step.after_commit"),
                            ("supervisor", "homes.removed"), ("supervisor", "homes.seals.fsync")):
            with self.subTest(label):
                shutil.rmtree(self.root / "source", ignore_errors=True)
                self.make(UNAUTHORIZED, "continue")
                self.pawl("run", "plan.yaml", expect=11)
                self.change()
                self.pawl("resume", "last", "--now", expect=None, env={
                    "PAWL_CRASH_ROLE": role, "PAWL_CRASH_AT": "1", "PAWL_CRASH_LABEL": label,
                    "PAWL_CRASH_COUNT": str(self.root / "crashes")})
                self.assertTrue((self.root / "crashes").exists(), "no crash")
                self.pawl("resume", "last", "--now", expect=None)
                self.assertRegex(self.log()[-1], r"^begins \[\] home \[cat: ")
                self.assertEqual(self.pawl_json("status", "last")["phases"][0]["outcome"], "passed")
                self.assert_in_no_file()

    def test_with_the_same_value_it_goes_on(self):
        self.make(UNAUTHORIZED.replace("exit 1", "touch ~/refused; exit 1"), "continue")
        text = (self.root / "plan.yaml").read_text()
        text = text.replace("[ ! -e ~/key ] || cp ~/key taken", ":")  # a work with a credential is not stored
        self.write("plan.yaml", text.replace("case $TOKEN", "[ -e ~/refused ] || case $TOKEN"))
        self.pawl("run", "plan.yaml", expect=11)
        self.pawl("resume", "last", "--now")
        self.assertEqual(self.begins(), ["", ""])
        self.assertRegex(self.log()[-1], r"^begins \[1\] home \[")
        self.assertNotIn("cat:", self.log()[-1])

    def test_a_home_that_is_gone_is_seen_after_a_refusal_too(self):
        self.make(UNAUTHORIZED, "continue")
        self.pawl("run", "plan.yaml", expect=11)
        for home in self.root.glob("source/.pawl/homes/*/p1.*"):
            shutil.rmtree(home)
        self.change()
        self.pawl("resume", "last", "--now")
        self.assertEqual(self.begins(), ["", "home"])
        self.assertRegex(self.log()[-1], r"^begins \[\] home \[cat: ")


if __name__ == "__main__":
    at_once.main()
