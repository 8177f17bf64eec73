// Patterns by which runners choose files.
#include "gates/policy/path_patterns.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace pawl::gates {
namespace {

bool glob(std::string_view pattern, std::string_view path) {
  const auto parsed = PathPattern::glob(pattern);
  return parsed && parsed->matches(path);
}
bool regex(std::string_view pattern, std::string_view path) {
  const auto parsed = PathPattern::regex(pattern);
  return parsed && parsed->matches(path);
}

TEST(PathPattern, GlobsAreThoseOfNodesTools) {
  for (const auto* path : {"a.test.js", "src/a.spec.tsx", "x/y/test.js", ".js/spec.ts"})
    EXPECT_TRUE(glob("**/?(*.)+(spec|test).[jt]s?(x)", path)) << path;
  for (const auto* path : {"a.tests.js", "test/a.js", "a.test.jsxx", "test.js/a"})
    EXPECT_FALSE(glob("**/?(*.)+(spec|test).[jt]s?(x)", path)) << path;
  EXPECT_TRUE(glob("{src,test}/**", "src/a/b"));
  EXPECT_FALSE(glob("{src,test}/*", "src/a/b"));
  EXPECT_TRUE(glob("./a+(b)c", "abbc"));
  EXPECT_FALSE(glob("a+(b)c", "ac"));
  EXPECT_TRUE(glob("a*(b|c)d", "ad"));
  EXPECT_TRUE(glob("[!a]b", "cb"));
  EXPECT_FALSE(glob("[!a]b", "ab"));
  EXPECT_FALSE(PathPattern::glob("!(a)"));
  EXPECT_FALSE(PathPattern::glob("{a,b"));
  EXPECT_FALSE(PathPattern::glob(std::string(1000, 'a')));
}

TEST(PathPattern, ExpressionsMatchAnywhere) {
  for (const auto* pattern : {"b\\.test", "(a|b)\\.t", "^x/[a-c].*js$", "\\w\\.test\\.(js|ts)x?$", "(?:b|q)+",
                              "x/.*?b", "[^/]b|/b", "b.test*"})
    EXPECT_TRUE(regex(pattern, "x/b.test.js")) << pattern;
  for (const auto* pattern : {"^b", "b$", "\\d", "(ab)+", "a|c", "[^b]\\.test", "bb*b"})
    EXPECT_FALSE(regex(pattern, "x/b.test.js")) << pattern;
  for (const auto* pattern : {"(?=a)", "a{2}", "\\b", "(a", "a)", "[a", "*", "\\"})
    EXPECT_FALSE(PathPattern::regex(pattern)) << pattern;
  EXPECT_FALSE(PathPattern::regex(std::string(100, '(') + std::string(100, ')')));
}

TEST(PathPattern, AHostileExpressionTakesLinearTime) {
  const auto pattern = PathPattern::regex("((a*)*)*(a|aa)+(a+)+(a?)+$");
  ASSERT_TRUE(pattern);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_FALSE(pattern->matches(std::string(4000, 'a') + "b"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST(PathPattern, NamesOfFnmatch) {
  EXPECT_TRUE(PathPattern::fnmatch("test_*.py")->matches("test_a.py"));
  EXPECT_TRUE(PathPattern::fnmatch("*b.py")->matches("tests/b.py"));
  EXPECT_FALSE(PathPattern::fnmatch("test_?.py")->matches("test_ab.py"));
  EXPECT_TRUE(PathPattern::fnmatch("[!x]+(.py")->matches("a+(.py"));
}

}  // namespace
}  // namespace pawl::gates
