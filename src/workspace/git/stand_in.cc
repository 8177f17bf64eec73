#include "workspace/git/stand_in.h"

#include "os/file.h"
#include "workspace/git/rules.h"
#include "workspace/git/work_tree.h"

namespace pawl::workspace {

Result<std::optional<FoundRepository>> repository_or_stand_in(const std::string& path,
                                                              const std::string& scratch) {
  if (auto found = find_repository(path)) return std::optional(*std::move(found));
  const auto tree = work_tree_of(path);
  if (!tree || tree->root.empty()) return std::optional<FoundRepository>();
  git_start();
  const std::string own = os::join(scratch, "stand-in");
  git_repository_init_options options = GIT_REPOSITORY_INIT_OPTIONS_INIT;
  options.flags = GIT_REPOSITORY_INIT_BARE | GIT_REPOSITORY_INIT_MKPATH;
  git_repository* raw = nullptr;
  if (git_repository_init_ext(&raw, own.c_str(), &options) != 0)
    return git_failure(ErrorKind::kUnavailable, own);
  FoundRepository out{.repository = GitRepository(raw), .prefix = tree->prefix, .stands_for = tree->git};
  const std::string name = "info/attributes";
  if (const auto text = os::read_file(os::join(tree->git.common, name), kOuterAttributesBytesMax)) {
    PAWL_OK(os::make_folders(os::join(own, "info")));
    PAWL_OK(os::write_atomically(os::join(own, name), *text));
  }
  if (git_repository_set_workdir(raw, tree->root.c_str(), 0) != 0)
    return git_failure(ErrorKind::kUnavailable, tree->root);
  return std::optional(std::move(out));
}

}  // namespace pawl::workspace
