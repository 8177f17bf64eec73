-- name: insert_budget
INSERT INTO budgets (run_id, unit, cap) VALUES (?1, ?2, ?3);
-- name: budgets_of_run
SELECT unit, cap, spent, reserved FROM budgets WHERE run_id = ?1 ORDER BY unit;
-- name: select_budget
SELECT unit, cap, spent, reserved FROM budgets WHERE run_id = ?1 AND unit = ?2;
-- name: reserve_budget
UPDATE budgets SET reserved = reserved + ?3 WHERE run_id = ?1 AND unit = ?2;
-- name: settle_budget
UPDATE budgets SET spent = spent + ?3, reserved = reserved - ?4 WHERE run_id = ?1 AND unit = ?2;
-- name: set_cap
UPDATE budgets SET cap = ?3 WHERE run_id = ?1 AND unit = ?2;
