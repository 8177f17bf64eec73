#include "store/cost_row.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/money.h"

namespace pawl::store {

std::string cost_row(const CostFacts& facts) {
  const auto quoted = [](const std::string& text) {
    std::string out;
    append_json_string(out, text);
    return out;
  };
  // By hand, not by canonical(): microvm_seconds is the one decimal that Pawl writes, always with three
  // digits.
  return fmt::format(
      R"({{"backend":{},"build_cache_hit":{},"emitted_at":"{}","entry_type":"cost.sandbox.run","gate_id":{},)"
      R"("gate_isolation_class":{},"image_pull_bytes":{},"microvm_seconds":{}.{:03},"run_id":{},)"
      R"("sandbox_run_id":{},"workflow_id":{}}})",
      quoted(facts.backend), facts.build_cache_hit, rfc3339(facts.emitted_at), quoted(facts.gate_id),
      quoted(facts.gate_isolation_class), facts.image_pull_bytes, facts.microvm_milliseconds / 1000,
      facts.microvm_milliseconds % 1000, quoted(facts.run_id), quoted(facts.sandbox_run_id),
      quoted(facts.workflow_id));
}

std::string usage_line(const UsageFacts& facts) {
  return canonical({{"entry_type", "cost.agent.usage"},
                    {"workflow_id", facts.workflow_id},
                    {"run_id", facts.run_id},
                    {"phase_id", facts.phase_id},
                    {"attempt_id", facts.attempt_id},
                    {"sandbox_run_id", facts.sandbox_run_id},
                    {"usage_id", facts.usage_id},
                    {"model", facts.model},
                    {"source", facts.source},
                    {"input_tokens", facts.input_tokens},
                    {"output_tokens", facts.output_tokens},
                    {"cached_tokens", facts.cached_tokens},
                    {"usd", facts.usd_nanos ? usd_text(*facts.usd_nanos) : ""},
                    {"emitted_at", facts.emitted_at}});
}

}  // namespace pawl::store
