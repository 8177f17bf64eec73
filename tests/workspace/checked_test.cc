// Objects that were changed on disk, and records that another process wrote, are detected.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include <cstdlib>

#include "base/hash.h"
#include "base/seal.h"
#include "workspace/folder_look.h"
#include "workspace/repository.h"

namespace pawl::workspace {
namespace {

const std::string kKey(kHashKeySize, 'k'), kOther(kHashKeySize, 'x');

class CheckedTest : public WorkspaceTest {
 protected:
  void SetUp() override {
    WorkspaceTest::SetUp();
    workspaces_->use_key(kKey);
  }
  // The store as another process of the same folder sees it.
  Workspaces another(const std::string& key = kKey) {
    auto out = *Workspaces::open(temp_ / "pawl");
    out.use_key(key);
    return out;
  }
  std::string object(const std::string& path) { return temp_ / ("pawl/objects/" + path); }

  std::string found(const std::string& base, const std::vector<std::string>& layers) {
    const auto whole = another().check_content(base, layers);
    return whole ? "whole" : std::string(name(whole.error().kind));
  }
  // Waits until earlier writes are old enough to be cached.
  static void wait_a_tick() { sh("sleep 0.1"); }

  // Runs each script in the tree, and restores the state folder from a copy afterwards.
  void expect_each_is_found(const std::string& tree, const std::string& base,
                            const std::vector<std::string>& layers, const std::vector<std::string>& scripts) {
    wait_a_tick();
    ASSERT_EQ(found(base, layers), "whole");  // The result is cached.
    for (const auto& script : scripts) {
      sh("cp -a " + (temp_ / "pawl") + " " + (temp_ / "backup") + " && cd " + tree + " && " + script);
      EXPECT_EQ(found(base, layers), "forged") << script;
      setenv("PAWL_WALLS_OFF", "objects", 1);
      EXPECT_EQ(found(base, layers), "whole") << script;
      unsetenv("PAWL_WALLS_OFF");
      sh("chmod -R u+rwX " + (temp_ / "pawl") + " && rm -rf " + (temp_ / "pawl") + " && mv " +
         (temp_ / "backup") + " " + (temp_ / "pawl"));
      wait_a_tick();
      ASSERT_EQ(found(base, layers), "whole") << "restored, with other inodes";
    }
  }
};

const std::vector<std::string> kChanges = {
    // The last two leave size and mtime unchanged.
    "echo more >> text",
    "rm text",
    "mv text text2",
    "rm text && mkdir text",
    "rm text && ln -s tool text",
    "chmod -x tool",
    "chmod +x text",
    "touch more",
    "mkdir more",
    "ln -s text more",
    "mknod more c 0 0",
    "mkfifo more",
    "chmod 000 dir",
    "mkdir -p .git && touch .git/config",
    "rm -r dir",
    "cp text doomed",
    "echo >> ../manifest.jsonl",
    "rm ../manifest.jsonl",
    "mv ../tree ../away && ln -s away ../tree",
    "touch -r text ../t && printf x | dd of=text conv=notrunc status=none && touch -r ../t text",
    "cp -a text ../t && printf x | dd of=../t conv=notrunc status=none && touch -r text ../t && mv ../t "
    "text"};

TEST_F(CheckedTest, EachChangeOfABaseIsFound) {
  expect_each_is_found(workspaces_->base_tree(base_.base_id), base_.base_id, {}, kChanges);
  const auto folder = workspaces_->snapshot_directory(source_);
  expect_each_is_found(workspaces_->base_tree(folder->base_id), folder->base_id, {}, kChanges);
}

TEST_F(CheckedTest, EachChangeOfALayerIsFound) {
  const auto id =
      layer("rm binary && echo 1 >> text && echo 1 >> tool && echo 1 >> dir/inner && rm dir/other");
  auto scripts = kChanges;
  for (const char* of_layers : {"rm binary", "rm binary && touch binary", "mknod doomed c 0 0",
                                "rm dir/other", "mknod dir/third c 0 0"})
    scripts.emplace_back(of_layers);
  expect_each_is_found(workspaces_->layer_tree(id), base_.base_id, {id}, scripts);
}

// overlayfs takes the attribute for a deletion, and no listing shows it.
TEST_F(CheckedTest, AFolderThatHidesWhatLiesBelowIsFound) {
  const auto id = layer("echo 1 >> dir/inner");
  wait_a_tick();
  ASSERT_EQ(found(base_.base_id, {id}), "whole");
  const std::string folder = workspaces_->layer_tree(id) + "/dir";
  ASSERT_EQ(setxattr(folder.c_str(), "user.overlay.opaque", "y", 1, 0), 0);
  EXPECT_EQ(found(base_.base_id, {id}), "forged");
  removexattr(folder.c_str(), "user.overlay.opaque");
  EXPECT_EQ(found(base_.base_id, {id}), "whole");
}

TEST_F(CheckedTest, APartOfADerivedBaseIsFound) {
  sh("cd " + source_ +
     " && for i in $(seq 200); do echo $i > pad$i; done && git add -A && git commit -qm pad");
  const auto whole = workspaces_->snapshot_git(source_, "HEAD")->base_id;
  sh("cd " + source_ + " && echo next >> text && git rm -q doomed && git commit -qam next");
  const auto next = workspaces_->snapshot_git(source_, "HEAD")->base_id;
  const auto trees = workspaces_->trees_of(next, {});
  ASSERT_EQ(trees.size(), 2U);
  expect_each_is_found(trees.back(), next, {}, {"echo more >> pad7", "touch more", "rm pad7"});
  expect_each_is_found(trees.front(), next, {}, {"echo more >> text", "touch more", "rm doomed"});
  // Another derivation, from parts that are whole.
  sh("cd " + source_ + " && echo third >> text && git commit -qam third");
  const auto third = workspaces_->snapshot_git(source_, "HEAD")->base_id;
  const auto record = *os::read_file(object("derived/" + third), 1000);
  ASSERT_TRUE(os::write_atomically(object("derived/" + next), whole + record.substr(kHashHexSize)));
  EXPECT_EQ(found(next, {}), "forged");
  EXPECT_EQ(found(whole, {}), "whole");
}

TEST_F(CheckedTest, WhatFitsIsNotReadAgain) {
  const auto id = layer("echo 1 >> text && rm doomed");
  wait_a_tick();
  const auto read = [&](const std::string& key = kKey) {
    const auto other = another(key);
    EXPECT_TRUE(other.check_content(base_.base_id, {id}));
    return other.read_again().files.load();
  };
  EXPECT_EQ(read(), 7);
  EXPECT_EQ(read(), 0);
  EXPECT_EQ(read(kOther), 7) << "what somebody else remembered";
  EXPECT_EQ(read(), 7) << "he remembered it under his own key";
  // A cache of another object does not count, and a cache with a changed byte is invalid.
  const std::string of_base = object("bases/" + base_.base_id + "/checked"),
                    of_layer = object("layers/" + id + "/checked");
  sh("cp " + of_base + " " + of_layer);
  EXPECT_EQ(read(), 1);
  sh("printf x | dd of=" + of_base + " seek=200 bs=1 conv=notrunc status=none");
  EXPECT_EQ(read(), 6);
  // One more link, as when layers share files.
  sh("ln " + workspaces_->base_tree(base_.base_id) + "/text " + (temp_ / "link"));
  wait_a_tick();
  EXPECT_EQ(read(), 1);
  EXPECT_EQ(read(), 0);
}

// A second write in the same tick of the kernel's clock does not get a newer time.
TEST_F(CheckedTest, WhatWasWrittenJustNowIsReadOnceMore) {
  const std::string text = workspaces_->base_tree(base_.base_id) + "/text";
  bool was_read_twice = false;
  for (int i = 0; i < 20 && !was_read_twice; ++i) {  // A machine may be too slow for "just now".
    wait_a_tick();
    ASSERT_EQ(found(base_.base_id, {}), "whole");
    ASSERT_EQ(chmod(text.c_str(), 0644), 0);
    const auto first = another(), second = another();
    EXPECT_TRUE(first.check_content(base_.base_id, {}));
    EXPECT_TRUE(second.check_content(base_.base_id, {}));
    EXPECT_EQ(first.read_again().files, 1);
    was_read_twice = second.read_again().files == 1;
  }
  EXPECT_TRUE(was_read_twice);
}

TEST_F(CheckedTest, WhoAsksBeforeEachUseLooksOnceInAMoment) {
  sh("cd " + source_ + " && for i in $(seq 3000); do echo $i > $i; done");
  const auto base = workspaces_->snapshot_directory(source_)->base_id;
  EXPECT_TRUE(workspaces_->check_before_use(base, {}));
  const auto read = workspaces_->read_again().files.load();
  EXPECT_EQ(read, 3006);
  EXPECT_TRUE(workspaces_->check_before_use(base, {}));
  EXPECT_EQ(workspaces_->read_again().files, read);
  const auto of_this_process = another();
  EXPECT_TRUE(of_this_process.check_before_use(base, {}));
  EXPECT_EQ(of_this_process.read_again().files, 0);
  sh("echo more >> " + workspaces_->base_tree(base) + "/text");
  EXPECT_FALSE(workspaces_->check_content(base, {})) << "who asks for a look gets one";
}

// The names of the records in git/, merges/ and folders/ can be guessed. Their content is believed only with
// the folder's seal.
TEST_F(CheckedTest, RecordsOfSomebodyElseAreNotBelieved) {
  sh("cd " + source_ + " && echo other > text && git commit -qam other");
  const auto wrong = workspaces_->snapshot_git(source_, "HEAD")->base_id;
  sh("cd " + source_ + " && git reset -q --hard HEAD~1");
  const auto forge = [&](const std::string& kind, const std::string& text) {
    const auto names = *os::list_folder(object(kind));
    for (const auto& name : names) ASSERT_TRUE(os::write_atomically(object(kind + "/" + name), text));
  };
  const auto seen = [&] { return another().snapshot_git(source_, "HEAD")->base_id; };
  for (const auto& text : {wrong, Seal(kOther, "git/x").of(wrong) + wrong}) {
    forge("git", text);
    EXPECT_EQ(seen(), base_.base_id);
  }
  setenv("PAWL_WALLS_OFF", "objects", 1);
  forge("git", std::string(kHashHexSize, '0') + wrong);
  EXPECT_EQ(seen(), wrong);
  unsetenv("PAWL_WALLS_OFF");
  EXPECT_EQ(seen(), base_.base_id);
}

TEST_F(CheckedTest, ALookOfSomebodyElseIsNotBelieved) {
  sh("sleep 2.1");  // Recent writes are looked at again.
  const auto look = another().snapshot_directory(source_)->base_id;
  auto other = another(kOther);
  ASSERT_EQ(other.snapshot_directory(source_)->base_id, look);
  const auto names = *os::list_folder(object("folders"));
  ASSERT_EQ(names.size(), 1U);
  const std::string path = object("folders/" + names.front());
  const Seal seal(kOther, "folders/" + names.front());
  const auto memory = FolderMemory::load(path, seal);
  ASSERT_EQ(memory.base_id(), look);
  ASSERT_TRUE(FolderMemory::save(path, seal, base_.base_id, memory.looked()));
  EXPECT_EQ(other.snapshot_directory(source_)->base_id, base_.base_id) << "whose seal it is";
  EXPECT_EQ(another().snapshot_directory(source_)->base_id, look);
}

TEST_F(CheckedTest, AMergeOfSomebodyElseIsMadeAnew) {
  std::vector<std::string> layers;
  for (const char* text : {"1", "2", "3", "4"})
    layers.insert(layers.begin(), layer(std::string("echo ") + text + " > file" + text, layers));
  const auto merged = *workspaces_->stack(base_.base_id, layers);
  ASSERT_EQ(merged.size(), 1U);
  const auto names = *os::list_folder(object("merges"));
  ASSERT_EQ(names.size(), 1U);
  const std::string record = object("merges/" + names.front());
  for (const auto& text : {layers.back(), std::string(kHashHexSize, '0') + layers.back(), std::string()}) {
    ASSERT_TRUE(os::write_atomically(record, text));
    EXPECT_EQ(*another().stack(base_.base_id, layers), merged) << text;
  }
  setenv("PAWL_WALLS_OFF", "objects", 1);
  ASSERT_TRUE(os::write_atomically(record, std::string(kHashHexSize, '0') + layers.back()));
  EXPECT_EQ(*another().stack(base_.base_id, layers), std::vector{layers.back()});
  unsetenv("PAWL_WALLS_OFF");
  EXPECT_EQ(*another().stack(base_.base_id, layers), merged);
  expect_each_is_found(workspaces_->layer_tree(merged.front()), base_.base_id, merged,
                       {"echo more >> file1", "rm file1", "touch file5"});
}

}  // namespace
}  // namespace pawl::workspace
