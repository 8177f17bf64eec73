ALTER TABLE attempts DROP COLUMN failure;
ALTER TABLE attempts DROP COLUMN joined_merge_seq;
ALTER TABLE attempts DROP COLUMN joined_round;
