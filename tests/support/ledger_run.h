// The ledger of a run in memory: two phases, steps, attempts, seals and a signed head, in the format of the
// store.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/hash.h"
#include "ledger/ledger.h"
#include "store/cost_row.h"
#include "support/temp_folder.h"

namespace pawl::testing {

class LedgerRun {
 public:
  // Changes the content of a row before it is sealed; false omits the row.
  using Change = std::function<bool(Json&)>;
  // `sealed`: the phases in the last row.
  explicit LedgerRun(int steps_a_phase = 3, Json sealed = Json::array(), Change change = {})
      : change_(std::move(change)) {
    sealer_ = *ledger::open_sealer(folder_.path());
    add("", {{"type", "run_started"}, {"run_id", "r"}, {"phases", {"one", "two"}}});
    for (const std::string phase : {"one", "two"}) {
      for (int i = 0; i < steps_a_phase; ++i) step(phase, phase + "-" + std::to_string(i));
      add(phase, {{"type", "attempt"},
                  {"attempt_id", phase + ".1"},
                  {"signals", Json::array()},
                  {"verdict", "passed"}});
      add("", {{"type", "phase_sealed"},
               {"phase_id", phase},
               {"state", "COMPLETE"},
               {"outcome", "passed"},
               {"layer", ""},
               {"rows", rows_[phase]},
               {"head", heads_[phase]}});
    }
    add("", {{"type", "run_sealed"}, {"state", "COMPLETE"}, {"phases", std::move(sealed)}});
  }

  // A step that has not ended when the run is exported.
  void begin(const std::string& phase, const std::string& id) {
    add(phase, {{"type", "pre_execute"}, {"label", phase + ".x"}, {"sandbox_run_id", id}, {"execution", 1}});
  }
  // A step whose last row names its cost row, which has `backend`.
  void end_with_cost(const std::string& phase, const std::string& id, const std::string& backend) {
    begin(phase, id);
    cost_lines_.push_back(store::cost_row({.workflow_id = "w",
                                           .run_id = "r",
                                           .gate_id = "agent",
                                           .sandbox_run_id = id,
                                           .backend = backend,
                                           .gate_isolation_class = "shared_kernel"}));
    cost_ += cost_lines_.back() + "\n";
    add(phase, {{"type", "executed"},
                {"label", phase + ".x"},
                {"sandbox_run_id", id},
                {"exit_code", 0},
                {"cost", blake3_hex(cost_lines_.back())}});
  }
  // Adds the usage of one call by that step's agent, in a line that a row names.
  void use(const std::string& phase, const std::string& id, std::int64_t tokens) {
    const std::string line = store::usage_line({.workflow_id = "w",
                                                .run_id = "r",
                                                .phase_id = phase,
                                                .attempt_id = phase + ".1",
                                                .sandbox_run_id = id,
                                                .usage_id = "call",
                                                .model = "m",
                                                .source = "agent",
                                                .input_tokens = tokens,
                                                .emitted_at = "2026-01-02T03:04:05.000000Z"});
    usage_ += line + "\n";
    usage_lines_.push_back(line);
    add(phase, {{"type", "usage"}, {"sandbox_run_id", id}, {"rows", 1}, {"lines", blake3_hex(line + "\n")}});
  }
  void resume(const std::string& phase, const std::string& id, const std::string& decision) {
    add(phase, {{"type", "resume"}, {"label", phase + ".x"}, {"sandbox_run_id", id}, {"decision", decision}});
  }

  // The files as the database has them: the head lists neither chains that a seal ends nor cost rows.
  ledger::Files files_of_database() const {
    auto out = files();
    out.head = std::move(out.store_head);
    out.store_head.clear();
    return out;
  }

  ledger::Files files() const {
    ledger::Files out{.run = text_.at("")};
    for (const std::string phase : {"one", "two"}) out.phases.emplace_back(phase, text_.at(phase));
    out.sandbox_cost = cost_;
    out.agent_usage = usage_;
    Json chains = Json::object(), lines = Json::array(), usage_lines = Json::array();
    for (const auto& [chain, head] : heads_) chains[chain] = {{"rows", rows_.at(chain)}, {"head", head}};
    for (const auto& line : cost_lines_) lines.push_back(blake3_hex(line));
    for (const auto& line : usage_lines_) usage_lines.push_back(blake3_hex(line));
    out.store_head =
        signed_head(canonical({{"run_id", "r"},
                               {"signed_at", "2026-01-02T03:04:05.000000Z"},
                               {"chains", {{"", {{"rows", rows_.at("")}, {"head", heads_.at("")}}}}}}));
    out.head = signed_head(canonical({{"run_id", "r"},
                                      {"signed_at", "2026-01-02T03:04:05.000000Z"},
                                      {"chains", std::move(chains)},
                                      {"cost", {{"lines", std::move(lines)}}},
                                      {"usage", {{"lines", std::move(usage_lines)}}},
                                      {"store_head", blake3_hex(out.store_head)}}));
    return out;
  }
  // The content of head.json, signed with the key of this run.
  std::string signed_head(const std::string& body) const {
    const auto head = sealer_->sign(body);
    return canonical({{"body", head.body}, {"public_key", head.public_key}, {"signature", head.signature}}) +
           "\n";
  }
  const std::string& head() const { return heads_.at(""); }
  std::string public_key() const { return *ledger::public_key_of(folder_.path()); }

 private:
  void add(const std::string& chain, Json content) {
    if (change_ && !change_(content)) return;
    auto& rows = rows_[chain];
    auto& head = heads_.try_emplace(chain, kZeroHash).first->second;
    const auto sealed = ledger::seal_row(members_of(content), ++rows, {1'767'323'045'000'000 + rows}, head);
    head = sealed.hash;
    text_[chain] += sealed.line + "\n";
  }
  void step(const std::string& phase, const std::string& id) {
    begin(phase, id);
    add(phase, {{"type", "executed"}, {"label", phase + ".x"}, {"sandbox_run_id", id}, {"exit_code", 0}});
    cost_lines_.push_back(store::cost_row({.workflow_id = "w",
                                           .run_id = "r",
                                           .gate_id = "agent",
                                           .sandbox_run_id = id,
                                           .backend = "namespace",
                                           .gate_isolation_class = "shared_kernel"}));
    cost_ += cost_lines_.back() + "\n";
  }

  const Change change_;
  TempFolder folder_;
  std::shared_ptr<const store::RowSealer> sealer_;
  std::map<std::string, std::string> text_, heads_;
  std::map<std::string, std::int64_t> rows_;
  std::vector<std::string> cost_lines_, usage_lines_;
  std::string cost_, usage_;
};

}  // namespace pawl::testing
