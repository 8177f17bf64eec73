// Signs a run's evidence for other people and tools: an in-toto Statement in a DSSE envelope
// (docs/attestation.md).
#include <fmt/format.h>

#include "cli/context.h"
#include "cli/output_file.h"
#include "cli/render/say.h"
#include "executor/start_run.h"
#include "ledger/attestation.h"
#include "views/accepted.h"
#include "views/seen.h"

namespace pawl::cli {
namespace {

struct AttestOptions {
  StateOptions state;
  std::string run;
  OutputOptions output;
};

struct Made {
  std::string envelope;
  Json subjects;
};

// Returns "" when apply makes no commit, and says why on stderr. The commit follows from the run alone. An
// earlier `pawl apply` makes no difference, and a branch is not trusted because it may have been moved.
Result<std::string> commit_of(const State& state, const views::Evidence& evidence) {
  const auto found = views::commit_id_of(*state.workspaces, evidence);
  if (!found) tell("pawl: no commit is attested: {}\n", found.error().message);
  return found.value_or("");
}

Result<ledger::Work> work_of(const State& state, const views::Evidence& evidence) {
  ledger::Work out;
  out.plan_text = evidence.plan_text;
  out.layers = evidence.layers;
  if (const auto& policy = evidence.plan.policy) out.policy_blake3 = policy->blake3;
  if (auto whole = views::check_content(*state.workspaces, evidence); !whole)
    return std::unexpected(std::move(whole).error().in(
        "what the run changed can't be read any more (`pawl gc` takes it from old runs: attest before)"));
  PAWL_TRY(auto patch, views::patch_of(*state.workspaces, evidence, views::Purpose::kShown));
  for (const auto& left_out : patch.left_out)
    tell("pawl: not in the attested patch: {}: {}\n", printable(left_out.path), left_out.reason);
  out.patch = std::move(patch.text);
  PAWL_TRY(out.commit, commit_of(state, evidence));
  return out;
}

Result<Made> attest(const State& state, const std::string& run_id) {
  PAWL_TRY(const auto run, state.store->run(run_id));
  if (run.state == store::RunState::kExecuting)
    return fail(ErrorKind::kInvalid, "run " + run_id + " is not over; finish it with `pawl resume " + run_id +
                                         "`, then attest it");
  PAWL_TRY(const auto evidence, views::evidence_of(state, run_id));
  PAWL_OK(views::check_judged(evidence));
  PAWL_TRY(const auto work, work_of(state, evidence));
  PAWL_OK(views::check_seen(*state.workspaces, evidence));
  PAWL_TRY(Json statement,
           ledger::statement_of(evidence.run, evidence.files, work, state.sealer->public_key()));
  std::string envelope =
      ledger::sealed_envelope(*state.sealer, ledger::kStatementPayloadType, canonical(statement)) + "\n";
  if (envelope.size() > ledger::kEnvelopeBytesMax)
    return fail(ErrorKind::kExhausted,
                fmt::format("the attestation of run {} would have more than the {} bytes that `pawl verify` "
                            "reads; `pawl export` it instead",
                            run_id, ledger::kEnvelopeBytesMax));
  if (evidence.run.state != store::RunState::kComplete)
    tell("pawl: run {} is {}: that is what is attested\n", run_id, name(evidence.run.state));
  return Made{.envelope = std::move(envelope), .subjects = std::move(statement["subject"])};
}

void print_written(const AttestOptions& options, const std::string& run_id, const Made& made) {
  if (options.state.json)
    return print_json({{"run_id", run_id}, {"file", options.output.path}, {"subjects", made.subjects}});
  say("{} attests\n", options.output.path);
  print_subjects(made.subjects);
}

Status attest(const AttestOptions& options, bool to_stdout) {
  PAWL_TRY(const State state, open_state(options.state));
  PAWL_TRY(const std::string run_id, state.store->resolve_run(options.run));
  PAWL_TRY(const auto made, attest(state, run_id));
  PAWL_OK(write_output("attest", options.output, made.envelope));
  if (!to_stdout) print_written(options, run_id, made);
  return {};
}

}  // namespace

void add_attest(const Command& program) {
  const Command command =
      program.add("attest", "Sign the result of a run and its judgement, for others to check");
  auto options = std::make_shared<AttestOptions>();
  command.required("RUN", options->run, kRunHelp);
  command.option("-o,--output", options->output.path, "A file to write (- or none: stdout)");
  add_force_option(command, options->output);
  add_state_options(command, options->state);
  command.footer(
      "Writes an in-toto Statement with SLSA provenance in a DSSE envelope, signed by the key of the "
      "ledger. It covers\nthe patch of `pawl diff`, the commit of `pawl apply`, and the run's gates, "
      "signals and ledger head.\nExit code 13: the ledger does not verify, and no statement is "
      "signed.\n\nExample:\n  pawl attest last -o run.intoto.json && pawl verify --attestation "
      "run.intoto.json");
  command.on_run([=] {
    const auto to_stdout = goes_to_stdout(options->output);
    if (!to_stdout) return report_output(to_stdout.error());
    const auto status = attest(*options, *to_stdout);
    if (status) return kDone;
    const int code = report(status.error());
    return status.error().kind == ErrorKind::kCorrupt ? kLedgerCorrupted : code;
  });
}

}  // namespace pawl::cli
