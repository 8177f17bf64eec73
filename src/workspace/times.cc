// Sets the times of an agent's files. Builds compare times, so an agent that is judged must not choose them.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <map>

#include "base/lines.h"
#include "os/defences.h"
#include "os/file.h"
#include "workspace/bases.h"
#include "workspace/objects.h"
#include "workspace/tree.h"
#include "workspace/workspace.h"

namespace pawl::workspace {
namespace {

constexpr std::int64_t kSecondNs = 1'000'000'000;
// 1980-01-02: older than most sources, and the zip format can express it.
constexpr std::int64_t kOldNs = 315'619'200 * kSecondNs;
constexpr std::int64_t kTickNs = 10'000'000;  // The coarsest clock that a kernel takes file times from.

// ELF, Java, LLVM bitcode, Mach-O, WebAssembly. No compilable text begins with one of these.
constexpr std::array<std::string_view, 5> kCompiled = {
    "\x7f"
    "ELF",
    "\xca\xfe\xba\xbe", "BC\xc0\xde", "\xcf\xfa\xed\xfe", std::string_view("\0asm\x01\0\0\0", 8)};
constexpr std::array<std::string_view, 2> kArchives = {"!<arch>\n", "!<thin>\n"};
// Headers precompiled by GCC, and PE. A source can begin like that and still compile.
constexpr std::array<std::string_view, 2> kMaybeCompiled = {"gpch", "MZ"};
constexpr std::size_t kArchiveHeadBytes = 8, kMemberHeadBytes = 60;  // See ar(5).

enum class Looks { kText, kMaybeCompiled, kCompiled };

Looks looks_of(const std::string& path) {
  const os::UniqueFd fd(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC));
  std::array<char, kArchiveHeadBytes + kMemberHeadBytes> start{};
  const ssize_t got = fd ? read(fd.get(), start.data(), start.size()) : -1;
  const std::string_view text(start.data(), got < 0 ? 0 : static_cast<std::size_t>(got));
  const auto has = [&](auto magic) { return text.starts_with(magic); };
  if (std::ranges::any_of(kCompiled, has)) return Looks::kCompiled;
  // A Fortran comment may look like the first line of an archive, but no head of a member follows it.
  if (std::ranges::any_of(kArchives, has) && (text.size() == kArchiveHeadBytes || text.ends_with("`\n")))
    return Looks::kCompiled;
  return std::ranges::any_of(kMaybeCompiled, has) ? Looks::kMaybeCompiled : Looks::kText;
}

Result<std::int64_t> written_ns(const std::string& path) {
  struct stat status {};
  if (lstat(path.c_str(), &status) != 0) return fail_errno(errno, "look at", path);
  return ns_of(status.st_mtim);
}

Status set_time(const std::string& path, std::int64_t ns) {
  PAWL_TRY(const auto there, written_ns(path));
  if (there == ns) return {};
  const std::int64_t part = (ns % kSecondNs + kSecondNs) % kSecondNs;  // Never negative, also before 1970.
  const timespec time{.tv_sec = (ns - part) / kSecondNs, .tv_nsec = part};
  const std::array<timespec, 2> times = {time, time};
  if (utimensat(AT_FDCWD, path.c_str(), times.data(), AT_SYMLINK_NOFOLLOW) != 0)
    return fail_errno(errno, "set the times of", path);
  return {};
}

// The oldest and the newest time below a layer, including the time when the newest object below was stored.
class Lower {
 public:
  explicit Lower(const Workspaces& workspaces) : workspaces_(workspaces) {}

  Status add_base(const std::string& base_id) {
    PAWL_TRY(const auto parts, parts_of(workspaces_, base_id));
    const std::string path = manifest_path(workspaces_.folder(), "bases", parts.whole);
    PAWL_TRY(const auto manifest, os::MappedFile::open(path, kManifestBytesMax));
    PAWL_OK(add_kept(path));
    add_lines(manifest.bytes());
    for (const auto& layer : parts.layers) PAWL_OK(add_layer(layer));
    return {};
  }

  Status add_layer(const std::string& layer_id) {
    const std::string tree = workspaces_.layer_tree(layer_id);
    PAWL_OK(each_entry(workspaces_, layer_id, [&](const Entry& entry) -> Status {
      if (entry.type == EntryType::kDeleted) return {};
      PAWL_TRY(const auto ns, written_ns(os::join(tree, entry.path)));
      add(ns);
      return {};
    }));
    return add_kept(manifest_path(workspaces_.folder(), "layers", layer_id));
  }

  std::int64_t oldest_ns() const { return oldest_ns_; }
  std::int64_t newest_ns() const { return newest_ns_; }

 private:
  void add(std::int64_t ns) {
    oldest_ns_ = std::min(oldest_ns_, ns);
    newest_ns_ = std::max(newest_ns_, ns);
  }

  Status add_kept(const std::string& manifest) {
    PAWL_TRY(const auto ns, written_ns(manifest));
    newest_ns_ = std::max(newest_ns_, ns);
    return {};
  }

  // Takes the times from the manifest of a folder's base, one for each line. The manifest of a git tree has
  // none: all its files were written before the manifest. The key is found without a parser, because a
  // quotation mark inside a JSON string has a backslash before it. A time of zero is not written.
  void add_lines(std::string_view text) {
    constexpr std::string_view kKey = "\"mtime_ns\":";
    if (text.find(kKey) == std::string_view::npos) return;
    for (const auto line : TextLines(text)) {
      const auto at = line.find(kKey);
      std::int64_t ns = 0;
      if (at != std::string_view::npos) {
        const auto number = line.substr(at + kKey.size());
        std::from_chars(number.data(), number.data() + number.size(), ns);
      }
      add(ns);
    }
  }

  const Workspaces& workspaces_;
  std::int64_t oldest_ns_ = kOldNs + 2 * kSecondNs;
  std::int64_t newest_ns_ = std::numeric_limits<std::int64_t>::min();
};

// The times for a layer's entries. `compiled_ns` is older than `new_ns`, and `new_ns` is older than
// everything below.
struct Given {
  std::int64_t compiled_ns, new_ns, changed_ns;
};

Result<Given> given_to(const Workspaces& workspaces, const std::string& layer_id, const std::string& base_id,
                       const std::vector<std::string>& below) {
  Lower lower(workspaces);
  PAWL_OK(lower.add_base(base_id));
  for (const auto& layer : below) PAWL_OK(lower.add_layer(layer));
  // The layer may have been stored long ago, by a run of another base.
  PAWL_TRY(const auto kept_ns, written_ns(manifest_path(workspaces.folder(), "layers", layer_id)));
  const std::int64_t old_ns = lower.oldest_ns() - 2 * kSecondNs;
  return Given{.compiled_ns = old_ns,
               .new_ns = old_ns + kSecondNs,
               .changed_ns = std::max(kept_ns, lower.newest_ns() + kTickNs)};
}

// The folders in the tree of a layer, changed by it or not.
class FoldersOfLayer {
 public:
  explicit FoldersOfLayer(const View& lower) : lower_(lower) {}

  // Notes that the layer changed `folder` or an entry in it.
  Status changed(const std::string& folder) {
    for (std::string path = folder; !path.empty(); path = parent_of(path)) {
      const auto [at, is_new] = folders_.try_emplace(path);
      auto& known = at->second;
      known.is_changed = known.is_changed || path == folder;
      if (!is_new) return {};
      const auto there = lower_.find(path);
      known.is_there = there.has_value();
      if (there) {
        PAWL_TRY(known.below_ns, written_ns(*there));
      }
    }
    return {};
  }

  Status set(const std::string& tree, const Given& given) const {
    for (const auto& [path, known] : folders_)
      PAWL_OK(set_time(os::join(tree, path), !known.is_there    ? given.new_ns
                                             : known.is_changed ? given.changed_ns
                                                                : known.below_ns));
    return {};
  }

 private:
  struct Known {
    bool is_there = false, is_changed = false;  // In the trees below; by the layer.
    std::int64_t below_ns = 0;
  };
  const View& lower_;
  std::map<std::string, Known> folders_;
};

std::int64_t time_of(const Entry& entry, const std::string& path, const std::optional<std::string>& before,
                     const Given& given) {
  const auto looks = entry.type == EntryType::kFile ? looks_of(path) : Looks::kText;
  if (looks == Looks::kCompiled) return given.compiled_ns;
  if (!before) return given.new_ns;
  const bool is_compiled = looks == Looks::kMaybeCompiled && looks_of(*before) != Looks::kText;
  return is_compiled ? given.compiled_ns : given.changed_ns;
}

}  // namespace

Status Workspaces::set_times(const std::string& layer_id, const std::string& base_id,
                             const std::vector<std::string>& below) const {
  if (!os::defences().times) return {};
  PAWL_TRY(const auto given, given_to(*this, layer_id, base_id, below));
  const View lower(trees_of(base_id, below));
  const std::string tree = layer_tree(layer_id);
  FoldersOfLayer folders(lower);
  PAWL_OK(each_entry(*this, layer_id, [&](const Entry& entry) -> Status {
    PAWL_OK(folders.changed(parent_of(entry.path)));
    if (entry.type == EntryType::kDeleted) return {};
    if (entry.type == EntryType::kFolder) return folders.changed(entry.path);
    const std::string path = os::join(tree, entry.path);
    return set_time(path, time_of(entry, path, lower.find(entry.path), given));
  }));
  return folders.set(tree, given);
}

}  // namespace pawl::workspace
