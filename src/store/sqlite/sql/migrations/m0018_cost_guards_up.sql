-- Rows of cost and usage are written once and stay, in the order in which they were written. The last two
-- triggers are for INSERT OR REPLACE, which removes a row without firing a delete trigger.
CREATE TRIGGER cost_is_final BEFORE UPDATE ON cost
BEGIN SELECT RAISE(ABORT, 'a row of cost is never changed'); END;
CREATE TRIGGER cost_is_kept BEFORE DELETE ON cost
BEGIN SELECT RAISE(ABORT, 'a row of cost is never removed'); END;
CREATE TRIGGER usage_is_final BEFORE UPDATE ON usage
BEGIN SELECT RAISE(ABORT, 'a row of usage is never changed'); END;
CREATE TRIGGER usage_is_kept BEFORE DELETE ON usage
BEGIN SELECT RAISE(ABORT, 'a row of usage is never removed'); END;
CREATE TRIGGER cost_is_appended BEFORE INSERT ON cost WHEN EXISTS (SELECT 1 FROM cost WHERE cost_seq = NEW.cost_seq)
BEGIN SELECT RAISE(ABORT, 'a row of cost is never replaced'); END;
CREATE TRIGGER usage_is_appended BEFORE INSERT ON usage WHEN EXISTS (SELECT 1 FROM usage WHERE usage_seq = NEW.usage_seq)
BEGIN SELECT RAISE(ABORT, 'a row of usage is never replaced'); END;
