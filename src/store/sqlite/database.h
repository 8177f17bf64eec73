// The driver for SQLite: Database over one connection. SQLite locks the whole file (BEGIN IMMEDIATE), so
// every run is locked, whatever run a verb names. A detail of this folder.
#pragma once

#include <memory>
#include <optional>
#include <string_view>
#include <unordered_map>

#include "store/database.h"
#include "store/sqlite/statements.h"

namespace pawl::store::sqlite {

class SqliteStatement final : public Statement {
 public:
  explicit SqliteStatement(pawl::sqlite::Query query) : query_(std::move(query)) {}
  void bind(std::string_view text) override { query_.bind(text); }
  void bind(std::int64_t number) override { query_.bind(number); }
  void bind_null() override { query_.bind_null(); }
  Result<bool> next() override { return query_.next(); }
  std::string_view text(int column) const override { return query_.view(column); }
  std::int64_t number(int column) const override { return query_.number(column); }
  bool is_null(int column) const override { return query_.is_null(column); }
  void reset() override { query_.reset(); }

 private:
  pawl::sqlite::Query query_;
};

class SqliteDatabase final : public Database {
 public:
  explicit SqliteDatabase(std::unique_ptr<Connection> connection) : connection_(std::move(connection)) {}

  Result<Query> query(std::string_view name) override;
  std::int64_t changes() override { return connection_->changes(); }
  bool in_transaction() override { return connection_->in_transaction(); }
  std::int64_t epoch() const override { return connection_->epoch(); }
  bool shares_transaction() const override { return connection_->shares_transaction(); }
  Status begin_reading() override;
  Status end_reading() override { return run("rollback"); }
  Status check_storage() override;
  Status check_what_claims_read() override;

 private:
  Status begin_transaction(std::string_view verb, std::string_view run_id) override;
  Status commit_transaction() override { return transaction_->commit(); }
  void roll_back() override { transaction_.reset(); }
  Status run(std::string_view statement);
  // `statement` lists contradictions. kForged: it lists one, or the database has another schema.
  Status check_by(std::string_view statement);

  std::unique_ptr<Connection> connection_;
  std::unordered_map<std::string_view, SqliteStatement> statements_;  // by name; use the connection's
  std::optional<pawl::sqlite::Transaction> transaction_;
  bool is_storage_checked_ = false, is_read_by_claims_checked_ = false;
};

}  // namespace pawl::store::sqlite
