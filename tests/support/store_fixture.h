// A store on a real file, with short functions for the transitions that its tests share.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "store/cost_row.h"
#include "store/store.h"
#include "support/temp_folder.h"

namespace pawl::store {

class PlainSealer final : public RowSealer {
 public:
  Sealed seal(JsonMembers content, std::int64_t seq, WallTime, std::string_view) const override {
    std::string line = content.number("seq", seq).object();
    return {.line = line, .hash = blake3_hex(line)};
  }
  Head sign(std::string body) const override {
    return {.body = std::move(body), .public_key = key_, .signature = "s"};
  }
  const std::string& public_key() const override { return key_; }
  bool has_signed(const Head& head) const override { return head.signature == "s"; }
  bool continues(const LedgerRow& row, std::string_view) const override {
    return row.hash == blake3_hex(row.line);
  }
  bool may_be_unsigned(const LedgerRow& row) const override {
    return std::ranges::any_of(kBetweenHeads, [&](const char* type) {
      return row.line.find(std::string(R"("type":")") + type + '"') != std::string::npos;
    });
  }
  std::string seal_of_end(std::string_view run_id, std::string_view chain, std::int64_t rows,
                          std::string_view head) const override {
    return fmt::format("sealed {} {} {} {}", run_id, chain, rows, head);
  }

 private:
  static constexpr auto kBetweenHeads = {"pre_execute", "executed", "resume", "agent", "usage", "waited"};
  const std::string key_ = "k";
};

class StoreTest : public ::testing::Test {
 protected:
  const PlainSealer sealer_;
  void SetUp() override { store_ = open(); }

  virtual std::unique_ptr<Store> open() {
    auto store = open_store("sqlite:" + path_, std::make_shared<PlainSealer>());
    EXPECT_TRUE(store) << store.error().message;
    return *std::move(store);
  }
  std::string create(std::vector<std::vector<std::string>> tiers, bool parallel = false, bool stop = true,
                     std::optional<std::int64_t> sandbox_ms_cap = std::nullopt) {
    NewRun run;
    run.sandbox_ms_cap = sandbox_ms_cap;
    run.plan_text = "p";
    run.plan.common = "c";
    run.run = {.run_id = "run-" + std::to_string(++runs_),
               .workflow_id = "w",
               .base_id = "b",
               .backend = "namespace",
               .created_at = rfc3339(now_)};
    for (std::size_t tier = 0; tier < tiers.size(); ++tier) {
      run.tiers.push_back({.tier_index = static_cast<std::int64_t>(tier),
                           .name = "t",
                           .stop_on_failure = stop,
                           .parallel = parallel});
      for (std::size_t phase = 0; phase < tiers[tier].size(); ++phase) {
        run.phases.push_back({.run_id = run.run.run_id,
                              .phase_id = tiers[tier][phase],
                              .tier_index = static_cast<std::int64_t>(tier),
                              .phase_index = static_cast<std::int64_t>(phase),
                              .max_attempts = 2});
        run.plan.phases.push_back({.tier_index = static_cast<std::int64_t>(tier),
                                   .phase_index = static_cast<std::int64_t>(phase),
                                   .row = "row of " + tiers[tier][phase]});
      }
    }
    const auto created = store_->create_run(run, now_);
    EXPECT_TRUE(created) << created.error().message;
    return run.run.run_id;
  }
  ClaimRequest request(const std::string& owner = "me") {
    return {.owner = owner, .now = now_, .model_of_attempt = [](const auto&, auto n) {
              return "m" + std::to_string(n);
            }};
  }
  Claim claim(const std::string& owner = "me") {
    auto result = store_->claim(request(owner));
    EXPECT_TRUE(result && result->claim) << (result ? result->waits_for : result.error().message);
    return *std::move(result->claim);
  }
  static StepStart marker(const std::string& id, std::int64_t index, std::int64_t reserved_ms = 0) {
    return {.sandbox_run_id = id,
            .step_index = index,
            .gate_id = "agent",
            .step_name = "run",
            .label = "x",
            .sandbox_spec_hash = "h",
            .reserved_ms = reserved_ms};
  }
  std::string step(const Claim& claim, std::int64_t index = 0, std::int64_t reserved_ms = 0) {
    const std::string id = "s" + std::to_string(++steps_);
    const auto begun = store_->begin_step(claim.lease, marker(id, index, reserved_ms), {}, now_);
    EXPECT_TRUE(begun && begun->started) << begun.error().message;
    return id;
  }
  static StepEnd ended(const std::string& id) {
    return {.sandbox_run_id = id,
            .run = R"({"exit_code":0,"outcome":"exited"})",
            .outcome = "exited",
            .exit_code = 0,
            .cost_row = cost_row({.run_id = "r", .sandbox_run_id = id})};
  }
  static AttemptEnd verdict(const std::string& word) {
    return {.verdict = *attempt_verdict_from_name(word),
            .failing_signals = {},
            .summary = "s",
            .feedback = word == "passed" ? Json() : Json::object(),
            .reason = word == "passed" ? "" : "why"};
  }
  Result<Finished> finish(const Claim& claim, const std::string& id, const std::string& word) {
    return store_->finish(
        claim.lease, {.result = ended(id)}, verdict(word), [](const auto&, const auto&) { return false; },
        now_);
  }
  PhaseRow phase(const std::string& run, const std::string& id) {
    const auto phases = *store_->phases(run);
    for (const auto& row : phases)
      if (row.phase_id == id) return row;
    return {};
  }

  testing::TempFolder temp_;
  const std::string path_ = temp_ / "pawl.db";
  WallTime now_{1'767'323'045'000'000};
  std::unique_ptr<Store> store_;
  const OwnerIsDead dead_ = [](std::string_view) { return true; };
  int runs_ = 0, steps_ = 0;
};

}  // namespace pawl::store
