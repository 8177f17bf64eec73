-- A cost row is written with the end of its step, which happens once. A second index and two foreign keys
-- would only repeat that check. They took a tenth of the cost of an attempt.
CREATE TABLE cost_before AS SELECT cost_seq, run_id, sandbox_run_id, line FROM cost;
DROP TABLE cost;
CREATE TABLE cost (
  cost_seq INTEGER PRIMARY KEY,
  run_id TEXT NOT NULL,
  sandbox_run_id TEXT NOT NULL,
  line TEXT NOT NULL
) STRICT;
INSERT INTO cost SELECT cost_seq, run_id, sandbox_run_id, line FROM cost_before;
DROP TABLE cost_before;

CREATE INDEX idx_cost_run ON cost (run_id, cost_seq);
