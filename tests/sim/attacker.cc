#include "sim/attacker.h"

#include <sqlite3.h>

#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "base/json.h"

namespace pawl::sim {
namespace {

constexpr std::string_view kAnotherResult = "";  // not by one statement

using FoundBy = Attacker::FoundBy;

struct Attack {
  std::string what, sql;  // RUN stands for the run's id
  FoundBy found_by = FoundBy::kOperator;
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
      {"the next agent is reported something else",
       "UPDATE attempts SET feedback = feedback || ' ' WHERE run_id = 'RUN' AND finished = 1",
       FoundBy::kClaim},
      {"a run that goes on is over",
       "UPDATE runs SET state = 'COMPLETE', ended_at = created_at WHERE run_id = 'RUN' AND state = "
       "'EXECUTING'",
       FoundBy::kCheck},
      {"a run that is over goes on",
       "UPDATE runs SET state = 'EXECUTING', ended_at = '' WHERE run_id = 'RUN' AND state <> 'EXECUTING'",
       FoundBy::kCheck},
      {"a reservation is another one", "UPDATE budgets SET reserved = reserved + 1 WHERE run_id = 'RUN'"},
      {"a result after the newest head is another one", std::string(kAnotherResult)},
  };
  return all;
}

class Database {
 public:
  Database() {
    World::require(sqlite3_open(kDatabase, &handle_) == SQLITE_OK, "the attacker can't open the database");
    run("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON");
  }
  ~Database() { sqlite3_close(handle_); }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // The first two columns of each row.
  using Rows = std::vector<std::pair<std::string, std::string>>;
  Rows run(const std::string& sql) {
    Rows out;
    const auto add = [](void* to, int columns, char** values, char**) {
      static_cast<Rows*>(to)->emplace_back(values[0], columns > 1 ? values[1] : "");
      return 0;
    };
    const bool done = sqlite3_exec(handle_, sql.c_str(), add, &out, nullptr) == SQLITE_OK;
    World::require(done, std::string("the attacker's SQL: ") + sqlite3_errmsg(handle_));
    return out;
  }
  bool has_changed() const { return sqlite3_changes(handle_) > 0; }

 private:
  sqlite3* handle_ = nullptr;
};

bool replace(std::string& text, std::string_view from, std::string_view to) {
  const auto at = text.find(from);
  if (at != text.npos) text.replace(at, from.size(), to);
  return at != text.npos;
}

std::string quoted(std::string text) {
  for (auto at = text.find('\''); at != text.npos; at = text.find('\'', at + 2)) text.insert(at, 1, '\'');
  return "'" + text + "'";
}

// The text with another exit code. False: it has none that is easy to change.
bool exit_otherwise(std::string& text) {
  return text.find("\"exit_code\":-") == text.npos && replace(text, "\"exit_code\":", "\"exit_code\":1");
}

// Exchanges the result of a step, with fitting hashes in the row of its end and in all later rows of the chain:
// everything that is possible without the key. False: no result lies after the newest head.
bool put_another_result(Database& database, const std::string& run_id) {
  const auto rows = database.run(
      "SELECT chain, line FROM ledger JOIN open_chains USING (run_id, chain) JOIN heads USING (run_id) WHERE "
      "run_id = '" +
      run_id +
      "' AND chain <> '' AND seq > COALESCE(json_extract(body, '$.chains.\"' || chain || '\".rows'), 0) "
      "ORDER BY "
      "chain, seq");
  std::string chain, prev;  // the changed row's: all later rows of its chain follow
  for (const auto& [of, line] : rows) {
    const Json row = *parse_json(line);
    std::string body = line.substr(0, line.rfind(",\"hash\":"));
    if (chain.empty() && text_in(row, "type") == "executed") {
      const std::string step = quoted(text_in(row, "sandbox_run_id"));
      std::string result = database.run("SELECT run FROM steps WHERE sandbox_run_id = " + step).at(0).first;
      if (!exit_otherwise(result) || !exit_otherwise(body)) return false;
      replace(body, text_in(row, "run"), blake3_hex(result));
      database.run("UPDATE steps SET run = " + quoted(result) + " WHERE sandbox_run_id = " + step);
      chain = of;
    } else if (of != chain) {
      continue;
    } else {
      replace(body, text_in(row, "prev_hash"), prev);
    }
    prev = blake3_hex(body);
    const std::string sealed = body + ",\"hash\":\"" + prev + "\"}";
    database.run("UPDATE ledger SET hash = '" + prev + "', line = " + quoted(sealed) + " WHERE run_id = '" +
                 run_id + "' AND hash = '" + text_in(row, "hash") + "'");
  }
  return !chain.empty();
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
    const auto done = verb(attack->found_by, run_id);
    World::require(!done && done.error().kind == ErrorKind::kForged,
                   "a verb goes on although " + attack->what);
    World::require(machine_.disk().writes() == writes || attack->found_by == FoundBy::kClaim,
                   "a verb that was refused has written something");
  }
  machine_.without_store([&] { machine_.disk().put(before); });
}

Status Attacker::verb(FoundBy what, const std::string& run_id) {
  switch (what) {
    case FoundBy::kOperator:
      return machine_.store().operator_max_attempts(run_id, 1 + dice_.below(6), {}, world_.clock.wall());
    case FoundBy::kClaim:
      return claim(run_id);
    case FoundBy::kCheck:
      return machine_.store().check_run(run_id);
  }
  return {};
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
  return goes_on ? Status() : fail(ErrorKind::kForged, "nobody is reported anything");
}

bool Attacker::change(std::string sql, const std::string& run_id) {
  constexpr std::string_view kRun = "RUN";
  for (auto at = sql.find(kRun); at != sql.npos; at = sql.find(kRun, at + run_id.size()))
    sql.replace(at, kRun.size(), run_id);
  Database database;
  if (sql == kAnotherResult) return put_another_result(database, run_id);
  database.run(sql);
  return database.has_changed();
}

}  // namespace pawl::sim
