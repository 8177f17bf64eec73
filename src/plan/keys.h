// The keys of each mapping of a plan: what the parser accepts and what docs/plan.schema.json must say. A
// detail.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace pawl::plan {

// By mapping: plan, source, sandbox, gate, step, override, reports, retry, tier, phase, agent, policy,
// budget, doctor, replan, resume.
const std::map<std::string, std::vector<std::string>>& known_keys();

// The programs whose use of models can be read: files of agent/usage.
const std::vector<std::string>& usage_words();

// The kinds of signals that a gate can require: files of gates/signals.
const std::vector<std::string>& signal_words();

}  // namespace pawl::plan
