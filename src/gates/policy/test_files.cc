#include "gates/policy/test_files.h"

#include <algorithm>

#include "gates/reading/text.h"

namespace pawl::gates {
namespace {

constexpr std::array<std::string_view, 3> kBegins = {"test_", "test-", "test."};
constexpr std::array<std::string_view, 6> kEnds = {"_test", "-test", ".test", "_spec", "-spec", ".spec"};
// Classes of JUnit, NUnit and PHPUnit.
constexpr std::array<std::string_view, 4> kClassEnds = {"Test", "Tests", "TestCase", "Spec"};
// Files that a name of a test also fits, and that no runner runs.
constexpr std::array<std::string_view, 4> kOther = {"json", "lock", "md", "txt"};

template <std::size_t N>
bool ends_with_any(std::string_view text, const std::array<std::string_view, N>& ends) {
  return std::ranges::any_of(ends,
                             [&](const auto end) { return text.size() > end.size() && text.ends_with(end); });
}

bool is_in_test_folder(std::string_view path) {
  for (auto slash = path.find('/'); slash != path.npos; slash = path.find('/')) {
    const auto folder = path.substr(0, slash);
    if (folder == "__tests__" || std::ranges::find(kTestFolders, folder) != kTestFolders.end()) return true;
    path.remove_prefix(slash + 1);
  }
  return false;
}

}  // namespace

bool is_test_file(std::string_view path) {
  if (is_in_test_folder(path)) return true;
  const auto name = name_of(path);
  const auto dot = name.rfind('.');
  if (dot == name.npos || dot == 0) return false;
  if (std::ranges::find(kOther, name.substr(dot + 1)) != kOther.end()) return false;
  const auto stem = name.substr(0, dot);
  const bool begins = std::ranges::any_of(kBegins, [&](const auto begin) { return stem.starts_with(begin); });
  return begins || ends_with_any(stem, kEnds) || ends_with_any(stem, kClassEnds) || stem == "test" ||
         stem == "tests";
}

}  // namespace pawl::gates
