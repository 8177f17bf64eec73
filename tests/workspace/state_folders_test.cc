// State folders of other runs are not a part of a source, whatever their names.
#include "workspace/state_folders.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "workspace/repository.h"

namespace pawl::workspace {
namespace {

using Paths = std::vector<std::string>;

class StateFoldersTest : public WorkspaceTest {
 protected:
  // `beside`: what lies beside its key.
  void make_state(const std::string& path, const std::string& beside = "pawl.db") const {
    const std::string state = "'" + source_ + "/" + path + "'";
    sh("mkdir -p " + state + "/keys && echo secret | tee " + state + "/keys/ledger.key > " + state + "/" +
       beside);
  }
  // Returns those of `paths` that a snapshot has.
  Paths taken(Paths paths) {
    const auto base = workspaces_->snapshot_directory(source_, without_);
    EXPECT_TRUE(base) << base.error().message;
    std::erase_if(paths,
                  [&](const auto& path) { return !base || !workspaces_->may_have(base->base_id, path); });
    return paths;
  }

  Without without_;
};

TEST_F(StateFoldersTest, AreLeftOutOfAFolderWhateverTheirNamesAndPlaces) {
  const Paths paths{"st8", "deep/er/state copy", "deep/er/.pawl", "deep/er", "text"};
  EXPECT_EQ(taken(paths), Paths{"text"});
  make_state("st8");
  make_state("deep/er/state copy", "keys/redaction.key");
  make_state("deep/er/.pawl");
  for (int look = 0; look < 2; ++look) {
    EXPECT_EQ(taken(paths), (Paths{"deep/er", "text"}));
    EXPECT_EQ(state_folders_in(source_, without_), (Paths{"deep/er/state copy", "st8"}));
  }
  without_.patterns = {"deep"};
  EXPECT_EQ(state_folders_in(source_, without_), Paths{"st8"});
  without_.folders = {source_ + "/st8"};
  EXPECT_EQ(state_folders_in(source_, without_), Paths{});
}

TEST_F(StateFoldersTest, AFolderThatBecomesOneIsLeftOutFromThenOn) {
  const Paths paths{"later/pawl.db", "later/keys", "app/keys/ledger.key"};
  sh("cd " + source_ +
     " && mkdir -p later/keys app/keys && echo rows > later/pawl.db && echo key > app/keys/ledger.key && "
     "find . -exec touch -h -d 2020-01-01 {} + && sleep 2.1");
  for (int look = 0; look < 2; ++look) EXPECT_EQ(taken(paths), paths) << "a key alone, and rows alone";
  make_state("later");
  for (int look = 0; look < 2; ++look) EXPECT_EQ(taken(paths), Paths{"app/keys/ledger.key"});
  sh("rm " + source_ + "/later/keys/ledger.key");
  EXPECT_EQ(taken(paths), paths);
}

// The commit is taken whole, or as the difference from one that was taken before.
TEST_F(StateFoldersTest, ACommitWithOneIsRefusedUntilItIsExcluded) {
  const auto commit = [&] { sh("cd " + source_ + " && git add -A -f . && git commit -q -m more"); };
  const auto take = [&](const Paths& left_out = {}) {
    return workspaces_->snapshot_git(source_, "main", left_out);
  };
  sh("cd " + source_ + " && mkdir -p deep/st8 && echo secret > deep/st8/pawl.db");
  commit();
  EXPECT_TRUE(take());
  make_state("deep/st8");
  commit();
  const auto refused = take();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kInvalid);
  EXPECT_NE(refused.error().message.find("deep/st8"), std::string::npos) << refused.error().message;
  const auto rest = take({"deep/st8"});
  ASSERT_TRUE(rest) << rest.error().message;
  EXPECT_FALSE(workspaces_->may_have(rest->base_id, "deep/st8"));
  sh("cd " + source_ + " && git rm -rq --cached deep/st8/pawl.db && git commit -q -m less");
  EXPECT_TRUE(take()) << "a key alone";
  make_state(".", "keys/redaction.key");
  commit();
  EXPECT_FALSE(take()) << "the source itself";
}

}  // namespace
}  // namespace pawl::workspace
