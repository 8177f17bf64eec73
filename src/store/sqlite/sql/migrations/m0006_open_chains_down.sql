DROP INDEX idx_accepted_layer;
DROP TABLE open_chains;
