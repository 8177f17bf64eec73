-- name: insert_budget
INSERT INTO budgets (run_id, unit, cap) VALUES (?1, ?2, ?3);
-- name: budgets_of_run
SELECT unit, cap, spent, reserved FROM budgets WHERE run_id = ?1 ORDER BY unit;
-- name: write_budget
INSERT INTO budgets (run_id, unit, spent, reserved) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (run_id, unit) DO UPDATE SET spent = excluded.spent, reserved = excluded.reserved;
-- name: set_cap
INSERT INTO budgets (run_id, unit, cap) VALUES (?1, ?2, ?3) ON CONFLICT (run_id, unit) DO UPDATE SET cap = excluded.cap;
-- name: agent_of_unfinished_attempt
-- With several episodes another agent may still start, so only a step without an episode number counts.
SELECT 1 FROM attempts JOIN steps
  ON steps.run_id = attempts.run_id AND steps.phase_id = attempts.phase_id AND steps.attempt_id = attempts.attempt_id
WHERE attempts.run_id = ?1 AND attempts.phase_id = ?2 AND finished = 0 AND step_index = 0 AND episode = 0 AND state = 'done';
