#include <fmt/format.h>

#include "cli/context.h"
#include "cli/render/say.h"

namespace pawl::cli {
namespace {

struct ExportOptions {
  StateOptions state;
  std::string run, folder;
};

Result<ledger::Report> export_run(const ExportOptions& options) {
  PAWL_TRY(const State state, open_state(options.state));
  PAWL_TRY(const std::string run_id, state.store->resolve_run(options.run));
  return ledger::export_run(*state.store, *state.sealer, run_id, options.folder, os::SystemClock().wall());
}

}  // namespace

void add_export(const Command& program) {
  const Command command = program.add("export", "Write a run's evidence to a folder that anyone can verify");
  auto options = std::make_shared<ExportOptions>();
  command.required("RUN", options->run, kRunHelp);
  command.required("DIR", options->folder, "A new folder");
  add_state_options(command, options->state);
  command.footer(
      "The folder can be checked without Pawl and its database: docs/ledger-format.md shows how, with "
      "b3sum.\n\n"
      "Example:\n  pawl export last evidence && pawl verify evidence");
  command.on_run([=] {
    const auto found = export_run(*options);
    if (!found) {
      const int code = report(found.error());
      return found.error().kind == ErrorKind::kCorrupt ? kLedgerCorrupted : code;
    }
    if (options->state.json) {
      print_json(to_json(*found));
    } else {
      say("{}: {} rows, head {}\n", options->folder, found->rows, found->head);
    }
    return kDone;
  });
}

}  // namespace pawl::cli
