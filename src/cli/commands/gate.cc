// Runs one gate of an attempt again, and compares the result with the recorded one.
#include <fmt/format.h>

#include <algorithm>

#include "base/nearest.h"
#include "cli/context.h"
#include "cli/render/say.h"
#include "cli/render/visible.h"
#include "cli/render/words.h"
#include "executor/context.h"
#include "executor/gate_again.h"
#include "executor/open_world.h"
#include "executor/start_run.h"
#include "os/process.h"
#include "plan/parse.h"
#include "sandbox/backend.h"
#include "views/accepted.h"

namespace pawl::cli {
namespace {

constexpr std::uint64_t kTailBytesMax = 4096;  // from the end of a failing step's output: one screen

struct GateOptions {
  StateOptions state;
  std::string run, phase, gate;
  std::int64_t attempt = 0;  // 0: see add_attempt()
};

std::unexpected<Error> unknown(const std::string& what, const std::string& name,
                               const std::vector<std::string>& known) {
  std::string message = what + " " + name;
  if (const auto near = nearest(name, known)) {
    message += "; did you mean '" + *near + "'?";
  } else {
    message += "; it has";
    for (const auto& one : known) message += (&one == known.data() ? " " : ", ") + one;
  }
  return fail(ErrorKind::kNotFound, std::move(message));
}

Result<store::PhaseRow> phase_of(store::Reader& store, const std::string& run_id,
                                 const std::string& phase_id) {
  PAWL_TRY(const auto phases, store.phases(run_id));
  std::vector<std::string> known;
  for (const auto& phase : phases) {
    if (phase.phase_id == phase_id) return phase;
    known.push_back(phase.phase_id);
  }
  return unknown("run " + run_id + " has no phase", phase_id, known);
}

// Finds the attempt that was asked for. Without a number: the newest attempt whose agent's step is done (with
// several episodes: that of the retained episode). This is the accepted attempt when there is one, because no
// attempt follows it.
Status add_attempt(store::Reader& store, std::int64_t number, executor::GateAgain& to) {
  const std::string &run_id = to.run.run_id, &phase_id = to.phase.phase_id;
  PAWL_TRY(const auto attempts, store.attempts(run_id, phase_id));
  PAWL_TRY(const auto steps, store.steps(run_id, phase_id));
  PAWL_TRY(const auto episodes, store.episodes(run_id, phase_id));
  for (auto attempt = attempts.rbegin(); attempt != attempts.rend(); ++attempt) {
    if (number != 0 && attempt->number != number) continue;
    const auto agent = std::ranges::find_if(steps, [&](const auto& step) {
      return step.attempt_id == attempt->attempt_id && step.gate_id == executor::kAgentGate &&
             executor::of_kept_episode(step, episodes) && step.state == store::StepState::kDone;
    });
    if (agent != steps.end()) {
      to.attempt = *attempt;
      to.agent = *agent;
      return {};
    }
    if (number != 0)
      return fail(ErrorKind::kInvalid,
                  fmt::format("the agent of attempt {} of {} has not finished, so there is "
                              "no work to judge; see `pawl inspect {} {}`",
                              number, phase_id, run_id, phase_id));
  }
  if (number == 0 || attempts.empty())
    return fail(ErrorKind::kNotFound,
                "phase " + phase_id + " of run " + run_id +
                    " has no attempt whose agent finished (what a fork shares, its first run has)");
  std::vector<std::string> known;
  for (const auto& attempt : attempts) known.push_back(std::to_string(attempt.number));
  return unknown("phase " + phase_id + " of run " + run_id + " has no attempt", std::to_string(number),
                 known);
}

// Checks that everything from which the gate starts still exists.
Status check_there(const State& state, const executor::GateAgain& what) {
  PAWL_OK(executor::check_not_collected(*state.store, *state.workspaces, what.run));
  const std::string& layer = what.attempt.agent_layer;
  if (layer.empty()) return {};
  if (!state.workspaces->has_layer(layer))
    return fail(ErrorKind::kNotFound, "the work of " + what.attempt.attempt_id +
                                          " is gone: `pawl gc` takes it from runs that ended");
  return state.workspaces->check_before_use("", {layer});
}

Json recorded_signals(const executor::GateAgain& what) {
  Json out = Json::array();
  const auto all = parse_json(what.attempt.signals);
  if (!all || !all->is_array()) return out;
  for (const auto& signal : *all)
    if (text_in(signal, "gate_id") == what.gate_id) out.push_back(signal);
  return out;
}

// A trace contains times and pids, so that the provenance differs at each run.
Json without_provenance(Json signals) {
  for (auto& signal : signals) signal.erase("provenance");
  return signals;
}

std::string word_of(const Json* signal) {
  if (signal == nullptr) return "-";
  return signal_result(*signal);
}

// The name of a signal in its gate. Each failed step has its own signal, which is named by the step.
std::string name_of(const Json& signal) {
  const std::string kind = text_in(signal, "kind");
  return kind == "step" ? kind + "." + text_in(object_in(signal, "details"), "step") : kind;
}

const Json* signal_of(const Json& signals, const std::string& name) {
  const auto found = std::ranges::find(signals, name, name_of);
  return found == signals.end() ? nullptr : &*found;
}

// The names of all signals of this gate run, then those that only the record has.
std::vector<std::string> names_of_all(const Json& signals, const Json& recorded) {
  std::vector<std::string> out;
  for (const auto* some : {&signals, &recorded})
    for (const auto& signal : *some)
      if (std::ranges::find(out, name_of(signal)) == out.end()) out.push_back(name_of(signal));
  return out;
}

// For example "tests: failures 1, then 0". An absent signal has no details.
void print_differences(const std::string& name, const Json* now, const Json* then) {
  const auto details_of = [](const Json* signal) {
    return signal == nullptr ? Json::object() : signal->value("details", Json::object());
  };
  const Json after = details_of(now), before = details_of(then);
  Json keys = after;
  keys.update(before);
  for (const auto& [key, unused] : keys.items()) {
    const Json a = after.value(key, Json()), b = before.value(key, Json());
    if (a != b)
      say("  {}: {} {}, then {}\n", name, key, a.is_null() ? "-" : canonical(a),
          b.is_null() ? "-" : canonical(b));
  }
}

void print_gate(const Json& out) {
  const Json &signals = out["signals"], &recorded = out["recorded"];
  say("gate {} of {}, attempt {}\n", text_in(out, "gate_id"), text_in(out, "phase_id"),
      integer_in(out, "attempt"));
  const auto names = names_of_all(signals, recorded);
  std::size_t width = 6;
  for (const auto& name : names) width = std::max(width, name.size());
  say("{:<{}}  {:<8}{}\n", "signal", width, "now", "then");
  for (const auto& name : names)
    say("{:<{}}  {:<8}{}\n", name, width, word_of(signal_of(signals, name)),
        word_of(signal_of(recorded, name)));
  if (recorded.empty())
    return say("nothing is recorded: it did not run in that attempt, or no verdict is there yet\n");
  if (flag_in(out, "same")) return say("the same as was recorded then\n");
  say("DIFFERENT from what was recorded then:\n");
  for (const auto& name : names) print_differences(name, signal_of(signals, name), signal_of(recorded, name));
}

void print_step(const State& state, const std::string& label, const sandbox::SandboxRun& run) {
  tell("{} {}{} in {}{}\n", label, sandbox::name(run.outcome),
       run.outcome == sandbox::Outcome::kExited ? fmt::format(" {}", run.exit_code) : "",
       duration_text(run.duration_ms), run.reason.empty() ? "" : ": " + visible(run.reason));
  if (succeeded(run) || run.logs.empty()) return;
  std::string tail = os::read_tail(state.workspaces->blob_path(run.logs), kTailBytesMax).value_or("");
  tell("{}{}", tail, tail.ends_with('\n') ? "" : "\n");
}

Result<executor::GateAgain> what_is_asked(const State& state, const GateOptions& options,
                                          const store::RunRow& run, executor::Planned& plan) {
  executor::GateAgain what{.run = run, .gate_id = options.gate};
  PAWL_TRY(what.phase, phase_of(*state.store, run.run_id, options.phase));
  PAWL_TRY(plan, executor::planned_of(*state.store, run, options.phase));
  const auto& phase = plan.phase;
  if (std::ranges::find(phase.gates, options.gate) == phase.gates.end())
    return unknown("phase " + options.phase + " has no gate", options.gate, phase.gates);
  PAWL_OK(add_attempt(*state.store, options.attempt, what));
  PAWL_OK(check_there(state, what));
  return what;
}

Result<bool> gate(const GateOptions& options) {
  PAWL_TRY(const State state, open_state(options.state));
  PAWL_TRY(const std::string run_id, state.store->resolve_run(options.run));
  PAWL_TRY(const auto run, state.store->run(run_id));
  executor::Planned plan;
  PAWL_TRY(const auto hold, state.workspaces->hold());
  PAWL_TRY(const auto what, what_is_asked(state, options, run, plan));
  PAWL_OK(views::check_evidence(state, run));
  PAWL_TRY(const auto backend, sandbox::make_backend(run.backend));
  PAWL_OK(backend->check({}));
  PAWL_TRY(const auto open, executor::OpenWorld::open(state, {run.source_path}));
  os::catch_interrupts();
  const auto print = [&](const std::string& label, const auto& step) { print_step(state, label, step); };
  PAWL_TRY(const auto end, executor::run_gate_again(open->world(), plan, what, os::interrupted, print));
  Json signals = Json::array();
  for (const auto& signal : end.signals) {
    PAWL_TRY(auto shown, parse_json(json_text(signal)));
    signals.push_back(std::move(shown));
  }
  Json out{{"run_id", run_id},        {"phase_id", options.phase},
           {"gate_id", options.gate}, {"attempt", what.attempt.number},
           {"passed", end.passed},    {"recorded", recorded_signals(what)}};
  out["same"] = without_provenance(out["recorded"]) == without_provenance(signals);
  out["signals"] = std::move(signals);
  if (options.state.json)
    print_json(out);
  else
    print_gate(out);
  return end.passed;
}

}  // namespace

void add_gate(const Command& program) {
  const Command command =
      program.add("gate", "Run a gate again on the work of an attempt, without changing the run");
  auto options = std::make_shared<GateOptions>();
  command.required("RUN", options->run, kRunHelp);
  command.required("PHASE", options->phase, "The phase");
  command.required("GATE", options->gate, "One of its gates");
  command.option("--attempt", options->attempt,
                 "Its number (else the accepted one, else the newest whose agent finished)", {.least = 1});
  add_state_options(command, options->state);
  command.footer(
      "Runs the gate's steps in clean sandboxes on the same files as then: the base, the accepted "
      "phases, and the agent's\nchanges without protected paths. Prints the new signals beside the "
      "recorded ones. Writes no state, no ledger row and\nno cost, and no budget counts the time. "
      "Ctrl-C ends the sandboxes.\nExit codes: 0 the gate passes, 1 it fails, 130 "
      "interrupted.\n\nExample:\n  pawl gate last fix check --attempt 2");
  command.on_run([=] {
    const auto passed = gate(*options);
    if (!passed) return report(passed.error());
    return *passed ? kDone : kGeneral;
  });
}

}  // namespace pawl::cli
