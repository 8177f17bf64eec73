-- name: phases_stopped_by
SELECT {phases}
FROM phases WHERE run_id = ?1 AND state = 'SKIPPED' AND last_failure_reason = ?2 ORDER BY tier_index, phase_index;
-- name: insert_run
INSERT INTO runs (run_id, workflow_id, plan_text, plan_file, plan_content, source_path, base_id, base_commit, backend,
  created_at)
VALUES (?1, ?2, '', ?3, ?4, ?5, ?6, ?7, ?8, ?9);
-- name: insert_tier
INSERT INTO tiers (run_id, tier_index, name, stop_on_failure, parallel) VALUES (?1, ?2, ?3, ?4, ?5);
-- name: insert_phase
INSERT INTO phases (run_id, phase_id, tier_index, phase_index, max_attempts) VALUES (?1, ?2, ?3, ?4, ?5);
-- name: upsert_inventory
-- The caller puts a key only when no valid text is stored: a row that is there lacks this folder's signature.
INSERT INTO inventories (key, names) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET names = excluded.names;
