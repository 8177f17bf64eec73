// Works at random on the trees of a workspace, and prints what it saw as JSON: random_work FOLDER [SEED].
#include "workspace/random_work.h"

#include <cstdio>

#include "base/json.h"

int main(int count, char** words) {
  namespace testing = pawl::testing;
  if (count < 2) return 2;
  const std::string workspace = words[1];
  pawl::Json told{{"before", testing::listing_of(workspace)}};
  if (count > 2) {
    told["copied"] = testing::work_on_trees(workspace, static_cast<unsigned>(std::stoul(words[2])));
    told["after"] = testing::listing_of(workspace);
  }
  return std::puts(pawl::canonical(told).c_str()) < 0 ? 1 : 0;
}
