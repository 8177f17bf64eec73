// Sets the times of an agent's files. Builds compare times, so an agent that is judged must not choose them.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <map>
#include <utility>

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

constexpr auto kSources = std::to_array<std::string_view>(
    {".C", ".H",   ".S",   ".asm", ".c",   ".c++", ".cc",  ".cpp", ".cs",    ".cu",  ".cuh", ".cxx",  ".d",
     ".f", ".f90", ".go",  ".h",   ".h++", ".hh",  ".hpp", ".hs",  ".hxx",   ".inc", ".inl", ".java", ".kt",
     ".m", ".ml",  ".mli", ".mm",  ".nim", ".pas", ".rs",  ".s",   ".swift", ".tcc", ".zig"});
// Suffixes of files that a tool makes a source of.
constexpr auto kGenerators = std::to_array<std::string_view>(
    {".asn1", ".g4", ".gperf", ".idl",  ".in",   ".l", ".lex", ".ll",   ".lpp", ".m4", ".proto",
     ".pyx",  ".re", ".rl",    ".tmpl", ".vala", ".x", ".y",   ".yacc", ".ypp", ".yy"});
constexpr std::size_t kProgramsLookedAtMax = 1000;

// Whether a compiler reads the file, and no tool made it, as far as names tell.
bool is_source(const View& all, const std::string& path) {
  const auto suffix = suffix_of(last_name(path));
  if (std::ranges::find(kSources, suffix) == kSources.end()) return false;
  // bison makes x.tab.c of x.y, and protoc x.pb.cc of x.proto.
  const auto name = last_name(path);
  const std::string stem = path.substr(0, path.size() - name.size() + name.find('.', 1));
  return std::ranges::none_of(kGenerators, [&](auto each) {
    return all.find(stem + std::string(each)) || all.find(path + std::string(each));
  });
}

// A number in a line of a manifest; 0 when it is not written. The key is found without a parser, because a
// quotation mark inside a JSON string has a backslash before it.
std::int64_t number_in(std::string_view line, std::string_view key) {
  const auto at = line.find(key);
  std::int64_t out = 0;
  if (at == line.npos) return out;
  const auto number = line.substr(at + key.size());
  std::from_chars(number.data(), number.data() + number.size(), out);
  return out;
}

bool may_be_program(std::string_view line) {
  constexpr auto kObjects = std::to_array<std::string_view>({".a\"", ".class\"", ".o\"", ".so\""});
  return (number_in(line, "\"mode\":") & 0111) != 0 ||
         std::ranges::any_of(kObjects, [&](auto each) { return line.find(each) != line.npos; });
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

  // Whether a folder's base has a compiled program or object, so that a build ran in it.
  Result<bool> has_built(const std::string& base_id) {
    if (!has_times_) return false;  // a git tree: no build ran since its commit
    const View base(workspaces_.trees_of(base_id, {}));
    PAWL_TRY(const auto parts, parts_of(workspaces_, base_id));
    PAWL_TRY(
        const auto manifest,
        os::MappedFile::open(manifest_path(workspaces_.folder(), "bases", parts.whole), kManifestBytesMax));
    std::size_t looked_at = 0;
    bool has = false;
    for (const auto line : TextLines(manifest.bytes())) {
      if (has || looked_at == kProgramsLookedAtMax) break;
      if (!may_be_program(line)) continue;
      ++looked_at;
      PAWL_OK(each_entry_of(line, [&](const Entry& entry) -> Status {
        const auto path = entry.type == EntryType::kFile ? base.find(entry.path) : std::nullopt;
        has = path && looks_of(*path) == Looks::kCompiled;
        return {};
      }));
    }
    return has;
  }

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
  // none: all its files were written before the manifest. A time of zero is not written.
  void add_lines(std::string_view text) {
    constexpr std::string_view kKey = "\"mtime_ns\":";
    has_times_ = text.find(kKey) != std::string_view::npos;
    if (!has_times_) return;
    for (const auto line : TextLines(text)) add(number_in(line, kKey));
  }

  const Workspaces& workspaces_;
  bool has_times_ = false;  // the base has those of a folder
  std::int64_t oldest_ns_ = kOldNs + 2 * kSecondNs;
  std::int64_t newest_ns_ = std::numeric_limits<std::int64_t>::min();
};

// The times for a layer's entries. `compiled_ns` is older than `new_ns`, and `new_ns` is older than
// everything below. `source_ns` is for new sources: where base has built programs, these are older.
struct Given {
  std::int64_t compiled_ns, new_ns, changed_ns, source_ns;
};

Result<Given> given_to(const Workspaces& workspaces, const std::string& layer_id, const std::string& base_id,
                       const std::vector<std::string>& below) {
  Lower lower(workspaces);
  PAWL_OK(lower.add_base(base_id));
  for (const auto& layer : below) PAWL_OK(lower.add_layer(layer));
  // The layer may have been stored long ago, by a run of another base.
  PAWL_TRY(const auto kept_ns, written_ns(manifest_path(workspaces.folder(), "layers", layer_id)));
  const std::int64_t old_ns = lower.oldest_ns() - 2 * kSecondNs;
  Given out{.compiled_ns = old_ns,
            .new_ns = old_ns + kSecondNs,
            .changed_ns = std::max(kept_ns, lower.newest_ns() + kTickNs)};
  out.source_ns = out.new_ns;
  PAWL_TRY(const bool has_built, lower.has_built(base_id));
  // Older than what the layer changed: a source that a tool made of a changed file is made again.
  if (has_built) out.source_ns = std::exchange(out.changed_ns, out.changed_ns + kTickNs);
  return out;
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

struct Trees {
  View lower, all;  // without the layer, and with it
};

std::int64_t time_of(const Entry& entry, const std::string& path, const Trees& trees, const Given& given) {
  const auto looks = entry.type == EntryType::kFile ? looks_of(path) : Looks::kText;
  const auto before = trees.lower.find(entry.path);
  if (looks == Looks::kCompiled) return given.compiled_ns;
  if (!before) return is_source(trees.all, entry.path) ? given.source_ns : given.new_ns;
  const bool is_compiled = looks == Looks::kMaybeCompiled && looks_of(*before) != Looks::kText;
  return is_compiled ? given.compiled_ns : given.changed_ns;
}

}  // namespace

Status Workspaces::set_times(const std::string& layer_id, const std::string& base_id,
                             const std::vector<std::string>& below) const {
  if (!os::defences().times) return {};
  PAWL_TRY(const auto given, given_to(*this, layer_id, base_id, below));
  auto with_layer = below;
  with_layer.insert(with_layer.begin(), layer_id);
  const Trees trees{.lower = View(trees_of(base_id, below)), .all = View(trees_of(base_id, with_layer))};
  const std::string tree = layer_tree(layer_id);
  FoldersOfLayer folders(trees.lower);
  PAWL_OK(each_entry(*this, layer_id, [&](const Entry& entry) -> Status {
    PAWL_OK(folders.changed(parent_of(entry.path)));
    if (entry.type == EntryType::kDeleted) return {};
    if (entry.type == EntryType::kFolder) return folders.changed(entry.path);
    const std::string path = os::join(tree, entry.path);
    return set_time(path, time_of(entry, path, trees, given));
  }));
  return folders.set(tree, given);
}

}  // namespace pawl::workspace
