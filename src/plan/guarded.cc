// Reads the paths that a plan, a phase or a gate protects.
#include "plan/sections.h"

namespace pawl::plan {
namespace {

constexpr std::size_t kGuardedMax = 1000;

std::optional<std::string> read_pattern(const YAML::Node& node, const std::string& what,
                                        const std::string& where, Problems& problems) {
  auto pattern = read_string(node, what, problems);
  if (!pattern || is_safe_pattern(*pattern)) return pattern;
  problems.add(node, what + ": '" + *pattern + "' must be relative and stay inside the " + where);
  return std::nullopt;
}

bool is_list(const YAML::Node& node, const std::string& key, Problems& problems) {
  const bool is_short = node.IsSequence() && node.size() <= kGuardedMax;
  if (!is_short)
    problems.add(node, key + ": expected a list of at most 1000 patterns, found " +
                           (node.IsSequence() ? "more" : type_of(node)));
  return is_short;
}

void read_rules(const Mapping& mapping, const std::string& key, std::vector<std::string>& to,
                Guarded& guarded, Problems& problems) {
  const auto node = mapping.get(key);
  if (!node.IsDefined() || !is_list(node, key, problems)) return;
  for (const auto& item : node) {
    std::optional<std::string> pattern;
    bool may_be_absent = false;
    if (item.IsMap()) {
      const Mapping one(item, key, "protected", problems);
      if (const auto value = one.require("pattern", problems); value.IsDefined())
        pattern = read_pattern(value, key, "source", problems);
      if (const auto flag = one.get("may_be_absent"); flag.IsDefined())
        may_be_absent = read_bool(flag, "may_be_absent", problems).value_or(false);
    } else {
      pattern = read_pattern(item, key, "source", problems);
    }
    if (!pattern) continue;
    to.push_back(*pattern);
    guarded.at[*pattern] = place_of(item);
    if (may_be_absent) guarded.may_be_absent.push_back(*pattern);
  }
}

}  // namespace

void read_guarded(const Mapping& mapping, Guarded& guarded, Problems& problems) {
  read_rules(mapping, "protect", guarded.rules.protect, guarded, problems);
  read_rules(mapping, "protect_existing", guarded.rules.protect_existing, guarded, problems);
}

std::vector<std::string> read_patterns(const Mapping& mapping, const std::string& key,
                                       const std::string& where, Problems& problems) {
  std::vector<std::string> out;
  const auto node = mapping.get(key);
  if (!node.IsDefined() || !is_list(node, key, problems)) return out;
  for (const auto& item : node)
    if (auto pattern = read_pattern(item, key, where, problems)) out.push_back(*std::move(pattern));
  return out;
}

}  // namespace pawl::plan
