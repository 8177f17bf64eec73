#include "views/stated_costs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_set>

#include "base/hash.h"
#include "base/json.h"

namespace pawl::views {
namespace {

constexpr std::size_t kLinesAtOnce = 1000;

// Most rows are of other types, and are not parsed.
bool may_state_costs(std::string_view line) {
  constexpr std::array<std::string_view, 3> kTypes = {"\"type\":\"executed\"", "\"type\":\"resume\"",
                                                      "\"type\":\"usage\""};
  return std::ranges::any_of(kTypes, [&](auto type) { return line.find(type) != line.npos; });
}

}  // namespace

Result<StatedCosts> StatedCosts::read(store::EvidenceReader& store, const std::string& run_id) {
  StatedCosts out;
  PAWL_TRY(const auto chains, store.chains(run_id));
  for (const auto& chain : chains)
    for (std::int64_t next = 1; next > 0;) {
      PAWL_TRY(const auto rows, store.ledger(run_id, chain, next, kLinesAtOnce));
      for (const auto& row : rows) PAWL_OK(out.add(run_id, row));
      next = rows.size() < kLinesAtOnce ? 0 : rows.back().seq + 1;
    }
  return out;
}

Status StatedCosts::add(const std::string& run_id, const store::LedgerRow& row) {
  if (!may_state_costs(row.line)) return {};
  const auto json = parse_json(row.line);
  if (!json)
    return fail(ErrorKind::kForged,
                fmt::format("row {} of the chain `{}` of run {} is no JSON object; see `pawl verify {}`",
                            row.seq, row.chain, run_id, run_id));
  const std::string type = text_in(*json, "type"), id = text_in(*json, "sandbox_run_id");
  if (type == "usage") {
    usage_[id] = {.rows = integer_in(*json, "rows"), .lines = text_in(*json, "lines")};
  } else if (type == "executed" || (type == "resume" && json->contains("cost"))) {
    auto& step = steps_[id];
    step = {.cost = text_in(*json, "cost"), .run = text_in(*json, "run")};
    if (json->contains("spent_ms")) step.spent_ms = integer_in(*json, "spent_ms");
  }
  return {};
}

std::string StatedCosts::differs(const Lines<store::CostFacts>& costs) const {
  std::unordered_set<std::string_view> counted;
  for (std::size_t i = 0; i < costs.lines.size(); ++i) {
    const auto& id = costs.facts[i].sandbox_run_id;
    const auto stated = steps_.find(id);
    if (stated != steps_.end() && !stated->second.cost.empty() &&
        stated->second.cost != blake3_hex(costs.lines[i]))
      return fmt::format("row {} is not the one that the ledger's row of step {} names", i + 1, id);
    counted.insert(id);
  }
  for (const auto& [id, step] : steps_)
    if (!step.cost.empty() && !counted.contains(id)) return "step " + id + " has no row";
  return {};
}

std::string StatedCosts::differs(const Lines<store::UsageFacts>& usage) const {
  std::unordered_map<std::string_view, Usage> found;
  for (std::size_t i = 0; i < usage.lines.size(); ++i) {
    auto& of_step = found[usage.facts[i].sandbox_run_id];
    ++of_step.rows;
    of_step.lines += usage.lines[i] + "\n";
  }
  for (const auto& [id, of_step] : found) {
    const auto stated = usage_.find(std::string(id));
    if (stated == usage_.end() || stated->second.rows != of_step.rows ||
        stated->second.lines != blake3_hex(of_step.lines))
      return fmt::format("the rows of step {} are not those that its row `usage` of the ledger names", id);
  }
  for (const auto& [id, stated] : usage_)
    if (stated.rows > 0 && !found.contains(id)) return "step " + id + " has no row";
  return {};
}

std::string StatedCosts::differs(const store::StepRow& step, std::int64_t took_ms) const {
  const auto stated = steps_.find(step.sandbox_run_id);
  if (stated == steps_.end()) return {};
  const auto& [cost, run, spent_ms] = stated->second;
  const bool is_done = step.state == store::StepState::kDone;
  if (is_done && !run.empty() && run != blake3_hex(step.run))
    return "the result of step " + step.sandbox_run_id + " is not the one that its row of the ledger names";
  if (!is_done && spent_ms && *spent_ms != took_ms)
    return "the time of step " + step.sandbox_run_id + " is not the one in its row of the ledger";
  return {};
}

}  // namespace pawl::views
