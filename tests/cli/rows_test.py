#!/usr/bin/env python3
"""Rows, files and spooled results that differ from those of Pawl: each reader reports it, and none ends by
a signal."""

import json
import os
import pathlib
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import unittest

from pawl_runs import AGENT, MEND, WithRun

# Values that replace a member of JSON, and texts that replace a whole column.
OTHERS = [None, True, -1, 10**30, 9223372036854775807, 1.5, "x", [], {}, [None], {"x": None}]
TEXTS = ["", "null", "5", '"x"', "[]", "[1]", "{", "NaN", '{"a":1,"a":2}', "[" * 5000, '{"duration_ms":1e999}']
# Each round starts 14 programs, and another run chooses other values.
ROUNDS = int(os.environ.get("PAWL_ROUNDS", "1"))
CODEX = """printf '%s\\n' '{"type":"thread.started","thread_id":"t"}' \
'{"type":"turn.completed","usage":{"input_tokens":16504,"cached_input_tokens":9000,"output_tokens":20}}'
"""
READING = [["status"], ["status", "last"], ["inspect", "last"], ["cost"], ["why", "last"], ["stats"], ["logs", "last"], ["budget", "last"],
           ["verify", "last"], ["diff", "last"], ["attest", "last"], ["answer", "last"], ["report", "last", "-o", "page.html"], ["resume", "last"]]


def places(value, path=()):
    """The path of each value in some JSON."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*path, key))


def changed(value, path, other):
    if not path:
        return other
    out = dict(value) if isinstance(value, dict) else list(value)
    out[path[0]] = changed(value[path[0]], path[1:], other)
    return out


class WithDatabase(WithRun):
    def open_database(self):
        self.db = sqlite3.connect(self.root / "source/.pawl/pawl.db", isolation_level=None)
        self.addCleanup(self.db.close)

    def change(self, *statement):
        """Runs a statement as somebody who writes the file does: without the guards of tables, which are there again afterwards."""
        guards = self.db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'").fetchall()
        for name, _ in guards:
            self.db.execute(f"DROP TRIGGER {name}")
        try:
            self.db.execute(*statement)
        finally:
            for _, text in guards:
                self.db.execute(text)


class Rows(WithDatabase):
    def setUp(self):
        super().setUp()
        self.make_mend(agent=CODEX + AGENT, text=MEND.replace("agent.sh\"}", "agent.sh\", usage: codex}"))
        self.pawl("run", "plan.yaml")
        self.run_of_rows = self.run_id()
        self.open_database()

    def holds(self, *args):
        """The program ends by itself, with a code of its own, and with words when that is not 0."""
        done = self.pawl(*args, expect=None)
        self.assertIn(done.returncode, range(20), (args, done.stderr))
        self.assertNotIn("terminate called", done.stderr, args)
        self.assertTrue(done.returncode == 0 or done.stderr or done.stdout, args)
        return done

    def json_columns(self):
        """(table, column, rowid expression, old value) of each row that has JSON."""
        for table, in self.db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
            columns = self.db.execute(f"PRAGMA table_info({table})").fetchall()
            keys = [name for _, name, _, _, _, key in columns if key] or ["rowid"]
            for _, name, kind, _, _, _ in columns:
                if kind != "TEXT":
                    continue
                for *key, value in self.db.execute(f"SELECT {', '.join(keys)}, {name} FROM {table}").fetchall():
                    if value[:1] in "{[" and value:
                        yield table, name, " AND ".join(f"{k} = ?" for k in keys), key, value

    def test_no_row_of_the_database_ends_a_reader_by_a_signal(self):
        seed = random.randrange(2**32)
        choice = random.Random(seed)
        columns = list(self.json_columns())
        self.assertLessEqual({"cost", "usage", "ledger", "heads", "steps", "attempts"}, {table for table, *_ in columns})
        by_column = {}
        for row in columns:
            by_column.setdefault(row[:2], []).append(row)
        for rows in by_column.values():
            texts = choice.choices(TEXTS, k=ROUNDS)
            for _ in range(2 * ROUNDS):
                # `inventories` has a signature after the JSON.
                value = json.loads(choice.choice(rows)[-1].partition("\n")[0])
                texts.append(json.dumps(changed(value, choice.choice(list(places(value))), choice.choice(OTHERS)), separators=(",", ":")))
            for text in texts:
                table, name, where, key, old = choice.choice(rows)
                with self.subTest(seed=seed, table=table, column=name, text=text[:300]):
                    try:
                        self.change(f"UPDATE {table} SET {name} = ? WHERE {where}", (text, *key))
                    except sqlite3.IntegrityError:
                        continue  # a CHECK of the table refuses it
                    for command in READING:
                        self.holds(*command)
                    self.change(f"UPDATE {table} SET {name} = ? WHERE {where}", (old, *key))

    def test_a_row_of_cost_that_is_not_as_it_is_written_is_named(self):
        for table, member, wrong in (("cost", '"microvm_seconds":0.000', '"microvm_seconds":null'), ("cost", '"microvm_seconds":0.000,', ""),
                                     ("cost", '"image_pull_bytes":0', '"image_pull_bytes":"0"'), ("cost", "false", "0"),
                                     ("cost", '"microvm_seconds":0.000', '"microvm_seconds":1e999'),
                                     ("cost", '"gate_id":', '"gate":1,"gate_id":'), ("usage", '"input_tokens":7504', '"input_tokens":-1'),
                                     ("usage", '"usd":""', '"usd":null'), ("usage", '"usd":""', '"usd":"1"'),
                                     ("usage", '"model":', '"model":"","model":')):
            file = "cost/sandbox.jsonl" if table == "cost" else "cost/agent.jsonl"
            seq, old = self.db.execute(f"SELECT {table}_seq, line FROM {table} ORDER BY 1 LIMIT 1 OFFSET 1").fetchone()
            self.assertIn(member, old)
            self.change(f"UPDATE {table} SET line = ? WHERE {table}_seq = ?", (old.replace(member, wrong), seq))
            with self.subTest(wrong):
                said = self.pawl("cost", expect=13).stderr
                self.assertIn(f"{file}, row 2 of run {self.run_of_rows}: its ", said)
                self.assertIn(member.split('"')[1] if member.startswith('"') else "build_cache_hit", said)
                self.pawl("verify", "last", expect=13)
                self.pawl("export", "last", "evidence", expect=13)
                self.assertFalse((self.root / "evidence").exists())
            self.change(f"UPDATE {table} SET line = ? WHERE {table}_seq = ?", (old, seq))
        row = self.db.execute("SELECT run_id, sandbox_run_id, line FROM cost LIMIT 1").fetchone()
        self.change("INSERT INTO cost (run_id, sandbox_run_id, line) VALUES (?, ?, ?)", row)
        self.assertIn("a second row of step", self.pawl("cost", expect=13).stderr)

    def test_well_formed_rows_of_cost_that_are_not_those_of_the_ledger_are_named(self):
        """Whoever writes the file can write rows that Pawl could have written. Only the rows of the ledger show that it did not."""
        def line(table, old, new):
            return f"UPDATE {table} SET line = replace(line, '{old}', '{new}')"

        honest = self.pawl_json("cost", "last")
        for statement, told in ((line("cost", '"workflow_id":"mend"', '"workflow_id":"other"'), "cost/sandbox.jsonl"),
                                (line("cost", "shared_kernel", "microvm"), "cost/sandbox.jsonl"),
                                (line("cost", '"microvm_seconds":0.000', '"microvm_seconds":9.000'), "cost/sandbox.jsonl"),
                                ("DELETE FROM cost WHERE cost_seq = (SELECT MAX(cost_seq) FROM cost)", "cost/sandbox.jsonl"),
                                (line("usage", '"input_tokens":7504', '"input_tokens":1'), "cost/agent.jsonl"),
                                (line("usage", '"usd":""', '"usd":"0.000000001"'), "cost/agent.jsonl"),
                                (line("usage", '"workflow_id":"mend"', '"workflow_id":"other"'), "cost/agent.jsonl"),
                                ("DELETE FROM usage WHERE usage_seq = (SELECT MIN(usage_seq) FROM usage)", "cost/agent.jsonl"),
                                ("""UPDATE steps SET run = replace(run, '"duration_ms":', '"duration_ms":1')""", "pawl.db")):
            with self.subTest(statement), tempfile.TemporaryDirectory() as kept:
                for path in (self.root / "source/.pawl").glob("pawl.db*"):
                    shutil.copy(path, kept)
                self.change(statement)
                for command in ["cost", "last"], ["cost"]:
                    said = self.pawl(*command, expect=13).stderr
                    self.assertIn(f"{told} of run {self.run_of_rows}: ", said)
                    self.assertIn(f"`pawl verify {self.run_of_rows}`", said)
                self.pawl("verify", "last", expect=13)
                self.assertNotEqual(self.pawl_json("cost", "last", env={"PAWL_WALLS_OFF": "costs"}), honest, "well formed")
                self.db.close()
                for path in pathlib.Path(kept).iterdir():
                    shutil.copy(path, self.root / "source/.pawl")
                self.open_database()
        self.assertEqual(self.pawl_json("cost", "last"), honest)

    def test_costs_add_up_by_workflow_and_isolation_together(self):
        cost = self.pawl_json("cost")
        both = cost["by"]["workflow/isolation"]
        self.assertEqual(list(both), ["mend/shared_kernel"])
        self.assertEqual(both["mend/shared_kernel"], cost["by"]["workflow"]["mend"])
        self.assertEqual(both["mend/shared_kernel"]["input_tokens"], 2 * 7504)  # cached tokens are not input
        self.assertEqual(list(cost["by"]["isolation"]), ["shared_kernel"])
        # Two workflows in two classes give four sums.
        self.write("plan.yaml", (self.root / "plan.yaml").read_text().replace("workflow: mend", "workflow: other"))
        self.pawl("run", "plan.yaml")
        before = self.pawl_json("cost")["by"]["workflow/isolation"]
        for run_id, in self.db.execute("SELECT run_id FROM runs").fetchall():
            seq, line = self.db.execute("SELECT cost_seq, line FROM cost WHERE run_id = ? AND line LIKE '%\"check\"%'", (run_id,)).fetchone()
            self.change("UPDATE cost SET line = ? WHERE cost_seq = ?", (line.replace("shared_kernel", "microvm"), seq))
        self.pawl("cost", expect=13)
        both = self.pawl_json("cost", env={"PAWL_WALLS_OFF": "costs"})["by"]["workflow/isolation"]
        self.assertEqual(sorted(both), ["mend/microvm", "mend/shared_kernel", "other/microvm", "other/shared_kernel"])
        for workflow in ("mend", "other"):
            self.assertEqual(both[f"{workflow}/microvm"]["steps"], 1)
            self.assertEqual(both[f"{workflow}/shared_kernel"]["steps"], before[f"{workflow}/shared_kernel"]["steps"] - 1)

    def test_an_attestation_with_other_values_is_refused(self):
        self.pawl("attest", "last", "-o", "run.json")
        honest = json.loads((self.root / "run.json").read_text())
        self.pawl("verify", "--attestation", "run.json")
        seed = random.randrange(2**32)
        choice = random.Random(seed)
        for path in places(honest):
            for other in choice.sample(OTHERS, min(len(OTHERS), 3 * ROUNDS)):
                text = json.dumps(changed(honest, path, other))
                (self.root / "run.json").write_text(text)
                with self.subTest(text[:200], seed=seed):
                    done = self.holds("verify", "--attestation", "run.json")
                    if path[-1:] != ("keyid",):  # a hint that nobody signed (the DSSE protocol)
                        self.assertNotEqual(done.returncode, 0)


class Spooled(WithRun):
    def test_a_result_that_is_not_as_it_is_written_is_none(self):
        for member, wrong in ((r'"duration_ms":\d+', '"duration_ms":null'), (r'"cpu_ms":\d+', '"cpu_ms":18446744073709551615'),
                              (r'"logs":"\w*"', '"logs":{}'), (r'"run":\{', '"run":5,"x":{'),
                              (r'"microvm_milliseconds":\d+', '"microvm_milliseconds":-1')):
            with self.subTest(wrong):
                self.make_simple(agent="sleep 60 || true; echo done >done")
                executor = self.start("run", "plan.yaml")
                self.wait_for_step("the agent runs")
                executor.send_signal(signal.SIGKILL)
                executor.wait()
                folder = self.steps_at_work()[0]
                self.wake()
                self.wait_until(lambda: (folder / "result.json").exists() and not self.steps_at_work(), "the result is spooled")
                text = (folder / "result.json").read_text()
                (folder / "result.json").write_text(re.sub(member, wrong, text, count=1))
                self.assertNotEqual((folder / "result.json").read_text(), text)
                resumed = self.start("resume", "last")
                self.wait_until(lambda: self.steps_at_work() or resumed.poll() is not None, "it is not taken")
                if resumed.poll() is None:
                    self.wake()
                self.assertIn(resumed.wait(timeout=60), range(20))
                self.assertNotIn('"decision":"adopt"', json.dumps(self.pawl_json("inspect", "last")))
                self.pawl("cost")


    def forged_result(self, forge, env=None):
        """A gate fails after its executor is killed, and `forge` changes the result that its supervisor left. Returns the exit code of
        `pawl resume`, and what it found and decided."""
        self.make_simple(gate="sleep 60 || true; exit 1", max_attempts=1)
        executor = self.start("run", "plan.yaml")
        self.wait_for_step("the gate runs", ".check.")
        executor.send_signal(signal.SIGKILL)
        executor.wait()
        folder = self.steps_at_work(".check.")[0]
        self.wake(".check.")
        self.wait_until(lambda: (folder / "result.json").exists() and not self.steps_at_work(), "the result is spooled")
        text = (folder / "result.json").read_text()
        (folder / "result.json").write_text(forge(text))
        self.assertNotEqual((folder / "result.json").read_text(), text)
        resumed = self.start("resume", "last", env=env)
        self.wait_until(lambda: self.steps_at_work(".check.") or resumed.poll() is not None, "the result is taken, or it is not")
        if resumed.poll() is None:
            self.wake(".check.")
        code = resumed.wait(timeout=60)
        rows = [row for row in self.chains(self.pawl_json("inspect", "last")["run_id"])["p1"] if row["type"] == "resume"]
        return code, [(row["found"], row["decision"]) for row in rows]

    def test_a_forged_result_of_a_step_is_not_taken(self):
        def passes(text):
            return text.replace('"exit_code":1', '"exit_code":0')

        def without_seal(text):
            return re.sub(r',"seal":"[0-9a-f]*"', "", passes(text))

        def with_layer_of_nobody(text):
            return re.sub(r'"copy_out":"[^"]*"', '"copy_out":"' + "0" * 64 + '"', text)

        for forge in (passes, without_seal, with_layer_of_nobody):
            with self.subTest(forge.__name__):
                code, found = self.forged_result(forge)
                self.assertEqual(found, [("result_refused", "re_execute")])
                self.assertEqual(code, 11)
                self.assertIn("found result_refused, re_execute", self.pawl("inspect", "last").stdout)
        for forge in (passes, without_seal):
            with self.subTest(forge.__name__ + ", without the defence"):
                self.assertEqual(self.forged_result(forge, env={"PAWL_WALLS_OFF": "spool"}), (0, [("result_spooled", "adopt")]))


class Forged(WithDatabase):
    def killed_best_of(self):
        """A run of two episodes is killed with everything: the gate of the first has failed, the agent of the second works. Returns the run's id."""
        self.make_simple(agent='if [ "$PAWL_EPISODE" = 2 ]; then sleep 60 || true; fi; date +%N >x', gate="exit 1", max_attempts=1)
        self.write("plan.yaml", (self.root / "plan.yaml").read_text().replace("agent: {", "best_of: 2, agent: {"))
        executor = self.start("run", "plan.yaml")
        self.wait_for_step("the second episode works", "agent.run.attempt1.episode2")
        self.kill_all(executor)
        self.open_database()
        return self.run_id()

    def forge_gate(self, run_id, exit_code):
        """Gives the gate another exit code, in its row and in the table, and links the rows of the phase again: what a writer without the key can
        do."""
        def b3(text):
            return subprocess.run(["b3sum", "--no-names"], input=text, capture_output=True, text=True, check=True).stdout.strip()

        label = "p1.check.unit.attempt1.episode1"
        (text,) = self.db.execute("SELECT run FROM steps WHERE run_id = ? AND label = ?", (run_id, label)).fetchone()
        forged = re.sub(r'"exit_code":\d', f'"exit_code":{exit_code}', text)
        self.change("UPDATE steps SET run = ? WHERE run_id = ? AND label = ?", (forged, run_id, label))
        before = "0" * 64
        for seq, line in self.db.execute("SELECT seq, line FROM ledger WHERE run_id = ? AND chain = 'p1' ORDER BY seq", (run_id,)).fetchall():
            row = json.loads(line)
            del row["hash"]
            if row["type"] == "executed" and row["label"] == label:
                self.assertEqual(row["run"], b3(text))
                row.update(exit_code=exit_code, run=b3(forged))
            row["prev_hash"] = before
            body = json.dumps(row, sort_keys=True, separators=(",", ":"), ensure_ascii=False)[:-1]
            before = b3(body)
            self.change("UPDATE ledger SET hash = ?, line = ? WHERE run_id = ? AND chain = 'p1' AND seq = ?",
                        (before, body + f',"hash":"{before}"}}', run_id, seq))

    def test_a_forged_gate_between_two_heads_is_found(self):
        """The rows since the newest head are linked by hashes alone: the seal of the chain's end shows who wrote them."""
        run_id = self.killed_best_of()
        self.forge_gate(run_id, 0)
        for command in (["resume", run_id], ["skip", run_id, "p1", "--reason", "r"],
                        ["cancel", run_id, "--reason", "r"], ["resume", run_id]):
            self.assertIn("not the end that was sealed", self.pawl(*command, expect=13).stderr, command)
        # verify needs no key and reads no seal: it says which rows no head covers. What is not over is not attested.
        self.assertIn("5 row(s) are newer than the last signed head", self.pawl("verify", run_id).stdout)
        self.assertIn("is not over", self.pawl("attest", run_id, expect=1).stderr)
        self.assertEqual(self.pawl_json("inspect", run_id)["phases"][0]["attempts_used"], 1)
        # The same rows as they were, written by the same means: the run goes on.
        self.forge_gate(run_id, 1)
        resumed = self.start("resume", run_id)
        self.wake("episode2")
        self.assertEqual(resumed.wait(timeout=60), 11)
        self.pawl("verify", run_id)

    def test_rows_without_their_table_or_their_end_are_found(self):
        run_id = self.killed_best_of()
        end = "run_id = ? AND chain = 'p1' AND seq = (SELECT MAX(seq) FROM ledger WHERE run_id = ? AND chain = 'p1')"
        (seq, digest, line) = self.db.execute(f"SELECT seq, hash, line FROM ledger WHERE {end}", (run_id, run_id)).fetchone()
        self.change(f"DELETE FROM ledger WHERE {end}", (run_id, run_id))
        self.pawl("resume", run_id, expect=13)
        self.change("INSERT INTO ledger (run_id, chain, seq, hash, line) VALUES (?, 'p1', ?, ?, ?)", (run_id, seq, digest, line))
        self.change("""UPDATE steps SET run = replace(run, '"exit_code":1', '"exit_code":0') WHERE run_id = ? AND gate_id = 'check'""", (run_id,))
        self.pawl("resume", run_id, expect=13)

    def killed_in_the_second_step(self):
        """A run is killed with everything while the last step of its gate works for the second time. Returns the run's id."""
        self.write("source/file", "x\n")
        self.write("plan.yaml", """\
version: 1
workflow: places
source: {path: source}
max_attempts: 1
gates: {check: {signals: [build], baseline: none, steps: [{name: t, run: grep -q good work}, {name: w, run: sleep 60 || true}]}}
tiers: [{phases: [{id: p1, goal: g, agent: {run: "echo good >work; date +%N >>work"}, gates: [check]}]}]
""")
        executor = self.start("run", "plan.yaml")
        self.wait_for_step("the gate's last step works", ".w.")
        self.kill_all(executor)
        self.open_database()
        executor = self.start("resume", self.run_id())
        self.wait_until(lambda: self.db.execute("SELECT COUNT(*) FROM steps WHERE execution = 2").fetchone() == (1,), "it works again")
        self.wait_for_step("the gate's last step works again", ".w.")
        self.kill_all(executor)
        return self.run_id()

    def test_a_step_at_the_place_of_another_or_of_none_is_not_run_again(self):
        """No row has the place of a step: the label gives it. A step whose row is not read would run again, behind the gates that judged it."""
        run_id = self.killed_in_the_second_step()
        steps = self.db.execute("SELECT sandbox_run_id, step_index, state, label FROM steps WHERE run_id = ? ORDER BY step_index, execution", (run_id,)).fetchall()
        self.assertEqual([(index, state) for _, index, state, _ in steps], [(0, "done"), (1, "done"), (2, "lost"), (2, "open")], steps)
        rows = self.db.execute("SELECT COUNT(*) FROM ledger").fetchone()
        cases = [[(step, place)] for step in steps for place in (step[1] + 3, 1_000_000, 1_000_000 + step[1], 2_000_000, -1)]
        cases += [[(a, b[1]), (b, a[1])] for a, b in ((steps[0], steps[1]), (steps[1], steps[2]))]
        self.db.execute("PRAGMA ignore_check_constraints = ON")
        for moves in cases:
            with self.subTest([(step[3], step[2], place) for step, place in moves]):
                self.put(moves)
                self.pawl("resume", run_id, expect=13)
                self.assertEqual(self.db.execute("SELECT COUNT(*) FROM ledger").fetchone(), rows)
                self.put([(step, step[1]) for step, _ in moves])
        self.assertEqual(self.db.execute("SELECT COUNT(*) FROM accepted_layers").fetchone(), (0,))
        # As it was, the run goes on, and no step that has a result runs again.
        resumed = self.start("resume", run_id)
        self.wake(".w.")
        self.assertEqual(resumed.wait(timeout=60), 0)
        self.pawl("verify", run_id)
        counts = self.db.execute("SELECT label, MAX(execution) FROM steps GROUP BY label ORDER BY label").fetchall()
        self.assertEqual([count for _, count in counts], [1, 1, 3], counts)

    def put(self, moves):
        for number, (step, _) in enumerate(moves):  # a place is free before another step takes it
            self.change("UPDATE steps SET step_index = ? WHERE sandbox_run_id = ?", (500 + number, step[0]))
        for step, place in moves:
            self.change("UPDATE steps SET step_index = ? WHERE sandbox_run_id = ?", (place, step[0]))

    def test_without_the_check_the_agent_runs_again_behind_its_gates_and_verify_says_so(self):
        run_id = self.killed_in_the_second_step()
        agents = "SELECT COUNT(*) FROM ledger WHERE line LIKE '%.agent.run.attempt1%' AND line LIKE '%\"type\":\"executed\"%'"
        self.change("UPDATE steps SET step_index = 1000000 WHERE gate_id = 'agent'")
        resumed = self.start("resume", run_id, env={"PAWL_WALLS_OFF": "signer"})
        self.wake(".w.")
        self.assertEqual(resumed.wait(timeout=60), 0)
        self.assertEqual(self.db.execute(agents).fetchone(), (2,))
        self.assertIn("began again, although it has a result", self.pawl("verify", run_id, expect=13).stdout)
        for command in ("diff", "apply", "attest"):
            self.pawl(command, run_id, expect=13)


if __name__ == "__main__":
    unittest.main()
