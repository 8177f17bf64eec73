// `pawl` as people call it: a static program that does what needs no libgit2 by itself, and becomes
// pawl-engine, which lies beside it, for the rest (execve(2): the same process, the same arguments).
#include <algorithm>
#include <array>
#include <cstdio>
#include <string>
#include <string_view>

#include "cli/context.h"
#include "os/file.h"
#include "os/process.h"

namespace {

struct Command {
  std::string_view name;
  pawl::cli::AddCommand add;
};
constexpr std::array kOwn = {Command{"sandbox", pawl::cli::add_sandbox},
                             Command{"status", pawl::cli::add_status}, Command{"logs", pawl::cli::add_logs},
                             Command{"inspect", pawl::cli::add_inspect},
                             Command{"agentd", pawl::cli::add_agentd}};

int become_engine(char** argv) {
  const auto own = pawl::os::own_executable();
  const std::string engine =
      own ? pawl::os::join(own->substr(0, own->rfind('/')), "pawl-engine") : "pawl-engine";
  auto failure = pawl::os::become(engine, argv);
  failure.error().message += "; it belongs beside pawl: copy all three from one build";
  return pawl::cli::report(failure.error());
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (argc == 2 && first == "--version") {
    std::puts("pawl " PAWL_VERSION);
    return pawl::cli::kDone;
  }
  const auto command = std::ranges::find(kOwn, first, &Command::name);
  if (command == kOwn.end()) return become_engine(argv);
  return pawl::cli::run_command_line(argc, argv, {command->add});
}
