#include "workspace/source_text.h"

#include <sys/stat.h>

#include <memory>

#include "os/file.h"
#include "workspace/git/git_tree.h"

namespace pawl::workspace {
namespace {

struct Commit {
  FoundRepository found;
  GitTree tree;
};

std::string text_in(const Commit& commit, const std::string& path) {
  git_tree_entry* entry = nullptr;
  if (git_tree_entry_bypath(&entry, commit.tree.get(), path.c_str()) != 0) return "";
  const GitTreeEntry entry_owner(entry);
  git_blob* blob = nullptr;
  if (git_tree_entry_type(entry) != GIT_OBJECT_BLOB ||
      git_blob_lookup(&blob, commit.found.repository.get(), git_tree_entry_id(entry)) != 0)
    return "";
  const GitBlob blob_owner(blob);
  const auto size = static_cast<std::uint64_t>(git_blob_rawsize(blob));
  if (size > kSourceTextBytesMax) return "";
  return {static_cast<const char*>(git_blob_rawcontent(blob)), size};
}

std::string text_in(const std::string& folder, const std::string& path) {
  const auto full = os::join(folder, path);
  struct stat status {};
  // Opening a FIFO would wait for its writer.
  const bool is_file = stat(full.c_str(), &status) == 0 && S_ISREG(status.st_mode);
  return is_file ? os::read_file(full, kSourceTextBytesMax).value_or("") : "";
}

}  // namespace

Result<TextOf> texts_of_source(const std::string& path, const std::optional<std::string>& ref) {
  if (!ref) return [path](const std::string& file) { return text_in(path, file); };
  PAWL_TRY(auto found, find_repository(path));
  PAWL_TRY(const auto commit, find_commit(*found.repository, *ref));
  PAWL_TRY(auto tree, tree_at(*commit, found.prefix));
  const auto kept = std::make_shared<const Commit>(Commit{std::move(found), std::move(tree)});
  return [kept](const std::string& file) { return text_in(*kept, file); };
}

}  // namespace pawl::workspace
