// Costs of runs: cost and usage rows, joined with their steps, and summed by the dimensions that people ask
// for.
#pragma once

#include <array>
#include <map>
#include <string>

#include "base/error.h"
#include "base/json.h"
#include "store/reader.h"

namespace pawl::views {

struct Sum {
  std::int64_t steps = 0, lost = 0, sandbox_ms = 0, microvm_ms = 0;
  std::int64_t input_tokens = 0, output_tokens = 0, cached_tokens = 0;
  std::int64_t usd_nanos = 0;
  std::int64_t unknown = 0;   // executions of agents that used more than the sums say, an unknown amount
  std::int64_t unpriced = 0;  // usage rows without reported money and without a known price
  void add(const Sum& other);
};

constexpr std::array kDimensions = {"workflow", "isolation", "workflow/isolation", "gate", "phase",
                                    "model",    "day"};

struct Costs {
  Sum total;
  std::array<std::map<std::string, Sum>, kDimensions.size()> by;
  std::int64_t completed_phases = 0, passed_attempts = 0;
};

// Dollars for a million tokens, by model: {"MODEL": {"input": "3.00", "output": "15.00", "cached": "0.30"}}.
// They price usage whose money the agent did not report.
struct Price {
  std::int64_t input = 0, output = 0, cached = 0;  // billionths of a dollar for a million
};
using Prices = std::map<std::string, Price>;
// kInvalid names the file and what is wrong with it.
Result<Prices> read_prices(const std::string& file);

// Adds the costs of one run to `to`. kForged: a row can't be read, or is not the one that the run's ledger names.
// The ledger's own rows are not verified, which costs more than all sums.
Status add_run_costs(store::Reader& store, const std::string& run_id, const Prices& prices, Costs& to);
Json to_json(const Sum& sum);
Json to_json(const Costs& costs);

}  // namespace pawl::views
