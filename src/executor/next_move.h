// Decides the next move of an executor in an attempt: a pure function of the attempt's state. A detail of this room.
//
// An attempt has three stages: its episodes run their steps, the gates of a round judge the chosen episode on
// top of others' work (joint.h), and the hooks are asked. session.cc makes the moves.
#pragma once

#include <cstddef>
#include <vector>

namespace pawl::executor {

enum class Stage {
  kEpisodes,  // agents and gates, until an episode decides
  kGates,     // the gates of the chosen episode's round, if there is a round
  kHooks,     // the hooks, then the end of the attempt
};

// The step of one episode.
enum class Doing {
  kUnknown,  // the next step is not computed
  kReady,    // the next step is known and has not begun
  kRunning,  // a marker is open
  kWaiting,  // the provider refused its agent
  kOver,     // no step is left
};

struct EpisodeState {
  Doing doing = Doing::kUnknown;
  bool decides = false;     // with kOver: no later episode can count
  bool runs_alone = false;  // with kRunning: no agent of another episode may start meanwhile
};

struct AttemptState {
  Stage stage = Stage::kEpisodes;
  std::vector<EpisodeState> episodes;  // in the order of their numbers; not empty
  EpisodeState chosen;                 // the episode that is judged; used after kEpisodes
  bool out_of_budget = false;          // the budget refused the step of the last move
};

struct Move {
  enum class Kind {
    kFindStep,     // compute the next step
    kStart,        // begin that step
    kWatch,        // wait for the running step, and take its result
    kWatchBeside,  // the same; agents of later episodes may run beside it
    kEnd,          // end the running step: an earlier episode decides
    kChoose,       // choose the episode that counts, and begin the stage kGates
    kAskHooks,     // begin the stage kHooks
    kFinish,       // end the attempt, or begin another round
    kLeave,        // leave the attempt to the next claim: the budget is used up
    kWait,         // leave it until the provider accepts its agents again
  };
  Kind kind = Kind::kLeave;
  std::size_t episode = 0;  // index, in the stage kEpisodes

  bool operator==(const Move&) const = default;
};

Move next_move(const AttemptState& state);

}  // namespace pawl::executor
