#include "cli/state_folder.h"

#include <algorithm>

#include "os/file.h"
#include "os/process.h"

namespace pawl::cli {
namespace {

constexpr unsigned kWritableForOthers = 022, kAnyForOthers = 077;
constexpr std::uint64_t kIndexBytesMax = 1 << 30;  // git's, of some million files

std::string mark_of(const std::string& folder) { return os::join(folder, "keys/here"); }

// An empty folder, which git can't bring: one with a file in it is no mark.
bool is_marked(const std::string& folder) {
  const auto names = os::list_folder(mark_of(folder));
  return names && names->empty();
}

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
                   "If nobody else wrote to it: `chmod -R go-w '" + folder + "'`");
  return {};
}

// Older versions made what everybody may read. Where it can't be changed (a file system that is only read),
// it is read all the same.
void tighten(const std::string& folder, const std::vector<std::string>& names) {
  static_cast<void>(os::make_private(folder));
  for (const auto& name : names)
    if (name != ".gitignore") static_cast<void>(os::make_private(os::join(folder, name)));
}

// Links below would lead whoever writes or removes there to another place.
Status check_links(const std::string& folder) {
  const auto names = os::list_folder(folder);
  if (!names) return {};  // a file, or not there
  for (const auto& name : *names) {
    const std::string path = os::join(folder, name);
    const auto facts = os::facts_of(path);
    if (facts && facts->is_link) return refused(path, "is a symbolic link", "Remove it");
  }
  return {};
}

// Whether git's index of the work tree that `folder` lies in has files of it. By the bytes of their names:
// enough to refuse, and no repository that nobody trusts is opened for it.
bool is_tracked(const std::string& folder) {
  std::string below = folder.substr(folder.rfind('/') + 1) + "/";
  for (std::string above = os::folder_of(folder);; above = os::folder_of(above)) {
    if (const std::string index = os::join(above, ".git/index"); os::exists(index)) {
      const auto bytes = os::MappedFile::open(index, kIndexBytesMax);
      return bytes && bytes->bytes().find(below) != std::string_view::npos;
    }
    if (above == "/" || os::exists(os::join(above, ".git"))) return false;
    below.insert(0, above.substr(above.rfind('/') + 1) + "/");
  }
}

// It has no mark.
Status check_origin(const std::string& folder) {
  PAWL_TRY(const std::string path, os::absolute_path(folder));
  if (is_tracked(path))
    return refused(folder, "is tracked by git, so it came with the repository",
                   "Remove it (`git rm -r --cached` keeps the files), or name another one with --dir");
  const std::string key = os::join(folder, "keys/ledger.key");
  if (const auto facts = os::facts_of(key); facts && (facts->mode & kAnyForOthers) != 0)
    return refused(key, "is readable for others", "If nobody else has read it: `chmod 600` it");
  return {};
}

}  // namespace

Status check_state_folder(const std::string& folder) {
  PAWL_OK(check_part(folder, folder));
  PAWL_TRY(const auto names, os::list_folder(folder));
  for (const auto& name : names) PAWL_OK(check_part(folder, os::join(folder, name)));
  for (const auto* below : {"keys", "objects", "runs", "spool", "cost", "work"})
    PAWL_OK(check_links(os::join(folder, below)));
  if (!names.empty() && !is_marked(folder)) PAWL_OK(check_origin(folder));
  tighten(folder, names);
  return {};
}

std::vector<std::string> state_folders_below(const std::string& folder) {
  std::vector<std::string> out, left{folder};
  while (!left.empty()) {
    const std::string path = std::move(left.back());
    left.pop_back();
    if (path.ends_with("/.pawl") || os::exists(os::join(path, "keys/ledger.key"))) {
      out.push_back(path);
      continue;
    }
    for (auto& below : os::folders_in(path)) left.push_back(std::move(below));
  }
  return out;
}

Status mark_state_folder(const std::string& folder) {
  return os::exists(mark_of(folder)) ? Status() : os::make_folders(mark_of(folder), 0700);
}

}  // namespace pawl::cli
