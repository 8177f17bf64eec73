#include "gates/moving.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "gates/failure.h"
#include "gates/reading/collector.h"
#include "gates/signal_parts.h"

namespace pawl::gates {
namespace {

constexpr std::string_view kTests = "tests";

using NameList = std::vector<std::string>;
using Counts = std::map<std::string, std::int64_t>;

// The name without numbers, times, addresses, paths outside the workspace, and the "#2" of a repeated name.
std::string form_of(std::string_view name) {
  const auto digits = name.find_last_not_of("0123456789") + 1;
  if (digits > 1 && digits < name.size() && name[digits - 1] == '#') name = name.substr(0, digits - 1);
  auto form = normalised_end(name);
  if (form.ends_with('\n')) form.pop_back();
  return form;
}

// The part of a name before the part that varies: "tests.test_a::test_b[*" for "tests.test_a::test_b[xyz]".
// "" for a name without such a part.
std::string group_of(std::string_view form) {
  constexpr std::string_view kOpens[] = {"[", "(", "/", "::", " > "};
  std::size_t end = 0;
  for (const auto opens : kOpens)
    if (const auto at = form.rfind(opens); at != form.npos) end = std::max(end, at + opens.size());
  return end == 0 ? "" : std::string(form.substr(0, end)) + "*";
}

bool has(const NameList& sorted, const std::string& name) { return std::ranges::binary_search(sorted, name); }

// The form or the group of a name, whichever is one of `keys`.
std::optional<std::string> key_of(const std::string& name, const NameList& keys) {
  auto form = form_of(name);
  if (has(keys, form)) return form;
  auto group = group_of(form);
  return has(keys, group) ? std::optional(std::move(group)) : std::nullopt;
}

// Forms that names of both lists have, and groups of the names without such a form.
NameList keys_of_both(const NameList& one, const NameList& other) {
  std::set<std::string> forms, groups;
  for (const auto& name : other) groups.insert(group_of(*forms.insert(form_of(name)).first));
  std::set<std::string> keys;
  for (const auto& name : one) {
    const auto form = form_of(name), group = group_of(form);
    if (forms.contains(form))
      keys.insert(form);
    else if (!group.empty() && groups.contains(group))
      keys.insert(group);
  }
  return {keys.begin(), keys.end()};
}

Counts counts_of(const NameList& names, const NameList& keys) {
  Counts out;
  for (const auto& name : names)
    if (const auto key = key_of(name, keys)) ++out[*key];
  return out;
}

bool each_has_another(const NameList& lost, const NameList& found) {
  const auto keys = keys_of_both(lost, found);
  auto left = counts_of(found, keys);
  return std::ranges::all_of(lost, [&](const auto& name) {
    const auto key = key_of(name, keys);
    return key && left[*key]-- > 0;
  });
}

std::string numbered(const std::string& key, std::int64_t number) {
  return number == 1 ? key : key + "#" + std::to_string(number);
}

// Adds `names` by the number that both runs have. Failing ones get the last numbers, as in a collector, which
// puts failed tests after passed ones.
void add_by_number(const Counts& names, const Counts& failing, const Counts& second, Inventory& to) {
  for (const auto& [key, count] : names) {
    const auto again = second.find(key);
    const auto held = std::min(count, again == second.end() ? 0 : again->second);
    const auto fails = failing.find(key);
    const auto well = held - (fails == failing.end() ? 0 : std::min(held, fails->second));
    for (std::int64_t i = 1; i <= held; ++i) {
      to.names.push_back(numbered(key, i));
      if (i > well) to.failing.push_back(to.names.back());
    }
  }
}

Inventory held_to_both(const Inventory& first, const Inventory& second) {
  using enum Inventory::State;
  Inventory out = first;
  out.twice = true;
  const auto only_first = beyond(first.names, second.names), only_second = beyond(second.names, first.names);
  if (first.state == kUnknown || second.state == kUnknown || only_first.empty()) return out;
  out.moving = keys_of_both(only_first, only_second);
  out.names.clear();
  out.failing.clear();
  Counts names, failing;
  for (const auto& name : first.names) {
    const auto key = has(second.names, name) ? std::nullopt : key_of(name, out.moving);
    const bool comes_and_goes = !key && second.state == kKnown && !has(second.names, name);
    if (key) ++names[*key];
    if (comes_and_goes) out.unsteady.push_back(name);
    if (!key && !comes_and_goes) out.names.push_back(name);
  }
  for (const auto& name : first.failing)
    if (const auto key = has(only_first, name) ? key_of(name, out.moving) : std::nullopt)
      ++failing[*key];
    else if (!has(out.unsteady, name))
      out.failing.push_back(name);
  add_by_number(names, failing, counts_of(only_second, out.moving), out);
  std::ranges::sort(out.names);
  std::ranges::sort(out.failing);
  return out;
}

const Inventory* tests_in(const Inventories& inventories) {
  const auto found = inventories.find(std::string(kTests));
  return found == inventories.end() || found->second.state == Inventory::State::kUnknown ? nullptr
                                                                                         : &found->second;
}

// Whether the reports have each of the names. This is the usual case, in which no comparison is needed. A
// name that two reports have is compared anyway, since the second one has a number when reports are merged.
bool has_each(const std::vector<StepFacts>& steps, const NameList& names) {
  std::vector<std::string_view> all;
  for (const auto& step : steps)
    for (const auto& file : step.reports)
      if (file.family == kTestsFamily && file.report)
        for (const auto& test : file.report->tests) all.emplace_back(test.name);
  std::ranges::sort(all);
  return std::ranges::includes(all, names, {}, {}, [](const auto& name) { return std::string_view(name); });
}

NameList sorted(NameList names) {
  std::ranges::sort(names);
  return names;
}

}  // namespace

bool names_may_move(const GateFacts& facts) {
  const auto* base = tests_in(facts.base);
  const auto held = [](const StepFacts& step) { return step_held(step); };
  if (base == nullptr || base->twice) return false;
  if (!facts.known_failing && (!std::ranges::all_of(facts.steps, held) || has_each(facts.steps, base->names)))
    return false;
  const Reports reports = all_reports(facts.steps, kTestsFamily);
  const auto failing = sorted(failing_of(reports.all));
  if (reports.parsed == 0 || !reports.problem.empty()) return false;
  if (!facts.known_failing && !failing.empty()) return false;
  NameList ran, skipped;
  for (const auto& test : reports.all.tests)
    (test.status == TestStatus::kSkipped ? skipped : ran).push_back(test.name);
  std::ranges::sort(ran);
  std::ranges::sort(skipped);
  const auto missing = beyond(base->names, ran), gone = beyond(missing, skipped);
  const auto broken = beyond(failing, base->failing);
  if (gone.size() < missing.size() || (gone.empty() && broken.empty())) return false;
  return each_has_another(gone, beyond(ran, base->names)) &&
         each_has_another(broken, beyond(base->failing, failing));
}

OnBase held_to_both(const OnBase& first, const OnBase& second) {
  OnBase out = first;
  const auto mine = out.inventories.find(std::string(kTests));
  if (mine == out.inventories.end()) return out;
  const auto* other = tests_in(second.inventories);
  mine->second.twice = true;
  if (other != nullptr) mine->second = held_to_both(mine->second, *other);
  return out;
}

Report with_settled_names(Report report, const Inventory& base) {
  if (base.moving.empty()) return report;
  TestCollector settled(nullptr);
  for (const auto& test : report.tests) {
    const auto key = has(base.names, test.name) ? std::nullopt : key_of(test.name, base.moving);
    if (!settled.add("", key.value_or(test.name), test.status, test.message)) return report;
  }
  report.tests = settled.take().tests;
  return report;
}

}  // namespace pawl::gates
