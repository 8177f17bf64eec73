// What filters of a repository mean for a run, before it starts.
#include "base/json.h"
#include "os/file.h"
#include "workspace/bases.h"
#include "workspace/git/git_tree.h"
#include "workspace/git/rules.h"
#include "workspace/objects.h"

namespace pawl::workspace {
namespace {

constexpr std::uint64_t kAttributesBytesMax = 16 << 20;

// What git-lfs writes has a hash and a size behind its first line.
constexpr std::int64_t kPointerBytesLeast = 120, kPointerBytesMost = 200;

Status check_in(const FoundRepository& found, const std::vector<std::string>& left_out,
                const std::string& scratch) {
  const auto commit = find_commit(*found.repository, "HEAD");
  if (!commit) return {};
  const auto tree = tree_at(**commit, found.prefix);
  if (!tree) return {};  // nothing of the folder is committed
  PAWL_TRY(const auto rules, Rules::open(found, scratch));
  PAWL_TRY(const auto files, listing_of(*found.repository, **tree));
  for (const auto& [path, entry] : files) {
    if (entry.mode == GIT_FILEMODE_LINK || entry.mode == GIT_FILEMODE_COMMIT) continue;
    if (is_left_out(left_out, path)) continue;
    PAWL_TRY(const auto command, rules.command_of(path));
    if (!command.empty())
      return fail(
          ErrorKind::kInvalid,
          "source: " + printable(path) + " has " + printable(command) +
              " (`git check-attr -a`), which Pawl does not undo, so no patch or commit of it would be "
              "right; set source.ref to take the files as they are committed");
  }
  return {};
}

// Whether one of the .gitattributes files of a base, whose manifest is `text`, has the word.
bool names_lfs(const View& view, std::string_view text) {
  for (const auto& path : paths_named(text, ".gitattributes")) {
    const auto file = view.find(path);
    const auto rules = file ? os::read_file(*file, kAttributesBytesMax) : Result<std::string>("");
    if (rules && rules->find("lfs") != std::string::npos) return true;
  }
  return false;
}

}  // namespace

Status Workspaces::check_filters(const std::string& path, const std::vector<std::string>& left_out) const {
  const auto found = find_repository(path);
  if (!found) return {};
  PAWL_TRY(const std::string scratch, make_temporary(folder_));
  const auto checked = check_in(*found, left_out, scratch);
  static_cast<void>(os::remove_tree(scratch));  // else it is a temporary that gc finds
  return checked;
}

Result<std::vector<std::string>> Workspaces::lfs_pointers(const std::string& base_id) const {
  PAWL_TRY(const auto manifest, BaseManifest::open(*this, base_id));
  PAWL_TRY(const std::string text, manifest.text());
  std::vector<std::string> out;
  // Most sources have no such filter, and then a manifest of a million lines is not parsed.
  const View view(trees_of(base_id, {}));
  if (!names_lfs(view, text)) return out;
  PAWL_TRY(const auto entries, parse_manifest(text));
  for (const auto& entry : entries) {
    if (entry.type != EntryType::kFile || entry.size < kPointerBytesLeast || entry.size > kPointerBytesMost)
      continue;
    if (const auto file = view.find(entry.path); file && is_lfs_pointer(*file)) out.push_back(entry.path);
  }
  return out;
}

}  // namespace pawl::workspace
