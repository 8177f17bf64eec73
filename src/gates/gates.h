// The door of the gates room: turns facts about finished steps into signals, and signals into verdicts.
//
// This room alone decides the meaning of an attempt's facts. Its functions are pure, so a test can enumerate all
// cases. It opens no file, reads no clock and starts no process: reports and logs arrive as bytes. The functions
// share no mutable state, so several threads may call them at once.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "base/outcome.h"
#include "base/policy.h"
#include "gates/base.h"
#include "gates/reading/early_stop.h"
#include "gates/reading/trace.h"
#include "gates/report.h"
#include "gates/unloaded.h"

namespace pawl::gates {

constexpr std::size_t kSummaryBytesMax = 4096;  // bytes; more would drown the task in the prompt

// One key that the details of a signal may have. Values are strings, integers or booleans.
struct Detail {
  enum class Type { kText, kInteger, kBoolean };
  std::string_view key;
  Type type;
};

struct Signal {
  std::string kind;  // the name of a file in signals/ or signals/attempt/
  std::string gate_id;
  bool passed = false;
  bool missing = false;  // the evidence was missing: the signal has not passed, and the attempt escalates
  // Results of the gate's runs on the same content, "failed, passed", when they differ by this signal (flaky.h).
  std::string flaky;
  Json details;           // only keys of details_of(kind)
  std::string collector;  // how the evidence was read: "exit code", "tests: junit", "diff", ...
  std::string read;       // BLAKE3 of the evidence; docs/signals.md defines the bytes
};
std::string json_text(const Signal& signal);  // the signal as a JSON object
// The name of a signal in failing_signals, such as "validate.tests". A signal of the kind `step` also has the
// name of its step: "validate.step.lint".
std::string key_of(const Signal& signal);

// The first names, and how many others there are.
std::string shown(const std::vector<std::string>& names);

// The registry of kinds. For an unknown name, the functions below return no details, "" or false.
std::vector<std::string_view> signal_kinds();
const std::vector<Detail>& details_of(std::string_view kind);
// The evidence that a step of the gate must provide for this kind: a family of reports (report.h), "trace",
// "policy", or "": no evidence.
std::string_view evidence_of(std::string_view kind);
bool compares_with_base(std::string_view kind);

struct ReportFacts {
  std::string path, format, family;
  Result<Report> report;
  // When `report` is an error, or cut short: lines of the file that report failures, valid UTF-8
  std::string failure_lines;
};

// One entry of `reports` in the plan: the format, and the pattern of the paths.
struct DeclaredReport {
  std::string format, pattern;
};

// How a step ended, as far as a gate needs it. `outcome` is that of its sandboxed run.
struct StepFacts {
  std::string step_name;
  bool is_agent = false;
  Outcome outcome = Outcome::kSetupFailed;
  std::int64_t exit_code = -1;
  std::int64_t signal = 0;  // the signal that ended it; set for kSignaled
  std::string reason;
  std::int64_t time_budget_seconds = 0;
  std::string last_test;            // after a timeout: the test that ran last (hang.h)
  std::int64_t egress_refused = 0;  // connections that the step's egress refused
  bool no_network = false;          // the plan gives the step no network
  // Refused connections by "host:port", as far as the log lists them.
  std::map<std::string, std::int64_t> refused_hosts;
  // The first entries that the step left and that were not stored.
  std::vector<std::string> refused_entries;
  std::int64_t refused_entries_total = 0;  // how many such entries there were
  // The entries among them that have the value of a credential, and whether these fail the step.
  std::vector<std::string> withheld;
  bool withheld_fail = false;
  // The plan says that the step fails when there are such entries.
  bool refused_entries_fail = false;
  // Protected files of base and work that the step changed while it ran, and does not change on base.
  std::vector<std::string> changed;
  bool may_fail = false;  // the plan lets the step exit with 1 to 125
  // The exit code is the number of failed tests: with may_fail, any code is allowed.
  bool counts_failures = false;
  std::string program;           // for a gate's step: the program that could not start
  bool program_missing = false;  // the step ended with another code because `program` is missing
  bool program_is_work = false;  // `program` is a file of the workspace that does not exist yet
  // `program` can never be part of the work: ignored, a cache, or installed.
  bool program_is_left_out = false;
  // Families of reports, or "trace", that the plan declares for the step.
  std::set<std::string, std::less<>> declared;
  std::vector<DeclaredReport> patterns;  // where the plan looks for the step's reports
  // The reports that this step wrote, without the reports of earlier steps.
  std::vector<ReportFacts> reports;
  StopOption stop_option;  // an option or a setting that ends its runner at a failure
  // Words of its output about an early end, when the step failed.
  SaidStop said_stop;
  std::optional<TraceFacts> trace;               // set when the step was traced and its trace could be read
  std::string trace_problem;                     // why the trace could not be read
  std::string copy_out, trace_log, network_log;  // content ids of the evidence that was read
  std::string output_tail;                       // the end of the step's output, valid UTF-8
  std::string output_failures;                   // for a long output: its lines that report failures
  std::string refused_line;  // for an agent that failed: refused_command_line() of its output
  std::string said_error;    // for an agent of a known program: the error that its last event says; one line
};

// The lines of a text that report failures, in at most kSummaryBytesMax bytes of valid UTF-8.
std::string telling_text(std::string_view text);
// Fills output_tail, output_failures and said_stop from a log, or from the end of a large log.
void take_output(std::string_view log, StepFacts& to);

// Whether a step did what its gate needs: it exited with 0. With `may_fail` it may also exit with 1 to 125, as
// scanners do when they find something. Codes from 126 on do not hold. A shell exits with 126 or 127 when a
// program could not start, and with 128 + N when signal N ended the program.
//
// step_held(StepFacts) has three more rules. With `may_fail` and `counts_failures` (set by with_known_failing) any
// exit code holds. A step whose plan says `refused_entries: fail` does not hold when it left an entry that cannot
// be stored. A step that changed protected files does not hold, because it could then run the changed files.
bool step_held(Outcome outcome, std::int64_t exit_code, bool may_fail);
bool step_held(const StepFacts& step);

// Counts the connections that a network log (docs/operations.md) lists as refused, by "host:port". Counts at most a
// thousand different hosts; further hosts are dropped. Errors: as add_network_log().
Status add_refused_hosts(ByteSource& network_log, std::map<std::string, std::int64_t>& to);

// Adds the refusals of these steps to the signal. Fails the signal where the plan says that refused entries fail the
// step.
void report_refusals(const std::vector<StepFacts>& steps, Signal& signal);

// BLAKE3 of the facts of these steps on which a verdict rests.
std::string digest_of(const std::vector<StepFacts>& steps);

// The names that base has for each kind of `required` that compares with base, by kind.
Inventories inventories_of(const std::vector<std::string>& required, const std::vector<StepFacts>& on_base);

struct GateFacts {
  std::string gate_id;
  std::vector<std::string> required;  // kinds of signals
  std::vector<StepFacts> steps;  // steps that ran, in order; a gate stops at the first step that did not hold
  bool finished = true;          // every step of the gate ran
  Inventories base;              // empty when no inventory was taken
  bool known_failing = false;    // tests that fail on base may still fail
  UnloadedNames removed;         // names that base could not load, and of which the work removed a file
  // Whether the judged work has a file at this path, changed or not. Null: no file counts as present.
  std::function<bool(const std::string& path)> has_file;
  Policy policy;                        // decides which findings of a trace are reported or fail
  std::optional<Signal> policy_signal;  // the policy signal of the attempt, when the plan has a policy
};

// The steps of a gate, adjusted for `known_failing`. When every failure in the reports also fails on base,
// each step with failures gets `may_fail`. Such a step holds with an exit code of 1 to 125, or with any code
// that counts its failures. All other steps are unchanged.
std::vector<StepFacts> with_known_failing(const GateFacts& facts);

// One signal for each required kind, in the order of `required`. A step with the name of the kind decides it
// (install, build); without such a step all steps decide. The file of a kind has its other conditions. A step that
// did not hold and that no failing signal names adds a failing signal of the kind `step`. REQUIRES: each kind of
// `required` is in signals/, not in signals/attempt/.
std::vector<Signal> evaluate(const GateFacts& facts);

// Whether the gate passed: every step ran and held, and there are signals, all of which passed.
bool gate_passed(const GateFacts& facts, const std::vector<Signal>& signals);

// AttemptFacts::stop for StepFacts::refused_line, and whether it is in the reason of a verdict: the plan of a run stays
// as it is, so that another attempt ends in the same way.
std::string refused_command_line_reason(const std::string& line);
bool is_refused_command_line(std::string_view reason);

struct AttemptFacts {
  // Signals of the whole attempt, in order, with the signals of the agent and of the policy.
  std::vector<Signal> signals;
  std::vector<StepFacts> steps;            // all steps that ran, the agent first
  std::vector<std::string> step_labels;    // parallel to steps
  std::vector<std::string> non_retryable;  // kinds that the failing gate does not retry
  bool timeout_retryable = false, oom_retryable = false;
  bool backend_error = false;  // a step ended as setup_failed
  // For a person: why another attempt can't pass. OnBase::stop of a gate, when the attempt ended before an agent was
  // paid. Otherwise absent_still() of a step, or why the agent's command can't start, or "".
  std::string stop;
  // Gates of the phase that have not passed. The attempt cannot pass while a gate is left.
  std::vector<std::string> open_gates;
  std::string model;                                        // the model that worked on the attempt
  std::multiset<std::string, std::less<>> failing_on_base;  // failing_names() of the phase's gates
  // Verdict::failure of the earlier attempts of this revision, newest first; "": not known.
  std::vector<std::string> earlier_failures;
  // The number of equal failures in a row that ends the phase. Absent: no limit.
  std::optional<std::int64_t> same_failure_max;
  std::int64_t attempts_used = 1, max_attempts = 5;  // attempts_used counts this attempt
};

struct Verdict {
  enum class Kind {
    kPassed,
    kFailedRetryable,      // an attempt is left
    kFailedUnrecoverable,  // the same failure again, and no work that a person may accept
    kEscalate,             // a person decides
  };
  Kind kind = Kind::kEscalate;
  std::vector<std::string> failing_signals;  // sorted, without duplicates
  // The failure_digest() of failure.h. "" when passed, or when the failure is not a fact about the work.
  std::string failure;
  // Only another approach can help: all attempts are used, or they fail in the same way.
  bool approach_failed = false;
  std::string reason;   // one line; when passed, which signals are flaky, or ""
  std::string summary;  // for people and the next agent: at most kSummaryBytesMax bytes of UTF-8
};

std::string_view name(Verdict::Kind kind);  // passed | failed_retryable | failed_unrecoverable | escalate

// Whether the step of a gate ended by time or memory, where the plan does not retry that.
bool is_hopeless(const StepFacts& step, bool timeout_retryable, bool oom_retryable);

// Decides the verdict of an attempt. `passed` needs positive evidence: every signal passed, and so did every
// gate. failed_retryable means that an attempt is left; when all are used, the verdict is `escalate`. Only
// Episode::judged() calls it (executor/judge.cc): for each of several episodes, before a hook is asked, and at the
// end of the attempt.
Verdict decide(const AttemptFacts& facts);

// The JSON that the next agent reads as PAWL_FEEDBACK: {failing_signals, summary, fence, evidence: [paths],
// attempt, verdict}. The summary stands between two lines with the word `fence`, which no process could know
// when the steps ran. So the output of a step cannot end the summary and continue as if Pawl or a person
// spoke.
Json feedback_of(const Verdict& verdict, std::int64_t attempt, const std::vector<std::string>& evidence_paths,
                 const std::string& fence);

}  // namespace pawl::gates
