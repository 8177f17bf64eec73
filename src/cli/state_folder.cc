#include "cli/state_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "cli/visible.h"
#include "os/file.h"
#include "os/process.h"
#include "workspace/tracked.h"

namespace pawl::cli {
namespace {

constexpr unsigned kWritableForOthers = 022, kAnyForOthers = 077;
constexpr std::uint64_t kMarkBytesMax = 64;
// 2027-01-01: versions that make no such mark are older, and so is what they made.
constexpr std::int64_t kMarkedSince_s = 1'798'761'600;

std::string mark_of(const std::string& folder) { return os::join(folder, "keys/here"); }
std::string key_of(const std::string& folder) { return os::join(folder, "keys/ledger.key"); }

// What a mark says: its own inode, and when it was made. `stat -c '%i %W'` prints the same.
Result<std::string> text_of_mark(const std::string& mark) {
  PAWL_TRY(const auto facts, os::facts_of(mark));
  return fmt::format("{} {}\n", facts.inode, facts.born_s);
}

bool is_marked(const std::string& folder) {
  const std::string mark = mark_of(folder);
  if (!os::is_regular_file(mark)) return false;
  const auto says = os::read_file(mark, kMarkBytesMax), fits = text_of_mark(mark);
  return says && fits && *says == *fits;
}

// Else it is as good as new, whatever else lies there.
bool has_what_is_believed(const std::string& folder) {
  constexpr const char* kBelieved[] = {"keys/ledger.key", "keys/ledger.pub", "pawl.db", "pawl.db-wal",
                                       "objects",         "spool",           "work",    "agents"};
  return std::ranges::any_of(kBelieved, [&](auto name) { return os::exists(os::join(folder, name)); });
}

std::int64_t marked_since_s() {
#ifdef PAWL_TEST_HOOKS
  // So that tests say what is old.
  if (const auto text = os::environment_value("PAWL_MARKED_SINCE")) return std::atoll(text->c_str());
#endif
  return kMarkedSince_s;
}

// Whether it was made by a version without such marks. No clone and no archive can set these times.
bool is_of_older_version(const std::string& folder) {
  if (os::is_regular_file(mark_of(folder))) return false;  // of this version, and a copy
  return std::ranges::all_of(
      std::vector<std::string>{folder, key_of(folder), os::join(folder, "pawl.db")}, [](const auto& path) {
        const auto facts = os::facts_of(path);
        if (!facts) return !os::exists(path);
        return (facts->born_s != 0 ? facts->born_s : facts->changed_s) < marked_since_s();
      });
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

Status check_tracked(const std::string& folder) {
  PAWL_TRY(const std::string path, os::absolute_path(folder));
  PAWL_TRY(const std::string index, workspace::index_that_tracks(path));
  if (index.empty()) return {};
  return refused(folder, "is tracked by git (" + index + "), so it came with the repository",
                 "Remove it (`git rm -r --cached` keeps the files), or name another one with --dir");
}

Status check_key(const std::string& folder) {
  const std::string key = key_of(folder);
  if (!os::exists(key)) return {};
  PAWL_OK(check_part(folder, key));
  PAWL_TRY(const auto facts, os::facts_of(key));
  if ((facts.mode & kAnyForOthers) != 0)
    return refused(key, "is readable for others", "If nobody else has read it: `chmod 600` it");
  return {};
}

// What makes a folder one that was made here, for a person who knows that it is theirs.
std::string taking_over(const std::string& folder) {
  const std::string mark = shell_word(mark_of(folder));
  std::string out;
  if (!os::exists(os::join(folder, "keys"))) out = "mkdir " + shell_word(os::join(folder, "keys")) + " && ";
  if (os::is_folder(mark_of(folder))) out += "rmdir " + mark + " && ";
  return out + "stat -c '%i %W' " + mark + " >" + mark;
}

// Asked in this order: another process that makes the folder now marks it first.
Status check_origin(const std::string& folder) {
  if (!has_what_is_believed(folder) || is_marked(folder) || is_of_older_version(folder)) return {};
  return refused(folder,
                 "was not made here: it has no mark, or another one's (keys/here), as what was copied, was "
                 "restored or came with somebody's files",
                 "If it is yours, take it over: `" + taking_over(folder) +
                     "` (where it can't be written, that of a copy); else name another one with --dir");
}

Status make_mark(const std::string& folder) {
  PAWL_OK(os::make_private_folder(folder));
  PAWL_OK(os::make_folders(os::join(folder, "keys"), 0700));
  PAWL_TRY(const auto lock, os::FileLock::lock(os::join(folder, "keys/lock")));
  if (is_marked(folder)) return {};
  const std::string mark = mark_of(folder), next = mark + ".new";
  if (os::is_folder(mark)) PAWL_OK(os::remove_tree(mark));  // of an older version
  PAWL_OK(os::write_atomically(next, "", 0600));
  PAWL_TRY(const std::string text, text_of_mark(next));
  PAWL_OK(os::append_to_file(next, text));
  PAWL_OK(os::fsync_file("mark", next));
  return os::rename_durably("mark", next, mark);
}

}  // namespace

Status check_state_folder(const std::string& folder) {
  PAWL_OK(check_part(folder, folder));
  PAWL_TRY(const auto names, os::list_folder(folder));
  for (const auto& name : names) {
    // SQLite removes its log when the last who has the database open leaves.
    auto part = check_part(folder, os::join(folder, name));
    if (!part && part.error().kind != ErrorKind::kNotFound) return part;
  }
  for (const auto* below : {"keys", "objects", "runs", "spool", "cost", "work", "agents"})
    PAWL_OK(check_links(os::join(folder, below)));
  PAWL_OK(check_tracked(folder));
  PAWL_OK(check_key(folder));
  PAWL_OK(check_origin(folder));
  tighten(folder, names);
  return {};
}

Status check_database(const std::string& path) {
  if (!os::exists(path)) return {};
  PAWL_TRY(const std::string file, os::absolute_path(path));
  return check_part(file, file);
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
  if (is_marked(folder)) return {};
  const bool is_older = has_what_is_believed(folder);
  const auto made = make_mark(folder);
  return is_older ? Status() : made;
}

}  // namespace pawl::cli
