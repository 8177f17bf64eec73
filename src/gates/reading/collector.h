// Tests as readers find them, with the bounds of test_report.h.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "gates/test_report.h"

namespace pawl::gates {

class TestCollector {
 public:
  // kExhausted: one too many. `group` may be "". Neither needs to be valid UTF-8.
  Status add(std::string_view group, std::string_view name, TestStatus status, std::string_view message = {});
  TestCase& last() { return tests_.back(); }  // REQUIRES: one was added
  void fail_last(std::string_view message);
  std::size_t size() const { return tests_.size(); }
  Tests take() { return std::move(tests_); }

 private:
  Tests tests_;
  // Views of the names in tests_. Ordered: names that collide in a hash are easily made.
  std::map<std::string_view, int> times_;
};

// "/workspace/src/a.test.js" -> "src/a.test.js": a name must not depend on where the workspace lies.
std::string_view inside_workspace(std::string_view path);

}  // namespace pawl::gates
