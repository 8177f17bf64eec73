-- What failed in an attempt, to be compared with the next ones.
ALTER TABLE attempts ADD COLUMN failure TEXT NOT NULL DEFAULT '';
-- Where an attempt that passed is judged again, on top of what was accepted meanwhile.
ALTER TABLE attempts ADD COLUMN joined_round INTEGER NOT NULL DEFAULT 0 CHECK (joined_round >= 0);
ALTER TABLE attempts ADD COLUMN joined_merge_seq INTEGER NOT NULL DEFAULT 0 CHECK (joined_merge_seq >= 0);
