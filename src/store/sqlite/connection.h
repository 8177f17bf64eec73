// SQLite behind RAII: one connection, its prepared statements by name, transactions. A detail of this room,
// and of the room agent, whose episodes are databases too.
//
// Statements are the blocks `-- name: NAME` of .sql files. Not thread-safe: one connection, one thread.
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

namespace pawl::store::sqlite {

constexpr int kBusyTimeoutMs = 30'000;               // longer than any transaction of ours on a slow disk
constexpr std::int64_t kApplicationId = 0x5061776C;  // "Pawl": tells our file from any other SQLite database

struct CloseDatabase {
  void operator()(sqlite3* database) const { sqlite3_close_v2(database); }
};
struct FinalizeStatement {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};

// A prepared statement in use; reset when it goes away. Parameters are bound in order, columns read by
// number.
class Query {
 public:
  Query(sqlite3_stmt* statement, const std::string& path) : statement_(statement), path_(&path) {}
  Query(Query&& other) noexcept : statement_(std::exchange(other.statement_, nullptr)), path_(other.path_) {}
  Query& operator=(Query&&) = delete;
  ~Query() {
    if (statement_ == nullptr) return;
    sqlite3_reset(statement_);
    sqlite3_clear_bindings(statement_);
  }

  // The text must outlive the Query.
  Query& bind(std::string_view text);
  Query& bind(std::int64_t number);
  Query& bind_null();
  Query& bind_blob(std::string_view bytes);

  Result<bool> next();  // true: a row is there
  Status run();         // for statements without rows

  std::string text(int column) const { return std::string(view(column)); }
  std::string_view view(int column) const;  // of text; until the next row, or the Query goes away
  std::string_view blob(int column) const;  // until the next row, or the Query goes away
  std::int64_t number(int column) const { return sqlite3_column_int64(statement_, column); }
  bool is_null(int column) const { return sqlite3_column_type(statement_, column) == SQLITE_NULL; }

 private:
  sqlite3_stmt* statement_;
  const std::string* path_;  // the connection's
  int bound_ = 0;
};

using Statements = std::map<std::string_view, std::string_view>;  // text by name
// Those of the files, and those that every connection needs (connection.sql).
Statements statements_of(std::initializer_list<std::string_view> files);
const Statements& store_statements();

struct ConnectionSetup {
  const Statements* statements = &store_statements();  // outlives the connection
  std::string_view configure = "configure";            // of them, the one that a connection begins with
  bool creates = true;                                 // the file, when it is not there; else that is kDenied
};

class Connection {
 public:
  // Opens or creates, and sets what every connection needs (WAL, synchronous=FULL, foreign keys, busy
  // timeout). kCorrupt: not a database, or not one of ours.
  // What can't be written is read: with a log beside it that nobody can take in, as a copy.
  static Result<std::unique_ptr<Connection>> open(const std::string& path, const ConnectionSetup& setup = {});

  Result<Query> query(std::string_view name);
  Status run_script(std::string_view sql);
  // What the log has goes to the database, and its file is empty; not while somebody reads, or the disk is
  // full. Outside of a transaction.
  void shorten_log();
  const std::string& path() const { return path_; }
  sqlite3* handle() { return database_.get(); }
  // Transactions fail (kInvalid) when the database's schema is of another version by then; 0: they do not
  // look.
  void expect_schema(std::int64_t version) { schema_version_ = version; }
  std::int64_t schema_version() const { return schema_version_; }
  // Another number whenever what was read before may not be what is there: somebody else has committed, or
  // something was taken back. Known from the begin of a transaction on, when a schema is expected.
  std::int64_t epoch() const { return epoch_; }
  void begin_epoch() { ++epoch_; }
  bool in_transaction() { return sqlite3_get_autocommit(database_.get()) == 0; }
  // How a Transaction is a part of the one that is open: its commit is durable with that one's, and a part
  // that is not committed takes itself back, or (kPlain, for the price of no savepoint) can't, and says so.
  enum class Parts { kNone, kPlain, kSavepoints };
  // While the answer lives, each Transaction is such a part.
  class Shared {
   public:
    Shared(Connection& connection, Parts parts) : connection_(connection) { set(parts); }
    ~Shared() { set(Parts::kNone); }
    Shared(const Shared&) = delete;
    Shared& operator=(const Shared&) = delete;

   private:
    void set(Parts parts) {
      connection_.parts_ = parts;
      connection_.spoilt_ = false;
    }
    Connection& connection_;
  };
  Shared share_transaction(Parts parts) { return {*this, parts}; }
  Parts parts() const { return parts_; }
  bool shares_transaction() const { return parts_ != Parts::kNone; }
  // A kPlain part wrote something and was not committed: all that is open must be taken back.
  bool spoilt() const { return spoilt_; }
  void spoil() { spoilt_ = true; }
  std::int64_t total_changes() { return sqlite3_total_changes64(database_.get()); }
  std::int64_t changes() { return sqlite3_changes64(database_.get()); }
  std::int64_t last_inserted() { return sqlite3_last_insert_rowid(database_.get()); }  // its row id

  // What a SQLite result code means for the caller.
  static std::unexpected<Error> failure(int code, sqlite3* database, const std::string& path);

 private:
  Connection(std::string path, const ConnectionSetup& setup) : path_(std::move(path)), setup_(setup) {}
  Status configure();
  friend class Transaction;
  // What others may have done since the last transaction.
  Status look_at_others();
  // Aborts on an unknown name, which only a programmer can write.
  const Statements::value_type& entry_of(std::string_view statement) const;

  const std::string path_;
  const ConnectionSetup setup_;
  std::int64_t schema_version_ = 0;
  std::int64_t data_version_ = -1, epoch_ = 0;
  Parts parts_ = Parts::kNone;
  bool spoilt_ = false;
  std::optional<os::TemporaryFolder> copy_;  // of what could not be read where it lies
  std::unique_ptr<sqlite3, CloseDatabase> database_;
  std::unordered_map<std::string_view, std::unique_ptr<sqlite3_stmt, FinalizeStatement>> statements_;
};

// BEGIN IMMEDIATE ... COMMIT, or a part of a shared one; rolls back when it goes away without commit().
// `verb` labels the crash points "store.<verb>.before_commit" and ".after_commit".
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
  // Durable when it returns, or when the shared one is. kIndeterminate: it may have happened.
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

}  // namespace pawl::store::sqlite
