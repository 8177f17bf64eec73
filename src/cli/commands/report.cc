// Writes a run as a page for a browser. This file gathers the content; render/page/ makes the page.
#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/hash.h"
#include "cli/context.h"
#include "cli/output_file.h"
#include "cli/render/page/page.h"
#include "cli/render/say.h"
#include "cli/render/terminal.h"
#include "executor/start_run.h"
#include "os/file.h"
#include "sandbox/spec.h"
#include "supervisor/supervisor.h"
#include "views/accepted.h"

namespace pawl::cli {
namespace {

// Limits that let a browser open the page at once, whatever the run.
constexpr std::size_t kAttemptsReported = 20;  // the newest of each phase
constexpr std::size_t kPhasesReported = 100;
constexpr std::uint64_t kTailBytes = 8 << 10;        // from the end of a step's log
constexpr std::uint64_t kLogsBytesMax = 4ULL << 20;  // for all logs together
// A longer log or network log is not read whole. The page then does not say that it is the recorded one.
constexpr std::uint64_t kHashedBytesMax = 64ULL << 20;

struct ReportOptions {
  StateOptions state;
  std::string run;
  OutputOptions output;
};

// The page shows data that differs from the record, so no part of it is called verified.
void note_forged(page::Content& content, const std::string& file, const std::string& detail) {
  if (!content.verified) return;
  content.verified->ok = false;
  content.verified->problems.push_back({.kind = "forged", .file = file, .row = 0, .detail = detail});
}

enum class Kept { kWhole, kChanged, kUnread };

// Whether a stored object has the hash that names it. A removed object can't have been changed.
Kept kept(const State& state, const std::string& id) {
  const std::string path = state.workspaces->blob_path(id);
  const auto text = os::read_file(path, kHashedBytesMax);
  if (text) return has_hash(*text, id) ? Kept::kWhole : Kept::kChanged;
  return os::exists(path) ? Kept::kUnread : Kept::kWhole;
}

page::Log log_of(const State& state, const views::StepStory& step) {
  const bool done = step.row.state == store::StepState::kDone;
  std::string path =
      supervisor::step_path(state.folder, step.row.sandbox_run_id, supervisor::StepFile::kOutput);
  if (done) {
    const std::string id = text_in(step.run, "logs");
    if (id.empty()) return {};
    path = state.workspaces->blob_path(id);
    if (kept(state, id) == Kept::kChanged) return {.missing = std::string(page::kChangedLog)};
  }
  auto tail = os::read_tail(path, kTailBytes);
  if (!tail) return {.missing = done ? "its output was removed by pawl gc" : ""};
  page::Log log{.tail = *std::move(tail), .bytes = integer_in(step.run, "logs_bytes")};
  log.is_cut = done ? log.bytes > static_cast<std::int64_t>(log.tail.size()) : log.tail.size() == kTailBytes;
  // Only whole lines, when the tail does not begin with the log's first byte.
  if (const auto end = log.tail.find('\n'); log.is_cut && end != std::string::npos)
    log.tail.erase(0, end + 1);
  return log;
}

void add_logs(const State& state, page::Content& content) {
  std::uint64_t left = kLogsBytesMax;
  for (const auto& phase : content.story.phases)
    for (const auto& attempt : phase.attempts)
      for (const auto& step : attempt.steps) {
        auto log = left == 0 ? page::Log{.missing = "its output is left out, the page is large enough"}
                             : log_of(state, step);
        left -= std::min<std::uint64_t>(left, log.tail.size());
        if (log.missing == page::kChangedLog)
          note_forged(content, "objects", "the log of " + step.row.label + " is not what was recorded");
        const std::string network = text_in(step.run, "network_log");
        if (!network.empty() && kept(state, network) == Kept::kChanged)
          note_forged(content, "objects",
                      "the network log of " + step.row.label + " is not what was recorded");
        content.logs.emplace(step.row.sandbox_run_id, std::move(log));
      }
}

// Made only from a base and layers that match the rows.
Result<std::string> accepted_work(const State& state, const Result<views::Evidence>& evidence) {
  if (!evidence) return std::unexpected(evidence.error());
  PAWL_OK(views::check_content(*state.workspaces, *evidence));
  PAWL_TRY(auto patch, views::patch_of(*state.workspaces, *evidence, views::Purpose::kShown));
  return std::move(patch.text);
}

Result<ledger::Report> verify(const State& state, const store::RunRow& run) {
  return ledger::verify_run(*state.store, run.run_id, {.public_key = state.sealer->public_key()});
}

// The part of a page that rows say.
struct Rows {
  page::Content content;
  std::optional<Result<views::Evidence>> evidence;
};

// The page reports what can't be read (gc removed it, a row is damaged), because people need a page just
// then. REQUIRES: all reads see one state of the database.
Result<Rows> rows_of(const State& state, const std::string& run_id) {
  Rows out;
  page::Content& content = out.content;
  PAWL_TRY(
      content.story,
      views::story_of(state, run_id, {.attempts_max = kAttemptsReported, .phases_max = kPhasesReported}));
  const auto& run = content.story.run;
  PAWL_TRY(const auto phases, state.store->phases(run_id));
  for (const auto& phase : phases) ++content.counts[std::string(name(phase.state))];
  for (const auto& phase : content.story.phases)
    if (const auto planned = executor::phase_of(*state.store, run, phase.row.phase_id))
      content.goals[phase.row.phase_id] = planned->goal;
  if (auto verified = verify(state, run))
    content.verified = *std::move(verified);
  else
    content.verify_failed = verified.error().message;
  out.evidence = views::evidence_of(state, run_id);
  return out;
}

void add_files(const State& state, const Result<views::Evidence>& evidence, page::Content& content) {
  auto patch = accepted_work(state, evidence);
  if (patch) {
    content.patch = *std::move(patch);
  } else {
    content.patch_missing = patch.error().message;
    const bool is_whole = content.verified && content.verified->ok;
    if (patch.error().kind == ErrorKind::kForged && is_whole)
      note_forged(content, "objects", content.patch_missing);
  }
  add_logs(state, content);
  content.made_at = rfc3339(os::SystemClock().wall());
}

Status report_run(const ReportOptions& options, bool to_stdout) {
  PAWL_TRY(const State state, open_state(options.state));
  PAWL_TRY(const std::string run_id, state.store->resolve_run(options.run));
  views::make_readable(state, run_id);
  Rows rows;
  PAWL_OK(state.store->read_together([&]() -> Status {
    PAWL_TRY(rows, rows_of(state, run_id));
    return {};
  }));
  add_files(state, *rows.evidence, rows.content);  // takes long, so it is not part of the transaction
  const std::string html = page::render(rows.content);
  PAWL_OK(write_output("report", options.output, html));
  if (to_stdout) return {};
  if (options.state.json)
    return print_for_programs(canonical({{"path", options.output.path}, {"bytes", html.size()}}) + "\n");
  return print_out(line_of("{}: {} bytes; open it in a browser\n", options.output.path, html.size()));
}

}  // namespace

void add_report(const Command& program) {
  const Command command = program.add("report", "Write a run as one HTML page");
  auto options = std::make_shared<ReportOptions>();
  command.required("RUN", options->run, kRunHelp);
  command.required("-o,--output", options->output.path, "The file to write; - for stdout");
  add_force_option(command, options->output);
  add_state_options(command, options->state);
  command.footer(
      "The page shows attempts over time, steps, signals, decisions, accepted work, ends of logs, "
      "and whether the ledger\nverifies now. It loads nothing and runs no script. A long run has the "
      "newest 20 attempts of each of 100 phases, and\nthe page says what it leaves "
      "out.\n\nExample:\n  pawl report last -o run.html");
  command.on_run([=] {
    const auto to_stdout = goes_to_stdout(options->output);
    if (!to_stdout) return report_output(to_stdout.error());
    if (*to_stdout && options->state.json) {
      tell("pawl: -o - writes the page to stdout, where --json would write, too; name a file\n");
      return kUsage;
    }
    const auto status = report_run(*options, *to_stdout);
    return status ? kDone : report(status.error());
  });
}

}  // namespace pawl::cli
