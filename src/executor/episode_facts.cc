// Turns the results of an Episode's steps into facts for the gates.
#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "agent/refusal.h"
#include "base/escapes.h"
#include "executor/episode.h"
#include "executor/start_run.h"
#include "gates/hang.h"
#include "gates/reading/command_line.h"
#include "gates/reading/stop_settings.h"
#include "os/defences.h"
#include "os/file.h"
#include "plan/script.h"

namespace pawl::executor {
namespace {

// Programs that have begun to work print more, and help less.
constexpr std::int64_t kRefusedBytesMax = 64 << 10;
// The summary shows the end of a passed step's output. For a failed step it shows errors, which may come
// early.
constexpr std::uint64_t kOutputTailBytesMax = 16 << 10, kFailedOutputBytesMax = 4 << 20;
constexpr std::size_t kReportTextMax = 4 << 20;  // read from an unreadable report to find errors
constexpr std::size_t kReportFilesMax = 1000;    // Surefire writes one file per class
constexpr std::uint64_t kSettingsBytesMax = 1 << 20;
constexpr std::uint64_t kTraceBytesMax = 64 << 20;  // more than a trace or a network log has

std::string read_redacted(const World& world, ByteSource& source) {
  secrets::RedactedSource text(world.redactor, source);
  return read_all(text).value_or("");
}

}  // namespace

// A file that the source ignores is not work, and fails no step.
void Episode::add_withheld(const sandbox::SandboxRun& run, gates::StepFacts& facts) const {
  facts.withheld = run.withheld;
  facts.withheld_fail = !run.withheld.empty();
  if (!facts.withheld_fail || plan_->ignored == plan::Ignored::kKeep) return;
  const auto work = world_.objects.refused_work(run.withheld, static_cast<std::int64_t>(run.withheld.size()),
                                                source_of(claim_->run), base_stack_);
  if (work) facts.withheld_fail = !work->paths.empty() || work->may_be_more;
}

// Ignored entries are not work, and fail no step. The entries that fail the step are moved to the front.
void Episode::add_refused(const PlannedStep& step, const sandbox::SandboxRun& run,
                          gates::StepFacts& facts) const {
  add_withheld(run, facts);
  facts.refused_entries = run.refused;
  facts.refused_entries_total = run.refused_total;
  facts.refused_entries_fail = minds_refused_entries(step) && !run.refused.empty();
  if (!facts.refused_entries_fail || plan_->ignored == plan::Ignored::kKeep) return;
  const auto work =
      world_.objects.refused_work(run.refused, run.refused_total, source_of(claim_->run), base_stack_);
  if (!work) return;
  facts.refused_entries_fail = !work->paths.empty() || work->may_be_more;
  std::ranges::stable_partition(facts.refused_entries, [&](const auto& path) {
    return std::ranges::find(work->paths, path) != work->paths.end();
  });
}

// Steps of the attempt before are read from their rows, like all else that decides.
Status Episode::add_mounts(gates::AttemptFacts& to) const {
  if (plan_->mounts.empty()) return {};
  std::vector<sandbox::Mounts> seen;
  for (const auto& [index, run] : results_) seen.push_back(run.mounts);
  std::optional<SeenMounts> before;
  if (claim_->attempt.number > 1) {
    PAWL_TRY(const auto steps, world_.store.steps(claim_->run.run_id, phase_->id));
    const store::StepRow* last = nullptr;
    for (const auto& step : steps) {
      if (step.attempt_id == claim_->attempt.attempt_id || step.state != store::StepState::kDone) continue;
      if (last == nullptr || step.ended_at >= last->ended_at) last = &step;
    }
    if (last != nullptr) {
      PAWL_TRY(const Json json, parse_json(last->run));
      PAWL_TRY(auto run, sandbox::run_from_json(json));
      before = SeenMounts{.attempt_id = last->attempt_id, .mounts = std::move(run.mounts)};
    }
  }
  if (auto signal = mounts_signal(seen, before)) to.signals.push_back(*std::move(signal));
  return {};
}

// A step runs code that the agent wrote. When that code changes a protected test, another test ran. Tests that
// write to such files do so on base, too.
void Episode::add_changed(const PlannedStep& step, const sandbox::SandboxRun& run,
                          gates::StepFacts& to) const {
  if (!os::defences().lid) return;
  const auto base = on_base_.find(step.gate_id);
  for (const auto& path : run.changed)
    if (base == on_base_.end() || !base->second.changed.contains(path))
      to.changed.push_back(world_.redactor.redact(path));
}

gates::StepFacts Episode::facts_of(const PlannedStep& step, const sandbox::SandboxRun& run) const {
  gates::StepFacts facts;
  facts.step_name = step.step->name;
  facts.is_agent = step.role == StepRole::kAgent;
  facts.outcome = run.outcome;
  facts.exit_code = run.exit_code;
  facts.signal = run.signal;
  facts.reason = run.reason;
  facts.egress_refused = run.egress_refused;
  facts.no_network = step.step->network == plan::Network::kNone;
  add_refused(step, run, facts);
  facts.may_fail = step.step->may_fail;
  facts.declared = evidence_of(*step.step);
  for (const auto& declared : step.step->reports)
    for (const auto& pattern : declared.patterns)
      facts.patterns.push_back({.format = declared.format, .pattern = world_.redactor.redact(pattern)});
  facts.copy_out = run.copy_out;
  facts.time_budget_seconds = step.step->limits.time_budget_seconds;
  try {
    add_records(step, run, facts);
  } catch (const std::bad_alloc&) {
    if (!os::defences().memory) throw;
    // The reports that were read are freed first, so that the attempt can be judged without them.
    facts.reports.clear();
    for (const auto& declared : step.step->reports)
      facts.reports.push_back({.path = declared.patterns.front(),
                               .format = declared.format,
                               .family = std::string(gates::family_of(declared.format)),
                               .report = fail(ErrorKind::kExhausted, kNoMemory)});
    if (step.step->trace) facts.trace_problem = kNoMemory;
  }
  return facts;
}

void Episode::add_records(const PlannedStep& step, const sandbox::SandboxRun& run,
                          gates::StepFacts& to) const {
  if (!run.logs.empty()) {
    // A log that gc removed leaves the verdict as it is: it is evidence for people, not for the gates.
    const bool fails = !gates::step_held(to);
    auto log = world_.objects.blob_tail(run.logs, fails ? kFailedOutputBytesMax : kOutputTailBytesMax);
    if (log) gates::take_output(*log, to);
    if (log && fails && to.is_agent && run.logs_bytes <= kRefusedBytesMax)
      to.refused_line = printable(gates::refused_command_line(*log));
    if (to.is_agent) to.said_error = said_error_of(run);
  }
  if (run.egress_refused > 0) add_refused_hosts(run, to);
  to.reports = reports_of(step, run);
  add_stop_option(step, to);
  if (run.outcome == sandbox::Outcome::kTimedOut) to.last_test = last_test_of(step, run, to.output_tail);
  if (step.role == StepRole::kBaseline || step.role == StepRole::kGate) add_program(step, to);
  if (step.step->trace) add_trace(run, to);
}

std::string Episode::said_error_of(const sandbox::SandboxRun& run) const {
  const auto* signs = agent::refusal_signs(phase_->agent_usage);
  if (signs == nullptr) return "";
  const auto tail = world_.objects.blob_tail(run.logs, agent::kEventTailBytes);
  return tail ? without_escapes(valid_utf8(agent::said_error(*signs, *tail))) : "";
}

// Only a runner with a failure, or without a report, may have ended early.
void Episode::add_stop_option(const PlannedStep& step, gates::StepFacts& to) const {
  const auto failed = [](const gates::ReportFacts& file) {
    return !file.report || !file.report->cut_short.empty() ||
           std::ranges::any_of(file.report->no_tests, &gates::NoTest::failed) ||
           std::ranges::any_of(file.report->tests,
                               [](const auto& test) { return test.status == gates::TestStatus::kFailed; });
  };
  if (!to.declared.contains(gates::kTestsFamily)) return;
  if (!to.reports.empty() && std::ranges::none_of(to.reports, failed)) return;
  auto layers = base_stack_;
  if (step.role == StepRole::kGate && !gate_layer_.empty()) layers.insert(layers.begin(), gate_layer_);
  gates::StopSources sources;
  sources.text_of = [&](const std::string& path) {
    if (!os::is_safe_relative_path(path)) return std::string();
    return world_.objects.text_at(claim_->run.base_id, layers, path, kSettingsBytesMax).value_or("");
  };
  if (plan::failures_may_hide_tests(plan_->gates.at(step.gate_id), *step.step)) {
    sources.hides_tests = plan::hides_tests;
    sources.runs_tests = plan::runs_tests;
  }
  to.stop_option = gates::stop_option_behind(step.step->argv, sources);
}

// When gc removed the log, only the number of refusals remains.
void Episode::add_refused_hosts(const sandbox::SandboxRun& run, gates::StepFacts& to) const {
  auto log = world_.objects.blob_tail(run.network_log, kTraceBytesMax);
  if (!log) return;
  MemorySource source(*std::move(log));
  if (!gates::add_refused_hosts(source, to.refused_hosts)) to.refused_hosts.clear();
}

// The last test is taken from the output. If the output names none, it is taken from the raw report files,
// which no report reader may accept as they are.
std::string Episode::last_test_of(const PlannedStep& step, const sandbox::SandboxRun& run,
                                  const std::string& output) const {
  std::string found = gates::last_test_in(output);
  for (const auto& declared : step.step->reports) {
    if (!found.empty() || run.copy_out.empty()) break;
    const auto files =
        world_.objects.files_of(run.copy_out, declared.patterns, gates::kReportBytesMax, kReportFilesMax);
    if (!files) continue;
    for (const auto& file : *files)
      if (found.empty()) found = gates::last_test_in(valid_utf8(read_redacted(world_, *file.bytes)));
  }
  return found;
}

// An empty trace id means that the trace could not be made. gc may also have removed a stored trace.
void Episode::add_trace(const sandbox::SandboxRun& run, gates::StepFacts& to) const {
  to.trace_log = run.trace;
  to.network_log = run.network_log;
  gates::TraceFacts facts;
  const auto read = [&](const std::string& id, const auto& add) -> Status {
    PAWL_TRY(auto bytes, world_.objects.blob_tail(id, kTraceBytesMax));
    MemorySource source(std::move(bytes));
    return add(source, facts);
  };
  Status status =
      run.trace.empty() ? fail(ErrorKind::kNotFound, "none was made") : read(run.trace, gates::add_trace);
  if (status && !run.network_log.empty()) status = read(run.network_log, gates::add_network_log);
  if (status)
    to.trace = std::move(facts);
  else
    to.trace_problem = status.error().message;
}

std::vector<gates::ReportFacts> Episode::reports_of(const PlannedStep& step,
                                                    const sandbox::SandboxRun& run) const {
  std::vector<gates::ReportFacts> out;
  if (run.copy_out.empty()) return out;
  gates::ReportSizes all;  // all reports are in memory at once, and are judged together
  for (const auto& declared : step.step->reports) {
    const auto add = [&](const std::string& path, Result<gates::Report> report) {
      out.push_back({.path = world_.redactor.redact(path),
                     .format = declared.format,
                     .family = std::string(gates::family_of(declared.format)),
                     .report = std::move(report)});
    };
    auto files =
        world_.objects.files_of(run.copy_out, declared.patterns, gates::kReportBytesMax, kReportFilesMax + 1);
    if (!files) {
      add(declared.patterns.front(), std::unexpected(std::move(files).error()));
      continue;
    }
    if (files->size() > kReportFilesMax)
      add(declared.patterns.front(),
          fail(ErrorKind::kExhausted, fmt::format("more than {} files", kReportFilesMax)));
    for (auto& file : *files) {
      add(file.path, gates::read_report(declared.format, *file.bytes, world_.redactor));
      if (!out.back().report || !out.back().report->cut_short.empty())
        out.back().failure_lines = failure_lines_of(run.copy_out, file.path);
      if (!out.back().report) continue;
      auto fits = gates::add_sizes(*out.back().report, all);
      if (fits) continue;
      out.back().report = std::unexpected(std::move(fits).error());
      return out;
    }
  }
  return out;
}

// A compiler's error that stands where a report should be.
std::string Episode::failure_lines_of(const std::string& layer, const std::string& path) const {
  const auto files = world_.objects.files_of(layer, {path}, gates::kReportBytesMax, 1);
  if (!files || files->empty()) return "";
  std::string text;
  secrets::RedactedSource bytes(world_.redactor, *files->front().bytes);
  while (text.size() < kReportTextMax) {
    const auto piece = bytes.next();
    if (!piece || piece->empty()) break;
    text += *piece;
  }
  return gates::telling_text(text);
}

}  // namespace pawl::executor
