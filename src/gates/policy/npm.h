// What an attempt does to what npm installs. A detail of this room.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/policy.h"

namespace pawl::gates {

struct NpmFinding {
  std::int64_t line = 0;  // 0: of the file as a whole
  std::string words;
};

// Of a changed package.json, package-lock.json or npm-shrinkwrap.json, what its version before did not have
// already; nothing for other files. Formats: docs.npmjs.com, "package.json" and "package-lock.json".
std::vector<NpmFinding> npm_findings(const FileChange& change);

}  // namespace pawl::gates
