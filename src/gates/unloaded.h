// Files, packages and classes that base could not load, and whether the work removed one. Their tests are not
// known, so the work can only be held to their names. Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gates/base.h"
#include "gates/report.h"

namespace pawl::gates {

struct ReportFacts;

using UnloadedNames = std::set<std::string, std::less<>>;

class Unloaded {
 public:
  void add(const Inventory& base);
  bool empty() const { return by_key_.empty() && packages_.empty(); }
  // Whether a file, by its path in the workspace, may stand for one of the names: "a/tests/test_b.py" for
  // "tests.test_b", "a/pkg/x_test.go" for "example.org/a/pkg".
  bool stands_for(std::string_view path) const { return !names_for(path).empty(); }
  // Records a file that base has and the work does not have, or that lost a test (declared.h). The names that
  // it may stand for count as removed.
  void see_removed(std::string_view path);
  const UnloadedNames& removed() const { return removed_; }

 private:
  UnloadedNames names_for(std::string_view path) const;

  std::map<std::string, std::vector<std::string>, std::less<>> by_key_;    // names, by the end of a path
  std::map<std::string, std::vector<std::string>, std::less<>> packages_;  // names, by their last part
  UnloadedNames removed_;
};

// prove writes a report for each test file, at its path below one folder: "tap/t/a.t" for "t/a.t", where the
// plan has "tap/**". The tests of such a report do not have the name of the file.
//
// The test file of a report in which a test ran; "" when a report has the tests of several files.
std::string loaded_file_of(const StepFacts& step, const ReportFacts& file);
// The steps of base, with one change: where a step failed and one of these reports has a test that ran, an empty
// report stands for a file that could not be loaded.
std::vector<StepFacts> with_unloaded_files(const std::vector<StepFacts>& steps);

// Whether a test of `name` ran, or the report has a NoTest entry with this name. Skipped tests do not count.
// `name`: one of Inventory::unloaded.
bool is_there(std::string_view name, const Report& report);

}  // namespace pawl::gates
