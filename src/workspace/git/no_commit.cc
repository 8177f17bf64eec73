#include "workspace/no_commit.h"

#include "workspace/git/git.h"

namespace pawl::workspace {

std::string why_no_commit(const std::string& source) {
  const auto found = find_repository(source);
  // The rest of that message is for users who name a commit in the plan.
  if (!found) return found.error().message.substr(0, found.error().message.find("; leave out source.ref"));
  if (git_repository_head_unborn(found->repository.get()) == 1)
    return source + " has no commit yet: commit it, and run the plan again";
  const auto head = head_commit(*found->repository);
  if (head) return source + " had no commit that could be read when the run began: run the plan again";
  return source + ": its last commit can't be read: " + head.error().message;
}

}  // namespace pawl::workspace
