#include "workspace/moved.h"

#include <sys/stat.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "workspace/tool_caches.h"

namespace pawl::workspace {
namespace {

// Limits of the search for files that were moved and changed: for one layer, and for files with the same name.
// Beyond them such a file is not named.
constexpr std::size_t kPlacesMax = 100'000, kPlacesOfOnePartMax = 16;

// The part of its path by which a file is known again.
enum class KnownBy : char {
  kCache = 'c',      // From the name of the cache on.
  kInstalled = 'i',  // From node_modules on.
  kBuilt = 'b',      // The name of a file that was in a built folder.
  kForced = 'f',     // The name of a file that a rule ignores.
  kSuffix = 's',     // The suffix of such a file.
  kName = 'n',       // The name of another file.
};

// The part of `path` from the last name of `above` on. REQUIRES: `path` begins with `above`.
std::string_view from(std::string_view path, std::string_view above) {
  return path.substr(above.size() - last_name(above).size());
}

bool is_file_or_link(const Entry& entry) {
  return entry.type == EntryType::kFile || entry.type == EntryType::kSymlink;
}

// Many files are empty, so equal content alone does not identify them.
bool has_content(const Entry& entry) { return entry.type == EntryType::kSymlink || entry.size > 0; }

using Part = std::pair<KnownBy, std::string_view>;

std::string key_of(const Part& part, EntryType type) {
  std::string out{static_cast<char>(part.first), type == EntryType::kSymlink ? 'l' : 'f'};
  out += part.second;
  return out;
}

// No name has a line end.
std::string key_of(const Part& part, const Entry& entry) {
  return key_of(part, entry.type) + "\n" + entry.content;
}

// The parts by which the lower file `path` is known again.
std::vector<Part> known_parts(const std::string& path, Was was, bool is_empty, const View& lower) {
  std::vector<Part> out;
  const auto name = last_name(path);
  if (const auto cache = cache_at(path); !cache.empty()) out.emplace_back(KnownBy::kCache, from(path, cache));
  if (const auto installed = installed_at(path); !installed.empty())
    out.emplace_back(KnownBy::kInstalled, from(path, installed));
  if (is_in_built(lower, path)) out.emplace_back(KnownBy::kBuilt, name);
  if (was == Was::kForced) out.emplace_back(KnownBy::kForced, name);
  if (is_empty) return out;
  if (was == Was::kForced)
    out.emplace_back(KnownBy::kSuffix, suffix_of(name));
  else
    out.emplace_back(KnownBy::kName, name);
  return out;
}

// The parts by which a file that is left out may be a lower one with other content.
std::vector<Part> likely_parts(const Entry& entry, Counts counts) {
  const std::string_view path = entry.path;
  if (counts == Counts::kAsCache) return {{KnownBy::kCache, from(path, cache_at(path))}};
  const auto name = last_name(path), installed = installed_at(path), suffix = suffix_of(name);
  std::vector<Part> out;
  if (!installed.empty()) out.emplace_back(KnownBy::kInstalled, from(path, installed));
  if (counts == Counts::kAsBuilt) {
    if (installed.empty()) out.emplace_back(KnownBy::kBuilt, name);
    return out;
  }
  out.emplace_back(KnownBy::kForced, name);
  if (has_content(entry) && !suffix.empty()) out.emplace_back(KnownBy::kSuffix, suffix);
  if (installed.empty()) out.emplace_back(KnownBy::kName, name);
  return out;
}

// The lower files that the layer deletes, by the parts of their paths.
class Places {
 public:
  void add(const std::vector<Part>& parts, EntryType type, const std::string& path) {
    if (count_ == kPlacesMax) return;
    ++count_;
    for (const auto& part : parts) {
      auto& same = places_[key_of(part, type)];
      if (same.size() < kPlacesOfOnePartMax) same.push_back(path);
    }
  }
  bool empty() const { return places_.empty(); }

  // Visits the files that `entry` may be.
  void each(const Entry& entry, Counts counts, const std::function<void(const std::string&)>& visit) const {
    for (const auto& part : likely_parts(entry, counts))
      if (const auto found = places_.find(key_of(part, entry.type)); found != places_.end())
        for (const auto& path : found->second) visit(path);
  }

 private:
  std::unordered_map<std::string, std::vector<std::string>> places_;
  std::size_t count_ = 0;
};

// A lower file or link without its content, and its full path.
struct LowerFile {
  Entry entry;
  std::string full;
};

std::optional<LowerFile> lower_file(const View& lower, const std::string& path) {
  const auto full = lower.find(path);
  struct stat status {};
  if (!full || lstat(full->c_str(), &status) != 0) return std::nullopt;
  const bool is_link = S_ISLNK(status.st_mode);
  if (!is_link && !S_ISREG(status.st_mode)) return std::nullopt;
  return LowerFile{.entry = {.path = path,
                             .type = is_link ? EntryType::kSymlink : EntryType::kFile,
                             .size = is_link ? 0 : status.st_size},
                   .full = *full};
}

class Moves {
 public:
  Moves(const std::vector<Entry>& entries, const View& lower, const WasOf& was_of,
        std::vector<Counts>& counts)
      : entries_(entries), lower_(lower), was_of_(was_of), counts_(counts) {}

  Result<std::vector<LostMove>> find() {
    for (std::size_t i = 0; i < entries_.size(); ++i)
      if (is_left_out_file(i)) add_hints(i);
    if (hints_.empty()) return std::vector<LostMove>();
    for (std::size_t i = 0; i < entries_.size(); ++i)
      if (counts_[i] == Counts::kAsWork || is_ignored_folder(i)) PAWL_OK(see_deleted(entries_[i]));
    if (places_.empty()) return std::vector<LostMove>();
    for (std::size_t i = 0; i < entries_.size(); ++i)
      if (counts_[i] == Counts::kAsWork && is_file_or_link(entries_[i])) gone_.erase(entries_[i].content);
    for (std::size_t i = 0; i < entries_.size(); ++i)
      if (is_left_out_file(i) && is_moved(entries_[i], counts_[i])) counts_[i] = Counts::kAsWork;
    return lost();
  }

 private:
  bool is_left_out_file(std::size_t i) const {
    return counts_[i] != Counts::kAsWork && is_file_or_link(entries_[i]);
  }

  // The deleted file that the left-out `entry` may be: of several the one whose path ends most like its own;
  // "" for none.
  std::string likely_before(const Entry& entry, Counts counts) const {
    std::string out;
    std::ptrdiff_t most = 0;
    const auto& path = entry.path;
    places_.each(entry, counts, [&](const std::string& from) {
      const auto same = std::mismatch(from.rbegin(), from.rend(), path.rbegin(), path.rend());
      const auto size = same.first - from.rbegin();
      if (size <= most) return;
      most = size;
      out = from;
    });
    return out;
  }

  Result<std::vector<LostMove>> lost() const {
    std::map<std::string, std::string> found;
    for (std::size_t i = 0; i < entries_.size(); ++i)
      if (is_left_out_file(i)) found.try_emplace(likely_before(entries_[i], counts_[i]), entries_[i].path);
    found.erase("");
    std::vector<LostMove> out;
    if (found.empty()) return out;
    std::unordered_set<std::string_view> contents;
    std::unordered_set<std::int64_t> sizes;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
      if (counts_[i] != Counts::kAsWork || !is_file_or_link(entries_[i])) continue;
      contents.insert(entries_[i].content);
      sizes.insert(entries_[i].size);
    }
    for (const auto& [from, to] : found) {
      const auto file = lower_file(lower_, from);
      if (!file) continue;
      if (sizes.contains(file->entry.size)) {
        PAWL_TRY(const auto entry, entry_of(file->full, from));
        if (contents.contains(entry.content)) continue;
      }
      out.push_back({.from = from, .to = to});
    }
    return out;
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
    const auto name = last_name(entries_[i].path), suffix = suffix_of(name);
    hints_.insert(hint_of(name, entries_[i]));
    names_.insert(std::hash<std::string_view>()(name));
    if (counts_[i] != Counts::kAsIgnored || !has_content(entries_[i])) return;
    hints_.insert(hint_of(suffix, entries_[i]));
    if (!suffix.empty()) names_.insert(std::hash<std::string_view>()(suffix));
  }

  // Whether a file that is left out has this name, or the suffix of the name.
  bool is_named(std::string_view name) const {
    return names_.contains(std::hash<std::string_view>()(name)) ||
           names_.contains(std::hash<std::string_view>()(suffix_of(name)));
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
    const auto looked = lower_file(lower_, path);
    if (!looked) return {};
    const auto name = last_name(path);
    const bool is_hinted = hints_.contains(hint_of(name, looked->entry)) ||
                           hints_.contains(hint_of(suffix_of(name), looked->entry));
    if (!is_hinted && !is_named(name)) return {};
    PAWL_TRY(const auto was, was_of_(path));
    if (was == Was::kNoWork) return {};
    const auto parts = known_parts(path, was, !has_content(looked->entry), lower_);
    places_.add(parts, looked->entry.type, path);
    if (!is_hinted) return {};
    PAWL_TRY(const auto file, entry_of(looked->full, path));
    for (const auto& part : parts) known_.insert(key_of(part, file));
    if (has_content(file) && was != Was::kForced) gone_.insert(file.content);
    return {};
  }

  bool is_moved(const Entry& entry, Counts counts) const {
    const auto is_known = [&](KnownBy by, std::string_view part) {
      return known_.contains(key_of({by, part}, entry));
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
  // Hashes for the files that are left out: of names with sizes, and of names and suffixes alone.
  std::unordered_set<std::size_t> hints_, names_;
  std::unordered_set<std::string> known_;  // Keys of the lower files.
  std::unordered_set<std::string> gone_;   // The content of lower files, unless the layer has it elsewhere.
  Places places_;
};

}  // namespace

Result<std::vector<LostMove>> keep_moved(const std::vector<Entry>& entries, const View& lower,
                                         const WasOf& was_of, std::vector<Counts>& counts) {
  return Moves(entries, lower, was_of, counts).find();
}

}  // namespace pawl::workspace
