// Specs and paths that are refused before anything starts, each with the name of the field.
#include "sandbox/spec.h"

#include <gmock/gmock.h>

#include <functional>

#include "os/file.h"
#include "support/temp_folder.h"

namespace pawl::sandbox {
namespace {

using ::testing::HasSubstr;

TEST(Spec, EachMistakeIsRefusedByName) {
  struct Case {
    std::function<void(SandboxSpec&)> mistake;
    std::string words;
  };
  const std::vector<Case> cases = {
      {[](auto& spec) { spec.cmd.clear(); }, "cmd: there is no command"},
      {[](auto& spec) { spec.cmd = {""}; }, "cmd: there is no command"},
      {[](auto& spec) {
         spec.cmd = {"a", std::string("b\0c", 3)};
       },
       "cmd: an argument has a NUL"},
      {[](auto& spec) { spec.base_image = "debian:12"; }, "base_image: \"debian:12\" is not pinned"},
      {[](auto& spec) { spec.base_image = "debian@sha256:00"; }, "is not available yet"},
      {[](auto& spec) { spec.env = {"API_TOKEN=x"}; }, "env: API_TOKEN looks like a secret"},
      {[](auto& spec) { spec.env = {"DB_PASS=x"}; }, "env: DB_PASS looks like a secret"},
      {[](auto& spec) { spec.env = {"DB=jdbc:x://h/d?Password=y"}; }, "env: DB has a password in it"},
      {[](auto& spec) { spec.env = {"no equals"}; }, "env: \"no equals\" is not NAME=value"},
      {[](auto& spec) { spec.env = {"PROXY=http://me:word@host/"}; }, "env: PROXY has credentials"},
      {[](auto& spec) { spec.egress_allowlist = {"a.example:443"}; }, "egress: needs network: scoped"},
      {[](auto& spec) { spec.network = Network::kScoped; }, "egress: network: scoped needs at least one"},
      {[](auto& spec) { spec.time_budget_seconds = 0; }, "time_budget_seconds: 0 is not between"},
      {[](auto& spec) { spec.memory_limit_mib = 0; }, "memory_limit_mib: 0 is not between"},
      {[](auto& spec) { spec.pids_limit = 0; }, "pids_limit: 0 is not between"},
      {[](auto& spec) { spec.cpu_limit_millis = -1; }, "cpu_limit_millis: -1 is not between"},
      {[](auto& spec) { spec.disk_limit_mib = 0; }, "disk_limit_mib: 0 is not between"},
      {[](auto& spec) { spec.output_limit_bytes = -1; }, "output_limit_bytes: -1 is not between"},
      {[](auto& spec) { spec.copy_in = {{.src = "x", .dst = "/a"}}; }, "copy_in: src \"x\" is not"},
      {[](auto& spec) { spec.copy_in = {{.src = "/x/..", .dst = "/a"}}; }, "copy_in: src \"/x/..\" is not"},
      {[](auto& spec) {
         spec.copy_in = {{.src = "/x", .below = {"/y", "/z/.."}, .dst = "/a"}};
       },
       "copy_in: src \"/z/..\" is not"},
      {[](auto& spec) { spec.copy_in = {{.src = "/x", .dst = "relative"}}; },
       "copy_in: dst \"relative\" is not"},
      {[](auto& spec) { spec.copy_in = {{.src = "/x", .dst = "/a/../../etc"}}; }, "has an empty, . or .."},
      {[](auto& spec) { spec.copy_in = {{.src = "/x", .dst = "/usr/bin"}}; },
       "is below a folder of the system"},
      {[](auto& spec) {
         spec.workspace = {.layers = {"other", "own"}, .own_layer = "own"};
       },
       "own_layer is not the topmost"},
      {[](auto& spec) {
         spec.workspace.git_objects = {"/x", "y"};
       },
       "workspace: git_objects \"y\" is not an absolute path"},
      {[](auto& spec) { spec.copy_in = {{.src = "/x", .dst = "/home/"}}; }, "is HOME, or above it"},
      {[](auto& spec) { spec.copy_in = {{.src = "/x", .dst = "/home/agent"}}; }, "is HOME, or above it"},
  };
  SandboxSpec good;
  good.cmd = {"true"};
  ASSERT_TRUE(validate(good));
  for (const auto& [mistake, words] : cases) {
    SandboxSpec spec = good;
    mistake(spec);
    const auto status = validate(spec);
    ASSERT_FALSE(status) << words;
    EXPECT_EQ(status.error().kind, ErrorKind::kInvalid);
    EXPECT_THAT(status.error().message, HasSubstr(words));
  }
}

// A fetch, or another machine, gives the same step the same hash.
TEST(Spec, TheHashDoesNotBindWhereObjectsOfGitLie) {
  SandboxSpec here{.workspace = {.git_commit = "c", .git_objects = {"/a", "/b"}}, .cmd = {"true"}};
  auto there = here;
  there.workspace.git_objects = {"/c"};
  EXPECT_TRUE(validate(here));
  EXPECT_EQ(spec_hash(here), spec_hash(there));
  EXPECT_EQ(spec_from_json(*parse_json(json_text(here)))->workspace.git_objects, here.workspace.git_objects);
  there.workspace.git_commit = "d";
  EXPECT_NE(spec_hash(here), spec_hash(there));
}

TEST(Spec, TheHashBindsWhichLayerIsOfTheStepItself) {
  SandboxSpec of_others{.workspace = {.layers = {"a", "b"}}, .cmd = {"true"}};
  auto own = of_others;
  own.workspace.own_layer = "a";
  EXPECT_TRUE(validate(own));
  EXPECT_NE(spec_hash(own), spec_hash(of_others));
  EXPECT_EQ(spec_from_json(*parse_json(json_text(own)))->workspace.own_layer, "a");
}

TEST(Spec, ACopyLiesWhereItsPathSays) {
  SandboxSpec spec;
  spec.cmd = {"true"};
  for (const char* dst : {"", "/", "a", "/a/..", "/a/../b", "/a/./b", "/a//b"}) {
    spec.copy_in = {{.src = "/x", .dst = dst}};
    EXPECT_FALSE(validate(spec)) << dst;
  }
  for (const char* dst : {"/a", "/a/b", "/a/..b", "/a/b.."}) {
    spec.copy_in = {{.src = "/x", .dst = dst}};
    EXPECT_TRUE(validate(spec)) << dst;
  }
}

TEST(Run, WhatWasRefusedIsCountedAlsoInRunsOfBeforeItWas) {
  SandboxRun run{.refused = {"a", "b"}, .refused_total = 402};
  const auto text = json_text(run);
  EXPECT_EQ(run_from_json(Json::parse(text))->refused_total, 402);
  Json old = Json::parse(text);
  old.erase("refused_total");
  EXPECT_EQ(run_from_json(old)->refused_total, 2);
}

}  // namespace
}  // namespace pawl::sandbox
