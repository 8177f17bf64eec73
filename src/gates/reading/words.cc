#include "gates/reading/words.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/json.h"
#include "base/lines.h"
#include "gates/reading/text.h"

namespace pawl::gates {
namespace {

bool is_space(char c) { return c == ' ' || c == '\t'; }

std::string_view lead_trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  return text;
}

// File extensions after which ":12" is a line number. After others it stays: "example.com:443" is a test of
// its own.
bool is_source_extension(std::string_view word) {
  constexpr std::string_view kKnown[] = {
      "bash", "bats", "c",    "cc", "cjs", "cpp",   "cs",  "cxx",   "ex", "exs", "f90", "go",  "h",  "hpp",
      "hs",   "hxx",  "java", "jl", "js",  "kt",    "lua", "m",     "md", "mjs", "ml",  "php", "pl", "pm",
      "py",   "r",    "rb",   "rs", "rst", "scala", "sh",  "swift", "t",  "ts",  "tsx", "txt", "zig"};
  return std::ranges::find(kKnown, word) != std::end(kKnown);
}

std::size_t digits_at(std::string_view text, std::size_t at) {
  std::size_t end = at;
  while (end < text.size() && is_digit(text[end])) ++end;
  return end - at;
}

// "a.c:12:5: works" -> "a.c: works".
std::string without_lines_of_files(std::string_view name) {
  std::string out;
  for (std::size_t i = 0; i < name.size();) {
    const auto digits = name[i] == ':' ? digits_at(name, i + 1) : 0;
    const auto dot = out.rfind('.');
    if (digits > 0 && dot != out.npos && is_source_extension(std::string_view(out).substr(dot + 1))) {
      i += 1 + digits;
      if (i < name.size() && name[i] == ':' && digits_at(name, i + 1) > 0) i += 1 + digits_at(name, i + 1);
      continue;
    }
    out += name[i++];
  }
  return out;
}

// "b (line 12)" -> "b", also with square brackets or after a comma.
std::string without_told_lines(std::string name) {
  for (const std::string_view opens : {" (line ", " [line ", ", line "}) {
    for (std::size_t at = name.find(opens); at != name.npos; at = name.find(opens, at)) {
      const std::size_t digits = digits_at(name, at + opens.size());
      const std::size_t end = at + opens.size() + digits;
      const char closes = opens[1] == '(' ? ')' : ']';
      const bool closed = opens[0] == ',' || (end < name.size() && name[end] == closes);
      if (digits == 0 || !closed) {
        at += opens.size();
        continue;
      }
      name.erase(at, end - at + (opens[0] == ',' ? 0 : 1));
    }
  }
  return name;
}

// "/tmp/tmpx1b2/out" -> "/tmp/*/out". "/tmp/out" has no random part and stays.
std::string without_temporary_folders(std::string name) {
  constexpr std::string_view kFolder = "/tmp/";
  for (std::size_t at = name.find(kFolder); at != name.npos; at = name.find(kFolder, at + 1)) {
    const std::size_t start = at + kFolder.size();
    const std::size_t end = std::min(name.find_first_of("/ '\")],:", start), name.size());
    const auto word = std::string_view(name).substr(start, end - start);
    if (word.starts_with("tmp") || std::ranges::any_of(word, is_digit)) name.replace(start, word.size(), "*");
  }
  return name;
}

bool is_ascii_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

constexpr std::string_view kHexDigits = "0123456789abcdefABCDEF";

// "<f at 0x7f3a5c0>" -> "<f at 0x*>", "#<F:0x00007f3a5c0>" -> "#<F:0x*>". Shorter numbers are not addresses.
std::string without_addresses(std::string name) {
  constexpr std::size_t kAddressDigits = 7;
  for (const std::string_view before : {" at 0x", ":0x"})
    for (std::size_t at = name.find(before); at != name.npos; at = name.find(before, at + 1)) {
      const std::size_t start = at + before.size();
      const std::size_t end = std::min(name.find_first_not_of(kHexDigits, start), name.size());
      if (end - start >= kAddressDigits) name.replace(start, end - start, "*");
    }
  return name;
}

// "com.Foo@5e91993f" -> "com.Foo@*": Java prints an object without a text like this. A word
// without a digit after the "@" stays: it may be a user.
std::string without_identities(std::string name) {
  constexpr std::size_t kDigitsMin = 6, kDigitsMost = 8;
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (std::size_t at = name.find('@', 1); at != name.npos; at = name.find('@', at + 1)) {
    const std::size_t end = std::min(name.find_first_not_of(kDigits, at + 1), name.size());
    const auto digits = std::string_view(name).substr(at + 1, end - at - 1);
    const bool is_long = digits.size() >= kDigitsMin && digits.size() <= kDigitsMost;
    const bool ends_word = end == name.size() || !is_ascii_word(name[end]);
    const bool of_object = is_ascii_word(name[at - 1]) || name[at - 1] == ';';
    if (is_long && ends_word && of_object && std::ranges::any_of(digits, is_digit))
      name.replace(at + 1, digits.size(), "*");
  }
  return name;
}

bool starts_with_one_of(std::string_view line, const auto& words) {
  return std::ranges::any_of(words, [&](const std::string_view word) { return line.starts_with(word); });
}

bool contains_one_of(std::string_view line, const auto& words) {
  return std::ranges::any_of(words,
                             [&](const std::string_view word) { return line.find(word) != line.npos; });
}

// Beginnings of lines that report a failure, after their indentation.
constexpr std::array<std::string_view, 27> kBegins = {
    "not ok",    "E  ",        "error:",       "error[",       "Error:",    "error ",     "ERROR",
    "ERR!",      "npm ERR!",   "npm error",    "fatal:",       "FATAL",     "panic:",     "panicked",
    "Traceback", "Bail out!",  "SUMMARY: ",    "Segmentation", "Exception", "Undefined ", "assert",
    "Assertion", "undefined ", "\xe2\x97\x8f", "\xc3\x97",     "Expect",    "Received"};
// Texts within lines that report a failure. The last four are crosses.
constexpr std::array<std::string_view, 21> kHolds = {
    ": error",      ": fatal",           "Error:",
    "ERROR:",       " panicked at",      "undefined reference",
    ": not found",  "command not found", "No such file or directory",
    "cannot find",  "Cannot find",       "*** ",
    "Exception",    "AssertionError",    "Segmentation fault",
    "core dumped",  "Permission denied", "\xe2\x9c\x97",
    "\xe2\x9c\x96", "\xe2\x9d\x8c",      "\xe2\x9c\x98"};
// Beginnings of lines that do not report a failure, whatever else they contain.
constexpr std::array<std::string_view, 9> kPasses = {
    "ok ", "PASS", "--- PASS", "\xe2\x9c\x93", "=== RUN", "=== PAUSE", "=== CONT", "[ RUN  ", "[       OK"};
// Words before a colon that name the expected value, the received value, or their place: "Received: 6".
constexpr std::array<std::string_view, 10> kValues = {"expected", "received", "actual", "got",   "want",
                                                      "wanted",   "found",    "left",   "right", "at"};
constexpr std::array<std::string_view, 6> kFailures = {"fail",    "fails",   "failed",
                                                       "failing", "failure", "failures"};
constexpr std::array<std::string_view, 6> kNone = {"0", "no", "not", "never", "without", "zero"};

// Compares ASCII letters in any case. REQUIRES: `lower` has no capital letter.
bool is_in_any_case(std::string_view word, std::string_view lower) {
  return std::ranges::equal(
      word, lower, {}, [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
}

bool is_one_of(std::string_view word, const auto& words) {
  return std::ranges::any_of(words, [&](const auto lower) { return is_in_any_case(word, lower); });
}

// Removes the last word of `text` with the blanks after it, and returns it. "" when `text` ends with another
// character.
std::string_view take_last_word(std::string_view& text) {
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  std::size_t start = text.size();
  while (start > 0 && is_ascii_word(text[start - 1])) --start;
  const auto word = text.substr(start);
  text.remove_suffix(word.size());
  return word;
}

constexpr std::array<std::string_view, 6> kPlaces = {"line", "lines", "column", "columns", "col", "row"};
// Texts between two numbers of one place: "3:7", "3-9", "at 5, 2".
constexpr std::array<std::string_view, 6> kBetweenPlaces = {":", "-", ",", ", ", " - ", " to "};

// Whether a number is a line or a column. Decides by the word before it, the text between them and the text
// after it: "line 3", "line: 3", "at 5, 2", "(3:7)".
bool starts_place(std::string_view word, std::string_view between, std::string_view behind) {
  if (is_one_of(word, kPlaces)) return between == " " || between == ": " || between == " #" || between == ":";
  const bool is_pair = behind.size() > 1 && behind.front() == ':' && is_digit(behind[1]);
  if (is_pair) return between.ends_with('(') || between.ends_with('[');
  return word == "at" && between == " " && behind.starts_with(", ") && digits_at(behind, 2) > 0;
}

// Whether a word of failure counts none: "0 failed", "no test failed", "did not fail"; "failures: 0",
// "fail 0", "Failed: none".
bool counts_none(std::string_view before, std::string_view behind) {
  const auto first = take_last_word(before), second = take_last_word(before);
  if (is_one_of(first, kNone) || (first.starts_with("test") && is_one_of(second, kNone))) return true;
  const auto value = std::min(behind.find_first_not_of(" \t:="), behind.size());
  const auto count = behind.substr(value);
  const bool is_told = behind.substr(0, value).find_first_of(":=") != behind.npos;
  if (is_told && count.starts_with("none")) return true;
  if (value == 0 || !count.starts_with('0')) return false;
  const auto next = count.size() == 1 ? '\r' : count[1];
  return std::string_view("\r,;)").find(next) != std::string_view::npos || (is_told && is_space(next));
}

// Whether a line has a word of failure in any case. A part of a name ("a/fail.c", "--no-fail-fast") and a
// count of none do not matter.
bool says_failed(std::string_view line) {
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (!is_ascii_word(line[at])) continue;
    std::size_t end = at;
    while (end < line.size() && is_ascii_word(line[end])) ++end;
    const auto word = line.substr(at, end - at), before = line.substr(0, at), behind = line.substr(end);
    const bool in_name = before.ends_with('/') || before.ends_with('.') || before.ends_with('-') ||
                         before.ends_with("::") || behind.starts_with('-') ||
                         (behind.size() > 1 && behind.front() == '.' && is_ascii_word(behind[1]));
    if (!in_name && is_one_of(word, kFailures) && !counts_none(before, behind)) return true;
    at = end - 1;
  }
  return false;
}

// Whether a line ends with a success: "test_fails PASSED [ 10%]", "Failed login ... ok (0.01s)". A count does
// not: "1 failed, 3 passed".
bool ends_well(std::string_view line) {
  constexpr std::array<std::string_view, 4> kWell = {"ok", "passed", "pass", "success"};
  while (!line.empty() && (is_space(line.back()) || line.back() == '\r')) line.remove_suffix(1);
  if (line.ends_with(')') || line.ends_with(']'))
    line = line.substr(0, std::min(line.find_last_of("(["), line.size()));
  // The line of a test in CTest's output.
  if (line.ends_with(" sec") && line.find("Passed ") != line.npos) return true;
  if (!is_one_of(take_last_word(line), kWell)) return false;
  return digits_at(take_last_word(line), 0) == 0;
}

bool says_value(std::string_view line) {
  std::size_t letters = 0;
  while (letters < line.size() && is_ascii_word(line[letters])) ++letters;
  return is_one_of(line.substr(0, letters), kValues) && lead_trimmed(line.substr(letters)).starts_with(':');
}

bool tells(std::string_view line) {
  line = lead_trimmed(line);
  if (line.empty() || starts_with_one_of(line, kPasses)) return false;
  if (starts_with_one_of(line, kBegins) || contains_one_of(line, kHolds) || says_value(line)) return true;
  return says_failed(line) && !ends_well(line);
}

// In a message, lines of a diff count too.
bool tells_in_message(std::string_view line) {
  return line.starts_with('+') || line.starts_with('-') || tells(line);
}

// Whether a line is a frame of a stack of JavaScript or Java: "at f (/a.js:3:5)", "at /a.js:3:5",
// "at a.B.c(B.java:3)".
bool is_frame(std::string_view line) {
  line = lead_trimmed(line);
  const auto before = line.find_last_not_of("0123456789");
  const bool has_line = before != line.npos && line[before] == ':' && before + 1 < line.size();
  return line.starts_with("at ") && (has_line || line.ends_with(')'));
}

// Whether a line is a key of a report in YAML: "diff: |", "source:". "Error: no" is not such a key.
bool is_key(std::string_view line) {
  line = lead_trimmed(line);
  std::size_t letters = 0;
  while (letters < line.size() && is_ascii_word(line[letters])) ++letters;
  const bool is_small = letters > 0 && line.front() >= 'a' && line.front() <= 'z';
  return is_small && line.substr(letters).starts_with(':') &&
         (line.size() == letters + 1 || line[letters + 1] == ' ');
}

// The text without stacks. The first frame of each stack stays and shows the place; the lines below "stack:"
// repeat it.
std::string without_stacks(std::string_view text) {
  std::string out;
  bool in_stack = false, frame_before = false;
  for (const auto line : TextLines(text)) {
    const bool frame = is_frame(line);
    in_stack = lead_trimmed(line).starts_with("stack:") || (in_stack && !is_key(line));
    if (!in_stack && !(frame && frame_before)) out += std::string(line) + "\n";
    frame_before = frame;
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

// The line of a test in CTest's output, or of its start: "  1/300 Test   #1: sum ......***Failed    0.01 sec".
bool is_of_ctest(std::string_view line) {
  const auto at = line.find("Test ");
  const auto number = at == line.npos ? at : line.find_first_not_of(' ', at + 5);
  return (number != line.npos && line[number] == '#' && digits_at(line, number + 1) > 0) ||
         lead_trimmed(line).starts_with("Start ");
}

// The lines below the last one that reports a failure. Indented lines belong to it. With --output-on-failure,
// CTest writes what a test said below the test's line, as the test wrote it.
class LinesBelow {
 public:
  // Whether the next line belongs to the last one that reports a failure. `told`: the line reports one itself.
  bool goes_with(std::string_view line, bool told) {
    constexpr std::size_t kIndentedMost = 3, kOfTestMost = 12;
    const bool blank = line.find_first_not_of(" \t\r") == line.npos;
    const bool of_ctest = is_of_ctest(line);
    if (told && of_ctest && line.find("***") != line.npos)
      of_test_ = kOfTestMost;
    else if (of_ctest || (blank && of_test_ < kOfTestMost))
      of_test_ = 0;
    const bool said = of_test_ > 0 && !of_ctest && !blank;
    const bool indented = indented_ > 0 && !line.empty() && is_space(line.front()) && !of_ctest;
    of_test_ -= said ? 1 : 0;
    indented_ = told ? kIndentedMost : (indented ? indented_ - 1 : 0);
    return said || indented;
  }

 private:
  std::size_t indented_ = 0, of_test_ = 0;  // how many lines may still belong
};

template <class Belongs>
std::string lines_that(const Belongs& belongs, std::string_view text, std::size_t bytes_max) {
  constexpr std::size_t kLineMax = 300;
  std::string out;
  LinesBelow below;
  bool left_out = false;
  for (const auto line : TextLines(text)) {
    const bool told = belongs(line);
    const bool goes_with = below.goes_with(line, told);
    if (!told && !goes_with) {
      left_out = true;
      continue;
    }
    std::string add = left_out && !out.empty() ? "...\n" : "";
    left_out = false;
    add += std::string(whole_words(line, kLineMax)) + "\n";
    if (out.size() + add.size() > bytes_max)
      return out.empty() ? std::string(whole_words(add, bytes_max)) : out;
    out += add;
  }
  return out;
}

}  // namespace

bool says_error(std::string_view line) {
  return tells(line) || lead_trimmed(line).starts_with("\"message\":");
}

std::string stable_name(std::string_view name) {
  return without_identities(
      without_addresses(without_temporary_folders(without_told_lines(without_lines_of_files(name)))));
}

std::string stable_message(std::string_view message) {
  const std::string text = stable_name(message);
  std::string out, word, between;  // the last word, and the text after it
  bool was_place = false;
  for (std::size_t at = 0; at < text.size();) {
    if (!is_ascii_word(text[at])) {
      between += text[at];
      out += text[at++];
      continue;
    }
    const auto end = static_cast<std::size_t>(
        std::find_if_not(text.begin() + static_cast<std::ptrdiff_t>(at), text.end(), is_ascii_word) -
        text.begin());
    const std::string now = text.substr(at, end - at);
    const bool is_number = std::ranges::all_of(now, is_digit);
    const bool is_place = is_number && (was_place ? is_one_of(between, kBetweenPlaces)
                                                  : starts_place(word, between, text.substr(end, 24)));
    out += is_place ? "*" : now;
    was_place = is_place;
    word = now;
    between.clear();
    at = end;
  }
  return out;
}

bool is_hook_of_mocha(std::string_view name) {
  return contains_one_of(name, std::array<std::string_view, 4>{"\"before all\" hook", "\"before each\" hook",
                                                               "\"after all\" hook", "\"after each\" hook"});
}

bool is_setup_of_bats(std::string_view name) {
  return name == "setup_file failed" || name == "setup_suite" || name == "setup_suite failed" ||
         name == "bats-gather-tests";
}

bool is_teardown_of_bats(std::string_view name) {
  return name == "teardown_file failed" || name == "teardown_suite" || name == "teardown_suite failed";
}

std::string_view whole_words(std::string_view text, std::size_t bytes_max) {
  if (text.size() <= bytes_max) return text;
  const auto end = text.find_last_of(" \t\n", bytes_max);
  return text.substr(0, end == text.npos ? 0 : end);
}

std::string telling_lines(std::string_view text, std::size_t bytes_max) {
  return lines_that(tells, text, bytes_max);
}

std::string unusual_lines(std::string_view text, std::size_t bytes_max) {
  constexpr std::size_t kLinesMin = 4, kMarksMost = 10'000;
  // The first word of a line, or its last one.
  const auto mark_of = [](std::string_view line, bool first) {
    line = lead_trimmed(line);
    return first ? line.substr(0, line.find_first_of(" \t:")) : take_last_word(line);
  };
  std::map<std::pair<std::string_view, bool>, std::size_t> counts;
  std::size_t lines = 0;
  for (const auto line : TextLines(text)) {
    if (line.empty()) continue;
    ++lines;
    for (const bool first : {true, false})
      if (const auto mark = mark_of(line, first); !mark.empty() && counts.size() < kMarksMost)
        ++counts[{mark, first}];
  }
  const auto usual = std::ranges::max_element(counts, {}, [](const auto& each) { return each.second; });
  if (lines < kLinesMin || usual == counts.end() || usual->second * 2 <= lines) return "";
  const auto word = usual->first.first;
  const bool first = usual->first.second;
  return lines_that([&](std::string_view line) { return !line.empty() && mark_of(line, first) != word; },
                    text, bytes_max);
}

std::string excerpt(std::string_view text, std::size_t bytes_max) {
  while (text.ends_with('\n') || text.ends_with(' ')) text.remove_suffix(1);
  while (text.starts_with('\n')) text.remove_prefix(1);
  if (text.size() <= bytes_max) return std::string(text);
  std::string without = without_stacks(text);
  if (without.size() <= bytes_max && !without.empty()) return without;
  if (!without.empty()) text = without;
  if (auto lines = lines_that(tells_in_message, text, bytes_max); !lines.empty())
    return lines.substr(0, lines.size() - 1);
  constexpr std::string_view kBetween = "\n...\n";
  const std::size_t half = bytes_max > kBetween.size() ? (bytes_max - kBetween.size()) / 2 : 0;
  auto end = text.substr(text.size() - half);
  end.remove_prefix(std::min(end.find_first_of(" \t\n"), end.size()));
  return std::string(whole_words(text, half)) + std::string(kBetween) + std::string(end);
}

}  // namespace pawl::gates
