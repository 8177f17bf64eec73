#include "workspace/git/config.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <optional>
#include <ranges>

#include "os/file.h"
#include "workspace/ignore_rules.h"

namespace pawl::workspace {
namespace {

using GitConfigIterator = GitOwner<git_config_iterator, git_config_iterator_free>;

constexpr std::size_t kIncludeDepthMax = 10;      // The limit of git itself (config.c).
constexpr std::uint64_t kHeadBytesMax = 1 << 16;  // A reference has at most 4096 bytes.

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_readable_file(const std::string& path) {
  struct stat status {};
  return !path.empty() && stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         access(path.c_str(), R_OK) == 0;
}

std::string real(const std::string& path) { return os::absolute_path(path).value_or(path); }

std::string in_small_letters(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
  return text;
}

// The rest of a name or a condition after `start`; nullopt when it begins otherwise.
std::optional<std::string> after(std::string_view start, std::string_view text) {
  if (!text.starts_with(start)) return std::nullopt;
  return std::string(text.substr(start.size()));
}

std::string with_all_below(std::string pattern) {
  return pattern.ends_with('/') ? pattern + "**" : std::move(pattern);
}

// The configuration files outside of the repository; see git-config(1), FILES.
std::vector<std::string> files_of_person() {
  std::vector<std::string> out;
  if (variable("GIT_CONFIG_NOSYSTEM").empty()) {
    const auto system = variable("GIT_CONFIG_SYSTEM");
    out.push_back(system.empty() ? "/etc/gitconfig" : system);
  }
  if (const auto global = variable("GIT_CONFIG_GLOBAL"); !global.empty()) {
    out.push_back(global);
    return out;
  }
  if (const auto xdg = xdg_folder(); !xdg.empty()) out.push_back(os::join(xdg, "config"));
  if (const auto home = variable("HOME"); !home.empty()) out.push_back(os::join(home, ".gitconfig"));
  return out;
}

// The branch that HEAD names, also before its first commit; "" when HEAD is a commit.
std::string branch_in(git_repository& repository) {
  git_reference* raw = nullptr;
  if (git_reference_lookup(&raw, &repository, "HEAD") != 0) return {};
  const GitReference head(raw);
  const char* target = git_reference_symbolic_target(raw);
  return target == nullptr ? "" : after("refs/heads/", target).value_or("");
}

// Implements "Includes" and "Conditional includes" of git-config(1).
class Reader {
 public:
  // `branch`: see branch_in().
  Reader(const GitFolder& git, std::string branch)
      : common_(git.common), git_folder_(real(git.own)), branch_(std::move(branch)) {}

  Settings read() {
    read_all();
    // The remotes are only known after a first complete read.
    if (asks_for_remotes_) read_all();
    return std::move(settings_);
  }

 private:
  void read_all() {
    remotes_.clear();
    for (const auto& [name, value] : settings_)
      if (name.starts_with("remote.") && name.ends_with(".url")) remotes_.push_back(value);
    settings_.clear();
    for (const auto& path : files_of_person()) file(path, 0);
    const std::string own = os::join(common_, "config");
    file(own, 0);
    if (is_true(own_settings(own), "extensions.worktreeconfig"))
      file(os::join(git_folder_, "config.worktree"), 0);
  }

  void file(const std::string& path, std::size_t depth) {
    if (depth > kIncludeDepthMax) return;
    for (const auto& one : own_settings(path)) {
      settings_.push_back(one);
      if (one.name == "include.path") include(one.value, path, depth);
      const auto rest = one.name.ends_with(".path") ? after("includeif.", one.name) : std::nullopt;
      if (rest && holds(rest->substr(0, rest->rfind('.')), path)) include(one.value, path, depth);
    }
  }

  void include(const std::string& value, const std::string& from, std::size_t depth) {
    const std::string path = in_home(value);
    file(path.starts_with('/') ? path : os::join(os::folder_of(from), path), depth + 1);
  }

  bool holds(const std::string& condition, const std::string& from) {
    if (const auto pattern = after("gitdir:", condition))
      return matches_parts(folder_pattern(*pattern, from), git_folder_);
    if (const auto pattern = after("gitdir/i:", condition))
      return matches_parts(in_small_letters(folder_pattern(*pattern, from)), in_small_letters(git_folder_));
    if (const auto pattern = after("onbranch:", condition))
      return !branch_.empty() && matches_parts(with_all_below(*pattern), branch_);
    const auto url = after("hasconfig:remote.*.url:", condition);
    asks_for_remotes_ = asks_for_remotes_ || url;
    return url &&
           std::ranges::any_of(remotes_, [&](const auto& remote) { return matches_parts(*url, remote); });
  }

  static std::string folder_pattern(const std::string& pattern, const std::string& from) {
    std::string out = pattern;
    if (pattern.starts_with("~/"))
      out = os::join(real(variable("HOME")), pattern.substr(2));
    else if (pattern.starts_with("./"))
      out = os::join(os::folder_of(real(from)), pattern.substr(2));
    else if (!pattern.starts_with('/'))
      out = "**/" + pattern;
    return with_all_below(std::move(out));
  }

  const std::string common_, git_folder_, branch_;
  Settings settings_;
  std::vector<std::string> remotes_;
  bool asks_for_remotes_ = false;
};

}  // namespace

Settings settings_of(git_repository& repository) {
  return Reader({.own = git_repository_path(&repository), .common = git_repository_commondir(&repository)},
                branch_in(repository))
      .read();
}

// Reftables leave no branch in the file HEAD.
Settings settings_of(const GitFolder& git) {
  const auto head = os::read_file(os::join(git.own, "HEAD"), kHeadBytesMax);
  const auto branch = head ? after("ref: refs/heads/", *head) : std::nullopt;
  return Reader(git, branch ? branch->substr(0, branch->find_last_not_of("\r\n") + 1) : "").read();
}

Settings own_settings(const std::string& file) {
  Settings out;
  git_start();
  git_config* raw = nullptr;
  if (!is_readable_file(file) || git_config_new(&raw) != 0) return out;
  const GitConfig config(raw);
  git_config_iterator* each = nullptr;
  if (git_config_add_file_ondisk(raw, file.c_str(), GIT_CONFIG_LEVEL_LOCAL, nullptr, 0) != 0 ||
      git_config_iterator_new(&each, raw) != 0)
    return out;
  const GitConfigIterator owner(each);
  for (git_config_entry* entry = nullptr; git_config_next(&entry, each) == 0;)
    if (entry->include_depth == 0)
      out.push_back({.name = entry->name, .value = entry->value == nullptr ? "true" : entry->value});
  return out;
}

std::string setting(const Settings& settings, std::string_view name) {
  for (const auto& one : settings | std::views::reverse)
    if (one.name == name) return one.value;
  return {};
}

bool is_true(const Settings& settings, std::string_view name) {
  int value = 0;
  return git_config_parse_bool(&value, setting(settings, name).c_str()) == 0 && value != 0;
}

std::string in_home(const std::string& path) {
  return path.starts_with("~/") ? os::join(variable("HOME"), path.substr(2)) : path;
}

std::string xdg_folder() {
  if (const auto folder = variable("XDG_CONFIG_HOME"); !folder.empty()) return os::join(folder, "git");
  const auto home = variable("HOME");
  return home.empty() ? "" : os::join(home, ".config/git");
}

}  // namespace pawl::workspace
