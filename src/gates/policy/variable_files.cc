#include "gates/policy/variable_files.h"

#include <algorithm>
#include <optional>

#include "base/lines.h"
#include "gates/policy/script_text.h"
#include "gates/policy/steering.h"
#include "gates/reading/text.h"

namespace pawl::gates {
namespace {

// The text of a literal; no value when it is another expression.
std::optional<std::string_view> literal(std::string_view text) {
  if (text.size() < 2 || (text.front() != '\'' && text.front() != '"') || text.back() != text.front())
    return std::nullopt;
  const auto inner = text.substr(1, text.size() - 2);
  return inner.find_first_of("'\"\\`") == inner.npos ? std::optional(inner) : std::nullopt;
}

// Reads "process.env.NAME = 'text';", also with "??=" and "||=".
bool sets_environment(std::string_view line) {
  constexpr std::string_view kEnvironment = "process.env.";
  if (!line.starts_with(kEnvironment)) return false;
  line.remove_prefix(kEnvironment.size());
  if (line.ends_with(';')) line = trimmed(line.substr(0, line.size() - 1));
  const auto sign = line.find('=');
  if (sign == line.npos) return false;
  auto name = trimmed(line.substr(0, sign));
  for (const std::string_view before : {"??", "||"})
    if (name.ends_with(before)) name = trimmed(name.substr(0, name.size() - before.size()));
  const auto value = literal(trimmed(line.substr(sign + 1)));
  // A program that a test starts looks into these.
  const bool names_folder = name.ends_with("PATH") || name.starts_with("NODE_O");
  return value && !name.empty() && std::ranges::all_of(name, is_word) && !names_folder &&
         steering_variable(name, *value).empty();
}

}  // namespace

bool only_sets_variables(std::string_view script) {
  bool sets = false;
  for (const auto each : TextLines(script)) {
    const auto line = trimmed(each);
    if (line.empty() || line.starts_with("//") || is_any_of(line, {"'use strict';", "\"use strict\";"}))
      continue;
    if (!sets_environment(line)) return false;
    sets = true;
  }
  return sets;
}

}  // namespace pawl::gates
