-- The text of a plan may have many megabytes. In a table WITHOUT ROWID the search for a key reads whole rows
-- with all their overflow pages. So a reader of the few hundred bytes of `common` read the text, too. Now a
-- narrow index finds a row.
CREATE TABLE plans_before AS SELECT run_id, common, text FROM plans;
DROP TABLE plans;
CREATE TABLE plans (
  run_id TEXT NOT NULL PRIMARY KEY REFERENCES runs (run_id),
  common TEXT NOT NULL DEFAULT '',
  text TEXT NOT NULL
) STRICT;
INSERT INTO plans (run_id, common, text) SELECT run_id, common, text FROM plans_before;
DROP TABLE plans_before;
