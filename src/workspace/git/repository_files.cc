#include "workspace/git/repository_files.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "os/file.h"
#include "workspace/objects.h"
#include "workspace/tree.h"

namespace pawl::workspace {
namespace {

constexpr std::string_view kPackedRefs = "# pack-refs with: peeled fully-peeled sorted \n";
constexpr std::string_view kBranchOfRefs = " refs/heads/pawl\n";
// Fixed, so that equal content has an equal commit.
constexpr std::string_view kWho = "Pawl <pawl@localhost> ";
constexpr std::int64_t kWhen = 946684800;
constexpr std::string_view kSubject = "The workspace at the start of this step";

std::string commit_text(const std::string& tree, const std::optional<ParentCommit>& parent) {
  // git reads no time before 1970.
  const std::int64_t when = parent ? std::max<std::int64_t>(parent->seconds_of_unix, 0) : kWhen;
  const std::string who = std::string(kWho) + std::to_string(when) + " +0000";
  return "tree " + tree + (parent ? "\nparent " + parent->id : "") + "\nauthor " + who + "\ncommitter " +
         who + "\n\n" + std::string(kSubject) + "\n";
}

Result<std::vector<Entry>> entries_in(const std::string& tree, const std::string& folder) {
  PAWL_TRY(const auto names, os::list_folder(os::join(tree, folder)));
  std::vector<Entry> out;
  for (const auto& name : names) {
    const std::string path = child(folder, name);
    PAWL_TRY(auto entry, entry_of(os::join(tree, path), path));
    const bool is_folder = entry.type == EntryType::kFolder;
    out.push_back(std::move(entry));
    if (!is_folder) continue;
    PAWL_TRY(auto below, entries_in(tree, path));
    std::ranges::move(below, std::back_inserter(out));
  }
  return out;
}

}  // namespace

Result<std::string> add_commit(const std::string& tree, const std::optional<ParentCommit>& parent,
                               const std::string& git, PackWriter& pack) {
  const auto commit = packed(ObjectType::kCommit, commit_text(tree, parent));
  PAWL_OK(pack.add(commit));
  PAWL_OK(pack.finish());
  const std::string id = hex_of(commit.id);
  PAWL_OK(os::write_atomically(os::join(git, "packed-refs"),
                               std::string(kPackedRefs) + id + std::string(kBranchOfRefs)));
  return id;
}

Result<std::string> keep_git_layer(const Workspaces& workspaces, os::TemporaryFolder temporary) {
  PAWL_TRY(auto entries, entries_in(os::join(temporary.path(), "tree"), ".git"));
  return keep_object(workspaces.folder(), "layers", std::move(temporary), std::move(entries), false);
}

}  // namespace pawl::workspace
