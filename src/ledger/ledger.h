// The ledger: rows anyone can check, chained by BLAKE3, with heads signed by Ed25519. The room's door.
//
// docs/ledger-format.md is the format, golden files in tests/golden/ pin it; change all three
// together. A row is one line of canonical JSON with "prev_hash" inside and ,"hash":"<64 hex>"} as its end;
// hash = BLAKE3-256 of the bytes before ,"hash":.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "store/store.h"

namespace pawl::ledger {

// The line and the hash. Pure.
store::RowSealer::Sealed seal_row(JsonMembers content, std::int64_t seq, WallTime at,
                                  std::string_view prev_hash);

// A sealer with the key pair in `<folder>/keys/` (ledger.key, mode 0600, and ledger.pub), made durably on
// first use. kCorrupt: the key does not parse. kDenied: the folder can't be written.
Result<std::shared_ptr<const store::RowSealer>> open_sealer(const std::string& folder);
// A secret of this folder for what is remembered of its objects: 32 bytes that follow from its key.
std::string key_of_objects(const store::RowSealer& sealer);
Result<std::string> public_key_of(const std::string& folder);  // hexadecimal

struct Problem {
  std::string kind;      // changed | missing | reordered | truncated | forged | extra
  std::string file;      // relative: "run.jsonl", "phases/<id>/attempts.jsonl", "head.json"
  std::int64_t row = 0;  // 1-based line; 0: the file as a whole
  std::string detail;
};

// A member that rows of older versions lack: there nothing holds the database, or a later row, to it.
struct Lack {
  std::string type, member;  // of the rows; "head" is the signed head of an export
  std::int64_t rows = 0;
};

struct Report {
  bool ok = false;
  std::int64_t rows = 0;
  std::string head;  // hash of the run chain's last row
  bool is_signed =
      false;  // a head was there, and its signature holds for `trusted_key` (or its own key without one)
  std::string public_key;
  std::int64_t unsigned_rows = 0;  // rows of a run that goes on, written since the last signed head
  std::vector<Problem> problems;
  std::vector<Lack> lacks;  // by type and member
};
std::string lack_text(const Lack& lack);  // "2 rows `attempt` of an older version lack `stack`: ..."
Json to_json(const Report& report);

struct Files {                                              // what verification reads: lines as bytes
  std::string run;                                          // run.jsonl
  std::vector<std::pair<std::string, std::string>> phases;  // phase_id, attempts.jsonl
  std::string head;                                         // head.json; "" when absent
  // store_head.json of an export: what the database had as head.json; "" when absent.
  std::string store_head;
  std::string sandbox_cost;  // cost/sandbox.jsonl of this run; "" when absent
  std::string agent_usage;   // cost/agent.jsonl of this run; "" when absent
  // Rows of the cost file that belong to no executed step, or steps without one, are found (missing, extra).
};

struct Trust {
  std::string public_key;  // hexadecimal; "" : the one beside the rows
  std::string anchor;      // a head that the person got elsewhere; "" : none
  // Rows after the signed head are allowed, in a run that is not sealed. Of a run in a database its state
  // says it.
  bool live = false;
};

// Pure. Finds and names every changed, missing, reordered, truncated, forged or extra row; and where rows
// that are whole contradict each other: a run that ended with a phase that no row ends, an attempt that was
// accepted and judged on other work than was accepted before it.
Report verify(const Files& files, const Trust& trust);

// What the database holds of a run.
Result<Files> files_of(store::Store& store, const std::string& run_id);
// The same, and how it verifies, with the tables compared with it, all of one moment, whoever writes
// meanwhile. Problems of tables are those of the file "pawl.db".
struct Checked {
  Files files;
  Report report;
};
Result<Checked> check_run(store::Store& store, const std::string& run_id, Trust trust);
// Which stack the gates of an attempt saw (store::stack_hash), as its row says; "" when it does not say it.
std::string stack_of(const Files& files, const std::string& phase_id, const std::string& attempt_id);
// kForged: that a run does not verify, with the first of the report's problems.
std::unexpected<Error> not_whole(const std::string& run_id, const Report& report);

// Of an exported directory, and of a run in the database.
Result<Report> verify_directory(const std::string& folder, const Trust& trust);
Result<Report> verify_run(store::Store& store, const std::string& run_id, const Trust& trust);

// Runs that others name in their first row, and that are not in the database or begin with another row: as
// problems whose file is the run. A run that was the newest one when it was taken away leaves no trace.
Result<std::vector<Problem>> missing_runs(store::Store& store);

// Writes the run's files into `folder`: run.jsonl, phases/<phase_id>/attempts.jsonl, cost/sandbox.jsonl,
// cost/agent.jsonl (when there is one), store_head.json and ledger.pub, byte for byte what the database
// holds, and head.json, which is signed now. Checks the run first and refuses a corrupted one (kCorrupt). A
// run that goes on gets a head signed now. `folder` is created; kConflict when it is there and not empty.
Result<Report> export_run(store::Store& store, const store::RowSealer& sealer, const std::string& run_id,
                          const std::string& folder, WallTime now);

// Rebuilds what is under `.pawl/runs/<run_id>/` and `.pawl/cost/` from the database. Not
// durable: projections. Incremental: appends when the file is a prefix, else writes it anew (a torn tail is
// no corruption).
Status project_run(store::Store& store, const std::string& folder, const std::string& run_id);
// Of one phase, the run's chain and the costs: what an attempt changes, whatever the number of phases.
Status project_phase(store::Store& store, const std::string& folder, const std::string& run_id,
                     const std::string& phase_id);

}  // namespace pawl::ledger
