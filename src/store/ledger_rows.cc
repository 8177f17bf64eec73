#include "store/ledger_rows.h"

#include "base/hash.h"
#include "base/money.h"

namespace pawl::store {

Json run_started_row(const NewRun& run) {
  Json phases = Json::array();
  for (const auto& phase : run.phases) phases.push_back(phase.phase_id);
  return {{"type", "run_started"},
          {"run_id", run.run.run_id},
          {"workflow_id", run.run.workflow_id},
          {"plan_hash", blake3_hex(run.run.plan_text)},
          {"plan_content", run.run.plan_content},
          {"base_id", run.run.base_id},
          {"base_commit", run.run.base_commit},
          {"backend", run.run.backend},
          {"phases", std::move(phases)}};
}

Json forked_row(const Fork& fork, const std::string& head, Json shared) {
  return {{"type", "forked"},
          {"from_run", fork.from.run_id},
          {"phase_id", fork.from.phase_id},
          {"attempt", fork.from.attempt},
          {"head", head},
          {"shared", std::move(shared)},
          {"uid", fork.who.uid},
          {"reason", fork.who.reason}};
}

Json pre_execute_row(const StepRow& step) {
  return {{"type", "pre_execute"},
          {"attempt_id", step.attempt_id},
          {"label", step.label},
          {"sandbox_run_id", step.sandbox_run_id},
          {"sandbox_spec_hash", step.sandbox_spec_hash},
          {"started_at", step.started_at},
          {"execution", step.execution}};
}

Json executed_row(const StepRow& step, const Json& sandbox_run) {
  return {{"type", "executed"},
          {"attempt_id", step.attempt_id},
          {"label", step.label},
          {"sandbox_run_id", step.sandbox_run_id},
          {"outcome", sandbox_run.value("outcome", "")},
          {"exit_code", sandbox_run.value("exit_code", std::int64_t{-1})},
          {"duration_ms", sandbox_run.value("duration_ms", std::int64_t{0})},
          {"layer", sandbox_run.value("layer", "")}};
}

Json attempt_row(const AttemptRow& attempt, const std::vector<EpisodeRow>& episodes) {
  Json signals = Json::array();
  if (auto parsed = parse_json(attempt.signals)) signals = *std::move(parsed);
  Json row{{"type", "attempt"},
           {"attempt_id", attempt.attempt_id},
           {"revision", attempt.revision},
           {"model", attempt.model},
           {"signals", std::move(signals)},
           {"verdict", attempt.verdict},
           {"failing_signals", attempt.failing_signals},
           {"summary", attempt.summary},
           {"started_at", attempt.started_at},
           {"ended_at", attempt.ended_at},
           {"executor", attempt.executor},
           {"build", attempt.build}};
  if (!episodes.empty()) row["episodes"] = to_json(episodes);
  return row;
}

Json to_json(const std::vector<EpisodeRow>& episodes) {
  Json out = Json::array();
  for (const auto& row : episodes) {
    auto& entry = out.emplace_back(Json{{"episode", row.episode},
                                        {"outcome", row.outcome},
                                        {"gates_passed", row.gates_passed},
                                        {"failing_signals", row.failing_signals}});
    if (row.changed_lines) entry["changed_lines"] = *row.changed_lines;
    if (!row.kept_by.empty()) entry["kept_by"] = row.kept_by;
  }
  return out;
}

Json resume_row(const std::string& attempt_id, const ResumeDecision& decision) {
  return {{"type", "resume"},        {"attempt_id", attempt_id},
          {"label", decision.label}, {"sandbox_run_id", decision.sandbox_run_id},
          {"found", decision.found}, {"decision", decision.decision}};
}

Json operator_row(const std::string& action, const Operator& who, const PhaseRow& before, PhaseState after) {
  return {{"type", "operator"},     {"action", action},     {"phase_id", before.phase_id},
          {"uid", who.uid},         {"reason", who.reason}, {"from_state", name(before.state)},
          {"to_state", name(after)}};
}

Json run_operator_row(const std::string& action, const Operator& who, RunState state) {
  return {{"type", "operator"},   {"action", action},          {"phase_id", ""},         {"uid", who.uid},
          {"reason", who.reason}, {"from_state", name(state)}, {"to_state", name(state)}};
}

Json advice_row(const std::string& attempt_id, const Advice& advice, std::int64_t revision) {
  Json row{{"type", advice.hook},
           {"attempt_id", attempt_id},
           {"sandbox_run_id", advice.sandbox_run_id},
           {"understood", advice.understood},
           {"reason", advice.reason}};
  if (advice.hook == "doctor") {
    row["action"] = advice.action;
    row["hint"] = advice.hint;
  } else {
    row["goal"] = advice.goal;
    row["revision"] = revision;
  }
  return row;
}

Json agent_row(const std::string& attempt_id, const Told::Event& event) {
  return {{"type", "agent"},
          {"attempt_id", attempt_id},
          {"event", event.event},
          {"told_at", event.at},
          {"details", event.details}};
}

Json usage_row(const StepRow& step, const std::vector<Told::Usage>& usage) {
  std::int64_t input = 0, output = 0, cached = 0, usd_nanos = 0;
  std::string lines;
  for (const auto& row : usage) {
    input = sum_at_most_max(input, row.input_tokens);
    output = sum_at_most_max(output, row.output_tokens);
    cached = sum_at_most_max(cached, row.cached_tokens);
    usd_nanos = sum_at_most_max(usd_nanos, row.usd_nanos);
    lines += row.line + "\n";
  }
  return {{"type", "usage"},         {"attempt_id", step.attempt_id}, {"sandbox_run_id", step.sandbox_run_id},
          {"rows", usage.size()},    {"input_tokens", input},         {"output_tokens", output},
          {"cached_tokens", cached}, {"cost_usd_nanos", usd_nanos},   {"lines", blake3_hex(lines)}};
}

Json phase_sealed_row(const PhaseRow& phase, std::int64_t rows, const std::string& head) {
  return {{"type", "phase_sealed"},
          {"phase_id", phase.phase_id},
          {"state", name(phase.state)},
          {"outcome", name(phase.outcome)},
          {"cause", phase.last_failure_reason},
          {"attempts_used", phase.attempts_used},
          {"attempts_total", phase.attempts_total},
          {"rows", rows},
          {"head", head}};
}

Json run_sealed_row(RunState state, const std::vector<ChainHead>& phases) {
  Json list = Json::array();
  for (const auto& phase : phases) {
    Json entry;
    entry["phase_id"] = phase.chain;
    entry["rows"] = phase.rows;
    entry["head"] = phase.head;
    list.push_back(std::move(entry));
  }
  return {{"type", "run_sealed"}, {"state", name(state)}, {"phases", std::move(list)}};
}

std::string head_body(const std::string& run_id, WallTime signed_at, const std::vector<ChainHead>& chains) {
  Json heads = Json::object();
  for (const auto& chain : chains) heads[chain.chain] = {{"rows", chain.rows}, {"head", chain.head}};
  return canonical({{"run_id", run_id}, {"signed_at", rfc3339(signed_at)}, {"chains", std::move(heads)}});
}

}  // namespace pawl::store
