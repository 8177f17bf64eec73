// Files beside a Makefile that decide what make runs: those that it includes, and those of a target's name.
#include "gates/policy/makefile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gates/policy/shadowing.h"
#include "plan/script.h"

namespace pawl::gates {
namespace {

using ::testing::HasSubstr;
using Files = std::map<std::string, std::string>;

Shadows shadows_of(const std::string& command, const Files& base) {
  Shadows out{.was_there = [base](const std::string& path) { return base.contains(path); }};
  const std::vector<std::string> argv{"sh", "-e", "-c", command};
  out.folders.add(argv);
  out.targets.add(argv);
  out.targets.hidden_failures = [](const auto& words) { return plan::hidden_failures(words); };
  out.targets.read_makefiles(
      out.folders.modules, [&](const std::string& path) { return base.contains(path) ? base.at(path) : ""; });
  return out;
}

std::string words_for(const std::string& command, const Files& base, const std::string& path,
                      const std::string& after = "x\n") {
  FileChange change{.path = path, .after = FileVersion{.content = after}};
  if (base.contains(path)) change.before = FileVersion{.content = base.at(path)};
  return shadowing(change, shadows_of(command, base));
}

TEST(Makefiles, AFileOfATargetsNameHasMakeRunNothing) {
  const auto adds = [](const std::string& makefile, const std::string& path,
                       const std::string& command = "make test") {
    return words_for(command, {{"Makefile", makefile}, {"lib/Makefile", makefile}}, path);
  };
  const std::string plain = "test:\n\tsh t/run.sh\n";
  EXPECT_THAT(adds(plain, "test"), HasSubstr("take target `test` for made"));
  EXPECT_NE(adds(plain, "test/x"), "") << "a folder";
  EXPECT_NE(adds(plain, "lib/test", "make -C lib test"), "");
  EXPECT_NE(adds(plain, "lib/test", "cd lib && make test"), "");
  EXPECT_NE(adds(plain, "test", "make"), "") << "the first target";
  EXPECT_NE(adds("check: test\n" + plain, "test", "make check"), "") << "what a target stands for";
  EXPECT_NE(adds("test: FORCE\n\tsh t.sh\nFORCE:\n", "FORCE"), "");
  EXPECT_NE(adds(".PHONY: all\n" + plain, "test"), "");
  EXPECT_NE(adds("test:\n\t@echo $@\n\t$(MAKE) -C t $@\n", "test"), "");
}

TEST(Makefiles, FilesThatMakeDoesNotTakeForATargetAreNone) {
  const std::string plain = "test:\n\tsh t/run.sh\nlint:\n\tsh l.sh\n";
  const std::pair<std::string, std::string> good[] = {
      {plain, "tests/a"},
      {plain, "src/test"},
      {plain, "lint"},
      {".PHONY: test\n" + plain, "test"},
      {"TARGETS = test lint\n.PHONY: $(TARGETS)\n" + plain, "test/x"},
      {"test: FORCE\n\tsh t.sh\nFORCE:\n", "test"},
      {"test: app\napp: a.c\n\t$(CC) -o $@ $<\n", "app"},
      {"test: out\nout:\n\tmkdir -p out\n", "out/x"},
      {"test: log\nlog:\n\tsh t.sh >log\n", "log"},
      {"test: a.o\n\tsh t.sh\n", "a.o"}};
  for (const auto& [makefile, path] : good)
    EXPECT_EQ(words_for("make test", {{"Makefile", makefile}}, path), "") << makefile << path;
  EXPECT_EQ(words_for("sh t.sh", {{"Makefile", plain}}, "test"), "") << "no gate runs make";
  EXPECT_EQ(words_for("make test", {{"Makefile", plain}, {"test", "x"}}, "test"), "") << "base has it";
  EXPECT_EQ(words_for("make test", {{"Makefile", plain}, {"test", ""}}, "test/more"), "");
}

constexpr const char* kIncluding =
    "include config.mk\nDIR = build\nCHECK = sh t/run.sh\ntest: unit\n\t$(CHECK)\nunit:\n\tsh u.sh\n"
    "-include local.make\nsinclude $(DIR)/*.inc $(wildcard conf/*.make)\n-include *.d\n";

std::string includes(const std::string& path, const std::string& text,
                     const std::string& command = "make test") {
  return words_for(command, {{"Makefile", kIncluding}, {"config.mk", "V = 1\ninclude deep.make\n"}}, path,
                   text);
}

TEST(Makefiles, AnIncludedFileIsReadLikeTheMakefile) {
  EXPECT_THAT(includes("local.make", "test:\n\ttrue\n"), HasSubstr("replaces target `test`"));
  for (const auto* path : {"local.make", "config.mk", "deep.make", "build/a.inc", "conf/b.make"})
    for (const auto* text :
         {"unit:\n\tsh other.sh\n", "SHELL = /bin/true\n", "MAKEFLAGS += -n\n", "MAKEFLAGS = --touch\n",
          "MAKEFLAGS += -i\n", ".SHELLFLAGS = -n -c\n", ".IGNORE:\n", "CHECK = true\n"})
      EXPECT_NE(includes(path, text), "") << path << ": " << text;
  EXPECT_NE(includes("config.mk", "help:\n\techo help\n", "make"), "") << "it is the first target now";
  const FileChange link{.path = "local.make", .after = FileVersion{.is_link = true, .content = "x"}};
  EXPECT_NE(shadowing(link, shadows_of("make test", {{"Makefile", kIncluding}})), "");
  EXPECT_NE(words_for("make -f ci.make test", {{"ci.make", "-include x\ntest:\n\tsh t.sh\n"}}, "x",
                      "test:\n\ttrue\n"),
            "");
}

TEST(Makefiles, HonestIncludedFilesAreNone) {
  for (const auto* text : {"CFLAGS = -O2\n", "more:\n\tsh more.sh\n", "a.o: a.c a.h\n", "test: more\n",
                           "SHELL = /bin/bash\n", "MAKEFLAGS += -rR\n", "CHECK = bash t/run.sh\n", ""})
    for (const auto* path : {"local.make", "config.mk", "build/a.inc", "a.d"})
      EXPECT_EQ(includes(path, text), "") << path << ": " << text;
  EXPECT_EQ(includes("other.make", "test:\n\ttrue\n"), "") << "nothing includes it";
  EXPECT_EQ(includes("local.make", "test:\n\ttrue\n", "sh t.sh"), "") << "no gate runs make";
  EXPECT_TRUE(may_have_targets("local.make", shadows_of("make test", {{"Makefile", kIncluding}}).targets));
  const Files own{{"Makefile", "include own.make\n"}, {"own.make", "test:\n\tsh t.sh\n"}};
  EXPECT_EQ(words_for("make test", own, "own.make", "test:\n\tsh t.sh\n\tsh more.sh\n"), "");
  EXPECT_NE(words_for("make test", own, "own.make", "test:\n\t-sh t.sh\n"), "");
}

}  // namespace
}  // namespace pawl::gates
