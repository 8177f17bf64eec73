// New files of the names of headers and of Ruby's test libraries, and build files that the policy watches.
#include "gates/policy/library_names.h"

#include <gtest/gtest.h>

#include "gates/policy/shadowing.h"
#include "gates/policy/watched.h"

namespace pawl::gates {
namespace {

FileVersion file_of(std::string_view content) {
  return {.size = static_cast<std::int64_t>(content.size()), .content = content};
}

std::string shadowed_by(const std::string& path, const Shadows& shadows = {}) {
  return shadowing({.path = path, .after = file_of("#define assert(x)\n")}, shadows);
}

TEST(LibraryNames, AHeaderOfTheLibraryIsFoundWhereCompilersLook) {
  for (const auto* path :
       {"string.h", "include/math.h", "src/stdbool.h", "tests/stdint.h", "include/sys/types.h", "t/cstring",
        "string", "lib/iostream", "inc/unistd.h", "deep/folder/assert.h", "deep/cstdlib", "sub/tests/vector"})
    EXPECT_NE(shadowed_by(path), "") << path;
  for (const auto* path : {"src/util/math.h", "include/own/string.h", "docs/format", "lib/own/list",
                           "src/strings.hpp", "src/my_string.h", "VERSION", "version", "src/string.c"})
    EXPECT_EQ(shadowed_by(path), "") << path;
  EXPECT_EQ(shadowing({.path = "format", .after = FileVersion{.is_executable = true}}, {}), "")
      << "a program";
  EXPECT_EQ(shadowing({.path = "include/time.h", .before = FileVersion(), .after = FileVersion()}, {}), "")
      << "base has it";
}

TEST(LibraryNames, AFileWithoutCodeIsNoHeader) {
  for (const auto* path : {"new", "list", "src/map", "string", "tests/queue"}) {
    EXPECT_EQ(shadowing({.path = path, .after = file_of("x\n")}, {}), "") << path;
    EXPECT_EQ(shadowing({.path = path, .after = file_of("")}, {}), "") << path;
    EXPECT_NE(shadowing({.path = path, .after = file_of("struct x;\n")}, {}), "") << path;
    EXPECT_NE(shadowing({.path = path, .after = FileVersion{.size = 9}}, {}), "") << path << " was not read";
    auto link = file_of("other");
    link.is_link = true;
    EXPECT_NE(shadowing({.path = path, .after = link}, {}), "") << path << " is a link";
  }
}

TEST(LibraryNames, AFolderThatAMakefileNamesForHeadersCounts) {
  for (const auto* makefile : {"CFLAGS = -O2 -Iown\ntest:\n\tsh t.sh\n", "test:\n\tcc -I own a.c\n",
                               "D = own\nCPPFLAGS += -isystem $(D)\ntest:\n\tsh t.sh\n"}) {
    Shadows shadows;
    shadows.targets.add({"make test"});
    shadows.targets.read_makefiles(
        {}, [&](const std::string& path) { return path == "Makefile" ? makefile : ""; });
    EXPECT_NE(shadowed_by("own/string.h", shadows), "") << makefile;
    EXPECT_EQ(shadowed_by("other/string.h", shadows), "") << makefile;
  }
}

TEST(LibraryNames, APluginOrAPartOfRubysTestLibrariesIsFound) {
  for (const auto* path :
       {"lib/minitest/own_plugin.rb", "lib/test/unit/testresult.rb", "test/minitest/reporters.rb",
        "spec/test/unit/ui/console/testrunner.rb", "lib/minitest/test.rb", "lib/test-unit.rb"})
    EXPECT_NE(shadowed_by(path), "") << path;
  for (const auto* path :
       {"test/unit/data_test.rb", "lib/minitest/own.rb", "test/unit/util/text_test.rb", "lib/own/plugin.rb"})
    EXPECT_EQ(shadowed_by(path), "") << path;
}

TEST(Watched, KnowsTheFilesOfBuilds) {
  for (const auto* path :
       {"Makefile.in", "lib/Makefile.am", "ci.make", "rakelib/test.rake", "justfile", "Taskfile.yml",
        "SConstruct", "wscript", "META-INF/services/org.testng.ITestNGListener", "configure", "build.xml",
        "gulpfile.mjs", "Makefile.common"})
    EXPECT_NE(steers(path), "") << path;
  EXPECT_EQ(steers("Makefile.PL"), "Perl's build");
  EXPECT_EQ(steers("docs/justfile.md"), "");
}

}  // namespace
}  // namespace pawl::gates
