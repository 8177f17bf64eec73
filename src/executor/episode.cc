#include "executor/episode.h"

#include <algorithm>
#include <new>

#include "base/glob.h"
#include "base/hash.h"
#include "base/mutant.h"
#include "executor/reported.h"
#include "executor/start_run.h"
#include "gates/declared.h"
#include "gates/policy/check.h"
#include "os/defences.h"
#include "plan/policy.h"
#include "plan/script.h"
#include "sandbox/inside.h"
#include "supervisor/supervisor.h"

namespace pawl::executor {
namespace {

// A mutant (base/mutant.h).
bool gates_see_no_work() { return mutant("gates_without_the_work"); }

// Names of files that tell a scanner what not to report, except those that the plan lets the work write.
std::vector<std::string> protected_names(const std::vector<std::string>& allow_shadowing) {
  auto names = gates::scanner_rules();
  std::erase_if(names, [&](const std::string& name) {
    return std::ranges::any_of(allow_shadowing, [&](const auto& pattern) {
      return glob_matches(std::string_view(pattern).substr(pattern.rfind('/') + 1), name);
    });
  });
  std::ranges::sort(names);
  return names;
}

std::string content_of(const Context& context) {
  Json files = Json::array();
  for (const auto& file : context) files.push_back({{"path", file.path}, {"blake3", blake3_hex(file.bytes)}});
  return blake3_hex(canonical(files));
}

}  // namespace

Episode::Episode(World world, const store::Claim& claim, const Planned& plan, std::int64_t number,
                 Round round)
    : world_(world),
      claim_(&claim),
      plan_(plan.common.get()),
      phase_(&plan.phase),
      number_(number),
      round_(std::move(round)),
      sight_rules_(plan::rules_of(*plan_, own_phase(plan))),
      rules_(plan::rules_on_agent(*plan_, own_phase(plan))),
      protected_names_(protected_names(plan_->allow_shadowing)),
      steps_(planned_steps(*plan_, *phase_, claim.attempt.number, number)),
      looks_(world_.objects) {
  for (auto& step : steps_) {
    step.index += round_.number * kRoundStride;
    step.round = round_.number;
  }
}

Result<Episode> Episode::load(World world, const store::Claim& claim, const Planned& plan,
                              std::int64_t number, Round round) {
  Episode loaded(world, claim, plan, number, std::move(round));
  for (const auto& row : claim.steps) {
    if (loaded.step_at(row.step_index) == nullptr) continue;  // a step of another episode
    if (row.state == store::StepState::kLost && row.execution >= store::kExecutionsPerStepMax)
      loaded.given_up_.insert(row.step_index);
    if (row.state != store::StepState::kDone) continue;
    PAWL_TRY(const Json json, parse_json(row.run));
    PAWL_TRY(auto run, sandbox::run_from_json(json));
    loaded.results_[row.step_index] = std::move(run);
  }
  loaded.find_kept_work();
  loaded.need_results();
  PAWL_OK(loaded.stack_base());
  // A gate's step that a crash lost may be the first that runs again. It works on the agent's layer, too.
  PAWL_OK(loaded.after_agent());
  return loaded;
}

const PlannedStep* Episode::step_at(std::int64_t index) const {
  const auto step = std::ranges::find(steps_, index, &PlannedStep::index);
  return step == steps_.end() ? nullptr : &*step;
}

Status Episode::stack_base() {
  PAWL_TRY(base_stack_, world_.objects.stack(claim_->run.base_id, claim_->layers));
  looks_.need(claim_->run.base_id, base_stack_);
  return {};
}

void Episode::need_results() {
  std::vector<std::string> layers;
  for (const auto& [index, run] : results_)
    for (const auto* id : {&run.layer, &run.copy_out})
      if (!id->empty()) layers.push_back(*id);
  looks_.need(claim_->run.base_id, std::move(layers));
}

Status Episode::look_at_objects_of(const PlannedStep& step) {
  try {
    PAWL_OK(need_objects_of(step));
    looks_.begin();
  } catch (const std::bad_alloc&) {
    if (step.role == StepRole::kAgent) throw;
    end_without_memory();
  }
  return {};
}

Status Episode::need_objects_of(const PlannedStep& step) {
  PAWL_TRY(auto layers, layers_of(step));
  looks_.need(claim_->run.base_id, std::move(layers));
  looks_.need(plan_folder_of(step), {});
  sandbox::WorkspaceSpec seen;
  return add_repository(step, seen);
}

Status Episode::renew_layers() {
  const auto gone = [this](const std::string& layer) {
    return !layer.empty() && !world_.objects.has_layer(layer);
  };
  if (std::ranges::any_of(base_stack_, gone)) PAWL_OK(stack_base());
  const bool taken_gone =
      std::ranges::any_of(taken_layers_, gone, &decltype(taken_layers_)::value_type::second);
  if (gone(agent_layer_) || gone(gate_layer_) || taken_gone) PAWL_OK(filter_agent_layer());
  return {};
}

std::string Episode::layer_left() const {
  const auto run = results_.find(agent().index);
  return run == results_.end() ? "" : run->second.layer;
}

bool Episode::wrote_files() const {
  const auto run = results_.find(agent().index);
  return !agent_layer_.empty() || (run != results_.end() && run->second.rewritten > 0);
}

bool Episode::takes_back() const {
  const auto run = results_.find(agent().index);
  const auto& previous = claim_->previous;
  return run != results_.end() && run->second.rewritten > 0 && previous && !previous->agent_layer.empty() &&
         std::ranges::find(previous->failing_signals, "diff.empty") == previous->failing_signals.end();
}

Status Episode::filter_agent_layer() {
  const std::string& base = claim_->run.base_id;
  agent_layer_ = gate_layer_ = layer_left();
  if (agent_layer_.empty()) return {};
  PAWL_OK(world_.objects.set_times(agent_layer_, base, base_stack_));
  const auto source = source_of(claim_->run);
  PAWL_TRY(auto work, plan_->ignored == plan::Ignored::kLeaveOut
                          ? world_.objects.without_ignored(agent_layer_, source, base_stack_)
                          : world_.objects.without_caches(agent_layer_, source, base_stack_));
  agent_layer_ = gate_layer_ = work.layer_id;
  if (work.ignored_entries > 0) ignored_ = std::move(work);
  if (gate_layer_.empty()) return {};
  PAWL_TRY(filtered_, world_.objects.without_protected(gate_layer_, base, base_stack_, rules_));
  gate_layer_ = filtered_.layer_id;
  if (gate_layer_.empty()) return {};
  for (const auto& name : phase_->gates) {
    const auto& only = plan_->gates.at(name).take_only;
    if (only.empty()) continue;
    PAWL_TRY(taken_layers_[name], world_.objects.only(gate_layer_, only));
  }
  return {};
}

Status Episode::after_agent() {
  const auto agent = results_.find(this->agent().index);
  if (agent_seen_ || agent == results_.end()) return {};
  agent_seen_ = true;
  PAWL_OK(load_on_base());  // look_at_work() needs the names that base could not load
  try {
    return look_at_work();
  } catch (const std::bad_alloc&) {
    if (!os::defences().memory) throw;
    agent_layer_ = gate_layer_ = layer_left();
    policy_signal_ = gates::policy_missing(kNoMemory);
  }
  return {};
}

Status Episode::look_at_work() {
  PAWL_OK(filter_agent_layer());
  PAWL_TRY(auto policy, policy_signal(agent_layer_));
  changed_nothing_ = policy.details.contains("files") && integer_in(policy.details, "files") == 0;
  const bool tells = policy.details.contains("told") || policy.details.contains("test_files");
  if (plan_->policy || !policy.passed || tells) policy_signal_ = std::move(policy);
  return {};
}

// Without a policy only paths are checked. A file that shadows another always fails, and settings of a build
// or a test runner are always reported.
Result<gates::Signal> Episode::policy_signal(const std::string& layer) {
  Policy policy{.secrets = Reaction::kAllow, .npm_lockfile = Reaction::kAllow};
  if (plan_->policy) {
    const auto text = world_.objects.blob_tail(plan_->policy->blake3, kPolicyBytesMax);
    if (!text) return gates::policy_missing("the policy can't be read: " + text.error().message);
    auto parsed = plan::parse_policy(*text, plan_->policy->file);
    if (!parsed.policy || blake3_hex(*text) != plan_->policy->blake3)
      return gates::policy_missing("the policy that was kept is not the one that the plan pins");
    policy = policy_ = *std::move(parsed.policy);
  }
  const auto stands_in = shadows(layer, base_stack_);
  gates::PolicyCheck check(policy, world_.redactor, stands_in);
  gates::Unloaded unloaded;
  for (const auto& [gate_id, found] : on_base_)
    for (const auto& [kind, inventory] : found.inventories) unloaded.add(inventory);
  const auto reads = [&, this](const std::string& path) {
    return plan_->policy.has_value() || gates::shadowing_reads(path, stands_in.targets) ||
           unloaded.stands_for(path);
  };
  PAWL_OK(world_.objects.each_change(claim_->run.base_id, base_stack_, layer, reads,
                                     [&](const FileChange& change) -> Status {
                                       check.see(change);
                                       if (gates::lost_tests(change)) unloaded.see_removed(change.path);
                                       return {};
                                     }));
  removed_ = unloaded.removed();
  auto signal = check.signal();
  signal.collector = "diff";
  signal.read = layer;
  return signal;
}

Status Episode::look() {
  if (no_memory_) return {};
  try {
    need_results();
    PAWL_OK(load_on_base());
    PAWL_OK(after_agent());
    return evaluate_gates();
  } catch (const std::bad_alloc&) {
    end_without_memory();
  }
  return {};
}

void Episode::end_without_memory() {
  if (!os::defences().memory) throw;
  no_memory_ = agent_seen_ = true;
  agent_layer_ = gate_layer_ = layer_left();
  gate_passed_.clear();
  gate_signals_.clear();
}

Result<const PlannedStep*> Episode::next_of_gates() {
  PAWL_OK(look());
  if (no_memory_) return nullptr;
  const std::span all(steps_);
  return next_step(all.subspan(1),  // the agent is the first
                   {.results = results_,
                    .on_base = on_base_,
                    .known_failing = known_failing_,
                    .gate_passed = gate_passed_,
                    .base_again = base_again_,
                    .reruns = reruns_});
}

bool Episode::agent_decides() const {
  const auto agent = results_.find(steps_.front().index);
  if (agent == results_.end()) return false;
  const auto& run = agent->second;
  // An agent that exited with a code other than 0 may have done its work. An agent that was ended has not. An
  // agent that failed and left no files has not, unless the plan says that its exit code has no meaning.
  const bool failed = run.exit_code != 0 && phase_->agent_exit != plan::AgentExit::kAny;
  if (run.outcome != sandbox::Outcome::kExited || (failed && !wrote_files())) return true;
  gates::StepFacts facts;
  add_refused(steps_.front(), run, facts);
  return facts.refused_entries_fail || facts.withheld_fail || !filtered_.protected_changes.empty() ||
         !filtered_.submodule_changes.empty() || (policy_signal_ && !policy_signal_->passed);
}

Result<const PlannedStep*> Episode::next() {
  PAWL_OK(look());
  if (no_memory_) return nullptr;
  return next_step(steps_, {.results = results_,
                            .on_base = on_base_,
                            .known_failing = known_failing_,
                            .agent_decides = agent_decides(),
                            .gate_passed = gate_passed_,
                            .base_again = base_again_,
                            .reruns = reruns_});
}

workspace::Workspaces::Sight Episode::sight_of(const std::string& gate_id) const {
  return {.paths = sight_rules_,
          .only = plan_->gates.at(gate_id).take_only,
          .names = protected_names_,
          .shadows = {}};
}

std::vector<std::string> Episode::left_before(const PlannedStep& step) const {
  std::vector<std::string> layers;
  for (auto other = steps_.rbegin(); other != steps_.rend(); ++other) {
    const bool same = other->role == step.role && other->gate_id == step.gate_id &&
                      other->again == step.again && other->rerun == step.rerun;
    if (!same || other->index >= step.index) continue;
    const auto run = results_.find(other->index);
    if (run != results_.end() && !run->second.layer.empty()) layers.push_back(run->second.layer);
  }
  return layers;
}

std::string Episode::work_for(const PlannedStep& step) const {
  // A hook and a baseline see the base that this attempt started from: the agent's work could lie to them.
  if (step.role != StepRole::kGate || gates_see_no_work()) return {};
  const auto taken = taken_layers_.find(step.gate_id);
  return taken == taken_layers_.end() ? gate_layer_ : taken->second;
}

Status Episode::add_repository(const PlannedStep& step, sandbox::WorkspaceSpec& to) {
  if (plan_->git == plan::Git::kNone) return {};
  auto layers = base_stack_;
  if (auto work = work_for(step); !work.empty()) layers.insert(layers.begin(), std::move(work));
  PAWL_TRY(auto made, world_.objects.repository_for(source_of(claim_->run), layers, history_at(*plan_)));
  to.git_commit = std::move(made.commit);
  to.git_layers = std::move(made.layers);
  to.git_objects = std::move(made.objects);
  looks_.need("", to.git_layers);
  return {};
}

Result<std::vector<std::string>> Episode::layers_of(const PlannedStep& step) const {
  auto layers = left_before(step);
  const auto left = layers.size();
  if (auto work = work_for(step); !work.empty()) layers.push_back(std::move(work));
  // An earlier step ran code that the agent wrote, so the path rules also apply to the layers that it left.
  if (left > 0 && os::defences().lid) {
    PAWL_TRY(const auto sight, sight_between(step.gate_id, layers, left));
    PAWL_TRY(auto lid, world_.objects.lid(claim_->run.base_id, base_stack_, layers, sight));
    if (!lid.empty()) layers.insert(layers.begin(), std::move(lid));
  }
  if (auto own = own_layer_of(step); !own.empty()) layers.push_back(std::move(own));
  layers.insert(layers.end(), base_stack_.begin(), base_stack_.end());
  return layers;
}

// A runner that appends to its report must not find one: the content would count as the step's own.
Result<std::vector<std::string>> Episode::layers_without_reports(const PlannedStep& step) const {
  PAWL_TRY(auto layers, layers_of(step));
  std::vector<std::string> reports;
  for (const auto& declared : step.step->reports)
    std::ranges::copy(declared.patterns, std::back_inserter(reports));
  if (reports.empty()) return layers;
  PAWL_TRY(auto emptied, world_.objects.deletion_of(claim_->run.base_id, layers, reports));
  if (!emptied.empty()) layers.insert(layers.begin(), std::move(emptied));
  return layers;
}

Result<Context> Episode::context_of(const PlannedStep& step) const {
  switch (step.role) {
    case StepRole::kAgent:
      return agent_context(world_, *claim_);
    case StepRole::kDoctor:
    case StepRole::kReplan:
      return hook_context();
    case StepRole::kBaseline:
    case StepRole::kGate:
      break;
  }
  return Context();
}

const std::string& Episode::plan_folder_of(const PlannedStep& step) const {
  const bool for_agents = step.role == StepRole::kAgent && !plan_->plan_for_agents.empty();
  return for_agents ? plan_->plan_for_agents : claim_->run.plan_content;
}

sandbox::CopyIn Episode::plan_of(const PlannedStep& step) const {
  const std::string& folder = plan_folder_of(step);
  const auto trees = world_.objects.trees_of(folder);
  return sandbox::CopyIn{.src = trees.front(),
                         .below = {trees.begin() + 1, trees.end()},
                         .dst = sandbox::inside::kPlan,
                         .access = sandbox::Access::kReadOnly,
                         .content = folder};
}

Result<sandbox::SandboxSpec> Episode::spec_of(const PlannedStep& step, const Context& context) {
  const plan::Step& planned = *step.step;
  sandbox::SandboxSpec spec;
  spec.base_image = planned.limits.base_image;
  PAWL_TRY(auto layers, layers_without_reports(step));
  spec.workspace = {.base_id = claim_->run.base_id, .layers = std::move(layers)};
  PAWL_OK(add_repository(step, spec.workspace));
  const bool hook = step.role == StepRole::kDoctor || step.role == StepRole::kReplan;
  spec.cmd = hook ? hook_command(planned.argv) : planned.argv;
  spec.network =
      planned.network == plan::Network::kScoped ? sandbox::Network::kScoped : sandbox::Network::kNone;
  spec.egress_allowlist = planned.egress;
  spec.enable_trace = planned.trace;
  spec.time_budget_seconds = planned.limits.time_budget_seconds;
  spec.memory_limit_mib = planned.limits.memory_limit_mib;
  spec.pids_limit = planned.limits.pids_limit;
  spec.cpu_limit_millis = planned.limits.cpu_limit_millis;
  spec.disk_limit_mib = planned.limits.disk_limit_mib;
  spec.output_limit_bytes = planned.limits.output_limit_bytes;
  spec.label = label_of(phase_->id, step, claim_->attempt.number);
  looks_.need(spec.workspace.base_id, spec.workspace.layers);
  looks_.need(plan_folder_of(step), {});
  spec.copy_in.push_back(plan_of(step));
  PAWL_TRY(auto host, from_host(*plan_));
  spec.env = std::move(host.env);
  std::ranges::move(host.mounts, std::back_inserter(spec.copy_in));
  // The supervisor fills in `src`. An agent finds its socket there.
  if (!context.empty() || step.role == StepRole::kAgent)
    spec.copy_in.push_back({.src = "",
                            .dst = sandbox::inside::kPawl,
                            .access = sandbox::Access::kReadOnly,
                            .content = content_of(context)});
  if (step.role == StepRole::kAgent) {
    add_agent(!context.empty(), spec);
  } else if (hook) {
    spec.keep_layer = false;
    spec.copy_out = {kAnswerFile};
  } else {
    // Reports of the last step are stored as files. The files that an earlier step of the gate made are
    // stored as a whole layer, because the next step needs them.
    spec.keep_layer = !step.last_of_gate || minds_refused_entries(step);  // needed to find them, too
    for (const auto& declared : planned.reports)
      std::ranges::copy(declared.patterns, std::back_inserter(spec.copy_out));
    const auto sight = sight_of(step.gate_id);
    spec.held = sight.paths.protect;
    std::ranges::copy(sight.paths.protect_existing, std::back_inserter(spec.held));
  }
  std::ranges::sort(spec.env);
  PAWL_OK(sandbox::validate(spec));
  return spec;
}

}  // namespace pawl::executor
