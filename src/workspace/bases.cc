#include "workspace/bases.h"

#include <algorithm>

#include "base/hash.h"
#include "base/json.h"
#include "base/lines.h"
#include "os/file.h"
#include "workspace/objects.h"
#include "workspace/tree.h"

namespace pawl::workspace {
namespace {

std::string derivation_path(const std::string& folder, const std::string& base_id) {
  return os::join(object_folder(folder, "derived"), base_id);
}

bool is_whole(const Workspaces& workspaces, const std::string& base_id) {
  return os::is_folder(workspaces.base_tree(base_id));
}

// The path in one line of a manifest. A quotation mark inside a JSON string has a backslash before it, so
// this search finds the key.
Result<std::string> path_of(std::string_view line) {
  constexpr std::string_view kKey = "\"path\":\"";
  const auto key = line.find(kKey);
  if (key == std::string_view::npos) return fail(ErrorKind::kCorrupt, "manifest: a line has no path");
  const auto path = line.substr(key + kKey.size());
  const auto end = path.find_first_of("\"\\");
  if (end != std::string_view::npos && path[end] == '"') return std::string(path.substr(0, end));
  PAWL_TRY(const Json json, parse_json(line));
  return text_in(json, "path");
}

// The text of a manifest, searched by path.
class ManifestText {
 public:
  explicit ManifestText(std::string_view text) : text_(text) {}

  std::size_t end_of_line(std::size_t begin) const {
    const auto end = text_.find('\n', begin);
    return end == std::string_view::npos ? text_.size() : end + 1;
  }
  // The start of the first line whose path is not less than `path`.
  Result<std::size_t> lower_bound(std::string_view path) const {
    std::size_t low = 0, high = text_.size();
    while (low < high) {
      const std::size_t middle = low + (high - low) / 2;
      const auto before = middle == 0 ? std::string_view::npos : text_.rfind('\n', middle - 1);
      const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
      const std::size_t end = end_of_line(begin);
      PAWL_TRY(const auto found, path_of(text_.substr(begin, end - begin)));
      if (found < path)
        low = end;
      else
        high = begin;
    }
    return low;
  }
  Result<bool> has_at(std::size_t begin, std::string_view path) const {
    if (begin >= text_.size()) return false;
    PAWL_TRY(const auto found, path_of(text_.substr(begin, end_of_line(begin) - begin)));
    return found == path;
  }

 private:
  std::string_view text_;
};

struct Edit {
  std::size_t begin = 0, end = 0;  // The range that is replaced.
  std::string_view line;           // The new line; may be empty.
};

}  // namespace

std::optional<Derivation> derivation_of(const std::string& folder, const std::string& base_id) {
  const auto text = os::read_file(derivation_path(folder, base_id), 2 * kHashHexSize + 2);
  if (!text || text->size() != 2 * kHashHexSize + 2) return std::nullopt;
  Derivation out{.from = text->substr(0, kHashHexSize),
                 .layer_id = text->substr(kHashHexSize + 1, kHashHexSize)};
  if (!is_hash(out.from) || !is_hash(out.layer_id)) return std::nullopt;
  return out;
}

Status keep_derivation(const std::string& folder, const std::string& base_id, const Derivation& derivation) {
  return os::write_durably("derived", derivation_path(folder, base_id),
                           derivation.from + " " + derivation.layer_id + "\n");
}

Result<BaseParts> parts_of(const Workspaces& workspaces, const std::string& base_id) {
  BaseParts out{.whole = base_id};
  while (!is_whole(workspaces, out.whole)) {
    const auto derivation = derivation_of(workspaces.folder(), out.whole);
    // The depth has a bound because damaged records may form a loop.
    const bool usable =
        derivation && out.layers.size() < kDerivedDepthMax && workspaces.has_layer(derivation->layer_id);
    if (!usable)
      return fail(ErrorKind::kNotFound,
                  "the base " + base_id + " is gone (`pawl gc` takes it from old runs)");
    out.layers.push_back(derivation->layer_id);
    out.whole = derivation->from;
  }
  return out;
}

Result<BaseManifest> BaseManifest::open(const Workspaces& workspaces, const std::string& base_id) {
  PAWL_TRY(const auto parts, parts_of(workspaces, base_id));
  PAWL_TRY(auto whole,
           os::MappedFile::open(manifest_path(workspaces.folder(), "bases", parts.whole), kManifestBytesMax));
  BaseManifest out(std::move(whole));
  for (auto layer = parts.layers.rbegin(); layer != parts.layers.rend(); ++layer) {
    PAWL_TRY(const auto entries, workspaces.manifest(*layer));
    out.add(entries);
  }
  PAWL_TRY(const auto id, out.id());
  if (id == base_id) return out;
  return fail(ErrorKind::kCorrupt, "the base " + base_id + " is not what its manifests say, of " +
                                       parts.whole + " and of the layers on it; restore " +
                                       os::join(workspaces.folder(), "objects") + " from a backup");
}

void BaseManifest::add(const std::vector<Entry>& layer) {
  for (const auto& entry : layer) {
    auto& placed = placed_[entry.path];
    const bool replaced = !placed.entry.path.empty() && placed.entry.type != EntryType::kFolder;
    placed.hides = entry.type == EntryType::kFolder && (placed.hides || replaced);
    placed.entry = entry;
    if (entry.type != EntryType::kFolder) erase_below(placed_, entry.path);
  }
}

Result<BaseManifest::Text> BaseManifest::made() const {
  const ManifestText searched(whole_.bytes());
  Text out;
  std::vector<Edit> edits;
  for (const auto& [path, placed] : placed_) {
    PAWL_TRY(const std::size_t begin, searched.lower_bound(path));
    PAWL_TRY(const bool there, searched.has_at(begin, path));
    const bool is_deleted = placed.entry.type == EntryType::kDeleted;
    if (!is_deleted) out.lines.push_back(line_of(placed.entry) + "\n");
    edits.push_back({.begin = begin,
                     .end = there ? searched.end_of_line(begin) : begin,
                     .line = is_deleted ? std::string_view() : out.lines.back()});
    if (placed.entry.type == EntryType::kFolder && !placed.hides) continue;
    PAWL_TRY(const std::size_t below, searched.lower_bound(path + "/"));
    PAWL_TRY(const std::size_t behind, searched.lower_bound(path + "0"));  // '0' is the byte after '/'.
    if (below < behind) edits.push_back({.begin = below, .end = behind});
  }
  std::ranges::stable_sort(edits, {}, &Edit::begin);
  std::size_t at = 0;
  for (const auto& edit : edits) {
    if (edit.begin > at) out.pieces.push_back(whole_.bytes().substr(at, edit.begin - at));
    out.pieces.push_back(edit.line);
    at = std::max(at, edit.end);
  }
  out.pieces.push_back(whole_.bytes().substr(at));
  return out;
}

Result<std::string> BaseManifest::id() const {
  PAWL_TRY(const auto made_text, made());
  Hasher hasher;
  for (const auto piece : made_text.pieces) hasher.update(piece);
  return hasher.hex();
}

Result<std::int64_t> BaseManifest::lines() const {
  PAWL_TRY(const auto made_text, made());
  std::int64_t count = 0;
  for (const auto piece : made_text.pieces)
    for (auto at = piece.find('\n'); at != std::string_view::npos; at = piece.find('\n', at + 1)) ++count;
  return count;
}

Result<std::string> BaseManifest::text() const {
  PAWL_TRY(const auto made_text, made());
  std::string out;
  for (const auto piece : made_text.pieces) out += piece;
  return out;
}

std::vector<std::string> paths_named(std::string_view text, std::string_view name) {
  const std::string end = std::string(name) + "\"";
  std::vector<std::string> out;
  for (auto at = text.find(end); at != std::string_view::npos; at = text.find(end, at + 1)) {
    const auto begin = text.rfind('\n', at) + 1;  // npos + 1 is 0.
    const auto path = path_of(text.substr(begin, text.find('\n', at) - begin));
    if (path && path->substr(path->rfind('/') + 1) == name && (out.empty() || out.back() != *path))
      out.push_back(*path);
  }
  return out;
}

Result<std::vector<std::string>> submodules_of(const Workspaces& workspaces, const std::string& base_id) {
  PAWL_TRY(const auto manifest, BaseManifest::open(workspaces, base_id));
  PAWL_TRY(const std::string text, manifest.text());
  // A base has up to a million lines. Only the few lines of folders with content are parsed.
  std::string lines;
  for (const auto line : TextLines(text))
    if (line.starts_with("{\"content\":") && line.ends_with("\"type\":\"folder\"}"))
      lines += std::string(line) + "\n";
  PAWL_TRY(const auto entries, parse_manifest(lines));
  std::vector<std::string> out;
  for (const auto& entry : entries) out.push_back(entry.path);
  return out;
}

Result<std::string> derive_base(Workspaces& workspaces, const std::string& near, std::int64_t entries,
                                const std::function<Result<std::string>()>& make_layer) {
  if (entries == 0) return near;  // The sources differ only in entries that no base has.
  PAWL_TRY(auto parts, parts_of(workspaces, near));
  PAWL_TRY(auto manifest, BaseManifest::open(workspaces, near));
  PAWL_TRY(const std::int64_t lines, manifest.lines());
  const auto is_small = [&](std::int64_t count) {
    return count <= kDerivedEntriesMax && count * kDerivedPartMax <= lines;
  };
  if (!is_small(entries)) return std::string();
  PAWL_OK(check_source_limits(lines + entries, 0, "source", ""));
  Derivation made{.from = near};
  PAWL_TRY(made.layer_id, make_layer());
  PAWL_TRY(const auto layer, workspaces.manifest(made.layer_id));
  manifest.add(layer);
  PAWL_TRY(std::string base_id, manifest.id());
  if (workspaces.has_base(base_id)) return base_id;
  if (parts.layers.size() >= kDerivedDepthMax) {
    parts.layers.insert(parts.layers.begin(), made.layer_id);
    made.from = parts.whole;
    PAWL_TRY(made.layer_id, workspaces.merge(parts.whole, {}, parts.layers));
    PAWL_TRY(const auto merged, workspaces.manifest(made.layer_id));
    if (!is_small(static_cast<std::int64_t>(merged.size()))) return std::string();
  }
  PAWL_OK(keep_derivation(workspaces.folder(), base_id, made));
  return base_id;
}

bool Workspaces::has_base(const std::string& base_id) const { return parts_of(*this, base_id).has_value(); }

bool Workspaces::may_have(const std::string& base_id, const std::string& path) const {
  const View view(trees_of(base_id, {}));
  for (auto end = path.find('/');; end = path.find('/', end + 1)) {
    const auto full = view.find(path.substr(0, end));
    struct stat status {};
    if (!full || lstat(full->c_str(), &status) != 0) return false;
    if (end == std::string::npos || S_ISLNK(status.st_mode)) return true;
  }
}

std::vector<std::string> Workspaces::trees_of(const std::string& base_id,
                                              const std::vector<std::string>& layers) const {
  std::vector<std::string> out;
  for (const auto& layer : layers) out.push_back(layer_tree(layer));
  const auto parts = parts_of(*this, base_id);
  if (parts)
    for (const auto& layer : parts->layers) out.push_back(layer_tree(layer));
  out.push_back(base_tree(parts ? parts->whole : base_id));
  return out;
}

}  // namespace pawl::workspace
