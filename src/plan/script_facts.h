// Properties of a part of a script that do not depend on its place: it asks a question, only says something,
// or ends with a failure. Pure. A detail of this room.
#pragma once

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
    kRemembers,  // the same, but it sets a variable that the script asks about: `rc=$?`, and then `exit $rc`
    kFails,      // with another exit code
    kReturns,    // it leaves the function with one
    kExits,      // it leaves the shell with one
  };
  // `first`: `$?` is still that of the failure.
  End end_of(const ScriptNode& node, bool first) const;

  // Its exit code is an answer, not a failure: `[ -e f ]`, `grep -q x f`, and what is made of such.
  bool asks(const ScriptNode& node) const;
  // Nothing is lost when it fails: `echo no`, `x=1`.
  bool only_says(const ScriptNode& node) const;
  // `! x`, and `! x || ! y`: a failure of x makes it end with 0.
  bool is_negated(const ScriptNode& node) const;
  // Whether `break` in it leaves the loop whose list it is.
  bool breaks(const ScriptNode& node) const;

  // The body of the function that the words call; or nothing.
  const ScriptNode* called(const std::vector<std::string>& command) const;
  // Whether each command that `&` starts can be waited for: `wait` with an argument ends with its exit code.
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
  std::set<std::string, std::less<>> asked_;          // variables of `exit`, `return` and tests
  mutable std::map<const ScriptNode*, Known> known_;  // of functions, so that each is looked at once
  mutable int calls_ = 0;                             // of functions that call one another
  int started_ = 0, waits_ = 0;
};

}  // namespace pawl::plan
