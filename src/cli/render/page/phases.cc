// Each phase with its attempts: steps, signals, decisions and output.
#include <fmt/format.h>

#include <algorithm>

#include "cli/render/page/page.h"
#include "cli/render/words.h"

namespace pawl::cli::page {
namespace {

std::string cells(std::initializer_list<std::string> markups) {
  std::string out = "<tr>";
  for (const auto& markup : markups) out += "<td>" + markup + "</td>";
  return out + "</tr>\n";
}

std::string table_of(std::initializer_list<const char*> headings, const std::string& rows) {
  std::string out = "<div class=\"scroll\"><table>\n<thead><tr>";
  for (const char* heading : headings) out += fmt::format("<th>{}</th>", heading);
  return out + "</tr></thead>\n<tbody>\n" + rows + "</tbody>\n</table></div>\n";
}

std::string number_cell(const std::string& text) { return "<td class=\"n\">" + text + "</td>"; }

// Only the time of day, because the attempt has the date.
std::string time_of_day(const std::string& at) { return at.size() < 19 ? at : at.substr(11, 8) + "Z"; }

std::string step_row(const StepStory& step) {
  std::string out = "<tr><td><b>" + escaped(short_label(step.row)) + "</b>";
  if (step.row.execution > 1) out += fmt::format(" (execution {})", step.row.execution);
  const bool done = step.row.state == store::StepState::kDone;
  const std::string ended = done ? ending_text(step.run) : std::string(name(step.now));
  out += fmt::format("</td><td><span class=\"{}\">{}</span></td>",
                     !done                 ? "open"
                     : ended == "exited 0" ? "good"
                                           : "bad",
                     escaped(ended));
  const auto integer = [&](const char* key) { return integer_in(step.run, key); };
  out += number_cell(done ? duration_text(integer("duration_ms")) : "");
  out += number_cell(done ? duration_text(integer("cpu_ms")) : "");
  out += number_cell(done ? memory_text(integer("max_rss_kib")) : "");
  return out + number_cell(time_of_day(step.row.started_at)) + "</tr>\n";
}

// Network connections that a step was refused, and changes that were not stored.
std::string refusals(const AttemptStory& attempt) {
  std::string rows;
  for (const auto& step : attempt.steps) {
    const std::string label = escaped(short_label(step.row));
    for (const auto& refused : step.refused) rows += cells({label, "network", escaped(try_text(refused))});
    for (const auto& unkept : unkept_texts(step.run)) rows += cells({label, "not kept", escaped(unkept)});
  }
  return rows.empty() ? "" : "<h4>Refused</h4>\n" + table_of({"Step", "What", "Which"}, rows);
}

std::string episodes(const AttemptStory& attempt) {
  if (attempt.episodes.empty()) return "";
  std::string rows;
  for (const auto& one : attempt.episodes)
    rows += cells({fmt::format("<b>#{}</b>", one.episode), badge(one.outcome),
                   std::to_string(one.gates_passed), std::to_string(one.failing_signals),
                   one.changed_lines ? std::to_string(*one.changed_lines) : "",
                   one.kept_by.empty() ? "" : "by " + one.kept_by});
  return "<h4>Episodes</h4>\n" +
         table_of({"Episode", "Outcome", "Gates passed", "Failing signals", "Changed lines", "Kept"}, rows);
}

std::string signals(const AttemptStory& attempt) {
  if (attempt.signals.empty()) return "";
  std::string rows;
  for (const auto& signal : attempt.signals)
    rows += cells({"<b>" + escaped(text_in(signal, "gate_id") + "." + text_in(signal, "kind")) + "</b>",
                   badge(signal_result(signal)),
                   "<span class=\"details\">" + escaped(details_text(signal)) + "</span>"});
  return "<h4>Signals</h4>\n" + table_of({"Signal", "Result", "Details"}, rows);
}

std::string decisions(const std::vector<Json>& decisions) {
  if (decisions.empty()) return "";
  std::string out = "<h4>Decisions</h4>\n<ul class=\"decisions\">\n";
  for (const auto& decision : decisions) {
    out += fmt::format("<li><time>{}</time> {}", time_text(text_in(decision, "at")),
                       escaped(decision_text(decision)));
    if (const auto hint = text_in(decision, "hint"); !hint.empty())
      out += fmt::format("<br><span class=\"details\">hint: {}</span>", escaped(hint));
    out += "</li>\n";
  }
  return out + "</ul>\n";
}

std::string bytes_text(std::int64_t bytes) {
  if (bytes < 1024) return fmt::format("{} bytes", bytes);
  return fmt::format("{:.1f} KiB", static_cast<double>(bytes) / 1024);
}

// Changes CR LF to LF. Other bytes that a terminal would obey stay visible.
std::string without_carriage_returns(const std::string& text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] != '\r' || i + 1 == text.size() || text[i + 1] != '\n') out += text[i];
  return out;
}

std::string log_part(const StepStory& step, const Log& log, const std::string& command) {
  const std::string label = escaped(short_label(step.row));
  if (!log.missing.empty()) return fmt::format("<p class=\"none\">{}: {}</p>\n", label, escaped(log.missing));
  const bool done = step.row.state == store::StepState::kDone;
  const bool succeeded = done && ending_text(step.run) == "exited 0";
  std::string out = fmt::format("<details{}><summary><b>{}</b> printed {}</summary>\n",
                                succeeded ? "" : " open", label, done ? bytes_text(log.bytes) : "until now");
  if (log.is_cut)
    out += fmt::format("<p class=\"none\">This is its end; all of it: <code>{}</code></p>\n", command);
  // HTML drops a newline directly after <pre>. This one protects a newline with which the log begins.
  return out + fmt::format("<pre>\n{}</pre></details>\n", escaped(without_carriage_returns(log.tail)));
}

std::string logs(const Content& content, const PhaseStory& phase, const AttemptStory& attempt) {
  std::string out;
  for (const auto& step : attempt.steps) {
    const auto log = content.logs.find(step.row.sandbox_run_id);
    if (log == content.logs.end() || (log->second.tail.empty() && log->second.missing.empty())) continue;
    out += log_part(step, log->second,
                    fmt::format("pawl logs {} {} --attempt {}", content.story.run.run_id,
                                escaped(phase.row.phase_id), attempt.row.number));
  }
  return out.empty() ? "" : "<h4>Output</h4>\n" + out;
}

std::string attempt_part(const Content& content, const PhaseStory& phase, const AttemptStory& attempt) {
  const auto& row = attempt.row;
  std::string out = fmt::format("<article>\n<h3>Attempt {} {}</h3>\n<p class=\"meta\">{}", row.number,
                                badge(verdict_word(row.verdict)), time_text(row.started_at));
  if (!row.ended_at.empty()) out += ", took " + duration_text(elapsed_ms(row.started_at, row.ended_at));
  if (!row.model.empty()) out += ", model <b>" + escaped(row.model) + "</b>";
  if (row.revision > 0) out += fmt::format(", revision {}", row.revision);
  out += "</p>\n";
  std::string steps;
  for (const auto& step : attempt.steps) steps += step_row(step);
  if (!steps.empty()) out += table_of({"Step", "Ended", "Took", "CPU", "Memory", "Started"}, steps);
  out += episodes(attempt) + signals(attempt) + refusals(attempt);
  if (!row.summary.empty())
    out += fmt::format("<h4>{}</h4>\n<pre>\n{}</pre>\n",
                       row.verdict == store::AttemptVerdict::kPassed ? "Summary" : "Why it did not pass",
                       escaped(row.summary));
  out += decisions(attempt.decisions);
  return out + logs(content, phase, attempt) + "</article>\n";
}

std::string phase_part(const Content& content, const PhaseStory& phase) {
  const auto& row = phase.row;
  const std::string id = escaped(row.phase_id);
  std::string out =
      fmt::format("<section class=\"phase\" id=\"phase-{0}\">\n<h2>{0} {1}", id, badge(name(row.state)));
  if (row.state == store::PhaseState::kFailed) out += " " + badge(name(row.outcome));
  out += "</h2>\n";
  if (const auto goal = content.goals.find(row.phase_id); goal != content.goals.end())
    out += fmt::format("<p class=\"goal\">{}</p>\n", escaped(goal->second));
  out += fmt::format("<p class=\"meta\">{} of {} attempts used, {} in all{}</p>\n", row.attempts_used,
                     row.max_attempts, row.attempts_total,
                     row.revision > 0 ? fmt::format(", revision {}", row.revision) : "");
  if (!row.last_failure_reason.empty())
    out += fmt::format("<p class=\"{}\">{}</p>\n", row.state == store::PhaseState::kFailed ? "bad" : "meta",
                       escaped(row.last_failure_reason));
  if (phase.earlier > 0)
    out += fmt::format(
        "<p class=\"none\">{} earlier attempts are left out: <code>pawl inspect {} {} --all</code></p>\n",
        phase.earlier, row.run_id, id);
  out += decisions(phase.before);
  for (const auto& attempt : phase.attempts) out += attempt_part(content, phase, attempt);
  return out + "</section>\n";
}

}  // namespace

std::string phases(const Content& content) {
  std::string out = "<div id=\"phases\">\n";
  for (const auto& phase : content.story.phases) out += phase_part(content, phase);
  if (content.story.more_phases)
    out +=
        fmt::format("<p class=\"none\">Later phases are left out: <code>pawl inspect {} PHASE</code></p>\n",
                    content.story.run.run_id);
  return out + "</div>\n";
}

}  // namespace pawl::cli::page
