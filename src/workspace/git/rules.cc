#include "workspace/git/rules.h"

#include <git2/sys/repository.h>
#include <strings.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <map>

#include "base/json.h"
#include "os/file.h"
#include "workspace/git/config.h"
#include "workspace/git/git_tree.h"
#include "workspace/git/patch_text.h"
#include "workspace/git/sha256.h"
#include "workspace/git/text_filter.h"

namespace pawl::workspace {
namespace {

constexpr std::uint64_t kRulesBytesMax = 1 << 20;  // For one .gitattributes or .gitignore.
constexpr std::size_t kPointerBytesMax = 1024;     // For a pointer of Git LFS.
constexpr std::string_view kPointerStart = "version https://git-lfs.github.com/spec/v1\n";

bool is_rules_name(std::string_view path) {
  const auto name = path.substr(path.rfind('/') + 1);
  return name == ".gitattributes" || name == ".gitignore";
}

bool matters(const std::string& name) {
  return name == "core.filemode" || name == "lfs.storage" || name.starts_with("filter.");
}

// The attributes for all repositories of the machine, then those of the person: the later ones win, as in git.
// libgit2 would read only one file of them.
std::string attributes_outside(const Settings& settings) {
  std::vector<std::string> files;
  int without_system = 0;
  const char* said = std::getenv("GIT_ATTR_NOSYSTEM");
  if (said == nullptr || git_config_parse_bool(&without_system, said) != 0 || without_system == 0)
    files.emplace_back("/etc/gitattributes");
  // When no file names the attributes file, git takes the one in the person's folder.
  const auto named = setting(settings, "core.attributesfile"), xdg = xdg_folder();
  if (!named.empty())
    files.push_back(in_home(named));
  else if (!xdg.empty())
    files.push_back(os::join(xdg, "attributes"));
  std::string out;
  for (const auto& file : files)
    if (const auto text = os::read_file(file, kOuterAttributesBytesMax)) out += *text + "\n";
  return out;
}

// Writes the settings about the content of files to a file of our own, with the attributes files outside of
// the repository as one file. libgit2 reads a person's files only when the whole process has a home set.
Status write_config(const Settings& settings, const std::string& path, const std::string& attributes) {
  git_config* raw = nullptr;
  if (git_config_open_ondisk(&raw, path.c_str()) != 0) return git_failure(ErrorKind::kUnavailable, path);
  const GitConfig to(raw);
  std::map<std::string, std::string> last;
  for (const auto& [name, value] : settings)
    if (matters(name)) last[name] = value;
  PAWL_OK(os::write_atomically(attributes, attributes_outside(settings)));
  last["core.attributesfile"] = attributes;
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

// See convert.c, git_path_check_crlf().
std::optional<LineEnds> line_ends_in(const char* value) {
  switch (git_attr_value(value)) {
    case GIT_ATTR_VALUE_TRUE:
      return LineEnds::kConverted;
    case GIT_ATTR_VALUE_FALSE:
      return LineEnds::kKept;
    case GIT_ATTR_VALUE_STRING:
      if (std::string_view(value) == "input") return LineEnds::kConverted;
      return std::string_view(value) == "auto" ? std::optional(LineEnds::kGuessed) : std::nullopt;
    case GIT_ATTR_VALUE_UNSPECIFIED:
      return std::nullopt;
  }
  return std::nullopt;
}

Result<TextCounts> counts_of(const std::string& full) {
  TextCounts out;
  const auto source = os::file_source(full, kTreeBytesMax);
  for (;;) {
    PAWL_TRY(const auto piece, source->next());
    if (piece.empty()) return out;
    out.add(piece);
  }
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
  if (found.stands_for) {
    rules.stands_for_ = found.stands_for;
    rules.top_ = git_repository_workdir(found.repository.get());
  }
  rules.index_ = index_of(*found.repository);
  PAWL_OK(rules.read_config());
  return rules;
}

Status Rules::read_config() {
  const auto settings = stands_for_ ? settings_of(*stands_for_) : settings_of(*repository_);
  const std::string ours = os::join(scratch_, "config");
  PAWL_OK(write_config(settings, ours, os::join(scratch_, "attributes")));
  git_config* raw = nullptr;
  if (git_repository_config(&raw, repository_) != 0) return git_failure(ErrorKind::kInvalid, "config");
  const GitConfig config(raw);
  // Our file gets the highest level. It has all that libgit2 read from the repository's own configuration,
  // and its includes.
  if (git_config_add_file_ondisk(raw, ours.c_str(), GIT_CONFIG_LEVEL_APP, repository_, 1) != 0)
    return git_failure(ErrorKind::kUnavailable, ours);
  const auto autocrlf = setting(settings, "core.autocrlf");
  guesses_ = is_true(settings, "core.autocrlf") || strcasecmp(autocrlf.c_str(), "input") == 0;
  has_modes_ = setting(settings, "core.filemode").empty() || is_true(settings, "core.filemode");
  for (const auto& one : settings) {
    const auto& name = one.name;
    const auto start = name.find('.') + 1;
    if (!name.starts_with("filter.") || !(name.ends_with(".clean") || name.ends_with(".process"))) continue;
    if (!setting(settings, name).empty()) filters_.insert(name.substr(start, name.rfind('.') - start));
  }
  return {};
}

Status Rules::learn_above(const git_tree* root, const Write& write) const {
  // For a source that the commit does not have, the rules above it do not apply.
  const std::size_t from = !top_.empty() || is_in(root, prefix_) ? 0 : prefix_.size();
  for (std::size_t above = from; above < prefix_.size(); above = prefix_.find('/', above) + 1) {
    for (const char* name : {".gitattributes", ".gitignore"}) {
      const std::string path = prefix_.substr(0, above) + name;
      if (const auto full = os::join(top_, path); !top_.empty() && os::is_regular_file(full)) {
        PAWL_TRY(const auto bytes, os::read_file(full, kRulesBytesMax));
        PAWL_OK(write(path, bytes));
      }
      git_tree_entry* entry = nullptr;
      if (root == nullptr || git_tree_entry_bypath(&entry, root, path.c_str()) != 0) continue;
      const GitTreeEntry owner(entry);
      git_blob* blob = nullptr;
      if (git_blob_lookup(&blob, repository_, git_tree_entry_id(entry)) != 0) continue;
      const GitBlob blob_owner(blob);
      PAWL_OK(write(path, {static_cast<const char*>(git_blob_rawcontent(blob)),
                           static_cast<std::size_t>(git_blob_rawsize(blob))}));
    }
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
  PAWL_OK(learn_above(root, write));
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
  return filter == kLfsFilter && filters_.contains(filter);
}

Result<std::string> Rules::command_of(const std::string& path) const {
  PAWL_TRY(const auto encoding, attribute(path, "working-tree-encoding"));
  if (!encoding.empty() && encoding != "UTF-8") return "working-tree-encoding=" + encoding;
  PAWL_TRY(const auto filter, attribute(path, "filter"));
  return filter != kLfsFilter && filters_.contains(filter) ? "filter=" + filter : "";
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

Result<LineEnds> Rules::line_ends(const std::string& path) const {
  const char* names[] = {"text", "crlf", "eol"};
  const char* values[] = {nullptr, nullptr, nullptr};
  if (git_attr_get_many(values, repository_, GIT_ATTR_CHECK_FILE_THEN_INDEX, (prefix_ + path).c_str(), 3,
                        names) != 0)
    return git_failure(ErrorKind::kUnavailable, "attributes of " + printable(path));
  for (const char* value : {values[0], values[1]})
    if (const auto said = line_ends_in(value)) return *said;
  const std::string_view eol = git_attr_value(values[2]) == GIT_ATTR_VALUE_STRING ? values[2] : "";
  if (eol == "lf" || eol == "crlf") return LineEnds::kConverted;
  return guesses_ ? LineEnds::kGuessed : LineEnds::kKept;
}

// See convert.c, has_crlf_in_index().
Result<bool> Rules::has_crlf(const std::string& path, const git_oid& committed) const {
  git_odb* raw = nullptr;
  std::size_t size = 0;
  git_object_t type = GIT_OBJECT_INVALID;
  git_blob* blob = nullptr;
  if (git_repository_odb(&raw, repository_) != 0) return git_failure(ErrorKind::kUnavailable, "objects");
  const GitOdb database(raw);
  if (git_odb_read_header(&size, &type, raw, &committed) != 0 || type != GIT_OBJECT_BLOB) return false;
  if (size > kPatchedFileBytesMax)
    return fail(ErrorKind::kExhausted,
                printable(path) +
                    ": git keeps or converts its line ends by its committed content, which is too "
                    "large to be read for that; take the rest with `pawl diff`, and give it `text` "
                    "or `-text` in .gitattributes before the next run");
  if (git_blob_lookup(&blob, repository_, &committed) != 0) return false;
  const GitBlob owner(blob);
  TextCounts counts;
  counts.add({static_cast<const char*>(git_blob_rawcontent(blob)), size});
  return counts.has_crlf() && !counts.is_binary();
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
  if (filter == kLfsFilter && filters_.contains(filter)) {
    if (is_lfs_pointer(file.full)) return std::optional<Cleaned>();
    PAWL_TRY(auto pointer, pointer_to(file));
    return std::optional(Cleaned{.bytes = std::move(pointer), .is_lfs_pointer = true});
  }
  PAWL_TRY(const auto ends, line_ends(path));
  PAWL_TRY(const bool has_ids, has_ident(path));
  if (ends == LineEnds::kKept && !has_ids) return std::optional<Cleaned>();
  PAWL_TRY(const auto counts, counts_of(file.full));
  bool drops_cr = ends != LineEnds::kKept && counts.has_crlf();
  if (drops_cr && ends == LineEnds::kGuessed) {
    drops_cr = !counts.is_binary();
    if (drops_cr && committed != nullptr) {
      PAWL_TRY(const bool keeps_crlf, has_crlf(path, *committed));
      drops_cr = !keeps_crlf;
    }
  }
  const bool collapses_ids = has_ids && counts.has_id();
  if (!drops_cr && !collapses_ids) return std::optional<Cleaned>();
  auto out = filtered(file, TextFilter(drops_cr, collapses_ids));
  if (!out) return std::unexpected(std::move(out).error().in(printable(path)));
  return std::optional(*std::move(out));
}

Result<Cleaned> Rules::filtered(const GitFile& file, TextFilter to) const {
  struct stat status {};
  if (lstat(file.full.c_str(), &status) != 0) return fail_errno(errno, "changed file", file.full);
  Cleaned out;
  if (static_cast<std::uint64_t>(status.st_size) > in_memory_bytes_max_) {
    out.file = os::join(scratch_, "large");
    PAWL_OK(os::write_atomically(out.file, ""));
  }
  const auto put = [&](std::string_view bytes) -> Status {
    if (!out.file.empty()) return os::append_to_file(out.file, bytes);
    out.bytes += bytes;
    return {};
  };
  const auto source = os::file_source(file.full, kTreeBytesMax);
  for (;;) {
    PAWL_TRY(const auto piece, source->next());
    if (piece.empty()) break;
    PAWL_TRY(const std::string bytes, to.add(piece));
    PAWL_OK(put(bytes));
  }
  PAWL_OK(put(to.end()));
  return out;
}

}  // namespace pawl::workspace
