#include "supervisor/agent.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>

#include "agent/api.h"
#include "agent/body.h"
#include "agent/usage_reader.h"
#include "os/clock.h"
#include "supervisor/printed_usage.h"
#include "supervisor/supervisor.h"

namespace pawl::supervisor {
namespace {

// A shell around the agent reports a signal in its exit code.
bool ended_by_itself(const sandbox::SandboxRun& run) {
  constexpr std::int64_t kSignaledInShell = 128;  // POSIX, 2.8.2
  const bool signaled = run.exit_code > kSignaledInShell && run.exit_code < kSignaledInShell + NSIG;
  return run.outcome == sandbox::Outcome::kExited && !signaled;
}

}  // namespace

Result<AgentSocket> AgentSocket::open(const Spool& spool, const Job& job,
                                      std::function<void(std::string_view)> on_log,
                                      std::function<std::string(std::string_view)> redact) {
  AgentSocket out;
  if (!job.agent) return out;
  out.context_ = *job.agent;
  out.pawl_folder_ = spool.pawl_folder();
  out.sandbox_run_id_ = job.sandbox_run_id;
  out.on_log_ = on_log;
  out.redact_ = redact;
  if (!out.context_.usage.empty() && agent::usage_reader(out.context_.usage) == nullptr)
    return fail(ErrorKind::kInvalid, "usage: this pawl knows no program " + out.context_.usage);
  out.heard_ = std::make_unique<Heard>();
  PAWL_TRY(out.server_,
           agent::Server::start(
               {.socket_path = spool.path("context/" + std::string(kAgentSocket)),
                .operator_socket_path = spool.path(kOperatorSocket),
                .pawl_folder = spool.pawl_folder(),
                .context = out.context_,
                .on_log =
                    [on_log = std::move(on_log)](std::string_view level, std::string_view message) {
                      on_log("[" + std::string(level) + "] " + std::string(message) + "\n");
                    },
                .on_cap_reached = [heard = out.heard_.get()] { heard->cap_reached = true; },
                .redact = std::move(redact),
                .on_unsaved =
                    [heard = out.heard_.get()](std::string_view why, std::int64_t room_needed) {
                      heard->room_needed = std::max(heard->room_needed.load(), room_needed);
                      if (why == agent::kIoError) heard->disk_failed = true;
                      ++heard->unsaved;
                    }}));
  return out;
}

void AgentSocket::hear(std::string_view printed) {
  if (context_.usage.empty()) return;
  printed_ += printed;
  if (printed_.size() > 2 * agent::kPrintedBytesMax)
    printed_.erase(0, printed_.size() - agent::kPrintedBytesMax);
}

void AgentSocket::report(sandbox::SandboxRun& run) const {
  if (!heard_) return;
  run.unsaved = heard_->unsaved;
  run.room_needed = heard_->room_needed;
  // The reason of a signal says who sent it, and decides whether the agent goes on.
  if (!over_budget_.empty() && run.outcome != sandbox::Outcome::kSignaled)
    run.reason = over_budget_ + (run.reason.empty() ? "" : "; " + run.reason);
  const std::string why(heard_->disk_failed ? agent::kIoError : agent::kDiskFull);
  if (run.unsaved > 0 && context_.best_effort && run.outcome == sandbox::Outcome::kExited)
    run.reason = why + ": some reports of the agent were not saved (durable: best_effort)";
  // An agent that ends because it was told to may be gone before it gets the signal. That race must not
  // decide whether its work counts.
  if (run.outcome == sandbox::Outcome::kExited && must_end()) {
    run.outcome = sandbox::Outcome::kSignaled;
    run.exit_code = -1;
    run.signal = SIGTERM;
  }
  if (run.outcome != sandbox::Outcome::kSignaled || !must_end()) return;
  run.reason = heard_->cap_reached ? std::string(kUsageCapReason)
                                   : why + ": a report of the agent could not be saved (durable: required)";
}

void AgentSocket::close(const sandbox::SandboxRun& run) {
  server_.reset();
  // An agent whose sandbox could not be made has no usage.
  if (context_.usage.empty() || run.outcome == sandbox::Outcome::kSetupFailed) return;
  if (const auto reported = report_usage(run); !reported)
    on_log_("pawl: usage: " + reported.error().message + "\n");
}

Status AgentSocket::report_usage(const sandbox::SandboxRun& run) {
  PAWL_TRY(const auto path, agent::episode_path(pawl_folder_, context_.key));
  PAWL_TRY(const auto journal, agent::Journal::open(path, agent::Journal::Access::kReadWrite));
  PAWL_TRY(const auto reported, report_printed(*journal,
                                               {.sandbox_run_id = sandbox_run_id_,
                                                .reader = context_.usage,
                                                .model = context_.model,
                                                .is_whole = ended_by_itself(run),
                                                .earlier = journals_before(pawl_folder_, context_.key)},
                                               printed_, redact_));
  if (reported.read == 0)
    return fail(ErrorKind::kNotFound,
                "the output has no report of usage as " + context_.usage + " prints it");
  PAWL_OK(reported.stored);
  return report_over_budget(*journal, os::SystemClock().wall());
}

// No cap could stop the agent midway: its output is read only after it has ended.
Status AgentSocket::report_over_budget(agent::Reports& reports, WallTime now) {
  PAWL_TRY(const auto spent, reports.spent());
  Json details = {{"usd", agent::money_text(spent.usd_micros)}, {"tokens", spent.tokens}};
  std::string over;
  if (context_.tokens_cap) {
    details["tokens_cap"] = *context_.tokens_cap;
    if (spent.tokens > *context_.tokens_cap)
      over = fmt::format(" {} tokens of {}", spent.tokens, *context_.tokens_cap);
  }
  if (context_.usd_micros_cap) {
    const std::string used = agent::money_text(spent.usd_micros),
                      cap = agent::money_text(*context_.usd_micros_cap);
    details["usd_cap"] = cap;
    if (spent.usd_micros > *context_.usd_micros_cap)
      over += fmt::format("{} {} USD of {}", over.empty() ? "" : " and", used, cap);
  }
  if (over.empty()) return {};
  over_budget_ = "over its budget: by what it printed it used" + over;
  return reports.add_event("usage_limit", details, now);
}

}  // namespace pawl::supervisor
