// The keys of each mapping of a plan: what the parser accepts and what docs/plan.schema.json must say. A
// detail.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::plan {

// By mapping: plan, source, sandbox, gate, step, override, reports, retry, tier, phase, agent, policy,
// budget, doctor, replan, resume.
const std::map<std::string, std::vector<std::string>>& known_keys();

// The programs whose use of models can be read: files of agent/usage.
const std::vector<std::string>& usage_words();

// The kind of signals that reads reports of this format. REQUIRES: one of known_keys().at("reports").
std::string signal_of_format(std::string_view format);

// What somebody writes who names a format by a runner: the format, and how the runner writes it; "" when it
// is no runner's name.
std::string_view format_of_runner(std::string_view runner);

// The kinds of signals that a gate can require: files of gates/signals.
const std::vector<std::string>& signal_words();

}  // namespace pawl::plan
