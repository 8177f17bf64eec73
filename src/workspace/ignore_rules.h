// .gitignore files, as gitignore(5) says and git does; libgit2 drops negations that it takes for useless. A
// detail of this room.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::workspace {

// A pattern with slashes against a whole path: "*" stays inside a name, "**" stands for any folders.
bool matches_parts(std::string_view pattern, std::string_view path);

// Paths are relative to one root, without "." and "..". Not thread-safe.
class IgnoreRules {
 public:
  // The text of the .gitignore in `folder`; "" is the root.
  void add(const std::string& folder, std::string_view text);
  bool empty() const { return rules_.empty(); }
  // Whether a rule says that `path`, or a folder above it, is ignored.
  bool names(const std::string& path, bool is_folder);

 private:
  struct Rule {
    std::vector<std::string> parts;  // of the pattern, between its slashes
    bool negated = false, folders_only = false;
    bool any_depth = false;  // a name without a slash
  };
  static bool matches(const Rule& rule, std::string_view below);
  bool folder_is_ignored(const std::string& path);
  bool last_word(const std::string& path, bool is_folder) const;

  std::map<std::string, std::vector<Rule>> rules_;  // by folder
  std::map<std::string, bool> folders_;             // that were asked for
};

}  // namespace pawl::workspace
