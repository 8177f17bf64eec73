#include <fmt/format.h>

#include "cli/context.h"
#include "cli/render/say.h"
#include "executor/state_folder.h"
#include "ledger/attestation.h"
#include "os/file.h"
#include "os/process.h"
#include "os/state_folder.h"
#include "views/accepted.h"

namespace pawl::cli {
namespace {

struct VerifyOptions {
  StateOptions state;
  std::string what, attestation, anchor, key;
  bool all = false;
};

Result<ledger::Report> verify(const State& state, const store::RunRow& run, ledger::Trust trust) {
  if (trust.public_key.empty()) trust.public_key = state.sealer->public_key();
  views::make_readable(state, run.run_id);
  return ledger::verify_run(*state.store, run.run_id, trust);
}

Result<ledger::Report> verify(const VerifyOptions& options) {
  const ledger::Trust trust{.public_key = options.key, .anchor = options.anchor};
  if (os::is_folder(options.what)) return ledger::verify_directory(options.what, trust);
  PAWL_TRY(const State state, open_state(options.state));
  PAWL_TRY(const std::string run_id, state.store->resolve_run(options.what));
  PAWL_TRY(const auto run, state.store->run(run_id));
  return verify(state, run, trust);
}

void print(const std::vector<ledger::Problem>& problems) {
  for (const auto& problem : problems)
    say("{}:{}: {}: {}\n", problem.file, problem.row, problem.kind, problem.detail);
}

void print(const ledger::Report& report, const VerifyOptions& options) {
  print(report.problems);
  say("{}: {} rows, head {}\n", report.ok ? "verified" : "NOT verified", report.rows, report.head);
  if (!report.ok) say("Next: restore it from a backup; do not apply the work of this run\n");
  if (report.is_signed)
    say("signed by {}{}\n", report.public_key, options.key.empty() ? "" : ", the key you trust");
  if (report.ok && !options.anchor.empty()) say("the anchor is one of its rows\n");
  if (report.unsigned_rows > 0)
    say("{} row(s) are newer than the last signed head; the run is not over\n", report.unsigned_rows);
  for (const auto& lack : report.lacks) say("written by an older version: {}\n", ledger::lack_text(lack));
}

// Verifies every run of the folder, and checks whether one is gone. Returns whether all of it is whole.
Result<bool> verify_all(const VerifyOptions& options) {
  constexpr std::size_t kRunsMax = 1'000'000;
  PAWL_TRY(const State state, open_state(options.state));
  PAWL_TRY(const auto runs, state.store->runs(kRunsMax));
  Json out = Json::array();
  std::size_t bad = 0;
  for (const auto& run : runs) {
    PAWL_TRY(const auto report, verify(state, run, {.public_key = options.key}));
    bad += report.ok ? 0 : 1;
    Json row = to_json(report);
    row["run_id"] = run.run_id;
    if (options.state.json) out.push_back(std::move(row));
    if (options.state.json) continue;
    say("run {}: ", run.run_id);
    print(report, options);
  }
  PAWL_TRY(const auto missing, ledger::missing_runs(*state.store));
  const bool ok = bad == 0 && missing.empty();
  if (options.state.json) {
    Json gone = Json::array();
    for (const auto& problem : missing)
      gone.push_back({{"run_id", problem.file}, {"kind", problem.kind}, {"detail", problem.detail}});
    print_json({{"ok", ok}, {"runs", std::move(out)}, {"missing", std::move(gone)}});
    return ok;
  }
  for (const auto& problem : missing) say("run {}: {}: {}\n", problem.file, problem.kind, problem.detail);
  say("{} of {} runs verified, {} missing or replaced\n", runs.size() - bad, runs.size(), missing.size());
  return ok;
}

// Compares an attestation with the run that it is about, when there is a database. Creates no file: a folder
// may hold no more than a public key.
Status compare_with_run(const StateOptions& options, const std::string& folder,
                        ledger::AttestationReport& report) {
  const std::string location = store_location(options, folder);
  const std::string database = os::join(folder, os::kDatabaseFile);
  if (location == executor::default_location(folder) && !os::exists(database)) return {};
  if (os::exists(database)) PAWL_OK(executor::check_state_folder(folder));
  PAWL_TRY(const auto store, store::open_store(location, nullptr));
  return ledger::compare(*store, report);
}

Result<ledger::AttestationReport> verify_attestation(const VerifyOptions& options) {
  auto text = os::read_file(options.attestation, ledger::kEnvelopeBytesMax);
  if (!text) return std::unexpected(std::move(text).error().in("--attestation"));
  auto envelope = ledger::read_envelope(*text);
  if (!envelope) return std::unexpected(std::move(envelope).error().in(options.attestation));
  const auto folder = find_folder(options.state);
  // A user who names a folder trusts its key. A folder that is only found may have come from anywhere.
  const bool is_named = !options.state.dir.empty() || os::environment_value("PAWL_DIR");
  if (folder && !is_named) PAWL_OK(executor::check_state_folder(*folder));
  std::string key = options.key;
  if (key.empty()) {
    auto known = folder ? ledger::public_key_of(*folder) : folder;
    if (!known)
      return std::unexpected(std::move(known).error().in(
          "an attestation needs a public key to be checked: name the one you trust with --key"));
    key = *std::move(known);
  }
  auto report = ledger::check_attestation(*envelope, key);
  if (report.attested && folder) PAWL_OK(compare_with_run(options.state, *folder, report));
  return report;
}

void print(const ledger::AttestationReport& report, bool by_option) {
  for (const auto& problem : report.problems) say("{}: {}\n", problem.kind, problem.detail);
  say("{}", report.problems.empty() ? "verified" : "NOT verified");
  if (report.attested) {
    const auto& attested = *report.attested;
    say(": run {} is {}, ledger head {}, {} rows\n", printable(attested.run_id), printable(attested.state),
        printable(attested.ledger_head), attested.ledger_rows);
    print_subjects(attested.subjects);
    for (const auto& phase : attested.phases)
      say("phase {} {} {}, accepted by: {}\n", printable(text_in(phase, "phase_id")),
          printable(text_in(phase, "state")), printable(text_in(phase, "outcome")),
          printable(text_in(phase, "accepted_by")));
    say("{}\n", report.is_compared ? "compared with the run in the state folder"
                                   : "not compared with the run: no state folder here has it");
  } else {
    say("\n");
  }
  say("checked against the public key {} ({})\n", report.public_key,
      by_option ? "--key" : "keys/ledger.pub of the state folder");
}

// Exit code 13 for a table, or a file of an export, that can't be read, too: it is a part of the record.
int report_damage(const Error& error) {
  const int code = report(error);
  return error.kind == ErrorKind::kCorrupt ? kLedgerCorrupted : code;
}

int usage(const char* what) {
  tell("pawl: {}\n", what);
  return kUsage;
}

int run_attestation(const VerifyOptions& options) {
  const auto found = verify_attestation(options);
  if (!found) return report(found.error());
  if (options.state.json)
    print_json(to_json(*found));
  else
    print(*found, !options.key.empty());
  return found->problems.empty() ? kDone : kLedgerCorrupted;
}

}  // namespace

void add_verify(const Command& program) {
  const Command command = program.add("verify", "Check that a run's ledger is complete and unchanged");
  auto options = std::make_shared<VerifyOptions>();
  command.option("RUN|DIR", options->what, "A run, or a folder that `pawl export` wrote");
  command.flag("--all", options->all, "Every run of the state folder, and whether one was taken away");
  command.option("--attestation", options->attestation, "Instead, a file that `pawl attest` wrote");
  command.option("--anchor", options->anchor,
                 "A ledger head that you kept elsewhere (a Pawl-Ledger-Head trailer)");
  command.option("--key", options->key, "The public key you trust, in hexadecimal");
  // A shell command that finds no hash prints an empty text. An empty value therefore does not mean "without
  // one".
  for (const auto* name : {"--anchor", "--key"}) command.hash(name);
  command.not_together("--attestation", "RUN|DIR");
  command.not_together("--attestation", "--anchor");
  for (const auto* name : {"RUN|DIR", "--attestation", "--anchor"}) command.not_together("--all", name);
  add_state_options(command, options->state);
  command.footer(
      "Exit code 13: a row was changed, removed, reordered, truncated, forged or added.\n\n"
      "Example:\n  pawl verify last --anchor \"$(git log -1 "
      "--format='%(trailers:key=Pawl-Ledger-Head,valueonly)' pawl/<run>)\"\n"
      "  pawl verify --all\n"
      "  pawl verify --attestation run.intoto.json --key \"$(cat ledger.pub)\"");
  command.on_run([=] {
    if (!options->attestation.empty()) return run_attestation(*options);
    if (options->all) {
      const auto whole = verify_all(*options);
      if (!whole) return report_damage(whole.error());
      return *whole ? kDone : kLedgerCorrupted;
    }
    if (options->what.empty())
      return usage("name what to verify: a run, a folder, --all, or --attestation FILE");
    const auto found = verify(*options);
    if (!found) return report_damage(found.error());
    if (options->state.json) {
      print_json(to_json(*found));
    } else {
      print(*found, *options);
    }
    return found->ok ? kDone : kLedgerCorrupted;
  });
}

}  // namespace pawl::cli
