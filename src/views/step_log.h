// The output of a step, its trace and its network log.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "views/views.h"

namespace pawl::views {

enum class StepRecord { kOutput, kTrace, kNetwork };

struct StepText {
  std::string text;         // as the step wrote it; any bytes
  bool is_removed = false;  // gc removed it, so there is no text
};
// Returns the record of a step as far as it goes; empty before the first output. kForged: the stored record
// was changed. kExhausted: it is larger than an output can be.
Result<StepText> text_of(const State& state, const store::StepRow& step, StepRecord record);

// Selects steps of one attempt.
struct StepsOf {
  std::string run_id, phase_id;
  std::int64_t attempt = 0;  // 0: the newest
  std::int64_t episode = 0;  // 0: all
};
// In the order in which they began. No value: the phase has no such attempt.
Result<std::optional<std::vector<store::StepRow>>> steps_of(store::Reader& store, const StepsOf& which);

// An entry of `steps` of `pawl logs --json`.
Json to_json(const store::StepRow& step, const std::string& text);

}  // namespace pawl::views
