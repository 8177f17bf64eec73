-- name: cost_of_run
SELECT line FROM cost WHERE run_id = ?1 ORDER BY cost_seq LIMIT -1 OFFSET ?2;
-- name: usage_of_run
SELECT line FROM usage WHERE run_id = ?1 ORDER BY usage_seq LIMIT -1 OFFSET ?2;
-- name: run_ids_like
SELECT run_id FROM runs WHERE substr(run_id, 1, length(?1)) = ?1 OR substr(run_id, -length(?1)) = ?1 LIMIT 2;
-- name: open_chain
INSERT OR IGNORE INTO open_chains (run_id, chain) VALUES (?1, ?2);
-- name: owed
-- Reads the whole table: it has few rows, and each for a short time. Without CROSS and the plus signs, SQLite
-- would build an index of all steps for them.
SELECT steps.sandbox_run_id, steps.run_id, steps.phase_id, steps.attempt_id, steps.step_index, steps.gate_id, steps.step_name, steps.label, steps.execution, steps.sandbox_spec_hash, steps.state, steps.started_at, steps.ended_at, steps.run, steps.reserved_ms, steps.reserved_tokens, steps.reserved_usd_nanos, steps.episode, steps.told_seq, steps.decision,
  CASE steps.episode WHEN 0 THEN attempts.told_seq
    ELSE (SELECT MAX(told_seq) FROM steps AS other WHERE other.run_id = steps.run_id AND other.phase_id = steps.phase_id
          AND other.attempt_id = steps.attempt_id AND other.episode = steps.episode) END
FROM owed CROSS JOIN steps ON steps.run_id = owed.run_id AND steps.phase_id = owed.phase_id AND +steps.sandbox_run_id = owed.sandbox_run_id
CROSS JOIN attempts ON attempts.run_id = steps.run_id AND attempts.phase_id = steps.phase_id AND +attempts.attempt_id = steps.attempt_id
ORDER BY owed.sandbox_run_id;
-- name: phases_that_began
SELECT phases.run_id, phases.phase_id, phases.tier_index, phases.phase_index, phases.state, phases.outcome, phases.attempts_used, phases.max_attempts, phases.last_attempt_timestamp, phases.last_failure_reason, phases.not_before, phases.lease_owner, phases.lease_expires_at, phases.fence, phases.revision, phases.attempts_total, phases.escalation_level, phases.doctor_calls, phases.replans, phases.lease_mono_id, phases.lease_until_mono
FROM attempts CROSS JOIN phases ON phases.run_id = attempts.run_id AND phases.phase_id = attempts.phase_id
WHERE attempts.run_id = ?1 AND attempts.finished = 0
ORDER BY phases.tier_index, phases.phase_index;
-- name: ledger_rows
SELECT chain, seq, hash, line FROM ledger WHERE run_id = ?1 AND chain = ?2 AND seq >= ?3 ORDER BY seq LIMIT ?4;
