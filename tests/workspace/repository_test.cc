// Typical repositories, and the commits that are made in them.
#include "workspace/repository.h"

#include "support/small_disk.h"
#include "workspace/own_mounts.h"

namespace pawl::workspace {
namespace {

class RepositoryTest : public WorkspaceTest {};

TEST_F(RepositoryTest, ApplyMakesACommitAPhaseAndTouchesNothingElse) {
  const auto first = layer("echo 1 >> text"), second = layer("chmod -x tool; rm doomed", {first});
  sh("cd " + source_ + " && echo dirty > dir/inner && echo untracked > u && git add u");
  const std::string before =
      sh("cd " + source_ + " && git status --porcelain && git rev-parse HEAD && cat .git/HEAD");
  const std::vector<AppliedPhase> phases = {{"fix", "mend it", first}, {"tidy", "clean", second}};
  const auto message = [](const AppliedPhase& phase) { return phase.phase_id + ": " + phase.goal + "\n"; };
  Commits commits{
      .source = source_, .base = base_, .phases = phases, .message = message, .when_seconds = 1'700'000'000};
  const auto objects = [&] { return sh("cd " + source_ + "/.git && find . -type f | sort | xargs md5sum"); };
  const auto objects_before = objects();
  const auto foretold = workspaces_->commit_id(commits);
  ASSERT_TRUE(foretold) << foretold.error().message;
  EXPECT_EQ(objects(), objects_before) << "commit_id() makes nothing";
  const auto commit = workspaces_->apply("pawl/run", commits);
  ASSERT_TRUE(commit) << commit.error().message;
  EXPECT_EQ(*foretold, *commit);
  EXPECT_EQ(sh("cd " + source_ + " && git rev-parse pawl/run"), *commit + "\n");
  EXPECT_NE(objects(), objects_before);
  EXPECT_EQ(sh("cd " + source_ + " && git status --porcelain && git rev-parse HEAD && cat .git/HEAD"),
            before);
  EXPECT_EQ(sh("cd " + source_ + " && git log --format=%s pawl/run"), "tidy: clean\nfix: mend it\nbase\n");
  EXPECT_EQ(sh("cd " + source_ + " && git diff --name-status main pawl/run"),
            "D\tdoomed\nM\ttext\nM\ttool\n");
  sh("cd " + source_ + " && git fsck --strict");
  EXPECT_EQ(*workspaces_->apply("pawl/run", commits), *commit) << "again";
  EXPECT_EQ(*workspaces_->commit_id(commits), *commit);
  commits.phases.pop_back();
  const auto other = workspaces_->apply("pawl/run", commits);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().kind, ErrorKind::kConflict);
}

TEST_F(RepositoryTest, ExtensionsThatAReaderMayIgnoreAreIgnored) {
  sh("cd " + source_ + " && git config core.repositoryformatversion 1");
  for (const auto* extension :
       {"worktreeConfig true", "partialClone origin", "preciousObjects true", "relativeWorktrees true",
        "objectFormat sha1", "refStorage files", "compatObjectFormat sha256"}) {
    // Written to the file, because the installed git need not know all extensions.
    sh("git config -f " + source_ + "/.git/config extensions." + extension);
    EXPECT_TRUE(workspaces_->snapshot_git(source_, "HEAD")) << extension;
  }
  // git has a second name for each object there, which libgit2 does not write.
  const Commits commits{.source = source_,
                        .base = base_,
                        .phases = {{.phase_id = "p", .layer_id = layer("echo 1 >> text")}},
                        .message = [](const auto&) { return "m"; }};
  const auto applied = workspaces_->apply("pawl/run", commits);
  ASSERT_FALSE(applied);
  EXPECT_NE(applied.error().message.find("`pawl diff`"), std::string::npos) << applied.error().message;
  sh("git config -f " + source_ + "/.git/config --unset extensions.compatObjectFormat");
  EXPECT_TRUE(workspaces_->apply("pawl/run", commits));
  sh("git config -f " + source_ + "/.git/config extensions.refStorage reftable");
  const auto reftable = workspaces_->snapshot_git(source_, "HEAD");
  ASSERT_FALSE(reftable);
  EXPECT_NE(reftable.error().message.find("reftable"), std::string::npos) << reftable.error().message;
  sh("git config -f " + source_ + "/.git/config --unset extensions.refStorage");
  sh("git config -f " + source_ + "/.git/config extensions.somethingNew true");
  const auto unknown = workspaces_->snapshot_git(source_, "HEAD");
  ASSERT_FALSE(unknown);
  EXPECT_NE(unknown.error().message.find("somethingnew"), std::string::npos) << unknown.error().message;
  const std::string other = temp_ / "sha256";
  sh("git init -q --object-format=sha256 " + other + " && cd " + other +
     " && git -c user.name=t -c user.email=t@example.org commit -q --allow-empty -m base");
  const auto sha256 = workspaces_->snapshot_git(other, "HEAD");
  ASSERT_FALSE(sha256);
  EXPECT_NE(sha256.error().message.find("sha256"), std::string::npos) << sha256.error().message;
}

TEST_F(RepositoryTest, APartialCloneSaysWhatBringsTheRest) {
  const std::string partial = temp_ / "partial";
  sh("cd " + source_ +
     " && git config uploadpack.allowFilter true && git clone -q --no-checkout --filter=blob:none file://" +
     source_ + " " + partial);
  const auto without = workspaces_->snapshot_git(partial, "HEAD^{commit}");
  EXPECT_TRUE(without) << "the same tree is kept already";
  Workspaces fresh = *Workspaces::open(temp_ / "fresh");
  const auto missing = fresh.snapshot_git(partial, "HEAD");
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("git fetch --refetch --no-filter"), std::string::npos)
      << missing.error().message;
  sh("cd " + partial + " && git fetch -q --refetch --no-filter");
  const auto whole = fresh.snapshot_git(partial, "HEAD");
  ASSERT_TRUE(whole) << whole.error().message;
  EXPECT_EQ(whole->base_id, base_.base_id);
}

TEST_F(RepositoryTest, ACloneWithoutTreesSaysItToo) {
  const std::string partial = temp_ / "partial";
  sh("cd " + source_ +
     " && mkdir -p a/b && echo 1 >a/b/f && git add -A && git commit -q -m folders && git config "
     "uploadpack.allowFilter true && git clone -q --no-checkout --filter=tree:0 file://" +
     source_ + " " + partial);
  for (const std::string ref : {"HEAD", "HEAD~1"}) {
    const auto missing = workspaces_->snapshot_git(partial, ref);
    ASSERT_FALSE(missing) << ref;
    EXPECT_EQ(missing.error().kind, ErrorKind::kInvalid);
    EXPECT_NE(missing.error().message.find("git fetch --refetch --no-filter"), std::string::npos)
        << missing.error().message;
  }
}

// `git clone --filter=tree:0 --sparse` need not bring the trees outside of the checkout.
TEST_F(RepositoryTest, AFolderIsTakenWithoutTheTreesThatItsSparseCheckoutLeavesOut) {
  sh("git init -q " + (temp_ / "lib") + " && cd " + (temp_ / "lib") +
     " && git -c user.name=t -c user.email=t@example.org commit -q --allow-empty -m lib && cd " + source_ +
     " && mkdir -p far/off near && echo 1 >far/off/f && git -c protocol.file.allow=always submodule --quiet "
     "add " +
     (temp_ / "lib") +
     " near/lib && git add -A && git commit -q -m folders && git sparse-checkout set dir near");
  const auto whole = workspaces_->snapshot_directory(source_);
  ASSERT_TRUE(whole) << whole.error().message;
  sh("cd " + source_ +
     " && id=$(git rev-parse HEAD:far) && rm -f .git/objects/$(echo $id | cut -c1-2)/$(echo $id | cut -c3-)");
  Workspaces fresh = *Workspaces::open(temp_ / "fresh");
  const auto partial = fresh.snapshot_directory(source_);
  ASSERT_TRUE(partial) << partial.error().message;
  EXPECT_EQ(partial->base_id, whole->base_id) << "with its submodules";
  EXPECT_EQ(partial->git_commit, whole->git_commit);
}

TEST_F(RepositoryTest, AFileOfGitThatIsAFifoIsNotWaitedFor) {
  for (const std::string file : {"config", "packed-refs", "objects/info/alternates"}) {
    const std::string path = source_ + "/.git/" + file;
    sh("mkdir -p $(dirname " + path + ") && cp " + path + " " + temp_ / "kept" + " 2>/dev/null; rm -f " +
       path + " && mkfifo " + path);
    const auto made = workspaces_->snapshot_git(source_, "HEAD");
    ASSERT_FALSE(made) << file;
    EXPECT_NE(made.error().message.find(file + " is no regular file"), std::string::npos)
        << made.error().message;
    sh("rm " + path + "; if [ -e " + temp_ / "kept" + " ]; then mv " + temp_ / "kept" + " " + path + "; fi");
  }
  EXPECT_TRUE(workspaces_->snapshot_git(source_, "HEAD"));
}

TEST_F(RepositoryTest, ANameThatCantBeUsedIsShownSafely) {
  sh("cd " + source_ + " && touch \"$(printf 'Icon\\r')\" && git add -A && git commit -q -m icon");
  for (const auto& taken :
       {workspaces_->snapshot_git(source_, "HEAD"), workspaces_->snapshot_directory(source_)}) {
    ASSERT_FALSE(taken);
    EXPECT_NE(taken.error().message.find("Icon\\x0d can't be used"), std::string::npos)
        << taken.error().message;
    EXPECT_EQ(taken.error().message.find('\r'), std::string::npos);
  }
}

TEST_F(RepositoryTest, ABranchInTheWayIsNamed) {
  const auto apply = [&](const std::string& branch) {
    return workspaces_->apply(branch, {.source = source_,
                                       .base = base_,
                                       .phases = {{.phase_id = "p", .layer_id = layer("echo new > new")}},
                                       .message = [](const auto&) { return "m"; }});
  };
  sh("cd " + source_ + " && git branch pawl && git branch deep/er/one");
  for (const auto& [branch, other] : {std::pair("pawl/run", "pawl"), std::pair("deep/er", "deep/er/one")}) {
    const auto refused = apply(branch);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::kConflict) << "it does not pass by waiting";
    EXPECT_NE(refused.error().message.find("beside the branch " + std::string(other) + " "),
              std::string::npos)
        << refused.error().message;
  }
  EXPECT_TRUE(apply("other/run"));
}

TEST_F(RepositoryTest, ApplyRefusesWhatWasNotCommittedAsItRan) {
  sh("cd " + source_ + " && echo uncommitted >> text");
  base_ = *workspaces_->snapshot_directory(source_);
  const auto id = layer("echo 1 >> text");
  const auto applied = workspaces_->apply(
      "pawl/x", {.source = source_, .base = base_, .phases = {{"fix", "g", id}}, .message = [](const auto&) {
                   return "m";
                 }});
  ASSERT_FALSE(applied);
  EXPECT_EQ(applied.error().kind, ErrorKind::kConflict);
  EXPECT_NE(applied.error().message.find("text"), std::string::npos);
}

// Waiting does not help, so the message has the remedy.
TEST_F(RepositoryTest, ARepositoryThatCantBeWrittenIsNotBusy) {
  const auto large = layer("head -c 300000 /dev/urandom > new"), small_change = layer("echo 1 > text");
  auto id = large;
  const std::string disk = temp_ / "disk", repository = disk + "/repo";
  testing::enter_namespaces();
  const auto expect = [&](ErrorKind kind, int number, std::string_view said,
                          const std::string& branch = "pawl/x") {
    const auto refused = workspaces_->apply(branch, {.source = repository,
                                                     .base = base_,
                                                     .phases = {{.phase_id = "p", .layer_id = id}},
                                                     .message = [](const auto&) { return "m"; }});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, kind) << refused.error().message;
    EXPECT_EQ(refused.error().sys_errno, number) << refused.error().message;
    EXPECT_NE(refused.error().message.find(said), std::string::npos) << refused.error().message;
    EXPECT_NE(refused.error().message.find(repository + "/.git/"), std::string::npos)
        << refused.error().message;
  };
  const auto set_read_only = [](const std::string& at, bool yes) {
    PAWL_CHECK(mount(nullptr, at.c_str(), nullptr, yes ? MS_REMOUNT | MS_RDONLY : +MS_REMOUNT, nullptr) == 0);
  };
  const testing::SmallDisk small(disk, "2m");
  ASSERT_TRUE(small.mounted());
  sh("cp -a " + source_ + " " + repository);
  set_read_only(disk, true);
  expect(ErrorKind::kDenied, EROFS, "Read-only file system");
  set_read_only(disk, false);
  sh("cat /dev/zero > " + disk + "/full || true");
  for (const auto& each : {small_change, large}) {
    id = each;
    expect(ErrorKind::kExhausted, ENOSPC, "make room");
  }
  sh("rm " + disk + "/full");
  {
    const testing::SmallDisk heads(repository + "/.git/refs/heads", "1m");
    set_read_only(repository + "/.git/refs/heads", true);
    expect(ErrorKind::kDenied, EROFS, "create branch pawl/x");
  }
  sh("touch " + repository + "/.git/refs/heads/held.lock");
  expect(ErrorKind::kUnavailable, 0, "held.lock", "held");
}

}  // namespace
}  // namespace pawl::workspace
