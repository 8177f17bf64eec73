-- Of version 1 all runs are counted.
INSERT INTO totals SELECT 'counted_chunk', COALESCE(MAX(chunk), 0) FROM chunks;
PRAGMA user_version = 2;
