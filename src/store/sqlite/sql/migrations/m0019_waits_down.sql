DELETE FROM steps WHERE execution > 3;
UPDATE phases SET not_before = '' WHERE not_before = '9999-12-31T23:59:59.999999Z';
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, 'CHECK (execution BETWEEN 1 AND 103)', 'CHECK (execution BETWEEN 1 AND 3)')
WHERE type = 'table' AND name = 'steps';
PRAGMA writable_schema = RESET;
CREATE TABLE schema_changed (x INTEGER) STRICT;
DROP TABLE schema_changed;
