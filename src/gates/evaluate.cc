#include <algorithm>
#include <set>

#include "base/hash.h"
#include "gates/gates.h"
#include "gates/signals/kind.h"

namespace pawl::gates {
namespace signals {
#define PAWL_SIGNAL(name) GetKind name;
#define PAWL_ATTEMPT_SIGNAL(name) GetKind name;
#include "signal_kinds.inc"
#undef PAWL_SIGNAL
#undef PAWL_ATTEMPT_SIGNAL
}  // namespace signals

namespace {

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

// "exit code", or the evidence with the formats that were read.
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

}  // namespace

Json to_json(const Signal& signal) {
  return {
      {"kind", signal.kind},
      {"gate_id", signal.gate_id},
      {"passed", signal.passed},
      {"missing", signal.missing},
      {"details", signal.details},
      {"provenance", {{"collector", signal.collector}, {"version", PAWL_VERSION}, {"read", signal.read}}}};
}

std::string key_of(const Signal& signal) { return signal.gate_id + "." + signal.kind; }

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

Inventories inventories_of(const std::vector<std::string>& required, const std::vector<StepFacts>& on_base) {
  Inventories out;
  for (const auto& name : required)
    if (const auto* kind = find_kind(name); kind != nullptr && kind->on_base != nullptr)
      out[name] = kind->on_base(on_base);
  return out;
}

std::string digest_of(const std::vector<StepFacts>& steps) {
  Json read = Json::array();
  for (const auto& step : steps)
    read.push_back({{"step", step.step_name},
                    {"outcome", step.outcome},
                    {"exit_code", step.exit_code},
                    {"copy_out", step.copy_out},
                    {"trace", step.trace_log},
                    {"network_log", step.network_log}});
  return blake3_hex(canonical(read));
}

std::vector<Signal> evaluate(const GateFacts& facts) {
  std::vector<Signal> out;
  for (const auto& name : facts.required) {
    const auto* kind = find_kind(name);
    PAWL_CHECK(kind != nullptr && kind->judge != nullptr);
    const auto base = facts.base.find(name);
    out.push_back(kind->judge(facts, base == facts.base.end() ? nullptr : &base->second));
    out.back().collector = collector_of(*kind, facts.steps);
    out.back().read = digest_of(facts.steps);
  }
  return out;
}

}  // namespace pawl::gates
