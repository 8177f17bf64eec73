#include "gates/policy/stand_in.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "gates/reading/text.h"

namespace pawl::gates {
namespace {

// Suffixes that Node.js, TypeScript, Jest and Vite append to a name without one, in their order.
constexpr auto kNodeEnds = std::to_array<std::string_view>(
    {"", ".mjs", ".js", ".cjs", ".jsx", ".mts", ".ts", ".tsx", "/index.mjs", "/index.js", "/index.ts"});
// Folders below which tests are, and folders of sources.
constexpr auto kFoldersOfTests = std::to_array<std::string_view>({"test", "tests", "testing", "spec", "t"});
constexpr auto kFoldersOfSources = std::to_array<std::string_view>({"", "src/", "lib/", "python/"});

// A path without its last `size` bytes.
std::string cut(std::string_view path, std::size_t size) {
  return std::string(path.substr(0, path.size() - std::min(size, path.size())));
}

std::string_view parent_of(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == path.npos ? std::string_view() : path.substr(0, slash);
}

// The path of the Python module that a file is, without a suffix; "" when it is none.
std::string python_module(std::string_view path) {
  const auto folder = parent_of(path), file = name_of(path);
  if (!file.ends_with(".py") && !file.ends_with(".so")) return "";
  const auto stem = file.substr(0, file.find('.'));
  if (stem == "__init__") return std::string(folder);
  return (folder.empty() ? "" : std::string(folder) + "/") + std::string(stem);
}

// The files that the loaders of Python, Node.js and Perl find only where a file at `path` is not there.
std::vector<std::string> found_later(std::string_view path) {
  std::vector<std::string> out;
  if (path.ends_with(".pmc")) out.push_back(cut(path, 1));
  if (const auto module = python_module(path); !module.empty() && !path.ends_with(module + ".py"))
    out.push_back(module + ".py");
  for (std::size_t i = 0; i < kNodeEnds.size(); ++i) {
    const auto end = kNodeEnds[i];
    if (!path.ends_with(end) || (end.empty() && name_of(path).find('.') != path.npos)) continue;
    for (const auto later : std::span(kNodeEnds).subspan(i + 1))
      out.push_back(cut(path, end.size()) + std::string(later));
  }
  return out;
}

// Pytest, and a runner that is started in a folder of tests, look there before they look into the source.
std::string module_of_source(const FileChange& change, const Shadows& shadows) {
  const auto module = python_module(change.path);
  const auto folder = std::string(parent_of(module)), name = std::string(name_of(module));
  if (folder.empty() || name == "conftest") return "";
  const bool named = shadows.folders.modules.contains(folder);
  const bool of_tests = std::ranges::any_of(kFoldersOfTests, [&](auto tests) {
    return ("/" + folder + "/").find("/" + std::string(tests) + "/") != std::string::npos;
  });
  // In a package of tests, the module's name begins with the package's.
  if (!named && (!of_tests || holds_data(folder, shadows) || shadows.was_there(folder + "/__init__.py")))
    return "";
  for (const auto source : kFoldersOfSources)
    for (const auto* end : {".py", "/__init__.py"}) {
      auto own = std::string(source) + name + end;
      if (cut(source, 1) != folder && shadows.was_there(own)) return own;
    }
  return "";
}

}  // namespace

std::string stands_in_for_own(const FileChange& change, const Shadows& shadows) {
  if (!change.after || change.before || !shadows.was_there) return "";
  for (const auto& other : found_later(change.path))
    if (shadows.is_protected && shadows.is_protected(other))
      return fmt::format("would be loaded instead of {}, which is protected", other);
  const auto own = module_of_source(change, shadows);
  return own.empty() ? "" : fmt::format("would be imported by tests instead of {}", own);
}

}  // namespace pawl::gates
