-- The text of a plan moves out of runs, which every claim reads. The column runs.plan_text stays, empty, for
-- a migration back. The columns and table beside it have the plan in parts; for a run of an older version
-- they are filled at its next claim.
CREATE TABLE plans (
  run_id TEXT PRIMARY KEY REFERENCES runs (run_id),
  common TEXT NOT NULL DEFAULT '',
  text TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO plans (run_id, text) SELECT run_id, plan_text FROM runs;
UPDATE runs SET plan_text = '';

CREATE TABLE planned_phases (
  run_id TEXT NOT NULL,
  tier_index INTEGER NOT NULL,
  phase_index INTEGER NOT NULL,
  row TEXT NOT NULL,
  PRIMARY KEY (run_id, tier_index, phase_index),
  FOREIGN KEY (run_id, tier_index, phase_index) REFERENCES phases (run_id, tier_index, phase_index)
) STRICT, WITHOUT ROWID;
