#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "cli/context.h"
#include "cli/render/say.h"
#include "executor/open_world.h"
#include "executor/start_run.h"
#include "os/file.h"
#include "os/held_tree.h"
#include "sandbox/backend.h"
#include "sandbox/spec.h"
#include "store/ledger_rows.h"
#include "supervisor/supervisor.h"

namespace pawl::cli {
namespace {

struct GcOptions {
  StateOptions state;
  std::string older_than = "7d";
  bool dry_run = false;
};

// Parses "7d", "12h", "30m", "0d".
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

// Ids of objects, and paths of folders with HOME of agents, that must stay.
struct Needed {
  std::vector<std::string> objects, homes;
};

constexpr std::int64_t kRowsMax = 1'000'000;  // per phase: more than it can have

// Adds every object that the rows of a run name, and HOME of the agents that may go on.
Status keep_what_it_needs(store::Store& store, const store::RunRow& run, Needed& needed) {
  auto& keep = needed.objects;
  keep.push_back(run.base_id);
  keep.push_back(run.plan_content);
  // A plan of another version may be unreadable here. This version could not go on from it, so that its
  // policy and its /plan for agents are not retained.
  if (const auto plan = executor::common_of(store, run)) {
    if (plan->policy) keep.push_back(plan->policy->blake3);
    keep.push_back(plan->plan_for_agents);
  }
  PAWL_TRY(const auto layers, store.accepted_layers(run.run_id));
  for (const auto& layer : layers) keep.push_back(layer.layer_id);
  PAWL_TRY(const auto phases, store.phases(run.run_id));
  for (const auto& phase : phases) {
    PAWL_TRY(const auto attempts, store.attempts(run.run_id, phase.phase_id));
    for (const auto& attempt : attempts) {
      keep.push_back(attempt.agent_layer);
      // The agent of the newest attempt may go on in HOME of the one before.
      if (!store::is_terminal(phase.state) && attempt.number + 1 >= phase.attempts_total)
        needed.homes.push_back(supervisor::homes_of(run.run_id, attempt.attempt_id));
      if (attempt.finished) continue;
      PAWL_TRY(const auto rows, store.ledger(run.run_id, phase.phase_id, 1, kRowsMax));
      store::KeptLayers kept;
      for (const auto& row : rows) PAWL_OK(store::note_kept_layer(row, attempt.attempt_id, kept));
      for (const auto& [step, layer] : kept)
        if (layer) keep.push_back(*layer);
    }
    PAWL_TRY(const auto steps, store.steps(run.run_id, phase.phase_id));
    for (const auto& step : steps) {
      if (step.run.empty()) continue;
      PAWL_TRY(const Json json, parse_json(step.run));
      PAWL_TRY(const auto result, sandbox::run_from_json(json));
      for (const auto& id : sandbox::objects_of(result)) keep.push_back(id);
    }
  }
  return {};
}

Result<os::HeldTree> held(const State& state) {
  return os::HeldTree::open(state.folder, os::HeldTree::Mounts::kAny);
}

// Whether a supervisor holds the step's lock: the step may still be ending.
Result<bool> is_held(const os::HeldTree& tree, const std::string& step) {
  const auto lock = tree.find("spool/" + step + "/lock");
  if (!lock && lock.error().kind == ErrorKind::kNotFound) return false;
  if (!lock) return std::unexpected(lock.error());
  if (!os::exists(lock->path())) return false;
  const auto got = os::FileLock::try_lock(lock->path());
  return !got || !*got;
}

// Folders of steps that no open marker names: their results are recorded, or the steps were given up. Paths
// are relative to the state folder.
Result<std::vector<std::string>> leftovers_of_steps(const os::HeldTree& tree, store::WorkReader& store) {
  std::vector<std::pair<std::string, std::string>> found;  // folder, name
  for (const std::string place : {"work", "spool"}) {
    const auto names = tree.list(place);
    if (!names && names.error().kind == ErrorKind::kNotFound) continue;
    PAWL_OK(names);
    for (const auto& name : *names) found.emplace_back(place, name);
  }
  // Read after the folders were listed, because a marker exists before the folder of its step.
  PAWL_TRY(const auto open, store.open_steps());
  std::vector<std::string> out;
  for (const auto& [folder, name] : found) {
    if (std::ranges::find(open, name, &store::StepRow::sandbox_run_id) != open.end()) continue;
    PAWL_TRY(const bool is_ending, is_held(tree, name));
    if (!is_ending) out.push_back(os::join(folder, name));
  }
  return out;
}

// Paths are relative to the state folder.
struct Found {
  std::int64_t old_runs = 0;
  std::vector<std::string> steps;
  std::vector<std::string> episodes;  // folders of runs: what their agents stored
  std::vector<std::string> homes;     // folders of attempts: HOME of their agents
  workspace::Garbage garbage;

  std::vector<std::string> paths() const {
    std::vector<std::string> out = steps;
    for (const auto* more : {&episodes, &homes}) out.insert(out.end(), more->begin(), more->end());
    for (const auto* more : {&garbage.bases, &garbage.layers, &garbage.blobs, &garbage.merges,
                             &garbage.caches, &garbage.temporaries})
      out.insert(out.end(), more->begin(), more->end());
    return out;
  }
};

// Relative to the state folder.
Result<std::vector<std::string>> all_homes(const os::HeldTree& tree) {
  auto names = tree.list(std::string(supervisor::kHomes));
  if (!names && names.error().kind == ErrorKind::kNotFound) return std::vector<std::string>();
  PAWL_OK(names);
  for (auto& name : *names) name = os::join(supervisor::kHomes, name);
  return names;
}

Result<Found> look(const State& state, const std::string& limit) {
  Found out;
  PAWL_TRY(const auto tree, held(state));
  PAWL_TRY(out.steps, leftovers_of_steps(tree, *state.store));
  // Read before the rows: an object that a spool no longer names is named by a row, and an attempt is a row
  // before it has a HOME.
  Needed needed;
  PAWL_TRY(needed.objects, supervisor::objects_in_use(state.folder));
  PAWL_TRY(out.homes, all_homes(tree));
  constexpr std::size_t kRunsMax = 1'000'000;
  PAWL_TRY(const auto runs, state.store->runs(kRunsMax));
  for (const auto& run : runs) {
    const bool old =
        run.state != store::RunState::kExecuting && !run.ended_at.empty() && run.ended_at <= limit;
    if (!old) {
      PAWL_OK(keep_what_it_needs(*state.store, run, needed));
      continue;
    }
    ++out.old_runs;
    std::string stored = os::join("agents", run.run_id);
    const auto here = tree.find(stored);
    if (here && os::exists(here->path())) out.episodes.push_back(std::move(stored));
  }
  std::erase_if(out.homes, [&](const auto& home) {
    return std::ranges::find(needed.homes, home) != needed.homes.end();
  });
  PAWL_TRY(out.garbage, state.workspaces->garbage(needed.objects));
  return out;
}

// Detaches the objects while no other process may use objects, which takes moments. Then removes them,
// however long that takes.
Result<std::int64_t> take_away(const State& state, const std::string& limit, Found& found) {
  const auto detach = [&]() -> Result<workspace::Detached> {
    PAWL_TRY(const auto alone, state.workspaces->hold_alone());
    PAWL_TRY(found, look(state, limit));
    return state.workspaces->detach(found.paths());
  };
  PAWL_TRY(const auto detached, detach());
  for (const auto& name : sandbox::backend_names()) {
    PAWL_TRY(const auto backend, sandbox::make_backend(name));
    for (const auto& step : found.steps) backend->end(step.substr(step.rfind('/') + 1));
    backend->clean_up();
  }
  const std::int64_t bytes = workspace::bytes_on_disk(detached.place.path());
  PAWL_OK(os::remove_tree(detached.place.path()));
  return bytes;
}

Result<Json> gc(const GcOptions& options) {
  PAWL_TRY(const std::int64_t age_ms, milliseconds_of(options.older_than));
  PAWL_TRY(const State state, open_state(options.state));
  const std::string limit = rfc3339(os::SystemClock().wall().plus_ms(-age_ms));
  Found found;
  std::int64_t bytes = 0;
  if (options.dry_run) {
    PAWL_TRY(found, look(state, limit));
    PAWL_TRY(const auto tree, held(state));
    for (const auto& path : found.paths())
      if (const auto here = tree.find(path)) bytes += workspace::bytes_on_disk(here->path());
  } else {
    PAWL_OK(executor::settle_ended_steps(state));  // before the data of agents is removed
    PAWL_TRY(bytes, take_away(state, limit, found));
  }
  return Json{{"dry_run", options.dry_run},
              {"older_than", options.older_than},
              {"old_runs", found.old_runs},
              {"freed_bytes", bytes},
              {"bases", found.garbage.bases.size()},
              {"layers", found.garbage.layers.size()},
              {"blobs", found.garbage.blobs.size()},
              {"steps", found.steps.size()},
              {"episodes", found.episodes.size()},
              {"homes", found.homes.size()},
              {"temporaries", found.garbage.temporaries.size()}};
}

void print_collected(const Json& done) {
  const auto count = [&](const char* key) { return integer_in(done, key); };
  say("{} {} KiB: {} base(s), {} layer(s), {} log(s), {} folder(s) of steps, "
      "{} of agents' episodes, {} with HOME of agents, {} temporary folder(s)\n",
      flag_in(done, "dry_run") ? "would free" : "freed", count("freed_bytes") / 1024, count("bases"),
      count("layers"), count("blobs"), count("steps"), count("episodes"), count("homes"),
      count("temporaries"));
}

}  // namespace

void add_gc(const Command& program) {
  const Command command = program.add("gc", "Remove workspaces, logs and layers of old runs");
  auto options = std::make_shared<GcOptions>();
  command.option("--older-than", options->older_than, "Runs that ended earlier than this: 7d, 12h, 30m");
  command.flag("--dry-run", options->dry_run, "Print what would be removed, and remove no file");
  add_state_options(command, options->state);
  command.footer(
      "Removes bases, layers and logs that only old runs use, or no run at all; stored data of their "
      "agents; and what\ncrashes left of steps, sandboxes and HOME of agents. State, ledger, cost and heads "
      "stay: "
      "an old run still verifies,\nbut its logs and its diff are gone. Safe while runs work. Exit code 14: "
      "the "
      "objects were in use for too long.\n\nExample:\n  pawl gc --older-than 30d --dry-run");
  command.on_run([options] {
    const auto done = gc(*options);
    if (!done) {
      const int code = report(done.error());
      return done.error().kind == ErrorKind::kInvalid ? kUsage : code;
    }
    if (options->state.json)
      print_json(*done);
    else
      print_collected(*done);
    return static_cast<int>(kDone);
  });
}

}  // namespace pawl::cli
