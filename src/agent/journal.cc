// Opening an episode, its transactions, and its totals.
#include "agent/journal.h"

#include <fmt/format.h>

#include "agent/journal_store.h"
#include "embedded/agent_sql.h"
#include "os/file.h"

namespace pawl::agent {
namespace {

constexpr std::int64_t kApplicationId = 0x5061456C;  // "PaEp": distinguishes an episode from other databases
constexpr std::int64_t kSchemaVersion = 2;
constexpr std::size_t kLogBytesKept = 4 << 20;  // the journal_size_limit of episode.sql

const sqlite::Statements& statements() {
  static const auto all = sqlite::statements_of(
      {agent_sql::episode, agent_sql::checkpoints, agent_sql::journal, agent_sql::reports});
  return all;
}

// A new folder survives a power failure only if its parent was synced.
Status make_folders_durably(const std::string& folder) {
  std::vector<std::string> to_sync{folder};
  for (std::string at = folder; !os::exists(at);) {
    at = os::folder_of(at);
    to_sync.push_back(at);
  }
  PAWL_OK(os::make_folders(folder, 0700));
  for (const auto& made : to_sync) PAWL_OK(os::fsync_folder("episode.folder", made));
  return {};
}

}  // namespace

Result<std::unique_ptr<Journal>> Journal::open(const std::string& path, Access access) {
  const bool reads = access == Access::kReadOnly;
  const bool is_new = !os::exists(path);
  if (reads && is_new) return fail(ErrorKind::kNotFound, "no episode " + path);
  if (is_new) PAWL_OK(make_folders_durably(os::folder_of(path)));
  PAWL_TRY(auto connection,
           sqlite::Connection::open(path, {.statements = &statements(),
                                           .configure = reads ? "configure_reader" : "configure",
                                           .creates = !reads}));
  auto journal = std::make_unique<JournalStore>(std::move(connection), access);
  PAWL_OK(journal->prepare());
  return journal;
}

Status JournalStore::prepare() {
  PAWL_TRY(const std::int64_t tables, number("count_tables"));
  const std::string& path = connection_->path();
  if (tables == 0) {
    if (access_ == Access::kReadOnly)
      return fail(ErrorKind::kNotFound, "nothing was reported to episode " + path);
    PAWL_TRY(auto transaction, Transaction::begin(*connection_, "agent_create"));
    PAWL_TRY(const std::int64_t since, number("count_tables"));
    if (since > 0) return {};  // another process was first
    PAWL_OK(connection_->run_script(agent_sql::create));
    // PRAGMA takes no parameters; both numbers are constants of this file.
    PAWL_OK(connection_->run_script(fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {};",
                                                kApplicationId, kSchemaVersion)));
    return transaction.commit();
  }
  PAWL_TRY(const std::int64_t application, number("application_id"));
  if (application != kApplicationId)
    return std::unexpected(Error{.kind = ErrorKind::kCorrupt,
                                 .message = "database " + path + " is no episode of Pawl's: move it away",
                                 .path = path});
  PAWL_TRY(const std::int64_t version, number("user_version"));
  if (version > kSchemaVersion)
    return fail(ErrorKind::kInvalid,
                fmt::format("episode {}: its schema is version {}, this pawl knows {}; use a newer pawl",
                            path, version, kSchemaVersion));
  return version < kSchemaVersion && access_ == Access::kReadWrite ? upgrade() : Status();
}

Status JournalStore::upgrade() {
  PAWL_TRY(auto transaction, Transaction::begin(*connection_, "agent_upgrade"));
  PAWL_TRY(const std::int64_t version, number("user_version"));
  if (version == kSchemaVersion) return {};  // another process was first
  PAWL_OK(connection_->run_script(agent_sql::upgrade));
  return transaction.commit();
}

JournalStore::Snapshot::~Snapshot() {
  if (connection_ == nullptr) return;
  if (auto end = connection_->query("rollback")) static_cast<void>(end->run());
}

Result<JournalStore::Snapshot> JournalStore::Snapshot::begin(sqlite::Connection& connection) {
  if (connection.in_transaction()) return Snapshot(nullptr);
  PAWL_TRY(auto begin, connection.query("begin_read"));
  PAWL_OK(begin.run());
  return Snapshot(&connection);
}

Status JournalStore::begin_group(bool alone) {
  PAWL_CHECK(!group_);
  PAWL_TRY(auto transaction, begin("agent_group"));
  group_.emplace(std::move(transaction));
  changes_before_group_ = connection_->total_changes();
  using Parts = sqlite::Connection::Parts;
  shared_.emplace(*connection_, alone ? Parts::kPlain : Parts::kSavepoints);
  return {};
}

Status JournalStore::commit() {
  PAWL_CHECK(group_);
  // On a full disk or an unreadable page, SQLite rolls back the whole transaction
  // (sqlite.org/lang_transaction.html).
  const bool open = connection_->in_transaction() && !connection_->must_roll_back();
  shared_.reset();
  Status done = open ? group_->commit()
                     : fail(ErrorKind::kUnavailable,
                            "episode " + connection_->path() + ": the report was rolled back; send it again");
  group_.reset();
  if (!done) forget();
  shorten_log(!done);
  return done;
}

void JournalStore::roll_back() {
  PAWL_CHECK(group_);
  shared_.reset();
  group_.reset();
  forget();
  shorten_log(false);
}

// A large transaction makes the log long, and a failed one leaves pages in it. Without this call they would
// stay until the next write: on a full disk that is space which no other process can free.
void JournalStore::shorten_log(bool broke) {
  const std::size_t bytes = std::exchange(log_bytes_, 0);
  if (bytes > kLogBytesKept || broke) connection_->shorten_log();
}

void JournalStore::forget() {
  chunks_.forget();
  steps_.reset();
  spent_.reset();
}

Result<Transaction> JournalStore::begin(std::string_view verb, std::size_t bytes) {
  if (access_ == Access::kReadOnly)
    return fail(ErrorKind::kDenied, "episode " + connection_->path() + " was opened to be read");
  // A savepoint outside a transaction would begin a transaction of its own.
  if (group_ && !connection_->in_transaction())
    return fail(ErrorKind::kUnavailable,
                "episode " + connection_->path() + ": its group was taken back; tell it again");
  PAWL_TRY(auto transaction, Transaction::begin(*connection_, verb));
  if (bytes == 0) return transaction;
  log_bytes_ += bytes;
  // SQLite takes longer to report a file's size than most verbs take. It is asked once, and again before a
  // write is refused.
  const auto more = static_cast<std::int64_t>(bytes);
  const bool known = used_bytes_ && *used_bytes_ + more <= kStoredBytesMax;
  if (!known) {
    PAWL_TRY(used_bytes_, number("used_bytes"));
  }
  *used_bytes_ += more;
  if (*used_bytes_ > kStoredBytesMax)
    return fail(ErrorKind::kExhausted,
                fmt::format("the episode has its {} bytes; prune checkpoints", kStoredBytesMax));
  return transaction;
}

Result<std::int64_t> JournalStore::number(std::string_view statement) {
  PAWL_TRY(auto query, connection_->query(statement));
  PAWL_TRY(const bool row, query.next());
  return row ? query.number(0) : 0;
}

Result<std::int64_t> JournalStore::total(std::string_view name) {
  PAWL_TRY(auto query, connection_->query("total"));
  PAWL_TRY(const bool row, query.bind(name).next());
  return row ? query.number(0) : 0;
}

Result<std::int64_t> JournalStore::add_total(std::string_view name, std::int64_t more) {
  {
    PAWL_TRY(auto query, connection_->query("add_total"));
    PAWL_OK(query.bind(name).bind(more).run());
  }
  if (connection_->changes() == 0)
    return fail(ErrorKind::kCorrupt,
                fmt::format("episode {} has no total of its {}", connection_->path(), name));
  return total(name);
}

Status JournalStore::count(std::string_view name, std::int64_t most, std::string_view what) {
  PAWL_TRY(const std::int64_t now, total(name));
  if (now >= most) return fail(ErrorKind::kExhausted, fmt::format("the episode has its {} {}", most, what));
  PAWL_TRY([[maybe_unused]] const std::int64_t more, add_total(name, 1));
  return {};
}

}  // namespace pawl::agent
