-- What a run may spend, and has spent. Spent is data, the cap is policy: NULL is no cap, and what is spent is counted
-- all the same. Amounts are whole numbers of the smallest unit.
CREATE TABLE budgets (
  run_id TEXT NOT NULL REFERENCES runs (run_id),
  unit TEXT NOT NULL CHECK (unit = 'sandbox_ms' OR unit = 'tokens' OR unit = 'usd_nanos'),
  cap INTEGER CHECK (cap IS NULL OR cap >= 0),
  spent INTEGER NOT NULL DEFAULT 0 CHECK (spent >= 0),
  reserved INTEGER NOT NULL DEFAULT 0 CHECK (reserved >= 0),
  PRIMARY KEY (run_id, unit)
) STRICT, WITHOUT ROWID;

-- What an open step has reserved of sandbox_ms.
ALTER TABLE steps ADD COLUMN reserved_ms INTEGER NOT NULL DEFAULT 0 CHECK (reserved_ms >= 0);

INSERT INTO budgets (run_id, unit, spent)
SELECT run_id, 'sandbox_ms', COALESCE((SELECT SUM(json_extract(run, '$.duration_ms')) FROM steps
  WHERE steps.run_id = runs.run_id AND steps.state = 'done'), 0)
  -- A database that went back to before has rows of steps that were given up.
  + COALESCE((SELECT SUM(json_extract(line, '$.spent_ms')) FROM ledger
  WHERE ledger.run_id = runs.run_id AND line LIKE '%"type":"resume"%'), 0)
FROM runs;
