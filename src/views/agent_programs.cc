#include "views/agent_programs.h"

#include "executor/programs.h"
#include "plan/profile.h"

namespace pawl::views {

std::string plan_line(const executor::AgentProgram& program) {
  return "agent: {use: " + program.name + (program.profile->needs_model ? ", model: NAME}" : "}");
}

Json to_json(const executor::AgentProgram& program) {
  const auto& profile = *program.profile;
  const bool has_key = !program.key.empty();
  return {
      {"name", program.name},
      {"own_file", program.own_file},
      {"program", profile.program()},
      {"path", program.place.host_path},
      {"can_be_used", executor::can_be_used(program.place)},
      {"mounts", program.place.mounts},
      {"version", program.version},
      {"tested_version", profile.tested},
      {"login",
       {{"variable", has_key ? program.key : profile.key}, {"is_set", has_key}, {"files", program.logins}}},
      {"egress", plan::egress_of_profile(profile, {})},
      {"needs_model", profile.needs_model},
      {"usage", profile.usage},
      {"continues", profile.acp || !profile.continued.empty()},
      {"plan", plan_line(program)}};
}

}  // namespace pawl::views
