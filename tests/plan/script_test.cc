// Scripts of a plan, run by real shells: the first command that fails ends them, and what can hide a failure
// is said.
#include "plan/script.h"

#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

namespace pawl::plan {
namespace {

int exit_code_of(Shell shell, const std::string& script) {
  const auto argv = script_argv(shell, script);
  std::vector<char*> words;
  for (const auto& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  pid_t child = 0;
  int status = -1;
  if (posix_spawnp(&child, words[0], nullptr, nullptr, words.data(), environ) != 0) return -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(Script, EndsAtTheFirstCommandThatFails) {
  for (const auto shell : {Shell::kBest, Shell::kSh, Shell::kBash}) {
    EXPECT_EQ(exit_code_of(shell, "true"), 0);
    EXPECT_EQ(exit_code_of(shell, "(exit 3)\ntrue"), 3);
    EXPECT_EQ(exit_code_of(shell, "(exit 3); true"), 3);
    EXPECT_EQ(exit_code_of(shell, "\n# why\n(exit 3)\n\ntrue\n"), 3);
    EXPECT_EQ(exit_code_of(shell, "x=$(exit 3; true)\ntrue"), 3);
    EXPECT_EQ(exit_code_of(shell, "x=$( (exit 3); true)\ntrue"), 3) << "in a substitution, too";
    EXPECT_EQ(exit_code_of(shell, "if false; then (exit 3); fi; test \"$#\" = \"$#\""), 0);
    EXPECT_EQ(exit_code_of(shell, "no-such-program 2>/dev/null\ntrue"), 127);
  }
  for (const auto shell : {Shell::kBest, Shell::kBash}) {
    EXPECT_EQ(exit_code_of(shell, "(exit 3) | cat"), 3);
    EXPECT_EQ(exit_code_of(shell, "(exit 3) | cat\ntrue"), 3);
  }
}

TEST(Script, WithoutBashItIsRunBySh) {
  auto argv = script_argv(Shell::kBest, "test -z \"$BASH_VERSION\"; (exit 3); true");
  argv.insert(argv.begin(), {"/usr/bin/env", "PATH=/nowhere"});
  argv[2] = "/bin/sh";
  for (auto& word : argv)
    if (const auto at = word.find("exec sh "); at != word.npos) word.replace(at, 8, "exec /bin/sh ");
  std::vector<char*> words;
  for (const auto& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  pid_t child = 0;
  int status = -1;
  ASSERT_EQ(posix_spawn(&child, words[0], nullptr, nullptr, words.data(), environ), 0);
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 3);
}

// Each of these ends with 0 although `fails` did: so the sentence is true, and each has one.
TEST(HiddenFailures, AreSaid) {
  const std::string fails = "fails() { return 3; }\n";
  for (const std::string hides : {
           "fails || true",
           "fails || :",
           "fails || echo no",
           "fails || exit 0",
           "fails & wait",
           "fails && echo yes; true",
           "fails && echo yes\ntrue",
           "fails && fails && echo yes\ntrue",
           "for i in 1 2; do fails && fails; test $i; done",
           "! true; true",
           "if ! fails; then echo no; fi",
           "if fails; then echo yes; elif fails; then true; fi",
           "while fails; do true; done",
           "until ! fails; do true; done",
           "set +e; fails; true",
           "set +o errexit; fails; true",
           "trap 'exit 0' EXIT; fails",
           "echo $(fails)",
           "echo \"of $(fails) it\"",
           "export X=$(fails)",
           "echo `fails`",
           "sh -c 'false; true'",
           "bash -c 'false\ntrue'",
           "/bin/sh -c 'false | cat'",
           "cat <(false) >/dev/null",
           "find . -maxdepth 0 -exec false \\;",
           "case x in x | y) fails || true ;; esac",
       }) {
    EXPECT_EQ(exit_code_of(Shell::kBash, fails + hides), 0) << hides;
    EXPECT_FALSE(hidden_failures(Shell::kBash, hides).empty()) << hides;
  }
  EXPECT_EQ(hidden_failures(Shell::kSh, "make test | tee log").size(), 1U);
  EXPECT_EQ(exit_code_of(Shell::kSh, "false | cat"), 0);
  EXPECT_EQ(hidden_failures({"sh", "-c", "make; make test"}).size(), 1U);
  EXPECT_EQ(hidden_failures({"bash", "-lc", "make | tee log"}).size(), 1U);
}

TEST(HiddenFailures, AreNotSeenWhereThereAreNone) {
  for (const std::string fine : {
           "make test",
           "make\nmake test\n",
           "make && make test",
           "make || exit 1",
           "make || { cat log; exit 1; }",
           "make test | tee log",
           "make test >log 2>&1",
           "make test &>log",
           "# fails || true\nmake",
           "echo 'a || true; b & c'",
           "echo \"a && b; c\"",
           "cat >f <<'END'\nx || true\ny & z\nEND\nmake",
           "cat >f <<-END\n\tx || true\n\tEND\nmake",
           "[ -e f ] && rm f\nmake",
           "test -e f || make f",
           "if [ -e f ]; then make; fi",
           "if grep -q x f; then make; fi",
           "x=$(make version)\ntest \"$x\" = 1",
           "cd \"$(dirname \"$0\")\"",
           "case $x in a | b) make ;; *) exit 1 ;; esac",
           "for i in a b; do make $i; done",
           "sh -e -c 'make; make test'",
           "sh -ec 'make; make test'",
           "sh test.sh",
           "bash -euo pipefail -c 'make | tee log'",
           "find . -name x -exec rm {} +",
           "",
           "'",
           "<<",
           "case x in",
       })
    EXPECT_TRUE(hidden_failures(Shell::kBash, fine).empty())
        << fine << ": " << hidden_failures(Shell::kBash, fine).front();
  EXPECT_TRUE(hidden_failures({"make", "test"}).empty());
  EXPECT_TRUE(hidden_failures({"sh", "-c", "make"}).empty());
  EXPECT_TRUE(hidden_failures({"sh", "-ec", "make; make test"}).empty());
}

}  // namespace
}  // namespace pawl::plan
