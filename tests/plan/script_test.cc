// Scripts of a plan, run by real shells: the first command that fails ends the script, and constructs that
// can hide a failure are reported.
#include "plan/script.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ctime>

namespace pawl::plan {
namespace {

int exit_code_of(Shell shell, const std::string& script) {
  const auto argv = script_argv(shell, script);
  std::vector<char*> words;
  for (const auto& word : argv) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t quiet;
  posix_spawn_file_actions_init(&quiet);
  posix_spawn_file_actions_addopen(&quiet, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_addopen(&quiet, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  int status = -1;
  const int failed = posix_spawnp(&child, words[0], &quiet, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&quiet);
  if (failed != 0) return -1;
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

constexpr const char* kFails = "fails() { return 3; }\n";

std::string all(const std::vector<std::string>& sentences) {
  std::string out;
  for (const auto& sentence : sentences) out += "\n  " + sentence;
  return out;
}

// Each of these ends with 0 although `fails` or a missing program failed. The warning is therefore true.
const std::vector<std::string> kHiding = {
    // The right side of `||` can succeed.
    "fails || true", "fails || :", "fails || echo no", "fails || exit 0", "fails || cat /dev/null",
    "fails || { echo no; }", "fails || (echo no)", "fails || rc=$?", "fails ||\n  true",
    "fails || { echo no; exit 0; }", "fails || { echo no; exit; }", "fails || { echo no; exit $?; }",
    "fails || sleep 0", "fails || false || true", "fails && true || true", "[ -e / ] && fails || echo no",
    "test -e /nowhere || echo missing", "fails || if false; then exit 1; fi",
    "fails || { false && exit 1; true; }", "x=$(f() { fails; true; }; f || exit 1)", "fails || rc=$?; exit 0",
    "fails || rc=0; exit $rc", "fails || rc=$?; exit ${rc:+0}", "(fails || rc=$?); exit $rc",
    "rc=0; echo x | while read -r l; do fails || rc=1; done; exit $rc",
    "note() { echo \"$1\"; }; fails || note no", "for i in 1 2; do fails || continue; done",
    "for i in 1 2; do fails || break; done", "case x in x | y) fails || true ;; esac",
    "x=$(fails || true); test -z \"$x\"", "x=`fails || true`",
    // -e is off in tested commands.
    "{ fails; true; } || exit 1", "(fails; true) || exit 1", "f() { fails; true; }; f || exit 1",
    "f() { fails; true; }; f && echo ok", "f() { fails; true; }\ng() { f; }\ng || exit 1",
    "f() { fails; true; }; if f; then echo yes; else exit 1; fi", "{ fails\ntrue\n} && echo ok",
    "{ test -e /nowhere; true; } || exit 1", "for i in 1 2; do test $i = 2; done || exit 1",
    "(fails; true) | cat || exit 1", "if { fails; true; }; then echo yes; else exit 1; fi",
    "if fails; true; then echo yes; fi", "while { fails; false; }; do true; done", "! { fails; false; }",
    "(cd /nowhere; true) 2>/dev/null && true", "eval 'fails; true' || exit 1",
    "f() { x=$(fails; true); echo; }; f || exit 1", "{ (fails || exit 1); true; } || exit 2",
    "{ if true; then fails; fi; true; } || exit 1",
    // Lists, and each command in a list.
    "fails && echo yes; true", "fails && echo yes\ntrue", "fails && fails && echo yes\ntrue",
    "[ -e / ] && fails && true\ntrue", "true && fails && true\ntrue", "x=$(fails) && true\ntrue",
    "cd /nowhere 2>/dev/null && true; true", "for i in 1 2; do fails && fails; test $i; done",
    "{ fails && true; }; true", "if true; then fails && true; fi; true", "fails || false && true\ntrue",
    "f() { fails && true; echo; }; f",
    // Conditions.
    "! true; true", "! grep -q root /etc/passwd\ntrue", "! fails && true; true", "! fails || exit 1",
    "if ! fails; then echo no; fi", "if fails; then echo yes; elif fails; then true; fi",
    "if [ -e / ] && fails; then echo yes; fi", "if (fails); then echo yes; fi",
    "if fails | grep -q x; then echo yes; fi", "if ! fails; then echo no; exit; fi",
    "if fails; then true; else echo no; fi", "while fails; do true; done", "until ! fails; do true; done",
    "until fails; do break; done", "while [ -e / ] && fails; do true; done",
    // Options, traps, background commands.
    "fails & wait", "fails & true & wait $!", "set +e; fails; true", "set +o errexit; fails; true",
    "set +eu\nfails\ntrue", "trap 'exit 0' EXIT; fails", "trap 'rm -f /nowhere; exit 0' EXIT; fails",
    "end() { exit 0; }; trap end EXIT; fails", "{ fails; true; } & wait",
    // Substitutions.
    "echo $(fails)", "echo \"of $(fails) it\"", "export X=$(fails)", "echo `fails`",
    "test -z \"$(no-such-program -l . 2>/dev/null)\"",
    "[ -z \"$(cd / && git status --porcelain 2>/dev/null)\" ]", "[ \"$(fails)\" = \"\" ]",
    "if [ -z \"$(fails)\" ]; then echo clean; fi", "x=$(fails) y=$(true)", "x=$(fails)$(true)",
    "for i in $(fails); do true; done", "for i in $(cat /nowhere 2>/dev/null); do true; done",
    "test \"$(git no-such-command 2>/dev/null | wc -l)\" = 0", "case $(fails) in *) true ;; esac",
    "echo \"${x:-$(fails)}\"", "echo $(($(fails) + 1))", "cat <<END\n$(fails)\nEND",
    "echo x >/dev/null$(fails)", "x=1 y=$(fails) true", "echo \"$(echo $(fails))\"",
    "echo $(case x in x) fails ;; esac)",
    // Nested shells.
    "sh -c 'false; true'", "/bin/sh -c 'false | cat'", "env A=1 sh -c \"false; true\"",
    "timeout 60 sh -c 'false; true'", "X=1 sh -c 'false; true'", "exec sh -c 'false; true'",
    "nice -n 1 sh -c 'false; true'", "sh -e -c 'false || true'", "sh -ec 'false | cat'",
    "sh -c 'cd / && false; true'", "sh -c 'false; true' || exit 1", "sh <<END\nfalse\ntrue\nEND",
    "eval 'fails || true'", "echo x | xargs sh -c 'false; true'", "sh -e -c \"sh -c 'false; true'\"",
    "sh -c 'set -e; false || true'", "sh -c 'false; true; set -e'", "find / -maxdepth 0 -exec false \\;",
    "timeout 5 env -i PATH=\"$PATH\" sh -c 'false\ntrue'"};

const std::vector<std::string> kHidingInBash = {  // dash lacks these constructs
    "shopt -uo errexit; fails; true",
    "shopt -u -o errexit; fails; true",
    "bash -c 'false\ntrue'",
    "cat <(false) >/dev/null",
    "bash -o pipefail -c 'false; true'",
    "bash -ec 'false | cat'",
    "bash -e -c 'x=$(false; true)'",
    "[[ -z $(fails) ]]",
    "cat <<<\"$(fails)\"",
    "if [[ -e / && -e /tmp ]] && fails; then true; fi",
    "function f { fails; true; }; f || exit 1",
    "(( 1 < 2 )) && fails && true\ntrue",
    "a=($(fails) $(true))",
    "true > >(fails)",
    "time { fails || true; }",
    "(( $(echo 1; fails) > 0 ))",
    "((1)) && fails && true\ntrue",
    "bash <<'END'\nfalse\ntrue\nEND",
    "x=$(fails; true) || exit 1"};

TEST(HiddenFailures, AreSaid) {
  for (const auto& hides : kHiding) {
    for (const auto shell : {Shell::kBash, Shell::kSh}) {
      EXPECT_EQ(exit_code_of(shell, kFails + hides), 0) << hides;
      EXPECT_FALSE(hidden_failures(shell, kFails + hides).empty()) << hides;
    }
  }
  for (const auto& hides : kHidingInBash) {
    EXPECT_EQ(exit_code_of(Shell::kBash, kFails + hides), 0) << hides;
    EXPECT_FALSE(hidden_failures(Shell::kBash, kFails + hides).empty()) << hides;
  }
}

TEST(HiddenFailures, OfPipelinesDependOnTheShell) {
  for (const std::string hides : {"fails | cat", "{ fails; } | cat", "fails | cat | cat", "fails |\n  cat"}) {
    EXPECT_EQ(exit_code_of(Shell::kSh, kFails + hides), 0);
    EXPECT_EQ(exit_code_of(Shell::kBash, kFails + hides), 3);
    EXPECT_EQ(hidden_failures(Shell::kSh, kFails + hides).size(), 1U) << hides;
    EXPECT_EQ(hidden_failures(Shell::kBash, kFails + hides).size(), 0U) << hides;
    EXPECT_EQ(hidden_failures(Shell::kBest, kFails + hides, true).size(), 0U) << hides;
    const auto without_bash = hidden_failures(Shell::kBest, kFails + hides, false);
    ASSERT_EQ(without_bash.size(), 1U) << hides;
    EXPECT_NE(without_bash.front().find("no bash"), std::string::npos);
  }
  EXPECT_TRUE(hidden_failures(Shell::kSh, "echo y | make config").empty());
}

TEST(HiddenFailures, AreSaidOfArgumentLists) {
  using Words = std::vector<std::string>;
  for (const auto& hides :
       {Words{"sh", "-c", "make; make test"}, Words{"bash", "-lc", "make | tee log"},
        Words{"env", "A=1", "sh", "-c", "make; make test"}, Words{"sh", "-ec", "make || true"},
        Words{"timeout", "60", "bash", "-o", "pipefail", "-c", "make; make test"},
        Words{"find", ".", "-exec", "sh", "-c", "make; make test", "{}", "+"},
        Words{"su", "-c", "make; make test", "nobody"}})
    EXPECT_EQ(hidden_failures(hides).size(), 1U) << hides.back();
  for (const auto& fine :
       {Words{"make", "test"}, Words{"sh", "-c", "make"}, Words{"sh", "-ec", "make; make test"},
        Words{"sh", "-c", "cd app && npm test"}, Words{"sh", "-c", "make test 2>&1"},
        Words{"sh", "-c", "set -e; make; make test"}, Words{"env", "A=1", "sh", "-e", "-c", "a; b"},
        Words{"bash", "-c", "-e", "a; b"}, Words{"sh", "test.sh", "-c", "a; b"}, Words{"sh", "-c"},
        Words{"echo", "sh", "-c", "a; b"}, Words{}})
    EXPECT_TRUE(hidden_failures(fine).empty()) << all(hidden_failures(fine));
}

TEST(HiddenFailures, AreSaidOfOptionsThatLetAToolSucceed) {
  for (const auto* lenient : {"make -i test",
                              "make --ignore-errors",
                              "make -ki",
                              "make -n",
                              "make -t all",
                              "make --touch",
                              "cargo test --no-run",
                              "ctest -N",
                              "ctest --no-tests=ignore",
                              "ctest --no-tests ignore",
                              "./gradlew test --dry-run",
                              "mvn -fn test",
                              "./mvnw -B --fail-never verify",
                              "mvn test -Dmaven.test.failure.ignore=true",
                              "mvn verify -Dskip"
                              "Tests",
                              "npm test --if-present",
                              "npx jest --passWithNoTests",
                              "timeout 60 npx --no-install vitest run --passWithNoTests",
                              "npm test -- --passWithNoTests",
                              "python3 -m pytest --suppress-no-test-exit-code",
                              "ruff check --exit-zero .",
                              "python3 -m flake8 --exit-zero",
                              "rspec --failure-exit-code 0",
                              "trivy fs --exit-code 0 .",
                              "golangci-lint run --issues-exit-code=0",
                              "mocha --pass-on-failing-test-suite",
                              "cd app && make -i"}) {
    ASSERT_EQ(hidden_failures(Shell::kBash, lenient).size(), 1U) << lenient;
    EXPECT_NE(hidden_failures(Shell::kBash, lenient).front().find("exits with 0"), std::string::npos);
  }
  EXPECT_EQ(hidden_failures({"make", "-i", "test"}).size(), 1U);
  for (const auto* fine :
       {"make -j4 test", "make -C i test", "make -C t -k", "make -k", "cargo test --no-fail-fast",
        "ctest --no-tests=error",
        "mvn verify -Dskip"
        "Tests=false",
        "npm test", "npx jest --ci", "trivy fs --exit-code 1 .", "sed -i s/a/b/ make", "echo make -i",
        "grep -n make Makefile", "rspec --failure-exit-code 1", "nl -i 1 f"})
    EXPECT_TRUE(hidden_failures(Shell::kBash, fine).empty()) << fine;
}

// A failure in these ends them, and none gets a warning.
const std::vector<std::string> kFailing = {"fails || exit 1",
                                           "fails || { echo no; exit 1; }",
                                           "fails || exit",
                                           "fails || exit $?",
                                           "fails || false",
                                           "fails || { rc=$?; echo no; exit $rc; }",
                                           "fails || (echo no; exit 1)",
                                           "f() { fails || return 1; true; }; f; true",
                                           "die() { echo \"$1\"; exit 1; }; fails || die no; true",
                                           "fails || { echo no && exit 1; }",
                                           "fails || if true; then exit 1; else exit 2; fi",
                                           "[ -e /nowhere ] || fails",
                                           "[ -e / ] && fails",
                                           "[ -e / ] && fails && true || exit 1; true",
                                           "fails && true",
                                           "(fails && true); true",
                                           "(fails && true)\necho ok",
                                           "f() { fails && true; }; f; true",
                                           "{ fails && true; } | cat; true",
                                           "{ fails || exit 1; true; } || exit 2",
                                           "{ echo begin; fails; } || exit 1",
                                           "(x=1; fails) || exit 1",
                                           "if fails; then true; else exit 1; fi; true",
                                           "if ! fails; then exit 1; fi; true",
                                           "if ! fails; then false; fi; true",
                                           "if true; then fails; fi; true",
                                           "if ! true || ! fails; then exit 1; fi; true",
                                           "for i in 1 2; do fails; done; true",
                                           "for i in 1 2; do fails || exit 1; done",
                                           "while true; do fails; done",
                                           "x=$(fails; true); true",
                                           "x=$(fails)\ntrue",
                                           "x=$(fails && true); true",
                                           "eval 'fails; true'; true",
                                           "fails & wait $!; true",
                                           "a=1 b=$(fails); true",
                                           "x=`fails`; true",
                                           "trap 'true; exit' EXIT; fails",
                                           "trap 'rm -f /nowhere' EXIT; fails; true",
                                           "sh -e -c 'false; true'; true",
                                           "sh -ec 'false; true' || exit 1",
                                           "sh -c 'cd / && false'; true",
                                           "sh -c 'set -e; false; true'",
                                           "sh -c 'false 2>&1'; true",
                                           "env A=1 sh -e -c 'false; true'",
                                           "sh -c 'false || exit 1; true'",
                                           "sh -c 'f() { false; true; }; set -e; f'",
                                           "case x in x) fails ;; esac; true",
                                           "sh -e <<'END'\nfalse\ntrue\nEND",
                                           "! true",
                                           "until fails || exit 1; do true; done",
                                           "rc=0; fails || rc=$?; true; exit $rc",
                                           "fails || rc=$?; true; exit ${rc:-0}",
                                           "fails || rc=1; exit \"${rc-0}\"",
                                           "bad=0; for i in 1 2; do fails || bad=1; done; [ $bad = 0 ]",
                                           "rc=0; fails || { rc=$?; echo no; }; exit \"$rc\"",
                                           "bad=0; if ! fails; then bad=1; fi; exit ${bad}",
                                           "f() { r=0; fails || r=1; return $r; }; f; true",
                                           "[ -e / ] || exit 1 && true; fails",
                                           "echo x | cat || true; fails",
                                           "case x in (x) (fails) ;; esac\ntrue",
                                           "echo \"$(dirname \"$0\")\"; fails; true"};

TEST(HiddenFailures, AreNotSaidOfScriptsThatFail) {
  for (const auto& script : kFailing) {
    for (const auto shell : {Shell::kBash, Shell::kSh}) {
      if (shell == Shell::kSh && script.find(" | ") != script.npos) continue;
      const auto said = hidden_failures(shell, kFails + script);
      EXPECT_GT(exit_code_of(shell, kFails + script), 0) << script;
      EXPECT_TRUE(said.empty()) << script << all(said);
    }
  }
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
           "cat >f <<'END'\nx || true\ny & z\n$(make)\nEND\nmake",
           "cat >f <<-END\n\tx || true\n\tEND\nmake",
           "[ -e f ] && rm f\nmake",
           "test -e f || make f",
           "[ -e f ] || exit 0\nmake",
           "[ -n \"$V\" ] && echo verbose; make",
           "if [ -e f ]; then make; fi",
           "if grep -q x f; then make; fi",
           "if [[ -e f && -e g || $x =~ ^(a|b)$ ]]; then make; fi",
           "if command -v ninja >/dev/null && [ -e f ]; then make; fi",
           "has() { command -v \"$1\" >/dev/null; }\nif has ninja; then ninja; else make; fi",
           "if git status | grep -q x; then make; fi",
           "x=$(make version)\ntest \"$x\" = 1",
           "n=$(grep -c x f) || n=0\nmake",
           "cd \"$(dirname \"$0\")\"",
           "cd \"$(cd \"$(dirname \"$0\")\" && pwd)\"",
           "echo \"$(date) $(git rev-parse HEAD)\"",
           "case $x in a | b) make ;; *) exit 1 ;; esac",
           "for i in a b; do make $i; done",
           "for i in $(seq 3); do make $i; done",
           "test \"$(echo a b | wc -w)\" = 2",
           "for ((i = 0; i < 3; i++)); do make; done",
           "while read -r line; do make $line; done <f",
           "until curl -sf localhost; do sleep 1; done\nmake",
           "set -euo pipefail\nmake",
           "sh -e -c 'make; make test'",
           "sh -ec 'make; make test'",
           "sh -c \"cd app && npm test\"",
           "sh -c \"make test 2>&1\"",
           "sh test.sh",
           "echo run sh -c 'a; b'",
           "bash -euo pipefail -c 'make | tee log'",
           "bash -c 'set -eo pipefail; make | tee log; make test'",
           "find . -name x -exec rm {} +",
           "a=(x y 'z w')\nmake \"${a[@]}\"",
           "",
           "'",
           "\"",
           "`",
           "$(",
           "${",
           "((",
           "<<",
           "<<<",
           ">",
           "&&",
           ")",
           "}",
           "{",
           "f()",
           "if",
           "for",
           "[[",
           "!",
           "case",
           "case x in",
           "case x in a",
           "case x in a) b )",
       })
    for (const auto shell : {Shell::kBash, Shell::kBest})
      EXPECT_TRUE(hidden_failures(shell, fine).empty()) << fine << all(hidden_failures(shell, fine));
}

std::string repeated(const std::string& text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

double seconds_of(const std::string& script) {
  const auto begin = std::clock();
  hidden_failures(Shell::kBash, script);
  return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

constexpr double kSecondsMax = 10;  // one second under sanitizers; quadratic time takes minutes

// A plan is hostile input: 20,000 repetitions of any construct are read at once.
TEST(HiddenFailures, AreLookedForInTimeInProportion) {
  for (const std::string part : {"a && ",
                                 "a || ",
                                 "a | ",
                                 "a; ",
                                 "a & ",
                                 "! ",
                                 "(",
                                 "((",
                                 "{ ",
                                 "$(",
                                 "\"$(",
                                 "`",
                                 "${x:-",
                                 "$((",
                                 "<(",
                                 "if ",
                                 "if a; then b; el",
                                 "while ",
                                 "case x in a) ",
                                 "f() { ",
                                 "f() { f; }; f; ",
                                 "x=",
                                 "x=(",
                                 "<<E ",
                                 "[[ ",
                                 ") ",
                                 "sh -c '",
                                 "sh -c \"",
                                 "eval ",
                                 "eval \\",
                                 "wait 1\n",
                                 "\\\n",
                                 "a\n",
                                 "if f; then f; fi\n",
                                 "time "})
    EXPECT_LT(seconds_of(repeated(part, 20'000)), kSecondsMax) << part;
  std::string calls = "f() { g; }\n";
  for (int i = 0; i < 5'000; ++i)
    calls += "f" + std::to_string(i) + "() { f" + std::to_string(i + 1) + " || f" + std::to_string(i + 1) +
             "; }\n";
  EXPECT_LT(seconds_of(calls + "f0 || exit 1"), kSecondsMax);
  EXPECT_FALSE(hidden_failures(Shell::kBash, repeated("(", 1000) + "make" + repeated(")", 1000)).empty());
  EXPECT_TRUE(hidden_failures(Shell::kBash, repeated("(", 20) + "make" + repeated(")", 20)).empty());
}

}  // namespace
}  // namespace pawl::plan
