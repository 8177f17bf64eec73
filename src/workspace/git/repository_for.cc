// Makes the repository that a step finds at /workspace/.git: one commit with the state of the workspace. The
// files are written here, and no command of git runs.
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "base/hash.h"
#include "base/json.h"
#include "os/defences.h"
#include "os/file.h"
#include "os/parallel.h"
#include "workspace/bases.h"
#include "workspace/changed_files.h"
#include "workspace/changes.h"
#include "workspace/git/history.h"
#include "workspace/git/ignored.h"
#include "workspace/git/index_file.h"
#include "workspace/git/repository_files.h"
#include "workspace/git/rules.h"
#include "workspace/objects.h"
#include "workspace/repositories.h"
#include "workspace/workspace.h"

namespace pawl::workspace {
namespace {

constexpr std::string_view kAttributesFile = ".gitattributes";
// A larger file is packed alone, and not in memory. Each thread holds a file and its packed form, and an executor
// may have little memory left.
constexpr std::int64_t kPackedAtOnceBytes = 1 << 20;
constexpr std::size_t kPackedAtOnceFiles = 1024;
constexpr std::size_t kGitIdDigits = 2 * sizeof(ObjectId);

constexpr std::string_view kHead = "ref: refs/heads/pawl\n";
// The file system of a sandbox gives files other inodes, owners and change times than the index could know:
// `checkStat` and `trustctime` leave them out. In a sandbox a folder takes longer to read than elsewhere: with
// `untrackedCache`, git reads only the folders that changed since its last status. A commit needs a name. The
// repository is short-lived and needs no gc.
constexpr std::string_view kRepositoryConfig =
    "[core]\n\trepositoryformatversion = 0\n\tfilemode = true\n\tbare = false\n\tlogallrefupdates = true\n"
    "\tcheckStat = minimal\n\ttrustctime = false\n\tuntrackedCache = true\n"
    "[user]\n\tname = agent\n\temail = agent@localhost\n"
    "[gc]\n\tauto = 0\n";

// For the rules of .gitattributes as git has them in the sandbox, where no configuration of this machine
// applies.
constexpr std::string_view kNoFilters =
    "[core]\n\tautocrlf = false\n\tattributesfile = /dev/null\n[filter \"lfs\"]\n\tclean =\n\tprocess =\n";

bool is_submodule(const Entry& entry) {
  return entry.type == EntryType::kFolder && entry.content.size() == kGitIdDigits;
}

// The committed form of files that git does not commit byte for byte.
class CommittedForm {
 public:
  // `view`: the workspace, whose attributes files are at `attributes`.
  CommittedForm(const std::string& folder, const View& view, const std::vector<std::string>& attributes)
      : folder_(folder), view_(view), attributes_(attributes) {}

  // Whether a file with these bytes can have another form.
  bool may_differ(std::string_view bytes) const {
    return !attributes_.empty() && (bytes.find("\r\n") != bytes.npos || bytes.find("$Id:") != bytes.npos);
  }

  // nullopt: byte for byte the same, also where only a command could filter the file. The sandbox does not
  // have that command's configuration.
  Result<std::optional<Cleaned>> of(const Change& change) {
    if (!rules_) PAWL_OK(open());
    const auto& path = change.entry.path;
    auto cleaned = rules_->cleaned(path, {.full = os::join(change.tree, path)});
    if (!cleaned && cleaned.error().kind == ErrorKind::kInvalid) return std::optional<Cleaned>();
    return cleaned;
  }

 private:
  Status open() {
    git_start();
    PAWL_TRY(auto scratch, make_temporary(folder_));
    scratch_ = std::make_unique<os::TemporaryFolder>(std::move(scratch));
    const std::string path = os::join(scratch_->path(), "repository"),
                      room = os::join(scratch_->path(), "room");
    PAWL_OK(os::make_folders(room));
    git_repository* raw = nullptr;
    if (git_repository_init(&raw, path.c_str(), 0) != 0) return git_failure(ErrorKind::kUnavailable, path);
    found_.repository = GitRepository(raw);
    PAWL_OK(os::append_to_file(os::join(path, ".git/config"), kNoFilters));
    PAWL_TRY(rules_, Rules::open(found_, room));
    rules_->keep_in_memory(kPackedAtOnceBytes);
    GitFiles files;
    for (const auto& each : attributes_) files[each] = git_file_of(view_, each);
    return rules_->learn(nullptr, files);
  }

  const std::string& folder_;
  const View& view_;
  const std::vector<std::string>& attributes_;
  std::unique_ptr<os::TemporaryFolder> scratch_;
  FoundRepository found_;
  std::optional<Rules> rules_;
};

// The state that a repository is made from.
struct Before {
  IndexItems items;
  std::vector<std::string> layers;  // the layers of its repository
};
struct State {
  Before before;
  Changes changes;                // To `before`.
  std::set<std::string> ignored;  // Paths of `changes` that git does not track.
  View view;                      // The workspace.
};

// The items of `items` that the changes keep, and those that they add. A submodule with files below it is
// files.
IndexItems merged(IndexItems items, const Changes& changes, IndexItems added) {
  const auto first_from = [&items](const std::string& path) {
    return std::ranges::lower_bound(items, path, {}, &IndexItem::path);
  };
  constexpr std::uint32_t kGone = 0;
  for (const auto& [path, change] : changes) {
    if (const auto same = first_from(path); same != items.end() && same->path == path) same->mode = kGone;
    if (change.entry.type == EntryType::kFolder) continue;
    const std::string below = path + "/";
    for (auto at = first_from(below); at != items.end() && at->path.starts_with(below); ++at)
      at->mode = kGone;
  }
  std::erase_if(items, [](const auto& item) { return item.mode == kGone; });
  const auto kept = static_cast<std::ptrdiff_t>(items.size());
  std::ranges::move(added, std::back_inserter(items));
  std::ranges::inplace_merge(items, items.begin() + kept, {}, &IndexItem::path);
  for (auto& item : items) {
    if (item.mode != kGitSubmodule) continue;
    const std::string below = item.path + "/";
    if (const auto at = first_from(below); at != items.end() && at->path.starts_with(below))
      item.mode = kGone;
  }
  std::erase_if(items, [](const auto& item) { return item.mode == kGone; });
  return items;
}

class RepositoryMaker {
 public:
  RepositoryMaker(const Workspaces& workspaces, State state)
      : workspaces_(workspaces),
        state_(std::move(state)),
        attributes_(attributes_files()),
        committed_form_(workspaces.folder(), state_.view, attributes_) {}

  Result<Workspaces::Repository> make() {
    PAWL_TRY(auto temporary, make_temporary(workspaces_.folder()));
    const std::string tree = os::join(temporary.path(), "tree"), git = os::join(tree, ".git");
    const std::string packs = os::join(git, "objects/pack");
    PAWL_OK(os::make_folders(packs));
    if (state_.before.layers.empty()) PAWL_OK(write_what_all_have(git));
    PAWL_TRY(auto known, packs_of(state_.before.layers));
    PAWL_TRY(auto pack, PackWriter::open(packs, std::move(known)));
    PAWL_OK(add_all(pack));
    items_ = merged(std::move(state_.before.items), state_.changes, std::move(added_));
    state_.changes.clear();
    PAWL_TRY(const auto trees, add_trees(items_, pack));
    Workspaces::Repository out{.tree = hex_of(trees.root), .layers = std::move(state_.before.layers)};
    PAWL_TRY(out.commit, add_commit(out.tree, {}, git, pack));
    PAWL_OK(os::write_atomically(os::join(git, "index"), index_text(items_, trees.cache)));
    PAWL_TRY(std::string id, keep_git_layer(workspaces_, std::move(temporary)));
    out.layers.insert(out.layers.begin(), std::move(id));
    return out;
  }

 private:
  struct Added {
    const Change* change = nullptr;
    IndexItem item = {};
    PackedObject object = {};
    bool may_differ = false;
  };

  // In the lowest layer: each file that is written costs an fsync in each state.
  static Status write_what_all_have(const std::string& git) {
    PAWL_OK(os::make_folders(os::join(git, "refs")));
    PAWL_OK(os::write_atomically(os::join(git, "HEAD"), kHead));
    return os::write_atomically(os::join(git, "config"), kRepositoryConfig);
  }

  std::vector<std::string> attributes_files() const {
    std::vector<std::string> out;
    const auto see = [&](const std::string& path) {
      if (last_name(path) == kAttributesFile) out.push_back(path);
    };
    for (const auto& item : state_.before.items) see(item.path);
    for (const auto& [path, change] : state_.changes) see(path);
    return out;
  }

  Result<std::vector<PackIndex>> packs_of(const std::vector<std::string>& layers) const {
    std::vector<PackIndex> out;
    for (const auto& layer : layers) {
      const std::string folder = os::join(workspaces_.layer_tree(layer), ".git/objects/pack");
      PAWL_TRY(const auto names, os::list_folder(folder));
      for (const auto& name : names) {
        if (!name.ends_with(".idx")) continue;
        PAWL_TRY(auto index, PackIndex::open(os::join(folder, name)));
        out.push_back(std::move(index));
      }
    }
    return out;
  }

  Status add_all(PackWriter& pack) {
    std::vector<Added> due;
    std::int64_t bytes = 0;
    for (const auto& [path, change] : state_.changes) {
      const auto& entry = change.entry;
      if (is_submodule(entry)) add_submodule(entry);
      const bool is_tracked = entry.type == EntryType::kFile || entry.type == EntryType::kSymlink;
      if (!is_tracked || state_.ignored.contains(path)) continue;
      if (entry.size > kPackedAtOnceBytes) {
        PAWL_OK(add_large(change, pack));
        continue;
      }
      due.push_back({.change = &change});
      bytes += entry.size;
      if (due.size() < kPackedAtOnceFiles && bytes < kPackedAtOnceBytes) continue;
      PAWL_OK(add_files(std::exchange(due, {}), pack));
      bytes = 0;
    }
    PAWL_OK(add_files(std::move(due), pack));
    std::ranges::sort(added_, {}, &IndexItem::path);
    return {};
  }

  void add_submodule(const Entry& entry) {
    IndexItem item{.path = entry.path, .mode = kGitSubmodule};
    const std::string id = from_hex(entry.content);
    std::ranges::copy(id, item.id.begin());
    added_.push_back(std::move(item));
  }

  Status add_files(std::vector<Added> files, PackWriter& pack) {
    PAWL_OK(os::for_each_in_parallel(files.size(), [&](std::size_t i) { return pack_one(files[i]); }));
    for (auto& file : files) {
      if (file.may_differ) {
        PAWL_TRY(const auto form, committed_form_.of(*file.change));
        if (form) file.object = packed(ObjectType::kBlob, form->bytes);  // no larger than the file
      }
      PAWL_OK(pack.add(file.object));
      file.item.id = file.object.id;
      added_.push_back(std::move(file.item));
    }
    return {};
  }

  Status pack_one(Added& file) const {
    PAWL_OK(workspaces_.so_far().go_on());
    const auto& entry = file.change->entry;
    const std::string full = os::join(file.change->tree, entry.path);
    PAWL_TRY(file.item, item_of(entry, full));
    if (entry.type == EntryType::kSymlink) {
      file.object = packed(ObjectType::kBlob, entry.content);
      return {};
    }
    PAWL_TRY(const auto bytes, os::read_file(full, kPackedAtOnceBytes));
    if (!is_as_kept(bytes, entry)) return was_changed(full);
    file.may_differ = committed_form_.may_differ(bytes);
    file.object = packed(ObjectType::kBlob, bytes);
    return {};
  }

  static Result<ObjectId> add_form(const Cleaned& form, PackWriter& pack) {
    if (form.file.empty()) return pack.add_large(ObjectType::kBlob, form.bytes);
    PAWL_TRY(const auto bytes, os::MappedFile::open(form.file, kTreeBytesMax));
    return pack.add_large(ObjectType::kBlob, bytes.bytes());
  }

  Status add_large(const Change& change, PackWriter& pack) {
    PAWL_OK(workspaces_.so_far().go_on());
    const std::string full = os::join(change.tree, change.entry.path);
    PAWL_TRY(auto item, item_of(change.entry, full));
    PAWL_TRY(const auto bytes, os::MappedFile::open(full, kTreeBytesMax));
    if (!is_as_kept(bytes.bytes(), change.entry)) return was_changed(full);
    std::optional<Cleaned> form;
    if (committed_form_.may_differ(bytes.bytes())) {
      PAWL_TRY(form, committed_form_.of(change));
    }
    PAWL_TRY(item.id, form ? add_form(*form, pack) : pack.add_large(ObjectType::kBlob, bytes.bytes()));
    added_.push_back(std::move(item));
    return {};
  }

  static Result<IndexItem> item_of(const Entry& entry, const std::string& full) {
    struct stat status {};
    if (lstat(full.c_str(), &status) != 0) return fail_errno(errno, "look at", full);
    const bool is_link = entry.type == EntryType::kSymlink;
    if (is_link ? !S_ISLNK(status.st_mode) : !S_ISREG(status.st_mode)) return was_changed(full);
    const std::uint32_t of_file = (entry.mode & 0100U) != 0 ? kGitProgram : kGitFile;
    return IndexItem{.path = entry.path,
                     .mode = is_link ? kGitLink : of_file,
                     .size = static_cast<std::uint32_t>(status.st_size),
                     .mtime_s = static_cast<std::uint32_t>(status.st_mtim.tv_sec),
                     .mtime_ns = static_cast<std::uint32_t>(status.st_mtim.tv_nsec)};
  }

  static bool is_as_kept(std::string_view bytes, const Entry& entry) {
    return has_hash(bytes, entry.content) || !os::defences().objects;
  }
  static std::unexpected<Error> was_changed(const std::string& path) {
    return fail(ErrorKind::kForged,
                path + " was changed since it was kept; restore the state folder from a backup");
  }

  const Workspaces& workspaces_;
  State state_;
  const std::vector<std::string> attributes_;
  CommittedForm committed_form_;
  IndexItems added_, items_;
};

Result<Before> before_of(const Workspaces& workspaces, Workspaces::Repository made) {
  PAWL_OK(workspaces.check_before_use("", made.layers));
  const std::string path = os::join(workspaces.layer_tree(made.layers.front()), ".git/index");
  PAWL_TRY(const auto index, os::MappedFile::open(path, kTreeBytesMax));
  PAWL_TRY(auto items, items_of_index(index.bytes()));
  return Before{.items = std::move(items), .layers = std::move(made.layers)};
}

Result<std::set<std::string>> ignored_of(const Workspaces& workspaces, const Workspaces::Source& source,
                                         const Changes& changes) {
  std::vector<Entry> entries;
  for (const auto& [path, change] : changes)
    if (change.entry.type == EntryType::kFile || change.entry.type == EntryType::kSymlink)
      entries.push_back(change.entry);
  return ignored_in_base(workspaces, source, entries);
}

// All of the base, also of one that is derived from another: the objects of the other have what was deleted since.
Result<State> state_of_base(const Workspaces& workspaces, const Workspaces::Source& source) {
  const std::string& base_id = source.base.base_id;
  State out{.view = View(workspaces.trees_of(base_id, {}))};
  PAWL_TRY(const auto parts, parts_of(workspaces, base_id));
  const std::string whole = workspaces.base_tree(parts.whole);
  PAWL_TRY(const auto derived, changes_of(workspaces, View({whole}), parts.layers));
  PAWL_TRY(const auto manifest, BaseManifest::open(workspaces, base_id));
  PAWL_TRY(const std::string text, manifest.text());
  PAWL_TRY(auto entries, parse_manifest(text));
  for (auto& entry : entries) {
    const auto changed = derived.find(entry.path);
    const std::string& tree = changed == derived.end() ? whole : changed->second.tree;
    std::string path = entry.path;
    out.changes.emplace_hint(out.changes.end(), std::move(path),
                             Change{.entry = std::move(entry), .tree = tree});
  }
  PAWL_TRY(out.ignored, ignored_of(workspaces, source, out.changes));
  return out;
}

Result<State> state_of_layers(Workspaces& workspaces, const Workspaces::Source& source,
                              const std::vector<std::string>& layers) {
  const std::string& base_id = source.base.base_id;
  State out{.view = View(workspaces.trees_of(base_id, layers))};
  PAWL_TRY(auto made, workspaces.repository_for(source, {}));
  PAWL_TRY(out.before, before_of(workspaces, std::move(made)));
  PAWL_TRY(out.changes, changes_of(workspaces, View(workspaces.trees_of(base_id, {})), layers));
  return out;
}

}  // namespace

Result<Workspaces::Repository> Workspaces::repository_for(const Source& source,
                                                          const std::vector<std::string>& layers,
                                                          const std::string& history_at) {
  if (!history_at.empty()) return on_history(*this, source, layers, history_at);
  const std::string name = repository_name(source.base.base_id, layers);
  if (auto known = known_repository(*this, name)) return std::move(known->made);
  PAWL_TRY(auto state,
           layers.empty() ? state_of_base(*this, source) : state_of_layers(*this, source, layers));
  PAWL_TRY(auto made, RepositoryMaker(*this, std::move(state)).make());
  PAWL_OK(keep_repository(*this, name,
                          {.base_id = source.base.base_id, .has_layers = !layers.empty(), .made = made}));
  return made;
}

}  // namespace pawl::workspace
