-- The text of a plan may be many megabytes. In a table WITHOUT ROWID the search for a key reads whole rows, with all that
-- overflows: who wanted the few hundred bytes of `common` got the text, too. A row is found by a narrow index now.
CREATE TABLE plans_before AS SELECT run_id, common, text FROM plans;
DROP TABLE plans;
CREATE TABLE plans (
  run_id TEXT NOT NULL PRIMARY KEY REFERENCES runs (run_id),
  common TEXT NOT NULL DEFAULT '',
  text TEXT NOT NULL
) STRICT;
INSERT INTO plans (run_id, common, text) SELECT run_id, common, text FROM plans_before;
DROP TABLE plans_before;
