// An attacker who can write the database and does not have the key gets no forged content signed by a verb.
#include <gtest/gtest.h>

#include "support/trust_fixture.h"

namespace pawl::ledger {
namespace {

using fixtures::Trust;

TEST_F(Trust, AnHonestRunIsRetriedByWhoComesNew) {
  one_failed_one_passed();
  store_ = open();
  EXPECT_TRUE(store_->operator_retry("r", "one", {}, now_));
  store_ = open();
  attempt("passed", "M");
  EXPECT_TRUE(is_verified()) << canonical(to_json(*verified()));
}

TEST_F(Trust, TwoWhoWriteInTurnCheckEachOther) {
  auto other = open();
  for (int turn = 0; turn < 2; ++turn) {
    attempt("failed_retryable");
    std::swap(store_, other);
  }
  attempt("passed", "L");
  EXPECT_TRUE(is_verified()) << canonical(to_json(*verified()));
}

TEST_F(Trust, AChainThatWasWrittenAnewIsNotSigned) {
  one_failed_one_passed();
  rewrite("one", lie);
  every_operator_is_refused();
}

TEST_F(Trust, ARunsChainThatWasWrittenAnewIsNotSigned) {
  one_failed_one_passed();
  rewrite("", [](Json& row) {
    if (row.contains("state")) row["state"] = "COMPLETE";
  });
  every_operator_is_refused();
}

TEST_F(Trust, ARowBehindASealIsNotSigned) {
  one_failed_one_passed();
  append("one", lie);
  every_operator_is_refused();
}

TEST_F(Trust, ARowBehindTheRunsEndIsNotSigned) {
  one_failed_one_passed();
  append("", [](Json& row) { row["type"] = "operator"; });
  every_operator_is_refused();
}

TEST_F(Trust, AVerdictThatNoHeadCoversIsNotSigned) {
  attempt("failed_retryable");
  append("one", lie);
  store_ = open();
  refused(claim());
}

TEST_F(Trust, ARunWithoutAHeadIsNotSigned) {
  one_failed_one_passed();
  sql("DELETE FROM heads");
  every_operator_is_refused();
}

TEST_F(Trust, AHeadOfAnotherRunIsNone) {
  one_failed_one_passed();
  create("other");
  sql("UPDATE heads SET (body, signature) = (SELECT body, signature FROM heads WHERE run_id = 'other') "
      "WHERE run_id = 'r'");
  every_operator_is_refused();
}

TEST_F(Trust, AHeadByAnotherKeyIsNone) {
  one_failed_one_passed();
  rewrite("one", lie);
  testing::TempFolder elsewhere;
  const auto head = (*open_sealer(elsewhere.path()))->sign((*store_->head("r"))->body);
  sql("UPDATE heads SET public_key = '" + head.public_key + "', signature = '" + head.signature + "'");
  every_operator_is_refused();
}

// Without the checks, each forgery is signed: then the attacker's history has the key's signature.
TEST_F(Trust, WithoutTheDefenceWhatNobodySignedIsSigned) {
  const auto is_signed_after = [&](const std::function<void()>& forge) {
    begin_anew();
    one_failed_one_passed();
    forge();
    store_ = open();
    refused(store_->operator_skip("r", "one", {}, now_));
    without_signer([&] {
      store_ = open();
      const auto done = store_->operator_skip("r", "one", {}, now_);
      EXPECT_TRUE(done) << done.error().message;
    });
    EXPECT_TRUE(sealer_->has_signed(**store_->head("r")));
  };
  const auto to_operator = [](Json& row) { row["type"] = "operator"; };
  is_signed_after([&] { append("one", lie); });
  is_signed_after([&] { rewrite("one", lie); });
  is_signed_after([&] { append("", to_operator); });
  is_signed_after([&] {
    testing::TempFolder elsewhere;
    const auto head = (*open_sealer(elsewhere.path()))->sign((*store_->head("r"))->body);
    sql("UPDATE heads SET public_key = '" + head.public_key + "', signature = '" + head.signature + "'");
  });
  // A verdict that was appended after a seal then belongs to a ledger that verifies by its rows.
  begin_anew();
  one_failed_one_passed();
  append("one", lie);
  without_signer([&] {
    store_ = open();
    EXPECT_TRUE(store_->operator_skip("r", "one", {}, now_));
  });
  const auto report = verify(*files_of(*store_, "r"), {.public_key = sealer_->public_key()});
  EXPECT_TRUE(report.ok) << canonical(to_json(report));
}

TEST_F(Trust, ALedgerThatIsGoneIsNotBegunAnew) {
  one_failed_one_passed();
  sql("DELETE FROM heads; DELETE FROM ledger");
  every_operator_is_refused();
}

TEST_F(Trust, PlannedRowsThatWereChangedAreNotClaimed) {
  for (const std::string change :
       {"UPDATE plans SET common = 'evil'", "UPDATE planned_phases SET row = 'evil' WHERE phase_index = 0",
        "UPDATE runs SET base_id = 'evil'", "UPDATE runs SET plan_content = 'evil'"}) {
    begin_anew();
    refuses_to_claim_after(change);
  }
}

TEST_F(Trust, AcceptedWorkThatWasExchangedIsNotBuiltOn) {
  for (const std::string change :
       {"UPDATE accepted_layers SET layer_id = 'evil'", "DELETE FROM accepted_layers"}) {
    begin_anew();
    attempt("passed", "L");
    refuses_to_claim_after(change);
  }
}

TEST_F(Trust, WhatBaseHasNeedsThisFoldersSignature) {
  ASSERT_TRUE(store_->put_inventory("k", "a\nb"));
  ASSERT_TRUE(store_->put_inventory("l", "c"));
  EXPECT_EQ(store_->inventory("k").value(), "a\nb");
  for (const std::string change :
       {"UPDATE inventories SET names = replace(names, 'a', 'x') WHERE key = 'k'",
        "UPDATE inventories SET names = 'a' WHERE key = 'k'",
        "UPDATE inventories SET names = '' WHERE key = 'k'",
        "UPDATE inventories SET names = (SELECT names FROM inventories WHERE key = 'l') WHERE key = 'k'",
        "UPDATE inventories SET names = names || 'x' WHERE key = 'k'"}) {
    sql(change);
    EXPECT_EQ(store_->inventory("k").value(), std::nullopt) << change;
    ASSERT_TRUE(store_->put_inventory("k", "a\nb")) << "base was judged again";
    EXPECT_EQ(store_->inventory("k").value(), "a\nb");
  }
}

TEST_F(Trust, AForkSharesNothingThatWasExchanged) {
  attempt("passed", "L");
  attempt("passed", "M");
  sql("UPDATE accepted_layers SET layer_id = 'evil' WHERE phase_id = 'one'");
  create("fork", store::Fork{.from = {.run_id = "r", .phase_id = "two"}, .who = {}});
  refused(created_);
}

// The rows of the shared phases are in the other run: no head of the fork lists them, and no row seals them.
TEST_F(Trust, AForkThatIsOverVerifies) {
  one_failed_one_passed();
  create("fork", store::Fork{.from = {.run_id = "r", .phase_id = "two"}, .who = {}});
  ASSERT_TRUE(store_->operator_skip("fork", "two", {}, now_));
  const auto report = verify_run(*store_, "fork", {.public_key = sealer_->public_key()});
  EXPECT_TRUE(report && report->ok) << canonical(to_json(*report));
}

TEST_F(Trust, AForkSharesNoHistoryThatWasWrittenAnew) {
  one_failed_one_passed();
  rewrite("one", lie);
  create("fork", store::Fork{.from = {.run_id = "r", .phase_id = "two"}, .who = {}});
  refused(created_);
}

}  // namespace
}  // namespace pawl::ledger
