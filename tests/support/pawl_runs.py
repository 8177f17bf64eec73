"""Plans that tests of the commands share: an agent that fails a gate and then fixes its work, and the smallest plans."""

import contextlib
import json
import os
import pty
import select
import shutil
import sqlite3

from pawl_testing import PAWL, PawlTest, plan

MEND = """\
version: 1
workflow: mend
source: {path: source, ref: HEAD}
protect: ["tests/**"]
models: [small, large]
gates:
  check:
    steps: [{name: unit, run: "sh tests/run.sh", reports: {junit: ["*.xml"]}}]
    signals: [tests]
tiers:
  - phases:
      - {id: fix, goal: "make it right", agent: {run: "sh /plan/agent.sh"}, gates: [check]}
"""

AGENT = """\
echo "model $PAWL_MODEL goal $PAWL_GOAL episode $PAWL_EPISODE_ID"
if [ -s "$PAWL_FEEDBACK" ]; then
  grep -q check.tests "$PAWL_FEEDBACK" && ls /pawl/evidence && echo right > answer
else
  echo wrong > answer
fi
"""

RUN_TESTS = """\
ok=$(cat answer)
echo '<testsuite><testcase name="exists"/><testcase name="right">' > out.xml
[ "$ok" = right ] || echo '<failure message="it is not right"/>' >> out.xml
echo '</testcase></testsuite>' >> out.xml
[ "$ok" = right ]
"""


class WithRun(PawlTest):
    @contextlib.contextmanager
    def changed_in_database(self, *statements):
        """Changes that an attacker can make who writes the database and has no key. They are undone at the end."""
        database, kept = self.root / "source/.pawl/pawl.db", self.root / "kept.db"
        with sqlite3.connect(database) as db:
            db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        db.close()
        shutil.copy(database, kept)
        with sqlite3.connect(database) as db:
            db.execute("PRAGMA ignore_check_constraints = ON")
            for statement in statements:
                self.assertGreater(db.execute(statement).rowcount, 0, statement)
        db.close()
        try:
            yield
        finally:
            for name in ("pawl.db-wal", "pawl.db-shm"):
                (database.parent / name).unlink(missing_ok=True)
            shutil.copy(kept, database)

    def make_mend(self, agent=AGENT, text=MEND):
        self.write("source/answer", "old\n")
        self.write("source/tests/run.sh", RUN_TESTS)
        self.commit_all("source")
        self.write("plan.yaml", text)
        self.write("agent.sh", agent)

    def make_simple(self, **kwargs):
        self.write("source/file", "x\n")
        self.write("plan.yaml", plan(**kwargs))

    def on_a_terminal(self, *words, expect=0):
        """The output of pawl when stdin, stdout and stderr are a terminal."""
        pid, fd = pty.fork()
        if pid == 0:
            os.chdir(self.root)
            os.execv(PAWL, [PAWL, *words])
        seen = b""
        while select.select([fd], [], [], 30)[0]:
            try:
                chunk = os.read(fd, 65536)
            except OSError:
                break  # every writer has ended
            if not chunk:
                break
            seen += chunk
        os.close(fd)
        _, status = os.waitpid(pid, 0)
        self.assertEqual(os.waitstatus_to_exitcode(status), expect, seen)
        return seen

    def run_id(self):
        return self.pawl_json("status")["runs"][0]["run_id"]


class WithAttempts(WithRun):
    """What the attempts of the newest run left. `index` is that of a phase."""
    def phase(self, index=0):
        return self.pawl_json("inspect", "last")["phases"][index]

    def attempts(self, index=0):
        return self.phase(index)["attempts"]

    def labels(self, index=0):
        return [step["label"] for attempt in self.attempts(index) for step in attempt["steps"]]

    def failing(self, index=0):
        return [sorted(f"{one['gate_id']}.{one['kind']}" for one in attempt["signals"] if not one["passed"])
                for attempt in self.attempts(index)]

    def outcome(self, phase="p1"):
        with sqlite3.connect(f"file:{self.root}/source/.pawl/pawl.db?mode=ro", uri=True) as db:
            return db.execute("SELECT outcome FROM phases WHERE phase_id = ? ORDER BY run_id DESC", (phase,)).fetchone()[0]

    def rows(self, kind, phase="p1"):
        path = self.root / f"source/.pawl/runs/{self.run_id()}/phases/{phase}/attempts.jsonl"
        return [row for row in map(json.loads, path.read_text().splitlines()) if row["type"] == kind]
