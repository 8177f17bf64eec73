#include "workspace/moved.h"

#include <sys/stat.h>

#include <string_view>
#include <unordered_set>

#include "workspace/tool_caches.h"

namespace pawl::workspace {
namespace {

// The part of its path by which a file is known again.
enum class KnownBy : char {
  kCache = 'c',      // From the name of the cache on.
  kInstalled = 'i',  // From node_modules on.
  kBuilt = 'b',      // The name of a file that was in a built folder.
  kForced = 'f',     // The name of a file that a rule ignores.
  kSuffix = 's',     // The suffix of such a file.
  kName = 'n',       // The name of another file.
};

std::string_view suffix_of(std::string_view name) {
  const auto dot = name.rfind('.');
  return dot == std::string_view::npos || dot == 0 ? std::string_view() : name.substr(dot);
}

// The part of `path` from the last name of `above` on. REQUIRES: `path` begins with `above`.
std::string_view from(std::string_view path, std::string_view above) {
  return path.substr(above.size() - last_name(above).size());
}

bool is_file_or_link(const Entry& entry) {
  return entry.type == EntryType::kFile || entry.type == EntryType::kSymlink;
}

// Many files are empty, so equal content alone says nothing about them.
bool has_content(const Entry& entry) { return entry.type == EntryType::kSymlink || entry.size > 0; }

// No name has a line end.
std::string key_of(KnownBy by, std::string_view part, const Entry& entry) {
  std::string out{static_cast<char>(by), entry.type == EntryType::kSymlink ? 'l' : 'f'};
  out += part;
  return out + "\n" + entry.content;
}

class Moves {
 public:
  Moves(const std::vector<Entry>& entries, const View& lower, const WasOf& was_of,
        std::vector<Counts>& counts)
      : entries_(entries), lower_(lower), was_of_(was_of), counts_(counts) {}

  Status find() {
    for (std::size_t i = 0; i < entries_.size(); ++i)
      if (is_left_out_file(i)) add_hints(i);
    if (hints_.empty()) return {};
    for (std::size_t i = 0; i < entries_.size(); ++i)
      if (counts_[i] == Counts::kAsWork || is_ignored_folder(i)) PAWL_OK(see_deleted(entries_[i]));
    if (known_.empty()) return {};
    for (std::size_t i = 0; i < entries_.size(); ++i)
      if (counts_[i] == Counts::kAsWork && is_file_or_link(entries_[i])) gone_.erase(entries_[i].content);
    for (std::size_t i = 0; i < entries_.size(); ++i)
      if (is_left_out_file(i) && is_moved(entries_[i], counts_[i])) counts_[i] = Counts::kAsWork;
    return {};
  }

 private:
  bool is_left_out_file(std::size_t i) const {
    return counts_[i] != Counts::kAsWork && is_file_or_link(entries_[i]);
  }

  // A rule that names a folder does not name the file that it replaced.
  bool is_ignored_folder(std::size_t i) const {
    return counts_[i] == Counts::kAsIgnored && entries_[i].type == EntryType::kFolder;
  }

  // A lower file is only hashed when a file that is left out has its size, and its name or suffix. A number
  // stands for them: a layer has up to a million such files.
  static std::size_t hint_of(std::string_view part, const Entry& entry) {
    const char type = entry.type == EntryType::kSymlink ? 'l' : 'f';
    return std::hash<std::string>()(type + std::to_string(entry.size) + "/" + std::string(part));
  }

  void add_hints(std::size_t i) {
    const auto name = last_name(entries_[i].path);
    hints_.insert(hint_of(name, entries_[i]));
    if (counts_[i] == Counts::kAsIgnored && has_content(entries_[i]))
      hints_.insert(hint_of(suffix_of(name), entries_[i]));
  }

  // Whether the entry deletes lower files: those at its path or below it. A file with other content at its
  // path is not gone: an ignored copy of what it was may be a product.
  bool deletes(const Entry& entry) const {
    if (entry.type == EntryType::kDeleted) return true;
    const auto full = lower_.find(entry.path);
    struct stat status {};
    if (!full || lstat(full->c_str(), &status) != 0) return false;
    const auto type = S_ISDIR(status.st_mode)   ? EntryType::kFolder
                      : S_ISLNK(status.st_mode) ? EntryType::kSymlink
                                                : EntryType::kFile;
    return type != entry.type;
  }

  Status see_deleted(const Entry& entry) {
    Status status;
    if (deletes(entry)) {
      lower_.each_file(entry.path, [&](const std::string& path) {
        if (status) status = see_file(path);
      });
    }
    return status;
  }

  Status see_file(const std::string& path) {
    const auto full = lower_.find(path);
    struct stat status {};
    if (!full || lstat(full->c_str(), &status) != 0) return {};
    const bool is_link = S_ISLNK(status.st_mode);
    if (!is_link && !S_ISREG(status.st_mode)) return {};
    const Entry looked{.type = is_link ? EntryType::kSymlink : EntryType::kFile,
                       .size = is_link ? 0 : status.st_size};
    const auto name = last_name(path);
    if (!hints_.contains(hint_of(name, looked)) && !hints_.contains(hint_of(suffix_of(name), looked)))
      return {};
    PAWL_TRY(const auto was, was_of_(path));
    if (was == Was::kNoWork) return {};
    PAWL_TRY(const auto file, entry_of(*full, path));
    remember(file, was);
    return {};
  }

  void remember(const Entry& file, Was was) {
    const auto name = last_name(file.path);
    const auto add = [&](KnownBy by, std::string_view part) { known_.insert(key_of(by, part, file)); };
    if (const auto cache = cache_at(file.path); !cache.empty()) add(KnownBy::kCache, from(file.path, cache));
    if (const auto installed = installed_at(file.path); !installed.empty())
      add(KnownBy::kInstalled, from(file.path, installed));
    if (is_in_built(lower_, file.path)) add(KnownBy::kBuilt, name);
    if (was == Was::kForced) add(KnownBy::kForced, name);
    if (!has_content(file)) return;
    if (was == Was::kForced) {
      add(KnownBy::kSuffix, suffix_of(name));
      return;
    }
    add(KnownBy::kName, name);
    gone_.insert(file.content);
  }

  bool is_moved(const Entry& entry, Counts counts) const {
    const auto is_known = [&](KnownBy by, std::string_view part) {
      return known_.contains(key_of(by, part, entry));
    };
    const std::string& path = entry.path;
    if (counts == Counts::kAsCache) {
      const auto cache = cache_at(path);
      const auto folder = parent_of(std::string(cache));
      return is_known(KnownBy::kCache, from(path, cache)) && !folder.empty() && !lower_.has_folder(folder);
    }
    const auto name = last_name(path), installed = installed_at(path);
    if (!installed.empty() && is_known(KnownBy::kInstalled, from(path, installed))) return true;
    if (counts == Counts::kAsBuilt) return installed.empty() && is_known(KnownBy::kBuilt, name);
    if (is_known(KnownBy::kForced, name)) return true;
    if (has_content(entry) && is_known(KnownBy::kSuffix, suffix_of(name))) return true;
    return installed.empty() && gone_.contains(entry.content) && is_known(KnownBy::kName, name) &&
           !is_in_built(lower_, path);
  }

  const std::vector<Entry>& entries_;
  const View& lower_;
  const WasOf& was_of_;
  std::vector<Counts>& counts_;
  std::unordered_set<std::size_t> hints_;  // Of the files that are left out.
  std::unordered_set<std::string> known_;  // Keys of the lower files.
  std::unordered_set<std::string> gone_;   // The content of lower files, unless the layer has it elsewhere.
};

}  // namespace

Status keep_moved(const std::vector<Entry>& entries, const View& lower, const WasOf& was_of,
                  std::vector<Counts>& counts) {
  return Moves(entries, lower, was_of, counts).find();
}

}  // namespace pawl::workspace
