#include "workspace/git/rules.h"

#include <git2/sys/repository.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/json.h"
#include "os/file.h"
#include "workspace/git/git_tree.h"
#include "workspace/git/patch_text.h"
#include "workspace/git/sha256.h"

namespace pawl::workspace {
namespace {

using GitConfigIterator = GitOwner<git_config_iterator, git_config_iterator_free>;
using GitFilters = GitOwner<git_filter_list, git_filter_list_free>;

constexpr std::uint64_t kRulesBytesMax = 1 << 20;  // of one .gitattributes or .gitignore
constexpr std::size_t kPointerBytesMax = 1024;     // of Git LFS
constexpr std::string_view kPointerStart = "version https://git-lfs.github.com/spec/v1\n";

bool is_rules_name(std::string_view path) {
  const auto name = path.substr(path.rfind('/') + 1);
  return name == ".gitattributes" || name == ".gitignore";
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_readable_file(const std::string& path) {
  struct stat status {};
  return !path.empty() && stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         access(path.c_str(), R_OK) == 0;
}

std::string xdg_folder() {
  if (const auto folder = variable("XDG_CONFIG_HOME"); !folder.empty()) return os::join(folder, "git");
  const auto home = variable("HOME");
  return home.empty() ? "" : os::join(home, ".config/git");
}

// git-config(1), FILES: those that are not the repository's. What can't be read says nothing.
GitConfig config_of_person() {
  git_config* raw = nullptr;
  if (git_config_new(&raw) != 0) return nullptr;
  GitConfig config(raw);
  const auto add = [&](const std::string& path, git_config_level_t level) {
    if (is_readable_file(path)) git_config_add_file_ondisk(raw, path.c_str(), level, nullptr, 0);
  };
  if (variable("GIT_CONFIG_NOSYSTEM").empty()) {
    const auto system = variable("GIT_CONFIG_SYSTEM");
    add(system.empty() ? "/etc/gitconfig" : system, GIT_CONFIG_LEVEL_SYSTEM);
  }
  if (const auto global = variable("GIT_CONFIG_GLOBAL"); !global.empty()) {
    add(global, GIT_CONFIG_LEVEL_GLOBAL);
  } else {
    if (const auto xdg = xdg_folder(); !xdg.empty()) add(os::join(xdg, "config"), GIT_CONFIG_LEVEL_XDG);
    if (const auto home = variable("HOME"); !home.empty())
      add(os::join(home, ".gitconfig"), GIT_CONFIG_LEVEL_GLOBAL);
  }
  return config;
}

std::string expanded(const std::string& path) {
  return path.starts_with("~/") ? os::join(variable("HOME"), path.substr(2)) : path;
}

bool matters(const std::string& name) {
  return name == "core.autocrlf" || name == "core.eol" || name == "core.filemode" ||
         name.starts_with("filter.");
}

// Where no file names them, git takes those of the person's folder.
Status set_path(git_config& from, git_config& to, const char* name, const std::string& standard) {
  git_buf value{};
  const bool there = git_config_get_string_buf(&value, &from, name) == 0;
  const std::string path = there ? expanded(value.ptr) : standard;
  git_buf_dispose(&value);
  if (path.empty() || git_config_set_string(&to, name, path.c_str()) == 0) return {};
  return git_failure(ErrorKind::kUnavailable, name);
}

// What of the person's configuration is about the content of files, in a file of our own: libgit2 reads
// neither GIT_CONFIG_GLOBAL nor ~ without being told, for the whole process, where a home is.
Status write_config(const std::string& path) {
  const auto from = config_of_person();
  git_config* raw = nullptr;
  if (!from || git_config_open_ondisk(&raw, path.c_str()) != 0)
    return git_failure(ErrorKind::kUnavailable, path);
  const GitConfig to(raw);
  git_config_iterator* each = nullptr;
  if (git_config_iterator_new(&each, from.get()) != 0) return git_failure(ErrorKind::kUnavailable, path);
  const GitConfigIterator owner(each);
  for (git_config_entry* entry = nullptr; git_config_next(&entry, each) == 0;)
    if (matters(entry->name) && entry->value != nullptr &&
        git_config_set_string(raw, entry->name, entry->value) != 0)
      return git_failure(ErrorKind::kUnavailable, entry->name);
  const auto xdg = xdg_folder();
  return set_path(*from, *raw, "core.attributesfile", xdg.empty() ? "" : os::join(xdg, "attributes"));
}

Result<std::string> pointer_to(const GitFile& file) {
  Sha256 hash;
  const auto source = os::file_source(file.full, kTreeBytesMax);
  std::uint64_t size = 0;
  for (;;) {
    PAWL_TRY(const auto piece, source->next());
    if (piece.empty()) break;
    size += piece.size();
    hash.add(piece);
  }
  if (size == 0) return std::string();  // an empty file is its own pointer
  return std::string(kPointerStart) + "oid sha256:" + hash.hex() + "\nsize " + std::to_string(size) + "\n";
}

// libgit2 takes the attributes of paths without a file from the index: what somebody stages today would
// change the commit of a run of yesterday.
bool forget_index(git_repository& repository) {
  git_index* raw = nullptr;
  if (git_index_new(&raw) != 0) return false;
  const GitIndex empty(raw);
  return git_repository_set_index(&repository, raw) == 0;
}

// Whether the tree has the folder `prefix`, "" or "a/b/".
bool is_in(const git_tree& root, const std::string& prefix) {
  if (prefix.empty()) return true;
  git_tree_entry* entry = nullptr;
  if (git_tree_entry_bypath(&entry, &root, prefix.substr(0, prefix.size() - 1).c_str()) != 0) return false;
  const GitTreeEntry owner(entry);
  return git_tree_entry_type(entry) == GIT_OBJECT_TREE;
}

}  // namespace

bool is_lfs_pointer(const std::string& full) {
  const auto text = os::read_file(full, kPointerBytesMax);
  return text && text->starts_with(kPointerStart);
}

Result<Rules> Rules::open(const FoundRepository& found, const std::string& scratch) {
  Rules rules(*found.repository, found.prefix, scratch);
  rules.index_ = index_of(*found.repository);
  PAWL_OK(rules.read_config());
  return rules;
}

Status Rules::read_config() {
  const std::string ours = os::join(scratch_, "config");
  PAWL_OK(write_config(ours));
  git_config* raw = nullptr;
  if (git_repository_config(&raw, repository_) != 0) return git_failure(ErrorKind::kInvalid, "config");
  const GitConfig config(raw);
  if (git_config_add_file_ondisk(raw, ours.c_str(), GIT_CONFIG_LEVEL_GLOBAL, repository_, 1) != 0)
    return git_failure(ErrorKind::kUnavailable, ours);
  int modes = 1;
  if (git_config_get_bool(&modes, raw, "core.filemode") == 0) has_modes_ = modes != 0;
  git_config_iterator* each = nullptr;
  // Not its iterator over a regular expression, which leaks (libgit2 1.5 with PCRE2).
  if (git_config_iterator_new(&each, raw) != 0) return git_failure(ErrorKind::kInvalid, "config");
  const GitConfigIterator owner(each);
  for (git_config_entry* entry = nullptr; git_config_next(&entry, each) == 0;) {
    const std::string name = entry->name;
    const auto start = name.find('.') + 1;
    if (!name.starts_with("filter.") || !(name.ends_with(".clean") || name.ends_with(".process"))) continue;
    if (entry->value != nullptr && *entry->value != '\0')
      filters_.insert(name.substr(start, name.rfind('.') - start));
  }
  return {};
}

Status Rules::learn(const git_tree& root, const GitFiles& files) {
  const std::string tree = os::join(scratch_, "tree");
  PAWL_OK(os::remove_tree(tree));
  PAWL_OK(os::make_folders(os::join(tree, prefix_)));
  ignored_ = IgnoreRules();
  const auto write = [&](const std::string& path, std::string_view bytes) -> Status {
    if (path.ends_with("/.gitignore")) ignored_.add(path.substr(0, path.rfind('/')), bytes);
    if (path == ".gitignore") ignored_.add("", bytes);
    PAWL_OK(os::make_folders(os::folder_of(os::join(tree, path))));
    return os::write_atomically(os::join(tree, path), bytes);
  };
  // A source that is not in the commit is in no part of the repository that these speak of.
  const std::size_t from = is_in(root, prefix_) ? 0 : prefix_.size();
  for (std::size_t above = from; above < prefix_.size(); above = prefix_.find('/', above) + 1) {
    for (const char* name : {".gitattributes", ".gitignore"}) {
      const std::string path = prefix_.substr(0, above) + name;
      git_tree_entry* entry = nullptr;
      if (git_tree_entry_bypath(&entry, &root, path.c_str()) != 0) continue;
      const GitTreeEntry owner(entry);
      git_blob* blob = nullptr;
      if (git_blob_lookup(&blob, repository_, git_tree_entry_id(entry)) != 0) continue;
      const GitBlob blob_owner(blob);
      PAWL_OK(write(path, {static_cast<const char*>(git_blob_rawcontent(blob)),
                           static_cast<std::size_t>(git_blob_rawsize(blob))}));
    }
  }
  for (const auto& [path, file] : files) {
    if (!file || file->is_link || !is_rules_name(path)) continue;
    PAWL_TRY(const auto bytes, os::read_file(file->full, kRulesBytesMax));
    PAWL_OK(write(prefix_ + path, bytes));
  }
  // Setting the same one once more leaks (libgit2 1.5).
  const bool is_set = has_learnt_ || (git_repository_set_workdir(repository_, tree.c_str(), 0) == 0 &&
                                      forget_index(*repository_));
  has_learnt_ = is_set;
  if (!is_set || git_attr_cache_flush(repository_) != 0)
    return git_failure(ErrorKind::kUnavailable, "attributes");
  return {};
}

Result<std::string> Rules::attribute(const std::string& path, const char* name) const {
  const char* value = nullptr;
  if (git_attr_get(&value, repository_, GIT_ATTR_CHECK_FILE_THEN_INDEX, (prefix_ + path).c_str(), name) != 0)
    return git_failure(ErrorKind::kUnavailable, "attributes of " + printable(path));
  return std::string(git_attr_value(value) == GIT_ATTR_VALUE_STRING ? value : "");
}

Result<std::string> Rules::command_of(const std::string& path) const {
  PAWL_TRY(const auto encoding, attribute(path, "working-tree-encoding"));
  if (!encoding.empty() && encoding != "UTF-8") return "working-tree-encoding=" + encoding;
  PAWL_TRY(const auto filter, attribute(path, "filter"));
  return filter != "lfs" && filters_.contains(filter) ? "filter=" + filter : "";
}

Status Rules::each_tracked(const std::function<Status(const Tracked&)>& visit) const {
  const std::size_t count = index_ ? git_index_entrycount(index_.get()) : 0;
  std::size_t at = 0;
  if (!prefix_.empty() && git_index_find_prefix(&at, index_.get(), prefix_.c_str()) != 0) return {};
  for (; at < count; ++at) {
    const git_index_entry& entry = *git_index_get_byindex(index_.get(), at);
    const std::string_view path = entry.path;
    if (!path.starts_with(prefix_)) break;
    PAWL_OK(visit({.path = std::string(path.substr(prefix_.size())),
                   .is_submodule = entry.mode == GIT_FILEMODE_COMMIT,
                   .is_link = entry.mode == GIT_FILEMODE_LINK,
                   .is_skipped = (entry.flags_extended & GIT_INDEX_ENTRY_SKIP_WORKTREE) != 0}));
  }
  return {};
}

// gitattributes(5): a file for the person, one for the repository, and one in each folder down to the path.
bool Rules::may_have_command(const std::set<std::string>& folders) const {
  const auto speaks_of_it = [](const std::string& path) {
    if (!os::exists(path)) return false;
    const auto text = os::read_file(path, kRulesBytesMax);
    return !text || text->find("filter") != std::string::npos ||
           text->find("working-tree-encoding") != std::string::npos;
  };
  git_buf info{}, of_person{};
  bool found = git_repository_item_path(&info, repository_, GIT_REPOSITORY_ITEM_INFO) != 0 ||
               speaks_of_it(os::join(info.ptr, "attributes"));
  git_config* raw = nullptr;
  if (git_repository_config_snapshot(&raw, repository_) == 0) {
    const GitConfig config(raw);
    if (git_config_get_path(&of_person, raw, "core.attributesfile") == 0)
      found = found || speaks_of_it(of_person.ptr);
  } else {
    found = true;
  }
  git_buf_dispose(&info);
  git_buf_dispose(&of_person);
  const std::string top = git_repository_workdir(repository_);
  for (std::size_t above = 0; above < prefix_.size(); above = prefix_.find('/', above) + 1)
    found = found || speaks_of_it(os::join(top, prefix_.substr(0, above) + ".gitattributes"));
  return found || std::ranges::any_of(folders, [&](const std::string& folder) {
           return speaks_of_it(os::join(os::join(top, prefix_ + folder), ".gitattributes"));
         });
}

Result<std::optional<Cleaned>> Rules::cleaned(const std::string& path, const GitFile& file) const {
  if (file.is_link) return std::optional<Cleaned>();
  PAWL_TRY(const auto command, command_of(path));
  if (!command.empty())
    return fail(ErrorKind::kInvalid,
                printable(path) + " has " + printable(command) +
                    " (`git check-attr -a`), which Pawl does not apply, so no commit of it would "
                    "be right; take the work with `pawl diff` and `git apply`, then `git add`");
  PAWL_TRY(const auto filter, attribute(path, "filter"));
  if (filter == "lfs" && filters_.contains(filter)) {
    if (is_lfs_pointer(file.full)) return std::optional<Cleaned>();
    PAWL_TRY(auto pointer, pointer_to(file));
    return std::optional(Cleaned{.bytes = std::move(pointer), .is_lfs_pointer = true});
  }
  git_filter_list* raw = nullptr;
  if (git_filter_list_load(&raw, repository_, nullptr, (prefix_ + path).c_str(), GIT_FILTER_TO_ODB,
                           GIT_FILTER_ALLOW_UNSAFE) != 0)
    return git_failure(ErrorKind::kUnavailable, "filters of " + printable(path));
  const GitFilters filters(raw);
  if (raw == nullptr) return std::optional<Cleaned>();
  PAWL_TRY(const auto bytes, os::read_file(file.full, kPatchedFileBytesMax));
  git_buf out{};
  if (git_filter_list_apply_to_buffer(&out, raw, bytes.data(), bytes.size()) != 0)
    return git_failure(ErrorKind::kUnavailable, "filters of " + printable(path));
  Cleaned cleaned{.bytes = std::string(out.ptr == nullptr ? "" : out.ptr, out.size)};
  git_buf_dispose(&out);
  return std::optional(std::move(cleaned));
}

}  // namespace pawl::workspace
