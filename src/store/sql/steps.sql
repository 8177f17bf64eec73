-- name: insert_step
INSERT INTO steps (sandbox_run_id, run_id, phase_id, attempt_id, step_index, gate_id, step_name, label, execution,
  sandbox_spec_hash, started_at, reserved_ms, reserved_tokens, reserved_usd_nanos, episode)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15);
-- name: doctor_calls_of_run
SELECT (SELECT doctor_calls FROM runs WHERE run_id = ?1), (SELECT SUM(doctor_calls) FROM phases WHERE run_id = ?1);
-- name: count_doctor_call
UPDATE runs SET doctor_calls = doctor_calls + 1 WHERE run_id = ?1 AND doctor_calls < ?2;
-- name: select_step
SELECT {steps}
FROM steps WHERE run_id = ?1 AND phase_id = ?2 AND sandbox_run_id = ?3;
-- name: open_step_of_phase
SELECT {steps}
FROM steps WHERE run_id = ?1 AND phase_id = ?2 AND state = 'open';
-- name: end_step_of_episode
UPDATE steps SET told_seq = ?4, decision = ?5 WHERE run_id = ?1 AND phase_id = ?2 AND sandbox_run_id = ?3;
-- name: end_step
UPDATE steps SET state = ?4, run = ?5, ended_at = ?6 WHERE run_id = ?1 AND phase_id = ?2 AND sandbox_run_id = ?3 AND state = 'open';
-- name: set_agent_layer
UPDATE attempts SET agent_layer = ?4 WHERE run_id = ?1 AND phase_id = ?2 AND attempt_id = ?3;
-- name: insert_usage
INSERT INTO usage (run_id, phase_id, attempt_id, told_seq, line, episode) VALUES (?1, ?2, ?3, ?4, ?5, ?6);
-- name: set_told
UPDATE attempts SET told_seq = ?4 WHERE run_id = ?1 AND phase_id = ?2 AND attempt_id = ?3 AND told_seq < ?4;
-- name: owe
INSERT INTO owed (sandbox_run_id, run_id, phase_id) VALUES (?1, ?2, ?3);
-- name: settle_usage
DELETE FROM owed WHERE sandbox_run_id = ?1;
-- name: insert_cost
INSERT INTO cost (run_id, sandbox_run_id, line) VALUES (?1, ?2, ?3);
-- name: insert_ledger
INSERT INTO ledger (run_id, chain, seq, hash, line) VALUES (?1, ?2, ?3, ?4, ?5);
-- name: seal_end
UPDATE open_chains SET seal = ?3 WHERE run_id = ?1 AND chain = ?2;
-- name: seal_of_end
SELECT seal FROM open_chains WHERE run_id = ?1 AND chain = ?2;
-- name: close_chain
DELETE FROM open_chains WHERE run_id = ?1 AND chain = ?2;
-- name: open_chains_of_run
SELECT chain FROM open_chains WHERE run_id = ?1 ORDER BY chain;
-- name: upsert_head
INSERT INTO heads (run_id, body, public_key, signature) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (run_id) DO UPDATE SET body = excluded.body, public_key = excluded.public_key, signature = excluded.signature;
