// Where objects lie, and how one comes into being: made below tmp/, synced, renamed to its id. A detail of
// this room.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "workspace/workspace.h"

namespace pawl::workspace {

std::string object_folder(const std::string& folder,
                          std::string_view kind);  // blobs, bases, derived, layers, git, tmp
std::string lock_path(const std::string& folder);  // what Workspaces::hold locks

// A new folder below tmp/; whoever makes it puts the object's files into `tree/` below.
Result<std::string> make_temporary(const std::string& folder);
// Durable when it returns. Consumes `temporary`; returns the id: BLAKE3 of the manifest. `renews`: a layer
// that is there already gets the times of this one.
Result<std::string> keep_object(const std::string& folder, std::string_view kind,
                                const std::string& temporary, std::vector<Entry> entries, bool renews = true);
constexpr std::uint64_t kManifestBytesMax = 1ULL << 30;
std::string manifest_path(const std::string& folder, std::string_view kind, const std::string& id);

}  // namespace pawl::workspace
