-- Steps that an operator ended and whose agents' last words are not written down yet: they may tell what they used
-- until they are gone. Their reservations of tokens and money stay as long.
CREATE TABLE owed (
  sandbox_run_id TEXT NOT NULL PRIMARY KEY,
  run_id TEXT NOT NULL,
  phase_id TEXT NOT NULL
) STRICT, WITHOUT ROWID;
