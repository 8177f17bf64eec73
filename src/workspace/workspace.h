// What a step works on: base snapshots, the layers on top, and what comes out as a patch or as commits.
//
// Everything is kept by content below one folder, the object store (`.pawl/objects`):
//   blobs/<ab>/<rest of 64 hex>     bytes: logs, reports
//   bases/<id>/{manifest.jsonl,tree/}   a snapshot; id = BLAKE3 of the manifest
//   derived/<id>                    "<base> <layer>": the base of that id is another one and a layer on it
//   layers/<id>/{manifest.jsonl,tree/}  what a step changed, in overlayfs form (whiteouts are c 0:0 devices);
//                                       id = BLAKE3 of the manifest
//   folders/<key>                       a cache: what a folder had when it was taken last
//   git/<tree>.3                    a cache: the base of a git tree that was taken before
//   git/<tree>.submodules           a cache: what are submodules in it
//   merges/<key>                    a cache: the layer that a row of accepted layers was merged to before
// Beside a manifest may lie `checked`, a cache: when the tree was compared with it, and found whole.
//
// Objects are written below tmp/, synced, renamed: a name that exists is complete. Trees come from sandboxes,
// so nothing in them is believed and no symlink is followed. Whoever can write the folder can write objects,
// so they are compared with their ids before they are used, and a cache has a seal that takes the folder's
// key. Functions here are thread-safe and safe between processes unless they say otherwise.
//
// Objects go away by gc alone, which keeps what a row or a step's spool names. Whoever makes an object, or
// finds one that is there already, holds the store (hold()) until one of the two names it.
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

namespace pawl::workspace {

constexpr std::int64_t kEntriesMax = 1'000'000;     // of one base or layer
constexpr std::int64_t kTreeBytesMax = 64LL << 30;  // of one base or layer

// Of the paths and link targets of one layer: manifests are read whole, and hold them escaped.
constexpr std::int64_t kNamesBytesMax = 100 << 20;

constexpr std::size_t kRefusedNamedMax = 100;  // of what is not kept; the others are counted

// What one step may leave. A file counts with its length, holes and all.
struct Caps {
  std::int64_t entries = kEntriesMax, bytes = kTreeBytesMax, names_bytes = kNamesBytesMax;
  // Inside, a link is text that nobody out here follows. In a folder of the host somebody will: there only
  // links that stay in it.
  bool outer_links = true;
  // A layer that is kept already gets the times of what is collected. Not of an agent, to whom set_times()
  // gives them: another attempt may be judged on that layer now.
  bool own_times = true;
};

enum class EntryType { kFile, kFolder, kSymlink, kDeleted };

// One line of a manifest, sorted by path. A folder that replaces what was below (opaque in overlayfs) is
// written as kDeleted entries of what it hides, so that a manifest means the same over any lower tree.
struct Entry {
  std::string path;  // relative, safe
  EntryType type = EntryType::kFile;
  unsigned mode = 0;      // permission bits; 0 for symlinks and deletions
  std::int64_t size = 0;  // of a file
  std::string content;  // BLAKE3 of a file's bytes; the target of a symlink; the commit of a base's submodule
  std::int64_t mtime_ns = 0;  // in a base of a folder: the source's time; else 0
  bool operator==(const Entry&) const = default;
};

struct Base {
  std::string base_id;
  std::string git_commit;  // the commit that the ref named; for a directory without ref inside a repository,
                           // HEAD; or ""
};

// How far a snapshot is, for who waits for it: what was read or written of files so far.
struct SoFar {
  std::atomic<std::int64_t> files{0}, bytes{0};
  void add(std::int64_t size) {
    files += 1;
    bytes += size;
  }
};

// What a base is taken without.
struct Without {
  std::vector<std::string> folders = {};   // of the host, absolute
  std::vector<std::string> patterns = {};  // of paths (base/glob.h): a folder goes with all below it
  std::string above = {};                  // what they have in front of a path here: "" or "a/b/"
};

struct Collected {
  std::string layer_id;              // "" when nothing changed
  std::vector<std::string> refused;  // not kept: devices, FIFOs, sockets, unsafe names, links whose target
                                     // is not UTF-8, what is beyond the caps; the first hundred, and of each
                                     // folder at the top one
  std::int64_t refused_total = 0;    // how many there were
  std::int64_t rewritten = 0;        // files that were written and are as they were below
};

// While one is there, gc takes nothing away. Released when destroyed, or when the process dies.
struct Hold {
  std::optional<os::FileLock> lock;  // shared; empty where there is no gc
};

// What gc takes away: paths from the state folder, "objects/bases/ID".
struct Garbage {
  std::vector<std::string> bases, layers, blobs, merges, caches, temporaries;
};

// What lies at `path` takes on its disk.
std::int64_t bytes_on_disk(const std::string& path);

// What `git apply` makes of a tree another one of.
struct Patch {
  struct LeftOut {
    std::string path, reason;
  };
  std::string text;
  std::vector<LeftOut> left_out;  // what no patch can say; `text` has all the rest
};

using ReadsFile = std::function<bool(const std::string& path)>;

// How `git apply` in a folder takes a patch.
struct PatchTarget {
  // Where the folder lies in the work tree of its git repository, "a/b/"; "" at its root and where there is
  // none. git takes the paths of a patch from that root, wherever in the work tree it runs.
  std::string folder;
  bool sha256_ids = false;  // its repository names contents by SHA-256; a binary patch needs their names
  // Of a folder that was taken as it is, in a repository. `git apply` compares a patch with what git commits
  // of a file: the patch has that where it is more than other line ends (Git LFS, `ident`).
  struct Filters {
    std::string source, git_commit;  // the commit that the repository had; "" when none
    bool keeps_lfs = false;          // what pointers name is put where Git LFS looks for it
  };
  std::optional<Filters> filters = std::nullopt;
  // A smaller patch than `git apply` would read: the rest is left out, by name, and a file that is larger is
  // not read at all.
  std::optional<std::uint64_t> bytes_max = std::nullopt;
};

// One accepted phase, for diff and apply.
struct AppliedPhase {
  std::string phase_id;
  std::string goal;
  std::string layer_id;
};

// What a run's accepted phases are as commits, one a phase, on top of what it started from.
struct Commits {
  std::string source;  // in or above it is the repository
  Base base;
  std::vector<AppliedPhase> phases;                         // never empty
  std::function<std::string(const AppliedPhase&)> message;  // of each one's commit
  std::int64_t when_seconds = 0;                            // of their authors and committers
  std::vector<std::string> left_out = {};  // patterns of what the base was taken without: as it is committed
  bool of_work_tree =
      false;  // base has files as a folder had them: a commit has them filtered, as git add does
};

class Workspaces {
 public:
  // `folder` is .pawl; created when absent, with a .gitignore that hides it from git. kDenied, kExhausted: as
  // the file system says.
  // What others remembered there is not believed, unless they have the same key().
  static Result<Workspaces> open(std::string folder);

  const std::string& folder() const { return folder_; }
  // The folder's secret, for the seals of what is remembered: kHashKeySize bytes; without use_key() one that
  // nobody else has. Not while others use this object.
  void use_key(std::string key) { key_ = std::move(key); }
  const std::string& key() const { return key_; }
  // Of all snapshots that this object and its copies have taken.
  const SoFar& so_far() const { return *so_far_; }

  // --- blobs: durable when put returns
  Result<std::string> put_blob(std::string_view bytes);
  Result<std::string> put_blob_file(const std::string& path);  // moves the file in
  Result<std::string> get_blob(const std::string& id, std::uint64_t bytes_max) const;
  std::string blob_path(const std::string& id) const;

  // --- bases: durable when they return; a snapshot already there costs no copy
  // The tree of `ref` in the repository at or above `path`; the working tree, index and hooks are never
  // touched. Costs what tells it from a tree that was taken before, when one is near. kInvalid: no
  // repository, or no such ref (the message says which and what to write instead).
  Result<Base> snapshot_git(const std::string& path, const std::string& ref,
                            const std::vector<std::string>& left_out = {});
  // The directory as it is, times included (docs/adr/0037), without any entry named .git or .pawl at any
  // depth, and without the state folder whatever its name. What did not change since the last time is not
  // read, and costs nothing.
  Result<Base> snapshot_directory(const std::string& path, const Without& without = {});
  // A base of files and links of a folder: `paths` in it, sorted.
  Result<std::string> keep_files(const std::string& folder, const std::vector<std::string>& paths);
  bool has_base(const std::string& base_id) const;
  // Whether the base has `path`, or a link on the way to it: where that leads, only a sandbox knows.
  bool may_have(const std::string& base_id, const std::string& path) const;
  // The folder of a base that is kept whole.
  std::string base_tree(const std::string& base_id) const;
  std::string layer_tree(const std::string& layer_id) const;
  // Of the base and of `layers`, both topmost first: all lowers, in their order.
  std::vector<std::string> trees_of(const std::string& base_id, const std::vector<std::string>& layers) const;

  // --- layers
  // Turns what a sandbox left in `upper` into a layer, durably: normalises (opaque folders, whiteouts of what
  // was not there), drops what may not be kept, hashes, moves the tree. `lower` is what the sandbox saw,
  // topmost first. `copied`: upper is the whole tree (no overlay); only differences to lower become the
  // layer. A file with several names becomes several files. `upper` is consumed, and gone from its place
  // before anything is taken from it; `<upper>.taken` and `<upper>.spare` are made and go.
  Result<Collected> collect(const std::string& upper, const std::vector<std::string>& lower, bool copied,
                            const Caps& caps = {});
  // Makes a layer of the files in `upper` that match one of `patterns`; "" when none does. `upper` stays as
  // it is, but for the owner's rights to read it. Refused: what matches and is no such file or can't be read,
  // and folders that are not entered in which something may.
  Result<Collected> collect_matching(const std::string& upper, const std::vector<std::string>& patterns,
                                     const Caps& caps = {});
  Result<std::vector<Entry>> manifest(const std::string& layer_id) const;
  // The layer without any change at, below or above (shadowing) paths that `rules` protect, in the view of
  // base and the layers `below` (topmost first), and without any of a submodule of the base, which no commit
  // could have; and the paths it left out. layer_id "" when nothing is left.
  struct Filtered {
    std::string layer_id;
    std::vector<std::string> protected_changes, submodule_changes;
    std::vector<std::string> new_refused;  // those of protected_changes that were not there
    std::vector<std::string> new_taken;    // new files where only those that are there are protected
  };
  Result<Filtered> without_protected(const std::string& layer_id, const std::string& base_id,
                                     const std::vector<std::string>& below, const PathRules& rules);
  // What a gate sees of the layers `above`, topmost first: what an agent and steps of the gate left.
  struct Sight {
    PathRules paths;
    std::vector<std::string> only;   // all else that is there stays as it is; empty: no such rule
    std::vector<std::string> names;  // of files that are protected in every folder; sorted
  };
  // A layer to be laid on top of `above` so that `sight` holds for all of them together: in its paths all is
  // as base and `below` have it, and no cache of a tool is new but data of coverage. "" when it holds.
  Result<std::string> lid(const std::string& base_id, const std::vector<std::string>& below,
                          const std::vector<std::string>& above, const Sight& sight) const;
  // The layer without what none of `patterns` covers. "" when nothing is left.
  Result<std::string> only(const std::string& layer_id, const std::vector<std::string>& patterns) const;
  // The layer without what the source's .gitignore files name and its commit does not have: what `git add`
  // would leave out. Those of the base count, and above the source those of its commit; no layer's do, since
  // agents write them. Neither has it what tools make for themselves, whoever tracks it: bytecode, caches,
  // and folders that were built or installed and are new. layer_id "" when nothing is left.
  struct Source {
    std::string path;
    Base base;
  };
  struct Work {
    std::string layer_id;
    std::int64_t ignored_entries = 0, ignored_bytes = 0;  // left out; bytes of files
  };
  Result<Work> without_ignored(const std::string& layer_id, const Source& source,
                               const std::vector<std::string>& below);
  // Of `total` paths that a step's layer could not keep, `named` are known: those that are no ignored ones,
  // and whether one of those that are only counted may be none.
  struct RefusedWork {
    std::vector<std::string> paths;
    bool may_be_more = false;
  };
  Result<RefusedWork> refused_work(const std::vector<std::string>& named, std::int64_t total,
                                   const Source& source, const std::vector<std::string>& below) const;
  // Whether without_ignored() would leave out a file at `path`, which neither the base nor `below` has:
  // nobody's work brings one.
  Result<bool> leaves_out(const std::string& path, const Source& source,
                          const std::vector<std::string>& below) const;
  // The layer without bytecode and caches of tools alone.
  Result<Work> without_caches(const std::string& layer_id, const std::string& base_id,
                              const std::vector<std::string>& below);
  // Makes the times of what is in the layer such that no build takes what an agent left for the product of
  // what lies below, nor what lies below for one of what the agent changed: what is new or compiled is older
  // than all of that, what is compiled older than what is new, and what is changed newer than all. A folder
  // is changed when something in it is.
  Status set_times(const std::string& layer_id, const std::string& base_id,
                   const std::vector<std::string>& below) const;
  // One layer that has the effect of `layers` on the base and the layers `below` (both topmost first); ""
  // when there is none. Merging what merges gave is the same, byte for byte, as merging all at once.
  Result<std::string> merge(const std::string& base_id, const std::vector<std::string>& below,
                            const std::vector<std::string>& layers);
  // A few layers, topmost first, that have the effect of `layers` (topmost first) on the base; which ones
  // follows from the arguments alone. What was merged before is found again: one more layer costs the merge
  // of a few small ones, however many lie below.
  Result<std::vector<std::string>> stack(const std::string& base_id, const std::vector<std::string>& layers);
  // A layer that deletes what base + `layers` (topmost first) have at `patterns`: files and links, and where
  // a pattern has no * or ?, also a folder. "" when there is nothing. A pattern costs what lies below its
  // part without * and ?.
  Result<std::string> deletion_of(const std::string& base_id, const std::vector<std::string>& layers,
                                  const std::vector<std::string>& patterns) const;
  // Paths that both layers change (also a folder of one that the other replaces), sorted, at most `most`.
  Result<std::vector<std::string>> overlap(const std::string& a, const std::string& b,
                                           std::size_t most) const;
  // What `layer` does to the files and links of base + `below` (topmost first), in the order of their
  // paths, without those that end as they were. `reads`: whose contents to read, up to kPolicyReadMax each,
  // and to compare lines as git does. What a change refers to lives until visit() returns; an error of
  // visit() ends it.
  Status each_change(const std::string& base_id, const std::vector<std::string>& below,
                     const std::string& layer, const ReadsFile& reads,
                     const std::function<Status(const FileChange&)>& visit) const;
  // What a run that takes the folder `path` as it is would not have of its commit, in sentences for people:
  // submodules that are not checked out, and files that a sparse checkout leaves out. kInvalid: a file has a
  // filter that only a command of its repository could undo, so no commit could be compared with the folder.
  static Result<std::vector<std::string>> check_source(const std::string& path,
                                                       const std::vector<std::string>& left_out = {});
  // The files of a base that Git LFS has put in place of others, which are not in it.
  Result<std::vector<std::string>> lfs_pointers(const std::string& base_id) const;
  // Content id of any file or folder of the host, as a base id is computed: what a spec hash binds. Nothing
  // is kept.
  Result<std::string> content_id(const std::string& path) const;

  // Whether this base ("": none) and these layers are on disk what their ids say: all entries of their trees,
  // byte for byte, and no other ones. A file is read once a boot: not again while nobody wrote to it.
  // kNotFound: one is not there; kForged: one was changed.
  Status check_content(const std::string& base_id, const std::vector<std::string>& layers) const;
  // The same, for who asks before each use: an object that this process looked at a moment ago is not looked
  // at again. A moment is a hundred times what the look took, and at most half a minute.
  Status check_before_use(const std::string& base_id, const std::vector<std::string>& layers) const;
  // Of all files that this object and its copies have read for that.
  const SoFar& read_again() const { return *read_again_; }

  // --- what comes out
  // A patch for `git apply` from base + `before` to base + `after` (layers, topmost first; `before` is
  // usually empty, else a suffix of `after`); "" when they are equal. kNotFound: gc took what it is made of.
  Result<Patch> diff(const std::string& base_id, const std::vector<std::string>& before,
                     const std::vector<std::string>& after, const PatchTarget& target = {}) const;
  // For a source as it lies there now, also where its repository can't be read otherwise.
  static PatchTarget patch_target(const std::string& source);
  // Makes them on a new branch. Touches neither working tree, index nor HEAD. kConflict: the branch is there
  // with other content, or a changed path differs between the commit and the base snapshot. Returns the id of
  // the last commit. Making the same again gives the same branch.
  Result<std::string> apply(const std::string& branch, const Commits& commits);
  // What apply() returns or would return, whether or not the branch is there. Nothing is made.
  Result<std::string> commit_id(const Commits& commits) const;

  // Before a sandbox is to work on them. kDenied: one belongs to another user, whose files no sandbox of this
  // one can map; the message has the command that mends it.
  Status check_owner(const std::string& base_id, const std::vector<std::string>& layers) const;

  bool has_layer(const std::string& layer_id) const;

  // --- housekeeping
  Result<Hold> hold() const;
  // Waits until nobody holds the store; until it is dropped, nobody does. kUnavailable when that takes long.
  Result<os::FileLock> hold_alone() const;
  // Objects that none of `keep` (ids of blobs, bases, layers) names, and temporaries older than an hour.
  Result<Garbage> garbage(const std::vector<std::string>& keep) const;
  // Moves `paths` from the state folder, on the file system of the objects, out of sight: at once each, so
  // that nobody ever finds a part of an object. Durable when it returns. Returns the folder that has them;
  // whoever dies before it is removed leaves a temporary. Neither goes through a symlink (kDenied).
  Result<os::HeldTree::Place> put_aside(const std::vector<std::string>& paths) const;

 private:
  Workspaces(std::string folder, std::string key) : folder_(std::move(folder)), key_(std::move(key)) {}
  std::string folder_, key_;
  std::shared_ptr<SoFar> so_far_ = std::make_shared<SoFar>(), read_again_ = std::make_shared<SoFar>();
};

}  // namespace pawl::workspace
