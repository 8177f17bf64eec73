-- The episode of an attempt (best_of) that a step belongs to. 0: its only one, or the attempt as a whole.
ALTER TABLE steps ADD COLUMN episode INTEGER NOT NULL DEFAULT 0 CHECK (episode BETWEEN 0 AND 8);
-- For a step of a numbered episode: the last agent report that was written down with its end, and the
-- recovery decision when the step was lost.
ALTER TABLE steps ADD COLUMN told_seq INTEGER NOT NULL DEFAULT 0 CHECK (told_seq >= 0);
ALTER TABLE steps ADD COLUMN decision TEXT NOT NULL DEFAULT '';

-- At most one open marker for each episode.
DROP INDEX idx_step_open;
CREATE UNIQUE INDEX idx_step_open ON steps (run_id, phase_id, episode) WHERE state = 'open';

-- The result of each episode of a finished attempt, and which one was chosen.
CREATE TABLE episodes (
  run_id TEXT NOT NULL,
  phase_id TEXT NOT NULL,
  attempt_id TEXT NOT NULL,
  episode INTEGER NOT NULL CHECK (episode BETWEEN 1 AND 8),
  outcome TEXT NOT NULL CHECK (outcome = 'passed' OR outcome = 'failed' OR outcome = 'lost' OR outcome = 'cancelled'
      OR outcome = 'not_run'),
  gates_passed INTEGER NOT NULL CHECK (gates_passed >= 0),
  failing_signals INTEGER NOT NULL CHECK (failing_signals >= 0),
  changed_lines INTEGER CHECK (changed_lines IS NULL OR changed_lines >= 0),
  kept_by TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (run_id, attempt_id, episode),
  FOREIGN KEY (run_id, phase_id) REFERENCES phases (run_id, phase_id)
) STRICT, WITHOUT ROWID;

-- At most one episode of an attempt is chosen.
CREATE UNIQUE INDEX idx_episode_kept ON episodes (run_id, attempt_id) WHERE kept_by <> '';

-- The reports of each episode's agent are numbered from 1.
CREATE TABLE usage_of_episodes (
  usage_seq INTEGER PRIMARY KEY,
  run_id TEXT NOT NULL,
  phase_id TEXT NOT NULL,
  attempt_id TEXT NOT NULL,
  episode INTEGER NOT NULL DEFAULT 0 CHECK (episode BETWEEN 0 AND 8),
  told_seq INTEGER NOT NULL CHECK (told_seq >= 1),
  line TEXT NOT NULL,
  UNIQUE (run_id, attempt_id, episode, told_seq),
  FOREIGN KEY (run_id, phase_id) REFERENCES phases (run_id, phase_id)
) STRICT;
INSERT INTO usage_of_episodes (usage_seq, run_id, phase_id, attempt_id, told_seq, line)
SELECT usage_seq, run_id, phase_id, attempt_id, told_seq, line FROM usage;
DROP TABLE usage;
ALTER TABLE usage_of_episodes RENAME TO usage;
CREATE INDEX idx_usage_run ON usage (run_id, usage_seq);
