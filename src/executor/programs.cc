#include "executor/programs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "executor/from_host.h"
#include "executor/program_folders.h"
#include "os/file.h"
#include "os/process.h"
#include "plan/mounts_text.h"
#include "plan/profile.h"
#include "plan/script.h"
#include "sandbox/environment.h"
#include "sandbox/inside.h"
#include "sandbox/shown.h"

namespace pawl::executor {
namespace {

constexpr std::size_t kCommandsMax = 2000;  // different ones; more of them repeat the same programs

// The host's folders that every sandbox shows (sandbox/namespace/mounts.cc), and that of /etc with links only.
constexpr std::array kShownByAll = {"/usr",   "/bin",   "/sbin",   "/lib",
                                    "/lib32", "/lib64", "/libx32", "/etc/alternatives"};

// Folders below a home with more than programs, of which a mount would show far too much. The folders of
// agent programs have sessions, and sooner or later a login.
constexpr std::array kTooWide = {
    ".local",
    ".local/share",
    ".local/share/opencode",
    ".local/share/pnpm",
    ".config",
    ".cache",
    ".cargo",
    ".claude",
    ".codex",
    ".gemini",
    ".openhands",
    ".pi",
    ".pi/agent",
    ".proto",
    ".qwen",
    "go",
};

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

bool is_link(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_symlink(path, error);
}

// Whether steps find the program at `path` by its name when they see `top` at its own place. A link that is a mount
// of its own is the file that it leads to: its neighbours are not beside it then.
bool is_in_path(const std::string& path, const std::string& top) {
  if (path == top && is_link(path)) return false;
  const auto bins = bins_of_mount({.src = os::absolute_path(top).value_or(top), .dst = top});
  const auto folder = os::folder_of(path);
  return std::ranges::find(bins.first, folder) != bins.first.end() ||
         std::ranges::find(bins.last, folder) != bins.last.end();
}

// Where the packages begin among which `path` lies: they load others that lie beside them. npm and pnpm have
// node_modules, pnpm also .pnpm and, for all projects, links/@. "": `path` lies in none.
std::string packages_around(const std::string& path) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kPackages = {
      {{"/node_modules", "/"}, {"/.pnpm", "/"}, {"/links", "/@"}}};
  auto first = std::string::npos;
  std::string out;
  for (const auto& [folder, behind] : kPackages) {
    const auto at = path.find(std::string(folder) + std::string(behind));
    if (at >= first) continue;
    first = at;
    out = path.substr(0, at + folder.size());
  }
  return out;
}

// Whether `folder` is the prefix of an installation, or of this program: its `bin` needs what lies beside it. Another
// folder with a `bin`, such as ~/code, has much that no step should see.
bool is_prefix_of(const std::string& folder, const std::string& path) {
  constexpr std::array kParts = {"lib", "lib64", "libexec", "share", "include", "node_modules", "pyvenv.cfg"};
  const auto has = [&](const char* part) { return os::exists(os::join(folder, part)); };
  const auto real = os::absolute_path(path), real_folder = os::absolute_path(folder);
  const bool leads_beside = real && real_folder && lies_at_or_below(*real, *real_folder) &&
                            !lies_at_or_below(*real, os::join(*real_folder, "bin"));
  return leads_beside || std::ranges::any_of(kParts, has);
}

// Folders and files that show the program at `path`, the widest first.
std::vector<std::string> tops_around(const std::string& path) {
  if (auto whole = whole_around(path); !whole.empty()) return {std::move(whole)};
  std::vector<std::string> out;
  if (auto packages = packages_around(path); !packages.empty()) out.push_back(std::move(packages));
  const std::string folder = os::folder_of(path);
  if (folder.ends_with("/bin") && is_prefix_of(os::folder_of(folder), path))
    out.push_back(os::folder_of(folder));
  out.push_back(folder);
  out.push_back(path);
  return out;
}

class Host {
 public:
  // `source`: the project of the plan, on this host; "": none.
  Host(const plan::Common& plan, const std::string& source)
      : home_(os::environment_value("HOME").value_or("")),
        mounts_(mounts_without_content(plan)),
        folders_(program_folders(source)) {
    std::vector<std::string> last;
    for (const auto& mount : mounts_) {
      auto bins = bins_of_mount(mount);
      std::ranges::move(bins.first, std::back_inserter(inside_));
      std::ranges::move(bins.last, std::back_inserter(last));
    }
    std::ranges::move(split_path(sandbox::path_inside().substr(std::string_view("PATH=").size())),
                      std::back_inserter(inside_));
    std::ranges::move(last, std::back_inserter(inside_));
  }

  // Whether a step finds the program, or could have it at a place that Pawl does not know yet.
  bool is_seen(const std::string& name) const {
    if (name.find('/') == std::string::npos)
      return std::ranges::any_of(inside_,
                                 [&](const auto& folder) { return is_shown_at(os::join(folder, name)); });
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

  // The first place where this host has it, and that steps can be shown; else the first place.
  ProgramPlace place_of(const std::string& name, bool hidden = false) const {
    const auto paths = places_on_host(name);
    ProgramPlace out{.host_path = paths.empty() ? "" : paths.front(), .is_seen = !hidden && is_seen(name)};
    if (out.is_seen || paths.empty()) return out;
    out = place_at(paths.front(), !name.starts_with('/'));
    for (std::size_t i = 1; i < paths.size() && !can_be_used(out); ++i)
      if (auto other = place_at(paths[i], true); can_be_used(other)) out = std::move(other);
    return out;
  }

  // Whether a command needs the program, and no step finds it.
  bool lacks(const std::vector<std::string>& argv, const std::string& name) const {
    if (is_seen(name)) return false;
    return std::ranges::any_of(plan::programs_of(argv), [&](const auto& program) {
      if (program == name) return true;
      const auto paths = places_on_host(program);
      const auto needed = paths.empty() ? std::vector<std::string>() : needed_by(paths.front());
      return std::ranges::find(needed, name) != needed.end();
    });
  }

 private:
  // `by_name`: steps are to find it in PATH.
  ProgramPlace place_at(const std::string& path, bool by_name) const {
    ProgramPlace out{.host_path = path};
    std::vector<std::string> tops;
    if (!add_tops(path, by_name, tops)) return out;
    out.is_in_path = !by_name || has_in_path(path, tops);
    for (const auto& needed : needed_by(path)) add_needed(needed, tops);
    for (const auto& top : tops) out.mounts.push_back(spelled(top));
    return out;
  }

  std::vector<std::string> places_on_host(const std::string& name) const {
    std::vector<std::string> out;
    if (name.starts_with('/')) {
      if (is_program(name)) out.push_back(name);
      return out;
    }
    for (const auto& folder : folders_)
      if (auto path = os::join(folder, name); is_startable(path)) out.push_back(std::move(path));
    return out;
  }

  // Adds what would show the program at `path`, and all that links there lead to. `by_name`: in PATH, where that can
  // be. False: a part of it may not be shown.
  bool add_tops(const std::string& path, bool by_name, std::vector<std::string>& tops) const {
    const auto places = places_on_the_way(path);
    for (std::size_t i = 0; i < places.size(); ++i) {
      const bool by_folder = i > 0 && !is_link(places[i - 1]);
      if (is_covered(places[i], tops, by_folder)) continue;
      auto top = shown_around(places[i], tops, by_name && i == 0);
      if (top.empty()) return false;
      tops.push_back(std::move(top));
    }
    return true;
  }

  // `by_folder`: the place before leads here because a folder on its way is a link. When that one is a mount, or lies
  // above a mount, the mount has the file.
  bool is_covered(const std::string& place, const std::vector<std::string>& tops, bool by_folder) const {
    const auto whole = whole_around(place);
    const auto& needed = whole.empty() ? place : whole;
    return is_below_shown(place) ||
           std::ranges::any_of(
               tops,
               [&](const std::string& top) {
                 return lies_at_or_below(place, top) ||
                        (by_folder && lies_at_or_below(needed, os::absolute_path(top).value_or(top)));
               }) ||
           std::ranges::any_of(mounts_, [&](const auto& mount) {
             return lies_at_or_below(place, mount.dst) &&
                    os::absolute_path(mount.dst).value_or("") == mount.src;
           });
  }

  // The widest that may be shown, lies apart from `tops`, and has the program in PATH, where that is asked and one
  // can. "": none may be shown.
  std::string shown_around(const std::string& path, const std::vector<std::string>& tops,
                           bool by_name) const {
    std::vector<std::string> around = tops_around(path);
    std::erase_if(around, [&](const std::string& top) {
      return is_too_wide(top) ||
             std::ranges::any_of(tops, [&](const auto& other) { return lies_at_or_below(other, top); });
    });
    if (by_name)
      std::ranges::stable_partition(around, [&](const auto& top) { return is_in_path(path, top); });
    const auto found = std::ranges::find_if(
        around, [](const std::string& top) { return sandbox::check_shown(top).has_value(); });
    return found == around.end() ? "" : *found;
  }

  // A script of npm or pip needs Node or Python, perhaps of another folder.
  void add_needed(const std::string& name, std::vector<std::string>& tops) const {
    // The line names a place of this host, also below /tmp, where a step has files of its own.
    const bool by_name = !name.starts_with('/');
    if (by_name ? is_seen(name) : is_shown_at(name)) return;
    const auto path = by_name ? find_beside(name, tops) : name;
    auto more = tops;
    if (!path.empty() && add_tops(path, by_name, more)) tops = std::move(more);
  }

  // The program that the mounts `tops` have in PATH, else the one of this host.
  std::string find_beside(const std::string& name, const std::vector<std::string>& tops) const {
    for (const auto& top : tops)
      for (const auto& path : {os::join(top, name), os::join(os::join(top, "bin"), name)})
        if (is_program(path) && is_in_path(path, top)) return path;
    const auto paths = places_on_host(name);
    return paths.empty() ? "" : paths.front();
  }

  bool has_in_path(const std::string& path, const std::vector<std::string>& tops) const {
    return std::ranges::find(inside_, os::folder_of(path)) != inside_.end() ||
           std::ranges::any_of(tops, [&](const auto& top) { return is_in_path(path, top); });
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
    return folder == "/opt" ||
           std::ranges::any_of(kTooWide, [&](const char* below) { return folder == os::join(home_, below); });
  }

  std::string spelled(const std::string& path) const {
    return home_.starts_with('/') && path.starts_with(home_ + "/") ? "~" + path.substr(home_.size()) : path;
  }

  const std::string home_;
  const std::vector<sandbox::CopyIn> mounts_;
  std::vector<std::string> inside_;         // PATH of a step
  const std::vector<std::string> folders_;  // where people have programs
};

struct Command {
  const std::vector<std::string>* argv;
  std::string user;
  plan::Place at;
  bool is_known = false;  // its program is an agent's, which the plan names by `use` or `acp`
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
      out.push_back({.argv = &phase.agent.argv,
                     .user = "agent of phase " + phase.id,
                     .at = {},
                     .is_known = plan::is_of_profile(phase.agent.argv)});
      if (!phase.resume.probe.empty())
        out.push_back({.argv = &phase.resume.probe, .user = "probe of phase " + phase.id, .at = {}});
    }
  add_gates(plan, out);
  if (plan.doctor) out.push_back({.argv = &plan.doctor->step.argv, .user = "doctor", .at = {}});
  if (plan.replan) out.push_back({.argv = &plan.replan->step.argv, .user = "replan", .at = {}});
  return out;
}

// How a profile of the plan says that its program is installed; "": none says it.
std::string install_of(const plan::Plan& plan, const std::string& program) {
  for (const auto& [name, text] : plan.profiles) {
    const auto profile = plan::parse_profile(text, name).profile;
    if (profile && profile->program() == program) return profile->install;
  }
  return {};
}

// Why a program is not found, and what to do.
std::string why_unseen(const ProgramPlace& place, const std::string& install) {
  if (place.host_path.empty())
    return ", nor is it on this machine: " +
           (install.empty() ? "install it below /usr, or show the folder that it lies in with `mounts`"
                            : "`" + install + "` installs it");
  const std::string mounts = plan::mounts_text(place.mounts);
  const std::string at = ": it lies at " + place.host_path;
  if (mounts.empty() && place.is_in_path)
    return at + ", and no folder around it may be shown: install it below /usr/local";
  const std::string add = mounts.empty() ? "" : ". Add to the plan: `" + mounts + "`";
  return at + add +
         (place.is_in_path ? "" : ", and name it by that path, or make a link to it in ~/.local/bin");
}

}  // namespace

std::vector<ProgramPlace> find_programs(const std::vector<std::string>& names, const std::string& source) {
  const plan::Common no_mounts;
  const Host host(no_mounts, source);
  std::vector<ProgramPlace> out;
  for (const auto& name : names) out.push_back(host.place_of(name));
  return out;
}

std::vector<UnseenProgram> unseen_programs(const plan::Plan& plan, const std::string& source) {
  const Host host(plan, source);
  std::vector<UnseenProgram> out;
  std::set<std::tuple<std::string, bool, bool>> looked_up;
  std::set<std::vector<std::string>> read;
  for (const auto& command : commands_of(plan)) {
    if (read.size() == kCommandsMax) break;
    if (!read.insert(*command.argv).second) continue;
    const auto first = plan::first_program_of(*command.argv);
    for (const auto& name : plan::programs_of(*command.argv)) {
      // A later one may have been made by those before it.
      const bool hidden = name == first && host.is_hidden(name);
      if (!looked_up.emplace(name, hidden, command.is_known).second || (!hidden && host.is_seen(name)))
        continue;
      out.push_back({.name = name,
                     .user = command.user,
                     .at = command.at,
                     .place = host.place_of(name, hidden),
                     .is_certain = command.is_known,
                     .install = command.is_known ? install_of(plan, name) : ""});
    }
  }
  return out;
}

std::string text_of(const UnseenProgram& unseen) {
  return unseen.user + " starts " + unseen.name + ", which no step finds" +
         why_unseen(unseen.place, unseen.install);
}

std::string why_absent(const plan::Common& plan, const std::vector<std::string>& argv,
                       const std::string& name) {
  const Host host(plan, plan.source_folder);
  if (!host.lacks(argv, name)) return {};
  return name + ", which its command needs, is not in the sandbox" + why_unseen(host.place_of(name), "");
}

bool can_be_used(const ProgramPlace& place) {
  return place.is_seen || (place.is_in_path && !place.mounts.empty());
}

std::string why_not_usable(const ProgramPlace& place) {
  return place.mounts.empty() ? "its folder may not be shown to a step: install it below /usr/local"
                              : "no mount puts it into PATH of a step: make a link to it in ~/.local/bin";
}

Result<std::vector<std::string>> mounts_for(const plan::Plan& plan, const std::string& source) {
  std::set<std::string> of_agents;
  for (const auto& tier : plan.tiers)
    for (const auto& phase : tier.phases)
      for (auto& name : plan::programs_of(phase.agent.argv)) of_agents.insert(std::move(name));
  std::vector<std::string> out;
  for (const auto& unseen : unseen_programs(plan, source)) {
    const auto& place = unseen.place;
    if (!can_be_used(place) && of_agents.contains(unseen.name))
      return fail(ErrorKind::kNotFound,
                  place.host_path.empty()
                      ? unseen.name + " is not on this machine" +
                            (unseen.install.empty() ? "" : "; `" + unseen.install + "` installs it")
                      : unseen.name + ": " + why_not_usable(place));
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
