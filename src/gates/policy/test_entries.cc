#include "gates/policy/test_entries.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/lines.h"
#include "gates/policy/mentioned_tests.h"
#include "gates/reading/text.h"

namespace pawl::gates {
namespace {

bool is_go_test(std::string_view path) { return path.ends_with("_test.go"); }
// unittest asks a module or a package of tests.
bool is_python_tests(std::string_view path) {
  return path.ends_with(".py") && (is_test_source(path) || name_of(path) == "__init__.py");
}

// The code of a file of Go or Python without comments, spaces and quotes.
std::string compact_code(std::string_view content, std::string_view comment) {
  std::string out = "\n";
  for (const auto each : TextLines(content)) {
    for (const char c : each.substr(0, each.find(comment)))
      if (std::string_view(" \t\r\"'`").find(c) == std::string_view::npos) out += c;
    out += '\n';
  }
  return out;
}

std::size_t times_in_code(std::string_view code, std::string_view text) {
  std::size_t out = 0;
  for (auto at = code.find(text); at != code.npos; at = code.find(text, at + 1)) ++out;
  return out;
}

std::string_view content_before(const FileChange& change) {
  return change.before && !change.before->is_link ? std::string_view(change.before->content)
                                                  : std::string_view();
}

}  // namespace

bool may_have_test_entries(std::string_view path) { return is_go_test(path) || is_python_tests(path); }

std::string ends_go_tests(const FileChange& change) {
  if (!change.after || change.after->is_link || change.unread || !is_go_test(change.path)) return "";
  const auto before = compact_code(content_before(change), "//"),
             now = compact_code(change.after->content, "//");
  constexpr auto kEnds =
      std::to_array<std::string_view>({"os.Exit(0)", "syscall.Exit(0)", "-test.run", "-test.skip",
                                       "flag.Set(test.run", "flag.Set(test.skip"});
  for (const auto text : kEnds)
    if (times_in_code(now, text) > times_in_code(before, text))
      return fmt::format("has `{}`, by which the tests of its package end with success, or some do not run",
                         text);
  constexpr std::string_view kMain = "funcTestMain(";
  const bool runs = now.find(".Run()") != now.npos;
  return now.find(kMain) != now.npos && !runs &&
                 (before.find(kMain) == before.npos || before.find(".Run()") != before.npos)
             ? "has a `TestMain` that runs no test"
             : "";
}

std::string adds_test_entry(const FileChange& change) {
  if (!change.after || change.after->is_link || change.unread || !may_have_test_entries(change.path))
    return "";
  const bool is_go = is_go_test(change.path);
  const auto comment = is_go ? "//" : "#";
  const auto before = compact_code(content_before(change), comment),
             now = compact_code(change.after->content, comment);
  const std::string_view name = is_go ? "TestMain" : "load_tests";
  for (const auto& text :
       {fmt::format("func{}(", name), fmt::format("def{}(", name), fmt::format("\n{}=", name)})
    if (times_in_code(now, text) > times_in_code(before, text))
      return fmt::format("has `{}`, which decides what tests {} runs", name, is_go ? "go" : "unittest");
  return "";
}

}  // namespace pawl::gates
