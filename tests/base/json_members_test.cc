#include "base/json_members.h"

#include <gtest/gtest.h>

namespace pawl {
namespace {

TEST(JsonMembers, WriteWhatTheTreeOfTheSameMembersWould) {
  const Json tree = {{"zeta", "a \"quoted\"\n line, \xC3\xA9 and \x01"},
                     {"at", -7},
                     {"layers", {"one", "two \\"}},
                     {"none", Json::array()},
                     {"passed", true},
                     {"details", {{"b", 1}, {"a", "x"}}},
                     {"most", std::numeric_limits<std::int64_t>::min()}};
  JsonMembers members;
  members.text("zeta", tree["zeta"].get<std::string>())
      .number("at", -7)
      .texts("layers", {"one", "two \\"})
      .texts("none", {})
      .boolean("passed", true)
      .json("details", canonical(tree["details"]))
      .number("most", std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(members.object(), canonical(tree));
  EXPECT_EQ(members_of(tree).object(), canonical(tree));
  EXPECT_EQ(JsonMembers().object(), "{}");
}

TEST(JsonMembersDeathTest, AKeyComesOnce) {
  JsonMembers twice;
  twice.number("a", 1).number("b", 2).number("a", 3);
  EXPECT_DEATH(static_cast<void>(twice.object()), "");
}

TEST(CanonicalArray, HoldsValuesInTheirOrder) {
  EXPECT_EQ(canonical_array({}), "[]");
  EXPECT_EQ(canonical_array({"2", "{}"}), "[2,{}]");
}

}  // namespace
}  // namespace pawl
