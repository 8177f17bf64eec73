// Attempts over time, one lane for each phase, as inline SVG. Positions are percentages, so that it fits any
// width.
#include <fmt/format.h>

#include <algorithm>

#include "cli/render/page/page.h"
#include "cli/render/words.h"

namespace pawl::cli::page {
namespace {

constexpr double kWidthMin = 0.5;    // percent: a shorter bar could not be seen
constexpr double kNumberFits = 3.0;  // percent: from this width on a bar shows its number
constexpr int kTicks = 4;

// Maps times of the store to 0 to 100.
class Scale {
 public:
  Scale(const std::string& from, const std::string& to)
      : from_(from), whole_ms_(std::max<std::int64_t>(1, elapsed_ms(from, to))) {}
  double percent(const std::string& at) const {
    return std::min(100.0,
                    100.0 * static_cast<double>(elapsed_ms(from_, at)) / static_cast<double>(whole_ms_));
  }
  std::int64_t whole_ms() const { return whole_ms_; }

 private:
  const std::string from_;
  const std::int64_t whole_ms_;
};

std::string_view kind_of(store::AttemptVerdict verdict) {
  using enum store::AttemptVerdict;
  if (verdict == kUnfinished) return "open";
  if (verdict == kPassed) return "good";
  return verdict == kCancelled ? "quiet" : "bad";
}

struct Span {  // in percent of the run's time
  double from, to;
};

struct Band {  // in pixels of a lane
  int y, height;
};
constexpr Band kAttempts{2, 18}, kSteps{23, 4};

std::string rectangle(std::string_view kind, Span span, Band band, std::string_view title) {
  const double width = std::max(kWidthMin, span.to - span.from);
  return fmt::format(
      "<rect class=\"{}\" x=\"{:.2f}%\" y=\"{}\" width=\"{:.2f}%\" height=\"{}\" "
      "rx=\"2\"><title>{}</title></rect>",
      kind, std::min(span.from, 100 - width), band.y, width, band.height, title);
}

std::string lane(const PhaseStory& phase, const Scale& scale, const std::string& now) {
  std::string out = "<svg role=\"img\" aria-label=\"attempts over time\" width=\"100%\" height=\"30\">";
  for (const auto& attempt : phase.attempts) {
    const auto& row = attempt.row;
    const double from = scale.percent(row.started_at);
    const double to = scale.percent(row.ended_at.empty() ? now : row.ended_at);
    out += rectangle(kind_of(row.verdict), {from, to}, kAttempts,
                     fmt::format("attempt {}: {}", row.number, verdict_word(row.verdict)));
    if (to - from >= kNumberFits)
      out += fmt::format("<text x=\"{:.2f}%\" y=\"15\">{}</text>", (from + to) / 2, row.number);
    for (const auto& step : attempt.steps) {
      const std::string ended = step.row.ended_at.empty() ? now : step.row.ended_at;
      out += rectangle(step.row.gate_id == "agent" ? "agent" : "gate",
                       {scale.percent(step.row.started_at), scale.percent(ended)}, kSteps,
                       escaped(short_label(step.row)));
    }
  }
  return out + "</svg>";
}

}  // namespace

std::string timeline(const Content& content) {
  const auto& story = content.story;
  std::string out = "<section id=\"timeline\">\n<h2>Timeline</h2>\n";
  if (std::ranges::all_of(story.phases, [](const auto& phase) { return phase.attempts.empty(); }))
    return out + "<p class=\"none\">No attempt was made yet.</p>\n</section>\n";
  const Scale scale(story.run.created_at, story.run.ended_at.empty() ? content.made_at : story.run.ended_at);
  out += "<div class=\"lanes\">\n";
  for (const auto& phase : story.phases) {
    if (phase.attempts.empty()) continue;
    out += fmt::format("<a href=\"#phase-{0}\">{0}</a>{1}\n", escaped(phase.row.phase_id),
                       lane(phase, scale, content.made_at));
  }
  out += "<span></span><div class=\"ticks\">";
  for (int i = 0; i <= kTicks; ++i)
    out += fmt::format("<span>{}</span>", i == 0 ? "0" : duration_text(scale.whole_ms() * i / kTicks));
  return out +
         "</div>\n</div>\n<p class=\"legend\"><span class=\"key good\"></span>passed <span class=\"key "
         "bad\"></span>"
         "failed <span class=\"key open\"></span>unfinished <span class=\"key agent\"></span>agent "
         "<span class=\"key gate\"></span>gates</p>\n</section>\n";
}

}  // namespace pawl::cli::page
