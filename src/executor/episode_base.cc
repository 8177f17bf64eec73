// Gate results on base for an Episode: computed once for each content, before the agent is paid.
#include <fmt/format.h>

#include <algorithm>

#include "base/hash.h"
#include "base/json_members.h"
#include "base/mutant.h"
#include "executor/episode.h"
#include "executor/programs.h"
#include "executor/start_run.h"
#include "gates/moving.h"
#include "os/file.h"

namespace pawl::executor {
namespace {

std::string key_of_limits(const plan::Limits& limits) {
  std::string image;
  append_json_string(image, limits.base_image);
  return fmt::format("[{},{},{},{},{},{},{}]", image, limits.memory_limit_mib, limits.pids_limit,
                     limits.cpu_limit_millis, limits.disk_limit_mib, limits.output_limit_bytes,
                     limits.time_budget_seconds);
}

std::string key_of_step(const plan::Step& step) {
  JsonMembers reports;
  for (const auto& declared : step.reports) reports.texts(declared.format, declared.patterns);
  return JsonMembers()
      .text("name", step.name)
      .texts("argv", step.argv)
      .boolean("may_fail", step.may_fail)
      .texts("network", step.network == plan::Network::kScoped ? step.egress : std::vector<std::string>())
      .json("reports", reports.object())
      .boolean("trace", step.trace)
      .json("limits", key_of_limits(step.limits))
      .object();
}

std::string key_of_sight(const workspace::Workspaces::Sight& sight) {
  return JsonMembers()
      .texts("protect", sight.paths.protect)
      .texts("protect_existing", sight.paths.protect_existing)
      .texts("only", sight.only)
      .texts("names", sight.names)
      .object();
}

}  // namespace

// A gate may ask git for the commits before the base.
Json Episode::key_of_repository() const {
  if (plan_->git == plan::Git::kHistory) return claim_->run.base_commit;
  return plan_->git == plan::Git::kSnapshot;
}

// All inputs that decide the result of the steps, except the host's programs.
std::string Episode::base_key(const plan::Gate& gate, const FromHost& host) const {
  std::vector<std::string> steps;
  for (const auto& step : gate.steps_of_attempt(claim_->attempt.number)) steps.push_back(key_of_step(step));
  const bool stacked = !mutant("base_without_accepted_layers");
  return blake3_hex(JsonMembers()
                        .number("form", 6)
                        .texts("kinds", gate.signals)
                        .text("base_id", claim_->run.base_id)
                        .texts("stack", stacked ? base_stack_ : std::vector<std::string>())
                        .text("plan_content", claim_->run.plan_content)
                        .texts("env", host.env)
                        .json("mounts", canonical(contents_of(host.mounts)))
                        .json("git", canonical(key_of_repository()))
                        .json("sight", key_of_sight(sight_of(gate.name)))
                        .json("steps", canonical_array(steps))
                        .object());
}

std::string Episode::key_of_baseline(const plan::Gate& gate, const FromHost& host, bool again) const {
  const auto mounts = contents_of(host.mounts);
  const bool is_same = std::ranges::all_of(steps_, [&](const PlannedStep& step) {
    const bool counts = step.role == StepRole::kBaseline && step.gate_id == gate.name && step.again == again;
    const auto run = counts ? results_.find(step.index) : results_.end();
    return run == results_.end() || run->second.mounts == mounts;
  });
  return is_same ? base_key(gate, host) : "";
}

std::optional<gates::OnBase> Episode::from_baseline(const plan::Gate& gate, bool again) const {
  std::vector<std::pair<const PlannedStep*, const sandbox::SandboxRun*>> runs;
  for (const auto& step : steps_) {
    if (step.role != StepRole::kBaseline || step.gate_id != gate.name || step.again != again) continue;
    const auto run = results_.find(step.index);
    if (run == results_.end()) return std::nullopt;
    runs.emplace_back(&step, &run->second);
  }
  if (runs.empty()) return std::nullopt;
  std::vector<gates::StepFacts> facts;
  for (const auto& [step, run] : runs) facts.push_back(facts_of(*step, *run));
  auto out = gates::on_base(gate.name, gate.signals, facts);
  for (const auto& [step, run] : runs) out.changed.insert(run->changed.begin(), run->changed.end());
  return out;
}

Status Episode::load_on_base() {
  std::optional<FromHost> host;  // the look at it takes time, and is rarely needed
  for (const auto& name : phase_->gates) {
    const plan::Gate& gate = plan_->gates.at(name);
    if (gate.baseline == plan::Baseline::kNone || on_base_.contains(name)) continue;
    if (!host) {
      PAWL_TRY(host, from_host(*plan_));
    }
    if (auto found = from_baseline(gate, false)) {
      found_on_base_.push_back(
          {.gate_id = name, .key = key_of_baseline(gate, *host, false), .found = *found});
      on_base_[name] = *std::move(found);
      continue;
    }
    PAWL_TRY(const auto stored, world_.store.inventory(base_key(gate, *host)));
    if (!stored) continue;
    PAWL_TRY(on_base_[name], gates::on_base_of_text(*stored));
  }
  return {};
}

// Names on base are compared one by one until an attempt seems to have lost some of them under other names.
// The second run costs as much as the gate. It is made only where it can change a verdict, and once for each
// content.
Result<Episode::SecondRun> Episode::second_run(const plan::Gate& gate, const gates::GateFacts& facts) {
  const auto known = on_base_.find(gate.name);
  if (known == on_base_.end() || !gates::names_may_move(facts)) return SecondRun::kNotNeeded;
  const auto twice = [](const std::string& key) {
    return key.empty() ? "" : blake3_hex(canonical({{"form", 1}, {"twice", key}}));
  };
  PAWL_TRY(const auto host, from_host(*plan_));
  PAWL_TRY(const auto stored, world_.store.inventory(twice(base_key(gate, host))));
  if (stored) {
    PAWL_TRY(known->second, gates::on_base_of_text(*stored));
    return SecondRun::kKnown;
  }
  const auto again = from_baseline(gate, true);
  if (!again) return SecondRun::kAwaited;
  known->second = gates::held_to_both(known->second, *again);
  if (again->is_usable())
    found_on_base_.push_back(
        {.gate_id = gate.name, .key = twice(key_of_baseline(gate, host, true)), .found = known->second});
  return SecondRun::kKnown;
}

void Episode::add_base(gates::AttemptFacts& to) const {
  for (const auto& name : phase_->gates) {
    const auto known = on_base_.find(name);
    if (known == on_base_.end()) continue;
    to.signals.push_back(gates::base_signal(name, known->second));
    for (const auto& [kind, inventory] : known->second.inventories)
      for (auto& name : gates::failing_names(inventory)) to.failing_on_base.insert(std::move(name));
    if (has_result(agent())) continue;  // its own work decides then
    if (to.stop.empty()) to.stop = known->second.stop;
    to.backend_error = to.backend_error || known->second.no_sandbox;
  }
}

std::string Episode::absent_still(const PlannedStep& step, const gates::StepFacts& facts) const {
  const auto known = on_base_.find(step.gate_id);
  if (known == on_base_.end()) return "";
  // An earlier step may install what the work names.
  for (const auto& earlier : plan_->gates.at(step.gate_id).steps) {
    if (earlier.name == step.step->name) break;
    if (gates::ways_to_bring({.name = facts.program}, earlier.argv).by_command) return "";
  }
  return gates::absent_still(step.gate_id, known->second, facts);
}

std::string Episode::refused_by_agent(const gates::StepFacts& facts) const {
  constexpr std::string_view kWhatToDo =
      "; install it below /usr, then `pawl retry`, or correct the plan, then start a new run";
  constexpr std::int64_t kNotFound = 127;
  if (!facts.is_agent || !agent_layer().empty()) return "";
  if (!facts.refused_line.empty()) return gates::refused_command_line_reason(facts.refused_line);
  if (facts.outcome != sandbox::Outcome::kExited || facts.exit_code != kNotFound) return "";
  const auto& argv = phase_->agent.argv;
  const auto name = gates::missing_program(argv, facts.output_tail).name;
  const auto why = name.empty() ? "" : why_absent(*plan_, argv, name);
  return why.empty() ? "" : fmt::format("the agent can't start: {}{}", printable(why), kWhatToDo);
}

// Whether the work can never have a file at `path`, and no step of the gate can create one from the work.
bool Episode::is_left_out(const PlannedStep& step, const gates::MissingProgram& program,
                          const std::string& path) const {
  const bool first = std::ranges::none_of(steps_, [&](const auto& other) {
    return other.role == step.role && other.gate_id == step.gate_id && other.index < step.index;
  });
  if (!first || plan_->ignored == plan::Ignored::kKeep || !gates::is_run_first(program, step.step->argv))
    return false;
  return world_.objects.leaves_out(path, source_of(claim_->run), base_stack_).value_or(false);
}

// A program that PATH was searched for: the work may bring it by the command's own PATH, or by what the command
// installs.
void Episode::add_searched(const PlannedStep& step, const gates::MissingProgram& program,
                           gates::StepFacts& to) const {
  const auto ways = gates::ways_to_bring(program, step.step->argv);
  const bool has_place =
      std::ranges::any_of(ways.paths, [&](const auto& path) { return !is_left_out(step, program, path); });
  to.program_is_work = ways.by_command || has_place;
  to.program_is_left_out = !to.program_is_work && !ways.paths.empty();
}

// A path in the workspace that base does not have: the work may add the program. Work is unlikely to mend a
// program that exists and cannot be started.
void Episode::add_program(const PlannedStep& step, gates::StepFacts& to) const {
  constexpr std::string_view kWorkspace = "/workspace/";
  if (to.outcome != sandbox::Outcome::kExited || to.exit_code == 0) return;
  const bool by_code = to.exit_code == 126 || to.exit_code == 127;
  const auto program = by_code ? gates::missing_program(step.step->argv, to.output_tail)
                               : gates::missing_behind(step.step->argv, to.output_tail);
  if (!program) return;
  to.program_missing = !by_code;
  to.program = printable(program->name);
  std::string_view path = program->name;
  if (path.starts_with(kWorkspace)) path.remove_prefix(kWorkspace.size());
  while (path.starts_with("./")) path.remove_prefix(2);
  if (!program->is_path) return add_searched(step, *program, to);
  if (path.starts_with('/')) return;
  const std::string inside(path);
  const bool known = os::is_safe_relative_path(inside);
  auto layers = left_before(step);
  layers.insert(layers.end(), base_stack_.begin(), base_stack_.end());
  if (known && world_.objects.has_path(claim_->run.base_id, layers, inside)) return;
  to.program_is_left_out = known && is_left_out(step, *program, inside);
  to.program_is_work = !to.program_is_left_out;
}

Result<const PlannedStep*> next_step_of(Episode& episode, const World& world, Observer& observer,
                                        const store::Claim& claim) {
  PAWL_TRY(const PlannedStep* step, episode.next());
  for (const auto& [gate_id, key, found] : episode.take_found_on_base()) {
    observer.base_ran(claim, gate_id, found);
    if (found.is_usable() && !key.empty()) PAWL_OK(world.store.put_inventory(key, gates::text_of(found)));
  }
  return step;
}

}  // namespace pawl::executor
