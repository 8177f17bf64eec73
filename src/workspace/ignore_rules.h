// .gitignore files, with the meaning of gitignore(5) and git. libgit2 is unsuitable: it drops negations that
// it takes for useless. A detail of this room.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace pawl::workspace {

// Matches a pattern with slashes against a whole path: "*" stays inside a name, "**" stands for any folders.
bool matches_parts(std::string_view pattern, std::string_view path);

// Paths are relative to one root, without "." and "..". Not thread-safe.
class IgnoreRules {
 public:
  // Adds the text of the .gitignore in `folder`; "" is the root.
  void add(const std::string& folder, std::string_view text);
  bool empty() const { return rules_.empty(); }
  // Whether a rule ignores `path` or a folder above it.
  bool names(const std::string& path, bool is_folder);

 private:
  struct Rule {
    std::vector<std::string> parts;  // The parts of the pattern between its slashes.
    bool negated = false, folders_only = false;
    bool any_depth = false;  // A pattern without a slash.
  };
  static bool matches(const Rule& rule, std::string_view below);
  bool folder_is_ignored(const std::string& path);
  bool last_word(const std::string& path, bool is_folder) const;

  std::map<std::string, std::vector<Rule>> rules_;  // By folder.
  std::map<std::string, bool> folders_;             // Answers so far: whether a folder is ignored.
};

}  // namespace pawl::workspace
