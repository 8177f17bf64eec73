// What a sealed run's ledger says, for those who read in-toto: a Statement v1 whose predicate is SLSA
// provenance v1. docs/attestation.md is the format; change both together. Pure, but for compare().
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "ledger/dsse.h"
#include "ledger/ledger.h"
#include "store/store.h"

namespace pawl::ledger {

inline constexpr std::string_view kStatementPayloadType = "application/vnd.in-toto+json";

// What a run made, and of what, as far as its rows do not say it.
struct Work {
  std::string patch;   // what `pawl diff` prints
  std::string commit;  // the last that `pawl apply` makes; "" when it makes none
  std::string plan_text;
  std::string policy_blake3;            // of the plan's policy; "" when it has none
  std::vector<store::LayerRow> layers;  // that the patch is of
};

// REQUIRES: `files` verify. Everything but `work` is taken from them, not from what the database says
// besides. kInvalid: the run is not sealed; kCorrupt: `run` or `work` is not what its rows say.
Result<Json> statement_of(const store::RunRow& run, const Files& files, const Work& work,
                          const std::string& public_key);

// What a statement says, for people and programs.
struct Attested {
  std::string run_id, state, ledger_head;
  std::int64_t ledger_rows = 0;  // of the run's chain
  Json subjects = Json::array();
  Json phases = Json::array();
};

struct AttestationProblem {
  std::string kind;  // payload_type | key | signature | statement | ledger | mismatch | superseded
  std::string detail;
};

struct AttestationReport {
  std::string public_key;            // against which it was checked
  std::optional<Attested> attested;  // when it holds the signature of that key, and is a statement of a run
  bool is_compared = false;          // with the run in a database
  std::vector<AttestationProblem> problems;
};
Json to_json(const AttestationReport& report);

// The keys that the envelope names count for nothing: `public_key` is the one that is trusted.
AttestationReport check_attestation(const Envelope& envelope, const std::string& public_key);
// Whether the run's ledger is whole and ends with the head that is attested. A run that is not there is no
// problem.
Status compare(store::Store& store, AttestationReport& report);

}  // namespace pawl::ledger
