// Checks what a repository means for a run before the run starts: filters, submodules, a sparse checkout.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "base/json.h"
#include "os/file.h"
#include "os/temporary_folder.h"
#include "workspace/bases.h"
#include "workspace/git/git_tree.h"
#include "workspace/git/rules.h"
#include "workspace/git/stand_in.h"
#include "workspace/objects.h"

namespace pawl::workspace {
namespace {

constexpr std::uint64_t kAttributesBytesMax = 16 << 20;
constexpr std::string_view kRulesName = ".gitattributes";

// A pointer of git-lfs has a hash and a size after its first line.
constexpr std::int64_t kPointerBytesLeast = 120, kPointerBytesMost = 200;

constexpr std::size_t kPathsNamedMax = 10;

// Such as "2 file(s) of the source's commit are not there: a, b".
std::string named(const std::vector<std::string>& paths, std::string_view what) {
  std::string out = fmt::format("source: {} {}: ", paths.size(), what);
  for (std::size_t i = 0; i < std::min(paths.size(), kPathsNamedMax); ++i)
    out += (i == 0 ? "" : ", ") + printable(paths[i]);
  return out + (paths.size() > kPathsNamedMax ? ", ..." : "");
}

// Collects the paths of a commit that a folder does not have.
class NotThere {
 public:
  explicit NotThere(const std::string& source) : source_(source) {}

  void see(const Rules::Tracked& file) {
    if (file.is_submodule) {
      const auto names = os::list_folder(os::join(source_, file.path));
      if (!names || names->empty()) submodules_.push_back(file.path);
    } else if (file.is_skipped && !os::exists(os::join(source_, file.path))) {
      sparse_.push_back(file.path);
    }
  }

  std::vector<std::string> sentences() const {
    std::vector<std::string> out;
    if (!submodules_.empty())
      out.push_back(named(submodules_, "submodule(s) are not checked out") +
                    "; agents and gates get nothing of them, and without its folder `pawl apply` makes no "
                    "commit; `git submodule update --init --recursive` fetches them");
    if (!sparse_.empty())
      out.push_back(named(sparse_, "file(s) are not there, because the checkout is sparse") +
                    "; agents and gates do not get them, and `pawl apply` makes no commit without them; run "
                    "`git sparse-checkout disable`, set source.ref to take what is committed, or name them "
                    "in source.exclude");
    return out;
  }

 private:
  const std::string& source_;
  std::vector<std::string> submodules_, sparse_;
};

std::unexpected<Error> filtered(const std::string& path, const std::string& command, bool has_commit) {
  return fail(ErrorKind::kInvalid,
              "source: " + printable(path) + " has " + printable(command) +
                  " (`git check-attr -a`), which Pawl does not undo, so no patch or commit of it would be "
                  "right; " +
                  (has_commit ? "set source.ref to take the files as they are committed, or " : "") +
                  "name it in source.exclude");
}

Status check_filter(const Rules& rules, const std::string& path, bool has_commit) {
  PAWL_TRY(const auto command, rules.command_of(path));
  if (command.empty()) return {};
  return filtered(path, command, has_commit);
}

Status check_filters(const Rules& rules, const std::vector<std::string>& left_out) {
  return rules.each_tracked([&](const Rules::Tracked& file) -> Status {
    if (file.is_link || file.is_submodule || is_left_out(left_out, file.path)) return {};
    return check_filter(rules, file.path, true);
  });
}

// The regular files of a folder of the source, and its folders, as paths below the source.
struct Below {
  std::vector<std::string> files, folders;
};

Below below_of(const std::string& folder, const Result<std::vector<Found>>& found,
               const std::vector<std::string>& left_out) {
  Below out;
  if (!found) return out;  // The snapshot says it.
  for (const auto& [name, status] : *found) {
    if (name == ".git" && !folder.empty()) return {};  // Another repository, with rules of its own.
    const std::string path = child(folder, name);
    if (!is_kept_name(name) || is_left_out(left_out, path)) continue;
    if (S_ISDIR(status.st_mode)) out.folders.push_back(path);
    if (S_ISREG(status.st_mode)) out.files.push_back(path);
  }
  return out;
}

Result<Below> all_below(const std::string& source, const std::vector<std::string>& left_out) {
  Below out{.files = {}, .folders = {""}};
  PAWL_OK(walk_by_level<Below>(
      source,
      [&](const std::string& folder, Result<std::vector<Found>> found) -> Result<Below> {
        return below_of(folder, found, left_out);
      },
      [&](Below&& seen, std::vector<std::string>& below) -> Status {
        std::ranges::copy(seen.folders, std::back_inserter(below));
        std::ranges::move(seen.folders, std::back_inserter(out.folders));
        std::ranges::move(seen.files, std::back_inserter(out.files));
        return check_source_limits(static_cast<std::int64_t>(out.files.size() + out.folders.size()), 0,
                                   source, "");
      }));
  return out;
}

bool may_have_command(const Rules& rules, const Below& all) {
  return rules.may_have_command({all.folders.begin(), all.folders.end()});
}

// Checks all files of a folder that no readable commit has. `git apply` filters them, too.
Status check_uncommitted(const Rules& rules, const std::string& source,
                         const std::vector<std::string>& left_out) {
  PAWL_TRY(const auto all, all_below(source, left_out));
  if (!may_have_command(rules, all)) return {};
  for (const auto& path : all.files) PAWL_OK(check_filter(rules, path, false));
  return {};
}

// Checks the files that git does not have yet and does not ignore. Agents change them as they change tracked
// ones. Replaces the rules by those that a commit of the work is made with.
Status check_untracked(Rules& rules, const git_commit& head, const std::string& source,
                       const std::vector<std::string>& left_out) {
  PAWL_TRY(const auto all, all_below(source, left_out));
  if (!may_have_command(rules, all)) return {};
  GitFiles files;
  std::map<std::string, std::string> commands;
  for (const auto& path : all.files) {
    files[path] = GitFile{.full = os::join(source, path)};
    if (rules.tracks(path)) continue;
    PAWL_TRY(auto command, rules.command_of(path));
    if (!command.empty()) commands[path] = std::move(command);
  }
  if (commands.empty()) return {};
  git_tree* tree = nullptr;
  if (git_commit_tree(&tree, &head) != 0) return git_failure(ErrorKind::kCorrupt, "source: " + source);
  const GitTree root(tree);
  PAWL_OK(rules.learn(root.get(), files));
  for (const auto& [path, command] : commands)
    if (!rules.ignores(path)) return filtered(path, command, true);
  return {};
}

Result<std::vector<std::string>> check_in(const std::string& source, const std::vector<std::string>& left_out,
                                          const std::string& scratch) {
  PAWL_TRY(const auto found, repository_or_stand_in(source, scratch));
  // No filters apply in a bare repository.
  if (!found || git_repository_workdir(found->repository.get()) == nullptr) return std::vector<std::string>();
  const auto commit = head_commit(*found->repository);
  const bool is_committed = commit && tree_at(**commit, found->prefix);
  if (is_committed) PAWL_OK(check_index(*found->repository, "source: " + source));
  PAWL_TRY(auto rules, Rules::open(*found, scratch));
  if (!is_committed) {
    PAWL_OK(check_uncommitted(rules, source, left_out));
    return std::vector<std::string>();
  }
  NotThere not_there(source);
  std::set<std::string> folders;
  std::optional<std::string> last;  // The folder of the file before. Most often the next file has it, too.
  bool has_unseen_rules = false;    // git takes these rules from the index.
  PAWL_OK(rules.each_tracked([&](const Rules::Tracked& file) -> Status {
    const std::string_view path = file.path;
    const auto slash = path.rfind('/');
    if (!last || path.substr(0, slash == path.npos ? 0 : slash) != *last) {
      last = parent_of(file.path);
      for (auto above = *last; folders.insert(above).second && !above.empty();) above = parent_of(above);
    }
    const bool is_rules = path.substr(slash + 1) == kRulesName;  // npos + 1 is 0.
    has_unseen_rules = has_unseen_rules || (is_rules && !os::exists(os::join(source, file.path)));
    if (!is_left_out(left_out, file.path)) not_there.see(file);
    return {};
  }));
  const bool may_have_one = has_unseen_rules || rules.may_have_command(folders);
  if (may_have_one) PAWL_OK(check_filters(rules, left_out));
  // Another walk of a large folder takes as long as `git status`. Without a command in the settings, only a
  // `working-tree-encoding` of an untracked folder is missed.
  if (may_have_one || rules.has_commands()) PAWL_OK(check_untracked(rules, **commit, source, left_out));
  return not_there.sentences();
}

// False: the base has no .gitattributes file. The manifest is neither copied nor compared with its id.
Result<bool> may_have_attributes(const Workspaces& workspaces, const std::string& base_id) {
  PAWL_TRY(const auto parts, parts_of(workspaces, base_id));
  const std::string path = manifest_path(workspaces.folder(), "bases", parts.whole);
  PAWL_TRY(const auto whole, os::MappedFile::open(path, kManifestBytesMax));
  bool found = !paths_named(whole.bytes(), kRulesName).empty();
  for (const auto& layer : parts.layers) {
    PAWL_TRY(const auto entries, workspaces.manifest(layer));
    found = found || std::ranges::any_of(entries, [](const Entry& entry) {
              return entry.path.substr(entry.path.rfind('/') + 1) == kRulesName;
            });
  }
  return found;
}

// Whether a .gitattributes file of a base contains the word "lfs". `text` is the manifest of the base.
bool names_lfs(const View& view, std::string_view text) {
  for (const auto& path : paths_named(text, kRulesName)) {
    const auto file = view.find(path);
    const auto rules = file ? os::read_file(*file, kAttributesBytesMax) : Result<std::string>("");
    if (rules && rules->find("lfs") != std::string::npos) return true;
  }
  return false;
}

}  // namespace

Result<std::vector<std::string>> Workspaces::check_source(const std::string& path,
                                                          const std::vector<std::string>& left_out) {
  PAWL_TRY(const auto scratch, os::TemporaryFolder::make(os::temporary_stem()));
  return check_in(path, left_out, scratch.path());
}

Result<std::vector<std::string>> Workspaces::lfs_pointers(const std::string& base_id) const {
  std::vector<std::string> out;
  // Most sources have no such filter. A manifest of a million lines is then not parsed.
  PAWL_TRY(const bool may_have_one, may_have_attributes(*this, base_id));
  if (!may_have_one) return out;
  PAWL_TRY(const auto manifest, BaseManifest::open(*this, base_id));
  PAWL_TRY(const std::string text, manifest.text());
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
