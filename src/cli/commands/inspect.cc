#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "base/lines.h"
#include "cli/context.h"
#include "cli/render/terminal.h"
#include "cli/render/visible.h"
#include "cli/render/words.h"
#include "os/clock.h"
#include "views/story.h"

namespace pawl::cli {
namespace {

using views::AttemptStory, views::PhaseStory, views::StepNow, views::StepStory, views::Story;

// The limits of a page on a terminal. People do not read more reasons and logs there.
constexpr std::size_t kAttemptsShown = 10;  // the newest of each phase
constexpr std::size_t kPhasesShown = 50;

struct InspectOptions {
  StateOptions state;
  std::string run, phase;
  std::int64_t attempt = 0;
  bool all = false;
};

Colour colour_of(std::string_view word) {
  if (word == "passed" || word == "COMPLETE" || word == "exited 0") return Colour::kGreen;
  if (word == "EXECUTING" || word == "running" || word == "unfinished" || word == "missing" ||
      word == "flaky, passed")
    return Colour::kYellow;
  if (word == "QUEUED" || word == "SKIPPED" || word == "CANCELLED" || word == "skipped" ||
      word == "cancelled")
    return Colour::kDim;
  return Colour::kRed;
}

class StoryReporter {
 public:
  StoryReporter(const Look& look, WallTime now) : look_(look), now_(rfc3339(now)) {}

  Painted tell(const Story& story) {
    head(story);
    for (const auto& one : story.phases) phase(story.run.run_id, one);
    if (story.more_phases) {
      line({});
      note(fmt::format("These are the first {} phases. `pawl status {}` lists all, `pawl inspect {} PHASE` "
                       "shows one, --all all of them, and `pawl why {}` names the one that it waits for.",
                       story.phases.size(), story.run.run_id, story.run.run_id, story.run.run_id),
           "");
    }
    return std::move(out_);
  }

 private:
  void line(const Painted& text) { out_ += line_of("{}\n", text); }
  Painted paint(std::string text, Colour colour) const {
    return painted({.text = std::move(text), .colour = colour}, look_);
  }
  Painted paint_word(std::string_view word) const { return paint(std::string(word), colour_of(word)); }
  // Dim lines that explain what is shown.
  void note(std::string_view text, std::string_view indent) {
    out_ += paragraph(visible(text), indent, look_, Colour::kDim);
  }

  void head(const Story& story) {
    const auto& run = story.run;
    line(line_of("run {} is {}", paint(run.run_id, Colour::kBold), paint_word(name(run.state))));
    const bool over = !run.ended_at.empty();
    std::vector<Row> rows = {
        {{"workflow"}, {visible(run.workflow_id + "  (" + run.plan_file + ")")}},
        {{"started"},
         {fmt::format("{}, {} {}", time_text(run.created_at), over ? "took" : "for",
                      duration_text(elapsed_ms(run.created_at, over ? run.ended_at : now_)))}}};
    for (const auto& budget : story.budgets) {
      if (budget.cap)
        rows.push_back({{"budget"}, {budget_text(budget)}});
      else if (budget.unit == store::kSandboxMs)
        rows.push_back({{"cost"}, {duration_text(budget.spent) + " in sandboxes"}});
      else if (budget.spent > 0)
        rows.push_back({{"cost"}, {budget_text(budget)}});
    }
    if (story.unknown_executions > 0)
      rows.push_back({{"unknown"},
                      {fmt::format("the use of {} execution(s) of agents is unknown: they ended before "
                                   "they had told it",
                                   story.unknown_executions),
                       Colour::kYellow}});
    if (story.fork)
      rows.push_back({{"forked"},
                      {fmt::format("from {} at attempt {} of {}", story.fork->run_id, story.fork->attempt,
                                   story.fork->phase_id)}});
    for (const auto& decision : story.operators)
      rows.push_back({{"decided"}, {visible(decision_text(decision)), Colour::kYellow}});
    if (story.not_judged_with)
      rows.push_back({{"judged"}, {unseen_text(*story.not_judged_with), Colour::kYellow}});
    if (story.seen_in_part) rows.push_back({{"seen"}, {seen_text(*story.seen_in_part), Colour::kYellow}});
    for (auto& row : rows) row.front().colour = Colour::kDim;
    out_ += table(std::move(rows), 2, look_);
  }

  void phase(const std::string& run_id, const PhaseStory& phase) {
    const auto& row = phase.row;
    const std::string outcome(name(row.outcome));
    line({});
    line(line_of("{}  {}{}  attempts {} of {} ({} in all){}", paint(row.phase_id, Colour::kBold),
                 paint_word(name(row.state)),
                 outcome.empty() ? Painted() : line_of(" {}", paint_word(outcome)), row.attempts_used,
                 row.max_attempts, row.attempts_total,
                 row.revision > 0 ? fmt::format(", revision {}", row.revision) : ""));
    if (!row.last_failure_reason.empty()) out_ += paragraph(visible(row.last_failure_reason), "  ", look_);
    if (phase.earlier > 0)
      note(fmt::format("{} earlier attempts: `pawl inspect {} {} --attempt N` shows one, --all all of them",
                       phase.earlier, run_id, row.phase_id),
           "  ");
    decisions(phase.before, "  ");
    for (const auto& one : phase.attempts) attempt(one);
    if (phase.later > 0) note(fmt::format("{} later attempts", phase.later), "  ");
  }

  void attempt(const AttemptStory& attempt) {
    const auto& row = attempt.row;
    const std::string verdict(verdict_word(row.verdict));
    std::string facts = time_text(row.started_at);
    if (!row.ended_at.empty()) facts += ", " + duration_text(elapsed_ms(row.started_at, row.ended_at));
    if (!row.model.empty()) facts += ", model " + row.model;
    line(line_of("  {}: {}  {}", paint(fmt::format("attempt {}", row.number), Colour::kBold),
                 paint_word(verdict), paint(facts, Colour::kDim)));
    if (!attempt.steps.empty()) steps(attempt.steps);
    if (!attempt.episodes.empty()) episodes(attempt.episodes);
    if (!attempt.signals.empty()) signals(attempt.signals);
    for (const auto line : TextLines(row.summary)) out_ += paragraph(visible(line), "    | ", look_);
    decisions(attempt.decisions, "    ");
  }

  static Row heading(std::initializer_list<const char*> words) {
    Row out;
    for (const char* word : words) out.push_back({word, Colour::kDim});
    return out;
  }

  Row step(const StepStory& step) const {
    std::string label = short_label(step.row);
    if (step.row.execution > 1) label += fmt::format(" (execution {})", step.row.execution);
    const bool done = step.row.state == store::StepState::kDone;
    const std::string ended = done ? ending_text(step.run) : std::string(name(step.now));
    Row out = {{visible(label)}, {visible(ended), done ? colour_of(ended) : Colour::kYellow}};
    if (done) {
      out.push_back({duration_text(integer_in(step.run, "duration_ms"))});
      out.push_back({duration_text(integer_in(step.run, "cpu_ms"))});
      out.push_back({memory_text(integer_in(step.run, "max_rss_kib"))});
    } else if (step.now == StepNow::kRunning) {
      out.push_back({"for " + duration_text(elapsed_ms(step.row.started_at, now_))});
    }
    return out;
  }

  // Mechanisms that a step lacked. Most steps lack the same ones, so they are listed once.
  void degraded(const std::vector<StepStory>& steps) {
    std::set<std::string> names;
    for (const auto& one : steps)
      for (const auto& name : list_in(one.run, "degraded"))
        if (name.is_string()) names.insert(name.get<std::string>());
    if (names.empty()) return;
    const std::string text =
        fmt::format("degraded: {} (`pawl sandbox health` says what to do)", fmt::join(names, ", "));
    out_ += paragraph(visible(text), "      ", look_);
  }

  void steps(const std::vector<StepStory>& steps) {
    std::vector<Row> rows = {heading({"step", "ended", "took", "CPU", "memory"})};
    for (const auto& one : steps) rows.push_back(step(one));
    out_ += table(std::move(rows), 4, look_);
    degraded(steps);
    for (const auto& one : steps) {
      const std::string label = visible(short_label(one.row));
      std::vector<Row> told;
      for (const auto& refused : one.refused)
        told.push_back({{label}, {"network: " + visible(try_text(refused)), Colour::kRed}});
      for (const auto& unkept : unkept_texts(one.run))
        told.push_back({{label}, {"not kept: " + visible(unkept)}});
      if (!told.empty()) out_ += table(std::move(told), 6, look_);
    }
  }

  void episodes(const std::vector<store::EpisodeRow>& episodes) {
    std::vector<Row> rows = {heading({"episode", "outcome", "gates passed", "failing", "lines", "kept"})};
    for (const auto& one : episodes)
      rows.push_back({{fmt::format("#{}", one.episode)},
                      {one.outcome, colour_of(one.outcome == "not_run" ? "skipped" : one.outcome)},
                      {std::to_string(one.gates_passed)},
                      {std::to_string(one.failing_signals)},
                      {one.changed_lines ? std::to_string(*one.changed_lines) : ""},
                      {one.kept_by.empty() ? "" : "by " + one.kept_by}});
    out_ += table(std::move(rows), 4, look_);
  }

  void signals(const Json& signals) {
    std::vector<Row> rows = {heading({"signal", "result", "details"})};
    for (const auto& signal : signals) {
      const std::string result = signal_result(signal);
      rows.push_back({{visible(text_in(signal, "gate_id") + "." + text_in(signal, "kind"))},
                      {result, colour_of(result)},
                      {visible(details_text(signal)), Colour::kDim}});
    }
    out_ += table(std::move(rows), 4, look_);
    for (const auto& signal : signals)  // whole: the table cuts details
      if (const auto names = text_in(object_in(signal, "details"), "test_file_names");
          !names.empty() && text_in(signal, "gate_id") == "diff")
        out_ += paragraph(visible("changed test files: " + names), "      ", look_);
    constexpr std::size_t kToldMax = 20;  // as many as a signal has
    for (const auto& told : told_texts(signals, kToldMax))
      out_ += paragraph("told: " + visible(told), "      ", look_);
  }

  void decisions(const std::vector<Json>& decisions, std::string_view indent) {
    for (const auto& decision : decisions)
      out_ += paragraph(visible(decision_text(decision)), std::string(indent) + "> ", look_);
  }

  const Look look_;
  const std::string now_;
  Painted out_;
};

views::Page page_of(const InspectOptions& options) {
  views::Page page{.phase = options.phase, .attempt = options.attempt};
  // Programs get all that was asked for, without the limits of a page.
  if (options.all || options.state.json) return page;
  page.attempts_max = kAttemptsShown;
  page.phases_max = kPhasesShown;
  return page;
}

// kNotFound: there is no such phase; names the command that lists them.
Status check_phase(store::Reader& store, const std::string& run_id, const std::string& phase_id) {
  auto phase = store.phase(run_id, phase_id);
  if (phase) return {};
  if (phase.error().kind == ErrorKind::kNotFound)
    phase.error().message += "; see `pawl status " + run_id + "`";
  return std::unexpected(std::move(phase).error());
}

Status inspect(const InspectOptions& options) {
  PAWL_TRY(const State state, open_state(options.state));
  PAWL_TRY(const std::string run_id, state.store->resolve_run(options.run));
  if (!options.phase.empty()) PAWL_OK(check_phase(*state.store, run_id, options.phase));
  PAWL_TRY(const auto story, views::story_of(state, run_id, page_of(options)));
  if (options.state.json) return print_for_programs(canonical(to_json(story)) + "\n");
  return print_out(StoryReporter(look_of_stdout(), os::SystemClock().wall()).tell(story));
}

}  // namespace

void add_inspect(const Command& program) {
  const Command command =
      program.add("inspect", "Tell the story of a run: attempts, steps, signals, verdicts, decisions");
  auto options = std::make_shared<InspectOptions>();
  command.required("RUN", options->run, kRunHelp);
  command.option("PHASE", options->phase, "Only this phase");
  command.option("--attempt", options->attempt, "Only this attempt of PHASE", {.least = 1});
  command.flag("--all", options->all, "All attempts and phases, however many there are");
  command.not_together("--all", "--attempt");
  command.needs("--attempt", "PHASE");
  add_state_options(command, options->state);
  command.footer(
      fmt::format("Shows the newest {} attempts of each phase, and at most {} phases. On a terminal: its "
                  "width, in colour "
                  "(not with NO_COLOR).\n--json prints all, or the attempt of --attempt.\n\n"
                  "Example:\n  pawl inspect last\n  pawl inspect last fix --attempt 3\n"
                  "  pawl inspect last fix --json | jq '.phases[0].attempts[0].signals'",
                  kAttemptsShown, kPhasesShown));
  command.on_run([=] {
    const auto status = inspect(*options);
    return status ? kDone : report(status.error());
  });
}

}  // namespace pawl::cli
