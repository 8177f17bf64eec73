// pawl-sim: runs many histories, or one history again.
#include <fmt/format.h>
#include <malloc.h>
#include <sqlite3.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>

#include "base/mutant.h"
#include "ledger/ledger.h"
#include "sim/history.h"
#include "support/temp_folder.h"

namespace pawl::sim {
namespace {

constexpr std::int64_t kHistoriesAMachine =
    20;  // then a fresh machine: data of old histories is not checked again

constexpr std::int64_t kShrinkCallsMax = 500'000;  // over all histories that are tried: some seconds

struct Arguments {
  std::uint64_t first = 1;
  std::int64_t histories = 1000;
  bool story = false;
  bool shrink = true;  // 0 for a caller that only needs to know whether there is a violation
};

int usage() {
  fmt::print(
      stderr,
      "usage: pawl-sim [--first SEED] [--histories N] [--mutant BUG] [--shrink 0]   or   pawl-sim --seed "
      "SEED\n");
  return 2;
}

// Shortens a history that ends in a violation. Leaves out disturbances that the violation does not need:
// halves of them, then quarters, and so on (Zeller's ddmin).
Reported shrink(std::uint64_t seed, const std::shared_ptr<const store::RowSealer>& sealer,
                const SimDisk::Image& formatted, Reported reported) {
  std::set<std::int64_t> without;
  std::int64_t calls = 0;
  for (std::int64_t size = reported.disturbances / 2; size > 0; size /= 2) {
    for (std::int64_t from = 0; from < reported.disturbances && calls < kShrinkCallsMax; from += size) {
      auto fewer = without;
      for (std::int64_t i = from; i < from + size; ++i) fewer.insert(i);
      Machine machine(sealer, formatted);
      auto again = run_history(seed, machine, fewer);
      calls += again.calls;
      if (!again.violation) continue;
      without = std::move(fewer);
      reported = std::move(again);
    }
  }
  return reported;
}

void tell(const Reported& reported) {
  for (const auto& line : reported.story) fmt::print("{}\n", line);
}

// Totals over all histories so far. Prints progress now and then, because a campaign takes hours.
class Totals {
 public:
  void add(const Reported& reported) {
    ++histories_;
    events_ += reported.events;
    calls_ += reported.calls;
    steps_ += reported.steps;
    attempts_ += reported.attempts;
    crashes_ += reported.crashes;
    power_losses_ += reported.power_losses;
    attempts_percent_ = std::max(attempts_percent_, reported.attempts_percent);
    executions_percent_ = std::max(executions_percent_, reported.executions_percent);
    if (Clock::now() < next_word_) return;
    next_word_ = Clock::now() + kWordEvery;
    fmt::print(stderr, "{} histories, {:.0f} a second\n", histories_, a_second());
  }
  void print(std::uint64_t first) const {
    fmt::print(
        "{} histories from seed {}: no violation; {} events in {} calls, {} steps, {} attempts, {} crashes, "
        "{} "
        "power losses; {:.0f} a second\n",
        histories_, first, events_, calls_, steps_, attempts_, crashes_, power_losses_, a_second());
    fmt::print(
        "bounds of a phase: max_attempts * (1 + max_replans + operators' retries) attempts, of which a phase "
        "used "
        "{} % at most; times its steps, times 3 executions: {} % at most\n",
        attempts_percent_, executions_percent_);
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds kWordEvery{30};
  double a_second() const {
    return static_cast<double>(histories_) / std::chrono::duration<double>(Clock::now() - start_).count();
  }
  const Clock::time_point start_ = Clock::now();
  Clock::time_point next_word_ = start_ + kWordEvery;
  std::int64_t histories_ = 0, events_ = 0, calls_ = 0, steps_ = 0, attempts_ = 0, crashes_ = 0,
               power_losses_ = 0;
  std::int64_t attempts_percent_ = 0, executions_percent_ = 0;
};

int run(const Arguments& arguments) {
  const testing::TempFolder folder;
  // A connection creates the file of a new database itself, for its mode: not where this program was started.
  PAWL_CHECK(chdir(folder.path().c_str()) == 0);
  const auto sealer = *ledger::open_sealer(folder.path());
  const auto formatted = Machine::formatted(sealer);
  std::unique_ptr<Machine> machine;
  Totals totals;
  for (std::int64_t i = 0; i < arguments.histories; ++i) {
    if (i % kHistoriesAMachine == 0) {
      machine.reset();
      machine = std::make_unique<Machine>(sealer, formatted);
    }
    const std::uint64_t seed = arguments.first + static_cast<std::uint64_t>(i);
    const Reported reported = run_history(seed, *machine);
    totals.add(reported);
    if (arguments.story) tell(reported);
    if (reported.violation) {
      machine.reset();
      const Reported shrunk = arguments.shrink ? shrink(seed, sealer, formatted, reported) : reported;
      if (arguments.story) fmt::print("\nand shorter:\n");
      tell(shrunk);
      fmt::print("VIOLATION in seed {}, history {}: {}\nwhole: pawl-sim --seed {}{}\n", seed, i + 1,
                 *shrunk.violation, seed, g_mutant.empty() ? "" : " --mutant " + g_mutant);
      return 1;
    }
  }
  totals.print(arguments.first);
  return 0;
}

}  // namespace
}  // namespace pawl::sim

int main(int argc, char** argv) {
  // One thread, which allocates and frees some megabytes per history: keep the memory in the process.
  sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
  sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
  sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 512, 1000);        // enough for a schema and all statements
  sqlite3_config(SQLITE_CONFIG_PAGECACHE, nullptr, 0, 256);  // pages, in one piece per connection
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_TOP_PAD, 1 << 26);
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  pawl::sim::Arguments arguments;
  for (int i = 1; i < argc; i += 2) {
    const std::string option = argv[i];
    if (i + 1 == argc) return pawl::sim::usage();
    if (option == "--mutant") {
      pawl::g_mutant = argv[i + 1];
      continue;
    }
    char* end = nullptr;
    const std::uint64_t value = std::strtoull(argv[i + 1], &end, 10);
    if (*end != '\0') return pawl::sim::usage();
    if (option == "--first") {
      arguments.first = value;
    } else if (option == "--histories") {
      arguments.histories = static_cast<std::int64_t>(value);
    } else if (option == "--shrink") {
      arguments.shrink = value != 0;
    } else if (option == "--seed") {
      arguments = {.first = value, .histories = 1, .story = true};
    } else {
      return pawl::sim::usage();
    }
  }
  return pawl::sim::run(arguments);
}
