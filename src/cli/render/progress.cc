#include "cli/render/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/escapes.h"
#include "base/json.h"
#include "cli/context.h"
#include "cli/render/visible.h"
#include "cli/render/words.h"
#include "gates/gates.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/process.h"
#include "supervisor/supervisor.h"

namespace pawl::cli {
namespace {

constexpr auto kDrawEvery = std::chrono::milliseconds(200);
constexpr std::uint64_t kLiveTailBytesMax = 4096;

// The last line that holds a printable character, without colours and control characters. They are not
// spelled, because the line is drawn five times a second and no person could read it.
std::string last_line(const std::string& path) {
  auto tail = os::read_tail(path, kLiveTailBytesMax);
  if (!tail) return "";
  std::string_view text = *tail;
  while (!text.empty()) {
    const auto end = text.find_last_not_of("\r\n \t");
    if (end == std::string_view::npos) return "";
    text = text.substr(0, end + 1);
    const auto start = text.find_last_of("\r\n");
    std::string line;
    for (const char c : without_escapes(text.substr(start == std::string_view::npos ? 0 : start + 1)))
      if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7F) line += c;
    if (!line.empty()) return line;
    text = text.substr(0, start == std::string_view::npos ? 0 : start);
  }
  return "";
}

}  // namespace

Progress::Progress(std::FILE* out, std::string folder)
    : out_(out), folder_(std::move(folder)), terminal_(os::is_terminal(fileno(out))) {
  if (terminal_) drawer_ = std::thread([this] { draw_loop(); });
}

Progress::~Progress() {
  over_ = true;
  if (drawer_.joinable()) drawer_.join();
  const std::lock_guard guard(mutex_);
  erase_live();
  std::fflush(out_);
}

void Progress::line(const Painted& text) {
  const std::lock_guard guard(mutex_);
  erase_live();
  say_to(out_, "{}\n", text);
  draw_live();
  std::fflush(out_);
}

void Progress::line_once(const std::string& about, const Painted& text) {
  {
    const std::lock_guard guard(mutex_);
    if (std::exchange(said_[about], text) == text) return;
  }
  line(text);
}

Painted Progress::paint(std::string_view text, Colour colour) const {
  return painted({.text = std::string(text), .colour = colour}, {.colours = terminal_});
}

void Progress::begin(int worker, Running running) {
  const std::lock_guard guard(mutex_);
  running_[worker] = std::move(running);
}

void Progress::end(int worker) {
  const std::lock_guard guard(mutex_);
  running_.erase(worker);
}

void Progress::draw_loop() {
  while (!over_) {
    std::this_thread::sleep_for(kDrawEvery);
    const std::lock_guard guard(mutex_);
    draw_live();
    std::fflush(out_);
  }
}

void Progress::erase_live() {
  if (drawn_ == 0) return;
  Painted codes = line_of("\r\x1b[K");
  for (std::size_t i = 1; i < drawn_; ++i) codes += line_of("\x1b[1A\x1b[K");
  write_to(out_, codes);
  drawn_ = 0;
  screen_ = {};
}

void Progress::draw_live() {
  if (!terminal_) return;
  const std::size_t columns = os::terminal_columns(fileno(out_));
  Painted screen;
  for (const auto& [worker, running] : running_) {
    if (!screen.empty()) screen += line_of("\x1b[K\n");
    screen += live_text(running, columns);
  }
  if (screen == screen_) return;
  // One write: the old lines are overwritten and never cleared first, so that the screen does not flicker.
  Painted codes = line_of("\r");
  for (std::size_t i = 1; i < drawn_; ++i) codes += line_of("\x1b[1A");
  write_to(out_, line_of("{}{}\x1b[J", codes, screen));
  drawn_ = running_.size();
  screen_ = std::move(screen);
}

Painted Progress::live_text(const Running& running, std::size_t columns) const {
  const auto elapsed_ms = ms_between(running.since, os::SystemClock().mono());
  const std::string output =
      last_line(supervisor::step_path(folder_, running.sandbox_run_id, supervisor::StepFile::kOutput));
  std::string text = fmt::format("  {} {}s", running.label, elapsed_ms / 1000);
  if (!output.empty()) text += " | " + output;
  return line_of("{}", cut(visible(text), std::max<std::size_t>(columns, 3) - 1));
}

void ProgressReporter::claimed(const store::Claim& claim) {
  const auto tiers = tiers_.find(claim.run.run_id);
  const auto index = static_cast<std::size_t>(claim.phase.tier_index);
  if (tiers != tiers_.end() && tiers->second.size() > 1 && index < tiers->second.size())
    progress_.line_once(claim.run.run_id, line_of("tier {} of {}: {}", index + 1, tiers->second.size(),
                                                  tiers->second[index].name));
  progress_.line(line_of("{} attempt {} of {}{}", progress_.paint(claim.phase.phase_id, Colour::kBold),
                         claim.phase.attempts_used, claim.phase.max_attempts,
                         claim.continued ? " goes on" : ""));
}

void ProgressReporter::resumed(const store::Claim&, const store::ResumeDecision& decision) {
  // Another episode passed, so no reason was looked for.
  if (decision.decision == store::RecoveryDecision::kCancelled)
    return progress_.line(line_of("  {}: cancelled", decision.label));
  progress_.line(
      line_of("  {}: found {}, {}", decision.label, name(decision.found), name(decision.decision)));
}

void ProgressReporter::step_started(const store::Claim&, const store::StepStart& start) {
  if (start.previous_layer || !start.not_continued.empty())
    progress_.line(line_of("  {} {}", start.label, previous_work_text(start.not_continued)));
  progress_.begin(
      worker_,
      {.label = start.label, .sandbox_run_id = start.sandbox_run_id, .since = os::SystemClock().mono()});
}

void ProgressReporter::step_ended(const store::Claim&, const store::StepStart& start,
                                  const sandbox::SandboxRun& run) {
  progress_.end(worker_);
  std::string how(sandbox::name(run.outcome));
  if (run.outcome == sandbox::Outcome::kExited) how += fmt::format(" {}", run.exit_code);
  if (run.outcome == sandbox::Outcome::kSignaled) how += fmt::format(" {}", run.signal);
  if (!run.reason.empty()) how += " (" + run.reason + ")";
  how += " in " + duration_text(run.duration_ms);
  progress_.line(line_of("  {} {}", start.label, progress_.paint(how, Colour::kDim)));
  if (std::ranges::find(run.degraded, "overlay") != run.degraded.end())
    progress_.line_once(
        "overlay",
        line_of("  overlay is degraded: the whole workspace is copied for each step (`pawl sandbox "
                "health` says what to do)"));
}

void ProgressReporter::base_ran(const store::Claim&, const std::string& gate_id, const gates::OnBase& found) {
  if (!found.is_usable()) return;  // the attempt ends for this reason, and reports it
  std::string text = fmt::format("  gate {} is {} on base", gate_id, found.green ? "green" : "red");
  if (found.green) text += ": it does not tell whether the work is done";
  const auto tests = found.inventories.find("tests");
  if (tests != found.inventories.end() && !tests->second.failing.empty())
    text += ": there fail " + gates::shown(tests->second.failing);
  if (tests != found.inventories.end())
    if (const auto moving = gates::names_that_move(tests->second); !moving.empty())
      text += "; names of tests differ from run to run: " + gates::shown(moving);
  for (const auto& [kind, inventory] : found.inventories)
    if (const auto state = gates::text_of(inventory); !state.empty())
      text += fmt::format("; {}: {}", kind, state);
  progress_.line(line_of("{}", text));
}

void ProgressReporter::budget_nears_its_end(const store::Claim&, const store::BudgetRow& budget) {
  progress_.line(line_of("  {}", progress_.paint("budget: " + budget_text(budget), Colour::kRed)));
}

void ProgressReporter::stays_unsettled(const Error& error) {
  progress_.line(line_of(
      "  {}", progress_.paint("not counted yet, what an agent that was ended had used: " + error.message,
                              Colour::kRed)));
}

namespace {

// A detail of the attempt's signals of this kind, the first that is not ""; "" when there is none.
std::string detail_of(const store::AttemptEnd& end, std::string_view kind, const char* key) {
  const auto signals = parse_json(end.signals);
  if (!signals) return "";
  for (const auto& signal : *signals)
    if (text_in(signal, "kind") == kind)
      if (auto detail = text_in(object_in(signal, "details"), key); !detail.empty()) return detail;
  return "";
}

}  // namespace

void ProgressReporter::judged_again(const store::Claim& claim, const std::vector<std::string>& beside) {
  constexpr std::size_t kNamed = 5;
  std::string names;
  for (std::size_t i = 0; i < beside.size() && i < kNamed; ++i) names += (i == 0 ? "" : ", ") + beside[i];
  if (beside.size() > kNamed) names += fmt::format(" and {} more", beside.size() - kNamed);
  progress_.line(line_of("  {} passed by itself; its gates run again together with the work of {}",
                         claim.attempt.attempt_id, names));
}

void ProgressReporter::waits(const store::Claim& claim, const store::Wait& wait) {
  progress_.end(worker_);
  progress_.line(line_of("  {}", progress_.paint(wait_text(claim.phase.phase_id, wait), Colour::kYellow)));
}

void ProgressReporter::attempt_ended(const store::Claim& claim, const store::AttemptEnd& end,
                                     const store::Finished& finished) {
  progress_.end(worker_);
  const bool passed = end.verdict == store::AttemptVerdict::kPassed;
  std::string text;
  if (!end.reason.empty()) text += ": " + end.reason;
  if (const auto unchanged = detail_of(end, "empty", "problem"); passed && !unchanged.empty())
    text += ": " + unchanged;
  if (const auto lost = detail_of(end, "ignored", "lost_names"); !lost.empty())
    text += "; gone from the source, and not in the work: " + lost;
  if (const auto tests = detail_of(end, "policy", "test_file_names"); !tests.empty())
    text += "; changed test files: " + tests;
  if (end.action != store::Action::kNone) text += "; " + end.action_reason;
  if (end.feedback.contains("hint")) text += "; the doctor gives a hint";
  if (!end.not_before.empty()) text += "; the next attempt not before " + end.not_before;
  if (is_terminal(finished.state))
    text += fmt::format("; {} is {}", claim.phase.phase_id, name(finished.state));
  if (const auto changed = detail_of(end, "mounts", "problem"); !changed.empty())
    progress_.line(line_of("  {}", progress_.paint("mounts: " + changed, Colour::kRed)));
  constexpr std::size_t kToldMax = 5;
  if (const auto signals = parse_json(end.signals); passed && signals)
    for (const auto& told : told_texts(*signals, kToldMax))
      progress_.line(line_of("  {}", progress_.paint("told: " + told, Colour::kYellow)));
  progress_.line(
      line_of("  {}{}",
              progress_.paint(std::string(name(end.verdict)), passed ? Colour::kGreen : Colour::kRed), text));
}

}  // namespace pawl::cli
