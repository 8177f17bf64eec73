// The facts of base about a gate, taken before any work is judged by the gate. They are the names that the
// gate's signals are compared with, and whether the gate can judge work at all. Pure: no function opens a
// file or starts a process.
#pragma once

#include <cstdint>
#include <map>
#include <set>
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
    kLowerBound,  // base has these names and may have others: a part of it could not be read
    kUnknown,     // no name can be compared; never the same as "no names"
  };
  State state = State::kKnown;
  std::string reason;                // one line; why the state is not kKnown
  std::vector<std::string> names;    // sorted; empty when the state is kUnknown
  std::vector<std::string> failing;  // tests that fail on base, sorted
  // Files, packages and classes that base could not load, sorted: the tests in them are not known.
  std::vector<std::string> unloaded;
  std::vector<std::string> files;  // as `unloaded`, for files whose tests do not have their names; by path
  // After a run that ended early: the least number of tests that its reports count. 0: they do not say.
  std::int64_t count = 0;
  bool twice = false;  // two runs on base were compared to find its tests (moving.h)
  // Results of two runs, sorted. `moving`: forms of the names that differ; tests are held to these forms.
  // `unsteady`: names that a single run has; no test is held to them.
  std::vector<std::string> moving, unsteady;

  bool operator==(const Inventory&) const = default;
};
// The names of all failures on base. Tests that share a name have it without their numbers.
std::vector<std::string> failing_names(const Inventory& inventory);
std::string text_of(const Inventory& inventory);  // "lower bound: REASON"; "" when it is known
// The names to report to the user: Inventory::moving and unsteady.
std::vector<std::string> names_that_move(const Inventory& inventory);

using Inventories = std::map<std::string, Inventory>;  // by kind: the names with which a gate is compared
// For a gate whose plan says that base has no names: known and empty inventories.
Inventories no_inventories(const std::vector<std::string>& required);

// The result of a gate's steps on base, and on the work that was accepted since.
struct OnBase {
  bool green = false;       // every step of the gate ran and held
  bool no_sandbox = false;  // a sandbox could not be made: another try may succeed
  // For a person: why no work can pass this gate, and the remedy; "" when work can pass.
  std::string stop;
  Inventories inventories;
  std::set<std::string> changed;  // files that its steps change, although the plan protects them
  // The absent programs of steps after the first step that did not hold, by step. That first step may make such a
  // program, so its absence on base does not end the attempt early.
  std::map<std::string, std::string> absent;

  bool is_usable() const { return stop.empty() && !no_sandbox; }
  bool operator==(const OnBase&) const = default;
};

// Judges the steps of a gate on base. `steps`: all steps of the gate, in order. Steps after the first step that did
// not hold only contribute names: they may lack files that this step did not make.
OnBase on_base(const std::string& gate_id, const std::vector<std::string>& required,
               const std::vector<StepFacts>& steps);

// For a person: why no attempt can pass a step of the gate that an attempt reached. The program that base lacked
// is still absent, and the work cannot bring it. "" where another attempt may pass.
std::string absent_still(const std::string& gate_id, const OnBase& base, const StepFacts& step);

// A signal of the kind `base`, for the attempt that the result was taken for.
Signal base_signal(const std::string& gate_id, const OnBase& found);

// The stored form of an OnBase. on_base_of_text() fails with kCorrupt for any other text.
std::string text_of(const OnBase& found);
Result<OnBase> on_base_of_text(std::string_view text);

}  // namespace pawl::gates
