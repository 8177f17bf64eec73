#include "sim/attacker.h"

#include <sqlite3.h>

#include <string_view>
#include <vector>

namespace pawl::sim {
namespace {

struct Attack {
  std::string what, sql;            // RUN stands for the run's id
  bool is_of_next_attempt = false;  // only a claim has to detect it
};

// Each attack leaves the rest of the database as it is, so one signature, link or comparison alone can find
// it.
const std::vector<Attack>& attacks() {
  static const std::vector<Attack> all = {
      {"other work is accepted",
       "UPDATE accepted_layers SET layer_id = layer_id || 'x' WHERE run_id = 'RUN'"},
      {"accepted work is gone", "DELETE FROM accepted_layers WHERE run_id = 'RUN'"},
      {"a phase that failed passed",
       "UPDATE phases SET state = 'COMPLETE', outcome = 'passed' WHERE run_id = 'RUN' AND state = 'FAILED'"},
      {"a phase is over",
       "UPDATE phases SET state = 'SKIPPED', outcome = 'skipped' WHERE run_id = 'RUN' AND state = 'QUEUED'"},
      {"a cap that an operator set is another one",
       "UPDATE budgets SET cap = cap + 1 WHERE run_id = 'RUN' AND EXISTS (SELECT 1 FROM ledger WHERE run_id "
       "= 'RUN' AND "
       "chain = '' AND instr(line, '\"action\":\"budget ' || unit || ' ') > 0)"},
      {"the head has another signature",
       "UPDATE heads SET signature = substr(signature, 2) || substr(signature, 1, 1) WHERE run_id = 'RUN'"},
      {"a row of the run says something else",
       "UPDATE ledger SET line = replace(line, '\"cause\":\"', '\"cause\":\"x') WHERE run_id = 'RUN' AND "
       "chain = '' AND "
       "instr(line, '\"type\":\"phase_sealed\"') > 0"},
      {"the next agent is told something else",
       "UPDATE attempts SET feedback = feedback || ' ' WHERE run_id = 'RUN' AND finished = 1", true},
  };
  return all;
}

}  // namespace

Attacker::Attacker(std::uint64_t seed, World& world, Machine& machine)
    : dice_(~seed), world_(world), machine_(machine) {}

void Attacker::act(const std::string& run_id) {
  if (!dice_.percent(30)) return;
  constexpr int kTriesMax = 4;  // where an attack changes no row, another one is tried
  const Attack* attack = nullptr;
  SimDisk::Image before;
  machine_.without_store([&] {
    before = machine_.disk().image();
    for (int tries = 0; tries < kTriesMax && attack == nullptr; ++tries) {
      const auto& one = dice_.one_of(attacks());
      if (change(one.sql, run_id)) attack = &one;
    }
  });
  if (attack != nullptr) {
    world_.tell("who can write the database: " + attack->what);
    const auto writes = machine_.disk().writes();
    const auto done = attack->is_of_next_attempt ? claim(run_id)
                                                 : machine_.store().operator_max_attempts(
                                                       run_id, 1 + dice_.below(6), {}, world_.clock.wall());
    World::require(!done && done.error().kind == ErrorKind::kForged,
                   "a verb goes on although " + attack->what);
    World::require(machine_.disk().writes() == writes || attack->is_of_next_attempt,
                   "a verb that was refused has written something");
  }
  machine_.without_store([&] { machine_.disk().put(before); });
}

// Fails as a claim does. When no attempt continues from a previous one, the result counts as a refusal.
Status Attacker::claim(const std::string& run_id) {
  const auto claimed =
      machine_.store().claim({.run_ids = {run_id},
                              .owner = "next",
                              .now = world_.clock.wall(),
                              .mono = world_.clock.mono(),
                              .mono_id = world_.clock.mono_id(),
                              .owner_is_dead = [](std::string_view) { return true; },
                              .model_of_attempt = [](const auto&, auto) { return "small"; }});
  if (!claimed) return std::unexpected(claimed.error());
  const bool goes_on =
      claimed->claim && claimed->claim->previous && claimed->claim->previous->run_id == run_id;
  return goes_on ? Status() : fail(ErrorKind::kForged, "nobody is told anything");
}

bool Attacker::change(std::string sql, const std::string& run_id) {
  constexpr std::string_view kRun = "RUN";
  for (auto at = sql.find(kRun); at != sql.npos; at = sql.find(kRun, at + run_id.size()))
    sql.replace(at, kRun.size(), run_id);
  sqlite3* database = nullptr;
  World::require(sqlite3_open(kDatabase, &database) == SQLITE_OK, "the attacker can't open the database");
  const std::string all = "PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON; " + sql;
  const bool done = sqlite3_exec(database, all.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK;
  const std::string error = done ? "" : sqlite3_errmsg(database);
  const bool changed = sqlite3_changes(database) > 0;
  sqlite3_close(database);
  World::require(done, "the attacker's SQL: " + error);
  return changed;
}

}  // namespace pawl::sim
