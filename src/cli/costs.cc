#include "cli/costs.h"

#include <algorithm>
#include <limits>

#include "base/money.h"
#include "os/file.h"

namespace pawl::cli {
namespace {

constexpr std::uint64_t kPricesBytesMax = 1 << 20;
constexpr std::int64_t kPriceMax = 1000 * kNanosOfUsd;  // of a million tokens

// A step that was lost ran for no longer than it might, and than ago it began: the store settles its budget
// so, too.
std::int64_t milliseconds_of(const store::StepRow& step) {
  if (step.state == store::StepState::kDone) {
    const auto run = parse_json(step.run);
    return run ? integer_in(*run, "duration_ms") : 0;
  }
  const auto started = parse_rfc3339(step.started_at), ended = parse_rfc3339(step.ended_at);
  if (!started || !ended || *ended < *started) return step.reserved_ms;
  return std::min((ended->micros - started->micros) / 1000, step.reserved_ms);
}

struct Step {
  std::string phase, model;
  Sum sum;
};

// By sandbox_run_id.
Result<std::map<std::string, Step>> steps_of(store::Store& store, const std::string& run_id, Costs& to) {
  std::map<std::string, Step> out;
  PAWL_TRY(const auto phases, store.phases(run_id));
  for (const auto& phase : phases) {
    if (phase.state == store::PhaseState::kComplete) ++to.completed_phases;
    std::map<std::string, std::string> models;
    PAWL_TRY(const auto attempts, store.attempts(run_id, phase.phase_id));
    for (const auto& attempt : attempts) {
      models[attempt.attempt_id] = attempt.model;
      if (attempt.verdict == "passed") ++to.passed_attempts;
    }
    PAWL_TRY(const auto steps, store.steps(run_id, phase.phase_id));
    for (const auto& step : steps)
      out[step.sandbox_run_id] = {.phase = phase.phase_id,
                                  .model = models[step.attempt_id],
                                  .sum = {.steps = 1,
                                          .lost = step.state == store::StepState::kLost ? 1 : 0,
                                          .sandbox_ms = milliseconds_of(step)}};
  }
  return out;
}

using Keys = std::array<std::string, kDimensions.size()>;  // of one row, in their order

void add(const Keys& keys, const Sum& sum, Costs& to) {
  to.total.add(sum);
  for (std::size_t i = 0; i < keys.size(); ++i) to.by[i][keys[i].empty() ? "-" : keys[i]].add(sum);
}

// Each part rounded down to a billionth of a dollar.
std::int64_t priced(const Sum& sum, const Price& price) {
  constexpr std::int64_t kMillion = 1'000'000;
  // Prices are at most kPriceMax, so that no product of a part of a million overflows.
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

Sum sum_of_usage(const Json& cost, const Prices& prices) {
  Sum sum{.input_tokens = integer_in(cost, "input_tokens"),
          .output_tokens = integer_in(cost, "output_tokens"),
          .cached_tokens = integer_in(cost, "cached_tokens")};
  const auto price = prices.find(text_in(cost, "model"));
  if (const auto told = parse_usd(text_in(cost, "usd")))
    sum.usd_nanos = *told;
  else if (price != prices.end())
    sum.usd_nanos = priced(sum, price->second);
  else
    sum.unpriced = 1;
  return sum;
}

}  // namespace

Status add_run_costs(store::Store& store, const std::string& run_id, const Prices& prices, Costs& to) {
  PAWL_TRY(const auto steps, steps_of(store, run_id, to));
  PAWL_TRY(const auto rows, store.cost_rows(run_id, 0));
  for (const auto& row : rows) {
    // Not parse_json(): microvm_seconds is the one number with decimals that Pawl writes.
    const Json cost = Json::parse(row, nullptr, false);
    if (!cost.is_object())
      return fail(ErrorKind::kCorrupt, "a cost row of run " + run_id + " is no JSON object");
    const auto step = steps.find(text_in(cost, "sandbox_run_id"));
    Step of = step == steps.end() ? Step{.sum = {.steps = 1}} : step->second;
    of.sum.microvm_ms = static_cast<std::int64_t>(cost.value("microvm_seconds", 0.0) * 1000 + 0.5);
    const Keys keys = {text_in(cost, "workflow_id"),
                       text_in(cost, "gate_isolation_class"),
                       text_in(cost, "gate_id"),
                       of.phase,
                       of.model,
                       text_in(cost, "emitted_at").substr(0, 10)};
    add(keys, of.sum, to);
  }
  PAWL_TRY(const auto usage, store.usage_rows(run_id, 0));
  for (const auto& row : usage) {
    PAWL_TRY(const Json cost, parse_json(row));
    const Keys keys = {text_in(cost, "workflow_id"),
                       "",
                       "agent",
                       text_in(cost, "phase_id"),
                       text_in(cost, "model"),
                       text_in(cost, "emitted_at").substr(0, 10)};
    add(keys, sum_of_usage(cost, prices), to);
  }
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
  sandbox_ms += other.sandbox_ms;
  microvm_ms += other.microvm_ms;
  input_tokens = sum_at_most_max(input_tokens, other.input_tokens);
  output_tokens = sum_at_most_max(output_tokens, other.output_tokens);
  cached_tokens = sum_at_most_max(cached_tokens, other.cached_tokens);
  usd_nanos = sum_at_most_max(usd_nanos, other.usd_nanos);
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

}  // namespace pawl::cli
