#include <algorithm>
#include <set>

#include "base/hash.h"
#include "base/json_members.h"
#include "base/mutant.h"
#include "gates/hang.h"
#include "gates/moving.h"
#include "gates/signal_parts.h"
#include "gates/signals/kind.h"

namespace pawl::gates {
namespace {

// Mutants (base/mutant.h).
bool forgives_each_code() { return mutant("may_fail_covers_all"); }
bool ignores_failed_steps() { return mutant("failed_steps_ignored"); }

}  // namespace

namespace signals {
#define PAWL_SIGNAL(name) GetKind name;
#define PAWL_ATTEMPT_SIGNAL(name) GetKind name;
#include "signal_kinds.inc"
#undef PAWL_SIGNAL
#undef PAWL_ATTEMPT_SIGNAL
}  // namespace signals

namespace {

constexpr std::string_view kStepKind = "step";

struct Entry {
  std::string_view name;
  signals::GetKind* get;
};

constexpr Entry kKinds[] = {
#define PAWL_SIGNAL(name) {#name, signals::name},
#define PAWL_ATTEMPT_SIGNAL(name) {#name, signals::name},
#include "signal_kinds.inc"
#undef PAWL_SIGNAL
#undef PAWL_ATTEMPT_SIGNAL
};

const signals::Kind* find_kind(std::string_view name) {
  const auto* found = std::ranges::find(kKinds, name, &Entry::name);
  return found == std::end(kKinds) ? nullptr : &found->get();
}

// "exit code", or the family of evidence with the formats that were read.
std::string collector_of(const signals::Kind& kind, const std::vector<StepFacts>& steps) {
  if (kind.evidence.empty()) return "exit code";
  std::set<std::string> formats;
  for (const auto& step : steps)
    for (const auto& file : step.reports)
      if (file.family == kind.evidence) formats.insert(file.format);
  std::string out(kind.evidence);
  for (const auto& format : formats) out += (format == *formats.begin() ? ": " : ", ") + format;
  return out;
}

bool names_step(const Signal& signal, const std::string& step) {
  const auto named = signal.details.find("step");
  return !signal.passed && named != signal.details.end() && *named == step;
}

Signal step_signal(const std::string& gate_id, const StepFacts& step) {
  Signal out{
      .kind = std::string(kStepKind),
      .gate_id = gate_id,
      .passed = false,
      .details = {{"step", step.step_name}, {"outcome", name(step.outcome)}, {"exit_code", step.exit_code}},
      .collector = "exit code"};
  report_hang(step, out);
  report_refusals({step}, out);
  return out;
}

}  // namespace

std::string json_text(const Signal& signal) {
  JsonMembers out;
  out.text("kind", signal.kind)
      .text("gate_id", signal.gate_id)
      .boolean("passed", signal.passed)
      .boolean("missing", signal.missing);
  if (!signal.flaky.empty()) out.boolean("flaky", true).text("runs", signal.flaky);
  return out.json("details", canonical(signal.details))
      .json("provenance", JsonMembers()
                              .text("collector", signal.collector)
                              .text("version", PAWL_VERSION)
                              .text("read", signal.read)
                              .object())
      .object();
}

std::string key_of(const Signal& signal) {
  const std::string key = signal.gate_id + "." + signal.kind;
  return signal.kind == kStepKind ? key + "." + signal.details.at("step").get<std::string>() : key;
}

bool step_held(Outcome outcome, std::int64_t exit_code, bool may_fail) {
  constexpr std::int64_t kShellCodesFrom = 126;  // POSIX.1-2017, XCU 2.8.2
  const bool is_of_program = exit_code < kShellCodesFrom || forgives_each_code();
  return outcome == Outcome::kExited && (exit_code == 0 || (may_fail && exit_code > 0 && is_of_program));
}

bool step_held(const StepFacts& step) {
  const bool left_what_may_not_be = step.refused_entries_fail && step.refused_entries_total > 0;
  const bool held =
      step_held(step.outcome, step.exit_code, step.may_fail) || (step.may_fail && step.counts_failures);
  return held && !left_what_may_not_be && step.changed.empty();
}

std::vector<std::string_view> signal_kinds() {
  std::vector<std::string_view> out;
  for (const auto& kind : kKinds) out.push_back(kind.name);
  return out;
}

const std::vector<Detail>& details_of(std::string_view kind) {
  static const std::vector<Detail> kNone;
  const auto* found = find_kind(kind);
  return found == nullptr ? kNone : found->details;
}

std::string_view evidence_of(std::string_view kind) {
  const auto* found = find_kind(kind);
  return found == nullptr ? "" : found->evidence;
}

bool compares_with_base(std::string_view kind) {
  const auto* found = find_kind(kind);
  return found != nullptr && found->on_base != nullptr;
}

std::vector<StepFacts> with_known_failing(const GateFacts& facts) {
  auto steps = facts.steps;
  const auto base = facts.base.find("tests");
  if (!facts.known_failing || base == facts.base.end()) return steps;
  Reports all = all_reports(steps, kTestsFamily);
  all.all = with_settled_names(std::move(all.all), base->second);
  if (!all.problem.empty() || !all.cut_short.empty() || !compare_failing(all.all, base->second).fresh.empty())
    return steps;
  for (auto& step : steps)
    for (const auto& file : step.reports)
      if (file.family == kTestsFamily && !failing_of(*file.report).empty()) {
        step.may_fail = true;
        step.counts_failures = counts_failures(step, kTestsFamily);
      }
  return steps;
}

Inventories inventories_of(const std::vector<std::string>& required, const std::vector<StepFacts>& on_base) {
  Inventories out;
  for (const auto& name : required)
    if (const auto* kind = find_kind(name); kind != nullptr && kind->on_base != nullptr)
      out[name] = kind->on_base(on_base);
  return out;
}

std::string digest_of(const std::vector<StepFacts>& steps) {
  std::vector<std::string> read;
  for (const auto& step : steps)
    read.push_back(JsonMembers()
                       .text("step", step.step_name)
                       .text("outcome", name(step.outcome))
                       .number("exit_code", step.exit_code)
                       .text("copy_out", step.copy_out)
                       .text("trace", step.trace_log)
                       .text("network_log", step.network_log)
                       .object());
  return blake3_hex(canonical_array(read));
}

std::vector<Signal> evaluate(const GateFacts& as_they_ended) {
  GateFacts facts = as_they_ended;
  facts.steps = with_known_failing(as_they_ended);
  std::vector<Signal> out;
  for (const auto& name : facts.required) {
    const auto* kind = find_kind(name);
    PAWL_CHECK(kind != nullptr && kind->judge != nullptr);
    const auto base = facts.base.find(name);
    out.push_back(kind->judge(facts, base == facts.base.end() ? nullptr : &base->second));
    out.back().collector = collector_of(*kind, facts.steps);
  }
  for (const auto& step : facts.steps) {
    const auto names_it = [&](const auto& signal) { return names_step(signal, step.step_name); };
    if (!step_held(step) && std::ranges::none_of(out, names_it) && !ignores_failed_steps())
      out.push_back(step_signal(facts.gate_id, step));
  }
  for (auto& signal : out) signal.read = digest_of(facts.steps);
  return out;
}

bool gate_passed(const GateFacts& facts, const std::vector<Signal>& signals) {
  const auto held = [](const StepFacts& step) { return step_held(step); };
  return facts.finished && !facts.steps.empty() && std::ranges::all_of(with_known_failing(facts), held) &&
         !signals.empty() && std::ranges::all_of(signals, &Signal::passed);
}

}  // namespace pawl::gates
