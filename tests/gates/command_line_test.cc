// The first lines of programs that do not take their command line. Those of agent programs are recorded: Claude Code
// 2.1.197, Codex 0.169.0, Gemini CLI 0.61.0, Qwen Code 0.15.10, opencode 1.18.33, pi 0.73.1.
#include "gates/reading/command_line.h"

#include <gtest/gtest.h>

namespace pawl::gates {
namespace {

TEST(CommandLine, TheLineThatRefusesItIsFound) {
  for (const char* line :
       {"error: unknown option '--no-such-flag'", "error: option '--model <model>' argument missing",
        "error: unexpected argument '--no-such-flag' found", "error: unrecognized subcommand 'x'",
        "error: invalid value 'nope' for '--sandbox <SANDBOX_MODE>'",
        "Unknown arguments: such-flag, suchFlag", "Invalid values:", "Error: Unknown option: --no-such-flag",
        "ls: unrecognized option '--nope'", "sh: 0: Illegal option -z",
        "agent.py: error: unrecognized arguments: --nope", "grep: invalid option -- 'k'"})
    EXPECT_EQ(refused_command_line(std::string("\n") + line + "\nmore\n"), line);
  EXPECT_EQ(refused_command_line("▄ a logo\n█▀▀█\n\nCommands:\n  opencode run [message..]\n"), "Commands:");
  EXPECT_EQ(refused_command_line("usage: agent [-h] goal\nagent: error: the goal is missing\n"),
            "usage: agent [-h] goal");
}

TEST(CommandLine, WorkThatFailsForAnotherReasonDoesNot) {
  for (const char* line :
       {"", "I mend the unknown option '--x'.", "{\"type\":\"text\",\"text\":\"error: unknown option\"}",
        "error: the option parser fails", "Unknown error", "invalid syntax (x.py, line 3)",
        "unexpected token at line 3", "error: unexpected end of file", "Invalid API key",
        "no such file or directory", "Options are good", "error: Invalid argument (os error 22)",
        "invalid argument", "FAILED: option '--x' is not tested"})
    EXPECT_EQ(refused_command_line(line), "") << line;
  std::string later;
  for (int i = 0; i < 12; ++i) later += "I work.\n";
  EXPECT_EQ(refused_command_line(later + "error: unknown option '--x'\n"), "") << "a command of the agent";
  EXPECT_EQ(refused_command_line("error: unknown option '" + std::string(1 << 20, 'x')).size(), 200U);
}

}  // namespace
}  // namespace pawl::gates
