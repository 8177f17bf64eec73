#include "workspace/built_elsewhere.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "os/file.h"
#include "workspace/tree.h"

namespace pawl::workspace {
namespace {

constexpr int kDepthMax = 3;  // Enough for packages/x/.venv; a large source is not walked through.
constexpr std::size_t kFoldersMax = 2'000;  // The upper ones first.
constexpr std::uint64_t kTextBytesMax = 4 << 20;

// A file that tools write where they build or install, and the file with the absolute path.
struct Mark {
  std::string_view mark, text;
};
constexpr std::array kTraces = {
    Mark{"pyvenv.cfg", "pyvenv.cfg"},         Mark{"pyvenv.cfg", "bin/activate"},
    Mark{"CMakeCache.txt", "CMakeCache.txt"}, Mark{"config.status", "config.status"},
    Mark{"build.ninja", "build.ninja"},       Mark{"meson-info", "meson-info/intro-buildsystem_files.json"}};

bool is_marked(const std::string& source, const std::string& folder) {
  return std::ranges::any_of(kTraces, [&](const Mark& one) {
    if (!os::exists(os::join(folder, std::string(one.mark)))) return false;
    const auto text = os::read_file(os::join(folder, std::string(one.text)), kTextBytesMax);
    return text && text->find(source + "/") != std::string::npos;
  });
}

// Appends the folders below `path` in which something may have been built.
void list_folders(const std::string& full, const std::string& path, std::vector<std::string>& out) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(full.c_str()), closedir);
  if (!open) return;
  while (const dirent* entry = readdir(open.get())) {
    const std::string_view name = entry->d_name;
    if (entry->d_type != DT_DIR || name == "." || name == ".." || name == "node_modules" ||
        !is_kept_name(entry->d_name))
      continue;
    out.push_back(child(path, name));
  }
}

}  // namespace

std::vector<std::string> built_elsewhere(const std::string& source) {
  if (source == "/workspace") return {};
  std::vector<std::string> out, level{""}, below;
  std::size_t looked = 0;
  for (int depth = 0; depth <= kDepthMax; ++depth, level = std::exchange(below, {})) {
    std::ranges::sort(level);  // So that the same folders are looked at each time.
    for (const auto& path : level) {
      if (++looked > kFoldersMax) break;
      const std::string full = path.empty() ? source : os::join(source, path);
      if (is_marked(source, full))
        out.push_back(path.empty() ? "." : path);
      else if (depth < kDepthMax)
        list_folders(full, path, below);
    }
  }
  std::ranges::sort(out);
  return out;
}

}  // namespace pawl::workspace
