-- An attempt listed each layer of its base. In a long run that list was longer than all else stored of the
-- attempt. Accepted layers never change, so a place in their order says the same.
ALTER TABLE attempts ADD COLUMN base_merge_seq INTEGER NOT NULL DEFAULT 0 CHECK (base_merge_seq >= 0);
ALTER TABLE attempts ADD COLUMN base_has_own_tier INTEGER NOT NULL DEFAULT 0 CHECK (base_has_own_tier IN (0, 1));
-- An attempt of a parallel tier has the layers of its own tier after an overlap (.merge) failed the one
-- before.
UPDATE attempts SET base_has_own_tier = 1
WHERE EXISTS (SELECT 1 FROM phases JOIN tiers ON tiers.run_id = phases.run_id AND tiers.tier_index = phases.tier_index
              WHERE phases.run_id = attempts.run_id AND phases.phase_id = attempts.phase_id AND tiers.parallel = 0)
  OR EXISTS (SELECT 1 FROM attempts AS before
             WHERE before.run_id = attempts.run_id AND before.phase_id = attempts.phase_id
               AND before.number = attempts.number - 1 AND before.failing_signals LIKE '%.merge"%');
-- The place of the last layer, when as many are counted as the old list has.
UPDATE attempts SET base_merge_seq = COALESCE(
  (SELECT merge_seq FROM (
     SELECT merge_seq, ROW_NUMBER() OVER (ORDER BY merge_seq) AS place FROM accepted_layers
     WHERE accepted_layers.run_id = attempts.run_id AND layer_id <> ''
       AND (attempts.base_has_own_tier
            OR (SELECT tier_index FROM phases
                WHERE phases.run_id = attempts.run_id AND phases.phase_id = accepted_layers.phase_id)
             < (SELECT tier_index FROM phases WHERE phases.run_id = attempts.run_id AND phases.phase_id = attempts.phase_id)))
   WHERE place = json_array_length(attempts.base_layers)), 0)
WHERE base_layers <> '[]';
ALTER TABLE attempts DROP COLUMN base_layers;
