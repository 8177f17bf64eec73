#include "supervisor/homes.h"

#include <set>

#include "base/json.h"
#include "base/seal.h"
#include "os/file.h"
#include "supervisor/supervisor.h"

namespace pawl::supervisor {
namespace {

// No name of an episode: those have a '.'.
constexpr std::string_view kSealsFile = "credentials";
constexpr std::uint64_t kSealsBytesMax = 1 << 20;  // over 10,000 seals

using Seals = std::set<std::string>;

Result<Seals> seals_in(const std::string& folder) {
  const std::string path = os::join(folder, kSealsFile);
  if (!os::exists(path)) return Seals();
  PAWL_TRY(const auto text, os::read_file(path, kSealsBytesMax));
  PAWL_TRY(const auto json, parse_json(text));
  Seals out;
  for (const auto& seal : json) out.insert(seal.is_string() ? seal.get<std::string>() : "");
  return out;
}

}  // namespace

std::string Homes::folder_of(const std::string& run_id, const std::string& attempt_id) const {
  return os::join(pawl_folder_, homes_of(run_id, attempt_id));
}

std::string Homes::seal_of(const std::string& name, const std::string& value) const {
  return Seal(key_, "credential in a home " + name).of(value);
}

Status Homes::note(const std::string& run_id, const std::string& attempt_id,
                   const secrets::Redactor::Values& credentials) const {
  if (credentials.empty()) return {};
  const std::string folder = folder_of(run_id, attempt_id);
  PAWL_OK(os::make_private_folder(os::folder_of(folder)));
  PAWL_OK(os::make_private_folder(folder));
  PAWL_TRY(auto seals, seals_in(folder));
  const auto known = seals.size();
  for (const auto& [name, value] : credentials) seals.insert(seal_of(name, value));
  if (seals.size() == known) return {};
  return os::write_atomically(os::join(folder, kSealsFile), canonical(Json(seals)), 0600);
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
  PAWL_TRY(auto seals, seals_in(now));
  for (const auto& [name, value] : credentials) seals.erase(seal_of(name, value));
  if (!seals.empty()) return std::string("credentials");
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

}  // namespace pawl::supervisor
