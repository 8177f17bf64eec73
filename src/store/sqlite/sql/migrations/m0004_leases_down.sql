DROP TABLE refusals;
ALTER TABLE phases DROP COLUMN lease_until_mono;
ALTER TABLE phases DROP COLUMN lease_mono_id;
