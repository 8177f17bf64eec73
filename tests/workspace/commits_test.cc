// The commit is the accepted tree, on a base that was committed: dirty folders, filters, submodules.
#include "workspace/commits.h"

#include "base/json.h"

namespace pawl::workspace {
namespace {

// Names that no base can have, and other paths that a plan leaves out: the commit has them as the source
// does.
TEST_F(CommitsTest, WhatIsLeftOutStaysAsItIsCommitted) {
  const std::string bad = "dir/bad\x01\xe9 \\name";
  ASSERT_TRUE(os::write_atomically(source_ + "/" + bad, "1"));
  git("mkdir huge && echo 1 > huge/x && git add -A && git commit -q -m bad && echo 2 > huge/x && rm binary");
  for (const bool by_ref : {true, false}) {
    const auto take = [&](const std::vector<std::string>& left_out) {
      return by_ref ? workspaces_->snapshot_git(source_, "HEAD", left_out)
                    : workspaces_->snapshot_directory(source_, {.patterns = left_out});
    };
    const auto refused = take({});
    ASSERT_FALSE(refused);
    const auto& said = refused.error().message;
    EXPECT_NE(said.find("dir/bad\\x01\\xe9 \\\\name"), std::string::npos) << said;
    // The remedy in the message works.
    const auto start = said.find("[\""), end = said.find("\"]");
    ASSERT_NE(end, std::string::npos) << said;
    const auto list = parse_json(said.substr(start, end + 2 - start));
    ASSERT_TRUE(list) << said;
    auto left_out = list->get<std::vector<std::string>>();
    left_out.insert(left_out.end(), {"huge/**", "binary"});
    const auto base = take(left_out);
    ASSERT_TRUE(base) << base.error().message;
    base_ = *base;
    const auto id = layer("rm -r dir && echo 2 > text");
    auto wanted = commits(id, !by_ref);
    wanted.left_out = left_out;
    const auto made = workspaces_->apply(by_ref ? "pawl/ref" : "pawl/folder", wanted);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(git("git diff-tree -r --name-status HEAD " + *made), "D\tdir/inner\nD\tdir/other\nM\ttext");
    EXPECT_EQ(*workspaces_->commit_id(wanted), *made);
    const auto patch = workspaces_->diff(base_.base_id, {}, {id});
    ASSERT_TRUE(os::write_atomically(temp_ / "patch", patch->text));
    EXPECT_EQ(git("rm -rf ../by-git && git worktree prune && git worktree add -q --detach ../by-git HEAD && "
                  "cd ../by-git && git apply --index ../patch && git write-tree"),
              tree_of(*made));
  }
}

TEST_F(CommitsTest, WhatWasNotCommittedIsNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {"echo new > helper.sh", "helper.sh (not committed)"},
      {"echo new > staged && git add staged", "staged (not committed)"},
      {"echo '*.o' > .gitignore && touch a.o && git add -f a.o", "a.o (not committed)"},
      {"echo more >> text", "text (changed since the commit)"},
      {"rm doomed", "doomed (not in the source that the run took)"},
      {"chmod -x tool", "tool (executable in only one"},
      {"rm link && echo text > link", "link (another type of file"},
      {"rm -r dir && echo file > dir", "dir (not committed), dir/inner (not in the source"},
      {"mkdir deep && echo x > deep/er", "deep/er (not committed)"},
      {"git rm -q --cached doomed", ""},
      {"git mv doomed elsewhere", "elsewhere (not committed), doomed (not in the source"},
      {"touch text; mkdir empty; chmod 600 text; mkfifo pipe", ""},
  };
  for (const auto& [script, named] : cases) {
    SCOPED_TRACE(script);
    git("git reset -q --hard && git clean -qfdx && rm -f pipe && " + std::string(script));
    take_folder();
    const auto id = layer("echo agent > agents");
    if (std::string(named).empty()) {
      EXPECT_NE(applied(id), "") << refusal_;
      git("git branch -D -q pawl/" + id.substr(0, 8));
    } else {
      EXPECT_NE(refusal(id).find(named), std::string::npos) << refusal_;
    }
  }
}

TEST_F(CommitsTest, AFileThatBecameAFolderInADirtySourceIsNotLost) {
  git("rm dir/other");
  take_folder();
  EXPECT_NE(refusal(layer("rm -r dir && echo x > dir")).find("dir/other"), std::string::npos);
  git("git checkout -q dir/other");
  take_folder();
  const auto made = applied(layer("rm -r dir && echo x > dir && rm text && mkdir text && echo in > text/in"));
  EXPECT_EQ(git("git show " + made + ":dir"), "x") << refusal_;
  EXPECT_EQ(git("git show " + made + ":text/in"), "in");
}

TEST_F(CommitsTest, IgnoredFilesAreNotUncommitted) {
  git("printf 'build/\\n*.o\\n!kept.o\\n' > .gitignore && printf 'local\\n' > dir/.gitignore && git add -A "
      "&& git commit -q -m ignore");
  git("mkdir build && echo x > build/one && touch a.o dir/local");
  take_folder();
  // The source changes meanwhile: the rules are those of the base that the run took.
  git("rm .gitignore dir/.gitignore");
  const auto made = applied(layer("echo agent > agents && rm a.o && echo y > build/one"));
  EXPECT_EQ(git("git show " + made + ":agents"), "agent") << refusal_;
  git("git checkout -q . && touch kept.o local");
  take_folder();
  const auto refused = refusal(layer("echo agent > agents"));
  EXPECT_NE(refused.find("kept.o (not committed), local (not committed);"), std::string::npos) << refused;
}

// A layer has changes of such files, so a commit must report them.
TEST_F(CommitsTest, APersonsOwnExcludesDoNotCount) {
  git("printf 'mine\\n' >> .git/info/exclude && printf 'everywhere\\n' > ../ignores && git config -f "
      "../gitconfig "
      "core.excludesFile " +
      (temp_ / "ignores") + " && touch mine everywhere");
  take_folder();
  const auto refused = refusal(layer("echo agent > agents"));
  EXPECT_NE(refused.find("everywhere (not committed), mine (not committed);"), std::string::npos) << refused;
}

TEST_F(CommitsTest, LineEndsAreAsGitAddMakesThem) {
  const std::string script =
      "printf 'a\\r\\nB\\r\\n' > crlf.txt && printf 'new\\r\\n' > new.txt && printf 'x\\r\\n\\0' > some.bin "
      "&& "
      "printf 'lf\\n' > lf.txt";
  const char* const configurations[] = {
      "git config core.autocrlf true",
      "git config -f ../gitconfig core.autocrlf true",
      "git config core.autocrlf input",
      "git config core.eol crlf && printf '* text=auto\\n' > .gitattributes",
      "printf '*.txt text eol=crlf\\n*.bin -text\\n' > .gitattributes",
      "mkdir -p d && printf '*.txt text eol=crlf\\n' > d/.gitattributes && printf '*.txt ident\\n' > "
      ".gitattributes && printf "
      "'$Id$\\r\\n' > d/id.txt",
      "printf '* text=auto\\n' > .git/info/attributes",
  };
  for (const std::string configuration : configurations) {
    SCOPED_TRACE(configuration);
    git("git checkout -q -f main && git clean -qfdx && rm -f .git/info/attributes && git config --unset-all "
        "core.autocrlf; "
        "git config --unset-all core.eol; true > ../gitconfig; " +
        configuration +
        " && printf 'a\\r\\nb\\r\\n' > crlf.txt && git add -A 2>/dev/null && git commit -q --allow-empty -m "
        "crlf "
        "&& git ls-files -z | xargs -0 rm -f && git checkout -q -f . && test -z \"$(git status "
        "--porcelain)\"");
    take_folder();
    const auto made = applied(layer(script));
    ASSERT_NE(made, "") << refusal_;
    EXPECT_EQ(tree_of(made), tree_by_git(script));
    git("git reset -q --hard HEAD~1 && git branch -D -q $(git branch --list 'pawl/*')");
  }
}

TEST_F(CommitsTest, IdsAreThoseThatGitTakesForSome) {
  for (const std::string rule : {"ident", "ident text eol=crlf", "ident text=auto"}) {
    SCOPED_TRACE(rule);
    git("printf '*.php " + rule +
        "\\n' > .gitattributes && printf '$Id$ $Id$ $Identity = $x;\\n' > old.php && git add -A "
        "2>/dev/null && git commit -q -m ids && rm old.php && git checkout -q old.php && git status");
    take_folder();
    const std::string script =
        "printf '%s\\n' '$Identity = $foo . $Id;' '$Id: a$ $Id: b $ $Id$ $Id: c' 'd$ $Id' '$$Id: e$f$Id:$' > "
        "new.php && "
        "printf 'x\\r\\n$Id: y$\\r\\r\\n$Idx\\r\\n' > ends.php && echo '$Id: mine$' >> old.php && cp old.php "
        "third.php && "
        "printf '$Id: open' > open.php";
    const auto made = applied(layer(script));
    ASSERT_NE(made, "") << refusal_;
    EXPECT_EQ(tree_of(made), tree_by_git(script));
    git("git branch -D -q $(git branch --list 'pawl/*')");
  }
}

// Where git only guesses that a file is text, it keeps the committed line ends.
TEST_F(CommitsTest, LineEndsThatWereCommittedStay) {
  git("printf 'a\\r\\nb\\r\\n' > crlf.txt && printf 'a\\r\\nb\\n' > mixed.txt && printf 'a\\rb\\r\\n' > "
      "lone.txt && printf "
      "'a\\0\\r\\n' > null.txt && cp crlf.txt gone.txt && git add -A && git commit -q -m crlf");
  const std::string script =
      "for f in *.txt text; do printf 'more\\r\\n' >> $f; done && printf 'x\\r\\n' > new.txt && mv gone.txt "
      "moved.txt && rm doomed && "
      "cp crlf.txt doomed";
  for (const std::string rule : {"", "* text=auto", "* text=auto eol=crlf", "*.txt text", "* -text"})
    for (const std::string configured : {"true", "input", "false"}) {
      SCOPED_TRACE(rule + " " + configured);
      git("git config core.autocrlf false && git reset -q --hard && echo '" + rule +
          "' > .gitattributes && git add .gitattributes && git "
          "commit -q --allow-empty -m rule && git config core.autocrlf " +
          configured);
      take_folder();
      const auto made = applied(layer(script));
      if (made.empty() && rule == "*.txt text") {  // git status reports it, too.
        EXPECT_NE(git("git status --porcelain"), "");
        continue;
      }
      ASSERT_NE(made, "") << refusal_;
      EXPECT_EQ(tree_of(made), tree_by_git(script));
      git("git branch -D -q $(git branch --list 'pawl/*')");
    }
}

TEST_F(CommitsTest, ANewRuleForLineEndsCounts) {
  take_folder();
  const std::string script = "printf '*.txt text\\n' > .gitattributes && printf 'a\\r\\n' > new.txt";
  EXPECT_EQ(tree_of(applied(layer(script))), tree_by_git(script));
}

// Neither the folder's index today nor the index at the run counts: rules are files of the accepted tree.
TEST_F(CommitsTest, ARuleThatIsOnlyStagedDoesNotCount) {
  git("printf '*.old text\\n' > .gitattributes && git add -A && git commit -q -m rules");
  take_folder();
  const std::string script = "rm .gitattributes && printf 'a\\r\\n' > new.txt && printf 'b\\r\\n' > new.old";
  const auto expected =
      git("rm -rf ../by-git && cp -a . ../by-git && cd ../by-git && rm .gitattributes && git add -A && " +
          script.substr(script.find("printf")) + " && git add -A && git write-tree");
  const auto id = layer(script);
  git("printf '*.txt text\\n*.old text\\n' > .gitattributes && git add .gitattributes");
  EXPECT_EQ(tree_of(applied(id)), expected) << refusal_;
}

// An index that libgit2 can't read is refused, with the command that repairs it.
TEST_F(CommitsTest, AnIndexThatCantBeReadIsRefusedWithTheWayOut) {
  git("git config core.splitIndex true && git update-index --split-index");
  const auto split = workspaces_->check_source(source_, {});
  ASSERT_FALSE(split);
  EXPECT_NE(split.error().message.find("`git update-index --no-split-index`"), std::string::npos)
      << split.error().message;
  git("git config core.splitIndex false && git update-index --no-split-index");
  EXPECT_TRUE(workspaces_->check_source(source_, {}));
  sh("size=$(stat -c %s " + source_ + "/.git/index) && dd if=/dev/zero of=" + source_ +
     "/.git/index bs=1 seek=$((size - 20)) count=20 conv=notrunc 2>/dev/null");
  const auto unchecked = workspaces_->check_source(source_, {});
  ASSERT_FALSE(unchecked);
  EXPECT_NE(unchecked.error().message.find("--force-write-index"), std::string::npos)
      << unchecked.error().message;
  git("git -c index.skipHash=false update-index --force-write-index");
  EXPECT_TRUE(workspaces_->check_source(source_, {}));
}

// The commit has the bytes that agents and gates had.
TEST_F(CommitsTest, OfACommitNothingIsFiltered) {
  git("git config core.autocrlf true && printf '* text=auto\\n' > .gitattributes && git add -A && git commit "
      "-q -m rule");
  base_ = *workspaces_->snapshot_git(source_, "HEAD");
  const auto made = workspaces_->apply("pawl/x", commits(layer("printf 'a\\r\\n' > new"), false));
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(git("git cat-file blob " + *made + ":new | od -c | head -1"), "0000000   a  \\r  \\n");
}

TEST_F(CommitsTest, LfsFilesAreCommittedAsPointers) {
  // git-lfs-clean(1) as a shell script.
  sh("printf '%s\\n' '#!/bin/sh' 'cat > /tmp/lfs.$$' 'printf \"version "
     "https://git-lfs.github.com/spec/v1\\noid "
     "sha256:%s\\nsize %s\\n\" \"$(sha256sum < /tmp/lfs.$$ | cut -c1-64)\" \"$(wc -c < /tmp/lfs.$$)\"' 'rm "
     "/tmp/lfs.$$' > " +
     (temp_ / "clean") + " && chmod +x " + (temp_ / "clean"));
  git("git config filter.lfs.clean " + (temp_ / "clean") +
      " && printf '*.png filter=lfs diff=lfs merge=lfs -text\\n' > .gitattributes && head -c 5000 "
      "/dev/urandom > a.png && "
      "git add -A && git commit -q -m lfs && test -z \"$(git status --porcelain)\" && git show HEAD:a.png | "
      "grep -q oid");
  take_folder();
  EXPECT_TRUE(Workspaces::check_source(source_));
  EXPECT_TRUE(workspaces_->lfs_pointers(base_.base_id)->empty());
  const std::string script = "echo new > b.png && echo more >> a.png";
  const auto id = layer(script);
  const auto foretold = workspaces_->commit_id(commits(id));
  EXPECT_TRUE(foretold && !os::exists(source_ + "/.git/lfs")) << "commit_id() makes nothing";
  const auto made = applied(id);
  ASSERT_NE(made, "") << refusal_;
  EXPECT_EQ(tree_of(made), tree_by_git(script));
  EXPECT_EQ(git("h=$(printf 'new\\n' | sha256sum | cut -c1-64); cat .git/lfs/objects/$(echo $h | cut "
                "-c1-2)/$(echo $h | "
                "cut -c3-4)/$h"),
            "new");
  // git-lfs-config(5): a relative `lfs.storage` is relative to the git folder.
  git("git branch -q -D $(git branch --list 'pawl/*') && git config lfs.storage store");
  ASSERT_NE(applied(layer(script)), "") << refusal_;
  EXPECT_EQ(git("find .git/store/objects -type f | wc -l"), "2");
  git("git branch -q -D $(git branch --list 'pawl/*') && git config --unset lfs.storage");
  base_ = *workspaces_->snapshot_git(source_, "HEAD");
  EXPECT_EQ(*workspaces_->lfs_pointers(base_.base_id), std::vector<std::string>{"a.png"});
}

TEST_F(CommitsTest, AFilterThatOnlyACommandUndoesIsRefusedByName) {
  git("printf '*.txt filter=shout\\n' > .gitattributes && echo quiet > a.txt && git add -A && git commit -q "
      "-m rule");
  EXPECT_TRUE(Workspaces::check_source(source_)) << "git knows no command of it, and takes the file as it is";
  git("git config filter.shout.clean 'tr a-z A-Z'");
  const auto refused = Workspaces::check_source(source_);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::kInvalid);
  EXPECT_NE(refused.error().message.find("a.txt has filter=shout"), std::string::npos)
      << refused.error().message;
  git("printf '*.txt working-tree-encoding=UTF-16\\n' > .gitattributes");
  EXPECT_NE(Workspaces::check_source(source_).error().message.find("working-tree-encoding=UTF-16"),
            std::string::npos);
  EXPECT_TRUE(Workspaces::check_source(temp_.path())) << "in no repository";
}

// Most sources have no such rule. The files that may have one are therefore read first, and paths are not
// queried.
TEST_F(CommitsTest, AFilterIsFoundWhereverItsRuleIs) {
  git("mkdir -p sub/deep && echo x > sub/deep/a.txt && git add -A && git commit -q -m files && git config "
      "filter.shout.clean 'tr a-z A-Z'");
  const std::string rule = "echo '*.txt filter=shout' > ";
  struct Place {
    std::string make, unmake, source = "";
  };
  const Place places[] = {
      {rule + ".git/info/attributes", "rm .git/info/attributes"},
      {rule + "../of-person && git config core.attributesFile " + (temp_ / "of-person"),
       "git config --unset core.attributesFile"},
      {rule + "sub/.gitattributes", "rm sub/.gitattributes"},
      {rule + "sub/deep/.gitattributes", "rm sub/deep/.gitattributes"},
      {rule + ".gitattributes", "rm .gitattributes", "/sub/deep"},
      {rule + "sub/.gitattributes && git add -A && rm sub/.gitattributes",
       "git rm -q --cached sub/.gitattributes"},
      {"echo '[attr]loud filter=shout' > .gitattributes && echo '*.txt loud' > sub/.gitattributes",
       "rm .gitattributes sub/.gitattributes"}};
  for (const auto& [make, unmake, below] : places) {
    SCOPED_TRACE(make);
    EXPECT_TRUE(Workspaces::check_source(source_ + below));
    git(make);
    const auto refused = Workspaces::check_source(source_ + below);
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message.find("a.txt has filter=shout"), std::string::npos);
    git(unmake);
  }
}

// Its patch would be as wrong as that of a tracked file.
TEST_F(CommitsTest, AFilterOfAnUntrackedFileIsRefusedByName) {
  git("mkdir -p sub && echo x > sub/a && echo kept/ > .gitignore && git add -A && git commit -q -m a && "
      "git config filter.shout.clean 'tr a-z A-Z'");
  struct Place {
    std::string make, file, source = "";
  };
  const std::string rule = "echo '*.txt filter=shout' > ";
  const Place places[] = {
      {rule + ".gitattributes && echo x > sub/b.txt", "sub/b.txt"},
      {rule + ".gitattributes && echo x > sub/b.txt", "b.txt", "/sub"},
      {rule + "sub/.gitattributes && mkdir sub/new && echo x > sub/new/b.txt", "sub/new/b.txt"},
      {"mkdir -p new/deep && " + rule + "new/deep/.gitattributes && echo x > new/deep/b.txt",
       "new/deep/b.txt"},
      {"mkdir -p new && echo '*.txt working-tree-encoding=UTF-16' > .gitattributes && echo x > new/b.txt",
       "new/b.txt"}};
  for (const auto& [make, file, below] : places) {
    SCOPED_TRACE(make + " in " + below);
    EXPECT_TRUE(Workspaces::check_source(source_ + below));
    git(make);
    const auto refused = Workspaces::check_source(source_ + below);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().kind, ErrorKind::kInvalid);
    EXPECT_NE(refused.error().message.find(file + " has "), std::string::npos) << refused.error().message;
    EXPECT_TRUE(Workspaces::check_source(source_ + below, {"**/b.txt", "b.txt"}));
    git("git clean -qfd");
  }
  // Work on an ignored file is in no patch, and another repository has its own rules.
  git(rule +
      ".gitattributes && mkdir kept && echo x > kept/b.txt && git init -q other && echo x > other/b.txt");
  EXPECT_TRUE(Workspaces::check_source(source_)) << Workspaces::check_source(source_).error().message;
}

TEST_F(CommitsTest, WhatIsNotCheckedOutIsSaidBeforeAndAfter) {
  git("git init -q ../lib && cd ../lib && echo l > l.txt && git add -A && git -c user.name=t -c "
      "user.email=t@example.org commit -q -m l");
  git("git -c protocol.file.allow=always submodule --quiet add ../lib vendor/lib && git commit -q -m sub");
  EXPECT_TRUE(Workspaces::check_source(source_)->empty());
  const auto said = [&](const std::vector<std::string>& left_out = {}) {
    std::string out;
    const auto sentences = Workspaces::check_source(source_, left_out);
    EXPECT_TRUE(sentences);
    for (const auto& sentence : *sentences) out += sentence + "\n";
    return out;
  };
  git("git submodule --quiet deinit -f vendor/lib");
  EXPECT_NE(said().find("vendor/lib; "), std::string::npos) << said();
  EXPECT_NE(said().find("`git submodule update --init"), std::string::npos) << said();
  EXPECT_EQ(said({"vendor"}), "");
  take_folder();
  EXPECT_NE(applied(layer("echo 2 > text")), "") << "as a clone has it: " << refusal_;
  git("rm -rf vendor");
  EXPECT_NE(said().find("vendor/lib; "), std::string::npos) << said();
  take_folder();
  const auto refused = refusal(layer("echo 2 > text"));
  EXPECT_NE(refused.find("vendor/lib (a submodule without a folder; `git submodule update --init`"),
            std::string::npos)
      << refused;
  git("git -c protocol.file.allow=always submodule --quiet update --init");
  EXPECT_EQ(said(), "");
}

TEST_F(CommitsTest, WhatASparseCheckoutLeavesOutIsNoDeletion) {
  git("mkdir far && echo 1 > far/x && git add -A && git commit -q -m far");
  git("git sparse-checkout set --cone dir");
  const auto said = Workspaces::check_source(source_);
  ASSERT_TRUE(said) << said.error().message;
  ASSERT_EQ(said->size(), 1U);
  EXPECT_NE(said->front().find("far/x; "), std::string::npos) << said->front();
  EXPECT_NE(said->front().find("`git sparse-checkout disable`"), std::string::npos) << said->front();
  EXPECT_TRUE(Workspaces::check_source(source_, {"far"})->empty());
  take_folder();
  const auto id = layer("echo 2 > text");
  auto refused = refusal(id);
  EXPECT_NE(refused.find("far/x (not in the folder, whose checkout is sparse)"), std::string::npos)
      << refused;
  EXPECT_NE(refused.find("`git sparse-checkout disable`"), std::string::npos) << refused;
  EXPECT_EQ(refused.find("commit or remove"), std::string::npos) << refused;
  auto wanted = commits(id);
  wanted.left_out = {"far"};
  const auto made = workspaces_->commit_id(wanted);
  EXPECT_TRUE(made) << made.error().message;
  // A state that libgit2 can't read is reported before money is spent.
  git("git sparse-checkout set --cone --sparse-index dir");
  const auto unreadable = Workspaces::check_source(source_);
  ASSERT_FALSE(unreadable);
  EXPECT_EQ(unreadable.error().kind, ErrorKind::kInvalid);
  EXPECT_NE(unreadable.error().message.find("`git sparse-checkout reapply --no-sparse-index`"),
            std::string::npos)
      << unreadable.error().message;
  git("git sparse-checkout reapply --no-sparse-index");
  EXPECT_TRUE(Workspaces::check_source(source_));
  git("git sparse-checkout disable");
  EXPECT_TRUE(Workspaces::check_source(source_)->empty());
  take_folder();
  EXPECT_NE(applied(layer("echo 2 > text")), "") << refusal_;
  git("git update-index --skip-worktree tool && echo mine > tool && git update-index --assume-unchanged text "
      "&& "
      "echo mine > text && test -z \"$(git status --porcelain)\"");
  take_folder();
  refused = refusal(layer("echo 2 > dir/inner"));
  EXPECT_NE(refused.find("tool (changed since the commit; `git update-index --no-skip-worktree`"),
            std::string::npos)
      << refused;
  EXPECT_NE(refused.find("text (changed since the commit; `git update-index --no-assume-unchanged`"),
            std::string::npos)
      << refused;
}

TEST_F(CommitsTest, SubmodulesStayWhatTheyAre) {
  git("git init -q ../lib && cd ../lib && echo l > l.txt && git add -A && git -c user.name=t -c "
      "user.email=t@example.org "
      "commit -q -m l");
  git("git -c protocol.file.allow=always submodule --quiet add ../lib vendor/lib && git commit -q -m "
      "submodule");
  const std::string fine = "echo 1 >> text && mkdir -p vendor/lib/empty && echo x > vendor/beside";
  const std::pair<std::string, std::string> cases[] = {
      {"echo new > vendor/lib/l.txt", "vendor/lib/l.txt"},
      {"mkdir -p vendor/lib/deep && echo new > vendor/lib/deep/er", "vendor/lib/deep/er"},
      {"rm -r vendor/lib", "vendor/lib"},
      {"rm -r vendor", "vendor"},
      {"rm -r vendor/lib && echo x > vendor/lib", "vendor/lib"},
      {"rm -r vendor && ln -s dir vendor", "vendor"},
      {fine, ""},
  };
  for (const bool by_ref : {true, false}) {
    base_ = by_ref ? *workspaces_->snapshot_git(source_, "HEAD") : *workspaces_->snapshot_directory(source_);
    for (const auto& [script, named] : cases) {
      SCOPED_TRACE(script + (by_ref ? ", of a commit" : ", of a folder"));
      const auto id = layer(script);
      const auto filtered = workspaces_->without_protected(id, base_.base_id, {}, {});
      ASSERT_TRUE(filtered) << filtered.error().message;
      const auto made = workspaces_->commit_id(commits(id, !by_ref));
      EXPECT_EQ(made.has_value(), named.empty()) << (made ? "" : made.error().message);
      if (named.empty()) {
        EXPECT_TRUE(filtered->submodule_changes.empty());
        EXPECT_EQ(filtered->layer_id, id);
      } else {
        ASSERT_FALSE(filtered->submodule_changes.empty());
        EXPECT_EQ(filtered->submodule_changes.front(), named);
        EXPECT_NE(made.error().message.find(named), std::string::npos) << made.error().message;
        EXPECT_TRUE(changes(filtered->layer_id).empty()) << "nothing else is in it";
      }
    }
  }
  git("echo dirty > vendor/lib/l.txt");
  take_folder();
  EXPECT_NE(refusal(layer(fine)).find("vendor/lib/l.txt (changed since the commit)"), std::string::npos)
      << refusal_;
}

TEST_F(CommitsTest, OfAFolderOfARepositoryTheRestStays) {
  git("mkdir -p pkg/a other && echo 1 > pkg/a/f && echo o > other/o && printf '*.log\\n' > .gitignore && "
      "printf '*.txt "
      "text eol=crlf\\n' > pkg/.gitattributes && printf 'a\\r\\n' > pkg/a/w.txt && git add -A && git commit "
      "-q -m pkg");
  EXPECT_EQ(Workspaces::patch_target(source_ + "/pkg/a").folder, "pkg/a/");
  EXPECT_EQ(Workspaces::patch_target(source_).folder, "");
  EXPECT_EQ(Workspaces::patch_target(temp_.path()).folder, "");
  git("touch pkg/a/some.log outside");
  base_ = *workspaces_->snapshot_directory(source_ + "/pkg/a");
  const std::string script = "echo 2 > f && printf 'b\\r\\n' > w.txt && mkdir new && echo n > new/n";
  const auto id = layer(script);
  auto made_of = commits(id);
  made_of.source = source_ + "/pkg/a";
  const auto made = workspaces_->apply("pawl/x", made_of);
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(tree_of(*made), tree_by_git("rm outside && cd pkg/a && " + script + " && cd ../.."));
}

}  // namespace
}  // namespace pawl::workspace
