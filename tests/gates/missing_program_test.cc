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

}  // namespace
}  // namespace pawl::gates
