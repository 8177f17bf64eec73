// An agent's episode: the disk space of a long conversation, and saving and loading of large and of many
// checkpoints.
#include <benchmark/benchmark.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "agent/journal.h"
#include "amount.h"
#include "median.h"
#include "os/file.h"

namespace {

using pawl::agent::Journal;

constexpr pawl::WallTime kNow{1'767'323'045'000'000};
const int kSaves = amount(1000);
const int kMany = amount(1'000'000);
constexpr int kManyIds = 1000;

struct Folder {
  Folder() {
    char name[] = "build/bench-agent-XXXXXX";
    PAWL_CHECK(mkdtemp(name) != nullptr);
    path = name;
  }
  ~Folder() { static_cast<void>(pawl::os::remove_tree(path)); }
  std::string file() const { return path + "/episode.db"; }
  std::string path;
};

std::unique_ptr<Journal> open(const Folder& folder) {
  auto episode = Journal::open(folder.file(), Journal::Access::kReadWrite);
  PAWL_CHECK(episode);
  return *std::move(episode);
}

void save(Journal& episode, const std::string& id, const std::string& payload, std::int64_t keep) {
  auto saving = episode.begin_save(
      {.id = id, .fingerprint = R"({"model":"m","pawl":"0.1.0","plan":"p"})", .keep = keep}, kNow);
  PAWL_CHECK(saving && (*saving)->append(payload) && (*saving)->finish());
}

// Messages like those of an agent, from a few hundred words: they compress as text does.
class Conversation {
 public:
  std::string more(std::size_t bytes) {
    std::string out = R"({"role":"assistant","content":")";
    while (out.size() + 3 < bytes) {
      number_ = number_ * 6364136223846793005 + 1442695040888963407;
      const std::uint64_t word = number_ >> 33;
      for (std::uint64_t left = word % 4096 + 64; left > 0; left /= 7)
        out += static_cast<char>('a' + left % 26);
      out += word % 11 == 0 ? ". " : " ";
    }
    out.resize(bytes - 3);
    return out + "\"},";
  }

 private:
  std::uint64_t number_ = 7;
};

double by_useful_bytes(std::int64_t keep) {
  const Folder folder;
  Conversation conversation;
  std::string state;
  {
    const auto episode = open(folder);
    for (int i = 0; i < kSaves; ++i) {
      state += conversation.more(1024);
      save(*episode, "agent-0", state, keep);
    }
  }
  struct stat file {};
  PAWL_CHECK(stat(folder.file().c_str(), &file) == 0);
  return static_cast<double>(file.st_size) / static_cast<double>(state.size());
}

void AgentGrowth(benchmark::State& state) {
  for (auto _ : state) {
    state.counters["ratio"] = by_useful_bytes(pawl::agent::kKeptDefault);
    state.counters["ratio_all_kept"] = by_useful_bytes(0);
  }
}
BENCHMARK(AgentGrowth)->Iterations(1)->Unit(benchmark::kMillisecond);

template <typename Work>
void measure(benchmark::State& state, const char* counter, double unit, const Work& work) {
  std::vector<double> times;
  for (auto _ : state) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
    times.push_back(took.count() * unit);
    state.SetIterationTime(took.count());
  }
  state.counters[counter] = median(times);
}

void AgentSave(benchmark::State& state) {
  const Folder folder;
  Conversation conversation;
  const auto episode = open(folder);
  std::string payload = conversation.more(1 << 20);
  save(*episode, "agent-0", payload, 5);
  std::size_t at = 0;
  measure(state, "p50_ms", 1e3, [&] {
    at = (at + 777'777) % (payload.size() - 1024);
    payload.replace(at, 1024, conversation.more(1024));
    save(*episode, "agent-0", payload, 5);
  });
}
BENCHMARK(AgentSave)->Iterations(amount(300))->UseManualTime()->Unit(benchmark::kMillisecond);

void AgentLoad(benchmark::State& state) {
  const Folder folder;
  const auto episode = open(folder);
  const std::string payload = Conversation().more(1 << 20);
  save(*episode, "agent-0", payload, 5);
  measure(state, "p50_ms", 1e3, [&] { PAWL_CHECK(episode->load("agent-0", {}, kNow)->payload == payload); });
}
BENCHMARK(AgentLoad)->Iterations(amount(300))->UseManualTime()->Unit(benchmark::kMillisecond);

void AgentLoadOfAMillion(benchmark::State& state) {
  const Folder folder;
  Conversation conversation;
  const auto episode = open(folder);
  for (int i = 0; i < kMany; ++i) {
    if (i % 10'000 == 0) PAWL_CHECK(episode->begin_group());
    save(*episode, "agent-" + std::to_string(i % kManyIds), conversation.more(300), 0);
    if (i % 10'000 == 9'999) PAWL_CHECK(episode->commit());
  }
  int at = 0;
  measure(state, "p50_us", 1e6, [&] {
    at = (at + 7919) % kMany;
    PAWL_CHECK(episode->load("agent-" + std::to_string(at % kManyIds), at + 1, kNow));
  });
}
BENCHMARK(AgentLoadOfAMillion)->Iterations(amount(5000))->UseManualTime()->Unit(benchmark::kMicrosecond);

}  // namespace
