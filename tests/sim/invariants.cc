#include "sim/invariants.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>
#include <tuple>

#include "agent/usage_reader.h"
#include "base/json.h"
#include "executor/episode_choice.h"
#include "executor/steps.h"
#include "ledger/ledger.h"
#include "sim/objects.h"

namespace pawl::sim {
namespace {

void require(bool holds, const std::string& phase, const std::string& what) {
  World::require(holds, phase + ": " + what);
}

// Equal except for the lease, which changes often.
bool same(const store::PhaseRow& a, const store::PhaseRow& b) {
  const auto key = [](const store::PhaseRow& row) {
    return std::tie(row.state, row.outcome, row.fence, row.attempts_used, row.attempts_total, row.revision,
                    row.escalation_level, row.doctor_calls, row.replans);
  };
  return key(a) == key(b);
}

// The number under `key` in a row, found as in value_of().
std::int64_t number_of(std::string_view row, std::string_view key) {
  const auto quoted = "\"" + std::string(key) + "\":";
  const auto at = row.rfind(quoted);
  World::require(at != row.npos, "no " + std::string(key) + " in " + std::string(row));
  std::int64_t out = 0;
  row.remove_prefix(at + quoted.size());
  const auto read = std::from_chars(row.data(), row.data() + row.size(), out);
  World::require(read.ec == std::errc(), std::string(key) + " is no number in " + std::string(row));
  return out;
}

bool agent_exited_well(const store::AttemptRow& attempt, std::int64_t episode,
                       const std::vector<store::StepRow>& steps) {
  return std::ranges::any_of(steps, [&](const store::StepRow& row) {
    return row.attempt_id == attempt.attempt_id && row.gate_id == store::kAgentGate &&
           row.episode == episode && row.state == store::StepState::kDone &&
           value_of(row.run, "outcome") == "exited" && number_of(row.run, "exit_code") == 0;
  });
}

}  // namespace

bool Invariants::saw_work(const store::AttemptRow& attempt, const store::StepRow& step) {
  auto tree = World::must(store_.base_layers(store::judged_on(attempt)));
  const auto accepted = World::must(store_.accepted_layers(run_id_));
  const auto work = std::ranges::find(accepted, attempt.phase_id, &store::LayerRow::phase_id);
  if (work == accepted.end()) return false;
  if (!work->layer_id.empty()) tree.insert(tree.begin(), work->layer_id);
  const auto seen = sandboxes_.layers_of(step.sandbox_run_id);
  return seen.size() >= tree.size() && std::equal(tree.rbegin(), tree.rend(), seen.rbegin());
}

bool Invariants::gate_held(const store::AttemptRow& attempt, const std::vector<GateStep>& all,
                           const std::string& gate, std::int64_t episode,
                           const std::vector<store::StepRow>& steps) {
  std::vector<GateStep> own;
  std::ranges::copy_if(all, std::back_inserter(own),
                       [&](const GateStep& planned) { return planned.gate_id == gate; });
  const auto holds = [&](std::int64_t rerun) {
    return std::ranges::all_of(
        own, [&](const GateStep& planned) { return held_in(attempt, planned, episode, steps, rerun); });
  };
  if (holds(0)) return true;
  const Json signals = World::must(parse_json(attempt.signals));
  const bool is_told = std::ranges::any_of(signals, [&](const Json& signal) {
    return signal.at("gate_id") == gate && signal.value("flaky", false);
  });
  if (!own.front().flaky_passes || !is_told) return false;
  for (std::int64_t rerun = 1; rerun <= own.front().flaky_reruns; ++rerun)
    if (holds(rerun)) return true;
  return false;
}

bool Invariants::held_in(const store::AttemptRow& attempt, const GateStep& planned, std::int64_t episode,
                         const std::vector<store::StepRow>& steps, std::int64_t rerun) {
  const std::string name = planned.name + (rerun > 0 ? fmt::format("@rerun{}", rerun) : "");
  const auto known = [&](const store::StepRow& row) {
    const auto failed = failed_in(std::string(value_of(row.run, "copy_out")));
    const auto on_base = sandboxes_.failing_on_base(
        World::must(store_.base_layers(store::judged_on(attempt))), planned.gate_id);
    return planned.known_failing && !failed.empty() && std::ranges::includes(on_base, failed);
  };
  return std::ranges::any_of(steps, [&](const store::StepRow& row) {
    if (row.attempt_id != attempt.attempt_id ||
        row.step_index / executor::kRoundStride != attempt.joined_round || row.episode != episode ||
        row.gate_id != planned.gate_id || row.step_name != name || row.state != store::StepState::kDone)
      return false;
    const auto code = number_of(row.run, "exit_code");
    const bool may_fail = code <= kMayFailMost && (planned.may_fail || known(row));
    // The report of a step that may fail is judged, too.
    const bool reported =
        !planned.known_failing || failed_in(std::string(value_of(row.run, "copy_out"))).empty() || known(row);
    return value_of(row.run, "outcome") == "exited" && (code == 0 || may_fail) && reported &&
           saw_work(attempt, row);
  });
}

void Invariants::check(const Bounds& bounds, const std::set<std::string>& touched,
                       const std::vector<std::string>& reopened) {
  const auto phases = World::must(store_.phases(run_id_));
  for (const auto& phase : phases) {
    const auto seen = before_.find(phase.phase_id);
    if (seen != before_.end() && !touched.contains(phase.phase_id) && same(seen->second, phase)) continue;
    check_phase(phase, bounds, std::ranges::find(reopened, phase.phase_id) != reopened.end());
    before_[phase.phase_id] = phase;
  }
  check_budget(bounds);
  check_chain("");
  evidence_.check_ends(phases);
  const auto run = World::must(store_.run(run_id_));
  const bool open = std::ranges::any_of(phases, [](const auto& phase) { return !is_terminal(phase.state); });
  World::require((run.state == store::RunState::kExecuting) == open,
                 "the run's state is not that of its phases");
}

void Invariants::check_phase(const store::PhaseRow& phase, const Bounds& bounds, bool reopened) {
  const auto& id = phase.phase_id;
  const auto seen = before_.find(id);
  if (seen != before_.end()) {
    const auto& before = seen->second;
    require(!is_terminal(before.state) || reopened || before.state == phase.state ||
                (before.state == store::PhaseState::kFailed && phase.state == store::PhaseState::kSkipped),
            id, "terminal, and no more");
    require(phase.fence >= before.fence, id, "its fence went back");
    require(phase.attempts_total >= before.attempts_total, id, "attempts_total went back");
    require(phase.escalation_level >= before.escalation_level, id, "the level of the ladder went down");
    require(phase.replans >= before.replans && phase.doctor_calls >= before.doctor_calls, id,
            "calls were forgotten");
    require(phase.attempts_used >= before.attempts_used || phase.revision > before.revision, id,
            "attempts_used went back without a revision");
  }
  require(phase.attempts_used <= phase.max_attempts, id, "more attempts than it has");
  require(phase.attempts_total <= bounds.attempts(), id, "more attempts than the bound");
  require(phase.replans <= bounds.max_replans, id, "more replans than the plan has");
  const auto steps = World::must(store_.steps(run_id_, id));
  const auto waits =
      std::ranges::count(steps, name(store::RecoveryDecision::kWait), &store::StepRow::decision);
  require(static_cast<std::int64_t>(steps.size()) - waits <= bounds.executions(), id,
          "more executions than the bound");
  spent_[id] = spent_by(steps);
  check_rows(phase, bounds, steps);
}

Invariants::Spent Invariants::spent_by(const std::vector<store::StepRow>& steps) {
  Spent out;
  for (const auto& step : steps) {
    out.largest = std::max(out.largest, step.reserved_ms);
    if (step.state == store::StepState::kOpen) {
      out.reserved += step.reserved_ms;
      out.reserved_tokens += step.reserved_tokens;
      out.reserved_usd_nanos += step.reserved_usd_nanos;
    }
    if (step.state == store::StepState::kLost) out.lost_most += step.reserved_ms;
    if (step.state != store::StepState::kDone) continue;
    const auto [known, is_new] = duration_ms_.try_emplace(step.sandbox_run_id);
    if (is_new) known->second = number_of(step.run, "duration_ms");
    out.known += known->second;
  }
  return out;
}

void Invariants::check_budget(const Bounds& bounds) {
  Spent all;
  for (const auto& [phase, spent] : spent_) {
    all.reserved += spent.reserved;
    all.largest = std::max(all.largest, spent.largest);
    all.known += spent.known;
    all.lost_most += spent.lost_most;
    all.reserved_tokens += spent.reserved_tokens;
    all.reserved_usd_nanos += spent.reserved_usd_nanos;
  }
  const auto unsettled = World::must(store_.unsettled(""));
  for (const auto& one : unsettled) {
    if (one.step.run_id != run_id_) continue;
    all.reserved_tokens += one.step.reserved_tokens;
    all.reserved_usd_nanos += one.step.reserved_usd_nanos;
  }
  const auto agents = static_cast<std::int64_t>(spent_.size()) * bounds.best_of;  // in calls at once
  const auto rows = World::must(store_.budgets(run_id_));
  for (const auto& row : rows) {
    // Budget that was in use when a cap was lowered stays in use.
    const std::int64_t cap = row.cap ? std::max(*row.cap, used_before_[row.unit]) : 0;
    const std::int64_t used = row.spent + row.reserved;
    if (row.unit != store::kSandboxMs) {
      const bool money = row.unit == store::kUsdNanos;
      World::require(row.reserved == (money ? all.reserved_usd_nanos : all.reserved_tokens),
                     "reserved is not what the agents reserved that are open or have last words");
      World::require(!row.cap || used < cap + agents * (money ? kMicrosOfCallMax * 1000 : kTokensOfCallMax),
                     "the budget is exceeded by more than one call of each agent");
      continue;
    }
    World::require(row.reserved == all.reserved, "reserved is not what the open steps reserved");
    World::require(row.spent >= all.known && row.spent <= all.known + all.lost_most,
                   "spent is not what the steps took");
    World::require(!row.cap || used < cap + std::max<std::int64_t>(all.largest, 1),
                   "the budget is exceeded by more than one step's reservation");
  }
}

void Invariants::budgets_may_change() {
  for (const auto& row : World::must(store_.budgets(run_id_)))
    used_before_[row.unit] = row.spent + row.reserved;
}

// Checks that the rows of attempts, steps and the ledger agree.
void Invariants::check_rows(const store::PhaseRow& phase, const Bounds& bounds,
                            const std::vector<store::StepRow>& steps) {
  const auto& id = phase.phase_id;
  const auto attempts = World::must(store_.attempts(run_id_, id));
  require(static_cast<std::int64_t>(attempts.size()) == phase.attempts_total, id,
          "attempts_total is not the number of reservations");
  require(std::ranges::count(attempts, phase.revision, &store::AttemptRow::revision) == phase.attempts_used,
          id, "attempts_used is not the number of reservations since it was reset");
  const auto unfinished = std::ranges::count(attempts, false, &store::AttemptRow::finished);
  require(unfinished <= (is_terminal(phase.state) ? 0 : 1), id, "an attempt that nobody will finish");
  check_failures(id, attempts);
  if (phase.state == store::PhaseState::kComplete && !attempts.empty())
    require((attempts.back().verdict == store::AttemptVerdict::kPassed) ==
                (phase.outcome == store::PhaseOutcome::kPassed),
            id, "passed by its gates, or approved by a person, is not what it says");
  const auto episodes = World::must(store_.episodes(run_id_, id));
  for (const auto& attempt : attempts) {
    if (attempt.finished) {
      check_episodes(id, attempt, episodes);
      if (attempt.verdict == store::AttemptVerdict::kPassed && passed_.insert(attempt.attempt_id).second)
        check_passed(attempt, bounds, steps, episodes);
    }
  }
  std::map<std::pair<std::string, std::int64_t>, int> executions, results;
  std::map<std::int64_t, int> open;
  std::int64_t asked = 0, planned = 0;
  for (const auto& step : steps) {
    const std::pair key(step.attempt_id, step.step_index);
    const bool waited = has_waited(step);
    if (!waited) ++executions[key];
    if (step.state == store::StepState::kDone) ++results[key];
    // With several episodes, an earlier one may end a later one, whatever the later one printed.
    require(step.episode != 0 || step.state != store::StepState::kDone ||
                !sandboxes_.was_refused(step.sandbox_run_id),
            id, "an agent that its provider refused counts as one that failed");
    require(!waited || sandboxes_.was_refused(step.sandbox_run_id), id,
            "it waits, and no provider refused it");
    if (step.execution == 1 && step.gate_id == "doctor") ++asked;
    if (step.execution == 1 && step.gate_id == "replan") ++planned;
    if (step.state != store::StepState::kOpen) continue;
    require(!is_terminal(phase.state), id, "an open marker in a terminal phase");
    require(++open[step.episode] == 1, id, "two open markers of one episode");
  }
  for (const auto& [key, count] : executions)
    require(count <= store::kExecutionsPerStepMax, id, "a step was executed too often in " + key.first);
  for (const auto& [key, count] : results) require(count <= 1, id, "a step has two results in " + key.first);
  require(asked == phase.doctor_calls, id, "doctor_calls is not the number of its markers");
  require(planned == phase.replans - bounds.replans_before(id), id,
          "replans is not the number of its markers");
  check_chain(id);
  evidence_.check_steps(id, steps);
}

void Invariants::check_chain(const std::string& chain) {
  auto& [rows_before, hash_before] = chains_[chain];
  const auto rows =
      World::must(store_.ledger(run_id_, chain, std::max<std::int64_t>(rows_before, 1), kRowsMax));
  if (rows_before > 0)
    require(!rows.empty() && rows.front().hash == hash_before, chain, "its chain was cut or written anew");
  if (rows.empty()) return;
  rows_before = rows.back().seq;
  hash_before = rows.back().hash;
}

void Invariants::check_episodes(const std::string& phase_id, const store::AttemptRow& attempt,
                                const std::vector<store::EpisodeRow>& episodes) {
  using Outcome = executor::EpisodeResult::Outcome;
  std::vector<executor::EpisodeResult> results;
  std::vector<std::size_t> kept;
  for (const auto& row : episodes) {
    if (row.attempt_id != attempt.attempt_id) continue;
    const bool escalated = row.kept_by == "escalate";
    const auto outcome = row.outcome == "passed"      ? Outcome::kPassed
                         : row.outcome == "lost"      ? (escalated ? Outcome::kEscalated : Outcome::kLost)
                         : row.outcome == "cancelled" ? Outcome::kCancelled
                         : row.outcome == "not_run"   ? Outcome::kNotRun
                                                      : Outcome::kFailed;
    if (!row.kept_by.empty()) kept.push_back(results.size());
    results.push_back({.episode = row.episode,
                       .outcome = outcome,
                       .gates_passed = row.gates_passed,
                       .failing_signals = row.failing_signals,
                       .changed_lines = row.changed_lines});
    require(row.episode == static_cast<std::int64_t>(results.size()), phase_id, "an episode is missing");
  }
  if (results.empty()) return;  // only one episode, or ended by an operator
  const auto choice = executor::choose_episode(results);
  require(kept == std::vector{choice.index}, phase_id, "the episode that was kept is not the best");
  require(
      attempt.verdict != store::AttemptVerdict::kPassed || results[choice.index].outcome == Outcome::kPassed,
      phase_id, "an attempt passed by an episode that did not");
}

void Invariants::check_passed(const store::AttemptRow& attempt, const Bounds& bounds,
                              const std::vector<store::StepRow>& steps,
                              const std::vector<store::EpisodeRow>& episodes) {
  std::int64_t kept = 0;
  for (const auto& row : episodes)
    if (row.attempt_id == attempt.attempt_id && !row.kept_by.empty()) kept = row.episode;
  require(!SimObjects::changes_nothing(attempt.agent_layer) || bounds.may_be_empty.contains(attempt.phase_id),
          attempt.attempt_id, "it passed and changed nothing");
  require(bounds.any_exit.contains(attempt.phase_id) || agent_exited_well(attempt, kept, steps),
          attempt.attempt_id, "it passed, and its agent ended with another code than 0");
  if (attempt.joined_round > 0) kept = 0;  // a round is of the whole attempt
  const Json signals = World::must(parse_json(attempt.signals));
  for (const auto& signal : signals)
    require(signal.at("passed") == true, attempt.attempt_id, "it passed with a signal that did not");
  for (const auto& planned : bounds.gate_steps.at(attempt.phase_id)) {
    require(gate_held(attempt, bounds.gate_steps.at(attempt.phase_id), planned.gate_id, kept, steps),
            attempt.attempt_id, "it passed without a run in which gate " + planned.gate_id + " held");
    const auto judged = [&](const Json& signal) { return signal.at("gate_id") == planned.gate_id; };
    require(std::ranges::any_of(signals, judged), attempt.attempt_id,
            "it passed without a signal of gate " + planned.gate_id);
  }
  check_together(attempt, bounds, steps, kept);
}

void Invariants::check_together(const store::AttemptRow& attempt, const Bounds& bounds,
                                const std::vector<store::StepRow>& steps, std::int64_t kept) {
  const auto layers = World::must(store_.accepted_layers(run_id_));
  const auto base = World::must(store_.base_layers(store::judged_on(attempt)));
  for (const auto& layer : layers) {
    if (layer.phase_id == attempt.phase_id) break;
    require(layer.layer_id.empty() || std::ranges::find(base, layer.layer_id) != base.end(),
            attempt.attempt_id, "its gates did not see what " + layer.phase_id + " left");
  }
  const auto tiers = World::must(store_.tiers(run_id_));
  const auto own = World::must(store_.phase(run_id_, attempt.phase_id));
  const bool parallel = std::ranges::find(tiers, own.tier_index, &store::TierRow::tier_index)->parallel;
  for (const auto& layer : layers) {
    if (layer.phase_id == attempt.phase_id) break;
    const bool same_tier = World::must(store_.phase(run_id_, layer.phase_id)).tier_index == own.tier_index;
    if (!parallel || !same_tier || layer.layer_id.empty()) continue;
    if (World::must(store_.phase(run_id_, layer.phase_id)).outcome != store::PhaseOutcome::kPassed) continue;
    for (const auto& planned : bounds.gate_steps.at(layer.phase_id))
      require(gate_held(attempt, bounds.gate_steps.at(layer.phase_id), planned.gate_id, kept, steps),
              attempt.attempt_id, "it passed without gate " + planned.gate_id + " of " + layer.phase_id);
  }
}

void Invariants::check_failures(const std::string& phase_id, const std::vector<store::AttemptRow>& attempts) {
  std::map<std::string, std::string> models;
  std::string before;
  std::int64_t in_a_row = 0, revision = -1;
  for (const auto& attempt : attempts) {
    if (!attempt.finished || attempt.verdict == store::AttemptVerdict::kCancelled) continue;
    const bool same = attempt.revision == revision && attempt.failure == before && !before.empty();
    in_a_row = same ? in_a_row + 1 : 1;
    revision = attempt.revision;
    before = attempt.failure;
    if (before.empty()) continue;
    require(in_a_row <= plan::kSameFailureMax, phase_id, "the same failure, once more");
    require(models.emplace(before, attempt.model).first->second == attempt.model, phase_id,
            "two models have one failure");
  }
}

void Invariants::check_usage(const SimEpisodes& episodes) {
  std::set<std::string> recorded;
  std::map<std::string_view, std::int64_t> sums;
  const auto& all = episodes.reported(run_id_);
  const auto rows = World::must(store_.usage_rows(run_id_, 0));
  for (const auto& row : rows) {
    std::string id(value_of(row, "usage_id"));
    if (value_of(row, "entry_type") == "cost.agent.unknown")
      id = agent::unknown_usage(std::string(value_of(row, "sandbox_run_id")), "").id;
    World::require(recorded.insert(id).second, "a call of a model was counted twice: " + id);
    const auto reported = all.find(id);
    World::require(reported != all.end(), "a call of a model that nobody reported: " + id);
    sums[store::kTokens] += reported->second.input_tokens + reported->second.output_tokens;
    sums[store::kUsdNanos] += reported->second.usd_micros.value_or(0) * 1000;
  }
  for (const auto& [id, of_call] : all)
    World::require(recorded.contains(id), "a call of a model was not counted: " + id);
  for (const auto& id : sandboxes_.unheard())
    World::require(recorded.contains(agent::unknown_usage(id, "").id),
                   "no row says that the use of a lost execution is unknown: " + id);
  const auto budgets = World::must(store_.budgets(run_id_));
  for (const auto unit : {store::kTokens, store::kUsdNanos}) {
    const auto row = std::ranges::find(budgets, unit, &store::BudgetRow::unit);
    World::require(sums[unit] == (row == budgets.end() ? 0 : row->spent),
                   std::string(unit) + ": spent is not what the calls took");
  }
}

void Invariants::check_told(const SimEpisodes& episodes) {
  std::multiset<std::string> recorded;
  for (const auto& phase : World::must(store_.phases(run_id_)))
    for (const auto& row : World::must(store_.ledger(run_id_, phase.phase_id, 1, kRowsMax))) {
      if (value_of(row.line, "type") != "agent") continue;
      const Json json = World::must(parse_json(row.line));
      recorded.insert(
          SimEpisodes::words_of(text_in(json, "event"), text_in(json, "told_at"), json.at("details")));
    }
  World::require(recorded == episodes.events(run_id_), "what agents told is not what the rows say");
}

void Invariants::check_forgotten(const SimEpisodes& episodes) {
  std::set<std::string> may_be;
  for (const auto& phase : World::must(store_.phases(run_id_))) {
    const auto attempts = World::must(store_.attempts(run_id_, phase.phase_id));
    std::set<std::string> several;
    for (const auto& row : World::must(store_.episodes(run_id_, phase.phase_id))) {
      several.insert(row.attempt_id);
      if (row.kept_by == "passed") may_be.insert(row.attempt_id + ".e" + std::to_string(row.episode));
    }
    for (const auto& attempt : attempts)
      if (attempt.verdict == store::AttemptVerdict::kPassed && !several.contains(attempt.attempt_id))
        may_be.insert(attempt.attempt_id);
  }
  for (const auto& episode_id : episodes.forgotten(run_id_))
    World::require(may_be.contains(episode_id),
                   "what an episode kept is gone without its success: " + episode_id);
}

void Invariants::check_accepted(const workspace::ObjectStore& objects) {
  const auto layers = World::must(store_.accepted_layers(run_id_));
  for (const auto& layer : layers) {
    const auto attempts = World::must(store_.attempts(run_id_, layer.phase_id));
    if (attempts.empty() || layer.layer_id.empty()) continue;  // from the run that was forked
    const auto base = World::must(store_.base_layers(attempts.back()));
    for (const auto& other : layers) {
      if (other.merge_seq == layer.merge_seq) break;
      if (other.layer_id.empty() || std::ranges::find(base, other.layer_id) != base.end()) continue;
      require(!may_overlap(objects, layer.layer_id, other.layer_id), layer.phase_id,
              "its layer hides what " + other.phase_id + " left, and was made without it");
    }
  }
}

void Invariants::check_end(const SimSandboxes& sandboxes, const SimEpisodes& episodes,
                           const workspace::ObjectStore& objects) {
  require(store_.check_run(run_id_).has_value(), "", "the tables of a run that is over contradict its rows");
  std::int64_t ended = 0;
  std::map<std::string, store::StepState> states;
  std::set<std::string> ended_by_operator;
  const auto phases = World::must(store_.phases(run_id_));
  for (const auto& phase : phases) {
    std::set<std::string> markers;
    std::int64_t attempts = 0, executed = 0;
    const auto rows = World::must(store_.ledger(run_id_, phase.phase_id, 1, kRowsMax));
    for (const auto& row : rows) {
      require(Json::accept(row.line), phase.phase_id, "a row that is no JSON");
      const auto type = value_of(row.line, "type");
      attempts += type == "attempt" ? 1 : 0;
      const bool marker = type == "pre_execute", result = type == "executed";
      if (!marker && !result && type != "resume") continue;
      const std::string id(value_of(row.line, "sandbox_run_id"));
      require(!id.empty(), phase.phase_id, "a row of a step that names none");
      if (marker) require(markers.insert(id).second, phase.phase_id, "one marker twice");
      if (result) {
        ++executed;
        require(markers.contains(id), phase.phase_id, "a result without a marker");
      }
      if (!marker && !result && value_of(row.line, "found") == "operator") ended_by_operator.insert(id);
    }
    const auto steps = World::must(store_.steps(run_id_, phase.phase_id));
    require(attempts == phase.attempts_total, phase.phase_id, "an attempt without its ledger row");
    require(markers.size() == steps.size(), phase.phase_id, "markers and steps differ");
    require(executed == std::ranges::count(steps, store::StepState::kDone, &store::StepRow::state),
            phase.phase_id, "results and ledger differ");
    ended += static_cast<std::int64_t>(steps.size());
    for (const auto& step : steps) states[step.sandbox_run_id] = step.state;
  }
  for (const auto& id : sandboxes.ended())
    World::require(states[id] == store::StepState::kDone || ended_by_operator.contains(id),
                   "a result that was there was not recorded: " + id);
  check_accepted(objects);
  check_usage(episodes);
  check_told(episodes);
  check_forgotten(episodes);
  World::require(sandboxes.started() <= ended, "a step ran that nobody recorded");
  World::require(static_cast<std::int64_t>(store_.cost_rows(run_id_, 0)->size()) == ended,
                 "cost rows are not the steps that ended");
  const auto report = ledger::verify_run(store_, run_id_, {});
  World::require(report && report->ok, "the ledger does not verify: " +
                                           (report ? canonical(to_json(*report)) : report.error().message));
}

}  // namespace pawl::sim
