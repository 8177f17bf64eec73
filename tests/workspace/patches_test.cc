// Random trees and changes: git makes the accepted tree from the patch, and from the commit. PAWL_SEED and
// PAWL_ROUNDS select other seeds and more rounds. git's processes take most of the time, so a round has several
// trees.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <random>

#include "support/seeds.h"
#include "workspace/own_mounts.h"
#include "workspace/repository.h"

namespace pawl::workspace {
namespace {

namespace fs = std::filesystem;

// Names that git quotes, sorts or splits in special ways, and some that no layer may have.
const std::vector<std::string> kNames = {
    "a",         "b",
    "t",         "t-1",
    "t.b",       "t0",
    "two words", " first",
    "last ",     "-dash",
    "q\"d",      "back\\",
    "'s",        "x b",
    "*",         "[c]",
    "{d,e}",     "ünï",
    "日本",      "null",
    "~",         "#",
    "a => b",    "--",
    "@@ -1",     "b\tab",
    "new\nline", "caf\xe9",
    "\x7f",      "HEAD",
    "A",         "$(x)",
    "c:d",       "e;f",
    "%41",       "rename to b",
    ".hidden",   "...",
    "é",         "zz",
    "b/b",       "b b/b",
    "t/t/t/t",   "a/b/c",
    "x b/x b",   "deep/er/and/deeper/still",
};
bool may_be_refused(const std::string& name) {
  return std::ranges::any_of(name, [](unsigned char c) { return c < 0x20 || c == 0x7F; }) ||
         name.find('\xe9') != std::string::npos;
}

constexpr int kTreesTogether = 8;

class Tree {
 public:
  // Makes the folder `root`. A change of a tree around it may have put something else there.
  Tree(std::string root, std::mt19937& random) : root_(std::move(root)), random_(random) {
    if (!fs::is_directory(fs::symlink_status(root_))) remove(root_);
    fs::create_directories(root_);
  }

  static void remove(const fs::path& at) {
    std::error_code ignored;  // A file may lie on the way.
    fs::remove_all(at, ignored);
  }

  void fill(bool any_name) {
    any_name_ = any_name;
    for (auto left = 5 + below(25); left > 0; --left) make(path());
  }
  void change() {
    any_name_ = true;
    for (auto left = 1 + below(8); left > 0; --left) act();
  }

 private:
  std::size_t below(std::size_t bound) { return random_() % bound; }

  std::string name() {
    for (;;) {
      const auto& name = kNames[below(kNames.size())];
      if (any_name_ || !may_be_refused(name)) return name;
    }
  }
  fs::path path() {
    fs::path out = root_;
    for (auto left = 1 + below(3); left > 0; --left) out /= name();
    return out;
  }
  // Mostly a path that exists.
  fs::path some() {
    std::vector<fs::path> all;
    for (const auto& entry : fs::recursive_directory_iterator(root_)) all.push_back(entry.path());
    return all.empty() || below(8) == 0 ? path() : all[below(all.size())];
  }

  std::string lines(std::size_t count, const std::string& end) {
    static const std::vector<std::string> kLines = {"",
                                                    "same",
                                                    "diff --git a/a b/a",
                                                    "-- ",
                                                    "--- a/a",
                                                    "+++ b/b",
                                                    "@@ -1 +1 @@",
                                                    "\\ No newline at end of file",
                                                    "tail  ",
                                                    "\ttab",
                                                    "caf\xe9",
                                                    "GIT binary patch",
                                                    std::string(300, 'x'),
                                                    "\x0c",
                                                    "r\rr"};
    std::string out;
    for (; count > 0; --count)
      out += (below(3) == 0 ? kLines[below(kLines.size())] : std::to_string(below(50))) + end;
    return out;
  }
  std::string content() {
    switch (below(9)) {
      case 0:
        return "";
      case 1:
        return lines(1 + below(5), "\r\n");
      case 2:
        return lines(1 + below(5), "\n") + "no newline";
      case 3:
        return std::string("a\0b", 3) + std::to_string(below(3));
      case 4:
        return lines(3000, "\n") + std::string(1, '\0');
      case 5: {
        std::string noise(below(200'000), '\0');
        for (auto& byte : noise) byte = static_cast<char>(random_());
        return noise;
      }
      case 6:
        return "\n";
      default:
        return lines(1 + below(60), "\n");
    }
  }
  // The text with some bytes or lines changed.
  std::string edited(std::string text) {
    const std::size_t at = text.empty() ? 0 : below(text.size());
    switch (below(4)) {
      case 0:
        return text.insert(at, lines(1, "\n"));
      case 1:
        return text.erase(at, below(40));
      case 2:
        return text + lines(1, "");
      default:
        return text.replace(at, std::min<std::size_t>(text.size() - at, 3), "XYZ");
    }
  }

  void write(const fs::path& at, const std::string& bytes, bool executable) {
    ASSERT_TRUE(os::write_atomically(at, bytes, executable ? 0755 : 0644));
  }
  // Removes entries that are in the way.
  void make_room(const fs::path& at) {
    fs::path on = root_;
    for (const auto& part : at.parent_path().lexically_relative(root_)) {
      on /= part;
      if (fs::exists(fs::symlink_status(on)) && !fs::is_directory(fs::symlink_status(on))) fs::remove(on);
    }
    remove(at);
    fs::create_directories(at.parent_path());
  }
  void make(const fs::path& at) {
    make_room(at);
    switch (below(6)) {
      case 0:
        return fs::create_symlink(below(2) == 0 ? "a" : "some where/else", at);
      case 1:
        fs::create_directory(at);
        return;
      default:
        write(at, content(), below(4) == 0);
    }
  }

  void act() {
    const auto at = some();
    const auto status = fs::symlink_status(at);
    switch (below(7)) {
      case 0:
        return remove(at);
      case 1:
        if (fs::is_regular_file(status))
          fs::permissions(at, fs::perms(0111),
                          below(2) == 0 ? fs::perm_options::add : fs::perm_options::remove);
        return;
      case 2:
      case 3:
        if (!fs::is_regular_file(status)) return make(at);
        return write(at, edited(*os::read_file(at, 1 << 20)),
                     (status.permissions() & fs::perms::owner_exec) != fs::perms::none);
      case 4: {  // Moved, perhaps edited.
        if (!fs::is_regular_file(status)) return;
        const auto bytes = *os::read_file(at, 1 << 20);
        fs::remove(at);
        const auto to = path();
        make_room(to);
        return write(to, below(2) == 0 ? bytes : edited(bytes), below(4) == 0);
      }
      default:
        return make(below(2) == 0 ? at : path());
    }
  }

  const std::string root_;
  std::mt19937& random_;
  bool any_name_ = false;
};

class RandomPatches : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    testing::enter_namespaces();
    testing::use_memory_if_it_has_attributes();
  }
  void SetUp() override { line("git init -q --bare judge.git"); }

  // The patch of `change` to the files that `make` makes in the repository `repo`.
  Patch patch_of(const std::string& make, const std::string& change, const PatchTarget& target = {}) {
    line(
        "git init -q -b main repo && cd repo && git config user.name t && git config user.email "
        "t@example.org && " +
        make + " && git add -A && git commit -q -m base && cp -a . ../tree && rm -rf ../tree/.git");
    auto workspaces = *Workspaces::open(temp_ / "pawl");
    const auto base = *workspaces.snapshot_git(temp_ / "repo", "HEAD");
    line("cd tree && " + change + " && cp -a . ../upper");
    const auto collected = workspaces.collect(temp_ / "upper", workspaces.trees_of(base.base_id, {}), true);
    EXPECT_TRUE(collected);
    auto patch = workspaces.diff(base.base_id, {}, {collected->layer_id}, target);
    EXPECT_TRUE(patch);
    return *std::move(patch);
  }

  // The id of the tree at `folder`, by git itself.
  std::string tree_of(const std::string& folder) {
    return line("rm -f judge.git/index && git --git-dir=" + (temp_ / "judge.git") + " --work-tree=" + folder +
                " add -A -f . && git --git-dir=" + (temp_ / "judge.git") + " write-tree");
  }
  std::string line(const std::string& command) {
    // git's warnings are not part of the result.
    auto out = sh("export GIT_CONFIG_GLOBAL=/dev/null; cd " + temp_.path() + " && { " + command +
                  "; } 2>errors || { cat errors; exit 1; }");
    while (out.ends_with('\n')) out.pop_back();
    return out;
  }

  // Prints the id of the tree at `prefix` in `revision`; of the empty tree where there is none.
  static std::string tree_below(const std::string& revision, const std::string& prefix) {
    if (prefix.empty()) return "git rev-parse " + revision + "^{tree}";
    return "{ git rev-parse -q --verify '" + revision + ":" + prefix +
           "' || git hash-object -t tree /dev/null; }";
  }

  // The place of the source in the repository, and how a patch is applied there.
  struct Place {
    std::string prefix;
    bool is_index_at_root = true;
  };

  // Applies the patch to the other repository, at its root and in the folder: once with the index, once to
  // files alone. That repository has no object of the work, which git would take in place of a binary patch.
  void expect_patch(const Workspaces& workspaces, const Base& base, const std::vector<std::string>& layers,
                    const Place& place, const std::string& accepted) {
    const auto patch = workspaces.diff(base.base_id, {}, layers, {.folder = place.prefix});
    ASSERT_TRUE(patch) << patch.error().message;
    EXPECT_TRUE(patch->left_out.empty());
    if (patch->text.empty()) {
      EXPECT_EQ(line("cd got && " + tree_below("HEAD", place.prefix)), accepted);
      return;
    }
    ASSERT_TRUE(os::write_atomically(temp_ / "patch", patch->text));
    const std::string apply = " && git apply --whitespace=nowarn " + (temp_ / "patch");
    // Without a file the folder is not there.
    const std::string inside = os::is_folder(temp_ / ("got/" + place.prefix)) ? "got/" + place.prefix : "got";
    const std::string first = place.is_index_at_root ? "got" : inside;
    const std::string second = place.is_index_at_root ? inside : "got";
    const auto tree = line("cd '" + first + "'" + apply +
                           " --index && git diff --quiet && git write-tree && git reset -q --hard");
    EXPECT_EQ(line("cd got && " + tree_below(tree, place.prefix)), accepted) << "in " << first;
    line("cd '" + second + "'" + apply);
    EXPECT_EQ(line("cd got && git add -A -f && git write-tree"), tree) << "in " << second;
  }

  void expect_commit(Workspaces& workspaces, const Commits& commits, const std::string& prefix,
                     const std::string& accepted) {
    const auto foretold = workspaces.commit_id(commits);
    ASSERT_TRUE(foretold) << foretold.error().message;
    const auto made = workspaces.apply("pawl/run", commits);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(*foretold, *made);
    std::string check = "cd repo && git fsck --strict --no-dangling " + *made + " >&2 && ";
    if (!prefix.empty()) check += "git diff --quiet HEAD " + *made + " -- beside && ";
    EXPECT_EQ(line(check + tree_below(*made, prefix)), accepted);
  }

  void round(unsigned seed);

  TempFolder temp_;
};

// Some rounds have one tree, so that a patch can be small or empty.
std::vector<std::string> places_of_trees(const std::string& root, unsigned seed) {
  std::vector<std::string> out{root};
  if (seed % 8 != 0)
    for (int i = 1; i < kTreesTogether; ++i) out.push_back(root + "tree" + std::to_string(i));
  return out;
}

void RandomPatches::round(unsigned seed) {
  std::mt19937 random(seed);
  const std::string prefix = seed % 3 == 0 ? "" : seed % 3 == 1 ? "pkg/" : "some pkg/a/";
  const bool by_ref = seed % 2 == 0;
  line("rm -rf got repo work pawl && git init -q --template= -b main got && mkdir -p 'got/" + prefix +
       "' && echo beside >got/beside");
  for (const auto& at : places_of_trees(temp_ / ("got/" + prefix), seed)) Tree(at, random).fill(false);
  line(
      "cd got && git add -A -f && git -c maintenance.auto=false -c user.name=t -c user.email=t@example.org "
      "commit -q -m base && cp -a . ../repo && git clean -qfdx");
  const std::string source = temp_ / ("repo/" + prefix);
  auto workspaces = *Workspaces::open(temp_ / "pawl");
  const std::string folder = source.substr(0, source.size() - 1);
  const auto taken = by_ref ? workspaces.snapshot_git(folder, "HEAD") : workspaces.snapshot_directory(folder);
  ASSERT_TRUE(taken) << taken.error().message;
  // Two phases, the second on top of the first. Each leaves its tree as a sandbox without overlayfs does.
  line("cp -a " + workspaces.base_tree(taken->base_id) + " work");
  std::vector<std::string> layers;
  std::vector<AppliedPhase> phases;
  for (const auto* phase : {"one", "two"}) {
    for (const auto& at : places_of_trees(temp_ / "work/", seed)) Tree(at, random).change();
    line("cp -a work upper");
    const auto collected =
        workspaces.collect(temp_ / "upper", workspaces.trees_of(taken->base_id, layers), true);
    ASSERT_TRUE(collected) << collected.error().message;
    for (const auto& path : collected->refused) Tree::remove(temp_ / ("work/" + path));
    if (!collected->layer_id.empty()) layers.insert(layers.begin(), collected->layer_id);
    phases.push_back({.phase_id = phase, .goal = "", .layer_id = collected->layer_id});
  }
  const std::string accepted = tree_of(temp_ / "work");
  expect_patch(workspaces, *taken, layers, {.prefix = prefix, .is_index_at_root = seed % 4 < 2}, accepted);
  expect_commit(workspaces,
                {.source = folder,
                 .base = *taken,
                 .phases = phases,
                 .message = [](const auto& phase) { return phase.phase_id; },
                 .of_work_tree = !by_ref},
                prefix, accepted);
}

// A new file of 600 MiB, which a later phase deletes.
TEST_F(RandomPatches, OfALargeFileThePatchHasAllButNewContent) {
  line(
      "git init -q -b main repo && cd repo && git config user.name t && git config user.email t@example.org "
      "&& echo 1 "
      ">f && git add -A && git commit -q -m base && cp -a . ../work && rm -rf ../work/.git");
  auto workspaces = *Workspaces::open(temp_ / "pawl");
  const auto base = *workspaces.snapshot_git(temp_ / "repo", "HEAD");
  std::vector<std::string> layers;
  const auto leave = [&](const std::string& script) {
    line("cd work && " + script + " && cp -a . ../upper");
    const auto before = layers;
    const auto collected =
        workspaces.collect(temp_ / "upper", workspaces.trees_of(base.base_id, layers), true);
    EXPECT_TRUE(collected);
    layers.insert(layers.begin(), collected->layer_id);
    const auto patch = workspaces.diff(base.base_id, before, layers);
    EXPECT_TRUE(patch) << patch.error().message;
    EXPECT_TRUE(os::write_atomically(temp_ / "patch", patch->text));
    return *patch;
  };
  const auto made = leave("truncate -s 600M big && echo 2 >f");
  ASSERT_EQ(made.left_out.size(), 1U);
  EXPECT_EQ(made.left_out.front().path, "big");
  line("cd repo && git apply --index ../patch && test $(cat f) = 2");
  const auto commit =
      workspaces.apply("pawl/run", {.source = temp_ / "repo",
                                    .base = base,
                                    .phases = {{.phase_id = "p", .goal = "", .layer_id = layers.front()}},
                                    .message = [](const auto&) { return "m"; }});
  ASSERT_TRUE(commit) << commit.error().message;
  EXPECT_EQ(line("cd repo && git rev-parse pawl/run:big"), line("git hash-object work/big"));
  line("cd repo && git reset -q --hard pawl/run");
  EXPECT_TRUE(leave("rm big && echo 3 >f").left_out.empty());
  line("cd repo && git apply --index ../patch");
  EXPECT_EQ(line("cd repo && git write-tree"), tree_of(temp_ / "work"));
}

// git converts the line ends of a file of any size. A patch has the rest.
TEST_F(RandomPatches, LargeFilesOfAFolderAreCommittedAsGitAddMakesThem) {
  for (const auto* rule : {"* text=auto", "*.txt text ident"}) {
    SCOPED_TRACE(rule);
    line(std::string("rm -rf repo upper pawl by-git && git init -q -b main repo && cd repo && git config "
                     "core.autocrlf true "
                     "&& echo 1 >f && echo '") +
         rule +
         "' >.gitattributes && git add -A && git -c user.name=t -c "
         "user.email=t@example.org commit -q -m base");
    auto workspaces = *Workspaces::open(temp_ / "pawl");
    const auto base = *workspaces.snapshot_directory(temp_ / "repo");
    const std::string script =
        "truncate -s 513M big.txt && printf 'a\\r\\n$Id: x$\\r\\n' >>big.txt && echo 2 >f";
    line("cp -a " + workspaces.base_tree(base.base_id) + " upper && cd upper && " + script);
    const auto collected = workspaces.collect(temp_ / "upper", workspaces.trees_of(base.base_id, {}), true);
    ASSERT_TRUE(collected) << collected.error().message;
    const auto patch = workspaces.diff(
        base.base_id, {}, {collected->layer_id},
        {.folder = "", .filters = {{.source = temp_ / "repo", .git_commit = base.git_commit}}});
    ASSERT_TRUE(patch) << patch.error().message;
    ASSERT_EQ(patch->left_out.size(), 1U);
    EXPECT_EQ(patch->left_out.front().path, "big.txt");
    EXPECT_NE(patch->text.find("b/f"), std::string::npos);
    const auto made = workspaces.apply(
        "pawl/run", {.source = temp_ / "repo",
                     .base = base,
                     .phases = {{.phase_id = "p", .goal = "", .layer_id = collected->layer_id}},
                     .message = [](const auto&) { return "m"; },
                     .of_work_tree = true});
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(line("cd repo && git rev-parse pawl/run^{tree}"),
              line("cp -a repo by-git && cd by-git && " + script + " && git add -A && git write-tree"));
  }
}

TEST_F(RandomPatches, ManyMovedFilesAreGoneAndNew) {
  const auto patch = patch_of(
      "mkdir a && for i in $(seq 70); do { echo $i; head -c 1000000 /dev/zero; } >a/$i; done", "mv a b");
  EXPECT_TRUE(patch.left_out.empty());
  EXPECT_EQ(patch.text.find("rename from"), std::string::npos);
  ASSERT_TRUE(os::write_atomically(temp_ / "patch", patch.text));
  EXPECT_EQ(line("cd repo && git apply --index ../patch && ls | xargs && ls b | wc -l"), "b\n70");
}

TEST_F(RandomPatches, ABoundedPatchHasWhatFitsAndNamesTheRest) {
  const auto patch =
      patch_of("echo 1 >a && seq 100000 >z",
               "echo 2 >a && head -c 300000 /dev/zero | tr '\\0' x >made && rm z", {.bytes_max = 100'000});
  std::vector<std::string> left_out;
  for (const auto& each : patch.left_out) left_out.push_back(each.path + ": " + each.reason);
  EXPECT_EQ(left_out, (std::vector<std::string>{"made: the patch has 100000 bytes at most",
                                                "z: the patch has 100000 bytes at most"}));
  ASSERT_TRUE(os::write_atomically(temp_ / "patch", "not in this patch: made\n" + patch.text));
  EXPECT_EQ(line("cd repo && git apply --index ../patch && cat a && git diff --cached --name-only"), "2\na");
}

TEST_F(RandomPatches, GitMakesOfThemTheTreeThatWasAccepted) {
  testing::with_seeds(72, [this](unsigned seed) { round(seed); });
}

}  // namespace
}  // namespace pawl::workspace
