#include "gates/policy/taken_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <vector>

#include "base/glob.h"
#include "gates/policy/js_settings.h"
#include "gates/policy/path_patterns.h"
#include "gates/policy/script_text.h"
#include "gates/reading/text.h"

namespace pawl::gates {
namespace {

using TextList = std::span<const std::string_view>;

// The meaning of a key. kFlag: fewer tests run, or none is enough.
enum class Says : std::uint8_t { kTakes, kLeaves, kFolders, kProjects, kFlag };
struct ChoosingKey {
  std::string_view name;
  Says says;
  bool is_regex = false;
};
// jestjs.io/docs/configuration. Paths begin with kRootSign, so that `<rootDir>` means one place only.
constexpr char kRootSign = '\x01';
constexpr ChoosingKey kJestKeys[] = {{"testMatch", Says::kTakes},
                                     {"testRegex", Says::kTakes, true},
                                     {"testPathIgnorePatterns", Says::kLeaves, true},
                                     {"modulePathIgnorePatterns", Says::kLeaves, true},
                                     {"roots", Says::kFolders},
                                     {"rootDir", Says::kFolders},
                                     {"projects", Says::kProjects},
                                     {"passWithNoTests", Says::kFlag},
                                     {"testNamePattern", Says::kFlag}};
constexpr std::string_view kJestTakes[] = {"**/__tests__/**/*.[jt]s?(x)", "**/?(*.)+(spec|test).[jt]s?(x)"};
constexpr std::string_view kJestFiles[] = {"jest.config.*", "package.json"};
// vitest.dev/config
constexpr ChoosingKey kVitestKeys[] = {{"test.include", Says::kTakes},
                                       {"test.exclude", Says::kLeaves},
                                       {"test.dir", Says::kFolders},
                                       {"test.root", Says::kFolders},
                                       {"root", Says::kFolders},
                                       {"test.projects", Says::kProjects},
                                       {"test.passWithNoTests", Says::kFlag},
                                       {"test.testNamePattern", Says::kFlag},
                                       {"test.dangerouslyIgnoreUnhandledErrors", Says::kFlag}};
constexpr std::string_view kVitestTakes[] = {"**/*.{test,spec}.?(c|m)[jt]s?(x)"};
constexpr std::string_view kVitestFiles[] = {"vite.config.*", "vitest.config.*"};
// github.com/avajs/ava, docs/06-configuration.md
constexpr ChoosingKey kAvaKeys[] = {{"files", Says::kTakes}};
constexpr std::string_view kAvaTakes[] = {"test.js",        "src/test.js",     "source/test.js",
                                          "**/test-*.*",    "**/*.spec.*",     "**/*.test.*",
                                          "**/test/**/*.*", "**/tests/**/*.*", "**/__tests__/**/*.*"};
constexpr std::string_view kAvaFiles[] = {"ava.config.*", "package.json"};

struct ChoosingRunner {
  std::string_view name, program;
  TextList files;
  std::span<const ChoosingKey> keys;
  TextList takes;  // without a key
};
constexpr ChoosingRunner kChoosingRunners[] = {{"Jest", "jest", kJestFiles, kJestKeys, kJestTakes},
                                               {"Vitest", "vitest", kVitestFiles, kVitestKeys, kVitestTakes},
                                               {"AVA", "ava", kAvaFiles, kAvaKeys, kAvaTakes}};
constexpr std::string_view kCodeEnds[] = {".cjs", ".cts", ".js", ".jsx", ".mjs", ".mts", ".ts", ".tsx"};

// The files that settings take. A pattern that does not parse takes no file of before, and may take any now.
struct TakenByRunner {
  std::vector<PathPattern> takes, leaves;
  std::vector<std::string> folders;  // none: the folder of the settings
  std::vector<std::string> flags;
  bool is_unknown = false;  // a value is more than texts

  bool has(std::string_view path) const {
    const auto whole = std::string(1, kRootSign) + "/" + std::string(path);
    const auto fits = [&](const PathPattern& pattern) {
      return pattern.matches(path) || pattern.matches(whole);
    };
    const bool is_below = folders.empty() || std::ranges::any_of(folders, [&](const auto& folder) {
                            return folder.empty() || path.starts_with(folder + "/");
                          });
    return is_below && std::ranges::any_of(takes, fits) && std::ranges::none_of(leaves, fits);
  }
};

// A value with the root of the project in place of `<rootDir>`.
std::string with_root(std::string text, bool is_regex) {
  constexpr std::string_view kName = "<rootDir>";
  if (is_regex) {
    for (auto at = text.find(kName); at != text.npos; at = text.find(kName))
      text.replace(at, kName.size(), 1, kRootSign);
    return text;
  }
  while (text.starts_with("./")) text.erase(0, 2);
  if (text.starts_with(kName)) text.erase(0, kName.size() + (text.size() > kName.size() ? 1 : 0));
  return text;
}

// A folder from the folder of the settings.
std::string folder_named(std::string text) {
  text = with_root(std::move(text), false);
  while (text.ends_with('/')) text.pop_back();
  return text == "." ? "" : text;
}

class TakenReader {
 public:
  // A package.json has the settings of a runner below its name.
  TakenReader(const ChoosingRunner& runner, std::string_view content, bool is_package)
      : runner_(runner), content_(content), above_(is_package ? std::string(runner.program) + "." : "") {}

  TakenByRunner read() {
    bool has_takes = false;
    for (const auto& key : runner_.keys)
      for (const auto& value : js_values(content_, above_ + std::string(key.name))) {
        has_takes = has_takes || key.says == Says::kTakes;
        add(key, value);
      }
    if (!has_takes)
      for (const auto text : runner_.takes) add_pattern(out_.takes, PathPattern::glob(text));
    return std::move(out_);
  }

 private:
  void add_pattern(std::vector<PathPattern>& to, std::optional<PathPattern> pattern) {
    if (pattern)
      to.push_back(*std::move(pattern));
    else
      out_.is_unknown = true;
  }

  void add(const ChoosingKey& key, const JsValue& value) {
    // Defaults may be spread into a list of what is left out.
    if (!value.is_whole && key.says != Says::kLeaves && key.says != Says::kFlag) out_.is_unknown = true;
    if (!value.is_whole && key.says == Says::kFlag) out_.flags.emplace_back(key.name);
    for (const auto& each : value.texts) {
      const auto text = with_root(each, key.is_regex);
      const auto pattern = [&](std::string_view from) {
        return key.is_regex ? PathPattern::regex(from) : PathPattern::glob(from);
      };
      switch (key.says) {
        case Says::kTakes:
          if (text.starts_with('!'))
            add_pattern(out_.leaves, pattern(std::string_view(text).substr(1)));
          else
            add_pattern(out_.takes, pattern(text));
          break;
        case Says::kLeaves:
          if (auto parsed = pattern(text)) out_.leaves.push_back(*std::move(parsed));
          break;
        case Says::kFolders:
          out_.folders.push_back(folder_named(each));
          break;
        case Says::kProjects:
          add_project(text);
          break;
        case Says::kFlag:
          if (text != "false") out_.flags.push_back(fmt::format("{}: {}", key.name, text));
          break;
      }
    }
  }

  // A project is a folder, or a settings file in one.
  void add_project(std::string text) {
    if (text.find_first_of("*?{[(!") != text.npos) {
      out_.is_unknown = true;
      return;
    }
    if (name_of(text).find(".config.") != std::string_view::npos) text = std::string(folder_of(text));
    out_.folders.push_back(folder_named(std::move(text)));
  }

  const ChoosingRunner& runner_;
  const std::string_view content_;
  const std::string above_;
  TakenByRunner out_;
};

bool is_one_of_files(TextList names, std::string_view path) {
  return std::ranges::any_of(names, [&](auto name) { return glob_matches(name, name_of(path)); });
}

bool is_js_code(std::string_view path) {
  return path.find("node_modules/") == path.npos &&
         std::ranges::any_of(kCodeEnds, [&](auto end) { return path.ends_with(end); });
}

// Whether base runs the runner: a gate names it, or the package of the folder does.
bool is_runner_used(const ChoosingRunner& runner, const std::string& folder, const Shadows& shadows) {
  const auto& targets = shadows.targets;
  if (targets.programs.contains(runner.program)) return true;
  return targets.base_text &&
         std::ranges::any_of(std::to_array<std::string>({folder, ""}), [&](const auto& place) {
           return targets.base_text(place + "package.json").find(runner.program) != std::string::npos;
         });
}

std::string left_out_by(const ChoosingRunner& runner, const FileChange& change, const Shadows& shadows) {
  const auto folder = change.path.substr(0, change.path.size() - name_of(change.path).size());
  const std::string_view before = change.before && !change.before->is_link ? change.before->content : "";
  const bool is_package = name_of(change.path) == "package.json";
  const auto now = TakenReader(runner, change.after->content, is_package).read();
  const auto old = TakenReader(runner, before, is_package).read();
  if (before.empty() && !is_runner_used(runner, folder, shadows)) return "";
  for (const auto& flag : now.flags)
    if (std::ranges::find(old.flags, flag) == old.flags.end())
      return fmt::format("sets `{}`, by which {} takes fewer tests, or none", flag, runner.name);
  if (now.is_unknown || !shadows.base_files) return "";
  std::string first;
  std::int64_t count = 0;
  for (const auto& path : shadows.base_files()) {
    if (!path.starts_with(folder) || !is_js_code(path)) continue;
    const auto own = std::string_view(path).substr(folder.size());
    if (!old.has(own) || now.has(own) || (shadows.is_there && !shadows.is_there(path))) continue;
    if (++count == 1) first = path;
  }
  if (count == 0) return "";
  return fmt::format("leaves `{}`{} out of what {} takes for tests", first,
                     count == 1 ? "" : fmt::format(" and {} more files", count - 1), runner.name);
}

}  // namespace

bool may_choose_files(std::string_view path) {
  return std::ranges::any_of(kChoosingRunners,
                             [&](const auto& runner) { return is_one_of_files(runner.files, path); });
}

std::string left_out_files(const FileChange& change, const Shadows& shadows) {
  if (!change.after || change.after->is_link || change.unread) return "";
  for (const auto& runner : kChoosingRunners)
    if (is_one_of_files(runner.files, change.path))
      if (auto words = left_out_by(runner, change, shadows); !words.empty()) return words;
  return "";
}

}  // namespace pawl::gates
