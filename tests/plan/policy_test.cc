#include "plan/policy.h"

#include <gtest/gtest.h>

namespace pawl::plan {
namespace {

TEST(PolicyFile, SaysWhatTheRulesAre) {
  const auto parsed = parse_policy(
      "version: 1\nlimits: {files: 10, lines: 500, file_bytes: 1000, bytes: 0}\nforbidden_paths: "
      "[\"legal/**\"]\n"
      "watched: fail\nwatched_paths: [tools/x]\nbinaries: fail\nexecutables: allow\nsymlinks: tell\nsecrets: "
      "tell\n"
      "secrets_except: [\"test/**\"]\nnpm_lockfile: allow\n",
      "policy.yaml");
  ASSERT_TRUE(parsed.policy);
  EXPECT_EQ(parsed.policy->files_max, 10);
  EXPECT_EQ(parsed.policy->bytes_max, 0);
  EXPECT_EQ(parsed.policy->watched, Reaction::kFail);
  EXPECT_EQ(parsed.policy->executables, Reaction::kAllow);
  EXPECT_EQ(parsed.policy->secrets, Reaction::kTell);
  EXPECT_EQ(parsed.policy->secrets_except, std::vector<std::string>{"test/**"});
}

TEST(PolicyFile, WithoutWordsOnlySecretsAndLockfilesFail) {
  const auto parsed = parse_policy("version: 1\n", "policy.yaml");
  ASSERT_TRUE(parsed.policy);
  EXPECT_FALSE(parsed.policy->files_max);
  EXPECT_EQ(parsed.policy->secrets, Reaction::kFail);
  EXPECT_EQ(parsed.policy->npm_lockfile, Reaction::kFail);
  EXPECT_EQ(parsed.policy->watched, Reaction::kTell);
}

TEST(PolicyFile, EachProblemHasItsPlace) {
  const std::pair<const char*, const char*> table[] = {
      {"{}", "policy.yaml:1:1: the policy needs the key 'version'"},
      {"version: 2\n", "policy.yaml:1:10: version: expected a whole number from 1 to 1"},
      {"version: 1\nlimit: {files: 1}\n",
       "policy.yaml:2:1: unknown key 'limit' in the policy; did you mean 'limits'?"},
      {"version: 1\nlimits: {files: -1}\n", "policy.yaml:2:17: files: expected a whole number from 0 to "},
      {"version: 1\nwatched: yes\n", "policy.yaml:2:10: "},
      {"version: 1\nforbidden_paths: [a, ../b]\n",
       "policy.yaml:2:22: forbidden_paths: '../b' must be relative and stay inside the source"},
      {"[1, 2", "policy.yaml:"},
      {"", "policy.yaml"},
  };
  for (const auto& [text, expected] : table) {
    const auto parsed = parse_policy(text, "policy.yaml");
    EXPECT_FALSE(parsed.policy) << text;
    ASSERT_FALSE(parsed.problems.empty()) << text;
    EXPECT_EQ(to_text(parsed.problems[0]).substr(0, std::string(expected).size()), expected);
  }
}

}  // namespace
}  // namespace pawl::plan
