// Files, packages and classes that base could not load: whether the work took one away. Nobody knows which
// tests they have, so their names are all that can be held to. Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "gates/base.h"
#include "gates/report.h"

namespace pawl::gates {

using UnloadedNames = std::set<std::string, std::less<>>;

class Unloaded {
 public:
  void add(const Inventory& base);
  bool empty() const { return by_key_.empty() && packages_.empty(); }
  // Whether a file, relative to the workspace, may stand for one of the names: "a/tests/test_b.py" for
  // "tests.test_b", "a/pkg/x_test.go" for "example.org/a/pkg".
  bool stands_for(std::string_view path) const { return !names_for(path).empty(); }
  // A file that base has and the work does not, or that lost a test (declared.h). What it may stand for is
  // gone.
  void see_removed(std::string_view path);
  const UnloadedNames& removed() const { return removed_; }

 private:
  UnloadedNames names_for(std::string_view path) const;

  std::map<std::string, std::vector<std::string>, std::less<>> by_key_;    // names, by what a path says
  std::map<std::string, std::vector<std::string>, std::less<>> packages_;  // the same, by their last part
  UnloadedNames removed_;
};

// Whether a test of `name` ran, or the report says again that it could not be loaded. A test that was skipped
// is none. `name`: of Inventory::unloaded.
bool is_there(std::string_view name, const Report& report);

}  // namespace pawl::gates
