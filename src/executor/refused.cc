#include "executor/refused.h"

#include <algorithm>

#include "base/json.h"
#include "base/mutant.h"
#include "executor/credentials.h"
#include "executor/recovery.h"

namespace pawl::executor {
namespace {

// A mutant (base/mutant.h).
bool fails_refused_agents() { return mutant("refused_agents_fail"); }

constexpr std::uint64_t kNetworkLogBytesMax = 4 << 20;
constexpr std::size_t kMessageBytesMax = 300;  // in a row and in a line for people

std::string message_of(const agent::Refusal& refusal) {
  return std::string(utf8_prefix(valid_utf8(refusal.line), kMessageBytesMax));
}

// 0: no time is named, or one that is not believed. `left_ms`: until the reset. When the reset has passed and the limit
// may end at any moment of the same minute, the agent asks again soon, a few times.
std::int64_t named_wait_ms(std::int64_t left_ms, const agent::Reset& reset) {
  if (left_ms > kResetMsMax) return 0;
  if (left_ms > 0) return left_ms;
  return left_ms + reset.within_ms > 0 ? kWithinMinuteWaitMs : 0;
}

std::string sources_of(const plan::Phase& phase) {
  std::string out;
  for (const auto& credential : phase.credentials) out += (out.empty() ? "" : ", ") + source_of(credential);
  return std::string(utf8_prefix(out, kMessageBytesMax));
}

// Whether the sandbox itself lets the agent reach no provider, as its plan says: then no wait helps. A program may
// also ask for hosts that it can go without, while the provider is down.
bool is_cut_off(const World& world, const PlannedStep& step, const sandbox::SandboxRun& run) {
  if (step.step->network == plan::Network::kNone) return true;
  if (run.egress_refused == 0) return false;
  const auto log = world.objects.blob_tail(run.network_log, kNetworkLogBytesMax);
  return !log || log->find(R"("verdict":"failed)") == std::string::npos;
}

}  // namespace

std::optional<agent::Refusal> refusal_of(const World& world, const PlannedStep& step,
                                         const plan::Phase& phase, const sandbox::SandboxRun& run) {
  if (fails_refused_agents()) return std::nullopt;
  if (step.role != StepRole::kAgent || !runs_again(phase)) return std::nullopt;
  if (run.outcome != sandbox::Outcome::kExited) return std::nullopt;
  const auto* signs = agent::refusal_signs(phase.agent_usage);
  const auto bytes = signs == nullptr ? 0 : agent::refusal_tail_bytes(*signs, run.exit_code);
  if (bytes == 0) return std::nullopt;
  std::string tail;
  if (!run.logs.empty())
    if (auto log = world.objects.blob_tail(run.logs, bytes)) tail = *std::move(log);
  const auto ended = parse_rfc3339(run.ended_at).value_or(world.clock.wall());
  auto refusal =
      agent::refusal_in(*signs, run.exit_code, tail,
                        {.at = ended, .utc_offset_seconds = world.clock.utc_offset_seconds(ended)});
  if (refusal && refusal->is_unreachable() && is_cut_off(world, step, run)) return std::nullopt;
  return refusal;
}

std::optional<store::Wait> wait_after(const agent::Refusal& refusal, const plan::Phase& phase,
                                      const store::WaitsSoFar& so_far, WallTime ended,
                                      std::int64_t jitter_ms) {
  if (so_far.count >= store::kWaitsPerAttemptMax || so_far.waited_ms >= store::kWaitedMsPerAttemptMax)
    return std::nullopt;
  const auto* signs = agent::refusal_signs(phase.agent_usage);
  store::Wait out{.number = so_far.count + 1,
                  .provider = signs == nullptr ? "" : signs->provider,
                  .message = message_of(refusal),
                  .status = refusal.status};
  if (refusal.kind == agent::RefusalKind::kUnauthorized) {
    out.credential = sources_of(phase);
    out.source = store::kWaitOfPerson;
    out.not_before = store::kUntilAPerson;
    return out;
  }
  if (refusal.reset) out.reset = rfc3339(refusal.reset->at);
  const auto named_ms =
      refusal.reset ? named_wait_ms(ms_between(ended, refusal.reset->at), *refusal.reset) : 0;
  const auto doublings = std::min<std::int64_t>(so_far.backoffs, 16);
  out.source = named_ms > 0 ? store::kWaitOfProvider : store::kWaitOfBackoff;
  out.delay_ms = (named_ms > 0 ? named_ms : std::min(kFirstWaitMs << doublings, kWaitMsMax)) + jitter_ms;
  out.not_before = rfc3339(ended.plus_ms(out.delay_ms));
  return out;
}

store::RecoveryFound found_refused(const agent::Refusal& refusal) {
  return refusal.kind == agent::RefusalKind::kLimited ? store::RecoveryFound::kLimited
                                                      : store::RecoveryFound::kUnauthorized;
}

}  // namespace pawl::executor
