#!/usr/bin/env python3
"""`pawl attest` and `pawl verify --attestation`, beside readers that are not Pawl: Node.js, OpenSSL,
b3sum, git."""

import base64
import hashlib
import json
import pathlib
import re
import shutil
import sqlite3
import subprocess
import unittest

from pawl_runs import MEND, WithRun
from pawl_testing import TIMEOUT_S

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs/attestation.md"
TYPE = "application/vnd.in-toto+json"

# Signs a payload of a type with a new key, as DSSE says. Prints {key, sig}.
SIGN = """
const crypto = require("crypto"), [type, body] = process.argv.slice(1);
const {privateKey, publicKey} = crypto.generateKeyPairSync("ed25519");
const pae = Buffer.from(`DSSEv1 ${Buffer.byteLength(type)} ${type} ${Buffer.byteLength(body)} ${body}`);
console.log(JSON.stringify({key: publicKey.export({format: "der", type: "spki"}).subarray(12).toString("hex"),
                            sig: crypto.sign(null, pae, privateKey).toString("base64")}));
"""


def block(language):
    return re.search(rf"```{language}\n(.*?)```", DOCS.read_text(), re.S)[1]


def statement_of(envelope):
    return json.loads(base64.b64decode(envelope["payload"]))


def phases_of(statement):
    chains = statement["predicate"]["runDetails"]["byproducts"]
    return {c["annotations"]["pawl_phase"]["phase_id"]: c["annotations"]["pawl_phase"] for c in chains[1:]}


class AttestTest(WithRun):
    def attest(self, *args, expect=0, cwd="."):
        """Writes run.intoto.json, and beside it the public key as another person would have it."""
        done = self.pawl("attest", "last", "--force", "-o", self.root / "run.intoto.json", *args, expect=expect, cwd=cwd)
        shutil.copy(self.root / "source/.pawl/keys/ledger.pub", self.root / "ledger.pub")
        self.key = (self.root / "ledger.pub").read_text().strip()
        return done

    def envelope(self):
        return json.loads((self.root / "run.intoto.json").read_text())

    def statement(self):
        return statement_of(self.envelope())

    def verify(self, envelope=None, *args, expect=0):
        """Verifies `envelope`: a dictionary, or bytes. Without it, the file as it is."""
        if envelope is not None:
            data = envelope if isinstance(envelope, bytes) else json.dumps(envelope).encode()
            self.write("run.intoto.json", data)
        return self.pawl_json("verify", "--attestation", "run.intoto.json", *args, expect=expect)

    def kinds(self, *args):
        return [problem["kind"] for problem in self.verify(*args, expect=13)["problems"]]

    def by_node(self):
        return subprocess.run(["node", "-e", block("js")], cwd=self.root, capture_output=True, timeout=TIMEOUT_S)

    def by_shell(self):
        return subprocess.run(["sh", "-c", block("sh")], cwd=self.root, capture_output=True, text=True, timeout=TIMEOUT_S)

    def database(self, *statement):
        with sqlite3.connect(self.root / "source/.pawl/pawl.db") as db:
            self.assertEqual(db.execute(*statement).rowcount, 1)
        db.close()


class OfARunThatPassed(AttestTest):
    def setUp(self):
        super().setUp()
        self.make_mend()
        done = self.pawl("run", "plan.yaml", "--json")
        self.result = json.loads(done.stdout.splitlines()[-1])
        self.attest()

    def test_readers_that_are_not_pawl_take_it(self):
        node = self.by_node()
        self.assertEqual((node.returncode, node.stderr), (0, b""))
        self.assertEqual(json.loads(node.stdout), self.statement())
        shell = self.by_shell()
        self.assertEqual((shell.returncode, shell.stdout), (0, "Signature Verified Successfully\n"), shell.stderr)
        envelope = self.envelope()
        self.assertEqual((envelope["payloadType"], [s["keyid"] for s in envelope["signatures"]]), (TYPE, [self.key]))
        changed = dict(envelope, payload=base64.b64encode(node.stdout.replace(b"COMPLETE", b"COMPLETD", 1)).decode())
        self.write("run.intoto.json", json.dumps(changed, separators=(",", ":")))
        self.assertNotEqual(self.by_node().returncode, 0)
        self.assertNotEqual(self.by_shell().returncode, 0)

    def test_the_subjects_are_the_diff_and_the_commit(self):
        run = self.result["run_id"]
        statement = self.statement()
        self.assertEqual((statement["_type"], statement["predicateType"]),
                         ("https://in-toto.io/Statement/v1", "https://slsa.dev/provenance/v1"))
        patch = self.pawl("diff", "last").stdout.encode()
        self.assertIn(b"+right", patch)
        patch_subject, commit_subject = statement["subject"]
        self.assertEqual(patch_subject, {"name": f"{run}.patch", "digest": {"sha256": hashlib.sha256(patch).hexdigest()}})
        self.assertEqual(commit_subject["name"], f"pawl/{run}")
        self.assertEqual(self.git("branch", "--list", "pawl/*", cwd="source"), "", "attesting makes no branch")
        before = (self.root / "run.intoto.json").read_bytes()
        applied = self.pawl_json("apply", "last")
        self.assertEqual(commit_subject["digest"], {"gitCommit": applied["commit"]})
        self.assertEqual(self.git("rev-parse", f"pawl/{run}", cwd="source").strip(), applied["commit"])
        self.attest()
        self.assertEqual((self.root / "run.intoto.json").read_bytes(), before, "applied or not")
        self.assertEqual(self.pawl("attest", "last").stdout.encode(), before, "on stdout, too")

    def test_the_predicate_is_what_the_ledger_says(self):
        predicate = self.statement()["predicate"]
        definition, details = predicate["buildDefinition"], predicate["runDetails"]
        chains = self.chains("last")
        started, sealed = chains[""][0], chains[""][-1]
        self.assertEqual(definition["buildType"], "urn:pawl:attestation:run:v1")
        self.assertIn(definition["buildType"], DOCS.read_text())
        self.assertEqual(definition["externalParameters"], {"workflow_id": "mend", "plan": "plan.yaml"})
        self.assertEqual(definition["internalParameters"], {"backend": "namespace"})
        resolved = {one["name"]: one["digest"] for one in definition["resolvedDependencies"]}
        plan = (self.root / "plan.yaml").read_bytes()
        self.assertEqual(resolved.pop("plan.yaml"), {"sha256": hashlib.sha256(plan).hexdigest(), "blake3": self.b3(plan)})
        self.assertEqual(resolved.pop("source"), {"gitCommit": self.git("rev-parse", "HEAD", cwd="source").strip()})
        for name, key in (("plan/manifest.jsonl", "plan_content"), ("source/manifest.jsonl", "base_id")):
            digest = resolved.pop(name)["blake3"]
            self.assertEqual(digest, started[key])
            manifest = self.root / "source/.pawl/objects/bases" / digest / "manifest.jsonl"
            self.assertEqual(self.b3(manifest.read_bytes()), digest)
        self.assertEqual(resolved, {})
        self.assertEqual(details["builder"]["id"], "urn:pawl:builder:ed25519:" + self.key)
        self.assertEqual(self.pawl("--version").stdout, f"pawl {details['builder']['version']['pawl']}\n")
        self.assertEqual(details["metadata"], {"invocationId": self.result["run_id"], "startedOn": started["at"],
                                               "finishedOn": sealed["at"]})
        run, fix = details["byproducts"]
        self.assertEqual(run, {"name": "run.jsonl", "digest": {"pawlLedgerHead": self.result["ledger_head"]},
                               "annotations": {"pawl_run": {"rows": len(chains[""]), "state": "COMPLETE"}}})
        self.assertEqual((fix["name"], fix["digest"]),
                         ("phases/fix/attempts.jsonl", {"pawlLedgerHead": chains["fix"][-1]["hash"]}))
        phase = fix["annotations"]["pawl_phase"]
        attempt = phase.pop("attempt")
        self.assertEqual(phase, {"phase_id": "fix", "state": "COMPLETE", "outcome": "passed", "cause": "", "attempts_used": 2,
                                 "attempts_total": 2, "rows": len(chains["fix"]), "accepted_by": "gates"})
        row = chains["fix"][-1]
        signals = [(s["gate_id"], s["kind"], s["passed"], s["missing"]) for s in row["signals"]]
        self.assertIn(("check", "tests", True, False), signals)
        self.assertEqual([(g["gate_id"], s["kind"], s["passed"], s["missing"]) for g in attempt["gates"] for s in g["signals"]],
                         signals)
        self.assertTrue(all(gate["passed"] for gate in attempt.pop("gates")))
        self.assertEqual(attempt, {key: row[key] for key in attempt})
        self.assertEqual((attempt["attempt_id"], attempt["model"], attempt["verdict"]), ("fix.2", "large", "passed"))

    def b3(self, data):
        return subprocess.run(["b3sum", "--no-names"], input=data, stdout=subprocess.PIPE, check=True).stdout.decode().strip()

    def test_pawl_says_what_it_attests_and_against_which_key(self):
        report = self.verify()
        run = self.result["run_id"]
        self.assertEqual((report["ok"], report["compared"], report["problems"]), (True, True, []))
        self.assertEqual((report["public_key"], report["run_id"], report["state"]), (self.key, run, "COMPLETE"))
        self.assertEqual(report["ledger_head"], self.result["ledger_head"])
        self.assertEqual(report["subjects"], self.statement()["subject"])
        self.assertEqual(report["phases"], list(phases_of(self.statement()).values()))
        out = self.pawl("verify", "--attestation", "run.intoto.json").stdout
        for said in (f"verified: run {run} is COMPLETE", self.result["ledger_head"], f"{run}.patch (sha256)",
                     "phase fix COMPLETE passed, accepted by: gates", "compared with the run",
                     f"checked against the public key {self.key} (keys/ledger.pub"):
            self.assertIn(said, out)
        self.assertIn("(--key)", self.pawl("verify", "--attestation", "run.intoto.json", "--key", self.key).stdout)

    def test_whoever_has_only_the_file_and_the_key_can_check_it(self):
        elsewhere = self.root / "elsewhere"
        elsewhere.mkdir()
        for name in ("run.intoto.json", "ledger.pub"):
            shutil.move(self.root / name, elsewhere / name)
        shutil.rmtree(self.root / "source")
        args = ["verify", "--attestation", "run.intoto.json"]
        self.assertIn("--key", self.pawl(*args, expect=1, cwd="elsewhere").stderr)
        report = self.pawl_json(*args, "--key", self.key, cwd="elsewhere")
        self.assertEqual((report["ok"], report["compared"], report["run_id"]), (True, False, self.result["run_id"]))
        self.assertIn("not compared", self.pawl(*args, "--key", self.key, cwd="elsewhere").stdout)
        self.write("elsewhere/state/keys/ledger.pub", self.key + "\n")
        self.assertTrue(self.pawl_json(*args, "--dir", "state", cwd="elsewhere")["ok"])
        self.assertEqual([str(p.relative_to(elsewhere / "state")) for p in sorted((elsewhere / "state").rglob("*"))],
                         ["keys", "keys/ledger.pub"], "nothing was made")

    def test_each_kind_of_tampering_has_its_own_name(self):
        honest = self.envelope()
        body = base64.b64decode(honest["payload"])
        self.assertEqual(self.kinds(dict(honest, payload=base64.b64encode(body.replace(b"COMPLETE", b"COMPLETD", 1)).decode())),
                         ["signature"])
        signature = bytearray(base64.b64decode(honest["signatures"][0]["sig"]))
        signature[7] ^= 1
        self.assertEqual(self.kinds(dict(honest, signatures=[{"keyid": self.key, "sig": base64.b64encode(signature).decode()}])),
                         ["signature"])
        self.assertEqual(self.kinds(dict(honest, payloadType="application/json")), ["payload_type"])
        self.assertEqual(self.kinds(honest, "--key", "0" * 64), ["key"])
        other = self.signed_by_another(TYPE, body.decode())
        self.assertEqual(self.kinds(dict(honest, signatures=[{"keyid": other["key"], "sig": other["sig"]}])), ["key"])
        self.assertEqual(self.kinds(dict(honest, signatures=[{"keyid": self.key, "sig": other["sig"]}])), ["signature"])
        for payload in ("{}", "no JSON", body.decode().replace("urn:pawl:attestation", "urn:other:attestation")):
            other = self.signed_by_another(TYPE, payload)
            self.assertEqual(self.kinds(self.of(other, TYPE, payload), "--key", other["key"]), ["statement"])
        out = self.pawl("verify", "--attestation", "run.intoto.json", expect=13).stdout
        self.assertIn("NOT verified", out)

    def signed_by_another(self, payload_type, body):
        done = subprocess.run(["node", "-e", SIGN, payload_type, body], capture_output=True, timeout=TIMEOUT_S, check=True)
        return json.loads(done.stdout)

    @staticmethod
    def of(other, payload_type, payload):
        return {"payloadType": payload_type, "payload": base64.b64encode(payload.encode()).decode(),
                "signatures": [{"keyid": other["key"], "sig": other["sig"]}]}

    def test_what_dsse_leaves_to_others_is_taken(self):
        honest = self.envelope()
        other = self.signed_by_another(TYPE, base64.b64decode(honest["payload"]).decode())
        self.assertTrue(self.verify(dict(honest, more=[1], signatures=[{"sig": other["sig"]}, *honest["signatures"]]))["ok"])
        self.assertTrue(self.verify(self.of(other, TYPE, base64.b64decode(honest["payload"]).decode()), "--key", other["key"],
                                    "--dir", "nowhere")["ok"])

    def test_no_changed_byte_passes(self):
        honest = (self.root / "run.intoto.json").read_bytes()
        keyid = honest.index(b'"keyid"'), honest.index(b'"sig"')  # a hint that is not signed
        for at in [*range(3, len(honest), 97), *range(keyid[1], len(honest) - 1, 5)]:
            if keyid[0] <= at < keyid[1]:
                continue
            changed = bytearray(honest)
            changed[at] ^= 1
            self.write("run.intoto.json", bytes(changed))
            done = self.pawl("verify", "--attestation", "run.intoto.json", "--key", self.key, expect=None)
            self.assertIn(done.returncode, (1, 13), (at, honest[at - 10:at + 10], done.stdout))

    def test_what_is_no_envelope_is_an_error_of_its_own(self):
        def refused(data, *words):
            self.write("run.intoto.json", data)
            stderr = self.pawl("verify", "--attestation", "run.intoto.json", expect=1).stderr
            for word in words:
                self.assertIn(word, stderr)
        refused(b"not JSON", "DSSE", "JSON")
        refused(b"", "DSSE")
        refused(b'{"payloadType":"x","payload":"*","signatures":[]}', "base64")
        refused(b'{"payloadType":"x","payload":"","signatures":[]}', "signatures")
        (self.root / "run.intoto.json").unlink()
        self.assertIn("No such file", self.pawl("verify", "--attestation", "run.intoto.json", expect=1).stderr)
        with open(self.root / "run.intoto.json", "wb") as large:
            large.truncate((64 << 20) + 1)
        self.assertIn("larger", self.pawl("verify", "--attestation", "run.intoto.json", expect=1).stderr)

    def test_the_command_line_must_say_one_thing(self):
        self.assertIn("--attestation", self.pawl("verify", expect=2).stderr)
        self.pawl("verify", "last", "--attestation", "run.intoto.json", expect=2)
        self.pawl("verify", "--attestation", "run.intoto.json", "--anchor", self.key, expect=2)
        self.assertIn("64", self.pawl("verify", "--attestation", "run.intoto.json", "--key", "abc", expect=2).stderr)

    def test_nothing_that_its_rows_contradict_is_signed(self):
        kept = self.root / "kept.db"
        shutil.copy(self.root / "source/.pawl/pawl.db", kept)
        cases = {**{f"UPDATE attempts SET {column} WHERE attempt_id = 'fix.2'": "attempt fix.2" for column in (
                     "signals = '[]'", "verdict = 'failed_retryable'", "agent_layer = ''", "summary = 'fine'", "model = 'other'", "feedback = '{}'")},
                 "UPDATE tiers SET stop_on_failure = 0": "the list of tiers",
                 "UPDATE phases SET max_attempts = 50": "max_attempts of phase fix",
                 "UPDATE budgets SET spent = 0": "the spent amount of sandbox_ms",
                 "UPDATE budgets SET cap = 1": "the cap of sandbox_ms",
                 "DELETE FROM attempts WHERE attempt_id = 'fix.1'": "the number of attempts of phase fix",
                 "UPDATE accepted_layers SET layer_id = (SELECT agent_layer FROM attempts WHERE attempt_id = 'fix.1')": "the work",
                 "DELETE FROM accepted_layers": "the work",
                 "UPDATE plans SET text = replace(text, 'make it right', 'make it wrong')": "the plan",
                 "UPDATE runs SET base_commit = source_path": "the base",
                 "UPDATE ledger SET line = replace(line, 'passed', 'PASSED') WHERE chain = 'fix' AND line LIKE '%\"attempt_id\":\"fix.2\"%'"
                 " AND line LIKE '%\"type\":\"attempt\"%'": "does not verify"}
        for change, said in cases.items():
            self.database(change)
            (self.root / "run.intoto.json").unlink(missing_ok=True)
            self.assertIn(said, self.attest(expect=13).stderr)
            self.assertFalse((self.root / "run.intoto.json").exists())
            for name in ("pawl.db-wal", "pawl.db-shm"):
                (self.root / "source/.pawl" / name).unlink(missing_ok=True)
            shutil.copy(kept, self.root / "source/.pawl/pawl.db")
        self.attest()
        self.database("UPDATE ledger SET line = replace(line, 'COMPLETE', 'COMPLETD') WHERE chain = '' AND line LIKE '%run_sealed%'")
        self.assertEqual(self.kinds()[0], "ledger")

    def test_what_gc_took_or_somebody_changed_on_disk_can_not_be_attested(self):
        objects = self.root / "source/.pawl/objects"
        layers = [p for p in objects.glob("layers/*/tree/answer") if p.read_text() == "right\n"]
        self.assertEqual(len(layers), 1)
        layers[0].write_text("wrong\n")
        self.assertIn("was changed", self.attest(expect=13).stderr)
        layers[0].write_text("right\n")
        self.attest()
        for kind in ("layers", "bases"):
            (objects / kind).rename(objects / "elsewhere")
            self.assertIn("pawl gc", self.attest(expect=1).stderr)
            (objects / "elsewhere").rename(objects / kind)


class OfOtherRuns(AttestTest):
    def test_of_episodes_of_a_parallel_tier_and_of_a_fork(self):
        self.write("source/README", "x\n")
        self.commit_all("source")
        self.write("plan.yaml", """\
version: 1
workflow: several
source: {path: source, ref: HEAD}
gates:
  right: {steps: [{name: unit, run: "grep -q right work"}], baseline: none}
tiers:
  - phases:
      - {id: fix, goal: g, agent: {run: "[ $PAWL_EPISODE = 2 ] && echo right >work || echo wrong >work"}, gates: [right], best_of: 3}
  - parallel: true
    phases:
      - {id: one, goal: g, agent: {run: "echo 1 >one"}, gates: [right]}
      - {id: two, goal: g, agent: {run: "echo 2 >two"}, gates: [right]}
""")
        for begin in (("run", "plan.yaml", "--workers", "3"), ("fork", "last", "--from", "one")):
            self.pawl(*begin)
            if begin[0] == "fork":
                self.pawl("resume", "last")
            self.pawl("verify", "last")
            self.attest()
            self.pawl("verify", "--attestation", "run.intoto.json")
            self.pawl("export", "last", self.root / begin[0])
            self.pawl("verify", self.root / begin[0])
            self.pawl("apply", "last")

    def test_a_run_that_is_not_over_is_refused(self):
        self.make_simple(agent="sleep 30")
        run = self.start("run", "plan.yaml")
        self.wait_for_step("the agent runs")
        self.assertIn("pawl resume", self.attest(expect=1).stderr)
        self.assertFalse((self.root / "run.intoto.json").exists())
        self.kill_all(run)

    def test_a_run_that_failed_is_attested_as_failed_and_superseded_by_what_comes_of_it(self):
        self.make_mend(agent='[ -e /plan/now ] && echo right > answer || echo wrong > answer\n')
        self.pawl("run", "plan.yaml", expect=11)
        self.assertIn("FAILED: that is what is attested", self.attest().stderr)
        failed = self.envelope()
        statement = self.statement()
        self.assertEqual([s["digest"] for s in statement["subject"]], [{"sha256": hashlib.sha256(b"").hexdigest()}])
        phase = phases_of(statement)["fix"]
        self.assertEqual((phase["state"], phase["outcome"], phase["accepted_by"]), ("FAILED", "escalate", ""))
        self.assertEqual([g["passed"] for g in phase["attempt"]["gates"] if g["gate_id"] == "check"], [False])
        self.assertEqual(self.verify()["state"], "FAILED")
        shutil.copytree(self.root / "source/.pawl", self.root / "copy")
        self.pawl("retry", "last", "fix")
        self.assertEqual(self.kinds(failed), ["superseded"])
        self.assertIn("pawl resume", self.attest(expect=1).stderr)
        self.write("now", "")
        self.pawl("resume", "last", expect=None)
        self.assertEqual(self.kinds(failed), ["superseded"])

    def test_another_history_of_the_run_does_not_match(self):
        self.make_simple(gate="false")
        self.pawl("run", "plan.yaml", expect=None)
        shutil.copytree(self.root / "source/.pawl", self.root / "copy")
        self.pawl("skip", "last", "p1")
        self.attest()
        self.assertTrue(self.verify()["ok"])
        self.assertEqual(self.kinds(None, "--dir", "copy"), ["mismatch"])

    def test_what_a_person_took_is_not_what_the_gates_took(self):
        self.make_simple(agent="echo more >> file", gate="false", max_attempts=1)
        self.pawl("run", "plan.yaml", expect=11)
        self.pawl("approve", "last", "p1", "--reason", "the gate is wrong")
        self.attest()
        phase = phases_of(self.statement())["p1"]
        self.assertEqual((phase["state"], phase["accepted_by"]), ("COMPLETE", "operator"))
        self.assertIn("the gate is wrong", phase["cause"])
        self.assertEqual([g["passed"] for g in phase["attempt"]["gates"] if g["gate_id"] == "check"], [False])
        self.assertIn("accepted by: operator", self.pawl("verify", "--attestation", "run.intoto.json").stdout)

    def test_work_of_which_each_gate_takes_a_part_is_told_at_check_and_not_attested(self):
        """Unless one of the gates takes all that was changed, or has no `take`, or a person took the work."""
        gates = {"one": ", take: {only: [a]}", "two": ", take: {only: [b]}", "whole": ""}
        for agent, names, said in (("echo >>a; echo >>b", "one, two", "as a whole"), ("echo >>a; echo >>c", "one, two", "and none takes c"),
                                   ("echo >>a", "one, two", ""), ("echo >>a; echo >>b", "one, whole", "")):
            with self.subTest(agent, gates=names):
                self.make_simple(agent=agent)
                lines = "".join(f"  {name}: {{steps: [{{name: unit, run: [\"true\"]}}], signals: [build]{take}}}\n" for name, take in gates.items())
                self.write("plan.yaml", "version: 1\nworkflow: parts\nsource: {path: source}\nmax_attempts: 1\ngates:\n" + lines
                           + f"tiers: [{{phases: [{{id: p1, goal: g, agent: {{run: '{agent}'}}, gates: [{names}]}}]}}]\n")
                told = "each gate of phase p1 takes a part of the work"
                self.assertEqual(told in self.pawl("check", "plan.yaml").stderr, "whole" not in names)
                self.pawl("run", "plan.yaml")
                refused = self.attest(expect=1 if said else 0).stderr
                self.assertIn(said, refused)
                self.assertEqual("no gate has seen the work of phase p1" in refused, bool(said), refused)

    def write_tiers(self, *tiers, whole="true"):
        """Each tier: its keys, and its phases, each with its agent's command and its gates."""
        takes = {"one": ", take: {only: [a]}", "two": ", take: {only: [b]}", "whole": ""}
        text = "version: 1\nworkflow: parts\nsource: {path: source}\nmax_attempts: 1\ngates:\n"
        for name, take in takes.items():
            text += f"  {name}: {{steps: [{{name: unit, run: [\"{whole if name == 'whole' else 'true'}\"]}}], signals: [build]{take}}}\n"
        text += "tiers:\n"
        for keys, phases in tiers:
            listed = ", ".join(f"{{id: {name}, goal: g, agent: {{run: '{agent}'}}, gates: [{gates}]}}" for name, agent, gates in phases)
            text += f"  - {{{keys}phases: [{listed}]}}\n"
        self.write("plan.yaml", text)

    def expect_seen(self, run, part):
        """What is said of a run that is over: `part` is None when a gate saw its work as a whole."""
        told = part and "no gate saw the whole work of {phase_id}; seen in part: {all}{none}".format(
            all=", ".join(part["gates"]), none=f"; seen by none: {part['not_taken']}" if part["not_taken"] else "", **part)
        for said in (run.stdout, self.pawl("status", "last").stdout, " ".join(self.pawl("inspect", "last").stdout.split())):
            self.assertIn(told, said) if told else self.assertNotIn("no gate saw", said)
        for command in ("status", "inspect"):
            self.assertEqual(self.pawl_json(command, "last").get("seen_in_part"), part)
        refused = self.attest(expect=1 if part else 0).stderr
        self.assertEqual("as a whole" in refused, bool(part), refused)

    def test_gates_of_phases_beside_it_see_the_last_work_as_a_whole(self):
        self.make_simple()
        p1, p2, both = ("p1", "echo >>x"), ("p2", "echo >>a; echo >>b"), "parallel: true, "
        part = {"phase_id": "p2", "not_taken": None}
        for name, tiers, seen in (
            ("judged together with all of p1's gates", [(both, [(*p1, "whole"), (*p2, "one")])], None),
            ("the other way round", [(both, [(*p2, "one"), (*p1, "whole")])], None),
            ("all of them take a part", [(both, [(*p1, "two"), (*p2, "one")])], {**part, "gates": ["one", "two"]}),
            ("p1's gate did not see p2", [("", [(*p1, "whole")]), ("", [(*p2, "one, two")])], {**part, "gates": ["one", "two"]}),
            ("the same in one tier", [("", [(*p1, "whole"), (*p2, "two")])], {**part, "gates": ["two"], "not_taken": "a"}),
            ("a later phase sees it", [("", [(*p2, "one")]), ("", [(*p1, "whole")])], None),
        ):
            with self.subTest(name):
                self.write_tiers(*tiers)
                warned = self.pawl("check", "plan.yaml").stderr
                self.assertEqual("each gate of phase p2 takes a part" in warned, bool(seen) or "later" in name, warned)
                self.assertEqual("and first seen by gates of later phases" in warned, "later" in name, warned)
                self.expect_seen(self.pawl("run", "plan.yaml"), seen)
        self.assertNotIn("seen_in_part", self.pawl_json("run", "plan.yaml"))

    def test_a_phase_that_a_person_took_adds_no_gate_that_sees_the_others(self):
        self.make_simple()
        self.write_tiers(("parallel: true, ", [("p1", "echo >>x", "whole"), ("p2", "echo >>a; echo >>b", "one")]), whole="false")
        self.pawl("run", "plan.yaml", expect=11)
        self.pawl("approve", "last", "p1", "--reason", "the gate is wrong")
        self.expect_seen(self.pawl("resume", "last"), {"phase_id": "p2", "gates": ["one"], "not_taken": "b"})
        self.write_tiers(("", [("p1", "echo >>a; echo >>b", "one")]))
        told = self.pawl_json("run", "plan.yaml")
        self.assertEqual(told["seen_in_part"], {"phase_id": "p1", "gates": ["one"], "not_taken": "b"})
        self.assertEqual(told["exit_code"], 0)

    def test_a_fork_says_what_it_shares_and_with_whom(self):
        self.make_simple(phases=2, agent='echo "$PAWL_PHASE_ID" >> file')
        self.pawl("run", "plan.yaml")
        old = self.run_id()
        old_chains = self.chains(old)
        new = self.pawl_json("fork", old, "--from", "p2")["run_id"]
        self.pawl("resume", new)
        self.attest()
        statement = self.statement()
        shared, own = statement["predicate"]["runDetails"]["byproducts"][1:]
        self.assertEqual((shared["name"], shared["digest"]["pawlLedgerHead"], shared["annotations"]["pawl_phase"]["accepted_by"]),
                         (f"runs/{old}/phases/p1/attempts.jsonl", old_chains["p1"][-1]["hash"], "other_run"))
        self.assertEqual((own["name"], own["annotations"]["pawl_phase"]["accepted_by"]), ("phases/p2/attempts.jsonl", "gates"))
        self.assertIn({"name": f"runs/{old}/run.jsonl", "digest": {"pawlLedgerHead": old_chains[""][-1]["hash"]}},
                      statement["predicate"]["buildDefinition"]["resolvedDependencies"])
        self.assertTrue(self.verify()["compared"])

    def test_without_a_commit_the_patch_is_attested_and_it_is_said_why(self):
        self.make_simple(agent="echo more >> file")
        self.pawl("run", "plan.yaml")
        self.assertIn("no commit is attested: ", self.attest().stderr)
        self.assertEqual([list(s["digest"]) for s in self.statement()["subject"]], [["sha256"]])
        self.write("source/file", "committed\n")
        self.commit_all("source")
        self.write("source/file", "not committed\n")
        self.pawl("run", "plan.yaml")
        self.assertIn("file was not committed", self.attest().stderr)
        self.assertEqual([list(s["digest"]) for s in self.statement()["subject"]], [["sha256"]])

    def test_the_policy_is_named_by_its_digest(self):
        self.make_mend(text=MEND)
        policy = "version: 1\n"
        self.write("policy.yaml", policy)
        digest = subprocess.run(["b3sum", "--no-names"], input=policy.encode(), stdout=subprocess.PIPE, check=True).stdout.decode().strip()
        self.write("plan.yaml", MEND + f"policy: {{file: policy.yaml, blake3: {digest}}}\n")
        self.pawl("run", "plan.yaml")
        written = self.attest("--json")
        self.assertEqual(json.loads(written.stdout)["subjects"], self.statement()["subject"])
        self.assertIn({"name": "policy", "digest": {"blake3": digest}},
                      self.statement()["predicate"]["buildDefinition"]["resolvedDependencies"])


if __name__ == "__main__":
    unittest.main(verbosity=1)
