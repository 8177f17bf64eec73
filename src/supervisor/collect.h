// Collects the changes of a step at its end, as objects. A detail of this room.
#pragma once

#include "base/error.h"
#include "sandbox/backend.h"
#include "secrets/redact.h"
#include "supervisor/spool.h"
#include "workspace/workspace.h"

namespace pawl::supervisor {

// Stores the changes in `folders` and puts the ids of the objects, and the paths that were not stored, into the
// run: the layer, when the spec wants one, and the files that match its copy_out. A sandbox that could not be made
// has no objects. A layer has no entry with a value of `credentials`. Durable when it returns. REQUIRES: every
// process of the sandbox is dead, and the caller holds the store of objects until a result names the ids.
Status collect_changes(const Job& job, const sandbox::Folders& folders, sandbox::Execution& execution,
                       workspace::Workspaces& workspaces, const secrets::Redactor::Values& credentials);
// Makes the layer with all changes of one step's executions: the changes in `upper`, and the spec's own layer.
// Otherwise as Workspaces::collect().
Result<workspace::Collected> collect_layer(const std::string& upper, const sandbox::WorkspaceSpec& of,
                                           bool copied, workspace::Workspaces& workspaces,
                                           const workspace::Caps& caps);
// The limits on the changes that a step of this job leaves.
workspace::Caps caps_of(const Job& job, const secrets::Redactor::Values& credentials);

}  // namespace pawl::supervisor
