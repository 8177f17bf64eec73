#include "contract/store/toy_database.h"

#include <gtest/gtest.h>

#include "store/sqlite/statements.h"

namespace pawl::store {
namespace {

constexpr int kBusyMs = 30'000;

std::unexpected<Error> failure(sqlite3* database) {
  const int code = sqlite3_errcode(database);
  const auto kind = code == SQLITE_BUSY         ? ErrorKind::kUnavailable
                    : code == SQLITE_CONSTRAINT ? ErrorKind::kConflict
                                                : ErrorKind::kIndeterminate;
  return fail(kind, sqlite3_errmsg(database));
}

}  // namespace

ToyStatement::ToyStatement(sqlite3* database, std::string_view name, std::string_view text,
                           const std::string& locked)
    : database_(database), name_(name), locked_(locked) {
  const int code =
      sqlite3_prepare_v2(database_, text.data(), static_cast<int>(text.size()), &statement_, nullptr);
  PAWL_CHECK(code == SQLITE_OK);
}

void ToyStatement::bind(std::string_view text) {
  sqlite3_bind_text(statement_, ++bound_, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
  texts_.emplace(text);
}

Result<bool> ToyStatement::next() {
  // The key of this row is a step, whose run is locked.
  const bool names_no_run = name_ == "settle_usage";
  if (sqlite3_stmt_readonly(statement_) == 0 && !locked_.empty() && !names_no_run) {
    EXPECT_TRUE(texts_.contains(locked_)) << name_ << " changes another run than " << locked_;
  }
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW || code == SQLITE_DONE) return code == SQLITE_ROW;
  return failure(database_);
}

std::string_view ToyStatement::text(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  if (bytes == nullptr) return "";
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

void ToyStatement::reset() {
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
  texts_.clear();
  bound_ = 0;
}

Status ToyDatabase::check_storage() {
  PAWL_TRY(auto problems, query("storage_problems"));
  PAWL_TRY(const bool is_found, problems.next());
  return is_found ? fail(ErrorKind::kForged, problems.text(0)) : Status();
}

ToyDatabase::ToyDatabase(const std::string& path) {
  PAWL_CHECK(sqlite3_open(path.c_str(), &database_) == SQLITE_OK);
  sqlite3_busy_timeout(database_, kBusyMs);
  PAWL_CHECK(run("PRAGMA foreign_keys = ON"));
}

ToyDatabase::~ToyDatabase() {
  statements_.clear();
  sqlite3_close(database_);
}

Result<Query> ToyDatabase::query(std::string_view name) {
  auto& statement = statements_[std::string(name)];
  if (!statement)
    statement = std::make_unique<ToyStatement>(database_, name, sqlite::store_statements().at(name), locked_);
  return Query(*statement);
}

Status ToyDatabase::begin_transaction(std::string_view, std::string_view run_id) {
  PAWL_OK(run("BEGIN IMMEDIATE"));
  locked_ = run_id;
  ++epoch_;
  return {};
}

Status ToyDatabase::run(const char* sql) {
  if (sqlite3_exec(database_, sql, nullptr, nullptr, nullptr) == SQLITE_OK) return {};
  return failure(database_);
}

}  // namespace pawl::store
