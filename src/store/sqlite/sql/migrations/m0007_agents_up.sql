-- The last report of an attempt's agent (src/agent) that is written down here.
ALTER TABLE attempts ADD COLUMN told_seq INTEGER NOT NULL DEFAULT 0 CHECK (told_seq >= 0);

-- The usage of agents: one row for each report, once, whatever crashes come between.
CREATE TABLE usage (
  usage_seq INTEGER PRIMARY KEY,
  run_id TEXT NOT NULL,
  phase_id TEXT NOT NULL,
  attempt_id TEXT NOT NULL,
  told_seq INTEGER NOT NULL CHECK (told_seq >= 1),
  line TEXT NOT NULL,
  UNIQUE (run_id, attempt_id, told_seq),
  FOREIGN KEY (run_id, phase_id) REFERENCES phases (run_id, phase_id)
) STRICT;

CREATE INDEX idx_usage_run ON usage (run_id, usage_seq);

-- The amounts of the run's tokens and money that an open step has reserved.
ALTER TABLE steps ADD COLUMN reserved_tokens INTEGER NOT NULL DEFAULT 0 CHECK (reserved_tokens >= 0);
ALTER TABLE steps ADD COLUMN reserved_usd_nanos INTEGER NOT NULL DEFAULT 0 CHECK (reserved_usd_nanos >= 0);
