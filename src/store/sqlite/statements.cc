#include "store/sqlite/statements.h"

#include "embedded/sql.h"
#include "embedded/statements.h"
#include "store/columns.h"

namespace pawl::store::sqlite {

const Statements& store_statements() {
  using namespace statements;  // NOLINT(google-build-using-namespace)
  // SQLite takes `?1` as it is. A statement of sql/dialect.sql has a meaning in SQLite alone, or a plan that
  // SQLite alone needs.
  static const std::string text = [] {
    std::string out;
    for (const auto file : {budget, claim, fork, steps, finish, operators, plans, reading, sql::dialect})
      out += with_columns(file);
    return out;
  }();
  static const auto all = pawl::sqlite::statements_of({text, sql::schema});
  return all;
}

Result<std::unique_ptr<Connection>> connect(const std::string& path) {
  return Connection::open(path, {.statements = &store_statements()});
}

}  // namespace pawl::store::sqlite
