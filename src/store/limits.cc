#include "store/limits.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/money.h"

namespace pawl::store {
namespace {

constexpr std::array kUnits = {kSandboxMs, kTokens, kUsdNanos};

const Json& planned_of(const Json& tier) { return list_in(tier, "max_attempts"); }

// The number after `words`, when the action of an operator's row begins with them.
std::optional<std::int64_t> number_behind(const std::string& action, std::string_view words) {
  if (!action.starts_with(words)) return std::nullopt;
  const char* const end = action.data() + action.size();
  std::int64_t number = 0;
  const auto read = std::from_chars(action.data() + words.size(), end, number);
  return read.ec == std::errc() && read.ptr == end ? std::optional(number) : std::nullopt;
}

}  // namespace

PlacesByRows::PlacesByRows(const Json& started)
    : tiers_(list_in(started, "tiers")), phases_(list_in(started, "phases")) {
  go_to_next();
}

bool PlacesByRows::are_said() const { return !tiers_.empty(); }

// Skips tiers without phases.
void PlacesByRows::go_to_next() {
  for (; tier_ < tiers_.size() && place_ == planned_of(tiers_[tier_]).size(); ++tier_) place_ = 0;
}

bool PlacesByRows::is_next(std::string_view phase_id, std::int64_t tier_index, std::int64_t phase_index) {
  if (is_end() || phase_ == phases_.size()) return false;
  const auto* const id = phases_[phase_].get_ptr<const std::string*>();
  const bool is_it = id != nullptr && *id == phase_id && tier_index == static_cast<std::int64_t>(tier_) &&
                     phase_index == static_cast<std::int64_t>(place_);
  ++phase_;
  ++place_;
  go_to_next();
  return is_it;
}

bool PlacesByRows::is_end() const { return tier_ == tiers_.size(); }

std::vector<std::int64_t> tiers_of_phases(const Json& started) {
  std::vector<std::int64_t> out;
  std::int64_t index = 0;
  for (const auto& tier : list_in(started, "tiers")) out.insert(out.end(), planned_of(tier).size(), index++);
  return out;
}

bool are_tiers_of(const Json& started, const std::vector<TierRow>& tiers) {
  if (!started.contains("tiers")) return true;
  std::int64_t index = 0;
  return std::ranges::equal(list_in(started, "tiers"), tiers, [&](const Json& said, const TierRow& tier) {
    return tier.tier_index == index++ && text_in(said, "name") == tier.name &&
           flag_in(said, "stop_on_failure") == tier.stop_on_failure &&
           flag_in(said, "parallel") == tier.parallel;
  });
}

std::optional<std::int64_t> attempts_planned(const Json& started, std::int64_t tier_index,
                                             std::int64_t phase_index) {
  const auto& tiers = list_in(started, "tiers");
  const auto tier = static_cast<std::size_t>(tier_index), place = static_cast<std::size_t>(phase_index);
  if (tier >= tiers.size() || place >= planned_of(tiers[tier]).size()) return std::nullopt;
  const auto& planned = planned_of(tiers[tier])[place];
  return planned.is_number_integer() ? std::optional(planned.get<std::int64_t>()) : std::nullopt;
}

AttemptsByRows::AttemptsByRows(std::optional<std::int64_t> planned, bool inherits)
    : is_planned_(planned),
      inherits_(inherits),
      max_least_(planned),
      max_most_(planned),
      revision_most_(inherits ? 1 : 0) {}

void AttemptsByRows::add(const Json& row) {
  const auto begin_revision = [&](std::int64_t revision, std::int64_t most) {
    revision_ = revision;
    revision_most_ = most;
    used_ = 0;
  };
  const std::string type = text_in(row, "type");
  if (type == "attempt") {
    const auto revision = integer_in(row, "revision");
    if (revision != revision_) begin_revision(revision, revision);
    revision_most_ = revision;
    ++used_;
    ++total_;
    level_ = std::max(level_, used_ - 1);
  } else if (type == "pre_execute") {
    count_hook(row);
  } else if (type == "replan" && integer_in(row, "revision") > 0) {
    begin_revision(integer_in(row, "revision"), integer_in(row, "revision"));
  } else if (type == "operator") {
    const std::string action = text_in(row, "action");
    if (action == "retry") begin_revision(revision_ + 1, revision_most_ + 1);
    if (const auto most = number_behind(action, "max_attempts ")) {
      max_least_ = std::max(*most, used_);
      max_most_ = std::max(*most, used_ + 1);
    }
  }
}

// Counts each call once: a lost call that runs again has a higher execution. No gate may have the name of a
// hook (plan/parse.cc).
void AttemptsByRows::count_hook(const Json& marker) {
  if (integer_in(marker, "execution") != 1) return;
  const std::string attempt_id = text_in(marker, "attempt_id");
  const std::string phase = attempt_id.substr(0, attempt_id.rfind('.') + 1);
  const std::string label = text_in(marker, "label");
  if (label.starts_with(phase + "doctor.")) ++doctor_calls_;
  if (label.starts_with(phase + "replan.")) ++replans_;
}

std::string_view AttemptsByRows::contradicted_by(const PhaseRow& phase, std::int64_t unfinished) const {
  if (phase.attempts_total != total_ + unfinished) return "attempts_total";
  if (phase.revision < revision_ || phase.revision > revision_most_) return "revision";
  if (phase.attempts_used != used_ + unfinished) return "attempts_used";
  const bool is_limit =
      !max_least_ || (*max_least_ <= phase.max_attempts && phase.max_attempts <= *max_most_);
  return is_limit ? counter_contradicted_by(phase, unfinished) : "max_attempts";
}

std::string_view AttemptsByRows::counter_contradicted_by(const PhaseRow& phase,
                                                         std::int64_t unfinished) const {
  if (!is_planned_) return "";
  const auto is_said = [&](std::int64_t column, std::int64_t said) {
    return column == said || (inherits_ && column > said);
  };
  if (!is_said(phase.escalation_level, std::max(level_, used_ + unfinished - 1))) return "escalation_level";
  if (!is_said(phase.doctor_calls, doctor_calls_)) return "doctor_calls";
  return is_said(phase.replans, replans_) ? "" : "replans";
}

bool gives_up(std::string_view decision) {
  const auto known = recovery_decision_from_name(decision);
  if (!known) return false;
  switch (*known) {
    case RecoveryDecision::kReExecute:
    case RecoveryDecision::kSkip:
    case RecoveryDecision::kEscalate:
    case RecoveryDecision::kCancelled:
    case RecoveryDecision::kWait:
    case RecoveryDecision::kContinue:
      return true;
    case RecoveryDecision::kReattach:
    case RecoveryDecision::kAdopt:
    case RecoveryDecision::kProbed:
      return false;
  }
  return false;
}

void SpentByRows::add(std::string_view unit, std::int64_t amount) {
  auto& sum = unit == kSandboxMs ? sandbox_ms_ : unit == kTokens ? tokens_ : usd_nanos_;
  sum = std::min(sum_at_most_max(sum, std::max<std::int64_t>(amount, 0)), kSpentMax);
}

void SpentByRows::add(const Json& row) {
  const std::string type = text_in(row, "type");
  if (type == "executed") {
    add(kSandboxMs, integer_in(row, "duration_ms"));
  } else if (type == "usage") {
    add(kTokens, integer_in(row, "input_tokens"));
    add(kTokens, integer_in(row, "output_tokens"));
    add(kUsdNanos, integer_in(row, "cost_usd_nanos"));
  } else if (type == "resume") {
    const std::string decision = text_in(row, "decision");
    add(kSandboxMs, integer_in(row, "spent_ms"));
    is_least_ = is_least_ || (gives_up(decision) && !row.contains("spent_ms"));
  }
}

std::string_view SpentByRows::contradicted_by(const std::vector<BudgetRow>& budgets) const {
  for (const auto unit : kUnits) {
    const auto said = unit == kSandboxMs ? sandbox_ms_ : unit == kTokens ? tokens_ : usd_nanos_;
    const auto row = of_unit(budgets, unit);
    const bool is_more = is_least_ && unit == kSandboxMs && row.spent > said;
    if ((row.spent != said && !is_more) || row.reserved < 0) return unit;
  }
  return "";
}

std::string_view reserved_contradicted(const std::vector<BudgetRow>& budgets,
                                       const std::vector<StepRow>& holders) {
  for (const auto unit : kUnits) {
    std::int64_t sum = 0;
    for (const auto& step : holders)
      sum = sum_at_most_max(sum, unit == kSandboxMs ? step.reserved_ms
                                 : unit == kTokens  ? step.reserved_tokens
                                                    : step.reserved_usd_nanos);
    if (of_unit(budgets, unit).reserved != sum) return unit;
  }
  return "";
}

void note_cap(const Json& row, Caps& caps) {
  if (text_in(row, "type") != "operator") return;
  const std::string action = text_in(row, "action");
  for (const auto unit : kUnits)
    if (const auto cap = number_behind(action, "budget " + std::string(unit) + " "))
      caps[std::string(unit)] = *cap;
}

std::string_view cap_contradicted(const Json& started, const Caps& by_operators,
                                  const std::vector<BudgetRow>& budgets) {
  const auto& planned = object_in(started, "caps");
  for (const auto unit : kUnits) {
    const std::string name(unit);
    const auto set = by_operators.find(name);
    if (set == by_operators.end() && !started.contains("caps")) continue;
    std::optional<std::int64_t> cap;
    if (planned.contains(name)) cap = integer_in(planned, name.c_str());
    if (set != by_operators.end()) cap = set->second;
    if (of_unit(budgets, unit).cap != cap) return unit;
  }
  return "";
}

BudgetRow of_unit(const std::vector<BudgetRow>& budgets, std::string_view unit) {
  const auto found = std::ranges::find(budgets, unit, &BudgetRow::unit);
  return found == budgets.end() ? BudgetRow{.unit = std::string(unit)} : *found;
}

}  // namespace pawl::store
