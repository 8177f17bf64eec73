// `pawl` as people call it: a small static program, because a sandbox is started often. It has two commands
// of its own: `sandbox` starts one, and agents call `checkpoint` in there, where this may be the only
// program. For all others it becomes a program that lies beside it (execve(2): the same process, the same
// arguments). A step whose agent speaks the Agent Client Protocol has it by another name, which starts the client.
#include <algorithm>
#include <string>
#include <string_view>

#include "agent/acp/program.h"
#include "cli/commands/list.h"
#include "cli/context.h"
#include "cli/render/say.h"
#include "cli/render/terminal.h"
#include "os/file.h"
#include "os/process.h"

namespace {

int become(const char* program, char** argv) {
  const auto own = pawl::os::own_executable();
  const std::string path =
      own ? pawl::os::join(own->substr(0, own->rfind('/')), program) : std::string(program);
  auto failure = pawl::os::become(path, argv);
  failure.error().message += "; it belongs beside pawl: copy all four from one build";
  return pawl::cli::report(failure.error());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 0 && pawl::agent::acp::is_name(argv[0])) return pawl::agent::acp::run({argv + 1, argv + argc});
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (argc == 2 && first == "--version") {
    const auto written = pawl::cli::print_out(pawl::cli::line_of("pawl {}\n", PAWL_VERSION));
    return written ? pawl::cli::kDone : pawl::cli::report(written.error());
  }
  using pawl::cli::Program;
  if (const auto own = pawl::cli::command_of<Program::kFront>(first); own != nullptr)
    return pawl::cli::run_command_line(argc, argv, {own});
  const auto named = std::ranges::find(pawl::cli::kCommandNames, first, &pawl::cli::CommandName::name);
  const bool reads = named != pawl::cli::kCommandNames.end() && named->program == Program::kReader;
  return become(reads ? "pawl-reader" : "pawl-engine", argv);
}
