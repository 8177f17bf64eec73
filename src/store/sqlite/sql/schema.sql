-- name: configure
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
PRAGMA foreign_keys = ON;
PRAGMA temp_store = MEMORY;
-- A negative number is in KiB: room for the inner pages of a million phases. A larger cache costs more,
-- because SQLite walks all of it when it splits a page.
PRAGMA cache_size = -8192;
PRAGMA secure_delete = OFF;
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
-- name: count_short_heads
SELECT COUNT(*) FROM heads WHERE EXISTS (SELECT 1 FROM ledger WHERE ledger.run_id = heads.run_id AND NOT EXISTS (
    SELECT 1 FROM open_chains WHERE open_chains.run_id = ledger.run_id AND open_chains.chain = ledger.chain)
  AND json_extract(heads.body, '$.chains."' || ledger.chain || '"') IS NULL);
-- name: ends_of_open_chains
SELECT open_chains.run_id, open_chains.chain, ledger.seq, ledger.hash FROM open_chains
JOIN ledger ON ledger.run_id = open_chains.run_id AND ledger.chain = open_chains.chain
  AND ledger.seq = (SELECT MAX(seq) FROM ledger WHERE run_id = open_chains.run_id AND chain = open_chains.chain)
WHERE open_chains.chain <> '';
-- name: count_told
SELECT COUNT(*) FROM attempts WHERE told_seq > 0;
-- name: count_episode_steps
SELECT COUNT(*) FROM steps WHERE episode > 0;
-- name: count_planned
SELECT COUNT(*) FROM plans JOIN ledger ON ledger.run_id = plans.run_id AND ledger.chain = '' AND ledger.seq = 1
WHERE plans.common <> '' AND json_extract(ledger.line, '$.planned') IS NOT NULL;
-- name: count_approved
SELECT COUNT(*) FROM phases WHERE outcome = 'approved';
-- name: count_joined
SELECT COUNT(*) FROM attempts WHERE joined_round > 0 AND finished = 0;
-- name: count_waits
SELECT COUNT(*) FROM steps WHERE decision = 'wait';
-- name: count_owed
SELECT COUNT(*) FROM owed;
-- name: leases
SELECT run_id, phase_id, lease_owner, lease_expires_at, lease_mono_id, lease_until_mono FROM phases WHERE lease_owner <> '';
-- name: wall_leases
-- For schemas before version 4, which have no monotonic leases.
SELECT run_id, phase_id, lease_owner, lease_expires_at, '', 0 FROM phases WHERE lease_owner <> '';
-- name: insert_migration
INSERT INTO schema_migrations (version, name, applied_at) VALUES (?1, ?2, ?3);
-- name: delete_migration
DELETE FROM schema_migrations WHERE version = ?1;
-- name: storage_problems
SELECT integrity_check FROM pragma_integrity_check(1) WHERE integrity_check <> 'ok';
-- name: problems_of_claims
-- The tables that decide which phase runs next. Rows of steps and of the ledger are many, and a claim compares them
-- with hashes.
SELECT integrity_check FROM (SELECT 'runs' AS of_table UNION ALL SELECT 'tiers' UNION ALL SELECT 'phases'
  UNION ALL SELECT 'attempts' UNION ALL SELECT 'accepted_layers' UNION ALL SELECT 'budgets' UNION ALL SELECT 'open_chains'),
  pragma_integrity_check(of_table) WHERE integrity_check <> 'ok';
-- name: schema_entries
-- ANALYZE makes the tables sqlite_stat*, which decide the order of work only.
SELECT type, name, tbl_name, COALESCE(sql, '') FROM sqlite_schema WHERE name NOT GLOB 'sqlite_stat*' ORDER BY type, name;
