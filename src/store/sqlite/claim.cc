#include <algorithm>
#include <limits>

#include "base/planted.h"
#include "store/sqlite/sqlite_store.h"

namespace pawl::store::sqlite {
namespace {

// Open runs in the first page, the growth of the next pages, and their limit: usually the first run has a
// phase to claim.
constexpr std::int64_t kRunsAtFirst = 1, kMoreRuns = 4, kRunsAtOnce = 64;

}  // namespace

Result<std::optional<TierRow>> SqliteStore::open_tier(const std::string& run_id) {
  PAWL_TRY(auto query, connection_->query("open_tier"));
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
Result<std::optional<Candidate>> SqliteStore::quick_candidate_of(const std::string& run_id,
                                                                 const ClaimRequest& request) {
  PAWL_TRY(const auto open, open_tier(run_id));
  if (!open) return Candidate{};
  const bool has_process = request.owner.find('/') != std::string::npos && !request.mono_id.empty();
  if (open->parallel && has_process && !planted("lease_by_wall_clock")) {
    PAWL_TRY(auto found, candidate_among_ours(run_id, *open, request));
    if (!found || found->phase) return found;
  }
  return candidate_from(run_id, *open, request);
}

Result<Candidate> SqliteStore::candidate_of(const std::string& run_id, const ClaimRequest& request) {
  PAWL_TRY(const auto open, open_tier(run_id));
  if (!open) return Candidate{};
  return candidate_from(run_id, *open, request);
}

Result<Candidate> SqliteStore::candidate_from(const std::string& run_id, const TierRow& open,
                                              const ClaimRequest& request) {
  PAWL_TRY(auto found, candidate_in_tier(run_id, open, request));
  if (found.phase) return found;
  PAWL_TRY(auto began, candidate_that_began(run_id, request));
  return began.phase ? began : found;
}

Result<Candidate> SqliteStore::candidate_in_tier(const std::string& run_id, const TierRow& tier_row,
                                                 const ClaimRequest& request) {
  Candidate out;
  PAWL_TRY(auto open, connection_->query("open_phases"));
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

Result<std::optional<Candidate>> SqliteStore::candidate_among_ours(const std::string& run_id,
                                                                   const TierRow& tier_row,
                                                                   const ClaimRequest& request) {
  // Owners of one process differ only after the last slash. '0' follows '/' in ASCII, so this text is above
  // all of them.
  Held held{.process = request.owner.substr(0, request.owner.rfind('/') + 1),
            .mono_id = request.mono_id,
            .tier_index = tier_row.tier_index};
  const std::string after_process = held.process.substr(0, held.process.size() - 1) + '0';
  const auto known = memory_.held.find(run_id);
  const bool is_known = connection_->in_transaction() && known != memory_.held.end() &&
                        known->second.process == held.process && known->second.mono_id == held.mono_id &&
                        known->second.tier_index == held.tier_index &&
                        request.mono.micros < known->second.until.micros;
  if (is_known) held = known->second;
  if (held.all) return std::optional<Candidate>();
  std::optional<std::int64_t> first;  // first phase that no other worker of this process holds
  Candidate out;
  {
    PAWL_TRY(auto open, connection_->query("open_phases_not_ours"));
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
  if (connection_->in_transaction()) PAWL_OK(remember_held(run_id, held, first));
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
Status SqliteStore::remember_held(const std::string& run_id, Held held, std::optional<std::int64_t> first) {
  memory_.held.erase(run_id);
  if (!first) {
    PAWL_TRY(auto query, connection_->query("began_elsewhere"));
    query.bind(run_id).bind(held.tier_index);
    PAWL_TRY(const bool row, query.next());
    if (row) return {};
    held.all = true;
  }
  if (first != held.next_index) {
    PAWL_TRY(auto query, connection_->query("first_lease_to_end"));
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
Result<Candidate> SqliteStore::candidate_that_began(const std::string& run_id, const ClaimRequest& request) {
  Candidate out;
  PAWL_TRY(auto began, connection_->query("phases_that_began"));
  began.bind(run_id);
  for (;;) {
    PAWL_TRY(const bool row, began.next());
    if (!row) return out;
    PAWL_TRY(auto phase, read_phase(began));
    PAWL_OK(consider(std::move(phase), request, out));
    if (out.phase) return out;
  }
}

// Puts the phase into out.phase when it can be claimed. Otherwise sets the reason, when it is larger than the
// one in `out`.
Status SqliteStore::consider(PhaseRow phase, const ClaimRequest& request, Candidate& out) {
  const auto wait_for = [&](Nothing why, const std::string& how) -> Status {
    if (why <= out.nothing) return {};
    out.nothing = why;
    out.waits_for = "phase " + phase.phase_id + " " + how;
    out.waited_for = phase;
    return {};
  };
  if (lease_is_live(phase, request))
    return wait_for(Nothing::kLeased, "is held by " + phase.lease_owner + " until " + phase.lease_expires_at);
  const std::string now = rfc3339(request.now);
  // When `now` is before the last attempt, the wall clock was set back, and the time to wait is unknown. Then
  // not_before is ignored.
  if (phase.last_attempt_timestamp <= now && now < phase.not_before)
    return wait_for(Nothing::kNotBefore, "is not to start before " + phase.not_before);
  if (phase.attempts_used >= phase.max_attempts) {
    // The last attempt may be unfinished: a crash during it must not strand the phase.
    PAWL_TRY(auto unfinished, connection_->query("unfinished_attempt"));
    unfinished.bind(phase.run_id).bind(phase.phase_id);
    PAWL_TRY(const bool goes_on, unfinished.next());
    if (!goes_on)
      return wait_for(Nothing::kStalled, "is " + std::string(name(phase.state)) + " with no attempt left");
  }
  BudgetRow left;
  PAWL_TRY(const auto held, held_by_budget(phase, left));
  if (held) return wait_for(*held, "waits for the budget: " + budget_text(left));
  out.phase = std::move(phase);
  return {};
}

Result<std::vector<std::string>> SqliteStore::open_runs_after(const std::string& run_id, std::int64_t most) {
  std::vector<std::string> out;
  PAWL_TRY(auto query, connection_->query("open_runs_after"));
  query.bind(run_id).bind(most);
  for (;;) {
    PAWL_TRY(const bool row, query.next());
    if (!row) return out;
    out.push_back(query.text(0));
  }
}

Result<Candidate> SqliteStore::candidate(const ClaimRequest& request) {
  Candidate best;
  std::vector<std::string> ours;  // runs where other workers of this process hold all phases left
  const auto keep = [&](Candidate found) {
    if (found.phase || found.nothing > best.nothing) best = std::move(found);
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

Status SqliteStore::fix_base(const PhaseRow& phase, AttemptRow& attempt) {
  PAWL_TRY(const TierRow tier_row, tier(phase.run_id, phase.tier_index));
  attempt.base_has_own_tier = !tier_row.parallel;
  if (tier_row.parallel && phase.attempts_total > 1) {
    // Phases of a parallel tier start from the same base. A phase whose newest attempt failed together with
    // the work accepted meanwhile (.merge) starts on top of that work. Otherwise it would fail on it for
    // ever.
    PAWL_TRY(const auto before, attempt_of(phase, "newest_finished_attempt"));
    if (before)
      attempt.base_has_own_tier =
          before->base_has_own_tier || std::ranges::any_of(before->failing_signals, [](const auto& key) {
            return key.ends_with(".merge");
          });
  }
  PAWL_TRY(auto query, connection_->query("newest_merge_seq"));
  query.bind(phase.run_id);
  PAWL_TRY(const bool row, query.next());
  PAWL_CHECK(row);
  attempt.base_merge_seq = query.number(0);
  return {};
}

Result<AttemptRow> SqliteStore::reserve(PhaseRow& phase, const Claim& claim, const ClaimRequest& request) {
  if (!planted("reserved_after_the_run")) phase.attempts_used += 1;
  phase.attempts_total += 1;
  phase.last_attempt_timestamp = rfc3339(request.now);
  // The level of escalation never goes down, whatever resets attempts_used.
  phase.escalation_level = planted("ladder_goes_down")
                               ? phase.attempts_used - 1
                               : std::max(phase.escalation_level, phase.attempts_used - 1);
  AttemptRow attempt;
  attempt.run_id = phase.run_id;
  attempt.phase_id = phase.phase_id;
  attempt.number = phase.attempts_total;
  attempt.attempt_id = phase.phase_id + "." + std::to_string(attempt.number);
  attempt.revision = phase.revision;
  if (request.model_of_attempt) attempt.model = request.model_of_attempt(claim, phase.escalation_level + 1);
  PAWL_OK(fix_base(phase, attempt));
  attempt.started_at = rfc3339(request.now);
  attempt.executor = request.owner;
  PAWL_TRY(auto insert, connection_->query("insert_attempt"));
  insert.bind(attempt.run_id).bind(attempt.phase_id).bind(attempt.number).bind(attempt.attempt_id);
  insert.bind(attempt.revision)
      .bind(attempt.model)
      .bind(attempt.base_merge_seq)
      .bind(attempt.base_has_own_tier ? std::int64_t{1} : std::int64_t{0})
      .bind(attempt.started_at)
      .bind(attempt.executor);
  PAWL_OK(insert.run());
  return attempt;
}

// Sets only the columns that a claim changes. SQLite writes a column that is set, even to the same value, to
// every index that has it.
Status SqliteStore::write_claim(const PhaseRow& phase) {
  const std::string_view state = name(phase.state);
  PAWL_TRY(auto query, connection_->query("claim_phase"));
  query.bind(phase.run_id).bind(phase.phase_id).bind(state).bind(phase.attempts_used);
  query.bind(phase.last_attempt_timestamp).bind(phase.not_before).bind(phase.lease_owner);
  query.bind(phase.lease_expires_at)
      .bind(phase.fence)
      .bind(phase.attempts_total)
      .bind(phase.escalation_level)
      .bind(phase.lease_mono_id)
      .bind(phase.lease_until_mono);
  return query.run();
}

Result<std::optional<AttemptRow>> SqliteStore::attempt_of(const PhaseRow& phase, std::string_view statement) {
  PAWL_TRY(auto query, connection_->query(statement));
  query.bind(phase.run_id).bind(phase.phase_id);
  PAWL_TRY(const bool row, query.next());
  if (!row) return std::nullopt;
  return read_attempt(query);
}

Result<Claim> SqliteStore::take(PhaseRow phase, std::string planned, const ClaimRequest& request) {
  Claim claim;
  claim.planned = std::move(planned);
  PAWL_TRY(claim.run, run(phase.run_id));
  if (!request.has_common || !request.has_common(phase.run_id)) {
    PAWL_TRY(claim.common, planned_common(phase.run_id));
  }
  PAWL_TRY(const auto transition, apply(phase, PhaseEvent::kClaim));
  phase.state = transition.state;
  phase.lease_owner = request.owner;
  phase.lease_expires_at = rfc3339(request.now.plus_ms(request.lease_ms));
  phase.lease_mono_id = request.mono_id;
  phase.lease_until_mono = request.mono.micros + request.lease_ms * 1000;
  if (!planted("fence_stands_still")) phase.fence += 1;
  phase.not_before.clear();
  if (phase.attempts_total > 0) {
    PAWL_TRY(auto unfinished, attempt_of(phase, "unfinished_attempt"));
    claim.continued = unfinished.has_value();
    if (unfinished) claim.attempt = std::move(*unfinished);
  }
  if (!claim.continued) {
    PAWL_TRY(claim.attempt, reserve(phase, claim, request));
  }
  PAWL_OK(write_claim(phase));
  memory_.unfinished[key_of(phase.run_id, phase.phase_id)] = claim.attempt;
  if (phase.attempts_total > 1) {
    PAWL_TRY(claim.previous, attempt_of(phase, "newest_finished_attempt"));
  } else {
    PAWL_TRY(claim.previous, attempt_of(phase, "attempt_before_fork"));
  }
  if (phase.revision > 0) {
    PAWL_TRY(auto query, connection_->query("newest_goal"));
    query.bind(phase.run_id).bind(phase.phase_id).bind(phase.revision);
    PAWL_TRY(const bool row, query.next());
    if (row) claim.revised_goal = query.text(0);
  }
  if (claim.continued) {
    PAWL_TRY(auto all, steps(phase.run_id, phase.phase_id));
    for (auto& row : all)
      if (row.attempt_id == claim.attempt.attempt_id) claim.steps.push_back(std::move(row));
    std::ranges::sort(claim.steps, {},
                      [](const StepRow& row) { return std::pair(row.step_index, row.execution); });
  }
  claim.lease = {.run_id = phase.run_id,
                 .phase_id = phase.phase_id,
                 .owner = phase.lease_owner,
                 .fence = phase.fence,
                 .expires_at = phase.lease_expires_at};
  claim.phase = std::move(phase);
  return claim;
}

Result<ClaimResult> SqliteStore::claim(const ClaimRequest& request) {
  PAWL_TRY(auto transaction, begin("claim"));
  PAWL_TRY(auto found, candidate(request));
  ClaimResult out{.nothing = found.nothing, .waits_for = std::move(found.waits_for)};
  if (!found.phase) return out;
  PAWL_TRY(auto planned, planned_row(*found.phase));
  if (!planned) {
    PAWL_OK(check_tables(found.phase->run_id));  // forged places of phases must not get plan rows
    out.unplanned = found.phase->run_id;
    return out;
  }
  PAWL_TRY(out.claim, take(*std::move(found.phase), *std::move(planned), request));
  PAWL_OK(check_claim(*out.claim));
  // Read here and not when they are used: the layers that were compared are the layers that are built upon.
  PAWL_TRY(out.claim->layers, base_layers(out.claim->attempt));
  if (out.claim->attempt.joined_round > 0) {
    PAWL_TRY(out.claim->judged_layers, base_layers(judged_on(out.claim->attempt)));
  }
  PAWL_OK(transaction.commit());
  return out;
}

Result<bool> SqliteStore::holds(const Lease& lease) {
  const auto held = check_lease(lease);
  if (!held && held.error().kind != ErrorKind::kConflict) return std::unexpected(held.error());
  return held.has_value();
}

Status SqliteStore::heartbeat(const Lease& lease, WallTime now, MonoTime mono, std::int64_t lease_ms) {
  PAWL_TRY(auto transaction, begin("heartbeat"));
  const std::string until = rfc3339(now.plus_ms(lease_ms));
  {
    PAWL_TRY(auto query, connection_->query("extend_lease"));
    query.bind(lease.run_id).bind(lease.phase_id).bind(lease.fence).bind(until);
    PAWL_OK(query.bind(mono.micros + lease_ms * 1000).run());
    if (connection_->changes() == 0)
      return fail(ErrorKind::kConflict, "the lease on " + lease.phase_id + " is lost");
  }
  return transaction.commit();
}

Status SqliteStore::release(const Lease& lease) {
  PAWL_TRY(auto transaction, begin("release"));
  PAWL_OK(give_back(lease));
  return transaction.commit();
}

Status SqliteStore::give_back(const Lease& lease) {
  memory_.held.erase(lease.run_id);
  PAWL_TRY(auto query, connection_->query("release_lease"));
  return query.bind(lease.run_id).bind(lease.phase_id).bind(lease.fence).run();
}

}  // namespace pawl::store::sqlite
