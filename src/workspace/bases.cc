#include "workspace/bases.h"

#include <algorithm>

#include "base/hash.h"
#include "base/json.h"
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

// Of one line. A quotation mark inside of a JSON string has a backslash before it, so this finds the key.
Result<std::string> path_of(std::string_view line) {
  constexpr std::string_view kKey = "\"path\":\"";
  const auto key = line.find(kKey);
  if (key == std::string_view::npos) return fail(ErrorKind::kCorrupt, "manifest: a line has no path");
  const auto path = line.substr(key + kKey.size());
  const auto end = path.find_first_of("\"\\");
  if (end != std::string_view::npos && path[end] == '"') return std::string(path.substr(0, end));
  PAWL_TRY(const Json json, parse_json(line));
  return json.value("path", "");
}

// The text of a manifest, searched by path.
class ManifestText {
 public:
  explicit ManifestText(std::string_view text) : text_(text) {}

  std::size_t end_of_line(std::size_t begin) const {
    const auto end = text_.find('\n', begin);
    return end == std::string_view::npos ? text_.size() : end + 1;
  }
  // Where the first line begins whose path is not before `path`.
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
  std::size_t begin = 0, end = 0;  // of what goes
  std::string line;                // that comes
};

Status add_edits(const ManifestText& text, const Entry& entry, std::vector<Edit>& edits) {
  PAWL_TRY(const std::size_t begin, text.lower_bound(entry.path));
  PAWL_TRY(const bool there, text.has_at(begin, entry.path));
  edits.push_back({.begin = begin,
                   .end = there ? text.end_of_line(begin) : begin,
                   .line = entry.type == EntryType::kDeleted ? std::string() : line_of(entry) + "\n"});
  if (entry.type == EntryType::kFolder) return {};
  PAWL_TRY(const std::size_t below, text.lower_bound(entry.path + "/"));
  PAWL_TRY(const std::size_t behind, text.lower_bound(entry.path + "0"));  // '0' is the byte after '/'
  if (below < behind) edits.push_back({.begin = below, .end = behind});
  return {};
}

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
    const bool usable = derivation &&
                        out.layers.size() < kDerivedDepthMax &&  // a damaged record may go round
                        workspaces.has_layer(derivation->layer_id);
    if (!usable)
      return fail(ErrorKind::kNotFound,
                  "the base " + base_id + " is gone (`pawl gc` takes it from old runs)");
    out.layers.push_back(derivation->layer_id);
    out.whole = derivation->from;
  }
  return out;
}

Result<std::string> changed_manifest(std::string_view text, const std::vector<Entry>& layer) {
  const ManifestText searched(text);
  std::vector<Edit> edits;
  for (const auto& entry : layer) PAWL_OK(add_edits(searched, entry, edits));
  std::ranges::stable_sort(edits, {}, &Edit::begin);
  std::string out;
  out.reserve(text.size() + (layer.size() << 8U));
  std::size_t at = 0;
  for (const auto& edit : edits) {
    if (edit.begin > at) out += text.substr(at, edit.begin - at);
    out += edit.line;
    at = std::max(at, edit.end);
  }
  out += text.substr(at);
  return out;
}

Result<std::string> base_manifest(const Workspaces& workspaces, const std::string& base_id) {
  PAWL_TRY(const auto parts, parts_of(workspaces, base_id));
  PAWL_TRY(auto text, read_manifest_text(workspaces.folder(), "bases", parts.whole));
  for (auto layer = parts.layers.rbegin(); layer != parts.layers.rend(); ++layer) {
    PAWL_TRY(const auto entries, workspaces.manifest(*layer));
    PAWL_TRY(text, changed_manifest(text, entries));
  }
  if (!parts.layers.empty() && !has_hash(text, base_id))
    return fail(ErrorKind::kCorrupt, "the base " + base_id + " is not what its layers make of " +
                                         parts.whole + "; restore " +
                                         object_folder(workspaces.folder(), "derived") + " from a backup");
  return text;
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
