-- name: insert_fork
INSERT INTO forks (run_id, from_run, phase_id, attempt) VALUES (?1, ?2, ?3, ?4);
-- name: fork_of_run
SELECT from_run, phase_id, attempt FROM forks WHERE run_id = ?1;
-- name: attempt_before_fork
SELECT {attempts}
FROM forks JOIN attempts
  ON attempts.run_id = forks.from_run AND attempts.phase_id = forks.phase_id AND attempts.number = forks.attempt - 1
WHERE forks.run_id = ?1 AND forks.phase_id = ?2;
