#include "gates/policy/mocha_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <vector>

#include "gates/policy/given_paths.h"
#include "gates/policy/runner_settings.h"
#include "gates/policy/script_text.h"
#include "gates/policy/variable_files.h"
#include "gates/reading/text.h"

namespace pawl::gates {
namespace {

// mochajs.org, "Configuring Mocha". Keys whose values are files or packages that Mocha loads.
constexpr auto kLoads = std::to_array<std::string_view>(
    {"extends", "file", "import", "loader", "node-option", "r", "reporter", "require", "ui"});
// Keys by which it takes fewer tests.
constexpr auto kChoices =
    std::to_array<std::string_view>({"f", "fgrep", "g", "grep", "i", "invert", "pass-on-failing-test-suite"});

using Values = std::vector<std::string>;

// The settings without quotes: those of `"mocha": {...}` in package.json.
std::string settings_of(std::string_view path, std::string_view content) {
  auto text = unquoted(without_comments(content));
  if (name_of(path) != "package.json") return text;
  // The package is a dependency of the same name.
  constexpr std::string_view kKey = "mocha:";
  std::string out;
  for (auto key = text.find(kKey); key != text.npos; key = text.find(kKey, key + 1)) {
    const auto open = text.find_first_not_of(" \t\r\n", key + kKey.size());
    if (open == text.npos || text[open] != '{') continue;
    int depth = 0;
    auto at = open;
    do {
      depth += text[at] == '{' ? 1 : text[at] == '}' ? -1 : 0;
    } while (depth > 0 && ++at < text.size());
    out += text.substr(open + 1, at - open - 1) + "\n";
  }
  return out;
}

// Adds the values in a list, or of one line, from `at` on. A brace of a pattern keeps its commas.
void add_values(std::string_view text, std::size_t at, Values& to) {
  bool is_list = false, is_dashed = false;
  int braces = 0;
  std::string value;
  const auto end_value = [&] {
    const auto found = trimmed(value);
    if (!found.empty()) to.emplace_back(found);
    value.clear();
  };
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '[' && trimmed(value).empty() && !is_list) {
      is_list = true;
    } else if (c == '\n' && !is_list) {
      end_value();
      // A list of YAML goes on in lines with dashes.
      const auto next = text.find_first_not_of(" \t\r\n", at);
      if (next == text.npos || text[next] != '-' || (!to.empty() && !is_dashed)) return;
      is_dashed = true;
      at = next;
    } else if ((c == ']' && is_list) || (c == '}' && braces == 0)) {
      break;
    } else if (c == ',' && braces == 0) {
      end_value();
      if (!is_list) return;
    } else {
      braces += c == '{' ? 1 : c == '}' ? -1 : 0;
      value += c;
    }
  }
  end_value();
}

Values values_of(std::string_view text, std::string_view key) {
  Values out;
  for (auto at = text.find(key); at != text.npos; at = text.find(key, at + 1)) {
    const bool starts = at == 0 || (!is_word(text[at - 1]) && text[at - 1] != '-' && text[at - 1] != '.');
    const auto colon = text.find_first_not_of(" \t", at + key.size());
    if (!starts || colon == text.npos || text[colon] != ':') continue;
    Values found;
    add_values(text, colon + 1, found);
    out.insert(out.end(), found.begin(), found.end());
  }
  return out;
}

class MochaComparison {
 public:
  MochaComparison(const FileChange& change, const Shadows& shadows)
      : folder_(change.path.substr(0, change.path.size() - name_of(change.path).size())),
        before_(settings_of(change.path, change.before ? change.before->content : "")),
        after_(settings_of(change.path, change.after->content)),
        shadows_(shadows) {}

  std::string words() const {
    for (const auto key : kChoices)
      for (const auto& value : new_values(key))
        if (value != "false")
          return fmt::format("sets `{}: {}`, by which Mocha takes fewer tests", key, value);
    for (const auto key : kLoads)
      for (const auto& value : new_values(key))
        if (loads_own(value)) return fmt::format("has Mocha load `{}` before the tests", value);
    for (const auto key : {"exclude", "ignore"})
      for (const auto& value : new_values(key))
        if (value.find("node_modules") == value.npos && hides_base(value))
          return fmt::format("has Mocha leave `{}` out", value);
    const auto specs = values_of(after_, "spec");
    if (specs.empty()) return "";
    return path_left_out({command(values_of(before_, "spec"))}, {command(specs)},
                         in_folder(shadows_.was_there), in_folder(shadows_.is_there));
  }

 private:
  Values new_values(std::string_view key) const {
    const auto old = values_of(before_, key);
    auto out = values_of(after_, key);
    std::erase_if(out, [&](const auto& value) { return std::ranges::find(old, value) != old.end(); });
    return out;
  }

  static std::string command(const Values& specs) {
    std::string out = "mocha";
    for (const auto& spec : specs) out += " " + spec;
    return out;
  }

  HasPath in_folder(const HasPath& has) const {
    if (!has) return nullptr;
    return [this, &has](const std::string& path) { return has(folder_ + path); };
  }

  // Whether a pattern names files that base has.
  bool hides_base(std::string_view pattern) const {
    while (pattern.starts_with("./")) pattern.remove_prefix(2);
    const auto place = pattern.substr(0, pattern.find_first_of("*?{["));
    const auto cut = place.size() == pattern.size() ? place : place.substr(0, place.rfind('/') + 1);
    const auto path = folder_ + std::string(cut.ends_with('/') ? cut.substr(0, cut.size() - 1) : cut);
    return cut.empty() || !shadows_.was_there || shadows_.was_there(path);
  }

  // Whether a value is a file of the work, and neither one that is protected nor one that only sets variables.
  bool loads_own(std::string_view value) const {
    if (const auto sign = value.find('='); sign != value.npos) value.remove_prefix(sign + 1);
    const bool is_path = value.starts_with('.') || value.starts_with('/');
    while (value.starts_with("./")) value.remove_prefix(2);
    for (const auto* end : {"", ".js", ".cjs", ".mjs", ".ts"}) {
      const auto path = folder_ + std::string(value) + end;
      const bool was = shadows_.was_there && shadows_.was_there(path);
      if (was && shadows_.is_protected && shadows_.is_protected(path)) return false;
      if (!was && shadows_.targets.work_text && only_sets_variables(shadows_.targets.work_text(path)))
        return false;
      if (was || (shadows_.is_there && shadows_.is_there(path))) return true;
    }
    return is_path;
  }

  const std::string folder_, before_, after_;
  const Shadows& shadows_;
};

}  // namespace

std::string mocha_setting(const FileChange& change, const Shadows& shadows) {
  const auto name = name_of(change.path);
  if (!change.after || change.after->is_link || change.unread ||
      (!name.starts_with(".mocharc.") && name != "package.json"))
    return "";
  return MochaComparison(change, shadows).words();
}

}  // namespace pawl::gates
