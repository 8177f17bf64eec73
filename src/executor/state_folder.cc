#include "executor/state_folder.h"

#include <sys/stat.h>

#include <cstdint>
#include <optional>
#include <set>
#include <utility>

#include "os/defences.h"
#include "os/file.h"
#include "os/process.h"
#include "os/state_folder.h"
#include "workspace/tracked.h"

namespace pawl::executor {
namespace {

constexpr char kLedgerKey[] = "ledger.key", kRedactionKey[] = "redaction.key";
constexpr unsigned kWritableForOthers = 022, kAnyForOthers = 077;

std::unexpected<Error> refused(const std::string& path, const std::string& why, const std::string& remedy) {
  return fail(ErrorKind::kDenied,
              path + " " + why +
                  ": a state folder holds the key that signs and the rows that decide, so "
                  "it is not used. " +
                  remedy);
}

Status check_part(const std::string& folder, const std::string& path) {
  PAWL_TRY(const auto facts, os::facts_of(path));
  if (facts.is_link)
    return refused(path, "is a symbolic link", "Remove it, or name the folder that it leads to with --dir");
  if (facts.uid != os::user_id())
    return refused(path, "belongs to uid " + std::to_string(facts.uid),
                   "Use it as its owner, or take it over with `chown -R $(id -u):$(id -g) '" + folder + "'`");
  if ((facts.mode & kWritableForOthers) != 0)
    return refused(path, "is writable for others",
                   "If no other user wrote to it: `chmod -R go-w '" + folder + "'`");
  return {};
}

// Older versions made files and folders that everybody may read. Where permissions can't be changed (a
// read-only file system), the folder is used all the same.
void tighten(const std::string& folder, const std::vector<std::string>& names) {
  static_cast<void>(os::make_private(folder));
  for (const auto& name : names)
    if (name != ".gitignore") static_cast<void>(os::make_private(os::join(folder, name)));
}

// A link below would lead a process that writes or removes there to another place.
Status check_links(const std::string& folder) {
  const auto names = os::list_folder(folder);
  if (!names) return {};  // a file, or missing
  for (const auto& name : *names) {
    const std::string path = os::join(folder, name);
    const auto facts = os::facts_of(path);
    if (facts && facts->is_link) return refused(path, "is a symbolic link", "Remove it");
  }
  return {};
}

Status check_tracked(const std::string& folder) {
  PAWL_TRY(const std::string path, os::absolute_path(folder));
  PAWL_TRY(const std::string index, workspace::index_that_tracks(path));
  if (index.empty()) return {};
  return refused(folder, "is tracked by git (" + index + "), so it came with the repository",
                 "Remove it (`git rm -r --cached` keeps the files), or name another one with --dir");
}

Status check_key(const std::string& folder, const std::string& key) {
  if (!os::exists(key)) return {};
  PAWL_OK(check_part(folder, key));
  PAWL_TRY(const auto facts, os::facts_of(key));
  if ((facts.mode & kAnyForOthers) != 0)
    return refused(key, "is readable for others", "If no other user has read it: `chmod 600` it");
  return {};
}

std::vector<std::string> keys_of(const std::string& folder) {
  const std::string keys = os::join(folder, "keys");
  return {os::join(keys, kLedgerKey), os::join(keys, kRedactionKey)};
}

// In a folder that a user asks to be shown.
bool may_be_state_folder(const std::string& path) {
  return path.ends_with("/.pawl") || os::has_state_key(path);
}

struct Found {
  std::vector<std::string> states, others;
};

// The state folders in `folder` (also itself), and the folders in which they were searched.
Found folders_below(const std::string& folder) {
  Found out;
  for (std::vector<std::string> left{folder}; !left.empty();) {
    std::string path = std::move(left.back());
    left.pop_back();
    if (may_be_state_folder(path)) {
      out.states.push_back(std::move(path));
      continue;
    }
    for (auto& below : os::folders_in(path)) left.push_back(std::move(below));
    out.others.push_back(std::move(path));
  }
  return out;
}

using File = std::pair<dev_t, ino_t>;  // equal for two names of one file

std::optional<struct stat> file_at(const std::string& path) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return std::nullopt;
  return status;
}

// Knows the keys of some state folders, and other names and copies of them.
class Keys {
 public:
  explicit Keys(const std::vector<std::string>& state_folders) {
    for (const auto& folder : state_folders)
      for (const auto& key : keys_of(folder)) add(key);
  }

  // Reads only files that are as large as a key.
  bool has(const std::string& path, const struct stat& status) const {
    if (files_.contains(File(status.st_dev, status.st_ino))) return true;
    const auto size = static_cast<std::uint64_t>(status.st_size);
    if (!sizes_.contains(size)) return false;
    const auto content = os::read_file(path, size);
    return content && contents_.contains(*content);
  }

 private:
  void add(const std::string& key) {
    constexpr std::uint64_t kKeyBytesMax = 4096;
    const auto file = file_at(key);
    if (!file) return;
    files_.emplace(file->st_dev, file->st_ino);
    const auto content = os::read_file(key, kKeyBytesMax);
    if (!content || content->empty()) return;  // another user's: no copy of it can be known
    sizes_.insert(content->size());
    contents_.insert(*content);
  }

  std::set<File> files_;
  std::set<std::uint64_t> sizes_;
  std::set<std::string> contents_;
};

}  // namespace

Status check_state_folder(const std::string& folder) {
  if (!os::defences().state_folder) return {};
  PAWL_OK(check_part(folder, folder));
  PAWL_TRY(const auto names, os::list_folder(folder));
  for (const auto& name : names) {
    // SQLite removes its log when the last process closes the database.
    auto part = check_part(folder, os::join(folder, name));
    if (!part && part.error().kind != ErrorKind::kNotFound) return part;
  }
  for (const auto* below : {"keys", "objects", "runs", "spool", "cost", "work", "agents", "homes"})
    PAWL_OK(check_links(os::join(folder, below)));
  PAWL_OK(check_tracked(folder));
  for (const auto& key : keys_of(folder)) PAWL_OK(check_key(folder, key));
  tighten(folder, names);
  return {};
}

Status check_database(const std::string& path) {
  if (!os::exists(path) || !os::defences().state_folder) return {};
  PAWL_TRY(const std::string file, os::absolute_path(path));
  return check_part(file, file);
}

bool is_in_state_folder(const std::string& path) {
  for (auto end = path.size(); end != 0 && end != std::string::npos; end = path.rfind('/', end - 1))
    if (may_be_state_folder(path.substr(0, end))) return true;
  return false;
}

std::vector<std::string> hidden_below(const std::string& folder, const std::string& used) {
  auto [out, others] = folders_below(folder);
  std::vector<std::string> states = out;
  for (std::string around = folder; around != "/"; around = os::folder_of(around))
    states.push_back(os::join(os::folder_of(around), ".pawl"));
  if (!used.empty()) states.push_back(used);
  const Keys keys(states);
  for (const auto& path : others) {
    const auto names = os::list_folder(path);
    if (!names) continue;  // unreadable to us, and no process in the sandbox has more rights
    for (const auto& name : *names) {
      std::string below = os::join(path, name);
      // A link has no key: what it leads to is in the workspace, and looked at there, or is not shown.
      const auto file = file_at(below);
      const bool is_named = name == kLedgerKey || name == kRedactionKey;
      if (file && (is_named || keys.has(below, *file))) out.push_back(std::move(below));
    }
  }
  return out;
}

}  // namespace pawl::executor
