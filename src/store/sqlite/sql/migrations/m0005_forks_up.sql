-- The origin of a run: it shares the history before that attempt of that phase. Rows are only read after
-- their insert.
CREATE TABLE forks (
  run_id TEXT PRIMARY KEY REFERENCES runs (run_id),
  from_run TEXT NOT NULL REFERENCES runs (run_id),
  phase_id TEXT NOT NULL,
  attempt INTEGER NOT NULL CHECK (attempt >= 1),
  FOREIGN KEY (run_id, phase_id) REFERENCES phases (run_id, phase_id),
  FOREIGN KEY (from_run, phase_id) REFERENCES phases (run_id, phase_id)
) STRICT, WITHOUT ROWID;
