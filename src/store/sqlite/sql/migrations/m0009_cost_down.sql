CREATE TABLE cost_before AS SELECT cost_seq, run_id, sandbox_run_id, line FROM cost;
DROP TABLE cost;
CREATE TABLE cost (
  cost_seq INTEGER PRIMARY KEY,
  run_id TEXT NOT NULL REFERENCES runs (run_id),
  sandbox_run_id TEXT NOT NULL UNIQUE REFERENCES steps (sandbox_run_id),
  line TEXT NOT NULL
) STRICT;
INSERT INTO cost SELECT cost_seq, run_id, sandbox_run_id, line FROM cost_before;
DROP TABLE cost_before;

CREATE INDEX idx_cost_run ON cost (run_id, cost_seq);
