// Costs that an attacker lowers: one who can write the database and does not have the key.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "os/file.h"
#include "support/ledger_run.h"
#include "support/temp_folder.h"

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

// The text with two of its lines in the place of each other.
std::string swapped(const std::string& text, std::size_t first, std::size_t second) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
    lines.push_back(text.substr(at, text.find('\n', at) + 1 - at));
  std::swap(lines.at(first), lines.at(second));
  std::string out;
  for (const auto& line : lines) out += line;
  return out;
}

// Two steps with usage in each phase.
void use(testing::LedgerRun& run) {
  for (const char* phase : {"one", "two"})
    for (const char* step : {"-a", "-b"}) {
      run.end_with_cost(phase, phase + std::string(step), "named");
      run.use(phase, phase + std::string(step), 1200);
    }
}

TEST(Costs, UsageRowsOfAnExportAreInTheOrderOfItsHead) {
  testing::LedgerRun run(1);
  use(run);
  const auto found_in_export = [&](const std::string& kind, const Change& change) {
    Files files = run.files();
    ASSERT_TRUE(verify(files, {}).ok) << canonical(to_json(verify(files, {})));
    change(files);
    const auto report = verify(files, {});
    ASSERT_FALSE(report.ok) << kind;
    EXPECT_EQ(report.problems[0].kind, kind) << canonical(to_json(report));
    EXPECT_EQ(report.problems[0].file, "cost/agent.jsonl");
  };
  for (std::size_t first = 0; first < 4; ++first)
    for (std::size_t second = first + 1; second < 4; ++second)
      found_in_export("reordered",
                      [&](Files& files) { files.agent_usage = swapped(files.agent_usage, first, second); });
  found_in_export("truncated", [](Files& files) { files.agent_usage.pop_back(); });
  found_in_export("truncated", [](Files& files) {
    files.agent_usage.erase(files.agent_usage.rfind('\n', files.agent_usage.size() - 2) + 1);
  });
  found_in_export("extra", [](Files& files) { files.agent_usage += files.agent_usage; });
  found_in_export("changed", [](Files& files) { files.agent_usage += "\n"; });
}

// The head of a database, and of an export of an older version, lists no lines.
TEST(Costs, UsageRowsOfOnePhaseAreInTheOrderOfItsChain) {
  testing::LedgerRun run(1);
  use(run);
  const Trust trust{.live = true};
  found(run, trust, "reordered", [](Files& files) { files.agent_usage = swapped(files.agent_usage, 0, 1); });
  found(run, trust, "reordered", [](Files& files) { files.agent_usage = swapped(files.agent_usage, 2, 3); });
  found(run, trust, "truncated", [](Files& files) { files.agent_usage.pop_back(); });
  found(run, trust, "truncated", [](Files& files) { files.sandbox_cost.pop_back(); });
}

TEST(Costs, AnExportOfAnOlderVersionLacksTheOrderOfItsUsageRows) {
  testing::LedgerRun run(1);
  use(run);
  const auto lacks = [](const Files& files) {
    const auto report = verify(files, {});
    EXPECT_TRUE(report.ok) << canonical(to_json(report));
    return std::ranges::count(report.lacks, "usage", &Lack::member);
  };
  Files files = run.files();
  EXPECT_EQ(lacks(files), 0);
  Json head = *parse_json(files.head);
  Json body = *parse_json(text_in(head, "body"));
  body.erase("usage");
  files.head = run.signed_head(canonical(body));
  EXPECT_EQ(lacks(files), 1);
}

TEST(Costs, APhaseThatNoRowNamesIsExtra) {
  const testing::LedgerRun run(1);
  for (const bool live : {false, true}) {
    Files files = run.files();
    files.phases.emplace_back("ghost", "");
    const auto report = verify(files, {.live = live});
    ASSERT_EQ(report.ok, live) << "only an export has files, and a run that goes on none without rows";
    if (live) continue;
    EXPECT_EQ(report.problems[0].kind, "extra");
    EXPECT_EQ(report.problems[0].file, "phases/ghost/attempts.jsonl");
  }
}

TEST(Costs, FilesThatAnExportDoesNotHaveAreExtra) {
  const testing::LedgerRun run(1);
  const testing::TempFolder folder;
  const auto write = [&](const std::string& name, const std::string& text) {
    const auto path = folder / name;
    ASSERT_TRUE(os::make_folders(os::folder_of(path)));
    ASSERT_TRUE(os::write_atomically(path, text));
  };
  const auto files = run.files();
  write("run.jsonl", files.run);
  for (const auto& [phase, text] : files.phases) write("phases/" + phase + "/attempts.jsonl", text);
  write("cost/sandbox.jsonl", files.sandbox_cost);
  write("head.json", files.head);
  write("store_head.json", files.store_head);
  write("ledger.pub", run.public_key() + "\n");
  write("notes.txt", "what a person keeps beside it");
  ASSERT_TRUE(verify_directory(folder.path(), {})->ok)
      << canonical(to_json(*verify_directory(folder.path(), {})));
  for (const std::string name : {"more.jsonl", "cost/more.jsonl", "phases/one/more.jsonl", "phases/file",
                                 "phases/ghost/attempts.jsonl", "phases/ghost/other"}) {
    write(name, "");
    const auto report = verify_directory(folder.path(), {});
    ASSERT_FALSE(report->ok) << name;
    const auto is_named = [&](const Problem& problem) {
      return problem.kind == "extra" && name.starts_with(problem.file.substr(0, problem.file.rfind('/')));
    };
    EXPECT_TRUE(std::ranges::any_of(report->problems, is_named)) << canonical(to_json(*report));
    ASSERT_TRUE(os::remove_tree(folder / (name.starts_with("phases/ghost") ? "phases/ghost" : name)));
  }
}

}  // namespace
}  // namespace pawl::ledger
