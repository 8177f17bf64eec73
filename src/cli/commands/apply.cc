#include <fmt/format.h>

#include "cli/context.h"
#include "cli/missing.h"
#include "cli/render/say.h"
#include "views/accepted.h"

namespace pawl::cli {
namespace {

struct Applied {
  std::string branch, commit;
  std::vector<store::PhaseRow> phases;
};

Result<Applied> apply_run(const StateOptions& options, const std::string& text) {
  PAWL_TRY(const State state, open_state(options));
  PAWL_TRY(const std::string run_id, state.store->resolve_run(text));
  Applied out{.branch = "pawl/" + run_id};
  PAWL_TRY(auto evidence, views::evidence_of(state, run_id));
  PAWL_OK(views::check_content(*state.workspaces, evidence));
  PAWL_TRY(const auto commits, views::commits_of(evidence));
  PAWL_TRY(out.commit, state.workspaces->apply(out.branch, commits));
  out.phases = std::move(evidence.phases);
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
      "Makes one commit for each phase, with the trailers Pawl-Run and Pawl-Ledger-Head. That of work which "
      "a "
      "person\napproved has Pawl-Outcome: approved, too. The working tree, the index\nand the current branch "
      "stay as "
      "they are. A folder source with uncommitted "
      "changes at the start of the run gets\nno commit, because no gate judged its "
      "commit.\n\nExample:\n  pawl apply last && git merge pawl/<run>");
  command.on_run([=] {
    const auto applied = apply_run(*options, *run);
    if (!applied) return report(applied.error());
    report_missing(applied->phases);
    if (options->json) {
      Json out;
      out["branch"] = applied->branch;
      out["commit"] = applied->commit;
      out["missing"] = views::missing_json(applied->phases);
      print_json(out);
    } else {
      say("branch {} at {}\nLook at it with: git log -p {}\n", applied->branch, applied->commit,
          applied->branch);
    }
    return kDone;
  });
}

}  // namespace pawl::cli
