// Path patterns as the plan writes them (protect, copy_out, reports).
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace pawl {

// True when the relative path `path` matches `pattern`: '*' and '?' stay inside one component, '**' as a
// whole component spans any number of components (also none), "dir/**" covers everything below dir, other
// characters stand for themselves. No classes, no braces. Linear in pattern times path: safe on hostile
// paths.
bool glob_matches(std::string_view pattern, std::string_view path);

// As above, and a pattern whose last component has no wildcard also covers all below what it matches: "tests"
// is a file of that name, or the folder with everything in it.
bool glob_covers(std::string_view pattern, std::string_view path);
bool any_covers(std::span<const std::string> patterns, std::string_view path);

}  // namespace pawl
