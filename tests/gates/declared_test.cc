// Tests that the text of a file declares, for files that no report covers.
#include "gates/declared.h"

#include <gtest/gtest.h>

namespace pawl::gates {
namespace {

using Names = std::vector<std::string>;

bool loses(const std::string& path, const std::string& before, const std::string& after) {
  const auto version = [](const std::string& text) {
    return FileVersion{.size = static_cast<std::int64_t>(text.size()), .content = text};
  };
  return lost_tests({.path = path, .before = version(before), .after = version(after)});
}

TEST(Declared, TestsOfEachLanguageAreFoundAndNoOthers) {
  EXPECT_EQ(declared_tests(
                "a.test.mjs",
                "import test from 'node:test';\n// test('old', f)\n/* it('older') */\n"
                "test('adds', () => {});\nit(\"subtracts\", f);\ntest.only(`divides`, f);\n"
                "describe('group', () => { it.each([1, 2])('of %i', f); it.skip('left', f); xit('out', f);\n"
                "  test.todo('later'); t.test('inner', async () => { say(\"it('is') no test\") }); });\n"
                "fit(1); latest('x');\n"),
            (Names{"adds", "divides", "inner", "of %i", "subtracts"}));
  EXPECT_EQ(declared_tests(
                "tests/test_a.py",
                "def helper(): pass\ndef test_a():\n    '''test'''\n# def test_old(): pass\n"
                "\"\"\"\ndef test_out(): pass\n\"\"\"\nclass TestB:\n    async def test_b(self): pass\n"),
            (Names{"test_a", "test_b"}));
  EXPECT_EQ(
      declared_tests("a_test.go", "func TestA(t *testing.T) {}\nfunc helper() {}\n// func TestOld() {}\n"),
      Names{"TestA"});
  EXPECT_EQ(declared_tests("ATest.java",
                           "class ATest {\n  @Test\n  void adds() { }\n  void helper() { }\n"
                           "  @Test public void subtracts() { }\n}\n"),
            (Names{"adds", "subtracts"}));
  EXPECT_EQ(declared_tests("README.md", "test('adds')"), Names());
}

TEST(Declared, AFileLosesTestsHoweverTheyAreTakenOut) {
  const std::string js =
      "import {it} from './x.mjs';\ndescribe('d', () => {\n  it('adds', f);\n  it('more', f);\n});\n";
  const auto lost = [&](const std::string& after) { return loses("a.test.mjs", js, after); };
  for (const std::string after :
       {"", "// nothing\n", "export {};\n", "describe('d', () => {\n  it('adds', f);\n});\n",
        "describe('d', () => {\n  it('adds', f);\n  it.skip('more', f);\n});\n",
        "describe('d', () => {\n  it('adds', f);\n  xit('more', f);\n});\n",
        "describe('d', () => {\n  it('adds', f);\n  it.todo('more');\n});\n",
        "describe('d', () => {\n  it('adds', f);\n  // it('more', f);\n});\n",
        "describe('d', () => {\n  it('adds', f);\n  it('more', {skip: true}, f);\n});\n",
        "describe.skip('d', () => {\n  it('adds', f);\n  it('more', f);\n});\n",
        "describe('d', () => {\n  it('adds', f);\n  it('other', f);\n});\n"})
    EXPECT_TRUE(lost(after)) << after;
  for (const std::string& after :
       {js, "import {it} from './y.mjs';\n" + js.substr(js.find('\n') + 1), js + "it('new', f);\n",
        std::string("it('more', f);\nit('adds', async () => { await g({skip: 3}); });\n")})
    EXPECT_FALSE(lost(after)) << after;
  const std::string py = "from calc import add\ndef test_a():\n    assert add(1, 1) == 2\n";
  EXPECT_FALSE(loses("tests/test_a.py", py, "import os\n" + py));
  for (const std::string& after :
       {std::string("pass\n"), "import pytest\npytestmark = pytest.mark.skip\n" + py,
        "import pytest\n@pytest.mark."
        "skip\n" +
            py.substr(py.find("def")),
        "raise Skip"
        "Test\n" +
            py,
        std::string("from calc import add\ndef check_a():\n    assert add(1, 1) == 2\n")})
    EXPECT_TRUE(loses("tests/test_a.py", py, after)) << after;
  const std::string go = "func TestA(t *testing.T) { x() }\n";
  EXPECT_TRUE(loses("a_test.go", go, "func TestA(t *testing.T) { t.Skip() }\n"));
  EXPECT_FALSE(loses("a_test.go", go, "func TestA(t *testing.T) { y() }\n"));
  const std::string java = "class A {\n  @Test void adds() { }\n}\n";
  EXPECT_TRUE(loses("A.java", java, "class A {\n  @Disabled @Test void adds() { }\n}\n"));
  EXPECT_TRUE(loses("A.java", java, "class A { }\n"));
}

TEST(Declared, WhatIsNoTestFileLosesNothingUnlessItIsGone) {
  EXPECT_FALSE(loses("notes.txt", "test('adds')", "nothing\n"));
  EXPECT_TRUE(loses("notes.txt", "x", ""));
  EXPECT_TRUE(lost_tests({.path = "a.test.js", .before = FileVersion{.size = 3}}));
  EXPECT_FALSE(lost_tests({.path = "a.test.js",
                           .before = FileVersion{.size = 3},
                           .after = FileVersion{.size = 9},
                           .unread = true}));
}

// An attacker wrote these texts: reading them must end, and must not crash.
TEST(Declared, TextThatEndsInTheMiddleOfAnythingIsRead) {
  for (const std::string text : {"it(", "it('", "it('\\", "test.each(", "test.", "/*", "//", "\"\"\"", "`",
                                 "def ", "func", "@Test void"})
    for (const auto* path : {"a.js", "a.py", "a.go", "A.java"})
      EXPECT_LE(declared_tests(path, text).size(), 1U) << text;
}

}  // namespace
}  // namespace pawl::gates
