#include "executor/program_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <utility>

#include "executor/agent_programs.h"
#include "executor/credentials.h"
#include "os/process.h"
#include "plan/profile.h"

namespace pawl::executor {
namespace {

constexpr const char* kTokenOfClaude = "CLAUDE_CODE_OAUTH_TOKEN";

// A profile, and the means of this host to sign its program in.
struct AtHand {
  plan::Profile profile;
  bool is_own = false;  // a user's own profile
  std::string key;      // key_here(); "": none
  std::vector<std::string> logins;
};

AtHand at_hand(const plan::Plan& plan, const std::string& name) {
  const std::string& text = plan.profiles.at(name);
  AtHand out{.profile = plan::parse_profile(text, name).profile.value(),  // The plan was parsed with it.
             .is_own = plan::built_in_profile(name) != text};
  out.key = key_here(out.profile);
  out.logins = logins_of(out.profile);
  return out;
}

std::string why_none(const plan::Profile& profile) {
  const bool is_short = !os::environment_value(profile.key).value_or("").empty();
  return profile.key +
         (is_short ? fmt::format(" has less than {} bytes", kCredentialBytesMin) : " is not set");
}

std::string unseen_login(const AtHand& found) {
  return found.logins.empty() ? "" : ", and no step sees the login in " + found.logins.front();
}

std::string message_of(const AtHand& found) {
  const auto& profile = found.profile;
  const bool has_token = std::ranges::find(profile.other_keys, kTokenOfClaude) != profile.other_keys.end();
  return fmt::format(
      "{} has no key: {}{}; `export {}=...` sets it{}", profile.program(), why_none(profile),
      unseen_login(found), profile.key,
      has_token ? fmt::format(", `claude setup-token` makes a {} to export", kTokenOfClaude) : std::string());
}

// "": no remark.
std::string remark_of(const AtHand& found, const plan::WantedKey& wanted) {
  if (!found.key.empty())
    return found.key == found.profile.key
               ? ""
               : fmt::format("the agent gets {} in place of {}", found.key, found.profile.key);
  if (wanted.has_base_url) return why_none(found.profile) + ": the agent works without a key";
  return why_none(found.profile) + unseen_login(found);
}

}  // namespace

std::string message_with_way(const LackingKey& lacking, const std::string& way) {
  return fmt::format("{}, and `{}` takes it from another variable", lacking.message, way);
}

plan::Finding finding_of(const LackingKey& lacking) {
  const std::string way = fmt::format("credentials: {{{}: {{env: VARIABLE}}}}", lacking.key);
  return {.at = lacking.at,
          .message = fmt::format("phase {}: {}", lacking.phase_id, message_with_way(lacking, way))};
}

std::unexpected<Error> no_key(std::string message) {
  return std::unexpected(
      Error{.kind = ErrorKind::kDenied, .message = std::move(message), .sys_errno = ENOKEY});
}

AddedKeys add_keys(plan::Plan& plan) {
  AddedKeys out;
  std::map<std::string, AtHand> profiles;
  for (auto& tier : plan.tiers)
    for (auto& phase : tier.phases) {
      const auto wanted = plan.wanted_keys.find(phase.id);
      if (wanted == plan.wanted_keys.end()) continue;
      const auto& name = wanted->second.profile;
      if (!profiles.contains(name)) profiles.emplace(name, at_hand(plan, name));
      const auto& found = profiles.at(name);
      const bool has_way = wanted->second.has_base_url || (found.is_own && !found.logins.empty());
      if (found.key.empty() && !has_way) {
        out.lacking.push_back({.at = wanted->second.at,
                               .phase_id = phase.id,
                               .key = found.profile.key,
                               .message = message_of(found)});
        continue;
      }
      auto remark = remark_of(found, wanted->second);
      if (!remark.empty() && std::ranges::find(out.remarks, remark) == out.remarks.end())
        out.remarks.push_back(std::move(remark));
      if (found.key.empty()) continue;
      phase.credentials.push_back({.name = found.key,
                                   .env = found.key,
                                   .file = {},
                                   .json = {},
                                   .command = {},
                                   .at = wanted->second.at});
      plan.has_credentials = true;
      plan.wanted_keys.erase(wanted);
    }
  return out;
}

}  // namespace pawl::executor
