#include "sqlite/connection.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "base/json.h"
#include "base/lines.h"
#include "base/mutant.h"
#include "embedded/connection_sql.h"
#include "os/clock.h"
#include "os/crash_point.h"
#include "os/defences.h"
#include "os/file.h"
#include "os/process.h"
#include "os/temporary_folder.h"
#include "sqlite/joined_writes.h"
#include "sqlite/write_lock.h"

namespace pawl::sqlite {
namespace {

// Mutants (base/mutant.h).
bool skips_fsync() { return mutant("fsync_missing"); }
bool remembers_rolled_back_changes() { return mutant("memory_outlives_rollback"); }

constexpr std::string_view kMark = "-- name: ";

void add_statements(std::string_view file, Statements& out) {
  for (auto at = file.find(kMark); at != std::string_view::npos;) {
    const auto begin = at + kMark.size();
    const auto next = file.find(kMark, begin);
    const auto statement = file.substr(begin, next == std::string_view::npos ? next : next - begin);
    const auto name = first_line(statement);
    out[name] = statement.substr(name.size() + 1);
    at = next;
  }
}

ErrorKind kind_of(int code) {
  switch (code & 0xFF) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return ErrorKind::kUnavailable;
    case SQLITE_FULL:
    case SQLITE_NOMEM:
      return ErrorKind::kExhausted;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
    case SQLITE_CANTOPEN:
      return ErrorKind::kDenied;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return ErrorKind::kCorrupt;
    case SQLITE_CONSTRAINT:
      return ErrorKind::kConflict;
    default:
      return ErrorKind::kIndeterminate;
  }
}

std::string_view advice(int code) {
  switch (code & 0xFF) {
    case SQLITE_FULL:
      return "; free some space, then go on with `pawl resume`";
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
      return "; check that the folder is there and writable";
    case SQLITE_NOTADB:
      return "; this file is not a Pawl database: move it away, or name another";
    default:
      return "";
  }
}

int busy_timeout_ms() {
#ifdef PAWL_TEST_HOOKS
  // A test need not hold a database for half a minute.
  if (const auto text = os::environment_value("PAWL_BUSY_MS")) return std::atoi(text->c_str());
#endif
  return kBusyTimeoutMs;
}

// Replaces SQLite's message ("database is locked"), which would send a person to look for a lock to remove.
std::unexpected<Error> busy(const std::string& path) {
  const auto holder = write_lock_holder(path);
  return std::unexpected(Error{
      .kind = ErrorKind::kUnavailable,
      .message =
          fmt::format("database {0}: {2} has been writing to it for {1} s, or was "
                      "stopped while it did, and nothing was changed. `fuser {0}` names who has it "
                      "open: let that one go on, or end it; then try again",
                      path, busy_timeout_ms() / 1000, holder ? os::to_text(*holder) : "another process"),
      .path = path});
}

struct OpenAs {
  std::string name;
  int flags;
};

bool has_bytes(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0 && status.st_size > 0;
}

// In a folder that cannot be written, SQLite cannot create its files beside the database. It opens such a
// database only as immutable: no other process may change it (https://www.sqlite.org/wal.html, "Read-Only
// Databases"). An immutable database is read without its log.
OpenAs as_it_is(const std::string& path) {
  std::string name = "file:";
  for (const char c : path)
    name += c == '%' || c == '?' || c == '#' ? fmt::format("%{:02x}", c) : std::string(1, c);
  return {.name = name + "?immutable=1", .flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI};
}

// Copies the database and its log to a folder where SQLite can create the missing file (-shm). No process
// writes to the originals: a process that has the database open has that file.
Result<OpenAs> copy_of(const std::string& path, std::optional<os::TemporaryFolder>& copy) {
  const auto made = [&]() -> Result<OpenAs> {
    PAWL_TRY(auto folder, os::TemporaryFolder::make(os::temporary_stem()));
    PAWL_TRY(const std::string from, os::absolute_path(path));
    const std::string to = os::join(folder.path(), "pawl.db");
    for (const std::string part : {"", "-wal"}) PAWL_OK(os::copy_file(from + part, to + part, 0600));
    copy.emplace(std::move(folder));
    return OpenAs{.name = to, .flags = SQLITE_OPEN_READONLY};
  }();
  if (made) return made;
  return std::unexpected(
      Error(made.error())
          .in("database " + path +
              " has a log (-wal) that can't be taken in where nothing can be written, and could not be "
              "copied; set TMPDIR to a folder with room for both, or make the folder writable"));
}

// Opens for reading what cannot be written.
Result<OpenAs> open_as(const std::string& path, bool creates, std::optional<os::TemporaryFolder>& copy) {
  const auto is_denied = [](const std::string& name) { return access(name.c_str(), W_OK) != 0; };
  const bool is_there = os::exists(path);
  const bool shares = os::exists(path + "-shm") || !is_denied(os::folder_of(path));
  if (!is_there || (!is_denied(path) && shares))
    return OpenAs{.name = path, .flags = SQLITE_OPEN_READWRITE | (creates ? SQLITE_OPEN_CREATE : 0)};
  if (shares) return OpenAs{.name = path, .flags = SQLITE_OPEN_READONLY};
  if (has_bytes(path + "-wal")) return copy_of(path, copy);
  return as_it_is(path);
}

}  // namespace

Statements statements_of(std::initializer_list<std::string_view> files) {
  Statements out;
  add_statements(connection_sql::connection, out);
  for (const auto file : files) add_statements(file, out);
  return out;
}

const Statements::value_type& Connection::entry_of(std::string_view statement) const {
  const auto found = setup_.statements->find(statement);
  PAWL_CHECK(found != setup_.statements->end());
  return *found;
}

std::unexpected<Error> Connection::failure(int code, sqlite3* database, const std::string& path) {
  if ((code & 0xFF) == SQLITE_BUSY) return busy(path);
  // In a full file system SQLite returns IOERR for some writes (the WAL index); errno has the cause.
  int system_errno = database == nullptr ? 0 : sqlite3_system_errno(database);
  // SQLite opens the files beside the database last, so its errno hides why the database could not be opened.
  if ((code & 0xFF) == SQLITE_CANTOPEN && access(path.c_str(), W_OK) != 0) system_errno = errno;
  const bool full = (code & 0xFF) == SQLITE_IOERR && (system_errno == ENOSPC || system_errno == EDQUOT);
  // SQLite stores the errno of I/O errors only.
  if ((code & 0xFF) == SQLITE_FULL) system_errno = ENOSPC;
  Error error{.kind = full ? ErrorKind::kExhausted : kind_of(code), .path = path, .sys_errno = system_errno};
  error.message = fmt::format("database {}: {}{}{}", path,
                              database == nullptr ? sqlite3_errstr(code) : sqlite3_errmsg(database),
                              system_errno != 0 ? std::string(" (") + std::strerror(system_errno) + ")" : "",
                              advice(full ? SQLITE_FULL : code));
  return std::unexpected(std::move(error));
}

Query& Query::bind(std::string_view text) {
  sqlite3_bind_text(statement_, ++bound_, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
  return *this;
}

Query& Query::bind(std::int64_t number) {
  sqlite3_bind_int64(statement_, ++bound_, number);
  return *this;
}

Query& Query::bind_null() {
  sqlite3_bind_null(statement_, ++bound_);
  return *this;
}

Query& Query::bind_blob(std::string_view bytes) {
  // SQLite binds a null pointer as NULL.
  const char* data = bytes.empty() ? "" : bytes.data();
  sqlite3_bind_blob64(statement_, ++bound_, data, bytes.size(), SQLITE_STATIC);
  return *this;
}

Result<bool> Query::next() {
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return Connection::failure(sqlite3_extended_errcode(sqlite3_db_handle(statement_)),
                             sqlite3_db_handle(statement_), *path_);
}

Status Query::run() {
  PAWL_TRY(const bool row, next());
  PAWL_CHECK(!row);
  return {};
}

std::string_view Query::view(int column) const {
  const auto* bytes = reinterpret_cast<const char*>(sqlite3_column_text(statement_, checked(column)));
  if (bytes == nullptr) return "";
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

std::string_view Query::blob(int column) const {
  const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement_, checked(column)));
  if (bytes == nullptr) return "";
  return {bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}

Result<std::unique_ptr<Connection>> Connection::open(const std::string& path, const ConnectionSetup& setup) {
  // Pawl does not ask SQLite for its memory use, and counting it takes a lock at each allocation. Only the
  // first call of a process can turn it off.
  [[maybe_unused]] static const int configured = sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  auto connection = std::unique_ptr<Connection>(new Connection(path, setup));
  sqlite3* database = nullptr;
  // SQLite would create a file that every user can read, as far as the umask allows; its log gets the same
  // mode. O_EXCL: an existing file must not be opened here, since close() would drop the locks of this
  // process's other connections (fcntl(2)).
  if (setup.creates)
    os::UniqueFd(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
  PAWL_TRY(const OpenAs as, open_as(path, setup.creates, connection->copy_));
  const int flags = as.flags | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  const int code = sqlite3_open_v2(as.name.c_str(), &database, flags, joined_writes_vfs());
  connection->database_.reset(database);
  if (code != SQLITE_OK) return failure(code, database, path);
  PAWL_OK(connection->configure());
  return connection;
}

Result<std::unique_ptr<Connection>> Connection::open_in_memory(const ConnectionSetup& setup) {
  auto connection = std::unique_ptr<Connection>(new Connection(":memory:", setup));
  sqlite3* database = nullptr;
  constexpr int kFlags =
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  const int code = sqlite3_open_v2(":memory:", &database, kFlags, nullptr);
  connection->database_.reset(database);
  if (code != SQLITE_OK) return failure(code, database, connection->path());
  return connection;
}

Status Connection::configure() {
  sqlite3_busy_timeout(handle(), busy_timeout_ms());
  // The first connection switches the database to WAL, for which it needs exclusive access. SQLite does not
  // wait for that: two connections that wait for each other would deadlock
  // (sqlite.org/c3ref/busy_handler.html).
  constexpr std::int64_t kPauseMs = 5;
  for (std::int64_t waited_ms = 0;; waited_ms += kPauseMs) {
    const auto done = run_script(entry_of(setup_.configure).second);
    if (done) break;
    if ((sqlite3_errcode(handle()) & 0xFF) != SQLITE_BUSY || waited_ms >= busy_timeout_ms()) return done;
    os::SystemClock().sleep_ms(kPauseMs);
  }
  return skips_fsync() ? run_script("PRAGMA synchronous = OFF") : Status();
}

Status Connection::run_script(std::string_view text) {
  const int code = sqlite3_exec(handle(), std::string(text).c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return failure(code, handle(), path_);
  return {};
}

void Connection::shorten_log() {
  sqlite3_busy_timeout(handle(), 0);  // a reader may take long: a later call does it
  static_cast<void>(
      sqlite3_wal_checkpoint_v2(handle(), nullptr, SQLITE_CHECKPOINT_TRUNCATE, nullptr, nullptr));
  sqlite3_busy_timeout(handle(), busy_timeout_ms());
}

Result<Query> Connection::query(std::string_view name) {
  auto found = statements_.find(name);
  if (found == statements_.end()) {
    const auto& [kept_name, text] = entry_of(name);
    sqlite3_stmt* statement = nullptr;
    const int code = sqlite3_prepare_v3(handle(), text.data(), static_cast<int>(text.size()),
                                        SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
    if (code != SQLITE_OK) return failure(code, handle(), path_);
    found = statements_.emplace(kept_name, statement).first;
  }
  return Query(found->second.get(), path_);
}

Result<Transaction> Transaction::begin(Connection& connection, std::string_view verb) {
  if (connection.parts() == Connection::Parts::kPlain) return Transaction(connection, verb);
  PAWL_TRY(auto begin, connection.query(connection.shares_transaction() ? "begin_part" : "begin"));
  PAWL_OK(begin.run());
  Transaction transaction(connection, verb);
  if (connection.shares_transaction() || connection.schema_version() == 0) return transaction;
  PAWL_OK(connection.look_at_others());
  return transaction;
}

Status Connection::look_at_others() {
  PAWL_TRY(auto data, query("data_version"));
  PAWL_TRY(const bool known, data.next());
  if (known && data.number(0) == data_version_) return {};
  begin_epoch();
  PAWL_TRY(auto version, query("user_version"));
  PAWL_TRY(const bool row, version.next());
  if (!row || version.number(0) != schema_version())
    return fail(ErrorKind::kInvalid, "database " + path() +
                                         ": its schema was changed by `pawl migrate` while this program ran; "
                                         "start it again");
  PAWL_OK(check_programs());
  data_version_ = data.number(0);
  return {};
}

Status Connection::check_programs() {
  PAWL_TRY(auto programs, query("schema_programs"));
  for (;;) {
    PAWL_TRY(const bool more, programs.next());
    if (!more) return {};
    if (triggers_.find(programs.view(1)) != triggers_.npos || !os::defences().signer) continue;
    return fail(ErrorKind::kForged, "database " + path() + " has a trigger or view that Pawl did not make: " +
                                        printable(programs.text(0)) +
                                        ". Nothing was written; restore the state folder from a backup");
  }
}

Transaction::~Transaction() {
  if (connection_ == nullptr) return;
  if (!remembers_rolled_back_changes() && connection_->total_changes() != changes_before_)
    connection_->begin_epoch();
  if (parts_ == Connection::Parts::kPlain) {
    if (connection_->total_changes() != changes_before_) connection_->require_roll_back();
    return;
  }
  const bool part = parts_ == Connection::Parts::kSavepoints;
  // A failed ROLLBACK means that SQLite has already rolled back (sqlite.org/lang_transaction.html).
  if (auto rollback = connection_->query(part ? "rollback_part" : "rollback"))
    static_cast<void>(rollback->run());
  if (!part) return;
  if (auto end = connection_->query("commit_part")) static_cast<void>(end->run());
}

Status Transaction::commit() {
  const std::string label = "store." + std::string(verb_);
  os::crash_point(label + ".before_commit");
  if (parts_ != Connection::Parts::kPlain) {
    const bool part = parts_ == Connection::Parts::kSavepoints;
    PAWL_TRY(auto commit, connection_->query(part ? "commit_part" : "commit"));
    PAWL_OK(commit.run());
  }
  connection_ = nullptr;
  if (parts_ == Connection::Parts::kNone) os::crash_point(label + ".after_commit");
  return {};
}

}  // namespace pawl::sqlite
