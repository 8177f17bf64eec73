// The text of `mounts` that Pawl proposes: a plan with it has the paths that it names.
#include "plan/mounts_text.h"

#include <gtest/gtest.h>

#include "plan/parse.h"

namespace pawl::plan {
namespace {

using Paths = std::vector<std::string>;

Paths in_a_plan_with(const std::string& mounts) {
  const auto parsed = parse("version: 1\nworkflow: w\nsource: {path: .}\n" + mounts +
                                "\ngates:\n  g: {steps: [{name: s, run: t}]}\ntiers:\n  - phases:\n"
                                "      - {id: p, goal: g, gates: [g], agent: {run: [a]}}\n",
                            "plan.yaml");
  Paths out;
  EXPECT_TRUE(parsed.plan) << mounts << "\n" << to_text(parsed.problems.front());
  if (parsed.plan)
    for (const auto& mount : parsed.plan->mounts) out.push_back(mount.src);
  return out;
}

TEST(MountsText, IsPlainForAPathThatYamlReadsAsItStands) {
  EXPECT_EQ(mounts_text({"~/.local/bin", "/opt/node-v22.1_x+a@b"}),
            "mounts: [{src: ~/.local/bin}, {src: /opt/node-v22.1_x+a@b}]");
  EXPECT_EQ(mounts_text({}), "");
}

TEST(MountsText, NamesTheSamePathsInAPlan) {
  const Paths all = {"/opt/tool", "~/a b",          "/opt/a, b",       "/opt/}x{",  "/opt/a: b",
                     "/opt/a #b", "/opt/\"a\" 'b'", "/opt/[a]*&!|>%`", "~/a\\nb\\", "/opt/\xC3\xA4:"};
  for (const auto& path : all) EXPECT_EQ(in_a_plan_with(mounts_text({path})), Paths{path});
  EXPECT_EQ(in_a_plan_with(mounts_text(all)), all);
}

}  // namespace
}  // namespace pawl::plan
