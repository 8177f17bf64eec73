-- A phase whose work a person took is `approved`, not `passed`. A CHECK can't be altered, and a table of a million phases is not
-- written anew for a word: the statement of the table is (https://www.sqlite.org/lang_altertable.html, "Making Other Kinds Of
-- Table Schema Changes"). A table that comes and goes makes everybody read the schema again.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, 'outcome = ''passed'' OR', 'outcome = ''passed'' OR outcome = ''approved'' OR')
WHERE type = 'table' AND name = 'phases';
PRAGMA writable_schema = RESET;
CREATE TABLE schema_changed (x INTEGER) STRICT;
DROP TABLE schema_changed;
