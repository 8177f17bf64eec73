// A run as one page of HTML that opens from disk. It loads no resource, needs and allows no script, and shows
// the words of agents and gates as text. Pure: report.cc gathers what is shown.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ledger/ledger.h"
#include "views/story.h"

namespace pawl::cli::page {

using views::AttemptStory, views::PhaseStory, views::StepStory, views::Story;

// The reason why a log is not shown whose hash does not match.
inline constexpr std::string_view kChangedLog = "its output on disk is not what was recorded";

struct Log {  // the end of a step's log
  std::string tail;
  std::int64_t bytes = 0;  // size of the whole log; only when the step has ended
  bool is_cut = false;     // the tail is not the whole log
  std::string missing;     // why the log can't be shown; "" when it can
};

struct Content {
  Story story;
  std::map<std::string, std::int64_t> counts;  // all phases of the run, by state
  std::map<std::string, std::string> goals;    // by phase_id
  std::map<std::string, Log> logs;             // by sandbox_run_id
  std::string patch;                           // accepted changes, for `git apply`
  std::string patch_missing;                   // why it can't be shown; "" when it can
  std::optional<ledger::Report> verified;
  std::string verify_failed;  // why it could not be checked
  std::string made_at;
};

// Limits for a patch. The page says when it leaves out more.
constexpr std::size_t kPatchLinesMax = 3000;
constexpr std::size_t kFileLinesMax = 400;  // so that one long file hides no short one
constexpr std::size_t kPatchLineBytesMax = 2000;

// Returns the whole page, as valid UTF-8.
std::string render(const Content& content);

// --- the parts
std::string escaped(std::string_view text);  // for element content: markup as text, controls visible
std::string style();                         // the page's only style sheet
std::string badge(std::string_view word);
std::string fact(std::string_view word, const std::string& markup);  // an entry of a <dl>
std::string timeline(const Content& content);
std::string phases(const Content& content);
std::string changes(const Content& content);
std::string evidence(const Content& content);

}  // namespace pawl::cli::page
