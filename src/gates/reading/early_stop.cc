#include "gates/reading/early_stop.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <optional>

#include "gates/policy/search_folders.h"
#include "gates/reading/text.h"

namespace pawl::gates {
namespace {

// Options from the manuals of pytest, go test, Jest, Mocha, Vitest, RSpec, unittest, PHPUnit and CTest.
struct Option {
  std::string_view word;
  std::string_view program;  // the option has this meaning only for it; "": for all programs
  bool counts = false;       // a number may follow
};
constexpr std::array kOptions = {
    Option{"-x", "pytest"},        Option{"-x", "py.test"},        Option{"--exitfirst", ""},
    Option{"--maxfail", "", true}, Option{"-failfast", ""},        Option{"--failfast", ""},
    Option{"-test.failfast", ""},  Option{"--fail-fast", ""},      Option{"--bail", "", true},
    Option{"-b", "mocha"},         Option{"-b", "jest", true},     Option{"--stop-on-failure", ""},
    Option{"--stop-on-error", ""}, Option{"--stop-on-defect", ""},
};

std::optional<std::int64_t> number_in(std::string_view text) {
  std::int64_t number = 0;
  const auto* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && rest == end && !text.empty() ? std::optional(number) : std::nullopt;
}

// The number of failures after which the option stops; 0: `word` is another option, or switches it off.
std::int64_t failures_of(const Option& option, std::string_view word, std::string_view next) {
  if (!word.starts_with(option.word)) return 0;
  const auto rest = word.substr(option.word.size());
  if (rest.empty()) return option.counts ? number_in(next).value_or(1) : 1;
  if (!rest.starts_with('=')) return 0;
  const auto value = rest.substr(1);
  if (value == "false") return 0;
  return number_in(value).value_or(1);
}

std::string_view next_line(std::string_view& text) {
  const auto end = std::min(text.find('\n'), text.size());
  auto line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  while (line.ends_with('\r') || line.ends_with(' ')) line.remove_suffix(1);
  return line;
}

// "!!!!!!!! stopping after 1 failures !!!!!!!!" -> "stopping after 1 failures", also behind the name of
// xdist.
std::string_view stop_of_pytest(std::string_view line) {
  constexpr std::string_view kWords = "stopping after ", kEnd = " failures";
  if (!line.starts_with("!!")) return {};
  const auto at = line.find(kWords);
  const auto end = at == line.npos ? at : line.find(kEnd, at);
  return end == line.npos ? std::string_view() : line.substr(at, end + kEnd.size() - at);
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
  std::vector<std::string_view> words;
  for (const auto& text : argv) std::ranges::copy(words_of_command(text), std::back_inserter(words));
  for (std::size_t i = 0; i < words.size(); ++i)
    for (const auto& option : kOptions) {
      const auto before =
          std::ranges::subrange(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(i));
      const bool is_for_it =
          option.program.empty() || std::ranges::find(before, option.program, name_of) != before.end();
      const auto next = i + 1 < words.size() ? words[i + 1] : std::string_view();
      if (const auto failures = is_for_it ? failures_of(option, words[i], next) : 0; failures > 0)
        return {.word = std::string(option.word), .failures = failures};
    }
  return {};
}

SaidStop said_stop_in(std::string_view output) {
  SaidStop out;
  int times = 0;
  while (!output.empty()) {
    const auto line = next_line(output);
    if (const auto collected = collected_in(line)) {
      out.collected = *collected;
      ++times;
    }
    if (!out.words.empty()) continue;
    if (const auto stop = stop_of_pytest(line); !stop.empty()) out.words = stop;
    if (is_skipped_module(line)) out.words = "Maven skipped modules behind one that failed";
  }
  if (times != 1) out.collected = 0;  // with several runs, it is not known which of them ended early
  return out;
}

}  // namespace pawl::gates
