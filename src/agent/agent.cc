#include "agent/agent.h"

#include "os/file.h"

namespace pawl::agent {
namespace {

constexpr std::size_t kNameBytesMax = 64;
constexpr std::size_t kEpisodeBytesMax = 80;  // a goal's name and the numbers of attempt and episode

bool is_file_name(std::string_view name, std::size_t bytes_max) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  };
  if (name.empty() || name.size() > bytes_max || name.front() == '.') return false;
  for (const char c : name)
    if (!fits(c)) return false;
  return true;
}

}  // namespace

Result<std::string> episode_path(const std::string& pawl_folder, const EpisodeKey& key) {
  if (!is_file_name(key.run_id, kNameBytesMax) || !is_file_name(key.goal_id, kNameBytesMax) ||
      !is_file_name(key.episode_id, kEpisodeBytesMax))
    return fail(ErrorKind::kInvalid,
                "the name of a run or goal has 1 to 64 letters, digits, '.', '_' and '-' that do not begin "
                "with '.', an episode by 1 to 80");
  return os::join(os::join(os::join(os::join(pawl_folder, "agents"), key.run_id), key.goal_id),
                  key.episode_id + ".db");
}

}  // namespace pawl::agent
