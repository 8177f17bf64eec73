// The WAL has the bytes that SQLite alone would write, in fewer writes. A committed transaction is visible to
// every connection.
#include "sqlite/joined_writes.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "support/temp_folder.h"

namespace pawl::sqlite {
namespace {

constexpr const char* kSqliteAlone = nullptr;  // the default VFS

class Database {
 public:
  Database(const std::string& path, const char* vfs, const std::string& synchronous = "FULL") {
    EXPECT_EQ(sqlite3_open_v2(path.c_str(), &handle_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, vfs),
              SQLITE_OK);
    sqlite3_busy_timeout(handle_, 10'000);
    run("PRAGMA journal_mode = WAL; PRAGMA synchronous = " + synchronous);
  }
  ~Database() { sqlite3_close_v2(handle_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  int try_run(const std::string& sql) {
    return sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr);
  }
  void run(const std::string& sql) { EXPECT_EQ(try_run(sql), SQLITE_OK) << sql << sqlite3_errmsg(handle_); }
  std::string ask(const std::string& sql) {
    sqlite3_stmt* statement = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(handle_, sql.c_str(), -1, &statement, nullptr), SQLITE_OK);
    std::string out = "no row";
    if (sqlite3_step(statement) == SQLITE_ROW)
      out = reinterpret_cast<const char*>(sqlite3_column_text(statement, 0));
    sqlite3_finalize(statement);
    return out;
  }

 private:
  sqlite3* handle_ = nullptr;
};

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// The write calls of this thread; a pwrite counts as one.
std::int64_t write_calls() {
  std::ifstream file("/proc/thread-self/io");
  for (std::string key; file >> key;)
    if (std::int64_t value = 0; key == "syscw:" && file >> value) return value;
  ADD_FAILURE() << "no count of writes";
  return 0;
}

// `count` rows of about a fifth of a page, all with `value`.
std::string rows(int count, const std::string& value) {
  return "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < " + std::to_string(count) +
         ") INSERT OR REPLACE INTO t SELECT i, " + value + ", zeroblob(800) FROM n; ";
}
const std::string kTable = "CREATE TABLE t (id INTEGER PRIMARY KEY, value INTEGER, filling BLOB);";
constexpr const char* kOneValue = "SELECT count(*) || ' of ' || min(value) || '..' || max(value) FROM t";
// Ten pages of cache: more pages spill into the WAL before the commit.
constexpr const char* kSpills = "PRAGMA cache_size = 10;";

class SmallDisk {
 public:
  explicit SmallDisk(const std::string& path) : path_(path) {
    std::filesystem::create_directory(path);
    mounted_ = mount("tmpfs", path.c_str(), "tmpfs", 0, "size=4m") == 0;
    EXPECT_TRUE(mounted_) << "needs root for a small tmpfs; CI runs as root";
  }
  ~SmallDisk() {
    if (mounted_) umount2(path_.c_str(), MNT_DETACH);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

  // Leaves room for about that many pages.
  void leave(int pages) {
    struct statvfs now {};
    ASSERT_EQ(statvfs(path_.c_str(), &now), 0);
    const int fd = open((path_ + "/ballast").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    ASSERT_EQ(posix_fallocate(fd, 0, (static_cast<off_t>(now.f_bfree) - pages) * 4096), 0);
    close(fd);
  }
  void leave_all() { std::filesystem::remove(path_ + "/ballast"); }

 private:
  const std::string path_;
  bool mounted_;
};

class JoinedWritesTest : public ::testing::Test {
 protected:
  // The value after a crash of the machine with all written bytes on disk, as another machine would find it.
  std::string value_after_copy() {
    const std::string copy = folder_.path() + "/copy.db";
    for (const char* end : {"", "-wal"})
      std::filesystem::copy_file(path_ + end, copy + end, std::filesystem::copy_options::overwrite_existing);
    std::string out;
    {
      Database database(copy, kSqliteAlone);
      EXPECT_EQ(database.ask("PRAGMA integrity_check"), "ok");
      out = database.ask(kOneValue);
    }
    std::filesystem::remove(copy);
    return out;
  }

  pawl::testing::TempFolder folder_;
  const std::string path_ = folder_.path() + "/t.db";
};

// The work has checkpoints, spills, savepoints that are rolled back, and a cut of the WAL.
TEST_F(JoinedWritesTest, TheFilesAreWhatSqliteAloneWrites) {
  const auto work = [](const std::string& path, const char* vfs) {
    sqlite3_test_control(SQLITE_TESTCTRL_PRNG_RESTORE);
    Database database(path, vfs);
    database.run("PRAGMA wal_autocheckpoint = 40; PRAGMA journal_size_limit = 100000;");
    database.run(kTable + rows(300, "1"));
    for (int i = 0; i < 50; ++i) database.run("UPDATE t SET value = id WHERE id % 50 = " + std::to_string(i));
    database.run(kSpills);
    database.run("BEGIN;" + rows(200, "2") + "UPDATE t SET value = 3; COMMIT;");
    database.run("BEGIN; SAVEPOINT s;" + rows(200, "4") + "ROLLBACK TO s;" + rows(90, "5") + "COMMIT;");
    database.run("DELETE FROM t WHERE id > 100; PRAGMA incremental_vacuum;");
    database.run("PRAGMA wal_checkpoint(TRUNCATE);" + rows(3, "6") + rows(120, "7"));
    return std::array{bytes_of(path), bytes_of(path + "-wal")};
  };
  char seeded = 0;  // gives both WALs the same salts
  sqlite3_randomness(1, &seeded);
  sqlite3_test_control(SQLITE_TESTCTRL_PRNG_SAVE);
  const auto alone = work(folder_.path() + "/alone.db", kSqliteAlone);
  const auto joined = work(folder_.path() + "/joined.db", joined_writes_vfs());
  EXPECT_GT(alone[1].size(), 100'000U);
  EXPECT_TRUE(alone[0] == joined[0]) << "the database";
  EXPECT_TRUE(alone[1] == joined[1]) << "the WAL";
}

TEST_F(JoinedWritesTest, ATransactionIsOneWrite) {
  const auto writes_of_commit = [&](const char* vfs) {
    Database database(path_, vfs);
    database.run("DROP TABLE IF EXISTS t;" + kTable + rows(20, "0"));
    const auto before = write_calls();
    database.run("UPDATE t SET value = value + 1");
    return write_calls() - before;
  };
  EXPECT_GE(writes_of_commit(kSqliteAlone), 8);
  EXPECT_EQ(writes_of_commit(joined_writes_vfs()), 1);
}

TEST_F(JoinedWritesTest, WhatIsCommittedIsThereForOthersAndAfterACrash) {
  for (const std::string synchronous : {"FULL", "NORMAL", "OFF"}) {
    SCOPED_TRACE(synchronous);
    Database ours(path_, joined_writes_vfs(), synchronous), other(path_, kSqliteAlone);
    ours.run("DROP TABLE IF EXISTS t;" + kTable + rows(300, "0"));
    for (int i = 1; i <= 20; ++i) {
      SCOPED_TRACE(i);
      // Every second transaction spills and rewrites spilled frames: SQLite corrects the checksums in the
      // file.
      ours.run(i % 2 == 0 ? std::string(kSpills) : "PRAGMA cache_size = 2000;");
      const std::string value = std::to_string(i);
      ours.run("BEGIN;" + rows(300, "-1") + "UPDATE t SET value = " + value + "; COMMIT;");
      const std::string expected = "300 of " + value + ".." + value;
      EXPECT_EQ(other.ask(kOneValue), expected);
      EXPECT_EQ(value_after_copy(), expected);
    }
  }
}

// Random transactions with savepoints, committed or rolled back, in a small cache, with another writer and
// checkpoints in between.
TEST_F(JoinedWritesTest, AnythingEndsAsWithSqliteAlone) {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    SCOPED_TRACE(seed);
    std::array<std::string, 2> ends;
    for (const bool joined : {false, true}) {
      std::mt19937 dice(seed);
      const auto upto = [&](unsigned most) { return std::to_string(dice() % most + 1); };
      const std::string path = path_ + std::to_string(seed) + (joined ? "j" : "a");
      const std::string how = seed % 2 == 0 ? "NORMAL" : "FULL";
      Database ours(path, joined ? joined_writes_vfs() : kSqliteAlone, how), other(path, kSqliteAlone);
      ours.run(kTable + rows(60, "0") + kSpills);
      for (int transaction = 0; transaction < 20; ++transaction) {
        if (dice() % 2 == 0) other.run("PRAGMA wal_checkpoint(TRUNCATE)");
        ours.run("BEGIN; SAVEPOINT s;");
        for (auto changes = dice() % 6; changes > 0; --changes) {
          const std::array<std::string, 5> all = {
              rows(static_cast<int>(dice() % 150), upto(99)),
              "UPDATE t SET value = " + upto(99) + " WHERE id % 7 < " + upto(7),
              "DELETE FROM t WHERE id % 11 = " + upto(11) + " OR id > " + upto(150), "ROLLBACK TO s",
              "RELEASE s; SAVEPOINT s"};
          ours.run(all[dice() % all.size()]);
        }
        ours.run(dice() % 2 == 0 ? "COMMIT" : "ROLLBACK");
        if (dice() % 3 == 0) other.run(rows(static_cast<int>(dice() % 90), upto(99)));
        for (auto* reader : {&ours, &other})
          ends[joined] += reader->ask("SELECT count(*) || ' ' || total(id * value) FROM t") + "\n";
      }
      EXPECT_EQ(other.ask("PRAGMA integrity_check"), "ok");
      ends[joined] += ours.ask(kOneValue);
    }
    EXPECT_EQ(ends[0], ends[1]);
  }
}

// The disk becomes full at each frame of the transaction in turn. The writer goes on after the failed write.
TEST_F(JoinedWritesTest, WhatTheDiskRefusesIsTakenBack) {
  SmallDisk disk(folder_ / "disk");
  const std::string path = folder_ / "disk/t.db";
  Database ours(path, joined_writes_vfs()), other(path, kSqliteAlone);
  ours.run(kTable + rows(300, "0"));
  int refused = 0, value = 0;
  for (const char* cache : {"PRAGMA cache_size = 2000", kSpills})
    for (int frames = 0;; ++frames) {
      SCOPED_TRACE(std::string(cache) + ", " + std::to_string(frames) + " frames");
      other.run("PRAGMA wal_checkpoint(TRUNCATE)");
      ours.run(cache);
      disk.leave(frames);
      std::vector<std::string> statements = {"BEGIN", "UPDATE t SET value = " + std::to_string(value + 1)};
      // A new key for each row: such a statement could fail for other reasons, so SQLite rolls back only that
      // statement.
      for (int part = 0; part < 6; ++part)
        statements.push_back("UPDATE t SET id = -id WHERE abs(id) % 6 = " + std::to_string(part));
      statements.emplace_back("COMMIT");
      bool done = true;
      for (const auto& statement : statements)
        if (ours.try_run(statement) != SQLITE_OK) {
          done = false;
          if (frames % 2 == 0) disk.leave_all();  // in the middle of the transaction
        }
      disk.leave_all();
      if (done) {
        ++value;
        break;
      }
      ++refused;
      static_cast<void>(ours.try_run("ROLLBACK"));
      EXPECT_EQ(other.ask("PRAGMA integrity_check"), "ok");
      EXPECT_EQ(other.ask("SELECT count(*) || ' ' || count(DISTINCT value) FROM t"), "300 1");
      ours.run("UPDATE t SET value = " + std::to_string(value));  // the next transaction works
      const std::string expected = "300 of " + std::to_string(value) + ".." + std::to_string(value);
      EXPECT_EQ(other.ask(kOneValue), expected);
      EXPECT_EQ(ours.ask(kOneValue), expected);
    }
  EXPECT_GT(refused, 100);
}

TEST_F(JoinedWritesTest, WhatWasAcknowledgedOutlivesAKill) {
  {
    Database database(path_, kSqliteAlone);
    database.run(kTable + rows(300, "0"));
  }
  std::int64_t acknowledged = 0;
  for (int round = 0; round < 20; ++round) {
    std::array<int, 2> ends{};
    ASSERT_EQ(pipe(ends.data()), 0);
    const pid_t child = fork();
    if (child == 0) {
      Database database(path_, joined_writes_vfs());
      if (round % 2 == 0) database.run(kSpills);
      for (std::int64_t value = acknowledged + 1;; ++value) {
        database.run("BEGIN;" + rows(300, "-1") + "UPDATE t SET value = " + std::to_string(value) +
                     "; COMMIT;");
        if (write(ends[1], &value, sizeof(value)) != sizeof(value)) _exit(1);
      }
    }
    close(ends[1]);
    // Another connection reads meanwhile and sees whole transactions.
    Database reader(path_, kSqliteAlone);
    for (int i = 0; i < 10; ++i) {
      ASSERT_EQ(read(ends[0], &acknowledged, sizeof(acknowledged)), sizeof(acknowledged));
      EXPECT_EQ(reader.ask("SELECT count(DISTINCT value) || ' ' || (min(value) > 0) FROM t"), "1 1");
    }
    usleep(static_cast<useconds_t>(round) * 400);
    kill(child, SIGKILL);
    ASSERT_EQ(waitpid(child, nullptr, 0), child);
    while (read(ends[0], &acknowledged, sizeof(acknowledged)) > 0) continue;
    close(ends[0]);
    Database database(path_, round % 3 == 0 ? kSqliteAlone : joined_writes_vfs());
    EXPECT_EQ(database.ask("PRAGMA integrity_check"), "ok");
    EXPECT_GE(std::stoll(database.ask("SELECT min(value) FROM t")), acknowledged);
    EXPECT_EQ(database.ask("SELECT min(value) = max(value) FROM t"), "1");
    acknowledged = std::stoll(database.ask("SELECT min(value) FROM t"));
  }
}

}  // namespace
}  // namespace pawl::sqlite
