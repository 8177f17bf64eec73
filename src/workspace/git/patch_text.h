// The patch text of one changed file for `git apply`, in the format of git-diff(1), "Generating patch text
// with -p". It is written here because git refuses some output of libgit2 1.5 (a binary file that only became
// executable). A detail of this room.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "workspace/git/git.h"
#include "workspace/git/patch.h"

namespace pawl::workspace {

// The limit for one file of a patch: the file is in memory, several times.
constexpr std::uint64_t kPatchedFileBytesMax = 512ULL << 20;
// git apply reads no larger patch (MAX_APPLY_SIZE in its apply.c, 2.39).
constexpr std::uint64_t kPatchBytesMax = 1023ULL << 20;

// A file on one side of a patch.
struct PatchSide {
  std::string path;
  std::optional<GitFile> file;  // nullopt: absent.
};

// The part of a patch that turns `before` into `after`; "" when they are equal. When both sides exist and
// their paths differ, the file was moved: then both must be files or both links. kExhausted: the new content
// is larger than kPatchedFileBytesMax; the message says so, without a path. `sha256_ids`: see PatchTarget.
Result<std::string> patch_text(const PatchSide& before, const PatchSide& after, bool sha256_ids);

}  // namespace pawl::workspace
