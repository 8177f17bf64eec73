// A run that goes on is verified while a writer commits between any two reads.
#include <gtest/gtest.h>

#include "store/sqlite/database.h"
#include "store/verbs/run_store.h"
#include "support/trust_fixture.h"

namespace pawl::ledger {
namespace {

using fixtures::Trust;

// The real store; `meanwhile` can write before each read.
class Interrupted final : public store::verbs::RunStore {
 public:
  using RunStore::RunStore;
  std::function<void()> meanwhile = [] {};
  bool reads_apart = false;  // as without read_together()

  Status read_together(const std::function<Status()>& reads) override {
    return reads_apart ? reads() : RunStore::read_together(reads);
  }
  Result<store::RunRow> run(const std::string& run_id) override {
    meanwhile();
    return RunStore::run(run_id);
  }
  Result<std::vector<std::string>> chains(const std::string& run_id) override {
    meanwhile();
    return RunStore::chains(run_id);
  }
  Result<std::vector<store::LedgerRow>> ledger(const std::string& run_id, const std::string& chain,
                                               std::int64_t first_seq, std::size_t most) override {
    meanwhile();
    return RunStore::ledger(run_id, chain, first_seq, most);
  }
  Result<std::optional<store::Head>> head(const std::string& run_id) override {
    meanwhile();
    return RunStore::head(run_id);
  }
  Result<std::vector<std::string>> cost_rows(const std::string& run_id, std::int64_t skip) override {
    meanwhile();
    return RunStore::cost_rows(run_id, skip);
  }
  Result<std::vector<std::string>> usage_rows(const std::string& run_id, std::int64_t skip) override {
    meanwhile();
    return RunStore::usage_rows(run_id, skip);
  }
  Result<std::vector<store::PhaseRow>> phases(const std::string& run_id) override {
    meanwhile();
    return RunStore::phases(run_id);
  }
  Result<std::vector<store::LayerRow>> accepted_layers(const std::string& run_id) override {
    meanwhile();
    return RunStore::accepted_layers(run_id);
  }
  Result<std::vector<store::BudgetRow>> budgets(const std::string& run_id) override {
    meanwhile();
    return RunStore::budgets(run_id);
  }
  Result<std::vector<store::AttemptRow>> attempts(const std::string& run_id,
                                                  const std::string& phase_id) override {
    meanwhile();
    return RunStore::attempts(run_id, phase_id);
  }
  Result<std::vector<store::StepRow>> steps(const std::string& run_id, const std::string& phase_id) override {
    meanwhile();
    return RunStore::steps(run_id, phase_id);
  }
  Result<std::vector<store::EpisodeRow>> episodes(const std::string& run_id,
                                                  const std::string& phase_id) override {
    meanwhile();
    return RunStore::episodes(run_id, phase_id);
  }
};

class Live : public Trust {
 protected:
  // Each verb may come while the agent of an attempt runs.
  using Verb = std::function<void(const store::Claim&)>;
  std::vector<std::pair<std::string, Verb>> verbs() {
    return {{"a step ends",
             [&](const store::Claim& held) {
               auto end = ended();
               const auto line = store::usage_line({.workflow_id = "w",
                                                    .run_id = "r",
                                                    .phase_id = "one",
                                                    .attempt_id = held.attempt.attempt_id,
                                                    .sandbox_run_id = end.sandbox_run_id,
                                                    .usage_id = "u",
                                                    .source = "agent",
                                                    .input_tokens = 1,
                                                    .emitted_at = rfc3339(now_)});
               end.reported = {.last_seq = 1, .usage = {{.told_seq = 1, .input_tokens = 1, .line = line}}};
               EXPECT_TRUE(store_->end_step(held.lease, {.result = end}, now_));
             }},
            {"an attempt fails",
             [&](const store::Claim& held) { EXPECT_TRUE(finish(held, "failed_retryable")); }},
            {"a phase passes and the next begins",
             [&](const store::Claim& held) {
               EXPECT_TRUE(finish(held, "passed", "L"));
               const auto next = claim();
               ASSERT_TRUE(next && next->claim);
               EXPECT_TRUE(begin(*next->claim));
             }},
            {"an operator cancels all",
             [&](const store::Claim&) { EXPECT_TRUE(store_->operator_cancel("r", "", {}, now_)); }}};
  }
  // Verifies a run while `verb` comes before read number `at`. `reads` becomes the number of reads.
  Report verified_while(const Verb& verb, int at, bool reads_apart, int& reads) {
    begin_anew();
    took_ms_ = 5;
    attempt("failed_retryable");
    const auto held = claim();
    EXPECT_TRUE(held && held->claim && begin(*held->claim));
    Interrupted reader(std::make_unique<store::sqlite::SqliteDatabase>(*store::sqlite::connect(path_)),
                       sealer_);
    reader.reads_apart = reads_apart;
    reads = 0;
    reader.meanwhile = [&] {
      if (reads++ == at) verb(*held->claim);
    };
    const auto report = verify_run(reader, "r", {.public_key = sealer_->public_key()});
    EXPECT_TRUE(report) << report.error().message;
    return report.value_or(Report());
  }
};

TEST_F(Live, ARunVerifiesWhateverIsWrittenMeanwhile) {
  for (const auto& [what, verb] : verbs()) {
    int bad = 0, reads = 1;
    for (int at = 0; at < reads; ++at) {
      const auto report = verified_while(verb, at, false, reads);
      EXPECT_TRUE(report.ok) << what << " before read " << at << ": " << canonical(to_json(report));
    }
    EXPECT_GT(reads, 10);
    for (int at = 0; at < reads; ++at) bad += verified_while(verb, at, true, reads).ok ? 0 : 1;
    EXPECT_GT(bad, 0) << "reads of several moments must not fit together: " << what;
  }
}

}  // namespace
}  // namespace pawl::ledger
