// The health of the namespace backend names each of its mechanisms, and says when one does not hold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "egress/egress.h"
#include "sandbox/backend.h"
#include "sandbox/namespace/namespace_backend.h"

namespace pawl::sandbox {
namespace {

TEST(NamespaceHealth, NamesItsMechanisms) {
  const auto health = (*make_backend(std::string(kNamespaceBackend)))->health(egress::closed_outlets());
  std::vector<std::string> names;
  for (const auto& mechanism : health.mechanisms) names.push_back(mechanism.name);
  EXPECT_THAT(names, ::testing::IsSupersetOf({"namespaces", "overlay", "rename"}));
}

TEST(NamespaceHealth, SaysWhenAWallDoesNotHold) {
  const std::vector<std::pair<const char*, std::string>> walls = {
      {"seccomp", "seccomp"}, {"landlock", "landlock"}, {"read_only", "read_only"},
      {"masks", "proc"},      {"session", "session"},   {"descriptors", "descriptors"},
      {"init", "init"},       {"limits", "rlimits"},    {"supervisor", "supervisor"},
  };
  for (const auto& [off, name] : walls) {
    setenv("PAWL_WALLS_OFF", off, 1);
    const auto health = (*make_backend(std::string(kNamespaceBackend)))->health(egress::closed_outlets());
    EXPECT_FALSE(health.usable) << off;
    for (const auto& mechanism : health.mechanisms)
      EXPECT_EQ(mechanism.status == MechanismStatus::kMissing,
                mechanism.name == name ||
                    (name == "seccomp" && (mechanism.name == "trace" || mechanism.name == "rename")))
          << off << ": " << mechanism.name;
  }
  unsetenv("PAWL_WALLS_OFF");
}

}  // namespace
}  // namespace pawl::sandbox
