ALTER TABLE steps DROP COLUMN reserved_ms;
DROP TABLE budgets;
