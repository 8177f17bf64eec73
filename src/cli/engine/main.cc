// pawl-engine: every command. `pawl` (front/main.cc) becomes this program for commands that no smaller
// program has, and for the help of all.
#include "cli/commands/list.h"

int main(int argc, char** argv) {
  using namespace pawl::cli;
  return run_command_line(argc, argv, commands_of<Program::kEngine>());
}
