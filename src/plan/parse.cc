#include "plan/parse.h"

#include <algorithm>

#include "base/hash.h"
#include "plan/sections.h"

namespace pawl::plan {
namespace {

constexpr std::size_t kListMax = 1000;  // for source.exclude and models
constexpr std::int64_t kReplansMax = 100;
// V8 makes its heap half of what a cgroup allows, and its part for new objects is largest from 4 GiB on
// (docs/adr/0072).
constexpr std::int64_t kProgramMemoryMib = 4096;
constexpr std::int64_t kBackoffSecondsMax = 86'400, kBackoffSecondsDefault = 300;

void read_source(const Mapping& top, Plan& plan, Problems& problems) {
  const auto node = top.require("source", problems);
  if (!node.IsDefined()) return;
  const Mapping source(node, "source", "source", problems);
  if (const auto path = source.require("path", problems); path.IsDefined())
    plan.source_path = read_string(path, "path", problems).value_or("");
  if (const auto ref = source.get("ref"); ref.IsDefined())
    plan.source_ref = read_string(ref, "ref", problems);
  const auto exclude = source.get("exclude");
  if (!exclude.IsDefined()) return;
  plan.source_exclude = read_strings(exclude, "exclude", problems);
  if (!exclude.IsSequence()) return;
  if (exclude.size() > kListMax) problems.add(exclude, "exclude: expected at most 1000 patterns");
  for (const auto& item : exclude)
    if (item.IsScalar() && !is_safe_pattern(item.Scalar()))
      problems.add(item, "exclude: '" + item.Scalar().substr(0, 60) +
                             "' must be relative, stay inside the source and have no control characters (? "
                             "stands for any one byte)");
}

void read_lists(const Mapping& top, Plan& plan, Problems& problems) {
  if (const auto node = top.get("models"); node.IsDefined()) {
    plan.models = read_strings(node, "models", problems);
    if (node.IsSequence() && (node.size() == 0 || node.size() > kListMax))
      problems.add(node, "models: expected 1 to 1000 names");
    for (const auto& model : plan.models)
      if (model.size() > kWordBytesMax)
        problems.add(node, "models: a name of " + std::to_string(model.size()) + " bytes; at most " +
                               std::to_string(kWordBytesMax) + " fit into PAWL_MODEL");
  }
  read_guarded(top, plan.guarded, problems);
  plan.allow_shadowing = read_patterns(top, "allow_shadowing", "source", problems);
  plan.files = read_patterns(top, "files", "plan's folder", problems);
  plan.gate_files = read_patterns(top, "gate_files", "plan's folder", problems);
}

Durable read_durable(const Mapping& top, Problems& problems) {
  const auto node = top.get("durable");
  if (!node.IsDefined()) return Durable::kRequired;
  return read_enum<Durable>(node, "durable", problems).value_or(Durable::kRequired);
}

void read_ignored(const Mapping& top, Plan& plan, Problems& problems) {
  const auto node = top.get("ignored");
  if (!node.IsDefined()) return;
  plan.ignored = read_enum<Ignored>(node, "ignored", problems).value_or(plan.ignored);
}

void read_git(const Mapping& top, Plan& plan, Problems& problems) {
  const auto node = top.get("git");
  plan.git = Git::kSnapshot;
  if (!node.IsDefined()) return;
  plan.git = read_enum(node, "git", {Git::kSnapshot, Git::kNone, Git::kHistory}, problems).value_or(plan.git);
}

void read_policy(const Mapping& top, Plan& plan, Problems& problems) {
  const auto node = top.get("policy");
  if (!node.IsDefined()) return;
  const Mapping policy(node, "policy", "policy", problems);
  if (!policy.valid()) return;
  auto& out = plan.policy.emplace();
  out.at = place_of(top.key_node("policy"));
  if (const auto file = policy.require("file", problems); file.IsDefined())
    out.file = read_string(file, "file", problems).value_or("");
  const auto hash = policy.get("blake3");
  if (!hash.IsDefined()) return;  // the command that reads the file reports the missing hash with its value
  out.blake3 = read_string(hash, "blake3", problems).value_or("");
  if (!out.blake3.empty() && !is_hash(out.blake3))
    problems.add(hash, "blake3: expected the 64 lower-case hexadecimal digits that `b3sum` prints");
}

void read_budget(const Mapping& top, Plan& plan, Problems& problems) {
  const auto node = top.get("budget");
  if (!node.IsDefined()) return;
  const Mapping budget(node, "budget", "budget", problems);
  if (const auto amount = budget.get("sandbox_seconds"); amount.IsDefined())
    plan.budget.sandbox_seconds = read_integer(amount, "sandbox_seconds", {1, kBudgetSecondsMax}, problems);
  read_spending(budget, plan.budget.of_agents, problems);
}

void read_sandbox(const Mapping& top, Defaults& defaults, Problems& problems) {
  const auto node = top.get("sandbox");
  bool says_memory = false;
  if (node.IsDefined()) {
    const Mapping sandbox(node, "sandbox", "sandbox", problems);
    read_limits(sandbox, kAgentSecondsMax, defaults.limits, problems);
    says_memory = sandbox.valid() && sandbox.get("memory_limit_mib").IsDefined();
  }
  defaults.program_limits = defaults.limits;
  if (!says_memory) defaults.program_limits.memory_limit_mib = kProgramMemoryMib;
}

void read_hooks(const Mapping& top, const Defaults& defaults, Plan& plan, Problems& problems) {
  if (const auto node = top.get("doctor"); node.IsDefined()) {
    const Mapping doctor(node, "doctor", "doctor", problems);
    plan.doctor.emplace();
    plan.doctor->step = read_program(doctor, defaults, problems);
    read_number(doctor, "after_failures", {1, kMaxAttemptsMax}, plan.doctor->after_failures, problems);
  }
  if (const auto node = top.get("replan"); node.IsDefined()) {
    const Mapping replan(node, "replan", "replan", problems);
    plan.replan.emplace();
    plan.replan->step = read_program(replan, defaults, problems);
    read_number(replan, "max_replans", {0, kReplansMax}, plan.replan->max_replans, problems);
  }
}

void read_backoff(const Mapping& top, Plan& plan, Problems& problems) {
  const auto node = top.get("backoff");
  if (!node.IsDefined()) return;
  const Mapping backoff(node, "backoff", "backoff", problems);
  if (const auto initial = backoff.require("initial_seconds", problems); initial.IsDefined())
    plan.backoff.initial_seconds =
        read_integer(initial, "initial_seconds", {1, kBackoffSecondsMax}, problems).value_or(1);
  plan.backoff.max_seconds = std::max(kBackoffSecondsDefault, plan.backoff.initial_seconds);
  read_number(backoff, "max_seconds", {1, kBackoffSecondsMax}, plan.backoff.max_seconds, problems);
  if (plan.backoff.max_seconds < plan.backoff.initial_seconds)
    problems.add(backoff.get("max_seconds"), "max_seconds: is less than initial_seconds");
}

// Reserved names. They stand where a gate's name does: in labels, cost rows and signals.
bool reserved(const std::string& name) {
  return name == "agent" || name == "protect" || name == "parallel" || name == "doctor" || name == "replan" ||
         name == "diff";
}

void read_gates(const Mapping& top, const Defaults& defaults, Plan& plan, Problems& problems) {
  const auto node = top.get("gates");
  if (!node.IsDefined()) return;
  if (!node.IsMap()) {
    problems.add(node, "gates: expected a mapping of names to gates, found " + type_of(node));
    return;
  }
  if (node.size() > kGatesMax) {
    problems.add(node, "gates: at most 1000 in a plan");
    return;
  }
  for (const auto& entry : node) {
    const std::string& name = entry.first.Scalar();
    if (!is_name(name)) {
      problems.add(entry.first, "gate name '" + name.substr(0, 80) +
                                    "' must be letters, digits, '.', '_' or '-', at most 64");
    } else if (reserved(name)) {
      problems.add(entry.first, "gate name '" + name + "' is reserved");
    } else {
      plan.gates[name] = read_gate(entry.second, name, defaults, problems);
    }
  }
}

void read_tiers(const Mapping& top, const Defaults& defaults, Profiles& profiles, Plan& plan,
                Problems& problems) {
  const auto node = top.require("tiers", problems);
  if (!node.IsDefined()) return;
  if (!node.IsSequence() || node.size() == 0) {
    problems.add(node, "tiers: expected a list of tiers, found " +
                           (node.IsSequence() ? "an empty one" : type_of(node)));
    return;
  }
  PhaseContext context{
      .plan = plan, .defaults = defaults, .profiles = profiles, .wanted_keys = plan.wanted_keys};
  for (const auto& item : node)
    plan.tiers.push_back(read_tier(item, plan.tiers.size() + 1, context, problems));
  const auto gates = top.get("gates");
  if (!gates.IsDefined() || !gates.IsMap()) return;
  for (const auto& entry : gates)
    if (plan.gates.contains(entry.first.Scalar()) && !context.used_gates.contains(entry.first.Scalar()))
      problems.warn(entry.first, "gate '" + entry.first.Scalar() + "' is used by no phase");
}

// Names the first step that asks for a trace, for example "gate check, step unit"; "" when no step does.
std::string traced_step(const Plan& plan) {
  for (const auto& tier : plan.tiers)
    for (const auto& phase : tier.phases)
      if (phase.agent.trace) return "phase " + phase.id + ", agent";
  for (const auto& [name, gate] : plan.gates) {
    const auto traced = std::ranges::find(gate.steps, true, &Step::trace);  // an override has no such key
    if (traced != gate.steps.end()) return "gate " + name + ", step " + traced->name;
  }
  return "";
}

bool has_credentials(const Plan& plan) {
  return std::ranges::any_of(plan.tiers, [](const auto& tier) {
    return std::ranges::any_of(tier.phases, [](const auto& phase) { return !phase.credentials.empty(); });
  });
}

Plan read_plan(const YAML::Node& root, const Surroundings& around, Problems& problems) {
  Plan plan;
  const Mapping top(root, "the plan", "plan", problems);
  if (!top.valid()) return plan;
  if (const auto version = top.require("version", problems); version.IsDefined())
    read_integer(version, "version", {1, 1}, problems);
  if (const auto workflow = top.require("workflow", problems); workflow.IsDefined()) {
    plan.workflow = read_string(workflow, "workflow", problems).value_or("");
    if (!plan.workflow.empty() && !is_name(plan.workflow))
      problems.add(workflow, "workflow: '" + plan.workflow.substr(0, 80) +
                                 "' must be letters, digits, '.', '_' or '-', at most 64");
  }
  read_source(top, plan, problems);
  read_env(top, plan, problems);
  read_mounts(top, plan, problems);
  Defaults defaults;
  defaults.host_has_bash = around.host_has_bash;
  read_sandbox(top, defaults, problems);
  if (const auto node = top.get("max_attempts"); node.IsDefined())
    defaults.max_attempts =
        read_integer(node, "max_attempts", {1, kMaxAttemptsMax}, problems).value_or(defaults.max_attempts);
  defaults.resume = read_resume(top, problems);
  read_on_retry(top, defaults.on_retry, problems);
  defaults.durable = read_durable(top, problems);
  read_retry(top, defaults.retry, problems);
  read_lists(top, plan, problems);
  read_ignored(top, plan, problems);
  read_git(top, plan, problems);
  read_policy(top, plan, problems);
  read_budget(top, plan, problems);
  read_hooks(top, defaults, plan, problems);
  read_backoff(top, plan, problems);
  read_gates(top, defaults, plan, problems);
  Profiles profiles(around);
  read_tiers(top, defaults, profiles, plan, problems);
  plan.profiles = profiles.take_texts();
  plan.has_credentials = has_credentials(plan);
  plan.traced = traced_step(plan);
  return plan;
}

}  // namespace

std::string to_text(const Problem& problem) {
  if (problem.line == 0) return problem.file + ": " + problem.message;
  return problem.file + ":" + std::to_string(problem.line) + ":" + std::to_string(problem.column) + ": " +
         problem.message;
}

Parsed parse(std::string_view text, const std::string& file, const Surroundings& around) {
  Problems problems(file);
  Place source_at, git_at;
  Plan plan = read_yaml(text, problems, [&](const YAML::Node& root, Problems& found) {
    if (root.IsMap() && root["source"].IsDefined()) source_at = place_of(root["source"]);
    if (root.IsMap() && root["git"].IsDefined()) git_at = place_of(root["git"]);
    return read_plan(root, around, found);
  });
  Parsed out{.problems = problems.take_errors(),
             .warnings = problems.take_warnings(),
             .source_at = source_at,
             .git_at = git_at};
  if (out.problems.empty()) out.plan = std::move(plan);
  return out;
}

}  // namespace pawl::plan
