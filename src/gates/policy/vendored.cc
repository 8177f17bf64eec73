#include "gates/policy/vendored.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "gates/reading/text.h"

namespace pawl::gates {
namespace {

constexpr std::string_view kVendor = "vendor/";
// Files that `go mod vendor` and Composer write. Go reads modules.txt and the policy watches it; its list may
// grow.
constexpr std::string_view kGoList = "modules.txt", kComposersLoader = "autoload.php";

// Packages below `vendor` that Go tests import or that PHP runners load.
constexpr auto kTestPackages = std::to_array<std::string_view>(
    {"github.com/google/go-cmp/", "github.com/onsi/ginkgo/", "github.com/onsi/gomega/",
     "github.com/smartystreets/goconvey/", "github.com/stretchr/testify/", "gopkg.in/check.v1/",
     "gotest.tools/", "mockery/", "pestphp/", "phpunit/", "sebastian/"});

// Files of C and C++ test frameworks, by the end of their paths, and folders of their headers.
constexpr auto kFrameworks = std::to_array<std::string_view>(
    {"CUnit/Basic.h", "CUnit/CUnit.h", "catch.hpp", "catch_amalgamated.cpp", "catch_amalgamated.hpp",
     "cmocka.c", "cmocka.h", "doctest.h", "gmock-all.cc", "googlemock/src/*", "googletest/src/*",
     "gtest-all.cc", "gtest_main.cc", "unity.c", "unity.h", "unity_fixture.c", "unity_fixture.h",
     "unity_internals.h"});
constexpr auto kHeaderFolders =
    std::to_array<std::string_view>({"boost/test/", "catch2/", "criterion/", "gmock/", "gtest/"});
// Folders where these projects have their own sources.
constexpr auto kOwn = std::to_array<std::string_view>(
    {"CUnit/", "doctest/", "extras/", "googlemock/", "googletest/", "include/boost/test/", "include/cmocka.h",
     "include/criterion/", "src/catch2/", "src/cmocka.c", "src/unity"});

// Programs that Automake copies into a project: drivers of its tests, and programs of its build. Other projects use the
// names of the latter, too. These count only beside install-sh, which Automake always copies.
constexpr auto kDrivers = std::to_array<std::string_view>({"tap-driver.pl", "tap-driver.sh", "test-driver"});
constexpr auto kBuildPrograms = std::to_array<std::string_view>(
    {"compile", "depcomp", "install-sh", "ltmain.sh", "missing", "py-compile", "ylwrap"});

bool is_header(std::string_view path) {
  constexpr auto kEnds = std::to_array<std::string_view>({".h", ".hpp", ".ipp"});
  return std::ranges::any_of(kEnds, [&](const auto end) { return path.ends_with(end); });
}

// Calls `fits` with the path and with the part after each of its slashes, until it returns true.
template <class Fits>
bool any_end(std::string_view path, const Fits& fits) {
  for (;;) {
    if (fits(path)) return true;
    const auto slash = path.find('/');
    if (slash == path.npos) return false;
    path.remove_prefix(slash + 1);
  }
}

bool is_framework(std::string_view path) {
  const auto is_own = [&](const auto own) { return path.starts_with(own); };
  if (std::ranges::any_of(kOwn, is_own)) return false;
  return any_end(path, [](std::string_view end) {
    const auto is_it = [&](const std::string_view name) {
      return name.ends_with('*') ? end.starts_with(name.substr(0, name.size() - 1)) : end == name;
    };
    const auto is_in = [&](const auto folder) { return end.starts_with(folder) && is_header(end); };
    return std::ranges::any_of(kFrameworks, is_it) || std::ranges::any_of(kHeaderFolders, is_in);
  });
}

bool is_automakes(std::string_view path, const std::function<bool(const std::string& path)>& was_there) {
  const auto name = name_of(path);
  const auto is_name = [&](const auto known) { return name == known; };
  if (std::ranges::any_of(kDrivers, is_name)) return true;
  const std::string folder(path.substr(0, path.size() - name.size()));
  return std::ranges::any_of(kBuildPrograms, is_name) && was_there && was_there(folder + "install-sh");
}

}  // namespace

std::string vendored(const FileChange& change,
                     const std::function<bool(const std::string& path)>& was_there) {
  const std::string_view path = change.path;
  const bool is_new = !change.before;
  if (!is_new && is_framework(path)) return "is a file of a test framework";
  if (!is_new && is_automakes(path, was_there))
    return "is a program of Automake, which runs tests or builds them";
  std::string package;
  const bool installed =
      was_there && any_end(path, [&](std::string_view end) {
        if (!end.starts_with(kVendor)) return false;
        const std::string folder(path.substr(0, path.size() - end.size() + kVendor.size()));
        const auto below = end.substr(kVendor.size());
        const auto* test =
            std::ranges::find_if(kTestPackages, [&](const auto each) { return below.starts_with(each); });
        if (test != kTestPackages.end()) package = test->substr(0, test->size() - 1);
        return below != kGoList && (was_there(folder + std::string(kGoList)) ||
                                    was_there(folder + std::string(kComposersLoader)));
      });
  if (!installed) return {};
  if (!is_new) return "is a file of an installed package";
  return package.empty() ? "" : fmt::format("would be loaded as a part of {}", package);
}

}  // namespace pawl::gates
