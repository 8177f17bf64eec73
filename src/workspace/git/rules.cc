#include "workspace/git/rules.h"

#include <git2/sys/repository.h>

#include <algorithm>
#include <map>

#include "base/json.h"
#include "os/file.h"
#include "workspace/git/config.h"
#include "workspace/git/git_tree.h"
#include "workspace/git/patch_text.h"
#include "workspace/git/sha256.h"

namespace pawl::workspace {
namespace {

using GitFilters = GitOwner<git_filter_list, git_filter_list_free>;

constexpr std::uint64_t kRulesBytesMax = 1 << 20;  // For one .gitattributes or .gitignore.
constexpr std::size_t kPointerBytesMax = 1024;     // For a pointer of Git LFS.
constexpr std::string_view kPointerStart = "version https://git-lfs.github.com/spec/v1\n";

bool is_rules_name(std::string_view path) {
  const auto name = path.substr(path.rfind('/') + 1);
  return name == ".gitattributes" || name == ".gitignore";
}

bool matters(const std::string& name) {
  return name == "core.autocrlf" || name == "core.eol" || name == "core.filemode" ||
         name == "core.attributesfile" || name == "lfs.storage" || name.starts_with("filter.");
}

// Writes the settings about the content of files to a file of our own. libgit2 reads a person's files only
// when the whole process has a home set.
Status write_config(const Settings& settings, const std::string& path) {
  git_config* raw = nullptr;
  if (git_config_open_ondisk(&raw, path.c_str()) != 0) return git_failure(ErrorKind::kUnavailable, path);
  const GitConfig to(raw);
  std::map<std::string, std::string> last;
  // When no file names the attributes file, git takes the one in the person's folder.
  if (const auto xdg = xdg_folder(); !xdg.empty()) last["core.attributesfile"] = os::join(xdg, "attributes");
  for (const auto& [name, value] : settings)
    if (matters(name)) last[name] = name == "core.attributesfile" ? in_home(value) : value;
  for (const auto& [name, value] : last)
    if (git_config_set_string(raw, name.c_str(), value.c_str()) != 0)
      return git_failure(ErrorKind::kUnavailable, name);
  return {};
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
  if (size == 0) return std::string();  // An empty file is its own pointer.
  return std::string(kPointerStart) + "oid sha256:" + hash.hex() + "\nsize " + std::to_string(size) + "\n";
}

// The form that git commits of a file with `ident`: "$Id: anything$" in a line becomes "$Id$".
std::string collapsed(std::string_view bytes) {
  constexpr std::string_view kStart = "$Id:";
  std::string out;
  for (auto at = bytes.find(kStart); at != bytes.npos; at = bytes.find(kStart)) {
    const auto end = bytes.find_first_of("$\n", at + kStart.size());
    if (end == bytes.npos) break;
    const bool is_one = bytes[end] == '$';
    out += bytes.substr(0, is_one ? at : end);
    if (is_one) out += "$Id$";
    bytes.remove_prefix(is_one ? end + 1 : end);
  }
  return out += bytes;
}

// libgit2 1.5 takes any "$Id", as in a variable $Identity, up to the next "$" for an id. Such starts are
// therefore hidden from it. Its conversion of line ends removes some "\r" and keeps all other bytes.
constexpr std::string_view kHidden = "$Id", kShown = "XId";

std::string without_ids(std::string bytes) {
  for (auto at = bytes.find(kHidden); at != bytes.npos; at = bytes.find(kHidden, at))
    bytes.replace(at, kShown.size(), kShown);
  return bytes;
}

std::string with_ids(std::string filtered, const std::string& shown, const std::string& bytes) {
  std::size_t to = 0;
  for (std::size_t from = 0; from < shown.size() && to < filtered.size(); ++from)
    if (shown[from] == filtered[to]) filtered[to++] = bytes[from];
  return filtered;
}

// Whether git takes the bytes for a text with CRLF line ends (convert.c, has_crlf_in_index).
bool has_crlf(std::string_view bytes) {
  if (bytes.find("\r\n") == bytes.npos || bytes.find('\0') != bytes.npos) return false;
  for (auto at = bytes.find('\r'); at != bytes.npos; at = bytes.find('\r', at + 1))
    if (at + 1 == bytes.size() || bytes[at + 1] != '\n') return false;
  return true;
}

// libgit2 takes the attributes of paths without a file from the index. Files staged today must not change the
// commit of yesterday's run.
bool forget_index(git_repository& repository) {
  git_index* raw = nullptr;
  if (git_index_new(&raw) != 0) return false;
  const GitIndex empty(raw);
  return git_repository_set_index(&repository, raw) == 0;
}

// Whether the tree has the folder `prefix`, "" or "a/b/".
bool is_in(const git_tree* root, const std::string& prefix) {
  if (prefix.empty()) return true;
  if (root == nullptr) return false;
  git_tree_entry* entry = nullptr;
  if (git_tree_entry_bypath(&entry, root, prefix.substr(0, prefix.size() - 1).c_str()) != 0) return false;
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
  const auto settings = settings_of(*repository_);
  const std::string ours = os::join(scratch_, "config");
  PAWL_OK(write_config(settings, ours));
  git_config* raw = nullptr;
  if (git_repository_config(&raw, repository_) != 0) return git_failure(ErrorKind::kInvalid, "config");
  const GitConfig config(raw);
  // Our file gets the highest level. It has all that libgit2 read from the repository's own configuration,
  // and its includes.
  if (git_config_add_file_ondisk(raw, ours.c_str(), GIT_CONFIG_LEVEL_APP, repository_, 1) != 0)
    return git_failure(ErrorKind::kUnavailable, ours);
  has_modes_ = setting(settings, "core.filemode").empty() || is_true(settings, "core.filemode");
  for (const auto& one : settings) {
    const auto& name = one.name;
    const auto start = name.find('.') + 1;
    if (!name.starts_with("filter.") || !(name.ends_with(".clean") || name.ends_with(".process"))) continue;
    if (!setting(settings, name).empty()) filters_.insert(name.substr(start, name.rfind('.') - start));
  }
  return {};
}

Status Rules::learn(const git_tree* root, const GitFiles& files) {
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
  // For a source that the commit does not have, the rules above it do not apply.
  const std::size_t from = is_in(root, prefix_) ? 0 : prefix_.size();
  for (std::size_t above = from; above < prefix_.size(); above = prefix_.find('/', above) + 1) {
    for (const char* name : {".gitattributes", ".gitignore"}) {
      const std::string path = prefix_.substr(0, above) + name;
      git_tree_entry* entry = nullptr;
      if (git_tree_entry_bypath(&entry, root, path.c_str()) != 0) continue;
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
  // Setting the same work tree again leaks memory (libgit2 1.5).
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

Result<bool> Rules::has_ident(const std::string& path) const {
  const char* value = nullptr;
  if (git_attr_get(&value, repository_, GIT_ATTR_CHECK_FILE_THEN_INDEX, (prefix_ + path).c_str(), "ident") !=
      0)
    return git_failure(ErrorKind::kUnavailable, "attributes of " + printable(path));
  return git_attr_value(value) == GIT_ATTR_VALUE_TRUE;
}

Result<bool> Rules::rewrites(const std::string& path) const {
  PAWL_TRY(const bool has, has_ident(path));
  if (has) return true;
  PAWL_TRY(const auto filter, attribute(path, "filter"));
  return filter == "lfs" && filters_.contains(filter);
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

// See gitattributes(5): a file for the person, one for the repository, and one in each folder down to the
// path.
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

// Puts the committed blob into the index that libgit2 looks at. That index is ours, and otherwise empty.
Status Rules::show_committed(const std::string& path, const git_oid* committed) const {
  const auto index = index_of(*repository_);
  if (!index || git_index_clear(index.get()) != 0) return git_failure(ErrorKind::kUnavailable, "index");
  git_blob* blob = nullptr;
  if (committed == nullptr || git_blob_lookup(&blob, repository_, committed) != 0) return {};
  const GitBlob owner(blob);
  if (!has_crlf({static_cast<const char*>(git_blob_rawcontent(blob)),
                 static_cast<std::size_t>(git_blob_rawsize(blob))}))
    return {};
  const std::string name = prefix_ + path;
  git_index_entry entry{};
  entry.mode = GIT_FILEMODE_BLOB;
  entry.id = *committed;
  entry.path = name.c_str();
  if (git_index_add(index.get(), &entry) == 0) return {};
  return git_failure(ErrorKind::kUnavailable, "index");
}

Result<std::optional<Cleaned>> Rules::cleaned(const std::string& path, const GitFile& file,
                                              const git_oid* committed) const {
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
  if (has_learnt_) PAWL_OK(show_committed(path, committed));
  PAWL_TRY(auto bytes, os::read_file(file.full, kPatchedFileBytesMax));
  PAWL_TRY(const bool has, has_ident(path));
  if (has) bytes = collapsed(bytes);
  const std::string shown = has ? without_ids(bytes) : bytes;
  git_buf out{};
  if (git_filter_list_apply_to_buffer(&out, raw, shown.data(), shown.size()) != 0)
    return git_failure(ErrorKind::kUnavailable, "filters of " + printable(path));
  Cleaned cleaned{.bytes = std::string(out.ptr == nullptr ? "" : out.ptr, out.size)};
  git_buf_dispose(&out);
  if (has) cleaned.bytes = with_ids(std::move(cleaned.bytes), shown, bytes);
  return std::optional(std::move(cleaned));
}

}  // namespace pawl::workspace
