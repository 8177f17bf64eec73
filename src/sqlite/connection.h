// SQLite behind RAII: one connection, its prepared statements by name, its transactions. This header is the
// room's door. The room knows no table: the store and the agents' episodes bring their own statements.
//
// A statement is a block `-- name: NAME` of a .sql file. Not thread-safe: one connection serves one thread.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/error.h"
#include "os/temporary_folder.h"

namespace pawl::sqlite {

constexpr int kBusyTimeoutMs = 30'000;  // longer than any transaction on a slow disk

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
};
struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

// A prepared statement in use; the destructor resets it. bind() sets the next parameter; columns are read by
// number. A number that the statement has no column for is a programmer's error.
class Query {
 public:
  Query(sqlite3_stmt* statement, const std::string& path) : statement_(statement), path_(&path) {}
  Query(Query&& other) noexcept : statement_(std::exchange(other.statement_, nullptr)), path_(other.path_) {}
  Query& operator=(Query&&) = delete;
  ~Query() { reset(); }
  // Ends this use of the statement; bind() then sets its first parameter again.
  void reset() {
    if (statement_ == nullptr) return;
    sqlite3_reset(statement_);
    sqlite3_clear_bindings(statement_);
    bound_ = 0;
  }

  // The text must outlive the Query.
  Query& bind(std::string_view text);
  Query& bind(std::int64_t number);
  Query& bind_null();
  Query& bind_blob(std::string_view bytes);

  Result<bool> next();  // true: a row is there
  Status run();         // for statements without rows

  std::string text(int column) const { return std::string(view(column)); }
  std::string_view view(int column) const;  // text; valid until next() or the end of the Query
  // Valid until next() or the end of the Query.
  std::string_view blob(int column) const;
  std::int64_t number(int column) const { return sqlite3_column_int64(statement_, checked(column)); }
  bool is_null(int column) const { return sqlite3_column_type(statement_, checked(column)) == SQLITE_NULL; }

 private:
  // Aborts when the statement has no such column: SQLite would read 0 or "".
  int checked(int column) const {
    PAWL_CHECK(column < sqlite3_column_count(statement_));
    return column;
  }
  sqlite3_stmt* statement_;
  const std::string* path_;  // the connection's path
  int bound_ = 0;
};

using Statements = std::map<std::string_view, std::string_view>;  // text by name
// The statements of `files`, and those that every connection needs (connection.sql).
Statements statements_of(std::initializer_list<std::string_view> files);

struct ConnectionSetup {
  const Statements* statements = nullptr;    // required; must outlive the connection
  std::string_view configure = "configure";  // name of the statement that sets up a connection
  bool creates = true;                       // creates a missing file; false: kDenied without it
};

class Connection {
 public:
  // Opens or creates the database, sets the busy timeout and runs setup.configure. kCorrupt: not a database.
  // A database that cannot be written is opened for reading. When it has a log that cannot be recovered in its
  // folder, a copy of both is opened.
  static Result<std::unique_ptr<Connection>> open(const std::string& path, const ConnectionSetup& setup);

  // An empty database without a file.
  static Result<std::unique_ptr<Connection>> open_in_memory(const ConnectionSetup& setup);

  Result<Query> query(std::string_view name);
  Status run_script(std::string_view sql);
  // Moves the log into the database and empties the log's file. Has no effect while a reader needs the log,
  // or when the disk is full. REQUIRES: no open transaction.
  void shorten_log();
  const std::string& path() const { return path_; }
  sqlite3* handle() { return database_.get(); }
  // A transaction fails with kInvalid when the schema's version differs from this one by then; 0: no check.
  // It fails with kForged when the database has a view, or a trigger whose text is not in `triggers`: a
  // trigger runs inside of a transaction of this connection, so no other connection is seen to have written.
  // `triggers` must outlive the connection.
  void expect_schema(std::int64_t version, std::string_view triggers) {
    schema_version_ = version;
    triggers_ = triggers;
  }
  // Only this check. For readers, which begin no such transaction: where they connect, and where they begin
  // to read evidence.
  Status check_programs();
  std::int64_t schema_version() const { return schema_version_; }
  // Changes whenever earlier reads may be stale: another connection has committed, or changes were rolled
  // back. It is current from the begin of a transaction on, when a schema version is expected.
  std::int64_t epoch() const { return epoch_; }
  void begin_epoch() { ++epoch_; }
  bool in_transaction() { return sqlite3_get_autocommit(database_.get()) == 0; }
  // Nested transactions: how a Transaction takes part in the open one. Its commit is durable with the outer
  // commit. kSavepoints: an uncommitted part is rolled back to its savepoint. kPlain: cheaper, but a part
  // cannot be rolled back; the outer transaction must roll back then (must_roll_back()).
  enum class Parts { kNone, kPlain, kSavepoints };
  // While the returned object lives, each Transaction is such a part.
  class Shared {
   public:
    Shared(Connection& connection, Parts parts) : connection_(connection) { set(parts); }
    ~Shared() { set(Parts::kNone); }
    Shared(const Shared&) = delete;
    Shared& operator=(const Shared&) = delete;

   private:
    void set(Parts parts) {
      connection_.parts_ = parts;
      connection_.must_roll_back_ = false;
    }
    Connection& connection_;
  };
  Shared share_transaction(Parts parts) { return {*this, parts}; }
  Parts parts() const { return parts_; }
  bool shares_transaction() const { return parts_ != Parts::kNone; }
  // True: a kPlain part wrote something and was not committed. The whole open transaction must roll back.
  bool must_roll_back() const { return must_roll_back_; }
  void require_roll_back() { must_roll_back_ = true; }
  std::int64_t total_changes() { return sqlite3_total_changes64(database_.get()); }
  std::int64_t changes() { return sqlite3_changes64(database_.get()); }
  std::int64_t last_inserted() { return sqlite3_last_insert_rowid(database_.get()); }  // row id

  // Returns the Error that a SQLite result code means for the caller.
  static std::unexpected<Error> failure(int code, sqlite3* database, const std::string& path);

 private:
  Connection(std::string path, const ConnectionSetup& setup) : path_(std::move(path)), setup_(setup) {}
  Status configure();
  friend class Transaction;
  // Checks for commits of other connections since the newest transaction of this one.
  Status look_at_others();
  // Aborts on an unknown name: that is a programmer's error.
  const Statements::value_type& entry_of(std::string_view statement) const;

  const std::string path_;
  const ConnectionSetup setup_;
  std::int64_t schema_version_ = 0;
  std::string_view triggers_;
  std::int64_t data_version_ = -1, epoch_ = 0;
  Parts parts_ = Parts::kNone;
  bool must_roll_back_ = false;
  std::optional<os::TemporaryFolder> copy_;  // copy of a database that cannot be read in its folder
  std::unique_ptr<sqlite3, CloseDatabase> database_;
  std::unordered_map<std::string_view, std::unique_ptr<sqlite3_stmt, FinalizeStatement>> statements_;
};

// BEGIN IMMEDIATE ... COMMIT, or a part of a shared transaction. The destructor rolls back without commit().
// `verb` labels the crash points "store.<verb>.before_commit" and "store.<verb>.after_commit".
class Transaction {
 public:
  static Result<Transaction> begin(Connection& connection, std::string_view verb);
  Transaction(Transaction&& other) noexcept
      : connection_(std::exchange(other.connection_, nullptr)),
        verb_(other.verb_),
        parts_(other.parts_),
        changes_before_(other.changes_before_) {}
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  // Durable when it returns; for a part, when the shared transaction commits. kIndeterminate: it may have
  // happened.
  Status commit();

 private:
  Transaction(Connection& connection, std::string_view verb)
      : connection_(&connection),
        verb_(verb),
        parts_(connection.parts()),
        changes_before_(connection.total_changes()) {}
  Connection* connection_;
  std::string_view verb_;
  Connection::Parts parts_;
  std::int64_t changes_before_;
};

}  // namespace pawl::sqlite
