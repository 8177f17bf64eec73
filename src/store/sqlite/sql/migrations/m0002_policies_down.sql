DROP TABLE revisions;
ALTER TABLE runs DROP COLUMN doctor_calls;
