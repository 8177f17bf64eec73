// A signed head vouches for all rows below it. So a run's ledger is checked before this store writes on top
// of it. The stored head must have this sealer's signature, and the chains must have the rows that it lists.
// Later rows must be linked and of a kind that may be unsigned. After that, only rows that another connection
// wrote are checked again.
#include <algorithm>

#include "base/hash.h"
#include "base/mutant.h"
#include "os/defences.h"
#include "store/verbs/reading_store.h"

namespace pawl::store::verbs {
namespace {

// Mutants (base/mutant.h).
bool checks_no_signature() { return mutant("signatures_not_checked"); }
bool continues_no_rows() { return mutant("rows_not_continued"); }

std::unexpected<Error> forged(const std::string& run_id, const std::string& what) {
  return fail(ErrorKind::kForged, "the ledger of run " + run_id + " is not what was signed: " + what +
                                      ". Nothing was written; see `pawl verify " + run_id +
                                      "`, and restore the state folder from a backup");
}

// Whether a failed check is an error. Called only after a failure: in a test build it reads the environment.
bool refuses() { return os::defences().signer; }
bool takes_unsealed_ends() { return mutant("rows_between_heads_unsealed"); }

std::string name_of(const std::string& chain) { return chain.empty() ? "the run" : "phase " + chain; }

// Reads the head of `known` into its members. False: it is not a head of that run.
bool read_head(const std::string& run_id, Trusted& known) {
  const auto json = parse_json(known.head.body);
  if (!json || text_in(*json, "run_id") != run_id) return false;
  const auto chains = json->find("chains");
  if (chains == json->end() || !chains->is_object()) return false;
  known.listed.clear();
  for (const auto& [name, end] : chains->items())
    known.listed[name] = {.chain = name, .rows = integer_in(end, "rows"), .head = text_in(end, "head")};
  known.spent.reset();
  if (!json->contains("spent")) return true;
  auto& spent = known.spent.emplace();
  for (const auto& [unit, amount] : object_in(*json, "spent").items())
    if (amount.is_number_integer()) spent.add(unit, amount.get<std::int64_t>());
  return true;
}

void note_fork(const Json& row, Trusted& known) {
  if (text_in(row, "type") == "forked")
    known.forked = ForkPoint{.run_id = text_in(row, "from_run"),
                             .phase_id = text_in(row, "phase_id"),
                             .attempt = integer_in(row, "attempt")};
}

}  // namespace

Status ReadingStore::trust_new_run(const std::string& run_id, const JsonMembers& started) {
  auto& known = trusted_[run_id] = {.epoch = memory_.epoch};
  PAWL_TRY(known.started, parse_json(started.object()));
  known.tiers = tiers_of_phases(known.started);
  memory_.ends[key_of(run_id, "")] = {.chain = "", .rows = 0, .head = std::string(kZeroHash)};
  return {};
}

Status ReadingStore::trust_fork(const std::string& run_id, const JsonMembers& forked) {
  PAWL_TRY(const Json row, parse_json(forked.object()));
  auto& known = trusted_.at(run_id);
  known.own_ended.add(row);
  note_fork(row, known);
  return {};
}

Result<const Trusted*> ReadingStore::trust(const std::string& run_id) {
  if (const auto known = trusted_.find(run_id);
      known != trusted_.end() && known->second.epoch == memory_.epoch)
    return &known->second;
  auto& known = trusted_[run_id];
  auto checked = check_again(run_id, known);
  if (!checked) {
    trusted_.erase(run_id);
    return std::unexpected(std::move(checked).error());
  }
  known.epoch = memory_.epoch;
  return &known;
}

Status ReadingStore::check_again(const std::string& run_id, Trusted& known) {
  PAWL_TRY(auto found, head(run_id));
  if (!found) return forged(run_id, "it has no signed head");
  const bool same = found->body == known.head.body && found->signature == known.head.signature;
  if (!same && !sealer_->has_signed(*found) && refuses() && !checks_no_signature())
    return forged(run_id, "its head is not signed by the key of this state folder");
  known.own_ended = {};
  known.own_caps.clear();
  known.head = *std::move(found);
  if (!read_head(run_id, known)) return forged(run_id, "its head is one of another run");
  return check_run_chain(run_id, known);
}

Status ReadingStore::check_run_chain(const std::string& run_id, Trusted& known) {
  const ChainHead signed_end = known.listed.contains("") ? known.listed.at("") : ChainHead();
  PAWL_TRY(const bool goes_on, has_row(run_id, known.run));
  if (!goes_on || known.run.rows > signed_end.rows) {
    known.run = {.chain = "", .rows = 0, .head = std::string(kZeroHash)};
    known.ended = {};
    known.caps.clear();
  }
  PAWL_TRY(auto query, database_->query("ledger_rows"));
  query.bind(run_id).bind("").bind(known.run.rows + 1).bind(std::int64_t{-1});
  for (;;) {
    PAWL_TRY(const bool more, query.next());
    if (!more) break;
    const LedgerRow row{.chain = "", .seq = query.number(1), .hash = query.text(2), .line = query.text(3)};
    const bool continues = row.seq == known.run.rows + 1 && sealer_->continues(row, known.run.head);
    if (!continues && refuses() && !continues_no_rows())
      return forged(run_id, "row " + std::to_string(row.seq) + " of the run does not continue it");
    known.run = {.chain = "", .rows = row.seq, .head = row.hash};
    PAWL_OK(note_row_of_run(run_id, row, known));
  }
  // Every row of a run's chain is signed in the transaction that writes it.
  if (writes_unsigned(run_id) && known.run.rows >= signed_end.rows) return {};
  const bool is_signed = known.run.rows == signed_end.rows && known.run.head == signed_end.head;
  if (is_signed || !refuses()) return {};
  return forged(run_id, "the run does not end where its head says");
}

// Keeps what later checks need from a row of the run's chain.
Status ReadingStore::note_row_of_run(const std::string& run_id, const LedgerRow& row, Trusted& known) {
  const auto has = [&](std::string_view type) { return row.line.find(type) != std::string::npos; };
  if (row.seq > 1 && !has("\"phase_sealed\"") && !has("\"forked\"") && !has("\"operator\"")) return {};
  PAWL_TRY(auto json, parse_json(row.line));
  if (row.seq > 1) {
    known.ended.add(json);
    note_fork(json, known);
    note_cap(json, known.caps);
    return {};
  }
  if (text_in(json, "type") != "run_started" || text_in(json, "run_id") != run_id)
    return forged(run_id, "it does not begin with the start of that run");
  known.started = std::move(json);
  known.tiers = tiers_of_phases(known.started);
  return {};
}

// True: verbs of the open shared transaction have written to the run, and its head is signed after the last
// of them. The run was checked before they wrote, and no other process can have written since.
bool ReadingStore::writes_unsigned(const std::string& run_id) const {
  return heads_to_sign_.contains(run_id);
}

Result<bool> ReadingStore::has_row(const std::string& run_id, const ChainHead& end) {
  if (end.rows == 0) return true;
  PAWL_TRY(auto query, database_->query("ledger_rows"));
  query.bind(run_id).bind(end.chain).bind(end.rows).bind(std::int64_t{1});
  PAWL_TRY(const bool found, query.next());
  return found && query.number(1) == end.rows && query.view(2) == end.head;
}

// Returns the end of a chain. For a phase's chain, the rows after the signed end are checked.
Result<ChainHead> ReadingStore::checked_end(const std::string& run_id, const std::string& chain) {
  PAWL_TRY(const auto* known, trust(run_id));
  if (chain.empty()) return known->run;
  ChainHead end{.chain = chain, .rows = 0, .head = std::string(kZeroHash)};
  for (const auto* ended : {&known->ended, &known->own_ended})
    if (const auto* sealed = ended->end_of(chain); sealed != nullptr && sealed->end.rows > end.rows)
      end = sealed->end;
  const auto closed_at = end.rows;
  if (const auto found = known->listed.find(chain);
      found != known->listed.end() && found->second.rows > end.rows)
    end = found->second;
  PAWL_TRY(const bool is_there, has_row(run_id, end));
  if (!is_there && refuses())
    return forged(run_id, name_of(chain) + " does not have the rows that were signed");
  PAWL_TRY(auto query, database_->query("ledger_rows"));
  query.bind(run_id).bind(chain).bind(end.rows + 1).bind(std::int64_t{-1});
  for (;;) {
    PAWL_TRY(const bool more, query.next());
    if (!more) break;
    const LedgerRow row{.chain = chain, .seq = query.number(1), .hash = query.text(2), .line = query.text(3)};
    const bool may_be_here = writes_unsigned(run_id) || sealer_->may_be_unsigned(row);
    const bool continues = row.seq == end.rows + 1 && sealer_->continues(row, end.head);
    if ((!continues || !may_be_here) && refuses())
      return forged(run_id, "row " + std::to_string(row.seq) + " of " + name_of(chain) +
                                " was not written by the owner of the key that signs");
    end = {.chain = chain, .rows = row.seq, .head = row.hash};
  }
  if (end.rows > closed_at) PAWL_OK(check_seal_of_end(run_id, end));
  return end;
}

// Hashes alone link the rows after a head, and anyone can make hashes. The seal shows who wrote the last of
// them. It is compared at a signed end, too: otherwise the rows after that end could be cut off.
Status ReadingStore::check_seal_of_end(const std::string& run_id, const ChainHead& end) {
  PAWL_TRY(auto query, database_->query("seal_of_end"));
  query.bind(run_id).bind(end.chain);
  PAWL_TRY(const bool found, query.next());
  const bool holds = found && query.view(0) == sealer_->seal_of_end(run_id, end.chain, end.rows, end.head);
  if (holds || !refuses() || takes_unsealed_ends()) return {};
  return forged(run_id, "row " + std::to_string(end.rows) + " of " + name_of(end.chain) +
                            " is not the end that was sealed");
}

// A row after a head decides what its run does next, in its own phase and, by what it spent, in others.
Status ReadingStore::check_open_ends(const std::string& run_id) {
  PAWL_TRY(auto open, database_->query("open_chains_of_run"));
  open.bind(run_id);
  for (;;) {
    PAWL_TRY(const bool more, open.next());
    if (!more) return {};
    PAWL_TRY([[maybe_unused]] const auto end, chain_head(run_id, open.text(0)));
  }
}

// A table says which chains are open. A chain that it leaves out would lose its signature.
Status ReadingStore::check_listed(const std::string& run_id, const std::vector<ChainHead>& heads) {
  const auto& known = trusted_.at(run_id);
  for (const auto& listed : known.listed) {
    const auto& end = listed.second;
    if (end.rows == 0 || std::ranges::binary_search(heads, end.chain, {}, &ChainHead::chain)) continue;
    const auto is_sealed = [&](const EndedPhases& ended) {
      const auto* sealed = ended.end_of(end.chain);
      return sealed != nullptr && sealed->end.rows >= end.rows;
    };
    if (!is_sealed(known.ended) && !is_sealed(known.own_ended) && refuses())
      return forged(run_id, name_of(end.chain) + " is in no list of open chains, and not over");
  }
  return {};
}

void ReadingStore::trust_signed(const std::string& run_id, const Head& head,
                                const std::vector<ChainHead>& ends, const std::vector<BudgetRow>& budgets) {
  auto& known = trusted_.at(run_id);  // a verb that signs has written, so the run was checked
  known.head = head;
  known.listed.clear();
  for (const auto& end : ends) known.listed[end.chain] = end;
  known.spent.emplace();
  for (const auto& row : budgets) known.spent->add(row.unit, row.spent);
}

}  // namespace pawl::store::verbs
