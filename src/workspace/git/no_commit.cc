#include "workspace/no_commit.h"

#include "workspace/git/git.h"

namespace pawl::workspace {

std::string why_no_commit(const std::string& source) {
  const auto repository = open_repository(source);
  if (!repository) return repository.error().message;
  if (git_repository_head_unborn(repository->get()) == 1)
    return source + " has no commit yet: commit it, and run the plan again";
  const auto head = head_commit(**repository);
  if (head) return source + " had no commit that could be read when the run began: run the plan again";
  return source + ": its last commit can't be read: " + head.error().message;
}

}  // namespace pawl::workspace
