// The files that a step works on: base snapshots, the layers on top of them, and the patches and commits made
// from them.
//
// All objects are stored by content below one folder, the object store (`.pawl/objects`):
//   blobs/<ab>/<rest of 64 hex>         bytes: logs, reports
//   bases/<id>/{manifest.jsonl,tree/}   a snapshot; id = BLAKE3 of the manifest
//   derived/<id>                        "<base> <layer>": the base <id> is that base with that layer on it
//   layers/<id>/{manifest.jsonl,tree/}  the changes of a step, in overlayfs form (whiteouts: c 0:0 devices);
//                                       id = BLAKE3 of the manifest
//   folders/<key>                       a cache: the entries of a folder at its last snapshot
//   git/<tree>.3                        a cache: the base of a git tree that was taken before
//   git/<tree>.submodules               a cache: the submodules of that tree
//   merges/<key>                        a cache: the layer that several accepted layers were merged to before
//   repositories/<key>                  a cache: the layers with the .git of a state that was made before
// A file `checked` may lie beside a manifest. It is a cache: when the tree was compared with the manifest and
// found whole.
//
// Objects are written below tmp/, synced, then renamed, so a name that exists is complete. Trees come from
// sandboxes: this room trusts no entry in them and follows no symlink. A process that can write the folder
// can write objects. Objects are therefore compared with their ids before use, and a cache has a seal that
// needs the folder's key. The functions are thread-safe, and safe between processes, unless they say
// otherwise.
//
// Only gc removes objects. It retains every object that a row or a step's spool names. A caller that makes an
// object, or finds one that exists, holds the store (hold()) until a row or a spool names the object.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/path_rules.h"
#include "base/policy.h"
#include "os/file.h"
#include "os/held_tree.h"
#include "os/temporary_folder.h"

namespace pawl::workspace {

constexpr std::int64_t kEntriesMax = 1'000'000;     // In one base or layer.
constexpr std::int64_t kTreeBytesMax = 64LL << 30;  // In one base or layer.

// The sum of the paths and link targets of one layer. Manifests are read whole, and contain them escaped.
constexpr std::int64_t kNamesBytesMax = 100 << 20;

constexpr std::size_t kRefusedNamedMax = 100;  // Refused paths that are named; the rest is counted.

// The limits on the changes of one step. A file counts with its length, holes included.
struct Caps {
  std::int64_t entries = kEntriesMax, bytes = kTreeBytesMax, names_bytes = kNamesBytesMax;
  // Whether links may lead out of the tree. Inside a sandbox a link is text that no process outside follows.
  // In a folder of the host a process will follow it, so only links that stay in the folder are taken.
  bool outer_links = true;
  // Whether a layer that is already stored gets the times of the collected tree. False for the work of an
  // agent: set_times() gives that its times, and another attempt may be judged on the same layer now.
  bool own_times = true;
  // Whether the sandbox was shown a .git of Pawl at the top. This .git is dropped in any later form, and is not
  // refused.
  bool had_git = false;
  // Texts that no entry may have: in its path, in the target of a link, in the bytes of a file.
  std::vector<std::string> withheld = {};
};

enum class EntryType { kFile, kFolder, kSymlink, kDeleted };

// One line of a manifest; lines are sorted by path. A folder that replaces the entries below (opaque in overlayfs) is
// written as kDeleted entries for the hidden paths. A manifest thus means the same over any lower tree.
struct Entry {
  std::string path;  // Relative, safe.
  EntryType type = EntryType::kFile;
  unsigned mode = 0;      // Permission bits; 0 for symlinks and deletions.
  std::int64_t size = 0;  // Zero except for files.
  // The BLAKE3 of a file's bytes, the target of a symlink, or the commit of a base's submodule.
  std::string content;
  // The source's time, in a base of a folder and in the layers that such a base is derived by; else 0.
  std::int64_t mtime_ns = 0;
  bool operator==(const Entry&) const = default;
};

struct Base {
  std::string base_id;
  // The commit that the ref names. For a directory without ref inside a repository: HEAD. Otherwise "".
  std::string git_commit;
};

// Progress of a snapshot, for a caller that waits: files and bytes that were read or written so far.
struct SoFar {
  std::atomic<std::int64_t> files{0}, bytes{0};
  std::function<bool()> should_stop;  // Asked before each entry, from several threads.
  Status go_on() const {
    if (!should_stop || !should_stop()) return {};
    return fail(ErrorKind::kCancelled, "interrupted; what was copied of the source is removed");
  }
  void add(std::int64_t size) {
    files += 1;
    bytes += size;
  }
};

// Paths that a base is taken without.
struct Without {
  std::vector<std::string> folders = {};   // Absolute paths of the host.
  std::vector<std::string> patterns = {};  // Path patterns (base/glob.h). A folder goes with all below it.
  std::string above = {};                  // The prefix that `patterns` put before a path: "" or "a/b/".
};

struct Collected {
  std::string layer_id;  // "" when no path changed.
  // Paths that were not taken: devices, FIFOs, sockets, unsafe names, links whose target is not UTF-8, entries
  // with a text of Caps::withheld, and all beyond the caps. At most the first kRefusedNamedMax, with at least one
  // path of each top folder while there is room.
  std::vector<std::string> refused;
  std::int64_t refused_total = 0;     // The number of all refused paths.
  std::vector<std::string> withheld;  // The first kRefusedNamedMax of them that have such a text.
  std::int64_t rewritten = 0;         // Files that were written, and equal the files below.
};

// While a Hold exists, gc removes no object. It is released when it is destroyed, or when the process dies.
struct Hold {
  std::optional<os::FileLock> lock;  // Shared; empty where there is no gc.
};

// The paths that gc removes, relative to the state folder: "objects/bases/ID".
struct Garbage {
  std::vector<std::string> bases, layers, blobs, merges, caches, temporaries;
};

// Objects that detach() took out of sight, below `place`. They are removed with this value, or by another
// process if this one dies.
struct Detached {
  os::TemporaryFolder folder;
  os::HeldTree::Place place;
};

// Disk space that `path` takes, in bytes, with all below it. Unreadable parts count as 0.
std::int64_t bytes_on_disk(const std::string& path);

// The text with which `git apply` makes one tree from another.
struct Patch {
  struct LeftOut {
    std::string path, reason;
    bool is_too_large = false;  // For a patch. Otherwise no commit can have the change, either.
  };
  std::string text;
  std::vector<LeftOut> left_out;  // Changes that no patch can express; `text` has all the others.
  // The .gitignore files that it adds or changes. Their rules can hide other new files from `git add`.
  std::vector<std::string> ignore_files;
};

// A file of the source that a layer deletes, and a file of the layer that is left out and may be it.
struct LostMove {
  std::string from, to;
};

using ReadsFile = std::function<bool(const std::string& path)>;

// How `git apply` reads a patch in a folder.
struct PatchTarget {
  // Where the folder lies in the work tree of its git repository: "a/b/". "" at the root of the work tree,
  // and where there is no repository. git resolves the paths of a patch from that root, wherever it runs.
  std::string folder;
  // The repository names contents by SHA-256. A binary patch needs those names.
  bool sha256_ids = false;
  // For a folder that was taken as it is, in a repository. `git apply` compares a patch with the content that
  // git commits. The patch has the committed content where that differs in more than line ends (Git LFS,
  // `ident`).
  struct Filters {
    std::string source, git_commit;  // The commit that the repository had; "": no commit.
    bool keeps_lfs = false;          // Put contents that pointers name where Git LFS looks for them.
  };
  std::optional<Filters> filters = std::nullopt;
  // A limit below the limit of `git apply`. The patch only names changes that do not fit into the remaining room.
  // Their text is not made.
  std::optional<std::uint64_t> bytes_max = std::nullopt;
};

// One accepted phase, for diff and apply.
struct AppliedPhase {
  std::string phase_id;
  std::string goal;
  std::string layer_id;
};

// The accepted phases of a run as commits, one for each phase, on top of the run's start commit.
struct Commits {
  std::string source;  // The repository is in or above it.
  Base base;
  std::vector<AppliedPhase> phases;                         // Never empty.
  std::function<std::string(const AppliedPhase&)> message;  // The message of a phase's commit.
  std::int64_t when_seconds = 0;                            // The time of authors and committers.
  // Patterns of paths that the base was taken without. They stay as they are committed.
  std::vector<std::string> left_out = {};
  // The base has files as a folder had them: a commit has them filtered, as `git add` does.
  bool of_work_tree = false;
};

// The files of the trees `lower` (topmost first) that match one of the patterns (any_covers()) and that the
// changes in `upper`, in overlayfs form, changed in content or removed. Sorted, at most kRefusedNamedMax. New
// files, times and modes do not count. Time is that of a look at the folders of `upper` that a pattern may match.
Result<std::vector<std::string>> changed_files(const std::string& upper,
                                               const std::vector<std::string>& lower,
                                               const std::vector<std::string>& patterns);

// Makes `to` a tree of the files that a sandbox left in `upper`, for collect(): they are the same files by a second
// name. A crash while `to` is collected thus loses no data, and `upper` gives the same layer again. REQUIRES: both
// paths are on one file system, and `to` has no other file.
Status link_upper(const std::string& upper, const std::string& to);

class Workspaces {
 public:
  // Opens `folder`, which is .pawl. Creates it when absent, with a .gitignore that hides it from git.
  // kDenied, kExhausted: errors of the file system. Caches that others wrote in the folder are believed only
  // with the same key().
  static Result<Workspaces> open(std::string folder);

  const std::string& folder() const { return folder_; }
  // Sets the folder's secret for the seals of caches: kHashKeySize bytes. Without use_key() the key is
  // random, and no other process has it. Not thread-safe: no other thread may use this object meanwhile.
  void use_key(std::string key) { key_ = std::move(key); }
  const std::string& key() const { return key_; }
  // The progress of all snapshots that this object and its copies have taken.
  const SoFar& so_far() const { return *so_far_; }
  // From now on, snapshots end with kCancelled, and remove_left_over() ends, as soon as `should_stop` returns true.
  // Several threads call it. Not thread-safe.
  void stop_when(std::function<bool()> should_stop) { so_far_->should_stop = std::move(should_stop); }

  // --- blobs: durable when put returns
  Result<std::string> put_blob(std::string_view bytes);
  Result<std::string> put_blob_file(const std::string& path);  // Moves the file in.
  Result<std::string> get_blob(const std::string& id, std::uint64_t bytes_max) const;
  std::string blob_path(const std::string& id) const;

  // --- bases: durable when they return; a snapshot that exists already costs no copy
  // Takes the tree of `ref` in the repository at or above `path`. The working tree, index and hooks are never
  // touched. Costs only the difference from a tree that was taken before, when such a tree is near. kInvalid: no
  // repository, or no such ref; or the tree has a state folder. The message names the error and the remedy.
  Result<Base> snapshot_git(const std::string& path, const std::string& ref,
                            const std::vector<std::string>& left_out = {});
  // Takes the directory as it is, times included (docs/adr/0037). It leaves out entries named .git or .pawl
  // at any depth, and state folders whatever their names (os/state_folder.h). The next snapshot of the same directory
  // reads only changed files, and stores only these while they are few.
  Result<Base> snapshot_directory(const std::string& path, const Without& without = {});
  // Makes a base of files and links in `folder`. `paths` are relative to it, and sorted.
  Result<std::string> keep_files(const std::string& folder, const std::vector<std::string>& paths);
  bool has_base(const std::string& base_id) const;
  // Whether the base has `path`, or a link on the way to it. Only a sandbox knows where that link leads.
  bool may_have(const std::string& base_id, const std::string& path) const;
  // The folder of a base that is stored whole.
  std::string base_tree(const std::string& base_id) const;
  std::string layer_tree(const std::string& layer_id) const;
  // The trees of `layers` and of the base, in one list, topmost first. `layers` is topmost first.
  std::vector<std::string> trees_of(const std::string& base_id, const std::vector<std::string>& layers) const;

  // --- layers
  // Turns the tree that a sandbox left in `upper` into a layer, durably. Normalises opaque folders and
  // whiteouts of entries that did not exist, drops entries that may not be stored, hashes, moves the tree.
  // `lower` has the trees that the sandbox saw, topmost first. `copied`: `upper` is the whole tree (no
  // overlay), and only differences from `lower` become the layer. A file with several names becomes several
  // files.
  // `upper` is consumed, and renamed before anything is taken from it. `<upper>.taken` and `<upper>.spare`
  // are temporary names beside it.
  Result<Collected> collect(const std::string& upper, const std::vector<std::string>& lower, bool copied,
                            const Caps& caps = {});
  // Makes a layer of the files in `upper` that match one of `patterns`; "" when no file matches. `upper` does not
  // change, except that its top folder gets the owner's rights to read it. It refuses matching entries that are not
  // readable regular files or are beyond the caps, and unread folders that may contain a match.
  Result<Collected> collect_matching(const std::string& upper, const std::vector<std::string>& patterns,
                                     const Caps& caps = {});
  Result<std::vector<Entry>> manifest(const std::string& layer_id) const;
  // The layer without changes that touch protected paths or submodules, and the paths that it leaves out. A
  // change is left out at, below or above (shadowing) a path that `rules` protect, in the view of the base
  // and the layers `below` (topmost first). A change of a submodule of the base is left out too, since no
  // commit can have it. layer_id "" when no change is left.
  struct Filtered {
    std::string layer_id;
    std::vector<std::string> protected_changes, submodule_changes;
    std::vector<std::string> new_refused;  // The protected_changes that did not exist before.
    std::vector<std::string> new_taken;    // New files at paths where only existing files are protected.
  };
  Result<Filtered> without_protected(const std::string& layer_id, const std::string& base_id,
                                     const std::vector<std::string>& below, const PathRules& rules);
  // How a gate sees the layers `above`, topmost first, which an agent and steps of the gate left.
  struct Sight {
    PathRules paths;
    // Patterns. Existing paths outside of them stay as they were; empty: no such rule.
    std::vector<std::string> only;
    // Names of files that are protected in every folder; sorted.
    std::vector<std::string> names;
    std::vector<std::string> shadows;  // paths that are protected; sorted
  };
  // Makes a layer that goes on top of `above`, so that `sight` holds for all of them together. Its protected
  // paths are as the base and `below` have them, and the only new caches of tools are coverage data. "" when
  // `sight` holds already.
  Result<std::string> lid(const std::string& base_id, const std::vector<std::string>& below,
                          const std::vector<std::string>& above, const Sight& sight) const;
  // The layer with only the changes that one of `patterns` covers. "" when no change is left.
  Result<std::string> only(const std::string& layer_id, const std::vector<std::string>& patterns) const;
  // The layer without entries that `git add` leaves out: the source's .gitignore files match them, and its
  // commit does not have them. The rules come from the base, and above the source from its commit. Rules in layers do
  // not count, since agents write them. The layer also loses files that tools make for themselves, tracked or not:
  // bytecode, caches, and new folders that were built or installed. Work of the lower view that the layer only moves
  // is not lost (workspace/moved.h). layer_id "" when no entry is left.
  struct Source {
    std::string path;
    Base base;
  };
  struct Work {
    std::string layer_id;
    std::int64_t ignored_entries = 0, ignored_bytes = 0;  // Left out; the bytes count files only.
    std::vector<LostMove> lost = {};
  };
  Result<Work> without_ignored(const std::string& layer_id, const Source& source,
                               const std::vector<std::string>& below);
  // Judges the paths that a step's layer could not store: `total` paths, and `named` are known by name.
  // Returns the named paths that are not ignored, and whether an unnamed path may be not ignored.
  struct RefusedWork {
    std::vector<std::string> paths;
    bool may_be_more = false;
  };
  Result<RefusedWork> refused_work(const std::vector<std::string>& named, std::int64_t total,
                                   const Source& source, const std::vector<std::string>& below) const;
  // Whether without_ignored() leaves out a file at `path`. If so, no agent's work can add it, except by
  // moving a file of the source there. REQUIRES: neither the base nor `below` has `path`.
  Result<bool> leaves_out(const std::string& path, const Source& source,
                          const std::vector<std::string>& below) const;
  // The layer without bytecode and caches of tools. Other ignored files stay, and those that it only moves.
  Result<Work> without_caches(const std::string& layer_id, const Source& source,
                              const std::vector<std::string>& below);
  // Sets the times of the layer's entries so that they mislead no build. A build must not take an agent's
  // file for the product of a lower file, or a lower file for the product of a file that the agent changed.
  // New and compiled files are older than everything below; compiled files are older than new files. Changed
  // files are newer than everything below. A folder is changed when an entry in it is.
  Status set_times(const std::string& layer_id, const std::string& base_id,
                   const std::vector<std::string>& below) const;
  // Returns one layer that has the effect of `layers` on the base and the layers `below` (both topmost first); ""
  // when there is no effect. Merging in several steps gives the same bytes as merging all at once.
  Result<std::string> merge(const std::string& base_id, const std::vector<std::string>& below,
                            const std::vector<std::string>& layers);
  // The same for changes that executions of one step made one after the other. Like collect(), it leaves out an entry
  // that in the end equals the entry in `below`: an execution may undo a change of an earlier execution.
  Result<std::string> merge_executions(const std::string& base_id, const std::vector<std::string>& below,
                                       const std::vector<std::string>& layers);
  // A few layers, topmost first, that have the effect of `layers` (topmost first) on the base. The result
  // follows from the arguments alone. Earlier merges are found again: one more layer costs the merge of a few
  // small layers, however many lie below.
  Result<std::vector<std::string>> stack(const std::string& base_id, const std::vector<std::string>& layers);
  // The repository that a step finds at /workspace/.git: branch `pawl` with one commit, which has the state of
  // the source's base with `layers` (topmost first), and an index that says so. Equal states have equal
  // commits. It has no other object, remote or hook of the source's repository. Files of the base that
  // without_ignored() would leave out are not tracked. A state with layers has the objects of its base, too. A base
  // costs a compressed copy, once. A state on it costs the files of its layers, and a copy of the index.
  struct Repository {
    std::string commit, tree;               // 40 hexadecimal digits each.
    std::vector<std::string> layers;        // Ids of layers, topmost first, that have only .git.
    std::vector<std::string> objects = {};  // With a history: folders of the host with its objects.
  };
  // With `history_at`, the commit has the source's commit as its parent, and the parent's date: equal states on
  // equal parents have equal commits. The parent's objects are not copied. The repository looks for them where a
  // sandbox shows Repository::objects: `history_at`/0, `history_at`/1 and so on. kInvalid: the source has no history
  // that can be shown, or its commit is gone. The message says why, and what to do.
  Result<Repository> repository_for(const Source& source, const std::vector<std::string>& layers,
                                    const std::string& history_at = {});
  // The history of a source, before there is a base. Errors: as repository_for(). No `ref`: the source is the folder,
  // with the commit that is checked out.
  struct History {
    std::vector<std::string> objects;  // Repository::objects
    std::string prefix;                // The place of the source in its repository: "" or "a/b/".
  };
  static Result<History> history_of(const std::string& path, const std::optional<std::string>& ref);
  // A layer that deletes the files and links of base + `layers` (topmost first) at `patterns`. A pattern
  // without * and ? also deletes a folder. "" when no path matches. A pattern costs a walk through
  // everything below its part without * and ?.
  Result<std::string> deletion_of(const std::string& base_id, const std::vector<std::string>& layers,
                                  const std::vector<std::string>& patterns) const;
  // Paths that both layers change, sorted, at most `most`. A layer that replaces a folder changes all paths in it.
  Result<std::vector<std::string>> overlap(const std::string& a, const std::string& b,
                                           std::size_t most) const;
  // The paths of the changes that each_change() visits. Needs no libgit2.
  Result<std::vector<std::string>> changed_paths(const std::string& base_id,
                                                 const std::vector<std::string>& below,
                                                 const std::string& layer) const;
  // Visits the changes of `layer` to the files and links of base + `below` (topmost first), in the order of
  // their paths. Paths that end as they were are skipped. `reads` selects the files to read, up to
  // kPolicyReadMax each, and to compare by lines as git does. References in a change are valid until visit()
  // returns. An error of visit() ends the walk, and is returned.
  Status each_change(const std::string& base_id, const std::vector<std::string>& below,
                     const std::string& layer, const ReadsFile& reads,
                     const std::function<Status(const FileChange&)>& visit) const;
  // Differences between the folder `path`, taken as it is, and its commit, as sentences for people:
  // submodules that are not checked out, and files that a sparse checkout leaves out. kInvalid: a file has a
  // filter that only a command of its repository can undo, so no commit can be compared with the folder; or
  // libgit2 can't read the index.
  static Result<std::vector<std::string>> check_source(const std::string& path,
                                                       const std::vector<std::string>& left_out = {});
  // The files of a base that are Git LFS pointers. The contents that they name are not in the base.
  Result<std::vector<std::string>> lfs_pointers(const std::string& base_id) const;
  // The content id of any file or folder of the host: for a folder computed as a base id, for a file the
  // BLAKE3 of its bytes. A spec hash binds it. Stores no object.
  Result<std::string> content_id(const std::string& path) const;

  // Checks that this base ("": none) and these layers are on disk as their ids say: all entries of their trees, byte
  // for byte, and no others. A file is read once in each boot, and again only when a process has written to it.
  // kNotFound: an object is missing. kForged: an object was changed.
  Status check_content(const std::string& base_id, const std::vector<std::string>& layers) const;
  // The same check, for callers that ask before each use. It skips an object that this process checked a
  // moment ago. A moment is a hundred times the duration of that check, at most 30 seconds.
  Status check_before_use(const std::string& base_id, const std::vector<std::string>& layers) const;
  // The files that such checks of this object and its copies have read.
  const SoFar& read_again() const { return *read_again_; }

  // --- patches and commits
  // A patch for `git apply` from base + `before` to base + `after` (layers, topmost first); "" when they are
  // equal. `before` is usually empty, else a suffix of `after`. kNotFound: gc removed a part of them.
  Result<Patch> diff(const std::string& base_id, const std::vector<std::string>& before,
                     const std::vector<std::string>& after, const PatchTarget& target = {}) const;
  // The target for a patch of `source`, by its present place. Works also for repositories that libgit2 can't
  // read.
  static PatchTarget patch_target(const std::string& source);
  // Makes the commits on a new branch; returns the id of the last commit. The working tree, index and HEAD stay as
  // they are. A second call gives the same branch. kConflict: the branch exists with other content, or another
  // branch's name excludes it. Also kConflict: a file of the base is not as it is committed, or a change is in a
  // submodule. Ignored files, and paths that the base was taken without, may differ.
  Result<std::string> apply(const std::string& branch, const Commits& commits);
  // The id that apply() returns or would return, whether or not the branch exists, and its errors about the
  // commits. Writes neither objects nor references.
  Result<std::string> commit_id(const Commits& commits) const;

  // Call it before a sandbox works on these objects. kDenied: an object belongs to another user, and no
  // sandbox of this user can map its files. The message has the command that changes the owner.
  Status check_owner(const std::string& base_id, const std::vector<std::string>& layers) const;

  bool has_layer(const std::string& layer_id) const;

  // --- housekeeping
  Result<Hold> hold() const;
  // Waits until no process holds the store. No process can hold it until the lock is dropped. kUnavailable after 30
  // seconds.
  Result<os::FileLock> hold_alone() const;
  // Removes the temporaries of processes that have died. When it ends early (stop_when), the next call removes
  // the rest.
  void remove_left_over() const;
  // Objects that `keep` (ids of blobs, bases, layers) does not need, and temporaries of processes that have
  // died.
  Result<Garbage> garbage(const std::vector<std::string>& keep) const;
  // Moves `paths`, which are relative to the state folder, out of sight, on the file system of the objects.
  // Each path moves at once, so no process ever finds a part of an object. Durable when it returns. Follows
  // no symlink (kDenied).
  Result<Detached> detach(const std::vector<std::string>& paths) const;

 private:
  Workspaces(std::string folder, std::string key) : folder_(std::move(folder)), key_(std::move(key)) {}
  std::string folder_, key_;
  std::shared_ptr<SoFar> so_far_ = std::make_shared<SoFar>(), read_again_ = std::make_shared<SoFar>();
};

}  // namespace pawl::workspace
