// What every command shares: where the state is, how it is opened, how an error ends the program. Commands
// are one file each; each registers itself on the CLI11 application and returns an exit code through run().
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/json.h"
#include "ledger/ledger.h"
#include "os/clock.h"
#include "os/random.h"
#include "sandbox/client.h"
#include "store/store.h"
#include "workspace/workspace.h"

namespace pawl::cli {

// Design, section 10.
enum ExitCode : int {
  kDone = 0,
  kGeneral = 1,
  kUsage = 2,
  kNeedsPerson = 11,
  kUnrecoverable = 12,
  kLedgerCorrupted = 13,
  kBusy = 14,
  kInterrupted = 130,
};

// Options that commands on state take.
struct StateOptions {
  std::string dir;    // --dir, or PAWL_DIR
  std::string store;  // --store, or PAWL_STORE
  bool json = false;
};
void add_state_options(CLI::App& command, StateOptions& options);
void add_json_option(CLI::App& command, bool& json);

// The state of one .pawl folder, open. One per thread: a Store is for one thread.
struct State {
  std::string folder;    // .pawl, absolute
  std::string location;  // of the store
  std::shared_ptr<const store::RowSealer> sealer;
  std::unique_ptr<store::Store> store;
  std::unique_ptr<workspace::Workspaces> workspaces;
};

// The folder that `options` or the current directory names: --dir, PAWL_DIR, else .pawl here, in a parent, or
// in exactly one folder below this one. kNotFound says what to do.
Result<std::string> find_folder(const StateOptions& options);
std::string store_location(const StateOptions& options, const std::string& folder);
// Opens what is there; with `create` makes the folder first (pawl run).
Result<State> open_state(const StateOptions& options, const std::string& folder, bool create = false);
Result<State> open_state(const StateOptions& options);  // of find_folder()

Result<std::unique_ptr<sandbox::SandboxClient>> make_client(const std::string& folder,
                                                            const std::string& backend);

// Prints "pawl: message" to stderr and returns the exit code: 14 when busy, 130 when cancelled, else 1.
int report(const Error& error);
void print_json(const Json& json);  // one line on stdout

// `name` of the signed-in user as a number, for operator rows.
store::Operator this_operator(const std::string& reason);

// "3.2s", "4m05s", "2h10m".
std::string duration_text(std::int64_t ms);

using AddCommand = void (*)(CLI::App& app, int& exit_code);
// What main() of both programs does with the commands it has.
int run_command_line(int argc, char** argv, std::initializer_list<AddCommand> commands);

// --- the commands: each adds itself to `app`; `exit_code` is what main returns.
void add_run(CLI::App& app, int& exit_code);
void add_resume(CLI::App& app, int& exit_code);
void add_status(CLI::App& app, int& exit_code);
void add_inspect(CLI::App& app, int& exit_code);
void add_logs(CLI::App& app, int& exit_code);
void add_diff(CLI::App& app, int& exit_code);
void add_apply(CLI::App& app, int& exit_code);
void add_verify(CLI::App& app, int& exit_code);
void add_check(CLI::App& app, int& exit_code);
void add_export(CLI::App& app, int& exit_code);
void add_gc(CLI::App& app, int& exit_code);
void add_retry(CLI::App& app, int& exit_code);
void add_skip(CLI::App& app, int& exit_code);
void add_cancel(CLI::App& app, int& exit_code);
void add_migrate(CLI::App& app, int& exit_code);
void add_sandbox(CLI::App& app, int& exit_code);

}  // namespace pawl::cli
