#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "cli/context.h"
#include "cli/render/say.h"
#include "cli/render/terminal.h"
#include "cli/render/visible.h"
#include "os/process.h"
#include "views/step_log.h"

namespace pawl::cli {
namespace {

using views::StepRecord;

constexpr std::int64_t kFollowEveryMs = 200;

struct LogsOptions {
  StateOptions state;
  std::string run, phase;
  std::int64_t attempt = 0;  // 0: the newest
  std::int64_t episode = 0;  // one of several episodes; 0: all
  bool follow = false, trace = false, network = false, raw = false;
};

// Prints the steps of one attempt, as far as they have run.
class Printer {
 public:
  Printer(const State& state, StepRecord record, bool json, bool raw)
      : state_(state), record_(record), json_(json), raw_(raw) {}

  Json take_steps() { return std::exchange(steps_, Json::array()); }  // --json has these instead of text

  Status print(const store::StepRow& step) {
    if (json_) {
      PAWL_TRY(const std::string text, text_of(step));
      steps_.push_back(views::to_json(step, text));
      return {};
    }
    if (step.sandbox_run_id != current_) {
      current_ = step.sandbox_run_id;
      printed_ = 0;
      say("==> {}{}\n", step.label, step.execution > 1 ? fmt::format(" (execution {})", step.execution) : "");
    }
    PAWL_TRY(const std::string text, text_of(step));
    const std::size_t before = std::min(printed_, text.size());
    printed_ = std::max(printed_, text.size());
    return print_of_steps(std::string_view(text).substr(before), raw_);
  }

 private:
  Result<std::string> text_of(const store::StepRow& step) const {
    PAWL_TRY(auto found, views::text_of(state_, step, record_));
    return found.is_removed ? "(removed by pawl gc)\n" : std::move(found.text);
  }

  const State& state_;
  const StepRecord record_;
  const bool json_, raw_;
  Json steps_ = Json::array();
  std::string current_;
  std::size_t printed_ = 0;
};

// Prints new output. Returns true when no more can come.
Result<bool> print_once(const State& state, const std::string& run_id, const LogsOptions& options,
                        Printer& printer, std::size_t& done) {
  PAWL_TRY(const auto found, views::steps_of(*state.store, {.run_id = run_id,
                                                            .phase_id = options.phase,
                                                            .attempt = options.attempt,
                                                            .episode = options.episode}));
  if (!found)
    return fail(ErrorKind::kNotFound,
                "no such attempt of phase " + options.phase + "; see `pawl inspect " + run_id + "`");
  const auto& steps = *found;
  for (; done < steps.size(); ++done) {
    PAWL_OK(printer.print(steps[done]));
    if (steps[done].state == store::StepState::kOpen) break;
  }
  PAWL_TRY(const auto phases, state.store->phases(run_id));
  for (const auto& phase : phases)
    if (phase.phase_id == options.phase) return is_terminal(phase.state) && done == steps.size();
  return true;
}

Status logs(const LogsOptions& options) {
  PAWL_TRY(const State state, open_state(options.state));
  PAWL_TRY(const std::string run_id, state.store->resolve_run(options.run));
  Printer printer(state,
                  options.trace     ? StepRecord::kTrace
                  : options.network ? StepRecord::kNetwork
                                    : StepRecord::kOutput,
                  options.state.json, options.raw);
  std::size_t done = 0;
  if (options.follow) os::catch_interrupts();
  for (;;) {
    PAWL_TRY(const bool over, print_once(state, run_id, options, printer, done));
    if (options.state.json)
      print_json({{"run_id", run_id}, {"phase_id", options.phase}, {"steps", printer.take_steps()}});
    if (!options.follow || over || os::reader_left(STDOUT_FILENO)) return {};
    if (os::interrupted()) return fail(ErrorKind::kCancelled, "interrupted");
    os::SystemClock().sleep_ms(kFollowEveryMs);
  }
}

}  // namespace

void add_logs(const Command& program) {
  const Command command = program.add("logs", "Print the output of a phase's steps");
  auto options = std::make_shared<LogsOptions>();
  command.required("RUN", options->run, kRunHelp);
  command.required("PHASE", options->phase, "The phase");
  command.option("--attempt", options->attempt, "Its number (else the newest)", {.least = 1});
  command.option("--episode", options->episode, "Only this one of several (best_of)", {.least = 1});
  command.flag("-f,--follow", options->follow, "Follow a running phase until it is over");
  command.flag("--trace", options->trace,
               "Print the programs, connections and refusals of the steps, as JSON lines");
  command.flag("--network", options->network, "Print each attempt to reach the network, as JSON lines");
  command.flag("--raw", options->raw, "Write control bytes to a terminal as they are (else escaped)");
  command.not_together("--network", "--trace");
  add_state_options(command, options->state);
  command.not_together("--follow", "--json");
  command.footer("Example:\n  pawl logs -f last fix");
  command.on_run([options] {
    const auto status = logs(*options);
    return status ? kDone : report(status.error());
  });
}

}  // namespace pawl::cli
