#include "plan/sections.h"

#include <algorithm>
#include <charconv>

#include "base/endpoint.h"
#include "base/lines.h"
#include "base/money.h"
#include "base/nearest.h"
#include "plan/fetches.h"
#include "plan/keys.h"
#include "plan/no_tests.h"
#include "plan/script.h"

namespace pawl::plan {
namespace {

constexpr std::size_t kNameMax = 64;

bool has_name_shape(const std::string& text, bool capitals) {
  const auto letter = [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (capitals && c >= 'A' && c <= 'Z');
  };
  if (text.empty() || text.size() > kNameMax || !letter(text.front())) return false;
  return std::ranges::all_of(text, [&](char c) { return letter(c) || c == '.' || c == '_' || c == '-'; });
}

void read_reports(const Mapping& mapping, Step& step, Problems& problems) {
  const auto node = mapping.get("reports");
  if (!node.IsDefined()) return;
  const Mapping reports(node, "reports", "reports", problems);
  for (const auto& format : known_keys().at("reports")) {
    const auto list = reports.get(format);
    if (!list.IsDefined()) continue;
    auto& declared = step.reports.emplace_back(format, read_strings(list, format, problems));
    if (list.IsSequence() && list.size() == 0) problems.add(list, format + ": expected at least one pattern");
    for (const auto& pattern : declared.patterns)
      if (!is_safe_pattern(pattern))
        problems.add(list, format + ": '" + pattern + "' must be relative and stay inside the workspace");
  }
  if (reports.valid() && node.size() == 0) problems.add(node, "reports: expected a format, such as junit");
}

void read_shell(const Mapping& mapping, Step& step, Problems& problems) {
  const auto node = mapping.get("shell");
  if (!node.IsDefined()) return;
  step.shell = read_enum(node, "shell", {Shell::kSh, Shell::kBash}, problems).value_or(step.shell);
  if (const auto run = mapping.get("run"); !run.IsDefined() || !run.IsScalar())
    problems.add(mapping.key_node("shell"),
                 "shell: needs `run` as a string; a list of words is run without a shell");
}

// Such a step ends the run on base after its tools have tried again for a minute.
void warn_of_no_network(const YAML::Node& run, const Step& step, Problems& problems) {
  if (step.network != Network::kNone) return;
  if (const auto need = fetches_by(step.argv))
    problems.warn(run, "run: `" + need->command + "` fetches packages, and the step has no network: add " +
                           "`network: scoped, egress: " + need->egress + "`, or show what it fetches with " +
                           "`mounts` and leave it out");
}

// A gate's script must not pass when one of its commands failed. `may_fail` does not change that: it allows
// an exit code. A hidden failure has no exit code, whether it is a finding or a missing program.
void read_judging_command(const Mapping& mapping, const Defaults& defaults, Step& step, Problems& problems) {
  const auto run = mapping.get("run");
  if (!run.IsDefined()) return;
  step.argv = read_command(run, "run", step.shell, problems);
  const auto reasons = run.IsScalar() ? hidden_failures(step.shell, run.Scalar(), defaults.host_has_bash)
                                      : hidden_failures(step.argv);
  for (const auto& reason : reasons) problems.warn(run, "run: can pass although a command failed: " + reason);
}

Step read_step(const YAML::Node& node, const Defaults& defaults, Problems& problems) {
  Step step;
  const Mapping mapping(node, "a step", "step", problems);
  if (const auto name = mapping.require("name", problems); name.IsDefined()) {
    step.name = read_string(name, "name", problems).value_or("");
    if (!step.name.empty() && !is_name(step.name))
      problems.add(name, "name: '" + step.name.substr(0, 80) +
                             "' must be letters, digits, '.', '_' or '-', at most 64");
  }
  if (const auto flag = mapping.get("may_fail"); flag.IsDefined())
    step.may_fail = read_bool(flag, "may_fail", problems).value_or(false);
  read_shell(mapping, step, problems);
  mapping.require("run", problems);
  read_judging_command(mapping, defaults, step, problems);
  step.limits = defaults.limits;
  step.limits.time_budget_seconds = std::min(step.limits.time_budget_seconds, kGateSecondsMax);
  read_limits(mapping, kGateSecondsMax, step.limits, problems);
  read_network(mapping, {}, step, problems);
  if (const auto run = mapping.get("run"); run.IsDefined()) warn_of_no_network(run, step, problems);
  read_reports(mapping, step, problems);
  return step;
}

// Exit code 0, the least that a gate can require, and the kinds that its reports give.
std::vector<std::string> default_signals(const Gate& gate) {
  std::vector<std::string> out = {"build"};
  for (const auto& step : gate.steps)
    for (const auto& declared : step.reports)
      if (const auto kind = signal_of_format(declared.format); std::ranges::find(out, kind) == out.end())
        out.push_back(kind);
  return out;
}

void read_signals(const Mapping& mapping, Gate& gate, Problems& problems) {
  const auto node = mapping.get("signals");
  if (!node.IsDefined()) {
    gate.signals = default_signals(gate);
    gate.signals_at = place_of(mapping.node());
    return;
  }
  gate.signals_at = place_of(node);
  if (!node.IsSequence() || node.size() == 0) {
    problems.add(node, "signals: expected a list of kinds, found " +
                           (node.IsSequence() ? "an empty one" : type_of(node)));
    return;
  }
  for (const auto& item : node) {
    const auto kind = read_word(item, "signals", signal_words(), problems);
    if (!kind) continue;
    if (std::ranges::find(gate.signals, *kind) != gate.signals.end()) {
      problems.add(item, "signals: '" + *kind + "' is there twice");
    } else {
      gate.signals.push_back(*kind);
    }
  }
}

void read_flaky(const Mapping& policy, RetryPolicy& retry, Problems& problems) {
  if (const auto node = policy.get("flaky_reruns"); node.IsDefined())
    retry.flaky_reruns =
        read_integer(node, "flaky_reruns", {0, kFlakyRerunsMax}, problems).value_or(retry.flaky_reruns);
  const auto node = policy.get("flaky");
  if (!node.IsDefined()) return;
  retry.flaky = read_enum<Flaky>(node, "flaky", problems).value_or(retry.flaky);
  if (retry.flaky_reruns == 0)
    problems.add(node, "flaky: says what happens after `flaky_reruns`, and there are none");
}

}  // namespace

void read_retry(const Mapping& mapping, RetryPolicy& retry, Problems& problems) {
  const auto node = mapping.get("retry");
  if (!node.IsDefined()) return;
  const Mapping policy(node, "retry", "retry", problems);
  if (const auto kinds = policy.get("non_retryable"); kinds.IsDefined()) {
    if (!kinds.IsSequence())
      problems.add(kinds, "non_retryable: expected a list of kinds, found " + type_of(kinds));
    retry.non_retryable.clear();
    if (kinds.IsSequence())
      for (const auto& item : kinds)
        if (const auto kind = read_word(item, "non_retryable", signal_words(), problems))
          retry.non_retryable.push_back(*kind);
  }
  if (const auto flag = policy.get("timeout_retryable"); flag.IsDefined())
    retry.timeout_retryable = read_bool(flag, "timeout_retryable", problems).value_or(true);
  if (const auto flag = policy.get("oom_retryable"); flag.IsDefined())
    retry.oom_retryable = read_bool(flag, "oom_retryable", problems).value_or(false);
  if (const auto most = policy.get("same_failure_max"); most.IsDefined()) {
    if (most.IsScalar() && most.Scalar() == "off")
      retry.same_failure_max.reset();
    else
      retry.same_failure_max = read_integer(most, "same_failure_max", {1, kMaxAttemptsMax}, problems);
  }
  read_flaky(policy, retry, problems);
}

namespace {

void read_phase_gates(const YAML::Node& node, Phase& phase, PhaseContext& context, Problems& problems) {
  if (!node.IsSequence() || node.size() == 0) {
    problems.add(node, "gates: expected a list of gate names, found " +
                           (node.IsSequence() ? "an empty one" : type_of(node)));
    return;
  }
  std::vector<std::string> names;
  for (const auto& [name, gate] : context.plan.gates) names.push_back(name);
  for (const auto& item : node) {
    const auto name = read_string(item, "gates", problems);
    if (!name) continue;
    if (!context.plan.gates.contains(*name)) {
      const auto near = nearest(*name, names);
      problems.add(item,
                   "no gate '" + *name + "' in this plan" + (near ? "; did you mean '" + *near + "'?" : ""));
    } else if (std::ranges::find(phase.gates, *name) != phase.gates.end()) {
      problems.add(item, "gates: '" + *name + "' is there twice");
    } else {
      phase.gates.push_back(*name);
      context.used_gates.insert(*name);
    }
  }
}

// A program that can go on in its own session does so unless the plan says otherwise. So does an agent that goes on
// after a failed attempt: it can do it after a lost execution, too.
Resume resume_of(const Mapping& mapping, const Defaults& defaults, const Phase& phase, Problems& problems) {
  const auto own = read_resume(mapping, problems);
  if (own) return *own;
  if (defaults.resume) return *defaults.resume;
  const bool can_continue =
      phase.agent_acp || !phase.agent_continue.empty() || phase.on_retry == OnRetry::kContinue;
  return {.policy = can_continue ? ResumePolicy::kContinue : ResumePolicy::kReExecute, .probe = {}};
}

Phase read_phase(const YAML::Node& node, PhaseContext& context, Problems& problems) {
  Phase phase;
  const Mapping mapping(node, "a phase", "phase", problems);
  if (const auto id = mapping.require("id", problems); id.IsDefined()) {
    phase.id = read_string(id, "id", problems).value_or("");
    if (!phase.id.empty() && !is_phase_id(phase.id))
      problems.add(id, "id: '" + phase.id.substr(0, 80) + "' must be [a-z0-9][a-z0-9._-]{0,63}");
    else if (!phase.id.empty() && !context.ids.insert(phase.id).second)
      problems.add(id, "duplicate phase id '" + phase.id + "'");
  }
  if (const auto goal = mapping.require("goal", problems); goal.IsDefined()) {
    phase.goal = read_string(goal, "goal", problems).value_or("");
    if (!phase.goal.empty() && is_blank(phase.goal))
      problems.add(goal, "goal: expected a string, found a blank one");
    if (phase.goal.size() > kWordBytesMax)
      problems.add(goal, "goal: " + std::to_string(phase.goal.size()) + " bytes; at most " +
                             std::to_string(kWordBytesMax) +
                             " fit into PAWL_GOAL: put the text into a file beside the plan, which the agent "
                             "finds in /plan, and name it here");
  }
  if (const auto agent = mapping.require("agent", problems); agent.IsDefined())
    read_agent(Mapping(agent, "agent", "agent", problems), context, phase, problems);
  if (const auto gates = mapping.require("gates", problems); gates.IsDefined())
    read_phase_gates(gates, phase, context, problems);
  phase.max_attempts = context.defaults.max_attempts;
  read_number(mapping, "max_attempts", {1, kMaxAttemptsMax}, phase.max_attempts, problems);
  phase.on_retry = context.defaults.on_retry;
  read_on_retry(mapping, phase.on_retry, problems);
  phase.resume = resume_of(mapping, context.defaults, phase, problems);
  phase.durable = context.defaults.durable;
  read_number(mapping, "best_of", {1, kBestOfMax}, phase.best_of, problems);
  if (phase.best_of > 1 && phase.on_retry == OnRetry::kContinue)
    problems.add(node,
                 "on_retry: continue: not with best_of, whose episodes begin from the same state; write "
                 "`on_retry: fresh` for this phase, or `best_of: 1`");
  if (const auto flag = mapping.get("may_be_empty"); flag.IsDefined())
    phase.may_be_empty = read_bool(flag, "may_be_empty", problems).value_or(false);
  if (const auto exit = mapping.get("agent_exit"); exit.IsDefined())
    phase.agent_exit = read_enum<AgentExit>(exit, "agent_exit", problems).value_or(AgentExit::kZero);
  read_guarded(mapping, phase.guarded, problems);
  return phase;
}

}  // namespace

void read_number(const Mapping& mapping, const std::string& key, Range range, std::int64_t& value,
                 Problems& problems) {
  if (const auto node = mapping.get(key); node.IsDefined())
    value = read_integer(node, key, range, problems).value_or(value);
}

bool is_name(const std::string& text) { return has_name_shape(text, true); }
bool is_phase_id(const std::string& text) { return has_name_shape(text, false); }

bool is_safe_pattern(const std::string& text) {
  if (text.empty() || text.front() == '/' || text.size() > 1024) return false;
  for (std::size_t start = 0; start <= text.size();) {
    const auto end = std::min(text.find('/', start), text.size());
    if (text.substr(start, end - start) == "..") return false;
    start = end + 1;
  }
  return std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20; });
}

void read_limits(const Mapping& mapping, std::int64_t seconds_max, Limits& limits, Problems& problems) {
  if (const auto node = mapping.get("backend"); node.IsDefined()) {
    const auto backend = read_word(node, "backend", {"auto", "namespace", "container", "microvm"}, problems);
    if (backend == "container" || backend == "microvm")
      problems.add(node, "`backend: " + *backend + "`: not available yet");
    limits.backend = backend.value_or(limits.backend);
  }
  if (const auto node = mapping.get("base_image"); node.IsDefined()) {
    const auto image = read_string(node, "base_image", problems);
    if (image && *image != "host")
      problems.add(node, "`base_image: " + image->substr(0, 80) + "`: not available yet; only `host` is");
  }
  read_number(mapping, "memory_limit_mib", {16, 1 << 20}, limits.memory_limit_mib, problems);
  read_number(mapping, "pids_limit", {4, 100'000}, limits.pids_limit, problems);
  read_number(mapping, "cpu_limit_millis", {10, 1'000'000}, limits.cpu_limit_millis, problems);
  read_number(mapping, "disk_limit_mib", {1, 1 << 20}, limits.disk_limit_mib, problems);
  read_number(mapping, "output_limit_bytes", {1024, 1 << 30}, limits.output_limit_bytes, problems);
  read_number(mapping, "time_budget_seconds", {1, seconds_max}, limits.time_budget_seconds, problems);
  if (const auto node = mapping.get("refused_entries"); node.IsDefined())
    limits.refused_entries =
        read_enum<RefusedEntries>(node, "refused_entries", problems).value_or(RefusedEntries::kRecord);
}

void read_spending(const Mapping& budget, Spending& out, Problems& problems) {
  if (const auto usd = budget.get("usd"); usd.IsDefined()) {
    // The amount must be in quotes: other programs read a YAML number as a float.
    const bool quoted = usd.IsScalar() && usd.Tag() == "!";
    if (quoted) out.usd_nanos = parse_usd(usd.Scalar());
    if (!out.usd_nanos || *out.usd_nanos == 0)
      problems.add(usd, "usd: expected a decimal in quotes, like \"5.00\", found " +
                            (quoted ? "'" + usd.Scalar().substr(0, 40) + "'" : type_of(usd)));
  }
  if (const auto tokens = budget.get("tokens"); tokens.IsDefined())
    out.tokens = read_integer(tokens, "tokens", {1, kTokensMax}, problems);
}

void check_egress(const YAML::Node& node, const std::vector<std::string>& entries, Problems& problems) {
  for (std::size_t i = 0; i < entries.size(); ++i)
    if (const auto parsed = net::Allowlist::parse({entries[i]}); !parsed)
      problems.add(node.IsSequence() && i < node.size() ? node[i] : node, parsed.error().message);
}

void read_network(const Mapping& mapping, const std::vector<std::string>& own, Step& step,
                  Problems& problems) {
  step.network = own.empty() ? Network::kNone : Network::kScoped;
  if (const auto node = mapping.get("network"); node.IsDefined())
    step.network = read_enum<Network>(node, "network", problems).value_or(Network::kNone);
  const bool scoped = step.network == Network::kScoped;
  if (scoped) step.egress = own;
  if (const auto node = mapping.get("egress"); node.IsDefined()) {
    const auto entries = read_strings(node, "egress", problems);
    if (!scoped) problems.add(mapping.key_node("egress"), "egress: needs network: scoped");
    check_egress(node, entries, problems);
    std::ranges::copy_if(entries, std::back_inserter(step.egress),
                         [&](const auto& entry) { return std::ranges::find(own, entry) == own.end(); });
  }
  if (scoped && step.egress.empty())
    problems.add(mapping.get("network"), "network: scoped needs `egress: [\"HOST:PORT\"]`");
  if (const auto node = mapping.get("trace"); node.IsDefined())
    step.trace = read_bool(node, "trace", problems).value_or(false);
}

Step read_program(const Mapping& mapping, const Defaults& defaults, Problems& problems) {
  Step step;
  step.name = "run";
  read_shell(mapping, step, problems);
  if (const auto run = mapping.require("run", problems); run.IsDefined())
    step.argv = read_command(run, "run", step.shell, problems);
  step.limits = defaults.program_limits;
  read_limits(mapping, kAgentSecondsMax, step.limits, problems);
  read_network(mapping, {}, step, problems);
  return step;
}

std::optional<Resume> read_resume(const Mapping& mapping, Problems& problems) {
  const auto node = mapping.get("resume");
  if (!node.IsDefined()) return std::nullopt;
  if (node.IsMap()) {
    Resume resume{.policy = ResumePolicy::kProbe, .probe = {}};
    const Mapping probe(node, "resume", "resume", problems);
    if (const auto command = probe.require("probe", problems); command.IsDefined())
      resume.probe = read_command(command, "probe", Shell::kBest, problems);
    return resume;
  }
  using enum ResumePolicy;
  const auto policy = read_enum(node, "resume", {kReExecute, kContinue, kSkip, kEscalate}, problems);
  if (!policy) return std::nullopt;
  return Resume{.policy = *policy, .probe = {}};
}

void read_on_retry(const Mapping& mapping, OnRetry& value, Problems& problems) {
  const auto node = mapping.get("on_retry");
  if (!node.IsDefined()) return;
  value = read_enum<OnRetry>(node, "on_retry", problems).value_or(value);
}

// {2: {unit: {run: ..., time_budget_seconds: ...}}} overrides the step `unit` of attempt 2.
void read_overrides(const YAML::Node& node, const Defaults& defaults, Gate& gate, Problems& problems) {
  if (!node.IsMap())
    return problems.add(node, "attempt_overrides: expected a mapping, found " + type_of(node));
  for (const auto& attempt : node) {
    std::int64_t number = 0;
    const std::string text = attempt.first.IsScalar() ? attempt.first.Scalar() : "";
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number < 1 || number > kMaxAttemptsMax) {
      problems.add(attempt.first, "attempt_overrides: expected the number of an attempt, 1 to " +
                                      std::to_string(kMaxAttemptsMax));
      continue;
    }
    if (!attempt.second.IsMap()) {
      problems.add(attempt.second,
                   "attempt_overrides: expected steps of the gate, found " + type_of(attempt.second));
      continue;
    }
    auto& steps = gate.overrides[number] = gate.steps;
    for (const auto& item : attempt.second) {
      const std::string name = item.first.IsScalar() ? item.first.Scalar() : "";
      const auto step = std::ranges::find(steps, name, &Step::name);
      if (step == steps.end()) {
        problems.add(item.first,
                     "attempt_overrides: no step '" + name.substr(0, kNameMax) + "' in gate " + gate.name);
        continue;
      }
      const Mapping mapping(item.second, "an override", "override", problems);
      read_shell(mapping, *step, problems);
      read_judging_command(mapping, defaults, *step, problems);
      read_limits(mapping, kGateSecondsMax, step->limits, problems);
    }
  }
}

// Reads how a gate uses base. Tests that fail there are known by name, from the reports of a run on base.
void read_base(const Mapping& mapping, Gate& gate, Problems& problems) {
  if (const auto node = mapping.get("baseline"); node.IsDefined())
    gate.baseline = read_enum(node, "baseline", {Baseline::kNone}, problems).value_or(gate.baseline);
  const auto node = mapping.get("known_failing");
  if (!node.IsDefined()) return;
  gate.known_failing =
      read_enum(node, "known_failing", {KnownFailing::kBase}, problems).value_or(gate.known_failing);
  if (std::ranges::find(gate.signals, "tests") == gate.signals.end())
    problems.add(node,
                 "known_failing: needs `tests` among the gate's signals, whose reports name what fails");
  if (gate.baseline == Baseline::kNone)
    problems.add(node, "known_failing: base is not run with `baseline: none`; leave one of them out");
  for (const auto& step : gate.steps)
    if (const auto why = why_a_failure_hides_others(step.argv); !why.empty())
      problems.add(node, "known_failing: step " + step.name + ": " + why);
}

void warn_of_listings(const YAML::Node& steps, const Gate& gate, Problems& problems) {
  std::vector<std::vector<std::string>> commands;
  for (const auto& step : gate.steps) commands.push_back(step.argv);
  for (const auto& reason : runners_that_only_list(commands))
    problems.warn(steps, "run: can pass and run nothing: " + reason);
}

Gate read_gate(const YAML::Node& node, const std::string& name, const Defaults& defaults,
               Problems& problems) {
  Gate gate;
  gate.name = name;
  gate.retry = defaults.retry;
  const Mapping mapping(node, "gate " + name, "gate", problems);
  if (const auto steps = mapping.require("steps", problems); steps.IsDefined()) {
    if (!steps.IsSequence() || steps.size() == 0) {
      problems.add(steps, "steps: expected a list of steps, found " +
                              (steps.IsSequence() ? "an empty one" : type_of(steps)));
    } else if (steps.size() > kStepsMax) {
      problems.add(steps, "steps: at most 100 in a gate");
    } else {
      std::set<std::string> names;
      for (const auto& item : steps) {
        gate.steps.push_back(read_step(item, defaults, problems));
        const std::string& step = gate.steps.back().name;
        if (!step.empty() && !names.insert(step).second)
          problems.add(item, "duplicate step '" + step + "' in gate " + name);
        for (const auto& reason : reasons_to_run_nothing(gate.steps.back().argv))
          problems.warn(item, "run: can pass and run nothing: " + reason);
      }
      warn_of_listings(steps, gate, problems);
    }
  }
  if (mapping.valid()) read_signals(mapping, gate, problems);
  if (mapping.valid()) read_base(mapping, gate, problems);
  read_retry(mapping, gate.retry, problems);
  read_guarded(mapping, gate.guarded, problems);
  if (const auto take = mapping.get("take"); take.IsDefined())
    gate.take_only = read_patterns(Mapping(take, "take", "take", problems), "only", "workspace", problems);
  if (const auto overrides = mapping.get("attempt_overrides"); overrides.IsDefined())
    read_overrides(overrides, defaults, gate, problems);
  return gate;
}

Tier read_tier(const YAML::Node& node, std::size_t number, PhaseContext& context, Problems& problems) {
  Tier tier;
  tier.name = "tier" + std::to_string(number);
  const Mapping mapping(node, "a tier", "tier", problems);
  if (const auto name = mapping.get("name"); name.IsDefined()) {
    tier.name = read_string(name, "name", problems).value_or(tier.name);
    if (!is_name(tier.name))
      problems.add(name, "name: '" + tier.name.substr(0, 80) +
                             "' must be letters, digits, '.', '_' or '-', at most 64");
  }
  if (const auto failure = mapping.get("on_failure"); failure.IsDefined())
    tier.on_failure = read_enum<OnFailure>(failure, "on_failure", problems).value_or(OnFailure::kStop);
  if (const auto parallel = mapping.get("parallel"); parallel.IsDefined())
    tier.parallel = read_bool(parallel, "parallel", problems).value_or(false);
  const auto phases = mapping.require("phases", problems);
  if (!phases.IsDefined()) return tier;
  if (!phases.IsSequence() || phases.size() == 0) {
    problems.add(phases, "phases: expected a list of phases, found " +
                             (phases.IsSequence() ? "an empty one" : type_of(phases)));
    return tier;
  }
  for (const auto& item : phases) {
    if (++context.phases > kPhasesMax) {
      problems.add(item, "phases: at most 100000 in a plan");
      break;
    }
    tier.phases.push_back(read_phase(item, context, problems));
  }
  return tier;
}

}  // namespace pawl::plan
