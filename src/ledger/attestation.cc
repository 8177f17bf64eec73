// Makes statements from the rows of a run.
#include "ledger/attestation.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/hash.h"
#include "ledger/attested.h"
#include "ledger/rows.h"

namespace pawl::ledger {
namespace {

// nullptr: no row matches.
template <typename Matches>
const Json* newest(const Rows& rows, Matches matches) {
  const auto found = std::ranges::find_if(rows.rbegin(), rows.rend(), matches);
  return found == rows.rend() ? nullptr : &*found;
}
Json resource(const std::string& name, const char* algorithm, const std::string& digest) {
  return {{"name", name}, {"digest", {{algorithm, digest}}}};
}

Json gates_of(const Json& attempt) {
  Json out = Json::array();
  for (const auto& signal : list_in(attempt, "signals")) {
    const std::string gate_id = text_in(signal, "gate_id");
    const bool passed = flag_in(signal, "passed");
    auto gate = std::ranges::find_if(out, [&](const Json& each) { return each["gate_id"] == gate_id; });
    if (gate == out.end()) {
      out.push_back({{"gate_id", gate_id}, {"passed", true}, {"signals", Json::array()}});
      gate = out.end() - 1;
    }
    (*gate)["passed"] = (*gate)["passed"].get<bool>() && passed;
    Json shown = {
        {"kind", text_in(signal, "kind")}, {"passed", passed}, {"missing", flag_in(signal, "missing")}};
    if (flag_in(signal, "flaky")) shown["flaky"] = true;
    (*gate)["signals"].push_back(std::move(shown));
  }
  return out;
}

Json attempt_json(const Json& row) {
  return {{"attempt_id", text_in(row, "attempt_id")}, {"revision", integer_in(row, "revision")},
          {"model", text_in(row, "model")},           {"verdict", text_in(row, "verdict")},
          {"started_at", text_in(row, "started_at")}, {"ended_at", text_in(row, "ended_at")},
          {"build", text_in(row, "build")},           {"gates", gates_of(row)}};
}

class Statement {
 public:
  Statement(const store::RunRow& run, const Work& work) : run_(run), work_(work) {}

  Result<Json> make(const Files& files, const std::string& public_key) {
    PAWL_TRY(rows_, rows_of(files.run));
    for (const auto& [phase_id, text] : files.phases) {
      PAWL_TRY(phases_[phase_id], rows_of(text));
    }
    if (rows_.empty() || text_in(rows_.back(), "type") != "run_sealed")
      return fail(ErrorKind::kInvalid, "run " + run_.run_id + " is not sealed");
    PAWL_OK(check_run());
    PAWL_TRY(auto byproducts, chains());
    return Json{{"_type", kStatementType},
                {"subject", subjects()},
                {"predicateType", kPredicateType},
                {"predicate",
                 {{"buildDefinition", definition()},
                  {"runDetails",
                   {{"builder", {{"id", kBuilderPrefix + public_key}, {"version", {{"pawl", PAWL_VERSION}}}}},
                    {"metadata",
                     {{"invocationId", run_.run_id},
                      {"startedOn", text_in(started(), "at")},
                      {"finishedOn", text_in(rows_.back(), "at")}}},
                    {"byproducts", std::move(byproducts)}}}}}};
  }

 private:
  const Json& started() const { return rows_.front(); }

  std::unexpected<Error> contradicted(const std::string& what) const {
    return fail(ErrorKind::kCorrupt,
                what + " of run " + run_.run_id +
                    " is not what its ledger says: restore the state folder from a backup");
  }

  // Compares the plan and the base, from which the patch and the commit were made, with the first row.
  Status check_run() const {
    const auto is = [&](const char* key, const std::string& value) {
      return text_in(started(), key) == value;
    };
    if (!is("type", "run_started") || !is("run_id", run_.run_id)) return contradicted("the id");
    if (!is("plan_hash", blake3_hex(work_.plan_text)) || !is("plan_content", run_.plan_content))
      return contradicted("the plan");
    if (!is("base_id", run_.base_id) || !is("base_commit", run_.base_commit)) return contradicted("the base");
    return {};
  }

  Json subjects() const {
    Json out = Json::array({resource(run_.run_id + ".patch", "sha256", sha256_hex(work_.patch))});
    if (!work_.commit.empty()) out.push_back(resource("pawl/" + run_.run_id, "gitCommit", work_.commit));
    return out;
  }

  Json definition() const {
    Json plan = resource("plan.yaml", "blake3", text_in(started(), "plan_hash"));
    plan["digest"]["sha256"] = sha256_hex(work_.plan_text);
    Json from = Json::array({std::move(plan)});
    from.push_back(resource("plan/manifest.jsonl", "blake3", run_.plan_content));
    if (!work_.policy_blake3.empty()) from.push_back(resource("policy", "blake3", work_.policy_blake3));
    from.push_back(resource("source/manifest.jsonl", "blake3", run_.base_id));
    if (!run_.base_commit.empty()) from.push_back(resource("source", "gitCommit", run_.base_commit));
    if (const Json* forked = newest_of_type(rows_, "forked"))
      from.push_back(resource("runs/" + text_in(*forked, "from_run") + "/run.jsonl", kHeadDigest,
                              text_in(*forked, "head")));
    return {
        {"buildType", kBuildType},
        {"externalParameters", {{"workflow_id", text_in(started(), "workflow_id")}, {"plan", "plan.yaml"}}},
        {"internalParameters", {{"backend", text_in(started(), "backend")}}},
        {"resolvedDependencies", std::move(from)}};
  }

  // The run's chain, then the chains of its phases in the plan's order.
  Result<Json> chains() const {
    Json run = resource(kRunChain, kHeadDigest, text_in(rows_.back(), "hash"));
    run["annotations"]["pawl_run"] = {{"rows", static_cast<std::int64_t>(rows_.size())},
                                      {"state", text_in(rows_.back(), "state")}};
    Json out = Json::array({std::move(run)});
    for (const auto& phase_id : list_in(started(), "phases")) {
      PAWL_TRY(auto chain, chain_of(phase_id.is_string() ? phase_id.get<std::string>() : ""));
      out.push_back(std::move(chain));
    }
    return out;
  }

  Result<Json> chain_of(const std::string& phase_id) const {
    bool is_shared = false;
    const Json* seal = seal_of(rows_, phase_id, &is_shared);
    std::string name = "phases/" + phase_id + "/attempts.jsonl";
    if (is_shared) name = "runs/" + text_in(*newest_of_type(rows_, "forked"), "from_run") + "/" + name;
    const auto rows = phases_.find(phase_id);
    const auto count = rows == phases_.end() ? 0 : static_cast<std::int64_t>(rows->second.size());
    if (seal == nullptr || (!is_shared && integer_in(*seal, "rows") != count))
      return fail(ErrorKind::kInvalid, "phase " + phase_id + " of run " + run_.run_id + " is not sealed");
    Json phase = {{"phase_id", phase_id},
                  {"state", text_in(*seal, "state")},
                  {"outcome", text_in(*seal, "outcome")},
                  {"cause", text_in(*seal, "cause")},
                  {"attempts_used", integer_in(*seal, "attempts_used")},
                  {"attempts_total", integer_in(*seal, "attempts_total")},
                  {"rows", integer_in(*seal, "rows")}};
    PAWL_TRY(phase["accepted_by"], accepted_by(phase, *seal, is_shared));
    if (const Json* attempt = newest_attempt(phase_id)) phase["attempt"] = attempt_json(*attempt);
    Json out = resource(name, kHeadDigest, text_in(*seal, "head"));
    out["annotations"]["pawl_phase"] = std::move(phase);
    return out;
  }

  const Json* newest_attempt(const std::string& phase_id) const {
    const auto rows = phases_.find(phase_id);
    return rows == phases_.end() ? nullptr : newest_of_type(rows->second, "attempt");
  }

  // By whom the work of a phase was accepted: "gates", "operator", "other_run"; "" when it was not.
  Result<std::string> accepted_by(const Json& phase, const Json& seal, bool is_shared) const {
    const std::string phase_id = text_in(phase, "phase_id");
    const auto layer = std::ranges::find(work_.layers, phase_id, &store::LayerRow::phase_id);
    const bool is_complete = text_in(phase, "state") == "COMPLETE";
    if (is_complete != (layer != work_.layers.end())) return contradicted("the work of phase " + phase_id);
    if (!is_complete) return "";
    if (is_shared) return "other_run";
    const Json* attempt = newest_attempt(phase_id);
    if (attempt == nullptr || text_in(*attempt, "verdict") != "passed") return "operator";
    const std::string accepted =
        seal.contains("layer") ? text_in(seal, "layer") : layer_of(phase_id, *attempt);
    if (layer->layer_id != accepted) return contradicted("the work of phase " + phase_id);
    return "gates";
  }

  // The accepted layer for a seal of an older version, which does not name it. It is the work of the
  // attempt's agent, without what the source ignores. With several episodes it is the work of the chosen one.
  std::string layer_of(const std::string& phase_id, const Json& attempt) const {
    for (const auto& signal : list_in(attempt, "signals"))
      if (text_in(signal, "kind") == "ignored" && text_in(signal, "gate_id") == "diff")
        return text_in(object_in(signal, "details"), "work");
    std::string end;
    for (const auto& episode : list_in(attempt, "episodes"))
      if (episode.contains("kept_by")) end = fmt::format(".episode{}", integer_in(episode, "episode"));
    const Json* agent = newest(phases_.at(phase_id), [&](const Json& row) {
      return text_in(row, "type") == "executed" &&
             text_in(row, "attempt_id") == text_in(attempt, "attempt_id") &&
             text_in(row, "label").starts_with(phase_id + ".agent.") && text_in(row, "label").ends_with(end);
    });
    return agent == nullptr ? "" : text_in(*agent, "layer");
  }

  const store::RunRow& run_;
  const Work& work_;
  Rows rows_;  // rows of the run's chain
  std::map<std::string, Rows> phases_;
};

}  // namespace

Result<Json> statement_of(const store::RunRow& run, const Files& files, const Work& work,
                          const std::string& public_key) {
  return Statement(run, work).make(files, public_key);
}

}  // namespace pawl::ledger
