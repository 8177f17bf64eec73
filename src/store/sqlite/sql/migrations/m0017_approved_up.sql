-- A phase whose work an operator accepted is `approved`, not `passed`. A CHECK cannot be altered, and writing
-- a table of a million phases anew for one word takes too long. So the text of the table's statement is
-- changed (https://www.sqlite.org/lang_altertable.html, "Making Other Kinds Of Table Schema Changes").
-- Creating and dropping a table makes every connection read the schema again.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql, 'outcome = ''passed'' OR', 'outcome = ''passed'' OR outcome = ''approved'' OR')
WHERE type = 'table' AND name = 'phases';
PRAGMA writable_schema = RESET;
CREATE TABLE schema_changed (x INTEGER) STRICT;
DROP TABLE schema_changed;
