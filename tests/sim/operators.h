// Operators can always retry or approve a phase that ended without being accepted.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "sim/world.h"
#include "store/store.h"
#include "workspace/object_store.h"

namespace pawl::sim {

// The phases that ended without being accepted: all of the run, or the one that is named.
std::vector<store::PhaseRow> ended_phases(store::Store& store, const std::string& run_id,
                                          const std::string& phase_id);

// `pawl resume --now`.
void let_go_on(store::Store& store, const std::string& run_id, World& world);

// Whether an operator who approves the newest attempt of an ended phase may get this error: its agent never
// ended, or its work hides what was accepted beside it. Errors of other kinds are faults of the world.
bool may_refuse(store::Store& store, const workspace::ObjectStore& objects, const store::AttemptRow& attempt,
                ErrorKind kind);

}  // namespace pawl::sim
