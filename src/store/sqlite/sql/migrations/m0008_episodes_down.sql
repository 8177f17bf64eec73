CREATE TABLE usage_of_attempts (
  usage_seq INTEGER PRIMARY KEY,
  run_id TEXT NOT NULL,
  phase_id TEXT NOT NULL,
  attempt_id TEXT NOT NULL,
  told_seq INTEGER NOT NULL CHECK (told_seq >= 1),
  line TEXT NOT NULL,
  UNIQUE (run_id, attempt_id, told_seq),
  FOREIGN KEY (run_id, phase_id) REFERENCES phases (run_id, phase_id)
) STRICT;
-- The older schema has one row for each told_seq of an attempt: of several episodes, the oldest row stays.
INSERT OR IGNORE INTO usage_of_attempts (usage_seq, run_id, phase_id, attempt_id, told_seq, line)
SELECT usage_seq, run_id, phase_id, attempt_id, told_seq, line FROM usage ORDER BY usage_seq;
DROP TABLE usage;
ALTER TABLE usage_of_attempts RENAME TO usage;
CREATE INDEX idx_usage_run ON usage (run_id, usage_seq);

DROP TABLE episodes;
DROP INDEX idx_step_open;
CREATE UNIQUE INDEX idx_step_open ON steps (run_id, phase_id) WHERE state = 'open';
ALTER TABLE steps DROP COLUMN decision;
ALTER TABLE steps DROP COLUMN told_seq;
ALTER TABLE steps DROP COLUMN episode;
