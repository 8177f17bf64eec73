#include <cstdio>

#include "cli/context.h"
#include "os/process.h"

namespace {

int run_command_line(int argc, char** argv) {
  using namespace pawl::cli;
  CLI::App app("Pawl runs autonomous coding agents durably: no crash loses, repeats or double-counts work.",
               "pawl");
  app.set_version_flag("--version", "pawl " PAWL_VERSION);
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  app.footer("Example:\n  pawl run plan.yaml\n\n`pawl COMMAND --help` explains a command with an example.");
  int exit_code = kDone;
  for (const auto add :
       {add_run, add_resume, add_status, add_inspect, add_logs, add_diff, add_apply, add_verify, add_check,
        add_export, add_gc, add_retry, add_skip, add_cancel, add_migrate, add_sandbox})
    add(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? kDone : kUsage;
  }
  return exit_code;
}

}  // namespace

int main(int argc, char** argv) {
  pawl::os::ignore_broken_pipes();
  return run_command_line(argc, argv);
}
