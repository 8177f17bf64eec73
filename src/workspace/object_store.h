// The stored objects as an interface with all that judging attempts needs. The executor sees objects only
// through it, so the simulator can hold them in memory. Functions without a comment promise the same as the functions
// of Workspaces.
#pragma once

#include <future>
#include <memory>

#include "base/byte_source.h"
#include "workspace/workspace.h"

namespace pawl::workspace {

struct File {
  std::string path;  // Relative, safe.
  std::unique_ptr<ByteSource> bytes;
};

// A base ("": none) and the layers that a step is to see.
struct Used {
  std::string base_id;
  std::vector<std::string> layers;
};

class ObjectStore {  // Thread-safe.
 public:
  virtual ~ObjectStore() = default;
  virtual Result<Hold> hold() = 0;
  virtual bool has_layer(const std::string& layer_id) const = 0;
  virtual Status check_before_use(const std::string& base_id,
                                  const std::vector<std::string>& layers) const = 0;
  // Checks each of `used` as check_before_use() does, on another thread, or, when no thread can be started, when the
  // result is asked for. The result is the first error. Such checks run one at a time, so that a recent check is not
  // repeated. The store must outlive the result. kUnavailable: no memory is left.
  virtual std::future<Status> check_beside(std::vector<Used> used) const = 0;
  // The trees of a base, topmost first.
  virtual std::vector<std::string> trees_of(const std::string& base_id) const = 0;
  // The last `bytes_max` bytes of a blob. kNotFound: gc removed it. kForged: it was changed. The whole blob
  // is compared with its id, also when it has more bytes.
  virtual Result<std::string> blob_tail(const std::string& id, std::uint64_t bytes_max) const = 0;
  // The regular files of a layer that match one of `patterns`, in the order of their paths, at most `most`.
  // Reading a file that is larger than `bytes_max` ends with kExhausted.
  virtual Result<std::vector<File>> files_of(const std::string& layer_id,
                                             const std::vector<std::string>& patterns,
                                             std::uint64_t bytes_max, std::size_t most) const = 0;
  // Protected paths are judged in the view of the base and the layers `below`, topmost first.
  virtual Result<Workspaces::Filtered> without_protected(const std::string& layer_id,
                                                         const std::string& base_id,
                                                         const std::vector<std::string>& below,
                                                         const PathRules& rules) = 0;
  virtual Result<std::string> lid(const std::string& base_id, const std::vector<std::string>& below,
                                  const std::vector<std::string>& above,
                                  const Workspaces::Sight& sight) const = 0;
  // Whether the base with the layers `below`, topmost first, has `path`.
  virtual bool has_path(const std::string& base_id, const std::vector<std::string>& below,
                        const std::string& path) const = 0;
  // The content of the regular file that the base with the layers `below` has at `path`. kExhausted: it is
  // larger than `bytes_max`.
  virtual Result<std::string> text_at(const std::string& base_id, const std::vector<std::string>& below,
                                      const std::string& path, std::uint64_t bytes_max) const = 0;
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
  virtual Result<Workspaces::Work> without_caches(const std::string& layer_id,
                                                  const Workspaces::Source& source,
                                                  const std::vector<std::string>& below) = 0;
  virtual Status set_times(const std::string& layer_id, const std::string& base_id,
                           const std::vector<std::string>& below) const = 0;
  virtual Result<std::vector<std::string>> stack(const std::string& base_id,
                                                 const std::vector<std::string>& layers) = 0;
  virtual Result<Workspaces::Repository> repository_for(const Workspaces::Source& source,
                                                        const std::vector<std::string>& layers,
                                                        const std::string& history_at) = 0;
  virtual Result<std::string> deletion_of(const std::string& base_id, const std::vector<std::string>& layers,
                                          const std::vector<std::string>& patterns) = 0;
  virtual Result<std::vector<std::string>> overlap(const std::string& a, const std::string& b,
                                                   std::size_t most) const = 0;
  virtual Status each_change(const std::string& base_id, const std::vector<std::string>& below,
                             const std::string& layer, const ReadsFile& reads,
                             const std::function<Status(const FileChange&)>& visit) const = 0;
  // As Workspaces::diff(), with PatchTarget::bytes_max.
  virtual Result<Patch> diff(const std::string& base_id, const std::vector<std::string>& before,
                             const std::vector<std::string>& after, std::uint64_t bytes_max) const = 0;
};

// Whether two layers touch the same path. True also when that can't be determined: such layers must not be
// merged.
inline bool may_overlap(const ObjectStore& objects, const std::string& a, const std::string& b) {
  const auto paths = objects.overlap(a, b, 1);
  return !paths || !paths->empty();
}

// The store on disk. `workspaces` must outlive it.
std::unique_ptr<ObjectStore> object_store(Workspaces& workspaces);

}  // namespace pawl::workspace
