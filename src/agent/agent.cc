#include "agent/agent.h"

#include "os/file.h"

namespace pawl::agent {
namespace {

constexpr std::size_t kNameBytesMax = 64;

bool is_file_name(std::string_view name) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  if (name.empty() || name.size() > kNameBytesMax || name.front() == '.') return false;
  for (const char c : name)
    if (!fits(c)) return false;
  return true;
}

}  // namespace

Result<std::string> episode_path(const std::string& pawl_folder, const EpisodeKey& key) {
  for (const auto* part : {&key.run_id, &key.goal_id, &key.episode_id})
    if (!is_file_name(*part))
      return fail(ErrorKind::kInvalid,
                  "a run, a goal and an episode are named by 1 to 64 letters, digits, '.', '_' and '-' that "
                  "do not begin with '.'");
  return os::join(os::join(os::join(os::join(pawl_folder, "agents"), key.run_id), key.goal_id),
                  key.episode_id + ".db");
}

}  // namespace pawl::agent
