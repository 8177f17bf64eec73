// The repository that a step finds, in a copy of the workspace, and git's view of it.
#pragma once

#include "workspace/repository.h"

namespace pawl::workspace {

class RepositoryForTest : public WorkspaceTest {
 protected:
  Workspaces::Source source() const { return {.path = source_, .base = base_}; }

  // `history_at`: see Workspaces::repository_for().
  Workspaces::Repository made(const std::vector<std::string>& layers = {},
                              const std::string& history_at = {}) {
    const auto out = workspaces_->repository_for(source(), layers, history_at);
    EXPECT_TRUE(out) << out.error().message;
    return out.value_or(Workspaces::Repository());
  }

  // A copy of the workspace with its .git. Times are kept, as overlayfs keeps them.
  std::string workspace(const std::vector<std::string>& layers = {}) {
    return workspace(layers, made(layers));
  }
  std::string workspace(const std::vector<std::string>& layers, const Workspaces::Repository& repository) {
    const std::string tree = tree_of(layers);
    for (auto layer = repository.layers.rbegin(); layer != repository.layers.rend(); ++layer)
      sh("chmod -R u+w " + tree + "; cp -aT " + workspaces_->layer_tree(*layer) + " " + tree);
    EXPECT_EQ(git(tree, "rev-parse HEAD"), repository.commit + "\n");
    return tree;
  }

  // Neither the configuration of this machine nor that of its user counts.
  static std::string git(const std::string& tree, const std::string& command) {
    return sh("cd " + tree + " && HOME=/nonexistent GIT_CONFIG_NOSYSTEM=1 git -c core.safecrlf=false " +
              command);
  }
  static std::string status(const std::string& tree) {
    return git(tree, "status --porcelain --untracked-files=all");
  }
  // Expects that git takes the files for the commit, also when it reads all of them.
  static void expect_clean(const std::string& tree, const std::string& what) {
    EXPECT_EQ(status(tree), "") << what;
    EXPECT_EQ(git(tree, "fsck --strict --no-dangling"), "") << what;
    sh("cd " + tree + " && find . -path ./.git -prune -o -type f -exec touch -d 2001-02-03 {} +");
    EXPECT_EQ(status(tree), "") << what << ", with other times";
    sh("rm " + tree + "/.git/index");
    EXPECT_EQ(git(tree, "add -A && git write-tree"), git(tree, "rev-parse 'HEAD^{tree}'")) << what;
  }

  void take_folder() {
    const auto taken = workspaces_->snapshot_directory(source_);
    ASSERT_TRUE(taken) << taken.error().message;
    base_ = *taken;
  }
};

}  // namespace pawl::workspace
