// Checks one chain of rows by itself. A detail of this room. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ledger/ledger.h"

namespace pawl::ledger {

// The parts of a chain that later checks need, as views into its text.
struct Chain {
  std::string file;
  std::int64_t rows = 0;
  std::vector<std::string_view> hashes;   // stated hash of row i + 1; "" when the line has none
  std::vector<std::string_view> started;  // sandbox_run_ids of pre_execute rows
  std::vector<std::string_view> steps;    // pre_execute and executed rows, without their hash
  std::string_view open;                  // the newest of them, until a row ends a step; "" then
  std::vector<std::string_view> seals;    // whole lines of phase_sealed and run_sealed rows
  std::vector<std::string_view> usages;   // whole lines of usage rows
  std::vector<std::pair<std::string_view, std::string_view>> costs;  // sandbox_run_id, hash of its cost row
  std::vector<std::string_view> attempts;                            // whole lines of attempt rows
  std::vector<std::string_view> rounds;                              // whole lines of judged_again rows
  // The number of rows that lack a member, by type and member.
  std::map<std::pair<std::string_view, std::string_view>, std::int64_t> lacks;
  std::int64_t last_decision = 0;  // seq of the last row of a kind that is always signed; 0: none
  std::vector<Problem> problems;   // one for each damage, at most 1000
};

// Checks the rows of `text`, and names each damage with `file`. The result has views into `text`.
Chain check_chain(std::string file, std::string_view text);

// Checks lines that are not rows (cost), against the hashes that a signed head lists. Only `rows` and
// `problems` of the result are for use.
Chain check_listed(std::string file, std::string_view text, const std::vector<std::string>& listed);

// True: `line` is a row with number `seq` and this hash, its bytes have that hash, and it follows a row with
// the hash `prev_hash`.
bool is_row(std::string_view line, std::int64_t seq, std::string_view hash, std::string_view prev_hash);
// True: a row of its kind is written between two signed heads: the start, the end or a report of a step
// during an attempt. Every other kind is signed in the transaction that writes it.
bool may_be_unsigned(std::string_view line);

std::int64_t seq_of_row(std::string_view row);  // 0 when it has none
// `row`: a canonical row or a cost row. The result is "" when it has none.
std::string_view sandbox_run_id_of(std::string_view row);

}  // namespace pawl::ledger
