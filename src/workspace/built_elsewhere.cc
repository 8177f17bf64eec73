#include "workspace/built_elsewhere.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <memory>
#include <utility>

#include "os/file.h"
#include "os/parallel.h"
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

struct Seen {
  bool is_marked = false;
  std::vector<std::string> below;  // The folders in which something may have been built.
};

// Looks at the folder `path`, and lists those below it. Looks for marks by name, since most folders have none.
Seen look_at(const std::string& source, const std::string& path) {
  const std::string full = path.empty() ? source : os::join(source, path);
  const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(full.c_str()), closedir);
  if (!open) return {.is_marked = is_marked(source, full)};
  Seen out;
  bool has_mark = false;
  while (const dirent* entry = readdir(open.get())) {
    const std::string_view name = entry->d_name;
    has_mark = has_mark || std::ranges::find(kTraces, name, &Mark::mark) != kTraces.end();
    if (entry->d_type != DT_DIR || name == "." || name == ".." || name == "node_modules" ||
        !is_kept_name(name))
      continue;
    out.below.push_back(child(path, name));
  }
  out.is_marked = has_mark && is_marked(source, full);
  if (out.is_marked) out.below.clear();
  return out;
}

}  // namespace

std::vector<std::string> built_elsewhere(const std::string& source) {
  if (source == "/workspace") return {};
  std::vector<std::string> out, level{""}, below;
  std::size_t left = kFoldersMax;
  for (int depth = 0; depth <= kDepthMax; ++depth, level = std::exchange(below, {})) {
    std::ranges::sort(level);  // So that the same folders are looked at each time.
    level.resize(std::min(level.size(), left));
    left -= level.size();
    std::vector<Seen> seen(level.size());
    const auto looked = os::for_each_in_parallel(level.size(), [&](std::size_t i) -> Status {
      if (depth < kDepthMax)
        seen[i] = look_at(source, level[i]);
      else
        seen[i].is_marked = is_marked(source, os::join(source, level[i]));
      return {};
    });
    PAWL_CHECK(looked.has_value());
    for (std::size_t i = 0; i < level.size(); ++i) {
      if (seen[i].is_marked) out.push_back(level[i].empty() ? "." : level[i]);
      std::ranges::move(seen[i].below, std::back_inserter(below));
    }
  }
  std::ranges::sort(out);
  return out;
}

}  // namespace pawl::workspace
