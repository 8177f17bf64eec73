#!/usr/bin/env python3
"""`pawl report` in a real browser, and `pawl inspect` on a real terminal: what agents print is text in
both."""

import html
import os
import re
import shlex
import sqlite3
import subprocess
import time
import unittest

from pawl_runs import MEND, WithRun
from pawl_testing import PAWL, TIMEOUT_S

# Each part would have an effect somewhere: run, load, colour, move the cursor, turn the text around.
HOSTILE = (b"<script>document.title='owned'</script><img src=http://evil.test/x.png onerror=\"document.title='owned'\">\n"
           b"</pre></details><style>body{display:none}</style><meta http-equiv=refresh content='0;url=http://evil.test/'>\n"
           b"\x1b[2J\x1b[31mred\x1b]0;owned\x07\rover \xff\xfe \xe2\x80\xaetxet \xc2\x9b1m & done\n")

PLAN = """\
version: 1
workflow: hostile
source: {path: source, ref: HEAD}
models: [small, large]
doctor: {run: "cat >/dev/null; cat /plan/doctor.json", after_failures: 1}
gates:
  check:
    steps: [{name: unit, run: "sh /plan/unit.sh", reports: {junit: ["*.xml"]}}]
    signals: [build, tests]
tiers:
  - name: first
    on_failure: continue
    phases:
      - {id: fix, goal: "make <i>it</i> right & quick", agent: {run: "sh /plan/agent.sh", network: scoped, egress: ["good.test:80"]}, gates: [check]}
      - {id: never, goal: "can't be done", max_attempts: 2, agent: {run: "cat /plan/hostile; echo wrong > answer"}, gates: [check]}
"""

AGENT = """\
cat /plan/hostile
getent hosts evil.test
if [ "$PAWL_ATTEMPT" = 1 ]; then echo wrong > answer; else echo right > answer; fi
printf '<script>document.title="owned"</script>\\n\\033[7m\\n' > 'page.html'
mkdir 'some b'; echo x > 'some b/name'; cp /usr/bin/env binary; seq 5000 > many; seq 5000
"""

UNIT = """\
cat /plan/hostile
echo '<testsuite><testcase name="&lt;script&gt;document.title=1&lt;/script&gt;"/><testcase name="right">' > out.xml
grep -q right answer || echo '<failure message="&lt;img src=x onerror=document.title=2&gt; is not right"/>' >> out.xml
echo '</testcase></testsuite>' >> out.xml
grep -q right answer
"""

DOCTOR = '{"action": "retry_with_hint", "hint": "<script>document.title=3</script>", "reason": "[31m it is <b>wrong</b>"}'


class WithBrowser(WithRun):
    def make_hostile(self):
        self.write("source/answer", "old\n")
        self.commit_all("source")
        for name, text in (("plan.yaml", PLAN), ("agent.sh", AGENT), ("unit.sh", UNIT), ("hostile", HOSTILE), ("doctor.json", DOCTOR)):
            self.write(name, text)

    def run_hostile(self):
        self.make_hostile()
        self.pawl("run", "plan.yaml", expect=11)
        self.pawl("retry", "last", "never", "--reason", "<u>once</u> more")
        self.pawl("skip", "last", "never", "--reason", "enough")

    def report(self, name="run.html", *args):
        self.pawl("report", "last", "-o", name, *args)
        return self.root / name

    def browse(self, page, *args):
        done = subprocess.run(
            ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--disable-background-networking", f"--user-data-dir={self.root}/profile", *args, f"file://{page}"],
            capture_output=True, timeout=TIMEOUT_S, env={**os.environ, "HOME": str(self.root)})
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
        return done.stdout.decode()

    def dom(self, page):
        return self.browse(page, "--dump-dom")


def text_of(dom):
    return html.unescape(re.sub(r"<[^>]*>", "", dom))


class Report(WithBrowser):
    def test_hostile_output_is_text_on_a_page_that_loads_nothing(self):
        self.run_hostile()
        page = self.report()
        source = page.read_bytes()
        source.decode()  # the page is UTF-8, whatever was printed
        self.assertNotRegex(source, rb"[\x00-\x08\x0b-\x1f\x7f]")
        dom = self.dom(page)
        self.assertRegex(dom, r"<title>hostile [^<]* run [0-9a-f-]{36}</title>")
        tags = set(re.findall(r"<([a-z][a-z0-9-]*)", dom))
        self.assertEqual(tags & {"script", "img", "iframe", "object", "embed", "link", "base", "form", "input", "u"}, set())
        self.assertEqual(dom.count("<style"), 1)
        self.assertEqual(dom.count("<meta"), 5)
        self.assertEqual(re.findall(r"<[^>]*\s(?:on\w+|style|src)\s*=", dom), [])
        self.assertEqual([link for link in re.findall(r'href="([^"]*)"', dom) if not link.startswith("#")], [])
        self.assertNotRegex(dom, r"url\(|@import")
        self.assertIn("default-src 'none'; style-src 'sha256-", html.unescape(dom))
        text = text_of(dom)
        for shown in (r"<script>document.title='owned'</script>", r"\x1b[2J\x1b[31mred\x1b]0;owned\x07", r"\xff\xfe \u202etxet \u009b1m & done",
                      "make <i>it</i> right & quick", "evil.test:0: refused", "doctor: retry_with_hint", "check.tests", "model large",
                      "operator: skip by uid", "<u>once</u> more", '+<script>document.title="owned"</script>', "Ledger verified",
                      "some b/name +1"):
            self.assertTrue(shown in text, shown)
        # Long text is cut, and the page says where the rest is.
        self.assertTrue("binary +0 −0 binary" in text)
        for shown in (r"\d+ lines are left out; pawl diff", "\\+398\n+4602 more lines of this file are left out", "This is its end; all of it: pawl logs",
                      r"\n4999\n5000\n"):
            self.assertTrue(re.search(shown, text), shown)
        self.assertTrue("\n999\n" not in text, "the tail of a log is its end")
        for state in ("failed_retryable", "passed", "COMPLETE", "SKIPPED"):
            self.assertIn(f'">{state}</span>', dom)

    def test_the_style_holds_and_no_width_overflows(self):
        """Properties that can be seen without a script: a page as wide as its window prints no sideways
        scroll bar."""
        self.run_hostile()
        page = self.report()
        # A copy whose policy allows one script, which measures. The page itself allows none.
        measure = ("<script>document.title = 'measured ' + [innerWidth, document.documentElement.scrollWidth,"
                   "getComputedStyle(document.querySelector('header')).borderRadius,"
                   "document.querySelectorAll('rect.good, rect.bad').length].join(' ')</script></body>")
        text = page.read_text()
        self.write("measured.html", text.replace("default-src 'none';", "default-src 'none'; script-src 'unsafe-inline';", 1)
                   .replace("</body>", measure))
        self.write("closed.html", text.replace("</body>", measure))
        self.assertNotIn("<title>measured", self.dom(self.root / "closed.html"), "the policy lets no script run")
        for width in (1280, 500):
            dom = self.browse(self.root / "measured.html", f"--window-size={width},900", "--dump-dom")
            window, content, radius, bars = re.search(r"<title>measured (\d+) (\d+) (\S+) (\d+)</title>", dom).groups()
            self.assertLessEqual(int(content), int(window))
            self.assertNotEqual(radius, "0px", "the style sheet is the one that the policy names")
            self.assertGreaterEqual(int(bars), 3)

    def test_files_are_not_overwritten_and_programs_are_told(self):
        self.make_simple()
        self.pawl("run", "plan.yaml")
        told = self.pawl_json("report", "last", "-o", "a.html")
        self.assertEqual(told, {"path": "a.html", "bytes": (self.root / "a.html").stat().st_size})
        (self.root / "a.html").write_text("mine")
        self.assertIn("--force", self.pawl("report", "last", "-o", "a.html", expect=2).stderr)
        self.assertEqual((self.root / "a.html").read_text(), "mine")
        self.pawl("report", "last", "-o", "a.html", "--force")
        self.assertTrue(self.pawl("report", "last", "-o", "-").stdout.startswith("<!DOCTYPE html>"))
        self.assertEqual(self.pawl("report", "last", "-o", "-", "--json", expect=2).stdout, "")
        self.pawl("report", "last", expect=2)
        self.pawl("report", "last", "-o", "no/such/folder.html", expect=1)
        with open("/dev/full", "wb") as disk:
            full = subprocess.run([PAWL, "report", "last", "-o", "-"], cwd=self.root, stdout=disk, stderr=subprocess.PIPE,
                                  timeout=TIMEOUT_S, env=self.environment(None))
        self.assertEqual(full.returncode, 1, "a full disk is told")

    def test_a_run_that_goes_on_one_without_attempts_and_a_ledger_that_was_changed(self):
        self.make_simple(agent="echo begun; sleep 60", phases=2)
        process = self.start("run", "plan.yaml")
        self.wait_until(lambda: self.supervisors(), "the agent runs")
        self.wait_until(lambda: "begun" in self.pawl("logs", "last", "p1", expect=None).stdout, "it printed")
        text = text_of(self.dom(self.report("going.html")))
        for shown in ("EXECUTING", "unfinished", "running", "begun", "Going for", "Nothing was accepted"):
            self.assertIn(shown, text)
        self.pawl("cancel", "last", "--reason", "enough")
        process.wait(timeout=60)
        self.kill_all(process)
        self.assertIn("CANCELLED", text_of(self.dom(self.report("cancelled.html"))))
        self.pawl("fork", "last", "--from", "p1")
        self.assertIn("No attempt was made yet", text_of(self.dom(self.report("none.html"))))
        database = self.root / "source/.pawl/pawl.db"
        subprocess.run(["sqlite3", str(database), "UPDATE ledger SET line = replace(line, 'test', 'tent') WHERE seq = 1"], check=True)
        text = text_of(self.dom(self.report("changed.html")))
        self.assertIn("NOT verified", text)
        self.assertIn("changed", text)


BEST = MEND.replace("workflow: mend", "workflow: best").replace("gates: [check]}", "gates: [check], best_of: 2}")


class Verified(WithRun):
    """The word `verified` is about what the page shows. It is gone when a person without the key changes
    any of that."""

    def verdict(self, run="last"):
        self.pawl("report", run, "-o", "page.html", "--force")
        page = (self.root / "page.html").read_text()
        words = set(re.findall(r'class="badge \w+">(verified|NOT verified|not checked)<', page))
        self.assertEqual(len(words), 1, words)
        return words.pop(), page

    def object_of(self, tree, name):
        found = [path for path in (self.root / f"source/.pawl/objects/{tree}").rglob(name) if path.is_file()]
        self.assertTrue(found, name)
        return found

    def assert_not_verified_with_a_byte_more(self, path):
        kept, mode = path.read_bytes(), path.stat().st_mode
        path.chmod(0o600)
        path.write_bytes(kept + b"\n")
        path.chmod(mode)
        verdict, page = self.verdict()
        self.assertEqual(verdict, "NOT verified", path)
        path.chmod(0o600)
        path.write_bytes(kept)
        path.chmod(mode)
        return page

    def test_of_tables(self):
        self.make_mend()
        self.pawl("run", "plan.yaml")
        self.assertEqual(self.verdict()[0], "verified")
        for change in ("phases SET last_failure_reason = 'all is well'", "phases SET attempts_used = 1", "phases SET attempts_total = 9",
                       "attempts SET failing_signals = '[]' WHERE number = 1", "attempts SET revision = 1",
                       "steps SET label = 'fix.agent.run.attempt7' WHERE step_index = 0", "steps SET started_at = '2020-01-01T00:00:00.000000Z'",
                       "steps SET gate_id = 'security', step_name = 'pentest' WHERE step_index > 0", "steps SET gate_id = 'unit', step_name = 'check'",
                       "steps SET step_name = step_name || '.attempt1'", "steps SET episode = 2 WHERE step_index = 0",
                       "steps SET sandbox_spec_hash = replace(sandbox_spec_hash, 'a', 'b')", "steps SET decision = 'adopt'",
                       "attempts SET build = 'trusted'", "runs SET doctor_calls = 1", "runs SET source_path = '/elsewhere'",
                       "runs SET created_at = '2001-01-01T00:00:00.000000Z'", "runs SET ended_at = '2031-01-01T00:00:00.000000Z'",
                       "steps SET execution = 2 WHERE step_index = 0", "steps SET state = 'lost', run = '' WHERE step_index = 0"):
            with self.subTest(change), self.changed_in_database(f"UPDATE {change}"):
                self.assertEqual(self.verdict()[0], "NOT verified")
        with self.changed_in_database("DELETE FROM steps WHERE step_index > 0"):
            self.assertEqual(self.verdict()[0], "NOT verified")

    def test_of_episodes_and_forks(self):
        self.make_mend(text=BEST)
        self.pawl("run", "plan.yaml")
        self.assertEqual(self.verdict()[0], "verified")
        for change in ("UPDATE episodes SET outcome = 'passed', gates_passed = 1", "UPDATE episodes SET failing_signals = 9",
                       "DELETE FROM episodes WHERE episode = 2"):
            with self.subTest(change), self.changed_in_database(change):
                self.assertEqual(self.verdict()[0], "NOT verified")
        forked = self.pawl_json("fork", "last", "--from", "fix:2")["run_id"]
        self.pawl("resume", forked)
        self.assertEqual(self.verdict(forked)[0], "verified")
        for change in ("UPDATE forks SET attempt = 1", "DELETE FROM forks"):
            with self.subTest(change), self.changed_in_database(change):
                self.assertEqual(self.verdict(forked)[0], "NOT verified")

    def test_of_objects_and_logs(self):
        self.make_mend()
        self.pawl("run", "plan.yaml")
        page = self.verdict()[1]
        self.assertIn("+right", re.sub("<[^>]*>", "", page))
        accepted = [path for path in self.object_of("layers", "answer") if path.read_text() == "right\n"]
        for path in self.object_of("bases", "answer")[:1] + accepted:
            page = self.assert_not_verified_with_a_byte_more(path)
            self.assertNotIn("+right", re.sub("<[^>]*>", "", page), "nothing is shown as accepted")
        log = next(path for path in self.object_of("blobs", "*") if b"model small goal" in path.read_bytes())
        page = self.assert_not_verified_with_a_byte_more(log)
        self.assertIn("not what was recorded", page)
        self.assertEqual(self.verdict()[0], "verified")

    def test_of_a_key_that_is_not_the_folders(self):
        self.make_mend()
        self.pawl("run", "plan.yaml")
        folder = self.root / "source/.pawl"
        public = self.sign_as_another(folder / "pawl.db")
        (folder / "keys/ledger.pub").chmod(0o644)
        (folder / "keys/ledger.pub").write_text(public + "\n")
        self.assertEqual(self.verdict()[0], "NOT verified")

    def sign_as_another(self, database):
        """Signs the run's head with a key of its own. Returns that key's public half."""
        key = self.root / "own.pem"

        def openssl(*args):
            return subprocess.run(["openssl", *args], capture_output=True, check=True, timeout=TIMEOUT_S).stdout
        openssl("genpkey", "-algorithm", "ed25519", "-out", str(key))
        public = openssl("pkey", "-in", str(key), "-pubout", "-outform", "DER")[-32:].hex()
        with sqlite3.connect(database) as db:
            (body,) = db.execute("SELECT body FROM heads").fetchone()
            self.write("body", body)
            signature = openssl("pkeyutl", "-sign", "-inkey", str(key), "-rawin", "-in", str(self.root / "body")).hex()
            db.execute("UPDATE heads SET public_key = ?, signature = ?", (public, signature))
        db.close()
        return public


class Inspect(WithBrowser):
    def on_terminal(self, command, columns):
        """The screen that tmux draws when `command` has run, and the same with its colours."""
        socket = str(self.root / f"tmux-{time.monotonic_ns()}")

        def tmux(*args):
            return subprocess.run(["tmux", "-f", "/dev/null", "-S", socket, *args], capture_output=True, text=True, timeout=60)
        script = f"cd {shlex.quote(str(self.root))}; {command}; tmux -S {socket} wait-for -S done; sleep 60"
        made = tmux("new-session", "-d", "-x", str(columns), "-y", "200", "sh", "-c", script)
        self.assertEqual(made.returncode, 0, made.stderr)
        try:
            tmux("wait-for", "done")
            return tmux("capture-pane", "-p").stdout, tmux("capture-pane", "-p", "-e").stdout
        finally:
            tmux("kill-server")

    def test_it_fits_the_terminal_and_text_obeys_nothing(self):
        self.run_hostile()
        for columns in (80, 140):
            plain, coloured = self.on_terminal(f"{PAWL} inspect last", columns)
            self.assertIn("\x1b[", coloured)
            self.assertIn("run ", plain.splitlines()[0], "nothing cleared the screen")
            for shown in ("exited 1", "check.tests", "network: evil.test:0: refused", "[31m it is <b>wrong</b>", r"| red\x0dover", r"\u202etxet", "operator: skip"):
                self.assertIn(shown, plain)
            # A line that the terminal had to wrap would be one line more than was printed.
            self.assertLessEqual(max(map(len, plain.splitlines())), columns)
        plain, coloured = self.on_terminal(f"NO_COLOR=1 {PAWL} inspect last", 80)
        self.assertNotIn("\x1b[", coloured)
        piped = self.pawl("inspect", "last").stdout
        self.assertNotIn("\x1b", piped)
        self.assertLessEqual(max(map(len, piped.splitlines())), 100)

    def test_long_runs_come_in_pages(self):
        self.make_simple(gate="false", max_attempts=12)
        self.pawl("run", "plan.yaml", "--max-attempts", "12", expect=None)
        for _ in range(4):  # three attempts each: the same failure, three times in a row
            self.pawl("retry", "last", "p1", expect=None)
            self.pawl("resume", "last", expect=None)
        attempts = self.pawl_json("inspect", "last")["phases"][0]["attempts"]
        self.assertEqual(len(attempts), 15)
        shown = self.pawl("inspect", "last").stdout
        self.assertEqual(re.findall(r"^  attempt (\d+):", shown, re.M), [str(n) for n in range(6, 16)])
        self.assertIn("5 earlier attempts", shown)
        self.assertEqual(shown.count("> operator: retry"), 4 - 1, "what was decided before the sixth attempt, and after")
        one = self.pawl("inspect", "last", "p1", "--attempt", "2").stdout
        self.assertEqual(re.findall(r"^  attempt (\d+):", one, re.M), ["2"])
        self.assertEqual([a["number"] for a in self.pawl_json("inspect", "last", "p1", "--attempt", "7")["phases"][0]["attempts"]], [7])
        self.assertEqual(len(re.findall(r"^  attempt", self.pawl("inspect", "last", "--all").stdout, re.M)), 15)
        self.assertIn("15", self.pawl("inspect", "last", "p1", "--attempt", "99", expect=1).stderr)
        self.pawl("inspect", "last", "--attempt", "1", expect=2)


if __name__ == "__main__":
    unittest.main(verbosity=1)
