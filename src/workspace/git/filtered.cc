// What a repository means for a run, before it starts: filters, submodules, a sparse checkout.
#include <fmt/format.h>

#include <algorithm>

#include "base/json.h"
#include "os/file.h"
#include "os/temporary_folder.h"
#include "workspace/bases.h"
#include "workspace/git/git_tree.h"
#include "workspace/git/rules.h"
#include "workspace/objects.h"

namespace pawl::workspace {
namespace {

constexpr std::uint64_t kAttributesBytesMax = 16 << 20;

// What git-lfs writes has a hash and a size behind its first line.
constexpr std::int64_t kPointerBytesLeast = 120, kPointerBytesMost = 200;

constexpr std::size_t kPathsNamedMax = 10;

// "2 file(s) of the source's commit are not there: a, b".
std::string named(const std::vector<std::string>& paths, std::string_view what) {
  std::string out = fmt::format("source: {} {}: ", paths.size(), what);
  for (std::size_t i = 0; i < std::min(paths.size(), kPathsNamedMax); ++i)
    out += (i == 0 ? "" : ", ") + printable(paths[i]);
  return out + (paths.size() > kPathsNamedMax ? ", ..." : "");
}

// What of a commit a folder has not.
class NotThere {
 public:
  NotThere(const std::string& source, const Rules& rules) : source_(source), rules_(rules) {}

  void see(const std::string& path, const GitEntry& entry) {
    const std::string full = os::join(source_, path);
    if (entry.mode == GIT_FILEMODE_COMMIT) {
      const auto names = os::list_folder(full);
      if (!names || names->empty()) submodules_.push_back(path);
    } else if (!os::exists(full) && rules_.unseen(path) == Unseen::kSkipped) {
      sparse_.push_back(path);
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
  const Rules& rules_;
  std::vector<std::string> submodules_, sparse_;
};

Result<std::vector<std::string>> check_in(const std::string& source, const std::vector<std::string>& left_out,
                                          const std::string& scratch) {
  const auto found = find_repository(source);
  const auto commit = found ? find_commit(*found->repository, "HEAD") : fail(ErrorKind::kNotFound, source);
  if (!commit) return std::vector<std::string>();
  const auto tree = tree_at(**commit, found->prefix);
  if (!tree) return std::vector<std::string>();  // nothing of the folder is committed
  PAWL_OK(check_index(*found->repository, "source: " + source));
  PAWL_TRY(const auto rules, Rules::open(*found, scratch));
  PAWL_TRY(const auto files, listing_of(*found->repository, **tree));
  NotThere not_there(source, rules);
  for (const auto& [path, entry] : files) {
    if (is_left_out(left_out, path)) continue;
    not_there.see(path, entry);
    if (entry.mode == GIT_FILEMODE_LINK || entry.mode == GIT_FILEMODE_COMMIT) continue;
    PAWL_TRY(const auto command, rules.command_of(path));
    if (!command.empty())
      return fail(
          ErrorKind::kInvalid,
          "source: " + printable(path) + " has " + printable(command) +
              " (`git check-attr -a`), which Pawl does not undo, so no patch or commit of it would be "
              "right; set source.ref to take the files as they are committed, or name it in "
              "source.exclude");
  }
  return not_there.sentences();
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

Result<std::vector<std::string>> Workspaces::check_source(const std::string& path,
                                                          const std::vector<std::string>& left_out) {
  PAWL_TRY(const auto scratch, os::TemporaryFolder::make(os::temporary_stem()));
  return check_in(path, left_out, scratch.path());
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
