// Decides which phase a claim takes, or why it takes none.
#include <algorithm>
#include <limits>

#include "base/mutant.h"
#include "store/verbs/reading_store.h"

namespace pawl::store::verbs {
namespace {

// A mutant (base/mutant.h).
bool trusts_no_process_clock() { return mutant("lease_by_wall_clock"); }

// Open runs in the first page, the growth of the next pages, and their limit: usually the first run has a
// phase to claim.
constexpr std::int64_t kRunsAtFirst = 1, kMoreRuns = 4, kRunsAtOnce = 64;

}  // namespace

Result<std::optional<TierRow>> ReadingStore::open_tier(const std::string& run_id) {
  PAWL_TRY(auto query, database_->query("open_tier"));
  query.bind(run_id);
  PAWL_TRY(const bool row, query.next());
  if (!row) {
    // Every phase has ended. If only a forged table says so, no worker would ever work on the run again.
    PAWL_OK(check_tables(run_id));
    return std::optional<TierRow>();
  }
  return tier(run_id, query.number(0));
}

// In a parallel tier, looks first at phases that no other worker of this process holds.
Result<std::optional<Candidate>> ReadingStore::quick_candidate_of(const std::string& run_id,
                                                                  const ClaimRequest& request) {
  PAWL_TRY(const auto open, open_tier(run_id));
  if (!open) return Candidate{};
  const bool has_process = request.owner.find('/') != std::string::npos && !request.mono_id.empty();
  if (open->parallel && has_process && !trusts_no_process_clock()) {
    PAWL_TRY(auto found, candidate_among_ours(run_id, *open, request));
    if (!found || found->phase) return found;
  }
  return candidate_from(run_id, *open, request);
}

Result<Candidate> ReadingStore::candidate_of(const std::string& run_id, const ClaimRequest& request) {
  PAWL_TRY(const auto open, open_tier(run_id));
  if (!open) return Candidate{};
  return candidate_from(run_id, *open, request);
}

Result<Candidate> ReadingStore::candidate_from(const std::string& run_id, const TierRow& open,
                                               const ClaimRequest& request) {
  PAWL_TRY(auto found, candidate_in_tier(run_id, open, request));
  if (found.phase) return found;
  PAWL_TRY(auto began, candidate_that_began(run_id, request));
  return began.phase ? began : found;
}

Result<Candidate> ReadingStore::candidate_in_tier(const std::string& run_id, const TierRow& tier_row,
                                                  const ClaimRequest& request) {
  Candidate out;
  PAWL_TRY(auto open, database_->query("open_phases"));
  open.bind(run_id).bind(tier_row.tier_index);
  for (;;) {
    PAWL_TRY(const bool row, open.next());
    if (!row) break;
    PAWL_TRY(auto phase, read_phase(open));
    PAWL_OK(consider(std::move(phase), request, out));
    if (out.phase) return out;
    if (!tier_row.parallel) break;  // the later phases of the tier wait for this one
  }
  return out;
}

Result<std::optional<Candidate>> ReadingStore::candidate_among_ours(const std::string& run_id,
                                                                    const TierRow& tier_row,
                                                                    const ClaimRequest& request) {
  // Owners of one process differ only after the last slash. '0' follows '/' in ASCII, so this text is above
  // all of them.
  Held held{.process = request.owner.substr(0, request.owner.rfind('/') + 1),
            .mono_id = request.mono_id,
            .tier_index = tier_row.tier_index};
  const std::string after_process = held.process.substr(0, held.process.size() - 1) + '0';
  const auto known = memory_.held.find(run_id);
  const bool is_known = database_->in_transaction() && known != memory_.held.end() &&
                        known->second.process == held.process && known->second.mono_id == held.mono_id &&
                        known->second.tier_index == held.tier_index &&
                        request.mono.micros < known->second.until.micros;
  if (is_known) held = known->second;
  if (held.all) return std::optional<Candidate>();
  std::optional<std::int64_t> first;  // first phase that no other worker of this process holds
  Candidate out;
  {
    PAWL_TRY(auto open, database_->query("open_phases_not_ours"));
    open.bind(run_id).bind(tier_row.tier_index).bind(held.process).bind(after_process);
    open.bind(request.mono.micros).bind(request.mono_id).bind(held.next_index);
    while (!out.phase) {
      PAWL_TRY(const bool row, open.next());
      if (!row) break;
      PAWL_TRY(auto phase, read_phase(open));
      if (!first) first = phase.phase_index;
      PAWL_OK(consider(std::move(phase), request, out));
    }
  }
  if (!is_known) held.until.micros = request.mono.micros + request.lease_ms * 1000;
  if (database_->in_transaction()) PAWL_OK(remember_held(run_id, held, first));
  if (!first) return std::optional<Candidate>();
  // The phase that is claimed now is held from now on.
  if (out.phase && out.phase->phase_index == first)
    if (const auto now_known = memory_.held.find(run_id); now_known != memory_.held.end()) {
      now_known->second.next_index = *first + 1;
      now_known->second.until.micros =
          std::min(now_known->second.until.micros, request.mono.micros + request.lease_ms * 1000);
    }
  return out;
}

// Remembers `held`, extended by the phases up to `first`, or to the end of the tier.
Status ReadingStore::remember_held(const std::string& run_id, Held held, std::optional<std::int64_t> first) {
  memory_.held.erase(run_id);
  if (!first) held.all = true;
  if (first != held.next_index) {
    PAWL_TRY(auto query, database_->query("first_lease_to_end"));
    query.bind(run_id).bind(held.tier_index).bind(held.next_index);
    query.bind(first.value_or(std::numeric_limits<std::int64_t>::max()));
    PAWL_TRY(const bool row, query.next());
    if (row && !query.is_null(0)) held.until.micros = std::min(held.until.micros, query.number(0));
  }
  if (first) held.next_index = *first;
  memory_.held[run_id] = std::move(held);
  return {};
}

// Phases that had started when an operator queued an earlier one. They are claimed too: otherwise their
// budget reservations are never released, and the earlier phase may wait for that budget.
Result<Candidate> ReadingStore::candidate_that_began(const std::string& run_id, const ClaimRequest& request) {
  Candidate out;
  PAWL_TRY(auto rows, database_->query("phases_that_began"));
  rows.bind(run_id);
  for (;;) {
    PAWL_TRY(const bool row, rows.next());
    if (!row) return out;
    PAWL_TRY(auto phase, read_phase(rows));
    PAWL_OK(consider(std::move(phase), request, out));
    if (!out.phase) continue;
    // A phase that was claimed and left before its first step holds no budget: it waits like a queued one.
    PAWL_TRY(const bool begun, has_begun(run_id, out.phase->phase_id));
    if (begun) return out;
    out.phase.reset();
  }
}

// Puts the phase into out.phase when it can be claimed. Otherwise sets the reason, when it is larger than the
// one in `out`.
Status ReadingStore::consider(PhaseRow phase, const ClaimRequest& request, Candidate& out) {
  const auto wait_for = [&](NotClaimable why, const std::string& how) -> Status {
    if (why <= out.not_claimable) return {};
    out.not_claimable = why;
    out.waits_for = "phase " + phase.phase_id + " " + how;
    out.waited_for = phase;
    return {};
  };
  if (lease_is_live(phase, request))
    return wait_for(NotClaimable::kLeased,
                    "is held by " + phase.lease_owner + " until " + phase.lease_expires_at);
  if (phase.not_before == kUntilAPerson)
    return wait_for(NotClaimable::kPerson,
                    "waits for a person: the provider of the model refused its credential");
  const std::string now = rfc3339(request.now);
  // When `now` is before the last attempt, the wall clock was set back, and the time to wait is unknown. Then
  // not_before is ignored.
  if (phase.last_attempt_timestamp <= now && now < phase.not_before)
    return wait_for(NotClaimable::kNotBefore, "is not to start before " + phase.not_before);
  if (phase.attempts_used >= phase.max_attempts) {
    // The last attempt may be unfinished: a crash during it must not strand the phase.
    PAWL_TRY(auto unfinished, database_->query("unfinished_attempt"));
    unfinished.bind(phase.run_id).bind(phase.phase_id);
    PAWL_TRY(const bool goes_on, unfinished.next());
    if (!goes_on)
      return wait_for(NotClaimable::kStalled,
                      "is " + std::string(name(phase.state)) + " with no attempt left");
  }
  BudgetRow left;
  PAWL_TRY(const auto held, held_by_budget(phase, left));
  if (held) return wait_for(*held, "waits for the budget: " + budget_text(left));
  out.phase = std::move(phase);
  return {};
}

Result<std::vector<std::string>> ReadingStore::open_runs_after(const std::string& run_id, std::int64_t most) {
  std::vector<std::string> out;
  PAWL_TRY(auto query, database_->query("open_runs_after"));
  query.bind(run_id).bind(most);
  for (;;) {
    PAWL_TRY(const bool row, query.next());
    if (!row) return out;
    out.push_back(query.text(0));
  }
}

Result<Candidate> ReadingStore::candidate(const ClaimRequest& request) {
  Candidate best;
  std::vector<std::string> ours;  // runs where other workers of this process hold all phases left
  const auto keep = [&](Candidate found) {
    if (found.phase || found.not_claimable > best.not_claimable) best = std::move(found);
  };
  const auto look_at = [&](const std::string& run_id) -> Status {
    PAWL_TRY(auto found, quick_candidate_of(run_id, request));
    if (found)
      keep(*std::move(found));
    else
      ours.push_back(run_id);
    return {};
  };
  auto page = request.run_ids;
  std::int64_t most = kRunsAtFirst;
  while (!best.phase) {
    if (request.run_ids.empty()) {
      PAWL_TRY(page, open_runs_after(page.empty() ? "" : page.back(), most));
      most = std::min(most * kMoreRuns, kRunsAtOnce);
    }
    if (page.empty()) break;
    for (const auto& run_id : page) {
      PAWL_OK(look_at(run_id));
      if (best.phase) return best;
    }
    if (!request.run_ids.empty()) break;
  }
  // No phase is free. For the runs of `ours`, read the reason to wait.
  for (const auto& run_id : ours) {
    PAWL_TRY(auto found, candidate_of(run_id, request));
    keep(std::move(found));
    if (best.phase) return best;
  }
  return best;
}

}  // namespace pawl::store::verbs
