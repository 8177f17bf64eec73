#include "executor/kept_work.h"

namespace pawl::executor {

std::optional<supervisor::KeptWork> kept_with_result(const sandbox::SandboxRun& run,
                                                     const plan::Phase& phase) {
  if (phase.resume.policy != plan::ResumePolicy::kContinue) return std::nullopt;
  return supervisor::KeptWork{.layer = run.layer, .missing = {}};
}

Result<Recovery> keep_work(const World& world, const store::Claim& claim, ActiveEpisode& one,
                           const store::StepStart& start, const secrets::Redactor::Values& credentials) {
  if (!one.kept) {
    PAWL_TRY(auto found, world.sandboxes.keep_work(start.sandbox_run_id, credentials));
    // Markers of an attempt that was reserved in this boot are of this boot; others may be, too.
    const bool same_boot = of_one_boot(claim.attempt.executor, claim.lease.owner);
    one.kept = kept_by(std::move(found), one.episode.goes_on_from(), same_boot);
  }
  return after_keeping(*one.kept);
}

}  // namespace pawl::executor
