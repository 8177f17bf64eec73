#include "gates/hang.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/json.h"
#include "base/lines.h"
#include "gates/reading/text.h"

namespace pawl::gates {
namespace {

constexpr std::size_t kTestNameMax = 200;  // bytes

// The test that a runner announces in this line; "" when it announces none.
std::string_view announced(std::string_view line) {
  constexpr std::array<std::string_view, 5> kWords = {"=== RUN ", "=== CONT ", "[ RUN      ] ", "RUNS ",
                                                      "# Subtest: "};
  for (const auto word : kWords)
    if (line.starts_with(word)) return trimmed(line.substr(word.size()));
  if (line.starts_with("Start ")) {  // ctest: "Start 3: name"
    const auto colon = line.find(": ");
    const auto number = trimmed(line.substr(6, colon == std::string_view::npos ? colon : colon - 6));
    const bool counts =
        !number.empty() && std::ranges::all_of(number, [](unsigned char c) { return std::isdigit(c); });
    if (counts && colon != std::string_view::npos) return trimmed(line.substr(colon + 2));
  }
  return {};
}

// The same for `go test -json`: {"Action":"run","Test":"TestX"}.
std::string_view announced_as_json(std::string_view line) {
  if (!line.starts_with('{') || line.find(R"("Action":"run")") == line.npos) return {};
  constexpr std::string_view kKey = R"("Test":")";
  const auto at = line.find(kKey);
  if (at == line.npos) return {};
  line.remove_prefix(at + kKey.size());
  return line.substr(0, line.find('"'));
}

// The test of a line without its result: "test a ...", "t/a.t ..", "test_a (m.C) ...", "a_test.py::test_a".
std::string_view unfinished(std::string_view line) {
  const auto name = trimmed(line.substr(0, line.find_last_not_of(". ") + 1));
  if (line.ends_with("..")) {
    if (name.starts_with("test ")) return name.substr(5);
    const bool unittest = name.starts_with("test") && name.ends_with(')');
    const bool prove = name.find(' ') == name.npos && name.ends_with(".t");
    return unittest || prove ? name : std::string_view();
  }
  const bool pytest = line.find("::") != line.npos && line.find(' ') == line.npos;
  return pytest ? line : std::string_view();
}

// The name in a line of TAP: "ok 3 - name", "not ok 4 name".
std::string_view tap_point(std::string_view line) {
  if (line.starts_with("not ")) line.remove_prefix(4);
  if (!line.starts_with("ok ")) return {};
  line = trimmed(line.substr(3));
  while (!line.empty() && std::isdigit(static_cast<unsigned char>(line.front())) != 0) line.remove_prefix(1);
  line = trimmed(line);
  if (line.starts_with("- ")) line = trimmed(line.substr(2));
  return line;
}

}  // namespace

std::string last_test_in(std::string_view output) {
  std::string ended;  // the last test that a TAP stream reports
  bool last = true;
  for (const auto whole : TextLinesFromEnd(output)) {
    const auto line = trimmed(whole);
    if (line.empty()) continue;
    auto name = announced(line);
    if (name.empty()) name = announced_as_json(line);
    if (name.empty() && last) name = unfinished(line);
    if (!name.empty() && ended.empty()) return std::string(utf8_prefix(name, kTestNameMax));
    if (!name.empty()) break;  // a test that began before the last one ended
    if (ended.empty())
      if (const auto point = tap_point(line); !point.empty())
        ended = "after " + std::string(utf8_prefix(point, kTestNameMax));
    last = false;
  }
  return ended;
}

void report_hang(const StepFacts& step, Signal& signal) {
  if (step.outcome != Outcome::kTimedOut) return;
  signal.details["time_budget_seconds"] = step.time_budget_seconds;
  if (!step.last_test.empty()) signal.details["last_test"] = step.last_test;
}

std::vector<Detail> hang_details() {
  return {{"time_budget_seconds", Detail::Type::kInteger}, {"last_test", Detail::Type::kText}};
}

}  // namespace pawl::gates
