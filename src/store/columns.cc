#include "store/columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <type_traits>

#include "base/json.h"

namespace pawl::store {
namespace {

Result<std::vector<std::string>> strings_of(std::string_view text) {
  if (text == "[]") return std::vector<std::string>();  // the usual value
  const auto parsed = parse_json(text);
  if (!parsed) return fail(ErrorKind::kForged, "a list of strings is not JSON");
  const Json& json = *parsed;
  if (!json.is_array()) return fail(ErrorKind::kForged, "a list of strings is no list");
  std::vector<std::string> out;
  for (const auto& item : json) {
    if (!item.is_string()) return fail(ErrorKind::kForged, "a list of strings holds something else");
    out.push_back(item.get<std::string>());
  }
  return out;
}

// Each sets a member from the value in a column.
Status set_member(std::string& to, const Query& query, int column) {
  to = query.view(column);
  return {};
}
Status set_member(std::int64_t& to, const Query& query, int column) {
  to = query.number(column);
  return {};
}
Status set_member(bool& to, const Query& query, int column) {
  to = query.number(column) != 0;
  return {};
}
Status set_member(PhaseState& to, const Query& query, int column) {
  PAWL_TRY(to, phase_state_from_name(query.view(column)));
  return {};
}
Status set_member(PhaseOutcome& to, const Query& query, int column) {
  PAWL_TRY(to, phase_outcome_from_name(query.view(column)));
  return {};
}
Status set_member(AttemptVerdict& to, const Query& query, int column) {
  PAWL_TRY(to, attempt_verdict_from_name(query.view(column)));
  return {};
}
Status set_member(RunState& to, const Query& query, int column) {
  PAWL_TRY(to, run_state_from_name(query.view(column)));
  return {};
}
Status set_member(StepState& to, const Query& query, int column) {
  const std::string_view state = query.view(column);
  to = state == "done" ? StepState::kDone : state == "lost" ? StepState::kLost : StepState::kOpen;
  const bool is_known = to != StepState::kOpen || state == "open";
  return is_known ? Status()
                  : fail(ErrorKind::kForged, "not a step state: '" + printable(std::string(state)) + "'");
}
Status set_member(std::vector<std::string>& to, const Query& query, int column) {
  PAWL_TRY(to, strings_of(query.view(column)));
  return {};
}

template <typename Row>
struct Column {
  std::string_view name;
  Status (*read)(Row& row, const Query& query, int column);
};

template <typename Row, typename Member>
Row row_of_member(Member Row::*);

// The column of that name, which has the value of `Member`.
template <auto Member>
constexpr auto column(std::string_view name) {
  using Row = decltype(row_of_member(Member));
  return Column<Row>{name,
                     [](Row& row, const Query& query, int at) { return set_member(row.*Member, query, at); }};
}

#define PAWL_COLUMN(Row, name) column<&Row::name>(#name)

constexpr std::array kRuns = {
    PAWL_COLUMN(RunRow, run_id),     PAWL_COLUMN(RunRow, workflow_id),  PAWL_COLUMN(RunRow, state),
    PAWL_COLUMN(RunRow, plan_file),  PAWL_COLUMN(RunRow, plan_content), PAWL_COLUMN(RunRow, source_path),
    PAWL_COLUMN(RunRow, base_id),    PAWL_COLUMN(RunRow, base_commit),  PAWL_COLUMN(RunRow, backend),
    PAWL_COLUMN(RunRow, created_at), PAWL_COLUMN(RunRow, ended_at),     PAWL_COLUMN(RunRow, doctor_calls)};

constexpr std::array kPhases = {PAWL_COLUMN(PhaseRow, run_id),
                                PAWL_COLUMN(PhaseRow, phase_id),
                                PAWL_COLUMN(PhaseRow, tier_index),
                                PAWL_COLUMN(PhaseRow, phase_index),
                                PAWL_COLUMN(PhaseRow, state),
                                PAWL_COLUMN(PhaseRow, outcome),
                                PAWL_COLUMN(PhaseRow, attempts_used),
                                PAWL_COLUMN(PhaseRow, max_attempts),
                                PAWL_COLUMN(PhaseRow, last_attempt_timestamp),
                                PAWL_COLUMN(PhaseRow, last_failure_reason),
                                PAWL_COLUMN(PhaseRow, not_before),
                                PAWL_COLUMN(PhaseRow, lease_owner),
                                PAWL_COLUMN(PhaseRow, lease_expires_at),
                                PAWL_COLUMN(PhaseRow, fence),
                                PAWL_COLUMN(PhaseRow, revision),
                                PAWL_COLUMN(PhaseRow, attempts_total),
                                PAWL_COLUMN(PhaseRow, escalation_level),
                                PAWL_COLUMN(PhaseRow, doctor_calls),
                                PAWL_COLUMN(PhaseRow, replans),
                                PAWL_COLUMN(PhaseRow, lease_mono_id),
                                PAWL_COLUMN(PhaseRow, lease_until_mono)};

constexpr std::array kAttempts = {
    PAWL_COLUMN(AttemptRow, run_id),          PAWL_COLUMN(AttemptRow, phase_id),
    PAWL_COLUMN(AttemptRow, number),          PAWL_COLUMN(AttemptRow, attempt_id),
    PAWL_COLUMN(AttemptRow, revision),        PAWL_COLUMN(AttemptRow, model),
    PAWL_COLUMN(AttemptRow, base_merge_seq),  PAWL_COLUMN(AttemptRow, base_has_own_tier),
    PAWL_COLUMN(AttemptRow, agent_layer),     PAWL_COLUMN(AttemptRow, started_at),
    PAWL_COLUMN(AttemptRow, ended_at),        PAWL_COLUMN(AttemptRow, finished),
    PAWL_COLUMN(AttemptRow, verdict),         PAWL_COLUMN(AttemptRow, signals),
    PAWL_COLUMN(AttemptRow, failing_signals), PAWL_COLUMN(AttemptRow, summary),
    PAWL_COLUMN(AttemptRow, feedback),        PAWL_COLUMN(AttemptRow, executor),
    PAWL_COLUMN(AttemptRow, build),           PAWL_COLUMN(AttemptRow, told_seq),
    PAWL_COLUMN(AttemptRow, failure),         PAWL_COLUMN(AttemptRow, joined_round),
    PAWL_COLUMN(AttemptRow, joined_merge_seq)};

constexpr std::array kSteps = {PAWL_COLUMN(StepRow, sandbox_run_id),
                               PAWL_COLUMN(StepRow, run_id),
                               PAWL_COLUMN(StepRow, phase_id),
                               PAWL_COLUMN(StepRow, attempt_id),
                               PAWL_COLUMN(StepRow, step_index),
                               PAWL_COLUMN(StepRow, gate_id),
                               PAWL_COLUMN(StepRow, step_name),
                               PAWL_COLUMN(StepRow, label),
                               PAWL_COLUMN(StepRow, execution),
                               PAWL_COLUMN(StepRow, sandbox_spec_hash),
                               PAWL_COLUMN(StepRow, state),
                               PAWL_COLUMN(StepRow, started_at),
                               PAWL_COLUMN(StepRow, ended_at),
                               PAWL_COLUMN(StepRow, run),
                               PAWL_COLUMN(StepRow, reserved_ms),
                               PAWL_COLUMN(StepRow, reserved_tokens),
                               PAWL_COLUMN(StepRow, reserved_usd_nanos),
                               PAWL_COLUMN(StepRow, episode),
                               PAWL_COLUMN(StepRow, told_seq),
                               PAWL_COLUMN(StepRow, decision)};

#undef PAWL_COLUMN

template <typename Row>
Result<Row> read_row(std::string_view table, const auto& columns, const Query& query) {
  Row row;
  int at = 0;
  for (const auto& column : columns) {
    if (const auto read = column.read(row, query, at++); !read)
      return fail(ErrorKind::kForged, fmt::format("table {}, column {}: {}. Pawl does not write this; see "
                                                  "`pawl verify`, and restore the state folder from a backup",
                                                  table, column.name, read.error().message));
  }
  return row;
}

std::string list_of(std::string_view table, const auto& columns) {
  std::string out;
  for (const auto& column : columns) {
    if (!out.empty()) out += ", ";
    out.append(table).append(".").append(column.name);
  }
  return out;
}

std::string columns_of(std::string_view table) {
  if (table == "runs") return list_of(table, kRuns);
  if (table == "phases") return list_of(table, kPhases);
  if (table == "attempts") return list_of(table, kAttempts);
  PAWL_CHECK(table == "steps");
  return list_of(table, kSteps);
}

}  // namespace

std::string with_columns(std::string_view statements) {
  std::string out;
  for (;;) {
    const auto begin = statements.find('{');
    out.append(statements.substr(0, begin));
    if (begin == std::string_view::npos) return out;
    const auto end = statements.find('}', begin);
    PAWL_CHECK(end != std::string_view::npos);
    out += columns_of(statements.substr(begin + 1, end - begin - 1));
    statements.remove_prefix(end + 1);
  }
}

Result<RunRow> read_run(const Query& query) { return read_row<RunRow>("runs", kRuns, query); }
Result<PhaseRow> read_phase(const Query& query) { return read_row<PhaseRow>("phases", kPhases, query); }
Result<AttemptRow> read_attempt(const Query& query) {
  return read_row<AttemptRow>("attempts", kAttempts, query);
}
Result<StepRow> read_step(const Query& query) { return read_row<StepRow>("steps", kSteps, query); }

int columns_of_step() { return static_cast<int>(kSteps.size()); }

}  // namespace pawl::store
