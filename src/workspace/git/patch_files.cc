#include "workspace/git/patch_files.h"

#include <cerrno>
#include <cstdio>
#include <set>

#include "os/file.h"
#include "workspace/git/lfs.h"
#include "workspace/git/rules.h"
#include "workspace/git/stand_in.h"
#include "workspace/tree.h"

namespace pawl::workspace {
namespace {

// The .gitattributes files that can apply to one of the paths.
GitFiles attributes_for(const GitFiles& files, const View& tree) {
  std::set<std::string> folders{""};
  for (const auto& [path, file] : files)
    for (auto folder = parent_of(path); folders.insert(folder).second;) folder = parent_of(folder);
  GitFiles out;
  for (const auto& folder : folders) {
    const std::string path = child(folder, ".gitattributes");
    if (auto file = git_file_of(tree, path)) out[path] = std::move(file);
  }
  return out;
}

// Null: there is no commit, or the repository no longer has it.
GitTree tree_of(git_repository& repository, const std::string& commit_id) {
  git_tree* tree = nullptr;
  if (commit_id.empty()) return GitTree();
  const auto commit = find_commit(repository, commit_id);
  return GitTree(commit && git_commit_tree(&tree, commit->get()) == 0 ? tree : nullptr);
}

class Committer {
 public:
  Committer(const Rules& rules, std::string scratch, std::string lfs, bool keeps_lfs)
      : rules_(rules), scratch_(std::move(scratch)), lfs_(std::move(lfs)), keeps_lfs_(keeps_lfs) {}

  Status put(const std::string& path, std::optional<GitFile>& before, std::optional<GitFile>& after) {
    PAWL_TRY(const bool rewrites, rules_.rewrites(path));
    if (!rewrites) return {};
    PAWL_TRY(const auto command, rules_.command_of(path));
    if (!command.empty()) return {};
    if (before) PAWL_OK(put_side(path, false, *before));
    return after ? put_side(path, keeps_lfs_, *after) : Status();
  }

 private:
  Status put_side(const std::string& path, bool keeps, GitFile& file) {
    PAWL_TRY(const auto cleaned, rules_.cleaned(path, file));
    if (!cleaned) return {};
    if (keeps && cleaned->is_lfs_pointer && !cleaned->bytes.empty())
      if (auto kept = keep_lfs(lfs_, file, cleaned->bytes); !kept)
        return std::unexpected(
            std::move(kept).error().in("its content can't be put where Git LFS looks for it"));
    const std::string full = os::join(scratch_, "side-" + std::to_string(++sides_));
    if (cleaned->file.empty())
      PAWL_OK(os::write_atomically(full, cleaned->bytes));
    else if (rename(cleaned->file.c_str(), full.c_str()) != 0)
      return fail_errno(errno, "rename", full);
    file.full = full;
    return {};
  }

  const Rules& rules_;
  const std::string scratch_, lfs_;
  const bool keeps_lfs_;
  int sides_ = 0;
};

}  // namespace

Result<std::vector<Patch::LeftOut>> put_committed(const PatchTarget::Filters& filters, const View& tree,
                                                  const std::string& scratch, PatchFiles& files) {
  std::vector<Patch::LeftOut> out;
  PAWL_TRY(const auto found, repository_or_stand_in(filters.source, scratch));
  if (!found) return out;  // No git filters apply there.
  PAWL_TRY(auto rules, Rules::open(*found, scratch));
  const std::string lfs = lfs_storage(*found);
  const auto root = tree_of(*found->repository, filters.git_commit);
  if (!rules.learn(root.get(), attributes_for(files.after, tree))) return out;  // Rules beyond the limits.
  Committer committer(rules, scratch, lfs, filters.keeps_lfs);
  for (auto& [path, after] : files.after)
    if (const auto put = committer.put(path, files.before.at(path), after); !put)
      out.push_back({.path = path, .reason = put.error().message, .is_too_large = false});
  for (const auto& left_out : out) {
    files.before.erase(left_out.path);
    files.after.erase(left_out.path);
  }
  return out;
}

}  // namespace pawl::workspace
