// Attestations: what a sealed run's ledger says, as an in-toto Statement v1 whose predicate is SLSA
// provenance v1. docs/attestation.md is the format; change both together. Pure, except for compare().
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "ledger/dsse.h"
#include "ledger/ledger.h"
#include "store/reader.h"

namespace pawl::ledger {

inline constexpr std::string_view kStatementPayloadType = "application/vnd.in-toto+json";

// The facts of a statement that the run's rows do not have: what the run made, and from what.
struct Work {
  std::string patch;   // what `pawl diff` prints
  std::string commit;  // the last commit that `pawl apply` makes; "" when it makes none
  std::string plan_text;
  std::string policy_blake3;            // the plan's policy; "" without one
  std::vector<store::LayerRow> layers;  // the accepted layers in the patch
};

// REQUIRES: `files` verify. Facts come from the rows of `files`, and only the rest from `work`. kInvalid: the
// run is not sealed. kCorrupt: `run`, or the plan or the layers of `work`, differ from the rows.
Result<Json> statement_of(const store::RunRow& run, const Files& files, const Work& work,
                          const std::string& public_key);

// The content of a statement, for people and programs.
struct Attested {
  std::string run_id, state, ledger_head;
  std::int64_t ledger_rows = 0;  // rows in the run's chain
  Json subjects = Json::array();
  Json phases = Json::array();
};

struct AttestationProblem {
  std::string kind;  // payload_type | key | signature | statement | ledger | mismatch | superseded
  std::string detail;
};

struct AttestationReport {
  std::string public_key;            // the trusted key of the check
  std::optional<Attested> attested;  // present: that key signed a statement about a run
  bool is_compared = false;          // true: compared with the run in a database
  std::vector<AttestationProblem> problems;
};
Json to_json(const AttestationReport& report);

// Checks the envelope against `public_key` only. The key ids that the envelope names are not trusted.
AttestationReport check_attestation(const Envelope& envelope, const std::string& public_key);
// Adds problems when the run's ledger is damaged, or does not end with the attested head. A run that is not
// in the database is not a problem. REQUIRES: report.attested is present.
Status compare(store::Reader& store, AttestationReport& report);

}  // namespace pawl::ledger
