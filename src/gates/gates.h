// Judging: signals out of what steps did, verdicts out of signals. The room's door.
//
// Pure, but for nothing: reports come in as bytes. What an attempt's facts mean is decided here and only
// here, so that a test can enumerate it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "gates/test_report.h"

namespace pawl::gates {

constexpr std::size_t kSummaryBytesMax = 4096;  // what a prompt can carry without drowning the task
constexpr std::int64_t kSameFailureMax =
    3;  // the same failing signals this often in a row: no attempt will help

struct Signal {
  std::string kind;  // build | install | tests | policy | agent | merge
  std::string gate_id;
  bool passed = false;
  bool missing = false;  // the evidence was not there: never passes, escalates
  Json details;          // object of strings, integers and booleans
};
Json to_json(const Signal& signal);
std::string key_of(const Signal& signal);  // "validate.tests": what failing_signals holds

struct ReportFacts {
  std::string path;
  Result<Tests> tests;
};

// How a step ended, as far as a gate cares. Words are those of SandboxRun.
struct StepFacts {
  std::string step_name;
  std::string outcome;  // exited, signaled, timed_out, oom_killed, output_limit, disk_limit, setup_failed
  std::int64_t exit_code = -1;
  std::string reason;
  std::vector<ReportFacts> reports;  // that THIS step made
  bool reports_declared = false;
  std::string output_tail;  // valid UTF-8, the end of its output
};

// The tests of all reports that parse, as if they were of one: a name that two of them have is two tests.
// kExhausted: more than kReportTestsMax.
Result<Tests> all_tests(const std::vector<StepFacts>& steps);

struct GateFacts {
  std::string gate_id;
  std::vector<std::string> required;  // kinds
  std::vector<StepFacts>
      steps;             // those that ran, in order; a gate stops at its first step that did not exit 0
  bool finished = true;  // every step of the gate ran
  std::optional<std::vector<std::string>>
      inventory;  // names of the tests of base, sorted; absent: none was taken
};

// One signal a required kind, in the order of `required`. A step named like the kind decides it (install,
// build); else all steps do. tests: exit 0, reports parse and agree with the exit code, and no name of the
// inventory is missing or newly skipped (named in details). Exit 0 without a declared report: missing.
std::vector<Signal> evaluate(const GateFacts& facts);

struct AttemptFacts {
  std::vector<Signal> signals;             // of the whole attempt, in order, agent's and policy's included
  std::vector<StepFacts> steps;            // all that ran, the agent first
  std::vector<std::string> step_labels;    // parallel to steps
  std::vector<std::string> non_retryable;  // kinds, of the failing gate
  bool timeout_retryable = false, oom_retryable = false;
  bool backend_error = false;  // a step was setup_failed
  std::vector<std::vector<std::string>>
      earlier_failures;  // failing_signals of this revision's attempts, newest first
  std::int64_t attempts_used = 1, max_attempts = 5;  // this attempt is counted
};

struct Verdict {
  std::string verdict;                       // passed | failed_retryable | failed_unrecoverable | escalate
  std::vector<std::string> failing_signals;  // sorted
  // Only another approach could help: the attempts are used up, or they fail in the same way.
  bool approach_failed = false;
  std::string reason;   // one line, "" when passed
  std::string summary;  // for people and the next agent; at most kSummaryBytesMax bytes of UTF-8
};

// Design, section 7. failed_retryable means that an attempt is left; exhausted attempts escalate.
Verdict decide(const AttemptFacts& facts);

// What the next agent reads as PAWL_FEEDBACK: {failing_signals, summary, evidence: [paths], attempt,
// verdict}.
Json feedback_of(const Verdict& verdict, std::int64_t attempt,
                 const std::vector<std::string>& evidence_paths);

}  // namespace pawl::gates
