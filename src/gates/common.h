// What several kinds of signals share. A detail of this room.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gates/gates.h"

namespace pawl::gates {

// Passed when the deciding steps exited with 0: the one named like the kind, else all.
Signal exit_signal(const GateFacts& facts, std::string_view kind);
// `more`, and the details of tell_refusals() and tell_hang().
std::vector<Detail> with_refusals(std::vector<Detail> more);
// The details of exit_signal() and `more`.
std::vector<Detail> with_exit(std::vector<Detail> more);

std::string shown(const std::vector<std::string>& names, std::size_t total);  // of which these are the first

// `after` without `before`. REQUIRES: `before` is sorted.
std::vector<std::string> beyond(const std::vector<std::string>& after,
                                const std::vector<std::string>& before);

// What the reports of a family say, as one: a name that two of them have is two.
struct Reports {
  Report all;
  bool declared = false;
  std::int64_t parsed = 0;
  std::string problem;    // of the first that does not parse
  std::string unwritten;  // of the first step that lacks one that it declares: "STEP: no report was written"
};
Reports all_reports(const std::vector<StepFacts>& steps, std::string_view family);

// A report of the family that the plan declares for the step and that the step did not write: " of tap" for a
// format without any, " at a.xml" for a pattern without wildcards, "" where it wrote none at all. Nothing
// when all are there.
std::optional<std::string> unwritten_by(const StepFacts& step, std::string_view family);

// Names of what failed: tests, and what is none (NoTest).
std::vector<std::string> failing_of(const Report& report);

using Names = std::set<std::string_view>;
// The name that equal tests have: "a" of "a#3" where `names`, in which it is, has "a" and "a#2", too. A
// number does not say which of them a test is.
std::string_view unnumbered(std::string_view name, const Names& names);
Names names_of(const Report& report);  // of its tests

// Failures of a report, in its order: those that fail on base, too, of equal names as many as there, and the
// others.
struct Failing {
  std::vector<std::string> on_base, fresh;
};
Failing compare_failing(const Report& report, const Inventory& base);

// Whether a step's exit code is the number of what failed in its reports, as Mocha and TAP's runners give it.
// Such a code may be over 125, where a shell's begin.
bool counts_failures(const StepFacts& step, std::string_view family);

// Of reports in which no test is that ran, which prove nothing: what would make it known; "" of others.
std::string without_test(const std::vector<StepFacts>& steps);

// Whether evidence that was promised can't be used; then the signal says so, and is missing.
bool lacks_reports(const Reports& reports, Signal& signal);

// After may have no finding that base does not have: signals of the family's reports, by name.
Signal delta_signal(const GateFacts& facts, std::string_view kind, std::string_view family,
                    const Inventory* base);
std::vector<Detail> delta_details();
Inventory findings_on_base(const std::vector<StepFacts>& steps, std::string_view family);

// Says in the signal where the inventory is not all that base has; false when it can be compared with
// nothing: then the signal is missing.
bool tell_inventory(const Inventory& base, Signal& signal);
// Why base may have more than its reports say: a step wrote some of them only; "" when all are there.
std::string bound_on_base(const std::vector<StepFacts>& steps, std::string_view family);
// Why steps that should give reports of a family did not, on base; "" when all did.
std::string lacks_on_base(const std::vector<StepFacts>& steps, const Reports& reports,
                          std::string_view family);

}  // namespace pawl::gates
