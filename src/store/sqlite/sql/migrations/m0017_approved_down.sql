UPDATE phases SET outcome = 'passed' WHERE outcome = 'approved';
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, ' OR outcome = ''approved'' OR', ' OR')
WHERE type = 'table' AND name = 'phases';
PRAGMA writable_schema = RESET;
CREATE TABLE schema_changed (x INTEGER) STRICT;
DROP TABLE schema_changed;
