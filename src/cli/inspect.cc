#include <fmt/format.h>

#include "cli/context.h"
#include "cli/decisions.h"
#include "gates/gates.h"
#include "os/file.h"

namespace pawl::cli {
namespace {

constexpr std::uint64_t kNetworkLogBytesMax = 64 << 20;
constexpr std::size_t kRefusedShownMax = 100;  // of one step

// What an open marker is worth right now.
std::string state_of(const store::StepRow& step, sandbox::SandboxClient& client) {
  switch (step.state) {
    case store::StepState::kDone:
      return "done";
    case store::StepState::kLost:
      return "execute started, result missing";
    case store::StepState::kOpen:
      break;
  }
  const auto found = client.find(step.sandbox_run_id);
  const bool lives = found && *found != sandbox::Found::kNothing;
  return lives ? "running" : "execute started, result missing";
}

Result<Json> json_or_empty(const std::string& text) {
  if (text.empty()) return Json::object();
  return parse_json(text);
}

std::string decision_text(const Json& decision) {
  const auto word = [&](const char* key) { return text_in(decision, key); };
  if (word("type") == "resume")
    return fmt::format("resumed {}: found {}, {}", word("label"), word("found"), word("decision"));
  if (!decision.value("understood", false)) return word("type") + ": no answer that is understood";
  const std::string said = word("type") == "doctor" ? word("action") : word("goal");
  return word("type") + ": " + said + (word("reason").empty() ? "" : " (" + word("reason") + ")");
}

// What the egress did not let through, from the step's network log while it is kept.
Json refused_tries(const State& state, const Json& run) {
  Json out = Json::array();
  const std::string log = run.value("network_log", "");
  if (log.empty()) return out;
  const std::string text = os::read_file(state.workspaces->blob_path(log), kNetworkLogBytesMax).value_or("");
  for (std::size_t start = 0; start < text.size() && out.size() < kRefusedShownMax;) {
    const auto end = std::min(text.find('\n', start), text.size());
    if (auto line = parse_json(text.substr(start, end - start));
        line && line->value("verdict", "") != "allowed")
      out.push_back(*std::move(line));
    start = end + 1;
  }
  return out;
}

Result<Json> attempt_json(const State& state, const store::AttemptRow& attempt,
                          const std::vector<store::StepRow>& steps, const Json& decisions,
                          sandbox::SandboxClient& client) {
  Json out = {{"attempt_id", attempt.attempt_id}, {"number", attempt.number},
              {"revision", attempt.revision},     {"model", attempt.model},
              {"verdict", attempt.verdict},       {"summary", attempt.summary},
              {"started_at", attempt.started_at}, {"ended_at", attempt.ended_at}};
  out["steps"] = Json::array();
  for (const auto& step : steps) {
    if (step.attempt_id != attempt.attempt_id) continue;
    PAWL_TRY(Json run, json_or_empty(step.run));
    out["steps"].push_back({{"label", step.label},
                            {"sandbox_run_id", step.sandbox_run_id},
                            {"execution", step.execution},
                            {"started_at", step.started_at},
                            {"state", state_of(step, client)},
                            {"network_refused", refused_tries(state, run)},
                            {"run", std::move(run)}});
  }
  PAWL_TRY(Json signals, json_or_empty(attempt.signals));
  PAWL_TRY(Json feedback, json_or_empty(attempt.feedback));
  out["signals"] = signals.is_array() ? std::move(signals) : Json::array();
  out["feedback"] = std::move(feedback);
  out["decisions"] = Json::array();
  for (const auto& decision : decisions)
    if (decision["attempt_id"] == attempt.attempt_id) out["decisions"].push_back(decision);
  return out;
}

Result<Json> inspect(const State& state, const std::string& run_id, const std::string& only_phase) {
  PAWL_TRY(const auto run, state.store->run(run_id));
  PAWL_TRY(const auto client, make_client(state.folder, run.backend));
  PAWL_TRY(const auto phases, state.store->phases(run_id));
  Json out = {{"run_id", run_id}, {"state", name(run.state)}, {"phases", Json::array()}};
  for (const auto& phase : phases) {
    if (!only_phase.empty() && phase.phase_id != only_phase) continue;
    PAWL_TRY(const auto attempts, state.store->attempts(run_id, phase.phase_id));
    PAWL_TRY(const auto steps, state.store->steps(run_id, phase.phase_id));
    PAWL_TRY(const Json decisions, decisions_of(*state.store, run_id, phase.phase_id));
    Json shown = {{"phase_id", phase.phase_id},
                  {"state", name(phase.state)},
                  {"outcome", name(phase.outcome)},
                  {"attempts_used", phase.attempts_used},
                  {"attempts_total", phase.attempts_total},
                  {"attempts", Json::array()}};
    for (const auto& attempt : attempts) {
      PAWL_TRY(Json json, attempt_json(state, attempt, steps, decisions, *client));
      shown["attempts"].push_back(std::move(json));
    }
    out["phases"].push_back(std::move(shown));
  }
  if (!only_phase.empty() && out["phases"].empty())
    return fail(ErrorKind::kNotFound,
                "run " + run_id + " has no phase " + only_phase + "; see `pawl status " + run_id + "`");
  return out;
}

std::string ending(const Json& run) {
  if (run.empty()) return "";
  std::string text = run.value("outcome", "");
  if (text == "exited") text += fmt::format(" {}", run.value("exit_code", 0));
  return text + " in " + duration_text(run.value("duration_ms", 0)) +
         fmt::format(", {} MiB", run.value("max_rss_kib", 0) / 1024);
}

void print_attempt(const Json& attempt) {
  const std::string verdict = attempt.value("verdict", "");
  fmt::print("  attempt {}: {}\n", attempt.value("number", 0), verdict.empty() ? "unfinished" : verdict);
  for (const auto& step : attempt["steps"]) {
    const std::string state = step.value("state", "");
    fmt::print("    {}  {}\n", step.value("label", ""), state == "done" ? ending(step["run"]) : state);
    for (const auto& tried : step.value("network_refused", Json::array()))
      fmt::print("      network: {}:{}: {}\n", tried.value("host", ""), tried.value("port", 0),
                 tried.value("verdict", ""));
    for (const auto& refused : step["run"].value("refused", Json::array()))
      fmt::print("      not kept: {}\n", refused.get<std::string>());
  }
  for (const auto& decision : attempt["decisions"]) fmt::print("    {}\n", decision_text(decision));
  for (const auto& signal : attempt["signals"]) {
    const bool missing = signal.value("missing", false);
    fmt::print("    signal {}.{}: {}\n", signal.value("gate_id", ""), signal.value("kind", ""),
               missing ? "missing" : (signal.value("passed", false) ? "passed" : "failed"));
  }
  std::string summary = attempt.value("summary", "");
  while (!summary.empty()) {
    const auto end = summary.find('\n');
    fmt::print("      | {}\n", summary.substr(0, end));
    summary.erase(0, end == std::string::npos ? summary.size() : end + 1);
  }
}

void print(const Json& inspected) {
  fmt::print("run {} is {}\n", inspected.value("run_id", ""), inspected.value("state", ""));
  for (const auto& phase : inspected["phases"]) {
    fmt::print("{}  {} {}  attempts {} (in all {})\n", phase.value("phase_id", ""), phase.value("state", ""),
               phase.value("outcome", ""), phase.value("attempts_used", 0), phase.value("attempts_total", 0));
    for (const auto& attempt : phase["attempts"]) print_attempt(attempt);
  }
}

}  // namespace

void add_inspect(const Command& program) {
  const Command command =
      program.add("inspect", "Tell the story of a run: attempts, steps, signals, verdicts, decisions");
  auto options = std::make_shared<StateOptions>();
  auto run = std::make_shared<std::string>();
  auto phase = std::make_shared<std::string>();
  command.required("RUN", *run, kRunHelp);
  command.option("PHASE", *phase, "Only this phase");
  add_state_options(command, *options);
  command.footer("Example:\n  pawl inspect last fix --json | jq '.phases[0].attempts[0].signals'");
  command.on_run([=] {
    const auto found = [&]() -> Result<Json> {
      PAWL_TRY(const State state, open_state(*options));
      PAWL_TRY(const std::string run_id, state.store->resolve_run(*run));
      return inspect(state, run_id, *phase);
    }();
    if (!found) return report(found.error());
    if (options->json) {
      print_json(*found);
    } else {
      print(*found);
    }
    return kDone;
  });
}

}  // namespace pawl::cli
