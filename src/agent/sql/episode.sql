-- name: configure
-- Before the file is a WAL database, or never. Of 4, 8 and 16 KiB the smallest wastes the least behind a chunk,
-- and a save writes the least to the log.
PRAGMA page_size = 4096;
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
PRAGMA temp_store = MEMORY;
PRAGMA cache_size = -8192;
-- After a large transaction the log is cut to this again.
PRAGMA journal_size_limit = 4194304;
-- name: configure_reader
-- It may bring the log of a writer that was killed into the database, and so needs more than read-only access.
PRAGMA query_only = ON;
PRAGMA temp_store = MEMORY;
-- name: begin_read
BEGIN;
-- name: data_version
PRAGMA data_version;
-- name: used_bytes
SELECT (page_count - freelist_count) * page_size
FROM pragma_page_count, pragma_freelist_count, pragma_page_size;
-- name: total
SELECT value FROM totals WHERE name = ?1;
-- name: add_total
-- Without RETURNING, which makes a table for each answer.
UPDATE totals SET value = value + ?2 WHERE name = ?1;
-- name: add_elapsed
-- Episodes of a pawl that did not count it have no such total.
INSERT INTO totals (name, value) VALUES ('milliseconds', ?1) ON CONFLICT (name) DO UPDATE SET value = value + ?1;
