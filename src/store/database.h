// The seam between the verbs and a database. A store of store/verbs/ decides, and owns a Database. A driver
// implements Database: it locks, runs named statements and commits. A driver also has the same functions as
// store/sqlite/driver.h; docs/extending.md lists all parts. The room sqlite has other classes with the names Query
// and Transaction, over a connection of SQLite. In this room only the driver for SQLite uses them.
//
// A statement is a block `-- name: NAME` of src/store/sql/*.sql, completed by with_columns(). When the SQL of a
// statement depends on the database, the block is in a file of the driver instead (store/sqlite/sql/dialect.sql).
// A driver has each statement that the verbs name; an unknown name aborts the process. Columns and parameters
// are in the order of the statement. Errors have the kinds of store/store.h: kUnavailable (busy for too
// long), kExhausted (disk full), kDenied (read-only), kConflict (a constraint), kCorrupt, kIndeterminate.
//
// Thread safety: one Database serves one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace pawl::store {

// A prepared statement of a driver. The verbs use it through Query. After reset() it can be used again.
class Statement {
 public:
  virtual ~Statement() = default;
  // Sets the next parameter, from the first on. The text must live until reset().
  virtual void bind(std::string_view text) = 0;
  virtual void bind(std::int64_t number) = 0;
  virtual void bind_null() = 0;
  // True: a row is there. The first call runs the statement.
  virtual Result<bool> next() = 0;
  // Columns of the row, from 0. A column that the statement lacks is a programmer's error: it aborts. A text
  // is valid until next() or reset(). NULL reads as "" and 0.
  virtual std::string_view text(int column) const = 0;
  virtual std::int64_t number(int column) const = 0;
  virtual bool is_null(int column) const = 0;
  virtual void reset() = 0;
};

// A statement in use; the destructor resets it. At most one Query of a name exists at a time.
class Query {
 public:
  explicit Query(Statement& statement) : statement_(&statement) {}
  Query(Query&& other) noexcept : statement_(std::exchange(other.statement_, nullptr)) {}
  Query& operator=(Query&&) = delete;
  ~Query() {
    if (statement_ != nullptr) statement_->reset();
  }

  // Each sets the next parameter. The text must outlive the Query.
  Query& bind(std::string_view text) {
    statement_->bind(text);
    return *this;
  }
  Query& bind(std::int64_t number) {
    statement_->bind(number);
    return *this;
  }
  Query& bind_null() {
    statement_->bind_null();
    return *this;
  }

  Result<bool> next() { return statement_->next(); }
  Status run() {  // for statements without rows
    PAWL_TRY(const bool row, next());
    PAWL_CHECK(!row);
    return {};
  }

  std::string text(int column) const { return std::string(view(column)); }
  std::string_view view(int column) const { return statement_->text(column); }  // valid until next()
  std::int64_t number(int column) const { return statement_->number(column); }
  bool is_null(int column) const { return statement_->is_null(column); }

 private:
  Statement* statement_;
};

class Transaction;

class Database {
 public:
  virtual ~Database() = default;

  // Begins the transaction of a verb. REQUIRES: no other transaction of this object is open. The transaction locks
  // the run: until its end no other transaction changes a row of the run. The lock covers all rows of the run:
  // tiers, phases, budgets, calls of the doctor, ledger. An empty `run_id` locks all runs. A verb needs this when
  // it reads to find its run (claim), or changes rows of more than one run (create_run). The verb reads only
  // committed rows and the rows that it wrote. `verb` labels crash points and must outlive the transaction.
  Result<Transaction> begin(std::string_view verb, std::string_view run_id);

  // The statement of that name, without parameters yet.
  virtual Result<Query> query(std::string_view name) = 0;
  // The number of rows that the newest INSERT, UPDATE or DELETE changed.
  virtual std::int64_t changes() = 0;
  // True between begin() and the end of the transaction.
  virtual bool in_transaction() = 0;
  // While this number stays the same, the verbs may use rows again that they read or wrote before. It changes
  // when a transaction begins after another connection committed, and when changes were rolled back. A driver
  // that cannot see other commits gives each transaction a new number.
  virtual std::int64_t epoch() const = 0;
  // True: several verbs share the open transaction. Then begin() joins it, and the driver calls
  // RunStore::sign_heads() before it commits.
  virtual bool shares_transaction() const { return false; }

  // Until end_reading(), all reads see one state of the store. REQUIRES: no transaction is open.
  virtual Status begin_reading() = 0;
  virtual Status end_reading() = 0;

  // EvidenceReader::check_storage() in reader.h has the contract.
  virtual Status check_storage() = 0;
  // The part of check_storage() for the tables that a claim reads. Its time does not grow with the ledger. The
  // verbs call it before a claim and before a signature. kForged: the tables contradict themselves. A driver
  // checks once for each connection; later calls return at once.
  virtual Status check_what_claims_read() = 0;

 protected:
  friend class Transaction;
  virtual Status begin_transaction(std::string_view verb, std::string_view run_id) = 0;
  // Durable when it returns. kIndeterminate: the commit may have happened. After an error the transaction is still
  // open, and roll_back() follows.
  virtual Status commit_transaction() = 0;
  virtual void roll_back() = 0;
};

// A transaction of a verb. Without commit(), the destructor rolls it back.
class Transaction {
 public:
  Transaction(Transaction&& other) noexcept
      : database_(std::exchange(other.database_, nullptr)), last_(std::move(other.last_)) {}
  Transaction& operator=(Transaction&& other) noexcept {
    std::swap(database_, other.database_);
    std::swap(last_, other.last_);
    return *this;
  }
  ~Transaction() {
    if (database_ != nullptr) database_->roll_back();
  }
  // commit() runs `work` first, as the last part of the transaction.
  void before_commit(std::function<Status()> work) { last_ = std::move(work); }
  // Durable when it returns; inside a shared transaction, durable only when that transaction has committed
  // (Database::shares_transaction()). kIndeterminate: the commit may have happened.
  Status commit() {
    if (last_) PAWL_OK(last_());
    PAWL_OK(database_->commit_transaction());
    database_ = nullptr;
    return {};
  }

 private:
  friend class Database;
  explicit Transaction(Database& database) : database_(&database) {}
  Database* database_;  // null: it has ended
  std::function<Status()> last_;
};

inline Result<Transaction> Database::begin(std::string_view verb, std::string_view run_id) {
  PAWL_OK(begin_transaction(verb, run_id));
  return Transaction(*this);
}

}  // namespace pawl::store
