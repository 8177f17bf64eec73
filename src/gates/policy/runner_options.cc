#include "gates/policy/runner_options.h"

#include <algorithm>

namespace pawl::gates {
namespace {

using Table = std::vector<RunnerOptions>;

const Table kChoosing = {
    // docs.pytest.org, pytest-regressions, syrupy
    {{"pytest", "py.test"},
     {"--config-file", "--confcutdir", "--deselect", "--ignore", "--ignore-glob", "--last-failed", "--lf",
      "--stepwise", "--sw", "--snapshot-update", "--force-regen", "--inline-snapshot"}},
    {{"pytest", "py.test"}, {"-c", "-k", "-m"}, false, true},
    {{"unittest"}, {"-k", "-p", "--pattern"}, false, true},
    // nodejs.org/api/cli.html
    {{"node"},
     {"--env-file", "--env-file-if-exists", "--test-name-pattern", "--test-only", "--test-rerun-failures",
      "--test-shard", "--test-skip-pattern", "--test-update-snapshots"}},
    {{"node"}, {"--test-global-setup", "--test-reporter"}, true},
    // mochajs.org
    {{"mocha"},
     {"--config", "--exclude", "--fgrep", "--file", "--grep", "--ignore", "--invert",
      "--pass-on-failing-test-suite"}},
    {{"mocha"}, {"-f", "-g"}, false, true},
    {{"mocha"}, {"--reporter", "--ui", "-R", "-u"}, true},
    // jestjs.io/docs/cli, vitest.dev/guide/cli
    {{"jest", "vitest"},
     {"--changed",
      "--changedSince",
      "--exclude",
      "--filter",
      "--findRelatedTests",
      "--ignoreProjects",
      "--lastCommit",
      "--onlyChanged",
      "--onlyFailures",
      "--related",
      "--runTestsByPath",
      "--selectProjects",
      "--shard",
      "--testMatch",
      "--testNamePattern",
      "--testPathIgnorePatterns",
      "--testPathPattern",
      "--testPathPatterns",
      "--testRegex",
      "--update",
      "--updateSnapshot",
      "-t",
      "-u",
      "--dangerouslyIgnoreUnhandledErrors"}},
    {{"jest"}, {"-f", "-o"}},
    {{"jest", "vitest"},
     {"--config", "--globalSetup", "--root", "--rootDir", "--roots", "--setupFilesAfterEnv", "-c"}},
    {{"ava"}, {"--match", "--update-snapshots", "-m", "-u"}},
    {{"jasmine"}, {"--filter"}},
    {{"tap"}, {"--changed", "--grep", "--invert", "--only", "--snapshot", "-g"}},
    {{"tape"}, {"--ignore", "-i"}},
    {{"playwright"},
     {"--grep", "--grep-invert", "--last-failed", "--only-changed", "--pass-with-no-tests", "--project",
      "--shard", "--test-list", "--update-snapshots", "-g", "-u"}},
    {{"cypress"}, {"--spec", "-s"}},
    {{"cucumber", "cucumber-js"}, {"--name", "--tags", "-t"}},
    {{"bun", "deno"},
     {"--filter", "--ignore", "--only", "--pass-with-no-tests", "--permit-no-files", "--test-name-pattern",
      "--update-snapshots"},
     false,
     false,
     {"test"}},
    // go help test, go help testflag, go help build
    {{"go"},
     {"--run", "--skip", "--short", "--exec", "--overlay", "--toolexec", "-run", "-skip", "-short", "-exec",
      "-overlay", "-toolexec", "-test.run", "-test.skip", "-test.short", "-modfile"},
     false,
     false,
     {"test"}},
    // doc.rust-lang.org/cargo/commands/cargo-test.html, nexte.st
    {{"cargo"},
     {"--bench", "--benches", "--bin", "--bins", "--config", "--exact", "--example", "--examples",
      "--exclude", "--filter-expr", "--ignored", "--lib", "--package", "--partition", "--skip", "--test",
      "-E", "-p"},
     false,
     false,
     {"llvm-cov", "miri", "nextest", "t", "tarpaulin", "test"}},
    // ctest(1)
    {{"ctest"},
     {"--exclude-from-file", "--exclude-regex", "--label-exclude", "--label-regex", "--no-tests",
      "--rerun-failed", "--tests-from-file", "--tests-information", "--tests-regex", "-E", "-FA", "-FC",
      "-FS", "-I", "-L", "-LE", "-R"}},
    {{"meson"}, {"--no-suite", "--suite"}},
    {{"bazel", "bazelisk"},
     {"--build_tests_only", "--test_filter", "--test_tag_filters", "--test_size_filters"}},
    // perldoc prove
    {{"prove"}, {"--exec", "--ext", "--ignore-exit", "--source", "--state", "-e"}},
    // make(1). -i is one of the words that hide a failure.
    {{"MAKE", "gmake", "make"}, {"--file", "--makefile", "-f"}},
    {{"rspec"},
     {"--exclude-pattern", "--example", "--example-matches", "--failure-exit-code", "--next-failure",
      "--only-failures", "--options", "--pattern", "--tag", "-E", "-O", "-P", "-e", "-t"}},
    {{"phpunit"},
     {"--bootstrap", "--configuration", "--covers", "--exclude-filter", "--exclude-group",
      "--exclude-testsuite", "--filter", "--group", "--no-configuration", "--testsuite", "--uses", "-c"}},
    {{"gradle", "gradlew"}, {"--exclude-task", "--tests", "-x"}},
    {{"mvn", "mvnw"},
     {"--projects", "-Dgroups", "-DexcludedGroups", "-DfailIfNoTests", "-Dit.test", "-DskipITs",
      "-DskipTests", "-Dsurefire.failIfNoSpecifiedTests", "-Dtest", "-Dmaven.test.skip", "-pl"}},
    {{"dotnet"}, {"--filter"}, false, false, {"test"}},
    {{"tox"}, {"--notest", "-n"}},
    // google.github.io/googletest/advanced.html, Catch2, doctest and Boost.Test, whose programs have any name
    {{},
     {"--gtest_filter", "--gtest_also_run_disabled_tests", "--run_test", "--test-case", "--test-case-exclude",
      "--test-suite", "--test-suite-exclude"}},
};

const Table kIdle = {
    {{},
     {"--help",
      "--version",
      "--print-config",
      "--env-info",
      "--showConfig",
      "--init",
      "--gtest_list_tests",
      "--list-tests",
      "--list-test-cases",
      "--list_content",
      "--markers",
      "--fixtures",
      "--fixtures-per-test",
      "--collect-only",
      "--collectonly",
      "--co",
      "--setup-only",
      "--setuponly",
      "--setup-plan",
      "--setupplan",
      "--cache-show",
      "--clearCache",
      "--listTests",
      "--list",
      "--dry-run",
      "--just-print",
      "--no-run"}},
    {{"cargo", "coverage", "black", "eslint", "isort", "mocha", "mypy", "node", "prove", "py.test", "pytest",
      "python", "python3", "ruff", "tox"},
     {"-V"}},
    {{"ava", "eslint", "jest", "prettier", "rollup", "rspec", "rubocop", "stylelint", "tsc", "vitest",
      "webpack", "xo"},
     {"-v", "-h"}},
    {{"cargo", "ctest", "mocha", "mypy", "prove", "pytest", "py.test", "ruff", "tap", "tox"}, {"-h"}},
    {{"ctest"}, {"--show-only", "-N", "--print-labels"}},
    {{"prove"}, {"--dry", "--man", "-D", "-H"}},
    {{"go"}, {"-c", "-list", "-n", "-test.list", "--list"}},
    {{"MAKE", "gmake", "make", "ninja"}, {"--question", "--recon", "--touch", "-n", "-q", "-t"}},
    {{"gradle", "gradlew"}, {"-m"}},
};

const Table kWidening = {
    {{"mocha"}, {"--recursive"}},
    {{"prove"}, {"--recurse", "-r"}},
    {{"cargo"}, {"--all", "--all-targets", "--workspace"}},
    {{"pytest", "py.test"}, {"--doctest-glob", "--doctest-modules", "--runslow", "--run-slow"}},
    {{"eslint", "stylelint"}, {"--max-warnings"}},
    {{"mypy"}, {"--strict"}},
};

// Whether one of `names` is among the words. No names: any word does.
bool stands_in(const std::vector<std::string_view>& names, std::span<const std::string_view> words) {
  return names.empty() ||
         std::ranges::any_of(words, [&](auto word) { return std::ranges::find(names, word) != names.end(); });
}

bool is_letter(std::string_view option) { return option.size() == 2; }

}  // namespace

std::span<const RunnerOptions> choosing_options() { return kChoosing; }
std::span<const RunnerOptions> idle_options() { return kIdle; }
std::span<const RunnerOptions> widening_options() { return kWidening; }

bool is_named_in(std::span<const RunnerOptions> table, std::string_view word) {
  return std::ranges::any_of(table, [&](const auto& each) {
    return std::ranges::find(each.programs, word) != each.programs.end() ||
           std::ranges::find(each.commands, word) != each.commands.end();
  });
}

std::string_view option_in(std::span<const RunnerOptions> table, std::string_view word,
                           std::string_view value, std::span<const std::string_view> programs) {
  if (!word.starts_with('-')) return {};
  const auto name = word.substr(0, word.find('='));
  const bool is_own = value.starts_with('.') || value.starts_with('/');
  for (const auto& each : table) {
    const bool runs = stands_in(each.programs, programs) && stands_in(each.commands, programs);
    if (!runs || (each.with_own_path && !is_own)) continue;
    for (const auto option : each.options) {
      const bool has_rest = each.takes_rest && is_letter(option) && word.starts_with(option);
      if (name == option || has_rest) return option;
    }
  }
  return {};
}

}  // namespace pawl::gates
