// A step could not start a program, and its exit code does not show that.
#include "gates/reading/missing_program.h"

#include <gtest/gtest.h>

namespace pawl::gates {
namespace {

TEST(MissingProgram, IsReadAlsoBehindAnotherExitCode) {
  const auto found = [](const std::string& command, const std::string& output) {
    return missing_behind({"sh", "-e", "-c", command}, output).value_or(MissingProgram{.name = "none"}).name;
  };
  const std::string make = "make: *** [Makefile:2: test] Error 127";
  EXPECT_EQ(found("make test", "tox -q\nmake: tox: No such file or directory\n" + make + "\n"), "tox");
  EXPECT_EQ(
      found("make", "/bin/sh: 1: tox: not found\nmake[1]: *** [test] Error 127\nmake: *** [all] Error 2"),
      "tox");
  EXPECT_EQ(found("just", "sh: tox: not found\nerror: Recipe `t` failed on line 2 with exit code 127\n"),
            "tox");
  const std::string tox = "/usr/bin/python3: No module named tox\n";
  EXPECT_EQ(found("python3 -m tox -q", tox), "python3 -m tox");
  EXPECT_EQ(found("cd a && python3 -m tox", tox), "python3 -m tox");
  EXPECT_EQ(found("python3 /plan/typo.py",
                  "python3: can't open file '/plan/typo.py': [Errno 2] No such file or directory"),
            "/plan/typo.py");
  for (const auto& of_dash : {"sh: 0: cannot open /plan/typo.sh: No such file\n",
                              "sh: 1: .: cannot open /plan/typo.sh: No such file\n"})
    EXPECT_EQ(found("sh /plan/typo.sh", of_dash), "/plan/typo.sh");
  for (const auto& [command, output] :
       {std::pair<std::string, std::string>{"make", make + " (ignored)\nsh: tox: not found\n"},
        {"make", "make: *** [Makefile:2: test] Error 1\nsh: tox: not found\n"},
        {"make", make},
        {"make", "make: t/test: Permission denied\n" + make},
        {"python3 -m toxic", tox},
        {"python3 run.py", tox},
        {"python3 -m app", "python3: No module named app"},
        {"cat x", "cat: /workspace/plan/x: No such file or directory"}})
    EXPECT_EQ(found(command, output), "none") << output;
}

TEST(MissingProgram, IsReadWhereTheScriptEndsWithACodeOfItsOwn) {
  const auto found = [](const std::string& command, const std::string& output) {
    return missing_behind({"sh", "-c", "bash -c $1 || sh -c $2", "sh", "shopt || :", command}, output)
        .value_or(MissingProgram{.name = "none"})
        .name;
  };
  const std::string dash = "sh: 1: tox: not found\n", bash = "bash: line 1: tox: command not found\n";
  for (const std::string command :
       {"tox || exit 1", "tox -q > log 2>&1 || { cat log; exit 1; }",
        "tox &>log ||\n{ cat log >&2\n exit 2\n}", "CI=1 tox || exit", "cd a && tox -q || exit $?",
        "make -s || exit 1; tox || { echo no; exit 1; }", "x || true; tox || exit 1", "(tox || exit 3)"})
    for (const auto& output : {dash, bash + "more\n"}) EXPECT_EQ(found(command, output), "tox") << command;
  for (const std::string command :
       {"tox || pytest", "tox || true", "tox || exit 0", "tox || exit 256",
        "tox || { pip install tox; exit 1; }", "tox || { cat log; exit $?; }", "tox || { cat log; }",
        "tox || echo no && exit 1", "sh test.sh || exit 1", "tox | tee log || exit 1",
        "sh -c 'tox || exit 1'", "if tox || exit 1; then :; fi", "tox; x || exit 1",
        "tox || { cat $(tox2); exit 1; }", "tox || { cat log | grep x; exit 1; }", "echo tox || exit 1"})
    EXPECT_EQ(found(command, dash), "none") << command;
  EXPECT_EQ(found("tox || exit 1", "./a.py: tox: command not found\n"), "none")
      << "no shell of the step says it";
  EXPECT_EQ(found("./t.sh || exit 1", "sh: 1: ./t.sh: not found\n"), "./t.sh");
}

// Texts of git 2.39, cargo 1.74 and prove 3.44.
TEST(MissingProgram, IsReadWhereAnotherProgramCallsIt) {
  const auto found = [](const std::string& command, const std::string& output) {
    return missing_behind({"sh", "-c", "bash -c $1 || sh -c $2", "sh", "shopt || :", command}, output)
        .value_or(MissingProgram{.name = "none"})
        .name;
  };
  const std::string git =
      "git: 'lfs' is not a git command. See 'git --help'.\n\nThe most similar command is\n\tlog\n";
  const auto cargo = [](const std::string& name) {
    return "error: no such command: `" + name +
           "`\n\nhelp: a command with a similar name exists: `test`\n\n" +
           "help: view all installed commands with `cargo --list`\nhelp: find a package to install\n";
  };
  const std::string prove =
      "Could not execute (ruby-x z.t): open3: exec of ruby-x z.t failed: No such file or directory at "
      "/usr/share/perl/5.36/TAP/Parser/Iterator/Process.pm line 165.\nFiles=0, Tests=0\nResult: NOTESTS\n";
  EXPECT_EQ(found("git lfs pull", git), "git lfs");
  EXPECT_EQ(found("cargo nextest run", cargo("nextest")), "cargo nextest");
  EXPECT_EQ(found("cargo +nightly miri test", cargo("miri")), "cargo miri");
  for (const std::string end : {" || exit 1", " >log 2>&1 || { cat log; exit 1; }"})
    EXPECT_EQ(found("cargo nextest run" + end, cargo("nextest")), "cargo nextest") << end;
  EXPECT_EQ(found("prove --exec ruby-x z.t", prove), "ruby-x");
  EXPECT_EQ(found("prove --exec=ruby-x z.t", prove), "ruby-x");
  // Programs that the work may add: an alias of cargo, a program in another PATH, what a script of it calls; and a
  // fallback of the command.
  for (const auto& [command, output] :
       {std::pair<std::string, std::string>{"cargo xtask test", cargo("xtask")},
        {"sh test.sh", cargo("nextest")},
        {"cargo nextest run || cargo test", cargo("nextest") + "error: test failed\n"},
        {"PATH=$PWD/bin:$PATH git lfs", git},
        {"sh test.sh", git},
        {"git log", git},
        {"prove z.t", prove}})
    EXPECT_EQ(found(command, output), "none") << command;
  const auto path =
      missing_behind({"sh", "-c", "prove -e bin/x z.t"},
                     "open3: exec of bin/x z.t failed: No such file or directory at Process.pm");
  ASSERT_TRUE(path);
  EXPECT_TRUE(path->is_path);  // the work may add it
}

TEST(MissingProgram, MayBeBroughtByThePathOrTheInstallOfTheCommand) {
  const auto ways = [](const std::string& command) {
    const auto found = ways_to_bring({.name = "greet"}, {"sh", "-e", "-c", command});
    std::string out = found.by_command ? "?" : "";
    for (const auto& path : found.paths) out += (out.empty() ? "" : " ") + path;
    return out;
  };
  for (const auto& [command, expected] :
       {std::pair<std::string, std::string>{"PATH=$PWD/bin:$PATH greet", "bin/greet"},
        {"export PATH=\"bin:$PATH\"\ngreet --help", "bin/greet"},
        {"PATH+=:/workspace/a/b greet", "a/b/greet"},
        {"PATH=.:$PATH; greet", "greet"},
        {"PATH=\"$ROOT/bin:$PATH\" greet", "?"},
        {"PATH=$(npm bin):$PATH greet", "?"},
        {"pip install -e . && greet --help", "?"},
        {"python3 setup.py develop; greet", "?"},
        {"make install PREFIX=/tmp\ngreet", "?"},
        {"cmake --install b && greet", "?"},
        {"npm install -g . && greet", "?"},
        {"sh ./install.sh && greet", "?"},
        {". ./env.sh && greet", "?"},
        {"pip install -e . && make test", "?"},
        {"greet", ""},
        {"PYTHONPATH=src greet", ""},
        {"PATH=/opt/greet/bin:$HOME/bin:$PATH greet", ""},
        {"npm ci && greet", ""},
        {"npm install && greet", ""},
        {"sudo apt-get install -y greet && greet", ""},
        {"cd install && greet", ""},
        {"greet && pip install -e .", ""},
        {"command -v other || greet", ""},
        {"make && greet", ""}})
    EXPECT_EQ(ways(command), expected) << command;
}

}  // namespace
}  // namespace pawl::gates
