// Commands in a row of which one that fails keeps the others from running: in the script of a step, and in the
// scripts, packages and Makefiles that it runs.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "gates/reading/stop_settings.h"
#include "plan/script.h"

namespace pawl::gates {
namespace {

using Sources = std::map<std::string, std::string>;

// "WORD FILE" of what ends the command at a failure; "" for nothing.
std::string row_in(const std::string& run, const Sources& files) {
  StopSources sources;
  sources.text_of = [&](const std::string& path) {
    const auto file = files.find(path);
    return file == files.end() ? "" : file->second;
  };
  sources.hides_commands = [](const auto& argv) { return !plan::why_not_all_runs(argv).empty(); };
  const auto found = stop_option_behind(plan::script_argv(plan::Shell::kBest, run), sources);
  EXPECT_TRUE(found.word.empty() || found.failures == 1) << run;
  return found.word + (found.file.empty() ? "" : " " + found.file);
}

std::string package(const std::string& scripts) { return R"({"scripts": {)" + scripts + "}}"; }

TEST(CommandsInARow, AFailureOfOneHidesTheOthers) {
  const std::string two = "one:\n\tpytest one\ntwo:\n\tcd two && pytest\n";
  const struct {
    const char* run;
    Sources files;
    const char* found;
  } all[] = {
      {"pytest one\npytest two", {}, "sh -e"},
      {"npm test", {{"package.json", package(R"("test": "mocha one && mocha two")")}}, "&& package.json"},
      {"npm test", {{"package.json", package(R"("pretest": "ava", "test": "mocha")")}}, "&& package.json"},
      {"yarn test",
       {{"package.json", package(R"("test": "yarn test:unit && yarn test:e2e", "test:unit": "ava")")}},
       "&& package.json"},
      {"npm --prefix web test",
       {{"web/package.json", package(R"("test": "jest && ./e2e")")}},
       "&& web/package.json"},
      {"make test", {{"Makefile", "test: one two\n" + two}}, "make Makefile"},
      {"make one two", {{"Makefile", two}}, "make Makefile"},
      {"make", {{"Makefile", "all: two one\n" + two}}, "make Makefile"},
      {"make -C sub test", {{"sub/Makefile", "test:\n\tpytest a\n\tpytest b\n"}}, "make sub/Makefile"},
      {"make test", {{"Makefile", "test:\n\t$(MAKE) -C a test\n\t@$(MAKE) -C b test\n"}}, "make Makefile"},
      {"scripts/test",
       {{"scripts/test", "#!/bin/sh\nset -eu\npytest one\npytest two\n"}},
       "set -e scripts/test"},
      {"sh t.sh", {{"t.sh", "#!/bin/sh -e\npytest one\npytest two\n"}}, "set -e t.sh"},
      {"bash t.sh", {{"t.sh", "pytest one && pytest two\n"}}, "&& t.sh"},
  };
  for (const auto& [run, files, found] : all) EXPECT_EQ(row_in(run, files), found) << run;
}

TEST(CommandsInARow, TestsThatAreTheLastOneOrGoOnAreNone) {
  const struct {
    const char* run;
    Sources files;
  } all[] = {
      {"npm ci\nnpm test",
       {{"package.json", package(R"("test": "tsc && mocha", "lint": "eslint . && ava")")}}},
      {"npm test", {{"package.json", package(R"("test": "mocha one; mocha two", "pretest": "tsc")")}}},
      {"npm test", {{"package.json", package(R"("test": "mocha")")}}},
      {"make test", {{"Makefile", "test: build\n\tpytest\nbuild:\n\tcc -o a a.c\n\tcc -o b b.c\n"}}},
      {"make test", {{"Makefile", "test:\n\tpytest\nother: test\n\tpytest b\n"}}},
      {"make -k test", {{"Makefile", "test: one two\none:\n\tpytest a\ntwo:\n\tpytest b\n"}}},
      {"make test", {{"Makefile", "test:\n\t-pytest a\n\tpytest b\n"}}},
      {"make test", {{"Makefile", "test:\n\tpytest\n\t@echo done\n"}}},
      {"make a", {{"Makefile", "a: b\nb: a\n\tpytest\n"}}},
      {"sh t.sh", {{"t.sh", "pytest one\npytest two\n"}}},
      {"sh t.sh", {{"t.sh", "set -e\ncd x\npytest two\n"}}},
  };
  for (const auto& [run, files] : all) EXPECT_EQ(row_in(run, files), "") << run;
}

TEST(CommandsInARow, AnOptionOfTheRunnerComesFirst) {
  EXPECT_EQ(row_in("pytest -x one\npytest two", {}), "-x");
  EXPECT_EQ(row_in("make t", {{"Makefile", "t:\n\tmocha\n\tmocha b\n"}, {".mocharc.yml", "bail: true\n"}}),
            "bail .mocharc.yml");
}

}  // namespace
}  // namespace pawl::gates
