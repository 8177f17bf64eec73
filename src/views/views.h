// The read model: what a person or a program sees of runs, joined from rows of the store, files of steps and
// stored objects. This header is the door of the room; each header beside it is one view.
//
//   status.h     runs, and one run with its phases, budget, questions and what it waits for
//   reason.h     why a run does not go on now
//   story.h      attempts, steps, signals and decisions of a run, one page at a time
//   decisions.h  resume, doctor, replan and operators' rows
//   questions.h  what agents ask people
//   costs.h      costs of runs, summed by dimension
//   stats.h      counts over runs
//   step_log.h   output, trace or network record of a step
//   accepted.h   evidence and accepted work
//   provider_wait.h  phases that wait for the provider of their agent's model
//   agent_programs.h  programs of agents on this host, with version and login
//   seen.h       whether a gate saw the accepted work as a whole
//   budget.h, waits.h   words that these share
//
// Views do not print, and change no row with one exception: accepted.h may store the plan rows of a run that
// an older version made (executor/plans.h). States are enums; name() is the word that JSON has. Functions
// to_json() return what --json prints, without the members that are advice for a person at a terminal: the
// command line adds those. Sentences, tables, colours and names of commands are in cli. A view is a value;
// reading one is for the thread of the State or Store. Errors: those of the store, and kCorrupt for a row
// that does not parse; a message may name a command that helps, as everywhere.
#pragma once

#include "executor/state.h"

namespace pawl::views {

using executor::State;

}  // namespace pawl::views
