// The real store. Other executors get a turn before and after each verb. It also checks leases independently
// of the store, and injects every fault of a disk.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/machine.h"
#include "sim/world.h"
#include "store/store.h"

namespace pawl::sim {

class SimStore final : public store::Store {
 public:
  SimStore(World& world, Machine& machine) : world_(world), machine_(machine) {}

  Status create_run(const store::NewRun& run, WallTime now) override {
    return with_faults([&] { return real().create_run(run, now); });
  }
  Status put_plan(const std::string& run_id, const store::PlanRows& plan) override {
    world_.pass("put_plan");
    auto done = with_faults([&] { return real().put_plan(run_id, plan); });
    world_.pass("plan_put");
    return done;
  }
  Result<store::ClaimResult> claim(const store::ClaimRequest& request) override {
    world_.pass("claim");
    auto found = with_faults([&] { return real().claim(request); });
    if (found && found->claim) {
      const auto& lease = found->claim->lease;
      auto& newest = fences_[lease.phase_id];
      World::require(lease.fence > newest, "a claim of " + lease.phase_id + " got an old fence");
      newest = lease.fence;
      auto& [holder, until] = held_until_[lease.phase_id];
      World::require(until <= request.mono.micros || world_.dead_owners.contains(holder),
                     "a claim of " + lease.phase_id + " took the lease of " + holder + ", who holds it");
      check_wait(*found->claim, request.now);
      holder = lease.owner;
      until = request.mono.micros + request.lease_ms * 1000;
      touched_.insert(lease.phase_id);
      world_.tell(request.owner + " claims " + found->claim->attempt.attempt_id +
                  (found->claim->continued ? " again" : ""));
    }
    world_.pass("claimed");
    return found;
  }
  Result<store::Candidate> candidate(const store::ClaimRequest& request) override {
    return real().candidate(request);
  }
  Result<store::Begun> begin_step(const store::Lease& lease, const store::StepStart& start,
                                  const store::Endings& endings, WallTime now) override {
    return under(lease, "begin " + start.label, [&] {
      auto done = real().begin_step(lease, start, endings, now);
      if (done && !done->started && !start.others_run) given_back(lease);
      return done;
    });
  }
  Result<std::vector<store::BudgetRow>> end_step(const store::Lease& lease, const store::Endings& endings,
                                                 WallTime now) override {
    return under(lease, "end " + (endings.result ? endings.result->sandbox_run_id : endings.resume->label),
                 [&] { return real().end_step(lease, endings, now); });
  }
  Status wait(const store::Lease& lease, const store::Endings& endings, const std::string& not_before,
              WallTime now) override {
    return under(lease, "wait of " + lease.phase_id + " until " + not_before, [&] {
      auto done = real().wait(lease, endings, not_before, now);
      if (done) given_back(lease);
      if (done) waits_[lease.phase_id].not_before = not_before;
      return done;
    });
  }
  Status note_resume(const store::Lease& lease, const store::ResumeDecision& resume, WallTime now) override {
    return under(lease, std::string(name(resume.decision)) + " " + resume.label,
                 [&] { return real().note_resume(lease, resume, now); });
  }
  Result<store::Finished> finish(const store::Lease& lease, const store::Endings& endings,
                                 const store::AttemptEnd& end, const store::Overlaps& overlaps,
                                 WallTime now) override {
    return under(lease, "finish " + lease.phase_id + " " + std::string(store::name(end.verdict)), [&] {
      auto done = real().finish(lease, endings, end, overlaps, now);
      if (done && !done->overlapping && !done->behind) given_back(lease);
      return done;
    });
  }
  Result<store::JudgedAgain> judge_again(const store::Lease& lease, const store::Endings& endings,
                                         WallTime now) override {
    return under(lease, "judge again " + lease.phase_id,
                 [&] { return real().judge_again(lease, endings, now); });
  }
  Result<bool> holds(const store::Lease& lease) override { return real().holds(lease); }
  Status heartbeat(const store::Lease& lease, WallTime now, MonoTime mono, std::int64_t lease_ms) override {
    return under(lease, "", [&] {
      auto done = real().heartbeat(lease, now, mono, lease_ms);
      if (done) held_until_[lease.phase_id] = {lease.owner, mono.micros + lease_ms * 1000};
      return done;
    });
  }
  Status release(const store::Lease& lease) override {
    world_.pass("release");
    given_back(lease);
    return real().release(lease);
  }
  Result<std::vector<std::string>> operator_retry(const std::string& run_id, const std::string& phase_id,
                                                  const store::Operator& who, WallTime now) override {
    return fenced(with_faults([&] { return real().operator_retry(run_id, phase_id, who, now); }));
  }
  Result<std::vector<std::string>> operator_skip(const std::string& run_id, const std::string& phase_id,
                                                 const store::Operator& who, WallTime now) override {
    return fenced(with_faults([&] { return real().operator_skip(run_id, phase_id, who, now); }));
  }
  Result<std::vector<std::string>> operator_cancel(const std::string& run_id, const std::string& phase_id,
                                                   const store::Operator& who, WallTime now) override {
    return fenced(with_faults([&] { return real().operator_cancel(run_id, phase_id, who, now); }));
  }
  Result<std::vector<std::string>> operator_approve(const std::string& run_id, const store::Approved& what,
                                                    const store::Overlaps& overlaps,
                                                    const store::Operator& who, WallTime now) override {
    return fenced(with_faults([&] { return real().operator_approve(run_id, what, overlaps, who, now); }));
  }
  Status operator_max_attempts(const std::string& run_id, std::int64_t most, const store::Operator& who,
                               WallTime now) override {
    return with_faults([&] { return real().operator_max_attempts(run_id, most, who, now); });
  }
  Result<std::vector<std::string>> operator_go_on(const std::string& run_id, const store::Operator& who,
                                                  WallTime now) override {
    waits_.clear();  // also when it reports a failure: it may have happened
    auto changed = with_faults([&] { return real().operator_go_on(run_id, who, now); });
    if (changed) touch(*changed);
    return changed;
  }
  Status operator_budget(const std::string& run_id, std::string_view unit, std::int64_t cap,
                         const store::Operator& who, WallTime now) override {
    return with_faults([&] { return real().operator_budget(run_id, unit, cap, who, now); });
  }
  Result<std::vector<store::Unsettled>> unsettled(const std::string& run_id) override {
    return real().unsettled(run_id);
  }
  Status settle_usage(const store::Unsettled& unsettled, const store::Reported& reported,
                      WallTime now) override {
    world_.pass("settle_usage");
    touched_.insert(unsettled.step.phase_id);
    auto done = with_faults([&] { return real().settle_usage(unsettled, reported, now); });
    world_.pass("paid");
    return done;
  }

  Status check_run(const std::string& run_id) override { return real().check_run(run_id); }
  Status read_together(const std::function<Status()>& reads) override { return real().read_together(reads); }
  Result<store::RunRow> run(const std::string& run_id) override { return real().run(run_id); }
  Result<std::vector<store::RunRow>> runs(std::size_t most) override { return real().runs(most); }
  Result<std::string> resolve_run(const std::string& text) override { return real().resolve_run(text); }
  Result<std::optional<store::ForkPoint>> fork_of(const std::string& run_id) override {
    return real().fork_of(run_id);
  }
  Result<std::vector<store::TierRow>> tiers(const std::string& run_id) override {
    return real().tiers(run_id);
  }
  Result<std::vector<store::BudgetRow>> budgets(const std::string& run_id) override {
    return real().budgets(run_id);
  }
  Result<std::vector<store::RefusalRow>> refusals(const std::string& run_id) override {
    return real().refusals(run_id);
  }
  Status check_storage() override { return real().check_storage(); }
  Result<std::vector<store::PhaseRow>> phases(const std::string& run_id) override {
    return real().phases(run_id);
  }
  Result<store::PhaseRow> phase(const std::string& run_id, const std::string& phase_id) override {
    return real().phase(run_id, phase_id);
  }
  Result<std::vector<store::PhaseRow>> first_phases(const std::string& run_id, std::size_t most) override {
    return real().first_phases(run_id, most);
  }
  Result<std::vector<store::AttemptRow>> attempts_before(const std::string& run_id,
                                                         const std::string& phase_id, std::int64_t before,
                                                         std::size_t most) override {
    return real().attempts_before(run_id, phase_id, before, most);
  }
  Result<std::vector<store::StepRow>> steps_of_attempt(const std::string& run_id,
                                                       const std::string& attempt_id) override {
    return real().steps_of_attempt(run_id, attempt_id);
  }
  Result<std::vector<store::AttemptRow>> attempts(const std::string& run_id,
                                                  const std::string& phase_id) override {
    return real().attempts(run_id, phase_id);
  }
  Result<std::vector<store::StepRow>> steps(const std::string& run_id, const std::string& phase_id) override {
    return real().steps(run_id, phase_id);
  }
  Result<std::vector<store::EpisodeRow>> episodes(const std::string& run_id,
                                                  const std::string& phase_id) override {
    return real().episodes(run_id, phase_id);
  }
  Result<std::vector<store::StepRow>> open_steps() override { return real().open_steps(); }
  Result<std::vector<std::string>> lost_runs() override { return real().lost_runs(); }
  Result<std::vector<store::LayerRow>> accepted_layers(const std::string& run_id) override {
    return real().accepted_layers(run_id);
  }
  Result<std::vector<std::string>> base_layers(const store::AttemptRow& attempt) override {
    return real().base_layers(attempt);
  }
  Result<std::vector<store::LayerRow>> accepted_beside(const store::AttemptRow& attempt, std::int64_t after,
                                                       std::size_t most) override {
    auto read = real().accepted_beside(attempt, after, most);
    world_.pass("look beside");
    return read;
  }
  Result<std::vector<std::string>> chains(const std::string& run_id) override {
    return real().chains(run_id);
  }
  Result<std::vector<store::LedgerRow>> ledger(const std::string& run_id, const std::string& chain,
                                               std::int64_t first_seq, std::size_t most) override {
    return real().ledger(run_id, chain, first_seq, most);
  }
  Result<std::optional<store::Head>> head(const std::string& run_id) override { return real().head(run_id); }
  Result<std::vector<std::string>> cost_rows(const std::string& run_id, std::int64_t skip) override {
    return real().cost_rows(run_id, skip);
  }
  Result<std::int64_t> unknown_usages(const std::string& run_id) override {
    return real().unknown_usages(run_id);
  }
  Result<std::vector<std::string>> usage_rows(const std::string& run_id, std::int64_t skip) override {
    return real().usage_rows(run_id, skip);
  }
  Result<std::string> plan_text(const std::string& run_id) override { return real().plan_text(run_id); }
  Result<std::string> planned_common(const std::string& run_id) override {
    return real().planned_common(run_id);
  }
  Result<std::string> planned_phase(const std::string& run_id, const std::string& phase_id) override {
    return real().planned_phase(run_id, phase_id);
  }
  Result<std::optional<std::string>> inventory(const std::string& key) override {
    return real().inventory(key);
  }
  Status put_inventory(const std::string& key, const std::string& names) override {
    return real().put_inventory(key, names);
  }

  // Called when the phases are those of another run.
  void forget_phases() {
    held_until_.clear();
    waits_.clear();
    fences_.clear();
    touched_.clear();
  }

  // Marks phases that may have any new row: a commit that reported a failure may still be found later.
  void touch(const std::vector<std::string>& phases) { touched_.insert(phases.begin(), phases.end()); }

  // Phases that a lease holder wrote to since the last call.
  std::set<std::string> take_touched() { return std::exchange(touched_, {}); }

 private:
  // An attempt that waits for a provider is claimed again, and not before its time. The time is ignored after
  // the wall clock was set back.
  void check_wait(const store::Claim& claim, WallTime now) {
    auto& wait = waits_[claim.lease.phase_id];
    const auto at = rfc3339(now);
    const bool early = at < wait.not_before && claim.phase.last_attempt_timestamp <= at;
    World::require(claim.attempt.attempt_id != wait.attempt_id || !early,
                   claim.attempt.attempt_id + " goes on before its provider accepts its agents again");
    wait = {.attempt_id = claim.attempt.attempt_id, .not_before = ""};
  }
  void given_back(const store::Lease& lease) {
    if (fences_[lease.phase_id] == lease.fence) held_until_.erase(lease.phase_id);
  }

  template <typename Verb>
  auto under(const store::Lease& lease, const std::string& what, Verb verb) -> decltype(verb()) {
    world_.pass("before " + what);
    touched_.insert(lease.phase_id);  // also when the power fails meanwhile: the write may have happened
    auto done = with_faults(verb);
    World::require(!done || lease.fence == fences_[lease.phase_id] || !lost_since(lease),
                   lease.owner + " wrote to " + lease.phase_id + " under a lease that was lost: " + what);
    if (!what.empty()) world_.tell(lease.owner + ": " + what + (done ? "" : " -- " + done.error().message));
    world_.pass("after " + what);
    if (done && chance(500)) {
      world_.tell("and the disk says that it failed");
      return fail(ErrorKind::kIndeterminate, "simulated: it may have happened");
    }
    return done;
  }
  // Runs the verb, sometimes with an injected fault of the disk.
  template <typename Verb>
  auto with_faults(Verb verb) -> decltype(verb()) {
    using Fault = SimDisk::Fault;
    static const std::vector<std::pair<Fault, std::string>> kFaults = {
        {Fault::kBusy, "the database is busy"},    {Fault::kFull, "the disk is full"},
        {Fault::kWriteFails, "a write fails"},     {Fault::kSyncFails, "a sync fails"},
        {Fault::kPowerAtWrite, "the power fails"}, {Fault::kPowerAtSync, "the power fails"}};
    if (!chance(100)) return verb();
    const auto& [fault, words] = world_.dice.one_of(kFaults);
    machine_.disk().arm(fault, world_.dice.percent(20) ? 1 : 0);
    auto done = verb();
    machine_.disk().disarm();
    if (!done) world_.tell(words + " in a commit of " + world_.current);
    if (machine_.disk().is_dead()) throw PowerLoss{};
    return done;
  }
  // True once in `of` calls on average, while faults are injected.
  bool chance(std::int64_t of) { return world_.disturb && world_.dice.below(of) == 0; }
  bool lost_since(const store::Lease& lease) { return lease.fence < fences_[lease.phase_id]; }
  // An operator ends every lease: the fence rises without a claim.
  Result<std::vector<std::string>> fenced(Result<std::vector<std::string>> changed) {
    if (changed)
      for (const auto& phase : *changed) {
        ++fences_[phase];
        held_until_.erase(phase);
      }
    return changed;
  }

  store::Store& real() { return machine_.store(); }

  World& world_;
  Machine& machine_;
  std::map<std::string, std::pair<std::string, std::int64_t>> held_until_;  // owner, monotonic end
  struct ProviderWait {
    std::string attempt_id;  // the newest that was claimed
    std::string not_before;  // the end of its wait, if it waits
  };
  std::map<std::string, ProviderWait> waits_;  // by phase
  std::set<std::string> touched_;
  std::map<std::string, std::int64_t> fences_;  // the newest fence of each phase that was seen here
};

}  // namespace pawl::sim
