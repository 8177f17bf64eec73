ALTER TABLE runs ADD COLUMN doctor_calls INTEGER NOT NULL DEFAULT 0 CHECK (doctor_calls BETWEEN 0 AND 10);
-- Counts the calls of the phases: taking the migration back and applying it again must not free a call.
UPDATE runs SET doctor_calls = (SELECT SUM(doctor_calls) FROM phases WHERE phases.run_id = runs.run_id);

-- A replanner's goal, instead of the plan's. An operator's retry makes a revision without a row. For a
-- revision, the newest row at or below it applies.
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
