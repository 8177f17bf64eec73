-- name: step
SELECT key, kind, args_hash, state, executions, session, lost, result, error, begun_at, ended_at FROM steps WHERE key = ?1;
-- name: steps_after
SELECT key, kind, args_hash, state, executions, session, lost, result, error, begun_at, ended_at FROM steps
WHERE key > ?1 ORDER BY key LIMIT ?2;
-- name: count_steps
SELECT COUNT(*) FROM steps;
-- name: insert_step
INSERT INTO steps (key, kind, args_hash, state, executions, session, lost, result, error, begun_at, ended_at)
VALUES (?1, ?2, ?3, 'begun', 1, ?4, '', '', '', ?5, '');
-- name: begin_step_again
UPDATE steps SET state = 'begun', executions = executions + 1, session = ?2, lost = '', error = '', begun_at = ?3, ended_at = ''
WHERE key = ?1;
-- name: lose_step
UPDATE steps SET lost = ?2 WHERE key = ?1;
-- name: end_step
UPDATE steps SET state = ?2, lost = ?3, result = ?4, error = ?5, ended_at = ?6 WHERE key = ?1;
-- name: child
SELECT child_id, spec_hash, state, result, spawned_at, finished_at FROM children WHERE child_id = ?1;
-- name: children
SELECT child_id, spec_hash, state, result, spawned_at, finished_at FROM children ORDER BY rowid;
-- name: insert_child
INSERT INTO children (child_id, spec_hash, state, result, spawned_at, finished_at) VALUES (?1, ?2, 'running', '', ?3, '');
-- name: finish_child
UPDATE children SET state = 'done', result = ?2, finished_at = ?3 WHERE child_id = ?1;
