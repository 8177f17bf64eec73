#include "store/ledger_rows.h"

#include "base/hash.h"
#include "base/money.h"
#include "store/limits.h"

namespace pawl::store {
namespace {

JsonMembers row_of(std::string_view type) {
  JsonMembers row;
  row.text("type", type);
  return row;
}

// Each tier has the limits of its phases, in their order.
std::string tiers_text(const NewRun& run) {
  std::vector<std::string> tiers;
  for (const auto& tier : run.tiers) {
    std::vector<std::string> planned;
    for (const auto& phase : run.phases)
      if (phase.tier_index == tier.tier_index) planned.push_back(std::to_string(phase.max_attempts));
    tiers.push_back(JsonMembers()
                        .text("name", tier.name)
                        .boolean("stop_on_failure", tier.stop_on_failure)
                        .boolean("parallel", tier.parallel)
                        .json("max_attempts", canonical_array(planned))
                        .object());
  }
  return canonical_array(tiers);
}

std::string caps_text(const NewRun& run) {
  JsonMembers caps;
  if (run.sandbox_ms_cap) caps.number(kSandboxMs, *run.sandbox_ms_cap);
  if (run.tokens_cap) caps.number(kTokens, *run.tokens_cap);
  if (run.usd_nanos_cap) caps.number(kUsdNanos, *run.usd_nanos_cap);
  return caps.object();
}

}  // namespace

JsonMembers run_started_row(const NewRun& run, const RunBefore& before) {
  std::vector<std::string> phases;
  JsonMembers planned;
  planned.text("", blake3_hex(run.plan.common));
  for (const auto& phase : run.phases) phases.push_back(phase.phase_id);
  for (std::size_t i = 0; i < run.plan.phases.size(); ++i)
    planned.text(phases.at(i), blake3_hex(run.plan.phases[i].row));
  auto row = row_of("run_started")
                 .text("run_id", run.run.run_id)
                 .text("workflow_id", run.run.workflow_id)
                 .text("plan_hash", blake3_hex(run.plan_text))
                 .text("plan_content", run.run.plan_content)
                 .text("base_id", run.run.base_id)
                 .text("base_commit", run.run.base_commit)
                 .text("backend", run.run.backend)
                 .texts("phases", phases)
                 .json("tiers", tiers_text(run))
                 .json("caps", caps_text(run));
  if (!run.plan.phases.empty()) row.json("planned", planned.object());
  if (!before.run_id.empty())
    row.json("before", JsonMembers().text("run_id", before.run_id).text("hash", before.hash).object());
  return row;
}

JsonMembers forked_row(const Fork& fork, const std::string& head, const Json& shared) {
  return row_of("forked")
      .text("from_run", fork.from.run_id)
      .text("phase_id", fork.from.phase_id)
      .number("attempt", fork.from.attempt)
      .text("head", head)
      .json("shared", canonical(shared))
      .number("uid", fork.who.uid)
      .text("reason", fork.who.reason);
}

JsonMembers pre_execute_row(const StepRow& step, const StepStart& start) {
  auto row = row_of("pre_execute")
                 .text("attempt_id", step.attempt_id)
                 .text("label", step.label)
                 .text("sandbox_run_id", step.sandbox_run_id)
                 .text("sandbox_spec_hash", step.sandbox_spec_hash)
                 .text("started_at", step.started_at)
                 .number("execution", step.execution);
  if (start.previous_layer) row.text("layer", *start.previous_layer);
  if (!start.not_continued.empty()) row.text("not_continued", start.not_continued);
  return row;
}

JsonMembers executed_row(const StepRow& step, const StepEnd& end) {
  return row_of("executed")
      .text("attempt_id", step.attempt_id)
      .text("label", step.label)
      .text("sandbox_run_id", step.sandbox_run_id)
      .text("outcome", end.outcome)
      .number("exit_code", end.exit_code)
      .number("duration_ms", end.duration_ms)
      .text("layer", end.layer)
      .text("run", blake3_hex(end.run))
      .text("cost", blake3_hex(end.cost_row));
}

std::string stack_hash(const std::string& base_id, const std::vector<std::string>& layers) {
  std::string all = "[";
  append_json_string(all, base_id);
  for (const auto& layer : layers) {
    all += ',';
    append_json_string(all, layer);
  }
  return blake3_hex(all + "]");
}

JsonMembers attempt_row(const AttemptRow& attempt, const std::vector<EpisodeRow>& episodes,
                        const JudgedBy& by) {
  auto row = row_of("attempt")
                 .text("attempt_id", attempt.attempt_id)
                 .number("revision", attempt.revision)
                 .text("model", attempt.model)
                 .json("signals", attempt.signals.empty() ? "[]" : attempt.signals)
                 .text("verdict", name(attempt.verdict))
                 .texts("failing_signals", attempt.failing_signals)
                 .text("summary", attempt.summary)
                 .text("started_at", attempt.started_at)
                 .text("ended_at", attempt.ended_at)
                 .text("executor", attempt.executor)
                 .text("build", attempt.build)
                 .text("layer", attempt.agent_layer)
                 .number("merge_seq", attempt.base_merge_seq)
                 .boolean("own_tier", attempt.base_has_own_tier)
                 .text("feedback", attempt.feedback.empty() ? "" : blake3_hex(attempt.feedback));
  if (!by.stack.empty()) row.text("stack", by.stack);
  if (!by.inventories.empty()) row.text("inventories", by.inventories);
  if (!attempt.failure.empty()) row.text("failure", attempt.failure);
  if (!episodes.empty()) row.json("episodes", json_text(episodes));
  return row;
}

std::string json_text(const std::vector<EpisodeRow>& episodes) {
  std::vector<std::string> out;
  for (const auto& row : episodes) {
    JsonMembers entry;
    entry.number("episode", row.episode)
        .text("outcome", row.outcome)
        .number("gates_passed", row.gates_passed)
        .number("failing_signals", row.failing_signals);
    if (row.changed_lines) entry.number("changed_lines", *row.changed_lines);
    if (!row.kept_by.empty()) entry.text("kept_by", row.kept_by);
    out.push_back(entry.object());
  }
  return canonical_array(out);
}

JsonMembers judged_again_row(const AttemptRow& attempt, const std::vector<std::string>& beside) {
  return row_of("judged_again")
      .text("attempt_id", attempt.attempt_id)
      .number("round", attempt.joined_round)
      .number("merge_seq", attempt.joined_merge_seq)
      .texts("phases", beside);
}

JsonMembers resume_row(const std::string& attempt_id, const ResumeDecision& decision,
                       std::optional<std::int64_t> spent_ms) {
  auto row = row_of("resume")
                 .text("attempt_id", attempt_id)
                 .text("label", decision.label)
                 .text("sandbox_run_id", decision.sandbox_run_id)
                 .text("found", name(decision.found))
                 .text("decision", name(decision.decision));
  if (!decision.lost_cost_row.empty()) row.text("cost", blake3_hex(decision.lost_cost_row));
  if (spent_ms) row.number("spent_ms", *spent_ms);
  if (decision.kept_layer) row.text("layer", *decision.kept_layer);
  if (!decision.not_continued.empty()) row.text("not_continued", decision.not_continued);
  return row;
}

// No name of a member is after "type": readers of chains look for the type at the end.
Status note_kept_layer(const LedgerRow& row, std::string_view attempt_id, KeptLayers& to) {
  // Most rows are of another type, and are not parsed.
  const auto is_of = [&](std::string_view type) { return row.line.find(type) != std::string::npos; };
  const bool is_resume = is_of("\"type\":\"resume\"");
  if (!is_resume && !is_of("\"type\":\"pre_execute\"")) return {};
  PAWL_TRY(const auto json, parse_json(row.line));
  if (text_in(json, "attempt_id") != attempt_id) return {};
  const auto id = text_in(json, "sandbox_run_id");
  if (json.contains("layer"))
    to[id] = text_in(json, "layer");
  else if (!is_resume && json.contains("not_continued"))
    to[id] = std::nullopt;
  else if (is_resume && gives_up(text_in(json, "decision")))
    to.erase(id);
  return {};
}

JsonMembers waited_row(const std::string& attempt_id, const ResumeDecision& decision) {
  const Wait& wait = *decision.wait;
  return row_of("waited")
      .text("attempt_id", attempt_id)
      .text("label", decision.label)
      .text("sandbox_run_id", decision.sandbox_run_id)
      .text("refusal", name(decision.found))
      .number("number", wait.number)
      .text("provider", wait.provider)
      .text("credential", wait.credential)
      .number("status", wait.status)
      .text("message", wait.message)
      .text("reset", wait.reset)
      .text("source", wait.source)
      .text("not_before", wait.not_before)
      .number("delay_ms", wait.delay_ms);
}

std::optional<Wait> wait_in(const Json& row) {
  if (text_in(row, "type") != "waited") return std::nullopt;
  return Wait{.number = integer_in(row, "number"),
              .provider = text_in(row, "provider"),
              .message = text_in(row, "message"),
              .credential = text_in(row, "credential"),
              .status = integer_in(row, "status"),
              .reset = text_in(row, "reset"),
              .source = text_in(row, "source"),
              .not_before = text_in(row, "not_before"),
              .delay_ms = integer_in(row, "delay_ms")};
}

namespace {

JsonMembers operator_row_of(const std::string& action, std::string_view phase_id, const Operator& who,
                            std::string_view from_state, std::string_view to_state) {
  return row_of("operator")
      .text("action", action)
      .text("phase_id", phase_id)
      .number("uid", who.uid)
      .text("reason", who.reason)
      .text("from_state", from_state)
      .text("to_state", to_state);
}

}  // namespace

JsonMembers operator_row(const std::string& action, const Operator& who, const PhaseRow& before,
                         PhaseState after) {
  return operator_row_of(action, before.phase_id, who, name(before.state), name(after));
}

JsonMembers run_operator_row(const std::string& action, const Operator& who, RunState state) {
  return operator_row_of(action, "", who, name(state), name(state));
}

JsonMembers advice_row(const std::string& attempt_id, const Advice& advice, std::int64_t revision) {
  auto row = row_of(advice.hook)
                 .text("attempt_id", attempt_id)
                 .text("sandbox_run_id", advice.sandbox_run_id)
                 .boolean("understood", advice.understood)
                 .text("reason", advice.reason);
  if (advice.hook == "doctor") return row.text("action", name(advice.action)).text("hint", advice.hint);
  return row.text("goal", advice.goal).number("revision", revision);
}

JsonMembers agent_row(const std::string& attempt_id, const Reported::Event& event) {
  return row_of("agent")
      .text("attempt_id", attempt_id)
      .text("event", event.event)
      .text("told_at", event.at)
      .json("details", canonical(event.details));
}

JsonMembers usage_row(const StepRow& step, const std::vector<Reported::Usage>& usage) {
  std::int64_t input = 0, output = 0, cached = 0, usd_nanos = 0, unknown = 0;
  std::string lines;
  for (const auto& row : usage) {
    input = sum_at_most_max(input, row.input_tokens);
    output = sum_at_most_max(output, row.output_tokens);
    cached = sum_at_most_max(cached, row.cached_tokens);
    usd_nanos = sum_at_most_max(usd_nanos, row.usd_nanos);
    unknown += row.is_unknown ? 1 : 0;
    lines += row.line + "\n";
  }
  auto row = row_of("usage")
                 .text("attempt_id", step.attempt_id)
                 .text("sandbox_run_id", step.sandbox_run_id)
                 .number("rows", static_cast<std::int64_t>(usage.size()))
                 .number("input_tokens", input)
                 .number("output_tokens", output)
                 .number("cached_tokens", cached)
                 .number("cost_usd_nanos", usd_nanos)
                 .text("lines", blake3_hex(lines));
  if (unknown > 0) row.text("known", unknown == std::ssize(usage) ? "nothing" : "part");
  return row;
}

JsonMembers phase_sealed_row(const PhaseRow& phase, const ChainHead& end, const std::string& layer) {
  return row_of("phase_sealed")
      .text("phase_id", phase.phase_id)
      .text("state", name(phase.state))
      .text("outcome", name(phase.outcome))
      .text("cause", phase.last_failure_reason)
      .number("attempts_used", phase.attempts_used)
      .number("attempts_total", phase.attempts_total)
      .text("layer", layer)
      .number("rows", end.rows)
      .text("head", end.head);
}

JsonMembers run_sealed_row(RunState state, const std::vector<ChainHead>& phases) {
  std::vector<std::string> list;
  for (const auto& phase : phases)
    list.push_back(JsonMembers()
                       .text("phase_id", phase.chain)
                       .number("rows", phase.rows)
                       .text("head", phase.head)
                       .object());
  return row_of("run_sealed").text("state", name(state)).json("phases", canonical_array(list));
}

std::string head_body(const std::string& run_id, WallTime signed_at, const std::vector<ChainHead>& chains,
                      const std::vector<BudgetRow>& budgets) {
  JsonMembers heads, spent;
  for (const auto& row : budgets) spent.number(row.unit, row.spent);
  for (const auto& chain : chains)
    heads.json(chain.chain, JsonMembers().number("rows", chain.rows).text("head", chain.head).object());
  return JsonMembers()
      .text("run_id", run_id)
      .text("signed_at", rfc3339(signed_at))
      .json("chains", heads.object())
      .json("spent", spent.object())
      .object();
}

}  // namespace pawl::store
