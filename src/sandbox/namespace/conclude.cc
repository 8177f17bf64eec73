#include "sandbox/namespace/conclude.h"

#include <fmt/format.h>

#include <csignal>
#include <optional>

#include "sandbox/namespace/degraded.h"

namespace pawl::sandbox {
namespace {

// The reason of a SIGXFSZ. No file is longer than the limit here: otherwise the outcome would be disk_limit.
constexpr std::string_view kFileSignal =
    "SIGXFSZ: sent by itself, met at a file limit that it had set, or at a write far past disk_limit_mib";

// How the command itself ended, for a reason: a limit takes precedence, and the command may
// have ended later and well.
std::string own_end(const std::optional<ChildReport>& report) {
  if (!report) return {};
  return fmt::format("the command itself {} {}",
                     report->kind == ChildReport::Kind::kExited ? "exited with" : "was ended by signal",
                     report->value);
}

Fault fault_of(const ChildReport& report, const MountPlan& plan) {
  if (report.op >= 0) {
    const auto& op = plan.ops[static_cast<std::size_t>(report.op)];
    return {fail_errno(report.value, to_text(op, plan)).error(),
            op.kind == MountOp::Kind::kOverlay ? kOverlay : std::string_view()};
  }
  const auto error = fail_errno(report.value, report.action).error();
  switch (report.failed) {
    case ChildReport::Failed::kOther:
      return error;
    case ChildReport::Failed::kNamespaces:
      return {error, kNamespaces};
    case ChildReport::Failed::kTrace:
      return {error, kTrace};
  }
  return error;
}

}  // namespace

Made conclude(const Ending& ending, const MountPlan& plan, SandboxRun& run) {
  if (ending.report && ending.report->kind == ChildReport::Kind::kFailed)
    return std::unexpected(fault_of(*ending.report, plan));
  run.cpu_ms = ending.use.cpu_ms.value_or(ending.cpu_ms);
  run.max_rss_kib = ending.use.memory_peak_kib > 0 ? ending.use.memory_peak_kib : ending.max_rss_kib;
  if (ending.forced) {
    run.outcome = *ending.forced;
    run.signal = run.outcome == Outcome::kSignaled ? SIGKILL : 0;
    run.reason = ending.stopped ? "cancelled" : own_end(ending.report);
  } else if (ending.use.oom_kills > 0) {
    run.outcome = Outcome::kOomKilled;
    run.reason = own_end(ending.report);
  } else if (!ending.report) {
    run.outcome = Outcome::kSignaled;  // a process outside of the sandbox killed the init
    run.signal = SIGKILL;
  } else if (ending.report->kind == ChildReport::Kind::kExited) {
    run.outcome = Outcome::kExited;
    run.exit_code = ending.report->value;
  } else {
    run.outcome = Outcome::kSignaled;
    run.signal = ending.report->value;
    if (run.signal == SIGXFSZ) run.reason = kFileSignal;
  }
  return {};
}

}  // namespace pawl::sandbox
