// Costs that an attacker lowers: one who can write the database and does not have the key.
#include <gtest/gtest.h>

#include <cstdlib>

#include "support/ledger_run.h"

namespace pawl::ledger {
namespace {

using Change = std::function<void(Files&)>;

void replace(std::string& text, const std::string& what, const std::string& by) {
  const auto at = text.find(what);
  ASSERT_NE(at, text.npos) << what;
  text.replace(at, what.size(), by);
}

// Changes the files and expects one kind of problem; without the defence the change verifies.
void found(const testing::LedgerRun& run, const Trust& trust, const std::string& kind, const Change& change) {
  Files files = run.files_of_database();
  ASSERT_TRUE(verify(files, trust).ok) << canonical(to_json(verify(files, trust)));
  change(files);
  const auto report = verify(files, trust);
  ASSERT_FALSE(report.ok) << kind;
  EXPECT_EQ(report.problems[0].kind, kind) << canonical(to_json(report));
  setenv("PAWL_WALLS_OFF", "costs", 1);
  EXPECT_TRUE(verify(files, trust).ok) << "without the defence nobody sees it: " << kind;
  unsetenv("PAWL_WALLS_OFF");
}

TEST(Costs, OfARunThatGoesOnAreThoseThatItsRowsName) {
  testing::LedgerRun run;
  run.end_with_cost("one", "priced", "named");
  run.use("one", "priced", 1200);
  const Trust trust{.live = true};
  const auto last_line = [](std::string& text) { return text.rfind('\n', text.size() - 2) + 1; };
  found(run, trust, "changed", [](Files& files) { replace(files.sandbox_cost, "named", "cheap"); });
  found(run, trust, "missing",
        [&](Files& files) { files.sandbox_cost.erase(last_line(files.sandbox_cost)); });
  found(run, trust, "missing", [](Files& files) { files.sandbox_cost.clear(); });
  found(run, trust, "extra", [&](Files& files) {
    files.sandbox_cost += files.sandbox_cost.substr(last_line(files.sandbox_cost));
  });
  found(run, trust, "changed", [](Files& files) { replace(files.agent_usage, ":1200,", ":1,"); });
  found(run, trust, "changed",
        [](Files& files) { replace(files.agent_usage, "\"usd\":\"\"", "\"usd\":null"); });
  found(run, trust, "missing", [](Files& files) { files.agent_usage.clear(); });
  found(run, trust, "extra", [](Files& files) { files.agent_usage += files.agent_usage; });
}

TEST(Costs, OfARunThatIsOverAreOneASteps) {
  const testing::LedgerRun run(1);
  found(run, {}, "missing",
        [](Files& files) { files.sandbox_cost.erase(0, files.sandbox_cost.find('\n') + 1); });
  found(run, {}, "missing", [](Files& files) { files.sandbox_cost.clear(); });
  found(run, {}, "forged",
        [](Files& files) { replace(files.sandbox_cost, "\"run_id\":\"r\"", "\"run_id\":\"x\""); });
  found(run, {}, "changed", [](Files& files) { replace(files.sandbox_cost, ":0.000", ":null"); });
}

}  // namespace
}  // namespace pawl::ledger
