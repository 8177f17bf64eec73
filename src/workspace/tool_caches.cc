#include "workspace/tool_caches.h"

#include <algorithm>
#include <array>

#include "os/defences.h"
#include "os/file.h"

namespace pawl::workspace {
namespace {

// Names of files and folders, from the manual of each tool. Sorted.
constexpr std::array<std::string_view, 30> kCaches = {".bloop",
                                                      ".cache",
                                                      ".coverage",
                                                      ".eggs",
                                                      ".eslintcache",
                                                      ".gradle",
                                                      ".hypothesis",
                                                      ".mypy_cache",
                                                      ".ninja_deps",
                                                      ".ninja_log",
                                                      ".nox",
                                                      ".nyc_output",
                                                      ".parcel-cache",
                                                      ".phpunit.cache",
                                                      ".phpunit.result.cache",
                                                      ".prove",
                                                      ".pyre",
                                                      ".pytest_cache",
                                                      ".pytype",
                                                      ".rspec_status",
                                                      ".ruff_cache",
                                                      ".sconsign.dblite",
                                                      ".stack-work",
                                                      ".stylelintcache",
                                                      ".swc",
                                                      ".testmondata",
                                                      ".tox",
                                                      ".turbo",
                                                      "_Inline",
                                                      "__pycache__"};
constexpr std::array<std::string_view, 5> kCacheEnds = {".pyc", ".pyo", ".egg-info", ".tsbuildinfo", ".gcda"};
constexpr std::string_view kCoverageData = ".coverage.";  // One file for each process.

// A new folder with such a file was built or installed. CACHEDIR.TAG: bford.info/cachedir, which cargo and
// many other tools follow.
constexpr std::array<std::string_view, 3> kMarks = {"CACHEDIR.TAG", "pyvenv.cfg", "CMakeCache.txt"};
constexpr std::string_view kCacheSignature = "Signature: 8a477f597d28d172789f06886806bc55";
constexpr std::string_view kInstalled = "node_modules";

bool is_cache(std::string_view name) {
  return std::ranges::binary_search(kCaches, name) || name.starts_with(kCoverageData) ||
         std::ranges::any_of(kCacheEnds, [&](auto end) { return name.ends_with(end); });
}

// The shortest part of `path` whose last name `is_wanted` accepts; "" when there is none.
std::string_view up_to(std::string_view path, bool (*is_wanted)(std::string_view name)) {
  for (std::size_t start = 0; start < path.size();) {
    const auto end = std::min(path.find('/', start), path.size());
    if (is_wanted(path.substr(start, end - start))) return path.substr(0, end);
    start = end + 1;
  }
  return {};
}

bool is_mark(const Entry& entry, const std::string& tree) {
  const auto name = last_name(entry.path);
  if (entry.type != EntryType::kFile || std::ranges::find(kMarks, name) == kMarks.end()) return false;
  if (name != kMarks.front()) return true;
  const auto text = os::read_file(os::join(tree, entry.path), 4096);
  return text && text->starts_with(kCacheSignature);
}

}  // namespace

std::string_view cache_at(std::string_view path) {
  static const bool kLooks = os::defences().caches;
  return kLooks ? up_to(path, is_cache) : std::string_view();
}

std::string_view installed_at(std::string_view path) {
  return up_to(path, [](std::string_view name) { return name == kInstalled; });
}

bool is_measured(std::string_view cache) {
  const auto name = last_name(cache);
  return name == ".coverage" || name.starts_with(kCoverageData) || name == ".nyc_output" ||
         name.ends_with(".gcda");
}

std::set<std::string> built_folders(const std::vector<Entry>& entries, const std::string& tree,
                                    const View& lower) {
  std::set<std::string> out;
  for (const auto& entry : entries) {
    std::string folder;
    if (entry.type == EntryType::kFolder && last_name(entry.path) == kInstalled)
      folder = entry.path;
    else if (entry.path.find('/') != std::string::npos && is_mark(entry, tree))
      folder = entry.path.substr(0, entry.path.rfind('/'));
    if (!folder.empty() && !lower.find(folder)) out.insert(std::move(folder));
  }
  return out;
}

bool is_in_built(const View& view, const std::string& path) {
  for (auto slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1))
    if (std::ranges::any_of(
            kMarks, [&](auto mark) { return view.find(child(path.substr(0, slash), mark)).has_value(); }))
      return true;
  return false;
}

bool is_in(const std::set<std::string>& folders, std::string_view path) {
  return std::ranges::any_of(folders, [&](const auto& folder) {
    return path == folder || (path.starts_with(folder) && path[folder.size()] == '/');
  });
}

}  // namespace pawl::workspace
