#include "ledger/run_rows.h"

#include <algorithm>

#include "ledger/rows.h"
#include "ledger/step_order.h"
#include "os/defences.h"
#include "store/ended_phases.h"
#include "store/limits.h"

namespace pawl::ledger {
namespace {

class RunRowsChecker {
 public:
  RunRowsChecker(const Rows& rows, const std::map<std::string, Chain>& chains)
      : rows_(rows), started_(rows.front()), chains_(chains) {}

  RunRows run() {
    if (!started_.contains("planned")) {
      lacks("run_started", "planned");
      lacks("run_started", "before");
    }
    for (const char* member : {"tiers", "caps"})
      if (!started_.contains(member)) lacks("run_started", member);
    for (const auto& row : rows_) {
      const std::string type = text_in(row, "type");
      if (type == "forked") share(row);
      if (type == "phase_sealed") seal(row);
      if (type == "run_sealed") check_end(row);
    }
    check_steps();
    if (is_stack_known_ && out_.problems.empty()) check_stacks();
    return std::move(out_);
  }

 private:
  using Numbers = std::map<std::string, std::int64_t>;

  void problem(std::string file, const Json& row, std::string detail) {
    if (!os::defences().agreement) return;
    out_.problems.push_back({.kind = "forged",
                             .file = std::move(file),
                             .row = integer_in(row, "seq"),
                             .detail = std::move(detail)});
  }

  void lacks(const char* type, const char* member) {
    const auto known = std::ranges::find_if(
        out_.lacks, [&](const Lack& lack) { return lack.type == type && lack.member == member; });
    auto& lack =
        known == out_.lacks.end() ? out_.lacks.emplace_back(Lack{.type = type, .member = member}) : *known;
    ++lack.rows;
  }

  // Accepted work becomes a part of the stack of each later phase.
  void accept(const store::AcceptedByRows& accepted) {
    if (!accepted.layer) is_stack_known_ = false;
    if (accepted.layer && !accepted.layer->empty()) stack_.insert(stack_.begin(), *accepted.layer);
  }

  void share(const Json& row) {
    ended_.add(row);
    const auto& accepted = ended_.accepted();
    for (const auto& each : accepted) accept(each);
    const auto says_no = [](const auto& each) { return !each.layer; };
    const auto has_no_place = [](const auto& each) { return each.merge_seq == 0; };
    if (std::ranges::any_of(accepted, says_no)) lacks("forked", "layer");
    if (std::ranges::none_of(accepted, has_no_place)) return;
    lacks("forked", "merge_seq");
    if (stack_.size() > 1) is_stack_known_ = false;
  }

  void seal(const Json& row) {
    if (!row.contains("layer")) lacks("phase_sealed", "layer");
    check_turn(row);
    const auto before = ended_.accepted().size();
    ended_.add(row);
    if (ended_.accepted().size() == before) return;
    if (text_in(row, "outcome") == name(store::PhaseOutcome::kPassed)) check_passed(row);
    accept(ended_.accepted().back());
  }

  // A phase that ended by its own work had its turn: every phase that it waits for had an end before. A phase
  // that was skipped or cancelled needs no turn.
  void check_turn(const Json& seal) {
    const auto outcome = text_in(seal, "outcome");
    const std::string phase_id = text_in(seal, "phase_id");
    using enum store::PhaseOutcome;
    const auto is = [&](store::PhaseOutcome each) { return outcome == name(each); };
    if (!is(kPassed) && !is(kFailedUnrecoverable) && !is(kEscalate)) return;
    const auto& phases = list_in(started_, "phases");
    const auto id_of = [&](std::size_t place) {
      return phases[place].is_string() ? phases[place].get<std::string>() : "";
    };
    const auto count = std::min(phases.size(), tiers_.size());
    while (first_open_ < count && ended_.end_of(id_of(first_open_)) != nullptr) ++first_open_;
    if (first_open_ == count || id_of(first_open_) == phase_id) return;
    const auto own = std::ranges::find(phases, Json(phase_id)) - phases.begin();
    if (own >= std::ssize(tiers_) || own < static_cast<std::ptrdiff_t>(first_open_)) return;
    const auto tier = tiers_[static_cast<std::size_t>(own)];
    const bool waits = tiers_[first_open_] < tier ||
                       !flag_in(list_in(started_, "tiers")[static_cast<std::size_t>(tier)], "parallel");
    if (waits)
      problem(kRunFile, seal,
              "phase " + phase_id + " ended before phase " + id_of(first_open_) + ", for which it waits");
  }

  // The seal says `passed`: the gates accepted the newest attempt, and saw all work accepted by then.
  void check_passed(const Json& seal) {
    const std::string phase_id = text_in(seal, "phase_id");
    const auto chain = chains_.find(phase_id);
    const auto attempts = chain == chains_.end() ? std::vector<std::string_view>() : chain->second.attempts;
    const auto attempt = attempts.empty() ? Result<Json>(Json()) : parse_json(attempts.back());
    if (!attempt || text_in(*attempt, "verdict") != "passed")
      return problem(kRunFile, seal,
                     "it says that phase " + phase_id + " passed, but its last attempt did not");
    if (!is_stack_known_ || !attempt->contains("stack")) return;
    if (text_in(*attempt, "stack") != store::stack_hash(text_in(started_, "base_id"), stack_))
      problem(phase_file(phase_id), *attempt,
              "its gates ran on other work than the run had accepted by then");
  }

  // Every attempt names the place up to which it saw accepted work, whatever its verdict. Its stack must
  // agree.
  void check_stacks() {
    const auto& phases = list_in(started_, "phases");
    for (std::size_t i = 0; i < std::min(phases.size(), tiers_.size()); ++i)
      if (phases[i].is_string()) tier_of_[phases[i].get<std::string>()] = tiers_[i];
    for (const auto& accepted : ended_.accepted())
      place_of_.emplace(accepted.phase_id, std::ssize(place_of_));
    for (const auto& [phase_id, chain] : chains_) {
      Numbers rounds;  // place of the newest round, by attempt
      for (const auto line : chain.rounds)
        if (const auto row = parse_json(line))
          rounds[text_in(*row, "attempt_id")] = integer_in(*row, "merge_seq");
      for (const auto line : chain.attempts)
        if (const auto row = parse_json(line); row && row->contains("stack") && row->contains("merge_seq"))
          check_stack(phase_id, *row, rounds);
    }
  }

  void check_stack(const std::string& phase_id, const Json& attempt, const Numbers& rounds) {
    const auto round = rounds.find(text_in(attempt, "attempt_id"));
    const auto own = tier_of_.find(phase_id), own_place = place_of_.find(phase_id);
    const bool is_joined = round != rounds.end(), has_own = is_joined || flag_in(attempt, "own_tier");
    if (!has_own && own == tier_of_.end()) return;  // an older version started the run
    const auto place = is_joined ? round->second : integer_in(attempt, "merge_seq");
    const auto most = own_place == place_of_.end() ? std::ssize(place_of_) : own_place->second;
    const auto before = has_own ? std::nullopt : std::optional(own->second);
    if (place < 0 || place > most || text_in(attempt, "stack") != stack_up_to(place, before))
      problem(phase_file(phase_id), attempt, "its gates ran on other work than the run had accepted by then");
  }

  // `before`: only the work of tiers before that one.
  const std::string& stack_up_to(std::int64_t place, std::optional<std::int64_t> before) {
    const auto [known, is_new] = stacks_.try_emplace({place, before.value_or(-1)});
    if (!is_new) return known->second;
    std::vector<std::string> layers;
    for (auto one = ended_.accepted().begin() + place; one != ended_.accepted().begin();) {
      --one;
      const auto tier = tier_of_.find(one->phase_id);
      const bool is_below = !before || (tier != tier_of_.end() && tier->second < *before);
      if (is_below && one->layer && !one->layer->empty()) layers.push_back(*one->layer);
    }
    return known->second = store::stack_hash(text_in(started_, "base_id"), layers);
  }

  void check_steps() {
    for (const auto& [phase_id, chain] : chains_) {
      StepOrder order(phase_id);
      const auto check = [&, &chain = chain](std::int64_t seq, const std::string& detail) {
        if (!detail.empty()) problem(chain.file, Json{{"seq", seq}}, detail);
      };
      for (const auto row : chain.steps)
        if (const auto detail = order.add(row); !detail.empty()) check(seq_of_row(row), detail);
      for (const auto line : chain.attempts)
        if (const auto row = parse_json(line)) check(integer_in(*row, "seq"), order.check_work(*row));
    }
  }

  void check_end(const Json& row) {
    const auto state = ended_.state_of_run(started_);
    if (!state) return problem(kRunFile, row, "it ends the run, and " + state.error().message);
    if (text_in(row, "state") != name(*state))
      problem(kRunFile, row, "by its phases the run is " + std::string(name(*state)));
    for (const auto& phase : list_in(row, "phases")) {
      const auto* end = ended_.end_of(text_in(phase, "phase_id"));
      if (end == nullptr) continue;
      if (integer_in(phase, "rows") != end->end.rows || text_in(phase, "head") != end->end.head)
        problem(kRunFile, row,
                "it names another end of phase " + end->end.chain + " than the seal of that phase");
    }
  }

  const Rows& rows_;
  const Json& started_;
  const std::map<std::string, Chain>& chains_;
  const std::vector<std::int64_t> tiers_ = store::tiers_of_phases(started_);  // its phases', in their order
  std::size_t first_open_ = 0;  // all phases before this place have an end
  store::EndedPhases ended_;
  std::vector<std::string> stack_;  // accepted so far, newest first
  bool is_stack_known_ = true;
  // The tier of each phase; and the place, from 0, of each phase whose work is accepted.
  Numbers tier_of_, place_of_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::string> stacks_;  // by place and tier
  RunRows out_;
};

}  // namespace

RunRows check_run_rows(const Files& files, const std::map<std::string, Chain>& chains) {
  const auto rows = rows_of(files.run);
  if (!rows || rows->empty()) return {};
  return RunRowsChecker(*rows, chains).run();
}

std::string phase_file(const std::string& phase_id) { return "phases/" + phase_id + "/attempts.jsonl"; }

}  // namespace pawl::ledger
