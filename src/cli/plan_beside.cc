#include "cli/plan_beside.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "cli/render/visible.h"
#include "executor/start_run.h"
#include "os/file.h"
#include "plan/script.h"
#include "workspace/covered.h"

namespace pawl::cli {
namespace {

constexpr std::string_view kPlan = "/plan/";

// A file of `gate_files` is hidden in /plan only. Agents read it in /workspace when the source has it, too.
void check_gate_files(const std::string& shown, const std::string& file, plan::Parsed& parsed) {
  const auto& plan = *parsed.plan;
  const std::string folder = os::folder_of(file);
  const auto source = executor::source_folder(plan, folder);
  if (plan.gate_files.empty() || !source || !(folder + "/").starts_with(*source + "/")) return;
  const std::string below = folder == *source ? "" : folder.substr(source->size() + 1) + "/";
  std::vector<std::string> patterns;
  for (const auto& pattern : plan.gate_files) patterns.push_back(below + pattern);
  const auto covered = workspace::covered_in_source(*source, plan.source_ref, patterns);
  for (std::size_t i = 0; covered && i < patterns.size(); ++i)
    if ((*covered)[i].any && std::ranges::find(plan.source_exclude, patterns[i]) == plan.source_exclude.end())
      parsed.warnings.push_back(
          {.file = shown,
           .message =
               "gate_files: " + visible(patterns[i]) +
               " lies in the source, too, where every agent reads it in /workspace: keep the plan in a "
               "folder outside of the source, or name the files in `exclude` of `source`"});
}

// Returns the paths below /plan that a command names literally: without parts that a shell fills in.
std::vector<std::string> plan_paths_in(const std::string& text) {
  constexpr std::string_view kEnds = " \t\n'\"`;&|()<>,:", kFilledIn = "$*?[{\\";
  std::vector<std::string> out;
  for (auto at = text.find(kPlan); at != std::string::npos; at = text.find(kPlan, at + 1)) {
    const bool begins = at == 0 || kEnds.find(text[at - 1]) != std::string_view::npos || text[at - 1] == '=';
    const auto start = at + kPlan.size();
    const auto end =
        std::min(text.find_first_of(std::string(kEnds) + std::string(kFilledIn), start), text.size());
    const bool is_whole = end == text.size() || kFilledIn.find(text[end]) == std::string_view::npos;
    if (begins && is_whole && end > start) out.push_back(text.substr(start, end - start));
  }
  return out;
}

// Warns of a file that no step finds, because /plan is the plan's folder.
void check_plan_paths(const std::string& shown, const std::string& file, plan::Parsed& parsed) {
  const std::string folder = os::folder_of(file);
  for (const auto& [name, gate] : parsed.plan->gates)
    for (const auto& step : gate.steps)
      for (const auto& word : step.argv)
        for (const auto& path : plan_paths_in(word))
          if (!os::exists(os::join(folder, path)))
            parsed.warnings.push_back(
                at_signals(shown, gate,
                           fmt::format("step {} names /plan/{}, which is not beside the plan", step.name,
                                       visible(path))));
}

struct ScriptFile {
  std::string path;                // as the command names it
  std::vector<std::string> shell;  // the words before it
  std::string text;
};

// The script that a command runs by a shell: of /plan, or of a source's folder. nullopt: it runs none that is there.
std::optional<ScriptFile> script_of_file(const std::string& folder, const std::optional<std::string>& source,
                                         const std::vector<std::string>& command) {
  constexpr std::array<std::string_view, 3> kShells = {"sh", "bash", "dash"};
  constexpr std::uint64_t kScriptBytesMax = 64 << 10;
  const auto shell = std::string_view(command.front()).substr(command.front().rfind('/') + 1);
  const auto path = std::find_if(command.begin() + 1, command.end(),
                                 [](const auto& word) { return !word.starts_with('-'); });
  if (path == command.end() || std::ranges::find(kShells, shell) == kShells.end()) return std::nullopt;
  const bool is_beside = path->starts_with(kPlan);
  if (!is_beside && (!source || path->starts_with('/'))) return std::nullopt;
  auto text = os::read_file(
      is_beside ? os::join(folder, path->substr(kPlan.size())) : os::join(*source, *path), kScriptBytesMax);
  if (!text) return std::nullopt;
  return ScriptFile{.path = *path, .shell = {command.begin(), path}, .text = *std::move(text)};
}

void warn_of_script(const std::string& shown, const plan::Gate& gate, const plan::Step& step,
                    const ScriptFile& script, plan::Parsed& parsed) {
  for (const auto& reason : plan::failures_hidden_in_file(script.shell, script.text))
    parsed.warnings.push_back(at_signals(shown, gate,
                                         fmt::format("step {}: {} can pass although a command failed: {}",
                                                     step.name, visible(script.path), visible(reason))));
}

// A script in a file has no -e, unless it says so.
void check_scripts(const std::string& shown, const std::string& file, plan::Parsed& parsed) {
  const std::string folder = os::folder_of(file);
  std::optional<std::string> source;  // none for a commit, which may have another script
  if (const auto found = executor::source_folder(*parsed.plan, folder); found && !parsed.plan->source_ref)
    source = *found;
  for (const auto& [name, gate] : parsed.plan->gates)
    for (const auto& step : gate.steps) {
      const auto commands = plan::commands_of(step.argv);
      const bool moves = std::ranges::any_of(
          commands, [](const auto& command) { return !command.empty() && command[0] == "cd"; });
      for (const auto& command : commands) {
        const auto script =
            command.empty() ? std::nullopt : script_of_file(folder, moves ? std::nullopt : source, command);
        if (script) warn_of_script(shown, gate, step, *script, parsed);
      }
    }
}

// Whether a command names the folder /plan itself, and not a file in it.
bool names_whole_folder(std::string_view text) {
  constexpr std::string_view kFolder = "/plan", kEnds = " \t\n'\"`;&|()<>,:";
  const auto is_end = [&](std::size_t at) { return at >= text.size() || kEnds.find(text[at]) != text.npos; };
  for (auto at = text.find(kFolder); at != text.npos; at = text.find(kFolder, at + 1)) {
    auto end = at + kFolder.size();
    for (const char c : {'/', '.', '/'})
      if (end < text.size() && text[end] == c) ++end;
    if ((at == 0 || is_end(at - 1)) && is_end(end)) return true;
  }
  return false;
}

// Files that a gate names are hidden from agents. Those of a folder that it names are not, because a script of an
// agent may need them.
void check_shown(const std::string& shown, const std::string& file, plan::Parsed& parsed) {
  if (!parsed.plan->gate_files.empty() || !parsed.plan->files.empty()) return;
  const auto beside = os::list_folder(os::folder_of(file));
  if (!beside || beside->size() < 2) return;
  for (const auto& [name, gate] : parsed.plan->gates)
    for (const auto& step : gate.steps)
      if (names_whole_folder(plan::text_of(step.argv)))
        parsed.warnings.push_back(
            at_signals(shown, gate,
                       fmt::format("step {} runs on the whole folder /plan, whose files agents see: name in "
                                   "`gate_files` those that only gates need, such as held-back tests",
                                   step.name)));
}

}  // namespace

plan::Problem at_signals(const std::string& shown, const plan::Gate& gate, std::string message) {
  return {.file = shown,
          .line = gate.signals_at.line,
          .column = gate.signals_at.column,
          .message = "gate " + gate.name + ": " + std::move(message)};
}

void check_files_beside(const std::string& shown, const std::string& file, plan::Parsed& parsed) {
  check_gate_files(shown, file, parsed);
  check_plan_paths(shown, file, parsed);
  check_scripts(shown, file, parsed);
  check_shown(shown, file, parsed);
}

}  // namespace pawl::cli
