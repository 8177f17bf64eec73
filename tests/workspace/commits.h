// The commit that Pawl makes from a folder, and the tree that git makes from the same folder.
#pragma once

#include <cstdlib>

#include "workspace/repository.h"

namespace pawl::workspace {

class CommitsTest : public WorkspaceTest {
 protected:
  void SetUp() override {
    setenv("HOME", temp_.path().c_str(), 1);
    setenv("GIT_CONFIG_GLOBAL", (temp_ / "gitconfig").c_str(), 1);
    sh("touch " + (temp_ / "gitconfig"));
    WorkspaceTest::SetUp();
  }
  void TearDown() override {
    unsetenv("GIT_CONFIG_GLOBAL");
    setenv("HOME", home_.c_str(), 1);
  }

  std::string git(const std::string& command) {
    auto out = sh("cd " + source_ + " && " + command);
    while (out.ends_with('\n')) out.pop_back();
    return out;
  }
  void take_folder() { base_ = *workspaces_->snapshot_directory(source_); }
  Commits commits(const std::string& id, bool of_work_tree = true) {
    return {.source = source_,
            .base = base_,
            .phases = {{.phase_id = "p", .layer_id = id}},
            .message = [](const auto&) { return "m"; },
            .of_work_tree = of_work_tree};
  }
  // The commit of the layer's work on the folder; "" when it is refused: then refusal_ has the reason.
  std::string applied(const std::string& id) {
    const auto foretold = workspaces_->commit_id(commits(id));
    const auto made = workspaces_->apply("pawl/" + id.substr(0, 8), commits(id));
    EXPECT_EQ(foretold.has_value(), made.has_value());
    refusal_ = made ? "" : made.error().message;
    EXPECT_EQ(made.value_or(""), foretold.value_or(""));
    return made.value_or("");
  }
  std::string refusal(const std::string& id) {
    EXPECT_EQ(applied(id), "");
    return refusal_;
  }
  // The tree that `git add` makes of the folder after `script`.
  std::string tree_by_git(const std::string& script) {
    return git("rm -rf ../by-git && cp -a . ../by-git && cd ../by-git && " + script +
               " && git add -A && git write-tree");
  }
  std::string tree_of(const std::string& commit) { return git("git rev-parse " + commit + "^{tree}"); }

  std::string refusal_;

 private:
  const std::string home_ = getenv("HOME") == nullptr ? "/" : getenv("HOME");
};

}  // namespace pawl::workspace
