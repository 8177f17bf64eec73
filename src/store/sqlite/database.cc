#include "store/sqlite/database.h"

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

Status SqliteDatabase::run(std::string_view statement) {
  PAWL_TRY(auto prepared, connection_->query(statement));
  return prepared.run();
}

}  // namespace pawl::store::sqlite
