-- name: begin
BEGIN IMMEDIATE;
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
-- name: count_tables
SELECT COUNT(*) FROM sqlite_schema;
