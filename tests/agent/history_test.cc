// Random histories of sibling episodes, compared with a model in memory, and the state after a killed
// process.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <map>
#include <random>
#include <set>

#include "agent/chunks.h"
#include "support/journal_fixture.h"

namespace pawl::agent {
namespace {

// The expected content of an episode: payloads of each id by seq, and steps with their results.
struct Model {
  std::map<std::string, std::map<std::int64_t, std::string>> saved;
  std::map<std::string, std::string> steps;  // "": begun
  std::int64_t tokens = 0, usages = 0, last_seq = 0;
};

std::int64_t number(sqlite3_stmt* row, int column) { return sqlite3_column_int64(row, column); }

// Counts the runs of each chunk from the lists, and compares them with the rows.
void expect_exact_runs(const std::string& path) {
  // A prune counts the runs of the last saves first, even if it removes no checkpoint.
  ASSERT_EQ((*Journal::open(path, Journal::Access::kReadWrite))->prune("of nobody", false), 0);
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &database), SQLITE_OK);
  const auto each = [&](const char* text, const auto& row) {
    sqlite3_stmt* statement = nullptr;
    ASSERT_EQ(sqlite3_prepare_v2(database, text, -1, &statement, nullptr), SQLITE_OK);
    while (sqlite3_step(statement) == SQLITE_ROW) row(statement);
    sqlite3_finalize(statement);
  };
  std::map<std::int64_t, std::int64_t> runs, stored;
  std::string id;
  std::set<std::int64_t> before;
  each("SELECT id, chunks FROM checkpoints ORDER BY id, seq", [&](sqlite3_stmt* row) {
    const std::string its(reinterpret_cast<const char*>(sqlite3_column_text(row, 0)));
    const std::string_view packed(static_cast<const char*>(sqlite3_column_blob(row, 1)),
                                  static_cast<std::size_t>(sqlite3_column_bytes(row, 1)));
    const auto list = unpack_list(packed.starts_with(kPayload) ? "" : packed);
    ASSERT_TRUE(list);
    if (std::exchange(id, its) != its) before.clear();
    const std::set<std::int64_t> has(list->begin(), list->end());
    for (const auto chunk : has) runs[chunk] += before.contains(chunk) ? 0 : 1;
    before = has;
  });
  each("SELECT chunk, runs FROM chunks", [&](sqlite3_stmt* row) { stored[number(row, 0)] = number(row, 1); });
  EXPECT_EQ(runs, stored);
  each("PRAGMA integrity_check", [&](sqlite3_stmt* row) {
    EXPECT_STREQ(reinterpret_cast<const char*>(sqlite3_column_text(row, 0)), "ok");
  });
  sqlite3_close(database);
}

class History {
 public:
  explicit History(unsigned seed) : random_(seed) {
    for (int i = 0; i < 3; ++i) {
      paths_.push_back(folder_ / ("agents/run/goal/" + std::to_string(i) + ".db"));
      journals_.push_back(*Journal::open(paths_.back(), Journal::Access::kReadWrite));
    }
    models_.resize(3);
  }
  void play(int verbs) {
    for (int i = 0; i < verbs && !::testing::Test::HasFailure(); ++i) one();
    for (at_ = 0; at_ < 3; ++at_) {
      compare();
      journals_[at_].reset();
      expect_exact_runs(paths_[at_]);
    }
  }

 private:
  std::size_t below(std::size_t most) { return random_() % most; }
  Journal& episode() { return *journals_[at_]; }
  Model& model() { return models_[at_]; }
  std::string an_id() {
    static const std::vector<std::string> ids = {"p-0", "p-0/1.0", "p-0/1.1", "p-01", "q-1"};
    return ids[below(ids.size())];
  }

  void one() {
    at_ = below(3);
    const std::size_t what = below(100);
    if (what < 40) return save_something();
    if (what < 60) return load_something();
    if (what < 65) return prune_something();
    if (what < 80) return journal_something();
    if (what < 88) return use_something();
    if (what < 95) return group_something();
    journals_[at_].reset();
    journals_[at_] = *Journal::open(paths_[at_], Journal::Access::kReadWrite);
  }

  // States like those of agents: one that grows, one that changes somewhere, and one of another agent.
  std::string a_payload(const std::string& id) {
    const auto& mine = model().saved[id];
    std::string out = mine.empty() ? state_text(below(60'000), below(4)) : mine.rbegin()->second;
    const std::string piece = state_text(below(3000), random_());
    const std::size_t place = out.empty() ? 0 : below(out.size());
    switch (below(5)) {
      case 0:
        return out.insert(place, piece);
      case 1:
        return out.replace(place, std::min(piece.size(), out.size() - place), piece);
      case 2:
        return state_text(below(60'000), below(4));
      case 3:
        return out.substr(place);
      default:
        return out + piece;
    }
  }

  void save_something() {
    const std::string id = an_id(), payload = a_payload(id);
    const auto keep = static_cast<std::int64_t>(below(5));
    const auto saved = save(episode(), id, payload, keep);
    ASSERT_TRUE(saved) << saved.error().message;
    EXPECT_GT(saved->seq, model().last_seq);
    model().last_seq = saved->seq;
    auto& mine = model().saved[id];
    mine[saved->seq] = payload;
    while (keep > 0 && mine.size() > static_cast<std::size_t>(keep)) mine.erase(mine.begin());
  }

  void load_something() {
    const std::string id = an_id();
    const auto& mine = model().saved[id];
    if (mine.empty()) {
      EXPECT_EQ(episode().load(id, {}, kNow).error().kind, ErrorKind::kNotFound);
      return;
    }
    const auto place = std::next(mine.begin(), static_cast<std::ptrdiff_t>(below(mine.size())));
    EXPECT_TRUE(episode().load(id, place->first, kNow)->payload == place->second);
    EXPECT_TRUE(episode().load(id, {}, kNow)->payload == mine.rbegin()->second);
  }

  void prune_something() {
    const std::string prefix = below(3) == 0 ? "p-0/" : an_id();
    const bool exactly = below(2) == 0;
    std::int64_t gone = 0;
    for (auto& [id, mine] : model().saved) {
      if (exactly ? id != prefix : !id.starts_with(prefix)) continue;
      gone += static_cast<std::int64_t>(mine.size());
      mine.clear();
    }
    EXPECT_EQ(episode().prune(prefix, exactly), gone);
  }

  void journal_something() {
    const std::string key = "step-" + std::to_string(below(20));
    const auto begun = episode().begin_step({.key = key, .args_hash = "h", .session = "s"}, kNow);
    ASSERT_TRUE(begun);
    const auto known = model().steps.find(key);
    const bool done = known != model().steps.end() && !known->second.empty();
    EXPECT_EQ(begun->answer, done ? StepAnswer::kDone : StepAnswer::kRun);
    EXPECT_EQ(begun->result, done ? known->second : "");
    if (done) return;
    model().steps[key] = below(2) == 0 ? "" : std::to_string(random_());
    if (model().steps[key].empty()) return;
    ASSERT_TRUE(episode().complete_step(key, model().steps[key], kNow));
  }

  void use_something() {
    const auto tokens = static_cast<std::int64_t>(below(1000));
    ASSERT_TRUE(episode().add_usage({.id = std::to_string(++model().usages), .input_tokens = tokens}, kNow));
    model().tokens += tokens;
    EXPECT_EQ(episode().spent()->tokens, model().tokens);
  }

  void group_something() {
    const Model before = model();
    ASSERT_TRUE(episode().begin_group());
    for (std::size_t i = 0; i < 1 + below(4); ++i) {
      save_something();
      journal_something();
      use_something();
      if (below(3) == 0) prune_something();
    }
    if (below(2) == 0) {
      ASSERT_TRUE(episode().commit());
      return;
    }
    episode().roll_back();
    model() = before;
  }

  void compare() {
    std::size_t checkpoints = 0;
    for (const auto& [id, mine] : model().saved) {
      checkpoints += mine.size();
      for (const auto& [seq, payload] : mine)
        EXPECT_TRUE(episode().load(id, seq, kNow)->payload == payload) << id << " " << seq;
    }
    EXPECT_EQ(episode().list({.limit = 1000})->size(), checkpoints);
    const auto steps = episode().steps("", 1000);
    EXPECT_EQ(steps->size(), model().steps.size());
    for (const auto& row : *steps) EXPECT_EQ(row.result, model().steps[row.key]);
    EXPECT_EQ(episode().spent()->tokens, model().tokens);
    EXPECT_TRUE(episode().reported_since(0)->events.empty()) << "nothing is damaged, nothing was lost";
  }

  std::mt19937 random_;
  testing::TempFolder folder_;
  std::vector<std::string> paths_;
  std::vector<std::unique_ptr<Journal>> journals_;
  std::vector<Model> models_;
  std::size_t at_ = 0;
};

TEST(Histories, SiblingsNeverSeeEachOtherAndForgetNothing) {
  for (unsigned seed = 1; seed <= 8 && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    History(seed).play(250);
  }
}

// --- a process that is killed

struct Acknowledged {
  std::int64_t seq = 0, round = 0;
};

std::string state_of_round(std::int64_t round) {
  return state_text(30'000) + state_text(2000, static_cast<std::uint64_t>(round));
}

// Saves, journals, and reports each acknowledged save, until the process is killed.
[[noreturn]] void save_for_ever(const std::string& path, std::int64_t round, int pipe) {
  auto opened = Journal::open(path, Journal::Access::kReadWrite);
  if (!opened) _exit(1);
  for (auto& episode = *opened;; ++round) {
    const auto saved = save(*episode, "a", state_of_round(round), 0);
    const std::string key = std::to_string(round);
    if (!saved || !episode->begin_step({.key = key, .session = "s"}, kNow)) _exit(1);
    if (!episode->complete_step(key, key, kNow)) _exit(1);
    const Acknowledged done{saved->seq, round};
    if (write(pipe, &done, sizeof done) != sizeof done) _exit(1);
  }
}

TEST(Kill, WhatWasAcknowledgedIsThere) {
  constexpr int kKills = 30;
  const testing::TempFolder folder;
  const std::string path = folder / "episode.db";
  std::mt19937 random(7);
  std::vector<Acknowledged> all;
  for (int i = 0; i < kKills; ++i) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    const std::int64_t first = (i + 1) * 1'000'000;
    const pid_t child = fork();
    if (child == 0) save_for_ever(path, first, ends[1]);
    close(ends[1]);
    // Kill it after some acknowledgements, at a random point of the next ones.
    Acknowledged done;
    for (auto left = 1 + random() % 8; left > 0; --left) {
      ASSERT_EQ(read(ends[0], &done, sizeof done), static_cast<ssize_t>(sizeof done));
      all.push_back(done);
    }
    poll(nullptr, 0, static_cast<int>(random() % 6));
    kill(child, SIGKILL);
    while (read(ends[0], &done, sizeof done) == static_cast<ssize_t>(sizeof done)) all.push_back(done);
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "it ended by itself";
    const auto reader = Journal::open(path, Journal::Access::kReadOnly);
    ASSERT_TRUE(reader) << reader.error().message;
    for (const auto& [seq, round] : all)
      ASSERT_TRUE((*reader)->load("a", seq, kNow)->payload == state_of_round(round)) << seq;
    ASSERT_GE((*reader)->load("a", {}, kNow)->checkpoint.seq, all.back().seq);
  }
  const auto episode = *Journal::open(path, Journal::Access::kReadWrite);
  for (const auto& [seq, round] : all) {
    const std::string key = std::to_string(round);
    const auto begun = episode->begin_step({.key = key, .session = "other"}, kNow);
    ASSERT_TRUE(begun);
    EXPECT_EQ(begun->answer, StepAnswer::kDone);
    EXPECT_EQ(begun->result, key);
  }
  EXPECT_GE(all.size(), std::size_t{kKills});
  expect_exact_runs(path);
}

}  // namespace
}  // namespace pawl::agent
