#include "store/sqlite/database.h"

#include "base/json.h"
#include "os/defences.h"
#include "store/sqlite/migrations.h"

namespace pawl::store::sqlite {

Result<Query> SqliteDatabase::query(std::string_view name) {
  auto found = statements_.find(name);
  if (found == statements_.end()) {
    PAWL_TRY(auto prepared, connection_->query(name));
    found = statements_.emplace(name, SqliteStatement(std::move(prepared))).first;
  }
  return Query(found->second);
}

Status SqliteDatabase::begin_transaction(std::string_view verb, std::string_view) {
  PAWL_TRY(auto begun, pawl::sqlite::Transaction::begin(*connection_, verb));
  transaction_.emplace(std::move(begun));
  return {};
}

// A view that was made since the connection was opened would decide what the reads see. The check is the
// first read, so it looks at the schema of the state that they see.
Status SqliteDatabase::begin_reading() {
  PAWL_OK(run("begin_reading"));
  auto checked = connection_->schema_version() == 0 ? Status() : connection_->check_programs();
  if (!checked) static_cast<void>(end_reading());
  return checked;
}

Status SqliteDatabase::check_storage() {
  if (is_storage_checked_ || !os::defences().signer) return {};
  PAWL_OK(check_by("storage_problems"));
  is_storage_checked_ = is_read_by_claims_checked_ = true;
  return {};
}

Status SqliteDatabase::check_what_claims_read() {
  if (is_read_by_claims_checked_ || !os::defences().signer) return {};
  PAWL_OK(check_by("problems_of_claims"));
  is_read_by_claims_checked_ = true;
  return {};
}

Status SqliteDatabase::check_by(std::string_view statement) {
  PAWL_TRY(const std::string found, schema_of(*connection_));
  PAWL_TRY(const std::string made, schema_of_program());
  std::string problem;
  if (found != made) {
    problem = "its schema is not the one that this program makes";
  } else {
    PAWL_TRY(auto problems, connection_->query(statement));
    PAWL_TRY(const bool is_found, problems.next());
    if (is_found) problem = printable(problems.text(0));
  }
  if (problem.empty()) return {};
  return fail(ErrorKind::kForged, "database " + connection_->path() + " contradicts itself: " + problem +
                                      ". Restore the state folder from a backup");
}

Status SqliteDatabase::run(std::string_view statement) {
  PAWL_TRY(auto prepared, connection_->query(statement));
  return prepared.run();
}

}  // namespace pawl::store::sqlite
