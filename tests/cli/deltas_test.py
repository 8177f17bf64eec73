#!/usr/bin/env python3
"""Gates that compare with base: findings of analysers (a real Clang) and of scanners (a real npm), and
what a step runs and connects to."""

import http.server
import json
import pathlib
import shutil
import subprocess
import threading
import unittest

from pawl_testing import PawlTest


class Deltas(PawlTest):
    def run_plan(self, gate, agent, policy=None, expect=0):
        pinned = ""
        if policy is not None:
            digest = subprocess.run(["b3sum", "--no-names", self.write("policy.yaml", policy)], capture_output=True, text=True)
            pinned = f"policy: {{file: ../policy.yaml, blake3: {digest.stdout.strip()}}}\n"
        self.write("plans/plan.yaml", f"version: 1\nworkflow: deltas\nsource: {{path: ../source}}\nmax_attempts: 1\n{pinned}"
                   f"gates:\n  g:\n{gate}tiers:\n  - phases:\n"
                   f"      - {{id: p1, goal: g, agent: {{run: {json.dumps(agent)}}}, gates: [g]}}\n")
        self.pawl("run", "plans/plan.yaml", "--dir", ".pawl", expect=expect)
        attempt = self.pawl_json("inspect", "last", "--dir", ".pawl")["phases"][0]["attempts"][0]
        of_gate = [s for s in attempt["signals"] if s["gate_id"] == "g"]
        return next(iter(of_gate or [s for s in attempt["signals"] if s["gate_id"] == "g@base"])), attempt


class Analysis(Deltas):
    GATE = ("    steps: [{name: lint, run: 'clang-16 -Wall -Wextra -Wno-sarif-format-unstable -fdiagnostics-format=sarif "
            "-fsyntax-only a.c 2>all; grep ^{ all >out.sarif', reports: {sarif: [out.sarif]}}]\n    signals: [sarif_delta]\n")

    def setUp(self):
        super().setUp()
        self.write("source/a.c", "int f(int x) {\n  if (x = 1) return 1;\n  return 0;\n}\n")

    def test_a_new_warning_fails_and_is_named(self):
        signal, _ = self.run_plan(self.GATE, "echo 'int g(void) { int unused; return 0; }' >>a.c", expect=11)
        self.assertFalse(signal["passed"] or signal["missing"])
        self.assertEqual(signal["details"]["new"], 1)
        self.assertIn("a.c::", signal["details"]["new_names"])
        self.assertIn("unused variable 'unused'", signal["details"]["new_names"])
        self.assertEqual(signal["provenance"]["collector"], "analysis: sarif")

    def test_an_old_warning_that_moves_is_not_new(self):
        signal, _ = self.run_plan(self.GATE, "sed -i '1i// above\\n' a.c")
        self.assertEqual((signal["details"]["before"], signal["details"]["after"]), (3, 3))

    def test_a_fixed_one_is_told(self):
        signal, _ = self.run_plan(self.GATE, "sed -i 's/x = 1/x == 1/' a.c")
        self.assertEqual((signal["details"]["fixed"], signal["details"]["after"]), (3, 0))

    def test_a_report_that_is_cut_short_goes_to_a_person(self):
        signal, attempt = self.run_plan(self.GATE.replace("grep ^{", "head -c 99"), "echo >>a.c", expect=11)
        self.assertTrue(signal["missing"])
        self.assertIn("out.sarif: not a good sarif report", signal["details"]["problem"])
        self.assertEqual(attempt["verdict"], "escalate")


class Registry(http.server.BaseHTTPRequestHandler):
    """The part of a registry that `npm audit` asks for; minimist below 0.2.4 is vulnerable."""

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.answer({"minimist": [{"id": 1097677, "url": "https://example.org/GHSA-xvch-5gv4-984h", "title": "Prototype Pollution",
                                   "severity": "critical", "vulnerable_versions": "<0.2.4", "cwe": ["CWE-1321"],
                                   "cvss": {"score": 9.8, "vectorString": None}}]})

    def do_GET(self):
        self.answer({"name": "minimist", "dist-tags": {"latest": "1.2.8"}, "versions": {
            v: {"name": "minimist", "version": v, "dist": {"tarball": "http://127.0.0.1/none.tgz"}} for v in ("0.0.8", "1.2.8")}})

    def answer(self, body):
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


class Vulnerabilities(Deltas):
    # The output of the real npm for each version, because a gate has no network of its own here.
    GATE = ("    steps: [{name: scan, run: 'cp /plan/$(cat version).json out.json', reports: {npm_audit: [out.json]}}]\n"
            "    signals: [cve_delta]\n")

    def audit(self, version):
        folder = self.root / "audited"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        package = {"name": "x", "version": "1.0.0", "dependencies": {"minimist": version}}
        (folder / "package.json").write_text(json.dumps(package))
        (folder / "package-lock.json").write_text(json.dumps({
            "name": "x", "version": "1.0.0", "lockfileVersion": 3, "requires": True,
            "packages": {"": package, "node_modules/minimist": {"version": version}}}))
        done = subprocess.run(["npm", "audit", "--json", "--registry", self.registry, "--cache", self.root / "cache"], cwd=folder,
                              capture_output=True, text=True, timeout=120)
        self.assertIn("auditReportVersion", done.stdout, done.stderr)
        self.write(f"plans/{version}.json", done.stdout)

    def setUp(self):
        super().setUp()
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Registry)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        self.registry = f"http://127.0.0.1:{server.server_port}/"
        for version in ("0.0.8", "1.2.8"):
            self.audit(version)

    def test_a_new_vulnerability_fails(self):
        self.write("source/version", "1.2.8")
        signal, _ = self.run_plan(self.GATE, "printf 0.0.8 >version", expect=11)
        self.assertEqual(signal["details"]["new_names"], "minimist::https://example.org/GHSA-xvch-5gv4-984h")
        self.assertEqual(signal["details"]["new_high_or_critical"], 1)

    def test_one_that_base_has_is_no_news(self):
        self.write("source/version", "0.0.8")
        signal, _ = self.run_plan(self.GATE, "echo >other")
        self.assertEqual(signal["details"]["before"], 1)
        signal, _ = self.run_plan(self.GATE, "printf 1.2.8 >version")
        self.assertEqual(signal["details"]["fixed"], 1)


class Trace(Deltas):
    GATE = ("    steps: [{name: unit, run: 'exec /usr/bin/env python3 t.py', trace: true}]\n    signals: [trace]\n")

    def setUp(self):
        super().setUp()
        self.write("source/t.py", "import subprocess\nsubprocess.run(['/bin/true'], check=True)\n")

    def test_what_base_runs_may_go_on_to_run(self):
        signal, _ = self.run_plan(self.GATE, "echo '# more' >>t.py")
        self.assertGreaterEqual(signal["details"]["executables"], 3)
        self.assertTrue(signal["details"]["complete"])

    def test_a_new_shell_program_and_endpoint_are_named(self):
        agent = ("printf 'subprocess.run([\"/bin/bash\", \"-c\", \"/usr/bin/id\"])\\nimport socket\\ntry:\\n"
                 "  socket.create_connection((\"192.0.2.7\", 4444), 1)\\nexcept OSError: pass\\n' >>t.py")
        signal, _ = self.run_plan(self.GATE, agent, expect=11)
        self.assertEqual(signal["details"]["new_shells_names"], "/bin/bash")
        self.assertEqual(signal["details"]["new_executables_names"], "/usr/bin/id")
        self.assertEqual(signal["details"]["new_endpoints_names"], "192.0.2.7:4444")
        told, _ = self.run_plan(self.GATE, agent, policy="version: 1\ntrace: {shells: tell, executables: tell, endpoints: allow}\n")
        self.assertEqual((told["passed"], told["details"]["new_shells"]), (True, 1))
        self.assertNotIn("new_endpoints", told["details"])


    def test_a_program_that_could_not_be_started_did_not_run(self):
        """A fallback behind a program that is absent is no new program; one that base tried in vain and the work brings is."""
        signal, _ = self.run_plan(self.GATE, "printf 'try: subprocess.run([\"/no/such\"])\\nexcept FileNotFoundError: pass\\n' >>t.py")
        self.assertTrue(signal["passed"])
        self.write("source/t.py", "import subprocess\ntry: subprocess.run(['./tool'])\nexcept FileNotFoundError: pass\n")
        signal, _ = self.run_plan(self.GATE, "cp /bin/true tool", expect=11)
        self.assertEqual(signal["details"]["new_executables_names"], "./tool")


class Policy(Deltas):
    def test_a_gate_names_what_the_policy_found(self):
        self.write("source/a", "x\n")
        gate = "    steps: [{name: unit, run: 'true'}]\n    signals: [build, policy]\n"
        self.run_plan(gate, "printf 'a\\0b' >blob", policy="version: 1\n")
        attempt = self.pawl_json("inspect", "last", "--dir", ".pawl")["phases"][0]["attempts"][0]
        signal = next(s for s in attempt["signals"] if (s["gate_id"], s["kind"]) == ("g", "policy"))
        self.assertIn("blob: binaries", signal["details"]["telling"])


if __name__ == "__main__":
    unittest.main()
