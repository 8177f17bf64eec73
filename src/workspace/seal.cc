#include "workspace/seal.h"

#include "base/hash.h"
#include "base/seal.h"
#include "os/defences.h"
#include "os/file.h"
#include "workspace/objects.h"
#include "workspace/workspace.h"

namespace pawl::workspace {
namespace {

Seal seal_of(const Workspaces& workspaces, std::string_view kind, const std::string& name) {
  return Seal(workspaces.key(), std::string(kind) + "/" + name);
}

}  // namespace

Status keep_record(const Workspaces& workspaces, std::string_view kind, const std::string& name,
                   std::string_view text) {
  return os::write_atomically(os::join(object_folder(workspaces.folder(), kind), name),
                              seal_of(workspaces, kind, name).of(text) + std::string(text));
}

std::optional<std::string> record_of(const Workspaces& workspaces, std::string_view kind,
                                     const std::string& name) {
  const auto whole =
      os::read_file(os::join(object_folder(workspaces.folder(), kind), name), kManifestBytesMax);
  if (!whole || whole->size() < kHashHexSize) return std::nullopt;
  std::string text = whole->substr(kHashHexSize);
  const bool is_ours = seal_of(workspaces, kind, name).holds(whole->substr(0, kHashHexSize), text);
  if (!is_ours && os::defences().objects) return std::nullopt;
  return text;
}

}  // namespace pawl::workspace
