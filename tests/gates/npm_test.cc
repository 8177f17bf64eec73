// Findings in package.json and in npm's lockfiles.
#include "gates/policy/npm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

namespace pawl::gates {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

FileVersion npm_file(std::string_view content) {
  return {.size = static_cast<std::int64_t>(content.size()), .content = content};
}

std::vector<std::string> npm(const std::string& path, const std::string& after,
                             const std::string& before = "") {
  FileChange change{.path = path, .after = npm_file(after)};
  if (!before.empty()) change.before = npm_file(before);
  std::vector<std::string> out;
  for (const auto& finding : npm_findings(change))
    out.push_back(std::to_string(finding.line) + ": " + finding.words);
  return out;
}

constexpr char kLocal[] = "comes from a file or a folder, where no integrity is kept";
constexpr char kGit[] = "comes from git, where no integrity is kept";

TEST(Npm, DependenciesComeFromTheRegistry) {
  EXPECT_THAT(
      npm("package.json",
          "{\n\"coverage\": 0.5,\n\"dependencies\": {\"a\": \"^1.0.0\", \"b\": \"npm:@x/y@1\", "
          "\"c\": \"file:../c\",\n"
          "\"d\": \"github:x/y\",\n\"e\": \"x/y#main\",\n\"f\": \"git+ssh://git@h/x.git\",\n\"g\": "
          "\"https://h/x.tgz\"}}"),
      ElementsAre("3: b is another package under this name: npm:@x/y@1", "3: c " + std::string(kLocal),
                  "4: d " + std::string(kGit), "5: e " + std::string(kGit), "6: f " + std::string(kGit),
                  "7: g comes from a URL, not from the registry"));
  EXPECT_THAT(
      npm("package.json", "{\"dependencies\": {\"d\": \"x/y\"}}", "{\"dependencies\": {\"d\": \"x/y\"}}"),
      IsEmpty())
      << "it was so before";
  EXPECT_THAT(npm("src/other.json", "{\"dependencies\": {\"d\": \"x/y\"}}"), IsEmpty());
}

TEST(Npm, AnOverrideHoldsForOneParent) {
  EXPECT_THAT(npm("a/package.json",
                  "{\"overrides\": {\"x\": \"1.0.0\", \"p\": {\"x\": \"1.0.0\"}, \"q\": {\".\": \"2\"}},\n"
                  "\"resolutions\": {\"y\": \"1\", \"p/y\": \"1\", \"@s/n\": \"1\"}}"),
              ElementsAre("1: q is overridden for every package that needs it",
                          "1: x is overridden for every package that needs it",
                          "2: @s/n is overridden for every package that needs it",
                          "2: y is overridden for every package that needs it"));
}

TEST(Npm, TheLockfileSaysWhenceAndWithWhichHash) {
  const std::string good =
      "\"node_modules/ok\": {\"version\": \"1.0.0\", \"resolved\": \"https://registry.npmjs.org/ok.tgz\", "
      "\"integrity\": "
      "\"sha512-x\"},\n"
      "\"node_modules/link\": {\"resolved\": \"packages/link\", \"link\": true},\n"
      "\"node_modules/ok/node_modules/in\": {\"version\": \"1\", \"inBundle\": true},\n\"packages/link\": "
      "{},\n";
  const std::string bad =
      "\"node_modules/a\": {\"resolved\": \"git+ssh://git@h/a.git#1\"},\n"
      "\"node_modules/b\": {\"resolved\": \"https://registry.npmjs.org/b.tgz\"},\n"
      "\"node_modules/c\": {\"resolved\": \"http://registry.npmjs.org/c.tgz\", \"integrity\": \"sha1-x\"},\n"
      "\"node_modules/d\": {\"version\": \"1\"}\n";
  const std::string start =
      "{\"lockfileVersion\": 3, \"packages\": {\"\": {\"dependencies\": {\"z\": \"x/z\"}},\n";
  EXPECT_THAT(npm("package-lock.json", start + good + bad + "}}"),
              ElementsAre("1: z " + std::string(kGit), "6: node_modules/a " + std::string(kGit),
                          "7: node_modules/b has no integrity", "8: node_modules/c is fetched without TLS",
                          "8: node_modules/c has an integrity of a broken hash (sha1)",
                          "9: node_modules/d says neither whence it comes nor its integrity"));
  EXPECT_THAT(npm("package-lock.json", start + good + bad + "}}", start + good + bad + "}}"), IsEmpty());
}

TEST(Npm, APackageStaysOneOfTheRegistryAndOfItsVersion) {
  const auto found = [](const std::string& before, const std::string& after) {
    const auto text = [](const std::string& entry) {
      return R"({"packages": {"node_modules/a": )" + entry + "}}";
    };
    return npm("package-lock.json", text(after), text(before));
  };
  const auto entry = [](const std::string& version, const std::string& tarball, const std::string& hash) {
    return R"({"version": ")" + version + R"(", "resolved": "https://r/a/-/a-)" + tarball +
           R"(.tgz", "integrity": "sha512-)" + hash + "\"}";
  };
  const std::string was = entry("1.2.0", "1.2.0", "x");
  EXPECT_THAT(found(was, R"({"resolved": "tools/a", "link": true})"),
              ElementsAre("1: node_modules/a " + std::string(kLocal)));
  EXPECT_THAT(found(R"({"resolved": "a", "link": true})", R"({"resolved": "b", "link": true})"), IsEmpty());
  EXPECT_THAT(
      found(was, entry("1.3.0", "1.0.0", "y")),
      ElementsAre("1: node_modules/a is fetched as another version than 1.3.0: https://r/a/-/a-1.0.0.tgz"));
  EXPECT_THAT(found(was, entry("1.3.0", "1.3.0", "y")), IsEmpty());
}

// npm fetches an entry that has `resolved`, bundled or not, and compares schemes without regard to case.
TEST(Npm, WhatIsFetchedIsNoPartOfAnother) {
  const auto found = [](const std::string& entry) {
    return npm("package-lock.json", "{\"lockfileVersion\": 3, \"packages\": {" + entry + "}}");
  };
  EXPECT_THAT(
      found(R"("node_modules/evil": {"resolved": "http://registry.npmjs.org/e.tgz", "inBundle": true})"),
      ElementsAre("1: node_modules/evil is fetched without TLS", "1: node_modules/evil has no integrity"));
  EXPECT_THAT(
      found(
          R"("node_modules/a/node_modules/b": {"resolved": "https://registry.npmjs.org/e.tgz", "inBundle": true})"),
      ElementsAre("1: node_modules/a/node_modules/b has no integrity"));
  EXPECT_THAT(found(R"("node_modules/b": {"version": "1", "inBundle": true})"),
              ElementsAre("1: node_modules/b says neither whence it comes nor its integrity"));
  EXPECT_THAT(found(R"("node_modules/c": {"resolved": "GIT+https://h/c"})"),
              ElementsAre("1: node_modules/c " + std::string(kGit)));
  EXPECT_THAT(npm("package.json", R"({"dependencies": {"a": "HTTPS://h/a.tgz", "b": "ssh://git@h/o/b"}})"),
              ElementsAre("1: a comes from a URL, not from the registry", "1: b " + std::string(kGit)));
  EXPECT_THAT(
      npm("npm-shrinkwrap.json",
          R"({"dependencies": {"a": {"version": "1", "bundled": true, "resolved": "HTTP://registry.npmjs.org/a"}}})"),
      ElementsAre("1: a is fetched without TLS", "1: a has no integrity"));
}

TEST(Npm, TheSameVersionIsTheSamePackageFromTheSameHost) {
  const auto lock = [](const std::string& entry) {
    return "{\"lockfileVersion\": 3, \"packages\": {\"node_modules/a\": " + entry +
           R"(, "node_modules/@s/b": {"version": "2", "resolved": "https://r.example/@s/b/-/b-2.tgz", "integrity": "sha512-b"}}})";
  };
  const std::string was =
      lock(R"({"version": "1", "resolved": "https://r.example/a/-/a-1.tgz", "integrity": "sha512-x"})");
  const auto found = [&](const std::string& entry) { return npm("package-lock.json", lock(entry), was); };
  EXPECT_THAT(
      found(R"({"version": "1", "resolved": "https://r.example/a/-/a-1.tgz", "integrity": "sha512-y"})"),
      ElementsAre("1: node_modules/a has another integrity for the same version"));
  for (const char* host : {"r.example.org", "r.example:8443", "r.example@evil.example"})
    EXPECT_THAT(found(R"({"version": "2", "resolved": "https://)" + std::string(host) +
                      R"(/a/-/a-2.tgz", "integrity": "sha512-y"})"),
                ElementsAre(HasSubstr("node_modules/a is fetched from another host")))
        << host;
  EXPECT_THAT(
      found(
          R"({"version": "2", "resolved": "https://r.example/evil/-/evil-2.tgz", "integrity": "sha512-y"})"),
      ElementsAre(HasSubstr("is another package under this name")));
  EXPECT_THAT(
      found(
          R"({"name": "evil", "version": "2", "resolved": "https://r.example/a/-/a-2.tgz", "integrity": "sha512-y"})"),
      ElementsAre("1: node_modules/a is another package under this name: evil"));
  EXPECT_THAT(found(R"({"version": "2", "resolved": "file:vendor/a-2.tgz", "integrity": "sha512-y"})"),
              ElementsAre("1: node_modules/a " + std::string(kLocal)));
  EXPECT_THAT(
      found(R"({"version": "2", "resolved": "https://r.example/a/-/a-2.tgz", "integrity": "sha512-y"})"),
      IsEmpty());
}

TEST(Npm, AFirstLockfileIsFetchedFromTheUsualRegistries) {
  const auto found = [](const std::string& host) {
    return npm("package-lock.json",
               R"({"packages": {"node_modules/a": {"version": "1", "resolved": "https://)" + host +
                   R"(/a/-/a-1.tgz", "integrity": "sha512-x"}}})");
  };
  EXPECT_THAT(found("registry.npmjs.org"), IsEmpty());
  EXPECT_THAT(found("registry.yarnpkg.com"), IsEmpty());
  EXPECT_THAT(found("evil.example"),
              ElementsAre(HasSubstr("node_modules/a is fetched from another host: https://evil.example/")));
}

TEST(Npm, TheOldLockfileIsReadToItsLeaves) {
  EXPECT_THAT(
      npm("npm-shrinkwrap.json",
          "{\"dependencies\": {\"a\": {\"version\": \"1\", \"resolved\": \"https://registry.npmjs.org/a\", "
          "\"integrity\": \"sha512-x\",\n"
          "\"dependencies\": {\"b\": {\"version\": \"git+https://h/b.git\"},\n\"c\": {\"version\": "
          "\"1\", \"resolved\": \"https://registry.npmjs.org/c\"}}}}}"),
      ElementsAre("2: b " + std::string(kGit), "3: c has no integrity"));
}

// The spellings by which npm-package-arg finds a file or a folder.
TEST(Npm, ALocalSourceIsFoundInEverySpelling) {
  const std::string local = "1: node_modules/a " + std::string(kLocal);
  for (const std::string spec : {"file:e.tgz", "FILE:e.tgz", "./e.tgz", "../e.tgz", "/workspace/v/e.tgz", ".",
                                 "~/e", "c:/e", "e.tgz", "E.TAR.GZ", "e.tar", "v/w/e", "link:e"}) {
    EXPECT_THAT(npm("package.json", R"({"dependencies": {"a": ")" + spec + "\"}}"),
                ElementsAre("1: a " + std::string(kLocal)))
        << spec;
    const auto lock = [&](const std::string& entry) {
      return npm("package-lock.json", R"({"packages": {"node_modules/a": {)" + entry + "}}}");
    };
    const std::string integrity = R"(, "integrity": "sha512-x")";
    EXPECT_THAT(lock(R"("version": "1", "resolved": ")" + spec + "\"" + integrity), ElementsAre(local))
        << spec;
    EXPECT_THAT(lock(R"("version": "1", "resolved": ")" + spec + "\""), ElementsAre(local)) << spec;
    EXPECT_THAT(lock(R"("version": ")" + spec + "\"" + integrity), ElementsAre(local)) << spec;
    EXPECT_THAT(npm("npm-shrinkwrap.json", R"({"dependencies": {"a": {"version": "1", "resolved": ")" + spec +
                                               "\"" + integrity + "}}}"),
                ElementsAre("1: a " + std::string(kLocal)))
        << spec;
  }
  for (const std::string spec :
       {"^1.0.0", "1.x || 2.x", "latest", "1.0.0-beta.tgz-1", "workspace:*", ">=1 <2"})
    EXPECT_THAT(npm("package.json", R"({"dependencies": {"a": ")" + spec + "\"}}"), IsEmpty()) << spec;
  EXPECT_THAT(
      npm("package-lock.json", R"({"packages": {"node_modules/a": {"version": "1", "resolved": "NPM:b@1", )"
                               R"("integrity": "sha512-x"}}})"),
      ElementsAre("1: node_modules/a is another package under this name: NPM:b@1"));
}

TEST(Npm, ALinkHidesNoPackageOfTheLockfile) {
  const auto package = [](const std::string& path) {
    return "\"" + path +
           R"(": {"version": "1", "resolved": "https://registry.npmjs.org/p.tgz", "integrity": "sha512-x"})";
  };
  const auto link = [](const std::string& path, const std::string& yes = "true") {
    return "\"" + path + R"(": {"link": )" + yes + R"(, "resolved": "evil"})";
  };
  const auto found = [](const std::string& before, const std::string& after) {
    return npm("package-lock.json", R"({"packages": {)" + after + "}}", R"({"packages": {)" + before + "}}");
  };
  const std::string app = package("node_modules/app"), pad = package("node_modules/left-pad");
  const std::string nested = "node_modules/app/node_modules/left-pad";
  for (const char* yes : {"true", "1", "\"yes\"", "[]"})
    EXPECT_THAT(found(app + "," + pad, app + "," + pad + "," + link(nested, yes)),
                ElementsAre("1: " + nested + " " + kLocal))
        << yes;
  EXPECT_THAT(found(app, app + "," + pad + "," + link(nested)), ElementsAre("1: " + nested + " " + kLocal))
      << "both are new";
  EXPECT_THAT(found(pad, pad + "," + link("packages/a/node_modules/left-pad")),
              ElementsAre("1: packages/a/node_modules/left-pad " + std::string(kLocal)));
  EXPECT_THAT(found(app + "," + package(nested), app + "," + link("node_modules/left-pad")),
              ElementsAre("1: node_modules/left-pad " + std::string(kLocal)))
      << "the package that the link replaces lay deeper";
  EXPECT_THAT(npm("package-lock.json", R"({"packages": {)" + app + "," + link(nested) + "}}",
                  R"({"dependencies": {"left-pad": {"version": "1"}}})"),
              ElementsAre("1: " + nested + " " + kLocal))
      << "the earlier lockfile has the old form";
  EXPECT_THAT(found(app + "," + pad, app + "," + pad + "," + link("node_modules/mine")), IsEmpty())
      << "a new workspace";
  EXPECT_THAT(
      found(app + "," + package(nested), app + "," + package(nested) + "," + link("node_modules/left-pad")),
      IsEmpty())
      << "the package stays for the one that needs it";
}

TEST(Npm, WhatCannotBeReadIsNamed) {
  EXPECT_THAT(npm("package.json", "{\"a\": "), ElementsAre("0: is no JSON object that can be read"));
  EXPECT_THAT(npm("package.json", std::string(200'000, '[')),
              ElementsAre("0: is no JSON object that can be read"));
  EXPECT_THAT(npm("package-lock.json", "[]"), ElementsAre("0: is no JSON object that can be read"));
  EXPECT_THAT(npm("package-lock.json", "{\"packages\": 1, \"dependencies\": [1]}"), IsEmpty());
}

// A value takes many times the bytes of its text in memory.
TEST(Npm, AFileOfTooManyValuesIsNotRead) {
  const auto file = [](int values, std::string_view one) {
    std::string out = R"({"name": "x", "packages": {}, "x": [)";
    for (int i = 1; i < values; ++i) (out += one) += ',';
    return out + std::string(one) + "]}";
  };
  const auto is_refused =
      ElementsAre("0: is not read: it and its earlier version have more than 300000 values");
  for (const auto& [values, one] :
       {std::pair(299'000, "0"), std::pair(149'000, "[0]"), std::pair(100, R"("[,")")})
    EXPECT_THAT(npm("package-lock.json", file(values, one)), IsEmpty()) << one;
  for (const auto& [values, one] : {std::pair(301'000, "0"), std::pair(151'000, "[0]"),
                                    std::pair(301'000, "{}"), std::pair(301'000, R"("[,")")}) {
    EXPECT_THAT(npm("package-lock.json", file(values, one)), is_refused) << one;
    EXPECT_THAT(npm("a/package.json", file(values, one)), is_refused) << one;
    EXPECT_THAT(npm("npm-shrinkwrap.json", file(100, one), file(values, one)), is_refused) << one;
  }
  EXPECT_THAT(npm("package-lock.json", file(151'000, "0"), file(151'000, "1")), is_refused);
  EXPECT_THAT(npm("package.json", std::string(1'000'000, '[')), is_refused)
      << "what is not read is not judged";
}

TEST(Npm, FindingsOfOneFileAreBounded) {
  std::string packages;
  for (int i = 0; i < 90'000; ++i)
    packages += (i == 0 ? "" : ",\n") + std::string("\"node_modules/") + std::to_string(i) + "\": 0";
  const auto found = npm("package-lock.json", R"({"packages": {)" + packages + "}}");
  ASSERT_EQ(found.size(), 501U);
  EXPECT_THAT(found[499], HasSubstr("is no mapping"));
  EXPECT_THAT(found[500], HasSubstr("has more findings than 500"));
}

}  // namespace
}  // namespace pawl::gates
