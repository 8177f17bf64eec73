-- name: insert_plan
INSERT INTO plans (run_id, common, text) VALUES (?1, ?2, ?3);
-- name: set_common
UPDATE plans SET common = ?2 WHERE run_id = ?1 AND common = '';
-- name: insert_planned_phase
INSERT INTO planned_phases (run_id, tier_index, phase_index, row) VALUES (?1, ?2, ?3, ?4) ON CONFLICT DO NOTHING;
-- name: plan_text
SELECT text FROM plans WHERE run_id = ?1;
-- name: planned_common
SELECT common FROM plans WHERE run_id = ?1;
-- name: any_planned_phase
SELECT 1 FROM planned_phases WHERE run_id = ?1 LIMIT 1;
-- name: planned_row
SELECT row FROM planned_phases WHERE run_id = ?1 AND tier_index = ?2 AND phase_index = ?3;
