// The store's statements in SQLite's SQL, and connections that have them. A detail of this folder.
#pragma once

#include <memory>
#include <string>

#include "sqlite/connection.h"

namespace pawl::store::sqlite {

using pawl::sqlite::Connection;
using pawl::sqlite::Statements;

const Statements& store_statements();

// Opens or creates the store's database: WAL, synchronous=FULL, foreign keys. Errors as Connection::open().
Result<std::unique_ptr<Connection>> connect(const std::string& path);

}  // namespace pawl::store::sqlite
