ALTER TABLE runs ADD COLUMN doctor_calls INTEGER NOT NULL DEFAULT 0 CHECK (doctor_calls BETWEEN 0 AND 10);
-- Taken back and applied again, it gives no call for nothing.
UPDATE runs SET doctor_calls = (SELECT SUM(doctor_calls) FROM phases WHERE phases.run_id = runs.run_id);

-- What a replanner said instead of the plan's goal. An operator's retry makes a revision without a row: the newest
-- row at or below a revision holds.
CREATE TABLE revisions (
  run_id TEXT NOT NULL,
  phase_id TEXT NOT NULL,
  revision INTEGER NOT NULL CHECK (revision >= 1),
  attempt_id TEXT NOT NULL,
  goal TEXT NOT NULL CHECK (goal <> ''),
  reason TEXT NOT NULL,
  PRIMARY KEY (run_id, phase_id, revision),
  FOREIGN KEY (run_id, phase_id) REFERENCES phases (run_id, phase_id)
) STRICT, WITHOUT ROWID;
