// Writer and reader of the lines of cost/sandbox.jsonl and cost/agent.jsonl (docs/ledger-format.md). Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/time.h"

namespace pawl::store {

struct CostFacts {
  std::string workflow_id, run_id, gate_id, sandbox_run_id;
  std::string backend, gate_isolation_class;
  std::int64_t microvm_milliseconds = 0;  // written as seconds with three digits
  std::int64_t image_pull_bytes = 0;
  bool build_cache_hit = false;
  WallTime emitted_at;
};

// Returns one JSON object with sorted keys, without spaces and without a newline. A value that does not apply
// is 0 or false, never null.
std::string cost_row(const CostFacts& facts);
// Accepts exactly the bytes that cost_row() writes. kCorrupt names the member that is unknown, missing, out
// of order or of another type.
Result<CostFacts> read_cost_row(std::string_view line);

// A line of cost/agent.jsonl with this text says that the use of an execution is unknown. No other line has it.
inline constexpr std::string_view kUnknownUsageMark = R"(,"entry_type":"cost.agent.unknown",)";

// The facts of one line of cost/agent.jsonl: the usage of one model call, as the agent reported it.
struct UsageFacts {
  std::string workflow_id, run_id, phase_id, attempt_id, sandbox_run_id;
  std::string usage_id, model, source;
  std::int64_t input_tokens = 0, output_tokens = 0, cached_tokens = 0;
  std::optional<std::int64_t> usd_nanos;  // absent: not reported, and usd is ""
  std::string emitted_at;                 // time of the report
  bool is_unknown = false;                // the line is unknown_usage_line()
};
std::string usage_line(const UsageFacts& facts);
// The line that says that an execution used more than was read, an unknown amount: without id, model and numbers.
std::string unknown_usage_line(const UsageFacts& facts);
// Accepts exactly the bytes that these two write. kCorrupt as for read_cost_row().
Result<UsageFacts> read_usage_line(std::string_view line);

}  // namespace pawl::store
