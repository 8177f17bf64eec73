#include <fmt/format.h>

#include "cli/accepted.h"
#include "cli/context.h"
#include "cli/terminal.h"

namespace pawl::cli {
namespace {

Status diff(const StateOptions& options, const std::string& text) {
  PAWL_TRY(const State state, open_state(options));
  PAWL_TRY(const std::string run_id, state.store->resolve_run(text));
  PAWL_TRY(const auto run, state.store->run(run_id));
  PAWL_TRY(const auto accepted, accepted_phases(*state.store, run));
  PAWL_TRY(const std::string patch, state.workspaces->diff(run.base_id, {}, layers_topmost_first(accepted)));
  if (!options.json) return print_out(patch);
  if (valid_utf8(patch) != patch)
    return fail(ErrorKind::kInvalid, "the patch is not UTF-8, which JSON has to be: take it without --json");
  print_json({{"run_id", run_id}, {"patch", patch}});
  return {};
}

}  // namespace

void add_diff(const Command& program) {
  const Command command = program.add("diff", "Print what a run changed, as a patch for `git apply`");
  auto options = std::make_shared<StateOptions>();
  auto run = std::make_shared<std::string>();
  command.required("RUN", *run, kRunHelp);
  add_state_options(command, *options);
  command.footer(
      "Only accepted phases count: what failed attempts did is in `pawl inspect`.\n\n"
      "Example, where the plan's source is:\n  pawl diff last | git apply --check");
  command.on_run([=] {
    const auto status = diff(*options, *run);
    return status ? kDone : report(status.error());
  });
}

}  // namespace pawl::cli
