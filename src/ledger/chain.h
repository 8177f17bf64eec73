// One chain of rows, checked by itself. A detail of this room. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ledger/ledger.h"

namespace pawl::ledger {

// What the rest of verification needs of a chain, as views into its text.
struct Chain {
  std::string file;
  std::int64_t rows = 0;
  std::vector<std::string_view> hashes;   // stated, of row i + 1; "" when the line has none
  std::vector<std::string_view> started;  // sandbox_run_ids of pre_execute rows
  std::string_view open;                  // of them the one that has not ended; "" when none
  std::vector<std::string_view> seals;    // whole lines of phase_sealed and run_sealed rows
  std::vector<std::string_view> usages;   // whole lines of usage rows
  std::vector<std::pair<std::string_view, std::string_view>> costs;  // sandbox_run_id, hash of its cost row
  std::vector<std::string_view> attempts;                            // whole lines of attempt rows
  std::vector<std::string_view> rounds;                              // and of judged_again rows
  std::map<std::pair<std::string_view, std::string_view>, std::int64_t> lacks;  // rows by type and member
  std::int64_t last_decision = 0;  // the last row of a kind that comes with its signature; 0: none
  std::vector<Problem> problems;   // one for each thing that was done to it
};

Chain check_chain(std::string file, std::string_view text);

// Lines that are no rows (cost), against the hashes that a signed head lists of them.
Chain check_listed(std::string file, std::string_view text, const std::vector<std::string>& listed);

// Whether `line` is a row as it was sealed: number `seq`, with that hash, after a row with the hash
// `prev_hash`.
bool is_row(std::string_view line, std::int64_t seq, std::string_view hash, std::string_view prev_hash);
// Whether it is of a kind that is written between two signed heads: what begins, ends or tells while an
// attempt goes on. Every other kind is signed in the transaction that writes it.
bool may_be_unsigned(std::string_view line);

std::int64_t seq_of_row(std::string_view row);  // 0 when it has none
std::string_view sandbox_run_id_of(
    std::string_view row);  // of a canonical row, also of a cost row; "" when it has none

}  // namespace pawl::ledger
