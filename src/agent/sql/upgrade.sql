INSERT INTO totals SELECT 'counted_seq', value FROM totals WHERE name = 'checkpoint_seq';
INSERT INTO totals SELECT 'counted_chunk', COALESCE(MAX(chunk), 0) FROM chunks;
PRAGMA user_version = 2;
