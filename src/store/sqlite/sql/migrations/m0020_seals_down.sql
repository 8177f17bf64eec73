ALTER TABLE open_chains DROP COLUMN seal;
