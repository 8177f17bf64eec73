#include <fmt/format.h>

#include "cli/context.h"
#include "os/file.h"

namespace pawl::cli {
namespace {

struct VerifyOptions {
  StateOptions state;
  std::string what, anchor, key;
};

Result<ledger::Report> verify(const VerifyOptions& options) {
  ledger::Trust trust{.public_key = options.key, .anchor = options.anchor};
  if (os::is_folder(options.what)) return ledger::verify_directory(options.what, trust);
  PAWL_TRY(const State state, open_state(options.state));
  PAWL_TRY(const std::string run_id, state.store->resolve_run(options.what));
  PAWL_TRY(const auto run, state.store->run(run_id));
  trust.live = run.state == store::RunState::kExecuting;
  if (trust.public_key.empty()) {
    PAWL_TRY(trust.public_key, ledger::public_key_of(state.folder));
  }
  return ledger::verify_run(*state.store, run_id, trust);
}

void print(const ledger::Report& report) {
  for (const auto& problem : report.problems)
    fmt::print("{}:{}: {}: {}\n", problem.file, problem.row, problem.kind, problem.detail);
  fmt::print("{}: {} rows, head {}\n", report.ok ? "verified" : "NOT verified", report.rows, report.head);
  if (report.is_signed) fmt::print("signed by {}\n", report.public_key);
  if (report.unsigned_rows > 0)
    fmt::print("{} row(s) since the last signed head: the run goes on\n", report.unsigned_rows);
}

}  // namespace

void add_verify(const Command& program) {
  const Command command = program.add("verify", "Prove that a run's ledger is whole and unchanged");
  auto options = std::make_shared<VerifyOptions>();
  command.required("RUN|DIR", options->what, "A run, or a folder that `pawl export` wrote");
  command.option("--anchor", options->anchor,
                 "A ledger head that you kept elsewhere (a Pawl-Ledger-Head trailer)");
  command.option("--key", options->key, "The public key you trust, in hexadecimal");
  add_state_options(command, options->state);
  command.footer(
      "Exit code 13 when something was changed, is missing, reordered, truncated, forged or extra.\n\n"
      "Example:\n  pawl verify last --anchor \"$(git log -1 "
      "--format='%(trailers:key=Pawl-Ledger-Head,valueonly)' pawl/<run>)\"");
  command.on_run([=] {
    const auto found = verify(*options);
    if (!found) return report(found.error());
    if (options->state.json) {
      print_json(to_json(*found));
    } else {
      print(*found);
    }
    return found->ok ? kDone : kLedgerCorrupted;
  });
}

}  // namespace pawl::cli
