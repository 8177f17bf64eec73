// The part of a journal (agent/journal.h) for work that an agent must not pay twice: steps, each begun under a
// key and completed with a result, and children, which are subagents with a result. The journal's promises on
// durability, threads and errors hold.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/time.h"

namespace pawl::agent {

enum class StepKind { kPure, kEffect };  // an effect costs money, or is visible outside the workspace
enum class OnLost { kReExecute, kAsk, kFail };

struct StepBegin {
  std::string key;  // the agent's name for the step: stable across processes
  StepKind kind = StepKind::kPure;
  std::string args_hash;          // up to kIdBytesMax bytes
  std::optional<OnLost> on_lost;  // default: kReExecute for pure steps, kAsk for effects
  std::string session;            // the calling process's: a step begun in the same session is not lost
};

enum class StepAnswer {
  kRun,   // execute it, then call complete_step() or fail_step()
  kDone,  // it was completed before: see `result`
  kLost,  // its process is gone and the outcome is unknown: `on_lost` is the reason why
          // the step does not run
};

struct StepBegun {
  StepAnswer answer = StepAnswer::kRun;
  std::int64_t execution = 1;           // for kRun: above 1, an earlier execution was lost or failed
  std::string result;                   // for kDone: JSON text
  OnLost on_lost = OnLost::kReExecute;  // for kLost: kAsk (`question` waits for a person) or kFail
  std::string question;                 // for kLost with kAsk: the question's key
};

// A step that was begun.
struct PaidStep {
  std::string key, args_hash, state;  // begun | done | failed
  StepKind kind = StepKind::kPure;
  std::int64_t executions = 0;
  std::string result, error, begun_at, ended_at;
};

struct ChildSpawn {
  std::string parent;                       // checkpoint_id of the parent
  std::int64_t spawn_seq = 0, ordinal = 0;  // the number of the parent's spawn, and of the child in it
  std::string spec_hash;                    // the child's task: kConflict when this place had another
};

std::string child_id_of(const ChildSpawn& child);

enum class ChildAnswer { kStart, kResume, kDone };

struct ChildSpawned {
  std::string child_id;  // `"{parent}/{spawn_seq}.{ordinal}"`: also its checkpoint_id
  ChildAnswer answer = ChildAnswer::kStart;
  std::string result;  // for kDone: JSON text
};

struct ChildRow {
  std::string child_id, spec_hash, state;  // running | done
  std::string result, spawned_at, finished_at;
};

class PaidSteps {
 public:
  virtual ~PaidSteps() = default;

  // Begins the step, or returns its known state (StepAnswer). A step that another session began and did not end is
  // lost; an event reports it. kConflict: the key was begun with another kind or other arguments.
  virtual Result<StepBegun> begin_step(const StepBegin& step, WallTime now) = 0;
  // kNotFound: never begun; kConflict: completed with another result, or failed. The same result again is a
  // success. The process of a supposedly lost step may still complete it while a person is asked.
  virtual Status complete_step(const std::string& key, std::string result, WallTime now) = 0;
  // Records that the step did not happen: it may be begun again.
  virtual Status fail_step(const std::string& key, std::string error, WallTime now) = 0;
  // Ordered by key. Stops after kListedBytesMax of results, but returns at least one step if any is left. Empty: the
  // end.
  virtual Result<std::vector<PaidStep>> steps(const std::string& after_key, std::int64_t limit) = 0;

  // --- children
  // Records the child before it starts. kStart: start it; kResume: it was spawned before and has not
  // finished; kDone: see `result`. kConflict: this place had another spec_hash. kExhausted: at `children_max`
  // or kChildrenMax.
  virtual Result<ChildSpawned> spawn(const ChildSpawn& child, std::int64_t children_max, WallTime now) = 0;
  // kNotFound: never spawned; kConflict: finished with another result; kExhausted: above kChildBytesMax. The
  // same result again is a success.
  virtual Status finish_child(const std::string& child_id, std::string result, WallTime now) = 0;
  // In the order of their spawns.
  virtual Result<std::vector<ChildRow>> children() = 0;
};

}  // namespace pawl::agent
