CREATE TABLE totals (  -- counters: no bound and no sum counts rows. counted_*: up to the last checkpoint with counted runs (chunks.h)
  name TEXT PRIMARY KEY,
  value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO totals VALUES ('counted_seq', 0), ('told_seq', 0), ('counted_checkpoints', 0), ('children', 0),
  ('child_bytes', 0), ('usage', 0), ('events', 0), ('questions', 0), ('sessions', 0), ('usd_micros', 0), ('tokens', 0),
  ('counted_chunk', 0);  -- the highest chunk when runs were last counted

CREATE TABLE chunks (
  chunk INTEGER PRIMARY KEY,
  runs INTEGER NOT NULL,      -- how many runs of consecutive checkpoints of an id contain it, among counted ones (chunks.h)
  size INTEGER NOT NULL,
  hash BLOB NOT NULL UNIQUE,  -- BLAKE3 of the unpacked bytes
  bytes BLOB NOT NULL         -- zstd, or unpacked when they are `size` bytes
) STRICT;
CREATE TABLE checkpoints (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL,
  hash BLOB NOT NULL,         -- BLAKE3 of the payload
  size INTEGER NOT NULL,
  metadata TEXT NOT NULL,
  usd_micros INTEGER NOT NULL,
  tokens INTEGER NOT NULL,
  milliseconds INTEGER NOT NULL,
  fingerprint TEXT NOT NULL,
  saved_at TEXT NOT NULL,
  chunks BLOB NOT NULL,       -- in order: pack_list() of chunks.h; or kPayload and a small payload
  seal BLOB NOT NULL,         -- a hash over all columns above
  damage_told INTEGER NOT NULL DEFAULT 0,
  UNIQUE (id, seq)
) STRICT;
CREATE TABLE steps (  -- with row ids: steps begun together are stored side by side. The writer counts them, not totals
  key TEXT NOT NULL UNIQUE,
  kind TEXT NOT NULL,
  args_hash TEXT NOT NULL,
  state TEXT NOT NULL,
  executions INTEGER NOT NULL,
  session TEXT NOT NULL,       -- the session that began the last execution
  lost TEXT NOT NULL,          -- '', or the decision about a lost step: ask (a person was asked), fail
  result TEXT NOT NULL,
  error TEXT NOT NULL,
  begun_at TEXT NOT NULL,
  ended_at TEXT NOT NULL
) STRICT;
CREATE TABLE children (
  child_id TEXT NOT NULL UNIQUE,
  spec_hash TEXT NOT NULL,
  state TEXT NOT NULL,
  result TEXT NOT NULL,
  spawned_at TEXT NOT NULL,
  finished_at TEXT NOT NULL
) STRICT;
CREATE TABLE usage (
  seq INTEGER PRIMARY KEY,
  at TEXT NOT NULL,
  id TEXT NOT NULL UNIQUE,
  model TEXT NOT NULL,
  input_tokens INTEGER NOT NULL,
  output_tokens INTEGER NOT NULL,
  cached_tokens INTEGER NOT NULL,
  usd_micros INTEGER,
  source TEXT NOT NULL
) STRICT;
CREATE TABLE questions (
  key TEXT NOT NULL UNIQUE,
  text TEXT NOT NULL,
  choices TEXT NOT NULL,       -- a JSON array
  answer TEXT,
  asked_at TEXT NOT NULL,
  answered_at TEXT NOT NULL
) STRICT;
CREATE TABLE events (
  seq INTEGER PRIMARY KEY,
  at TEXT NOT NULL,
  event TEXT NOT NULL,
  details TEXT NOT NULL
) STRICT;
CREATE TABLE sessions (
  session TEXT PRIMARY KEY,
  number INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
