#include "gates/unloaded.h"

#include <algorithm>

#include "base/glob.h"
#include "gates/signal_parts.h"

namespace pawl::gates {
namespace {

constexpr std::string_view kGoTests = "_test.go";  // the files of Go that contain tests: go help test

bool is_path_or_package(std::string_view name) { return name.find('/') != name.npos; }

std::int64_t depth_of(std::string_view name) { return std::ranges::count(name, '/'); }

constexpr std::string_view kTap = "tap";

// The path below the fixed folder of a pattern: "t/a.t" for "tap/t/a.t" and "tap/**". "" for the path itself.
std::string below_folder_of(std::string_view pattern, const std::string& path) {
  if (!any_covers(std::vector{std::string(pattern)}, path)) return "";
  while (pattern.ends_with('/')) pattern.remove_suffix(1);
  const auto wildcard = pattern.find_first_of("*?");
  const auto folder = wildcard == pattern.npos ? pattern.size() : pattern.substr(0, wildcard).rfind('/');
  if (folder == pattern.npos) return path;
  return folder + 1 < path.size() ? path.substr(folder + 1) : "";
}

std::string test_file_of(const StepFacts& step, const ReportFacts& file) {
  if (file.format != kTap) return "";
  for (const auto& wanted : step.patterns) {
    auto below = wanted.format == kTap ? below_folder_of(wanted.pattern, file.path) : "";
    if (!below.empty()) return below;
  }
  return "";
}

// "a/tests/test_b.py" -> "a.tests.test_b": Python and Java name the contents of the file like this.
std::string module_of(std::string_view path) {
  const auto file = path.rfind('/') == path.npos ? 0 : path.rfind('/') + 1;
  std::string out(path.substr(0, std::min(path.size(), path.find('.', file))));
  std::ranges::replace(out, '/', '.');
  return out;
}

// Calls `see` with each end of the text: "a.b.c", "b.c" and "c".
template <class See>
void each_end(std::string_view text, char separator, const See& see) {
  for (;;) {
    see(text);
    const auto next = text.find(separator);
    if (next == text.npos) return;
    text.remove_prefix(next + 1);
  }
}

// Whether a test's name begins with a file, a package or a class. The name of a folder or a package is also
// the beginning of others, which do not count: "example.org/a" in "example.org/a/b::TestC".
bool is_of(std::string_view test, std::string_view name) {
  if (test.starts_with(name)) {
    const auto rest = test.substr(name.size());
    if (rest.empty() || rest.starts_with("::")) return true;
    if (!is_path_or_package(name) && (rest.front() == '.' || rest.front() == '$')) return true;
  }
  // unittest names a module that it could not load without the packages above it.
  if (name.find_first_of("./") != name.npos) return false;
  bool found = false;
  std::string_view group = test.substr(0, test.find("::"));
  if (group.size() == test.size()) return false;
  each_end(group, '.', [&](std::string_view end) {
    found = found || (end.starts_with(name) && (end.size() == name.size() || end[name.size()] == '.'));
  });
  return found;
}

}  // namespace

void Unloaded::add(const Inventory& base) {
  for (const auto* names : {&base.unloaded, &base.files})
    for (const auto& name : *names) {
      by_key_[name.substr(0, name.find('$'))].push_back(name);
      if (names == &base.unloaded && is_path_or_package(name))
        packages_[name.substr(name.rfind('/') + 1)].push_back(name);
    }
}

UnloadedNames Unloaded::names_for(std::string_view path) const {
  UnloadedNames out;
  if (empty()) return out;
  const auto add_all = [&out](const auto& map, std::string_view key) {
    const auto found = map.find(key);
    if (found != map.end()) out.insert(found->second.begin(), found->second.end());
  };
  each_end(path, '/', [&](std::string_view end) { add_all(by_key_, end); });
  each_end(module_of(path), '.', [&](std::string_view end) { add_all(by_key_, end); });
  if (!path.ends_with(kGoTests)) return out;
  const auto slash = path.rfind('/');
  if (slash != path.npos) {
    const auto folder = path.substr(0, slash);
    add_all(packages_, folder.substr(folder.rfind('/') + 1));
    return out;
  }
  // A test at the root is in the package of the module. No folder has its name, so it is the one with the
  // fewest parts.
  std::int64_t least = INT64_MAX;
  for (const auto& [part, names] : packages_)
    for (const auto& name : names) least = std::min(least, depth_of(name));
  for (const auto& [part, names] : packages_)
    for (const auto& name : names)
      if (depth_of(name) == least) out.insert(name);
  return out;
}

void Unloaded::see_removed(std::string_view path) { removed_.merge(names_for(path)); }

std::string loaded_file_of(const StepFacts& step, const ReportFacts& file) {
  const auto ran = [](const TestCase& test) { return test.status != TestStatus::kSkipped; };
  return file.report && std::ranges::any_of(file.report->tests, ran) ? test_file_of(step, file) : "";
}

std::vector<StepFacts> with_unloaded_files(const std::vector<StepFacts>& steps) {
  auto out = steps;
  for (auto& step : out) {
    const bool failed = step.outcome == Outcome::kExited && step.exit_code != 0;
    const auto loaded = [&](const auto& file) { return !loaded_file_of(step, file).empty(); };
    if (!failed || std::ranges::none_of(step.reports, loaded)) continue;
    for (auto& file : step.reports) {
      const auto name = test_file_of(step, file);
      if (name.empty() || !file.report || !has_nothing(*file.report)) continue;
      file.report = Report{.no_tests = {{.what = NoTest::What::kLoaded, .name = name}},
                           .lower_bound = name + " could not be loaded"};
    }
  }
  return out;
}

bool is_there(std::string_view name, const Report& report) {
  return std::ranges::any_of(report.tests,
                             [&](const auto& test) {
                               return test.status != TestStatus::kSkipped && is_of(test.name, name);
                             }) ||
         std::ranges::any_of(report.no_tests, [&](const auto& other) { return other.name == name; });
}

}  // namespace pawl::gates
