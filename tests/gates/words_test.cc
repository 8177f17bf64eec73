// Names that do not change from run to run, and lines that report failures, without escape sequences.
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

TEST(Words, WhatAFailedTestOfCtestSaidIsBelowItsLine) {
  std::string passing;
  for (int i = 2; i < 300; ++i)
    passing += std::to_string(i) + "/300 Test #" + std::to_string(i) + ": ok ......   Passed    0.01 sec\n";
  const std::string line = "  1/300 Test   #1: sum ......***Failed    0.01 sec\n";
  EXPECT_EQ(telling_lines(line + "sum.c:9: got 6 want 5\nsee above\n\n" + passing, 4000),
            line + "sum.c:9: got 6 want 5\nsee above\n");
  EXPECT_EQ(telling_lines(line + "\nlater\n\nnot this\n" + passing, 4000), line + "...\nlater\n")
      << "its output may begin with an empty line";
  EXPECT_EQ(telling_lines(line + "        Start   2: ok\n" + passing + "no\n", 4000), line);
  std::string much;
  for (int i = 0; i < 90; ++i) much += "row\n";
  EXPECT_LT(telling_lines(line + much + passing, 4000).size(), 200U);
  EXPECT_EQ(telling_lines("*** it broke\nplain\n", 4000), "*** it broke\n") << "no test of CTest";
}

TEST(Words, AFailureIsFoundInAnyCaseAndSpelling) {
  std::string passing;
  for (int i = 0; i < 100; ++i)
    passing += "case " + std::to_string(i) + " ... ok\n[ PASS ] case " + std::to_string(i) + "\n";
  for (const std::string line :
       {"[FAIL] sum: got 6, want 5", "[fail] sum", "sum: FAIL", "sum ... FAILED", "test sum failed",
        "Sum Fails", "1 failing", "sum \xe2\x9c\x97", "\xc3\x97 sum", "\xe2\x9d\x8c sum",
        "  \xe2\x9c\x96 sum", "Tests run: 3, Failures: 1, Errors: 0", "1 failed, 3 passed", "FAILURES!",
        "Failures:", "tests/a.py::test_fails FAILED [ 50%]", "10 failed", "failed: 10", "FAIL 0 - the first"})
    EXPECT_EQ(telling_lines(passing + line + "\n" + passing, 1000), line + "\n") << line;
  for (const std::string line : {"0 failed",
                                 "200 passed, 0 failed",
                                 "no failures",
                                 "no test failed",
                                 "Failures: 0, Errors: 0",
                                 "failed=0",
                                 "# fail  0",
                                 "Failed: none",
                                 "did not fail",
                                 "cc -c src/fail.c",
                                 "cargo test --no-fail-fast",
                                 "tests/a.py::test_fails PASSED [ 50%]",
                                 "test fails_when_empty ... ok",
                                 "a login that failed ... ok",
                                 "ok 3 - what failed is told",
                                 "[ RUN      ] Sum.Fails",
                                 "[       OK ] Sum.Fails (0 ms)",
                                 "=== RUN   TestSum/fails",
                                 "1/3 Test #1: it failed ....   Passed    0.01 sec",
                                 "failover is on"})
    EXPECT_EQ(telling_lines(line, 1000), "") << line;
}

TEST(Words, WhereNoWordTellsTheUnusualLinesDo) {
  std::string first, last;
  for (int i = 0; i < 200; ++i) {
    first += (i == 100 ? "bad " : "good ") + std::to_string(i) + "\n";
    last += "case" + std::to_string(i) + (i == 100 ? ": KO\n" : ": OK\n");
  }
  EXPECT_EQ(unusual_lines(first, 1000), "bad 100\n");
  EXPECT_EQ(unusual_lines(last, 1000), "case100: KO\n");
  EXPECT_EQ(unusual_lines("a\nb\nc\nd\ne\n", 1000), "") << "no line is usual";
  EXPECT_EQ(unusual_lines("a\na\n", 1000), "");
}

TEST(Words, AMessageThatIsCutKeepsWhatWasExpectedAndWhatWasThere) {
  std::string stack, frames;
  for (int i = 0; i < 40; ++i) {
    stack += "    at Object.<anonymous> (/workspace/node_modules/x/" + std::to_string(i) + ".js:3:20)\n";
    frames += "TestContext.<anonymous> (file:///workspace/" + std::to_string(i) + ".mjs:6:10)\n";
  }
  const std::string jest =
      "Error: expect(received).toBe(expected) // Object.is equality\n\nExpected: 5\nReceived: 6\n";
  EXPECT_EQ(excerpt(jest + stack, 512),
            jest + "    at Object.<anonymous> (/workspace/node_modules/x/0.js:3:20)");
  const std::string node =
      "error: |-\nExpected values to be strictly equal:\n6 !== 5\ncode: 'ERR_ASSERTION'\nexpected: "
      "5\nactual: 6\n";
  EXPECT_EQ(excerpt(node + "stack: |-\n" + frames, 512), node.substr(0, node.size() - 1));
  EXPECT_EQ(excerpt(node + "stack: |-\n" + frames + "diff: |\n+6\n", 512), node + "diff: |\n+6");
  // The values are found among many other lines, too.
  std::string noise;
  for (int i = 0; i < 40; ++i) noise += "connecting to the database " + std::to_string(i) + "\n";
  for (const std::string values :
       {"Expected: 5\nReceived: 6", "expected: 5\nactual: 6\nat: a.js:3", "expected: 5\n     got: 6",
        "\texpected: 5\n\tactual  : 6", "- Expected\n+ Received\n-   5,\n+   6,",
        "+ actual - expected\n+ 6\n- 5", "Expected: 5\n  Actual: 6"}) {
    const auto cut = excerpt(noise + values + "\n" + noise + stack, 512);
    EXPECT_LE(cut.size(), 512U);
    EXPECT_NE(cut.find(values), std::string::npos) << cut;
  }
  // A line with a place is not a frame of a stack.
  std::string asserts;
  for (int i = 0; i < 40; ++i) asserts += "check " + std::to_string(i) + " (a.c:" + std::to_string(i) + ")\n";
  EXPECT_EQ(excerpt(asserts, 200).substr(0, 30), asserts.substr(0, 30));
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

TEST(Words, NamesDoNotMoveWithLinesFoldersAndAddresses) {
  const std::pair<const char*, const char*> kNames[] = {
      {"a.c:12: adds", "a.c: adds"},
      {"src/a.cpp:12:5 adds", "src/a.cpp adds"},
      {"adds (line 12)", "adds"},
      {"README.md [line 3] x", "README.md x"},
      {"f, line 7: adds", "f: adds"},
      {"reads /tmp/tmpx1b2/out", "reads /tmp/*/out"},
      {"reads /var/tmp/build.123", "reads /var/tmp/*"},
      {"<f at 0x7f3a5c0d10>", "<f at 0x*>"},
      {"[1] com.Foo@5e91993f", "[1] com.Foo@*"},
      {"[2] [Ljava.lang.String;@1b2c3d", "[2] [Ljava.lang.String;@*"},
      {"[3] A$B@9f70c54, [I@12bb4df8", "[3] A$B@*, [I@*"},
      {"equals #<Foo:0x00007f9b8c0a1b28 @a=1>", "equals #<Foo:0x* @a=1>"},
      {"#<Foo:0x000055d0aa11> is empty", "#<Foo:0x*> is empty"},
      {"mails me@decade.org and you@facade", "mails me@decade.org and you@facade"},
      {"asks a@12345678.example.org", "asks a@*.example.org"},
      {"@1234567 is no object", "@1234567 is no object"},
      {"reads port:0xff", "reads port:0xff"},
      {"connects to example.com:443", "connects to example.com:443"},
      {"parses line 3", "parses line 3"},
      {"reads /tmp/out", "reads /tmp/out"},
      {"0xff is 255", "0xff is 255"}};
  for (const auto& [name, stable] : kNames) {
    EXPECT_EQ(stable_name(name), stable);
    EXPECT_EQ(stable_name(stable), stable) << "twice is once";
  }
  const auto groups = [](const std::string& folder) {
    return told_by("junit", "<testsuite><testcase classname='" + folder + ".A' name='a'/></testsuite>") +
           " " +
           told_by("jest",
                   R"({"testResults":[{"name":")" + folder +
                       R"(/a.js","status":"passed","assertionResults":[{"title":"t","status":"passed"}]}]})");
  };
  EXPECT_EQ(groups("/tmp/tmpq81x"), groups("/tmp/tmpz02k"));
  EXPECT_EQ(groups("/tmp/run-1234"), groups("/tmp/run-98"));
  EXPECT_NE(groups("/srv/one"), groups("/srv/two"));
  EXPECT_EQ(told_by("tap", "ok 1 adds (27 ms)\nok 2 a.t:5 x\nok 3 a.t:6 x\n1..3\n"),
            "+adds | +a.t x | +a.t x#2");
  EXPECT_EQ(told_by("tap", "ok 1 waits (a 5 ms timer)\n1..1\n"), "+waits (a 5 ms timer)");
}

}  // namespace
}  // namespace pawl::gates
