// Agent programs that a plan can name, and what of them is on this machine.
#include <fmt/format.h>

#include "cli/context.h"
#include "cli/plan_file.h"
#include "cli/render/say.h"
#include "cli/render/waiting.h"
#include "executor/agent_programs.h"
#include "os/file.h"
#include "plan/mounts_text.h"
#include "views/agent_programs.h"

namespace pawl::cli {
namespace {

using executor::AgentProgram;

bool is_found(const AgentProgram& program) { return !program.place.host_path.empty(); }

std::string login_text(const AgentProgram& program) {
  std::string out = program.key.empty() ? program.profile->key : program.key + " is set";
  if (!out.empty() && program.key.empty()) out += " is not set";
  for (const auto& file : program.logins)
    out += (out.empty() ? "" : ", ") + file + (program.key.empty() ? " (no step sees it)" : "");
  return out.empty() ? "none known" : out;
}

std::string version_text(const AgentProgram& program) {
  const std::string& tested = program.profile->tested;
  if (program.version.empty()) return "version unknown";
  if (tested.empty() || (program.version + ".").starts_with(tested + ".")) return program.version;
  return fmt::format("{} (its profile is for {})", program.version, tested);
}

void print(const AgentProgram& program) {
  say("{}  {}  {}{}\n", program.name, version_text(program), program.place.host_path,
      program.own_file.empty() ? "" : "  (" + program.own_file + ")");
  say("  login: {}\n", login_text(program));
  if (!can_be_used(program.place)) return say("  {}\n", why_not_usable(program.place));
  say("  plan:  {}\n", views::plan_line(program));
  if (const auto mounts = plan::mounts_text(program.place.mounts); !mounts.empty())
    say("         {}\n", mounts);
}

int agents(bool json) {
  executor::AskedPrograms asked;
  std::vector<AgentProgram> programs;
  {
    const Waiting waiting("asking programs for their versions", json, [&asked]() -> std::string {
      return asked.all == 0 ? "" : fmt::format("{} of {}", asked.done.load(), asked.all.load());
    });
    programs = executor::agent_programs(os::absolute_path(".").value_or(""), asked);
  }
  Json found = Json::array();
  std::string absent;
  bool good = true;
  for (const auto& program : programs) {
    if (!program.profile) {
      print_problems(program.problems, "error: ");
      good = false;
    } else if (json) {
      found.push_back(views::to_json(program));
    } else if (is_found(program)) {
      print(program);
    } else {
      absent += (absent.empty() ? "" : ", ") + program.name + " (" + program.profile->program() + ")";
    }
  }
  if (json) print_json({{"agents", found}});
  if (!absent.empty()) say("not on this machine: {}\n", absent);
  return good ? kDone : kUsage;
}

}  // namespace

void add_agents(const Command& program) {
  const Command command =
      program.add("agents", "List agent programs: where, which version, what a plan says of them");
  auto json = std::make_shared<bool>(false);
  add_json_option(command, *json);
  command.footer(
      "Each program that is found runs once with --version, in a sandbox without network. No login is read: "
      "only "
      "whether\nits variable or file is there. Exit code 2: a profile in ~/.config/pawl/agents has a mistake."
      "\n\nExample:\n  pawl agents");
  command.on_run([=] { return agents(*json); });
}

}  // namespace pawl::cli
