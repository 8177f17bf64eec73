#include "gates/base.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "gates/gates.h"
#include "gates/reading/unresolved.h"
#include "gates/signal_parts.h"
#include "gates/signals/kind.h"

namespace pawl::gates {
namespace {

constexpr std::array<std::string_view, 3> kStates = {"known", "lower_bound", "unknown"};
constexpr std::int64_t kNotExecutable = 126, kNotFound = 127;  // POSIX.1-2017, XCU 2.8.2
constexpr const char* kWayOut = "`baseline: none` in the gate says that base has nothing to tell it";

std::string where(const std::string& gate_id, const StepFacts& step) {
  return fmt::format("gate {}, step {}: ", gate_id, step.step_name);
}

// Why a program could not start. Neither base nor an agent can fix that: a person has to.
std::string not_started(const StepFacts& step) {
  const bool ended_so =
      step.outcome == Outcome::kExited &&
      (step.exit_code == kNotExecutable || step.exit_code == kNotFound || step.program_missing);
  if (!ended_so || step.program_is_work) return "";
  const std::string program = step.program.empty() ? "a program of it" : "`" + step.program + "`";
  if (step.exit_code == kNotExecutable)
    return fmt::format("{} can't be executed in the sandbox (126): make it executable, or change `run`",
                       program);
  if (step.program_is_left_out)
    return fmt::format(
        "{} is not in the sandbox ({}), and an agent can't add it: the source ignores it, or it is an "
        "installed program. Install it in an earlier step, use a source folder that has it, or set "
        "`ignored: keep`",
        program, step.exit_code);
  return fmt::format(
      "{} is not in the sandbox ({}): install it on this host, show it with `mounts`, or change `run`",
      program, step.exit_code);
}

std::string refused(const StepFacts& step) {
  if (step.egress_refused == 0 || (step.outcome == Outcome::kExited && step.exit_code == 0)) return "";
  return fmt::format(
      "it failed, and its egress refused it the network {} times: name the hosts in `egress` (`pawl inspect` "
      "lists them), or let the step do without",
      step.egress_refused);
}

bool ran_tests(const StepFacts& step) {
  return std::ranges::any_of(step.reports,
                             [](const auto& file) { return file.report && !file.report->tests.empty(); });
}

// A step that fetches packages fails for every agent. A test that wants a network is another matter: the work
// may give it a stand-in, so a step whose report has tests goes on.
std::string without_network(const StepFacts& step) {
  const bool failed = step.outcome == Outcome::kExited && step.exit_code != 0;
  if (!failed || !step.no_network || ran_tests(step)) return "";
  const auto hosts = unresolved_hosts(step.output_failures + "\n" + step.output_tail);
  if (hosts.empty()) return "";
  return fmt::format(
      "it failed, and it has no network to reach {} by: `network: scoped, egress: [\"{}\"]` in the step "
      "gives it "
      "one, or let the step do without",
      fmt::join(hosts, ", "), fmt::join(hosts, "\", \""));
}

std::string no_report(const StepFacts& step) {
  if (step.outcome != Outcome::kExited || step.exit_code != 0) return "";
  for (const auto& family : step.declared) {
    const auto unwritten = family == "trace" ? std::nullopt : unwritten_by(step, family);
    if (unwritten)
      return fmt::format(
          "it exited with 0 and wrote no report{} where `reports` looks for one: correct "
          "the pattern, or have `run` write it",
          unwritten->empty() ? " of " + family : *unwritten);
  }
  return "";
}

std::string why_stopped(const std::string& gate_id, const std::vector<StepFacts>& steps,
                        const Inventories& inventories) {
  for (const auto& step : steps) {
    for (const auto& why : {not_started(step), refused(step), without_network(step), no_report(step)})
      if (!why.empty()) return where(gate_id, step) + why;
    if (!step_held(step)) break;
  }
  for (const auto& [kind, inventory] : inventories)
    if (inventory.state == Inventory::State::kUnknown)
      return fmt::format("gate {}: what base has for `{}` is not known: {}; fix base", gate_id, kind,
                         inventory.reason);
  return "";
}

std::map<std::string, std::string> absent_behind_failed(const std::vector<StepFacts>& steps) {
  std::map<std::string, std::string> out;
  bool failed = false;
  for (const auto& step : steps) {
    if (failed && !step.program.empty() && !not_started(step).empty()) out[step.step_name] = step.program;
    failed = failed || !step_held(step);
  }
  return out;
}

Json json_of(const Inventory& inventory) {
  Json out = {{"state", kStates.at(static_cast<std::size_t>(inventory.state))},
              {"reason", inventory.reason},
              {"names", inventory.names},
              {"failing", inventory.failing},
              {"unloaded", inventory.unloaded},
              {"files", inventory.files}};
  if (inventory.count > 0) out["count"] = inventory.count;
  if (inventory.twice) out["twice"] = {{"moving", inventory.moving}, {"unsteady", inventory.unsteady}};
  return out;
}

bool read_names(const Json& json, std::vector<std::string>& to) {
  if (!json.is_array()) return false;
  for (const auto& name : json) {
    if (!name.is_string()) return false;
    to.push_back(name.get<std::string>());
  }
  return std::ranges::is_sorted(to);
}

bool read_inventory(const Json& json, Inventory& to) {
  if (!json.is_object() || !json.value("state", Json()).is_string()) return false;
  const auto* state = std::ranges::find(kStates, json.at("state").get_ref<const std::string&>());
  if (state == kStates.end() || !json.value("reason", Json()).is_string()) return false;
  to.state = static_cast<Inventory::State>(state - kStates.begin());
  to.reason = json.at("reason").get<std::string>();
  const Json twice = json.value("twice", Json::object());
  to.twice = json.contains("twice");
  to.count = integer_in(json, "count");
  return twice.is_object() && read_names(twice.value("moving", Json::array()), to.moving) &&
         read_names(twice.value("unsteady", Json::array()), to.unsteady) &&
         read_names(json.value("names", Json()), to.names) &&
         read_names(json.value("failing", Json()), to.failing) &&
         // Earlier versions stored neither of these two.
         read_names(json.value("unloaded", Json::array()), to.unloaded) &&
         read_names(json.value("files", Json::array()), to.files);
}

bool read_on_base(const Json& json, OnBase& to) {
  if (!json.is_object() || !json.value("green", Json()).is_boolean()) return false;
  to.green = json.at("green").get<bool>();
  const Json changed = json.value("changed", Json::array());
  for (const auto& path : changed) {
    if (!path.is_string()) return false;
    to.changed.insert(path.get<std::string>());
  }
  const Json absent = json.value("absent", Json::object());
  if (!absent.is_object()) return false;
  for (const auto& [step, program] : absent.items()) {
    if (!program.is_string()) return false;
    to.absent[step] = program.get<std::string>();
  }
  const Json kinds = json.value("inventories", Json());
  return kinds.is_object() && std::ranges::all_of(kinds.items(), [&](const auto& item) {
           return read_inventory(item.value(), to.inventories[item.key()]);
         });
}

}  // namespace

std::vector<std::string> failing_names(const Inventory& inventory) {
  const Names names(inventory.names.begin(), inventory.names.end());
  std::vector<std::string> out;
  for (const auto& name : inventory.failing) out.emplace_back(unnumbered(name, names));
  return out;
}

std::string text_of(const Inventory& inventory) {
  switch (inventory.state) {
    case Inventory::State::kKnown:
      return "";
    case Inventory::State::kLowerBound:
      return "lower bound: " + inventory.reason;
    case Inventory::State::kUnknown:
      break;
  }
  return "unknown: " + inventory.reason;
}

std::vector<std::string> names_that_move(const Inventory& inventory) {
  auto out = inventory.moving;
  out.insert(out.end(), inventory.unsteady.begin(), inventory.unsteady.end());
  return out;
}

Inventories no_inventories(const std::vector<std::string>& required) {
  Inventories out;
  for (const auto& kind : required)
    if (compares_with_base(kind)) out[kind] = {};
  return out;
}

OnBase on_base(const std::string& gate_id, const std::vector<std::string>& required,
               const std::vector<StepFacts>& steps) {
  OnBase out;
  out.green = !steps.empty() && std::ranges::all_of(steps, [](const auto& step) { return step_held(step); });
  out.no_sandbox =
      std::ranges::any_of(steps, [](const auto& step) { return step.outcome == Outcome::kSetupFailed; });
  out.inventories = inventories_of(required, steps);
  if (out.no_sandbox) return out;
  const std::string why = why_stopped(gate_id, steps, out.inventories);
  if (!why.empty()) out.stop = fmt::format("{}; {}", why, kWayOut);
  out.absent = absent_behind_failed(steps);
  return out;
}

std::string absent_still(const std::string& gate_id, const OnBase& base, const StepFacts& step) {
  const auto absent = base.absent.find(step.step_name);
  if (absent == base.absent.end() || absent->second != step.program || step_held(step)) return "";
  const auto why = not_started(step);
  return why.empty() ? "" : where(gate_id, step) + why;
}

std::string text_of(const OnBase& found) {
  Json kinds = Json::object();
  for (const auto& [kind, inventory] : found.inventories) kinds[kind] = json_of(inventory);
  Json out = {{"green", found.green}, {"inventories", std::move(kinds)}};
  if (!found.changed.empty()) out["changed"] = found.changed;
  if (!found.absent.empty()) out["absent"] = found.absent;
  return canonical(out);
}

Result<OnBase> on_base_of_text(std::string_view text) {
  OnBase out;
  const auto json = parse_json(text);
  if (json && read_on_base(*json, out)) return out;
  return fail(ErrorKind::kCorrupt,
              "what is kept of a gate on base can't be read: restore the state folder from a backup");
}

}  // namespace pawl::gates
