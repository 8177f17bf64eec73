// An episode in its own folder, with functions that damage it.
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "agent/journal.h"
#include "support/temp_folder.h"

namespace pawl::agent {

inline constexpr WallTime kNow{1'767'323'045'000'000};

// Words of an agent's state, which compress about like text. The same seed gives the same bytes.
inline std::string state_text(std::size_t size, std::uint64_t seed = 1) {
  std::string out;
  for (std::uint64_t state = seed * 0x9e3779b97f4a7c15 + 1; out.size() < size;) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    out += R"({"role":"tool","content":")" + std::to_string(state) + R"("},)";
  }
  out.resize(size);
  return out;
}

// Random bytes, which cannot be compressed.
inline std::string noise(std::size_t size, std::uint64_t seed = 1) {
  std::mt19937_64 next(seed);
  std::string out(size, '\0');
  for (char& c : out) c = static_cast<char>(next());
  return out;
}

inline Result<Checkpoint> save(Journal& episode, const std::string& id, std::string_view payload,
                               std::int64_t keep = kKeptDefault) {
  PAWL_TRY(auto saving, episode.begin_save({.id = id, .keep = keep}, kNow));
  PAWL_OK(saving->append(payload));
  return saving->finish();
}

// Runs SQL over another connection, without the checks of the store.
inline void run_sql(const std::string& path, const std::string& text) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  char* message = nullptr;
  EXPECT_EQ(sqlite3_exec(database, text.c_str(), nullptr, nullptr, &message), SQLITE_OK) << message;
  sqlite3_free(message);
  sqlite3_close(database);
}

class JournalTest : public ::testing::Test {
 protected:
  void SetUp() override { reopen(); }
  void reopen(Journal::Access access = Journal::Access::kReadWrite) {
    journal_.reset();
    auto opened = Journal::open(path_, access);
    ASSERT_TRUE(opened) << opened.error().message;
    journal_ = *std::move(opened);
  }
  void sql(const std::string& text) const { run_sql(path_, text); }
  std::int64_t number(const std::string& text) const {
    sqlite3* database = nullptr;
    EXPECT_EQ(sqlite3_open(path_.c_str(), &database), SQLITE_OK);
    sqlite3_stmt* statement = nullptr;
    EXPECT_EQ(sqlite3_prepare_v2(database, text.c_str(), -1, &statement, nullptr), SQLITE_OK);
    EXPECT_EQ(sqlite3_step(statement), SQLITE_ROW);
    const std::int64_t out = sqlite3_column_int64(statement, 0);
    sqlite3_finalize(statement);
    sqlite3_close(database);
    return out;
  }
  std::vector<Event> events(const std::string& name) {
    std::vector<Event> out;
    auto told = journal_->reported_since(0);
    EXPECT_TRUE(told);
    for (auto& event : told->events)
      if (event.event == name) out.push_back(std::move(event));
    return out;
  }

  testing::TempFolder folder_;
  const std::string path_ = folder_ / "agents/run/goal/episode.db";
  std::unique_ptr<Journal> journal_;
};

}  // namespace pawl::agent
