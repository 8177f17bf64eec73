-- name: begin
BEGIN IMMEDIATE;
-- name: begin_reading
-- Its first read decides which state all of them see (https://www.sqlite.org/isolation.html).
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
-- Another one when somebody else has committed since; our own commits do not count.
PRAGMA data_version;
-- name: count_tables
SELECT COUNT(*) FROM sqlite_schema;
