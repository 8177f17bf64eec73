-- A keyed hash of the end of each open chain (RowSealer::seal_of_end). Only rows before a signed head had a key
-- behind them. SQL has no key: the program that migrates seals the ends that are there.
ALTER TABLE open_chains ADD COLUMN seal TEXT NOT NULL DEFAULT '';
