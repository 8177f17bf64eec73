// What base says of a gate before anybody's work is judged by it: what the gate's signals are compared with,
// and whether it can judge anything at all. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"

namespace pawl::gates {

struct Signal;
struct StepFacts;

// The names that base has for one kind of signal.
struct Inventory {
  enum class State {
    kKnown,
    kLowerBound,  // base has these, and may have others: a part of it could not be looked at
    kUnknown,     // nothing can be compared with it; never the same as "none"
  };
  State state = State::kKnown;
  std::string reason;                // of another state than kKnown: one line
  std::vector<std::string> names;    // sorted; none of kUnknown
  std::vector<std::string> failing;  // tests that fail on base, sorted
  // Files, packages and classes that base could not load, sorted: nobody knows which tests they have.
  std::vector<std::string> unloaded;
  std::vector<std::string> files;  // the same of files whose tests do not have their names, by their paths
  std::int64_t count =
      0;  // of a run that ended early: as many tests its reports count at least; 0: they do not say
  bool twice = false;  // it is what two runs have, of tests (moving.h)
  // Two runs have, sorted: the forms of names that differ, by which tests are held to; and names that only
  // one of the runs has, to which nothing is held.
  std::vector<std::string> moving, unsteady;

  bool operator==(const Inventory&) const = default;
};
// The names of all that fails there; tests of one name are without their numbers.
std::vector<std::string> failing_names(const Inventory& inventory);
std::string text_of(const Inventory& inventory);  // "lower bound: REASON"; "" when it is known
// To be told: Inventory::moving and unsteady.
std::vector<std::string> names_that_move(const Inventory& inventory);

using Inventories = std::map<std::string, Inventory>;  // by kind: what a gate is compared with
// Of a gate whose plan says that base has none: known, and empty.
Inventories no_inventories(const std::vector<std::string>& required);

// A gate's steps on base and on what was accepted since.
struct OnBase {
  bool green = false;       // every step of the gate ran and held
  bool no_sandbox = false;  // a sandbox could not be made: the next try may be better
  std::string stop;         // why no work can pass by this gate, and what to do, for a person; "" nothing
  Inventories inventories;

  bool is_usable() const { return stop.empty() && !no_sandbox; }
  bool operator==(const OnBase&) const = default;
};

// `steps`: all of the gate, in their order. A step after the first one that did not hold is looked at for
// names alone: what it lacks may be what that one did not make.
OnBase on_base(const std::string& gate_id, const std::vector<std::string>& required,
               const std::vector<StepFacts>& steps);

// Of the kind `base`, for the attempt that it was found for.
Signal base_signal(const std::string& gate_id, const OnBase& found);

// As they are kept. kCorrupt: it is something else.
std::string text_of(const OnBase& found);
Result<OnBase> on_base_of_text(std::string_view text);

}  // namespace pawl::gates
