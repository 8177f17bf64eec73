// The root of the paths of a patch for `git apply`, and the ids in a binary patch; git is the reference.
#include <cstdlib>

#include "workspace/repository.h"

namespace pawl::workspace {
namespace {

class WorkTreeTest : public ::testing::Test {
 protected:
  std::string line(const std::string& command) {
    auto out = sh("export GIT_CONFIG_GLOBAL=/dev/null; cd " + temp_.path() + " && { " + command + "; }");
    while (out.ends_with('\n')) out.pop_back();
    return out;
  }
  std::string folder_of(const std::string& path) { return Workspaces::patch_target(temp_ / path).folder; }

  TempFolder temp_;
};

TEST_F(WorkTreeTest, IsTheOneThatGitFinds) {
  line(
      "git init -q plain && mkdir -p plain/pkg/a 'plain/some pkg/ünï' plain/empty/.git plain/part/.git/refs "
      "plain/no/repo && "
      "echo 'ref: refs/heads/x' >plain/part/.git/HEAD && echo 1 >plain/f && "
      "git -C plain -c user.name=t -c user.email=t@example.org commit -q --allow-empty -m base");
  line(
      "git -C plain worktree add -q ../linked && mkdir -p linked/pkg && git init -q plain/nested && mkdir "
      "plain/nested/in");
  line(
      "git init -q --object-format=sha256 sha256 && mkdir -p sha256/pkg/a && ln -s plain/pkg link && ln -s "
      "sha256/pkg sha");
  line("git init -q --separate-git-dir=separate.git apart && mkdir apart/pkg && mkdir -p outside/pkg");
  line(
      "git init -q --bare bare.git && mkdir bare.git/pkg && git init -q set && git -C set config core.bare "
      "true && mkdir set/pkg");
  line(
      "git -C bare.git config extensions.worktreeConfig true && git -C bare.git config "
      "core.repositoryformatversion 1");
  line(
      "mkdir -p outer/other && git init -q outer/inner && git -C outer/inner config core.worktree ../.. && "
      "mkdir outer/inner/x");
  line(
      "git init -q own && git -C own config extensions.worktreeConfig true && git -C own config "
      "core.repositoryformatversion 1 && "
      "git -C own config --worktree core.bare true && mkdir own/pkg");
  // Configuration for the place of a work tree does not follow includes.
  line(
      "git init -q inc && printf '[include]\\n\\tpath = more\\n' >>inc/.git/config && "
      "printf '[core]\\n\\tworktree = ../..\\n' >inc/.git/more && mkdir inc/pkg");
  for (const std::string path :
       {"inc",          "inc/pkg",       "plain",         "plain/pkg/a",     "plain/some pkg/ünï",
        "plain/empty",  "plain/part",    "plain/no/repo", "plain/.git",      "plain/.git/refs",
        "linked",       "linked/pkg",    "plain/nested",  "plain/nested/in", "sha256",
        "sha256/pkg/a", "link",          "link/a",        "sha/a",           "apart",
        "apart/pkg",    "separate.git",  "outside",       "outside/pkg",     "bare.git",
        "bare.git/pkg", "set",           "set/pkg",       "outer",           "outer/other",
        "outer/inner",  "outer/inner/x", "own",           "own/pkg"})
    EXPECT_EQ(folder_of(path),
              line("cd '" + path + "' && { git rev-parse --show-prefix 2>/dev/null || true; }"))
        << path;
  EXPECT_EQ(folder_of("not there"), "");
}

// Also formats newer than the installed git: a user may have a git that knows them.
TEST_F(WorkTreeTest, IsFoundWhateverTheRepositoryHas) {
  line("git init -q repo && mkdir -p repo/pkg/a && git -C repo config core.repositoryformatversion 1");
  for (const auto* change :
       {"git config -f repo/.git/config extensions.refStorage reftable",
        "git config -f repo/.git/config extensions.new true",
        "git config -f repo/.git/config core.repositoryformatversion 9", "echo 'not git' >repo/.git/index",
        "rm -rf repo/.git/objects/* && echo no >repo/.git/packed-refs", "echo '[broken' >>repo/.git/config",
        "rm repo/.git/config"}) {
    line(change);
    EXPECT_EQ(folder_of("repo/pkg/a"), "pkg/a/") << change;
  }
}

TEST_F(WorkTreeTest, OfSha256TakesThePatch) {
  for (const std::string prefix : {"", "pkg/a/"}) {
    line("rm -rf repo tree got want pawl && git init -q --object-format=sha256 repo && mkdir -p repo/" +
         prefix + " && echo beside >repo/beside");
    const std::string source = temp_ / ("repo/" + prefix);
    line("cd " + source +
         " && seq 9 >text && seq 40 >moved && echo run >tool && for f in binary doomed turned; do head -c "
         "3000 /dev/urandom >$f; done && "
         "touch empty && ln -s text link && cd " +
         temp_ / "repo" +
         " && git add -A && git -c user.name=t -c user.email=t@example.org commit -q -m base");
    const std::string script =
        "echo 10 >>text && mv moved to && echo 41 >>to && chmod +x tool binary && rm doomed link && ln -s "
        "binary link && "
        "head -c 2000 /dev/urandom >fresh && echo x >>binary && cat binary >>empty && rm turned && ln -s "
        "text turned";
    auto workspaces = *Workspaces::open(temp_ / "pawl");
    const auto base = *workspaces.snapshot_directory(source);
    line("cp -a " + workspaces.base_tree(base.base_id) + " tree && cp -a repo want && cd tree && " + script);
    line("cp -aT tree want/" + prefix + " && cd want/" + prefix + " && rm doomed moved && cd " +
         temp_ / "want" + " && git add -A");
    const auto wanted = line("cd want && git write-tree");
    const auto layer = workspaces.collect(temp_ / "tree", workspaces.trees_of(base.base_id, {}), true);
    ASSERT_TRUE(layer) << layer.error().message;
    const auto patch = workspaces.diff(base.base_id, {}, {layer->layer_id}, Workspaces::patch_target(source));
    ASSERT_TRUE(patch) << patch.error().message;
    ASSERT_TRUE(os::write_atomically(temp_ / "patch", patch->text));
    for (const std::string& at : {std::string("got/"), "got/" + prefix})
      for (const auto* how : {"--index", "--3way", ""}) {
        line("rm -rf got && cp -a repo got && git -C got status --short && cd " + at + " && git apply " +
             how + " " + (temp_ / "patch") + " && git add -A");
        EXPECT_EQ(line("cd got && git write-tree"), wanted) << "in " << at << " " << how;
      }
  }
}

// Repositories of which only attributes and configuration can be read, and one without a commit.
TEST_F(WorkTreeTest, AFilterThatOnlyACommandUndoesIsFoundWithoutLibgit2) {
  setenv("GIT_CONFIG_GLOBAL", (temp_ / "gitconfig").c_str(), 1);
  for (const std::string make : {"git init -q --object-format=sha256 repo",
                                 "git init -q repo && git -C repo config core.repositoryformatversion 1 "
                                 "&& git config -f repo/.git/config extensions.refStorage reftable",
                                 "git init -q repo && git -C repo config core.repositoryformatversion 1 && "
                                 "git config -f repo/.git/config "
                                 "extensions.new true",
                                 "git init -q repo"}) {
    line(
        "rm -rf repo && : >gitconfig && " + make +
        " && mkdir -p repo/pkg/a/deep repo/pkg/a/nested && cd repo/pkg/a && echo x >deep/a.txt && echo y >b");
    const std::string source = temp_ / "repo/pkg/a", config = "git config -f " + (temp_ / "repo/.git/config");
    const std::string command = config + " filter.shout.clean 'tr a-z A-Z' && ";
    for (const std::string place : {".git/info/attributes", ".gitattributes", "pkg/.gitattributes",
                                    "pkg/a/.gitattributes", "pkg/a/deep/.gitattributes"})
      for (const std::string rule : {"*.txt working-tree-encoding=UTF-16", "*.txt filter=shout"}) {
        SCOPED_TRACE(make + ": " + rule + " in " + place);
        EXPECT_TRUE(Workspaces::check_source(source));
        line("mkdir -p repo/.git/info && echo '" + rule + "' >repo/" + place);
        const bool is_filter = rule.find("shout") != std::string::npos;
        if (is_filter) {
          EXPECT_TRUE(Workspaces::check_source(source)) << "git knows no command of it";
          line(command + "true");
        }
        const auto refused = Workspaces::check_source(source);
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().kind, ErrorKind::kInvalid);
        EXPECT_NE(refused.error().message.find("deep/a.txt has " + rule.substr(6)), std::string::npos)
            << refused.error().message;
        EXPECT_EQ(refused.error().message.find("source.ref"), std::string::npos) << "it can't be read";
        EXPECT_TRUE(Workspaces::check_source(source, {"**/*.txt"}));
        line("rm repo/" + place + (is_filter ? " && " + config + " --unset filter.shout.clean" : ""));
      }
    // The rules and the command can lie outside of the repository.
    line("echo '*.txt filter=shout' >rules && printf '[core]\\n\\tattributesFile = " + (temp_ / "rules") +
         "\\n[includeIf \"gitdir:**/repo/.git\"]\\n\\tpath = shout\\n' >gitconfig && printf '[filter "
         "\"shout\"]\\n\\tclean = cat\\n' >shout");
    EXPECT_FALSE(Workspaces::check_source(source));
    line(": >gitconfig");
    // The rules of another repository are about its own files. What Pawl itself undoes is not a reason.
    line(
        "git init -q repo/pkg/a/nested && echo x >repo/pkg/a/nested/x.txt && echo '*.txt "
        "working-tree-encoding=UTF-16' >repo/pkg/a/nested/.gitattributes && " +
        config + " filter.lfs.clean cat && echo '* ident filter=lfs' >repo/.gitattributes");
    EXPECT_TRUE(Workspaces::check_source(source));
  }
  unsetenv("GIT_CONFIG_GLOBAL");
}

// `git apply` compares the patch with the form that git commits.
TEST_F(WorkTreeTest, OfSha256TakesThePatchOfFilteredFiles) {
  sh("printf '%s\\n' '#!/bin/sh' 'f=$(mktemp)' 'cat >$f' 'printf \"version "
     "https://git-lfs.github.com/spec/v1\\noid "
     "sha256:%s\\nsize %s\\n\" $(sha256sum <$f | cut -c1-64) $(stat -c %s $f)' 'rm $f' >" +
     (temp_ / "clean") + " && chmod +x " + (temp_ / "clean"));
  for (const std::string prefix : {"", "pkg/a/"}) {
    SCOPED_TRACE(prefix);
    line("rm -rf repo tree want got pawl && git init -q --object-format=sha256 repo && mkdir -p repo/" +
         prefix + " && cd repo && git config filter.lfs.clean " + (temp_ / "clean") +
         " && printf '*.c ident\\n*.png filter=lfs -text\\n' >.gitattributes && cd ./" + prefix +
         " && printf '$Id$\\n1\\n2\\n' >a.c && head -c 3000 /dev/urandom >a.png && git add -A && git -c "
         "user.name=t -c user.email=t@example.org commit -q -m base && rm a.c && git checkout -q a.c && grep "
         "-q 'Id: ' a.c");
    const std::string source = temp_ / ("repo/" + prefix);
    EXPECT_TRUE(Workspaces::check_source(source));
    auto workspaces = *Workspaces::open(temp_ / "pawl");
    const auto base = *workspaces.snapshot_directory(source);
    const std::string script = "echo 3 >>a.c && cp a.c b.c && echo more >>a.png && echo new >b.png";
    line("cp -a " + workspaces.base_tree(base.base_id) + " tree && cd tree && " + script);
    const auto layer = workspaces.collect(temp_ / "tree", workspaces.trees_of(base.base_id, {}), true);
    ASSERT_TRUE(layer) << layer.error().message;
    auto target = Workspaces::patch_target(source);
    target.filters = {{.source = source, .git_commit = base.git_commit, .keeps_lfs = true}};
    const auto patch = workspaces.diff(base.base_id, {}, {layer->layer_id}, target);
    ASSERT_TRUE(patch) << patch.error().message;
    EXPECT_TRUE(patch->left_out.empty());
    ASSERT_TRUE(os::write_atomically(temp_ / "patch", patch->text));
    const auto wanted =
        line("cp -a repo want && cd want/" + prefix + " && " + script + " && git add -A && git write-tree");
    line("cp -a repo got && git -C got status --short && cd got/" + prefix + " && git apply --index ../" +
         (prefix.empty() ? "" : "../../") + "patch");
    EXPECT_EQ(line("cd got && git write-tree"), wanted);
    const auto hash = line("printf 'new\\n' | sha256sum | cut -c1-64");
    EXPECT_TRUE(os::exists(
        temp_ / ("repo/.git/lfs/objects/" + hash.substr(0, 2) + "/" + hash.substr(2, 2) + "/" + hash)));
  }
}

}  // namespace
}  // namespace pawl::workspace
