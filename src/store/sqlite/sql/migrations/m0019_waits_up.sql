-- An execution of a step that ends in a wait for the provider of a model is not spent: a step may have as many
-- more as its attempt has waits. m0017 says why the text of the table's statement is changed.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, 'CHECK (execution BETWEEN 1 AND 3)', 'CHECK (execution BETWEEN 1 AND 103)')
WHERE type = 'table' AND name = 'steps';
PRAGMA writable_schema = RESET;
CREATE TABLE schema_changed (x INTEGER) STRICT;
DROP TABLE schema_changed;
