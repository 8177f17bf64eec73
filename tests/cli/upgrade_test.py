#!/usr/bin/env python3
"""A database of the first release (tests/upgrade) is upgraded in place with its data, and goes back."""

import pathlib
import signal
import sqlite3
import subprocess
import unittest

from pawl_runs import WithRun
from pawl_testing import TIMEOUT_S, PawlTest

FIXTURE = (pathlib.Path(__file__).resolve().parents[1] / "upgrade/first_release.sql").read_text()


class Upgrade(PawlTest):
    def setUp(self):
        super().setUp()
        (self.root / ".pawl").mkdir()
        self.database = self.root / ".pawl/pawl.db"
        with sqlite3.connect(self.database) as db:
            db.executescript(FIXTURE)
        db.close()

    def dump(self):
        with sqlite3.connect(self.database) as db:
            lines = list(db.iterdump())
        db.close()
        return lines

    def sign_heads(self):
        """Signs with this folder's key, as if it had come with the database. A key is the seed and the
        public key, in hexadecimal."""
        secret = bytes.fromhex((self.root / ".pawl/keys/ledger.key").read_text().strip())
        key, body = self.root / "key.der", self.root / "body"
        key.write_bytes(bytes.fromhex("302e020100300506032b657004220420") + secret[:32])
        with sqlite3.connect(self.database) as db:
            for run_id, text in db.execute("SELECT run_id, body FROM heads").fetchall():
                body.write_text(text)
                signature = subprocess.run(["openssl", "pkeyutl", "-sign", "-inkey", key, "-keyform", "DER", "-rawin", "-in", body],
                                           check=True, capture_output=True).stdout.hex()
                db.execute("UPDATE heads SET public_key = ?, signature = ? WHERE run_id = ?", (secret[32:].hex(), signature, run_id))
        db.close()

    def runs(self):
        return {run["workflow"]: run for run in self.pawl_json("status")["runs"]}

    def test_it_goes_up_with_its_data(self):
        self.assertIn("its schema is version 1", self.pawl("status", expect=1).stderr)
        self.pawl("migrate", "up")
        runs = self.runs()
        self.assertEqual({name: run["state"] for name, run in runs.items()},
                         {"whole": "COMPLETE", "fails": "FAILED", "killed": "EXECUTING"})
        with sqlite3.connect(self.database) as db:  # the fixture has no private key: this folder gets another one
            key = db.execute("SELECT DISTINCT public_key FROM heads").fetchone()[0]
        db.close()
        for run in runs.values():
            self.assertTrue(self.pawl_json("verify", run["run_id"], "--key", key)["ok"])
        whole = runs["whole"]["run_id"]
        lacks = {f"{lack['type']}.{lack['member']}": lack["rows"] for lack in self.pawl_json("verify", whole, "--key", key)["lacks"]}
        self.assertEqual(lacks, {"run_started.planned": 1, "run_started.before": 1, "run_started.tiers": 1, "run_started.caps": 1,
                                 "run_started.source_folder": 1,
                                 "phase_sealed.layer": 1, "attempt.layer": 2, "attempt.stack": 2, "attempt.inventories": 2,
                                 "attempt.feedback": 2, "attempt.merge_seq": 2, "executed.run": 4, "executed.cost": 4})
        lack = "4 row(s) of type executed have no cost (the cost row)"
        self.assertIn(f"written by an older version: {lack}\n", self.pawl("verify", whole, "--key", key).stdout)
        self.assertIn(lack, self.pawl("report", whole, "-o", "-").stdout)
        inspected = self.pawl_json("inspect", whole)
        took = sum(step["run"]["duration_ms"] for attempt in inspected["phases"][0]["attempts"]
                   for step in attempt["steps"])
        budget = self.pawl_json("budget", whole)["budget"]["sandbox_ms"]
        self.assertEqual(budget, {"cap": None, "spent": took, "reserved": 0})
        killed = runs["killed"]["run_id"]
        with sqlite3.connect(self.database) as db:  # no old row says it: the migration takes rows between heads as they are
            seals = db.execute("SELECT length(seal) FROM open_chains WHERE chain <> ''").fetchall()
        db.close()
        self.assertEqual(seals, [(64,)])
        self.assertEqual(self.pawl_json("why", killed)["waits_for"], "executor")
        self.assertIn("not signed by the key", self.pawl("cancel", killed, expect=13).stderr)
        self.sign_heads()
        self.pawl("cancel", killed, "--reason", "of an old release")
        self.assertEqual(self.runs()["killed"]["state"], "CANCELLED")
        self.assertTrue(self.pawl_json("verify", killed)["ok"])
        fails = runs["fails"]["run_id"]
        # The fixture is only a database.
        self.assertIn("is gone", self.pawl("retry", fails, "one", expect=1).stderr)
        with sqlite3.connect(self.database) as db:
            for used in db.execute("SELECT base_id, plan_content FROM runs WHERE run_id = ?", (fails,)).fetchone():
                (self.root / ".pawl/objects/bases" / used / "tree").mkdir(parents=True, exist_ok=True)
        db.close()
        self.pawl("retry", fails, "one")
        self.assertEqual(self.runs()["fails"]["state"], "EXECUTING")

    def test_it_goes_back_to_what_it_was(self):
        before = self.dump()
        self.pawl("migrate", "up")
        self.assertNotEqual(before, self.dump())
        while self.pawl_json("migrate", "down")["database"] > 1:
            pass
        self.assertEqual(sorted(before), sorted(self.dump()))

    def test_a_crash_leaves_the_old_schema_or_the_new_one(self):
        for label, version in (("store.migrate.before_commit", 1), ("store.migrate.after_commit", None)):
            env = {"PAWL_CRASH_ROLE": "executor", "PAWL_CRASH_COUNT": str(self.root / label), "PAWL_CRASH_AT": "1",
                   "PAWL_CRASH_LABEL": label}
            self.pawl("migrate", "up", expect=-9, env=env)
            status = self.pawl_json("migrate", "status")
            self.assertEqual(status["database"], version or status["program"])
        self.assertEqual(len(self.runs()), 3)

    def test_a_crash_leaves_all_planned_rows_of_a_run_or_none(self):
        self.pawl("migrate", "up")
        killed = self.runs()["killed"]["run_id"]
        self.assertIn("not signed by the key", self.pawl("cancel", killed, expect=13).stderr)  # makes this folder's key
        self.sign_heads()
        with sqlite3.connect(self.database) as db:
            for used in db.execute("SELECT base_id, plan_content FROM runs WHERE run_id = ?", (killed,)).fetchone():
                (self.root / ".pawl/objects/bases" / used / "tree").mkdir(parents=True, exist_ok=True)
        db.close()
        for label, rows in (("store.put_plan.before_commit", 0), ("store.put_plan.after_commit", 1)):
            env = {"PAWL_CRASH_ROLE": "executor", "PAWL_CRASH_COUNT": str(self.root / label), "PAWL_CRASH_AT": "1",
                   "PAWL_CRASH_LABEL": label}
            self.pawl("resume", killed, expect=-9, env=env)
            with sqlite3.connect(self.database) as db:
                found = db.execute("SELECT COUNT(*) FROM planned_phases WHERE run_id = ?", (killed,)).fetchone()
            db.close()
            self.assertEqual(found, (rows,))

    def test_nobody_migrates_under_one_who_works(self):
        with sqlite3.connect(self.database) as db:
            db.execute("UPDATE phases SET lease_owner = 'elsewhere/b/1/1/0', "
                       "lease_expires_at = '2199-01-01T00:00:00.000000Z' WHERE state = 'EXECUTING'")
        db.close()
        self.assertIn("is being worked on by elsewhere/b/1/1/0", self.pawl("migrate", "up", expect=14).stderr)
        self.assertEqual(self.pawl_json("migrate", "status")["database"], 1)


class UnderAnExecutor(WithRun):
    def change(self, statement):
        with sqlite3.connect(self.root / "source/.pawl/pawl.db", timeout=60) as db:
            db.execute(statement)
        db.close()

    def test_one_that_works_keeps_the_schema_whatever_the_wall_clock_says(self):
        self.make_simple(agent="sleep 30")
        process = self.start("run", "plan.yaml")
        self.wait_for_step("the agent runs")
        self.assertIn("phase p1 of run", self.pawl("migrate", "down", expect=14).stderr)
        process.send_signal(signal.SIGSTOP)  # now no process extends the lease
        self.change("UPDATE phases SET lease_expires_at = '2020-01-01T00:00:00.000000Z'")
        self.assertIn("is being worked on by", self.pawl("migrate", "down", expect=14).stderr)
        process.send_signal(signal.SIGCONT)
        self.kill_all(process)
        self.pawl("migrate", "down")  # its owner is dead
        self.pawl("migrate", "up")

    def test_one_that_waits_ends_and_says_why(self):
        """As docs/operations.md says: a program that waits holds no phase, and no work is lost."""
        self.make_simple(agent='[ "$PAWL_ATTEMPT" = 2 ]', backoff="{initial_seconds: 86400, max_seconds: 86400}")
        process = self.start("run", "plan.yaml")
        self.wait_until(lambda: '"waits_for":"not_before"' in
                        self.pawl("why", "last", "--json", "--dir", "source/.pawl", expect=None).stdout, "it waits")
        self.pawl("migrate", "down")
        self.assertEqual(process.wait(timeout=TIMEOUT_S), 1)
        log, = self.root.glob("started-*.log")
        self.assertIn("its schema was changed by `pawl migrate` while this program ran", log.read_text())
        self.pawl("migrate", "up")
        self.change("UPDATE phases SET not_before = ''")
        self.pawl("resume", "last")
        self.pawl("verify", "last")


if __name__ == "__main__":
    unittest.main()
