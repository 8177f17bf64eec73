// Snapshots, layers, patches and commits, compared with git itself.
#include "workspace/workspace.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "workspace/object_store.h"
#include "workspace/repository.h"

namespace pawl::workspace {
namespace {

TEST_F(WorkspaceTest, SnapshotIsTheCommitAndIsKeptOnce) {
  EXPECT_EQ(base_.git_commit + "\n", sh("git -C " + source_ + " rev-parse HEAD"));
  sh("cd " + source_ + " && echo dirty >> text && echo new > untracked");
  const auto again = workspaces_->snapshot_git(source_, "main");
  EXPECT_EQ(again->base_id, base_.base_id) << "the working tree does not matter";
  EXPECT_EQ(sh("cat " + workspaces_->base_tree(base_.base_id) + "/text"), "one\ntwo\nthree\n");
  EXPECT_EQ(sh("readlink " + workspaces_->base_tree(base_.base_id) + "/link"), "text\n");
  const auto folder = workspaces_->snapshot_directory(source_);
  EXPECT_NE(folder->base_id, base_.base_id) << "a folder is taken as it is";
  EXPECT_EQ(sh("cd " + workspaces_->base_tree(folder->base_id) +
               " && cat untracked; ls -a | grep -c '^.git$' || true"),
            "new\n0\n");
  EXPECT_EQ(*workspaces_->content_id(source_), folder->base_id);
}

TEST_F(WorkspaceTest, AStateFolderInsideTheSourceIsNoPartOfIt) {
  const auto outside = workspaces_->snapshot_directory(source_);
  auto inside = *Workspaces::open(source_ + "/state");
  for (int i = 0; i < 2; ++i) {
    const auto base = inside.snapshot_directory(source_);
    ASSERT_TRUE(base) << base.error().message;
    EXPECT_EQ(base->base_id, outside->base_id);
  }
}

// Otherwise a build takes an old program for a new one.
TEST_F(WorkspaceTest, AFoldersTimesAreThoseOfTheSource) {
  sh("cd " + source_ +
     " && mkdir made && echo p > made/program && ln -s program made/link && "
     "touch -d '2020-01-01 00:00:00.5' made/program && touch -hd 2019-01-01 made/link && touch -d 2018-01-01 "
     "made");
  const auto base = workspaces_->snapshot_directory(source_);
  ASSERT_TRUE(base) << base.error().message;
  const auto times = [&](const std::string& root) {
    return sh("cd " + root + "/made && stat -c '%n %y' program link .");
  };
  EXPECT_EQ(times(workspaces_->base_tree(base->base_id)), times(source_));
}

// Another file takes the place of the blob again and again. The bytes that come back are those that were
// hashed, or none do.
TEST_F(WorkspaceTest, TheTailOfABlobIsOfTheBytesThatWereChecked) {
  const std::string honest = std::string(3 << 20, 'a') + "honest",
                    forged = std::string(3 << 20, 'a') + "forged";
  const auto id = *workspaces_->put_blob(honest);
  const std::string path = workspaces_->blob_path(id);
  const std::string texts[] = {temp_ / "honest", temp_ / "forged"}, next = temp_ / "next";
  ASSERT_TRUE(os::write_atomically(texts[0], honest) && os::write_atomically(texts[1], forged));
  std::atomic<bool> over = false;
  std::thread forger([&] {
    for (std::size_t i = 0; !over; ++i)
      PAWL_CHECK(link(texts[i % 2].c_str(), next.c_str()) == 0 && rename(next.c_str(), path.c_str()) == 0);
  });
  const auto objects = object_store(*workspaces_);
  int honest_ones = 0;
  for (int i = 0; i < 400; ++i) {
    const auto tail = objects->blob_tail(id, 6);
    if (!tail) continue;
    EXPECT_EQ(*tail, "honest");
    ++honest_ones;
  }
  over = true;
  forger.join();
  EXPECT_GT(honest_ones, 0);
  ASSERT_TRUE(os::write_atomically(path, honest));
  for (const std::size_t most :
       {std::size_t{0}, std::size_t{1}, honest.size() - 1, honest.size(), honest.size() + 1})
    EXPECT_EQ(*objects->blob_tail(id, most), honest.substr(honest.size() - std::min(most, honest.size())));
  ASSERT_TRUE(os::write_atomically(path, forged));
  for (const std::size_t most : {std::size_t{6}, forged.size() + 1})
    EXPECT_EQ(objects->blob_tail(id, most).error().kind, ErrorKind::kForged);
}

TEST_F(WorkspaceTest, WrongSourcesAreNamed) {
  auto found = workspaces_->snapshot_git(source_, "no-such-branch");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().kind, ErrorKind::kInvalid);
  EXPECT_NE(found.error().message.find("no-such-branch"), std::string::npos);
  sh("mkdir " + (temp_ / "plain"));
  found = workspaces_->snapshot_git(temp_ / "plain", "HEAD");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().kind, ErrorKind::kInvalid);
}

TEST_F(WorkspaceTest, NothingChangedIsNoLayer) {
  EXPECT_EQ(layer("true"), "");
  EXPECT_EQ(layer("touch text; echo x > tmp; rm tmp"), "") << "times are not content";
}

TEST_F(WorkspaceTest, PatchHasBinariesModesRenamesDeletionsAndLinks) {
  const std::string script =
      "head -c 2000 binary > b && mv b binary && chmod -x tool && mv text moved && rm doomed && rm link && "
      "ln -s moved link"
      " && rm -r dir && echo file > dir && mkdir -p new/deep && printf 'no newline' > new/deep/file && chmod "
      "+x new/deep/file";
  const auto id = layer(script);
  ASSERT_NE(id, "");
  expect_patch_gives({id}, script);
  const auto patch = workspaces_->diff(base_.base_id, {}, {id})->text;
  EXPECT_NE(patch.find("rename from text"), std::string::npos) << patch;
  EXPECT_NE(patch.find("GIT binary patch"), std::string::npos);
  EXPECT_NE(patch.find("old mode 100755"), std::string::npos);
}

// The comparison of lines takes tens of bytes for each, and an agent chooses how many there are.
TEST_F(WorkspaceTest, AFileOfMoreThanAMillionLinesIsNotComparedByLines) {
  const std::string script = "yes '' | head -n 1000001 > text";
  const auto id = layer(script);
  expect_patch_gives({id}, script);
  EXPECT_NE(workspaces_->diff(base_.base_id, {}, {id})->text.find("GIT binary patch"), std::string::npos);
}

TEST_F(WorkspaceTest, LayersAddUp) {
  const auto first = layer("rm -r dir; echo 1 >> text; echo a > added");
  const auto second = layer("mkdir dir; echo fresh > dir/new; rm added; echo 2 >> text", {first});
  const std::string both = "rm -r dir; mkdir dir; echo fresh > dir/new; printf '1\\n2\\n' >> text";
  expect_patch_gives({second, first}, both);
  const auto merged = workspaces_->merge(base_.base_id, {}, {second, first});
  ASSERT_TRUE(merged) << merged.error().message;
  expect_patch_gives({*merged}, both);
  const auto step = workspaces_->diff(base_.base_id, {first}, {second, first})->text;
  EXPECT_EQ(step.find("\n+1\n"), std::string::npos) << "only what came after `before`: " << step;
  EXPECT_NE(step.find("+2"), std::string::npos);
  const auto undone = layer(
      "printf 'one\\ntwo\\nthree\\n' > text; mkdir -p dir; echo in > dir/inner;"
      " echo more > dir/other; rm -f dir/new added",
      {second, first});
  EXPECT_EQ(workspaces_->diff(base_.base_id, {}, {undone, second, first})->text, "")
      << "everything is as it was";
}

TEST_F(WorkspaceTest, OnlyFilesFoldersAndLinksAreKept) {
  const auto id = layer(
      "mkfifo pipe; ln -s /etc/passwd absolute; ln -s ../../etc/passwd up; ln -s dir/../text inside; "
      "ln -s \"$(printf 'bad\\377')\" latin; "
      "mkdir .git sub sub/.GIT; echo x > .git/config; echo y > sub/.GIT/config; echo s > setuid; chmod 6755 "
      "setuid;"
      "touch \"$(printf 'bad\\001name')\"; mkdir no; chmod 000 no; echo secret > dark; chmod 000 dark");
  EXPECT_EQ(paths_of(id),
            (std::vector<std::string>{"absolute", "dark", "inside", "no", "setuid", "sub", "up"}));
  for (const char* path : {"pipe", "latin", ".git", "sub/.GIT"})
    EXPECT_TRUE(std::ranges::find(refused_, path) != refused_.end()) << path;
  struct stat status {};
  ASSERT_EQ(stat((workspaces_->layer_tree(id) + "/setuid").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777U, 0755U);
}

// The form that overlayfs leaves: whiteouts, opaque folders, copied-up parents.
TEST_F(WorkspaceTest, NormalisesAnOverlay) {
  const std::string upper = temp_ / "upper";
  sh("mkdir -p " + upper + "/dir && cd " + upper +
     " && mknod doomed c 0 0 && mknod never-there c 0 0 && echo n > dir/new"
     " && cp -p " +
     workspaces_->base_tree(base_.base_id) + "/tool tool && mkdir untouched");
  ASSERT_EQ(setxattr((upper + "/dir").c_str(), "user.overlay.opaque", "y", 1, 0), 0);
  const auto collected = workspaces_->collect(upper, lower_of({}), false);
  ASSERT_TRUE(collected) << collected.error().message;
  std::vector<std::pair<std::string, EntryType>> found;
  const auto entries = *workspaces_->manifest(collected->layer_id);
  for (const auto& entry : entries) found.emplace_back(entry.path, entry.type);
  EXPECT_EQ(found, (std::vector<std::pair<std::string, EntryType>>{{"dir/inner", EntryType::kDeleted},
                                                                   {"dir/new", EntryType::kFile},
                                                                   {"dir/other", EntryType::kDeleted},
                                                                   {"doomed", EntryType::kDeleted},
                                                                   {"untouched", EntryType::kFolder}}));
  expect_patch_gives({collected->layer_id}, "rm doomed dir/inner dir/other && echo n > dir/new");
}

// A hole counts like bytes and is not read. Entries beyond the caps are named; the rest is stored.
TEST_F(WorkspaceTest, KeepsNoMoreThanTheCaps) {
  const std::string upper = temp_ / "upper";
  const auto make = [&] {
    sh("mkdir -p " + upper + " && cd " + upper +
       " && echo a > a && truncate -s 1T bomb && truncate -s 900 c && truncate -s 200 d");
  };
  make();
  const auto collected = workspaces_->collect(upper, lower_of({}), false, {.bytes = 1000});
  ASSERT_TRUE(collected) << collected.error().message;
  EXPECT_EQ(collected->refused, (std::vector<std::string>{"bomb", "d"}));
  EXPECT_EQ(workspaces_->manifest(collected->layer_id)->size(), 2U);
  make();
  const auto matching = workspaces_->collect_matching(upper, {"*"}, {.entries = 1, .bytes = 1000});
  ASSERT_TRUE(matching);
  EXPECT_EQ(matching->refused, (std::vector<std::string>{"bomb", "c", "d"}));
  const auto few = workspaces_->collect(upper, lower_of({}), false, {.entries = 2, .bytes = 2000});
  ASSERT_TRUE(few);
  EXPECT_EQ(few->refused, (std::vector<std::string>{"bomb", "d"}));
  make();
  const auto named = workspaces_->collect(upper, lower_of({}), false, {.bytes = 2000, .names_bytes = 1});
  ASSERT_TRUE(named);
  EXPECT_EQ(named->refused, (std::vector<std::string>{"bomb", "c", "d"})) << "paths take memory, too";
}

TEST_F(WorkspaceTest, StoresNoEntryWithAWithheldText) {
  const std::string secret = "sk-0123456789", upper = temp_ / "upper";
  // In the files cut..., the end of a piece that is read divides the text.
  sh("mkdir -p " + upper + "/" + secret + " && cd " + upper + " && echo 'key = " + secret +
     "' > plain && touch " + secret + "/a x-" + secret + "-y && ln -s /x/" + secret +
     " link && mkdir below && printf '\\0\\0" + secret +
     "' > below/binary && echo sk-012345678 > nearly && echo a > a");
  std::string pieces;
  while (pieces.size() < 300'000)
    pieces += std::string(4096 - secret.size() / 2, '.') + secret.substr(0, secret.size() - 1);
  ASSERT_TRUE(os::write_atomically(upper + "/parts", pieces));
  for (std::size_t before = 0; before < secret.size(); ++before) {
    const std::string at = std::string(ByteSource::kPieceBytes - before, '.') + secret;
    ASSERT_TRUE(os::write_atomically(upper + "/cut" + std::to_string(10 + before), at));
  }
  const auto collected =
      workspaces_->collect(upper, lower_of({}), false, {.withheld = {"absent-text", secret}});
  ASSERT_TRUE(collected) << collected.error().message;
  std::vector<std::string> wanted = {"below/binary"};
  for (std::size_t before = 0; before < secret.size(); ++before)
    wanted.push_back("cut" + std::to_string(10 + before));
  wanted.insert(wanted.end(), {"link", "plain", secret, "x-" + secret + "-y"});
  EXPECT_EQ(collected->withheld, wanted);
  EXPECT_EQ(collected->refused, wanted);
  std::vector<std::string> stored;
  const auto entries = workspaces_->manifest(collected->layer_id);
  ASSERT_TRUE(entries);
  for (const auto& entry : *entries) stored.push_back(entry.path);
  EXPECT_EQ(stored, (std::vector<std::string>{"a", "below", "nearly", "parts"}));
  sh("! grep -rq " + secret + " " + workspaces_->layer_tree(collected->layer_id));
}

TEST_F(WorkspaceTest, AFolderBeyondTheCapsGoesWithAllThatIsInIt) {
  const std::string upper = temp_ / "upper";
  sh("mkdir -p " + upper + "/b/c " + upper + "/dir && cd " + upper +
     " && echo a > a && echo x > b/c/x && echo y > dir/y && chmod 700 dir");
  const auto collected = workspaces_->collect(upper, lower_of({}), false, {.entries = 1, .bytes = 1000});
  ASSERT_TRUE(collected) << collected.error().message;
  EXPECT_EQ(collected->refused, (std::vector<std::string>{"b", "dir"}));
  EXPECT_EQ(workspaces_->manifest(collected->layer_id)->size(), 1U);
  expect_patch_gives({collected->layer_id}, "echo a > a");
}

// An executor that judges a work holds each name several times.
TEST_F(WorkspaceTest, TheNamesOfAStepAreBounded) {
  const std::string upper = temp_ / "upper";
  std::string deep = upper;
  for (int i = 0; i < 10; ++i) deep += "/" + std::string(200, 'x');
  sh("mkdir -p " + deep + " && cd " + deep + " && seq -f " + std::string(150, 'n') +
     "%05.0f 9000 | xargs touch");
  const auto collected = workspaces_->collect(upper, lower_of({}), false, {});
  ASSERT_TRUE(collected) << collected.error().message;
  const auto entries = workspaces_->manifest(collected->layer_id);
  ASSERT_TRUE(entries);
  EXPECT_NEAR(static_cast<double>(entries->size()), (16 << 20) / 2165.0, 10) << "and the folders";
  EXPECT_EQ(collected->refused_total, 9010 - static_cast<std::int64_t>(entries->size()));
  EXPECT_EQ(collected->refused.size(), kRefusedNamedMax);
}

TEST_F(WorkspaceTest, AllThatIsRefusedIsCountedAndTheFirstOfItNamed) {
  const std::string upper = temp_ / "upper";
  sh("mkdir " + upper + " && cd " + upper + " && echo a > a && for i in $(seq 150); do mkfifo fifo$i; done");
  for (const bool matching : {true, false}) {
    const auto collected = matching ? workspaces_->collect_matching(upper, {"*"})
                                    : workspaces_->collect(upper, lower_of({}), false);
    ASSERT_TRUE(collected) << collected.error().message;
    EXPECT_EQ(paths_of(collected->layer_id), std::vector<std::string>{"a"});
    EXPECT_EQ(collected->refused.size(), kRefusedNamedMax);
    EXPECT_EQ(collected->refused_total, 150);
  }
}

TEST_F(WorkspaceTest, OfMuchThatIsRefusedEachFolderAtTheTopHasAName) {
  const std::string upper = temp_ / "upper";
  sh("mkdir -p " + upper + "/big/deep " + upper + "/src && cd " + upper +
     " && for i in $(seq 120); do mkfifo big/deep/$i; done && mkfifo src/one zz");
  const auto collected = workspaces_->collect(upper, lower_of({}), false);
  ASSERT_TRUE(collected);
  EXPECT_EQ(collected->refused.size(), kRefusedNamedMax);
  EXPECT_EQ(collected->refused_total, 122);
  for (const std::string path : {"src/one", "zz"})
    EXPECT_EQ(std::ranges::count(collected->refused, path), 1) << path;
}

TEST_F(WorkspaceTest, ProtectedPathsComeFromBase) {
  const auto id = layer("echo hacked > dir/inner; rm dir/other; echo fine > mine");
  const auto filtered = workspaces_->without_protected(id, base_.base_id, {}, {.protect = {"dir/**"}});
  ASSERT_TRUE(filtered);
  EXPECT_EQ(filtered->protected_changes, (std::vector<std::string>{"dir/inner", "dir/other"}));
  expect_patch_gives({filtered->layer_id}, "echo fine > mine");
  const auto shadow = layer("rm -r dir; ln -s text dir");
  const auto replaced = workspaces_->without_protected(shadow, base_.base_id, {}, {.protect = {"dir/inner"}});
  EXPECT_EQ(replaced->protected_changes, (std::vector<std::string>{"dir/inner"})) << "a link over its folder";
  EXPECT_EQ(replaced->layer_id, "");
}

TEST_F(WorkspaceTest, OverlapIsAnyPathThatBothTouch) {
  const auto a = layer("echo a >> text"), b = layer("echo b >> text; echo c > b"), c = layer("echo d > c");
  const auto inside = layer("echo x > dir/inner"), whole = layer("rm -r dir");
  EXPECT_EQ(*workspaces_->overlap(a, b, 10), (std::vector<std::string>{"text"}));
  EXPECT_TRUE(workspaces_->overlap(a, c, 10)->empty());
  EXPECT_FALSE(workspaces_->overlap(inside, whole, 10)->empty());
  EXPECT_FALSE(workspaces_->overlap(whole, inside, 10)->empty());
  EXPECT_TRUE(workspaces_->overlap(a, "", 10)->empty());
  const auto closed = layer("chmod 700 dir"), shared = layer("chmod 770 dir"),
             same = layer("chmod 700 dir; echo e > e");
  EXPECT_EQ(*workspaces_->overlap(closed, shared, 10), (std::vector<std::string>{"dir"}));
  EXPECT_TRUE(workspaces_->overlap(closed, same, 10)->empty()) << "both want the same permissions";
}

TEST_F(WorkspaceTest, ContentIsCheckedToTheByte) {
  const auto id = layer("echo 1 >> text && rm doomed && ln -sf tool link && chmod +x dir/inner");
  const auto kind = [&] {
    const auto whole = workspaces_->check_content(base_.base_id, {id});
    return whole ? std::string_view("whole") : name(whole.error().kind);
  };
  EXPECT_EQ(kind(), "whole");
  const auto changed = [&](const std::string& tree, const std::string& script, const std::string& back) {
    sh("cd " + tree + " && cp -a . " + (temp_ / "kept") + " && " + script);
    const std::string found(kind());
    sh("cd " + tree + " && " + back + " && rm -rf " + (temp_ / "kept"));
    EXPECT_EQ(kind(), "whole") << script;
    return found;
  };
  const std::string back = "cp -a " + (temp_ / "kept") + "/text text";
  for (const auto& tree : {workspaces_->layer_tree(id), workspaces_->base_tree(base_.base_id)}) {
    EXPECT_EQ(changed(tree, "printf x | dd of=text conv=notrunc status=none", back), "forged") << tree;
    EXPECT_EQ(changed(tree, "rm text && ln -s tool text", "rm text && " + back), "forged") << tree;
  }
  const auto base = workspaces_->base_tree(base_.base_id), link = workspaces_->layer_tree(id) + "/link";
  EXPECT_EQ(changed(base, "touch more", "rm more"), "forged");
  EXPECT_EQ(changed(base, "chmod +x text", "chmod -x text"), "forged");
  EXPECT_EQ(changed(base, "chmod 700 dir && chmod 600 text", "true"), "whole")
      << "as another umask leaves it";
  sh("ln -sfn text " + link);
  EXPECT_EQ(kind(), "forged");
  sh("ln -sfn tool " + link + " && rm -r " + base);
  EXPECT_EQ(kind(), "not_found");
  const auto patch = workspaces_->diff(base_.base_id, {}, {id});
  ASSERT_FALSE(patch) << "a patch against nothing";
  EXPECT_EQ(patch.error().kind, ErrorKind::kNotFound);
}

// As an ordinary user who owns the folder.
TEST_F(WorkspaceTest, ATopThatACommandTookTheRightsFromIsReadAllTheSame) {
  const uid_t self = geteuid(), user = self == 0 ? 1234 : self;
  for (const mode_t mode : {0U, 0111U, 0444U, 0555U, 0200U}) {
    const std::string upper = temp_ / ("upper" + std::to_string(mode));
    sh("mkdir -p " + upper + "/dir && echo new > " + upper + "/a && touch " + upper + "/dir/b && cp -p " +
       workspaces_->base_tree(base_.base_id) + "/text " + upper);
    if (self == 0) sh("chown -R 1234:1234 " + temp_.path());
    ASSERT_EQ(chmod(upper.c_str(), mode), 0);
    ASSERT_EQ(seteuid(user), 0);
    const auto matching = workspaces_->collect_matching(upper, {"a"});
    if (chmod(upper.c_str(), mode) != 0) ADD_FAILURE();
    const auto collected = workspaces_->collect(upper, lower_of({}), false);
    ASSERT_EQ(seteuid(self), 0);
    ASSERT_TRUE(matching) << matching.error().message;
    ASSERT_TRUE(collected) << mode << " " << collected.error().message;
    EXPECT_EQ(paths_of(matching->layer_id), std::vector<std::string>{"a"});
    EXPECT_EQ(paths_of(collected->layer_id), (std::vector<std::string>{"a", "dir/b"}));
  }
}

TEST_F(WorkspaceTest, FoldersNestedBeyondEveryPathAreRefusedAndTheRestIsKept) {
  const std::string upper = temp_ / "upper";
  sh("mkdir " + upper + " && echo good > " + upper + "/good");
  testing::nest_folders(upper, 5000);
  const auto matching = workspaces_->collect_matching(upper, {"**"});
  ASSERT_TRUE(matching) << matching.error().message;
  EXPECT_EQ(paths_of(matching->layer_id), std::vector<std::string>{"good"});
  const auto collected = workspaces_->collect(upper, lower_of({}), false);
  ASSERT_TRUE(collected) << collected.error().message;
  ASSERT_EQ(collected->refused.size(), 1U);
  EXPECT_TRUE(collected->refused[0].starts_with("d/d/"));
  EXPECT_EQ(sh("cat " + workspaces_->layer_tree(collected->layer_id) + "/good"), "good\n");
  EXPECT_FALSE(os::exists(upper));
}

TEST_F(WorkspaceTest, GarbageIsWhatNobodyNames) {
  const auto kept = layer("echo 1 > a"), lost = layer("echo 2 > b");
  const auto blob = *workspaces_->put_blob("log"), other = *workspaces_->put_blob("old log");
  const auto garbage = *workspaces_->garbage({base_.base_id, kept, blob});
  EXPECT_EQ(garbage.bases, std::vector<std::string>());
  ASSERT_EQ(garbage.layers, std::vector{"objects/layers/" + lost});
  EXPECT_EQ(garbage.blobs, std::vector{"objects/blobs/" + other.substr(0, 2) + "/" + other.substr(2)});
  const auto detached =
      workspaces_->detach({garbage.layers[0], garbage.blobs[0], "not there", "objects/neither/there"});
  ASSERT_TRUE(detached);
  EXPECT_GT(bytes_on_disk(detached->place.path()), 0);
  EXPECT_FALSE(workspaces_->has_layer(lost));
  EXPECT_TRUE(workspaces_->has_layer(kept));
  EXPECT_TRUE(os::remove_tree(detached->place.path()));
  EXPECT_TRUE(workspaces_->manifest(kept));
  EXPECT_FALSE(workspaces_->manifest(lost));
  EXPECT_EQ(*workspaces_->get_blob(blob, 100), "log");
  EXPECT_FALSE(workspaces_->get_blob(other, 100));
  EXPECT_TRUE(os::exists(workspaces_->base_tree(base_.base_id)));
}

TEST_F(WorkspaceTest, DeletesWhatPatternsName) {
  const auto below = layer(
      "mkdir -p out/deep && echo x > out/a.xml && ln -s a.xml out/b.xml && echo x > out/deep/c.xml && echo x "
      "> out/d.txt");
  const auto deleted = [&](const std::vector<std::string>& patterns) {
    const auto id = workspaces_->deletion_of(base_.base_id, {below}, patterns);
    EXPECT_TRUE(id) << id.error().message;
    return id->empty() ? std::vector<std::string>() : paths_of(*id);
  };
  using Paths = std::vector<std::string>;
  EXPECT_EQ(deleted({"out/*.xml", "text"}), (Paths{"out/a.xml", "out/b.xml", "text"}));
  EXPECT_EQ(deleted({"out/**"}), (Paths{"out/a.xml", "out/b.xml", "out/d.txt", "out/deep/c.xml"}));
  EXPECT_EQ(deleted({"**/c.xml"}), Paths{"out/deep/c.xml"});
  EXPECT_EQ(deleted({"out/deep"}), Paths{"out/deep"}) << "a folder where a report should be";
  EXPECT_EQ(deleted({"nothing", "none/*.xml", "text/*"}), Paths{});
  const auto id = *workspaces_->deletion_of(base_.base_id, {below}, {"out/a.xml", "text"});
  EXPECT_EQ(changes(id, {below}), (Paths{"out/a.xml: 2 > - -1", "text: 14 > - -3"}));
}

TEST_F(WorkspaceTest, TellsWhatALayerDoesToEachFile) {
  const auto id = layer(
      "printf 'one\\n2\\nthree\\r\\nfour' > text && rm doomed && printf 'a\\0b' > new && chmod -x tool && ln "
      "-sfn dir link"
      " && rm -r dir && echo was a folder > dir && printf same > same");
  EXPECT_EQ(changes(id),
            (std::vector<std::string>{"dir: - > 13 +1:was a folder", "dir/inner: 3 > - -1",
                                      "dir/other: 5 > - -1", "doomed: 2 > - -1", "link: link text > link dir",
                                      "new: - > 3b", "same: - > 4 +1:same",
                                      "text: 14 > 17 +2:2 +3:three +4:four -2", "tool: 4x > 4"}));
  EXPECT_EQ(changes(id, {}, false).size(), 9U) << "by its paths alone";
  const auto second = layer("printf same > same && printf more >> same && echo x > doomed", {id});
  EXPECT_EQ(changes(second, {id}),
            (std::vector<std::string>{"doomed: - > 2 +1:x", "same: 4 > 8 +1:samemore -1"}));
  EXPECT_TRUE(changes("").empty());
}

TEST_F(WorkspaceTest, AFileThatEndsAsItWasIsNoChange) {
  const auto first = layer("echo changed > text");
  const auto second = layer("printf 'one\\ntwo\\nthree\\n' > text", {first});
  const auto merged = *workspaces_->merge(base_.base_id, {}, {second, first});
  EXPECT_TRUE(merged.empty() || changes(merged).empty());
}

// A mode has more bits than git knows, and a file that replaces itself is unchanged.
TEST_F(WorkspaceTest, WhatGitDoesNotSeeIsNoChangeWhoeverReadsContents) {
  const auto large = layer("truncate -s 17M large && chmod 644 large");
  for (const bool contents : {true, false}) {
    for (const std::string script :
         {"chmod 600 text", "chmod 666 text dir/inner", "cp text a && chmod 604 a && mv a text",
          "chmod 711 tool", "chmod 700 dir", "mkdir empty", "chmod 600 large"})
      EXPECT_TRUE(changes(layer(script, {large}), {large}, contents).empty()) << script << " " << contents;
    for (const std::string script :
         {"printf 'one\\nTWO\\nthree\\n' >text", "chmod 744 text", "chmod 611 tool", "ln -sfn tool link",
          "printf x | dd of=large conv=notrunc status=none"})
      EXPECT_EQ(changes(layer(script, {large}), {large}, contents).size(), 1U) << script << " " << contents;
  }
}

TEST_F(WorkspaceTest, AChangedFileThatIsTooLargeIsNotRead) {
  const auto id = layer("truncate -s 17M big");
  EXPECT_EQ(changes(id), (std::vector<std::string>{"big: - > 17825792 unread"}));
  const auto lines = layer("yes '' | head -n 1000001 >lines");
  EXPECT_EQ(changes(lines), (std::vector<std::string>{"lines: - > 1000001 unread"}));
  // Without the bounds all lines are in memory, a million times the text of one line.
  setenv("PAWL_WALLS_OFF", "bounds", 1);
  EXPECT_GT(changes(lines).at(0).size(), 8'000'000U);
  EXPECT_EQ(changes(id), (std::vector<std::string>{"big: - > 17825792b"}));
  unsetenv("PAWL_WALLS_OFF");
}

}  // namespace
}  // namespace pawl::workspace
