-- A CHECK lists more than two values with OR. For IN, SQLite would build a temporary b-tree at every write.
CREATE TABLE schema_migrations (
  version INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  applied_at TEXT NOT NULL
) STRICT;

CREATE TABLE runs (
  run_id TEXT PRIMARY KEY,
  workflow_id TEXT NOT NULL,
  state TEXT NOT NULL DEFAULT 'EXECUTING' CHECK (state = 'EXECUTING' OR state = 'COMPLETE' OR state = 'FAILED'
      OR state = 'CANCELLED'),
  plan_text TEXT NOT NULL,
  plan_file TEXT NOT NULL,
  plan_content TEXT NOT NULL,
  source_path TEXT NOT NULL,
  base_id TEXT NOT NULL,
  base_commit TEXT NOT NULL,
  backend TEXT NOT NULL,
  created_at TEXT NOT NULL,
  ended_at TEXT NOT NULL DEFAULT '',
  CHECK ((state = 'EXECUTING') = (ended_at = ''))
) STRICT, WITHOUT ROWID;

-- Open runs, oldest first (a run_id is a UUIDv7). A worker for any run walks this index.
CREATE INDEX idx_run_open ON runs (run_id) WHERE state = 'EXECUTING';

CREATE TABLE tiers (
  run_id TEXT NOT NULL REFERENCES runs (run_id),
  tier_index INTEGER NOT NULL CHECK (tier_index >= 0),
  name TEXT NOT NULL,
  stop_on_failure INTEGER NOT NULL CHECK (stop_on_failure IN (0, 1)),
  parallel INTEGER NOT NULL CHECK (parallel IN (0, 1)),
  PRIMARY KEY (run_id, tier_index)
) STRICT, WITHOUT ROWID;

CREATE TABLE phases (
  run_id TEXT NOT NULL REFERENCES runs (run_id),
  phase_id TEXT NOT NULL,
  tier_index INTEGER NOT NULL,
  phase_index INTEGER NOT NULL CHECK (phase_index >= 0),
  state TEXT NOT NULL DEFAULT 'QUEUED'
    CHECK (state = 'QUEUED' OR state = 'EXECUTING' OR state = 'COMPLETE' OR state = 'FAILED' OR state = 'SKIPPED'
      OR state = 'CANCELLED'),
  outcome TEXT NOT NULL DEFAULT ''
    CHECK (outcome = '' OR outcome = 'passed' OR outcome = 'escalate' OR outcome = 'failed_unrecoverable'
      OR outcome = 'skipped' OR outcome = 'cancelled'),
  attempts_used INTEGER NOT NULL DEFAULT 0 CHECK (attempts_used BETWEEN 0 AND max_attempts),
  max_attempts INTEGER NOT NULL DEFAULT 5 CHECK (max_attempts BETWEEN 1 AND 100),
  last_attempt_timestamp TEXT NOT NULL DEFAULT '',
  last_failure_reason TEXT NOT NULL DEFAULT '',
  not_before TEXT NOT NULL DEFAULT '',
  lease_owner TEXT NOT NULL DEFAULT '',
  lease_expires_at TEXT NOT NULL DEFAULT '',
  fence INTEGER NOT NULL DEFAULT 0 CHECK (fence >= 0),
  revision INTEGER NOT NULL DEFAULT 0 CHECK (revision BETWEEN 0 AND 1000),
  attempts_total INTEGER NOT NULL DEFAULT 0 CHECK (attempts_total BETWEEN attempts_used AND 100000),
  escalation_level INTEGER NOT NULL DEFAULT 0 CHECK (escalation_level BETWEEN 0 AND 100),
  doctor_calls INTEGER NOT NULL DEFAULT 0 CHECK (doctor_calls BETWEEN 0 AND 2),
  replans INTEGER NOT NULL DEFAULT 0 CHECK (replans BETWEEN 0 AND 100),
  PRIMARY KEY (run_id, phase_id),
  UNIQUE (run_id, tier_index, phase_index),
  FOREIGN KEY (run_id, tier_index) REFERENCES tiers (run_id, tier_index),
  CHECK ((state IN ('QUEUED', 'EXECUTING')) = (outcome = '')),
  CHECK ((lease_owner = '') = (lease_expires_at = '')),
  CHECK (state = 'EXECUTING' OR lease_owner = '')
) STRICT, WITHOUT ROWID;

CREATE INDEX idx_phase_executable ON phases (run_id, state, attempts_used);
-- Open phases in claim order. The first entry of a run gives the tier that all later ones wait for. The
-- condition uses outcome, which a claim does not set, so a claim need not write to this index.
CREATE INDEX idx_phase_open ON phases (run_id, tier_index, phase_index) WHERE outcome = '';

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
  PRIMARY KEY (run_id, phase_id, number),
  FOREIGN KEY (run_id, phase_id) REFERENCES phases (run_id, phase_id),
  CHECK ((finished = 1) = (verdict <> ''))
) STRICT, WITHOUT ROWID;

-- At most one unfinished attempt for each phase.
CREATE UNIQUE INDEX idx_attempt_unfinished ON attempts (run_id, phase_id) WHERE finished = 0;

CREATE TABLE steps (
  sandbox_run_id TEXT PRIMARY KEY,
  run_id TEXT NOT NULL,
  phase_id TEXT NOT NULL,
  attempt_id TEXT NOT NULL,
  attempt INTEGER NOT NULL AS (CAST(substr(attempt_id, length(phase_id) + 2) AS INTEGER)) VIRTUAL,
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
  UNIQUE (run_id, attempt_id, step_index, execution),
  FOREIGN KEY (run_id, phase_id, attempt) REFERENCES attempts (run_id, phase_id, number),
  CHECK ((state = 'done') = (run <> ''))
) STRICT, WITHOUT ROWID;

CREATE INDEX idx_step_of_phase ON steps (run_id, phase_id);
-- At most one open marker for each phase.
CREATE UNIQUE INDEX idx_step_open ON steps (run_id, phase_id) WHERE state = 'open';

CREATE TABLE accepted_layers (
  run_id TEXT NOT NULL,
  merge_seq INTEGER NOT NULL CHECK (merge_seq >= 1),
  phase_id TEXT NOT NULL,
  layer_id TEXT NOT NULL,
  PRIMARY KEY (run_id, merge_seq),
  UNIQUE (run_id, phase_id),
  FOREIGN KEY (run_id, phase_id) REFERENCES phases (run_id, phase_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE ledger (
  run_id TEXT NOT NULL REFERENCES runs (run_id),
  chain TEXT NOT NULL,
  seq INTEGER NOT NULL CHECK (seq >= 1),
  hash TEXT NOT NULL CHECK (length(hash) = 64),
  line TEXT NOT NULL,
  PRIMARY KEY (run_id, chain, seq)
) STRICT, WITHOUT ROWID;

CREATE TABLE heads (
  run_id TEXT PRIMARY KEY REFERENCES runs (run_id),
  body TEXT NOT NULL,
  public_key TEXT NOT NULL,
  signature TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE cost (
  cost_seq INTEGER PRIMARY KEY,
  run_id TEXT NOT NULL REFERENCES runs (run_id),
  sandbox_run_id TEXT NOT NULL UNIQUE REFERENCES steps (sandbox_run_id),
  line TEXT NOT NULL
) STRICT;

CREATE INDEX idx_cost_run ON cost (run_id, cost_seq);

CREATE TABLE inventories (
  key TEXT PRIMARY KEY,
  names TEXT NOT NULL
) STRICT, WITHOUT ROWID;
