// The repository that a step finds, as git itself reads it.
#include <unistd.h>

#include <filesystem>
#include <random>

#include "base/hash.h"
#include "sandbox/backend.h"
#include "workspace/git/pack.h"
#include "workspace/step_repository.h"

namespace pawl::workspace {
namespace {

TEST_F(RepositoryForTest, OneCommitOnTheBranchPawlHasTheTreeOfTheSourcesCommit) {
  sh("cd " + source_ +
     " && mkdir sub && git update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub && "
     "mkdir a a.b && touch a/1 a.b/2 a-b a0 && git add a a.b a-b a0 && git commit -qm submodule");
  base_ = *workspaces_->snapshot_git(source_, "HEAD");
  const std::string tree = workspace();
  EXPECT_EQ(git(tree, "rev-parse 'HEAD^{tree}'"), git(source_, "rev-parse 'HEAD^{tree}'"));
  EXPECT_EQ(git(tree, "branch -a"), "* pawl\n");
  EXPECT_EQ(git(tree, "log --format='%an %ae %at %cn %s'"),
            "Pawl pawl@localhost 946684800 Pawl The workspace at the start of this step\n");
  EXPECT_EQ(git(tree, "remote"), "");
  EXPECT_EQ(git(tree, "count-objects"), "0 objects, 0 kilobytes\n");
  EXPECT_FALSE(std::filesystem::exists(tree + "/.git/hooks"));
  EXPECT_EQ(git(tree, "ls-files -s sub").substr(0, 7), "160000 ");
  EXPECT_EQ(status(tree), "");
  EXPECT_EQ(git(tree, "fsck --strict --no-dangling"), "");
}

TEST_F(RepositoryForTest, TheIndexFitsSoThatStatusReadsNoFile) {
  sh("cd " + source_ + " && find . -exec touch -h -d '2020-02-02 02:02:02.5' {} +");
  take_folder();
  const std::string tree = workspace();
  // The same size and time, other bytes: git would see it only if it read the file.
  sh("cd " + tree +
     " && printf 'eno\\n' > f && dd if=f of=text conv=notrunc status=none && rm f && "
     "touch -d '2020-02-02 02:02:02.5' text");
  EXPECT_EQ(status(tree), "");
  EXPECT_NE(git(tree, "ls-files --debug text").find("mtime: 1580"), std::string::npos);
  sh("touch " + tree + "/text");
  EXPECT_EQ(status(tree), " M text\n");
}

TEST_F(RepositoryForTest, GitWorksInIt) {
  const std::string tree =
      workspace({layer("echo 1 >> text && rm doomed && mkdir new && echo n > new/file")});
  EXPECT_EQ(git(tree, "ls-files"), "binary\ndir/inner\ndir/other\nlink\nnew/file\ntext\ntool\n");
  sh("cd " + tree + " && echo 2 >> text && echo more > more");
  EXPECT_EQ(git(tree, "diff --stat --format="), " text | 1 +\n 1 file changed, 1 insertion(+)\n");
  git(tree,
      "add -A && git commit -qm work && git checkout -q -b side HEAD~1 && git merge -q pawl && git stash "
      "list");
  EXPECT_EQ(git(tree, "log --format=%an:%s"), "agent:work\nPawl:The workspace at the start of this step\n");
  git(tree, "gc -q && git fsck --strict");
  EXPECT_EQ(git(tree, "show HEAD~1:tool"), "run\n");
}

TEST_F(RepositoryForTest, EqualStatesHaveEqualCommitsAndAreMadeOnce) {
  const auto first = made();
  EXPECT_EQ(made().layers, first.layers);
  const auto one = layer("echo 1 >> text"), undo = layer("printf 'one\\ntwo\\nthree\\n' > text", {one});
  EXPECT_EQ(made({one}).commit, made({one}).commit);
  EXPECT_NE(made({one}).commit, first.commit);
  EXPECT_EQ(made({undo, one}).commit, first.commit);
  auto elsewhere = *Workspaces::open(temp_ / "other");
  const auto again = elsewhere.snapshot_git(source_, "HEAD");
  EXPECT_EQ(elsewhere.repository_for({.path = source_, .base = *again}, {})->commit, first.commit);
}

TEST_F(RepositoryForTest, AStateHasTheObjectsThatItsBaseLacks) {
  const auto base = made();
  const auto state = made({layer("echo 1 >> text")});
  ASSERT_EQ(state.layers.size(), base.layers.size() + 1);
  const std::string packs = workspaces_->layer_tree(state.layers.front()) + "/.git/objects/pack/*.idx";
  EXPECT_EQ(sh("cat " + packs + " | git show-index | wc -l"), "3\n") << "a blob, a tree and a commit";
  sh("cd " + source_ +
     " && for i in $(seq 40); do echo $i > dir/$i; done && git add -A && git commit -qm many");
  base_ = *workspaces_->snapshot_git(source_, "HEAD");
  made();
  sh("cd " + source_ + " && git rm -q dir/1 && echo y > dir/2 && git commit -qam next");
  base_ = *workspaces_->snapshot_git(source_, "HEAD");
  const std::string derived = workspace();
  EXPECT_EQ(git(derived, "log --format=%H --all | wc -l"), "1\n");
  EXPECT_EQ(git(derived, "fsck"), "") << "nothing of the base that it is derived from";
  EXPECT_EQ(git(derived, "ls-files dir | wc -l"), "41\n");
  expect_clean(workspace(), "derived");
}

TEST_F(RepositoryForTest, IgnoredFilesOfAFolderAreNotTrackedUnlessTheyAreCommitted) {
  sh("cd " + source_ +
     " && printf 'build/\\n*.log\\n' > .gitignore && mkdir build && touch build/x a.log b.log c.log && "
     "git add -f a.log .gitignore && git commit -qm ignore && git add -f c.log && echo u > untracked");
  take_folder();
  const std::string tree = workspace();
  EXPECT_EQ(status(tree), "");
  EXPECT_EQ(git(tree, "ls-files '*.log' build untracked"), "a.log\nc.log\nuntracked\n");
  EXPECT_EQ(git(tree, "status --porcelain --ignored"), "!! b.log\n!! build/\n");
  EXPECT_EQ(status(workspace({layer("echo 1 > a.log; rm untracked")})), "");
}

TEST_F(RepositoryForTest, AFolderWithoutARepositoryHasOneToo) {
  sh("rm -rf " + source_ + "/.git && printf 'secret\\n' > " + source_ + "/.gitignore && touch " + source_ +
     "/secret");
  take_folder();
  const std::string tree = workspace();
  EXPECT_EQ(git(tree, "ls-files -- secret tool text"), "text\ntool\n");
  expect_clean(tree, "a folder");
}

TEST_F(RepositoryForTest, AFileHasTheFormThatGitCommits) {
  sh("cd " + source_ +
     " && printf '*.bat text eol=crlf\\n*.txt text=auto\\n*.id ident\\n*.lfs filter=lfs\\n*.raw -text\\n' > "
     ".gitattributes && "
     "printf 'a\\r\\nb\\r\\n' | tee a.bat a.txt a.raw > a.none && printf 'a\\r\\n\\0' > b.txt && "
     "printf '$Id: 0123 $\\n' | tee a.id > b.none && echo content > a.lfs && head -c 17000000 /dev/zero > "
     "large && "
     "(head -c 17000000 /dev/zero | tr '\\0' 'x'; printf '\\r\\n') > large.bat");
  take_folder();
  const std::string tree = workspace();
  EXPECT_EQ(git(tree, "cat-file -p HEAD:a.bat"), "a\nb\n");
  EXPECT_EQ(git(tree, "cat-file -p HEAD:a.none"), "a\r\nb\r\n");
  EXPECT_EQ(git(tree, "cat-file -p HEAD:a.id"), "$Id$\n");
  EXPECT_EQ(git(tree, "cat-file -p HEAD:a.lfs"), "content\n");
  expect_clean(tree, "attributes");
}

TEST_F(RepositoryForTest, ChangedContentIsRefused) {
  const std::string text = workspaces_->base_tree(base_.base_id) + "/text";
  sh("printf 'eno\\ntwo\\nthree\\n' > " + text);
  const auto forged = workspaces_->repository_for(source(), {});
  ASSERT_FALSE(forged);
  EXPECT_EQ(forged.error().kind, ErrorKind::kForged);
  sh("printf 'one\\ntwo\\nthree\\n' > " + text);
  const auto repository = made();
  sh("cd " + workspaces_->layer_tree(repository.layers.front()) +
     "/.git && printf '[core]\\n\\tfsmonitor = ./x\\n' >> config");
  const auto checked = workspaces_->check_content("", repository.layers);
  ASSERT_FALSE(checked);
  EXPECT_EQ(checked.error().kind, ErrorKind::kForged);
}

TEST_F(RepositoryForTest, GcKeepsThatOfAKeptBase) {
  const auto work = layer("echo 1 >> text");
  const auto base = made(), state = made({work});
  const auto has = [](const auto& names, const std::string& id) {
    return std::ranges::find(names, "objects/layers/" + id) != names.end();
  };
  const auto kept = *workspaces_->garbage({base_.base_id, work});
  EXPECT_FALSE(has(kept.layers, base.layers.front()));
  EXPECT_TRUE(has(kept.layers, state.layers.front()));
  EXPECT_FALSE(
      has(workspaces_->garbage({base_.base_id, state.layers.front()})->layers, state.layers.front()));
  const auto all = *workspaces_->garbage({});
  EXPECT_TRUE(has(all.layers, base.layers.front()));
  ASSERT_TRUE(workspaces_->detach(kept.layers));
  EXPECT_EQ(made({work}).commit, state.commit) << "made again";
  expect_clean(workspace({work}), "after gc");
}

// The sandbox's half of the promise: what became of .git is gone, and nothing in it was read.
TEST_F(RepositoryForTest, NothingOfItIsCollected) {
  for (const std::string script :
       {"git add -A && git commit -qm work", "rm -rf .git", "rm -rf .git && ln -s /etc .git",
        "rm -rf .git && echo x > .git",
        "rm -rf .git && git init -q && mkdir -p .git/a/b && chmod 0 .git/a/b && mkfifo .git/hooks/fifo",
        "mkfifo .git/f && ln -s / .git/root && printf '[include]\\n\\tpath = /etc/passwd\\n' >> .git/config",
        "chmod 0 .git"}) {
    const std::string tree = workspace();
    sh("cd " + tree + " && echo 2 >> text && mkdir -p .git && cp text report.xml && " + script +
       " && mkdir -p nested/.git && touch nested/.git/x");
    const auto matching = workspaces_->collect_matching(tree, {"**/*.xml", "**/HEAD"}, {.had_git = true});
    ASSERT_TRUE(matching) << script << matching.error().message;
    EXPECT_EQ(paths_of(matching->layer_id), std::vector<std::string>{"report.xml"}) << script;
    const auto collected = workspaces_->collect(tree, lower_of({}), true, {.had_git = true});
    ASSERT_TRUE(collected) << script << collected.error().message;
    EXPECT_EQ(paths_of(collected->layer_id), (std::vector<std::string>{"nested", "report.xml", "text"}))
        << script;
    EXPECT_EQ(collected->refused, std::vector<std::string>{"nested/.git"}) << script;
    EXPECT_FALSE(std::filesystem::exists(workspaces_->layer_tree(collected->layer_id) + "/.git")) << script;
  }
}

// overlayfs shows other inodes and change times than the index could know. git still trusts the index, and the user of
// the sandbox is the owner of the repository.
TEST_F(RepositoryForTest, GitWorksInItInsideASandbox) {
  sh("find " + source_ + " -exec touch -h -d '2020-02-02 02:02:02' {} +");
  take_folder();
  const auto work = layer("echo 1 >> text && mkdir new && echo n > new/file");
  const auto repository = made({work});
  sandbox::Folders folders{
      .upper = temp_ / "work/upper", .work = temp_ / "work/work", .scratch = temp_ / "work/scratch"};
  for (const auto& folder : {folders.upper, folders.work, folders.scratch})
    ASSERT_TRUE(os::make_folders(folder));
  for (const auto& id : repository.layers) folders.lower.push_back(workspaces_->layer_tree(id));
  for (auto& tree : lower_of({work})) folders.lower.push_back(std::move(tree));
  sandbox::SandboxSpec spec;
  spec.cmd = {
      "sh", "-ec",
      "git status --porcelain; git ls-files --debug text | grep -c 'ino: 0'; "
      "echo 2 >> text; git diff --stat | cat; git mv dir moved; git commit -qam work; git log "
      "--format=%an:%s; "
      "git stash list; git checkout -q HEAD~1; git status --porcelain; git gc -q; git fsck --no-dangling"};
  std::string output;
  auto backend = *sandbox::make_backend(sandbox::default_backend());
  const auto done = backend->execute(spec, folders, {.on_output = [&](auto, auto bytes) { output += bytes; }},
                                     "repository-" + std::to_string(getpid()));
  EXPECT_TRUE(succeeded(done.run)) << done.run.reason;
  EXPECT_EQ(output,
            "1\n text | 1 +\n 1 file changed, 1 insertion(+)\nagent:work\nPawl:The workspace at the start of "
            "this step\n");
  const auto left = workspaces_->collect(folders.upper, lower_of({work}),
                                         sandbox::is_whole_tree(done.changes), {.had_git = true});
  ASSERT_TRUE(left) << left.error().message;
  EXPECT_EQ(left->refused_total, 0);
  EXPECT_EQ(left->layer_id, "") << "the state of HEAD~1 again";
}

// Random folders, and random changes on them, with the kinds of names and files that git treats in its own way.
TEST_F(RepositoryForTest, RandomTreesAreClean) {
  std::mt19937 random(20261128);
  const auto below = [&](unsigned most) { return random() % most; };
  const std::vector<std::string> names = {"a",     "a.b",  "a-b",   "a0",   "b",      "B", "c.bat",
                                          "d.txt", "e.id", "'x y'", "'\\'", "\u00e9", "z"};
  const auto path = [&] {
    std::string out = names[below(names.size())];
    for (unsigned depth = below(4); depth > 0; --depth) out += "/" + names[below(names.size())];
    return out;
  };
  const auto change = [&]() -> std::string {
    const std::string at = path();
    const std::string folders =
        "{ p=" + at +
        "; while [ \"$p\" != \"${p%/*}\" ]; do p=\"${p%/*}\"; [ -d \"$p\" -a ! -L \"$p\" ] || rm -rf "
        "\"$p\"; done; rm -rf " +
        at + "; mkdir -p \"$(dirname " + at + ")\"; }; ";
    switch (below(7)) {
      case 0:
        return "rm -rf " + at + "; ";
      case 1:
        return folders + "ln -s " + path() + " " + at + "; ";
      case 2:
        return folders + "printf 'x\\r\\ny\\r\\n$Id: z $\\n' > " + at + "; ";
      case 3:
        return folders + "echo " + std::to_string(random()) + " > " + at + "; chmod 755 " + at + "; ";
      case 4:
        return folders + "mkdir -p " + at + "; ";
      case 5:
        return folders + "head -c " + std::to_string(below(9000)) + " /dev/urandom > " + at + "; ";
      default:
        return folders + "printf '" + std::to_string(random()) + "' > " + at + "; ";
    }
  };
  const auto changes = [&](unsigned count) {
    std::string out;
    for (unsigned i = 0; i < count; ++i) out += change();
    return out + "true";
  };
  for (int round = 0; round < 4; ++round) {
    sh("cd " + source_ + " && " + changes(40) +
       " && printf '*.bat text eol=crlf\\n*.txt text\\n*.id ident\\n' > .gitattributes");
    take_folder();
    std::vector<std::string> layers;
    for (int depth = 0; depth < 3; ++depth) {
      const std::string what = "round " + std::to_string(round) + ", depth " + std::to_string(depth);
      expect_clean(workspace(layers), what);
      if (const auto next = layer(changes(8), layers); !next.empty()) layers.insert(layers.begin(), next);
    }
  }
}

TEST(GitIdTest, HashesAsGitDoes) {
  const auto of_pieces = [](const std::string& text, std::size_t size) {
    Sha1 hash;
    for (std::size_t at = 0; at < text.size(); at += size) hash.add(std::string_view(text).substr(at, size));
    return hex_of(hash.end());
  };
  EXPECT_EQ(of_pieces("", 1), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
  EXPECT_EQ(of_pieces("abc", 1), "a9993e364706816aba3e25717850c26c9cd0d89d");
  const std::string million(1'000'000, 'a');
  for (const std::size_t size : {1U, 55U, 56U, 63U, 64U, 65U, 4096U, 1'000'000U})
    EXPECT_EQ(of_pieces(million, size), "34aa973cd4c4daa4f61eeb2bdbad27316534016f") << size;
  for (std::size_t size = 0; size < 130; ++size)
    EXPECT_EQ(of_pieces(std::string(size, 'x'), 7), of_pieces(std::string(size, 'x'), 200)) << size;
  EXPECT_EQ(hex_of(id_of(ObjectType::kBlob, "")), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
  EXPECT_EQ(hex_of(id_of(ObjectType::kTree, "")), "4b825dc642cb6eb9a060e54bf8d69288fbee4904");
}

}  // namespace
}  // namespace pawl::workspace
