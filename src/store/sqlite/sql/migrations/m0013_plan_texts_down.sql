CREATE TABLE plans_before AS SELECT run_id, common, text FROM plans;
DROP TABLE plans;
CREATE TABLE plans (
  run_id TEXT PRIMARY KEY REFERENCES runs (run_id),
  common TEXT NOT NULL DEFAULT '',
  text TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO plans (run_id, common, text) SELECT run_id, common, text FROM plans_before;
DROP TABLE plans_before;
