// Reads statements: who signed them, what they say, and whether the run still agrees.
#include "ledger/attested.h"

#include <algorithm>

#include "ledger/attestation.h"
#include "ledger/chain.h"

namespace pawl::ledger {
namespace {

const Json& at(const Json& json, const char* path) {
  static const Json kNothing;
  const Json::json_pointer pointer(path);
  return json.contains(pointer) ? json.at(pointer) : kNothing;
}

const Json& list_at(const Json& json, const char* path) {
  static const Json kNone = Json::array();
  const Json& found = at(json, path);
  return found.is_array() ? found : kNone;
}

// nullopt: not a statement about a run of Pawl.
std::optional<Attested> read_statement(std::string_view payload) {
  const auto json = parse_json(payload);
  if (!json || text_in(*json, "_type") != kStatementType ||
      text_in(*json, "predicateType") != kPredicateType ||
      text_in(at(*json, "/predicate/buildDefinition"), "buildType") != kBuildType)
    return std::nullopt;
  Attested out{.run_id = text_in(at(*json, "/predicate/runDetails/metadata"), "invocationId"),
               .subjects = list_at(*json, "/subject")};
  for (const auto& chain : list_at(*json, "/predicate/runDetails/byproducts")) {
    if (text_in(chain, "name") == kRunChain) {
      const Json& run = at(chain, "/annotations/pawl_run");
      out.state = text_in(run, "state");
      out.ledger_rows = integer_in(run, "rows");
      out.ledger_head = text_in(at(chain, "/digest"), kHeadDigest);
    } else if (const Json& phase = at(chain, "/annotations/pawl_phase"); phase.is_object()) {
      out.phases.push_back(phase);
    }
  }
  if (out.run_id.empty() || out.state.empty() || out.ledger_head.empty() || out.ledger_rows < 1)
    return std::nullopt;
  return out;
}

// Says why no signature is valid. The fields that it looks at are not signed: they only help a person to find
// the cause.
AttestationProblem why_not_signed(const Envelope& envelope, const std::string& public_key) {
  if (envelope.payload_type != kStatementPayloadType)
    return {.kind = "payload_type",
            .detail = "its payloadType is " + printable(envelope.payload_type) + ", not " +
                      std::string(kStatementPayloadType)};
  std::string others;
  for (const auto& each : envelope.signatures) {
    if (each.keyid == public_key || each.keyid.empty())
      return {.kind = "signature",
              .detail = "its signature does not hold: payload, payloadType or signature was changed"};
    others += (others.empty() ? "" : ", ") + printable(each.keyid);
  }
  return {.kind = "key", .detail = "it names " + others + " as its signer, which is not the trusted key"};
}

}  // namespace

AttestationReport check_attestation(const Envelope& envelope, const std::string& public_key) {
  AttestationReport out{.public_key = public_key};
  if (!is_signed_by(envelope, public_key)) {
    out.problems.push_back(why_not_signed(envelope, public_key));
    return out;
  }
  if (envelope.payload_type == kStatementPayloadType) out.attested = read_statement(envelope.payload);
  if (!out.attested)
    out.problems.push_back(
        {.kind = "statement", .detail = "it is signed, but it is not an attestation of a Pawl run"});
  return out;
}

Status compare(store::Reader& store, AttestationReport& report) {
  const auto& attested = *report.attested;
  const auto run = store.run(attested.run_id);
  if (!run && run.error().kind == ErrorKind::kNotFound) return {};
  PAWL_OK(run);
  report.is_compared = true;
  PAWL_TRY(const auto files, files_of(store, attested.run_id));
  const auto problem = [&](const char* kind, std::string detail) {
    report.problems.push_back({.kind = kind, .detail = std::move(detail)});
  };
  const auto found =
      verify(files, {.public_key = report.public_key, .live = run->state == store::RunState::kExecuting});
  if (!found.ok) problem("ledger", not_whole(attested.run_id, found).error().message);
  const Chain chain = check_chain(kRunChain, files.run);
  const auto rows = static_cast<std::size_t>(attested.ledger_rows);
  if (chain.hashes.size() < rows || chain.hashes[rows - 1] != attested.ledger_head)
    problem("mismatch",
            "row " + std::to_string(rows) + " of the run's ledger does not have the hash that is attested");
  else if (chain.hashes.size() > rows || run->state == store::RunState::kExecuting)
    problem("superseded", "the run went on after it was attested; attest it again when it is over");
  return {};
}

Json to_json(const AttestationReport& report) {
  Json problems = Json::array();
  for (const auto& problem : report.problems)
    problems.push_back({{"kind", problem.kind}, {"detail", problem.detail}});
  Json out = {{"ok", report.problems.empty()},
              {"public_key", report.public_key},
              {"compared", report.is_compared},
              {"problems", std::move(problems)}};
  if (!report.attested) return out;
  out["run_id"] = report.attested->run_id;
  out["state"] = report.attested->state;
  out["subjects"] = report.attested->subjects;
  out["ledger_head"] = report.attested->ledger_head;
  out["ledger_rows"] = report.attested->ledger_rows;
  out["phases"] = report.attested->phases;
  return out;
}

}  // namespace pawl::ledger
