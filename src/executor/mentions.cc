#include "executor/mentions.h"

#include <dirent.h>
#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <unordered_set>

#include "base/glob.h"
#include "os/file.h"

namespace pawl::executor {
namespace {

constexpr std::string_view kPlan = "/plan";
constexpr std::size_t kFilesMax = 20'000, kWordsMax = 20'000, kWordBytes = 200;
constexpr std::uint64_t kTextBytesMax = 1 << 20;  // a larger file is data, not a script
constexpr std::string_view kNameEnds = " \t\r\n'\"`;|&<>(),=:[]{}!";

// A module is named without its suffix; a package begins with one of these files.
constexpr std::array kScriptEnds = {"", ".py", ".js", ".mjs", ".cjs", ".sh"};
constexpr std::array kPackageStarts = {"__init__.py", "index.js"};

bool is_name(char c) { return kNameEnds.find(c) == std::string_view::npos; }

// The size in bytes of the `$...` at the start of `text`.
std::size_t variable_size(std::string_view text) {
  if (text.size() < 2) return 1;
  const char close = text[1] == '(' ? ')' : text[1] == '{' ? '}' : '\0';
  if (close != '\0') {
    const auto end = text.find(close);
    return end == std::string_view::npos ? text.size() : end + 1;
  }
  std::size_t size = 1;
  while (size < text.size() && (isalnum(static_cast<unsigned char>(text[size])) != 0 || text[size] == '_'))
    ++size;
  return std::max<std::size_t>(size, 2);
}

// One spelling of a relative path, so that no file is found twice. No value for a path that leads out of the
// folder.
std::optional<std::string> plain(const std::string& path) {
  auto out = std::filesystem::path(path).lexically_normal().string();
  while (out.ends_with('/')) out.pop_back();
  if (out.empty() || out == "." || out == ".." || out.starts_with('/') || out.starts_with("../")) return {};
  return out;
}

class Search {
 public:
  explicit Search(const std::string& folder) : folder_(folder) {}

  void look(const std::string& text, const std::string& beside, bool words) {
    for (const auto& pattern : patterns_in(text)) add_pattern(pattern);
    if (!words) return;
    std::size_t count = 0;
    for (std::size_t start = 0; start < text.size() && count < kWordsMax;) {
      auto end = start;
      while (end < text.size() && is_name(text[end])) ++end;
      if (end > start && end - start <= kWordBytes) {
        add_word(text.substr(start, end - start), beside);
        ++count;
      }
      start = end + 1;
    }
  }

  struct Unread {
    std::string path;
    bool words = true;  // false: only /plan/..., because the files beside it came with its folder
  };

  std::set<std::string> found;
  std::vector<Unread> unread;  // the files of `found` whose text is not read yet
  bool too_many = false;

 private:
  void add_file(const std::string& path, bool words = true) {
    if (found.contains(path)) return;
    if (found.size() >= kFilesMax) {
      too_many = true;
      return;
    }
    found.insert(path);
    unread.push_back({path, words});
  }

  // A variable for the script's own folder, as of $0, comes before a slash.
  void add_word(std::string word, const std::string& beside) {
    if (word.starts_with('$')) word.erase(0, variable_size(word));
    while (word.starts_with('/') || word.starts_with("./")) word.erase(0, word.front() == '/' ? 1 : 2);
    for (const auto& from : {word, os::join(beside, word)}) {
      const auto place = word.empty() ? std::nullopt : plain(from);
      if (!place || !looked_.insert(*place).second) continue;
      for (const auto* end : kScriptEnds)
        if (is_file(*place + end)) add_file(*place + end);
      for (const auto* start : kPackageStarts)
        if (is_file(os::join(*place, start))) add_matching(*place, *place + "/**", true, true);
    }
  }

  bool is_file(const std::string& path) const {
    struct stat status {};
    return lstat(os::join(folder_, path).c_str(), &status) == 0 && S_ISREG(status.st_mode);
  }

  void add_pattern(const std::string& said) {
    const auto pattern = plain(said);
    if (!pattern) return;
    const auto wild = pattern->find_first_of("*?");
    if (wild == std::string::npos) return add_named(*pattern);
    const auto slash = pattern->rfind('/', wild);
    if (slash != std::string::npos) return add_matching(pattern->substr(0, slash), *pattern, true, false);
    if (pattern->find('/', wild) == std::string::npos) add_matching("", *pattern, false, false);
  }

  // Not `deep`: reads only one folder, because a pattern without a folder must not walk through a whole home.
  void add_matching(const std::string& below, const std::string& pattern, bool deep, bool words) {
    const auto names = os::list_folder(below.empty() ? folder_ : os::join(folder_, below));
    if (!names) return;
    for (const auto& name : *names) {
      const std::string path = below.empty() ? name : below + "/" + name;
      struct stat status {};
      if (too_many || lstat(os::join(folder_, path).c_str(), &status) != 0) continue;
      if (S_ISDIR(status.st_mode) && deep) add_matching(path, pattern, deep, words);
      if (!S_ISDIR(status.st_mode) && glob_covers(pattern, path)) add_file(path, words);
    }
  }

  void add_named(const std::string& path) {
    struct stat status {};
    if (lstat(os::join(folder_, path).c_str(), &status) != 0) return;
    if (!S_ISDIR(status.st_mode)) return add_file(path);
    add_matching(path, path + "/**", true, false);
  }

  const std::string& folder_;
  std::unordered_set<std::string> looked_;  // words looked up so far: large packages repeat them often
};

}  // namespace

std::vector<std::string> patterns_in(std::string_view text) {
  std::vector<std::string> out;
  for (auto at = text.find(kPlan); at != std::string_view::npos; at = text.find(kPlan, at + 1)) {
    auto rest = text.substr(at + kPlan.size());
    if (!rest.starts_with('/')) continue;
    rest.remove_prefix(1);
    std::string pattern;
    while (!rest.empty() && is_name(rest.front())) {
      const auto size = rest.front() == '$' ? variable_size(rest) : 1;
      pattern += rest.front() == '$' ? '*' : rest.front();
      rest.remove_prefix(std::min(size, rest.size()));
    }
    while (pattern.ends_with("/.")) pattern.resize(pattern.size() - 2);
    while (pattern.ends_with('/') || pattern.ends_with('.')) pattern.pop_back();
    // The part after a variable may be a folder. A variable alone names no file.
    if (pattern.ends_with('*') && pattern.find('/') != std::string::npos) out.push_back(pattern + "/**");
    if (pattern.find_first_not_of("*?/") != std::string::npos) out.push_back(std::move(pattern));
  }
  return out;
}

Result<std::set<std::string>> mentioned(const std::string& folder, const std::vector<std::string>& texts,
                                        bool also_inside) {
  Search search(folder);
  for (const auto& text : texts) search.look(text, "", text.find(kPlan) != std::string::npos);
  while (also_inside && !search.unread.empty() && !search.too_many) {
    const auto next = search.unread.back();
    search.unread.pop_back();
    const auto text = os::read_file(os::join(folder, next.path), kTextBytesMax);
    const auto slash = next.path.rfind('/');
    if (text && text->find('\0') == std::string::npos)
      search.look(*text, slash == std::string::npos ? "" : next.path.substr(0, slash), next.words);
  }
  if (search.too_many)
    return fail(ErrorKind::kExhausted, folder + ": the plan's commands name more than " +
                                           std::to_string(kFilesMax) +
                                           " files of it: name those that steps need with `files`");
  return std::move(search.found);
}

}  // namespace pawl::executor
