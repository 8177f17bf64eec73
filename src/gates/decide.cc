#include <fmt/format.h>

#include <algorithm>

#include "base/mutant.h"
#include "gates/failure.h"
#include "gates/gates.h"
#include "gates/summary.h"

namespace pawl::gates {
namespace {

constexpr std::string_view kAgentEnd = "; the agent ended with: ";
constexpr std::string_view kRefusesCommandLine = "the agent does not take its command line: ";

// Mutants (base/mutant.h).
bool counts_no_same_failure() { return mutant("same_failures_go_on"); }
bool ignores_open_gates() { return mutant("failed_steps_ignored"); }

std::vector<std::string> failing_keys(const std::vector<Signal>& signals) {
  std::vector<std::string> keys;
  for (const auto& signal : signals)
    if (!signal.passed) keys.push_back(key_of(signal));
  std::ranges::sort(keys);
  keys.erase(std::ranges::unique(keys).begin(), keys.end());
  return keys;
}

bool same_failure_again(const std::string& failure, const AttemptFacts& facts) {
  if (!facts.same_failure_max || counts_no_same_failure()) return false;
  const auto earlier_needed = static_cast<std::size_t>(*facts.same_failure_max - 1);
  if (facts.earlier_failures.size() < earlier_needed) return false;
  return std::all_of(facts.earlier_failures.begin(),
                     facts.earlier_failures.begin() + static_cast<std::ptrdiff_t>(earlier_needed),
                     [&](const auto& earlier) { return earlier == failure; });
}

// The agent's step passed, so there is work that a person may accept.
bool agent_passed(const AttemptFacts& facts) {
  const auto agent = std::ranges::find(facts.signals, "agent", &Signal::kind);
  return agent != facts.signals.end() && agent->passed;
}

// The first step is the agent's: its signal says how it ended.
const StepFacts* hopeless_step(const AttemptFacts& facts) {
  for (std::size_t i = 1; i < facts.steps.size(); ++i)
    if (is_hopeless(facts.steps[i], facts.timeout_retryable, facts.oom_retryable)) return &facts.steps[i];
  return nullptr;
}

struct Decision {
  Verdict::Kind kind = Verdict::Kind::kEscalate;
  std::string why;
  bool approach_failed = false;
};

// The agent's exit code, when it is the only failure: every gate passed on what the agent left.
std::optional<std::int64_t> only_exit_code(const AttemptFacts& facts,
                                           const std::vector<std::string>& failing) {
  const auto agent = std::ranges::find(facts.steps, true, &StepFacts::is_agent);
  const auto signal = std::ranges::find(facts.signals, "agent", &Signal::kind);
  if (agent == facts.steps.end() || signal == facts.signals.end() || signal->passed) return std::nullopt;
  const bool alone = failing.size() == 1 && facts.open_gates.empty() && agent->outcome == Outcome::kExited;
  return alone ? std::optional(agent->exit_code) : std::nullopt;
}

Decision decide_failed(const AttemptFacts& facts, const std::vector<std::string>& failing,
                       const std::string& failure) {
  const bool attempts_left = facts.attempts_used < facts.max_attempts;
  const std::string all_used = fmt::format("all {} attempts are used", facts.max_attempts);
  if (!facts.stop.empty()) return {Verdict::Kind::kEscalate, facts.stop};
  if (facts.backend_error)
    return attempts_left ? Decision{Verdict::Kind::kFailedRetryable, "the sandbox could not be made"}
                         : Decision{Verdict::Kind::kEscalate, all_used};
  const auto missing = std::ranges::find_if(facts.signals, &Signal::missing);
  if (missing != facts.signals.end())
    return {Verdict::Kind::kEscalate, "evidence is missing: " + key_of(*missing)};
  if (failing.empty() && !facts.open_gates.empty())
    return {Verdict::Kind::kEscalate, "gate " + facts.open_gates.front() + " was not judged"};
  if (const auto code = only_exit_code(facts, failing))
    return {Verdict::Kind::kEscalate,
            fmt::format("every gate passed, and the agent ended with exit code {}", *code)};
  if (same_failure_again(failure, facts))
    return {agent_passed(facts) ? Verdict::Kind::kEscalate : Verdict::Kind::kFailedUnrecoverable,
            fmt::format("the same failure {} attempts in a row", *facts.same_failure_max), true};
  for (const auto& signal : facts.signals) {
    // The kind `step` is retried like `build`.
    const std::string kind = signal.kind == "step" ? "build" : signal.kind;
    const bool final =
        signal.flaky.empty() && std::ranges::find(facts.non_retryable, kind) != facts.non_retryable.end();
    if (!signal.passed && final) return {Verdict::Kind::kEscalate, key_of(signal) + " is not to be retried"};
  }
  if (const auto* step = hopeless_step(facts))
    return {Verdict::Kind::kEscalate, fmt::format("{} {}", step->step_name, name(step->outcome))};
  return attempts_left ? Decision{Verdict::Kind::kFailedRetryable, ""}
                       : Decision{Verdict::Kind::kEscalate, all_used, true};
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const auto& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

// Tests that fail on base, too. This attempt did not break them: people and the next agent need not look for
// the cause in the work.
std::string failing_before(const std::vector<Signal>& signals) {
  std::string out;
  for (const auto& signal : signals)
    if (!signal.passed && signal.details.contains("failing_on_base_names"))
      out += "; on base fail, too: " + signal.details.at("failing_on_base_names").get<std::string>();
  return out;
}

// The signals whose gate had other results on the same content: "flaky: unit.tests (failed, passed)".
std::string flaky_signals(const std::vector<Signal>& signals) {
  std::string out;
  for (const auto& signal : signals)
    if (!signal.flaky.empty())
      out += fmt::format("{}{} ({})", out.empty() ? "flaky: " : ", ", key_of(signal), signal.flaky);
  return out;
}

// The files that failed the agent's step because they have the value of a credential.
std::string withheld_of_agent(const AttemptFacts& facts) {
  constexpr std::size_t kNamed = 5;
  const auto agent = std::ranges::find(facts.steps, true, &StepFacts::is_agent);
  if (agent == facts.steps.end() || !agent->withheld_fail || agent->withheld.empty()) return "";
  const auto& all = agent->withheld;
  std::string out = "; not stored, for the value of a credential: " +
                    joined({all.begin(), all.begin() + std::min<std::ptrdiff_t>(kNamed, std::ssize(all))});
  if (all.size() > kNamed) out += fmt::format(" and {} more", all.size() - kNamed);
  return out;
}

}  // namespace

std::string refused_command_line_reason(const std::string& line) {
  return std::string(kRefusesCommandLine) + line + "; correct it in the plan, then start a new run";
}

bool is_refused_command_line(std::string_view reason) {
  return reason.substr(0, reason.find(kAgentEnd)).find(kRefusesCommandLine) != reason.npos;
}

std::string_view name(Verdict::Kind kind) {
  switch (kind) {
    case Verdict::Kind::kPassed:
      return "passed";
    case Verdict::Kind::kFailedRetryable:
      return "failed_retryable";
    case Verdict::Kind::kFailedUnrecoverable:
      return "failed_unrecoverable";
    case Verdict::Kind::kEscalate:
      return "escalate";
  }
  return "";
}

bool is_hopeless(const StepFacts& step, bool timeout_retryable, bool oom_retryable) {
  return (step.outcome == Outcome::kTimedOut && !timeout_retryable) ||
         (step.outcome == Outcome::kOomKilled && !oom_retryable);
}

Verdict decide(const AttemptFacts& facts) {
  Verdict out;
  out.failing_signals = failing_keys(facts.signals);
  // The attempt passed when a signal about the work was judged, beside the agent's own, no signal failed, and
  // no gate is open.
  const bool judged = std::ranges::any_of(facts.signals, [](const auto& signal) {
    return signal.kind != "agent" && signal.kind != "base" && signal.kind != "mounts";
  });
  const bool all_gates = facts.open_gates.empty() || ignores_open_gates();
  if (out.failing_signals.empty() && judged && all_gates && !facts.backend_error) {
    out.kind = Verdict::Kind::kPassed;
    out.reason = flaky_signals(facts.signals);
    return out;
  }
  // A sandbox that could not be made is not a fact about the work, nor is a base on which no gate can run.
  if (!facts.backend_error && facts.stop.empty()) out.failure = failure_digest(facts);
  const Decision decision = decide_failed(facts, out.failing_signals, out.failure);
  out.kind = decision.kind;
  out.approach_failed = decision.approach_failed;
  out.reason = joined(out.failing_signals);
  if (!decision.why.empty()) out.reason += (out.reason.empty() ? "" : ": ") + decision.why;
  if (const auto flaky = flaky_signals(facts.signals); !flaky.empty()) out.reason += "; " + flaky;
  out.reason += failing_before(facts.signals);
  out.reason += withheld_of_agent(facts);
  if (const auto end = end_of_agent(facts); !end.empty()) out.reason += std::string(kAgentEnd) + end;
  out.summary = summary_of(facts);
  return out;
}

}  // namespace pawl::gates
