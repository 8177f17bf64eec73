#include "workspace/git/history.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <deque>
#include <optional>
#include <string_view>
#include <utility>

#include "base/hash.h"
#include "base/json.h"
#include "base/lines.h"
#include "os/file.h"
#include "workspace/git/git.h"
#include "workspace/git/repository_files.h"
#include "workspace/objects.h"
#include "workspace/repositories.h"

namespace pawl::workspace {
namespace {

constexpr std::uint64_t kShallowBytesMax = 16 << 20;  // a line for each commit at the boundary
constexpr std::uint64_t kAlternatesBytesMax = 64 << 10;
constexpr std::size_t kDatabasesMax = 16, kToldBytesMax = 200;
constexpr std::size_t kGitIdDigits = 40;

struct SourceHistory {
  ParentCommit commit;
  std::vector<std::string> objects;  // Folders of the host, that of the repository first.
  std::string shallow;  // The file of a shallow clone, which says where its history ends; else "".
};

std::unexpected<Error> no_history(const std::string& why) {
  return fail(ErrorKind::kInvalid, "git: history: " + why);
}

std::string or_without() { return "; `git: snapshot` gives a step one commit, without a history"; }

// A FIFO would block, and a link may lead to any file of the host.
Result<std::string> text_of_list(const std::string& file, std::uint64_t bytes_max) {
  struct stat status {};
  if (lstat(file.c_str(), &status) != 0) return fail_errno(errno, "look at", file);
  if (!S_ISREG(status.st_mode)) return no_history(file + " is no regular file" + or_without());
  return os::read_file(file, bytes_max);
}

bool is_hex(std::string_view text) {
  return std::ranges::all_of(text, [](char each) { return hex_digit(each) >= 0; });
}

// A folder of objects: the first two digits of their ids.
bool is_fan_out(const std::string& name) { return name.size() == 2 && is_hex(name); }

// The names that git itself uses at the top of a database (gitrepository-layout(5)), with those of a fetch or a
// maintenance that runs.
bool is_of_git(const std::string& name) {
  return name == "info" || name == "pack" || is_fan_out(name) || name.starts_with("tmp_") ||
         name.starts_with("incoming-") || name.ends_with(".lock");
}

// As root, steps run as another user, to whom the files of root alone look like its own.
Status check_readable(const std::string& folder) {
  constexpr unsigned kForAll = S_IROTH | S_IXOTH;
  PAWL_TRY(const auto facts, os::facts_of(folder));
  if (geteuid() != 0 || facts.uid == 0 || (facts.mode & kForAll) == kForAll) return {};
  return no_history(folder +
                    " is for its owner alone, and steps run as another user; run Pawl as its owner, or " +
                    "`chmod -R o+rX` it" + or_without());
}

// A step sees all of the folder. The files that lead here may name any folder of the host, and an archive can bring
// such files.
Status check_database(const std::string& folder) {
  PAWL_TRY(const auto names, os::list_folder(folder));
  if (!os::is_folder(os::join(folder, "pack")))
    return no_history(folder + " is no database of git's objects: it has no folder `pack`");
  for (const auto& path : {folder, os::join(folder, "pack")}) PAWL_OK(check_readable(path));
  for (const auto& name : names) {
    const std::string path = os::join(folder, name);
    if (!is_of_git(name) || (is_fan_out(name) && !os::is_folder(path)))
      return no_history(path + " is no part of a database of git's objects, and each step " +
                        "would see it; move it away" + or_without());
    if (is_fan_out(name)) PAWL_OK(check_readable(path));
  }
  return {};
}

// The databases that `folder` borrows from.
Result<std::vector<std::string>> alternates_of(const std::string& folder) {
  std::vector<std::string> out;
  const std::string file = os::join(folder, "info/alternates");
  if (!os::exists(file)) return out;
  PAWL_TRY(const auto text, text_of_list(file, kAlternatesBytesMax));
  for (const std::string_view line : TextLines(text)) {
    if (line.empty()) continue;
    if (out.size() == kDatabasesMax) return no_history(file + " has too many lines" + or_without());
    if (line.front() == '#') continue;
    if (line.front() == '"') return no_history(file + " has a path in quotes; write it without them");
    const std::string path = line.front() == '/' ? std::string(line) : os::join(folder, line);
    if (!os::is_folder(path))
      return no_history(file + " names " + path.substr(0, kToldBytesMax) +
                        ", which is not there; remove that line");
    out.push_back(path);
  }
  return out;
}

Result<std::vector<std::string>> databases_from(const std::string& first) {
  std::vector<std::string> out;
  for (std::deque<std::string> due{first}; !due.empty(); due.pop_front()) {
    PAWL_TRY(const std::string folder, os::absolute_path(due.front()));
    if (std::ranges::find(out, folder) != out.end()) continue;
    if (out.size() == kDatabasesMax)
      return no_history(first + " borrows objects from more than " + std::to_string(kDatabasesMax - 1) +
                        " others; `git repack -a -d` copies them, then remove its info/alternates");
    PAWL_OK(check_database(folder));
    PAWL_TRY(const auto borrowed, alternates_of(folder));
    due.insert(due.end(), borrowed.begin(), borrowed.end());
    out.push_back(folder);
  }
  return out;
}

Result<std::string> shallow_of(const std::string& common) {
  const std::string file = os::join(common, "shallow");
  if (!os::exists(file)) return std::string();
  PAWL_TRY(auto text, text_of_list(file, kShallowBytesMax));
  for (const std::string_view line : TextLines(text))
    if (!line.empty() && (line.size() != kGitIdDigits || !is_hex(line)))
      return no_history(file + " can't be read: it has another line than ids of commits");
  return text;
}

// `commit`: its id; "" for a source without one.
Result<SourceHistory> history_at_commit(const std::string& path, const std::string& commit) {
  const auto repository = open_repository(path);
  if (!repository) return no_history(repository.error().message + or_without());
  if (commit.empty()) return no_history(path + ": its git repository has no commit" + or_without());
  const std::string common = git_repository_commondir(repository->get());
  SourceHistory out;
  PAWL_TRY(out.objects, databases_from(os::join(common, "objects")));
  PAWL_TRY(out.shallow, shallow_of(common));
  git_oid id;
  git_commit* raw = nullptr;
  if (git_oid_fromstr(&id, commit.c_str()) != 0 || git_commit_lookup(&raw, repository->get(), &id) != 0)
    return no_history("the commit " + commit + ", with which the run began, is not in " + common +
                      " any more; bring it back (`git fetch`), or `pawl fork` the run with a plan that has "
                      "`git: snapshot`");
  const GitCommit found(raw);
  out.commit = {.id = commit, .seconds_of_unix = git_commit_time(raw)};
  return out;
}

std::string alternates_text(const SourceHistory& history, const std::string& history_at) {
  std::string out;
  for (std::size_t i = 0; i < history.objects.size(); ++i)
    out += os::join(history_at, std::to_string(i)) + "\n";
  return out;
}

// The index below stays as it is: it names no commit.
Result<Workspaces::Repository> with_history(const Workspaces& workspaces, Workspaces::Repository made,
                                            const SourceHistory& history, const std::string& alternates) {
  PAWL_TRY(auto temporary, make_temporary(workspaces.folder()));
  const std::string git = os::join(temporary.path(), "tree/.git");
  const std::string objects = os::join(git, "objects");
  for (const auto* name : {"pack", "info"}) PAWL_OK(os::make_folders(os::join(objects, name)));
  PAWL_TRY(auto pack, PackWriter::open(os::join(objects, "pack"), {}));
  PAWL_TRY(made.commit, add_commit(made.tree, history.commit, git, pack));
  PAWL_OK(os::write_atomically(os::join(objects, "info/alternates"), alternates));
  if (!history.shallow.empty()) PAWL_OK(os::write_atomically(os::join(git, "shallow"), history.shallow));
  PAWL_TRY(std::string id, keep_git_layer(workspaces, std::move(temporary)));
  made.layers.insert(made.layers.begin(), std::move(id));
  return made;
}

}  // namespace

Result<Workspaces::Repository> on_history(Workspaces& workspaces, const Workspaces::Source& source,
                                          const std::vector<std::string>& layers,
                                          const std::string& history_at) {
  const auto& [base_id, commit] = source.base;
  PAWL_TRY(auto history, history_at_commit(source.path, commit));
  const std::string alternates = alternates_text(history, history_at);
  const std::string name = repository_name(base_id, layers, canonical({commit, alternates, history.shallow}));
  auto known = known_repository(workspaces, name);
  if (!known) {
    known.emplace(MadeRepository{.base_id = base_id, .has_layers = !layers.empty(), .made = {}});
    PAWL_TRY(auto without, workspaces.repository_for(source, layers));
    PAWL_TRY(known->made, with_history(workspaces, std::move(without), history, alternates));
    PAWL_OK(keep_repository(workspaces, name, *known));
  }
  known->made.objects = std::move(history.objects);
  return std::move(known->made);
}

Result<Workspaces::History> Workspaces::history_of(const std::string& path,
                                                   const std::optional<std::string>& ref) {
  const auto repository = open_repository(path);
  if (!repository) return no_history(repository.error().message + or_without());
  auto commit = ref ? find_commit(**repository, *ref) : head_commit(**repository);
  if (!commit && ref) return std::unexpected(std::move(commit).error());
  PAWL_TRY(auto history, history_at_commit(path, commit ? text_of(*git_commit_id(commit->get())) : ""));
  PAWL_TRY(auto found, find_repository(path));
  return History{.objects = std::move(history.objects), .prefix = std::move(found.prefix)};
}

}  // namespace pawl::workspace
