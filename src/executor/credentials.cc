#include "executor/credentials.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <tuple>

#include "base/json.h"
#include "executor/from_host.h"
#include "executor/plans.h"
#include "executor/programs.h"
#include "ledger/ledger.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/process.h"
#include "plan/rows.h"

namespace pawl::executor {
namespace {

constexpr std::uint64_t kFileBytesMax = 1 << 20;  // login files of agents have some kilobytes
constexpr std::int64_t kReadMsMax = 20'000;       // shorter than the lease of the executor that waits

std::unexpected<Error> unauthorized(std::string why) {
  return std::unexpected(Error{.kind = ErrorKind::kDenied, .message = std::move(why), .sys_errno = ENOKEY});
}

Result<std::string> from_environment(const std::string& name) {
  auto value = os::environment_value(name);
  if (!value) return unauthorized("it is not set; `export` it");
  return *std::move(value);
}

// The parser's message would quote the file.
Result<std::string> from_json(const std::string& text, const std::string& pointer) {
  const auto json = parse_json(text);
  if (!json) return unauthorized("it is not JSON");
  try {
    const auto& value = json->at(Json::json_pointer(pointer));
    if (!value.is_string()) return unauthorized(pointer + " is not a string");
    return value.get<std::string>();
  } catch (const Json::exception&) {
    return unauthorized("it has no member " + pointer);
  }
}

Result<std::string> from_file(const plan::Credential& credential) {
  PAWL_TRY(const std::string path, with_home(credential.file));
  auto text = os::read_file(path, kFileBytesMax);
  if (!text) return unauthorized(text.error().message);
  return credential.json.empty() ? text : from_json(*text, credential.json);
}

Result<std::string> from_command(const std::vector<std::string>& command, std::int64_t timeout_ms) {
  auto printed = os::output_of(command, timeout_ms, 2 * kCredentialBytesMax);
  if (!printed && printed.error().kind == ErrorKind::kCancelled)
    return std::unexpected(std::move(printed).error());
  if (!printed) return unauthorized("it did not end well: " + printed.error().message);
  if (printed->code == 0) return std::move(printed->text);
  if (printed->code == 127 && program_on_host(command.front()).empty())
    return unauthorized("this machine has no such program");
  return unauthorized(printed->code ? fmt::format("it ended with exit code {}", *printed->code)
                                    : std::string("a signal killed it"));
}

Result<std::string> read_value(const plan::Credential& credential, std::int64_t timeout_ms) {
  if (!credential.env.empty()) return from_environment(credential.env);
  return credential.file.empty() ? from_command(credential.command, timeout_ms) : from_file(credential);
}

Result<std::string> checked(std::string value) {
  while (value.ends_with('\n') || value.ends_with('\r')) value.pop_back();
  if (value.empty()) return unauthorized("it is empty");
  if (value.size() < kCredentialBytesMin)
    return unauthorized(fmt::format("the value has fewer than {} bytes, which can't be told from other text",
                                    kCredentialBytesMin));
  if (value.size() > kCredentialBytesMax)
    return unauthorized(fmt::format("the value has more than {} bytes", kCredentialBytesMax));
  if (value.find('\0') != std::string::npos) return unauthorized("the value has a NUL character");
  return value;
}

Error in_words(Error error, const plan::Credential& credential, const std::string& phase_id) {
  if (error.kind == ErrorKind::kCancelled) return error;
  error.kind = ErrorKind::kDenied;
  error.sys_errno = ENOKEY;
  return std::move(error).in(
      fmt::format("credential {} of phase {}, from {}", credential.name, phase_id, source_of(credential)));
}

// Reads for several phases, in one time.
class Reading {
 public:
  Status add(const plan::Phase& phase) {
    std::size_t bytes = 0;
    for (const auto& credential : phase.credentials) {
      const auto& [name, env, file, json, command, at] = credential;
      if (!read_.emplace(name, env, file, json, command).second) continue;
      const auto left_ms = kReadMsMax - ms_between(begun_, clock_.mono());
      auto value = read_value(credential, std::max<std::int64_t>(1, left_ms));
      if (value) value = checked(*std::move(value));
      if (!value) return std::unexpected(in_words(std::move(value).error(), credential, phase.id));
      bytes += name.size() + value->size() + 2;
      values_.emplace_back(name, *std::move(value));
    }
    if (bytes <= kCredentialsBytesMax) return {};
    return unauthorized(
        fmt::format("the credentials of phase {} have {} bytes together; at most {} are handed over",
                    phase.id, bytes, kCredentialsBytesMax));
  }
  secrets::Redactor::Values values() { return std::move(values_); }

 private:
  const os::SystemClock clock_;
  const MonoTime begun_ = clock_.mono();
  std::set<std::tuple<std::string, std::string, std::string, std::string, std::vector<std::string>>> read_;
  secrets::Redactor::Values values_;
};

// The plan must be the one that the run was started with.
Status check_planned_rows(const State& state, const std::string& run_id) {
  PAWL_TRY(const auto verified,
           ledger::verify_run(*state.store, run_id, {.public_key = state.sealer->public_key()}));
  if (!verified.ok) return ledger::not_whole(run_id, verified);
  if (std::ranges::find(verified.lacks, "planned", &ledger::Lack::member) == verified.lacks.end()) return {};
  return fail(ErrorKind::kForged,
              "run " + run_id + ": its ledger does not name its planned rows, which name credentials");
}

// "" when the value is there.
std::string lack_of_variable(const std::string& name) {
  const auto value = os::environment_value(name).value_or("");
  if (value.empty()) return "it is not set here: `export` it";
  const auto usable = checked(value);
  return usable ? "" : usable.error().message;
}

// "" when the value may be there.
std::string lack_of(const plan::Credential& credential) {
  if (!credential.env.empty()) return lack_of_variable(credential.env);
  if (!credential.command.empty())
    return program_on_host(credential.command.front()).empty() ? "this machine has no such program" : "";
  const auto path = with_home(credential.file);
  if (!path) return path.error().message;
  if (!os::exists(*path)) return "there is no such file";
  return os::is_regular_file(*path) && access(path->c_str(), R_OK) == 0 ? ""
                                                                        : "it is no file that you may read";
}

// The message about a credential that this host does not have; "": it may have it.
std::string unseen_text(const plan::Phase& phase, const plan::Credential& credential) {
  const auto lack = lack_of(credential);
  if (lack.empty()) return {};
  return fmt::format("credential {} of phase {}, from {}: {}", credential.name, phase.id,
                     source_of(credential), lack);
}

}  // namespace

bool lacks_credential(const Error& error) {
  return error.kind == ErrorKind::kDenied && error.sys_errno == ENOKEY;
}

std::string source_of(const plan::Credential& credential) {
  if (!credential.env.empty()) return "the environment variable " + credential.env;
  if (!credential.file.empty())
    return "the file " + printable(credential.file) +
           (credential.json.empty() ? "" : " at " + printable(credential.json));
  std::string words;
  for (const auto& word : credential.command) words += (words.empty() ? "" : " ") + printable(word);
  return "the command `" + words + "`";
}

Result<secrets::Redactor::Values> read_credentials(const plan::Phase& phase) {
  Reading reading;
  PAWL_OK(reading.add(phase));
  return reading.values();
}

Result<secrets::Redactor::Values> credentials_of_runs(const State& state,
                                                      const std::vector<std::string>& run_ids) {
  std::vector<store::RunRow> runs;  // those with credentials
  for (const auto& run_id : run_ids) {
    PAWL_TRY(auto run, state.store->run(run_id));
    PAWL_TRY(const auto common, common_of(*state.store, run));
    if (!common.has_credentials) continue;
    PAWL_OK(check_planned_rows(state, run_id));
    runs.push_back(std::move(run));
  }
  Reading reading;
  for (const auto& run : runs) {
    PAWL_TRY(const auto phases, state.store->phases(run.run_id));
    for (const auto& row : phases) {
      if (is_terminal(row.state)) continue;
      PAWL_TRY(const auto phase, phase_of(*state.store, run, row.phase_id));
      PAWL_OK(reading.add(phase));
    }
  }
  return reading.values();
}

std::vector<plan::Finding> unseen_credentials(const plan::Plan& plan) {
  std::vector<plan::Finding> out;
  for (const auto& tier : plan.tiers)
    for (const auto& phase : tier.phases)
      for (const auto& credential : phase.credentials)
        if (auto message = unseen_text(phase, credential); !message.empty())
          out.push_back({.at = credential.at, .message = std::move(message)});
  return out;
}

Result<std::optional<UnseenCredential>> unseen_credential(store::Reader& store, const std::string& run_id) {
  PAWL_TRY(const auto row, store.planned_common(run_id));
  if (const auto common = plan::common_of_row(row); !common || !common->has_credentials) return std::nullopt;
  PAWL_TRY(const auto phases, store.phases(run_id));
  for (const auto& open : phases) {
    if (is_terminal(open.state)) continue;
    PAWL_TRY(const auto planned, store.planned_phase(run_id, open.phase_id));
    const auto phase = plan::phase_of_row(planned);
    if (!phase) continue;
    for (const auto& credential : phase->credentials)
      if (auto message = unseen_text(*phase, credential); !message.empty())
        return UnseenCredential{
            .phase_id = phase->id, .message = std::move(message), .variable = credential.env};
  }
  return std::nullopt;
}

}  // namespace pawl::executor
