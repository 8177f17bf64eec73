#include "sim/sandboxes.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>

#include "agent/server.h"
#include "agent/usage_reader.h"
#include "executor/steps.h"
#include "supervisor/supervisor.h"

namespace pawl::sim {
namespace {

using sandbox::Outcome;

constexpr std::int64_t kAskEveryMs = 200;
constexpr const char* kAnotherSpec = "another";
constexpr std::int64_t kNotFound = 127;  // docs/plan-format.md

const std::vector<std::string> kDoctorAnswers = {R"({"action":"retry_with_hint","hint":"h","reason":"r"})",
                                                 R"({"action":"replan"})",
                                                 R"({"action":"skip_phase"})",
                                                 R"({"action":"mark_failed"})",
                                                 R"({"action":"abort_run","reason":"r"})",
                                                 R"({"action":"dance"})",
                                                 "",
                                                 "[[[[[",
                                                 R"({"action":"retry_with_hint"})"};
const std::vector<std::string> kReplanAnswers = {R"({"goal":"another"})", R"({"goal":"more","reason":"r"})",
                                                 "", R"({"goal":""})", R"({"goal":7})"};

constexpr std::string_view kFailed = ".failed";

}  // namespace

TestNames failed_in(const std::string& copy_out) {
  TestNames out;
  for (const auto* name : {"alpha", "beta", "gamma", "delta"})
    if (copy_out.find(std::string(kFailed) + "." + name) != copy_out.npos) out.insert(name);
  return out;
}

TestNames SimSandboxes::failing_on_base(std::vector<std::string> layers, const std::string& gate) const {
  TestNames out;
  std::ranges::sort(layers);
  for (const auto& [of, attempts] : ran_on_base_) {
    auto others = of.first;
    std::ranges::sort(others);
    if (of.second != gate || others != layers) continue;
    for (const auto& [attempt, runs] : attempts)
      for (const auto& [step, run] : runs) out.merge(failed_in(run.copy_out));
  }
  return out;
}

// A label is "phase.gate.step.attemptN..." or "phase.gate.step@base.attemptN..."; ids and names have no dot.
const GateStep* SimSandboxes::planned_step(const std::string& label) const {
  const auto gate = label.find('.') + 1, step = label.find('.', gate) + 1;
  const auto id = label.substr(gate, step - 1 - gate),
             name = label.substr(step, label.find_first_of(".@", step) - step);
  for (const auto& [phase, steps] : gates_)
    for (const auto& planned : steps)
      if (planned.gate_id == id && planned.name == name) return &planned;
  return nullptr;
}

void SimSandboxes::run_tests(sandbox::SandboxRun& run, bool on_base) {
  auto& dice = world_.dice;
  std::string report;
  run.copy_out = "report-" + run.run_id;
  for (const auto* name : {"alpha", "beta", "gamma", "delta"}) {
    // `delta` fails where no step may succeed, and never on base.
    const bool fails = std::string_view(name) == "delta" ? hopeless_ && !on_base : dice.percent(30);
    report += fmt::format("{} - {}\n", fails ? "not ok" : "ok", name);
    if (fails) run.copy_out += std::string(kFailed) + "." + name;
  }
  answers_[run.copy_out] = report + "1..4\n";
  const bool any = !failed_in(run.copy_out).empty();
  run.exit_code = any || dice.percent(5) ? 1 : 0;
  if (dice.percent(4)) run.copy_out.clear();  // it wrote no report
}

sandbox::SandboxRun SimSandboxes::outcome_of(const std::string& id, const sandbox::SandboxSpec& spec) {
  auto& dice = world_.dice;
  sandbox::SandboxRun run;
  run.run_id = id;
  run.backend = "namespace";
  run.gate_isolation_class = "shared_kernel";
  run.started_at = rfc3339(world_.clock.wall());
  run.ended_at = run.started_at;
  run.outcome = Outcome::kExited;
  run.exit_code = dice.percent(55) ? 0 : dice.one_of<std::int64_t>({0, 1, 2, 127});
  if (dice.percent(6)) {
    run.outcome = dice.one_of<Outcome>({Outcome::kTimedOut, Outcome::kOomKilled, Outcome::kSignaled,
                                        Outcome::kSetupFailed, Outcome::kDiskLimit, Outcome::kOutputLimit});
    run.exit_code = -1;
    if (run.outcome == Outcome::kSignaled && dice.percent(50)) run.signal = SIGKILL;
  }
  if (hopeless_) run.exit_code = 1;
  // A base that cannot judge work ends the attempt: often enough to be tested, and not more often.
  if (base_step(spec) && run.exit_code == kNotFound && !dice.percent(15)) run.exit_code = 1;
  const auto* planned = planned_step(spec.label);
  if (planned != nullptr && planned->known_failing && run.outcome == Outcome::kExited && run.exit_code <= 1)
    run_tests(run, base_step(spec).has_value());
  if (spec.keep_layer && run.outcome != Outcome::kSetupFailed && dice.percent(80)) run.layer = "layer-" + id;
  const bool doctor = spec.label.find(".doctor.run.") != std::string::npos;
  const bool replan = spec.label.find(".replan.run.") != std::string::npos;
  if ((doctor || replan) && run.outcome == Outcome::kExited) {
    run.exit_code = dice.percent(85) ? 0 : 1;
    run.copy_out = "answer-" + id;
    answers_[run.copy_out] = dice.one_of(doctor ? kDoctorAnswers : kReplanAnswers);
  }
  return run;
}

// Parses the label "phase.gate.step@base.attemptN[.episodeM]"; ids and names have no dot here.
std::optional<SimSandboxes::OnBase> SimSandboxes::base_step(const sandbox::SandboxSpec& spec) const {
  const auto end = spec.label.find("@base.");
  if (end == std::string::npos) return std::nullopt;
  const auto gate = spec.label.find('.') + 1, step = spec.label.find('.', gate) + 1;
  auto layers = spec.workspace.layers;
  const auto of_base = [&](const std::string& layer) {
    return std::ranges::any_of(
        steps_, [&](const auto& known) { return known.second.on_base && known.second.run.layer == layer; });
  };
  while (!layers.empty() && of_base(layers.front())) layers.erase(layers.begin());
  return OnBase{.gate = {std::move(layers), spec.label.substr(gate, step - 1 - gate)},
                .attempt = run_id_ + spec.label.substr(0, gate) + spec.label.substr(end),
                .step = spec.label.substr(step, end - step)};
}

bool SimSandboxes::is_usable(const std::string& phase, const std::string& gate, const Runs& runs) const {
  bool failed = false;
  for (const auto& step : gates_.at(phase)) {
    if (step.gate_id != gate) continue;
    const auto ran = runs.find(step.name);
    if (ran == runs.end() || ran->second.outcome == Outcome::kSetupFailed) return false;
    if (failed) continue;  // it may lack a file that the failed step did not make
    const bool exited = ran->second.outcome == Outcome::kExited;
    const auto code = ran->second.exit_code;
    if (exited && code == kNotFound) return false;
    if (step.known_failing && ran->second.copy_out.empty()) return false;  // its tests are not known
    failed = !exited || (code != 0 && !(step.may_fail && code <= kMayFailMost));
  }
  return true;
}

// Before an agent is paid, each gate of its phase has run on the agent's base and can judge work.
void SimSandboxes::check_base(const std::string& phase, const std::vector<std::string>& layers) const {
  for (const auto& step : gates_.at(phase)) {
    const auto ran = ran_on_base_.find({layers, step.gate_id});
    World::require(ran != ran_on_base_.end(),
                   phase + ": an agent is paid before gate " + step.gate_id + " ran on base");
    // A crash may repeat a step of a gate that was usable before. Its first result is kept by content.
    World::require(usable_on_base_.contains({layers, step.gate_id}),
                   phase + ": an agent is paid although gate " + step.gate_id + " can't run on base");
  }
}

void SimSandboxes::call_models(const agent::Context& reported, Step& step) {
  auto& dice = world_.dice;
  // After any crash the same episode finds its own data again, and no other episode does.
  const std::string episode =
      reported.key.run_id + "/" + reported.key.goal_id + "/" + reported.key.episode_id;
  const std::string of = reported.key.run_id + "/" + step.label;
  World::require(label_of_episode_.emplace(episode, of).first->second == of,
                 "two tries share what they keep: " + step.label);
  World::require(episode_of_label_.emplace(of, episode).first->second == episode,
                 "a try does not find what it kept: " + step.label);
  if (dice.percent(50)) episodes_.keep(reported.key);
  episodes_.work(reported, step.run.run_id, world_.clock.wall());
  // After any crash a process may make a second call only while it is below its caps.
  const AgentCaps& caps = agent_caps_[reported.phase_id];
  std::int64_t made = 0;
  for (std::int64_t calls = dice.below(4); calls > 0; --calls) {
    const auto before = World::must(episodes_.spent(reported.key));
    World::require(made++ == 0 || caps.leave_some(before),
                   "an agent goes on to spend more than its plan allows: " + step.label);
    agent::Usage usage{.id = fmt::format("{}.{}", step.run.run_id, calls),
                       .model = reported.model,
                       .input_tokens = dice.below(kTokensOfCallMax),
                       .output_tokens = 1,
                       .source = "agent"};
    if (dice.percent(70)) usage.usd_micros = dice.below(kMicrosOfCallMax);  // without it the price is unknown
    const auto spent = episodes_.tell(reported.key, usage, world_.clock.wall());
    const bool tokens_left = !reported.tokens_cap || spent.tokens < *reported.tokens_cap;
    if (tokens_left && (!reported.usd_micros_cap || spent.usd_micros < *reported.usd_micros_cap)) continue;
    step.run.outcome = Outcome::kSignaled;
    step.run.exit_code = -1;
    step.run.signal = SIGTERM;
    step.run.reason = supervisor::kUsageCapReason;
    break;
  }
  step.may_go_on = step.run.outcome == Outcome::kSignaled;
}

// The provider refuses the agent: for some time, for an unknown time, or for its credential.
void SimSandboxes::perhaps_refuse(const agent::Context& reported, Step& step) {
  auto& dice = world_.dice;
  if (reported.usage.empty() || step.run.outcome != Outcome::kExited || !dice.percent(refused_percent_))
    return;
  step.run.exit_code = 1;
  step.run.logs = "log-" + step.run.run_id;
  const auto reset = world_.clock.wall().micros / 1'000'000 + dice.below(600) - 60;
  answers_[step.run.logs] =
      dice.one_of<std::string>({fmt::format("Claude AI usage limit reached|{}\n", reset),
                                "API Error: 529 Overloaded\n", "Invalid API key\n"});
  // An agent that has spent its own budget does not wait. Each of several has a share, which the simulator does not know.
  const bool is_one_of_several = reported.key.episode_id.contains(".e");
  const bool has_some = agent_caps_[reported.phase_id].leave_some(World::must(episodes_.spent(reported.key)));
  if (!is_one_of_several && !has_some) return;
  refused_.insert(step.run.run_id);
  step.may_go_on = true;
}

// Ids of phases have no dot here; a label begins with one.
std::optional<store::StepRow> SimSandboxes::marker_of(const std::string& id, const std::string& label) const {
  const auto steps = World::must(store_.steps(run_id_, label.substr(0, label.find('.'))));
  const auto row = std::ranges::find(steps, id, &store::StepRow::sandbox_run_id);
  return row == steps.end() ? std::nullopt : std::optional(*row);
}

// Looks at the last step of the first gate, because the number of gates is not known here.
bool SimSandboxes::is_decided_before(const store::StepRow& marker) const {
  const auto steps = World::must(store_.steps(run_id_, marker.phase_id));
  return std::ranges::any_of(steps, [&](const store::StepRow& row) {
    if (row.attempt_id != marker.attempt_id || row.episode == 0 || row.episode >= marker.episode)
      return false;
    const bool is_last =
        row.step_name == "b" || row.step_name.starts_with("b@rerun");  // the last of gate one
    return row.decision == "escalate" || (is_last && row.state == store::StepState::kDone);
  });
}

void SimSandboxes::check_together(const store::StepRow& marker, const sandbox::SandboxSpec& spec) const {
  if (marker.step_index < executor::kRoundStride || spec.label.find(".together") == spec.label.npos) return;
  const auto attempts = World::must(store_.attempts(run_id_, marker.phase_id));
  const auto row = std::ranges::find(attempts, marker.attempt_id, &store::AttemptRow::attempt_id);
  for (const auto& layer : World::must(store_.base_layers(store::judged_on(*row))))
    World::require(std::ranges::find(spec.workspace.layers, layer) != spec.workspace.layers.end(),
                   spec.label + " does not see what was accepted");
}

void SimSandboxes::of_run(std::string run_id, GatesOfPhases gates, CapsOfPhases agent_caps) {
  run_id_ = std::move(run_id);
  gates_ = std::move(gates);
  agent_caps_ = std::move(agent_caps);
  steps_.clear();
  started_ = 0;
}

std::vector<std::string> SimSandboxes::layers_of(const std::string& sandbox_run_id) const {
  const auto step = steps_.find(sandbox_run_id);
  return step == steps_.end() ? std::vector<std::string>() : step->second.layers;
}

std::vector<std::string> SimSandboxes::ended() const {
  std::vector<std::string> out;
  for (const auto& [id, step] : steps_)
    if (step.ended && !step.may_go_on && step.spec_hash != kAnotherSpec) out.push_back(id);
  return out;
}

std::vector<std::string> SimSandboxes::unwatched() {
  std::vector<std::string> out;
  for (auto& [id, step] : steps_) {
    settle(step);
    const bool runs = step.state == State::kRunning && !step.label.empty();
    if (runs && !world_.dead_owners.contains(step.watcher)) out.push_back(step.label);
  }
  return out;
}

void SimSandboxes::settle(Step& step) const {
  if (step.label.empty() || step.state != State::kRunning) return;  // it never began, or is over
  if (world_.clock.mono().micros < step.ends_at_micros) return;
  step.state = State::kSpooled;
  step.ended = true;
}

Status SimSandboxes::start(const std::string& sandbox_run_id, const std::string& /*backend*/,
                           const sandbox::SandboxSpec& spec,
                           const std::vector<supervisor::ContextFile>& /*context*/,
                           const std::optional<supervisor::AgentStep>& agent) {
  world_.pass("start");
  auto& step = steps_[sandbox_run_id];
  // Another process gave it up meanwhile: the supervisor sees that and exits.
  if (step.abandoned) return {};
  // An operator may have closed the marker a moment ago; then the executor that started the step ends it.
  const auto marker = marker_of(sandbox_run_id, spec.label);
  World::require(marker.has_value(), "a step starts without a marker: " + spec.label);
  auto spec_hash = sandbox::spec_hash(spec);
  World::require(marker->sandbox_spec_hash == spec_hash,
                 "a step starts with another spec than its marker's: " + spec.label);
  World::require(step.label.empty(), "a step starts twice: " + spec.label);
  check_together(*marker, spec);
  ++started_;
  step.label = spec.label;
  step.boot = world_.clock.mono_id();
  step.layers = spec.workspace.layers;
  if (!spec.workspace.own_layer.empty()) step.layers.erase(step.layers.begin());
  step.watcher = world_.current;
  step.spec_hash = std::move(spec_hash);
  step.run = outcome_of(sandbox_run_id, spec);
  step.on_base = base_step(spec);
  const auto phase = spec.label.substr(0, spec.label.find('.'));
  if (agent) {
    const auto steps = World::must(store_.steps(run_id_, phase));
    kept_.check_start(steps, *marker, spec, homes_.first_layer(steps, *marker));
    homes_.make(marker->attempt_id);
  }
  step.prints_usage = agent && !agent->context.usage.empty();
  if (agent) check_base(phase, step.layers);
  if (agent) call_models(agent->context, step);
  if (agent) perhaps_refuse(agent->context, step);
  const std::int64_t takes_ms =
      world_.dice.percent(10) ? 60'000 + world_.dice.below(60'000) : 1 + world_.dice.below(3000);
  step.ends_at_micros = world_.clock.mono().micros + takes_ms * 1000;
  step.run.duration_ms = takes_ms;
  world_.tell("starts " + spec.label + " (" + std::string(sandbox::name(step.run.outcome)) + " " +
              std::to_string(step.run.exit_code) + " after " + std::to_string(takes_ms) + " ms)");
  world_.pass("started");
  return {};
}

Result<supervisor::Found> SimSandboxes::find(const std::string& sandbox_run_id) {
  world_.pass("find");
  const auto found = steps_.find(sandbox_run_id);
  if (found == steps_.end()) return supervisor::Found::kNothing;
  settle(found->second);
  switch (found->second.state) {
    case State::kRunning:
      return found->second.label.empty() ? supervisor::Found::kNothing : supervisor::Found::kRunning;
    case State::kSpooled:
      return supervisor::Found::kSpooled;
    case State::kGone:
      break;
  }
  return supervisor::Found::kNothing;
}

Status SimSandboxes::wait(const std::string& sandbox_run_id, const std::function<bool()>& stop) {
  for (;;) {
    world_.pass("wait");
    auto& step = steps_[sandbox_run_id];
    settle(step);
    step.watcher = world_.current;
    if (step.state != State::kRunning || step.label.empty()) return {};
    if (stop()) return fail(ErrorKind::kCancelled, "stopped waiting");
    world_.clock.advance_ms(kAskEveryMs);
  }
}

Result<sandbox::SandboxRun> SimSandboxes::collect(const std::string& sandbox_run_id,
                                                  const std::string& spec_hash) {
  world_.pass("collect");
  const auto found = steps_.find(sandbox_run_id);
  if (found == steps_.end() || found->second.state != State::kSpooled)
    return fail(ErrorKind::kNotFound, "no result");
  const auto& spooled = found->second.spec_hash;
  if (spec_hash.empty())
    World::require(spooled != kAnotherSpec, "a result of another spec was taken");
  else if (spooled != spec_hash)
    return fail(ErrorKind::kCorrupt, "of another spec");
  kept_.note_result(sandbox_run_id, found->second.run.layer);
  const auto& on_base = found->second.on_base;
  if (on_base) {
    auto& runs = ran_on_base_[on_base->gate][on_base->attempt];
    runs[on_base->step] = found->second.run;
    const std::string& label = found->second.label;
    if (is_usable(label.substr(0, label.find('.')), on_base->gate.second, runs))
      usable_on_base_.insert(on_base->gate);
  }
  return found->second.run;
}

Status SimSandboxes::abandon(const std::string& sandbox_run_id) {
  world_.pass("abandon");
  auto& step = steps_[sandbox_run_id];
  settle(step);
  step.abandoned = true;
  if (step.state == State::kRunning) {
    // A recovery abandons only dead steps. An operator, and an executor that lost its lease, abandon unwanted
    // steps.
    const auto marker = marker_of(sandbox_run_id, step.label);
    World::require(step.label.empty() || !marker || marker->state != store::StepState::kOpen ||
                       is_decided_before(*marker),
                   "a step that runs and is wanted was given up: " + step.label);
    step.state = State::kGone;
  }
  return {};
}

Result<supervisor::Salvage> SimSandboxes::salvage(const std::string& sandbox_run_id,
                                                  const std::vector<std::string>& /*probe*/,
                                                  const secrets::Redactor::Values& /*credentials*/) {
  world_.pass("salvage");
  const auto& step = steps_[sandbox_run_id];
  World::require(step.abandoned, "a probe looks at a step that may still run");
  supervisor::Salvage out;
  if (step.label.empty()) {
    out.exit_code = 1;
  } else if (world_.dice.percent(80)) {
    out.exit_code = world_.dice.below(3);
  }
  if (out.exit_code == 0) {
    out.run = step.run;
    out.run.outcome = Outcome::kExited;
    out.run.exit_code = 0;
  }
  return out;
}

Result<supervisor::KeptWork> SimSandboxes::keep_work(const std::string& sandbox_run_id,
                                                     const secrets::Redactor::Values& /*credentials*/) {
  world_.pass("keep_work");
  const auto& step = steps_[sandbox_run_id];
  World::require(step.abandoned, "the work of a step that may still run is kept");
  supervisor::KeptWork out{.began = !step.label.empty(), .layer = {}, .missing = {}};
  bool is_open = true;
  if (out.began) {
    const auto marker = marker_of(sandbox_run_id, step.label);
    // An operator, or an executor that has the lease now, may have closed the marker a moment ago.
    is_open = marker && marker->state == store::StepState::kOpen;
    World::require(!step.forgotten || !is_open,
                   "the work of a step is kept after it was forgotten: " + step.label);
    // A supervisor that has spooled a result has removed the workspace.
    const bool is_gone = step.forgotten || step.ended || world_.dice.percent(20);
    const bool restarted = step.boot != world_.clock.mono_id();
    if (restarted || is_gone) out.missing = restarted ? "restart" : "workspace";
    if (out.missing.empty()) out.layer = world_.dice.percent(80) ? "left-" + sandbox_run_id : "";
  }
  if (is_open) kept_.note(sandbox_run_id, out);
  world_.pass("kept");
  return out;
}

Status SimSandboxes::report_usage(const supervisor::PrintedUsage& of) {
  world_.pass("report_usage");
  const auto& step = steps_[of.sandbox_run_id];
  World::require(step.abandoned, "the output of a step that may still run is read");
  if (step.state == State::kSpooled || step.forgotten || (step.label.empty() && of.same_boot)) return {};
  episodes_.tell_once(of.key, agent::unknown_usage(of.sandbox_run_id, of.reader), world_.clock.wall());
  world_.pass("reported_usage");
  return {};
}

void SimSandboxes::forget(const std::string& sandbox_run_id) {
  const auto found = steps_.find(sandbox_run_id);
  if (found == steps_.end()) return;
  settle(found->second);
  // The spool is gone. The id stays abandoned, so that the step never runs again under its marker.
  found->second.state = State::kGone;
  found->second.abandoned = true;
  found->second.forgotten = true;
}

void SimSandboxes::lose_power() {
  homes_.lose_power();
  for (auto& [id, step] : steps_) {
    settle(step);
    if (step.state == State::kRunning && !step.label.empty()) step.state = State::kGone;
  }
}

bool SimSandboxes::kill_one() {
  std::vector<Step*> running;
  for (auto& [id, step] : steps_) {
    settle(step);
    if (step.state == State::kRunning && !step.label.empty()) running.push_back(&step);
  }
  if (running.empty()) return false;
  auto* step = world_.dice.one_of(running);
  step->state = State::kGone;
  world_.tell("kills the supervisor of " + step->label);
  return true;
}

void SimSandboxes::damage_one() {
  std::vector<Step*> spooled;
  for (auto& [id, step] : steps_) {
    settle(step);
    if (step.state == State::kSpooled) spooled.push_back(&step);
  }
  if (spooled.empty()) return;
  auto* step = world_.dice.one_of(spooled);
  step->spec_hash = kAnotherSpec;
  world_.tell("puts the result of another spec in place of that of " + step->label);
}

std::string SimSandboxes::output_in(const std::string& blob) const { return answer_in(blob); }

std::string SimSandboxes::answer_in(const std::string& layer) const {
  const auto found = answers_.find(layer);
  return found == answers_.end() ? "" : found->second;
}

}  // namespace pawl::sim
