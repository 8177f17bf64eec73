#include "views/decisions.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <string_view>
#include <utility>

namespace pawl::views {
namespace {

constexpr std::size_t kRowsMax = 100'000;
constexpr std::size_t kRowsAtOnce = 256;
constexpr std::size_t kProbeRows = 4;  // nearly every row of a phase's chain names its attempt
constexpr std::int64_t kPastTheEnd = std::numeric_limits<std::int64_t>::max();

// The number in the id of the row's attempt, "<phase_id>.<number>"; 0 when the row names no attempt.
std::int64_t attempt_number(const Json& row) {
  const std::string id = text_in(row, "attempt_id");
  std::int64_t number = 0;
  const auto dot = id.rfind('.');
  if (dot == std::string::npos) return 0;
  for (const char digit : id.substr(dot + 1)) {
    if (digit < '0' || digit > '9' || number > kPastTheEnd / 100) return 0;
    number = number * 10 + (digit - '0');
  }
  return number;
}

void forget_chain(Json& row) {
  for (const char* of_the_chain : {"seq", "prev_hash", "hash"}) row.erase(of_the_chain);
}

// One chain. Its rows name attempts in the order of their numbers.
class Chain {
 public:
  Chain(store::EvidenceReader& store, const std::string& run_id, const std::string& chain)
      : store_(store), run_id_(run_id), chain_(chain) {}

  // Where the first attempt that is not below `number` begins, including the decisions just before it.
  Result<std::int64_t> begin_of(std::int64_t number) {
    return first([&](std::int64_t seq) -> Result<bool> {
      PAWL_TRY(const std::int64_t found, attempt_at(seq));
      return found >= number;
    });
  }
  Result<std::int64_t> rows() {
    PAWL_TRY(const std::int64_t end, first([&](std::int64_t seq) -> Result<bool> {
               PAWL_TRY(const auto rows, store_.ledger(run_id_, chain_, seq, 1));
               return rows.empty();
             }));
    return end - 1;
  }
  // Visits each row from `seq` on, until `visit` returns false.
  Status each(std::int64_t seq, const std::function<bool(Json row)>& visit) {
    for (;;) {
      PAWL_TRY(const auto rows, store_.ledger(run_id_, chain_, seq, kRowsAtOnce));
      if (rows.empty()) return {};
      for (const auto& row : rows) {
        PAWL_TRY(Json json, parse_json(row.line));
        if (!visit(std::move(json))) return {};
      }
      seq = rows.back().seq + 1;
    }
  }

 private:
  // Returns the first seq for which `holds` is true. REQUIRES: it is true from there on.
  static Result<std::int64_t> first(const std::function<Result<bool>(std::int64_t seq)>& holds) {
    std::int64_t low = 1, high = 1;
    for (;;) {
      PAWL_TRY(const bool found, holds(high));
      if (found) break;
      low = high + 1;
      high *= 2;
    }
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      PAWL_TRY(const bool found, holds(middle));
      if (found)
        high = middle;
      else
        low = middle + 1;
    }
    return low;
  }
  // The number of the first attempt that is named at or after `seq`; kPastTheEnd when none is.
  Result<std::int64_t> attempt_at(std::int64_t seq) {
    for (;;) {
      PAWL_TRY(const auto rows, store_.ledger(run_id_, chain_, seq, kProbeRows));
      if (rows.empty()) return kPastTheEnd;
      for (const auto& row : rows) {
        PAWL_TRY(const Json json, parse_json(row.line));
        if (const auto number = attempt_number(json); number > 0) return number;
      }
      seq = rows.back().seq + 1;
    }
  }

  store::EvidenceReader& store_;
  const std::string& run_id_;
  const std::string& chain_;
};

}  // namespace

DecisionType decision_type(const Json& row) {
  static constexpr std::pair<std::string_view, DecisionType> kTypes[] = {
      {"pre_execute", DecisionType::kStart}, {"resume", DecisionType::kResume},
      {"waited", DecisionType::kWait},       {"doctor", DecisionType::kDoctor},
      {"replan", DecisionType::kReplan},     {"operator", DecisionType::kOperator}};
  const auto type = text_in(row, "type");
  const auto* const found =
      std::ranges::find(kTypes, type, &std::pair<std::string_view, DecisionType>::first);
  if (found == std::end(kTypes)) return DecisionType::kNone;
  const bool decides =
      found->second != DecisionType::kStart || row.contains("layer") || row.contains("not_continued");
  return decides ? found->second : DecisionType::kNone;
}

Result<Json> decisions_of(store::EvidenceReader& store, const std::string& run_id,
                          const std::string& phase_id) {
  Json out = Json::array();
  PAWL_TRY(const auto rows, store.ledger(run_id, phase_id, 1, kRowsMax));
  for (const auto& row : rows) {
    PAWL_TRY(Json json, parse_json(row.line));
    const auto type = decision_type(json);
    if (type == DecisionType::kNone || type == DecisionType::kOperator) continue;
    forget_chain(json);
    out.push_back(std::move(json));
  }
  return out;
}

Result<std::vector<Decision>> decisions_about(store::EvidenceReader& store, const std::string& run_id,
                                              const std::string& phase_id, std::int64_t first,
                                              std::int64_t last) {
  Chain chain(store, run_id, phase_id);
  PAWL_TRY(const std::int64_t begin, chain.begin_of(first));
  std::vector<Decision> out;
  std::int64_t current = first - 1;
  PAWL_OK(chain.each(begin, [&](Json row) {
    current = std::max(current, attempt_number(row));
    if (current > last) return false;
    if (decision_type(row) != DecisionType::kNone) {
      forget_chain(row);
      out.push_back({.attempt = current, .row = std::move(row)});
    }
    return true;
  }));
  return out;
}

Result<std::vector<Json>> operators_of_run(store::EvidenceReader& store, const std::string& run_id,
                                           std::int64_t rows_max) {
  const std::string of_the_run;
  Chain chain(store, run_id, of_the_run);
  PAWL_TRY(const std::int64_t rows, chain.rows());
  PAWL_TRY(const auto newest, store.ledger(run_id, of_the_run, std::max<std::int64_t>(1, rows - rows_max + 1),
                                           static_cast<std::size_t>(rows_max)));
  std::vector<Json> out;
  for (const auto& row : newest) {
    // Nearly all rows say that a phase was sealed, and need not be parsed.
    if (row.line.find("\"type\":\"operator\"") == std::string::npos) continue;
    PAWL_TRY(Json json, parse_json(row.line));
    if (decision_type(json) == DecisionType::kOperator) out.push_back(std::move(json));
  }
  return out;
}

}  // namespace pawl::views
