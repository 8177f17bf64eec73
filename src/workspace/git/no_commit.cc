#include "workspace/no_commit.h"

#include "workspace/git/git.h"

namespace pawl::workspace {

std::string why_no_commit(const std::string& source) {
  const auto found = find_repository(source);
  // The rest of that message is for people who name a commit in the plan.
  if (!found) return found.error().message.substr(0, found.error().message.find("; leave out source.ref"));
  if (git_repository_head_unborn(found->repository.get()) == 1)
    return source + " has no commit yet: commit it, and run the plan again";
  git_oid head;
  git_commit* raw = nullptr;
  const bool there = git_reference_name_to_id(&head, found->repository.get(), "HEAD") == 0 &&
                     git_commit_lookup(&raw, found->repository.get(), &head) == 0;
  const GitCommit owner(raw);
  if (there) return source + " had no commit that could be read when the run began: run the plan again";
  return git_failure(ErrorKind::kInvalid, source + ": its last commit can't be read").error().message;
}

}  // namespace pawl::workspace
