#include "cli/context.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "cli/render/say.h"
#include "cli/render/terminal.h"
#include "executor/state_folder.h"
#include "os/file.h"
#include "os/process.h"
#include "secrets/redact.h"

namespace pawl::cli {
namespace {

constexpr const char* kFolderName = ".pawl";

std::string option_or_environment(const std::string& option, const char* variable) {
  if (!option.empty()) return option;
  return os::environment_value(variable).value_or("");
}

// Returns the folders below `here` that hold a .pawl: a plan that lies beside its source is run from there.
std::vector<std::string> below(const std::string& here) {
  std::vector<std::string> found;
  const auto names = os::list_folder(here);
  if (!names) return found;
  for (const auto& name : *names) {
    const std::string candidate = os::join(os::join(here, name), kFolderName);
    if (os::is_folder(candidate)) found.push_back(candidate);
  }
  return found;
}

}  // namespace

void add_json_option(const Command& command, bool& json) {
  command.flag("--json", json, "Print one JSON object on stdout, for programs");
}

void add_state_options(const Command& command, StateOptions& options) {
  command.option("--dir", options.dir, "The state folder (else PAWL_DIR, else the nearest .pawl)");
  command.option("--store", options.store, "sqlite:PATH (else PAWL_STORE, else pawl.db in the state folder)");
  // A location of another kind is an error of usage, before the command has an effect.
  command.check("--store", [](const std::string& location) {
    return store::file_of(location).empty() ? store::check_store(location) : Status();
  });
  add_json_option(command, options.json);
}

bool names_folder(const StateOptions& options) {
  return !option_or_environment(options.dir, "PAWL_DIR").empty();
}

Result<std::string> find_folder(const StateOptions& options) {
  const std::string named = option_or_environment(options.dir, "PAWL_DIR");
  if (!named.empty()) {
    if (!os::is_folder(named))
      return fail(ErrorKind::kNotFound, named + ": no such state folder (--dir or PAWL_DIR)");
    return os::absolute_path(named);
  }
  PAWL_TRY(const std::string here, os::absolute_path("."));
  for (std::string folder = here;; folder = os::folder_of(folder)) {
    const std::string candidate = os::join(folder, kFolderName);
    if (os::is_folder(candidate)) return candidate;
    // The search ends at the repository, because other people may write to folders above it.
    if (folder == "/" || os::exists(os::join(folder, ".git"))) break;
  }
  const auto candidates = below(here);
  if (candidates.size() == 1) return candidates.front();
  if (candidates.empty())
    return fail(ErrorKind::kNotFound,
                "no .pawl here or in a parent folder of this repository; go to where the plan's source is, "
                "or name it with --dir");
  return fail(ErrorKind::kInvalid,
              "several .pawl folders below this one; name one with --dir " + candidates.front());
}

std::string folder_of_new_run(const StateOptions& options, const std::string& source) {
  const std::string named = option_or_environment(options.dir, "PAWL_DIR");
  return named.empty() ? os::join(source, kFolderName) : named;
}

std::string store_location(const StateOptions& options, const std::string& folder) {
  const std::string named = option_or_environment(options.store, "PAWL_STORE");
  return named.empty() ? executor::default_location(folder) : named;
}

// A misspelt name must not create a new database.
Status check_named_store(const StateOptions& options, bool create) {
  const std::string path = store::file_of(option_or_environment(options.store, "PAWL_STORE"));
  if (path.empty()) return {};
  PAWL_OK(executor::check_database(path));
  if (create || os::exists(path)) return {};
  return fail(ErrorKind::kNotFound,
              path + ": no such database (--store or PAWL_STORE); `pawl run` makes one");
}

Status check_new_store(const StateOptions& options) {
  const std::string named = option_or_environment(options.store, "PAWL_STORE");
  return named.empty() ? Status() : store::check_store(named);
}

Result<State> open_state(const StateOptions& options, const std::string& folder, bool create) {
  if (!create && !os::is_folder(folder)) return fail(ErrorKind::kNotFound, folder + ": no such state folder");
  const bool is_new = !os::exists(folder);
  if (!is_new) PAWL_OK(executor::check_state_folder(folder));
  // Checked before a folder is made for the store.
  PAWL_OK(check_named_store(options, create));
  if (is_new) PAWL_OK(check_new_store(options));
  return executor::open_state(folder, option_or_environment(options.store, "PAWL_STORE"));
}

Result<State> open_state(const StateOptions& options) {
  PAWL_TRY(const std::string folder, find_folder(options));
  return open_state(options, folder);
}

int report(const Error& error) {
  std::fflush(stdout);
  tell("pawl: {}\n", error.message);
  if (error.kind == ErrorKind::kUnavailable) return kBusy;
  if (error.kind == ErrorKind::kForged) return kLedgerCorrupted;
  if (error.kind == ErrorKind::kCancelled) return kInterrupted;
  return kGeneral;
}

// print_out() reports a failed write at the end of the command.
void print_json(const Json& json) { static_cast<void>(print_for_programs(canonical(json) + "\n")); }

Status check_reason(const std::string& reason) {
  constexpr std::size_t kReasonBytesMax = 4096;
  if (reason.size() <= kReasonBytesMax && valid_utf8(reason) == reason) return {};
  return fail(ErrorKind::kInvalid, "--reason: at most 4096 bytes of UTF-8");
}

Result<store::Operator> this_operator(const State& state, const std::string& reason) {
  PAWL_OK(check_reason(reason));
  PAWL_TRY(const auto redactor, secrets::open_redactor(state.folder));
  return store::Operator{.uid = os::user_id(), .reason = redactor->redact(reason)};
}

void print_subjects(const Json& subjects) {
  for (const auto& subject : subjects)
    if (const auto digests = subject.find("digest"); digests != subject.end())
      for (const auto& [algorithm, digest] : digests->items())
        say("{}  {} ({})\n", digest.is_string() ? printable(digest.get<std::string>()) : "",
            printable(text_in(subject, "name")), printable(algorithm));
}

}  // namespace pawl::cli
