-- Unsettled usage: steps that an operator ended. Their agents may report usage until their processes are
-- gone. Their reservations of tokens and money stay until the usage is settled.
CREATE TABLE owed (
  sandbox_run_id TEXT NOT NULL PRIMARY KEY,
  run_id TEXT NOT NULL,
  phase_id TEXT NOT NULL
) STRICT, WITHOUT ROWID;
