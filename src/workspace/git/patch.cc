#include "workspace/git/patch.h"

#include <fmt/format.h>
#include <git2/sys/repository.h>
#include <sys/stat.h>

#include <algorithm>
#include <iterator>

#include "os/file.h"
#include "os/temporary_folder.h"
#include "workspace/git/git_tree.h"
#include "workspace/git/patch_files.h"
#include "workspace/git/patch_text.h"
#include "workspace/workspace.h"

namespace pawl::workspace {
namespace {

// Limits of the search for moved files, whose contents are in memory: the size of each, and the number and
// total size on each side. Above the limits a moved file counts as a deleted and a new one.
constexpr std::int64_t kMovedBytesMax = 1 << 20;
constexpr std::int64_t kMovedFilesMax = 10'000, kMovedAllBytesMax = 64 << 20;

// A repository in memory. Its objects are never written to disk.
struct MemoryRepository {
  GitOdb odb;
  GitRepository repository;
};

Result<MemoryRepository> memory_repository() {
  git_start();
  MemoryRepository out;
  git_odb* odb = nullptr;
  git_repository* repository = nullptr;
  if (git_odb_new(&odb) != 0) return git_failure(ErrorKind::kUnavailable, "patch");
  out.odb.reset(odb);
  PAWL_OK(keep_new_objects_in_memory(*odb));
  if (git_repository_wrap_odb(&repository, odb) != 0) return git_failure(ErrorKind::kUnavailable, "patch");
  out.repository.reset(repository);
  return out;
}

std::int64_t size_of(const std::optional<GitFile>& file) {
  struct stat status {};
  return file && lstat(file->full.c_str(), &status) == 0 ? static_cast<std::int64_t>(status.st_size) : 0;
}

struct OneSided {
  std::vector<std::pair<std::string, const GitFile*>> files;  // By path.
  bool too_many = false;
};

// The files that only `files` has: no links, no empty files, no large ones.
OneSided only_in(const GitFiles& files, const GitFiles& others) {
  OneSided out;
  std::int64_t bytes = 0;
  for (const auto& [path, file] : files) {
    const auto other = others.find(path);
    if (!file || file->is_link || (other != others.end() && other->second)) continue;
    const auto size = size_of(file);
    if (size == 0 || size > kMovedBytesMax) continue;
    bytes += size;
    out.files.emplace_back(path, &*file);
    out.too_many = bytes > kMovedAllBytesMax || static_cast<std::int64_t>(out.files.size()) > kMovedFilesMax;
    if (out.too_many) break;
  }
  return out;
}

Result<GitTree> tree_of(git_repository& repository, const OneSided& side) {
  GitChanges changes;
  for (const auto& [path, file] : side.files) {
    PAWL_TRY(const std::string bytes, os::read_file(file->full, kMovedBytesMax));
    GitEntry entry{.mode = mode_of(*file)};
    if (git_blob_create_from_buffer(&entry.id, &repository, bytes.data(), bytes.size()) != 0)
      return git_failure(ErrorKind::kUnavailable, path);
    changes[path] = entry;
  }
  PAWL_TRY(const git_oid id, edit_tree(repository, nullptr, changes));
  git_tree* tree = nullptr;
  if (git_tree_lookup(&tree, &repository, &id) != 0) return git_failure(ErrorKind::kUnavailable, "patch");
  return GitTree(tree);
}

// When one path lies below the other, git sees two changes.
bool are_apart(const std::string& a, const std::string& b) {
  return !a.starts_with(b + "/") && !b.starts_with(a + "/");
}

// The moved files: new path to old path.
Result<std::map<std::string, std::string>> moves(const GitFiles& before, const GitFiles& after) {
  const auto gone = only_in(before, after), made = only_in(after, before);
  if (gone.files.empty() || made.files.empty() || gone.too_many || made.too_many)
    return std::map<std::string, std::string>();
  PAWL_TRY(const auto memory, memory_repository());
  PAWL_TRY(const auto old_tree, tree_of(*memory.repository, gone));
  PAWL_TRY(const auto new_tree, tree_of(*memory.repository, made));
  git_diff* raw = nullptr;
  if (git_diff_tree_to_tree(&raw, memory.repository.get(), old_tree.get(), new_tree.get(), nullptr) != 0)
    return git_failure(ErrorKind::kUnavailable, "patch");
  const GitDiff diff(raw);
  git_diff_find_options find = GIT_DIFF_FIND_OPTIONS_INIT;
  find.flags = GIT_DIFF_FIND_RENAMES;
  if (git_diff_find_similar(raw, &find) != 0) return git_failure(ErrorKind::kUnavailable, "patch");
  std::map<std::string, std::string> out;
  for (std::size_t i = 0; i < git_diff_num_deltas(raw); ++i) {
    const git_diff_delta* delta = git_diff_get_delta(raw, i);
    const std::string from = delta->old_file.path, to = delta->new_file.path;
    if (delta->status == GIT_DELTA_RENAMED && are_apart(from, to)) out[to] = from;
  }
  return out;
}

bool is_ignore_file(const std::string& path) { return path == ".gitignore" || path.ends_with("/.gitignore"); }

class PatchWriter {
 public:
  PatchWriter(const PatchTarget& target, const GitFiles& before, const GitFiles& after)
      : target_(target), before_(before), after_(after) {}

  Result<Patch> write() {
    PAWL_TRY(const auto moved, moves(before_, after_));
    std::set<std::string> left;
    for (const auto& [to, from] : moved) left.insert(from);
    for (const auto& [path, file] : after_) {
      if (left.contains(path)) continue;
      const auto from = moved.find(path);
      PAWL_OK(add(from == moved.end() ? path : from->second, path));
      if (file && is_ignore_file(path)) patch_.ignore_files.push_back(path);
    }
    return std::move(patch_);
  }

 private:
  Status add(const std::string& from, const std::string& to) {
    const auto most = target_.bytes_max.value_or(kPatchBytesMax);
    const auto size = static_cast<std::uint64_t>(std::max(size_of(before_.at(from)), size_of(after_.at(to))));
    if (target_.bytes_max && patch_.text.size() + size > most) {
      leave_out(to, fmt::format("the patch has {} bytes at most", most));
      return {};
    }
    auto text = patch_text({.path = target_.folder + from, .file = before_.at(from)},
                           {.path = target_.folder + to, .file = after_.at(to)}, target_.sha256_ids);
    if (!text && text.error().kind != ErrorKind::kExhausted) return std::unexpected(std::move(text).error());
    if (!text) {
      leave_out(to, text.error().message);
    } else if (patch_.text.size() + text->size() > most) {
      leave_out(to, fmt::format("the patch has {} bytes at most", most));
    } else {
      patch_.text += *text;
    }
    return {};
  }

  void leave_out(const std::string& path, std::string reason) {
    patch_.left_out.push_back({.path = path, .reason = std::move(reason), .is_too_large = true});
  }

  const PatchTarget& target_;
  const GitFiles& before_;
  const GitFiles& after_;
  Patch patch_;
};

}  // namespace

git_filemode_t mode_of(const GitFile& file) {
  if (file.is_link) return GIT_FILEMODE_LINK;
  return file.is_executable ? GIT_FILEMODE_BLOB_EXECUTABLE : GIT_FILEMODE_BLOB;
}

Result<git_oid> blob_id(const GitFile& file) {
  git_oid id;
  if (file.is_link) {
    PAWL_TRY(const std::string target, target_of_link(file.full));
    if (git_odb_hash(&id, target.data(), target.size(), GIT_OBJECT_BLOB) == 0) return id;
  } else if (git_odb_hashfile(&id, file.full.c_str(), GIT_OBJECT_BLOB) == 0) {
    return id;
  }
  return git_failure(ErrorKind::kUnavailable, file.full);
}

Result<Patch> Workspaces::diff(const std::string& base_id, const std::vector<std::string>& before,
                               const std::vector<std::string>& after, const PatchTarget& target) const {
  if (!has_base(base_id))
    return fail(ErrorKind::kNotFound, "the base " + base_id + " is gone (`pawl gc` takes it from old runs)");
  git_start();
  const View base(trees_of(base_id, {}));
  PAWL_TRY(auto changes_before, changes_of(*this, base, before));
  PAWL_TRY(auto changes_after, changes_of(*this, base, after));
  PatchFiles files;
  PAWL_TRY(files.before, git_files(base, std::move(changes_before)));
  PAWL_TRY(files.after, git_files(base, std::move(changes_after)));
  // Both sides get every path that either side changes; an unchanged path shows the base.
  for (const auto& [path, file] : files.after)
    if (!files.before.contains(path)) files.before[path] = git_file_of(base, path);
  for (const auto& [path, file] : files.before)
    if (!files.after.contains(path)) files.after[path] = git_file_of(base, path);
  if (!target.filters) return PatchWriter(target, files.before, files.after).write();
  PAWL_TRY(const auto scratch, os::TemporaryFolder::make(os::temporary_stem()));
  PAWL_TRY(auto left_out,
           put_committed(*target.filters, View(trees_of(base_id, before)), scratch.path(), files));
  PAWL_TRY(auto patch, PatchWriter(target, files.before, files.after).write());
  std::ranges::move(left_out, std::back_inserter(patch.left_out));
  return patch;
}

}  // namespace pawl::workspace
