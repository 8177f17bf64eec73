#include "executor/program_folders.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>

#include "base/lines.h"
#include "os/file.h"
#include "os/process.h"

namespace pawl::executor {
namespace {

// Folders of programs below a home. A * stands for all names in a folder.
constexpr std::array kOfHomes = {"bin",
                                 ".local/bin",
                                 ".cargo/bin",
                                 "go/bin",
                                 ".bun/bin",
                                 ".deno/bin",
                                 ".opencode/bin",
                                 ".npm-global/bin",
                                 ".npm-packages/bin",
                                 ".yarn/bin",
                                 "n/bin",
                                 ".claude/local/node_modules/.bin",
                                 ".linuxbrew/bin",
                                 ".nix-profile/bin",
                                 ".guix-profile/bin",
                                 ".nvm/versions/node/*/bin",
                                 ".config/nvm/versions/node/*/bin",
                                 ".local/share/fnm/node-versions/*/installation/bin",
                                 ".fnm/node-versions/*/installation/bin",
                                 ".volta/tools/image/packages/*/bin",
                                 ".volta/tools/image/packages/*/*/bin",
                                 ".volta/tools/image/node/*/bin",
                                 ".local/share/pnpm",
                                 ".local/share/pnpm/bin",
                                 ".pyenv/versions/*/bin",
                                 ".nodenv/versions/*/bin",
                                 ".proto/tools/*/*/bin",
                                 ".asdf/installs/*/*/bin",
                                 ".local/share/mise/installs/*/*/bin",
                                 ".local/share/mise/installs/*/*",
                                 ".local/share/uv/tools/*/bin",
                                 ".local/share/pipx/venvs/*/bin"};
// Folders of Conda below a home: programs, and environments with programs.
constexpr std::array kCondas = {"miniconda3", "anaconda3", "miniforge3", "mambaforge", ".conda"};
// The same in the folder of a version manager, whose shims find out at each start which version they start.
constexpr std::array kBesideShims = {"versions/*/bin", "installs/*/*/bin", "installs/*/*", "tools/*/*/bin"};
constexpr std::array kOfHosts = {"/opt/*/bin", "/opt/bin", "/home/linuxbrew/.linuxbrew/bin",
                                 "/nix/var/nix/profiles/default/bin"};
// Stores of Nix and Guix.
constexpr std::array kStores = {"/nix/store", "/gnu/store"};

constexpr std::string_view kShims = "/shims";

std::string store_around(const std::string& path) {
  for (const std::string store : kStores)
    if (const auto at = path.find(store + "/"); at != std::string::npos)
      return path.substr(0, at + store.size());
  return {};
}

class Folders {
 public:
  Folders() : home_(os::environment_value("HOME").value_or("")) {
    if (!home_.starts_with('/')) home_.clear();
    if (!home_.empty()) real_home_ = os::absolute_path(home_).value_or("");
  }

  void add_path() {
    for (const auto& folder : split_path(os::environment_value("PATH").value_or(""))) {
      if (!folder.starts_with('/')) continue;
      if (!folder.ends_with(kShims)) {
        add(folder);
        continue;
      }
      for (const char* below : kBesideShims)
        add_matches(os::join(folder.substr(0, folder.size() - kShims.size()), below));
    }
  }

  void add_known() {
    if (!home_.empty()) {
      for (const char* below : kOfHomes) add_matches(os::join(home_, below));
      for (const char* below : kCondas)
        for (const char* programs : {"bin", "envs/*/bin"})
          add_matches(os::join(os::join(home_, below), programs));
    }
    for (const char* folder : kOfHosts) add_matches(folder);
  }

  // A folder that is reached by a link may be another one tomorrow, as the one that fnm makes for each shell.
  void add(const std::string& folder) {
    auto real = os::absolute_path(folder);
    if (!real) return;
    // A profile of Nix is a link into the store. Only as the link can a mount have it beside the store.
    if (!store_around(*real).empty()) *real = folder;
    if (!real_home_.empty() && real->starts_with(real_home_ + "/"))
      *real = home_ + real->substr(real_home_.size());
    if (std::ranges::find(found, *real) == found.end()) found.push_back(*std::move(real));
  }

  std::vector<std::string> found;

 private:
  void add_matches(const std::string& pattern) {
    const auto star = pattern.find("/*");
    if (star == std::string::npos) return add(pattern);
    const std::string parent = pattern.substr(0, star);
    auto names = os::list_folder(parent).value_or(std::vector<std::string>());
    std::ranges::sort(names,
                      [](const auto& a, const auto& b) { return strverscmp(a.c_str(), b.c_str()) > 0; });
    for (const auto& name : names) add_matches(os::join(parent, name) + pattern.substr(star + 2));
  }

  std::string home_, real_home_;
};

std::string start_of(const std::string& path) {
  constexpr std::size_t kBytesMax = 16 << 10;  // a shim of pnpm has 6 KiB
  const os::UniqueFd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text(fd ? kBytesMax : 0, '\0');
  const ssize_t got = fd ? read(fd.get(), text.data(), text.size()) : -1;
  text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return text;
}

// The program of `#!/usr/bin/env node` or `#!/opt/python/bin/python3`, as it is looked for; "": no such line.
std::string interpreter_of(const std::string& text) {
  constexpr std::size_t kLineBytesMax = 256;  // Linux reads as many (BINPRM_BUF_SIZE)
  if (!text.starts_with("#!")) return {};
  const auto line = first_line(text).substr(0, kLineBytesMax);
  std::vector<std::string> words;
  for (std::size_t at = 2; at < line.size();) {
    const auto end = std::min(line.find_first_of(" \t", at), line.size());
    if (end > at) words.emplace_back(line.substr(at, end - at));
    at = end + 1;
  }
  if (words.empty()) return {};
  std::size_t first = words[0].ends_with("/env") ? 1 : 0;
  if (first == 1 && words.size() > 1 && words[1] == "-S") first = 2;
  return first < words.size() ? words[first] : "";
}

// Adds what the last line `exec node "$basedir/../pkg/cli.js" "$@"` of a shim names. pnpm writes such scripts where npm
// makes links. Its newer versions write "$basedir_abs"/'../pkg/cli.js'.
void add_of_shim(const std::string& text, const std::string& folder, std::vector<std::string>& to) {
  constexpr std::string_view kExec = "exec ", kFolder = "$basedir";
  const auto start = text.rfind(kExec);
  if (start == std::string::npos || text.find("basedir=") == std::string::npos) return;
  const auto line = first_line(std::string_view(text).substr(start + kExec.size()));
  const auto at = line.find(kFolder);
  const auto slash = at == line.npos ? at : line.find('/', at);
  if (slash == line.npos) return;
  std::string below;
  for (const char c : line.substr(slash)) {
    if (c == ' ') break;
    if (c != '"' && c != '\'') below += c;
  }
  if (const auto program = line.substr(0, line.find(' ')); program.find('$') == program.npos)
    to.emplace_back(program);
  to.push_back(std::filesystem::path(folder + below).lexically_normal());
}

// The program of the last line `exec "/opt/tool/bin/tool" "$@"` of a shell's script; "": there is none. A
// local install of Claude Code has such a script.
std::string started_by_script(const std::string& text) {
  constexpr std::string_view kExec = "exec ";
  const auto start = text.rfind(kExec);
  if (start == std::string::npos) return {};
  auto line = first_line(std::string_view(text).substr(start + kExec.size()));
  const bool is_quoted = line.starts_with('"') || line.starts_with('\'');
  const char end = is_quoted ? line.front() : ' ';
  if (is_quoted) line.remove_prefix(1);
  std::string path(line.substr(0, line.find(end)));
  return path.starts_with('/') && is_program(path) ? path : "";
}

// Adds the Python of a virtual environment, and the one that it was made of, where its library lies.
void add_of_environment(const std::string& folder, std::vector<std::string>& to) {
  constexpr std::string_view kHome = "home = ";
  const auto settings = start_of(os::join(os::folder_of(folder), "pyvenv.cfg"));
  for (const auto line : TextLines(settings)) {
    if (!line.starts_with(kHome)) continue;
    to.push_back(os::join(folder, "python"));
    to.push_back(os::join(std::string(line.substr(kHome.size())), "python3"));
  }
}

// Adds what the program needs. Returns the one that it starts in its own place; "": none.
std::string add_needed_by(const std::string& program, std::vector<std::string>& to) {
  const std::string real = os::absolute_path(program).value_or(program);
  const std::string text = start_of(real);
  std::string next;
  if (const auto name = interpreter_of(text); !name.empty()) {
    to.push_back(name);
    add_of_shim(text, os::folder_of(real), to);
    if (name.ends_with("sh")) next = started_by_script(text);
    if (!next.empty()) to.push_back(next);
  }
  add_of_environment(os::folder_of(real), to);
  return next;
}

}  // namespace

std::vector<std::string> split_path(const std::string& list) {
  std::vector<std::string> out;
  for (std::size_t start = 0; start <= list.size();) {
    const auto end = std::min(list.find(':', start), list.size());
    if (end > start) out.push_back(list.substr(start, end - start));
    start = end + 1;
  }
  return out;
}

std::vector<std::string> program_folders(const std::string& source) {
  Folders folders;
  folders.add_path();
  folders.add_known();
  if (!source.empty()) folders.add(os::join(source, "node_modules/.bin"));
  return std::move(folders.found);
}

bool is_program(const std::string& path) {
  return os::is_regular_file(path) && access(path.c_str(), X_OK) == 0;
}

bool is_startable(const std::string& path) {
  const auto real = os::absolute_path(path).value_or("");
  return is_program(path) && !real.ends_with("/volta-shim") && !real.ends_with("/snap");
}

std::string whole_around(const std::string& path) {
  if (auto store = store_around(path); !store.empty()) return store;
  for (auto folder = os::folder_of(path); folder.size() > 1; folder = os::folder_of(folder))
    if (os::is_folder(os::join(folder, "conda-meta"))) return folder;
  return {};
}

std::vector<std::string> places_on_the_way(const std::string& path) {
  constexpr int kLinksMax = 40;  // as many as Linux follows
  const auto real = os::absolute_path(path);
  if (!real) return {};
  std::vector<std::string> out = {path};
  for (int i = 0; i < kLinksMax; ++i) {
    std::error_code error;
    const std::filesystem::path link = out.back();
    const auto target = std::filesystem::read_symlink(link, error);
    if (error) break;
    // A relative target begins in the folder where the link lies in fact.
    const auto folder = os::absolute_path(link.parent_path());
    if (!folder) break;
    out.push_back((std::filesystem::path(*folder) / target).lexically_normal());
  }
  if (out.back() != *real) out.push_back(*real);
  return out;
}

std::vector<std::string> needed_by(const std::string& program) {
  constexpr int kScriptsMax = 4;  // each may start the next
  std::vector<std::string> out;
  std::string at = program;
  for (int i = 0; i < kScriptsMax && !at.empty(); ++i) at = add_needed_by(at, out);
  return out;
}

}  // namespace pawl::executor
