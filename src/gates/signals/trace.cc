// The steps run no program and connect to no endpoint that they do not use on base, unless the policy allows
// it.
#include "gates/reading/trace.h"

#include <fmt/format.h>

#include <algorithm>

#include "gates/signal_parts.h"
#include "gates/signals/kind.h"

namespace pawl::gates::signals {
namespace {

constexpr std::string_view kRuns = "runs ", kReaches = "reaches ";  // prefixes of the names that base has

TraceFacts all_of(const std::vector<StepFacts>& steps) {
  TraceFacts out;
  for (const auto& step : steps) {
    if (!step.trace) continue;
    out.executables.insert(step.trace->executables.begin(), step.trace->executables.end());
    out.endpoints.insert(step.trace->endpoints.begin(), step.trace->endpoints.end());
    out.cut = out.cut || step.trace->cut;
  }
  return out;
}

std::vector<std::string> fresh(const std::set<std::string>& now, std::string_view prefix,
                               const std::vector<std::string>& base) {
  std::vector<std::string> out;
  for (const auto& name : now)
    if (!std::ranges::binary_search(base, std::string(prefix) + name)) out.push_back(name);
  return out;
}

void report(Signal& signal, const char* key, const std::vector<std::string>& names, Reaction reaction) {
  if (names.empty() || reaction == Reaction::kAllow) return;
  signal.details[key] = names.size();
  signal.details[std::string(key) + "_names"] = shown(names);
  if (reaction == Reaction::kFail) signal.passed = false;
}

Signal missing(Signal signal, const std::string& why) {
  signal.passed = false;
  signal.missing = true;
  signal.details["problem"] = why;
  return signal;
}

Signal judge_trace(const GateFacts& facts, const Inventory* base) {
  Signal signal = exit_signal(facts, "trace");
  if (!signal.passed) return signal;
  for (const auto& step : facts.steps)
    if (step.declared.contains("trace") && !step.trace)
      return missing(std::move(signal), "no trace of " + step.step_name + ": " + step.trace_problem);
  if (base == nullptr) return missing(std::move(signal), "nothing is known of base");
  if (!report_inventory(*base, signal)) return signal;
  const TraceFacts now = all_of(facts.steps);
  signal.details["executables"] = now.executables.size();
  signal.details["endpoints"] = now.endpoints.size();
  signal.details["complete"] = !now.cut;
  if (now.cut)
    return missing(std::move(signal),
                   "the trace reached its bound of 16 MiB, and what came after it is not known: trace a step "
                   "that runs fewer programs");
  auto programs = fresh(now.executables, kRuns, base->names);
  const auto others = std::ranges::stable_partition(programs, is_shell);
  report(signal, "new_shells", {programs.begin(), others.begin()}, facts.policy.trace_shells);
  report(signal, "new_executables", {others.begin(), others.end()}, facts.policy.trace_executables);
  report(signal, "new_endpoints", fresh(now.endpoints, kReaches, base->names), facts.policy.trace_endpoints);
  return signal;
}

// The programs and endpoints of base. A trace on base that ends early has fewer names: the work then has more
// new ones, so a short trace lets no finding pass.
Inventory trace_on_base(const std::vector<StepFacts>& steps) {
  Inventory out;
  const TraceFacts now = all_of(steps);
  for (const auto& step : steps) {
    if (!step.declared.contains("trace")) continue;
    if (!step.trace) return {.state = Inventory::State::kUnknown, .reason = step.trace_problem};
    if (step.outcome != Outcome::kExited)
      out.reason = fmt::format("{} {}", step.step_name, name(step.outcome));
  }
  if (now.cut) out.reason = "the trace reached its bound";
  if (!out.reason.empty()) out.state = Inventory::State::kLowerBound;
  for (const auto& path : now.executables) out.names.push_back(std::string(kRuns) + path);
  for (const auto& endpoint : now.endpoints) out.names.push_back(std::string(kReaches) + endpoint);
  std::ranges::sort(out.names);
  return out;
}

}  // namespace

const Kind& trace() {
  using enum Detail::Type;
  static const Kind kind = {
      .evidence = "trace",
      .details = with_exit({{"executables", kInteger},
                            {"endpoints", kInteger},
                            {"complete", kBoolean},
                            {"new_shells", kInteger},
                            {"new_shells_names", kText},
                            {"new_executables", kInteger},
                            {"new_executables_names", kText},
                            {"new_endpoints", kInteger},
                            {"new_endpoints_names", kText},
                            {"base", kText},
                            {"problem", kText}}),
      .judge = judge_trace,
      .on_base = trace_on_base,
  };
  return kind;
}

}  // namespace pawl::gates::signals
