-- name: open_runs_after
SELECT run_id FROM runs WHERE state = 'EXECUTING' AND run_id > ?1 ORDER BY run_id LIMIT ?2;
-- name: open_phases
SELECT {phases}
FROM phases WHERE run_id = ?1 AND tier_index = ?2 AND outcome = ''
ORDER BY phase_index;
-- name: open_phases_not_ours
SELECT {phases}
FROM phases WHERE run_id = ?1 AND tier_index = ?2 AND outcome = ''
  AND NOT (lease_owner > ?3 AND lease_owner < ?4 AND lease_until_mono > ?5 AND lease_mono_id = ?6)
  AND phase_index >= ?7
ORDER BY phase_index;
-- name: first_lease_to_end
SELECT MIN(lease_until_mono) FROM phases
WHERE run_id = ?1 AND tier_index = ?2 AND outcome = '' AND phase_index >= ?3 AND phase_index < ?4;
-- name: open_tier
-- A barrier: later tiers wait for this one.
SELECT tier_index FROM phases WHERE run_id = ?1 AND outcome = '' ORDER BY tier_index LIMIT 1;
-- name: select_phase
SELECT {phases}
FROM phases WHERE run_id = ?1 AND phase_id = ?2;
-- name: lease_of_phase
SELECT state, fence, lease_owner FROM phases WHERE run_id = ?1 AND phase_id = ?2;
-- name: update_phase
UPDATE phases SET state = ?3, outcome = ?4, attempts_used = ?5, max_attempts = ?6, last_attempt_timestamp = ?7,
  last_failure_reason = ?8, not_before = ?9, lease_owner = ?10, lease_expires_at = ?11, fence = ?12, revision = ?13,
  attempts_total = ?14, escalation_level = ?15, doctor_calls = ?16, replans = ?17
WHERE run_id = ?1 AND phase_id = ?2;
-- name: claim_phase
UPDATE phases SET state = ?3, attempts_used = ?4, last_attempt_timestamp = ?5, not_before = ?6, lease_owner = ?7,
  lease_expires_at = ?8, fence = ?9, attempts_total = ?10, escalation_level = ?11, lease_mono_id = ?12,
  lease_until_mono = ?13
WHERE run_id = ?1 AND phase_id = ?2;
-- name: extend_lease
UPDATE phases SET lease_expires_at = ?4, lease_until_mono = ?5
WHERE run_id = ?1 AND phase_id = ?2 AND fence = ?3 AND state = 'EXECUTING' AND lease_owner <> '';
-- name: release_lease
UPDATE phases SET lease_owner = '', lease_expires_at = ''
WHERE run_id = ?1 AND phase_id = ?2 AND fence = ?3 AND state = 'EXECUTING';
-- name: insert_refusal
INSERT INTO refusals (run_id, phase_id, at, verb, owner, fence) VALUES (?1, ?2, ?3, ?4, ?5, ?6);
-- name: refusals_of_run
SELECT phase_id, at, verb, owner, fence FROM refusals WHERE run_id = ?1 ORDER BY refusal_seq;
-- name: unfinished_attempt
SELECT {attempts}
FROM attempts WHERE run_id = ?1 AND phase_id = ?2 AND finished = 0;
-- name: unfinished_attempt_id
SELECT attempt_id FROM attempts WHERE run_id = ?1 AND phase_id = ?2 AND finished = 0;
-- name: newest_finished_attempt
SELECT {attempts}
FROM attempts WHERE run_id = ?1 AND phase_id = ?2 AND finished = 1 ORDER BY number DESC LIMIT 1;
-- name: newest_goal
SELECT goal, attempt_id, reason FROM revisions WHERE run_id = ?1 AND phase_id = ?2 AND revision <= ?3 ORDER BY revision DESC LIMIT 1;
-- name: insert_attempt
INSERT INTO attempts (run_id, phase_id, number, attempt_id, revision, model, base_merge_seq, base_has_own_tier, started_at, executor)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10);
-- name: select_tier
SELECT tier_index, name, stop_on_failure, parallel FROM tiers WHERE run_id = ?1 AND tier_index = ?2;
-- name: newest_merge_seq
SELECT COALESCE(MAX(merge_seq), 0) FROM accepted_layers WHERE run_id = ?1;
