#include "views/costs.h"

#include <fmt/format.h>

#include <limits>
#include <optional>
#include <type_traits>
#include <utility>

#include "base/money.h"
#include "os/defences.h"
#include "os/file.h"
#include "os/state_folder.h"
#include "store/cost_row.h"
#include "store/marker.h"
#include "views/stated_costs.h"

namespace pawl::views {
namespace {

constexpr std::uint64_t kPricesBytesMax = 1 << 20;
constexpr std::int64_t kPriceMax = 1000 * kNanosOfUsd;  // for a million tokens

Result<std::int64_t> milliseconds_of(const store::StepRow& step) {
  if (step.state == store::StepState::kDone) {
    auto run = parse_json(step.run);
    const auto took = run ? run->find("duration_ms") : Json::iterator();
    if (!run || took == run->end() || !took->is_number_unsigned())
      return fail(ErrorKind::kForged, "the result of step " + step.sandbox_run_id + " has no duration_ms");
    return integer_in(*run, "duration_ms");
  }
  return store::charged_ms_of_lost(step, parse_rfc3339(step.ended_at));
}

struct Step {
  std::string phase, model;
  Sum sum;
};

// Says which file of the run's export has it, and what to do.
std::unexpected<Error> forged(const std::string& file, const std::string& run_id, const std::string& fault) {
  return fail(ErrorKind::kForged,
              fmt::format("{} of run {}: {}; `pawl verify {}` names all that differs: restore "
                          "the state folder from a backup",
                          file, run_id, fault, run_id));
}

// Returns the steps by sandbox_run_id. Counts completed phases and passed attempts in `to`.
Result<std::map<std::string, Step>> steps_of(store::Reader& store, const std::string& run_id,
                                             const std::optional<StatedCosts>& stated, Costs& to) {
  std::map<std::string, Step> out;
  PAWL_TRY(const auto phases, store.phases(run_id));
  for (const auto& phase : phases) {
    if (phase.state == store::PhaseState::kComplete) ++to.completed_phases;
    std::map<std::string, std::string> models;
    PAWL_TRY(const auto attempts, store.attempts(run_id, phase.phase_id));
    for (const auto& attempt : attempts) {
      models[attempt.attempt_id] = attempt.model;
      if (attempt.verdict == store::AttemptVerdict::kPassed) ++to.passed_attempts;
    }
    PAWL_TRY(const auto steps, store.steps(run_id, phase.phase_id));
    for (const auto& step : steps) {
      PAWL_TRY(const std::int64_t took, milliseconds_of(step));
      if (const auto fault = stated ? stated->differs(step, took) : ""; !fault.empty())
        return forged(os::kDatabaseFile, run_id, fault);
      out[step.sandbox_run_id] = {
          .phase = phase.phase_id,
          .model = models[step.attempt_id],
          .sum = {.steps = 1, .lost = step.state == store::StepState::kLost ? 1 : 0, .sandbox_ms = took}};
    }
  }
  return out;
}

// The keys under which one row counts.
struct Place {
  std::string workflow, isolation, gate, phase, model, at;
};

void add(const Place& place, const Sum& sum, Costs& to) {
  to.total.add(sum);
  const auto word = [](const std::string& text) { return text.empty() ? "-" : text; };
  // In the order of kDimensions. The id of a workflow has no slash.
  const std::array<std::string, kDimensions.size()> keys = {
      word(place.workflow),  word(place.isolation), word(place.workflow) + "/" + word(place.isolation),
      word(place.gate),      word(place.phase),     word(place.model),
      place.at.substr(0, 10)};
  for (std::size_t i = 0; i < keys.size(); ++i) to.by[i][keys[i]].add(sum);
}

// Each part is rounded down to a billionth of a dollar.
std::int64_t priced(const Sum& sum, const Price& price) {
  constexpr std::int64_t kMillion = 1'000'000;
  // Prices are at most kPriceMax, so that the product for a part of a million does not overflow.
  const auto part = [](std::int64_t tokens, std::int64_t each) {
    constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
    const std::int64_t millions = tokens / kMillion;
    const std::int64_t whole = each > 0 && millions > kMax / each ? kMax : millions * each;
    return sum_at_most_max(whole, tokens % kMillion * each / kMillion);
  };
  return sum_at_most_max(
      part(sum.input_tokens, price.input),
      sum_at_most_max(part(sum.output_tokens, price.output), part(sum.cached_tokens, price.cached)));
}

Sum sum_of(const store::UsageFacts& usage, const Prices& prices) {
  if (usage.is_unknown) return {.unknown = 1};
  Sum sum{.input_tokens = usage.input_tokens,
          .output_tokens = usage.output_tokens,
          .cached_tokens = usage.cached_tokens};
  const auto price = prices.find(usage.model);
  if (usage.usd_nanos)
    sum.usd_nanos = *usage.usd_nanos;
  else if (price != prices.end())
    sum.usd_nanos = priced(sum, price->second);
  else
    sum.unpriced = 1;
  return sum;
}

// Reads each row of `lines` with `read`. kForged names the file of the run's export and the row in it.
template <typename Facts>
Result<StatedCosts::Lines<Facts>> all_of(std::vector<std::string>&& lines,
                                         Result<Facts> (*read)(std::string_view), const std::string& run_id,
                                         const std::optional<StatedCosts>& stated) {
  const std::string file =
      std::is_same_v<Facts, store::CostFacts> ? "cost/sandbox.jsonl" : "cost/agent.jsonl";
  StatedCosts::Lines<Facts> out{.lines = std::move(lines), .facts = {}};
  for (const auto& line : out.lines) {
    auto facts = read(line);
    const std::string fault = !facts                    ? facts.error().message
                              : facts->run_id != run_id ? "it is a row of another run"
                                                        : "";
    if (!fault.empty()) return forged(fmt::format("{}, row {}", file, out.facts.size() + 1), run_id, fault);
    out.facts.push_back(*std::move(facts));
  }
  if (const auto fault = stated ? stated->differs(out) : ""; !fault.empty())
    return forged(file, run_id, fault);
  return out;
}

struct Tables {
  StatedCosts::Lines<store::CostFacts> costs;
  StatedCosts::Lines<store::UsageFacts> usage;
  std::map<std::string, Step> steps;
};

// A run that goes on may write between two reads.
Result<Tables> tables_of(store::Reader& store, const std::string& run_id, Costs& to) {
  Tables out;
  PAWL_OK(store.read_together([&]() -> Status {
    std::optional<StatedCosts> stated;
    if (os::defences().costs) {
      PAWL_TRY(stated, StatedCosts::read(store, run_id));
    }
    PAWL_TRY(auto usage, store.usage_rows(run_id, 0));
    PAWL_TRY(out.usage, all_of(std::move(usage), store::read_usage_line, run_id, stated));
    PAWL_TRY(auto costs, store.cost_rows(run_id, 0));
    PAWL_TRY(out.costs, all_of(std::move(costs), store::read_cost_row, run_id, stated));
    PAWL_TRY(out.steps, steps_of(store, run_id, stated, to));
    return {};
  }));
  return out;
}

}  // namespace

Status add_run_costs(store::Reader& store, const std::string& run_id, const Prices& prices, Costs& to) {
  PAWL_TRY(auto tables, tables_of(store, run_id, to));
  auto& steps = tables.steps;
  std::map<std::string, std::string> isolation;  // the counted steps', by sandbox_run_id
  for (const auto& row : tables.costs.facts) {
    const auto step = steps.find(row.sandbox_run_id);
    if (step == steps.end() || !isolation.emplace(row.sandbox_run_id, row.gate_isolation_class).second)
      return forged(
          "cost/sandbox.jsonl", run_id,
          fmt::format("{} {}", step == steps.end() ? "no step was started as" : "a second row of step",
                      row.sandbox_run_id));
    step->second.sum.microvm_ms = row.microvm_milliseconds;
    add({.workflow = row.workflow_id,
         .isolation = row.gate_isolation_class,
         .gate = row.gate_id,
         .phase = step->second.phase,
         .model = step->second.model,
         .at = rfc3339(row.emitted_at)},
        step->second.sum, to);
  }
  for (const auto& used : tables.usage.facts)
    add({.workflow = used.workflow_id,
         .isolation = isolation[used.sandbox_run_id],
         .gate = "agent",
         .phase = used.phase_id,
         .model = used.is_unknown ? steps[used.sandbox_run_id].model : used.model,
         .at = used.emitted_at},
        sum_of(used, prices), to);
  return {};
}

Json to_json(const Sum& sum) {
  return {{"steps", sum.steps},
          {"lost_steps", sum.lost},
          {"sandbox_milliseconds", sum.sandbox_ms},
          {"microvm_milliseconds", sum.microvm_ms},
          {"input_tokens", sum.input_tokens},
          {"output_tokens", sum.output_tokens},
          {"cached_tokens", sum.cached_tokens},
          {"usd", usd_text(sum.usd_nanos)},
          {"unknown_executions", sum.unknown},
          {"unpriced_rows", sum.unpriced}};
}

Json to_json(const Costs& costs) {
  Json out = to_json(costs.total);
  out["completed_phases"] = costs.completed_phases;
  out["passed_attempts"] = costs.passed_attempts;
  const auto per = [&](std::int64_t count) {
    return count == 0 ? Json() : Json(costs.total.sandbox_ms / count);
  };
  out["sandbox_milliseconds_per_completed_phase"] = per(costs.completed_phases);
  out["sandbox_milliseconds_per_passed_attempt"] = per(costs.passed_attempts);
  for (std::size_t i = 0; i < kDimensions.size(); ++i) {
    Json& table = out["by"][kDimensions[i]] = Json::object();
    for (const auto& [key, sum] : costs.by[i]) table[key] = to_json(sum);
  }
  return out;
}

void Sum::add(const Sum& other) {
  steps += other.steps;
  lost += other.lost;
  sandbox_ms = sum_at_most_max(sandbox_ms, other.sandbox_ms);
  microvm_ms = sum_at_most_max(microvm_ms, other.microvm_ms);
  input_tokens = sum_at_most_max(input_tokens, other.input_tokens);
  output_tokens = sum_at_most_max(output_tokens, other.output_tokens);
  cached_tokens = sum_at_most_max(cached_tokens, other.cached_tokens);
  usd_nanos = sum_at_most_max(usd_nanos, other.usd_nanos);
  unknown += other.unknown;
  unpriced += other.unpriced;
}

Result<Prices> read_prices(const std::string& file) {
  PAWL_TRY(const std::string text, os::read_file(file, kPricesBytesMax));
  auto json = parse_json(text);
  const auto wrong = [&](const std::string& what) {
    return fail(ErrorKind::kInvalid, file + ": " + what +
                                         "; a price file is {\"MODEL\": {\"input\": \"3.00\", \"output\": "
                                         "\"15.00\", \"cached\": \"0.30\"}}, "
                                         "in dollars for a million tokens");
  };
  if (!json) return wrong(json.error().message);
  if (!json->is_object()) return wrong("it is no JSON object");
  Prices out;
  for (const auto& [model, price] : json->items()) {
    if (!price.is_object()) return wrong(model + " is no JSON object");
    for (const auto& [key, value] : price.items()) {
      const auto price_of = value.is_string() ? parse_usd(value.get<std::string>()) : std::nullopt;
      const std::int64_t nanos = price_of.value_or(kPriceMax + 1);
      if (nanos > kPriceMax)
        return wrong(model + "." + key + " is no decimal in quotes of at most 1000 dollars");
      if (key != "input" && key != "output" && key != "cached") return wrong(model + ": unknown key " + key);
      auto& of = out[model];
      (key == "input" ? of.input : key == "output" ? of.output : of.cached) = nanos;
    }
  }
  return out;
}

}  // namespace pawl::views
