#include "executor/programs.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "base/lines.h"
#include "executor/from_host.h"
#include "os/file.h"
#include "os/process.h"
#include "plan/script.h"
#include "sandbox/environment.h"
#include "sandbox/inside.h"
#include "sandbox/shown.h"

namespace pawl::executor {
namespace {

constexpr std::size_t kCommandsMax = 2000;  // different ones; more of them repeat the same programs

// The host's folders that every sandbox shows (sandbox/namespace/mounts.cc).
constexpr std::array kShownByAll = {"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"};

// Folders of programs below a home, beside those of PATH. One that is followed by * stands for all in it.
constexpr std::array kOfHomes = {"bin",
                                 ".local/bin",
                                 ".cargo/bin",
                                 "go/bin",
                                 ".bun/bin",
                                 ".deno/bin",
                                 ".volta/bin",
                                 ".opencode/bin",
                                 ".nvm/versions/node/*/bin",
                                 ".pyenv/versions/*/bin",
                                 ".local/share/mise/installs/node/*/bin",
                                 ".asdf/installs/nodejs/*/bin"};
constexpr std::array kOfHosts = {"/opt/*/bin", "/opt/bin", "/snap/bin", "/home/linuxbrew/.linuxbrew/bin"};

// Folders with more than programs, of which a mount would show far too much.
constexpr std::array kTooWide = {".local", ".local/share", ".config", ".cache", ".cargo", "go"};

bool lies_at_or_below(const std::string& path, const std::string& folder) {
  return !folder.empty() && (path == folder || path.starts_with(folder + "/"));
}

// Whether a path lies in a folder that is empty when a step starts, whatever the host has there.
bool is_of_step(const std::string& path) {
  namespace inside = sandbox::inside;
  return std::ranges::any_of(
      std::array{inside::kTemporary, inside::kLargeFiles, inside::kRun, inside::kSharedMemory},
      [&](const char* place) { return lies_at_or_below(path, place); });
}

bool is_program(const std::string& path) {
  return os::is_regular_file(path) && access(path.c_str(), X_OK) == 0;
}

std::vector<std::string> split_path(const std::string& list) {
  std::vector<std::string> out;
  for (std::size_t start = 0; start <= list.size();) {
    const auto end = std::min(list.find(':', start), list.size());
    if (end > start) out.push_back(list.substr(start, end - start));
    start = end + 1;
  }
  return out;
}

// The folders of a pattern with one *, those with the highest names first: they are the newest versions.
void add_folders(const std::string& pattern, std::vector<std::string>& to) {
  const auto star = pattern.find("/*");
  if (star == std::string::npos) return to.push_back(pattern);
  auto names = os::list_folder(pattern.substr(0, star)).value_or(std::vector<std::string>());
  std::ranges::reverse(names);
  for (const auto& name : names)
    to.push_back(os::join(pattern.substr(0, star), name) + pattern.substr(star + 2));
}

// `path`, each link that it leads to, and its file at last; empty when there is none.
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

// The program of `#!/usr/bin/env node` or `#!/opt/python/bin/python3`, as it is looked for; "": no such line.
std::string interpreter_of(const std::string& program) {
  constexpr std::size_t kLineBytesMax = 256;  // Linux reads as many (BINPRM_BUF_SIZE)
  const os::UniqueFd fd(open(program.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text(fd ? kLineBytesMax : 0, '\0');
  const ssize_t got = fd ? read(fd.get(), text.data(), text.size()) : -1;
  text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  if (!text.starts_with("#!")) return {};
  std::vector<std::string> words;
  const auto line = first_line(text);
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

class Host {
 public:
  explicit Host(const plan::Common& plan) : home_(os::environment_value("HOME").value_or("")) {
    for (const auto& mount : mounts_without_content(plan)) {
      mounts_.push_back(mount);
      for (const auto& folder : bins_of_mount(mount)) inside_.push_back(folder.on_host);
    }
    for (auto& folder : split_path(sandbox::path_inside().substr(std::string_view("PATH=").size())))
      inside_.push_back(std::move(folder));
    folders_ = split_path(os::environment_value("PATH").value_or(""));
    std::erase_if(folders_,
                  [](const auto& folder) { return !folder.starts_with('/') || folder.ends_with("/shims"); });
    if (home_.starts_with('/'))
      for (const char* below : kOfHomes) add_folders(os::join(home_, below), folders_);
    for (const char* folder : kOfHosts) add_folders(folder, folders_);
  }

  // Whether a step finds the program, or could have it at a place that Pawl does not know yet.
  bool is_seen(const std::string& name) const {
    if (name.find('/') == std::string::npos)
      return std::ranges::any_of(inside_,
                                 [&](const auto& folder) { return is_shown(os::join(folder, name)); });
    if (!name.starts_with('/')) return true;  // a file of the workspace
    namespace inside = sandbox::inside;
    for (const char* place : {inside::kWorkspace, inside::kPlan, inside::kPawl})
      if (lies_at_or_below(name, place)) return true;
    return is_of_step(name) || is_shown_at(name);
  }

  // Whether this host has it where each step has an empty folder of its own. Only a step that makes it finds it.
  bool is_hidden(const std::string& name) const {
    return is_of_step(name) && is_program(name) && !is_shown_at(name);
  }

  // Where this host has it; "" when it is nowhere that was looked.
  std::string find(const std::string& name) const {
    if (name.starts_with('/')) return is_program(name) ? name : "";
    for (const auto& folder : folders_)
      if (auto path = os::join(folder, name); is_program(path)) return path;
    return {};
  }

  ProgramPlace place_of(const std::string& name, bool hidden = false) const {
    ProgramPlace out{.host_path = find(name), .is_seen = !hidden && is_seen(name), .mounts = {}};
    if (out.is_seen || out.host_path.empty()) return out;
    add_mounts(out.host_path, out);
    if (!out.mounts.empty()) add_interpreter(out.host_path, out);
    return out;
  }

 private:
  // Names what would show the program at `path`, and all that links there lead to.
  void add_mounts(const std::string& path, ProgramPlace& to) const {
    std::vector<std::string> tops;
    const auto is_covered = [&](const std::string& place) {
      return is_below_shown(place) || std::ranges::any_of(tops, [&](const std::string& top) {
               return lies_at_or_below(place, top) ||
                      lies_at_or_below(place, os::absolute_path(top).value_or(top));
             });
    };
    for (const auto& place : places_on_the_way(path)) {
      if (is_covered(place)) continue;
      tops.push_back(shown_around(place));
      if (tops.back().empty()) return;
    }
    const std::string top = is_below_shown(path) || tops.empty() ? "" : tops.front();
    to.is_in_path = top.empty() || top.ends_with("/bin") || path.starts_with(top + "/bin/");
    for (const auto& each : tops) to.mounts.push_back(spelled(each));
  }

  // A script of npm or pip starts with a line that names Node or Python, perhaps in another folder.
  void add_interpreter(const std::string& program, ProgramPlace& to) const {
    const auto name = interpreter_of(program);
    // The line names a place of this host, also below /tmp, where a step has files of its own.
    const bool is_there = name.starts_with('/') ? is_shown_at(name) : is_seen(name);
    const auto path = name.empty() || is_there ? std::string() : find(name);
    if (path.empty() || std::ranges::any_of(to.mounts, [&](const auto& mount) {
          return spelled(path) == mount || spelled(path).starts_with(mount + "/");
        }))
      return;
    ProgramPlace interpreter;
    add_mounts(path, interpreter);
    for (auto& mount : interpreter.mounts)
      if (std::ranges::find(to.mounts, mount) == to.mounts.end()) to.mounts.push_back(std::move(mount));
  }

  // Whether a step sees a program at that absolute path.
  bool is_shown_at(const std::string& path) const {
    for (const auto& mount : mounts_)
      if (lies_at_or_below(path, mount.dst)) return is_shown(mount.src + path.substr(mount.dst.size()));
    return is_shown(path);
  }

  // A program of the host that a step sees, with each link on the way to its file.
  bool is_shown(const std::string& path) const {
    if (!is_program(path)) return false;
    const auto places = places_on_the_way(path);
    return !places.empty() && std::ranges::all_of(places, [&](const std::string& place) {
      return is_below_shown(place) || std::ranges::any_of(mounts_, [&](const auto& mount) {
               return lies_at_or_below(place, mount.src);
             });
    });
  }

  static bool is_below_shown(const std::string& path) {
    return std::ranges::any_of(kShownByAll, [&](const char* base) { return lies_at_or_below(path, base); });
  }

  bool is_too_wide(const std::string& folder) const {
    return std::ranges::any_of(kTooWide, [&](const char* below) { return folder == os::join(home_, below); });
  }

  // The widest of these that may be shown: the outermost node_modules, because packages of npm load others
  // that lie beside them; the folder around `bin`, the file's folder, the file. "": none.
  std::string shown_around(const std::string& path) const {
    constexpr std::string_view kPackages = "/node_modules";
    const std::string folder = os::folder_of(path);
    std::vector<std::string> tops;
    if (const auto at = path.find(std::string(kPackages) + "/"); at != std::string::npos)
      tops.push_back(path.substr(0, at + kPackages.size()));
    if (folder.ends_with("/bin")) tops.push_back(os::folder_of(folder));
    tops.push_back(folder);
    tops.push_back(path);
    for (const auto& top : tops)
      if (!is_too_wide(top) && top != "/opt" && sandbox::check_shown(top)) return top;
    return {};
  }

  std::string spelled(const std::string& path) const {
    return home_.starts_with('/') && path.starts_with(home_ + "/") ? "~" + path.substr(home_.size()) : path;
  }

  const std::string home_;
  std::vector<sandbox::CopyIn> mounts_;
  std::vector<std::string> inside_;   // PATH of a step, by the host's folders
  std::vector<std::string> folders_;  // where people have programs
};

struct Command {
  const std::vector<std::string>* argv;
  std::string user;
  plan::Place at;
};

void add_gates(const plan::Plan& plan, std::vector<Command>& to) {
  for (const auto& [name, gate] : plan.gates) {
    const auto add = [&](const std::vector<plan::Step>& steps) {
      for (const auto& step : steps)
        to.push_back(
            {.argv = &step.argv, .user = "step " + step.name + " of gate " + name, .at = gate.signals_at});
    };
    add(gate.steps);
    for (const auto& [number, steps] : gate.overrides) add(steps);
  }
}

std::vector<Command> commands_of(const plan::Plan& plan) {
  std::vector<Command> out;
  for (const auto& tier : plan.tiers)
    for (const auto& phase : tier.phases) {
      out.push_back({.argv = &phase.agent.argv, .user = "agent of phase " + phase.id, .at = {}});
      if (!phase.resume.probe.empty())
        out.push_back({.argv = &phase.resume.probe, .user = "probe of phase " + phase.id, .at = {}});
    }
  add_gates(plan, out);
  if (plan.doctor) out.push_back({.argv = &plan.doctor->step.argv, .user = "doctor", .at = {}});
  if (plan.replan) out.push_back({.argv = &plan.replan->step.argv, .user = "replan", .at = {}});
  return out;
}

}  // namespace

std::vector<ProgramPlace> find_programs(const std::vector<std::string>& names) {
  const plan::Common no_mounts;
  const Host host(no_mounts);
  std::vector<ProgramPlace> out;
  for (const auto& name : names) out.push_back(host.place_of(name));
  return out;
}

std::vector<UnseenProgram> unseen_programs(const plan::Plan& plan) {
  const Host host(plan);
  std::vector<UnseenProgram> out;
  std::set<std::pair<std::string, bool>> looked_up;
  std::set<std::vector<std::string>> read;
  for (const auto& command : commands_of(plan)) {
    if (read.size() == kCommandsMax) break;
    if (!read.insert(*command.argv).second) continue;
    const auto first = plan::first_program_of(*command.argv);
    for (const auto& name : plan::programs_of(*command.argv)) {
      // A later one may have been made by those before it.
      const bool hidden = name == first && host.is_hidden(name);
      if (!looked_up.emplace(name, hidden).second || (!hidden && host.is_seen(name))) continue;
      out.push_back(
          {.name = name, .user = command.user, .at = command.at, .place = host.place_of(name, hidden)});
    }
  }
  return out;
}

bool can_be_used(const ProgramPlace& place) {
  return place.is_seen || (place.is_in_path && !place.mounts.empty());
}

Result<std::vector<std::string>> mounts_for(const plan::Plan& plan) {
  std::set<std::string> of_agents;
  for (const auto& tier : plan.tiers)
    for (const auto& phase : tier.phases)
      for (auto& name : plan::programs_of(phase.agent.argv)) of_agents.insert(std::move(name));
  std::vector<std::string> out;
  for (const auto& [name, user, at, place] : unseen_programs(plan)) {
    if (!can_be_used(place) && of_agents.contains(name))
      return fail(
          ErrorKind::kNotFound,
          name + (place.host_path.empty() ? " is not on this machine"
                                          : " lies where no step may see it: install it below /usr/local"));
    std::ranges::copy_if(place.mounts, std::back_inserter(out),
                         [&](const auto& mount) { return std::ranges::find(out, mount) == out.end(); });
  }
  return out;
}

std::string program_on_host(const std::string& name) {
  if (name.starts_with('/')) return is_program(name) ? name : "";
  for (const auto& folder : split_path(os::environment_value("PATH").value_or("")))
    if (auto path = os::join(folder, name); is_program(path)) return path;
  return {};
}

}  // namespace pawl::executor
