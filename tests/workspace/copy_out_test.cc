// Files of a step that a plan's patterns name: which are stored, and which are told.
#include <gtest/gtest.h>

#include "workspace/object_store.h"
#include "workspace/repository.h"

namespace pawl::workspace {
namespace {

TEST_F(WorkspaceTest, CopyOutKeepsWhatMatches) {
  const std::string upper = temp_ / "upper";
  sh("mkdir -p " + upper + "/reports/deep && cd " + upper +
     " && echo a > reports/a.xml && echo b > reports/deep/b.xml"
     " && echo c > c.xml && ln -s a.xml reports/link.xml && mkfifo reports/f.xml");
  const auto collected = workspaces_->collect_matching(upper, {"reports/**"});
  EXPECT_EQ(paths_of(collected->layer_id), (std::vector<std::string>{"reports/a.xml", "reports/deep/b.xml"}));
  EXPECT_TRUE(os::exists(upper + "/c.xml")) << "upper stays";
}

TEST_F(WorkspaceTest, CopyOutTellsWhatItDoesNotKeep) {
  const std::string upper = temp_ / "upper";
  sh("mkdir -p " + upper + "/reports/.git " + upper + "/other/.git && cd " + upper +
     " && echo a > reports/a.xml && ln -s a.xml reports/link.xml && mkfifo reports/f.xml reports/f.txt"
     " && echo x > reports/.git/x.xml && echo y > \"$(printf 'reports/a\\nb.xml')\" && mknod "
     "reports/gone.xml c 0 0");
  const auto refused = [&](const std::string& pattern) {
    const auto collected = workspaces_->collect_matching(upper, {pattern});
    EXPECT_EQ(paths_of(collected->layer_id), std::vector<std::string>{"reports/a.xml"});
    EXPECT_EQ(collected->refused_total, static_cast<std::int64_t>(collected->refused.size()));
    return collected->refused;
  };
  const std::vector<std::string> files{"reports/a\nb.xml", "reports/f.xml", "reports/link.xml"};
  EXPECT_EQ(refused("reports/*.xml"), files);
  auto all = files;
  all.insert(all.begin(), "reports/.git");
  EXPECT_EQ(refused("reports/**/*.xml"), all) << "what lies in there might match";
}

}  // namespace
}  // namespace pawl::workspace
