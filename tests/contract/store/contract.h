// The contract of Store, which every driver keeps. A suite derives from StoreContract, and calls
// PAWL_STORE_CONTRACT once.
#pragma once

#include "contract/store/toy_database.h"
#include "store/verbs/run_store.h"
#include "support/store_fixture.h"

namespace pawl::store {

enum class Driver { kSqlite, kSqliteInAGroup, kToy };

inline std::string name_of(const ::testing::TestParamInfo<Driver>& driver) {
  switch (driver.param) {
    case Driver::kSqlite:
      return "Sqlite";
    case Driver::kSqliteInAGroup:
      return "SqliteInAGroup";
    case Driver::kToy:
      return "Toy";
  }
  return "";
}

class StoreContract : public StoreTest, public ::testing::WithParamInterface<Driver> {
 protected:
  std::unique_ptr<Store> open() override {
    switch (GetParam()) {
      case Driver::kSqlite:
        break;
      case Driver::kSqliteInAGroup:
        return *group_->open();
      case Driver::kToy:
        return std::make_unique<verbs::RunStore>(std::make_unique<ToyDatabase>(path_),
                                                 std::make_shared<PlainSealer>());
    }
    return StoreTest::open();
  }
  void SetUp() override {
    // Also makes the database, with its schema.
    group_ = *open_store_group("sqlite:" + path_, std::make_shared<PlainSealer>());
    StoreTest::SetUp();
  }

 private:
  std::unique_ptr<StoreGroup> group_;
};

#define PAWL_STORE_CONTRACT(suite) \
  INSTANTIATE_TEST_SUITE_P(        \
      Drivers, suite, ::testing::Values(Driver::kSqlite, Driver::kSqliteInAGroup, Driver::kToy), name_of)

}  // namespace pawl::store
