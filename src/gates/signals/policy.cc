// The changes of the attempt follow the plan's policy and its protected paths. policy/check.h judges them
// once, before any gate; a gate that requires this kind repeats the result.
#include "gates/signals/kind.h"

namespace pawl::gates::signals {
namespace {

Signal judge_policy(const GateFacts& facts, const Inventory*) {
  Signal signal{.kind = "policy", .gate_id = facts.gate_id, .missing = true};
  signal.details = {{"problem", "the plan has no policy"}};
  if (!facts.policy_signal) return signal;
  signal.passed = facts.policy_signal->passed;
  signal.missing = facts.policy_signal->missing;
  signal.details = facts.policy_signal->details;
  return signal;
}

}  // namespace

const Kind& policy() {
  using enum Detail::Type;
  static const Kind kind = {
      .evidence = "policy",
      .details = {{"files", kInteger},
                  {"lines", kInteger},
                  {"bytes", kInteger},
                  {"failures", kInteger},
                  {"failing", kText},
                  {"told", kInteger},
                  {"telling", kText},
                  {"test_files", kInteger},
                  {"test_file_names", kText},
                  {"protected_paths_changed", kInteger},
                  {"paths", kText},
                  {"new_files", kInteger},
                  {"new_names", kText},
                  {"submodule_paths_changed", kInteger},
                  {"submodule_paths", kText},
                  {"problem", kText}},
      .judge = judge_policy,
  };
  return kind;
}

}  // namespace pawl::gates::signals
