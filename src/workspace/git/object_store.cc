#include "workspace/object_store.h"

#include <sys/stat.h>

#include <algorithm>
#include <limits>
#include <mutex>
#include <new>
#include <system_error>
#include <utility>

#include "base/glob.h"
#include "base/hash.h"
#include "os/defences.h"
#include "os/file.h"
#include "workspace/tree.h"

namespace pawl::workspace {
namespace {

class DiskObjects final : public ObjectStore {
 public:
  explicit DiskObjects(Workspaces& kept) : kept_(kept) {}

  Result<Hold> hold() override { return kept_.hold(); }

  bool has_layer(const std::string& layer_id) const override { return kept_.has_layer(layer_id); }

  Status check_before_use(const std::string& base_id, const std::vector<std::string>& layers) const override {
    return kept_.check_before_use(base_id, layers);
  }
  std::future<Status> check_beside(std::vector<Used> used) const override {
    const auto look = [this, used = std::move(used)]() -> Status {
      const std::lock_guard one_at_a_time(looks_);
      try {
        for (const auto& [base_id, layers] : used) PAWL_OK(kept_.check_before_use(base_id, layers));
      } catch (const std::bad_alloc&) {
        return fail(ErrorKind::kUnavailable, "no memory is left to look at the objects of the run");
      }
      return {};
    };
    try {
      return std::async(std::launch::async, look);
    } catch (const std::system_error&) {
      return std::async(std::launch::deferred, look);  // There is no thread, or no memory for its stack.
    }
  }

  std::vector<std::string> trees_of(const std::string& base_id) const override {
    return kept_.trees_of(base_id, {});
  }

  Result<std::string> blob_tail(const std::string& id, std::uint64_t bytes_max) const override {
    // One reading gives the tail and the hash: in a second one, the file could have other bytes.
    const auto source = os::file_source(kept_.blob_path(id), std::numeric_limits<std::int64_t>::max());
    Hasher hasher;
    std::string tail;
    const auto cut = [&] { tail.erase(0, tail.size() - std::min<std::uint64_t>(tail.size(), bytes_max)); };
    for (;;) {
      PAWL_TRY(const auto piece, source->next());
      if (piece.empty()) break;
      hasher.update(piece);
      tail += piece;
      if (tail.size() / 2 > bytes_max) cut();  // seldom, because a cut moves all bytes that stay
    }
    cut();
    if (hasher.hex() != id && os::defences().objects)
      return fail(ErrorKind::kForged, kept_.blob_path(id) + " was changed since it was kept");
    return tail;
  }

  Result<std::vector<File>> files_of(const std::string& layer_id, const std::vector<std::string>& patterns,
                                     std::uint64_t bytes_max, std::size_t most) const override {
    PAWL_TRY(const auto entries, kept_.manifest(layer_id));
    std::vector<File> out;
    for (const auto& entry : entries) {
      const bool wanted =
          entry.type == EntryType::kFile && std::ranges::any_of(patterns, [&](const auto& pattern) {
            return glob_matches(pattern, entry.path);
          });
      if (!wanted || out.size() >= most) continue;
      out.push_back({.path = entry.path,
                     .bytes = os::file_source(os::join(kept_.layer_tree(layer_id), entry.path), bytes_max)});
    }
    return out;
  }

  Result<Workspaces::Filtered> without_protected(const std::string& layer_id, const std::string& base_id,
                                                 const std::vector<std::string>& below,
                                                 const PathRules& rules) override {
    return kept_.without_protected(layer_id, base_id, below, rules);
  }

  Result<std::string> lid(const std::string& base_id, const std::vector<std::string>& below,
                          const std::vector<std::string>& above,
                          const Workspaces::Sight& sight) const override {
    return kept_.lid(base_id, below, above, sight);
  }

  bool has_path(const std::string& base_id, const std::vector<std::string>& below,
                const std::string& path) const override {
    return View(kept_.trees_of(base_id, below)).find(path).has_value();
  }

  Result<std::string> text_at(const std::string& base_id, const std::vector<std::string>& below,
                              const std::string& path, std::uint64_t bytes_max) const override {
    // The path may come from a file of the repository, and so may a link there.
    if (!os::is_safe_relative_path(path)) return fail(ErrorKind::kNotFound, path);
    const auto place = View(kept_.trees_of(base_id, below)).find(path);
    struct stat status {};
    if (!place || lstat(place->c_str(), &status) != 0 || !S_ISREG(status.st_mode))
      return fail(ErrorKind::kNotFound, path);
    return os::read_file(*place, bytes_max);
  }

  Result<std::string> only(const std::string& layer_id,
                           const std::vector<std::string>& patterns) const override {
    return kept_.only(layer_id, patterns);
  }

  Result<Workspaces::Work> without_ignored(const std::string& layer_id, const Workspaces::Source& source,
                                           const std::vector<std::string>& below) override {
    return kept_.without_ignored(layer_id, source, below);
  }

  Result<Workspaces::RefusedWork> refused_work(const std::vector<std::string>& named, std::int64_t total,
                                               const Workspaces::Source& source,
                                               const std::vector<std::string>& below) const override {
    return kept_.refused_work(named, total, source, below);
  }

  Result<bool> leaves_out(const std::string& path, const Workspaces::Source& source,
                          const std::vector<std::string>& below) const override {
    return kept_.leaves_out(path, source, below);
  }

  Result<Workspaces::Work> without_caches(const std::string& layer_id, const Workspaces::Source& source,
                                          const std::vector<std::string>& below) override {
    return kept_.without_caches(layer_id, source, below);
  }

  Status set_times(const std::string& layer_id, const std::string& base_id,
                   const std::vector<std::string>& below) const override {
    return kept_.set_times(layer_id, base_id, below);
  }

  Result<std::vector<std::string>> stack(const std::string& base_id,
                                         const std::vector<std::string>& layers) override {
    return kept_.stack(base_id, layers);
  }

  Result<Workspaces::Repository> repository_for(const Workspaces::Source& source,
                                                const std::vector<std::string>& layers,
                                                const std::string& history_at) override {
    return kept_.repository_for(source, layers, history_at);
  }

  Result<std::string> deletion_of(const std::string& base_id, const std::vector<std::string>& layers,
                                  const std::vector<std::string>& patterns) override {
    return kept_.deletion_of(base_id, layers, patterns);
  }

  Result<std::vector<std::string>> overlap(const std::string& a, const std::string& b,
                                           std::size_t most) const override {
    return kept_.overlap(a, b, most);
  }

  Status each_change(const std::string& base_id, const std::vector<std::string>& below,
                     const std::string& layer, const ReadsFile& reads,
                     const std::function<Status(const FileChange&)>& visit) const override {
    return kept_.each_change(base_id, below, layer, reads, visit);
  }

  Result<Patch> diff(const std::string& base_id, const std::vector<std::string>& before,
                     const std::vector<std::string>& after, std::uint64_t bytes_max) const override {
    return kept_.diff(base_id, before, after, {.bytes_max = bytes_max});
  }

 private:
  Workspaces& kept_;
  mutable std::mutex looks_;  // Held during the checks of check_beside().
};

}  // namespace

std::unique_ptr<ObjectStore> object_store(Workspaces& workspaces) {
  return std::make_unique<DiskObjects>(workspaces);
}

}  // namespace pawl::workspace
