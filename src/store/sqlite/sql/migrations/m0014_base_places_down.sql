ALTER TABLE attempts ADD COLUMN base_layers TEXT NOT NULL DEFAULT '[]';
UPDATE attempts SET base_layers = (
  SELECT json_group_array(layer_id) FROM (
    SELECT layer_id FROM accepted_layers
    WHERE accepted_layers.run_id = attempts.run_id AND merge_seq <= attempts.base_merge_seq AND layer_id <> ''
      AND (attempts.base_has_own_tier
           OR (SELECT tier_index FROM phases
               WHERE phases.run_id = attempts.run_id AND phases.phase_id = accepted_layers.phase_id)
            < (SELECT tier_index FROM phases WHERE phases.run_id = attempts.run_id AND phases.phase_id = attempts.phase_id))
    ORDER BY merge_seq DESC));
ALTER TABLE attempts DROP COLUMN base_merge_seq;
ALTER TABLE attempts DROP COLUMN base_has_own_tier;
