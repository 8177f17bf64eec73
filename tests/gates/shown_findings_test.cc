// A finding shows no part of a secret: secrets are removed from whole texts, before anything is cut.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gates/policy/check.h"
#include "plan/script.h"
#include "support/plain_redactor.h"

namespace pawl::gates {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string kShownToken = "ghp_" + std::string(36, 'A');

// A text whose secret lies across each place at which a finding may be cut.
std::string text_around(std::size_t place) { return std::string(place - 20, 'x') + "/" + kShownToken; }

FileVersion whole_file(const std::string& content) {
  return {.size = static_cast<std::int64_t>(content.size()), .content = content};
}

// The findings of a change from `before` to `after`, where a gate runs `command`.
std::string shown_for(const std::string& path, const std::string& before, const std::string& after,
                      const std::string& command = "npm test") {
  Shadows shadows;
  const std::vector<std::string> argv{"sh", "-e", "-c", command};
  shadows.targets.add(argv);
  shadows.targets.hidden_failures = [](const auto& words) { return plan::hidden_failures(words); };
  const auto with = [&](const std::string& text) {
    return [&](const std::string& name) { return name == path ? text : ""; };
  };
  shadows.targets.read_makefiles({}, with(before));
  shadows.targets.read_work(with(before), with(after));
  const Policy policy{.secrets = Reaction::kAllow};
  PolicyCheck check(policy, testing::plain_redactor(), shadows);
  check.see({.path = path, .before = whole_file(before), .after = whole_file(after)});
  return text_in(check.signal().details, "failing");
}

void expect_no_part(const std::string& finding, const std::string& words) {
  EXPECT_THAT(finding, HasSubstr(words));
  EXPECT_THAT(finding, Not(HasSubstr("ghp_")));
  EXPECT_THAT(finding, Not(HasSubstr("AAAA")));
  EXPECT_THAT(finding, Not(HasSubstr("aaaa"))) << "in lower case";
}

TEST(ShownFindings, ADependencysNameAndSourceAreRedactedWhole) {
  const auto package = [](const std::string& name, const std::string& spec) {
    return shown_for("package.json", "{}", R"({"dependencies": {")" + name + R"(": ")" + spec + "\"}}");
  };
  expect_no_part(package(text_around(120), "file:../c"), "comes from a file or a folder");
  expect_no_part(package("a", "npm:" + text_around(120)), "is another package under this name");
}

TEST(ShownFindings, AnEntryOfALockfileIsRedactedWhole) {
  const auto lock = [](const std::string& entry) {
    return shown_for("package-lock.json", "{}", R"({"packages": {"node_modules/a": {)" + entry + "}}}");
  };
  const std::string integrity = R"(, "integrity": "sha512-x")";
  const std::string host = "https://evil.example/";
  expect_no_part(lock(R"("resolved": ")" + host + text_around(110) + "\"" + integrity), "another host");
  expect_no_part(lock(R"("resolved": "https://)" + kShownToken + ".evil.example/a.tgz\"" + integrity),
                 "another host");
  expect_no_part(
      lock(R"("version": ")" + text_around(120) + R"(", "resolved": ")" + host + "a/-/a-1.tgz\"" + integrity),
      "is fetched as another version");
  expect_no_part(
      lock(R"("resolved": "https://registry.npmjs.org/a.tgz", "integrity": ")" + kShownToken + "\""),
      "has an integrity of an unknown hash");
}

TEST(ShownFindings, ALineOfAMakefileIsRedactedWhole) {
  const auto make = [](const std::string& before, const std::string& after) {
    return shown_for("Makefile", before, after, "make test");
  };
  const std::string plain = "test:\n\tsh t.sh\n";
  expect_no_part(make(plain, "test:\n\t-sh t.sh " + text_around(100) + "\n"), "ignores that");
  expect_no_part(make(plain, "SHELL = /" + text_around(90) + "\n" + plain), "has make run no command");
  expect_no_part(
      make("RUN = sh t.sh\ntest:\n\t$(RUN)\n", "RUN = : " + text_around(100) + "\ntest:\n\t$(RUN)\n"),
      "runs it");
}

TEST(ShownFindings, ACommandOfAScriptIsRedactedWhole) {
  const auto script = [](const std::string& text) { return R"({"scripts": {"test": ")" + text + "\"}}"; };
  expect_no_part(shown_for("package.json", script("node t.js"), script("node t.js || T=" + text_around(30))),
                 "hides the failure");
}

TEST(ShownFindings, APasswordBeforeAHostIsNotAPartOfIt) {
  const std::string start = "distributionUrl=https\\://", end = "/gradle.zip\n";
  const auto finding =
      shown_for("gradle/wrapper/gradle-wrapper.properties", start + "services.gradle.org" + end,
                start + "user:Tr0ub4dour@evil.example" + end);
  EXPECT_THAT(finding, HasSubstr("from evil.example"));
  EXPECT_THAT(finding, Not(HasSubstr("Tr0ub4dour")));
}

TEST(ShownFindings, ALongNameLeavesRoomForTheWords) {
  const auto finding = shown_for("package.json", "{}",
                                 R"({"dependencies": {")" + std::string(5000, 'x') + R"(": "file:../c"}})");
  EXPECT_THAT(finding, HasSubstr("xxx... comes from a file or a folder"));
  EXPECT_LT(finding.size(), 400U);
}

}  // namespace
}  // namespace pawl::gates
