// Names that do not move, and the lines that tell of failures, without what colours a terminal.
#include "gates/reading/words.h"

#include <gtest/gtest.h>

#include "base/escapes.h"
#include "gates/told_by.h"

namespace pawl::gates {
namespace {

TEST(Words, EscapeSequencesAreLeftOutAndHideNoText) {
  const std::pair<const char*, const char*> kTexts[] = {
      {"\x1b[2J\x1b[1;31mred\x1b[0m", "red"},
      {"\x1b[?25lhidden cursor\x1b[?25h", "hidden cursor"},
      {"\x1b]0;title\x07text", "text"},
      {"\x1b]8;;http://a.test\x1b\\link\x1b]8;;\x1b\\", "link"},
      {"\x1b(Bset\x1b"
       "cclear",
       "setclear"},
      {"\x1b[31\nFAILED a", "\nFAILED a"},
      {"\x1b]0;no end\nFAILED a", "\nFAILED a"},
      {"\x1b]0;cut\x1b[31mFAILED a", "FAILED a"},
      {"\x1b[\xc3\xa9", "\xc3\xa9"},
      {"\x1b\x1b[1mtwice", "twice"},
      {"end\x1b", "end"},
      {"end\x1b[", "end"},
      {"end\x1b]", "end"}};
  for (const auto& [text, plain] : kTexts) EXPECT_EQ(without_escapes(text), plain) << plain;
}

TEST(Words, TheLinesThatTellAreFoundAmongThoseThatPassed) {
  std::string log = "building\nmain.c:3:5: error: expected ';'\n    3 | int a\n      |      ^\n";
  for (int i = 0; i < 300; ++i) log += "ok " + std::to_string(i) + " - works with error: in its name\n";
  log += "not ok 301 - sum: got 6, want 5\nmake: *** [Makefile:2: test] Error 1\n";
  const auto lines = telling_lines(log, 1000);
  EXPECT_EQ(lines,
            "main.c:3:5: error: expected ';'\n    3 | int a\n      |      ^\n...\n"
            "not ok 301 - sum: got 6, want 5\nmake: *** [Makefile:2: test] Error 1\n");
  EXPECT_EQ(telling_lines("all is well\nok 1\n", 1000), "");
  EXPECT_LE(telling_lines(std::string(100'000, 'x') + " error: \n", 200).size(), 200U);
  for (const auto* line :
       {"FAILED tests/test_a.py::test_x - assert 1 == 2", "E   ModuleNotFoundError: No module",
        "panic: runtime error", "Traceback (most recent call last):", "sh: 1: foo: not found",
        "thread 'x' (1) panicked at src/lib.rs:5:42:", "error: test failed", "npm ERR! code 1",
        "--- FAIL: TestSum (0.00s)", "Segmentation fault (core dumped)"})
    EXPECT_NE(telling_lines(line, 200), "") << line;
}

TEST(Words, AnExcerptHasTheBeginningAndTheEndWhereNothingTells) {
  EXPECT_EQ(excerpt("short\n", 100), "short");
  std::string text;
  for (int i = 0; i < 100; ++i) text += "word" + std::to_string(i) + " ";
  const auto cut = excerpt(text, 100);
  EXPECT_LE(cut.size(), 100U);
  EXPECT_TRUE(cut.starts_with("word0 ") && cut.ends_with(" word99")) << cut;
}

TEST(Words, ACutBreaksNoWordThatMayBeASecret) {
  EXPECT_EQ(whole_words("one two three", 9), "one two");
  EXPECT_EQ(whole_words("one", 3), "one");
  EXPECT_EQ(whole_words(std::string(50, 'x') + "secret", 53), "");
  const std::string secret = "Zq7wXk2pLm9vRt4sYb6nHc3jDf8gTa1e";
  for (std::size_t before = 480; before < 520; ++before)
    EXPECT_EQ(message_in("junit", "<testsuite><testcase name='a'><failure message='" +
                                      std::string(before, 'x') + secret + "'/></testcase></testsuite>")
                      .find(secret.substr(0, 12)) != std::string::npos,
              before + secret.size() <= 512)
        << before;
}

}  // namespace
}  // namespace pawl::gates
