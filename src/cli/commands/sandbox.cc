#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>

#include "base/private_names.h"
#include "cli/context.h"
#include "cli/render/say.h"
#include "cli/render/terminal.h"
#include "cli/render/visible.h"
#include "egress/egress.h"
#include "executor/state_folder.h"
#include "os/file.h"
#include "os/process.h"
#include "os/temporary_folder.h"
#include "sandbox/backend.h"
#include "sandbox/environment.h"
#include "sandbox/shown.h"

namespace pawl::cli {
namespace {

struct ExecOptions {
  std::string workspace, copy_out, backend = sandbox::default_backend(), network = "none", trace;
  std::vector<std::string> ro, egress, env, command;
  std::int64_t memory_mib = 2048, pids = 512, cpu_millis = 2000, disk_mib = 4096;
  std::int64_t time_budget_seconds = 600, output_limit_bytes = 67108864;
  bool json = false;
};

// Exit codes for endings that are not the command's own. 124 and 125 are those of timeout(1) and env(1), and
// 128 + N for signal N is that of a shell.
constexpr int kTimedOutCode = 124;
constexpr int kSetupFailedCode = 125;
constexpr int kLimitCode = 123;
constexpr int kSignalBase = 128;

Result<sandbox::SandboxSpec> spec_of(const ExecOptions& options) {
  sandbox::SandboxSpec spec;
  spec.cmd = options.command;
  for (const auto& name : options.env)
    if (is_secret_variable(name))
      return fail(ErrorKind::kInvalid, "--env " + name + ": looks like a secret and never passes");
  spec.env = sandbox::allowed_environment(options.env);
  std::ranges::sort(spec.env);
  spec.network = options.network == "scoped" ? sandbox::Network::kScoped : sandbox::Network::kNone;
  spec.egress_allowlist = options.egress;
  spec.enable_trace = !options.trace.empty();
  spec.memory_limit_mib = options.memory_mib;
  spec.pids_limit = options.pids;
  spec.cpu_limit_millis = options.cpu_millis;
  spec.disk_limit_mib = options.disk_mib;
  spec.time_budget_seconds = options.time_budget_seconds;
  spec.output_limit_bytes = options.output_limit_bytes;
  spec.label = "exec";
  for (const auto& pair : options.ro) {
    const auto colon = pair.find(':');
    if (colon == std::string::npos) return fail(ErrorKind::kInvalid, "--ro " + pair + ": expected SRC:DST");
    PAWL_TRY(const std::string source, os::absolute_path(pair.substr(0, colon)));
    PAWL_OK(sandbox::check_shown(source));
    spec.copy_in.push_back({.src = source, .dst = pair.substr(colon + 1)});
  }
  PAWL_OK(sandbox::validate(spec));
  const std::string& program = spec.cmd.front();
  const bool relative = !program.starts_with('/') && program.find('/') != std::string::npos;
  if (relative && (options.workspace.empty() || !os::exists(os::join(options.workspace, program))))
    return fail(ErrorKind::kInvalid, "cmd: " + program + " is not in the workspace" +
                                         (options.workspace.empty() ? "; name one with --workspace" : ""));
  return spec;
}

class TraceFile {
 public:
  static Result<TraceFile> open(const std::string& path) {
    TraceFile out;
    if (path.empty()) return out;
    out.file_.reset(std::fopen(path.c_str(), "we"));
    if (!out.file_) return fail_errno(errno, "create trace", path);
    return out;
  }
  void append(std::string_view line) const {
    if (!file_) return;
    std::fwrite(line.data(), 1, line.size(), file_.get());  // check_written() reports a failure
    std::fputc('\n', file_.get());
  }
  Status check_written() const {
    if (!file_ || (std::fflush(file_.get()) == 0 && std::ferror(file_.get()) == 0)) return {};
    return fail(ErrorKind::kExhausted, "the trace could not be written whole: is its disk full?");
  }

 private:
  struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::unique_ptr<std::FILE, Close> file_;
};

// Moves the changes of the command to --copy-out, and names what it deleted.
Status copy_out(const std::string& folder, const sandbox::Folders& folders, sandbox::Changes changes,
                std::int64_t disk_bytes, const std::string& target) {
  PAWL_TRY(auto workspaces, workspace::Workspaces::open(os::join(folder, "objects")));
  PAWL_TRY(const auto layer, workspaces.collect(folders.upper, folders.lower, sandbox::is_whole_tree(changes),
                                                {.bytes = disk_bytes, .outer_links = false}));
  for (const auto& path : layer.refused) tell("pawl: not copied out: {}\n", visible(path));
  if (const auto more = layer.refused_total - static_cast<std::int64_t>(layer.refused.size()); more > 0)
    tell("pawl: not copied out: and {} more\n", more);
  if (layer.layer_id.empty()) return os::make_folders(target);
  PAWL_TRY(const auto entries, workspaces.manifest(layer.layer_id));
  const std::string tree = workspaces.layer_tree(layer.layer_id);
  for (const auto& entry : entries) {
    if (entry.type != workspace::EntryType::kDeleted) continue;
    tell("pawl: deleted: {}\n", visible(entry.path));
    PAWL_OK(os::remove_tree(os::join(tree, entry.path)));  // the whiteout
  }
  return os::rename_durably("exec.copy_out", tree, target);
}

// Returns standard input when it is piped in. A terminal is not passed on: its user would wait for a command
// that reads no input, just as a step reads none.
Result<os::UniqueFd> input_to_pass_on() {
  struct stat status {};
  if (fstat(STDIN_FILENO, &status) != 0 || isatty(STDIN_FILENO) != 0) return os::UniqueFd();
  if (S_ISDIR(status.st_mode))
    return fail(ErrorKind::kInvalid, "stdin: it is a folder; give a file or a pipe, or </dev/null");
  os::UniqueFd input(fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1));
  if (!input) return fail_errno(errno, "stdin");
  return input;
}

int exit_code_of(const sandbox::SandboxRun& run) {
  switch (run.outcome) {
    case sandbox::Outcome::kExited:
      return static_cast<int>(run.exit_code);
    case sandbox::Outcome::kSignaled:
      return kSignalBase + static_cast<int>(run.signal);
    case sandbox::Outcome::kTimedOut:
      return kTimedOutCode;
    case sandbox::Outcome::kOomKilled:
      return kSignalBase + 9;
    case sandbox::Outcome::kOutputLimit:
    case sandbox::Outcome::kDiskLimit:
      return kLimitCode;
    case sandbox::Outcome::kSetupFailed:
      return kSetupFailedCode;
  }
  return kGeneral;
}

Status check_workspace(const std::string& folder) {
  if (!executor::is_in_state_folder(folder)) return {};
  return fail(ErrorKind::kInvalid, folder + ": is a state folder, or below one; name another folder");
}

Result<int> exec(const ExecOptions& options) {
  os::refuse_to_be_looked_into();
  PAWL_TRY(const os::UniqueFd input, input_to_pass_on());
  PAWL_TRY(const auto spec, spec_of(options));
  PAWL_TRY(const auto backend,
           sandbox::make_backend(options.backend == "auto" ? sandbox::default_backend() : options.backend));
  if (!options.copy_out.empty() && os::exists(options.copy_out))
    return fail(ErrorKind::kConflict, options.copy_out + ": exists already; name a new folder");
  const bool in_memory = options.workspace.empty() && options.copy_out.empty();
  sandbox::Events events{.input = input.get()};
  // Beside the place of the result, so that it can be renamed into place.
  const std::string stem = options.copy_out.empty() ? os::temporary_stem() : options.copy_out;
  if (!options.copy_out.empty()) os::sweep_temporary_folders(stem);  // no other process cleans up there
  PAWL_TRY(const auto temporary, os::TemporaryFolder::make(stem));
  events.held = {temporary.lock_fd()};
  const auto below = [&](const char* name) { return os::join(temporary.path(), name); };
  sandbox::Folders folders{.scratch = below("scratch"), .in_memory = in_memory};
  if (!in_memory) {
    folders.upper = below("upper");
    folders.work = below("work");
    for (const auto& folder : {folders.upper, folders.work}) PAWL_OK(os::make_folders(folder));
  }
  if (!options.workspace.empty()) {
    PAWL_TRY(std::string base, os::absolute_path(options.workspace));
    PAWL_OK(check_workspace(base));
    folders.hidden = executor::hidden_below(base, find_folder({}).value_or(""));
    folders.lower.push_back(std::move(base));
  }

  bool left = false;  // the reader of the output is gone
  events.on_output = [&](sandbox::Stream stream, std::string_view bytes) {
    left = !pass_on(stream == sandbox::Stream::kStdout ? stdout : stderr, bytes) || left;
  };
  PAWL_TRY(events.open_outlet, egress::outlet_of(spec, [](std::string_view line) {
             const auto tried = parse_json(line);
             const auto verdict = tried ? text_in(*tried, "verdict") : "";
             if (tried && verdict != "allowed")
               tell("pawl: {}:{}: {}\n", text_in(*tried, "host"), integer_in(*tried, "port"), verdict);
           }));
  PAWL_TRY(auto trace, TraceFile::open(options.trace));
  events.on_trace = [&](std::string_view line) { trace.append(line); };
  os::catch_interrupts();  // the sandbox must end with this process
  events.should_stop = [&] { return os::interrupted() || left; };
  os::SystemClock clock;
  os::SystemRandom random;
  const auto execution = backend->execute(spec, folders, events, os::uuid7(clock.wall(), random));
  const auto& run = execution.run;
  if (!options.copy_out.empty() && run.outcome != sandbox::Outcome::kSetupFailed)
    PAWL_OK(
        copy_out(temporary.path(), folders, execution.changes, spec.disk_limit_mib << 20, options.copy_out));
  PAWL_OK(trace.check_written());
  if (options.json) {
    tell("{}\n", json_text(run));
  } else if (run.outcome != sandbox::Outcome::kExited && !left) {
    tell("pawl: {}{}\n", name(run.outcome), run.reason.empty() ? "" : ": " + run.reason);
  }
  if (os::interrupted()) return kInterrupted;
  return left ? kSignalBase + SIGPIPE : exit_code_of(run);
}

int health(bool json) {
  bool usable = false;
  Json list = Json::array();
  for (const auto& backend_name : sandbox::backend_names()) {
    const auto backend = sandbox::make_backend(backend_name);
    if (!backend) continue;
    const auto found = (*backend)->health(egress::closed_outlets());
    usable = usable || found.usable;
    Json mechanisms = Json::array();
    for (const auto& mechanism : found.mechanisms)
      mechanisms.push_back({{"name", mechanism.name},
                            {"status", sandbox::name(mechanism.status)},
                            {"detail", mechanism.detail}});
    list.push_back({{"backend", found.backend},
                    {"gate_isolation_class", found.gate_isolation_class},
                    {"usable", found.usable},
                    {"mechanisms", std::move(mechanisms)}});
    if (json) continue;
    say("{} ({}): {}\n", found.backend, found.gate_isolation_class, found.usable ? "usable" : "NOT usable");
    for (const auto& mechanism : found.mechanisms)
      say("  {:<22} {:<9} {}\n", mechanism.name, sandbox::name(mechanism.status), mechanism.detail);
  }
  if (json) print_json({{"usable", usable}, {"backends", std::move(list)}});
  return usable ? kDone : kGeneral;
}

void add_exec(const Command& program) {
  const Command command = program.add("exec", "Run one command in the sandbox of a step");
  auto options = std::make_shared<ExecOptions>();
  command.option("--workspace", options->workspace,
                 "The base of /workspace; it is not changed. Without it and without --copy-out,\n"
                 "/workspace is memory, as /tmp is");
  command.option("--ro", options->ro, "SRC:DST, a path shown read-only inside; again for more");
  command.option("--env", options->env, "A name let through from this environment; again for more");
  command.option("--network", options->network, "none, or scoped: the targets of --egress");
  command.one_of("--network", {"none", "scoped"});
  command.option("--egress", options->egress, "HOST:PORT, *.HOST:PORT or ADDRESS:PORT; again for more");
  command.option("--memory-mib", options->memory_mib, "Memory limit");
  command.option("--pids", options->pids, "Processes and threads");
  command.option("--cpu-millis", options->cpu_millis, "Thousandths of one core");
  command.option("--disk-mib", options->disk_mib, "Limit of written data");
  command.option("--time-budget-seconds", options->time_budget_seconds, "Wall time");
  command.option("--output-limit-bytes", options->output_limit_bytes, "Limit of stdout and stderr together");
  command.option("--trace", options->trace,
                 "A file for its programs, connections and refusals, as JSON lines");
  command.option("--copy-out", options->copy_out,
                 "A new folder for the command's changes (else they are lost)");
  command.option("--backend", options->backend,
                 fmt::format("auto or {}", fmt::join(sandbox::backend_names(), ", ")));
  command.flag("--json", options->json, "Print the sandbox run as JSON on stderr at the end");
  command.required("CMD", options->command, "The command and its arguments, after --");
  command.footer(
      "Piped input reaches the command; a terminal does not, and stdin is then empty. Output and "
      "exit code of the command\npass through. Exit codes of Pawl: 124 time budget, 123 output or "
      "disk limit, 125 the sandbox could not be made and\nthe command did not run, 128+N signal N, "
      "130 interrupted, 141 the reader of the output is gone (`| head`).\nstderr says "
      "why.\n\nExample:\n  pawl sandbox exec --workspace . --memory-mib 512 -- make test");
  command.on_run([options] {
    const auto code = exec(*options);
    if (code) return *code;
    report(code.error());
    return code.error().kind == ErrorKind::kInvalid ? kUsage : kSetupFailedCode;
  });
}

}  // namespace

void add_sandbox(const Command& program) {
  const Command group = program.add_group("sandbox", "Use the sandbox by itself: exec, health");
  group.footer("Example:\n  pawl sandbox exec --workspace . -- make test");
  add_exec(group);
  const Command command = group.add("health", "Try each mechanism of isolation, and say what is missing");
  auto json = std::make_shared<bool>(false);
  add_json_option(command, *json);
  command.footer("Exit code 1: a step could not run safely.\n\nExample:\n  pawl sandbox health");
  command.on_run([json] { return health(*json); });
}

}  // namespace pawl::cli
