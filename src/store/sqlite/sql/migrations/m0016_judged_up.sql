-- A digest of the failure of an attempt, for comparison with the next attempts.
ALTER TABLE attempts ADD COLUMN failure TEXT NOT NULL DEFAULT '';
-- The round, and the place in accepted work, on which a passed attempt is judged again.
ALTER TABLE attempts ADD COLUMN joined_round INTEGER NOT NULL DEFAULT 0 CHECK (joined_round >= 0);
ALTER TABLE attempts ADD COLUMN joined_merge_seq INTEGER NOT NULL DEFAULT 0 CHECK (joined_merge_seq >= 0);
