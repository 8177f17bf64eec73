-- name: configure
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
PRAGMA foreign_keys = ON;
PRAGMA temp_store = MEMORY;
-- In KiB when negative: the inner pages of a million phases. Not more: a page split makes SQLite walk the whole cache.
PRAGMA cache_size = -8192;
-- name: begin
BEGIN IMMEDIATE;
-- name: commit
COMMIT;
-- name: rollback
ROLLBACK;
-- name: application_id
PRAGMA application_id;
-- name: user_version
PRAGMA user_version;
-- name: count_tables
SELECT COUNT(*) FROM sqlite_schema;
-- name: count_runs
SELECT COUNT(*) FROM runs;
-- name: count_revisions
SELECT COUNT(*) FROM revisions;
-- name: count_caps
SELECT COUNT(*) FROM budgets WHERE cap IS NOT NULL;
-- name: count_refusals
SELECT COUNT(*) FROM refusals;
-- name: count_forks
SELECT COUNT(*) FROM forks;
-- name: leases_after
SELECT run_id, phase_id, lease_owner FROM phases WHERE lease_owner <> '' AND lease_expires_at > ?1;
-- name: insert_migration
INSERT INTO schema_migrations (version, name, applied_at) VALUES (?1, ?2, ?3);
-- name: delete_migration
DELETE FROM schema_migrations WHERE version = ?1;
