// Commands that fetch packages, which a step without a network cannot run.
#include "plan/fetches.h"

#include <gtest/gtest.h>

#include "plan/parse.h"
#include "plan/script.h"

namespace pawl::plan {
namespace {

std::string fetched_by(const std::string& script) {
  const auto found = fetches_by(script_argv(Shell::kBest, script));
  return found ? found->command : "";
}

TEST(Fetches, AreCommandsThatRunInAnyCase) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"npm ci", "npm ci"},
      {"cd app && npm install && npm test", "npm install"},
      {"CI=1 timeout 60 npm --silent ci", "npm ci"},
      {"yarn && yarn test", "yarn"},
      {"yarn install --frozen-lockfile", "yarn install"},
      {"pnpm i", "pnpm i"},
      {"python3 -m venv v\n. v/bin/activate\npip install -r requirements.txt", "pip install"},
      {"/usr/bin/python3.11 -m pip install -q .", "pip install"},
      {"cargo fetch --locked", "cargo fetch"},
      {"go mod download && go test ./...", "go mod download"},
      {"bundle install", "bundle install"},
      {"composer install --no-interaction", "composer install"},
  };
  for (const auto& [script, command] : cases) EXPECT_EQ(fetched_by(script), command) << script;
  EXPECT_EQ(fetches_by({"npm", "ci"})->command, "npm ci");
  EXPECT_EQ(fetches_by({"npm", "ci"})->egress, "[\"registry.npmjs.org:443\"]");
}

TEST(Fetches, AreNoneOfWhatNeedsNoNetwork) {
  for (const char* script : {"npm test", "npm run install-check", "yarn test", "pip --version", "pip list",
                             "cargo test", "cargo build --offline", "go mod verify", "bundle exec rspec",
                             "npm ci --offline", "pip install --no-index --find-links wheels x",
                             "bundle install --local", "[ -d node_modules ] || npm ci", "echo npm ci",
                             "make install", "yarn --version", "f() { npm ci; }; make"})
    EXPECT_EQ(fetched_by(script), "") << script;
}

TEST(Fetches, AreToldOfAStepWithoutANetwork) {
  const auto warnings = [](const std::string& more) {
    const auto parsed =
        parse("version: 1\nworkflow: w\nsource: {path: .}\ngates:\n  g: {steps: [{name: s, run: npm ci" +
                  more + "}]}\ntiers: [{phases: [{id: p, goal: g, agent: {run: npm ci}, gates: [g]}]}]\n",
              "plan.yaml");
    EXPECT_TRUE(parsed.plan);
    return parsed.warnings;
  };
  ASSERT_EQ(warnings("").size(), 1U);
  EXPECT_EQ(warnings("").front().line, 5);
  EXPECT_TRUE(warnings(", network: scoped, egress: [\"registry.npmjs.org:443\"]").empty());
}

}  // namespace
}  // namespace pawl::plan
