#include "workspace/git/committed.h"

#include "os/file.h"

namespace pawl::workspace {
namespace {

bool is_submodule(const GitEntry& entry) { return entry.mode == GIT_FILEMODE_COMMIT; }

// The submodule at or above `path`; "" when there is none.
std::string submodule_at(const GitListing& listing, const std::string& path) {
  for (auto slash = path.find('/');; slash = path.find('/', slash + 1)) {
    const auto found = listing.find(path.substr(0, slash));
    if (found != listing.end() && is_submodule(found->second)) return found->first;
    if (slash == std::string::npos) return {};
  }
}

class Comparison {
 public:
  Comparison(const GitListing& committed, Rules& rules) : committed_(committed), rules_(rules) {}

  Status see(const std::string& path, const GitFile& file) {
    const auto there = committed_.find(path);
    if (there == committed_.end()) {
      if (!rules_.ignores(path)) add(path, "not committed");
      return {};
    }
    if (is_submodule(there->second)) {
      add(path, "a submodule in the commit");
      return {};
    }
    if (file.is_link != (there->second.mode == GIT_FILEMODE_LINK)) {
      add(path, "another type of file in the commit");
      return {};
    }
    PAWL_TRY(const bool same, has_content(path, file, there->second.id));
    if (!same)
      add(path, "changed since the commit" + hidden(path));
    else if (rules_.has_modes() && mode_of(file) != mode_of(there->second))
      add(path, "executable in only one of the source and the commit");
    return {};
  }
  void miss(const std::string& path) {
    const bool sparse = rules_.unseen(path) == Unseen::kSkipped;
    add(path, sparse ? "not in the folder, whose checkout is sparse" : "not in the source that the run took");
    found_.back().is_sparse = sparse;
  }

  void add(const std::string& path, std::string how) {
    found_.push_back({.path = path, .how = std::move(how), .is_sparse = false});
  }
  std::vector<Uncommitted> take() { return std::move(found_); }

 private:
  // A file that `git status` does not show needs advice beyond its name.
  std::string hidden(const std::string& path) const {
    switch (rules_.unseen(path)) {
      case Unseen::kNo:
        return {};
      case Unseen::kSkipped:
        return "; `git update-index --no-skip-worktree` lets git see it";
      case Unseen::kAssumedUnchanged:
        return "; `git update-index --no-assume-unchanged` lets git see it";
    }
    return {};
  }

  // Old trees have other permissions.
  static git_filemode_t mode_of(const GitEntry& entry) {
    const bool file = entry.mode != GIT_FILEMODE_LINK && entry.mode != GIT_FILEMODE_BLOB_EXECUTABLE;
    return file ? GIT_FILEMODE_BLOB : entry.mode;
  }
  static git_filemode_t mode_of(const GitFile& file) { return workspace::mode_of(file); }

  Result<bool> has_content(const std::string& path, const GitFile& file, const git_oid& id) const {
    PAWL_TRY(const git_oid raw, blob_id(file));
    if (git_oid_equal(&raw, &id) != 0) return true;
    PAWL_TRY(const auto cleaned, rules_.cleaned(path, file, &id));
    git_oid clean{};
    if (cleaned && !cleaned->file.empty()) {
      PAWL_TRY(clean, blob_id({.full = cleaned->file}));
      return git_oid_equal(&clean, &id) != 0;
    }
    return cleaned &&
           git_odb_hash(&clean, cleaned->bytes.data(), cleaned->bytes.size(), GIT_OBJECT_BLOB) == 0 &&
           git_oid_equal(&clean, &id) != 0;
  }

  const GitListing& committed_;
  Rules& rules_;
  std::vector<Uncommitted> found_;
};

// The listing of a submodule's commit in the repository of the submodule, with its rules.
struct Submodule {
  FoundRepository found;
  GitListing committed;
  std::optional<Rules> rules;
};

Result<Submodule> open_submodule(const std::string& path, const git_oid& id, const GitFiles& files,
                                 const std::string& scratch) {
  PAWL_TRY(auto found, find_repository(path));
  Submodule out{.found = std::move(found)};
  if (!out.found.prefix.empty()) return fail(ErrorKind::kNotFound, path + " has no repository of its own");
  git_commit* commit = nullptr;
  if (git_commit_lookup(&commit, out.found.repository.get(), &id) != 0)
    return git_failure(ErrorKind::kNotFound, path);
  const GitCommit owner(commit);
  git_tree* tree = nullptr;
  if (git_commit_tree(&tree, commit) != 0) return git_failure(ErrorKind::kCorrupt, path);
  const GitTree tree_owner(tree);
  PAWL_TRY(out.committed, listing_of(*out.found.repository, *tree));
  PAWL_OK(os::make_folders(scratch));
  PAWL_TRY(out.rules, Rules::open(out.found, scratch));
  PAWL_OK(out.rules->learn(tree, files));
  return out;
}

}  // namespace

GitFiles files_of_base(const View& base) {
  GitFiles out;
  base.each_file("", [&](const std::string& path) { out[path] = git_file_of(base, path); });
  return out;
}

std::vector<std::string> changes_of_submodules(const GitListing& listing, const Changes& changes) {
  std::vector<std::string> out;
  for (const auto& [path, change] : changes) {
    if (change.entry.type == EntryType::kFolder) continue;  // git does not have folders.
    const auto below = listing.lower_bound(path + "/");
    bool hit = !submodule_at(listing, path).empty();
    for (auto at = below; !hit && at != listing.end() && at->first.starts_with(path + "/"); ++at)
      hit = is_submodule(at->second);
    if (hit) out.push_back(path);
  }
  return out;
}

Result<std::vector<Uncommitted>> uncommitted(const GitFiles& base, const GitListing& committed, Rules& rules,
                                             const std::string& source, const std::string& scratch) {
  Comparison comparison(committed, rules);
  std::map<std::string, GitFiles> below;  // The files of each submodule, by its path.
  for (const auto& [path, file] : base) {
    const auto submodule = submodule_at(committed, path);
    if (submodule.empty() || submodule == path)
      PAWL_OK(comparison.see(path, *file));
    else
      below[submodule][path.substr(submodule.size() + 1)] = file;
  }
  for (const auto& [path, entry] : committed)
    if (!is_submodule(entry) && !base.contains(path)) comparison.miss(path);
  auto out = comparison.take();
  for (const auto& [path, files] : below) {
    const std::string at = os::join(source, path), room = os::join(os::join(scratch, "below"), path);
    auto submodule = open_submodule(at, committed.at(path).id, files, room);
    if (!submodule) {
      out.push_back({.path = path,
                     .how = "a submodule that can't be compared: " + submodule.error().message,
                     .is_sparse = false});
      continue;
    }
    PAWL_TRY(const auto inner, uncommitted(files, submodule->committed, *submodule->rules, at, room));
    for (const auto& one : inner)
      out.push_back({.path = path + "/" + one.path, .how = one.how, .is_sparse = one.is_sparse});
  }
  return out;
}

}  // namespace pawl::workspace
