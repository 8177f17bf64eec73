// The query plans of SQLite for the store's statements, and the columns that they read.
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <string>
#include <string_view>

#include "embedded/sql.h"
#include "embedded/statements.h"
#include "store/columns.h"
#include "store/sqlite/statements.h"
#include "support/store_fixture.h"

namespace pawl::store {
namespace {

// Every statement that claims, begins, ends or reads one run uses an index. No statement builds an index of a
// whole table first.
TEST_F(StoreTest, NoStatementScansATable) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &database), SQLITE_OK);
  int explained = 0;
  for (const auto unread : {statements::claim, statements::steps, statements::finish, statements::operators,
                            statements::reading, sqlite::sql::dialect}) {
    const std::string file = with_columns(unread);
    for (auto at = file.find("-- name: "); at != file.npos;) {
      const auto end = file.find('\n', at);
      const auto next = file.find("-- name: ", end);
      const std::string name = file.substr(at + 9, end - at - 9),
                        text = file.substr(end, next == file.npos ? next : next - end);
      at = next;
      const bool may_scan = unread == statements::reading || name == "cost_of_run" ||
                            name == "usage_of_run" || name == "run_ids_like" || name == "unsettled";
      sqlite3_stmt* statement = nullptr;
      ASSERT_EQ(sqlite3_prepare_v2(database, ("EXPLAIN QUERY PLAN " + text).c_str(), -1, &statement, nullptr),
                SQLITE_OK)
          << name << sqlite3_errmsg(database);
      while (sqlite3_step(statement) == SQLITE_ROW) {
        const std::string detail = reinterpret_cast<const char*>(sqlite3_column_text(statement, 3));
        const bool scan = detail.starts_with("SCAN") && detail.find("USING COVERING INDEX") == detail.npos &&
                          detail.find("CONSTANT ROW") == detail.npos;
        EXPECT_FALSE(scan && !may_scan) << name << ": " << detail;
        EXPECT_EQ(detail.find("AUTOMATIC"), detail.npos) << name << ": " << detail;
        const bool all_phases = detail.starts_with("SEARCH phases") && detail.ends_with("(run_id=?)");
        EXPECT_FALSE(all_phases && name == "phases_that_began") << "an idle worker asks this again and again";
        ++explained;
      }
      sqlite3_finalize(statement);
    }
  }
  EXPECT_GT(explained, 10);
  sqlite3_close(database);
}

// Statements name the columns of a whole row by its list (store/columns.h). One that spells them would read
// the members of later columns as their defaults.
TEST_F(StoreTest, StatementsThatReadAWholeRowNameItsList) {
  for (const auto* spelt : {"SELECT run_id, workflow_id,", "SELECT run_id, phase_id, tier_index,",
                            "SELECT run_id, phase_id, number,", "SELECT sandbox_run_id,"})
    for (const auto& [name, text] : sqlite::store_statements())
      EXPECT_EQ(text.find(spelt), text.npos) << name << " spells the columns of a row";
}

// A worker reads the plan's common row, and the text in the same table may have many megabytes.
TEST_F(StoreTest, WhatIsOfNoPhaseIsReadWithoutThePlansText) {
  const auto run = create({{"a"}});
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path_.c_str(), &database), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(database, "UPDATE plans SET text = printf('%.*c', 5000000, 'x')", nullptr, nullptr,
                         nullptr),
            SQLITE_OK);
  sqlite3_close(database);
  ASSERT_EQ(sqlite3_open(path_.c_str(), &database), SQLITE_OK);
  const auto text = sqlite::store_statements().at("planned_common");
  sqlite3_stmt* statement = nullptr;
  ASSERT_EQ(sqlite3_prepare_v2(database, text.data(), static_cast<int>(text.size()), &statement, nullptr),
            SQLITE_OK);
  sqlite3_bind_text(statement, 1, run.c_str(), -1, SQLITE_STATIC);
  ASSERT_EQ(sqlite3_step(statement), SQLITE_ROW);
  EXPECT_STREQ(reinterpret_cast<const char*>(sqlite3_column_text(statement, 0)), "c");
  int pages = 0, most = 0;
  ASSERT_EQ(sqlite3_db_status(database, SQLITE_DBSTATUS_CACHE_MISS, &pages, &most, 0), SQLITE_OK);
  EXPECT_LT(pages, 20);
  sqlite3_finalize(statement);
  sqlite3_close(database);
}

}  // namespace
}  // namespace pawl::store
