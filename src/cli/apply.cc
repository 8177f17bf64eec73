#include <fmt/format.h>

#include "cli/accepted.h"
#include "cli/context.h"

namespace pawl::cli {
namespace {

struct Applied {
  std::string branch, commit;
};

Result<Applied> apply_run(const StateOptions& options, const std::string& text) {
  PAWL_TRY(const State state, open_state(options));
  PAWL_TRY(const std::string run_id, state.store->resolve_run(text));
  PAWL_TRY(const auto run, state.store->run(run_id));
  PAWL_TRY(const auto accepted, accepted_phases(*state.store, run));
  if (accepted.empty())
    return fail(ErrorKind::kInvalid,
                "run " + run_id + " has no accepted phase to apply; see `pawl status " + run_id + "`");
  if (run.state == store::RunState::kExecuting)
    return fail(ErrorKind::kInvalid,
                "run " + run_id + " is not over; finish it with `pawl resume " + run_id + "`");
  if (run.base_commit.empty())
    return fail(ErrorKind::kInvalid,
                run.source_path + " is in no git repository; use `pawl diff " + run_id + "`");
  PAWL_TRY(const auto rows, state.store->ledger(run_id, "", 1, 1'000'000));
  const std::string head = rows.empty() ? "" : rows.back().hash;
  const auto message = [&](const workspace::AppliedPhase& phase) {
    return fmt::format("{}: {}\n\nPawl-Run: {}\nPawl-Ledger-Head: {}\n", phase.phase_id, phase.goal, run_id,
                       head);
  };
  PAWL_TRY(const WallTime when, parse_rfc3339(run.ended_at));
  Applied out{.branch = "pawl/" + run_id};
  PAWL_TRY(out.commit, state.workspaces->apply(run.source_path, out.branch,
                                               {.base_id = run.base_id, .git_commit = run.base_commit},
                                               accepted, message, when.micros / 1'000'000));
  return out;
}

}  // namespace

void add_apply(const Command& program) {
  const Command command = program.add("apply", "Commit a run's accepted phases on a new branch pawl/<run>");
  auto options = std::make_shared<StateOptions>();
  auto run = std::make_shared<std::string>();
  command.required("RUN", *run, kRunHelp);
  add_state_options(command, *options);
  command.footer(
      "One commit a phase, with the trailers Pawl-Run and Pawl-Ledger-Head. The working tree, the index and "
      "the current\n"
      "branch are not touched.\n\nExample:\n  pawl apply last && git merge pawl/<run>");
  command.on_run([=] {
    const auto applied = apply_run(*options, *run);
    if (!applied) return report(applied.error());
    if (options->json) {
      Json out;
      out["branch"] = applied->branch;
      out["commit"] = applied->commit;
      print_json(out);
    } else {
      fmt::print("branch {} at {}\nLook at it with: git log -p {}\n", applied->branch, applied->commit,
                 applied->branch);
    }
    return kDone;
  });
}

}  // namespace pawl::cli
