// pawl-sim: many histories, or one again.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>

#include "base/planted.h"
#include "ledger/ledger.h"
#include "sim/history.h"
#include "support/temp_folder.h"

namespace pawl::sim {
namespace {

constexpr std::int64_t kHistoriesAStore =
    500;  // then a fresh one: what is kept of the old ones is not looked at

struct Arguments {
  std::uint64_t first = 1;
  std::int64_t histories = 1000;
  bool story = false;
};

int usage() {
  fmt::print(stderr,
             "usage: pawl-sim [--first SEED] [--histories N] [--planted BUG]   or   pawl-sim --seed SEED\n");
  return 2;
}

std::unique_ptr<store::Store> fresh_store(const std::shared_ptr<const store::RowSealer>& sealer) {
  auto store = store::open_store("sqlite::memory:", sealer);
  if (!store) fmt::print(stderr, "{}\n", store.error().message);
  PAWL_CHECK(store.has_value());
  return *std::move(store);
}

int run(const Arguments& arguments) {
  const testing::TempFolder folder;
  const auto sealer = *ledger::open_sealer(folder.path());
  std::unique_ptr<store::Store> store;
  std::int64_t events = 0, steps = 0, crashes = 0, attempts = 0;
  std::int64_t attempts_percent = 0, executions_percent = 0;
  const auto start = std::chrono::steady_clock::now();
  for (std::int64_t i = 0; i < arguments.histories; ++i) {
    if (i % kHistoriesAStore == 0) store = fresh_store(sealer);
    const std::uint64_t seed = arguments.first + static_cast<std::uint64_t>(i);
    const Told told = run_history(seed, *store);
    events += told.events;
    steps += told.steps;
    crashes += told.crashes;
    attempts += told.attempts;
    attempts_percent = std::max(attempts_percent, told.attempts_percent);
    executions_percent = std::max(executions_percent, told.executions_percent);
    if (arguments.story || told.violation)
      for (const auto& line : told.story) fmt::print("{}\n", line);
    if (told.violation) {
      fmt::print("VIOLATION in seed {}, history {}: {}\nagain: pawl-sim --seed {}\n", seed, i + 1,
                 *told.violation, seed);
      return 1;
    }
  }
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  fmt::print(
      "{} histories from seed {}: no violation; {} events, {} steps, {} attempts, {} crashes; {:.0f} a "
      "second\n",
      arguments.histories, arguments.first, events, steps, attempts, crashes,
      static_cast<double>(arguments.histories) / seconds);
  fmt::print(
      "bounds of a phase: max_attempts * (1 + max_replans + operators' retries) attempts, of which a phase "
      "used {} % at "
      "most; times its steps, times 3 executions: {} % at most\n",
      attempts_percent, executions_percent);
  return 0;
}

}  // namespace
}  // namespace pawl::sim

int main(int argc, char** argv) {
  pawl::sim::Arguments arguments;
  for (int i = 1; i < argc; i += 2) {
    const std::string option = argv[i];
    if (i + 1 == argc) return pawl::sim::usage();
    if (option == "--planted") {
      pawl::g_planted = argv[i + 1];
      continue;
    }
    char* end = nullptr;
    const std::uint64_t value = std::strtoull(argv[i + 1], &end, 10);
    if (*end != '\0') return pawl::sim::usage();
    if (option == "--first") {
      arguments.first = value;
    } else if (option == "--histories") {
      arguments.histories = static_cast<std::int64_t>(value);
    } else if (option == "--seed") {
      arguments = {.first = value, .histories = 1, .story = true};
    } else {
      return pawl::sim::usage();
    }
  }
  return pawl::sim::run(arguments);
}
