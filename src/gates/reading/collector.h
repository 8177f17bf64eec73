// Collectors of the tests and findings that a reader finds, within the bounds of report.h.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gates/reading/words.h"
#include "gates/report.h"
#include "os/defences.h"
#include "secrets/redact.h"

namespace pawl::gates {

// The bytes of a message that are examined: a runner puts the important part first or last. A reader stores more of a
// longer message, so that the collector can see that it was cut.
constexpr std::size_t kLookedAtMax = 64 << 10;

// Counts the bytes of texts that a reader stores until the end of its report.
class StoredBytes {
 public:
  Status add(std::uint64_t bytes);  // kExhausted: more than kReportStoredBytesMax
  void take_back(std::uint64_t bytes) { bytes_ -= bytes; }

 private:
  std::uint64_t bytes_ = 0;
  bool has_bounds_ = os::defences().bounds;
};

// Items with different names.
template <class Item>
class Collector {
 public:
  // `redactor` removes secrets from all texts. Null: the texts have none. REQUIRES: it outlives the
  // collector.
  explicit Collector(const secrets::Redactor* redactor)
      : redactor_(os::defences().redact_first ? redactor : nullptr), has_bounds_(os::defences().bounds) {}

  Item& last() { return items_.back(); }  // REQUIRES: an item was added
  std::size_t size() const { return items_.size(); }
  std::deque<Item> take() { return std::move(items_); }
  // The text without secrets and escape sequences, as valid UTF-8.
  std::string told(std::string_view text) const;

 protected:
  std::deque<Item> items_;
  // `group` may be "". Neither text has secrets; they may be invalid UTF-8. kExhausted: one item too many.
  Status add_item(std::string_view group, std::string_view name);
  std::string redacted(std::string_view text) const;
  std::string bounded_name(std::string_view group, std::string_view name) const;

  // Whether an amount exceeds a bound of report.h. Always false while bounds are switched off for tests.
  bool is_over(std::uint64_t amount, std::uint64_t most) const { return has_bounds_ && amount > most; }

  Status count_name(std::size_t bytes);  // kExhausted: names of too many bytes

  std::vector<std::size_t> first_;  // for each item, the place of the first item with its name

 private:
  struct Seen {
    int times = 0;
    std::size_t first = 0;
  };
  // The keys are views of names in items_. The map is ordered: a report can easily make hashes collide.
  std::map<std::string_view, Seen> seen_;
  std::uint64_t names_bytes_ = 0;
  const secrets::Redactor* redactor_;
  const bool has_bounds_;
};

class TestCollector : public Collector<TestCase> {
 public:
  using Collector::Collector;

  // Makes group and name stable (words.h), and adds the test. kExhausted: one test too many.
  Status add(std::string_view group, std::string_view name, TestStatus status, std::string_view message = {});
  void fail_last(std::string_view message);
  // Sets the message of a failed test that has none, for reports that give it later. REQUIRES: place <
  // size().
  void tell(std::size_t place, std::string_view message);
  // A failed entry that is not a teardown makes the report a lower bound. kExhausted: one entry too many.
  Status add_no_test(NoTest::What what, std::string_view name, std::string_view message, bool failed = true);
  // Records a suite under the name that a test of it would have. kExhausted: one suite too many.
  Status add_suite(std::string_view group, std::string_view name);
  void bound_from_below(std::string_view why);  // only the first reason is stored
  // Records that tests after this point did not run, and calls bound_from_below(). `not_run`: the number of
  // them that is known. The largest number counts, since a suite sums up the suites in it.
  void stopped_early(std::string_view why, std::int64_t not_run = 0);
  // Records that the report ends in the middle (Report::cut_short), and calls bound_from_below().
  void cut_short(std::string_view why, std::int64_t not_run);
  bool no_failure() const;  // true when no test and no NoTest entry failed
  // The report. Tests of one name are ordered by status: passed, failed, skipped. Otherwise the order in which they
  // ran would decide which test is "#2".
  Report take();

 private:
  std::string bounded_message(std::string_view message);

  std::size_t messages_bytes_ = 0;
  std::deque<NoTest> no_tests_;
  std::deque<std::string> suites_;
  std::string lower_bound_, stopped_, cut_short_;
  std::int64_t not_run_ = 0;
};

class FindingCollector : public Collector<Finding> {
 public:
  using Collector::Collector;

  // Makes the name stable as a message (words.h). kExhausted: one finding too many.
  Status add(std::string_view group, std::string_view name, Severity severity);
};

// The severity for "low", "Medium", "MODERATE", ...; kUnknown for other words.
Severity severity_of(std::string_view word);

// "/workspace/src/a.test.js" and "./src//a.test.js" -> "src/a.test.js": a name must not depend on the place of
// the workspace, and a file has one name. ".." stays, since a link may be before it.
std::string inside_workspace(std::string_view path);

}  // namespace pawl::gates
