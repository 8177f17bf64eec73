#!/usr/bin/env python3
"""Secrets that a step prints are nowhere below .pawl, in no encoding, and in no output of a command."""

import base64
import html
import json
import pathlib
import sqlite3
import textwrap
import unittest
import urllib.parse

from pawl_testing import PawlTest, plan

TOKEN = "ghp_" + "Zx9" * 12  # in two parts, so that no scanner takes it for one
PASSWORD = 'tangerine/7 "moon"+?'
# Spellings in which an agent could print the password, also after other text.
ENCODED = {
    "plain": PASSWORD,
    "json": json.dumps(PASSWORD)[1:-1],
    "url": urllib.parse.quote(PASSWORD, safe=""),
    "hex": PASSWORD.encode().hex(),
    "HEX": PASSWORD.encode().hex().upper(),
    "base64": base64.b64encode(PASSWORD.encode()).decode(),
    "base64 behind one byte": base64.b64encode(b":" + PASSWORD.encode()).decode(),
    "base64 of a login": base64.b64encode(b"me:" + PASSWORD.encode()).decode(),
    "base64url": base64.urlsafe_b64encode(PASSWORD.encode()).decode(),
    "base64 in lines": "\n".join(textwrap.wrap(base64.b64encode(b"a file, and in it " + PASSWORD.encode() + b", and more of it").decode(), 32)),
    "json of another dialect": "".join(f"\\u{ord(c):04X}" for c in PASSWORD),
    "form": urllib.parse.quote_plus(PASSWORD, safe=""),
    "xml": html.escape(PASSWORD),
    "shell": PASSWORD.replace('"', "'\\\"'"),
    "xtrace": PASSWORD.replace('"', '\\"').replace("?", "\\?"),
    "hex with colons": PASSWORD.encode().hex(":"),
    "colours": PASSWORD.replace("moon", "\x1b[1;31mmoon\x1b[0m"),
}
PEM = "-----BEGIN " + "PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nTHEMIDDLEOFTHEKEYTHEMIDDLEOFTHEKEY\n-----END PRIVATE KEY-----"
# Texts that must be nowhere. Of each encoding only the part that shares no digit with a neighbour.
NEEDLES = [TOKEN, "THEMIDDLEOFTHEKEY", *(text.strip("=")[3:-3] for text in ENCODED.values())]


class Redaction(PawlTest):
    def found_below(self, folder):
        out = []
        for path in pathlib.Path(folder).rglob("*"):
            if not path.is_file() or path.is_symlink():
                continue
            content = path.read_bytes()
            out += [(str(path), needle) for needle in NEEDLES if needle.encode() in content]
        return out

    def make(self, **kwargs):
        lines = [*ENCODED.values(), TOKEN, PEM, f"x {TOKEN} y", f"https://user:{TOKEN}@example.org/"]
        # A file with a key in it would not be shown in /plan.
        self.write("said", base64.b64encode(("\n".join(lines) + "\n").encode()).decode())
        # In pieces, so that no read of the supervisor gets a whole secret; and on both streams.
        self.write("say.py", "import base64, sys, time\ntext = base64.b64decode(open('/plan/said').read()).decode()\nfor stream in (sys.stdout, sys.stderr):\n"
                             "    for i in range(0, len(text), 7):\n        stream.write(text[i:i + 7]); stream.flush()\n"
                             "    time.sleep(0.01)\n")
        # The gate fails the first attempt and quotes a secret in its report; the agent reads the feedback and says it.
        self.write("gate.sh", "/usr/bin/python3 /plan/say.py; [ -e again ]; code=$?\n"
                   f"echo '<testsuite><testcase name=\"one\">' >out.xml\n[ $code = 0 ] || echo '<failure message=\"got {TOKEN}\"/>' >>out.xml\n"
                   "echo '</testcase></testsuite>' >>out.xml; exit $code\n")
        self.write("source/file", "x\n")
        text = plan(agent="/usr/bin/python3 /plan/say.py; if [ -s \"$PAWL_FEEDBACK\" ]; then cat \"$PAWL_FEEDBACK\"; touch again; fi",
                    gate="sh /plan/gate.sh", **kwargs)
        self.write("plan.yaml", text.replace("signals: [build]", "signals: [tests]").replace(
            'run: "sh /plan/gate.sh"}', 'run: "sh /plan/gate.sh", reports: {junit: [out.xml]}}'))
        return {"PAWL_SECRETS": "DB_PASSWORD", "DB_PASSWORD": PASSWORD}

    def test_nothing_is_found_below_pawl(self):
        env = self.make()
        self.pawl("run", "plan.yaml", env=env)
        attempts = self.pawl_json("inspect", "last")["phases"][0]["attempts"]
        self.assertEqual([a["verdict"] for a in attempts], ["failed_retryable", "passed"])
        state = self.root / "source/.pawl"
        # The plan's folder and the gate's report are stored unchanged: they are content and not output.
        kept = {str(p) for kind in ("bases", "layers") for p in (state / "objects" / kind).rglob("*")}
        self.assertEqual([hit for hit in self.found_below(state) if hit[0] not in kept], [])
        database = sqlite3.connect(state / "pawl.db")
        dump = "\n".join(database.iterdump())
        self.assertEqual([needle for needle in NEEDLES if needle in dump], [])
        self.assertIn("got <redacted:github_token:", dump, "it is in the summary, under its fingerprint")
        shown = "".join(self.pawl(*words).stdout for words in (("logs", "last", "p1"), ("inspect", "last"), ("export", "last", self.root / "out")))
        self.assertEqual([needle for needle in NEEDLES if needle in shown], [])
        self.assertIn("<redacted:env:DB_PASSWORD:", shown)
        self.assertEqual(self.found_below(self.root / "out"), [])
        self.pawl("verify", "last")

    def test_a_value_has_one_fingerprint_in_every_encoding(self):
        self.pawl("run", "plan.yaml", env=self.make())
        log = self.pawl("logs", "last", "p1").stdout
        prints = {word.split(">")[0] for word in log.split("<redacted:env:DB_PASSWORD:")[1:]}
        self.assertEqual(len(prints), 1)

    def test_names_of_tests_and_files_and_the_evidence_for_an_agent_are_redacted_before_they_are_cut(self):
        self.write("needles", TOKEN + "\n" + TOKEN[:12] + "\n")
        self.write("source/file", "x\n")
        # Limits: names of tests end at 959 bytes, messages at 512, reports that an agent reads at 256 KiB.
        self.write("gate.py", f"""
dots = "." * 945
with open("out.xml", "w") as out:
    out.write('<testsuite><testcase name="' + dots + ' {TOKEN}"/>')
    out.write('<testcase name="b"><failure message="' + dots[:245] + ' {TOKEN} ' + dots + '"/></testcase>')
    out.write('<testcase name="c"><system-out>' + "." * (262144 - 20 - out.tell()) + ' {TOKEN} ' + "." * 600000 + '</system-out></testcase></testsuite>')
raise SystemExit(1)
""")
        self.write("token", TOKEN)
        agent = ("t=$(cat /plan/token); mkfifo \"pipe of $t\"; echo $t >work; ls /pawl/evidence; "
                 "if grep -rqFf /plan/needles /pawl; then echo LEAK; grep -rlFf /plan/needles /pawl; fi")
        text = plan(agent=agent, gate="/usr/bin/python3 /plan/gate.py")
        self.write("plan.yaml", text.replace("signals: [build]", "signals: [tests]").replace(
            'run: "/usr/bin/python3 /plan/gate.py"}', 'run: "/usr/bin/python3 /plan/gate.py", reports: {junit: [out.xml]}}'))
        self.pawl("run", "plan.yaml", expect=None)
        log = self.pawl("logs", "last", "p1", "--attempt", "2").stdout
        self.assertIn("previous.patch", log)
        self.assertNotIn("LEAK", log)
        database = sqlite3.connect(self.root / "source/.pawl/pawl.db")
        dump = "\n".join(database.iterdump())
        self.assertIn("pipe of <redacted:github_token:", dump)
        self.assertNotIn(TOKEN[:12], dump)

    def test_a_network_and_a_trace_are_redacted(self):
        self.make()
        self.write("plan.yaml", plan(agent=f"sh -c 'true {TOKEN}'").replace("agent: {run:", "agent: {trace: true, run:"))
        self.pawl("run", "plan.yaml")
        trace = self.pawl("logs", "last", "p1", "--trace").stdout
        self.assertIn("<redacted:github_token:", trace)
        self.assertNotIn(TOKEN, trace)

    def test_a_secret_that_goes_over_the_end_of_what_a_trace_tells_is_redacted_whole(self):
        self.make()
        self.write("plan.yaml", plan(agent=f"sh -c 'true {'x' * 230} {TOKEN}'").replace("agent: {run:", "agent: {trace: true, run:"))
        self.pawl("run", "plan.yaml")
        trace = self.pawl("logs", "last", "p1", "--trace").stdout
        self.assertIn("x" * 230, trace)
        self.assertNotIn(TOKEN[:10], trace)


if __name__ == "__main__":
    unittest.main()
