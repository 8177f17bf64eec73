// One changed file as `git apply` reads it: the format of git-diff(1), "Generating patch text with -p",
// written here because libgit2 1.5 writes some of it so that git refuses it (a binary file that only became
// executable). A detail of this room.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "workspace/git/git.h"
#include "workspace/git/patch.h"

namespace pawl::workspace {

// Of one file in a patch: it is in memory, several times over.
constexpr std::uint64_t kPatchedFileBytesMax = 512ULL << 20;
// git apply reads no more of one patch (MAX_APPLY_SIZE in its apply.c, 2.39).
constexpr std::uint64_t kPatchBytesMax = 1023ULL << 20;

// A file on one side of a patch.
struct PatchSide {
  std::string path;
  std::optional<GitFile> file;  // nullopt: not there
};

// The part of a patch that makes `after` of `before`; "" when they are the same. Both sides are there and
// their paths differ: the file was moved, and the two are equally a file or equally a link. kExhausted: what
// is new is larger than kPatchedFileBytesMax; the message says so and has no path. `sha256_ids`: as
// PatchTarget has it.
Result<std::string> patch_text(const PatchSide& before, const PatchSide& after, bool sha256_ids);

}  // namespace pawl::workspace
