-- name: chunk_by_hash
SELECT chunk, size, bytes FROM chunks WHERE hash = ?1;
-- name: chunk
SELECT hash, size, bytes FROM chunks WHERE chunk = ?1;
-- name: chunk_runs
SELECT runs, hash FROM chunks WHERE chunk = ?1;
-- name: add_chunk_runs
UPDATE chunks SET runs = runs + ?2 WHERE chunk = ?1;
-- name: insert_chunk
INSERT INTO chunks (runs, size, hash, bytes) VALUES (1, ?1, ?2, ?3);
-- name: heal_chunk
UPDATE chunks SET size = ?2, bytes = ?3 WHERE chunk = ?1;
-- name: delete_chunk
DELETE FROM chunks WHERE chunk = ?1;
-- name: insert_checkpoint
INSERT INTO checkpoints (seq, id, hash, size, metadata, usd_micros, tokens, milliseconds, fingerprint, saved_at, chunks, seal)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12);
-- name: newest_of_id
SELECT seq, id, hash, size, metadata, usd_micros, tokens, milliseconds, fingerprint, saved_at, chunks, seal, damage_told
FROM checkpoints WHERE id = ?1 AND seq < ?2 ORDER BY seq DESC LIMIT 1;
-- name: checkpoint
SELECT seq, id, hash, size, metadata, usd_micros, tokens, milliseconds, fingerprint, saved_at, chunks, seal, damage_told
FROM checkpoints WHERE id = ?1 AND seq = ?2;
-- name: oldest_of_id
SELECT seq, id, hash, size, metadata, usd_micros, tokens, milliseconds, fingerprint, saved_at, chunks, seal, damage_told
FROM checkpoints WHERE id = ?1 AND seq > ?2 ORDER BY seq LIMIT 1;
-- name: newest_seq
SELECT COALESCE(MAX(seq), 0) FROM checkpoints;
-- name: lists_behind
SELECT seq, id, hash, size, metadata, usd_micros, tokens, milliseconds, fingerprint, saved_at, chunks, seal, damage_told
FROM checkpoints WHERE seq > ?1 AND substr(chunks, 1, 1) <> X'00' ORDER BY seq;
-- name: note_counted
UPDATE totals SET value = (SELECT COALESCE(MAX(chunk), 0) FROM chunks) WHERE name = 'counted_chunk';
-- name: newest_beyond
SELECT seq FROM checkpoints WHERE id = ?1 ORDER BY seq DESC LIMIT 1 OFFSET ?2;
-- name: list_all
SELECT seq, id, hash, size, metadata, usd_micros, tokens, milliseconds, fingerprint, saved_at, chunks, seal, damage_told
FROM checkpoints WHERE seq < ?1 ORDER BY seq DESC LIMIT ?2;
-- name: list_of_id
SELECT seq, id, hash, size, metadata, usd_micros, tokens, milliseconds, fingerprint, saved_at, chunks, seal, damage_told
FROM checkpoints WHERE id = ?3 AND seq < ?1 ORDER BY seq DESC LIMIT ?2;
-- name: list_of_prefix
-- Uses the index on ids: the cost grows with the rows of the prefix, not with those of the episode.
SELECT seq, id, hash, size, metadata, usd_micros, tokens, milliseconds, fingerprint, saved_at, chunks, seal, damage_told
FROM checkpoints WHERE seq IN (
  SELECT seq FROM checkpoints WHERE id >= ?3 AND id < ?4 AND seq < ?1 ORDER BY seq DESC LIMIT ?2)
ORDER BY seq DESC;
-- name: newest_ids
-- Goes from id to id in the index, so that the cost grows with the ids and not with their checkpoints.
WITH RECURSIVE ids(id) AS (
  SELECT MIN(id) FROM checkpoints
  UNION ALL SELECT (SELECT MIN(id) FROM checkpoints WHERE id > ids.id) FROM ids WHERE ids.id IS NOT NULL)
SELECT ids.id FROM ids WHERE ids.id IS NOT NULL
ORDER BY (SELECT MAX(seq) FROM checkpoints WHERE checkpoints.id = ids.id) DESC LIMIT ?1;
-- name: first_id_of_prefix
SELECT id FROM checkpoints WHERE id >= ?1 AND id < ?2 ORDER BY id LIMIT 1;
-- name: delete_checkpoint
DELETE FROM checkpoints WHERE seq = ?1;
-- name: note_damage_told
UPDATE checkpoints SET damage_told = 1 WHERE seq = ?1;
