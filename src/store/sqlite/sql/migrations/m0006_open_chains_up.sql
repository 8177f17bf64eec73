-- The chains whose end is not in a seal: a head signs exactly these. The run's own chain, '', is always one
-- of them.
CREATE TABLE open_chains (
  run_id TEXT NOT NULL REFERENCES runs (run_id),
  chain TEXT NOT NULL,
  PRIMARY KEY (run_id, chain)
) STRICT, WITHOUT ROWID;

INSERT INTO open_chains (run_id, chain)
SELECT DISTINCT ledger.run_id, ledger.chain FROM ledger
LEFT JOIN phases ON phases.run_id = ledger.run_id AND phases.phase_id = ledger.chain
WHERE ledger.chain = '' OR phases.outcome = '';

-- The layers that a claim builds on. Most phases of a run may leave no layer.
CREATE INDEX idx_accepted_layer ON accepted_layers (run_id, merge_seq) WHERE layer_id <> '';
