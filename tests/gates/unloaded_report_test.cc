// prove writes a report for each test file. On base a file may not load: its report is empty, and the others
// are as good as ever. The same report of an attempt proves nothing.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "gates/base.h"
#include "gates/gates.h"
#include "told_by.h"

namespace pawl::gates {
namespace {

using State = Inventory::State;
using Strings = std::vector<std::string>;
using Files = std::vector<std::pair<std::string, std::string>>;

constexpr const char* kOld = "ok 1 - old\n1..1\n";
constexpr const char* kNew = "ok 1 - shouts\n1..1\n";

StepFacts prove(const Files& files, std::int64_t exit_code, const std::string& pattern = "tap/**") {
  StepFacts out{.step_name = "unit",
                .outcome = Outcome::kExited,
                .exit_code = exit_code,
                .declared = {"tests"},
                .patterns = {{.format = "tap", .pattern = pattern}}};
  for (const auto& [path, text] : files)
    out.reports.push_back(
        {.path = path, .format = "tap", .family = "tests", .report = report_of("tap", text)});
  return out;
}

OnBase base_of(StepFacts step) { return on_base("g", {"tests"}, {std::move(step)}); }

Signal judged_after(const OnBase& base, StepFacts step, UnloadedNames removed = {}) {
  return evaluate({.gate_id = "g",
                   .required = {"tests"},
                   .steps = {std::move(step)},
                   .base = base.inventories,
                   .removed = std::move(removed)})
      .at(0);
}

TEST(UnloadedReport, OfBaseStandsForItsFile) {
  for (const auto* nothing : {"", "1..1\n", "# Subtest: a\n    ok 1 - inner\n", "loading\n"}) {
    const auto found = base_of(prove({{"tap/t/new.t", nothing}, {"tap/t/old.t", kOld}}, 1));
    EXPECT_TRUE(found.is_usable()) << nothing << found.stop;
    const auto& base = found.inventories.at("tests");
    EXPECT_EQ(base.state, State::kLowerBound) << nothing;
    EXPECT_EQ(base.reason, "t/new.t could not be loaded");
    EXPECT_EQ(base.names, Strings{"old"});
    EXPECT_EQ(base.unloaded, Strings{"t/new.t"});
    EXPECT_EQ(base.failing, Strings{"t/new.t"});
  }
  for (const auto* pattern : {"tap/**", "tap/*/*.t", "tap/t/*.t", "tap", "tap/"}) {
    const auto found = base_of(prove({{"tap/t/new.t", ""}, {"tap/t/old.t", kOld}}, 1, pattern));
    const auto& name = found.inventories.at("tests").unloaded.at(0);
    EXPECT_TRUE(std::string("t/new.t").ends_with(name)) << pattern << name;
  }
}

TEST(UnloadedReport, IsNoneWhereNothingElseSpeaksForTheRunner) {
  const Files both = {{"tap/t/new.t", ""}, {"tap/t/old.t", kOld}};
  for (const auto& step : {prove({{"tap/t/new.t", ""}}, 1),                                    // alone
                           prove({{"tap/t/new.t", ""}, {"tap/t/b.t", "1..0 # SKIP x\n"}}, 1),  // no test ran
                           prove(both, 0),                                                     // it held
                           prove({{"tap/t/new.t", "ok 1\nok 2\n1..1\n"}, {"tap/t/old.t", kOld}}, 1),
                           prove(both, 127), prove({{"tap.out", ""}}, 1, "tap.out")}) {
    EXPECT_EQ(base_of(step).inventories.at("tests").state, State::kUnknown);
    EXPECT_FALSE(base_of(step).is_usable());
  }
}

TEST(UnloadedReport, OfAnAttemptIsNoEvidence) {
  const auto base = base_of(prove({{"tap/t/new.t", ""}, {"tap/t/old.t", kOld}}, 1));
  EXPECT_TRUE(judged_after(base, prove({{"tap/t/new.t", kNew}, {"tap/t/old.t", kOld}}, 0)).passed);
  for (const auto* nothing : {"", "1..1\n"}) {
    const Files files = {{"tap/t/new.t", nothing}, {"tap/t/old.t", kOld}};
    EXPECT_FALSE(judged_after(base, prove(files, 1)).passed) << nothing;
    const auto silent = judged_after(base, prove(files, 0));
    EXPECT_FALSE(silent.passed) << nothing;
    EXPECT_TRUE(silent.missing) << nothing;
    GateFacts known{.gate_id = "g",
                    .required = {"tests"},
                    .steps = {prove(files, 1)},
                    .base = base.inventories,
                    .known_failing = true};
    EXPECT_FALSE(gate_passed(known, evaluate(known))) << nothing;
  }
}

TEST(UnloadedReport, ItsFileMustRunATest) {
  const auto base = base_of(prove({{"tap/t/new.t", ""}, {"tap/t/old.t", kOld}}, 1));
  for (const Files& files : {Files{{"tap/t/old.t", kOld}},
                             {{"tap/t/new.t", "1..0 # SKIP later\n"}, {"tap/t/old.t", kOld}},
                             {{"tap/t/new.t", "ok 1 # SKIP later\n1..1\n"}, {"tap/t/old.t", kOld}}}) {
    const auto signal = judged_after(base, prove(files, 0));
    EXPECT_FALSE(signal.passed) << files.at(0).second;
    EXPECT_EQ(signal.details.value("unloaded_gone_names", ""), "t/new.t") << signal.details.dump();
  }
  const Files both = {{"tap/t/new.t", kNew}, {"tap/t/old.t", kOld}};
  EXPECT_FALSE(judged_after(base, prove(both, 0), {"t/new.t"}).passed) << "a file of it is gone";
}

}  // namespace
}  // namespace pawl::gates
