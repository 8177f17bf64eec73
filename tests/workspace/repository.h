// A repository, accepted layers on top of it, and git's view of both.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "support/temp_folder.h"
#include "workspace/workspace.h"

namespace pawl::workspace {

using testing::TempFolder;

inline std::string sh(const std::string& command) {
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  std::string out;
  char buffer[4096];
  while (const auto got = fread(buffer, 1, sizeof buffer, pipe)) out.append(buffer, got);
  const int status = pclose(pipe);
  EXPECT_EQ(status, 0) << command << "\n" << out;
  return out;
}

class WorkspaceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    sh("mkdir -p " + source_ + "/dir && cd " + source_ +
       " && git init -q -b main . && git config user.name t && git config user.email t@example.org"
       " && printf 'one\\ntwo\\nthree\\n' > text && head -c 3000 /dev/urandom > binary && echo run > tool && "
       "chmod +x tool"
       " && ln -s text link && echo in > dir/inner && echo more > dir/other && echo x > doomed"
       " && git add -A && git commit -q -m base");
    workspaces_.emplace(*Workspaces::open(temp_ / "pawl"));
    base_ = *workspaces_->snapshot_git(source_, "HEAD");
  }

  // A copy of the base with these layers, topmost first.
  std::string tree_of(const std::vector<std::string>& layers) {
    std::string tree = temp_ / ("tree" + std::to_string(++trees_));
    const auto lower = lower_of(layers);
    sh("mkdir " + tree);
    for (auto each = lower.rbegin(); each != lower.rend(); ++each)
      sh("cd " + *each + " && find . -mindepth 1 -type d -printf '%P\\n' | (cd " + tree +
         " && while read -r p; do [ ! -L \"$p\" ] && [ ! -f \"$p\" ] || rm \"$p\"; done) && find . ! -type d "
         "-printf '%P\\0' | (cd " +
         tree + " && xargs -0 -r rm -rf --) && cp -aT . " + tree + " && find " + tree + " -type c -delete");
    return tree;
  }
  // A layer as a sandbox without overlayfs leaves it: the whole tree, after `script` ran in it.
  std::string layer(const std::string& script, const std::vector<std::string>& below = {}) {
    const std::string tree = tree_of(below);
    sh("cd " + tree + " && " + script);
    const auto collected = workspaces_->collect(tree, lower_of(below), true);
    EXPECT_TRUE(collected) << collected.error().message;
    refused_ = collected->refused;
    return collected->layer_id;
  }
  std::vector<std::string> lower_of(const std::vector<std::string>& layers) {
    std::vector<std::string> out;
    for (const auto& id : layers) out.push_back(workspaces_->layer_tree(id));
    const auto base = workspaces_->trees_of(base_.base_id, {});
    out.insert(out.end(), base.begin(), base.end());
    return out;
  }
  std::vector<std::string> paths_of(const std::string& id) {
    const auto entries = *workspaces_->manifest(id);
    std::vector<std::string> out;
    for (const auto& entry : entries) out.push_back(entry.path);
    return out;
  }
  // Expects that git makes exactly this tree from the patch, in a clone.
  void expect_patch_gives(const std::vector<std::string>& layers, const std::string& script) {
    const auto patch = workspaces_->diff(base_.base_id, {}, layers);
    ASSERT_TRUE(patch) << patch.error().message;
    ASSERT_TRUE(os::write_atomically(temp_ / "patch", patch->text));
    sh("rm -rf " + clone_ + " " + clone_ + "2 && git clone -q " + source_ + " " + clone_ + " && cp -a " +
       clone_ + " " + clone_ + "2");
    sh("cd " + clone_ + " && git apply --index " + (temp_ / "patch"));
    sh("cd " + clone_ + "2 && " + script + " && git add -A");
    EXPECT_EQ(sh("cd " + clone_ + " && git write-tree"), sh("cd " + clone_ + "2 && git write-tree"))
        << patch->text;
  }

  // The changes from each_change(), one for each line.
  std::vector<std::string> changes(const std::string& id, const std::vector<std::string>& below = {},
                                   bool contents = true) {
    std::vector<std::string> out;
    const auto version = [](const std::optional<FileVersion>& one) {
      if (!one) return std::string("-");
      return (one->is_link ? "link " + std::string(one->content) : std::to_string(one->size)) +
             (one->is_executable ? "x" : "") + (one->is_binary ? "b" : "");
    };
    const auto seen = workspaces_->each_change(
        base_.base_id, below, id, [&](const auto&) { return contents; },
        [&](const FileChange& change) -> Status {
          std::string line = change.path + ": " + version(change.before) + " > " + version(change.after);
          for (const auto& added : change.added)
            line += " +" + std::to_string(added.number) + ":" + std::string(added.text);
          if (change.lines_removed > 0) line += " -" + std::to_string(change.lines_removed);
          out.push_back(line + (change.unread ? " unread" : ""));
          return {};
        });
    EXPECT_TRUE(seen) << seen.error().message;
    return out;
  }

  TempFolder temp_;
  const std::string source_ = temp_ / "source", clone_ = temp_ / "clone";
  std::optional<Workspaces> workspaces_;
  Base base_;
  std::vector<std::string> refused_;
  int trees_ = 0;
};

}  // namespace pawl::workspace
