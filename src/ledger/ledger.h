// The ledger: rows that anyone can check, chained by BLAKE3, with heads signed by Ed25519. This header is the
// room's door.
//
// docs/ledger-format.md is the format and golden files in tests/golden/ pin it; change all three together. A
// row is one line of canonical JSON. It has the member "prev_hash" and ends with ,"hash":"<64 hex>"}. The
// hash is BLAKE3-256 of the bytes before ,"hash":.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "store/reader.h"
#include "store/row_sealer.h"

namespace pawl::ledger {

// Returns the sealed line and its hash. Pure.
store::RowSealer::Sealed seal_row(JsonMembers content, std::int64_t seq, WallTime at,
                                  std::string_view prev_hash);

// Returns a sealer with the key pair in `<folder>/keys/`: ledger.key (mode 0600) and ledger.pub. The pair is
// made on first use and is durable then. kCorrupt: ledger.key does not parse, or is missing beside
// ledger.pub. kDenied: the folder cannot be written. kUnavailable: libsodium does not start.
Result<std::shared_ptr<const store::RowSealer>> open_sealer(const std::string& folder);
// A secret of this folder for what is cached about its objects: 32 bytes derived from its key.
std::string key_of_objects(const store::RowSealer& sealer);
// The same for the jobs and results of its steps.
std::string key_of_steps(const store::RowSealer& sealer);
Result<std::string> public_key_of(const std::string& folder);  // hexadecimal

struct Problem {
  std::string kind;      // changed | missing | reordered | truncated | forged | extra
  std::string file;      // relative: "run.jsonl", "phases/<id>/attempts.jsonl", "head.json"
  std::int64_t row = 0;  // 1-based line; 0: the file as a whole
  std::string detail;
};

// A member that rows of older versions lack. Without it, the database or a later row cannot be compared
// there.
struct Lack {
  std::string type, member;  // type of the rows; "head": the signed head of an export
  std::int64_t rows = 0;
};

struct Report {
  bool ok = false;
  std::int64_t rows = 0;
  std::string head;  // hash of the run chain's last row
  // True: there is a head, and its signature is valid for Trust::public_key, or without one for its own key.
  bool is_signed = false;
  std::string public_key;
  std::int64_t unsigned_rows = 0;  // rows of a run that goes on, after its signed head
  std::vector<Problem> problems;
  std::vector<Lack> lacks;  // by type and member
};
std::string lack_text(const Lack& lack);  // for people: "2 row(s) attempt do not say stack (...)"
Json to_json(const Report& report);

struct Files {                                              // what verification reads; lines as bytes
  std::string run;                                          // run.jsonl
  std::vector<std::pair<std::string, std::string>> phases;  // phase_id, attempts.jsonl
  std::string head;                                         // head.json; "" when absent
  // store_head.json of an export: the head that the database had; "" when absent.
  std::string store_head;
  std::string sandbox_cost;  // cost/sandbox.jsonl of this run; "" when absent
  std::string agent_usage;   // cost/agent.jsonl of this run; "" when absent
  // verify() finds cost rows without a started step (extra) and steps without a cost row (missing).
};

struct Trust {
  std::string public_key;  // hexadecimal; "": the key that the head names
  std::string anchor;      // a head that the person got elsewhere; "": none
  // True: rows after the signed head are allowed, because the run goes on. check_run() sets it from the state
  // of the run in the database.
  bool live = false;
};

// Finds and names every changed, missing, reordered, truncated, forged or extra row. Also finds intact rows
// that contradict each other: a run's end with a phase that no row ends, or an attempt judged on other work
// than was accepted before it. Pure.
Report verify(const Files& files, const Trust& trust);

// Reads the files of a run from the database.
Result<Files> files_of(store::EvidenceReader& store, const std::string& run_id);
// The files and their verification, with the tables compared with them. All of it is one state of the
// database, also while another process writes. Problems of tables have the file "pawl.db".
struct Checked {
  Files files;
  Report report;
};
// `also` may read more of the same state. Its error is returned when the run verifies. The verification comes
// after these reads, when no transaction is open any more.
Result<Checked> check_run(store::Reader& store, const std::string& run_id, Trust trust,
                          const std::function<Status()>& also = {});
// Returns the stack that the gates of an attempt saw (store::stack_hash), as its row says; "" when the row
// lacks it.
std::string stack_of(const Files& files, const std::string& phase_id, const std::string& attempt_id);
// Returns kForged with the first problem of the report. REQUIRES: the report has a problem.
std::unexpected<Error> not_whole(const std::string& run_id, const Report& report);

// Verify an exported directory (kNotFound: it has no ledger), and a run in the database. In a directory each
// .jsonl file, and each entry of phases/ and cost/, is one that an export of the run has.
Result<Report> verify_directory(const std::string& folder, const Trust& trust);
Result<Report> verify_run(store::Reader& store, const std::string& run_id, const Trust& trust);

// Returns runs that the first row of a later run names, and that are missing or begin with another row. The
// file of each problem is the run. The removal of the newest run leaves no trace.
Result<std::vector<Problem>> missing_runs(store::Reader& store);

// Writes the run's files into `folder`, durably: run.jsonl, phases/<phase_id>/attempts.jsonl,
// cost/sandbox.jsonl, cost/agent.jsonl (when there is usage), store_head.json and ledger.pub, byte for byte
// as in the database. head.json is signed now, also for a run that goes on. Checks the run first (kForged: it
// does not verify). Creates `folder`; kConflict: it is there and not empty.
Result<Report> export_run(store::Reader& store, const store::RowSealer& sealer, const std::string& run_id,
                          const std::string& folder, WallTime now);

// Updates the files under `.pawl/runs/<run_id>/` and `.pawl/cost/` from the database. They are projections,
// so they are not made durable. A file that is a prefix is appended to; any other is written anew, so a torn
// tail is not corruption.
Status project_run(store::EvidenceReader& store, const std::string& folder, const std::string& run_id);
// The same for one phase, the run's chain and the costs: what an attempt changes, whatever the number of
// phases.
Status project_phase(store::EvidenceReader& store, const std::string& folder, const std::string& run_id,
                     const std::string& phase_id);

}  // namespace pawl::ledger
