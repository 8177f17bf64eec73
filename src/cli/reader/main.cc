// pawl-reader: the commands that people and scripts call again and again to look at a run. Static, so that it
// starts in a millisecond. `pawl` (front/main.cc) becomes this program.
#include "cli/commands/list.h"

int main(int argc, char** argv) {
  using namespace pawl::cli;
  return run_command_line(argc, argv, commands_of<Program::kReader>());
}
