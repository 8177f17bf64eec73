-- name: accepted_layer
SELECT layer_id FROM accepted_layers WHERE run_id = ?1 AND phase_id = ?2;
-- name: write_attempt_end
UPDATE attempts SET ended_at = ?4, finished = 1, verdict = ?5, signals = ?6, failing_signals = ?7, summary = ?8,
  feedback = ?9, executor = ?10, build = ?11, failure = ?12
WHERE run_id = ?1 AND phase_id = ?2 AND number = ?3 AND finished = 0;
-- name: judge_again
UPDATE attempts SET joined_round = ?4, joined_merge_seq = ?5
WHERE run_id = ?1 AND phase_id = ?2 AND number = ?3 AND finished = 0;
-- name: insert_episode
INSERT INTO episodes (run_id, phase_id, attempt_id, episode, outcome, gates_passed, failing_signals, changed_lines, kept_by)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9);
-- name: insert_revision
INSERT INTO revisions (run_id, phase_id, revision, attempt_id, goal, reason) VALUES (?1, ?2, ?3, ?4, ?5, ?6);
-- name: queued_phases
SELECT {phases}
FROM phases WHERE run_id = ?1 AND state = 'QUEUED' ORDER BY tier_index, phase_index;
-- name: any_open_phase
SELECT 1 FROM phases WHERE run_id = ?1 AND outcome = '' LIMIT 1;
-- name: set_run_state
UPDATE runs SET state = ?2, ended_at = ?3 WHERE run_id = ?1;
-- name: next_merge_seq
SELECT COALESCE(MAX(merge_seq), 0) + 1 FROM accepted_layers WHERE run_id = ?1;
-- name: insert_accepted
INSERT INTO accepted_layers (run_id, merge_seq, phase_id, layer_id) VALUES (?1, ?2, ?3, ?4);
