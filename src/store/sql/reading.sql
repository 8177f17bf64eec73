-- name: select_run
SELECT {runs}
FROM runs WHERE run_id = ?1;
-- name: newest_run_start
SELECT run_id, hash FROM ledger
WHERE run_id = (SELECT MAX(run_id) FROM runs) AND chain = '' AND seq = 1;
-- name: newest_runs
SELECT {runs}
FROM runs ORDER BY run_id DESC LIMIT ?1;
-- name: lost_runs
SELECT run_id FROM ledger UNION SELECT run_id FROM heads UNION SELECT run_id FROM steps UNION SELECT run_id FROM cost
EXCEPT SELECT run_id FROM runs ORDER BY run_id;
-- name: tiers_of_run
SELECT tier_index, name, stop_on_failure, parallel FROM tiers WHERE run_id = ?1 ORDER BY tier_index;
-- name: phases_of_run
SELECT {phases}
FROM phases WHERE run_id = ?1 ORDER BY tier_index, phase_index;
-- name: ended_phases
-- Tests both columns: an open phase has no outcome and no terminal state.
SELECT phase_id, state, outcome,
    coalesce((SELECT max(seq) FROM ledger WHERE ledger.run_id = ?1 AND ledger.chain = phases.phase_id), 0)
FROM phases WHERE run_id = ?1 AND (outcome <> '' OR state IN ('COMPLETE', 'FAILED', 'SKIPPED', 'CANCELLED'));
-- name: places_of_phases
SELECT phase_id, tier_index, phase_index FROM phases WHERE run_id = ?1 ORDER BY tier_index, phase_index;
-- name: phase_ids_of_run
SELECT phase_id FROM phases WHERE run_id = ?1 ORDER BY tier_index, phase_index;
-- name: first_phases_of_run
SELECT {phases}
FROM phases WHERE run_id = ?1 ORDER BY tier_index, phase_index LIMIT ?2;
-- name: attempts_of_phase_before
SELECT {attempts}
FROM attempts WHERE run_id = ?1 AND phase_id = ?2 AND number < ?3 ORDER BY number DESC LIMIT ?4;
-- name: steps_in_attempt
SELECT {steps}
FROM steps WHERE run_id = ?1 AND phase_id = ?3 AND attempt_id = ?2 ORDER BY step_index, execution;
-- name: attempts_of_phase
SELECT {attempts}
FROM attempts WHERE run_id = ?1 AND phase_id = ?2 ORDER BY number;
-- name: steps_of_phase
SELECT {steps}
FROM steps WHERE run_id = ?1 AND phase_id = ?2;
-- name: all_open_steps
SELECT {steps}
FROM steps WHERE state = 'open';
-- name: open_steps_of_run
SELECT {steps}
FROM steps WHERE run_id = ?1 AND state = 'open';
-- name: any_episode_of_attempt
SELECT 1 FROM episodes WHERE run_id = ?1 AND phase_id = ?2 AND attempt_id = ?3 LIMIT 1;
-- name: episodes_of_phase
SELECT attempt_id, episode, outcome, gates_passed, failing_signals, changed_lines, kept_by
FROM episodes WHERE run_id = ?1 AND phase_id = ?2 ORDER BY attempt_id, episode;
-- name: layers_of_run
SELECT phase_id, layer_id, merge_seq FROM accepted_layers WHERE run_id = ?1 ORDER BY merge_seq;
-- name: layers_of_base
SELECT layer_id FROM accepted_layers
WHERE run_id = ?1 AND merge_seq <= ?3 AND layer_id <> ''
  AND (?4 OR (SELECT tier_index FROM phases WHERE phases.run_id = ?1 AND phases.phase_id = accepted_layers.phase_id)
           < (SELECT tier_index FROM phases WHERE run_id = ?1 AND phase_id = ?2))
ORDER BY merge_seq DESC;
-- name: layers_beside_base
SELECT phase_id, layer_id, merge_seq FROM accepted_layers
WHERE run_id = ?1 AND merge_seq > ?5 AND layer_id <> ''
  AND (merge_seq > ?3
       OR (SELECT tier_index FROM phases WHERE phases.run_id = ?1 AND phases.phase_id = accepted_layers.phase_id)
          >= (SELECT tier_index FROM phases WHERE run_id = ?1 AND phase_id = ?2))
ORDER BY merge_seq LIMIT ?4;
-- name: select_head
SELECT body, public_key, signature FROM heads WHERE run_id = ?1;
-- name: cost_of_all
-- Rows are never deleted, so cost_seq counts them from 1.
SELECT line FROM cost WHERE cost_seq > ?1 ORDER BY cost_seq;
-- name: usage_of_all
-- Rows are never deleted, so usage_seq counts them from 1.
SELECT line FROM usage WHERE usage_seq > ?1 ORDER BY usage_seq;
-- name: select_inventory
SELECT names FROM inventories WHERE key = ?1;
