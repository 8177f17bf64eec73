#include "store/sqlite/migrations.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "embedded/sql.h"
#include "os/clock.h"
#include "store/before_migration.h"

namespace pawl::store::sqlite {
namespace {

constexpr std::int64_t kApplicationId = 0x5061776C;  // "Pawl": marks a database of Pawl
constexpr std::int64_t kMonotonicLeases = 4;         // the version that adds monotonic leases

struct Migration {
  std::string_view name, up, down;
  // The data that taking it back loses: a statement that counts them, and a noun for them. "": none.
  std::string_view count_lost, lost;
};

// In order. The version of a migration is its place, from 1.
const std::array<Migration, 19>& migrations() {
  static const std::array<Migration, 19> all = {
      {{"first", sql::m0001_first_up, sql::m0001_first_down, "count_runs", "run(s)"},
       {"policies", sql::m0002_policies_up, sql::m0002_policies_down, "count_revisions", "revised goal(s)"},
       {"budgets", sql::m0003_budgets_up, sql::m0003_budgets_down, "count_caps", "cap(s)"},
       {"leases", sql::m0004_leases_up, sql::m0004_leases_down, "count_refusals", "refusal(s)"},
       {"forks", sql::m0005_forks_up, sql::m0005_forks_down, "count_forks", "forked run(s)"},
       {"open_chains", sql::m0006_open_chains_up, sql::m0006_open_chains_down, "count_short_heads",
        "signed head(s), which an older pawl would take for damaged,"},
       {"agents", sql::m0007_agents_up, sql::m0007_agents_down, "count_told",
        "attempt(s) with reports of their agents"},
       {"episodes", sql::m0008_episodes_up, sql::m0008_episodes_down, "count_episode_steps",
        "step(s) of attempts with several episodes"},
       {"cost", sql::m0009_cost_up, sql::m0009_cost_down, "", ""},
       {"owed", sql::m0010_owed_up, sql::m0010_owed_down, "count_owed",
        "ended step(s) of agents whose usage is not recorded yet; `pawl gc` records it,"},
       {"plans", sql::m0011_plans_up, sql::m0011_plans_down, "count_planned",
        "run(s) that have no use without their planned rows, which their ledgers name,"},
       {"wide_rows", sql::m0012_wide_rows_up, sql::m0012_wide_rows_down, "", ""},
       {"plan_texts", sql::m0013_plan_texts_up, sql::m0013_plan_texts_down, "", ""},
       {"base_places", sql::m0014_base_places_up, sql::m0014_base_places_down, "", ""},
       {"judged", sql::m0016_judged_up, sql::m0016_judged_down, "count_joined",
        "attempt(s) that are judged again on top of others,"},
       {"approved", sql::m0017_approved_up, sql::m0017_approved_down, "count_approved",
        "approved phase(s), which an older pawl would take for passed,"},
       {"cost_guards", sql::m0018_cost_guards_up, sql::m0018_cost_guards_down, "", ""},
       {"waits", sql::m0019_waits_up, sql::m0019_waits_down, "count_waits",
        "step(s) that waited for a provider, whose rows an older pawl does not know,"},
       {"seals", sql::m0020_seals_up, sql::m0020_seals_down, "", ""}}};
  return all;
}

Result<std::int64_t> number(Connection& connection, std::string_view statement) {
  PAWL_TRY(auto query, connection.query(statement));
  PAWL_TRY(const bool row, query.next());
  return row ? query.number(0) : 0;
}

Status set_version(Connection& connection, std::size_t version) {
  // PRAGMA takes no parameters. Both values are numbers from this program.
  return connection.run_script(
      fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {};", kApplicationId, version));
}

// Phases with a lease; only the ids and the lease are read.
Result<std::vector<PhaseRow>> held_phases(Connection& connection, std::int64_t version) {
  std::vector<PhaseRow> out;
  PAWL_TRY(auto query, connection.query(version < kMonotonicLeases ? "wall_leases" : "leases"));
  for (;;) {
    PAWL_TRY(const bool row, query.next());
    if (!row) return out;
    out.push_back({.run_id = query.text(0),
                   .phase_id = query.text(1),
                   .lease_owner = query.text(2),
                   .lease_expires_at = query.text(3),
                   .lease_mono_id = query.text(4),
                   .lease_until_mono = query.number(5)});
  }
}

Result<std::vector<OpenEnd>> open_ends(Connection& connection) {
  std::vector<OpenEnd> out;
  PAWL_TRY(auto query, connection.query("ends_of_open_chains"));
  for (;;) {
    PAWL_TRY(const bool row, query.next());
    if (!row) return out;
    out.push_back(
        {.run_id = query.text(0), .chain = query.text(1), .rows = query.number(2), .head = query.text(3)});
  }
}

Status seal_open_chains(Connection& connection, const RowSealer* sealer) {
  PAWL_TRY(const auto ends, open_ends(connection));
  PAWL_TRY(const auto seals, seals_of(ends, sealer));
  for (std::size_t i = 0; i < ends.size(); ++i) {
    PAWL_TRY(auto query, connection.query("seal_end"));
    PAWL_OK(query.bind(ends[i].run_id).bind(ends[i].chain).bind(seals[i]).run());
  }
  return {};
}

// The text of a statement without comments, and with one space for several.
std::string plain_text(std::string_view sql) {
  std::string out;
  for (std::size_t at = 0; at < sql.size(); ++at) {
    if (sql.substr(at).starts_with("--")) at = std::min(sql.find('\n', at), sql.size() - 1);
    const bool is_space = sql[at] == ' ' || sql[at] == '\n' || sql[at] == '\t';
    if (!is_space)
      out += sql[at];
    else if (!out.empty() && out.back() != ' ')
      out += ' ';
  }
  return out;
}

}  // namespace

Result<SchemaStatus> status_of(Connection& connection) {
  // In this order: another process may be creating all of them in one transaction.
  PAWL_TRY(const std::int64_t tables, number(connection, "count_tables"));
  PAWL_TRY(const std::int64_t application, number(connection, "application_id"));
  if (application != kApplicationId && tables > 0) {
    Error error{.kind = ErrorKind::kCorrupt, .path = connection.path()};
    error.message = "database " + connection.path() + " is not Pawl's; name another with --store";
    return std::unexpected(std::move(error));
  }
  SchemaStatus status;
  PAWL_TRY(status.database, number(connection, "user_version"));
  status.program = static_cast<std::int64_t>(migrations().size());
  for (auto version = status.database; version < status.program; ++version)
    status.pending.emplace_back(migrations()[static_cast<std::size_t>(version)].name);
  return status;
}

Result<std::string> schema_of(Connection& connection) {
  PAWL_TRY(auto entries, connection.query("schema_entries"));
  std::string out;
  for (;;) {
    PAWL_TRY(const bool more, entries.next());
    if (!more) return out;
    for (int column = 0; column < 4; ++column) out += plain_text(entries.view(column)) + " ";
    out += "\n";
  }
}

namespace {

Result<std::string> made_schema() {
  PAWL_TRY(auto connection, Connection::open_in_memory({.statements = &store_statements()}));
  for (const auto& migration : migrations()) PAWL_OK(connection->run_script(migration.up));
  return schema_of(*connection);
}

}  // namespace

Result<std::string> schema_of_program() {
  // Every verification compares with this schema, so it is made once. A failure (no memory) is not kept: the next
  // call tries again.
  static const Result<std::string> made = made_schema();
  return made ? made : made_schema();
}

Status apply_pending(Connection& connection, const OwnerIsDead& owner_is_dead, const RowSealer* sealer) {
  // One transaction applies all migrations: after a crash the database still has the old schema. No program could
  // open a schema between two versions.
  PAWL_TRY(auto transaction, pawl::sqlite::Transaction::begin(connection, "migrate"));
  // Another process may have migrated first.
  PAWL_TRY(const std::int64_t applied, number(connection, "user_version"));
  if (static_cast<std::size_t>(applied) >= migrations().size()) return {};
  if (applied > 0) {
    PAWL_TRY(const auto held, held_phases(connection, applied));
    PAWL_OK(check_nobody_works(held, owner_is_dead));
  }
  for (auto done = static_cast<std::size_t>(applied); done < migrations().size(); ++done) {
    const Migration& migration = migrations()[done];
    PAWL_OK(connection.run_script(migration.up));
    const std::string at = rfc3339(os::SystemClock().wall());
    {
      PAWL_TRY(auto insert, connection.query("insert_migration"));
      PAWL_OK(insert.bind(static_cast<std::int64_t>(done + 1)).bind(migration.name).bind(at).run());
    }
    PAWL_OK(set_version(connection, done + 1));
  }
  if (lacks_seals(applied)) PAWL_OK(seal_open_chains(connection, sealer));
  return transaction.commit();
}

Status take_back_newest(Connection& connection, const SchemaStatus& status, bool destroy_data,
                        const OwnerIsDead& owner_is_dead) {
  PAWL_TRY(auto transaction, pawl::sqlite::Transaction::begin(connection, "migrate"));
  PAWL_TRY(const std::int64_t database, number(connection, "user_version"));
  PAWL_OK(check_can_take_back(status, database));
  const auto version = static_cast<std::size_t>(status.database);
  const Migration& newest = migrations()[version - 1];
  PAWL_TRY(const auto held, held_phases(connection, database));
  PAWL_OK(check_nobody_works(held, owner_is_dead));
  if (!destroy_data && !newest.count_lost.empty()) {
    PAWL_TRY(const std::int64_t rows, number(connection, newest.count_lost));
    PAWL_OK(check_loss(rows, newest.lost));
  }
  if (version > 1) {
    PAWL_TRY(auto forget, connection.query("delete_migration"));
    PAWL_OK(forget.bind(status.database).run());
  }
  PAWL_OK(connection.run_script(newest.down));
  PAWL_OK(set_version(connection, version - 1));
  return transaction.commit();
}

}  // namespace pawl::store::sqlite
