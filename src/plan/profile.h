// An agent program as Pawl knows it: how it is started, given a goal, a model and an endpoint, and read.
//
// A profile is data: a YAML text (docs/agent-profiles.md). Those of known programs lie in src/plan/profiles and
// are compiled in; a user's own are files. A plan names one with `agent: {use: NAME}`, and the step of the
// agent is made of it. Pure: reads no file. A user writes profiles, so that texts have the bounds of plans.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "plan/parse.h"

namespace pawl::plan {

constexpr std::uint64_t kProfileBytesMax = 64 << 10;
// The goal of an agent with a profile is an argument together with the feedback, and Linux takes 128 KiB in one.
constexpr std::size_t kGoalOfProfileBytesMax = 100'000;

// Texts by the names of variables, or by paths below HOME.
using NamedTexts = std::map<std::string, std::string>;

struct Profile {
  std::string tested;   // the version that was tested; "": none was
  std::string install;  // for people: the command that installs the program; "": not known
  std::vector<std::string> run,
      continued;     // words with placeholders; `continued` goes on in a session, or is empty
  bool acp = false;  // `run` starts an agent that gets its goal by the Agent Client Protocol
  std::vector<std::string> model_args;  // stand for {model_args} when the attempt has a model
  bool needs_model = false;
  NamedTexts set, files;
  std::string key;                      // the variable that the program takes its key from
  std::vector<std::string> other_keys;  // variables that sign the program in where `key` is not set
  std::vector<std::string> login;       // files below HOME that a signed-in user has
  std::string default_url;              // where the program goes when a plan has no base_url
  NamedTexts set_for_url;               // variables that only a plan with base_url needs
  std::vector<std::string> egress;      // further hosts, when a plan has no base_url
  std::string usage;                    // "": no reader
  std::map<std::int64_t, std::string> exit_codes;  // what a code means

  const std::string& program() const { return run.front(); }
  // `key` and `other_keys`.
  std::vector<std::string> keys() const;
};

struct ParsedProfile {
  std::optional<Profile> profile;  // present exactly when `problems` is empty
  std::vector<Problem> problems;   // with line and column, in the order of the file
};
// Parses a profile; uses `file` only in messages.
ParsedProfile parse_profile(std::string_view text, const std::string& file);

// The place of Pawl's client of the Agent Client Protocol in a step (agent/acp/program.h), and the reader of its usage.
inline constexpr std::string_view kAcpClient = "/pawl-acp", kAcpUsage = "acp";
// The meanings of that client's exit codes.
const std::map<std::int64_t, std::string>& acp_exit_codes();

// The names of the profiles that are compiled in, sorted.
std::vector<std::string> built_in_profiles();
// The text of one of them; no value for another name.
std::optional<std::string_view> built_in_profile(std::string_view name);

// The plan's own words about the program.
struct ProgramChoice {
  std::vector<std::string> args;
  std::string base_url;      // "": the profile's default
  bool asks_person = false;  // for each permission, by the Agent Client Protocol
};
// The script, for sh, that starts the program on PAWL_GOAL, PAWL_FEEDBACK and PAWL_MODEL. `words`: `run` or
// `continued` of the profile. The same arguments give the same bytes.
std::string script_of_profile(const Profile& profile, const std::vector<std::string>& words,
                              const ProgramChoice& choice);
// Whether an argument list has such a script: its program starts in any case.
bool is_of_profile(const std::vector<std::string>& argv);
// The entries of `egress` (base/endpoint.h) that the program needs. REQUIRES: check_base_url() of
// choice.base_url, unless it is "".
std::vector<std::string> egress_of_profile(const Profile& profile, const ProgramChoice& choice);
// kInvalid: not an http or https URL of a host, without credentials and query.
Status check_base_url(const std::string& url);
// kInvalid: the name would not survive in the files and commands of profiles.
Status check_model_name(const std::string& model);

}  // namespace pawl::plan
