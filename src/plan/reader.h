// Typed reading of YAML nodes. Collects problems with their places instead of stopping at the first one.
// Internal to this room.
#pragma once

#include <yaml-cpp/yaml.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "plan/parse.h"
#include "plan/words.h"

namespace pawl::plan {

class Problems {
 public:
  explicit Problems(std::string file) : file_(std::move(file)) {}
  void add(const YAML::Node& at, const std::string& message) { add(at.Mark(), message); }
  void warn(const YAML::Node& at, const std::string& message) {
    warnings_.push_back(make(at.Mark(), message));
  }
  void add(const YAML::Mark& at, const std::string& message) { errors_.push_back(make(at, message)); }
  void add(Problem problem) { errors_.push_back(std::move(problem)); }
  bool guard(std::string_view text);   // check_yaml(); false: the problem is added
  std::vector<Problem> take_errors();  // in the order of the file
  std::vector<Problem> take_warnings() { return std::move(warnings_); }

 private:
  Problem make(const YAML::Mark& mark, const std::string& message) const;
  std::string file_;
  std::vector<Problem> errors_, warnings_;
};

// Returns what `read` makes of the document. When the text is not YAML within the bounds of yaml_guard.h,
// adds the problem and returns an empty value.
template <typename Read>
auto read_yaml(std::string_view text, Problems& problems, const Read& read)
    -> decltype(read(YAML::Node(), problems)) {
  if (!problems.guard(text)) return {};
  try {
    return read(YAML::Load(std::string(text)), problems);
  } catch (const YAML::Exception& error) {
    // The guard accepted the same text. An error here is still a fault of the text, and has a place.
    problems.add(error.mark, error.msg);
    return {};
  }
}

Place place_of(const YAML::Node& node);

// Describes the type of a node for people, such as "a list".
std::string type_of(const YAML::Node& node);

// --- Typed readers. A value that can't be read adds a problem and is left out. `what` is the key's name.
std::optional<std::string> read_string(const YAML::Node& node, const std::string& what, Problems& problems);
struct Range {  // for a number; both ends are included
  std::int64_t low, high;
};
std::optional<std::int64_t> read_integer(const YAML::Node& node, const std::string& what, Range range,
                                         Problems& problems);
std::optional<bool> read_bool(const YAML::Node& node, const std::string& what, Problems& problems);
std::optional<std::string> read_word(const YAML::Node& node, const std::string& what,
                                     const std::vector<std::string>& words, Problems& problems);
// Reads the word of one of the values. A message lists the words in this order.
template <HasWords Type>
std::optional<Type> read_enum(const YAML::Node& node, const std::string& what,
                              std::initializer_list<Type> values, Problems& problems) {
  std::vector<std::string> words;
  for (const auto value : values) words.emplace_back(name(value));
  const auto word = read_word(node, what, words, problems);
  return word ? from_name<Type>(*word) : std::nullopt;
}
// The same for all values of the enum.
template <HasWords Type>
std::optional<Type> read_enum(const YAML::Node& node, const std::string& what, Problems& problems) {
  const auto words = words_of(Type());
  const auto word = read_word(node, what, {words.begin(), words.end()}, problems);
  return word ? from_name<Type>(*word) : std::nullopt;
}
std::vector<std::string> read_strings(const YAML::Node& node, const std::string& what, Problems& problems);
// Linux accepts 131,072 bytes for one argument or variable (MAX_ARG_STRLEN) and 2 MiB for all (execve(2)).
// The difference is for a variable's name and for the text in front of a script.
constexpr std::size_t kWordBytesMax = 131'000, kWordsBytesMax = 1 << 20;
// Reads an argument list, or a string for `shell`. Words of a list may be written as numbers or booleans.
std::vector<std::string> read_command(const YAML::Node& node, const std::string& what, Shell shell,
                                      Problems& problems);

// A mapping with known keys. The constructor adds a problem for each unknown key, with the nearest known one.
class Mapping {
 public:
  // `kind` is a key of known_keys(). When the node is not a mapping, the problem is added and every key is
  // absent.
  Mapping(const YAML::Node& node, const std::string& what, const std::string& kind, Problems& problems);
  bool valid() const { return valid_; }
  const YAML::Node& node() const { return node_; }
  // Returns an undefined node when the key is absent. It reads node_ as const, because operator[] of a const
  // node never adds a key.
  YAML::Node get(const std::string& key) const;
  // Like get(), but adds a problem at the mapping when the key is absent.
  YAML::Node require(const std::string& key, Problems& problems) const;
  // The node of the key itself, for its place; the mapping when the key is absent.
  YAML::Node key_node(const std::string& key) const;

 private:
  YAML::Node node_;
  std::string what_;
  bool valid_ = false;
};

}  // namespace pawl::plan
