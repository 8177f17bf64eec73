#include "plan/lenient_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "plan/script_words.h"

namespace pawl::plan {
namespace {

struct Option {
  std::string_view program;  // "": any program with this option
  std::string_view option, value;
  std::string_view effect;  // follows "`PROGRAM OPTION` "
};

constexpr std::string_view kIgnores = "exits with 0 when a command of it failed; leave it out",
                           kRunsNothing = "runs nothing and exits with 0; leave it out",
                           kNoTest = "exits with 0 when no test was found; leave it out",
                           kFinds =
                               "exits with 0 whatever it found; leave it out, or say `may_fail: true` "
                               "and name its report";

// From the manual of each program.
constexpr std::array kOptions = {
    Option{"make", "-i", "", kIgnores},
    Option{"make", "-ik", "", kIgnores},
    Option{"make", "-ki", "", kIgnores},
    Option{"make", "--ignore-errors", "", kIgnores},
    Option{"make", "-n", "", kRunsNothing},
    Option{"make", "--dry-run", "", kRunsNothing},
    Option{"make", "--just-print", "", kRunsNothing},
    Option{"make", "-t", "", kRunsNothing},
    Option{"make", "--touch", "", kRunsNothing},
    Option{"ninja", "-n", "", kRunsNothing},
    Option{"cargo", "--no-run", "", kRunsNothing},
    Option{"ctest", "-N", "", kRunsNothing},
    Option{"ctest", "--show-only", "", kRunsNothing},
    Option{"ctest", "--no-tests", "ignore", kNoTest},
    Option{"gradle", "--dry-run", "", kRunsNothing},
    Option{"gradlew", "--dry-run", "", kRunsNothing},
    Option{"mvn", "-fn", "", kIgnores},
    Option{"mvn", "--fail-never", "", kIgnores},
    Option{"mvnw", "-fn", "", kIgnores},
    Option{"mvnw", "--fail-never", "", kIgnores},
    Option{"", "-Dmaven.test.failure.ignore", "", kIgnores},
    Option{"", "-Dmaven.test.failure.ignore", "true", kIgnores},
    Option{"", "-DtestFailureIgnore", "true", kIgnores},
    Option{"", "-DskipTests", "", kRunsNothing},
    Option{"", "-DskipTests", "true", kRunsNothing},
    Option{"", "-Dmaven.test.skip", "true", kRunsNothing},
    Option{"npm", "--if-present", "", "exits with 0 when there is no such script; leave it out"},
    Option{"pnpm", "--if-present", "", "exits with 0 when there is no such script; leave it out"},
    Option{"tox", "--skip-missing-interpreters", "", kNoTest},
    Option{"", "--passWithNoTests", "", kNoTest},
    Option{"", "--pass-with-no-tests", "", kNoTest},
    Option{"", "--suppress-no-test-exit-code", "", kNoTest},
    Option{"", "--pass-on-failing-test-suite", "", kIgnores},
    Option{"rspec", "--failure-exit-code", "0", kIgnores},
    Option{"", "--exit-zero", "", kFinds},
    Option{"hadolint", "--no-fail", "", kFinds},
    Option{"golangci-lint", "--issues-exit-code", "0", kFinds},
    Option{"trivy", "--exit-code", "0", kFinds},
    Option{"gitleaks", "--exit-code", "0", kFinds},
};

// Matches "--option value" and "--option=value" after the program.
bool has_option(std::span<const std::string> words, const Option& of) {
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string_view word = words[i];
    if (!word.starts_with(of.option)) continue;
    const auto rest = word.substr(of.option.size());
    if (of.value.empty() ? rest.empty() : rest.starts_with('=') && rest.substr(1) == of.value) return true;
    if (!of.value.empty() && rest.empty() && i + 1 < words.size() && words[i + 1] == of.value) return true;
  }
  return false;
}

}  // namespace

std::string leniency_of(const std::vector<std::string>& words) {
  constexpr std::size_t kProgramWithin = 6;  // enough for "timeout 60 npx --no-install jest"
  if (words.empty() || words[0] == "echo" || words[0] == "printf") return "";
  for (const auto& each : kOptions) {
    const auto starts = std::span(words).first(std::min(words.size(), kProgramWithin));
    const auto at =
        each.program.empty()
            ? starts.begin()
            : std::ranges::find(starts, each.program, [](const auto& word) { return program_of(word); });
    if (at == starts.end()) continue;
    const auto place = static_cast<std::size_t>(at - starts.begin());
    if (!has_option(std::span(words).subspan(place), each)) continue;
    const auto program = each.program.empty() ? program_of(words[0]) : each.program;
    return fmt::format("`{} {}{}{}` {}", program, each.option, each.value.empty() ? "" : " ", each.value,
                       each.effect);
  }
  return "";
}

}  // namespace pawl::plan
