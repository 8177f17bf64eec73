// The parts that several kinds of signals are made of: judgements by exit code and by reports, and the
// comparison with base. A detail of this room.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gates/gates.h"

namespace pawl::gates {

// A signal that passes when the deciding steps held: the step named like the kind, otherwise all steps.
Signal exit_signal(const GateFacts& facts, std::string_view kind);
// `more`, with the details of report_refusals() and report_hang().
std::vector<Detail> with_refusals(std::vector<Detail> more);
// The details of exit_signal(), with `more`.
std::vector<Detail> with_exit(std::vector<Detail> more);

// `names` are the first of `total`.
std::string shown(const std::vector<std::string>& names, std::size_t total);

// The elements of `after` that are not in `before`. REQUIRES: `before` is sorted.
std::vector<std::string> beyond(const std::vector<std::string>& after,
                                const std::vector<std::string>& before);

// Whether a report ends before its first test. Such a text is not a report, unless base could not load the file
// that wrote it (unloaded.h).
bool has_nothing(const Report& report);

// All reports of a family as one report. Equal names from two reports stay two entries.
struct Reports {
  Report all;
  bool declared = false;
  std::int64_t parsed = 0;
  // The problem of the first report that does not parse or is empty, or why all reports together exceed a bound.
  std::string problem;
  // The problem of the first report that is cut short. It proves no work, and its entries count for base.
  std::string cut_short;
  // The first step that did not write a declared report: "STEP: no report was written".
  std::string unwritten;
};
Reports all_reports(const std::vector<StepFacts>& steps, std::string_view family);

// Why tests of a step with failures may not have run: the search for options that end its runner reached a
// bound. "" when the search looked through everything, or when it is known how the runner ended.
std::string end_not_known(const StepFacts& step);

// The declared report of the family that the step did not write, in words: " of tap" for a format without any
// report, " at a.xml" for a pattern without wildcards. "" when the step wrote no report of the family.
// nullopt when no report is missing.
std::optional<std::string> unwritten_by(const StepFacts& step, std::string_view family);

// The names of all failures: tests, and NoTest entries.
std::vector<std::string> failing_of(const Report& report);

using Names = std::set<std::string_view>;
// The name that tests with equal names share: "a" for "a#3" where `names` also has "a" and "a#2". The number
// does not identify one of these tests. `names` contains `name`.
std::string_view unnumbered(std::string_view name, const Names& names);
Names names_of(const Report& report);  // names of the report's tests

// Failures of a report, in its order. `on_base`: failures that base has too; of equal names, at most as many
// as base has. `fresh`: all others.
struct Failing {
  std::vector<std::string> on_base, fresh;
};
Failing compare_failing(const Report& report, const Inventory& base);

// Whether a step's exit code is the number of failures in its reports, as with Mocha and TAP runners. Such a
// code may be over 125, where the codes of a shell begin.
bool counts_failures(const StepFacts& step, std::string_view family);

// Why the test reports are not a proof, and the remedy: some report has no test, or no test ran. "": they are a proof.
std::string without_test(const std::vector<StepFacts>& steps);

// Whether promised evidence cannot be used. Then the signal fails as missing and says why.
bool lacks_reports(const Reports& reports, Signal& signal);

// A signal that fails when the work has a finding that base does not have, compared by name in the reports of
// the family.
Signal delta_signal(const GateFacts& facts, std::string_view kind, std::string_view family,
                    const Inventory* base);
std::vector<Detail> delta_details();
Inventory findings_on_base(const std::vector<StepFacts>& steps, std::string_view family);

// Adds to the signal that the inventory does not have all names of base. Returns false when no name can be
// compared; then the signal fails as missing.
bool report_inventory(const Inventory& base, Signal& signal);
// Why base may have more than its reports say: a step did not write all of them. "" when all were written.
std::string bound_on_base(const std::vector<StepFacts>& steps, std::string_view family);
// Why the tests that the step reported may not be all of base's: its runner aborted after them. "" when it
// did not abort, or reported no test that ran.
std::string aborted_on_base(const StepFacts& step, std::string_view family);
// Why steps did not give the declared reports of a family on base; "" when all did.
std::string lacks_on_base(const std::vector<StepFacts>& steps, const Reports& reports,
                          std::string_view family);

}  // namespace pawl::gates
