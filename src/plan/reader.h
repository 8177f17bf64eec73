// Typed reading of YAML nodes that collects problems with their places instead of stopping. A detail of this
// room.
#pragma once

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/parse.h"

namespace pawl::plan {

class Problems {
 public:
  explicit Problems(std::string file) : file_(std::move(file)) {}
  void add(const YAML::Node& at, const std::string& message) { add(at.Mark(), message); }
  void warn(const YAML::Node& at, const std::string& message) {
    warnings_.push_back(make(at.Mark(), message));
  }
  void add(const YAML::Mark& at, const std::string& message) { errors_.push_back(make(at, message)); }
  bool guard(std::string_view text);   // check_yaml(); false: the problem is added
  std::vector<Problem> take_errors();  // in the order of the file
  std::vector<Problem> take_warnings() { return std::move(warnings_); }

 private:
  Problem make(const YAML::Mark& mark, const std::string& message) const;
  std::string file_;
  std::vector<Problem> errors_, warnings_;
};

// What `read` makes of the document, when it is YAML within the bounds of yaml_guard.h; else nothing, and the
// problem.
template <typename Read>
auto read_yaml(std::string_view text, Problems& problems, const Read& read)
    -> decltype(read(YAML::Node(), problems)) {
  if (!problems.guard(text)) return {};
  try {
    return read(YAML::Load(std::string(text)), problems);
  } catch (const YAML::Exception& error) {
    // The guard saw the same text pass; whatever this is, it is the text's fault and has a place.
    problems.add(error.mark, error.msg);
    return {};
  }
}

Place place_of(const YAML::Node& node);

// What a node is, in words for people.
std::string type_of(const YAML::Node& node);

// --- each returns nothing after it has named the problem; `what` is the key's name
std::optional<std::string> read_string(const YAML::Node& node, const std::string& what, Problems& problems);
std::optional<std::int64_t> read_integer(const YAML::Node& node, const std::string& what, std::int64_t low,
                                         std::int64_t high, Problems& problems);
std::optional<bool> read_bool(const YAML::Node& node, const std::string& what, Problems& problems);
std::optional<std::string> read_word(const YAML::Node& node, const std::string& what,
                                     const std::vector<std::string>& words, Problems& problems);
std::vector<std::string> read_strings(const YAML::Node& node, const std::string& what, Problems& problems);
// Linux takes 131,072 bytes of one argument or variable (MAX_ARG_STRLEN) and 2 MiB of all (execve(2)); the
// rest is for a variable's name and what is put in front of a script.
constexpr std::size_t kWordBytesMax = 131'000, kWordsBytesMax = 1 << 20;
// An argument list, or a string for `shell`. Words of a command may be written as numbers or booleans.
std::vector<std::string> read_command(const YAML::Node& node, const std::string& what, Shell shell,
                                      Problems& problems);

// A mapping whose keys are known. Unknown keys are named with the nearest right one.
class Mapping {
 public:
  // `kind` is a key of known_keys(). Not a mapping: the problem is added and every key is absent.
  Mapping(const YAML::Node& node, const std::string& what, const std::string& kind, Problems& problems);
  bool valid() const { return valid_; }
  const YAML::Node& node() const { return node_; }
  // An undefined node when absent (a copy: operator[] of a const node never adds one).
  YAML::Node get(const std::string& key) const;
  // Adds "required" at the mapping when absent.
  YAML::Node require(const std::string& key, Problems& problems) const;
  YAML::Node key_node(const std::string& key) const;

 private:
  YAML::Node node_;
  std::string what_;
  bool valid_ = false;
};

}  // namespace pawl::plan
