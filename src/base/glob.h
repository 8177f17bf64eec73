// Path patterns of a plan (protect, copy_out, reports).
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace pawl {

// Whether the relative path `path` matches `pattern`. '*' and '?' stay inside one component. '**' as a whole
// component spans any number of components, also none. "dir/**" covers everything below dir. Other characters
// match themselves, also brackets and braces. Time is linear in pattern times path, so hostile paths are
// safe.
bool glob_matches(std::string_view pattern, std::string_view path);

// As above. A pattern without a wildcard in its last component also covers everything below what it matches:
// "tests" is a file of that name, or a folder with all its content.
bool glob_covers(std::string_view pattern, std::string_view path);
bool any_covers(std::span<const std::string> patterns, std::string_view path);

}  // namespace pawl
