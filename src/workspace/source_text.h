// Texts of a source as a run would take it now, without a base. Stores no object.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "base/error.h"

namespace pawl::workspace {

constexpr std::uint64_t kSourceTextBytesMax = 1 << 20;

// The text of the file at a path; "" when there is none, or it is larger than kSourceTextBytesMax. REQUIRES:
// the path is a safe relative path (os/file.h).
using TextOf = std::function<std::string(const std::string& path)>;

// The texts in the folder `path`, or in the commit that `ref` names. Errors: the errors of the repository.
Result<TextOf> texts_of_source(const std::string& path, const std::optional<std::string>& ref);

}  // namespace pawl::workspace
