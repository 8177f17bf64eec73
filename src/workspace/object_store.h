// What judging attempts needs of the kept objects, as an interface: the executor sees objects only through
// it, so that the simulator can keep them in memory. What the functions promise is written at those of
// Workspaces.
#pragma once

#include <future>
#include <memory>

#include "base/byte_source.h"
#include "workspace/workspace.h"

namespace pawl::workspace {

struct File {
  std::string path;  // relative, safe
  std::unique_ptr<ByteSource> bytes;
};

// A base ("": none) and layers that a step is to see.
struct Used {
  std::string base_id;
  std::vector<std::string> layers;
};

class ObjectStore {  // thread-safe
 public:
  virtual ~ObjectStore() = default;
  virtual Result<Hold> hold() = 0;
  virtual bool has_layer(const std::string& layer_id) const = 0;
  virtual Status check_before_use(const std::string& base_id,
                                  const std::vector<std::string>& layers) const = 0;
  // The same of each, beside the caller: the first error. Looks that were begun earlier come first, so that
  // none is made twice. The store must outlive it.
  virtual std::future<Status> check_beside(std::vector<Used> used) const = 0;
  // Topmost first.
  virtual std::vector<std::string> trees_of(const std::string& base_id) const = 0;
  // The last `bytes_max` bytes of a blob. kNotFound: gc took it. kForged: it was changed; a blob that has
  // more bytes is not compared with its id.
  virtual Result<std::string> blob_tail(const std::string& id, std::uint64_t bytes_max) const = 0;
  // The regular files of a layer that match one of `patterns`, in the order of their paths, at most `most`.
  // Reading one that is larger than `bytes_max` ends with kExhausted.
  virtual Result<std::vector<File>> files_of(const std::string& layer_id,
                                             const std::vector<std::string>& patterns,
                                             std::uint64_t bytes_max, std::size_t most) const = 0;
  // Protected paths are judged in the view of the base and of the layers `below`, topmost first.
  virtual Result<Workspaces::Filtered> without_protected(const std::string& layer_id,
                                                         const std::string& base_id,
                                                         const std::vector<std::string>& below,
                                                         const PathRules& rules) = 0;
  virtual Result<std::string> lid(const std::string& base_id, const std::vector<std::string>& below,
                                  const std::vector<std::string>& above,
                                  const Workspaces::Sight& sight) const = 0;
  // Base and the layers `below`, topmost first.
  virtual bool has_path(const std::string& base_id, const std::vector<std::string>& below,
                        const std::string& path) const = 0;
  virtual Result<std::string> only(const std::string& layer_id,
                                   const std::vector<std::string>& patterns) const = 0;
  virtual Result<Workspaces::Work> without_ignored(const std::string& layer_id,
                                                   const Workspaces::Source& source,
                                                   const std::vector<std::string>& below) = 0;
  virtual Result<Workspaces::RefusedWork> refused_work(const std::vector<std::string>& named,
                                                       std::int64_t total, const Workspaces::Source& source,
                                                       const std::vector<std::string>& below) const = 0;
  virtual Result<bool> leaves_out(const std::string& path, const Workspaces::Source& source,
                                  const std::vector<std::string>& below) const = 0;
  virtual Result<Workspaces::Work> without_caches(const std::string& layer_id, const std::string& base_id,
                                                  const std::vector<std::string>& below) = 0;
  virtual Status set_times(const std::string& layer_id, const std::string& base_id,
                           const std::vector<std::string>& below) const = 0;
  virtual Result<std::vector<std::string>> stack(const std::string& base_id,
                                                 const std::vector<std::string>& layers) = 0;
  virtual Result<std::string> deletion_of(const std::string& base_id, const std::vector<std::string>& layers,
                                          const std::vector<std::string>& patterns) = 0;
  virtual Result<std::vector<std::string>> overlap(const std::string& a, const std::string& b,
                                                   std::size_t most) const = 0;
  virtual Status each_change(const std::string& base_id, const std::vector<std::string>& below,
                             const std::string& layer, const ReadsFile& reads,
                             const std::function<Status(const FileChange&)>& visit) const = 0;
  // As Workspaces has it, with PatchTarget::bytes_max.
  virtual Result<Patch> diff(const std::string& base_id, const std::vector<std::string>& before,
                             const std::vector<std::string>& after, std::uint64_t bytes_max) const = 0;
};

// Whether two layers touch the same path. When it can't be known, they must not be merged either.
inline bool may_overlap(const ObjectStore& objects, const std::string& a, const std::string& b) {
  const auto paths = objects.overlap(a, b, 1);
  return !paths || !paths->empty();
}

// On disk. `workspaces` must outlive it.
std::unique_ptr<ObjectStore> object_store(Workspaces& workspaces);

}  // namespace pawl::workspace
