#include "ledger/chain.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <unordered_map>

#include "base/hash.h"
#include "base/lines.h"
#include "store/limits.h"

namespace pawl::ledger {
namespace {

// A row ends with ,"hash":"<64 hex>"}
constexpr std::string_view kHashKey = ",\"hash\":\"";
constexpr std::string_view kSandboxRunIdKey = "\"sandbox_run_id\":\"";
constexpr std::string_view kPrevHashKey = ",\"prev_hash\":\"";
constexpr std::size_t kTailSize = kHashKey.size() + kHashHexSize + 2;
// In rows of these kinds, no member follows the type in canonical order.
constexpr std::array<std::string_view, 6> kBetweenHeads = {
    "\"type\":\"pre_execute\"", "\"type\":\"executed\"", "\"type\":\"resume\"",
    "\"type\":\"agent\"",       "\"type\":\"usage\"",    "\"type\":\"waited\""};
constexpr std::string_view kCostKey = ",\"cost\":\"";
constexpr std::string_view kDecisionKey = "\"decision\":\"";
constexpr std::string_view kSpentKey = ",\"spent_ms\":";
constexpr std::string_view kRunKey = "\",\"run\":\"";  // directly after the value of prev_hash
constexpr std::string_view kLayerKey = ",\"layer\":\"";
constexpr std::string_view kFeedbackKey = ",\"feedback\":\"";
constexpr std::string_view kMergeSeqKey = ",\"merge_seq\":";
constexpr std::string_view kStackKey = ",\"stack\":\"";
constexpr std::string_view kAfterStack = ",\"started_at\":\"";
// In canonical order, only the verdict follows the type.
constexpr std::string_view kAttempt = ",\"type\":\"attempt\",\"verdict\":\"";
constexpr std::size_t kAttemptEndMax = 64;  // with the longest verdict
constexpr std::size_t kProblemsMax = 1000;  // per file: more do not help a person

struct Row {
  std::string_view line;
  std::string_view hash, prev_hash;  // as the line states them
  std::int64_t seq = 0;              // as the line states it; 0 when it cannot be read
  bool intact = false;               // its bytes have the stated hash
};

// Returns the text after `key`. Searches for the rarest letter of the key, at key[rare], and compares around
// it. A search for the whole key would stop at every quote and take as long as hashing.
std::string_view after(std::string_view text, std::string_view key, std::size_t rare) {
  for (std::size_t at = rare; at < text.size(); ++at) {
    at = text.find(key[rare], at);
    if (at == std::string_view::npos) return {};
    if (text.substr(at - rare, key.size()) == key) return text.substr(at - rare + key.size());
  }
  return {};
}

std::int64_t seq_after(std::string_view text) {
  const auto digits = after(text, ",\"seq\":", 4);
  std::int64_t seq = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), seq);
  return seq;
}

// A member is found by its key with quotes: inside a string a quote is escaped, so a string cannot look like
// a key. In canonical order, no nested value that could have such a key precedes prev_hash, or lies between
// it and seq.
Row read_row(std::string_view line) {
  Row row{.line = line};
  if (line.size() < kTailSize || !line.ends_with("\"}")) return row;
  const auto body = line.substr(0, line.size() - kTailSize);
  if (line.substr(body.size(), kHashKey.size()) != kHashKey) return row;
  row.hash = line.substr(body.size() + kHashKey.size(), kHashHexSize);
  const auto from_prev = after(body, kPrevHashKey, 5);
  row.prev_hash = from_prev.substr(0, std::min(kHashHexSize, from_prev.size()));
  row.seq = seq_after(from_prev);
  row.intact = row.seq > 0 && has_hash(body, row.hash);
  return row;
}

class Checker {
 public:
  Checker(std::string file, std::string_view text, const std::vector<std::string>* listed)
      : text_(text), listed_(listed) {
    chain_.file = std::move(file);
  }

  Chain run() {
    if (listed_ != nullptr)
      for (std::size_t i = 0; i < listed_->size(); ++i)
        places_in_list_.emplace((*listed_)[i], static_cast<std::int64_t>(i) + 1);
    split();
    expected_prev_ = kZeroHash;
    for (std::size_t i = 0; i < rows_.size(); ++i) check(i);
    chain_.rows = static_cast<std::int64_t>(rows_.size());
    if (executed_without_run_ > 0) chain_.lacks[{"executed", "run"}] = executed_without_run_;
    if (executed_without_cost_ > 0) chain_.lacks[{"executed", "cost"}] = executed_without_cost_;
    return std::move(chain_);
  }

 private:
  void split() {
    for (const std::string_view line : TextLines(text_)) rows_.push_back(read(line));
    torn_ = !text_.empty() && !text_.ends_with('\n');  // only whole lines are rows
    chain_.hashes.reserve(rows_.size());
  }

  // A listed line takes its place from the list, and is intact when the list has it.
  Row read(std::string_view line) const {
    if (listed_ == nullptr) return read_row(line);
    const auto found = places_in_list_.find(blake3_hex(line));
    if (found == places_in_list_.end()) return {.line = line};
    return {.line = line, .hash = found->first, .seq = found->second, .intact = true};
  }

  void problem(std::string kind, std::size_t index, std::string detail) {
    if (chain_.problems.size() < kProblemsMax)
      chain_.problems.push_back({.kind = std::move(kind),
                                 .file = chain_.file,
                                 .row = static_cast<std::int64_t>(index) + 1,
                                 .detail = std::move(detail)});
  }

  void check(std::size_t index) {
    const Row& row = rows_[index];
    chain_.hashes.push_back(row.hash);
    if (torn_ && index + 1 == rows_.size())
      return problem("truncated", index, "the last row is incomplete: no newline ends it");
    if (!row.intact) {
      problem("changed", index, "its bytes do not have the hash that it states");
      after_damage_ = true;
      ++expected_seq_;
      return;
    }
    note(row);
    if (row.seq < expected_seq_) return check_late(index);
    if (row.seq > expected_seq_ && !after_damage_)
      check_gap(index);
    else if (!after_damage_ && listed_ == nullptr && row.prev_hash != expected_prev_)
      problem("forged", index, "its prev_hash is not the hash of the row before it");
    after_damage_ = false;
    expected_seq_ = row.seq + 1;
    expected_prev_ = row.hash;
  }

  void check_late(std::size_t index) {
    const Row& row = rows_[index];
    const Row& first = rows_[places_of(row.seq).first];
    if (&first == &row)
      return problem("reordered", index, "row " + std::to_string(row.seq) + " comes after a later one");
    if (first.hash == row.hash)
      return problem("extra", index, "row " + std::to_string(row.seq) + " is repeated");
    problem("forged", index, "it is a second, different row " + std::to_string(row.seq));
  }

  // A row that comes later is reordered, not missing.
  void check_gap(std::size_t index) {
    std::vector<std::int64_t> missing;
    for (std::int64_t seq = expected_seq_; seq < rows_[index].seq && missing.size() < 10; ++seq)
      if (!comes_later(seq, index)) missing.push_back(seq);
    if (missing.empty()) return;
    std::string names;
    for (const auto seq : missing) names += (names.empty() ? "" : ", ") + std::to_string(seq);
    problem("missing", index, "row " + names + " belongs here");
  }

  bool comes_later(std::int64_t seq, std::size_t index) { return places_of(seq).last > index; }

  // The first and last place of intact rows with that number. Computed only after a fault is found: an intact
  // chain never needs it.
  struct Places {
    std::size_t first = 0, last = 0;
  };
  Places places_of(std::int64_t seq) {
    if (places_.empty())
      for (std::size_t i = 0; i < rows_.size(); ++i)
        if (rows_[i].intact) places_.try_emplace(rows_[i].seq, i, i).first->second.last = i;
    const auto found = places_.find(seq);
    return found == places_.end() ? Places() : found->second;
  }

  // In most rows that matter here, the type is the last member before the hash.
  void note(const Row& row) {
    const auto body = row.line.substr(0, row.line.size() - kTailSize);
    if (!may_be_unsigned(row.line)) chain_.last_decision = row.seq;
    const bool executed = body.ends_with("\"type\":\"executed\"");
    const bool resumed = body.ends_with("\"type\":\"resume\""), given_up = resumed && gives_up(body);
    const bool begins = body.ends_with("\"type\":\"pre_execute\"");
    if (begins || executed) chain_.steps.push_back(body);
    if (executed || resumed) note_cost(body, executed, given_up);
    if (executed && !behind_prev_hash(row, body).starts_with(kRunKey)) ++executed_without_run_;
    if (begins)
      chain_.started.push_back(chain_.open = sandbox_run_id_of(body));
    else if (executed || given_up)
      chain_.open = {};
    else if (body.ends_with("\"type\":\"phase_sealed\"") || body.ends_with("\"type\":\"run_sealed\""))
      chain_.seals.push_back(row.line);
    else if (body.ends_with("\"type\":\"usage\""))
      chain_.usages.push_back(row.line);
    else if (body.ends_with("\"type\":\"judged_again\""))
      chain_.rounds.push_back(row.line);
    else if (const auto end = body.substr(body.size() - std::min(body.size(), kAttemptEndMax));
             end.find(kAttempt) != end.npos)
      note_attempt(row, body);
  }

  void lacks(std::string_view type, std::string_view member) { ++chain_.lacks[{type, member}]; }

  void note_cost(std::string_view body, bool executed, bool given_up) {
    if (const auto cost = after(body, kCostKey, 4); !cost.empty()) {
      chain_.costs.emplace_back(sandbox_run_id_of(body), cost.substr(0, kHashHexSize));
      if (!executed && body.find(kSpentKey) == body.npos) lacks("resume", "spent_ms");
    } else {
      executed_without_cost_ += executed ? 1 : 0;
      if (given_up) {
        lacks("resume", "cost");
        lacks("resume", "spent_ms");
      }
    }
  }

  void note_attempt(const Row& row, std::string_view body) {
    chain_.attempts.push_back(row.line);
    if (body.ends_with("\"cancelled\"")) return;  // ended by an operator: no gate judged it
    const auto before = body.substr(0, body.size() - behind_prev_hash(row, body).size());
    if (after(before, kFeedbackKey, 9).empty()) lacks("attempt", "feedback");
    if (after(before, kLayerKey, 4).empty()) lacks("attempt", "layer");
    if (after(before, kMergeSeqKey, 10).empty()) lacks("attempt", "merge_seq");
    // Signals may have members of any name. The members after them have none of this name.
    const auto at = body.rfind(kAfterStack);
    const auto size = kStackKey.size() + kHashHexSize + 1;
    if (at != body.npos && at >= size && body.substr(at - size).starts_with(kStackKey)) return;
    lacks("attempt", "stack");
    lacks("attempt", "inventories");
  }

  static std::string_view behind_prev_hash(const Row& row, std::string_view body) {
    if (row.prev_hash.empty()) return {};
    return body.substr(static_cast<std::size_t>(row.prev_hash.data() - body.data()) + row.prev_hash.size());
  }

  static bool gives_up(std::string_view body) {
    const auto decision = after(body, kDecisionKey, 5);
    return store::gives_up(decision.substr(0, decision.find('"')));
  }

  const std::string_view text_;
  const std::vector<std::string>* listed_;
  std::unordered_map<std::string, std::int64_t> places_in_list_;
  Chain chain_;
  std::vector<Row> rows_;
  std::unordered_map<std::int64_t, Places> places_;
  // Counted apart: `executed` is the most frequent type.
  std::int64_t executed_without_run_ = 0, executed_without_cost_ = 0;
  std::string_view expected_prev_;
  std::int64_t expected_seq_ = 1;
  bool torn_ = false, after_damage_ = false;
};

}  // namespace

bool is_row(std::string_view line, std::int64_t seq, std::string_view hash, std::string_view prev_hash) {
  const Row row = read_row(line);
  return row.intact && row.seq == seq && row.hash == hash && row.prev_hash == prev_hash;
}

bool may_be_unsigned(std::string_view line) {
  const auto body = line.substr(0, line.size() - std::min(line.size(), kTailSize));
  return std::ranges::any_of(kBetweenHeads, [&](auto type) { return body.ends_with(type); });
}

std::string_view sandbox_run_id_of(std::string_view row) {
  const auto value = after(row, kSandboxRunIdKey, 7);
  return value.substr(0, value.find('"'));
}

std::int64_t seq_of_row(std::string_view row) { return seq_after(after(row, kPrevHashKey, 5)); }

Chain check_chain(std::string file, std::string_view text) {
  return Checker(std::move(file), text, nullptr).run();
}

Chain check_listed(std::string file, std::string_view text, const std::vector<std::string>& listed) {
  return Checker(std::move(file), text, &listed).run();
}

}  // namespace pawl::ledger
