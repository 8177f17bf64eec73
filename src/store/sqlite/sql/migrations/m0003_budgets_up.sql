-- The amounts that a run may spend and has spent. The spent amount is a fact; the cap is a policy. NULL means
-- no cap; spending is counted all the same. Amounts are whole numbers of the smallest unit.
CREATE TABLE budgets (
  run_id TEXT NOT NULL REFERENCES runs (run_id),
  unit TEXT NOT NULL CHECK (unit = 'sandbox_ms' OR unit = 'tokens' OR unit = 'usd_nanos'),
  cap INTEGER CHECK (cap IS NULL OR cap >= 0),
  spent INTEGER NOT NULL DEFAULT 0 CHECK (spent >= 0),
  reserved INTEGER NOT NULL DEFAULT 0 CHECK (reserved >= 0),
  PRIMARY KEY (run_id, unit)
) STRICT, WITHOUT ROWID;

-- The amount of sandbox_ms that an open step has reserved.
ALTER TABLE steps ADD COLUMN reserved_ms INTEGER NOT NULL DEFAULT 0 CHECK (reserved_ms >= 0);

INSERT INTO budgets (run_id, unit, spent)
SELECT run_id, 'sandbox_ms', COALESCE((SELECT SUM(json_extract(run, '$.duration_ms')) FROM steps
  WHERE steps.run_id = runs.run_id AND steps.state = 'done'), 0)
  -- After this migration is taken back, a database has `resume` rows of steps that were given up.
  + COALESCE((SELECT SUM(json_extract(line, '$.spent_ms')) FROM ledger
  WHERE ledger.run_id = runs.run_id AND line LIKE '%"type":"resume"%'), 0)
FROM runs;
