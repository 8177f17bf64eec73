#include "store/sqlite/statements.h"

#include "embedded/sql.h"
#include "embedded/statements.h"

namespace pawl::store::sqlite {

const Statements& store_statements() {
  using namespace statements;  // NOLINT(google-build-using-namespace)
  // SQLite takes `?1` as it is. A statement of sql/dialect.sql has a meaning in SQLite alone, or a plan that
  // SQLite alone needs.
  static const auto all = pawl::sqlite::statements_of(
      {budget, claim, fork, steps, finish, operators, plans, reading, sql::dialect, sql::schema});
  return all;
}

Result<std::unique_ptr<Connection>> connect(const std::string& path) {
  return Connection::open(path, {.statements = &store_statements()});
}

}  // namespace pawl::store::sqlite
