// Typical folders and repositories: which entries are taken, which are named, and that no base is incomplete.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "base/json.h"
#include "sandbox/namespace/copy_tree.h"
#include "workspace/object_store.h"
#include "workspace/repository.h"
#include "workspace/tree.h"

namespace pawl::workspace {
namespace {

namespace fs = std::filesystem;

class SourcesTest : public WorkspaceTest {
 protected:
  std::size_t bases() const {
    const auto names = os::list_folder(workspaces_->folder() + "/objects/bases");
    EXPECT_TRUE(names);
    return names->size();
  }
  // The folders, files and links of a tree, except those that no base has.
  static std::string listing(const std::string& tree) {
    return sh("cd " + tree +
              " && find . -mindepth 1 -name .git -prune -o \\( -type d -o -type f -o -type l \\) -printf "
              "'%y %P %l\\n' | LC_ALL=C sort");
  }
  Result<Base> taken_by(uid_t user, const std::vector<std::string>& left_out = {}) {
    const uid_t self = geteuid();
    EXPECT_EQ(seteuid(user), 0);
    auto base = workspaces_->snapshot_directory(source_, {.patterns = left_out});
    EXPECT_EQ(seteuid(self), 0);
    return base;
  }
  static std::vector<std::string> excluded_by(const std::string& said) {
    const auto start = said.find("[\""), end = said.find("\"]");
    EXPECT_NE(end, std::string::npos) << said;
    if (end == std::string::npos) return {};
    return parse_json(said.substr(start, end + 2 - start))->get<std::vector<std::string>>();
  }
};

// As an ordinary user, because root reads all files.
TEST_F(SourcesTest, WhatCanNotBeReadIsNamedWithWhatToDo) {
  const uid_t self = geteuid(), user = self == 0 ? 1234 : self;
  sh("mkdir -p " + source_ + "/deep/er && echo x > " + source_ + "/deep/er/f");
  if (self == 0) sh("chown -R 1234:1234 " + temp_.path());
  const auto known = bases();
  std::vector<std::pair<std::string, std::string>> cases = {
      {"chmod 000 text", "text"},       {"chmod 000 deep/er/f", "deep/er/f"},
      {"chmod 000 deep/er", "deep/er"}, {"chmod 644 deep", "deep"},
      {"chmod 311 dir", "dir"},
  };
  if (self == 0) cases.emplace_back("chown 0:0 tool && chmod 700 tool", "tool");
  for (const auto& [script, path] : cases) {
    SCOPED_TRACE(script);
    sh("cd " + source_ + " && cp -a " + path + " ../kept && " + script);
    const auto refused = taken_by(user);
    ASSERT_FALSE(refused);
    const std::string& said = refused.error().message;
    EXPECT_EQ(refused.error().kind, ErrorKind::kDenied);
    EXPECT_NE(said.find("source: " + path + " can't be used: user " + std::to_string(user)),
              std::string::npos)
        << said;
    EXPECT_NE(said.find("chmod"), std::string::npos) << said;
    EXPECT_EQ(bases(), known);
    EXPECT_TRUE(os::list_folder(workspaces_->folder() + "/objects/tmp")->empty());
    const auto base = taken_by(user, excluded_by(said));
    ASSERT_TRUE(base) << base.error().message;
    sh("rm -rf " + workspaces_->folder() + "/objects/bases/" + base->base_id + " && cd " + source_ +
       " && chmod -R u+rwx " + path + " && rm -rf " + path + " && mv ../kept " + path);
  }
  sh("chmod 000 " + source_);
  const auto refused = taken_by(user);
  sh("chmod 755 " + source_);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find(source_), std::string::npos) << refused.error().message;
  EXPECT_TRUE(taken_by(user));
}

TEST_F(SourcesTest, AllNamesAndTypesThatAFolderCanHaveAreTakenAsTheyAre) {
  const std::string script =
      "mkdir -p empty closed nested deep && "
      "p=deep; for n in $(seq 28); do p=$p/$(printf 'd%.0s' $(seq 90)); done; mkdir -p $p && touch $p/f && "
      "touch $(printf 'x%.0s' $(seq 255)) $(printf 'é%.0s' $(seq 127)) && echo A > TEXT && echo a > Text && "
      "touch .wh.text .wh..wh..opq .wh..wh.plnk .pawl-rename-0 dir/.wh.inner dir/.wh..wh..opq && mkdir "
      ".pawl-rename-1 .wh.dir && "
      "touch .pawl-rename-1/x .wh.dir/x text.tmp.ABCDEF moved-up-0 upper.spare && "
      "echo s > setuid && chmod 6755 setuid && truncate -s 1G sparse && echo x > closed/f && chmod 400 "
      "closed/f && "
      "ln -s nowhere dangling && ln -s loop loop && ln -s / root && ln -s ../../../etc/passwd outside && "
      "mkfifo pipe && python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"socket\")' && "
      "git init -q nested && echo n > nested/n && touch 'a b' \"it's\" 'q\"d' ./-n '*' '$(x)' 'back\\slash' "
      "&& chmod 555 closed";
  sh("cd " + source_ + " && " + script);
  const auto base = workspaces_->snapshot_directory(source_);
  ASSERT_TRUE(base) << base.error().message;
  const auto tree = workspaces_->base_tree(base->base_id);
  EXPECT_EQ(listing(tree), listing(source_));
  EXPECT_EQ(sh("cd " + tree + " && stat -c %a setuid closed closed/f"), "755\n755\n400\n");
  EXPECT_EQ(sh("cd " + tree + " && test $(stat -c %b sparse) -lt 100 && stat -c %s sparse"), "1073741824\n");
  EXPECT_EQ(workspaces_->snapshot_directory(source_)->base_id, base->base_id);
  const auto whole = workspaces_->check_content(base->base_id, {});
  EXPECT_TRUE(whole) << whole.error().message;
  // The same by git, and out again as a patch.
  sh("cd " + source_ +
     " && rm -rf nested sparse pipe socket && chmod 755 closed && chmod 644 closed/f && git add -A && git "
     "commit -q -m odd");
  base_ = *workspaces_->snapshot_git(source_, "HEAD");
  const std::string change =
      "for f in .wh.* .pawl-rename-0 .pawl-rename-1/* xxx* é*; do [ -d $f ] || echo 2 >> $f; done && rm -r "
      "TEXT .wh.dir && "
      "echo 2 > 'back\\slash' && mkdir .wh.new && touch .wh.new/.wh..wh..opq .wh.doomed && mv dir "
      ".pawl-rename-2";
  const auto id = layer(change);
  EXPECT_EQ(refused_, std::vector<std::string>());
  expect_patch_gives({id}, change);
  const auto next = layer("rm .wh.doomed .wh..wh..opq && echo 3 > .wh.text", {id});
  expect_patch_gives({next, id}, change + " && rm .wh.doomed .wh..wh..opq && echo 3 > .wh.text");
}

TEST_F(SourcesTest, APathBeyondAllPathsIsNamedWithTheLineThatLeavesItOut) {
  testing::nest_folders(source_, 2100);
  const auto refused = workspaces_->snapshot_directory(source_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kInvalid);
  const auto left_out = excluded_by(refused.error().message);
  const auto base = workspaces_->snapshot_directory(source_, {.patterns = left_out});
  ASSERT_TRUE(base) << base.error().message;
  EXPECT_TRUE(os::exists(workspaces_->base_tree(base->base_id) + "/d/d/d"));
}

// From then on each name is a separate file, however the workspace is made.
TEST_F(SourcesTest, AFileBeyondTheLimitIsNamedWithTheLineThatLeavesItOut) {
  sh("cd " + source_ + " && mkdir deep && truncate -s 1G small.img && truncate -s 100G 'deep/a disk*.img'");
  const auto refused = workspaces_->snapshot_directory(source_);
  ASSERT_FALSE(refused);
  const std::string& said = refused.error().message;
  EXPECT_EQ(refused.error().kind, ErrorKind::kExhausted);
  EXPECT_NE(said.find("holes included; the largest file found is deep/a disk*.img; take"), std::string::npos)
      << said;
  EXPECT_EQ(excluded_by(said), std::vector<std::string>{"deep/a disk?.img"});
  sh("rm " + source_ + "/small.img");
  EXPECT_TRUE(workspaces_->snapshot_directory(source_, {.patterns = excluded_by(said)}));
  // As it is below a folder that is the source.
  const auto below = workspaces_->snapshot_directory(source_ + "/deep", {.above = "deep/"});
  ASSERT_FALSE(below);
  EXPECT_EQ(excluded_by(below.error().message), std::vector<std::string>{"deep/a disk?.img"});
}

// No tree of a test has so many entries.
TEST_F(SourcesTest, TooManyEntriesAreNamedWithTheWayOut) {
  const auto refused = check_source_limits(kEntriesMax + 1, 1, "source", "a/file");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("`exclude: [\"PATTERN\"]` below `source`"), std::string::npos)
      << refused.error().message;
  EXPECT_TRUE(check_source_limits(kEntriesMax, kTreeBytesMax, "source", ""));
}

TEST_F(SourcesTest, HardLinksAreFilesOfTheirOwn) {
  sh("cd " + source_ + " && ln text second && ln text dir/third");
  base_ = *workspaces_->snapshot_directory(source_);
  const auto names = [](const std::string& tree) {
    return sh("cd " + tree + " && find . -type f -links +1 | sort");
  };
  EXPECT_EQ(names(workspaces_->base_tree(base_.base_id)), "");
  const auto first = layer("ln tool again && echo more >> again && ln text fourth");
  EXPECT_EQ(names(workspaces_->layer_tree(first)), "");
  EXPECT_EQ(paths_of(first), (std::vector<std::string>{"again", "fourth", "tool"}));
  // Objects share files. A copy of them must not.
  const auto second = layer("echo 2 > own", {first});
  const auto merged = *workspaces_->merge(base_.base_id, {}, {second, first});
  EXPECT_NE(names(workspaces_->layer_tree(merged)), "");
  const std::string copy = temp_ / "copy";
  sh("mkdir " + copy);
  ASSERT_TRUE(sandbox::copy_merged(workspaces_->trees_of(base_.base_id, {merged}), copy));
  EXPECT_EQ(names(copy), "");
  sh("cd " + copy +
     " && for f in *; do [ -d $f ] || printf written > $f; done && cat again second fourth text | grep -c "
     "writtenwrittenwrittenwritten");
  const auto whole = workspaces_->check_content(base_.base_id, {first, second, merged});
  EXPECT_TRUE(whole) << whole.error().message;
}

// A name costs as much as a file, also on the disk during collection.
TEST_F(SourcesTest, ManyNamesOfOneFileAreNoMoreThanTheCaps) {
  const std::string upper = temp_ / "upper";
  sh("mkdir " + upper + " && cd " + upper +
     " && head -c 1000000 /dev/urandom > 000 && for i in $(seq 100 300); do ln 000 $i; done");
  const auto collected = workspaces_->collect(upper, lower_of({}), false, {.bytes = 10'000'000});
  ASSERT_TRUE(collected) << collected.error().message;
  EXPECT_EQ(paths_of(collected->layer_id).size(), 10U);
  EXPECT_EQ(collected->refused_total, 192);
  EXPECT_LT(bytes_on_disk(workspaces_->layer_tree(collected->layer_id)), 12'000'000);
}

// A user works on, or a build runs: a base matches its id, or there is no base.
TEST_F(SourcesTest, AFolderThatChangesMeanwhileIsTakenWholeOrNotAtAll) {
  std::atomic<bool> stop = false;
  std::thread others([&] {
    const fs::path root = source_;
    std::error_code ignored;
    for (int i = 0; !stop; ++i) {
      const auto at = root / ("f" + std::to_string(i % 7));
      fs::remove_all(at, ignored);
      switch (i % 5) {
        case 0:
          fs::create_directories(at / "deep", ignored);
          static_cast<void>(os::write_atomically(at / "deep/x", "x"));
          break;
        case 1:
          fs::create_symlink("text", at, ignored);
          break;
        default:
          static_cast<void>(os::write_atomically(at, std::string(static_cast<std::size_t>(i % 90000), 'x')));
      }
      static_cast<void>(os::write_atomically(root / "text", std::to_string(i)));
    }
  });
  int taken = 0;
  for (int i = 0; i < 60 || (taken == 0 && i < 2000); ++i) {
    const auto base = workspaces_->snapshot_directory(source_);
    taken += base ? 1 : 0;
    if (!base)
      EXPECT_NE(base.error().message.find("the source changed while Pawl read it"), std::string::npos)
          << base.error().message;
    else if (const auto whole = workspaces_->check_content(base->base_id, {}); !whole)
      ADD_FAILURE() << whole.error().message;
  }
  stop = true;
  others.join();
  EXPECT_GT(taken, 0);
  const auto last = workspaces_->snapshot_directory(source_);
  ASSERT_TRUE(last) << last.error().message;
  EXPECT_EQ(last->base_id, *workspaces_->content_id(source_));
}

TEST_F(SourcesTest, ARepositoryIsReadWhateverItKeepsItsObjectsIn) {
  const auto id = layer("echo 2 > text && mkdir new && echo n > new/n");
  const auto commits = [&](const std::string& source) {
    return Commits{.source = source,
                   .base = base_,
                   .phases = {{.phase_id = "p", .layer_id = id}},
                   .message = [](const auto&) { return "m"; }};
  };
  sh("cd " + source_ +
     " && echo 1 > older && git add older && git commit -q -m older && git rm -q older && git commit -q -m "
     "newer");
  base_ = *workspaces_->snapshot_git(source_, "HEAD");
  const std::pair<const char*, const char*> cases[] = {
      {"linked", "git -C source worktree add -q --detach ../linked"},
      {"shallow", "git clone -q --depth 1 file://$PWD/source shallow"},
      {"shared", "git clone -q --shared source shared"},
      {"single", "git clone -q --single-branch --no-tags source single"},
      {"packed",
       "git clone -q source packed && cd packed && git tag t && git gc -q --aggressive --prune=now && git "
       "pack-refs --all && "
       "git commit-graph write --reachable && git multi-pack-index write"},
      {"apart", "git clone -q --separate-git-dir apart.git source apart"},
      {"detached", "git clone -q source detached && cd detached && git checkout -q --detach"},
      {"moved", "git clone -q source was && git -C was worktree add -q --detach ../side && mv was moved"},
      {"super/lib",
       "git init -q super && cd super && git -c protocol.file.allow=always submodule --quiet add ../source "
       "lib && "
       "git submodule --quiet absorbgitdirs"},
      {"replaced",
       "git clone -q source replaced && cd replaced && git -c user.name=t -c user.email=t@example.org commit "
       "-q --allow-empty -m other && "
       "git replace HEAD HEAD~1"},
  };
  for (const auto& [name, script] : cases) {
    SCOPED_TRACE(name);
    sh("cd " + temp_.path() + " && " + script);
    const std::string at = temp_ / name;
    const auto base = workspaces_->snapshot_git(at, "HEAD");
    ASSERT_TRUE(base) << base.error().message;
    EXPECT_EQ(base->base_id, base_.base_id);
    auto made_of = commits(at);
    made_of.base = *base;
    const auto made = workspaces_->apply("pawl/x", made_of);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(sh("cd " + at + " && git fsck --no-dangling 2>&1 >/dev/null; git diff --name-only HEAD pawl/x"),
              "new/n\ntext\n");
  }
}

TEST_F(SourcesTest, TheTextOfAFileIsReadInsideTheBaseOnly) {
  ASSERT_TRUE(os::write_atomically(temp_ / "outside", "outside"));
  ASSERT_TRUE(os::write_atomically(os::join(source_, "inside"), "inside"));
  const std::string outside = temp_ / "outside";
  ASSERT_EQ(symlink(outside.c_str(), os::join(source_, "away").c_str()), 0);
  ASSERT_EQ(symlink("/", os::join(source_, "root").c_str()), 0);
  ASSERT_EQ(symlink("/dev/zero", os::join(source_, "endless").c_str()), 0);
  const auto base = workspaces_->snapshot_directory(source_);
  ASSERT_TRUE(base) << base.error().message;
  const auto objects = object_store(*workspaces_);
  EXPECT_EQ(*objects->text_at(base->base_id, {}, "inside", 100), "inside");
  for (const std::string& path : {std::string("away"), "root" + outside, std::string("endless"), outside,
                                  std::string("../manifest"), std::string("inside/../../manifest")})
    EXPECT_FALSE(objects->text_at(base->base_id, {}, path, 100)) << path;
}

}  // namespace
}  // namespace pawl::workspace
