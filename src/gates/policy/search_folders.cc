#include "gates/policy/search_folders.h"

#include <algorithm>
#include <array>
#include <optional>

namespace pawl::gates {
namespace {

constexpr std::string_view kWorkspaceFolder = "/workspace";

// The folder in the workspace that a path names; nullopt when it is elsewhere.
std::optional<std::string> in_workspace(std::string_view path) {
  constexpr std::array<std::string_view, 5> kHere = {"$PWD", "${PWD}", "$(pwd)", "`pwd`", kWorkspaceFolder};
  bool is_here = !path.starts_with('/') && !path.starts_with('$') && !path.starts_with('`');
  for (const auto start : kHere) {
    if (!path.starts_with(start)) continue;
    path.remove_prefix(start.size());
    if (!path.empty() && path.front() != '/') return std::nullopt;
    is_here = true;
    break;
  }
  if (!is_here) return std::nullopt;
  std::string out;
  for (std::size_t start = 0; start <= path.size();) {
    const auto end = std::min(path.find('/', start), path.size());
    const auto part = path.substr(start, end - start);
    start = end + 1;
    if (part.empty() || part == ".") continue;
    if (part == "..") return std::nullopt;
    out += (out.empty() ? "" : "/") + std::string(part);
  }
  return out;
}

// The folders in which a command may run: the root, and each folder that a `cd` before it may have reached.
// Subshells and conditions are not followed, so the set may have more folders than are possible.
class Places {
 public:
  // Adds to `to` what `path` names from each of these folders.
  void add(std::string_view path, std::set<std::string>& to) const {
    const auto folder = in_workspace(path);
    if (!folder) return;
    if (path.starts_with('/')) {
      to.insert(*folder);
      return;
    }
    for (const auto& place : places_)
      to.insert(place.empty() || folder->empty() ? place + *folder : place + "/" + *folder);
  }

  void go_to(std::string_view path) {
    std::set<std::string> reached;
    add(path, reached);
    for (const auto& place : reached)
      if (places_.size() < kPlacesMax) places_.insert(place);
  }

 private:
  static constexpr std::size_t kPlacesMax = 64;  // each `cd` may double the number of folders
  std::set<std::string> places_{""};
};

void add_list(std::string_view list, const Places& places, std::set<std::string>& to) {
  for (std::size_t start = 0; start <= list.size();) {
    const auto end = std::min(list.find(':', start), list.size());
    const auto word = list.substr(start, end - start);
    start = end + 1;
    if (!word.empty()) places.add(word, to);
  }
}

// Whether a word is NAME=... or NAME+=... A word such as NAME=" ends at the quote, so the value may be the next
// word.
bool is_assignment(std::string_view word, std::string_view name) {
  if (!word.starts_with(name)) return false;
  const auto rest = word.substr(name.size());
  return rest.starts_with('=') || rest.starts_with("+=");
}

bool is_script(std::string_view word) {
  constexpr std::array<std::string_view, 7> kEnds = {".py", ".pl", ".t", ".rb", ".js", ".mjs", ".cjs"};
  return std::ranges::any_of(kEnds, [&](auto end) { return word.ends_with(end); });
}

// Options of make, perl, prove, ruby, unittest and pytest. Their value is a folder in which modules are
// looked for, or in which the command works.
constexpr auto kFolderOptions = std::to_array<std::string_view>(
    {"-C", "-I", "-s", "-t", "--start-directory", "--top-level-directory", "--rootdir", "--directory",
     "--prefix", "--include", "--chdir", "--cwd"});

// The folder that an option names: in the next word, after a '=', or directly after -C or -I. "" when the
// word is not such an option.
std::string_view folder_of_option(std::string_view word, std::string_view next) {
  for (const auto option : kFolderOptions) {
    if (word == option) return next;
    if (!word.starts_with(option)) continue;
    const auto rest = word.substr(option.size());
    if (option.starts_with("--") ? rest.starts_with('=') : option == "-I" || option == "-C")
      return rest.substr(option.starts_with("--") ? 1 : 0);
  }
  return {};
}

}  // namespace

std::vector<std::string_view> words_of_command(std::string_view text) {
  constexpr std::string_view kBreaks = " \t\n;&|()<>\"'";
  std::vector<std::string_view> out;
  for (std::size_t start = 0; start < text.size();) {
    // $(pwd) is a part of a path and does not end a word.
    auto end = start;
    while (end < text.size() && kBreaks.find(text[end]) == std::string_view::npos) {
      ++end;
      if (end < text.size() && text.substr(end - 1).starts_with("$(pwd)")) end += 5;
    }
    if (end > start) out.push_back(text.substr(start, end - start));
    start = end + 1;
  }
  return out;
}

void SearchFolders::add(const std::vector<std::string>& argv) {
  const std::array<std::pair<std::string_view, std::set<std::string>*>, 6> variables = {{
      {"PATH", &programs},
      {"PYTHONPATH", &modules},
      {"PERL5LIB", &modules},
      {"RUBYLIB", &modules},
      {"NODE_PATH", &modules},
      {"LD_LIBRARY_PATH", &libraries},
  }};
  for (const auto& text : argv) {
    const auto words = words_of_command(text);
    Places places;
    bool is_pytest = false;  // the last command is Python's
    for (std::size_t i = 0; i < words.size(); ++i) {
      const auto next = i + 1 < words.size() ? words[i + 1] : std::string_view();
      if (words[i] == "cd" || words[i] == "pushd") {
        places.add(next, modules);
        places.go_to(next);
      }
      is_pytest = words[i] == "pytest" || words[i] == "py.test" || (is_pytest && words[i] != "unittest");
      // After -s of pytest comes no value.
      if (const auto folder = folder_of_option(words[i], next);
          !folder.empty() && !(is_pytest && words[i] == "-s"))
        places.add(folder, modules);
      for (const auto& [name, to] : variables) {
        if (!is_assignment(words[i], name)) continue;
        const auto value = words[i].substr(words[i].find('=') + 1);
        add_list(value.empty() ? next : value, places, *to);
      }
      if (!is_script(words[i])) continue;
      const auto slash = words[i].rfind('/');
      places.add(slash == std::string_view::npos ? "." : words[i].substr(0, slash), modules);
    }
  }
}

}  // namespace pawl::gates
