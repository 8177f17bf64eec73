// Shared by every command: where the state is, how it is opened, and how an error ends the program.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/json.h"
#include "cli/command_line.h"
#include "executor/state.h"
#include "ledger/ledger.h"
#include "os/clock.h"
#include "os/random.h"
#include "store/store.h"

namespace pawl::cli {

// The exit codes of all commands.
constexpr int kDone = 0, kGeneral = 1, kUsage = 2, kNeedsPerson = 11, kUnrecoverable = 12,
              kLedgerCorrupted = 13, kBusy = 14, kInterrupted = 130;

// Options of commands that use the state folder.
struct StateOptions {
  std::string dir;    // --dir, or PAWL_DIR
  std::string store;  // --store, or PAWL_STORE
  bool json = false;
};
void add_state_options(const Command& command, StateOptions& options);
void add_json_option(const Command& command, bool& json);
constexpr const char* kRunHelp = "An id, a unique part of its start or end, or `last`";

using executor::State;

// Finds the folder that `options` or the current directory names: --dir, PAWL_DIR, else .pawl here, in a
// parent, or in exactly one folder below this one. kNotFound and kInvalid say what to do.
Result<std::string> find_folder(const StateOptions& options);
bool names_folder(const StateOptions& options);  // by --dir or PAWL_DIR
// The .pawl of a new run: --dir, PAWL_DIR, else inside `source`. It may not exist yet.
std::string folder_of_new_run(const StateOptions& options, const std::string& source);
// The location of the store: --store, PAWL_STORE, else pawl.db in `folder`.
std::string store_location(const StateOptions& options, const std::string& folder);
// Opens an existing state. With `create` makes the folder first (pawl run).
Result<State> open_state(const StateOptions& options, const std::string& folder, bool create = false);
Result<State> open_state(const StateOptions& options);  // in find_folder()

// Prints "pawl: message" to stderr and returns the exit code: 14 when busy, 13 when forged, 130 when
// cancelled, else 1.
int report(const Error& error);
void print_json(const Json& json);  // one line on stdout

// kInvalid: the reason is not UTF-8, or too long.
Status check_reason(const std::string& reason);
// Returns the signed-in user, for operator rows. The reason is stored without secrets. Errors: those of
// check_reason().
Result<store::Operator> this_operator(const State& state, const std::string& reason);

// Prints the subjects of an attestation, one line each, as sha256sum prints them.
void print_subjects(const Json& subjects);

}  // namespace pawl::cli
