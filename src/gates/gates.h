// Judging: signals out of what steps did, verdicts out of signals. The room's door.
//
// Pure, but for nothing: reports come in as bytes. What an attempt's facts mean is decided here and only
// here, so that a test can enumerate it.
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
#include "base/policy.h"
#include "gates/base.h"
#include "gates/reading/early_stop.h"
#include "gates/reading/trace.h"
#include "gates/report.h"
#include "gates/unloaded.h"

namespace pawl::gates {

constexpr std::size_t kSummaryBytesMax = 4096;  // what a prompt can carry without drowning the task

// What a signal's details may say: strings, integers and booleans.
struct Detail {
  enum class Type { kText, kInteger, kBoolean };
  std::string_view key;
  Type type;
};

struct Signal {
  std::string kind;  // a file of signals/ or signals/attempt/
  std::string gate_id;
  bool passed = false;
  bool missing = false;   // the evidence was not there: never passes, escalates
  Json details;           // keys of details_of(kind)
  std::string collector;  // what it was read by: "exit code", "tests: junit", "diff", ...
  std::string read;       // BLAKE3 of what was read: docs/signals.md says of which bytes
};
std::string json_text(const Signal& signal);  // as JSON
// The name of a signal in failing_signals: "validate.tests"; a signal of the kind `step` is
// "validate.step.lint".
std::string key_of(const Signal& signal);

// The first few names, and how many more.
std::string shown(const std::vector<std::string>& names);

// The registry. Of a name that is no kind: nothing, "" or false.
std::vector<std::string_view> signal_kinds();
const std::vector<Detail>& details_of(std::string_view kind);
// What a step of the gate must give for it: a family of reports (report.h), "trace", "policy", or "".
std::string_view evidence_of(std::string_view kind);
bool compares_with_base(std::string_view kind);

struct ReportFacts {
  std::string path, format, family;
  Result<Report> report;
  std::string told;  // of one that is no report: what its text tells of failures, in valid UTF-8
};

// Where the plan looks for a report.
struct DeclaredReport {
  std::string format, pattern;
};

// How a step ended, as far as a gate cares. Words are those of SandboxRun.
struct StepFacts {
  std::string step_name;
  bool is_agent = false;
  std::string outcome;  // exited, signaled, timed_out, oom_killed, output_limit, disk_limit, setup_failed
  std::int64_t exit_code = -1;
  std::string reason;
  std::int64_t time_budget_seconds = 0;
  std::string last_test;                              // of one that timed out: where it was (hang.h)
  std::int64_t egress_refused = 0;                    // tries to get out that its egress refused
  std::map<std::string, std::int64_t> refused_hosts;  // of those, by "host:port", as far as they are listed
  std::vector<std::string> refused_entries;           // what it left and was not kept, the first of them
  std::int64_t refused_entries_total = 0;             // how many there were
  bool refused_entries_fail = false;                  // then it failed, the plan says
  bool may_fail = false;                              // the plan lets it exit with 1 to 125
  bool counts_failures = false;  // its exit code is the number of tests that failed: may_fail lets it be any
  std::string program;           // of a step that ended with 126 or 127: which one
  bool program_missing = false;  // it ended with another code, for want of that one
  bool program_is_work = false;  // it is a file of the workspace, and is not there yet
  bool program_is_left_out = false;  // it would be one that work never has: ignored, a cache, installed
  std::set<std::string, std::less<>> declared;   // families of reports, "trace": what the plan says it gives
  std::vector<DeclaredReport> patterns;          // where the plan looks for its reports
  std::vector<ReportFacts> reports;              // that THIS step made
  StopOption stop_option;                        // of its command
  SaidStop said_stop;                            // of its output, when it failed
  std::optional<TraceFacts> trace;               // of a step with a trace that could be read
  std::string trace_problem;                     // why it could not
  std::string copy_out, trace_log, network_log;  // ids of what was read, by content
  std::string output_tail;                       // valid UTF-8, the end of its output
  std::string output_told;                       // of a longer one: its lines that tell of failures
};

// What a text tells of failures, in as many bytes as a summary has; valid UTF-8.
std::string telling_text(std::string_view text);
// Takes the output out of a log, or out of the end of a large one.
void take_output(std::string_view log, StepFacts& to);

// Whether a step did what its gate needs: it exited with 0. A step with `may_fail` may also exit with 1 to
// 125, as scanners do when they find something. 126, 127 and 128 + N never hold: a shell gives them for a
// program that could not be started, or that signal N ended; but for those that count what failed on base,
// too (with_known_failing). A step whose plan says `refused_entries: fail`
// does not hold either when it left something that can't be kept.
bool step_held(std::string_view outcome, std::int64_t exit_code, bool may_fail);
bool step_held(const StepFacts& step);

// Adds the tries that a network log (docs/operations.md) lists as refused, by "host:port". At most a thousand
// different ones.
Status add_refused_hosts(ByteSource& network_log, std::map<std::string, std::int64_t>& to);

// Says in the signal what was refused to these steps, and fails it where the plan says so.
void tell_refusals(const std::vector<StepFacts>& steps, Signal& signal);

// BLAKE3 of what a verdict on these steps rests on.
std::string digest_of(const std::vector<StepFacts>& steps);

// What the kinds of `required` that compare with base find there, by kind.
Inventories inventories_of(const std::vector<std::string>& required, const std::vector<StepFacts>& on_base);

struct GateFacts {
  std::string gate_id;
  std::vector<std::string> required;  // kinds
  std::vector<StepFacts>
      steps;                   // those that ran, in order; a gate stops at its first step that did not exit 0
  bool finished = true;        // every step of the gate ran
  Inventories base;            // absent: none was taken
  bool known_failing = false;  // tests that fail on base may fail on
  UnloadedNames removed;       // of what base could not load: those of which the work took a file away
  // Whether the work that is judged has a file, as it was or changed; empty: it has none that matters.
  std::function<bool(const std::string& path)> has_file;
  Policy policy;                        // what it minds in a trace
  std::optional<Signal> policy_signal;  // of the attempt, when the plan has a policy
};

// Of a gate with `known_failing`: its steps, where one holds, too, that exited with 1 to 125 because tests
// failed that fail on base. The others are as they are.
std::vector<StepFacts> with_known_failing(const GateFacts& facts);

// One signal a required kind, in the order of `required`. A step named like the kind decides it (install,
// build); else all steps do. What a kind needs besides is said in its file. A step that did not hold and that
// no failing signal names gets a failing signal of its own, of the kind `step`. REQUIRES: kinds of signals/.
std::vector<Signal> evaluate(const GateFacts& facts);

// A gate has passed only when every one of its steps ran and held, and every signal passed.
bool gate_passed(const GateFacts& facts, const std::vector<Signal>& signals);

struct AttemptFacts {
  std::vector<Signal> signals;             // of the whole attempt, in order, agent's and policy's included
  std::vector<StepFacts> steps;            // all that ran, the agent first
  std::vector<std::string> step_labels;    // parallel to steps
  std::vector<std::string> non_retryable;  // kinds, of the failing gate
  bool timeout_retryable = false, oom_retryable = false;
  bool backend_error = false;           // a step was setup_failed
  std::string stop;                     // OnBase::stop of a gate: no agent was paid
  std::vector<std::string> open_gates;  // gates of the phase that have not passed: with one, nothing passes
  std::string model;                    // that worked on it
  std::multiset<std::string, std::less<>> failing_on_base;  // failing_names() of the phase's gates
  // Failures of this revision's attempts (Verdict::failure), newest first; "" where none is known.
  std::vector<std::string> earlier_failures;
  std::optional<std::int64_t>
      same_failure_max;  // the same failure this often in a row ends it; absent: never
  std::int64_t attempts_used = 1, max_attempts = 5;  // this attempt is counted
};

struct Verdict {
  std::string verdict;                       // passed | failed_retryable | failed_unrecoverable | escalate
  std::vector<std::string> failing_signals;  // sorted
  std::string failure;                       // failure_digest() of failure.h; "" when passed
  // Only another approach could help: the attempts are used up, or they fail in the same way.
  bool approach_failed = false;
  std::string reason;   // one line, "" when passed
  std::string summary;  // for people and the next agent; at most kSummaryBytesMax bytes of UTF-8
};

// `passed` needs positive evidence: every signal passed, and so did every gate. failed_retryable means that
// an attempt is left; exhausted attempts escalate.
Verdict decide(const AttemptFacts& facts);

// What the next agent reads as PAWL_FEEDBACK: {failing_signals, summary, fence, evidence: [paths], attempt,
// verdict}. The summary stands between two lines that have `fence` in them, a word that nobody could know
// when the steps ran: what they printed can't end it and go on as if Pawl, or a person, were speaking.
Json feedback_of(const Verdict& verdict, std::int64_t attempt, const std::vector<std::string>& evidence_paths,
                 const std::string& fence);

}  // namespace pawl::gates
