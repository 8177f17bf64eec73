-- name: insert_fork
INSERT INTO forks (run_id, from_run, phase_id, attempt) VALUES (?1, ?2, ?3, ?4);
-- name: fork_of_run
SELECT from_run, phase_id, attempt FROM forks WHERE run_id = ?1;
-- name: attempt_before_fork
SELECT attempts.run_id, attempts.phase_id, number, attempt_id, revision, model, base_merge_seq, base_has_own_tier, agent_layer, started_at, ended_at, finished, verdict, signals, failing_signals, summary, feedback, executor, build, told_seq, failure, joined_round, joined_merge_seq
FROM forks JOIN attempts
  ON attempts.run_id = forks.from_run AND attempts.phase_id = forks.phase_id AND attempts.number = forks.attempt - 1
WHERE forks.run_id = ?1 AND forks.phase_id = ?2;
