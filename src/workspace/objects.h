// Where objects lie, and how an object is made: below tmp/, synced, renamed to its id. Other rooms make none.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "os/temporary_folder.h"
#include "workspace/workspace.h"

namespace pawl::workspace {

// The folder of a kind of objects: blobs, bases, derived, layers, git, merges, folders, repositories or tmp.
std::string object_folder(const std::string& folder, std::string_view kind);
std::string lock_path(const std::string& folder);  // The file that Workspaces::hold locks.

// Makes a new folder below tmp/. The caller puts the object's files into `tree/` in it.
Result<os::TemporaryFolder> make_temporary(const std::string& folder);
// Stores an object. Durable when it returns. Consumes `temporary`; returns the id: BLAKE3 of the manifest.
// `renews`: a layer that is already stored gets the times of this layer.
Result<std::string> keep_object(const std::string& folder, std::string_view kind,
                                os::TemporaryFolder temporary, std::vector<Entry> entries,
                                bool renews = true);
constexpr std::uint64_t kManifestBytesMax = 1ULL << 30;
// Visits the entries of Workspaces::manifest() in order. An error of visit() ends the walk, and is returned.
Status each_entry(const Workspaces& workspaces, const std::string& layer_id,
                  const std::function<Status(Entry)>& visit);
std::string manifest_path(const std::string& folder, std::string_view kind, const std::string& id);

}  // namespace pawl::workspace
