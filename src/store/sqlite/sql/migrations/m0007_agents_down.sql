ALTER TABLE steps DROP COLUMN reserved_usd_nanos;
ALTER TABLE steps DROP COLUMN reserved_tokens;
DROP TABLE usage;
ALTER TABLE attempts DROP COLUMN told_seq;
