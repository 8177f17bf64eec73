#include "gates/reading/words.h"

#include <algorithm>
#include <array>

#include "base/json.h"

namespace pawl::gates {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_space(char c) { return c == ' ' || c == '\t'; }

std::string_view lead_trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  return text;
}

// Extensions behind which ":12" is a line. Others are left: "example.com:443" is a test of its own.
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

// "b (line 12)" -> "b", also with brackets, or behind a comma.
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

// "/tmp/tmpx1b2/out" -> "/tmp/*/out"; "/tmp/out" has nothing random in it.
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

// "<f at 0x7f3a5c0>" -> "<f at 0x*>": only an address is that long.
std::string without_addresses(std::string name) {
  constexpr std::string_view kDigits = "0123456789abcdefABCDEF";
  constexpr std::size_t kAddressDigits = 7;
  for (std::size_t at = name.find(" at 0x"); at != name.npos; at = name.find(" at 0x", at + 1)) {
    const std::size_t start = at + 6, end = std::min(name.find_first_not_of(kDigits, start), name.size());
    if (end - start >= kAddressDigits) name.replace(start, end - start, "*");
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

// How a line begins that says that something failed, behind its indentation.
constexpr std::array<std::string_view, 33> kBegins = {
    "not ok",    "FAILED",   "FAIL",         "--- FAIL",     "E  ",         "error:",       "error[",
    "Error:",    "error ",   "ERROR",        "ERR!",         "npm ERR!",    "npm error",    "fatal:",
    "FATAL",     "panic:",   "panicked",     "Traceback",    "Bail out!",   "Segmentation", "SUMMARY: ",
    "Exception", "Failed ",  "Failure",      "Undefined ",   "undefined ",  "assert",       "Assertion",
    "assertion", "Expected", "\xe2\x9c\x97", "\xe2\x9c\x96", "\xe2\x97\x8f"};
// What such a line has in it.
constexpr std::array<std::string_view, 18> kHolds = {": error",
                                                     ": fatal",
                                                     "Error:",
                                                     "ERROR:",
                                                     " FAILED",
                                                     " panicked at",
                                                     "undefined reference",
                                                     ": not found",
                                                     "command not found",
                                                     "No such file or directory",
                                                     "cannot find",
                                                     "Cannot find",
                                                     "*** ",
                                                     "Exception",
                                                     "AssertionError",
                                                     "Segmentation fault",
                                                     "core dumped",
                                                     "Permission denied"};
// How lines begin that are no failure, whatever they have in them.
constexpr std::array<std::string_view, 6> kPasses = {"ok ",      "PASS",      "--- PASS",
                                                     "# fail 0", "# fail  0", "\xe2\x9c\x93"};

bool tells(std::string_view line) {
  line = lead_trimmed(line);
  if (line.empty() || starts_with_one_of(line, kPasses)) return false;
  return starts_with_one_of(line, kBegins) || contains_one_of(line, kHolds);
}

}  // namespace

std::string stable_name(std::string_view name) {
  return without_addresses(without_temporary_folders(without_told_lines(without_lines_of_files(name))));
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
  constexpr std::size_t kLineMax = 300, kBelowMax = 3;
  std::string out;
  std::size_t below = 0;  // how many indented lines may still come with the last one
  bool left_out = false;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    const auto line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const bool told = tells(line);
    const bool goes_with = below > 0 && !line.empty() && is_space(line.front());
    below = told ? kBelowMax : (goes_with ? below - 1 : 0);
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

std::string excerpt(std::string_view text, std::size_t bytes_max) {
  while (text.ends_with('\n') || text.ends_with(' ')) text.remove_suffix(1);
  while (text.starts_with('\n')) text.remove_prefix(1);
  if (text.size() <= bytes_max) return std::string(text);
  if (auto lines = telling_lines(text, bytes_max); !lines.empty()) return lines.substr(0, lines.size() - 1);
  constexpr std::string_view kBetween = "\n...\n";
  const std::size_t half = bytes_max > kBetween.size() ? (bytes_max - kBetween.size()) / 2 : 0;
  auto end = text.substr(text.size() - half);
  end.remove_prefix(std::min(end.find_first_of(" \t\n"), end.size()));
  return std::string(whole_words(text, half)) + std::string(kBetween) + std::string(end);
}

}  // namespace pawl::gates
