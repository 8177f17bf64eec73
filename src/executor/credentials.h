// Reads the credentials of agents (docs/plan-format.md#credentials) on the host. A value stays in the memory of
// this process and of the supervisor that gets it, and in the agent's sandbox.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "executor/state.h"
#include "plan/plan.h"
#include "secrets/redact.h"
#include "store/reader.h"

namespace pawl::executor {

// Fewer bytes are not a secret: the search for them would find other texts.
constexpr std::size_t kCredentialBytesMin = 8;
constexpr std::size_t kCredentialBytesMax = 16 << 10;   // for one value; all of an agent fit into a pipe
constexpr std::size_t kCredentialsBytesMax = 40 << 10;  // for an agent, with the names

// Reads the values as they are now, without the newlines at their ends, by name of the variable. Waits for commands,
// 20 seconds at most. kDenied with the errno ENOKEY: a value is missing, unreadable, or no credential. The message
// names the credential and its source, says what to do, and never has a value. kCancelled: a person interrupted.
Result<secrets::Redactor::Values> read_credentials(const plan::Phase& phase);

// Whether `error` is the kDenied of read_credentials().
bool lacks_credential(const Error& error);

// The credentials of all phases that are not over; each source is read once. The same errors. Commands of the plan
// run on the host, so the ledgers are verified before a credential is read. kForged: a ledger does not verify, or
// does not name the planned rows.
Result<secrets::Redactor::Values> credentials_of_runs(const State& state,
                                                      const std::vector<std::string>& run_ids);

// The credentials that this host does not have, as far as that shows without reading a file or running a command.
std::vector<plan::Finding> unseen_credentials(const plan::Plan& plan);

struct UnseenCredential {
  std::string phase_id, message;
  std::string variable;  // the environment's, which a person can set; "": it comes from elsewhere
};
// Returns the first that an open phase of the run needs; without it, no executor works on the run. Does not verify the
// ledger, and passes over rows that can't be read.
Result<std::optional<UnseenCredential>> unseen_credential(store::Reader& store, const std::string& run_id);

// Where a value comes from, for people: "the environment variable API_KEY".
std::string source_of(const plan::Credential& credential);

}  // namespace pawl::executor
