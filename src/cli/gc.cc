#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "cli/context.h"
#include "executor/start_run.h"
#include "os/file.h"
#include "sandbox/backend.h"
#include "sandbox/spec.h"

namespace pawl::cli {
namespace {

struct GcOptions {
  StateOptions state;
  std::string older_than = "7d";
};

// "7d", "12h", "30m", "0d".
Result<std::int64_t> milliseconds_of(const std::string& text) {
  std::int64_t number = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string unit(parsed.ptr, text.data() + text.size());
  const std::int64_t factor = unit == "d"   ? 86'400'000
                              : unit == "h" ? 3'600'000
                              : unit == "m" ? 60'000
                              : unit == "s" ? 1000
                                            : 0;
  if (parsed.ec != std::errc() || factor == 0 || number < 0 || number > 100'000)
    return fail(ErrorKind::kInvalid,
                "--older-than " + text + ": expected a number and d, h, m or s, like 7d");
  return number * factor;
}

// Every object that the rows of a run name.
Status keep_objects_of(store::Store& store, const store::RunRow& run, std::vector<std::string>& keep) {
  keep.push_back(run.base_id);
  keep.push_back(run.plan_content);
  // A plan that another version wrote, and this one can't read, has nothing that this one could go on from.
  if (const auto plan = executor::plan_of(run); plan && plan->policy) keep.push_back(plan->policy->blake3);
  PAWL_TRY(const auto layers, store.accepted_layers(run.run_id));
  for (const auto& layer : layers) keep.push_back(layer.layer_id);
  PAWL_TRY(const auto phases, store.phases(run.run_id));
  for (const auto& phase : phases) {
    PAWL_TRY(const auto attempts, store.attempts(run.run_id, phase.phase_id));
    for (const auto& attempt : attempts) keep.push_back(attempt.agent_layer);
    PAWL_TRY(const auto steps, store.steps(run.run_id, phase.phase_id));
    for (const auto& step : steps) {
      if (step.run.empty()) continue;
      PAWL_TRY(const Json json, parse_json(step.run));
      PAWL_TRY(const auto result, sandbox::run_from_json(json));
      for (const auto& id : {result.logs, result.network_log, result.trace, result.layer, result.copy_out})
        keep.push_back(id);
    }
  }
  return {};
}

// Folders of steps that no open marker names: their results are recorded, or they were given up.
Status sweep_steps(const State& state) {
  PAWL_TRY(const auto open, state.store->open_steps());
  PAWL_TRY(const auto backend, sandbox::make_backend("namespace"));
  for (const auto* place : {"spool", "work"}) {
    const std::string folder = os::join(state.folder, place);
    const auto names = os::list_folder(folder);
    if (!names) continue;
    for (const auto& name : *names) {
      if (std::ranges::find(open, name, &store::StepRow::sandbox_run_id) != open.end()) continue;
      const auto lock_path = os::join(os::join(os::join(state.folder, "spool"), name), "lock");
      if (os::exists(lock_path)) {
        // Somebody may be between writing a spool and committing its marker, or still ending: not ours to
        // take.
        const auto lock = os::FileLock::try_lock(lock_path);
        if (!lock || !*lock) continue;
      }
      backend->clean_up(name);
      PAWL_OK(os::remove_tree(os::join(folder, name)));
    }
  }
  return {};
}

Result<std::int64_t> gc(const GcOptions& options) {
  PAWL_TRY(const std::int64_t age_ms, milliseconds_of(options.older_than));
  PAWL_TRY(const State state, open_state(options.state));
  const std::string limit = rfc3339(os::SystemClock().wall().plus_ms(-age_ms));
  PAWL_OK(sweep_steps(state));
  constexpr std::size_t kRunsMax = 1'000'000;
  PAWL_TRY(const auto runs, state.store->runs(kRunsMax));
  std::vector<std::string> keep;
  for (const auto& run : runs) {
    const bool old =
        run.state != store::RunState::kExecuting && !run.ended_at.empty() && run.ended_at <= limit;
    if (!old) PAWL_OK(keep_objects_of(*state.store, run, keep));
  }
  return state.workspaces->collect_garbage(keep);
}

}  // namespace

void add_gc(const Command& program) {
  const Command command = program.add("gc", "Remove workspaces, logs and layers of old runs");
  auto options = std::make_shared<GcOptions>();
  command.option("--older-than", options->older_than, "Runs that ended longer ago than this: 7d, 12h, 30m");
  add_state_options(command, options->state);
  command.footer(
      "State, ledger and cost are never removed: an old run still verifies, but its logs and its diff are "
      "gone.\n\n"
      "Example:\n  pawl gc --older-than 30d");
  command.on_run([options] {
    const auto freed = gc(*options);
    if (!freed) {
      report(freed.error());
      return freed.error().kind == ErrorKind::kInvalid ? kUsage : kGeneral;
    }
    if (options->state.json) {
      print_json({{"freed_bytes", *freed}});
    } else {
      fmt::print("freed {} KiB\n", *freed / 1024);
    }
    return kDone;
  });
}

}  // namespace pawl::cli
