#include "executor/agent_programs.h"

#include <algorithm>
#include <map>
#include <set>
#include <thread>
#include <utility>

#include "executor/credentials.h"
#include "executor/from_host.h"
#include "os/file.h"
#include "os/process.h"
#include "sandbox/backend.h"
#include "sandbox/environment.h"
#include "sandbox/probe.h"

namespace pawl::executor {
namespace {

constexpr std::string_view kEnding = ".yaml";
constexpr std::size_t kVersionBytesMax = 60;
constexpr std::int64_t kVersionSeconds = 20, kVersionMemoryMib = 2048;  // Node on a cold disk

std::string home() { return os::environment_value("HOME").value_or(""); }

// "" when the user has no home.
std::string own_folder() {
  std::string config = os::environment_value("XDG_CONFIG_HOME").value_or("");
  if (!config.starts_with('/')) config = home().starts_with('/') ? os::join(home(), ".config") : "";
  return config.empty() ? "" : os::join(config, "pawl/agents");
}

std::set<std::string> profile_names() {
  std::set<std::string> out;
  for (auto& name : plan::built_in_profiles()) out.insert(std::move(name));
  const auto files = own_folder().empty()
                         ? std::vector<std::string>()
                         : os::list_folder(own_folder()).value_or(std::vector<std::string>());
  for (const auto& file : files)
    if (file.ends_with(kEnding)) out.insert(file.substr(0, file.size() - kEnding.size()));
  return out;
}

// The first word of a text that looks like a version: digits with a point between them.
std::string version_in(std::string_view text) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (!is_digit(text[at])) continue;
    auto end = at;
    while (end < text.size() && (is_digit(text[end]) || text[end] == '.' || text[end] == '-' ||
                                 (text[end] >= 'a' && text[end] <= 'z')))
      ++end;
    auto word = text.substr(at, end - at);
    while (word.ends_with('.')) word.remove_suffix(1);
    if (word.find('.') != std::string_view::npos) return std::string(word.substr(0, kVersionBytesMax));
    at = end;
  }
  return {};
}

std::string version_of(sandbox::Backend& backend, const std::string& program, const ProgramPlace& place) {
  plan::Common seen;
  for (const auto& src : place.mounts) seen.mounts.push_back({.src = src, .dst = "", .at = {}});
  sandbox::ProbeSpec probe{
      .cmd = {place.is_in_path ? program : place.host_path, "--version"},
      .env = sandbox::allowed_environment({}),
      .lower = {},
      .shown = mounts_without_content(seen),
      .hidden = {},
      .time_budget_seconds = kVersionSeconds,
      .memory_limit_mib = kVersionMemoryMib,
  };
  add_bins(probe.shown, probe.env);
  std::ranges::sort(probe.env);
  const auto probed = sandbox::run_in_sandbox(backend, probe);
  if (!probed || probed->run.outcome != sandbox::Outcome::kExited || probed->run.exit_code != 0) return {};
  return version_in(probed->output);
}

struct Asked {
  ProgramPlace place;
  std::string version;
};

// Asks each program for its version. Node takes seconds to start on a busy machine, so several are asked at a time.
void ask(std::map<std::string, Asked>& programs, AskedPrograms& asked) {
  constexpr std::size_t kAtOnce = 4;
  const auto backend = sandbox::make_backend(sandbox::default_backend());
  if (!backend) return;
  std::vector<std::pair<const std::string, Asked>*> left;
  for (auto& program : programs)
    if (program.second.place.is_seen || !program.second.place.mounts.empty()) left.push_back(&program);
  asked.all = left.size();
  std::atomic<std::size_t> next = 0;
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < std::min(kAtOnce, left.size()); ++i)
    threads.emplace_back([&] {
      for (auto at = next++; at < left.size(); at = next++) {
        auto& [name, program] = *left[at];
        program.version = version_of(**backend, name, program.place);
        ++asked.done;
      }
    });
}

AgentProgram of_profile(const std::string& name) {
  AgentProgram out{.name = name};
  std::string text(plan::built_in_profile(name).value_or(""));
  auto own = own_profile(name);
  if (!own) {
    out.problems.push_back(
        {.file = os::join(own_folder(), name) + std::string(kEnding), .message = own.error().message});
    return out;
  }
  if (*own) {
    out.own_file = (*own)->file;
    text = (*own)->text;
  }
  auto parsed = plan::parse_profile(text, out.own_file);
  out.problems = std::move(parsed.problems);
  out.profile = std::move(parsed.profile);
  if (!out.profile) return out;
  out.key = key_here(*out.profile);
  out.logins = logins_of(*out.profile);
  return out;
}

}  // namespace

std::string key_here(const plan::Profile& profile) {
  for (auto& name : profile.keys())
    if (os::environment_value(name).value_or("").size() >= kCredentialBytesMin) return name;
  return "";
}

std::vector<std::string> logins_of(const plan::Profile& profile) {
  std::vector<std::string> out;
  for (const auto& path : profile.login)
    if (home().starts_with('/') && os::exists(os::join(home(), path))) out.push_back("~/" + path);
  return out;
}

Result<std::optional<plan::ProfileText>> own_profile(const std::string& name) {
  const std::string folder = own_folder();
  if (folder.empty()) return std::nullopt;
  const std::string file = os::join(folder, name) + std::string(kEnding);
  auto text = os::read_file(file, plan::kProfileBytesMax);
  if (text) return plan::ProfileText{.file = file, .text = *std::move(text)};
  if (text.error().kind == ErrorKind::kNotFound) return std::nullopt;
  return std::unexpected(std::move(text).error());
}

std::vector<AgentProgram> agent_programs(const std::string& source, AskedPrograms& asked) {
  std::vector<AgentProgram> out;
  for (const auto& name : profile_names()) out.push_back(of_profile(name));
  std::map<std::string, Asked> programs;  // two profiles may have one program
  for (const auto& each : out)
    if (each.profile) programs[each.profile->program()];
  std::vector<std::string> names;
  for (const auto& [name, program] : programs) names.push_back(name);
  const auto places = find_programs(names, source);
  for (std::size_t i = 0; i < names.size(); ++i) programs[names[i]].place = places[i];
  ask(programs, asked);
  for (auto& each : out) {
    if (!each.profile) continue;
    const auto& program = programs[each.profile->program()];
    each.place = program.place;
    each.version = program.version;
  }
  return out;
}

}  // namespace pawl::executor
