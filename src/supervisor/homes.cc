#include "supervisor/homes.h"

#include <set>

#include "base/json.h"
#include "base/seal.h"
#include "os/crash_point.h"
#include "os/file.h"
#include "os/process.h"
#include "supervisor/spool.h"
#include "supervisor/supervisor.h"

namespace pawl::supervisor {
namespace {

constexpr std::uint64_t kSealsBytesMax = 1 << 20;  // over 10,000 seals
constexpr std::uint64_t kBootBytesMax = 128;

using Seals = std::set<std::string>;

std::string attempt_of(const agent::Context& of) { return of.key.goal_id + "." + std::to_string(of.attempt); }

// A file about an episode's HOME in the folder of its attempt. No HOME has this name: those begin with the attempt's id.
// The only episode of an attempt has the attempt's id, so that its file has the same name in the next attempt.
std::string file_beside(const std::string& folder, std::string_view name, const std::string& attempt_id,
                        const std::string& episode_id) {
  const bool has_it = episode_id.starts_with(attempt_id);
  return os::join(folder, std::string(name) + (has_it ? episode_id.substr(attempt_id.size()) : episode_id));
}

std::string seals_file(const std::string& folder, const std::string& attempt_id,
                       const std::string& episode_id) {
  return file_beside(folder, "credentials", attempt_id, episode_id);
}

std::string boot_file(const std::string& folder, const std::string& attempt_id,
                      const std::string& episode_id) {
  return file_beside(folder, "boot", attempt_id, episode_id);
}

// The seals of an episode's HOME. An older version had one file for all episodes of an attempt.
Result<Seals> seals_of_home(const std::string& folder, const std::string& attempt_id,
                            const std::string& episode_id) {
  std::string file = seals_file(folder, attempt_id, episode_id);
  if (!os::exists(file)) file = seals_file(folder, attempt_id, attempt_id);
  if (!os::exists(file)) return Seals();
  PAWL_TRY(const auto text, os::read_file(file, kSealsBytesMax));
  PAWL_TRY(const auto json, parse_json(text));
  Seals out;
  for (const auto& seal : json) out.insert(seal.is_string() ? seal.get<std::string>() : "");
  return out;
}

}  // namespace

std::string Homes::folder_of(const std::string& run_id, const std::string& attempt_id) const {
  return os::join(pawl_folder_, homes_of(run_id, attempt_id));
}

std::vector<std::string> Homes::seals_of(const secrets::Redactor::Values& credentials) const {
  std::vector<std::string> out;
  for (const auto& [name, value] : credentials)
    out.push_back(Seal(key_, "credential in a home " + name).of(value));
  return out;
}

bool Homes::has_other(std::set<std::string> seals, const secrets::Redactor::Values& credentials) const {
  for (const auto& seal : seals_of(credentials)) seals.erase(seal);
  return !seals.empty();
}

Result<std::string> Homes::lacks(const agent::EpisodeKey& key, const std::string& attempt_id,
                                 const secrets::Redactor::Values& credentials) const {
  const std::string folder = folder_of(key.run_id, attempt_id);
  if (!os::is_folder(os::join(folder, key.episode_id))) return std::string("home");
  PAWL_TRY(auto seals, seals_of_home(folder, attempt_id, key.episode_id));
  return std::string(has_other(std::move(seals), credentials) ? "credentials" : "");
}

// The folder is renamed first, and then HOME in it: neither gets another parent, for which its owner would have to let
// Pawl write into it.
Result<std::string> Homes::hand_on(const std::string& run_id, const std::string& from_attempt_id,
                                   const std::string& to_attempt_id,
                                   const secrets::Redactor::Values& credentials) const {
  const std::string from = folder_of(run_id, from_attempt_id), next = folder_of(run_id, to_attempt_id);
  const std::string moved = os::join(next, from_attempt_id), to = os::join(next, to_attempt_id);
  const bool is_moved = os::is_folder(moved) || os::is_folder(to);
  const std::string& now = is_moved ? next : from;
  if (!is_moved && !os::is_folder(os::join(from, from_attempt_id))) return std::string("home");
  PAWL_TRY(auto seals, seals_of_home(now, from_attempt_id, from_attempt_id));
  if (has_other(std::move(seals), credentials)) return std::string("credentials");
  const auto boot = os::read_file(boot_file(now, from_attempt_id, from_attempt_id), kBootBytesMax);
  if (!boot || *boot != os::boot_id()) return std::string("restart");
  // Where another executor has done the same meanwhile, HOME is where it should be.
  const auto rename = [&](const std::string& a, const std::string& b) -> Status {
    if (os::is_folder(b)) return {};
    auto renamed = os::rename_durably("homes.rename", a, b);
    return renamed || os::is_folder(b) || os::is_folder(to) ? Status() : renamed;
  };
  if (!os::is_folder(to)) {
    PAWL_OK(rename(from, next));
    PAWL_OK(rename(moved, to));
  }
  return std::string();
}

void Homes::forget(const std::string& run_id, const std::string& attempt_id) const {
  static_cast<void>(os::remove_tree(folder_of(run_id, attempt_id)));
}

// HOME is removed before its seals, and a value is sealed before an agent has it: after a crash between, a seal may be
// of a value that HOME has not, and the next agent begins anew once more.
Result<std::string> make_home(const std::string& pawl_folder, const agent::Context& of, bool fresh,
                              const std::vector<std::string>& seals) {
  PAWL_OK(agent::episode_path(pawl_folder, of.key));  // all parts are allowed as names of files
  std::string home = home_of(pawl_folder, of);
  const std::string homes = os::folder_of(home);
  PAWL_OK(os::make_private_folder(os::folder_of(homes)));
  PAWL_OK(os::make_private_folder(homes));
  PAWL_TRY(const auto before, seals_of_home(homes, attempt_of(of), of.key.episode_id));
  if (fresh) PAWL_OK(os::remove_tree(home));
  os::crash_point("homes.removed");
  Seals now = fresh ? Seals() : before;
  now.insert(seals.begin(), seals.end());
  if (now != before) {
    const std::string file = seals_file(homes, attempt_of(of), of.key.episode_id);
    PAWL_OK(os::write_durably("homes.seals", file, canonical(Json(now)), 0600));
  }
  // Not durable: after a power cut the file names another boot, or is not there.
  PAWL_OK(os::write_atomically(boot_file(homes, attempt_of(of), of.key.episode_id), os::boot_id()));
  PAWL_OK(os::make_folders(home));
  return home;
}

}  // namespace pawl::supervisor
