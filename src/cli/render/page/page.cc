#include "cli/render/page/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/base64.h"
#include "base/hash.h"
#include "cli/render/visible.h"
#include "cli/render/words.h"
#include "ledger/dsse.h"

namespace pawl::cli::page {
namespace {

struct Totals {
  std::int64_t attempts = 0, steps = 0, lost = 0, refused = 0;
};

Totals totals_of(const Story& story) {
  Totals out;
  for (const auto& phase : story.phases) {
    out.attempts += phase.row.attempts_total;
    for (const auto& attempt : phase.attempts)
      for (const auto& step : attempt.steps) {
        ++out.steps;
        if (step.row.state == store::StepState::kLost) ++out.lost;
        out.refused += static_cast<std::int64_t>(step.refused.size());
      }
  }
  return out;
}

std::string code(std::string_view text) { return fmt::format("<code>{}</code>", escaped(text)); }

std::string ledger_badge(const Content& content) {
  if (!content.verified) return badge("not checked");
  return badge(content.verified->ok ? "verified" : "NOT verified");
}

std::string facts(const Content& content) {
  const auto& story = content.story;
  const auto& run = story.run;
  const bool over = !run.ended_at.empty();
  const auto totals = totals_of(story);
  std::string out = "<dl class=\"facts\">\n";
  out += fact("Started", time_text(run.created_at));
  out += fact(over ? "Took" : "Going for",
              duration_text(elapsed_ms(run.created_at, over ? run.ended_at : content.made_at)));
  for (const auto& budget : story.budgets) {
    if (budget.unit == store::kSandboxMs) out += fact("In sandboxes", duration_text(budget.spent));
    if (budget.cap) out += fact("Budget", escaped(budget_text(budget)));
  }
  out += fact("Attempts", std::to_string(totals.attempts));
  out += fact("Steps", totals.lost == 0 ? std::to_string(totals.steps)
                                        : fmt::format("{}, {} lost", totals.steps, totals.lost));
  if (totals.refused > 0) out += fact("Network refused", fmt::format("{} tries", totals.refused));
  out += fact("Ledger", ledger_badge(content));
  out += fact("Sandbox", escaped(run.backend));
  out += "</dl>\n<dl class=\"facts wide\">\n";
  out += fact("Source", code(run.source_path));
  if (!run.base_commit.empty()) out += fact("Base commit", code(run.base_commit));
  if (story.fork)
    out += fact("Forked from",
                code(story.fork->run_id) +
                    fmt::format(" at attempt {} of {}", story.fork->attempt, escaped(story.fork->phase_id)));
  return out + "</dl>\n";
}

// The number of phases in each state, in one sentence.
std::string sentence(const Content& content) {
  std::string out;
  std::int64_t all = 0;
  for (const auto& [state, phases] : content.counts) {
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", phases, state);
    all += phases;
  }
  return fmt::format("{} phase{}: {}.", all, all == 1 ? "" : "s", out);
}

std::string header(const Content& content) {
  const auto& run = content.story.run;
  std::string out =
      fmt::format("<header>\n<p class=\"kicker\">Pawl run {}</p>\n<h1>{} {}</h1>\n<p class=\"lead\">{}</p>\n",
                  code(run.run_id), escaped(run.workflow_id), badge(name(run.state)), sentence(content));
  for (const auto& phase : content.story.phases)
    if (phase.row.state == store::PhaseState::kFailed)
      out += fmt::format("<p class=\"lead bad\"><a href=\"#phase-{0}\">{0}</a> failed: {1}</p>\n",
                         escaped(phase.row.phase_id), escaped(phase.row.last_failure_reason));
  out += facts(content);
  if (!content.story.operators.empty()) {
    out += "<ul class=\"decisions\">\n";
    for (const auto& decision : content.story.operators)
      out += fmt::format("<li><time>{}</time> {}</li>\n", time_text(text_in(decision, "at")),
                         escaped(decision_text(decision)));
    out += "</ul>\n";
  }
  return out +
         "<nav><a href=\"#timeline\">Timeline</a> <a href=\"#phases\">Phases</a> <a "
         "href=\"#changes\">Changes</a> "
         "<a href=\"#ledger\">Ledger</a></nav>\n</header>\n";
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  each_part(
      text,
      [&](std::string_view plain) {
        for (const char c : plain) {
          if (c == '&')
            out += "&amp;";
          else if (c == '<')
            out += "&lt;";
          else if (c == '>')
            out += "&gt;";
          else if (c == '"')
            out += "&quot;";
          else if (c == '\'')
            out += "&#39;";
          else
            out += c;
        }
      },
      [&](std::string_view escape) { out += fmt::format("<i class=\"x\">{}</i>", escape); });
  return out;
}

std::string fact(std::string_view word, const std::string& markup) {
  return fmt::format("<div><dt>{}</dt><dd>{}</dd></div>\n", word, markup);
}

std::string badge(std::string_view word) {
  constexpr std::array kGood = {"passed", "COMPLETE", "verified"};
  constexpr std::array kOpen = {"EXECUTING", "running",     "unfinished",
                                "missing",   "not checked", "flaky, passed"};
  constexpr std::array kQuiet = {"QUEUED", "SKIPPED", "CANCELLED", "skipped", "cancelled"};
  const auto is_in = [&](const auto& words) { return std::ranges::find(words, word) != words.end(); };
  const char* kind = is_in(kGood) ? "good" : is_in(kOpen) ? "open" : is_in(kQuiet) ? "quiet" : "bad";
  return fmt::format("<span class=\"badge {}\">{}</span>", kind, escaped(word));
}

std::string render(const Content& content) {
  const auto& run = content.story.run;
  const std::string css = style();
  // The policy has the hash of the style sheet, so that an injected style has no effect either.
  const std::string policy =
      fmt::format("default-src 'none'; style-src 'sha256-{}'; base-uri 'none'; form-action 'none'",
                  to_base64(from_hex(ledger::sha256_hex(css))));
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"{}\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"referrer\" content=\"no-referrer\">\n<meta name=\"color-scheme\" content=\"light "
      "dark\">\n"
      "<title>{} {}: run {}</title>\n<style>{}</style>\n</head>\n<body>\n",
      policy, escaped(visible(run.workflow_id)), name(run.state), run.run_id, css);
  out += header(content);
  out +=
      "<main>\n" + timeline(content) + phases(content) + changes(content) + evidence(content) + "</main>\n";
  out += fmt::format(
      "<footer>Made by pawl {} at {} from the state folder. The page is a copy for reading; <code>pawl "
      "verify "
      "{}</code> proves the record.</footer>\n</body>\n</html>\n",
      PAWL_VERSION, time_text(content.made_at), run.run_id);
  return out;
}

}  // namespace pawl::cli::page
