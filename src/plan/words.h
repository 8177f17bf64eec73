// The words of enums: in a plan, in a policy file and in the rows of rows.h. Parser and rows read them here, so that no
// word stands twice. Pure.
#pragma once

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <type_traits>

#include "base/policy.h"
#include "plan/plan.h"

namespace pawl::plan {

// In the order of the enumerators. Rows hold words, because the numbers of enumerators may change.
constexpr std::array<std::string_view, 2> words_of(Network) { return {"none", "scoped"}; }
constexpr std::array<std::string_view, 3> words_of(Shell) { return {"best", "sh", "bash"}; }
constexpr std::array<std::string_view, 2> words_of(RefusedEntries) { return {"record", "fail"}; }
constexpr std::array<std::string_view, 2> words_of(OnFailure) { return {"stop", "continue"}; }
constexpr std::array<std::string_view, 2> words_of(OnRetry) { return {"fresh", "continue"}; }
constexpr std::array<std::string_view, 2> words_of(AgentExit) { return {"zero", "any"}; }
constexpr std::array<std::string_view, 2> words_of(Ignored) { return {"leave_out", "keep"}; }
constexpr std::array<std::string_view, 3> words_of(Git) { return {"none", "snapshot", "history"}; }
constexpr std::array<std::string_view, 2> words_of(Durable) { return {"required", "best_effort"}; }
constexpr std::array<std::string_view, 2> words_of(Baseline) { return {"taken", "none"}; }
constexpr std::array<std::string_view, 2> words_of(KnownFailing) { return {"none", "base"}; }
constexpr std::array<std::string_view, 2> words_of(Flaky) { return {"fail", "pass"}; }
constexpr std::array<std::string_view, 3> words_of(Reaction) { return {"allow", "tell", "fail"}; }
constexpr std::array<std::string_view, 5> words_of(ResumePolicy) {
  return {"re_execute", "skip", "escalate", "probe", "continue"};
}

template <typename Type>
concept HasWords = std::is_enum_v<Type> && requires(Type value) { words_of(value); };

// Throws std::out_of_range for an enumerator without a word.
constexpr std::string_view name(HasWords auto value) {
  return words_of(value).at(static_cast<std::size_t>(value));
}

// No value: the enum has no such word.
template <HasWords Type>
constexpr std::optional<Type> from_name(std::string_view word) {
  const auto words = words_of(Type());
  const auto* const found = std::ranges::find(words, word);
  return found == words.end() ? std::nullopt : std::optional(static_cast<Type>(found - words.begin()));
}

}  // namespace pawl::plan
