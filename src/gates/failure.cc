#include "gates/failure.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <utility>
#include <vector>

#include "base/escapes.h"
#include "base/hash.h"
#include "base/json.h"
#include "base/lines.h"
#include "base/mutant.h"
#include "gates/reading/text.h"
#include "gates/reading/words.h"

namespace pawl::gates {
namespace {

// A mutant (base/mutant.h).
bool digests_no_model() { return mutant("models_fail_as_one"); }

constexpr std::size_t kLinesCompared = 10;  // runners end their output with the failures
constexpr std::size_t kHexWordMin = 8;      // shortest word: an address, a commit, a part of a UUID
constexpr std::string_view kWorkspace = "/workspace/";

bool is_hex(char c) { return hex_digit(c) >= 0; }
// Whether a character ends a path within a message.
bool ends_path(char c) { return std::string_view(" \t\n'\"`:;,()<>[]{}|").find(c) != std::string_view::npos; }

std::size_t span(std::string_view text, std::size_t from, bool (*belongs)(char)) {
  std::size_t end = from;
  while (end < text.size() && belongs(text[end])) ++end;
  return end - from;
}

// The length of an absolute path outside the workspace, where runners put temporary files; 0 when there is
// none.
std::size_t foreign_path_at(std::string_view text, std::size_t at) {
  const bool begins = text[at] == '/' && (at == 0 || ends_path(text[at - 1]) || text[at - 1] == '=');
  if (!begins || text.substr(at).starts_with(kWorkspace)) return 0;
  const std::size_t end = at + span(text, at, [](char c) { return !ends_path(c); });
  return text.substr(at + 1, end - at - 1).find('/') == std::string_view::npos ? 0 : end - at;
}

// The length of a name as mktemp and similar programs make it in any folder: tmp.Xa83kQ, tmp_8fk2a0.
std::size_t temporary_name_at(std::string_view text, std::size_t at) {
  constexpr std::size_t kRandomMin = 6;
  if ((at > 0 && is_word(text[at - 1])) || !text.substr(at).starts_with("tmp")) return 0;
  std::size_t from = at + 3;
  if (from < text.size() && (text[from] == '.' || text[from] == '_' || text[from] == '-')) ++from;
  const std::size_t random = span(text, from, is_word);
  return random < kRandomMin ? 0 : from + random - at;
}

bool is_uuid(std::string_view text) {
  constexpr std::size_t kLength = 36;
  if (text.size() < kLength) return false;
  for (std::size_t i = 0; i < kLength; ++i) {
    const bool dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (dash ? text[i] != '-' : !is_hex(text[i])) return false;
  }
  return text.size() == kLength || !is_word(text[kLength]);
}

std::size_t hex_at(std::string_view text, std::size_t at) {
  if (at > 0 && is_word(text[at - 1])) return 0;
  if (is_uuid(text.substr(at))) return 36;
  const bool marked = text.substr(at).starts_with("0x") || text.substr(at).starts_with("0X");
  const std::size_t prefix = marked ? 2 : 0;
  const std::size_t digits = span(text, at + prefix, is_hex);
  const std::size_t end = at + prefix + digits;
  if (end < text.size() && is_word(text[end])) return 0;
  const auto word = text.substr(at, prefix + digits);
  const bool long_enough = digits >= kHexWordMin && std::ranges::any_of(word, is_digit);
  return digits > 0 && (marked || long_enough) ? word.size() : 0;
}

// The number of digits in a word that begins with letters: "case1" and "case2" stay different. Letters after
// a number do not begin a word: "1m3s", "26T18:40".
std::size_t digits_of_word_at(std::string_view text, std::size_t at) {
  if (!is_digit(text[at])) return 0;
  std::size_t letters = at;
  while (letters > 0 && is_word(text[letters - 1]) && !is_digit(text[letters - 1])) --letters;
  if (letters == at || (letters > 0 && is_digit(text[letters - 1]))) return 0;
  return span(text, at, is_digit);
}

// The length of a number such as 7, 1.25, 18:40:46 or 1,024, with the unit of time after it.
std::size_t number_at(std::string_view text, std::size_t at) {
  if (!is_digit(text[at])) return 0;
  std::size_t end = at;
  for (;;) {
    end += span(text, end, is_digit);
    const bool goes_on = end + 1 < text.size() && (text[end] == '.' || text[end] == ':' || text[end] == ',');
    if (!goes_on || !is_digit(text[end + 1])) break;
    ++end;
  }
  constexpr std::array<std::string_view, 12> kUnits = {
      "milliseconds", "seconds", "second", "secs", "sec", "msec", "min", "ms", "us", "ns", "µs", "s"};
  const std::size_t spaces = end < text.size() && text[end] == ' ' ? 1 : 0;
  for (const auto unit : kUnits) {
    const std::size_t after = end + spaces + unit.size();
    if (text.substr(std::min(end + spaces, text.size())).starts_with(unit) &&
        (after >= text.size() || !is_word(text[after])))
      return after - at;
  }
  return end - at;
}

std::string normalised_line(std::string_view line) {
  std::string out;
  for (std::size_t at = 0; at < line.size();) {
    if (const auto escape = escape_bytes(line.substr(at)); escape > 0) {
      at += escape;
    } else if (const auto path = foreign_path_at(line, at); path > 0) {
      out += "<path>";
      at += path;
    } else if (const auto name = temporary_name_at(line, at); name > 0) {
      out += "<tmp>";
      at += name;
    } else if (const auto hex = hex_at(line, at); hex > 0) {
      out += '#';
      at += hex;
    } else if (const auto digits = digits_of_word_at(line, at); digits > 0) {
      out += line.substr(at, digits);
      at += digits;
    } else if (const auto number = number_at(line, at); number > 0) {
      out += '#';
      at += number;
    } else if (line[at] == ' ' || line[at] == '\t' || line[at] == '\r') {
      if (!out.empty() && out.back() != ' ') out += ' ';
      ++at;
    } else {
      out += line[at++];
    }
  }
  while (!out.empty() && out.back() == ' ') out.pop_back();
  return out;
}

std::set<std::string> failing_tests_of(const StepFacts& step) {
  std::set<std::string> out;
  for (const auto& file : step.reports) {
    if (!file.report) continue;
    for (const auto& test : file.report->tests)
      if (test.status == TestStatus::kFailed) out.insert(test.name);
  }
  return out;
}

// Files, packages and hooks that failed, with their messages: another message means that the attempt got
// further.
std::set<std::pair<std::string, std::string>> failing_others_of(const StepFacts& step) {
  std::set<std::pair<std::string, std::string>> out;
  for (const auto& file : step.reports) {
    if (!file.report) continue;
    for (const auto& other : file.report->no_tests)
      if (other.failed) out.emplace(other.name, normalised_end(other.message));
  }
  return out;
}

bool names_failures(const StepFacts& step) {
  return !failing_tests_of(step).empty() || !failing_others_of(step).empty();
}

// Failing lines that are not in the end: a runner may print many passing lines after them. Sorted, since tests
// that run at once end in any order.
std::set<std::string> failing_lines_before(const std::string& end, const StepFacts& step) {
  const auto& text = step.output_failures.empty() ? step.output_tail : step.output_failures;
  const std::string told = telling_lines(text, kSummaryBytesMax);
  std::set<std::string> out;
  for (const auto line : TextLines(told)) {
    auto normalised = normalised_line(line);
    if (normalised.empty() || normalised == "..." || ("\n" + end).find("\n" + normalised + "\n") != end.npos)
      continue;
    out.insert(std::move(normalised));
  }
  return out;
}

// An agent prints another text each time, so only the end of its step counts. Digests from older versions
// have no `others` and no `failing`: without such entries the bytes are the same as theirs.
Json step_failure(const StepFacts& step) {
  Json out = {{"step", step.step_name}, {"outcome", name(step.outcome)}};
  for (const auto& [name, message] : failing_others_of(step))
    out["others"].push_back(Json{{"name", name}, {"message", message}});
  const auto tests = failing_tests_of(step);
  if (!tests.empty()) {
    out["tests"] = tests;
    return out;
  }
  out["exit_code"] = step.exit_code;
  if (step.is_agent) return out;
  const std::string end = normalised_end(step.output_tail);
  const auto failing = failing_lines_before(end, step);
  if (!failing.empty()) out["failing"] = failing;
  out["end"] = end;
  return out;
}

// The details of a signal that its steps do not have, without counts of what did not fail.
Json signal_failure(const Signal& signal) {
  static const std::set<std::string, std::less<>> kOfTests = {
      "gone",          "gone_names",          "newly_skipped", "newly_skipped_names",
      "unloaded_gone", "unloaded_gone_names", "fewer",         "problem"};
  static const std::set<std::string, std::less<>> kOfSteps = {
      "step",  "outcome", "exit_code",           "reports",  "before",
      "after", "fixed",   "time_budget_seconds", "last_test"};
  Json details = Json::object();
  for (const auto& [key, value] : signal.details.items()) {
    if (signal.kind == "tests" ? !kOfTests.contains(key) : kOfSteps.contains(key)) continue;
    details[key] =
        key == "problem" && value.is_string() ? Json(normalised_end(value.get<std::string>())) : value;
  }
  return {{"signal", key_of(signal)}, {"details", std::move(details)}};
}

}  // namespace

std::string normalised_end(std::string_view output) {
  std::vector<std::string> lines;  // the last line first
  for (const auto whole : TextLinesFromEnd(output)) {
    if (lines.size() == kLinesCompared) break;
    auto line = normalised_line(whole);
    if (!line.empty()) lines.push_back(std::move(line));
  }
  std::string out;
  for (auto line = lines.rbegin(); line != lines.rend(); ++line) out += *line + "\n";
  return out;
}

std::string failure_digest(const AttemptFacts& facts) {
  Json steps = Json::array(), signals = Json::array();
  for (const auto& step : facts.steps)
    if (!step_held(step) || names_failures(step)) steps.push_back(step_failure(step));
  for (const auto& signal : facts.signals)
    if (!signal.passed) signals.push_back(signal_failure(signal));
  const std::string model = digests_no_model() ? "" : facts.model;
  return blake3_hex(
      canonical({{"model", model}, {"signals", std::move(signals)}, {"steps", std::move(steps)}}));
}

}  // namespace pawl::gates
