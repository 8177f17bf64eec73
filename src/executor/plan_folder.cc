#include "executor/plan_folder.h"

#include <fcntl.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <set>

#include "base/glob.h"
#include "base/private_names.h"
#include "executor/mentions.h"
#include "os/defences.h"
#include "os/file.h"
#include "os/process.h"
#include "os/state_folder.h"
#include "workspace/state_folders.h"

namespace pawl::executor {
namespace {

constexpr std::size_t kPlanFilesMax = 100'000;

constexpr std::size_t kSearchedBytes = 64 << 10;  // certificates and comments may come before a key

// Checks the content, whatever the name.
bool file_has_private_key(const std::string& path) {
  const os::UniqueFd fd(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  std::string text(fd ? kSearchedBytes : 0, '\0');
  const ssize_t got = fd ? read(fd.get(), text.data(), text.size()) : -1;
  return has_private_key(std::string_view(text).substr(0, got < 0 ? 0 : static_cast<std::size_t>(got)));
}

bool is_private(const std::string& folder, const std::string& path) {
  for (std::size_t start = 0; start <= path.size();) {
    const auto end = std::min(path.find('/', start), path.size());
    const std::string above = path.substr(0, end);
    if (may_be_key_name(above) || os::is_state_folder(os::join(folder, above))) return true;
    start = end + 1;
  }
  return file_has_private_key(os::join(folder, path));
}

bool is_at_or_below(const std::string& path, const std::string& folder) {
  return path == folder || path.starts_with(folder == "/" ? folder : folder + "/");
}

// A home, or a folder that is shared between users and belongs to no plan.
bool is_shared_folder(const std::string& folder) {
  for (const auto* shared : {"/", "/tmp", "/var/tmp", "/root", "/home"})
    if (folder == shared) return true;
  const auto home = os::environment_value("HOME");
  if (home && !home->empty() && is_at_or_below(os::absolute_path(*home).value_or(*home), folder)) return true;
  const passwd* entry = getpwuid(geteuid());
  if (entry != nullptr && entry->pw_dir != nullptr && is_at_or_below(entry->pw_dir, folder)) return true;
  return os::folder_of(folder) == "/home";
}

// Whether a plan's folder has more in it than is meant for the plan, so that only named files are shown.
bool holds_others(const std::string& folder, const std::string& source) {
  return is_shared_folder(folder) || is_at_or_below(source, folder) || os::is_state_folder(folder);
}

void add_words(const std::vector<std::string>& argv, std::vector<std::string>& to) {
  to.insert(to.end(), argv.begin(), argv.end());
}

struct Texts {
  std::vector<std::string> of_agents, of_gates, of_hooks;
};

Texts texts_of(const plan::Plan& plan) {
  Texts out;
  for (const auto& [name, gate] : plan.gates) {
    for (const auto& step : gate.steps) add_words(step.argv, out.of_gates);
    for (const auto& [number, steps] : gate.overrides)
      for (const auto& step : steps) add_words(step.argv, out.of_gates);
  }
  std::set<std::string> seen;  // a plan of many phases repeats the same texts
  const auto add_once = [&](const std::string& text) {
    if (text.find("/plan") != std::string::npos && seen.insert(text).second) out.of_agents.push_back(text);
  };
  for (const auto& tier : plan.tiers)
    for (const auto& phase : tier.phases) {
      add_once(phase.goal);
      std::ranges::for_each(phase.agent.argv, add_once);
      std::ranges::for_each(phase.resume.probe, add_once);
    }
  if (plan.doctor) add_words(plan.doctor->step.argv, out.of_hooks);
  if (plan.replan) add_words(plan.replan->step.argv, out.of_hooks);
  return out;
}

class Listing {
 public:
  Listing(std::string folder, std::string source, std::string state)
      : folder_(std::move(folder)), source_(std::move(source)), state_(std::move(state)) {}

  Status walk(const std::string& below) {
    PAWL_TRY(const auto names, os::list_folder(below.empty() ? folder_ : os::join(folder_, below)));
    for (const auto& name : names) {
      const std::string path = below.empty() ? name : below + "/" + name;
      const std::string full = os::join(folder_, path);
      struct stat status {};
      if (full == source_ || full == state_ || lstat(full.c_str(), &status) != 0) continue;
      if (may_be_key_name(path) || (S_ISREG(status.st_mode) && file_has_private_key(full)) ||
          (S_ISDIR(status.st_mode) && os::is_state_folder(full))) {
        left_out.push_back(path);
        continue;
      }
      if (S_ISDIR(status.st_mode)) PAWL_OK(walk(path));
      if (S_ISREG(status.st_mode) || S_ISLNK(status.st_mode)) files.push_back(path);
      if (files.size() > kPlanFilesMax)
        return fail(ErrorKind::kExhausted, folder_ +
                                               " has too many files for a plan's folder: name those that "
                                               "steps need with `files`");
    }
    return {};
  }

  std::vector<std::string> files, left_out;

 private:
  const std::string folder_, source_, state_;
};

// Files that gates name and agents do not, and all files that match `gate_files`.
Result<std::vector<std::string>> files_of_gates(const RunInput& input, const std::string& folder,
                                                const Texts& texts, const std::vector<std::string>& files) {
  PAWL_TRY(const auto named_by_agents, mentioned(folder, texts.of_agents, false));
  std::set<std::string> out{input.plan_file.substr(input.plan_file.rfind('/') + 1)};
  if (input.plan.files.empty()) {
    PAWL_TRY(auto named, mentioned(folder, texts.of_gates, false));
    out.merge(named);
  }
  for (const auto& file : named_by_agents) out.erase(file);
  if (input.plan.files.empty()) {
    PAWL_TRY(auto within, mentioned(folder, texts.of_gates, true));
    PAWL_TRY(const auto of_agents, mentioned(folder, texts.of_agents, true));
    for (const auto& file : of_agents) within.erase(file);
    out.merge(within);
  }
  for (const auto& file : files)
    if (any_covers(input.plan.gate_files, file)) out.insert(file);
  return std::vector<std::string>(out.begin(), out.end());
}

std::vector<std::string> absolute(const std::string& folder, const std::vector<std::string>& paths) {
  std::vector<std::string> out;
  for (const auto& path : paths) out.push_back(os::join(folder, path));
  return out;
}

}  // namespace

Result<PlanFiles> plan_files(const RunInput& input, const std::string& source, const std::string& state) {
  const std::string folder = os::folder_of(input.plan_file);
  const auto& plan = input.plan;
  const Texts texts = texts_of(plan);
  PlanFiles out;
  const bool is_known = !plan.files.empty() || !plan.gate_files.empty();
  const bool is_others = holds_others(folder, source);
  if (is_others && !is_known) {
    std::vector<std::string> all = texts.of_agents;
    add_words(texts.of_gates, all);
    add_words(texts.of_hooks, all);
    PAWL_TRY(auto named, mentioned(folder, all, true));
    named.insert(input.plan_file.substr(input.plan_file.rfind('/') + 1));
    for (const auto& path : named) {
      const bool is_of_source = source != folder && is_at_or_below(os::join(folder, path), source);
      (is_of_source || is_private(folder, path) ? out.left_out : out.shown).push_back(path);
    }
  } else {
    Listing listing(folder, source == folder ? "" : source, state);
    PAWL_OK(listing.walk(""));
    out.left_out = std::move(listing.left_out);
    out.is_whole = plan.files.empty() && !is_others;
    out.shown = std::move(listing.files);
    if (!out.is_whole)
      std::erase_if(out.shown, [&](const auto& path) {
        return !any_covers(plan.files, path) && !any_covers(plan.gate_files, path);
      });
  }
  PAWL_TRY(out.of_gates, files_of_gates(input, folder, texts, out.shown));
  return out;
}

std::vector<std::string> state_folders_beside(const std::string& plan_file, const std::string& source) {
  const std::string folder = os::folder_of(plan_file);
  if (holds_others(folder, source) || is_at_or_below(folder, source)) return {};
  return workspace::state_folders_in(folder, {});
}

Result<PlanFolder> keep_plan_folder(workspace::Workspaces& workspaces, const RunInput& input,
                                    const std::string& source) {
  const std::string folder = os::folder_of(input.plan_file);
  PlanFiles files{.is_whole = true};
  if (os::defences().plan_folder) {
    PAWL_TRY(files, plan_files(input, source, workspaces.folder()));
  }
  PlanFolder out;
  if (!files.is_whole) {
    PAWL_TRY(out.for_gates, workspaces.keep_files(folder, files.shown));
    std::vector<std::string> rest;
    std::ranges::set_difference(files.shown, files.of_gates, std::back_inserter(rest));
    PAWL_TRY(out.for_agents, workspaces.keep_files(folder, rest));
    return out;
  }
  // The source may lie inside the plan's folder; /plan is for the plan's own scripts.
  workspace::Without without{.folders = absolute(folder, files.left_out)};
  if (source != folder) without.folders.push_back(source);
  if ((folder + "/").starts_with(source + "/")) {
    without.patterns = input.plan.source_exclude;
    if (source != folder) without.above = folder.substr(source.size() + 1) + "/";
  }
  PAWL_TRY(const auto gates, workspaces.snapshot_directory(folder, without));
  out.for_gates = gates.base_id;
  for (auto& path : absolute(folder, files.of_gates)) without.folders.push_back(std::move(path));
  PAWL_TRY(const auto agents, workspaces.snapshot_directory(folder, without));
  out.for_agents = agents.base_id;
  return out;
}

}  // namespace pawl::executor
