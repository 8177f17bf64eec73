#include "executor/kept_work.h"

#include <utility>

#include "base/mutant.h"
#include "executor/reported.h"

namespace pawl::executor {

std::optional<supervisor::KeptWork> kept_with_result(const sandbox::SandboxRun& run,
                                                     const plan::Phase& phase) {
  if (phase.resume.policy != plan::ResumePolicy::kContinue) return std::nullopt;
  return supervisor::KeptWork{.layer = run.layer, .missing = {}};
}

Result<supervisor::KeptWork> keep_work(const World& world, const store::Claim& claim, const Episode& episode,
                                       const store::StepStart& start,
                                       const secrets::Redactor::Values& credentials) {
  PAWL_TRY(auto found, world.sandboxes.keep_work(start.sandbox_run_id, credentials));
  // Markers of an attempt that was reserved in this boot are of this boot. Those of an older attempt may not be.
  const bool same_boot = of_one_boot(claim.attempt.executor, claim.lease.owner);
  return kept_by(std::move(found), episode.goes_on_from(), same_boot);
}

Result<std::string> missing_home(const World& world, const store::Claim& claim, const Episode& episode,
                                 const secrets::Redactor::Values& credentials) {
  PAWL_TRY(auto lacks, world.sandboxes.home_lacks(episode_of(claim, episode.number()),
                                                  claim.attempt.attempt_id, credentials));
  // An agent that begins anew in any case needs no HOME.
  if (lacks == "home" && !episode.goes_on_from()) lacks.clear();
  return lacks;
}

namespace {

constexpr std::size_t kAttemptsMax = 10'000;  // per phase: more than it can have

// A mutant (base/mutant.h).
bool ignores_accepted_work() { return mutant("retry_on_another_state"); }

// Returns the part that the previous attempt's work lacks, apart from HOME; "" when it is complete.
Result<std::string> missing_of(const World& world, const store::Claim& claim) {
  const auto& before = *claim.previous;
  if (before.run_id != claim.run.run_id || before.revision != claim.attempt.revision)
    return std::string("revision");
  PAWL_TRY(const auto layers, world.store.base_layers(before));
  if (layers != claim.layers && !ignores_accepted_work()) return std::string("accepted");
  // HOME is not synced: a restart loses the data that were not written yet. hand_home_on() finds a restart before the
  // end of the attempt.
  if (!of_one_boot(before.executor, claim.lease.owner)) return std::string("restart");
  if (!claim.previous_agent) return std::string("workspace");
  const auto& agent = *claim.previous_agent;
  PAWL_TRY(const auto outcome, sandbox::outcome_from_name(agent.outcome));
  if (outcome == sandbox::Outcome::kDiskLimit) return std::string("disk");
  // The agent may have failed because of its session, or before it had one. The next agent would then fail, too.
  const bool failed = outcome == sandbox::Outcome::kExited && agent.exit_code != 0;
  const bool changed_nothing = agent.layer == agent.began_on;
  if (outcome == sandbox::Outcome::kSetupFailed || (failed && changed_nothing))
    return std::string("workspace");
  return std::string();
}

}  // namespace

Result<supervisor::KeptWork> take_previous_work(const World& world, const store::Claim& claim,
                                                const secrets::Redactor::Values& credentials) {
  const auto& before = *claim.previous;
  PAWL_TRY(auto missing, missing_of(world, claim));
  if (missing.empty()) {
    PAWL_TRY(missing, world.sandboxes.hand_home_on(claim.run.run_id, before.attempt_id,
                                                   claim.attempt.attempt_id, credentials));
  }
  PAWL_OK(forget_homes_before(world, claim.run.run_id, claim.phase.phase_id, claim.attempt.number));
  if (!missing.empty()) return supervisor::KeptWork{.layer = {}, .missing = std::move(missing)};
  return supervisor::KeptWork{.layer = claim.previous_agent->layer, .missing = {}};
}

Status forget_homes_before(const World& world, const std::string& run_id, const std::string& phase_id,
                           std::int64_t number) {
  PAWL_TRY(const auto earlier, world.store.attempts_before(run_id, phase_id, number, kAttemptsMax));
  for (const auto& attempt : earlier) world.sandboxes.forget_homes(attempt.run_id, attempt.attempt_id);
  return {};
}

}  // namespace pawl::executor
