#include "store/sqlite/statements.h"

#include "embedded/sql.h"

namespace pawl::store::sqlite {

const Statements& store_statements() {
  static const auto statements =
      pawl::sqlite::statements_of({sql::budget, sql::claim, sql::fork, sql::steps, sql::finish,
                                   sql::operators, sql::plans, sql::reading, sql::schema});
  return statements;
}

Result<std::unique_ptr<Connection>> connect(const std::string& path) {
  return Connection::open(path, {.statements = &store_statements()});
}

}  // namespace pawl::store::sqlite
