#include "workspace/built_elsewhere.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <memory>

#include "os/file.h"
#include "workspace/tree.h"

namespace pawl::workspace {
namespace {

constexpr int kDepthMax = 3;  // Enough for packages/x/.venv; a large source is not walked through.
constexpr std::size_t kFoldersMax = 5'000;
constexpr std::uint64_t kTextBytesMax = 4 << 20;

// A file that tools write where they build or install, and the file with the absolute path.
struct Mark {
  std::string_view mark, text;
};
constexpr std::array kTraces = {
    Mark{"pyvenv.cfg", "pyvenv.cfg"},         Mark{"pyvenv.cfg", "bin/activate"},
    Mark{"CMakeCache.txt", "CMakeCache.txt"}, Mark{"config.status", "config.status"},
    Mark{"build.ninja", "build.ninja"},       Mark{"meson-info", "meson-info/intro-buildsystem_files.json"}};

class Walk {
 public:
  explicit Walk(const std::string& source) : source_(source) {}

  void folder(const std::string& path, int depth) {
    const std::string full = path.empty() ? source_ : os::join(source_, path);
    if (is_marked(full)) return found.push_back(path.empty() ? "." : path);
    if (depth == kDepthMax || ++folders_ > kFoldersMax) return;
    const std::unique_ptr<DIR, int (*)(DIR*)> open(opendir(full.c_str()), closedir);
    if (!open) return;
    while (const dirent* entry = readdir(open.get())) {
      const std::string name = entry->d_name;
      if (entry->d_type != DT_DIR || name == "." || name == ".." || name == "node_modules" ||
          !is_kept_name(name))
        continue;
      folder(child(path, name), depth + 1);
    }
  }

  std::vector<std::string> found;

 private:
  bool is_marked(const std::string& full) const {
    return std::ranges::any_of(kTraces, [&](const Mark& one) {
      if (!os::exists(os::join(full, std::string(one.mark)))) return false;
      const auto text = os::read_file(os::join(full, std::string(one.text)), kTextBytesMax);
      return text && text->find(source_ + "/") != std::string::npos;
    });
  }

  const std::string& source_;
  std::size_t folders_ = 0;
};

}  // namespace

std::vector<std::string> built_elsewhere(const std::string& source) {
  if (source == "/workspace") return {};
  Walk walk(source);
  walk.folder("", 0);
  std::ranges::sort(walk.found);
  return std::move(walk.found);
}

}  // namespace pawl::workspace
