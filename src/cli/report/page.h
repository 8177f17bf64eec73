// A run as one page of HTML that opens from disk: nothing is loaded, no script is needed or allowed, and what
// agents and gates wrote is text. Pure: report.cc gathers what is shown.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cli/story.h"
#include "ledger/ledger.h"

namespace pawl::cli::page {

// Why a log is not shown that is not what its hash names.
inline constexpr std::string_view kChangedLog = "its output on disk is not what was recorded";

struct Log {  // of a step
  std::string tail;
  std::int64_t bytes = 0;  // of the whole log, of a step that ended
  bool is_cut = false;     // the tail is not all of it
  std::string missing;     // why there is none to show; "" when there is
};

struct Content {
  Story story;
  std::map<std::string, std::int64_t> counts;  // of all its phases, by state
  std::map<std::string, std::string> goals;    // by phase_id
  std::map<std::string, Log> logs;             // by sandbox_run_id
  std::string patch;                           // what was accepted, for `git apply`
  std::string patch_missing;                   // why it can't be shown; "" when it can
  std::optional<ledger::Report> verified;
  std::string verify_failed;  // why it could not be checked
  std::string made_at;
};

// Of a patch. What is more is left out, and said.
constexpr std::size_t kPatchLinesMax = 3000;
constexpr std::size_t kFileLinesMax = 400;  // one long file hides no short one
constexpr std::size_t kPatchLineBytesMax = 2000;

std::string render(const Content& content);

// --- the parts
std::string escaped(std::string_view text);  // for element content: markup as text, controls visible
std::string style();                         // the page's only style sheet
std::string badge(std::string_view word);
std::string fact(std::string_view word, const std::string& markup);  // of a <dl>
std::string timeline(const Content& content);
std::string phases(const Content& content);
std::string changes(const Content& content);
std::string evidence(const Content& content);

}  // namespace pawl::cli::page
