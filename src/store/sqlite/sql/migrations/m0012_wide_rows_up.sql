-- Rows of half a kilobyte and more do not belong in WITHOUT ROWID tables: whole rows in the inner pages make
-- trees of six levels where three are enough. Now a narrow index finds a row. Foreign keys are gone: the
-- transaction that writes one of these rows has just read or written its phase or run. The id of a step is a
-- UUID, so its uniqueness is not checked. The primary key still checks that an execution of a step has one
-- marker.
CREATE TABLE ledger_before AS SELECT run_id, chain, seq, hash, line FROM ledger;
DROP TABLE ledger;
CREATE TABLE ledger (
  run_id TEXT NOT NULL,
  chain TEXT NOT NULL,
  seq INTEGER NOT NULL CHECK (seq >= 1),
  hash TEXT NOT NULL CHECK (length(hash) = 64),
  line TEXT NOT NULL,
  PRIMARY KEY (run_id, chain, seq)
) STRICT;
INSERT INTO ledger (run_id, chain, seq, hash, line) SELECT run_id, chain, seq, hash, line FROM ledger_before;
DROP TABLE ledger_before;

CREATE TABLE steps_before AS SELECT sandbox_run_id, run_id, phase_id, attempt_id, step_index, gate_id, step_name, label, execution,
  sandbox_spec_hash, state, started_at, ended_at, run, reserved_ms, reserved_tokens, reserved_usd_nanos, episode, told_seq, decision
FROM steps;
DROP TABLE steps;
CREATE TABLE steps (
  sandbox_run_id TEXT NOT NULL,
  run_id TEXT NOT NULL,
  phase_id TEXT NOT NULL,
  attempt_id TEXT NOT NULL,
  step_index INTEGER NOT NULL CHECK (step_index >= 0),
  gate_id TEXT NOT NULL,
  step_name TEXT NOT NULL,
  label TEXT NOT NULL,
  execution INTEGER NOT NULL CHECK (execution BETWEEN 1 AND 3),
  sandbox_spec_hash TEXT NOT NULL,
  state TEXT NOT NULL DEFAULT 'open' CHECK (state = 'open' OR state = 'done' OR state = 'lost'),
  started_at TEXT NOT NULL,
  ended_at TEXT NOT NULL DEFAULT '',
  run TEXT NOT NULL DEFAULT '',
  reserved_ms INTEGER NOT NULL DEFAULT 0 CHECK (reserved_ms >= 0),
  reserved_tokens INTEGER NOT NULL DEFAULT 0 CHECK (reserved_tokens >= 0),
  reserved_usd_nanos INTEGER NOT NULL DEFAULT 0 CHECK (reserved_usd_nanos >= 0),
  episode INTEGER NOT NULL DEFAULT 0 CHECK (episode BETWEEN 0 AND 8),
  told_seq INTEGER NOT NULL DEFAULT 0 CHECK (told_seq >= 0),
  decision TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (run_id, phase_id, attempt_id, step_index, execution),
  CHECK ((state = 'done') = (run <> ''))
) STRICT;
INSERT INTO steps SELECT * FROM steps_before;
DROP TABLE steps_before;
-- At most one open marker for each episode.
CREATE UNIQUE INDEX idx_step_open ON steps (run_id, phase_id, episode) WHERE state = 'open';

CREATE TABLE attempts_before AS SELECT run_id, phase_id, number, attempt_id, revision, model, base_layers, agent_layer, started_at,
  ended_at, finished, verdict, signals, failing_signals, summary, feedback, executor, build, told_seq
FROM attempts;
DROP TABLE attempts;
CREATE TABLE attempts (
  run_id TEXT NOT NULL,
  phase_id TEXT NOT NULL,
  number INTEGER NOT NULL CHECK (number >= 1),
  attempt_id TEXT NOT NULL CHECK (attempt_id = phase_id || '.' || number),
  revision INTEGER NOT NULL,
  model TEXT NOT NULL,
  base_layers TEXT NOT NULL,
  agent_layer TEXT NOT NULL DEFAULT '',
  started_at TEXT NOT NULL,
  ended_at TEXT NOT NULL DEFAULT '',
  finished INTEGER NOT NULL DEFAULT 0 CHECK (finished IN (0, 1)),
  verdict TEXT NOT NULL DEFAULT ''
    CHECK (verdict = '' OR verdict = 'passed' OR verdict = 'failed_retryable' OR verdict = 'failed_unrecoverable'
      OR verdict = 'escalate' OR verdict = 'cancelled'),
  signals TEXT NOT NULL DEFAULT '',
  failing_signals TEXT NOT NULL DEFAULT '[]',
  summary TEXT NOT NULL DEFAULT '',
  feedback TEXT NOT NULL DEFAULT '',
  executor TEXT NOT NULL DEFAULT '',
  build TEXT NOT NULL DEFAULT '',
  told_seq INTEGER NOT NULL DEFAULT 0 CHECK (told_seq >= 0),
  PRIMARY KEY (run_id, phase_id, number),
  CHECK ((finished = 1) = (verdict <> ''))
) STRICT;
INSERT INTO attempts SELECT * FROM attempts_before;
DROP TABLE attempts_before;
-- At most one unfinished attempt for each phase.
CREATE UNIQUE INDEX idx_attempt_unfinished ON attempts (run_id, phase_id) WHERE finished = 0;
