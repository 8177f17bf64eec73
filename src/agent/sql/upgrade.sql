-- In version 1 all runs are counted. An older pawl that has the file open finds no total of the old name, and
-- its writes fail.
UPDATE totals SET name = 'counted_checkpoints' WHERE name = 'checkpoints';
UPDATE totals SET name = 'counted_seq' WHERE name = 'checkpoint_seq';
INSERT INTO totals SELECT 'counted_chunk', COALESCE(MAX(chunk), 0) FROM chunks;
PRAGMA user_version = 2;
