// Checks all chains of a run against each other, against the signed head, and against the cost rows. Pure.
#include <algorithm>
#include <array>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "base/hash.h"
#include "base/json.h"
#include "base/lines.h"
#include "ledger/chain.h"
#include "ledger/ledger.h"
#include "ledger/run_rows.h"
#include "ledger/signature.h"
#include "os/defences.h"
#include "store/cost_row.h"

namespace pawl::ledger {
namespace {

constexpr const char* kHeadFile = "head.json";
constexpr const char* kStoreHeadFile = "store_head.json";
constexpr const char* kCostFile = "cost/sandbox.jsonl";
constexpr const char* kUsageFile = "cost/agent.jsonl";
constexpr const char* kUnlisted = "the signed head does not list this file";
constexpr const char* kOtherRun = "it is a row of another run";

// Reads head.json or store_head.json; nullopt when the text is not canonical JSON.
std::optional<store::Head> head_in(const std::string& text) {
  const auto json = parse_json(text);
  if (!json || canonical(*json) + "\n" != text) return std::nullopt;
  return store::Head{.body = text_in(*json, "body"),
                     .public_key = text_in(*json, "public_key"),
                     .signature = text_in(*json, "signature")};
}

class Verifier {
 public:
  Verifier(const Files& files, const Trust& trust) : files_(files), trust_(trust) {}

  Report run() {
    chains_.emplace("", check_chain(kRunFile, files_.run));
    for (const auto& [phase_id, text] : files_.phases)
      chains_.emplace(phase_id, check_chain(phase_file(phase_id), text));
    read_head();
    if (head_) check_signed_ends();
    if (head_ && !any_problem()) check_whose_head();
    check_anchor();
    if (head_ && !any_problem()) check_store_head();
    if (!any_problem()) check_seals();
    if (!any_problem()) check_rows_of_run();
    check_empty_files();
    if (os::defences().costs) check_cost();
    if (os::defences().costs && !any_problem()) check_usage();
    return report();
  }

 private:
  void problem(std::string kind, std::string file, std::int64_t row, std::string detail) {
    problems_.push_back({std::move(kind), std::move(file), row, std::move(detail)});
  }
  bool any_problem() const {
    return !problems_.empty() ||
           std::ranges::any_of(chains_, [](const auto& each) { return !each.second.problems.empty(); });
  }

  void read_head() {
    if (files_.head.empty()) {
      // A run has a signed head from its creation on.
      return problem("missing", kHeadFile, 0,
                     "there is no signed head, so rows that are missing at the end can't be detected");
    }
    const auto head = head_in(files_.head);
    if (!head) return problem("changed", kHeadFile, 1, "it is not canonical JSON, so Pawl did not write it");
    report_.public_key = head->public_key;
    if (!trust_.public_key.empty() && report_.public_key != trust_.public_key)
      return problem("forged", kHeadFile, 1, "it is signed by another key than the trusted one");
    if (!signature_holds(head->body, head->public_key, head->signature))
      return problem("forged", kHeadFile, 1, "its signature does not fit its text");
    auto parsed = parse_json(head->body);
    if (!parsed || !parsed->contains("chains") || !(*parsed)["chains"].is_object())
      return problem("forged", kHeadFile, 1, "the signed text is not a head");
    head_ = *std::move(parsed);
    report_.is_signed = true;
  }

  void check_whose_head() {
    const auto row = parse_json(first_line(files_.run));
    if (!row || text_in(*row, "run_id") != text_in(*head_, "run_id"))
      problem("forged", kHeadFile, 1, "it is the head of another run");
  }

  // The rows that the database's head lists are in the export.
  void check_store_head() {
    const bool is_named = head_->contains("store_head");
    if (files_.store_head.empty()) {
      if (is_named) problem("missing", kStoreHeadFile, 0, "the signed head names this file");
      if (!is_named && head_->contains("cost")) lacks_[{"head", "store_head"}] = 1;
      return;
    }
    if (is_named && blake3_hex(files_.store_head) != text_in(*head_, "store_head"))
      return problem("changed", kStoreHeadFile, 1, "its hash is not the one in the signed head");
    const auto head = head_in(files_.store_head);
    if (!head || head->public_key != report_.public_key ||
        !signature_holds(head->body, head->public_key, head->signature))
      return problem("forged", kStoreHeadFile, 1, "it is not signed by the key of " + std::string(kHeadFile));
    const auto body = parse_json(head->body);
    if (!body || text_in(*body, "run_id") != text_in(*head_, "run_id"))
      return problem("forged", kStoreHeadFile, 1, "it is not a head of this run");
    for (const auto& [name, end] : object_in(*body, "chains").items()) {
      const auto rows = integer_in(end, "rows");
      const auto chain = chains_.find(name);
      const bool is_there = chain != chains_.end() && rows <= chain->second.rows;
      if (rows > 0 &&
          (!is_there || chain->second.hashes[static_cast<std::size_t>(rows) - 1] != text_in(end, "head")))
        problem("forged", kStoreHeadFile, 1,
                (name.empty() ? std::string(kRunFile) : phase_file(name)) +
                    " does not have the rows that it lists");
    }
  }

  void check_rows_of_run() {
    auto found = check_run_rows(files_, chains_);
    std::ranges::move(found.problems, std::back_inserter(problems_));
    for (const auto& lack : found.lacks) lacks_[{lack.type, lack.member}] += lack.rows;
  }

  // The end of a chain when the head was signed.
  struct End {
    std::int64_t rows = 0;
    std::string head;
  };

  // By chain: the end that the head lists. For a phase that it does not list, the newest seal among the run's
  // rows that the head covers.
  std::map<std::string, End> signed_ends() const {
    std::map<std::string, End> ends;
    const auto& listed = (*head_)["chains"];
    const auto run = listed.find("");
    const std::int64_t run_rows = run == listed.end() ? 0 : integer_in(*run, "rows");
    for (const auto seal : chains_.at("").seals) {
      const auto json = parse_json(seal);
      if (!json || integer_in(*json, "seq") > run_rows || !json->contains("phase_id")) continue;
      ends[text_in(*json, "phase_id")] = {.rows = integer_in(*json, "rows"), .head = text_in(*json, "head")};
    }
    for (const auto& [name, end] : listed.items())
      ends[name] = {.rows = integer_in(end, "rows"), .head = text_in(end, "head")};
    return ends;
  }

  void check_signed_ends() {
    const auto ends = signed_ends();
    for (const auto& [name, end] : ends) {
      const auto found = chains_.find(name);
      if (found != chains_.end())
        check_end(found->second, end);
      else if (end.rows > 0)
        problem("missing", phase_file(name), 0, "the signed head lists this file");
    }
    if (!chains_.at("").problems.empty()) return;  // a seal may be among the damaged rows
    for (const auto& [name, chain] : chains_) {
      if (ends.contains(name) || chain.rows == 0) continue;
      if (trust_.live && chain.last_decision > 0)
        problem("extra", chain.file, chain.last_decision,
                "a row of its kind is always signed, and no signed head covers it");
      else if (trust_.live)
        report_.unsigned_rows += chain.rows;
      else
        problem("extra", chain.file, 0, kUnlisted);
    }
  }

  // The phases that a fork shares: their rows are in the other run. The row `forked` is the second one.
  std::unordered_set<std::string> shared_phases() const {
    std::unordered_set<std::string> out;
    auto line = TextLines(files_.run).begin();
    const auto row = parse_json(*++line);
    if (!row || text_in(*row, "type") != "forked") return out;
    for (const auto& phase : list_in(*row, "shared")) out.insert(text_in(phase, "phase_id"));
    return out;
  }

  // A phase without rows that neither the head nor a seal names. It comes after the rows of the run: they say
  // more, and no row of theirs depends on an empty file.
  void check_empty_files() {
    if (!head_ || trust_.live || files_.run.empty() || !chains_.at("").problems.empty()) return;
    const auto ends = signed_ends();
    const auto shared = shared_phases();
    for (const auto& [name, chain] : chains_)
      if (chain.rows == 0 && !name.empty() && !ends.contains(name) && !shared.contains(name))
        problem("extra", chain.file, 0, kUnlisted);
  }

  void check_end(const Chain& chain, const End& end) {
    const auto& [rows, head] = end;
    if (!chain.problems.empty()) return;  // its damage is reported already, and moves its end
    if (chain.rows < rows)
      return problem("truncated", chain.file, chain.rows + 1,
                     "the signed head lists " + std::to_string(rows) + " rows, the file has " +
                         std::to_string(chain.rows));
    if (rows > 0 && chain.hashes[static_cast<std::size_t>(rows) - 1] != head)
      return problem("forged", chain.file, rows,
                     "its rows fit together, but this is not the chain that was signed");
    if (chain.rows == rows) return;
    if (trust_.live && chain.last_decision > rows)
      problem("extra", chain.file, chain.last_decision,
              "a row of its kind is always signed, and no signed head covers it");
    else if (trust_.live)
      report_.unsigned_rows += chain.rows - rows;
    else
      problem("extra", chain.file, rows + 1, "the signed head does not cover it");
  }

  void check_anchor() {
    if (trust_.anchor.empty()) return;
    const Chain& run = chains_.at("");
    if (std::ranges::find(run.hashes, trust_.anchor) != run.hashes.end() || any_problem()) return;
    problem("forged", kRunFile, 0, "no row has the hash of the anchor " + trust_.anchor);
  }

  // Compares the chains of phases with their seals in the run's chain.
  void check_seals() {
    const Chain& run = chains_.at("");
    for (const auto seal : run.seals) {
      const auto json = parse_json(seal);
      if (!json) continue;  // cannot happen: its hash is valid, so Pawl wrote it
      if (json->contains("phase_id"))
        check_seal(*json, *json);
      else if (const auto phases = json->find("phases"); phases != json->end())
        for (const auto& phase : *phases) check_seal(*json, phase);
    }
  }

  void check_seal(const Json& row, const Json& sealed) {
    const std::string phase_id = text_in(sealed, "phase_id");
    const auto rows = integer_in(sealed, "rows");
    const auto found = chains_.find(phase_id);
    const auto seq = integer_in(row, "seq");
    if (rows == 0) return;
    if (rows < 0)
      return problem("forged", phase_file(phase_id), 0,
                     "row " + std::to_string(seq) + " of run.jsonl says that this chain has " +
                         std::to_string(rows) + " rows");
    if (found == chains_.end() || found->second.rows < rows)
      return problem("truncated", phase_file(phase_id), found == chains_.end() ? 0 : found->second.rows + 1,
                     "row " + std::to_string(seq) + " of run.jsonl says that this chain has " +
                         std::to_string(rows) + " rows");
    if (found->second.hashes[static_cast<std::size_t>(rows) - 1] != text_in(sealed, "head"))
      problem("forged", phase_file(phase_id), rows,
              "row " + std::to_string(seq) + " of run.jsonl sealed another hash for this row");
  }

  void check_cost() {
    check_lines(kCostFile, files_.sandbox_cost, "cost");
    if (any_problem()) return;
    std::unordered_set<std::string_view> started;
    std::unordered_set<std::string_view> open;
    for (const auto& [name, chain] : chains_) {
      started.insert(chain.started.begin(), chain.started.end());
      open.insert(chain.open);
    }
    std::unordered_map<std::string_view, std::string_view> costs;
    for (const auto& [name, chain] : chains_) costs.insert(chain.costs.begin(), chain.costs.end());
    std::unordered_set<std::string_view> counted;
    std::int64_t row = 0;
    for (const auto line : TextLines(files_.sandbox_cost)) {
      // Rows of older versions do not name the cost row.
      const auto stated = costs.find(sandbox_run_id_of(line));
      if (stated != costs.end() && !has_hash(line, stated->second)) {
        problem("changed", kCostFile, ++row, "its hash is not the one in the ledger row that ends its step");
        counted.insert(stated->first);
      } else {
        check_cost_row(line, ++row, started, counted);
      }
    }
    // A step that has not ended gets its cost row at its end. In a run that goes on, a step whose end names
    // no cost row is not missed: an older version wrote that end.
    for (const auto id : started)
      if (!counted.contains(id) && !open.contains(id) && (!trust_.live || costs.contains(id)))
        problem("missing", kCostFile, 0, "step " + std::string(id) + " has no cost row");
  }

  void check_cost_row(std::string_view line, std::int64_t row,
                      const std::unordered_set<std::string_view>& started,
                      std::unordered_set<std::string_view>& counted) {
    const auto facts = store::read_cost_row(line);
    const auto id = sandbox_run_id_of(line);
    const bool known = started.contains(id), is_first = known && counted.insert(id).second;
    if (!facts) return problem("changed", kCostFile, row, facts.error().message);
    if (is_of_another_run(facts->run_id)) return problem("forged", kCostFile, row, kOtherRun);
    if (is_first) return;
    problem("extra", kCostFile, row,
            known ? "it is a second cost row of step " + std::string(id)
                  : "the run did not start step " + std::string(id));
  }

  bool is_of_another_run(const std::string& run_id) const {
    return head_ && run_id != text_in(*head_, "run_id");
  }

  // The head of an export lists the lines of a file, so damage can be named row by row. Heads of the database
  // and of older versions do not.
  void check_lines(const char* file, const std::string& text, const char* member) {
    if (head_ && head_->contains(member)) return check_lines_against_head(file, text, (*head_)[member]);
    if (!text.empty() && !text.ends_with('\n'))
      problem("truncated", file, std::ranges::count(text, '\n') + 1,
              "the last row is incomplete: no newline ends it");
  }

  // nullopt: the value is not exactly {"lines": [texts]}. No export has another one, also without lines.
  static std::optional<std::vector<std::string>> lines_in(const Json& of_head) {
    const auto lines = of_head.is_object() ? of_head.find("lines") : of_head.end();
    if (lines == of_head.end() || of_head.size() != 1 || !lines->is_array()) return std::nullopt;
    std::vector<std::string> listed;
    for (const auto& hash : *lines) {
      if (!hash.is_string()) return std::nullopt;
      listed.push_back(hash.get<std::string>());
    }
    return listed;
  }

  void check_lines_against_head(const char* file, const std::string& text, const Json& of_head) {
    const auto stated = lines_in(of_head);
    if (!stated)
      return problem("forged", kHeadFile, 1,
                     "what it says of " + std::string(file) + " is not a list of hashes");
    const auto& listed = *stated;
    auto found = check_listed(file, text, listed);
    const auto expected = static_cast<std::int64_t>(listed.size());
    if (found.problems.empty() && found.rows < expected)
      problem("truncated", file, found.rows + 1,
              "the signed head lists " + std::to_string(expected) + " rows, the file has " +
                  std::to_string(found.rows));
    problems_.insert(problems_.end(), found.problems.begin(), found.problems.end());
  }

  // The lines of one step in cost/agent.jsonl.
  struct UsageLines {
    std::string text;
    std::int64_t rows = 0, first = 0;
  };
  using UsageBySteps = std::map<std::string_view, UsageLines>;

  // A ledger row `usage` has the hash of the lines that were written with it.
  void check_usage() {
    check_lines(kUsageFile, files_.agent_usage, "usage");
    if (head_ && head_->contains("cost") && !head_->contains("usage") && !files_.agent_usage.empty())
      lacks_[{"head", "usage"}] = 1;
    auto by_step = usage_by_steps();
    if (!problems_.empty()) return;
    for (const auto& [name, chain] : chains_) {
      std::int64_t last = 0;  // the first line of the step before
      for (const auto row : chain.usages) last = check_usage_row(chain, row, by_step, last);
    }
    for (const auto& [id, lines] : by_step)
      problem("extra", kUsageFile, lines.first,
              "the ledger has no row about usage of step " + std::string(id));
  }

  UsageBySteps usage_by_steps() {
    UsageBySteps by_step;
    std::int64_t row = 0;
    for (const auto line : TextLines(files_.agent_usage)) {
      auto& lines = by_step[sandbox_run_id_of(line)];
      if (lines.rows++ == 0) lines.first = row + 1;
      const auto facts = store::read_usage_line(line);
      ++row;
      if (!facts) problem("changed", kUsageFile, row, facts.error().message);
      if (facts && is_of_another_run(facts->run_id)) problem("forged", kUsageFile, row, kOtherRun);
      lines.text.append(line).append("\n");
    }
    return by_step;
  }

  // Compares the lines of a step with its row, and their place with that of the lines of the chain's row
  // before. Returns the place.
  std::int64_t check_usage_row(const Chain& chain, std::string_view row, UsageBySteps& by_step,
                               std::int64_t last) {
    const auto stated = parse_json(row);
    const auto found = by_step.find(sandbox_run_id_of(row));
    const std::int64_t rows = stated ? integer_in(*stated, "rows") : 0;
    const UsageLines lines = found == by_step.end() ? UsageLines() : std::move(found->second);
    if (found != by_step.end()) by_step.erase(found);
    const auto name = "row " + std::to_string(stated ? integer_in(*stated, "seq") : 0) + " of " + chain.file;
    const bool fits = stated && lines.rows == rows && blake3_hex(lines.text) == text_in(*stated, "lines");
    if (fits && rows > 0 && lines.first < last)
      problem("reordered", kUsageFile, lines.first, "the usage rows of " + name + " come after later ones");
    if (fits) return std::max(last, lines.first);
    problem(lines.rows < rows   ? "missing"
            : lines.rows > rows ? "extra"
                                : "changed",
            kUsageFile, lines.first,
            name + " has the number (" + std::to_string(rows) +
                ") and the hash of the usage rows of its step; these differ");
    return last;
  }

  Report report() {
    const Chain& run = chains_.at("");
    if (!run.hashes.empty()) report_.head = run.hashes.back();
    for (auto& [name, chain] : chains_) {
      report_.rows += chain.rows;
      report_.problems.insert(report_.problems.end(), chain.problems.begin(), chain.problems.end());
      for (const auto& [what, rows] : chain.lacks)
        lacks_[{std::string(what.first), std::string(what.second)}] += rows;
    }
    for (const auto& [what, rows] : lacks_)
      report_.lacks.push_back({.type = what.first, .member = what.second, .rows = rows});
    report_.problems.insert(report_.problems.end(), problems_.begin(), problems_.end());
    report_.ok = report_.problems.empty();
    return std::move(report_);
  }

  const Files& files_;
  const Trust& trust_;
  std::map<std::string, Chain> chains_;
  std::optional<Json> head_;
  std::vector<Problem> problems_;
  std::map<std::pair<std::string, std::string>, std::int64_t> lacks_;  // rows by type and member
  Report report_;
};

}  // namespace

Report verify(const Files& files, const Trust& trust) { return Verifier(files, trust).run(); }

std::string lack_text(const Lack& lack) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 15> kMeanings = {{
      {"planned", "the plan's part for each phase"},
      {"before", "the run that was made before it"},
      {"source_folder", "the folder of the source, in its planned row"},
      {"tiers", "the order of the phases and the limits of their attempts"},
      {"caps", "what the run may spend"},
      {"layer", "the work"},
      {"feedback", "the feedback for the next agent"},
      {"stack", "the work that the gates saw"},
      {"inventories", "what the gates found on base"},
      {"run", "the whole result"},
      {"cost", "the cost row"},
      {"merge_seq", "the place in the order of accepted work"},
      {"spent_ms", "how long the step ran"},
      {"store_head", "the head that the database had signed"},
      {"usage", "the order of the usage rows"},
  }};
  const auto found =
      std::ranges::find(kMeanings, lack.member, &std::pair<std::string_view, std::string_view>::first);
  const std::string meaning = found == kMeanings.end() ? "" : " (" + std::string(found->second) + ")";
  return std::to_string(lack.rows) + " row(s) of type " + lack.type + " have no " + lack.member + meaning;
}

Json to_json(const Report& report) {
  Json problems = Json::array(), lacks = Json::array();
  for (const auto& lack : report.lacks)
    lacks.push_back({{"type", lack.type}, {"member", lack.member}, {"rows", lack.rows}});
  for (const auto& problem : report.problems)
    problems.push_back(
        {{"kind", problem.kind}, {"file", problem.file}, {"row", problem.row}, {"detail", problem.detail}});
  return {{"ok", report.ok},
          {"rows", report.rows},
          {"head", report.head},
          {"signed", report.is_signed},
          {"public_key", report.public_key},
          {"unsigned_rows", report.unsigned_rows},
          {"lacks", std::move(lacks)},
          {"problems", std::move(problems)}};
}

}  // namespace pawl::ledger
