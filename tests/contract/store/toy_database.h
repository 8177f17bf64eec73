// A driver of the tests' own, to show how little a driver is: SQLite's C interface, without the room sqlite,
// without group commit, and without a memory of earlier transactions (each has an epoch of its own). It also
// checks what a driver that locks single runs relies on: a transaction that names a run changes no row of
// another one.
#pragma once

#include <sqlite3.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "store/database.h"

namespace pawl::store {

class ToyStatement final : public Statement {
 public:
  // `locked`: the run of the open transaction, "" for all.
  ToyStatement(sqlite3* database, std::string_view name, std::string_view text, const std::string& locked);
  ~ToyStatement() override { sqlite3_finalize(statement_); }
  ToyStatement(const ToyStatement&) = delete;
  ToyStatement& operator=(const ToyStatement&) = delete;

  void bind(std::string_view text) override;
  void bind(std::int64_t number) override { sqlite3_bind_int64(statement_, ++bound_, number); }
  void bind_null() override { sqlite3_bind_null(statement_, ++bound_); }
  Result<bool> next() override;
  std::string_view text(int column) const override;
  std::int64_t number(int column) const override { return sqlite3_column_int64(statement_, column); }
  bool is_null(int column) const override { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }
  void reset() override;

 private:
  sqlite3* const database_;
  const std::string name_;
  const std::string& locked_;
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
  std::set<std::string, std::less<>> texts_;  // all that are bound
};

class ToyDatabase final : public Database {
 public:
  // REQUIRES: `path` is a database with the newest schema.
  explicit ToyDatabase(const std::string& path);
  ~ToyDatabase() override;

  Result<Query> query(std::string_view name) override;
  std::int64_t changes() override { return sqlite3_changes64(database_); }
  bool in_transaction() override { return sqlite3_get_autocommit(database_) == 0; }
  std::int64_t epoch() const override { return epoch_; }
  Status begin_reading() override { return run("BEGIN"); }
  Status end_reading() override { return run("ROLLBACK"); }
  Status check_storage() override;
  Status check_what_claims_read() override { return check_storage(); }

 private:
  Status begin_transaction(std::string_view verb, std::string_view run_id) override;
  Status commit_transaction() override { return run("COMMIT"); }
  void roll_back() override { static_cast<void>(run("ROLLBACK")); }
  Status run(const char* sql);

  sqlite3* database_ = nullptr;
  std::int64_t epoch_ = 0;
  std::string locked_;
  std::map<std::string, std::unique_ptr<ToyStatement>, std::less<>> statements_;
};

}  // namespace pawl::store
