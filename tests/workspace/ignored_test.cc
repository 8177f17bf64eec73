// Paths that the source's .gitignore files match are not work. git itself decides which paths match.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <ranges>

#include "workspace/ignore_rules.h"
#include "workspace/random_work.h"
#include "workspace/repository.h"

namespace pawl::workspace {
namespace {

namespace fs = std::filesystem;

class IgnoredTest : public WorkspaceTest {
 protected:
  Workspaces::Work without_ignored(const std::string& layer, const std::string& path) {
    auto work = workspaces_->without_ignored(layer, {.path = path, .base = base_}, {});
    EXPECT_TRUE(work) << work.error().message;
    return *work;
  }
  Workspaces::Work without_ignored(const std::string& layer) { return without_ignored(layer, source_); }

  void commit(const std::string& script) {
    sh("cd " + source_ + " && " + script + " && git add -A && git commit -q -m more");
    base_ = *workspaces_->snapshot_git(source_, "HEAD");
  }
};

TEST_F(IgnoredTest, IsLeftOutUnlessItIsCommitted) {
  commit("printf '*.o\\n/out/\\n' > .gitignore && echo 1 > kept.o && git add -f kept.o");
  const auto id = layer(
      "mkdir -p out/deep dir/out && echo 22 > out/deep/x && echo 333 > dir/a.o && echo 2 > kept.o && "
      "echo x > dir/out/y && rm doomed");
  const auto work = without_ignored(id);
  EXPECT_EQ(paths_of(work.layer_id), (std::vector<std::string>{"dir/out", "dir/out/y", "doomed", "kept.o"}));
  EXPECT_EQ(work.ignored_entries, 4) << "out, out/deep, out/deep/x, dir/a.o";
  EXPECT_EQ(work.ignored_bytes, 7);
}

TEST_F(IgnoredTest, IsNothingWithoutRulesOrWithoutSuchFiles) {
  const auto id = layer("echo 2 > text");
  EXPECT_EQ(without_ignored(id).layer_id, id);
  commit("echo '*.o' > .gitignore");
  EXPECT_EQ(without_ignored(layer("echo 2 > text")).ignored_entries, 0);
  EXPECT_EQ(without_ignored(layer("echo 2 > a.o")).layer_id, "");
}

// With git add -f, and before the first commit: git tracks the file, whatever its rules are.
TEST_F(IgnoredTest, IsNothingThatIsStaged) {
  sh("cd " + source_ +
     " && printf '*.o\nmods/\n' > .gitignore && git add -A && git commit -q -m rules && mkdir mods && "
     "touch a.o b.o mods/m mods/n && git add -f a.o mods/m");
  base_ = *workspaces_->snapshot_directory(source_);
  EXPECT_EQ(paths_of(without_ignored(layer("for f in a.o b.o mods/m mods/n; do echo 2 > $f; done")).layer_id),
            (std::vector<std::string>{"a.o", "mods/m"}));
  EXPECT_EQ(paths_of(without_ignored(layer("rm -r a.o b.o mods")).layer_id),
            (std::vector<std::string>{"a.o", "mods"}));
  sh("cd " + source_ + " && rm -rf .git && git init -q . && git add -fN a.o && git add -A");
  base_ = *workspaces_->snapshot_directory(source_);
  EXPECT_EQ(paths_of(without_ignored(layer("echo 2 > a.o; echo 2 > b.o; echo 2 > text")).layer_id),
            (std::vector<std::string>{"a.o", "text"}))
      << "a repository without a commit";
  sh("cd " + source_ +
     " && git -c user.name=t -c user.email=t@example.org commit -q -m all && touch new.o && git add -f "
     "new.o");
  base_ = *workspaces_->snapshot_git(source_, "HEAD");
  EXPECT_EQ(paths_of(without_ignored(layer("echo 2 > new.o; echo 2 > text")).layer_id),
            std::vector<std::string>{"text"})
      << "the run did not start with it";
}

// Otherwise an agent could decide which of its files are judged.
TEST_F(IgnoredTest, IsWhatTheSourceSaysNotTheAgent) {
  commit("echo '*.o' > .gitignore");
  const auto id =
      layer("printf 'text\\n*.c\\n' > .gitignore && echo 2 > text && echo 1 > a.c && echo 1 > a.o");
  EXPECT_EQ(paths_of(without_ignored(id).layer_id), (std::vector<std::string>{".gitignore", "a.c", "text"}));
}

TEST_F(IgnoredTest, IsSaidAboveASourceThatIsAFolderOfARepository) {
  sh("cd " + source_ +
     " && mkdir -p pkg/a && echo 1 > pkg/a/f && echo '*.o' > .gitignore && "
     "printf 'a/gen/\\n' > pkg/.gitignore && echo local > pkg/a/.gitignore && git add -A && git commit -q -m "
     "pkg");
  base_ = *workspaces_->snapshot_git(source_ + "/pkg/a", "HEAD");
  const auto id = layer("mkdir gen && touch a.o gen/x local && echo 2 > f");
  EXPECT_EQ(paths_of(without_ignored(id, source_ + "/pkg/a").layer_id), std::vector<std::string>{"f"});
}

// A folder may contain ignored files: their changes and deletion are not work.
TEST_F(IgnoredTest, IsWhatAFolderHasAlready) {
  sh("cd " + source_ +
     " && mkdir mods && echo 1 > mods/m && printf 'mods/\\n' > .gitignore && git add -A && "
     "git commit -q -m mods");
  base_ = *workspaces_->snapshot_directory(source_);
  EXPECT_EQ(without_ignored(layer("echo 2 > mods/m && echo 1 > mods/n")).layer_id, "");
  EXPECT_EQ(without_ignored(layer("rm -r mods")).layer_id, "");
  EXPECT_EQ(paths_of(without_ignored(layer("rm -r mods && echo 1 > mods")).layer_id),
            std::vector<std::string>{"mods"})
      << "a file is not what mods/ names";
}

// The rules of the repository around such a source do not apply to it.
TEST_F(IgnoredTest, IsNotASourceThatItsCommitDoesNotHave) {
  sh("cd " + source_ +
     " && mkdir inner && echo 1 > inner/f && echo '*.o' > inner/.gitignore && echo '*' > .gitignore && "
     "git add -f .gitignore && git commit -q -m all");
  base_ = *workspaces_->snapshot_directory(source_ + "/inner");
  const auto id = layer("echo 2 > f && echo 1 > n && echo 1 > n.o");
  EXPECT_EQ(paths_of(without_ignored(id, source_ + "/inner").layer_id), (std::vector<std::string>{"f", "n"}));
}

TEST_F(IgnoredTest, IsNotDeletedByAFolderInItsPlace) {
  sh("cd " + source_ +
     " && echo '*.log' > .gitignore && git add -A && git commit -q -m log && echo mine > a.log");
  base_ = *workspaces_->snapshot_directory(source_);
  EXPECT_EQ(without_ignored(layer("rm a.log && mkdir a.log && echo 1 > a.log/x")).layer_id, "");
}

// A renamed folder takes its own rules with it, as with git.
TEST_F(IgnoredTest, IsWhatARenamedFoldersOwnRulesSay) {
  commit(
      "mkdir -p pkg/deep/er other && printf '/build/\n*.o\n' > pkg/.gitignore && echo '*.tmp' > "
      "pkg/deep/.gitignore && "
      "echo 1 > pkg/a && echo 1 > pkg/b && echo 1 > pkg/deep/er/c && echo 1 > pkg/forced.o && echo 1 > "
      "other/x && git add -f pkg");
  const std::string builds = " && mkdir lib/build && touch lib/build/x lib/y.o lib/deep/z.tmp lib/deep/new";
  const auto moved = layer("mv pkg lib && echo 2 > lib/a && echo 2 > lib/forced.o" + builds);
  const auto work = without_ignored(moved);
  const std::vector<std::string> kept = {
      "lib",         "lib/.gitignore", "lib/a",        "lib/b",        "lib/deep", "lib/deep/.gitignore",
      "lib/deep/er", "lib/deep/er/c",  "lib/deep/new", "lib/forced.o", "pkg"};
  EXPECT_EQ(paths_of(work.layer_id), kept);
  EXPECT_EQ(work.ignored_entries, 4);
  // Also in a later phase, even when it changes the rules.
  const auto later =
      layer("mkdir lib/build && touch lib/build/x lib/y.o lib/new && echo > lib/.gitignore", {work.layer_id});
  auto second = workspaces_->without_ignored(later, {.path = source_, .base = base_}, {work.layer_id});
  ASSERT_TRUE(second);
  EXPECT_EQ(paths_of(second->layer_id), (std::vector<std::string>{"lib/.gitignore", "lib/new"}));
  // The folder moves into another folder, with most of its files.
  EXPECT_EQ(paths_of(without_ignored(layer("mkdir in && mv pkg in/lib && rm in/lib/b && "
                                           "touch in/lib/n.o in/lib/n"))
                         .layer_id),
            (std::vector<std::string>{"in", "in/lib", "in/lib/.gitignore", "in/lib/a", "in/lib/deep",
                                      "in/lib/deep/.gitignore", "in/lib/deep/er", "in/lib/deep/er/c",
                                      "in/lib/forced.o", "in/lib/n", "pkg"}));
}

// An agent must not move the base's rules to other places.
TEST_F(IgnoredTest, IsNothingMoreByRulesThatAnAgentCopiesOrMoves) {
  commit(
      "mkdir scratch keep && printf '*\n' > scratch/.gitignore && echo 1 > scratch/a && echo 1 > scratch/b "
      "&& echo 1 > scratch/c && "
      "printf '*.log\n' > .gitignore && printf '!*.log\n' > keep/.gitignore && echo 1 > keep/k && git add -f "
      "scratch");
  const auto kept = [&](const std::string& script) {
    const auto work = without_ignored(layer(script));
    return work.layer_id.empty() ? std::vector<std::string>() : paths_of(work.layer_id);
  };
  using Paths = std::vector<std::string>;
  EXPECT_EQ(kept("mkdir new && cp scratch/.gitignore new && touch new/evil"),
            (Paths{"new", "new/.gitignore", "new/evil"}))
      << "a copy beside the folder";
  EXPECT_EQ(kept("cp -r scratch new && touch new/evil"),
            (Paths{"new", "new/.gitignore", "new/a", "new/b", "new/c", "new/evil"}))
      << "a copy of the folder";
  EXPECT_EQ(kept("mkdir new && mv scratch/.gitignore new && touch new/evil"),
            (Paths{"new", "new/.gitignore", "new/evil", "scratch/.gitignore"}))
      << "the rules alone";
  EXPECT_EQ(kept("mkdir new && mv scratch/.gitignore new && rm -r scratch && touch new/evil"),
            (Paths{"new", "new/.gitignore", "new/evil", "scratch"}))
      << "rules of a folder that is gone";
  EXPECT_EQ(kept("mv scratch/.gitignore scratch/a dir && rm -r scratch && touch dir/evil"),
            (Paths{"dir/.gitignore", "dir/a", "dir/evil", "scratch"}))
      << "into a folder that the base has";
  EXPECT_EQ(kept("mv scratch new && echo '*.c' > new/.gitignore && touch new/evil.c"),
            (Paths{"new", "new/.gitignore", "new/a", "new/b", "new/c", "scratch"}))
      << "its rules are the base's";
  EXPECT_EQ(kept("mkdir new && cp keep/.gitignore new && touch new/x.log new/y"),
            (Paths{"new", "new/.gitignore", "new/y"}))
      << "a negation";
  EXPECT_EQ(kept("mkdir x.log && mv keep x.log/keep && touch x.log/keep/y"),
            (Paths{"keep", "x.log", "x.log/keep", "x.log/keep/.gitignore", "x.log/keep/k"}))
      << "in a folder that is ignored";
}

// A path that can't be stored matters only when it would have been work.
TEST_F(IgnoredTest, IsNoMatterWhenItCanNotBeKept) {
  commit("printf 'mods/\\n*.sock\\n' > .gitignore && mkdir -p lib && echo 'tmp' > lib/.gitignore");
  const auto work = [&](const std::vector<std::string>& named, std::int64_t more = 0) {
    const auto total = static_cast<std::int64_t>(named.size()) + more;
    const auto found = workspaces_->refused_work(named, total, {.path = source_, .base = base_}, {});
    EXPECT_TRUE(found) << found.error().message;
    auto out = found->paths;
    if (found->may_be_more) out.push_back("?");
    return out;
  };
  using Paths = std::vector<std::string>;
  EXPECT_EQ(work({"mods/a/.git", "a.sock", "lib/tmp", "lib/tmp/x", "dir/mods/fifo"}), Paths{});
  EXPECT_EQ(work({"mods/a/.git", "src/.git", "mods", "lib/b"}), (Paths{"src/.git", "mods", "lib/b"}));
  EXPECT_EQ(work({"mods/a/.git", "mods/b/.git"}, 50), Paths{}) << "all of it lies there";
  EXPECT_EQ(work({"mods/a/.git", "lib/tmp/x"}, 50), Paths{"?"}) << "lib has other things, too";
  Paths many;
  for (std::size_t i = 0; i < kRefusedNamedMax; ++i) many.push_back(std::to_string(i) + ".sock");
  EXPECT_EQ(work(many, 1), Paths{"?"}) << "no room for the name of another";
}

TEST_F(IgnoredTest, IsKnownOfAFileBeforeItIsThere) {
  commit(
      "printf '.venv/\\n*.o\\n/out/\\n!out/kept\\n' > .gitignore && mkdir -p dir/node_modules/a && echo 1 > "
      "dir/node_modules/a/f");
  const auto leaves_out = [&](const std::string& path, const std::vector<std::string>& below = {}) {
    const auto found = workspaces_->leaves_out(path, {.path = source_, .base = base_}, below);
    EXPECT_TRUE(found) << found.error().message;
    return *found;
  };
  for (const char* path :
       {".venv/bin/pytest", "a/.venv/bin/x", "out/run", "a.o", "node_modules/.bin/jest",
        "web/node_modules/.bin/jest", "a/__pycache__/x", ".tox/py/bin/pytest", "node_modules"})
    EXPECT_TRUE(leaves_out(path)) << path;
  for (const char* path : {"run", "bin/tool", "dir/out/run", "dir/node_modules/b", "a.oo", "venv"})
    EXPECT_FALSE(leaves_out(path)) << path;
  EXPECT_FALSE(
      leaves_out("node_modules/.bin/jest", {layer("mkdir -p node_modules/a && echo 1 > node_modules/a/f")}))
      << "what was accepted has the folder";
}

// The repository is missing, as on another machine.
TEST_F(IgnoredTest, IsNothingThatTheBaseHasWhenTheRepositoryIsGone) {
  commit("printf '*.o\\n' > .gitignore && echo 1 > kept.o && git add -f kept.o");
  const auto id = layer("echo 2 > kept.o && echo 1 > new.o");
  EXPECT_EQ(paths_of(without_ignored(id, temp_ / "nowhere").layer_id), std::vector<std::string>{"kept.o"});
}

TEST_F(IgnoredTest, IsKnownOfAFolderThatIsInNoRepository) {
  const std::string plain = temp_ / "plain";
  sh("mkdir -p " + plain + "/mods && cd " + plain +
     " && echo 1 > mods/m && echo 1 > f && printf 'mods\\n' > .gitignore");
  base_ = *workspaces_->snapshot_directory(plain);
  EXPECT_EQ(paths_of(without_ignored(layer("echo 2 > mods/m && echo 2 > f"), plain).layer_id),
            std::vector<std::string>{"f"});
}

// A line of `git ls-files -s`, or many.
std::string path_in(const std::string& line) { return line.substr(line.find('\t') + 1); }
std::string content_in(const std::string& line) { return line.substr(7, 40); }
std::string name_in(const std::string& line) { return line.substr(line.find_last_of("\t/") + 1); }
std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  for (const auto line : std::views::split(text, '\n'))
    if (!line.empty()) out.emplace_back(line.begin(), line.end());
  return out;
}

bool has(const std::vector<std::string>& lines, const std::string& wanted, auto part_of) {
  return std::ranges::find(lines, wanted, part_of) != lines.end();
}

// Expects that `ours` is what `git add` leaves (`expected`) and what moved: the content of files that git had
// `before`, at other paths in the tree `left`.
void expect_moved_besides(const std::string& ours, const std::string& expected, const std::string& before,
                          const std::string& left) {
  const auto all = lines_of(ours), git = lines_of(expected);
  std::vector<std::string> gone;
  for (const auto& line : lines_of(before))
    if (!has(all, path_in(line), path_in)) gone.push_back(line);
  for (const auto& line : git) EXPECT_TRUE(has(all, line, std::identity())) << line;
  for (const auto& line : all)
    EXPECT_TRUE(has(git, line, std::identity()) || has(gone, content_in(line), content_in)) << line;
  const auto in_tree = lines_of(left);
  for (const auto& line : gone) {
    const bool moved = std::ranges::any_of(in_tree, [&](const auto& one) {
      return content_in(one) == content_in(line) && name_in(one) == name_in(line);
    });
    constexpr std::string_view kEmpty = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";
    EXPECT_TRUE(!moved || content_in(line) == kEmpty || has(all, content_in(line), content_in))
        << line << " is lost";
  }
}

// Random rules, some of them against committed files, and random work.
TEST_F(IgnoredTest, IsWhatGitLeavesOut) {
  const std::vector<std::string> rules = {"b",      "/a",    "a/", "t*",  "!top", "a/**/c", "d/*", "!d/one",
                                          "**/two", "/c/b/", "*",  "!*/", "# a",  "fo?r",   "[bc]"};
  int with_ignored = 0;
  for (unsigned seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    const auto some_rules = [&] {
      std::string out;
      for (auto left = random() % 3 + 1; left > 0; --left) out += rules[random() % rules.size()] + "\\n";
      return "printf '" + out + "' > ";
    };
    sh("cd " + source_ + " && git rm -rqf --ignore-unmatch . && git clean -qdfx");
    testing::RandomWork before(source_, seed);
    for (int i = 0; i < 4; ++i) before.work();
    sh("cd " + source_ + " && " + some_rules() +
       ".gitignore; for d in a b a/b c; do [ ! -d $d ] || [ -L $d ] || " + some_rules() +
       "$d/.gitignore; done; git add -A; git add -f a d/one 2>/dev/null; git commit -q --allow-empty -m " +
       std::to_string(seed));
    base_ = *workspaces_->snapshot_git(source_, "HEAD");
    const std::string tree = tree_of({});
    testing::RandomWork work(tree, seed + 1000);
    for (int i = 0; i < 3; ++i) work.work();
    // git decides, with the rules of the source.
    const std::string git = "git -C " + source_ + " --work-tree=" + tree + " ";
    sh("cd " + tree + " && git -C " + source_ + " ls-files -z '*.gitignore' | tar -C " + source_ +
       " --null -T - -cf - | tar -xf - --skip-old-files 2>" + (temp_ / "not-restored") + " || true");
    sh("rm -rf " + (temp_ / "index"));
    const std::string index = "GIT_INDEX_FILE=" + (temp_ / "index") + " ";
    const std::string tracked = sh(index + git + "read-tree HEAD && " + index + git + "ls-files -s");
    sh(index + git + "add -A");
    const std::string expected = sh(index + git + "ls-files -s");
    sh(index + git + "read-tree --empty && " + index + git + "add -A -f");
    const std::string left = sh(index + git + "ls-files -s");
    const auto collected = workspaces_->collect(tree, lower_of({}), true);
    ASSERT_TRUE(collected);
    std::vector<std::string> layers;
    if (!collected->layer_id.empty()) {
      const auto kept = without_ignored(collected->layer_id);
      with_ignored += kept.ignored_entries > 0 ? 1 : 0;
      if (!kept.layer_id.empty()) layers.push_back(kept.layer_id);
    }
    const std::string ours = "git -C " + source_ + " --work-tree=" + tree_of(layers) + " ";
    sh(index + ours + "read-tree --empty && " + index + ours + "add -A -f");
    expect_moved_besides(sh(index + ours + "ls-files -s"), expected, tracked, left);
    ASSERT_FALSE(HasFailure());
  }
  EXPECT_GE(with_ignored, 5);
}

// Each rule alone and in sequences, with rare forms: escapes, classes, spaces, CRLF, a byte order mark.
TEST(IgnoreRulesTest, AgreeWithGit) {
  const std::vector<std::string> lines = {"b",
                                          "/a",
                                          "a/",
                                          "t*",
                                          "!top",
                                          "a/**/c",
                                          "d/*",
                                          "!d/one",
                                          "**/two",
                                          "/c/b/",
                                          "*",
                                          "!*/",
                                          "# a",
                                          "f?ur",
                                          "[bc]",
                                          "[!bc]",
                                          "[a-c]",
                                          "[[:alpha:]]",
                                          "\\#x",
                                          "\\!y",
                                          "one ",
                                          "one\\ ",
                                          "two\r",
                                          "**",
                                          "**/",
                                          "a/**",
                                          "**/a/**",
                                          "a/**/**",
                                          "a**c",
                                          "b/a/c",
                                          "!a",
                                          "!b/a",
                                          "/",
                                          "!",
                                          "//a",
                                          "a//",
                                          "./a",
                                          "o\\ne",
                                          "*/b",
                                          "/*",
                                          "!/top/",
                                          "*.*",
                                          "a/*/c",
                                          "**/b/c",
                                          "four/**/",
                                          " b",
                                          "\xEF\xBB\xBF"
                                          "b",
                                          "[^a]*"};
  const TempFolder temp;
  const std::string tree = temp / "tree";
  sh("git init -q " + tree + " && cd " + tree +
     " && mkdir -p a/b/c a/c b/a/c b/c c/b top/top d/one two/four four/a/b && touch a/b/one a/b/c/two "
     "b/a/c/one b/c/d c/b/x top/top/four d/one/b d/two two/four/c four/a/b/one one 'one ' '#x' '!y' ' b' x.y "
     "axc a/axc");
  for (unsigned seed = 1; seed <= 120; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    IgnoreRules rules;
    sh("cd " + tree + " && find . -name .gitignore -delete");
    for (const std::string folder : {"", "a", "b/a", "four"}) {
      if (!folder.empty() && random() % 2 == 0) continue;
      std::string text;
      for (auto left = random() % 4 + 1; left > 0; --left) text += lines[random() % lines.size()] + "\n";
      if (seed <= lines.size() && folder.empty()) text = lines[seed - 1] + (seed % 2 == 0 ? "\n" : "");
      ASSERT_TRUE(os::write_atomically(tree + "/" + folder + "/.gitignore", text));
      rules.add(folder, text);
    }
    std::string asked, ours;
    for (const auto& entry : fs::recursive_directory_iterator(tree)) {
      const std::string path = fs::relative(entry.path(), tree);
      if (path.starts_with(".git/") || path == ".git") continue;
      asked += path + "\n";
    }
    ASSERT_TRUE(os::write_atomically(temp / "asked", asked));
    for (const auto line : std::views::split(asked, '\n')) {
      const std::string path(line.begin(), line.end());
      if (!path.empty() && rules.names(path, fs::is_directory(tree + "/" + path))) ours += path + "\n";
    }
    EXPECT_EQ(ours, sh("cd " + tree + " && git check-ignore --no-index --stdin < " + (temp / "asked") +
                       " || true"));
  }
}

}  // namespace
}  // namespace pawl::workspace
