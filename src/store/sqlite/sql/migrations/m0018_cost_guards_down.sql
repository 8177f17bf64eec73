DROP TRIGGER cost_is_final;
DROP TRIGGER cost_is_kept;
DROP TRIGGER cost_is_appended;
DROP TRIGGER usage_is_final;
DROP TRIGGER usage_is_kept;
DROP TRIGGER usage_is_appended;
