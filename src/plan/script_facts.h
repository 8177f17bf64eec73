// Properties of a part of a script that do not depend on its place: it asks a question, only prints or sets
// something, or ends with a failure. Caches results, so an object is for one thread. Internal to this room.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "plan/script_tree.h"

namespace pawl::plan {

class ScriptFacts {
 public:
  explicit ScriptFacts(const ScriptTree& tree) { collect(tree.root); }

  // How a part ends that runs after a failure.
  enum class End {
    kAny,        // it can end with 0
    kRemembers,  // the same, but it sets a variable that the script tests: `rc=$?`, and then `exit $rc`
    kFails,      // it ends with another exit code
    kReturns,    // it leaves the function with another exit code
    kExits,      // it leaves the shell with another exit code
  };
  // `first`: `$?` still holds the exit code of the failure.
  End end_of(const ScriptNode& node, bool first) const;

  // Its exit code answers a question and is not a failure: `[ -e f ]`, `grep -q x f`, and combinations of
  // these.
  bool asks(const ScriptNode& node) const;
  // Its failure loses no result: `echo no`, `x=1`.
  bool only_says(const ScriptNode& node) const;
  // `! x`, and `! x || ! y`: a failure of x makes the part end with 0.
  bool is_negated(const ScriptNode& node) const;
  // Whether a `break` in it leaves the loop whose body it is.
  bool breaks(const ScriptNode& node) const;

  // The body of the function that the words call; null when they call none.
  const ScriptNode* called(const std::vector<std::string>& command) const;
  // Whether the script can wait for each command that `&` starts: `wait` with an argument ends with the exit
  // code of that command. Compares only their numbers.
  bool waits_for_all() const { return waits_ >= started_; }

 private:
  struct Known {
    bool asks = false, only_says = false, known = false;
    End end = End::kAny;
  };
  void collect(const ScriptNode& node);
  bool remembers(const ScriptNode& node) const;
  bool only_passes_on(const ScriptNode& part) const;
  const Known* known(const std::vector<std::string>& command) const;

  std::map<std::string, const ScriptNode*, std::less<>> functions_;
  std::set<std::string, std::less<>> asked_;          // variables that `exit`, `return` and tests read
  mutable std::map<const ScriptNode*, Known> known_;  // results for functions: each is read once
  mutable int calls_ = 0;                             // depth of calls among functions
  int started_ = 0, waits_ = 0;
};

}  // namespace pawl::plan
