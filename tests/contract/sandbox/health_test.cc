// The health of a backend says which mechanisms work, and so does its list of degraded ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "egress/egress.h"
#include "sandbox/backend.h"

namespace pawl::sandbox {
namespace {

class Healthy : public ::testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Backends, Healthy, ::testing::ValuesIn(backend_names()),
                         [](const auto& backend) { return backend.param; });

TEST_P(Healthy, SaysWhatWorks) {
  auto backend = make_backend(GetParam());
  const auto health = (*backend)->health(egress::closed_outlets());
  EXPECT_TRUE(health.usable);
  std::set<std::string> degraded;
  for (const auto& mechanism : (*backend)->degraded()) degraded.insert(mechanism.name);
  std::vector<std::string> names;
  for (const auto& mechanism : health.mechanisms) {
    EXPECT_NE(mechanism.status, MechanismStatus::kMissing) << mechanism.name;
    names.push_back(mechanism.name);
    for (const std::string limit : {"memory", "pids", "cpu"})
      if (mechanism.name == limit) {
        EXPECT_EQ(name(mechanism.status), degraded.contains(limit) ? "degraded" : "works") << limit;
      }
  }
  EXPECT_THAT(names, ::testing::IsSupersetOf({"memory", "pids", "cpu", "disk", "output", "time", "egress",
                                              "trace", "files", "workspace"}));
  EXPECT_FALSE(make_backend("docker"));
  EXPECT_EQ(isolation_class_of("docker"), "");
}

TEST(MechanismStatus, IsAWordForUsers) {
  EXPECT_EQ(name(MechanismStatus::kWorks), "works");
  EXPECT_EQ(name(MechanismStatus::kDegraded), "degraded");
  EXPECT_EQ(name(MechanismStatus::kMissing), "missing");
}

TEST_P(Healthy, CountsOnlyTheRefusalOfTheNameThatItAsksFor) {
  auto outlets = egress::closed_outlets();
  const auto refused = std::exchange(outlets.have_refused, [](std::string_view) { return false; });
  const auto health = (*make_backend(GetParam()))->health(outlets);
  EXPECT_TRUE(refused("refused.invalid"));
  EXPECT_FALSE(refused("allowed.invalid"));
  const auto egress = std::ranges::find(health.mechanisms, std::string("egress"), &Mechanism::name);
  ASSERT_NE(egress, health.mechanisms.end());
  EXPECT_EQ(egress->status, MechanismStatus::kMissing);
}

}  // namespace
}  // namespace pawl::sandbox
