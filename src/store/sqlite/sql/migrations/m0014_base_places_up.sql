-- An attempt named each layer that it works on: in a long run such a row was longer than all else that is kept of it. What
-- is accepted is never changed, so a place says the same.
ALTER TABLE attempts ADD COLUMN base_merge_seq INTEGER NOT NULL DEFAULT 0 CHECK (base_merge_seq >= 0);
ALTER TABLE attempts ADD COLUMN base_has_own_tier INTEGER NOT NULL DEFAULT 0 CHECK (base_has_own_tier IN (0, 1));
-- One of a parallel tier that was sent back for an overlap has its own tier's, too.
UPDATE attempts SET base_has_own_tier = 1
WHERE EXISTS (SELECT 1 FROM phases JOIN tiers ON tiers.run_id = phases.run_id AND tiers.tier_index = phases.tier_index
              WHERE phases.run_id = attempts.run_id AND phases.phase_id = attempts.phase_id AND tiers.parallel = 0)
  OR EXISTS (SELECT 1 FROM attempts AS before
             WHERE before.run_id = attempts.run_id AND before.phase_id = attempts.phase_id
               AND before.number = attempts.number - 1 AND before.failing_signals LIKE '%.merge"%');
-- The place of the last of as many as were named.
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
