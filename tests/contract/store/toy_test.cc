#include <gtest/gtest-spi.h>

#include "contract/store/contract.h"

namespace pawl::store {
namespace {

using Toy = StoreTest;

// Shows that the toy driver finds a verb that begins with one run and changes another.
TEST_F(Toy, SeesAChangeOfARunThatIsNotLocked) {
  const auto run = create({{"a"}}), other = create({{"a"}});
  ToyDatabase database(path_);
  auto transaction = *database.begin("test", run);
  const auto release = [&](const std::string& of) {
    auto query = *database.query("release_lease");
    static_cast<void>(query.bind(of).bind("a").bind(1).run());
  };
  release(run);
  EXPECT_NONFATAL_FAILURE(release(other), "changes another run");
}

}  // namespace
}  // namespace pawl::store
