#include <algorithm>

#include "base/mutant.h"
#include "store/verbs/run_store.h"

namespace pawl::store::verbs {
namespace {

// Mutants (base/mutant.h).
bool reserves_nothing() { return mutant("reserved_after_the_run"); }
bool goes_down_the_ladder() { return mutant("ladder_goes_down"); }
bool leaves_the_fence() { return mutant("fence_stands_still"); }

}  // namespace

Status RunStore::fix_base(const PhaseRow& phase, AttemptRow& attempt) {
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
  PAWL_TRY(auto query, database_->query("newest_merge_seq"));
  query.bind(phase.run_id);
  PAWL_TRY(const bool row, query.next());
  PAWL_CHECK(row);
  attempt.base_merge_seq = query.number(0);
  return {};
}

Result<AttemptRow> RunStore::reserve(PhaseRow& phase, const Claim& claim, const ClaimRequest& request) {
  if (!reserves_nothing()) phase.attempts_used += 1;
  phase.attempts_total += 1;
  phase.last_attempt_timestamp = rfc3339(request.now);
  // The level of escalation never goes down, whatever resets attempts_used.
  phase.escalation_level = goes_down_the_ladder() ? phase.attempts_used - 1
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
  PAWL_TRY(auto insert, database_->query("insert_attempt"));
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
Status RunStore::write_claim(const PhaseRow& phase) {
  const std::string_view state = name(phase.state);
  PAWL_TRY(auto query, database_->query("claim_phase"));
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

Result<std::optional<AttemptRow>> RunStore::attempt_of(const PhaseRow& phase, std::string_view statement) {
  PAWL_TRY(auto query, database_->query(statement));
  query.bind(phase.run_id).bind(phase.phase_id);
  PAWL_TRY(const bool row, query.next());
  if (!row) return std::nullopt;
  return read_attempt(query);
}

Result<Claim> RunStore::take(PhaseRow phase, std::string planned, const ClaimRequest& request) {
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
  if (!leaves_the_fence()) phase.fence += 1;
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
    PAWL_TRY(auto query, database_->query("newest_goal"));
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
  PAWL_TRY(claim.waits, waits_of(claim));
  PAWL_TRY(claim.kept, kept_of(claim));
  return claim;
}

Result<ClaimResult> RunStore::claim(const ClaimRequest& request) {
  PAWL_TRY(auto transaction, begin("claim", request.run_ids.size() == 1 ? request.run_ids.front() : ""));
  PAWL_OK(database_->check_what_claims_read());
  PAWL_TRY(auto found, candidate(request));
  ClaimResult out{.not_claimable = found.not_claimable, .waits_for = std::move(found.waits_for)};
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

Result<bool> ReadingStore::holds(const Lease& lease) {
  const auto held = check_lease(lease);
  if (!held && held.error().kind != ErrorKind::kConflict) return std::unexpected(held.error());
  return held.has_value();
}

Status RunStore::heartbeat(const Lease& lease, WallTime now, MonoTime mono, std::int64_t lease_ms) {
  PAWL_TRY(auto transaction, begin("heartbeat", lease.run_id));
  const std::string until = rfc3339(now.plus_ms(lease_ms));
  {
    PAWL_TRY(auto query, database_->query("extend_lease"));
    query.bind(lease.run_id).bind(lease.phase_id).bind(lease.fence).bind(until);
    PAWL_OK(query.bind(mono.micros + lease_ms * 1000).run());
    if (database_->changes() == 0)
      return fail(ErrorKind::kConflict, "the lease on " + lease.phase_id + " is lost");
  }
  return transaction.commit();
}

Status RunStore::release(const Lease& lease) {
  PAWL_TRY(auto transaction, begin("release", lease.run_id));
  PAWL_OK(give_back(lease));
  return transaction.commit();
}

Status RunStore::give_back(const Lease& lease) {
  memory_.held.erase(lease.run_id);
  PAWL_TRY(auto query, database_->query("release_lease"));
  return query.bind(lease.run_id).bind(lease.phase_id).bind(lease.fence).run();
}

}  // namespace pawl::store::verbs
