// Reports to the journal of an agent's episode what the agent's program printed of its use. A detail of this room.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/agent.h"
#include "agent/journal.h"
#include "base/error.h"

namespace pawl::supervisor {

// One execution of an agent.
struct Printer {
  std::string sandbox_run_id;
  std::string reader, model;  // agent/usage_reader.h
  bool is_whole = false;      // it ended by itself: all that it was to print is there
  // The journals of the phase's earlier attempts: the program may go on in a session of theirs. One that can't be read
  // is left out: its use counts twice then.
  std::vector<std::string> earlier = {};
};
// The paths of these journals; `key` is the attempt's.
std::vector<std::string> journals_before(const std::string& pawl_folder, const agent::EpisodeKey& key);

struct ReportedUsage {
  std::size_t read = 0;  // how many usages the output has
  Status stored;         // the first of them that the journal refused, besides a repeated one
};
// Where the output has no usage, not all of it, or some that the journal refused, a report says that the use of the
// execution is unknown (agent::unknown_usage). Of a count that goes on, only the part is reported that no earlier
// execution reported. Idempotent. kInvalid: an unknown reader. With another error no report
// is stored.
Result<ReportedUsage> report_printed(agent::Journal& journal, const Printer& printer,
                                     std::string_view printed,
                                     const std::function<std::string(std::string_view)>& redact);

}  // namespace pawl::supervisor
