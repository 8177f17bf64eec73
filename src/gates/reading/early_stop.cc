#include "gates/reading/early_stop.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <optional>

#include "base/json.h"
#include "base/lines.h"
#include "gates/policy/script_text.h"
#include "gates/policy/search_folders.h"
#include "gates/reading/text.h"

namespace pawl::gates {
namespace {

// Options from the manuals of pytest, go test, Jest, Mocha, Vitest, RSpec, unittest, PHPUnit, CTest,
// Playwright, behave, bats, Robot Framework, trial, nose and Surefire.
struct Option {
  std::string_view word;
  std::string_view program;      // the option has this meaning only for it; "": for all programs
  bool counts = false;           // a number may follow
  std::string_view beside = {};  // the letters with which it may share a word: "-xvs"
};
// Letters whose option takes the rest of the word as its value: "-rsx" of pytest has no "-x".
constexpr std::string_view kTakeAValue = "kmrWR";
constexpr std::string_view kOfPytest = "vqslkmrW", kOfUnittest = "vqcbk", kOfMocha = "cwR", kOfJest = "iou";
constexpr std::array kOptions = {
    Option{"-x", "pytest", false, kOfPytest},
    Option{"-x", "py.test", false, kOfPytest},
    Option{"-x", "nosetests", false, kOfPytest},
    Option{"-x", "trial", false, kOfPytest},
    Option{"-x", "playwright"},
    Option{"-f", "unittest", false, kOfUnittest},
    Option{"--exitfirst", ""},
    Option{"--exitonfailure", ""},
    Option{"--maxfail", "", true},
    Option{"--max-failures", "", true},
    Option{"-failfast", ""},
    Option{"--failfast", ""},
    Option{"-test.failfast", ""},
    Option{"--fail-fast", ""},
    Option{"--bail", "", true},
    Option{"-b", "mocha", false, kOfMocha},
    Option{"-b", "jest", true, kOfJest},
    Option{"--stop", "behave"},
    Option{"--stop", "nosetests"},
    Option{"--abort", "bats"},
    Option{"--stop-on-failure", ""},
    Option{"--stop-on-error", ""},
    Option{"--stop-on-defect", ""},
    Option{"-Dsurefire.skipAfterFailureCount", ""},
};

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t number = 0;
  const auto* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && rest == end && !text.empty() ? std::optional(number) : std::nullopt;
}

// Whether the option is among the letters of `word`: "-vxs".
bool is_among_letters(const Option& option, std::string_view word) {
  if (option.word.size() != 2) return false;
  bool found = false;
  for (const char letter : word.substr(1)) {
    found = found || letter == option.word.back();
    if (letter == option.word.back()) continue;
    if (option.beside.find(letter) == option.beside.npos) return false;
    if (kTakeAValue.find(letter) != kTakeAValue.npos) break;
  }
  return found;
}

// The number of failures after which the option stops; 0: `word` is another option, or switches it off.
std::int64_t failures_of(const Option& option, std::string_view word, std::string_view next) {
  if (!word.starts_with(option.word)) return is_among_letters(option, word) ? 1 : 0;
  const auto rest = word.substr(option.word.size());
  if (rest.empty()) return option.counts ? number_in(next).value_or(1) : 1;
  if (!rest.starts_with('=')) return is_among_letters(option, word) ? 1 : 0;
  const auto value = rest.substr(1);
  if (value == "false") return 0;
  return number_in(value).value_or(1);
}

// Where the value of "NAME=value" begins; 0 for other words.
std::size_t without_assignment(std::string_view word) {
  const auto sign = word.find('=');
  const auto is_of_name = [](unsigned char c) {
    return std::isupper(c) != 0 || std::isdigit(c) != 0 || c == '_';
  };
  const bool is_name = sign != word.npos && sign > 0 && std::ranges::all_of(word.substr(0, sign), is_of_name);
  return is_name ? sign + 1 : 0;
}

// Whether a word starts the program, or sets the variable that has its options.
bool names_program(std::string_view word, std::string_view program) {
  return name_of(word) == program || (program == "pytest" && word.starts_with("PYTEST_ADDOPTS="));
}

// `cargo test` has a program for the library, one for each file in tests/ and one for the tests in the documentation.
// It runs none after one that fails: doc.rust-lang.org/cargo/commands/cargo-test.html
StopOption cargo_without_option(const std::vector<std::string_view>& words) {
  const auto cargo = std::ranges::find_if(words, [](auto word) { return name_of(word) == "cargo"; });
  if (cargo == words.end()) return {};
  const auto command = std::find_if(
      cargo + 1, words.end(), [](auto word) { return !word.starts_with('-') && !word.starts_with('+'); });
  if (command == words.end() || !is_any_of(*command, {"test", "t"})) return {};
  const bool runs_all_or_one = std::any_of(cargo, words.end(), [](auto word) {
    return is_any_of(word.substr(0, word.find('=')), {"--no-fail-fast", "--no-run", "--lib", "--doc",
                                                      "--test", "--bin", "--example", "--bench"});
  });
  if (runs_all_or_one) return {};
  return {.word = "cargo test",
          .failures = 1,
          .file = {},
          .not_searched = {},
          .remedy = "Run `cargo test --no-fail-fast`"};
}

StopOption option_of_command(const std::vector<std::string_view>& words) {
  std::array<bool, kOptions.size()> is_for_it{};  // The program of the option has been named.
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto word = words[i].substr(without_assignment(words[i]));
    const auto next = i + 1 < words.size() ? words[i + 1] : std::string_view();
    for (std::size_t k = 0; k < kOptions.size(); ++k) {
      const auto& option = kOptions[k];
      is_for_it[k] = is_for_it[k] || option.program.empty() || names_program(words[i], option.program);
      if (!is_for_it[k] || word.size() < 2 || word.front() != '-') continue;
      const auto failures = failures_of(option, word, next);
      if (failures > 0)
        return {.word = std::string(option.word), .failures = failures, .file = {}, .not_searched = {}};
    }
  }
  return cargo_without_option(words);
}

// Where the command ends that begins at `start`. A quote ends with its line: an apostrophe may be alone. "\\"
// joins two lines, and "2>&1" is one word.
std::size_t end_of_command(std::string_view text, std::size_t start) {
  char quote = 0;
  for (auto at = text.find_first_of(";&|\n'\"", start); at != text.npos;
       at = text.find_first_of(";&|\n'\"", at + 1)) {
    if (text[at] == '\'' || text[at] == '"') {
      if (quote == 0 || quote == text[at]) quote = quote == 0 ? text[at] : 0;
      continue;
    }
    if (text[at] == '\n') quote = 0;
    if (quote != 0) continue;
    const char before = at > start ? text[at - 1] : ' ', after = at + 1 < text.size() ? text[at + 1] : ' ';
    const bool joins =
        (text[at] == '\n' && before == '\\') || (text[at] == '&' && (before == '>' || after == '>'));
    if (!joins) return at;
  }
  return text.size();
}

std::string_view without_end(std::string_view line) {
  while (line.ends_with('\r') || line.ends_with(' ')) line.remove_suffix(1);
  return line;
}

// "!!!!!!!! stopping after 1 failures !!!!!!!!" -> "stopping after 1 failures", also after the name of
// xdist.
std::string_view stop_of_pytest(std::string_view line) {
  constexpr std::string_view kWords = "stopping after ", kEnd = " failures";
  if (!line.starts_with("!!")) return {};
  const auto at = line.find(kWords);
  const auto end = at == line.npos ? at : line.find(kEnd, at);
  return end == line.npos ? std::string_view() : line.substr(at, end + kEnd.size() - at);
}

// Lines of Jest ("Test Suites: 1 failed, 1 of 3 total"), Playwright, cargo-nextest, Bun and AVA.
bool is_stop_of_another(std::string_view line) {
  constexpr std::string_view kWords[] = {" tests were not run due to ", " test was not run due to ",
                                         "Testing stopped early after ", "Bailed out after ",
                                         "`--fail-fast` is on"};
  if (line.starts_with("Test Suites: ")) return line.ends_with(" total") && line.find(" of ") != line.npos;
  return std::ranges::any_of(kWords, [&](auto words) { return line.find(words) != line.npos; });
}

// "[INFO] module-b ........... SKIPPED" in Maven's summary: an earlier module failed.
bool is_skipped_module(std::string_view line) {
  return line.starts_with("[INFO] ") && line.ends_with(" SKIPPED") && line.find(" ..") != line.npos;
}

// The number of tests in "collected 5 items", or in "collected 5 items / 2 deselected / 3 selected".
std::optional<std::int64_t> collected_in(std::string_view line) {
  constexpr std::string_view kStart = "collected ", kSelected = " selected";
  if (!line.starts_with(kStart)) return std::nullopt;
  if (line.ends_with(kSelected)) {
    line.remove_suffix(kSelected.size());
    return number_in(line.substr(line.rfind(' ') + 1));
  }
  line.remove_prefix(kStart.size());
  const auto end = line.find(" item");
  return end == line.npos ? std::nullopt : number_in(line.substr(0, end));
}

}  // namespace

StopOption stop_option_in(const std::vector<std::string>& argv) {
  std::string text;
  for (auto word : argv) {
    // Only a word with spaces can be a script. In another one, as in "t.py::t[a|b]", no command ends.
    const bool is_script = word.find_first_of(" \t\n") != word.npos;
    if (!is_script && argv.size() > 1)
      std::ranges::replace_if(
          word, [](char c) { return std::string_view(";&|'\"").find(c) != std::string_view::npos; }, '_');
    text += word + " ";
  }
  for (std::size_t start = 0; start < text.size();) {
    const auto end = end_of_command(text, start);
    auto found = option_of_command(words_of_command(std::string_view(text).substr(start, end - start)));
    if (!found.word.empty()) return found;
    start = end + 1;
  }
  return {};
}

SaidStop said_stop_in(std::string_view output) {
  constexpr std::size_t kWordsMax = 200;
  SaidStop out;
  int times = 0;
  for (const auto whole : TextLines(output)) {
    const auto line = without_end(whole);
    if (const auto collected = collected_in(line)) {
      out.collected = *collected;
      ++times;
    }
    if (!out.words.empty()) continue;
    if (const auto stop = stop_of_pytest(line); !stop.empty()) out.words = stop;
    if (is_stop_of_another(line)) out.words = valid_utf8(line.substr(0, kWordsMax));
    if (is_skipped_module(line)) out.words = "Maven skipped modules behind one that failed";
  }
  if (times != 1) out.collected = 0;  // with several runs, it is not known which of them ended early
  return out;
}

}  // namespace pawl::gates
