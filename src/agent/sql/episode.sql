-- name: configure
-- The page size must be set before the file becomes a WAL database. Of 4, 8 and 16 KiB the smallest wastes
-- the least space after a chunk, and makes a save write the least to the log.
PRAGMA page_size = 4096;
PRAGMA journal_mode = WAL;
PRAGMA synchronous = FULL;
PRAGMA temp_store = MEMORY;
PRAGMA cache_size = -8192;
-- A large transaction makes the log longer; afterwards it is cut to this size.
PRAGMA journal_size_limit = 4194304;
-- name: configure_reader
-- A reader may have to recover the log of a killed writer, so the file is not opened read-only.
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
-- Without RETURNING, which would create a temporary table for each call.
UPDATE totals SET value = value + ?2 WHERE name = ?1;
-- name: add_elapsed
-- Episodes that an older pawl created do not have this total.
INSERT INTO totals (name, value) VALUES ('milliseconds', ?1) ON CONFLICT (name) DO UPDATE SET value = value + ?1;
