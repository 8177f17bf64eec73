// Whether a gate saw the accepted work of a run as a whole.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/json.h"
#include "store/reader.h"
#include "views/accepted.h"
#include "views/views.h"

namespace pawl::views {

// The work that was accepted last, when each gate that judged it took only a part of it (`take`).
struct SeenInPart {
  std::string phase_id;
  std::vector<std::string> gates;  // sorted
  std::string not_taken;           // a path that none of them took; "" when each path is in a part, or unread
};

// For people. nullopt: some gate saw the accepted tree as a whole, a person approved the work that was accepted
// last, there is none, or the run is not over. A gate sees all earlier work as a whole, so the work that was
// accepted last decides. Its gates are those that held in its newest round, among them the gates of phases
// beside it. Work that another run accepted and this run shares has only the gates of its own phase. nullopt as
// well when the plan or attempts of the run can't be read: other commands report that. When the objects of the
// work are gone, it counts as seen in part.
std::optional<SeenInPart> seen_in_part(const State& state, const store::RunRow& run);

// kInvalid: no gate saw the accepted tree as a whole. Errors: those of the objects.
Status check_seen(const workspace::Workspaces& objects, const Evidence& evidence);

// {phase_id, gates, not_taken}; not_taken is null when no path is known.
Json to_json(const SeenInPart& seen);

}  // namespace pawl::views
