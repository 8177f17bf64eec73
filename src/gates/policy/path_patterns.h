// Patterns by which runners choose test files: globs as the tools of Node.js read them, names as fnmatch(3) does, and
// regular expressions. A pattern with more than is understood here does not parse. The time to match is linear in
// pattern times path, and the program of a pattern is bounded, so hostile patterns are safe. Pure. A detail of this
// folder.
#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace pawl::gates {

class PathPattern {
 public:
  // The pattern of a whole path: `*` and `?` stay inside one component, `**/` spans any number, `{a,b}`, `[ab]`,
  // `?(a|b)`, `*(a)`, `+(a)` and `@(a)` are known.
  static std::optional<PathPattern> glob(std::string_view text);
  // The pattern of a whole path or name; `*` and `?` take slashes, too.
  static std::optional<PathPattern> fnmatch(std::string_view text);
  // An expression that matches anywhere in a path.
  static std::optional<PathPattern> regex(std::string_view text);

  bool matches(std::string_view path) const;

 private:
  friend class PatternParser;
  enum class Op : std::uint8_t { kOneOf, kSplit, kJump, kBegin, kEnd, kMatch };
  struct Step {
    Op op = Op::kMatch;
    std::bitset<256> bytes;        // of kOneOf
    std::size_t one = 0, two = 0;  // where kSplit and kJump go
  };
  std::vector<Step> steps_;
};

}  // namespace pawl::gates
