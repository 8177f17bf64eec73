// Tests and findings as readers find them, with the bounds of report.h.
#pragma once

#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "gates/reading/words.h"
#include "gates/report.h"
#include "os/walls.h"
#include "secrets/redact.h"

namespace pawl::gates {

// Of a message so much is looked at: a runner puts what matters first, or last. Who reads it keeps more, if
// it is longer, so that it is known to have been cut.
constexpr std::size_t kLookedAtMax = 64 << 10;

// Items whose names differ.
template <class Item>
class Collector {
 public:
  // `redactor`: of what a report says; null: it has no secrets any more. REQUIRES: it outlives this.
  explicit Collector(const secrets::Redactor* redactor)
      : redactor_(os::walls().redact_first ? redactor : nullptr) {}

  Item& last() { return items_.back(); }  // REQUIRES: one was added
  std::size_t size() const { return items_.size(); }
  std::deque<Item> take() { return std::move(items_); }
  // The text without secrets and escape sequences, in valid UTF-8.
  std::string told(std::string_view text) const;

 protected:
  std::deque<Item> items_;
  // kExhausted: one too many. `group` may be "". Neither has secrets, or needs to be valid UTF-8.
  Status add_item(std::string_view group, std::string_view name);
  std::string redacted(std::string_view text) const;
  std::string bounded_name(std::string_view group, std::string_view name) const;

  std::vector<std::size_t> first_;  // of each item, the place of the first that was added by its name

 private:
  struct Seen {
    int times = 0;
    std::size_t first = 0;
  };
  // Keys are views of the names in items_. Ordered: names that collide in a hash are easily made.
  std::map<std::string_view, Seen> seen_;
  std::uint64_t names_bytes_ = 0;
  const secrets::Redactor* redactor_;
};

class TestCollector : public Collector<TestCase> {
 public:
  using Collector::Collector;

  // Group and name are made stable (words.h). kExhausted: one too many.
  Status add(std::string_view group, std::string_view name, TestStatus status, std::string_view message = {});
  void fail_last(std::string_view message);
  // What a test that failed says, when that comes later. REQUIRES: place < size().
  void tell(std::size_t place, std::string_view message);
  // One that failed, but for a teardown, makes the report a lower bound. kExhausted: one too many.
  Status add_no_test(NoTest::What what, std::string_view name, std::string_view message, bool failed = true);
  void bound_from_below(std::string_view why);  // the first one is told
  // Tests behind this point did not run; implies bound_from_below(). `not_run`: as many are known to be
  // there; the largest counts, since a suite sums up those in it.
  void stopped_early(std::string_view why, std::int64_t not_run = 0);
  bool no_failure() const;  // of a test or of what is none
  // Orders the statuses of tests of one name: passed, failed, skipped. The order in which they ran must not
  // decide which of them is "#2".
  Report take();

 private:
  std::string bounded_message(std::string_view message);

  std::size_t messages_bytes_ = 0;
  std::deque<NoTest> no_tests_;
  std::string lower_bound_, stopped_;
  std::int64_t not_run_ = 0;
};

class FindingCollector : public Collector<Finding> {
 public:
  using Collector::Collector;

  // The name is made stable as a message (words.h). kExhausted: one too many.
  Status add(std::string_view group, std::string_view name, Severity severity);
};

// "low", "Medium", "MODERATE", ...; kUnknown for another word.
Severity severity_of(std::string_view word);

// "/workspace/src/a.test.js" -> "src/a.test.js": a name must not depend on where the workspace lies.
std::string_view inside_workspace(std::string_view path);

}  // namespace pawl::gates
