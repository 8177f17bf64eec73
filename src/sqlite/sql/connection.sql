-- name: begin
BEGIN IMMEDIATE;
-- name: begin_reading
-- The first read decides which state all reads see (https://www.sqlite.org/isolation.html).
BEGIN DEFERRED;
-- name: commit
COMMIT;
-- name: rollback
ROLLBACK;
-- name: begin_part
SAVEPOINT part;
-- name: commit_part
RELEASE part;
-- name: rollback_part
ROLLBACK TO part;
-- name: application_id
PRAGMA application_id;
-- name: user_version
PRAGMA user_version;
-- name: data_version
-- Changes when another connection has committed; commits of this connection do not count.
PRAGMA data_version;
-- name: schema_programs
-- SQLite runs triggers, views, virtual tables and actions of foreign keys beside the statement of a caller.
-- This query finds their entries by text: a writer of the file can change the type of an entry, and SQLite
-- does not read it. Pawl's own tables have no actions, and no text that the last two patterns match.
SELECT name, sql FROM sqlite_schema
WHERE sql NOT GLOB 'CREATE TABLE *' AND sql NOT GLOB 'CREATE INDEX *' AND sql NOT GLOB 'CREATE UNIQUE INDEX *'
   OR sql LIKE '%references%on%delete%' OR sql LIKE '%references%on%update%';
-- name: count_tables
SELECT COUNT(*) FROM sqlite_schema;
