-- The end of the lease by the monotonic clock that lease_mono_id names (the holder's boot), because wall
-- clocks jump. lease_expires_at is for people, and for processes with another clock.
ALTER TABLE phases ADD COLUMN lease_mono_id TEXT NOT NULL DEFAULT '';
ALTER TABLE phases ADD COLUMN lease_until_mono INTEGER NOT NULL DEFAULT 0;

-- Commits that were refused, because the lease of the caller was lost.
CREATE TABLE refusals (
  refusal_seq INTEGER PRIMARY KEY,
  run_id TEXT NOT NULL,
  phase_id TEXT NOT NULL,
  at TEXT NOT NULL,
  verb TEXT NOT NULL,
  owner TEXT NOT NULL,
  fence INTEGER NOT NULL,
  FOREIGN KEY (run_id, phase_id) REFERENCES phases (run_id, phase_id)
) STRICT;

CREATE INDEX idx_refusal_run ON refusals (run_id, refusal_seq);
