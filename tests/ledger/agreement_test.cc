// Rows that are intact by themselves and contradict each other, or lack members.
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "store/rows.h"
#include "support/ledger_run.h"

namespace pawl::ledger {
namespace {

using testing::LedgerRun;

// A signer that trusted the tables could sign such ledgers. Each is intact by its hashes and its signature.
class Agreement : public ::testing::Test {
 protected:
  static bool is_of(const Json& row, const char* type, const char* phase_id = "") {
    return text_in(row, "type") == type && text_in(row, "phase_id") == phase_id;
  }
  void found(const LedgerRun::Change& change, const std::string& file, const std::string& detail) {
    const LedgerRun run(1, Json::array(), change);
    const auto report = verify(run.files(), {});
    ASSERT_EQ(report.problems.size(), 1U) << detail << canonical(to_json(report));
    EXPECT_EQ(report.problems[0].kind, "forged");
    EXPECT_EQ(report.problems[0].file, file);
    EXPECT_NE(report.problems[0].detail.find(detail), std::string::npos) << report.problems[0].detail;
    setenv("PAWL_WALLS_OFF", "agreement", 1);
    EXPECT_TRUE(verify(run.files(), {}).ok) << "without it nobody sees: " << detail;
    unsetenv("PAWL_WALLS_OFF");
  }
};

TEST_F(Agreement, ARunEndsWithThePhasesThatItWasStartedWith) {
  found([](Json& row) { return !is_of(row, "phase_sealed", "two"); }, "run.jsonl", "no row ends phase two");
  found(
      [](Json& row) {
        if (is_of(row, "run_started")) row["phases"] = {"one", "two", "three"};
        return true;
      },
      "run.jsonl", "no row ends phase three");
}

TEST_F(Agreement, ARunEndsAsItsPhasesDid) {
  for (const std::string state : {"FAILED", "CANCELLED"})
    found(
        [&](Json& row) {
          if (is_of(row, "phase_sealed", "two")) row["state"] = row["outcome"] = state;
          return true;
        },
        "run.jsonl", "by its phases the run is " + state);
  for (const std::string state : {"QUEUED", "EXECUTING", "DONE"})
    found(
        [&](Json& row) {
          if (is_of(row, "phase_sealed", "two")) row["state"] = state;
          return true;
        },
        "run.jsonl", "no row ends phase two");
}

TEST_F(Agreement, ARunEndsWithTheRowsThatItsPhasesEndedWith) {
  found(
      [](Json& row) {
        if (is_of(row, "run_sealed"))
          row["phases"] = {{{"phase_id", "one"}, {"rows", 0}, {"head", kZeroHash}}};
        return true;
      },
      "run.jsonl", "another end of phase one");
}

TEST_F(Agreement, APhaseEndsAfterThoseThatItWaitsFor) {
  const auto tier = [](std::size_t phases, bool parallel) {
    return Json{
        {"name", "t"}, {"stop_on_failure", false}, {"parallel", parallel}, {"max_attempts", Json(phases, 2)}};
  };
  // Phase one is sealed first, and is listed last.
  const auto rows = [&](const Json& tiers, const std::string& outcome) {
    return [=](Json& row) {
      if (is_of(row, "run_started")) {
        row["phases"] = {"two", "one"};
        row["tiers"] = tiers;
      }
      if (is_of(row, "attempt") && text_in(row, "attempt_id") == "one.1") row["verdict"] = "escalate";
      if (is_of(row, "phase_sealed", "one")) {
        row["outcome"] = outcome;
        row["state"] = outcome == "skipped" ? "SKIPPED" : outcome == "cancelled" ? "CANCELLED" : "FAILED";
      }
      if (is_of(row, "run_sealed"))
        row["state"] = outcome == "skipped" ? "COMPLETE" : outcome == "cancelled" ? "CANCELLED" : "FAILED";
      return true;
    };
  };
  const Json two_tiers = {tier(1, true), tier(1, true)},
             with_empty = {tier(1, true), tier(0, true), tier(1, false)},
             in_order = Json::array({tier(2, false)}), parallel = Json::array({tier(2, true)});
  const auto honest = [&](const Json& tiers, const std::string& outcome) {
    const auto report = verify(LedgerRun(1, Json::array(), rows(tiers, outcome)).files(), {});
    EXPECT_TRUE(report.ok) << tiers << outcome << canonical(to_json(report));
  };
  for (const std::string outcome : {"escalate", "failed_unrecoverable"}) {
    for (const auto& tiers : {two_tiers, with_empty, in_order})
      found(rows(tiers, outcome), "run.jsonl", "phase one ended before phase two, for which it waits");
    honest(parallel, outcome);
  }
  // An operator ends phases in any order.
  for (const std::string outcome : {"skipped", "cancelled"})
    for (const auto& tiers : {two_tiers, with_empty, in_order, parallel}) honest(tiers, outcome);
}

TEST_F(Agreement, WhatPassedHasAnAttemptThatDid) {
  found(
      [](Json& row) {
        if (text_in(row, "attempt_id") == "two.1" && is_of(row, "attempt"))
          row["verdict"] = "failed_retryable";
        return true;
      },
      "run.jsonl", "phase two passed, but its last attempt did not");
}

TEST_F(Agreement, WhatPassedWasJudgedOnWhatHadBeenAcceptedByThen) {
  const auto layers = [](const std::string& two_saw) {
    return [=](Json& row) {
      if (is_of(row, "run_started")) row["base_id"] = "b";
      if (is_of(row, "phase_sealed", "one")) row["layer"] = "one's";
      if (is_of(row, "attempt"))
        row["stack"] = text_in(row, "attempt_id") == "one.1" ? store::stack_hash("b", {}) : two_saw;
      return true;
    };
  };
  const LedgerRun honest(1, Json::array(), layers(store::stack_hash("b", {"one's"})));
  EXPECT_TRUE(verify(honest.files(), {}).ok) << canonical(to_json(verify(honest.files(), {})));
  for (const auto& other :
       {store::stack_hash("b", {}), store::stack_hash("b", {"forged", "one's"}),
        store::stack_hash("b", {"one's", "forged"}), store::stack_hash("other", {"one's"})})
    found(layers(other), "phases/two/attempts.jsonl", "its gates ran on other work");
}

// Attempts that failed, or that an operator approved, are compared too, by the place that their row names.
TEST_F(Agreement, EveryAttemptWasJudgedOnWhatHadBeenAcceptedUpToItsPlace) {
  struct Said {
    std::string stack;
    std::int64_t place = 1;
    bool own_tier = true;
  };
  for (const std::string outcome : {"approved", "escalate", "skipped"}) {
    for (const bool is_next_tier : {false, true}) {
      const auto rows = [&](const Said& said) {
        return [=](Json& row) {
          if (is_of(row, "run_started")) {
            const auto tier = [](std::size_t phases) {
              return Json{{"name", "t"},
                          {"stop_on_failure", false},
                          {"parallel", true},
                          {"max_attempts", Json(phases, 2)}};
            };
            row["base_id"] = "b";
            row["tiers"] = is_next_tier ? Json::array({tier(1), tier(1)}) : Json::array({tier(2)});
          }
          if (is_of(row, "phase_sealed", "one")) row["layer"] = "one's";
          if (is_of(row, "phase_sealed", "two")) {
            row["outcome"] = outcome;
            row["state"] = outcome == "approved" ? "COMPLETE" : outcome == "skipped" ? "SKIPPED" : "FAILED";
          }
          if (is_of(row, "run_sealed") && outcome == "escalate") row["state"] = "FAILED";
          const bool is_two = text_in(row, "attempt_id") == "two.1";
          if (is_of(row, "attempt")) {
            row["stack"] = is_two ? said.stack : store::stack_hash("b", {});
            row["merge_seq"] = is_two ? said.place : 0;
            row["own_tier"] = is_two ? said.own_tier : true;
            if (is_two) row["verdict"] = "escalate";
          }
          return true;
        };
      };
      const auto none = store::stack_hash("b", {}), one = store::stack_hash("b", {"one's"});
      const auto& seen_by_tier = is_next_tier ? one : none;
      for (const auto& honest :
           {Said{none, 0}, Said{one}, Said{seen_by_tier, 1, false}, Said{none, 0, false}}) {
        const auto report = verify(LedgerRun(1, Json::array(), rows(honest)).files(), {});
        EXPECT_TRUE(report.ok) << canonical(to_json(report));
      }
      const std::string file = "phases/two/attempts.jsonl", detail = "its gates ran on other work";
      for (const auto& forged : {Said{none}, Said{one, 0}, Said{store::stack_hash("b", {"evil", "one's"})},
                                 Said{one, 2}, Said{one, -1}, Said{store::stack_hash("other", {"one's"})},
                                 Said{is_next_tier ? none : one, 1, false}})
        found(rows(forged), file, detail);
    }
  }
}

TEST(Verify, TheHeadOfTheStoreIsKeptBesideTheOneOfTheExport) {
  const LedgerRun run(1), other(1);
  const auto kind_with = [&](const std::string& store_head, bool is_named) {
    Files files = run.files();
    files.store_head = store_head;
    Json body = *parse_json(text_in(*parse_json(files.head), "body"));
    if (is_named)
      body["store_head"] = blake3_hex(store_head);
    else
      body.erase("store_head");
    files.head = run.signed_head(canonical(body));
    const auto report = verify(files, {});
    if (report.ok) return std::string();
    EXPECT_EQ(report.problems[0].file, "store_head.json");
    return report.problems[0].kind;
  };
  Json body = *parse_json(text_in(*parse_json(run.files().store_head), "body"));
  for (const bool is_named : {true, false}) {
    EXPECT_EQ(kind_with(run.files().store_head, is_named), "");
    EXPECT_EQ(kind_with(other.files().store_head, is_named), "forged") << "by another key";
    EXPECT_EQ(kind_with("{}\n", is_named), "forged");
    for (const auto& [place, value] :
         std::vector<std::pair<std::string, Json>>{{"/chains//rows", 1},
                                                   {"/chains//rows", 100},
                                                   {"/chains/one", {{"rows", 1}, {"head", "x"}}},
                                                   {"/chains/three", {{"rows", 1}, {"head", "x"}}},
                                                   {"/run_id", "other"}}) {
      Json changed = body;
      changed[Json::json_pointer(place)] = value;
      EXPECT_EQ(kind_with(run.signed_head(canonical(changed)), is_named), "forged") << place;
    }
  }
  EXPECT_EQ(kind_with("", true), "missing");
  EXPECT_EQ(kind_with("", false), "") << "exports of older versions have none";
}

TEST(Verify, SaysWhatRowsOfOlderVersionsDoNotSay) {
  const auto lacks_of = [](const LedgerRun::Change& change) {
    std::map<std::string, std::int64_t> out;
    for (const auto& lack : verify(LedgerRun(1, Json::array(), change).files(), {}).lacks)
      out[lack.type + "." + lack.member] = lack.rows;
    return out;
  };
  const std::map<std::string, std::int64_t> all = {
      {"run_started.planned", 1}, {"run_started.before", 1}, {"run_started.tiers", 1},
      {"run_started.caps", 1},    {"attempt.layer", 2},      {"attempt.stack", 2},
      {"attempt.inventories", 2}, {"attempt.feedback", 2},   {"attempt.merge_seq", 2},
      {"phase_sealed.layer", 2},  {"executed.run", 2},       {"executed.cost", 2}};
  EXPECT_EQ(lacks_of([](Json& row) {
              row.erase("layer");
              return true;
            }),
            all);
  const auto now = [](Json& row) {
    const std::string type = text_in(row, "type");
    if (type == "run_started") row["planned"] = row["caps"] = Json::object(), row["tiers"] = Json::array();
    if (type == "executed") row["run"] = row["cost"] = kZeroHash;
    if (type == "attempt") {
      // Signals may have members of any name.
      row["signals"] = {
          {{"details", {{"layer", "x"}, {"stack", "x"}, {"started_at", "x"}, {"feedback", "x"}}}}};
      row["layer"] = "";
      row["feedback"] = kZeroHash;
      row["merge_seq"] = text_in(row, "attempt_id") == "one.1" ? 0 : 1;
      row["own_tier"] = true;
      row["stack"] = store::stack_hash("", {});
      row["started_at"] = "now";
    }
    return true;
  };
  EXPECT_EQ(lacks_of(now), (std::map<std::string, std::int64_t>()));
  EXPECT_EQ(lacks_of([&](Json& row) {
              now(row);
              if (text_in(row, "type") == "attempt")
                for (const char* member : {"layer", "stack", "feedback", "merge_seq"}) row.erase(member);
              return true;
            }),
            (std::map<std::string, std::int64_t>{{"attempt.layer", 2},
                                                 {"attempt.stack", 2},
                                                 {"attempt.inventories", 2},
                                                 {"attempt.feedback", 2},
                                                 {"attempt.merge_seq", 2}}));
  for (const char* decision : {"re_execute", "skip", "escalate", "cancelled"}) {
    LedgerRun run(1);
    run.begin("one", "late");
    run.resume("one", "late", decision);
    const auto lacks = verify(run.files(), {}).lacks;
    for (const char* member : {"cost", "spent_ms"})
      EXPECT_TRUE(std::ranges::any_of(
          lacks,
          [&](const Lack& lack) { return lack.type == "resume" && lack.member == member && lack.rows == 1; }))
          << decision << member;
  }
}

}  // namespace
}  // namespace pawl::ledger
