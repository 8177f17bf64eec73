// The judging half of Episode: turns facts into a verdict, and a verdict into the row that ends the attempt.
#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "base/hash.h"
#include "base/json_members.h"
#include "base/mutant.h"
#include "executor/episode.h"
#include "gates/hang.h"
#include "gates/policy/check.h"
#include "os/defences.h"

namespace pawl::executor {
namespace {

// Mutants (base/mutant.h).
bool ignores_agent_exit() { return mutant("agent_exit_ignored"); }
bool passes_empty_work() { return mutant("empty_work_passes"); }
bool forgets_failed_gates() { return mutant("failed_gates_forgotten"); }

constexpr std::uint64_t kComparedPatchBytesMax = 64 << 20;  // per episode; the patch is in memory
constexpr std::size_t kPathsNamedMax = 10;  // enough to see what was touched; the diff has all

store::AttemptVerdict recorded(gates::Verdict::Kind kind) {
  using enum store::AttemptVerdict;
  switch (kind) {
    case gates::Verdict::Kind::kPassed:
      return kPassed;
    case gates::Verdict::Kind::kFailedRetryable:
      return kFailedRetryable;
    case gates::Verdict::Kind::kFailedUnrecoverable:
      return kFailedUnrecoverable;
    case gates::Verdict::Kind::kEscalate:
      return kEscalate;
  }
  return kEscalate;
}

std::string joined(const std::vector<std::string>& words, std::size_t most) {
  std::string out;
  for (std::size_t i = 0; i < words.size() && i < most; ++i) out += (i == 0 ? "" : ", ") + words[i];
  if (words.size() > most) out += fmt::format(", and {} more", words.size() - most);
  return out;
}

// Whether the verdict depends on how a step of this role ended.
bool judges(StepRole role) { return role == StepRole::kAgent || role == StepRole::kGate; }

bool takes_any_exit(plan::AgentExit exit) { return exit == plan::AgentExit::kAny || ignores_agent_exit(); }

bool refuses_empty_work(bool needs_change) { return needs_change && !passes_empty_work(); }

// Then the gate is as if the plan did not have it.
bool is_forgotten(bool gate_passed) { return !gate_passed && forgets_failed_gates(); }

gates::Signal agent_signal(const sandbox::SandboxRun& run, const gates::StepFacts& facts,
                           const plan::Phase& phase) {
  const bool any = takes_any_exit(phase.agent_exit) && run.outcome == sandbox::Outcome::kExited;
  gates::Signal signal{.kind = "agent",
                       .gate_id = std::string(kAgentGate),
                       .passed = any || succeeded(run),
                       .details = {{"outcome", name(facts.outcome)}, {"exit_code", facts.exit_code}},
                       .collector = "exit code",
                       .read = gates::digest_of({facts})};
  const auto meaning = phase.exit_codes.find(facts.exit_code);
  if (run.outcome == sandbox::Outcome::kExited && meaning != phase.exit_codes.end())
    signal.details["means"] = meaning->second;
  gates::report_hang(facts, signal);
  gates::report_refusals({facts}, signal);
  if (facts.withheld.empty()) return signal;
  signal.passed = signal.passed && !facts.withheld_fail;
  signal.details["withheld_names"] = joined(facts.withheld, kPathsNamedMax);
  signal.details["problem"] =
      "files with the value of a credential are never stored: leave it out, and read it from its variable";
  return signal;
}

gates::Signal protect_signal(const workspace::Workspaces::Filtered& filtered, const std::string& layer) {
  const auto& [id, changes, of_submodules, new_refused, new_taken] = filtered;
  gates::Signal signal{
      .kind = "policy",
      .gate_id = "protect",
      .passed = changes.empty() && of_submodules.empty(),
      .details = {{"protected_paths_changed", changes.size()}, {"paths", joined(changes, kPathsNamedMax)}},
      .collector = "diff",
      .read = layer};
  if (!new_taken.empty()) {
    signal.details["new_files"] = new_taken.size();
    signal.details["new_names"] = joined(new_taken, kPathsNamedMax);
  }
  if (!new_refused.empty())
    signal.details["problem"] = "new files: " + joined(new_refused, kPathsNamedMax) +
                                "; `protect` refuses them, and `protect_existing` would take them";
  if (of_submodules.empty()) return signal;
  signal.details["submodule_paths_changed"] = of_submodules.size();
  signal.details["problem"] = "a commit can't change what belongs to a git submodule";
  signal.details["submodule_paths"] = joined(of_submodules, kPathsNamedMax);
  return signal;
}

// The signal always passes: ignored files are neither judged nor accepted, but their loss is reported.
gates::Signal ignored_signal(const std::string& layer, const workspace::Workspaces::Work& work) {
  gates::Signal signal{
      .kind = "ignored",
      .gate_id = "diff",
      .passed = true,
      .details = {{"entries", work.ignored_entries}, {"bytes", work.ignored_bytes}, {"work", work.layer_id}},
      .collector = "diff",
      .read = layer};
  if (work.lost.empty()) return signal;
  std::vector<std::string> names;
  for (const auto& [from, to] : work.lost) names.push_back(from + " (perhaps now " + to + ")");
  signal.details["lost"] = names.size();
  signal.details["lost_names"] = joined(names, kPathsNamedMax);
  return signal;
}

// The attempt passed alone, as each phase in `beside` did. The signal says whether it passes on top of them.
gates::Signal together_signal(const std::vector<std::string>& beside, bool holds, const std::string& layer) {
  gates::Signal signal{.kind = "merge",
                       .gate_id = "parallel",
                       .passed = holds,
                       .details = {{"judged_with", joined(beside, kPathsNamedMax)}},
                       .collector = "diff",
                       .read = layer};
  if (!holds)
    signal.details["problem"] = "it passed alone, and fails together with what these phases changed";
  return signal;
}

// The signal is recorded even when it passes: an agent that only claims to be done looks the same. A change is
// what a patch can have. An agent that wrote files as they were, a folder or a mode that git does not keep left
// no work to accept. `takes_back`: it answers an attempt that broke something, and was told to.
gates::Signal empty_signal(bool wrote, bool takes_back, const std::string& layer,
                           const std::optional<workspace::Workspaces::Work>& ignored, bool needs_change) {
  gates::Signal signal{.kind = "empty",
                       .gate_id = "diff",
                       .passed = takes_back || !refuses_empty_work(needs_change),
                       .details = {{"files", 0}},
                       .collector = "diff",
                       .read = layer};
  if (ignored) signal.details["ignored_entries"] = ignored->ignored_entries;
  signal.details["problem"] =
      wrote     ? "the attempt changed nothing: each file that it wrote is as it was, and git keeps no "
                  "empty folders, times, or permissions but the executable bit"
      : ignored ? "the attempt changed nothing but what the source ignores, which is no work"
                : "the attempt changed nothing";
  return signal;
}

gates::Signal lost_signal(const LostStep& lost) {
  const bool agent = lost.gate_id == kAgentGate;
  return {.kind = agent ? "agent" : "build",
          .gate_id = lost.gate_id,
          .passed = false,
          .missing = lost.escalate,
          .details = {{"outcome", name(lost.outcome)}},
          .collector = "recovery"};
}

}  // namespace

Result<gates::AttemptFacts> Episode::attempt_facts(const std::vector<gates::Signal>& extra,
                                                   const std::optional<LostStep>& lost) const {
  gates::AttemptFacts facts;
  facts.attempts_used = claim_->phase.attempts_used;
  facts.max_attempts = claim_->phase.max_attempts;
  facts.model = claim_->attempt.model;
  if (no_memory_) {
    facts.open_gates = phase_->gates;
    facts.signals.push_back(gates::policy_missing(kNoMemory));
    return facts;
  }
  if (const auto agent = results_.find(this->agent().index); agent != results_.end())
    facts.signals.push_back(agent_signal(agent->second, facts_of(steps_.front(), agent->second), *phase_));
  if (changed_nothing_)
    facts.signals.push_back(
        empty_signal(wrote_files(), takes_back(), layer_left(), ignored_, phase_->needs_change()));
  if (agent_seen_ && (!rules_.empty() || !filtered_.submodule_changes.empty()))
    facts.signals.push_back(protect_signal(filtered_, agent_layer()));
  if (ignored_) facts.signals.push_back(ignored_signal(layer_left(), *ignored_));
  if (policy_signal_) facts.signals.push_back(*policy_signal_);
  PAWL_OK(add_mounts(facts));
  add_base(facts);
  // The limit of the first open gate, whether that gate failed or something before it failed.
  facts.same_failure_max = plan_->gates.at(phase_->gates.front()).retry.same_failure_max;
  for (const auto& name : phase_->gates) {
    const auto passed = gate_passed_.find(name);
    if (passed != gate_passed_.end() && is_forgotten(passed->second)) continue;
    if (passed == gate_passed_.end() || !passed->second) facts.open_gates.push_back(name);
    if (facts.open_gates.size() == 1) facts.same_failure_max = plan_->gates.at(name).retry.same_failure_max;
    if (passed == gate_passed_.end()) continue;
    std::ranges::copy(gate_signals_.at(name), std::back_inserter(facts.signals));
    if (passed->second) continue;
    const plan::RetryPolicy& retry = plan_->gates.at(name).retry;
    facts.non_retryable = retry.non_retryable;
    facts.timeout_retryable = retry.timeout_retryable;
    facts.oom_retryable = retry.oom_retryable;
  }
  if (!round_.beside.empty() && !lost)
    facts.signals.push_back(together_signal(round_.beside, facts.open_gates.empty(), gate_layer_));
  std::ranges::copy(extra, std::back_inserter(facts.signals));
  if (lost) facts.signals.push_back(lost_signal(*lost));
  for (const auto& step : steps_) {
    const auto run = results_.find(step.index);
    if (run == results_.end() || !judges(step.role)) continue;
    if (step.rerun == run_that_counts(step.gate_id)) {
      facts.steps.push_back(facts_of(step, run->second));
      facts.step_labels.push_back(label_of(phase_->id, step, claim_->attempt.number));
      if (facts.stop.empty()) facts.stop = absent_still(step, facts.steps.back());
      if (facts.stop.empty()) facts.stop = refused_by_agent(facts.steps.back());
    }
    facts.backend_error = facts.backend_error || leaves_no_verdict(step, run->second);
  }
  if (claim_->attempt.number == 1) return facts;  // the common case: no attempt came before
  PAWL_TRY(const auto attempts, world_.store.attempts(claim_->run.run_id, phase_->id));
  for (auto row = attempts.rbegin(); row != attempts.rend(); ++row)
    if (row->finished && row->revision == claim_->attempt.revision &&
        row->verdict != store::AttemptVerdict::kCancelled)
      facts.earlier_failures.push_back(row->failure);
  return facts;
}

Episode::GateEnd Episode::gate_end(const std::string& gate_id) const {
  GateEnd end{.passed = gate_passed_.at(gate_id), .signals = gate_signals_.at(gate_id)};
  for (auto& signal : end.signals) world_.redactor.redact_strings(signal.details);
  return end;
}

Evidence Episode::evidence() const {
  if (no_memory_) return {};
  Evidence out{.below = base_stack_};
  out.agent_layer = agent_layer();
  for (const auto& step : steps_) {
    const auto run = results_.find(step.index);
    if (run == results_.end() || !judges(step.role)) continue;
    const std::string label = label_of(phase_->id, step, claim_->attempt.number);
    if (!run->second.logs.empty()) out.logs.push_back({.label = label, .blob = run->second.logs});
    if (!run->second.copy_out.empty()) out.reports.push_back({.label = label, .layer = run->second.copy_out});
  }
  return out;
}

Result<Episode::Judged> Episode::judged(const std::vector<gates::Signal>& extra,
                                        const std::optional<LostStep>& lost) const {
  Judged out;
  PAWL_TRY(out.facts, attempt_facts(extra, lost));
  // From here on the details are cut, recorded, hashed and shown. Redact them now, because paths come from
  // the sandbox.
  for (auto& signal : out.facts.signals) world_.redactor.redact_strings(signal.details);
  out.verdict = gates::decide(out.facts);
  out.doctor = advice_of(StepRole::kDoctor);
  out.replan = advice_of(StepRole::kReplan);
  return out;
}

HookFacts Episode::hook_facts(const Judged& judged) const {
  return {.plan = *plan_,
          .claim = *claim_,
          .verdict = judged.verdict,
          .backend_error = judged.facts.backend_error || !judged.facts.stop.empty(),
          .failures = static_cast<std::int64_t>(judged.facts.earlier_failures.size()) + 1,
          .doctor = judged.doctor,
          .replan = judged.replan};
}

std::optional<store::Advice> Episode::advice_of(StepRole role) const {
  const auto step = std::ranges::find(steps_, role, &PlannedStep::role);
  if (step == steps_.end()) return std::nullopt;
  const auto read = role == StepRole::kDoctor ? doctor_advice : replan_advice;
  if (given_up_.contains(step->index)) return read("", "");
  const auto run = results_.find(step->index);
  if (run == results_.end()) return std::nullopt;
  std::string answer;
  if (succeeded(run->second) && !run->second.copy_out.empty()) {
    const auto files = world_.objects.files_of(run->second.copy_out, {kAnswerFile}, kAnswerBytesMax, 1);
    if (files && !files->empty())
      answer = world_.redactor.redact(read_all(*files->front().bytes).value_or(""));
  }
  return read(run->second.run_id, answer);
}

gates::Signal Episode::overlap_signal(const store::LayerRow& other) const {
  std::vector<std::string> paths;
  if (auto found = world_.objects.overlap(gate_layer_, other.layer_id, kPathsNamedMax))
    paths = *std::move(found);
  return {.kind = "merge",
          .gate_id = "parallel",
          .passed = false,
          .details = {{"overlaps_phase", other.phase_id}, {"paths", joined(paths, kPathsNamedMax)}},
          .collector = "diff",
          .read = gate_layer_};
}

Result<EpisodeResult> Episode::worth(const std::optional<LostStep>& lost) {
  using Outcome = EpisodeResult::Outcome;
  EpisodeResult out{.episode = number_};
  Result<Judged> decided = Judged();
  try {
    decided = judged({}, lost);
  } catch (const std::bad_alloc&) {
    end_without_memory();
  }
  if (no_memory_) {
    out.outcome = Outcome::kEscalated;
    return out;
  }
  PAWL_TRY(const auto now, std::move(decided));
  out.outcome = now.verdict.kind == gates::Verdict::Kind::kPassed ? Outcome::kPassed : Outcome::kFailed;
  if (lost) out.outcome = lost->escalate ? Outcome::kEscalated : Outcome::kLost;
  if (!now.facts.stop.empty()) out.outcome = Outcome::kEscalated;  // no other episode can do better
  out.gates_passed = std::ranges::count(gate_passed_, true, &std::pair<const std::string, bool>::second);
  out.failing_signals = static_cast<std::int64_t>(now.verdict.failing_signals.size());
  return out;
}

Result<std::optional<std::int64_t>> Episode::changed_lines() const {
  const std::string layer = agent_layer();
  if (layer.empty()) return std::optional<std::int64_t>(0);
  std::vector<std::string> after = base_stack_;
  after.insert(after.begin(), layer);
  try {
    PAWL_TRY(const auto patch,
             world_.objects.diff(claim_->run.base_id, base_stack_, after, kComparedPatchBytesMax));
    if (!patch.left_out.empty()) return std::optional<std::int64_t>();
    return std::optional(lines_changed_by(patch.text));
  } catch (const std::bad_alloc&) {
    if (!os::defences().memory) throw;
  }
  return std::optional<std::int64_t>();
}

Result<const PlannedStep*> Episode::next_hook() const {
  if ((!plan_->doctor && !plan_->replan) || no_memory_) return nullptr;
  PAWL_TRY(const auto now, judged({}, std::nullopt));
  const auto due = hook_due(hook_facts(now));
  if (!due) return nullptr;
  return &*std::ranges::find(steps_, *due, &PlannedStep::role);
}

Result<Context> Episode::hook_context() const {
  PAWL_TRY(const auto now, judged({}, std::nullopt));
  PAWL_TRY(const auto attempts, world_.store.attempts(claim_->run.run_id, phase_->id));
  PAWL_TRY(const auto budgets, world_.store.budgets(claim_->run.run_id));
  const Evidence left = evidence();
  const Json question =
      hook_question(hook_facts(now), *phase_, attempts, paths_inside(world_, left), budgets);
  Context context{{.path = "question.json", .bytes = canonical(question) + "\n"}};
  PAWL_OK(add_evidence(world_, claim_->run.base_id, left, context));
  return context;
}

// Full jitter: a random part of a bound that doubles, so that phases that failed together do not retry at the
// same time.
std::string Episode::not_before(gates::Verdict::Kind kind, store::Action action) const {
  const auto& backoff = plan_->backoff;
  const bool goes_on = kind == gates::Verdict::Kind::kFailedRetryable && action == store::Action::kNone;
  if (!goes_on || backoff.initial_seconds == 0) return {};
  const auto doublings = std::min<std::int64_t>(claim_->phase.attempts_used - 1, 32);
  const std::int64_t bound_ms = std::min(backoff.max_seconds, backoff.initial_seconds << doublings) * 1000;
  const std::int64_t wait_ms = os::random_below(world_.random, bound_ms + 1);
  return rfc3339(world_.clock.wall().plus_ms(wait_ms));
}

std::string Episode::inventories_hash() const {
  if (on_base_.empty() || no_memory_) return "";
  Json by_gate = Json::object();
  for (const auto& [gate_id, found] : on_base_) by_gate[gate_id] = gates::text_of(found);
  return blake3_hex(canonical(by_gate));
}

Result<std::optional<Episode::Prepared>> Episode::prepare(const PlannedStep& step) {
  try {
    PAWL_TRY(auto context, context_of(step));
    PAWL_TRY(auto spec, spec_of(step, context));
    return std::optional(Prepared{.context = std::move(context), .spec = std::move(spec)});
  } catch (const std::bad_alloc&) {
    if (step.role == StepRole::kAgent) throw;
    end_without_memory();
  }
  return std::optional<Prepared>();
}

// A large work must not end the executor that judges it: it is judged once more without its details.
Result<store::AttemptEnd> Episode::judge(const std::vector<gates::Signal>& extra,
                                         const std::optional<LostStep>& lost) {
  try {
    return judged_end(extra, lost);
  } catch (const std::bad_alloc&) {
    end_without_memory();
  }
  return judged_end(extra, lost);
}

Result<store::AttemptEnd> Episode::judged_end(const std::vector<gates::Signal>& extra,
                                              const std::optional<LostStep>& lost) {
  PAWL_OK(after_agent());
  PAWL_OK(objects_fit());
  PAWL_TRY(const auto now, judged(extra, lost));
  const auto& verdict = now.verdict;
  store::AttemptEnd end;
  end.verdict = recorded(verdict.kind);
  std::vector<std::string> signals;
  for (const auto& signal : now.facts.signals) signals.push_back(json_text(signal));
  end.signals = canonical_array(signals);
  end.failing_signals = verdict.failing_signals;
  end.failure = verdict.failure;
  end.summary = verdict.summary;
  end.reason = verdict.reason;
  end.build = PAWL_VERSION;
  end.inventories = inventories_hash();
  for (const auto& advice : {now.doctor, now.replan})
    if (advice) end.advice.push_back(*advice);
  if (verdict.kind == gates::Verdict::Kind::kPassed) {
    end.accepted_layer = gate_layer_;
    return end;
  }
  // The next agent begins after a person has fixed the cause, which does not concern that agent.
  if (now.facts.stop.empty())
    end.feedback = gates::feedback_of(verdict, claim_->attempt.number, paths_inside(world_, evidence()),
                                      os::random_word(world_.random));
  auto consequence = consequence_of(hook_facts(now));
  end.action = consequence.action;
  end.goal = std::move(consequence.goal);
  end.action_reason = std::move(consequence.reason);
  if (!consequence.hint.empty()) end.feedback["hint"] = consequence.hint;
  end.not_before = not_before(verdict.kind, end.action);
  return end;
}

}  // namespace pawl::executor
