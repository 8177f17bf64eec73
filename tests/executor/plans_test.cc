// The planned rows of a run, when the database has lost them: made again as the run's ledger names them, or
// not at all.
#include "executor/plans.h"

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <string>

#include "plan/parse.h"
#include "support/store_fixture.h"

namespace pawl::executor {
namespace {

const std::string kText =
    "version: 1\nworkflow: w\nsource: {path: .}\n"
    "gates:\n  check: {steps: [{name: unit, run: \"true\"}], signals: [build], baseline: none}\n"
    "tiers:\n  - phases:\n"
    "      - {id: a, may_be_empty: true, goal: g, agent: {run: \"true\"}, gates: [check]}\n"
    "      - {id: b, may_be_empty: true, goal: g, agent: {run: \"true\"}, gates: [check]}\n";

class PlansTest : public store::StoreTest {
 protected:
  static plan::Plan planned() {
    auto parsed = plan::parse(kText, "plan.yaml");
    EXPECT_TRUE(parsed.plan) << (parsed.problems.empty() ? "" : to_text(parsed.problems.front()));
    parsed.plan->source_folder = "/source";
    return *std::move(parsed.plan);
  }
  // A run whose start made these rows.
  void begin(const store::PlanRows& rows) {
    store::NewRun run{.run = {.run_id = "r",
                              .workflow_id = "w",
                              .plan_file = "plan.yaml",
                              .source_path = "/source",
                              .base_id = "b",
                              .backend = "namespace",
                              .created_at = rfc3339(now_)},
                      .tiers = {{.name = "t"}},
                      .phases = {{.run_id = "r", .phase_id = "a", .max_attempts = 2},
                                 {.run_id = "r", .phase_id = "b", .phase_index = 1, .max_attempts = 2}},
                      .plan_text = kText,
                      .plan = rows};
    const auto created = store_->create_run(run, now_);
    ASSERT_TRUE(created) << created.error().message;
  }
  // As a migration below the version that has them, and up again.
  void take_rows() const {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(path_.c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, "UPDATE plans SET common = ''; DELETE FROM planned_phases", nullptr,
                           nullptr, nullptr),
              SQLITE_OK);
    sqlite3_close(database);
  }
};

TEST_F(PlansTest, RowsThatTheTextGivesAsTheLedgerNamesThemAreMadeAgain) {
  const auto rows = rows_of(planned());
  begin(rows);
  take_rows();
  const auto found = claim_planned(*store_, request());
  ASSERT_TRUE(found) << found.error().message;
  ASSERT_TRUE(found->claim);
  EXPECT_EQ(found->claim->planned, rows.phases.front().row);
  EXPECT_EQ(*store_->planned_common("r"), rows.common);
}

TEST_F(PlansTest, RowsThatAnOlderVersionDidNotNameAreMade) {
  begin({});
  EXPECT_TRUE(claim_planned(*store_, request()));
}

TEST_F(PlansTest, RowsThatSayMoreThanTheTextAreNotReplacedByOthers) {
  auto plan = planned();
  plan.plan_for_agents = "only the start of the run knows it";
  begin(rows_of(plan));
  take_rows();
  const auto run = *store_->run("r");
  for (const auto& error : {claim_planned(*store_, request()).error(), common_of(*store_, run).error(),
                            phase_of(*store_, run, "a").error()}) {
    EXPECT_EQ(error.kind, ErrorKind::kForged);
    EXPECT_NE(error.message.find(store::kPlannedRowsGone), std::string::npos) << error.message;
  }
  EXPECT_EQ(*store_->planned_common("r"), "") << "no other row was made";
}

}  // namespace
}  // namespace pawl::executor
