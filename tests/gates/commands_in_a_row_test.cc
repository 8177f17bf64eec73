// Commands in a row of which one that fails keeps the others from running: in the script of a step, and in the
// scripts, packages and Makefiles that it runs.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "gates/reading/early_stop.h"
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
  sources.hides_tests = plan::hides_tests;
  sources.runs_tests = plan::runs_tests;
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
      {"(cd one && pytest)\n(cd two && pytest)", {}, "sh -e"},
      {"for d in one two; do (cd $d; pytest); done", {}, "sh -e"},
      {"npm test", {{"package.json", package(R"("test": "mocha one && mocha two")")}}, "&& package.json"},
      {"npm test",
       {{"package.json", package(R"("test": "mocha one && mocha two || exit 1")")}},
       "&& package.json"},
      {"npm test", {{"package.json", package(R"("pretest": "ava", "test": "mocha")")}}, "&& package.json"},
      {"yarn test",
       {{"package.json", package(R"("test": "yarn test:unit && yarn test:e2e", "test:unit": "ava")")}},
       "&& package.json"},
      {"npm --prefix web test",
       {{"web/package.json", package("\"test\": \"(jest && ava)\"")}},
       "&& web/package.json"},
      {"make test", {{"Makefile", "test: one two\n" + two}}, "make Makefile"},
      {"make one two", {{"Makefile", two}}, "make Makefile"},
      {"make", {{"Makefile", "all: two one\n" + two}}, "make Makefile"},
      {"make -C sub test", {{"sub/Makefile", "test:\n\tpytest a\n\tpytest b\n"}}, "make sub/Makefile"},
      {"make -k test", {{"Makefile", "test:\n\tpytest a\n\tpytest b\n"}}, "make Makefile"},
      {"make -k test", {{"Makefile", "test:\n\tpytest a && pytest b\n"}}, "make Makefile"},
      {"make test", {{"Makefile", "test:\n\t$(MAKE) -C a test\n\t@$(MAKE) -C b test\n"}}, "make Makefile"},
      {"scripts/test", {{"scripts/test", "#!/bin/sh\nset -eu\npytest one\npytest two\n"}}, "sh scripts/test"},
      {"scripts/test", {{"scripts/test", "#!/bin/sh -e\npytest one\npytest two\n"}}, "sh scripts/test"},
      {"sh t.sh", {{"t.sh", "set -xe\npytest one\npytest two\n"}}, "sh t.sh"},
      {"bash -ex t.sh", {{"t.sh", "pytest one\npytest two\n"}}, "sh t.sh"},
      {"bash t.sh", {{"t.sh", "pytest one && pytest two\n"}}, "sh t.sh"},
      {"sh t.sh", {{"t.sh", "(cd one && pytest) || exit 1\n(cd two && pytest) || exit 1\n"}}, "sh t.sh"},
  };
  for (const auto& [run, files, found] : all)
    EXPECT_EQ(row_in(run, files), found) << run << (files.empty() ? "" : files.begin()->second);
}

TEST(CommandsInARow, TestsThatAreTheLastOnesOrGoOnAreNone) {
  const std::string two = "one:\n\tpytest one\ntwo:\n\tcd two && pytest\n";
  const struct {
    const char* run;
    Sources files;
  } all[] = {
      {"pytest\ncoverage xml\nrm -rf tmp", {}},
      {"pip install pytest && pytest", {}},
      {"which pytest && pytest", {}},
      {"cargo check && cargo clippy && pytest", {}},
      {"cd web && npx jest && cd ..", {}},
      {"set +e\npytest a\nr=$?\npytest b || r=1\nexit $r", {}},
      {"npm ci\nnpm test",
       {{"package.json", package(R"("ci": "mocha a && mocha b", "test": "tsc && mocha")")}}},
      {"bun test", {{"package.json", package(R"("test": "mocha a && mocha b")")}}},
      {"npm test", {{"package.json", package(R"("test": "mocha one; mocha two", "pretest": "tsc")")}}},
      {"npm test", {{"package.json", package(R"("test": "mocha && eslint .", "posttest": "rm -rf tmp")")}}},
      {"npm test", {{"package.json", package(R"("test": "mocha")")}}},
      {"make test", {{"Makefile", "test: build\n\tpytest\nbuild:\n\tcc -o a a.c\n\tcc -o b b.c\n"}}},
      {"make check", {{"Makefile", "check: lint unit\nlint:\n\truff check .\nunit:\n\tpytest\n"}}},
      {"make test", {{"Makefile", "test:\n\tpytest\nother: test\n\tpytest b\n"}}},
      {"make -k test", {{"Makefile", "test: one two\n" + two}}},
      {"make -kj4 test", {{"Makefile", "test: one two\n" + two}}},
      {"make -k test", {{"Makefile", "test:\n\t$(MAKE) -C s all\n"}, {"s/Makefile", "all: one two\n" + two}}},
      {"make test", {{"Makefile", "test:\n\t-pytest a\n\tpytest b\n"}}},
      {"make test", {{"Makefile", "ifdef CI\ntest:\n\tpytest a\nelse\ntest:\n\tpytest\nendif\n"}}},
      {"make test", {{"Makefile", "test:\nifdef CI\n\tpytest a\nelse\n\tpytest\nendif\n"}}},
      {"make test", {{"Makefile", ".ONESHELL:\ntest:\n\tpytest a; r=$$?\n\tpytest b || r=1\n\texit $$r\n"}}},
      {"make test", {{"Makefile", ".IGNORE:\ntest:\n\tpytest a\n\tpytest b\n"}}},
      {"make test", {{"Makefile", "test:\n\tpytest a; r=$$?; pytest b || r=1; exit $$r\n"}}},
      {"make test", {{"Makefile", "test:\n\tfor d in a b; do pytest $$d || rc=1; done; exit $$rc\n"}}},
      {"make test", {{"Makefile", "test:\n\tpytest\n\t@echo done\n\tcd ..\n"}}},
      {"make a", {{"Makefile", "a: b\nb: a\n\tpytest\n"}}},
      {"sh t.sh", {{"t.sh", "pytest one\npytest two\n"}}},
      {"sh t.sh", {{"t.sh", "#!/bin/sh -e\npytest one\npytest two\n"}}},
      {"sh t.sh", {{"t.sh", "pytest one # no set -e here\nr=$?\npytest two || r=1\nexit $r\n"}}},
      {"sh t.sh", {{"t.sh", "cat <<E\nset -e\nE\npytest one\npytest two\n"}}},
      {"sh t.sh", {{"t.sh", "set -e\n(cd one && pytest)\nrm -rf tmp\n"}}},
      {"sh t.sh", {{"t.sh", "set -e\nif pytest a; then pytest b; fi\n"}}},
      {"sh t.sh", {{"t.sh", "set -e\npytest a || bad=1\npytest b || bad=1\n[ -z \"$bad\" ]\n"}}},
  };
  for (const auto& [run, files] : all)
    EXPECT_EQ(row_in(run, files), "") << run << (files.empty() ? "" : files.begin()->second);
}

TEST(CommandsInARow, CargoRunsNoProgramBehindOneThatFails) {
  for (const auto* run : {"cargo test", "cargo +nightly test --workspace >out.txt 2>&1", "cd x && cargo -q t",
                          "cargo --locked --offline test name"})
    EXPECT_EQ(stop_option_in({"bash", "-e", "-c", run}).word, "cargo test") << run;
  for (const auto* run :
       {"cargo test --no-fail-fast", "cargo test --lib -- --nocapture", "cargo test --test it",
        "cargo build; make test", "cargo clippy --tests", "cargo make test", "cargo xtask test",
        "cargo nextest run test", "cargo test --example e"})
    EXPECT_EQ(stop_option_in({"bash", "-e", "-c", run}).word, "") << run;
}

TEST(CommandsInARow, NoTextMakesTheSearchLong) {
  std::string rules = "A = " + std::string(900'000, 'x') + "\ntest:\n";
  for (int i = 0; i < 500; ++i) rules += "\techo $(A)\n";
  int asked = 0;
  StopSources sources;
  sources.text_of = [&](const std::string& path) { return path == "Makefile" ? rules : std::string(); };
  sources.hides_tests = [&](const auto& argv) { return ++asked, plan::hides_tests(argv); };
  sources.runs_tests = plan::runs_tests;
  stop_option_behind({"make", "test"}, sources);
  EXPECT_LE(asked, 3);
  std::string many;
  for (int i = 0; i < 30; ++i) many += "sh s" + std::to_string(i) + "; ";
  sources.text_of = [](const std::string& path) {
    return path.starts_with('s') ? "echo " + path + std::string(60'000, 'x') : std::string();
  };
  EXPECT_EQ(stop_option_behind({"sh", "-c", many}, sources).not_searched, "1 MiB of scripts")
      << "padding is told";
}

TEST(CommandsInARow, AnOptionOfTheRunnerComesFirst) {
  EXPECT_EQ(row_in("pytest -x one\npytest two", {}), "-x");
  EXPECT_EQ(row_in("make t", {{"Makefile", "t:\n\tmocha\n\tmocha b\n"}, {".mocharc.yml", "bail: true\n"}}),
            "bail .mocharc.yml");
}

}  // namespace
}  // namespace pawl::gates
