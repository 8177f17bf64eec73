// No build takes an agent's file for the product of lower files, and builds rebuild from the files that it
// changed.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <map>
#include <set>

#include "os/file.h"
#include "workspace/repository.h"
#include "workspace/tree.h"

namespace pawl::workspace {
namespace {

std::int64_t time_at(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(lstat(path.c_str(), &status), 0) << path;
  return status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
}

class TimesTest : public WorkspaceTest {
 protected:
  void take_folder() { base_ = *workspaces_->snapshot_directory(source_); }

  // A layer with its times set, as a gate sees it.
  std::string judged(const std::string& script, const std::vector<std::string>& below = {}) {
    const auto id = layer(script, below);
    const auto set = workspaces_->set_times(id, base_.base_id, below);
    EXPECT_TRUE(set) << set.error().message;
    return id;
  }

  std::int64_t time_in(const std::string& id, const std::string& path) const {
    return time_at(workspaces_->layer_tree(id) + "/" + path);
  }
  // The time at `path` in a sandbox with the base and `layers`.
  std::int64_t time_seen(const std::vector<std::string>& layers, const std::string& path) const {
    const auto found = View(workspaces_->trees_of(base_.base_id, layers)).find(path);
    EXPECT_TRUE(found) << path;
    return found ? time_at(*found) : 0;
  }
};

TEST_F(TimesTest, TheyAreNotTheAgents) {
  const auto id = judged(
      "touch -d 2099-01-01 new && printf '\\177ELF' > dir/inner && touch -d 2099-01-01 dir/inner && "
      "echo changed > text && touch -d 1999-01-01 text && ln -sf tool link && touch -hd 1999-01-01 link && "
      "ln -s text other && touch -hd 2099-01-01 other");
  const auto base = time_seen({}, "text");
  for (const char* path : {"new", "dir/inner", "other"}) EXPECT_LT(time_in(id, path), base) << path;
  for (const char* path : {"text", "link"}) {
    EXPECT_GT(time_in(id, path), base) << path;
    EXPECT_LT(time_in(id, path), (std::time(nullptr) + 10) * 1'000'000'000) << path;
  }
}

// The nanoseconds of a time after 2262 do not fit into 64 bits.
TEST_F(TimesTest, TheyMayBeAnywhere) {
  sh("cd " + source_ + " && touch -d 2400-01-01 late && touch -d 1000-01-01 early");
  take_folder();
  const auto below = layer("touch -d 2400-01-01 text && echo x > text && touch -d 2400-01-01 text new");
  const auto id = judged("echo changed > text && echo new > newer", {below});
  EXPECT_GT(time_in(id, "text"), time_in(id, "newer"));
}

// A rule of make can depend on a folder.
TEST_F(TimesTest, AFolderIsChangedWhenSomethingInItIs) {
  sh("cd " + source_ +
     " && mkdir -p top/deep/er other && echo x > top/deep/er/f && echo x > other/f &&"
     " touch -d 2015-01-01 top/deep/er top/deep top other");
  take_folder();
  const auto id = judged(
      "echo y > top/deep/er/g && rm other/f && mkdir made && touch -d 1999-01-01 top/deep/er other && touch "
      "top top/deep && touch -d 2099-01-01 made");
  const auto base = time_seen({}, "text");
  for (const char* path : {"top/deep/er", "other"}) EXPECT_GT(time_in(id, path), base) << path;
  for (const char* path : {"top", "top/deep"}) EXPECT_EQ(time_in(id, path), time_seen({}, path)) << path;
  EXPECT_LT(time_in(id, "made"), time_seen({}, "top"));
}

// The id of a layer does not depend on the run that made it first.
TEST_F(TimesTest, ALayerThatIsFoundAgainIsNewerThanWhatLiesBelowNow) {
  std::set<std::string> ids;
  for (const char* when : {"2001-01-01", "now", "now", "1 hour", "2 hours", "2001-01-01"}) {
    sh("touch -d '" + std::string(when) + "' " + source_ + "/tool");
    take_folder();
    const auto id = judged("echo changed > text && rm doomed");
    EXPECT_GT(time_in(id, "text"), time_seen({}, "tool")) << when;
    ids.insert(id);
  }
  EXPECT_EQ(ids.size(), 1U);
}

TEST_F(TimesTest, ALayerThatIsFoundAgainIsNewerThanAcceptedOnes) {
  const auto changes = judged("echo changed > text");
  for (const char* content : {"a", "b"}) {
    const auto accepted = judged("echo " + std::string(content) + " > tool");
    const auto again = layer("echo changed > text", {accepted});
    EXPECT_EQ(again, changes);
    ASSERT_TRUE(workspaces_->set_times(again, base_.base_id, {accepted}));
    EXPECT_GT(time_in(again, "text"), time_in(accepted, "tool"));
  }
}

TEST_F(TimesTest, WhatIsMadeOfALayerIsFoundAgainWithItsTimes) {
  std::set<std::string> ids;
  for (const char* when : {"now", "1 hour", "2001-01-01"}) {
    sh("touch -d '" + std::string(when) + "' " + source_ + "/tool");
    take_folder();
    const auto id = judged("echo changed > text && echo forged > dir/inner");
    const auto filtered = workspaces_->without_protected(id, base_.base_id, {}, {.protect = {"dir/"}});
    ASSERT_TRUE(filtered) << filtered.error().message;
    EXPECT_NE(filtered->layer_id, id);
    EXPECT_GT(time_in(filtered->layer_id, "text"), time_seen({}, "tool")) << when;
    ids.insert(filtered->layer_id);
    // gc retains only accepted layers.
    ASSERT_TRUE(os::remove_tree(os::folder_of(workspaces_->layer_tree(id))));
  }
  EXPECT_EQ(ids.size(), 1U);
}

// Steps of a gate are not agents: their times are retained, and today's product has today's time.
TEST_F(TimesTest, WhatAStepLeftAgainHasTheTimesOfToday) {
  const auto made = [&](const char* when) {
    return layer("mkdir gen && echo made > gen/a && echo changed > text && ln -s a gen/link && touch -hd '" +
                 std::string(when) + "' gen/a text gen/link gen");
  };
  const auto first = made("2001-01-01 UTC"), again = made("2020-01-01 UTC");
  EXPECT_EQ(again, first);
  for (const char* path : {"gen/a", "text", "gen/link", "gen"})
    EXPECT_EQ(time_in(again, path), 1'577'836'800'000'000'000) << path;
  EXPECT_TRUE(workspaces_->check_content(base_.base_id, {again}));
}

// Another attempt may be judged on the same layer, so its times are never the agent's, not for a moment.
TEST_F(TimesTest, AnAgentsLayerThatIsFoundAgainKeepsItsTimes) {
  const auto id = judged("printf '\\177ELF' > prog");
  const auto before = time_in(id, "prog");
  const std::string tree = tree_of({});
  sh("printf '\\177ELF' > " + tree + "/prog && touch -d 2099-01-01 " + tree + "/prog");
  const auto again = workspaces_->collect(tree, lower_of({}), true, {.own_times = false});
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->layer_id, id);
  EXPECT_EQ(time_in(id, "prog"), before);
}

// A lid shares files with the base, and the base must retain its own times.
TEST_F(TimesTest, WhatIsPutBackHasTheTimesOfItsOwnBase) {
  std::set<std::string> ids;
  std::map<std::string, std::int64_t> times;  // The times of text in each base.
  for (const char* when : {"2001-01-01", "2020-01-01", "2001-01-01"}) {
    sh("touch -d '" + std::string(when) + "' " + source_ + "/text");
    take_folder();
    const auto id = layer("echo forged > text");
    const auto lid = workspaces_->lid(base_.base_id, {}, {id}, {.paths = {.protect = {"text"}}});
    ASSERT_TRUE(lid) << lid.error().message;
    EXPECT_EQ(time_seen({*lid, id}, "text"), time_seen({}, "text")) << when;
    ids.insert(*lid);
    times.try_emplace(base_.base_id, time_seen({}, "text"));
    for (const auto& [base, time] : times)
      EXPECT_EQ(time_at(*View(workspaces_->trees_of(base, {})).find("text")), time);
  }
  EXPECT_EQ(ids.size(), 1U);
}

TEST_F(TimesTest, WhatIsNewIsOlderThanAllThatLiesBelow) {
  for (const char* when : {"@0", "@1", "1970-01-01 00:00:01.5", "1960-01-01", "1959-06-01 00:00:00.25",
                           "1980-01-02", "2020-01-01"}) {
    sh("touch -d '" + std::string(when) + "' " + source_ + "/text");
    take_folder();
    const auto id = judged("echo new > made && printf '\\177ELF' > tool");
    EXPECT_LT(time_in(id, "made"), time_seen({}, "text")) << when;
    EXPECT_LT(time_in(id, "tool"), time_seen({}, "text")) << when;
    EXPECT_LT(time_in(id, "tool"), time_in(id, "made")) << "a program that is new like its source";
  }
  const auto source = judged("echo new > made");
  const auto program = judged("printf '\\177ELF' > prog && echo script > script", {source});
  for (const char* path : {"prog", "script"})
    EXPECT_LT(time_in(program, path), time_in(source, "made")) << "of the phase before: " << path;
}

TEST_F(TimesTest, EachNameOfAFileHasItsOwnTime) {
  const auto id = judged(
      "echo changed > text && ln text zz && ln text 0 && ln tool second && echo both > doomed && "
      "ln -f doomed dir/inner && ln doomed dir/0");
  for (const char* path : {"text", "doomed", "dir/inner"})
    EXPECT_GT(time_in(id, path), time_seen({}, "tool")) << path;
  for (const char* path : {"0", "zz", "second", "dir/0"})
    EXPECT_LT(time_in(id, path), time_seen({}, "tool")) << path;
  EXPECT_EQ(sh("cat " + workspaces_->layer_tree(id) + "/zz"), "changed\n");
  struct stat status {};
  ASSERT_EQ(stat((workspaces_->layer_tree(id) + "/second").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0755U);
  EXPECT_EQ(status.st_nlink, 1U);
  EXPECT_FALSE(os::exists(temp_ / "tree1.spare"));
}

TEST_F(TimesTest, ATextThatBeginsLikeAProgramIsATextThatChanged) {
  sh("cd " + source_ + " && printf 'MZ\\220' > exe && printf 'gpch.014' > pch");
  take_folder();
  for (const char* begin : {"MZ=0;", "gpch();", "!<arch>\\nprogram x", "!<ar", "\\0asm(\"\");", "BC=1"})
    EXPECT_GT(time_in(judged("printf '" + std::string(begin) + "' > text"), "text"), time_seen({}, "tool"))
        << begin;
  const auto member = "!<arch>\\n" + std::string(58, 'a') + "`\\n";
  for (const std::string begin : {"\\177ELF", "\\312\\376\\272\\276", "BC\\300\\336", "\\317\\372\\355\\376",
                                  "\\0asm\\1\\0\\0\\0", "!<arch>\\n", "!<thin>\\n"})
    EXPECT_LT(time_in(judged("printf '" + begin + "' > text"), "text"), time_seen({}, "tool")) << begin;
  const auto id = judged("printf '" + member + "' > text; printf 'MZ\\220\\1' > exe; printf gpch > pch");
  for (const char* path : {"text", "exe", "pch"}) EXPECT_LT(time_in(id, path), time_seen({}, "tool")) << path;
}

// Programs that base has built are older than a new source. Other new files may be products that an agent left.
TEST_F(TimesTest, ANewSourceIsNewerThanWhatBaseHasBuilt) {
  const std::string work =
      "echo x > new.c && echo x > new.h && echo x > dir/new.rs && echo x > stamp && echo x > new.txt && "
      "echo x > parser.y && echo x > parser.c && echo x > parser.tab.c && echo changed > text && echo x > "
      "config.h.in && echo x > config.h && ln -s new.h "
      "link.h && "
      "printf '\\177ELF' > fake.c";
  const auto is_newer = [&](const std::string& id, const std::string& path) {
    return time_in(id, path) > time_seen({}, "text");
  };
  const auto plain = judged(work);
  for (const char* path : {"new.c", "new.h", "dir/new.rs"})
    EXPECT_FALSE(is_newer(plain, path)) << path << ": nothing is built";
  sh("cd " + source_ + " && printf '\\177ELF' > prog && chmod +x prog");
  take_folder();
  const auto id = judged(work);
  for (const char* path : {"new.c", "new.h", "dir/new.rs", "link.h"}) EXPECT_TRUE(is_newer(id, path)) << path;
  for (const char* path : {"new.c", "new.h", "dir/new.rs", "link.h"})
    EXPECT_LT(time_in(id, path), time_in(id, "text")) << path << ": it may be made of that";
  for (const char* path : {"stamp", "new.txt", "parser.c", "parser.tab.c", "config.h", "fake.c"})
    EXPECT_FALSE(is_newer(id, path)) << path;
}

}  // namespace
}  // namespace pawl::workspace
