// Opening an episode, its readers, its groups, and its behaviour on a full disk.
#include "agent/journal.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>

#include "support/journal_fixture.h"
#include "support/small_disk.h"

namespace pawl::agent {
namespace {

class Journals : public JournalTest {
 protected:
  ErrorKind kind_of_opening(Journal::Access access = Journal::Access::kReadWrite) {
    journal_.reset();
    const auto opened = Journal::open(path_, access);
    EXPECT_FALSE(opened);
    return opened ? ErrorKind::kCancelled : opened.error().kind;
  }
  std::vector<std::string> files() const { return os::list_folder(os::folder_of(path_)).value(); }
};

TEST_F(Journals, AFileIsNamedByRunGoalAndEpisode) {
  EXPECT_EQ(episode_path("/p/.pawl", {"run", "goal", "ep"}), "/p/.pawl/agents/run/goal/ep.db");
  for (const char* bad : {"", ".", "..", ".x", "a/b", "a b", "\xC3\xA4"})
    EXPECT_EQ(episode_path("/p", {"run", bad, "ep"}).error().kind, ErrorKind::kInvalid) << bad;
  EXPECT_EQ(episode_path("/p", {"run", std::string(65, 'x'), "ep"}).error().kind, ErrorKind::kInvalid);
  // The longest goal still has room for the numbers of attempt and episode.
  EXPECT_TRUE(episode_path("/p", {"run", std::string(64, 'x'), std::string(64, 'x') + ".100000.e8"}));
  EXPECT_EQ(episode_path("/p", {"run", "goal", std::string(81, 'x')}).error().kind, ErrorKind::kInvalid);
}

// A power failure must not remove a folder that was made for the episode: the parent of each one was synced.
TEST_F(Journals, TheFoldersThatAreMadeForItAreOnDisk) {
  const std::string points = folder_ / "points";
  setenv("PAWL_CRASH_LOG", points.c_str(), 1);
  const auto opened = Journal::open(folder_ / "other/run/goal/episode.db", Journal::Access::kReadWrite);
  unsetenv("PAWL_CRASH_LOG");
  ASSERT_TRUE(opened);
  std::ifstream log(points);
  int synced = 0;
  for (std::string line; std::getline(log, line);)
    synced += line.find("episode.folder") != std::string::npos ? 1 : 0;
  EXPECT_EQ(synced, 4) << "goal, run, other, and the one that was there";
}

TEST_F(Journals, ANewersFileIsRefused) {
  sql("PRAGMA user_version = 3");
  EXPECT_EQ(kind_of_opening(), ErrorKind::kInvalid);
  EXPECT_EQ(kind_of_opening(Journal::Access::kReadOnly), ErrorKind::kInvalid);
}

TEST_F(Journals, AnOldersFileIsBroughtUpToDate) {
  const std::string state = state_text(100'000);
  for (const char* id : {"a", "b", "c"}) ASSERT_TRUE(save(*journal_, id, state, 0));
  ASSERT_EQ(*journal_->prune("c", true), 1);  // counts all runs, as version 1 did at each save
  sql("DELETE FROM totals WHERE name = 'counted_chunk'; PRAGMA user_version = 1;"
      "UPDATE totals SET name = 'checkpoint_seq' WHERE name = 'counted_seq';"
      "UPDATE totals SET name = 'checkpoints' WHERE name = 'counted_checkpoints'");
  reopen(Journal::Access::kReadOnly);
  EXPECT_EQ(journal_->load("b", {}, kNow)->payload, state);
  reopen();
  EXPECT_EQ(number("PRAGMA user_version"), 2);
  ASSERT_TRUE(save(*journal_, "d", state, 0));
  ASSERT_EQ(*journal_->prune("a", true), 1);
  ASSERT_EQ(*journal_->prune("b", true), 1);
  EXPECT_EQ(journal_->load("d", {}, kNow)->payload, state);
  ASSERT_EQ(*journal_->prune("d", true), 1);
  EXPECT_EQ(number("SELECT COUNT(*) FROM chunks"), 0);
}

TEST_F(Journals, AnotherProgramsFileIsRefused) {
  sql("PRAGMA application_id = 7");
  EXPECT_EQ(kind_of_opening(), ErrorKind::kCorrupt);
  journal_.reset();
  std::ofstream(path_) << "this is no database, and never was one; it is longer than a header, though"
                       << std::string(200, ' ');
  EXPECT_EQ(kind_of_opening(), ErrorKind::kCorrupt);
  EXPECT_EQ(kind_of_opening(Journal::Access::kReadOnly), ErrorKind::kCorrupt);
}

TEST_F(Journals, AReaderMakesNothing) {
  const std::string absent = folder_ / "agents/run/goal/absent.db", nowhere = folder_ / "agents/other/x.db";
  EXPECT_EQ(Journal::open(absent, Journal::Access::kReadOnly).error().kind, ErrorKind::kNotFound);
  EXPECT_EQ(Journal::open(nowhere, Journal::Access::kReadOnly).error().kind, ErrorKind::kNotFound);
  EXPECT_FALSE(os::exists(absent));
  EXPECT_FALSE(os::exists(os::folder_of(nowhere)));
  std::ofstream(absent).close();
  EXPECT_EQ(Journal::open(absent, Journal::Access::kReadOnly).error().kind, ErrorKind::kNotFound) << "empty";
  ASSERT_TRUE(save(*journal_, "a", "x"));
  journal_.reset();
  const auto before = files();
  reopen(Journal::Access::kReadOnly);
  EXPECT_EQ(journal_->load("a", {}, kNow)->payload, "x");
  journal_.reset();
  EXPECT_EQ(files(), before);
}

TEST_F(Journals, AReaderSeesWhatIsCommittedBesideTheWriter) {
  ASSERT_TRUE(save(*journal_, "a", "1"));
  const auto reader = *Journal::open(path_, Journal::Access::kReadOnly);
  EXPECT_EQ(reader->load("a", {}, kNow)->payload, "1");
  ASSERT_TRUE(journal_->begin_group());
  ASSERT_TRUE(save(*journal_, "a", "2"));
  EXPECT_EQ(reader->load("a", {}, kNow)->payload, "1") << "not yet";
  ASSERT_TRUE(journal_->commit());
  EXPECT_EQ(reader->load("a", {}, kNow)->payload, "2");
  ASSERT_TRUE(save(*journal_, "a", "3")) << "the reader is in nobody's way";
}

TEST_F(Journals, AReaderWritesNothing) {
  ASSERT_TRUE(save(*journal_, "a", "1"));
  reopen(Journal::Access::kReadOnly);
  EXPECT_EQ(save(*journal_, "a", "2").error().kind, ErrorKind::kDenied);
  EXPECT_EQ(journal_->prune("", false).error().kind, ErrorKind::kDenied);
  EXPECT_EQ(journal_->begin_session("s", kNow).error().kind, ErrorKind::kDenied);
  EXPECT_EQ(journal_->begin_group().error().kind, ErrorKind::kDenied);
  EXPECT_EQ(journal_->list({})->size(), 1u);
  EXPECT_EQ(journal_->spent()->tokens, 0);
}

TEST_F(Journals, WhatAKilledWriterSavedIsRead) {
  journal_.reset();
  const pid_t child = fork();
  if (child == 0) {
    auto episode = Journal::open(path_, Journal::Access::kReadWrite);
    if (!episode || !save(**episode, "a", state_text(100'000))) _exit(1);
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  ASSERT_EQ(files().size(), 3u) << "the log is still there";
  reopen(Journal::Access::kReadOnly);
  EXPECT_EQ(journal_->load("a", {}, kNow)->payload, state_text(100'000));
  reopen();
  EXPECT_EQ(journal_->load("a", {}, kNow)->payload, state_text(100'000));
}

TEST_F(Journals, TwoWritersDoNotHarmEachOther) {
  const std::string state = state_text(200'000);
  const auto other = *Journal::open(path_, Journal::Access::kReadWrite);
  ASSERT_TRUE(save(*journal_, "a", state));
  ASSERT_TRUE(other->prune("", false)) << "the chunks that the first one remembers are gone";
  ASSERT_TRUE(save(*journal_, "b", state));
  EXPECT_EQ(journal_->load("b", {}, kNow)->payload, state);
  EXPECT_EQ(other->load("b", {}, kNow)->payload, state);
}

// --- groups

TEST_F(Journals, AGroupIsAllOrNothing) {
  ASSERT_TRUE(journal_->begin_group());
  ASSERT_TRUE(save(*journal_, "a", state_text(50'000)));
  ASSERT_TRUE(journal_->begin_step({.key = "k", .session = "s"}, kNow));
  ASSERT_TRUE(journal_->add_usage({.id = "u", .input_tokens = 4, .source = kToldByAgent}, kNow));
  EXPECT_TRUE(journal_->load("a", {}, kNow)) << "it sees what it did";
  journal_->roll_back();
  EXPECT_EQ(journal_->load("a", {}, kNow).error().kind, ErrorKind::kNotFound);
  EXPECT_TRUE(journal_->steps("", 1)->empty());
  EXPECT_EQ(journal_->spent()->tokens, 0);
  ASSERT_TRUE(save(*journal_, "a", state_text(50'000))) << "the chunks were taken back, too";
  EXPECT_EQ(journal_->load("a", {}, kNow)->payload, state_text(50'000));
}

TEST_F(Journals, AnEpisodeThatGoesWithAnOpenGroupTakesItBack) {
  ASSERT_TRUE(journal_->begin_group());
  ASSERT_TRUE(save(*journal_, "a", "x"));
  reopen();
  EXPECT_EQ(journal_->load("a", {}, kNow).error().kind, ErrorKind::kNotFound);
}

TEST_F(Journals, AVerbThatFailsInAGroupLeavesNothingOfItself) {
  sql("UPDATE totals SET value = 3999998 WHERE name = 'counted_checkpoints'");
  sql("UPDATE totals SET value = 1 << 62 WHERE name = 'tokens'");
  ASSERT_TRUE(journal_->begin_group());
  EXPECT_EQ(journal_->add_usage({.id = "u", .input_tokens = 4, .source = kToldByAgent}, kNow).error().kind,
            ErrorKind::kExhausted);
  ASSERT_TRUE(save(*journal_, "a", state_text(2049, 1), 0));
  ASSERT_TRUE(save(*journal_, "a", state_text(2049, 2), 0));
  EXPECT_EQ(save(*journal_, "a", state_text(50'000), 0).error().kind, ErrorKind::kExhausted);
  ASSERT_TRUE(journal_->spawn({.parent = "a", .spec_hash = "h"}, 1, kNow));
  EXPECT_EQ(journal_->spawn({.parent = "a", .ordinal = 1, .spec_hash = "h"}, 1, kNow).error().kind,
            ErrorKind::kExhausted);
  EXPECT_EQ(journal_->complete_step("none", "1", kNow).error().kind, ErrorKind::kNotFound);
  ASSERT_TRUE(journal_->commit());
  reopen();
  EXPECT_EQ(journal_->list({})->size(), 2u);
  EXPECT_EQ(number("SELECT COUNT(*) FROM chunks"), 2);
  EXPECT_EQ(number("SELECT value FROM totals WHERE name = 'children'"), 1);
  EXPECT_EQ(number("SELECT MAX(seq) FROM checkpoints"), 2);
  EXPECT_EQ(number("SELECT value FROM totals WHERE name = 'usage'"), 0)
      << "it had counted itself when it failed";
}

TEST_F(Journals, AVerbAloneInItsGroupIsTakenBackWithIt) {
  sql("UPDATE totals SET value = 1 << 62 WHERE name = 'tokens'");
  ASSERT_TRUE(journal_->begin_group(true));
  EXPECT_FALSE(journal_->complete_step("none", "1", kNow));
  EXPECT_FALSE(journal_->must_roll_back()) << "it had written nothing";
  EXPECT_EQ(journal_->add_usage({.id = "u", .input_tokens = 4, .source = kToldByAgent}, kNow).error().kind,
            ErrorKind::kExhausted);
  EXPECT_TRUE(journal_->must_roll_back());
  EXPECT_FALSE(journal_->commit());
  EXPECT_EQ(number("SELECT value FROM totals WHERE name = 'usage'"), 0);
  sql("UPDATE totals SET value = 0 WHERE name = 'tokens'");
  ASSERT_TRUE(journal_->begin_group(true));
  ASSERT_TRUE(journal_->add_usage({.id = "u", .input_tokens = 4, .source = kToldByAgent}, kNow));
  EXPECT_FALSE(journal_->must_roll_back());
  ASSERT_TRUE(journal_->commit());
  EXPECT_EQ(number("SELECT value FROM totals WHERE name = 'usage'"), 1);
}

// --- no room

TEST_F(Journals, AFullEpisodeTakesNothingButIsPruned) {
  ASSERT_TRUE(save(*journal_, "a", state_text(50'000)));
  journal_.reset();
  // A sparse file of the maximum size. The header tells the number of pages (sqlite.org/fileformat.html).
  const int fd = open(path_.c_str(), O_RDWR | O_CLOEXEC);
  ASSERT_EQ(ftruncate(fd, kStoredBytesMax), 0);
  const std::uint32_t pages = htobe32(kStoredBytesMax / 4096);
  ASSERT_EQ(pwrite(fd, &pages, sizeof pages, 28), 4);
  close(fd);
  reopen();
  EXPECT_EQ(save(*journal_, "b", "x").error().kind, ErrorKind::kExhausted);
  EXPECT_EQ(journal_->begin_step({.key = "k", .session = "s"}, kNow).error().kind, ErrorKind::kExhausted);
  EXPECT_TRUE(journal_->load("a", {}, kNow));
  EXPECT_EQ(*journal_->prune("", false), 1);
}

// Behaves like a full file system: writes beyond a limit fail.
class SmallFiles {
 public:
  explicit SmallFiles(rlim_t bytes) {
    getrlimit(RLIMIT_FSIZE, &before_);
    handler_ = signal(SIGXFSZ, SIG_IGN);
    const rlimit small{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &small);
  }
  ~SmallFiles() {
    setrlimit(RLIMIT_FSIZE, &before_);
    signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  sighandler_t handler_;
};

TEST_F(Journals, AFailedWriteTakesTheWholeGroupBack) {
  ASSERT_TRUE(save(*journal_, "a", "old"));
  ASSERT_TRUE(journal_->begin_group());
  ASSERT_TRUE(journal_->begin_step({.key = "k", .session = "s"}, kNow));
  {
    const SmallFiles small(1 << 20);
    static_cast<void>(save(*journal_, "a", state_text(30 << 20)));
    EXPECT_FALSE(journal_->commit());
  }
  EXPECT_TRUE(journal_->steps("", 1)->empty());
  EXPECT_EQ(journal_->load("a", {}, kNow)->payload, "old");
  ASSERT_TRUE(save(*journal_, "a", "new"));
  EXPECT_EQ(journal_->load("a", {}, kNow)->payload, "new");
}

TEST_F(Journals, WhatACommitLostIsNotRemembered) {
  ASSERT_TRUE(save(*journal_, "a", "old"));
  const std::string state = state_text(1 << 20);
  ASSERT_TRUE(journal_->begin_group());
  ASSERT_TRUE(save(*journal_, "a", state));
  ASSERT_TRUE(journal_->begin_step({.key = "k", .session = "s"}, kNow));
  ASSERT_TRUE(journal_->add_usage({.id = "u", .input_tokens = 4, .source = kToldByAgent}, kNow));
  EXPECT_EQ(journal_->spent()->tokens, 4);
  {
    const SmallFiles small(1 << 16);
    EXPECT_FALSE(journal_->commit());
  }
  EXPECT_EQ(journal_->spent()->tokens, 0);
  ASSERT_TRUE(save(*journal_, "a", state)) << "its chunks were lost, too";
  EXPECT_EQ(journal_->load("a", {}, kNow)->payload == state, true);
  EXPECT_EQ(journal_->load("a", {}, kNow)->damaged, 0);
}

TEST_F(Journals, AStepThatCouldNotBeSavedTakesNoPlace) {
  sql("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 999999) INSERT INTO steps "
      "SELECT printf('full-%07d', i), 'pure', '', 'begun', 1, 's', '', '', '', '', '' FROM n");
  {
    const SmallFiles small(1 << 12);
    EXPECT_FALSE(journal_->begin_step({.key = "a", .session = "s"}, kNow));
  }
  EXPECT_TRUE(journal_->begin_step({.key = "b", .session = "s"}, kNow)) << "one place is left";
  EXPECT_EQ(journal_->begin_step({.key = "c", .session = "s"}, kNow).error().kind, ErrorKind::kExhausted);
}

TEST_F(Journals, AFullDiskIsExhaustedAndLosesNothing) {
  const testing::SmallDisk disk(folder_ / "small", "2m");
  ASSERT_TRUE(disk.mounted()) << "needs root for a small tmpfs; CI runs as root";
  const std::string ballast = folder_ / "small/ballast";
  ASSERT_TRUE(os::write_atomically(ballast, std::string(1 << 20, 'x')));
  const auto episode = *Journal::open(folder_ / "small/episode.db", Journal::Access::kReadWrite);
  std::uint64_t saved = 0;
  for (;; ++saved) {
    const auto last = save(*episode, "a", state_text(100'000, saved), 0);
    if (last) continue;
    EXPECT_EQ(last.error().kind, ErrorKind::kExhausted) << last.error().message;
    break;
  }
  ASSERT_GT(saved, 1u);
  EXPECT_EQ(episode->load("a", {}, kNow)->payload, state_text(100'000, saved - 1));
  ASSERT_TRUE(episode->begin_group());
  ASSERT_TRUE(save(*episode, "a", state_text(1 << 20, 99), 0));
  EXPECT_EQ(episode->commit().error().kind, ErrorKind::kExhausted);
  // More than SQLite holds in memory before the commit. SQLite rolls back the whole group, and no verb of it
  // may be reported as a success.
  ASSERT_TRUE(episode->begin_group());
  ASSERT_TRUE(episode->begin_step({.key = "k", .session = "s"}, kNow));
  EXPECT_EQ(save(*episode, "a", state_text(40 << 20, 99), 0).error().kind, ErrorKind::kExhausted);
  EXPECT_FALSE(episode->begin_step({.key = "l", .session = "s"}, kNow));
  EXPECT_FALSE(episode->commit());
  EXPECT_TRUE(episode->steps("", 1)->empty());
  ASSERT_TRUE(os::remove_tree(ballast));
  ASSERT_TRUE(save(*episode, "a", "there is room again", 0));
  EXPECT_EQ(episode->load("a", {}, kNow)->payload, "there is room again");
}

TEST_F(Journals, ALargeSaveLeavesNoLogBehindWhetherItFitsOrNot) {
  const testing::SmallDisk disk(folder_ / "small", "40m");
  ASSERT_TRUE(disk.mounted()) << "needs root for a small tmpfs; CI runs as root";
  const std::string path = folder_ / "small/episode.db";
  const auto log_bytes = [&] {
    struct stat log {};
    EXPECT_EQ(stat((path + "-wal").c_str(), &log), 0);
    return log.st_size;
  };
  const auto episode = *Journal::open(path, Journal::Access::kReadWrite);
  ASSERT_TRUE(save(*episode, "a", noise(10 << 20, 1), 0));
  EXPECT_EQ(log_bytes(), 0);
  const auto too_large = save(*episode, "a", noise(40 << 20, 2), 0);
  EXPECT_EQ(too_large.error().kind, ErrorKind::kExhausted);
  EXPECT_EQ(too_large.error().sys_errno, ENOSPC) << too_large.error().message;
  EXPECT_EQ(log_bytes(), 0);
  ASSERT_TRUE(episode->begin_group());
  EXPECT_FALSE(save(*episode, "a", noise(40 << 20, 3), 0));
  EXPECT_FALSE(episode->commit());
  EXPECT_EQ(log_bytes(), 0);
  EXPECT_TRUE(save(*episode, "a", noise(10 << 20, 4), 0)) << "its room is free again";
}

}  // namespace
}  // namespace pawl::agent
