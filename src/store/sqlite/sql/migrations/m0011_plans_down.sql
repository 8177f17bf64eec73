DROP TABLE planned_phases;
UPDATE runs SET plan_text = (SELECT text FROM plans WHERE plans.run_id = runs.run_id);
DROP TABLE plans;
