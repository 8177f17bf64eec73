// The test that a step ran last before its time limit.
#include "gates/hang.h"

#include <gtest/gtest.h>

#include <utility>

namespace pawl::gates {
namespace {

TEST(Hang, TheLastTestThatBeganIsNamedAsRunnersNameIt) {
  const std::pair<const char*, const char*> kOutputs[] = {
      {"=== RUN   TestA\n--- PASS: TestA (0.00s)\n=== RUN   TestB/sub_1\n", "TestB/sub_1"},
      {"[ RUN      ] A.one\n[       OK ] A.one (0 ms)\n[ RUN      ] A.two\nnoise\n", "A.two"},
      {"    Start 1: one\n1/2 Test #1: one ...   Passed\n    Start 2: two\n", "two"},
      {"test a::one ... ok\ntest a::two ...", "a::two"},
      {"a_test.py::test_one PASSED\na_test.py::test_two ", "a_test.py::test_two"},
      {"test_one (m.C) ... ok\ntest_two (m.C) ... ", "test_two (m.C)"},
      {"t/one.t .. ok\nt/two.t ..", "t/two.t"},
      {"PASS a.test.js\nRUNS b.test.js\n", "b.test.js"},
      {"{\"Action\":\"run\",\"Package\":\"p\",\"Test\":\"TestA\"}\n{\"Action\":\"output\",\"Test\":\"TestA\"}"
       "\n",
       "TestA"},
      {"# Subtest: one\nok 1 - one\n# Subtest: two\n", "two"},
      {"# Subtest: one\nok 1 - one\n", "after one"},
      {"ok 1 - one\nnot ok 2 two\n# a comment\n", "after two"},
      {"test a::one ... ok\r\ntest a::two ...\r\n\r\n\n", "a::two"},
      {"\n[ RUN      ] A.one", "A.one"},
      {"compiling...\ndone\n", ""},
      {"\n\r\n", ""},
      {"waiting for the server...", ""},
      {"", ""}};
  for (const auto& [output, name] : kOutputs) EXPECT_EQ(last_test_in(output), name) << output;
}

TEST(Hang, ALineWaitsForItsResultOnlyAsTheLastOne) {
  for (const std::string line :
       {"test a::two ...", "a_test.py::test_two", "test_two (m.C) ...", "t/two.t .."}) {
    EXPECT_NE(last_test_in(line), "") << line;
    EXPECT_EQ(last_test_in(line + "\ncollected\n"), "") << line;
    EXPECT_EQ(last_test_in("=== RUN   TestA\n" + line + "\ncollected\n"), "TestA") << line;
  }
}

}  // namespace
}  // namespace pawl::gates
