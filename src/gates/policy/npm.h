// Findings about the packages that npm installs after an attempt. A detail of this room.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/policy.h"

namespace pawl::gates {

struct NpmFinding {
  std::int64_t line = 0;  // 0: the file as a whole
  std::string words;      // has whole values of the file, which may be long, or secrets
};

// Findings in a changed package.json, package-lock.json or npm-shrinkwrap.json that its earlier version does
// not have already. Empty for other files. Formats: docs.npmjs.com, "package.json" and "package-lock.json".
std::vector<NpmFinding> npm_findings(const FileChange& change);

}  // namespace pawl::gates
