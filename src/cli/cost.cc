// What a run, or all, cost: the cost rows, joined with the steps they are of, summed by what people ask for.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "cli/context.h"

namespace pawl::cli {
namespace {

constexpr std::size_t kRunsMax = 1'000'000;
constexpr std::size_t kBarWidth = 40;

struct Sum {
  std::int64_t steps = 0, lost = 0, sandbox_ms = 0, microvm_ms = 0;
  void add(const Sum& other) {
    steps += other.steps;
    lost += other.lost;
    sandbox_ms += other.sandbox_ms;
    microvm_ms += other.microvm_ms;
  }
};

constexpr std::array kDimensions = {"workflow", "isolation", "gate", "phase", "model", "day"};
using Keys = std::array<std::string, kDimensions.size()>;  // of one step, in their order

struct Costs {
  Sum total;
  std::array<std::map<std::string, Sum>, kDimensions.size()> by;
  std::int64_t completed_phases = 0, passed_attempts = 0;
};

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

Status add_run_costs(store::Store& store, const std::string& run_id, Costs& to) {
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
    to.total.add(of.sum);
    for (std::size_t i = 0; i < keys.size(); ++i) to.by[i][keys[i].empty() ? "-" : keys[i]].add(of.sum);
  }
  return {};
}

Json to_json(const Sum& sum) {
  return {{"steps", sum.steps},
          {"lost_steps", sum.lost},
          {"sandbox_milliseconds", sum.sandbox_ms},
          {"microvm_milliseconds", sum.microvm_ms}};
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

// RFC 4180.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

void print_csv(const Costs& costs) {
  fmt::print("dimension,key,steps,lost_steps,sandbox_milliseconds,microvm_milliseconds\r\n");
  const auto line = [](const std::string& dimension, const std::string& key, const Sum& sum) {
    fmt::print("{},{},{},{},{},{}\r\n", dimension, csv_field(key), sum.steps, sum.lost, sum.sandbox_ms,
               sum.microvm_ms);
  };
  line("total", "", costs.total);
  for (std::size_t i = 0; i < kDimensions.size(); ++i)
    for (const auto& [key, sum] : costs.by[i]) line(kDimensions[i], key, sum);
}

// In eighths of a character, so that small ones are seen.
std::string bar(std::int64_t value, std::int64_t most) {
  if (most <= 0 || value <= 0) return {};
  constexpr std::array kEighths = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const auto eighths = std::max<std::size_t>(
      1,
      static_cast<std::size_t>(static_cast<double>(value) / static_cast<double>(most) * kBarWidth * 8 + 0.5));
  std::string out;
  for (std::size_t i = 0; i < eighths / 8; ++i) out += "█";
  return out + kEighths[eighths % 8];
}

void print(const Costs& costs, bool plot) {
  fmt::print("{} in sandboxes, {} step(s), {} of them lost\n", duration_text(costs.total.sandbox_ms),
             costs.total.steps, costs.total.lost);
  const auto per = [&](const char* what, std::int64_t count) {
    if (count > 0) fmt::print("{} a {} ({})\n", duration_text(costs.total.sandbox_ms / count), what, count);
  };
  per("completed phase", costs.completed_phases);
  per("passed attempt", costs.passed_attempts);
  for (std::size_t i = 0; i < kDimensions.size(); ++i) {
    fmt::print("\nby {}\n", kDimensions[i]);
    std::size_t width = 5;
    std::int64_t most = 0;
    std::vector<std::pair<std::string, Sum>> rows(costs.by[i].begin(), costs.by[i].end());
    for (const auto& [key, sum] : rows) {
      width = std::max(width, key.size());
      most = std::max(most, sum.sandbox_ms);
    }
    // Days in their order, the others by what they cost.
    if (std::string_view(kDimensions[i]) != "day")
      std::ranges::stable_sort(rows, std::ranges::greater(),
                               [](const auto& row) { return row.second.sandbox_ms; });
    for (const auto& [key, sum] : rows)
      fmt::print("  {:<{}}  {:>8}  {:>6} step(s){}{}\n", key, width, duration_text(sum.sandbox_ms), sum.steps,
                 sum.lost > 0 ? fmt::format(", {} lost", sum.lost) : "",
                 plot ? "  " + bar(sum.sandbox_ms, most) : "");
  }
}

struct CostOptions {
  StateOptions state;
  std::string run;
  bool csv = false, plot = false;
};

Status cost(const CostOptions& options) {
  PAWL_TRY(const State state, open_state(options.state));
  Costs out;
  if (options.run.empty()) {
    PAWL_TRY(const auto runs, state.store->runs(kRunsMax));
    for (const auto& run : runs) PAWL_OK(add_run_costs(*state.store, run.run_id, out));
  } else {
    PAWL_TRY(const std::string run_id, state.store->resolve_run(options.run));
    PAWL_OK(add_run_costs(*state.store, run_id, out));
  }
  if (options.state.json)
    print_json(to_json(out));
  else if (options.csv)
    print_csv(out);
  else
    print(out, options.plot);
  return {};
}

}  // namespace

void add_cost(const Command& program) {
  const Command command =
      program.add("cost", "What a run, or all, cost, by workflow, isolation, gate, phase, model and day");
  auto options = std::make_shared<CostOptions>();
  command.option("RUN", options->run, std::string(kRunHelp) + " (else all)");
  command.flag("--csv", options->csv, "Print lines for a spreadsheet");
  command.flag("--plot", options->plot, "Draw a bar beside each line");
  command.not_together("--csv", "--plot");
  add_state_options(command, options->state);
  command.footer(
      "Counts every step that ran, also of attempts that failed, crashed or were skipped; a lost step with "
      "the time until it was given up. Reads only.\n\nExample:\n  pawl cost last --plot");
  command.on_run([=] {
    const auto status = cost(*options);
    return status ? kDone : report(status.error());
  });
}

}  // namespace pawl::cli
