// Deep flow collections are refused before yaml-cpp reads them; brackets in texts are texts.
#include "plan/yaml_guard.h"

#include <gtest/gtest.h>

namespace pawl::plan {
namespace {

std::string repeated(const std::string& unit, std::size_t times) {
  std::string out;
  for (std::size_t i = 0; i < times; ++i) out += unit;
  return out;
}

std::string message_of(const std::string& text) {
  const auto problem = check_yaml(text, "plan.yaml");
  return problem ? problem->message : "";
}

TEST(YamlGuard, BracketsInTextsHaveNoDepth) {
  const std::string many = repeated("[", 300) + repeated("{", 300);
  for (const std::string& text : {"a: 'it''s " + many + "'\n",
                                  "a: \"\\\" " + many + "\"\n",
                                  "a: \"b\n  " + many + "\"\n",
                                  "# " + many + "\na: b  # " + many + "\n",
                                  "a: b" + many + "\n",
                                  "a: b " + many + "\nc: d\n",
                                  "a: b\n  " + many + "\n",
                                  "- a: b\n   " + many + "\n",
                                  "a:\n  b\n  " + many + "\n",
                                  "a: |\n  " + many + "\nb: c\n",
                                  "a: >-  # why\n\n   b\n  \n   " + many + "\n",
                                  "a:\n  |\n " + many + "\n",
                                  "- a: |2\n    " + many + "\n  b: c\n",
                                  "a:\n- |\n " + many + "\n",
                                  "--- |\n " + many + "\n",
                                  "- - >\n   " + many + "\n",
                                  "a: &b !!str |\n  " + many + "\n",
                                  "&a b: !!str |\n " + many + "\n",
                                  "? |\n  " + many + "\n: b\n",
                                  "a: ['" + many + "', \"" + many + "\"]\n",
                                  "a: [b's, 'c']\nd: '" + many + "'\n",
                                  "a: [b, # " + many + "\n  c]\n",
                                  "a: don't\nb: '" + many + "'\n",
                                  "a: {\"b\":'" + many + "'}\n",
                                  "a: |\r\n  " + many + "\r\nb: c\r\n",
                                  "'a': |\n  " + many + "\n",
                                  "a: -[" + many + "\n",
                                  "a: b:[" + many + "\n"})
    EXPECT_EQ(message_of(text), "") << text.substr(0, 40);
}

// Unclosed, so that only the count of brackets can say that they are deep.
TEST(YamlGuard, DeepFlowCollectionsAreFoundWhereverTheyStand) {
  constexpr std::size_t kDeep = 3'000;
  const std::string before[] = {"",
                                "a: ",
                                "- ",
                                "- a: b\n  c: ",
                                "a:\n  ",
                                "? ",
                                "--- ",
                                "a: &b ",
                                "a: !!c ",
                                "a: {b: ",
                                "a: ['b', ",
                                "a: ['b]', \"c]\\\"]\", ",
                                "a: |\n  text\nb: ",
                                "- a: |\n    text\n  b: ",
                                "a: 'it''s'\nb: ",
                                "a: \"\\\\\"\nb: ",
                                "a: don't\nb: ",
                                "# it's\na: ",
                                "a: b # \"\nc: ",
                                "a: b\n  c\nd: ",
                                "a: [\n\n# ]\n"};
  for (const auto& start : before)
    for (const std::string unit : {"[", "{", "[{", "[\n", "[[]", "[a: ", "{a: ", "{\"a\":", "[ # ]\n"})
      EXPECT_EQ(message_of(start + repeated(unit, kDeep) + "\n"), "nested deeper than 32 levels")
          << start << unit;
}

TEST(YamlGuard, TheLimitIsThatOfTheEvents) {
  for (const std::string& start : {std::string(), std::string("a: "), std::string("- ")}) {
    const std::size_t most = kDepthMax - (start.empty() ? 0 : 1);
    EXPECT_EQ(message_of(start + repeated("[", most) + repeated("]", most) + "\n"), "") << start;
    EXPECT_EQ(message_of(start + repeated("[", most + 1) + repeated("]", most + 1) + "\n"),
              "nested deeper than 32 levels")
        << start;
  }
}

}  // namespace
}  // namespace pawl::plan
