-- name: cost_of_run
SELECT line FROM cost WHERE run_id = ?1 ORDER BY cost_seq LIMIT -1 OFFSET ?2;
-- name: usage_of_run
SELECT line FROM usage WHERE run_id = ?1 ORDER BY usage_seq LIMIT -1 OFFSET ?2;
-- name: unknown_usages
SELECT COUNT(*) FROM usage WHERE run_id = ?1 AND instr(line, ?2) > 0;
-- name: run_ids_like
SELECT run_id FROM runs WHERE substr(run_id, 1, length(?1)) = ?1 OR substr(run_id, -length(?1)) = ?1 LIMIT 2;
-- name: open_chain
INSERT OR IGNORE INTO open_chains (run_id, chain) VALUES (?1, ?2);
-- name: unsettled
-- Without a run, all rows. Reads the whole table: it has few rows, and each for a short time. Steps are read
-- for the wanted rows only. Without CROSS and the plus signs, SQLite would build an index of all steps.
SELECT {steps},
  CASE steps.episode WHEN 0 THEN attempts.told_seq
    ELSE (SELECT MAX(told_seq) FROM steps AS other WHERE other.run_id = steps.run_id AND other.phase_id = steps.phase_id
          AND other.attempt_id = steps.attempt_id AND other.episode = steps.episode) END
FROM owed CROSS JOIN steps ON steps.run_id = owed.run_id AND steps.phase_id = owed.phase_id AND +steps.sandbox_run_id = owed.sandbox_run_id
CROSS JOIN attempts ON attempts.run_id = steps.run_id AND attempts.phase_id = steps.phase_id AND +attempts.attempt_id = steps.attempt_id
WHERE ?1 = '' OR owed.run_id = ?1
ORDER BY owed.sandbox_run_id;
-- name: phases_that_began
SELECT {phases}
FROM attempts CROSS JOIN phases ON phases.run_id = attempts.run_id AND phases.phase_id = attempts.phase_id
WHERE attempts.run_id = ?1 AND attempts.finished = 0
ORDER BY phases.tier_index, phases.phase_index;
-- name: ledger_rows
SELECT chain, seq, hash, line FROM ledger WHERE run_id = ?1 AND chain = ?2 AND seq >= ?3 ORDER BY seq LIMIT ?4;
