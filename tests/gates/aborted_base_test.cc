// A runner that aborts on base: what it reported before is a lower bound of what base has, in every format.
// The same report proves no work.
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "gates/base.h"
#include "gates/gates.h"
#include "told_by.h"

namespace pawl::gates {
namespace {

using State = Inventory::State;

struct Ended {
  std::string format, report;
  std::int64_t exit_code = 0;
  std::int64_t signal = 0;
};

StepFacts step_that(const Ended& ended) {
  StepFacts out{.step_name = "unit",
                .outcome = ended.signal > 0 ? Outcome::kSignaled : Outcome::kExited,
                .exit_code = ended.signal > 0 ? -1 : ended.exit_code,
                .signal = ended.signal,
                .declared = {"tests"}};
  out.reports.push_back({.path = "r",
                         .format = ended.format,
                         .family = "tests",
                         .report = report_of(ended.format, ended.report)});
  return out;
}

Inventories base_that(const Ended& ended) { return on_base("g", {"tests"}, {step_that(ended)}).inventories; }

Signal judged_after(const Inventories& base, const Ended& now) {
  return evaluate({.gate_id = "g", .required = {"tests"}, .steps = {step_that(now)}, .base = base}).at(0);
}

std::string junit_with(const std::string& names) {
  std::string out = "<testsuite>";
  for (const char name : names) out += std::string("<testcase name='") + name + "'/>";
  return out + "</testsuite>";
}

std::string tap_with(const std::string& names) {
  std::string out = "1.." + std::to_string(names.size()) + "\n";
  for (const char name : names) out += std::string("ok - ") + name + "\n";
  return out;
}

constexpr const char* kCutTap = "1..3\nok 1 - a\n";

TEST(AbortedBase, IsALowerBoundWhateverTheSignOfIt) {
  const Ended all[] = {{"tap", kCutTap},                  // fewer points than planned
                       {"tap", kCutTap, 1},               // and the runner says so
                       {"tap", kCutTap, 139},             // a shell's code for SIGSEGV
                       {"tap", kCutTap, 0, 11},           // no shell is between
                       {"tap", "ok 1 - a\n", 134},        // no plan: it comes last
                       {"tap", "1..1\nok 1 - a\n", 255},  // Perl died after its tests
                       {"tap", "1..2\nok 1 - a\nBail out! no disk\n", 255},
                       {"tap", "1..2\nok 1 - a\n    ok 1 - inner\n", 139},
                       {"junit", junit_with("a"), 139},
                       {"junit", junit_with("a"), 0, 6},
                       {"gotest", R"({"Action":"run","Package":"m","Test":"a"}
{"Action":"pass","Package":"m","Test":"a"}
{"Action":"pass","Package":"m"}
)",
                        134}};
  for (const auto& ended : all) {
    const auto found = on_base("g", {"tests"}, {step_that(ended)});
    const auto& base = found.inventories.at("tests");
    const std::string what = ended.report + " " + std::to_string(ended.exit_code);
    EXPECT_EQ(base.state, State::kLowerBound) << what << base.reason;
    EXPECT_EQ(base.names, std::vector<std::string>{ended.format == "gotest" ? "m::a" : "a"}) << what;
    EXPECT_TRUE(found.is_usable()) << what << found.stop;
  }
}

TEST(AbortedBase, WhatItHasIsHeldToAndTheSignalSaysThatThereMayBeMore) {
  const std::pair<Ended, std::string (*)(const std::string&)> all[] = {
      {{"tap", "1..2\nok 1 - a\n", 139}, tap_with}, {{"junit", junit_with("a"), 139}, junit_with}};
  for (const auto& [ended, text] : all) {
    const auto base = base_that(ended);
    const auto held = judged_after(base, {ended.format, text("ab")});
    EXPECT_TRUE(held.passed) << held.details.dump();
    EXPECT_TRUE(held.details.at("base").get<std::string>().starts_with("lower bound: "));
    EXPECT_EQ(judged_after(base, {ended.format, text("bc")}).details.at("gone_names"), "a") << ended.format;
  }
  const auto planned = base_that({"tap", kCutTap, 139});
  EXPECT_EQ(judged_after(planned, {"tap", tap_with("ab")}).details.at("fewer"), 1) << "base planned 3";
}

TEST(AbortedBase, WithoutATestOrByAKillIsUnknown) {
  for (const Ended& ended : {Ended{"tap", "1..3\n", 139},
                             {"tap", "", 139},
                             {"tap", "1..1\nok 1 - a # SKIP\n", 139},
                             {"tap", kCutTap, 137},
                             {"tap", kCutTap, 126},
                             {"tap", kCutTap, 127},
                             {"tap", kCutTap, 0, 9},
                             {"junit", "<testsuite/>", 139},
                             {"junit", junit_with("a"), 137}}) {
    const auto base = base_that(ended);
    EXPECT_EQ(base.at("tests").state, State::kUnknown) << ended.report << ended.exit_code;
    EXPECT_FALSE(judged_after(base, {"tap", tap_with("a")}).passed);
  }
}

// The shell's codes for signals are 129 to 192, and 255 is `die` of Perl. Other codes say nothing of that.
TEST(AbortedBase, IsSaidByTheCodesOfSignals) {
  for (std::int64_t code = 126; code <= 255; ++code) {
    const bool aborted = (code >= 129 && code <= 192 && code != 137) || code == 255;
    for (const Ended& ended : {Ended{"tap", kCutTap, code}, {"junit", junit_with("a"), code}}) {
      const auto base = base_that(ended);
      EXPECT_EQ(base.at("tests").state, aborted ? State::kLowerBound : State::kUnknown) << code;
    }
  }
}

TEST(AbortedBase, TheSameReportIsNoEvidenceOfWork) {
  const Inventories base = {{"tests", {.names = {"a"}}}};
  const auto silent = judged_after(base, {"tap", kCutTap});
  EXPECT_FALSE(silent.passed);
  EXPECT_TRUE(silent.missing) << "it exited with 0, and its report ends in the middle";
  for (const Ended& ended : {Ended{"tap", kCutTap, 1}, {"tap", kCutTap, 139}}) {
    const auto signal = judged_after(base, ended);
    EXPECT_FALSE(signal.passed);
    EXPECT_NE(signal.details.at("problem").get<std::string>().find("planned 3 tests, and there are 1"),
              std::string::npos);
    EXPECT_FALSE(signal.details.contains("gone")) << "tests behind the end are not called gone";
  }
  GateFacts known{.gate_id = "g",
                  .required = {"tests"},
                  .steps = {step_that({"tap", kCutTap, 1})},
                  .base = {{"tests", {.names = {"a", "b"}, .failing = {"b"}}}},
                  .known_failing = true};
  EXPECT_FALSE(gate_passed(known, evaluate(known)));
}

}  // namespace
}  // namespace pawl::gates
