// The steps of a journal: those that were begun, completed, failed or lost.
#include <fmt/format.h>

#include <optional>
#include <string_view>

#include "agent/fields.h"
#include "agent/journal_store.h"
#include "agent/responses.h"

namespace pawl::agent {
namespace {

// The `lost` column: the decision about a step whose process is gone.
constexpr std::string_view kAsked = "ask";     // a person was asked, and has not answered
constexpr std::string_view kGivenUp = "fail";  // final, by the step's policy or by a person
constexpr std::string_view kDone = "done", kFailed = "failed";
constexpr std::size_t kStepRowBytes = 4096;  // estimate for a step besides its result, with its question

std::string_view name(StepKind kind) { return kind == StepKind::kPure ? "pure" : "effect"; }

OnLost policy_of(const StepBegin& asked) {
  return asked.on_lost.value_or(asked.kind == StepKind::kPure ? OnLost::kReExecute : OnLost::kAsk);
}

StepBegun lost(const std::string& key, std::string_view what) {
  if (what == kGivenUp) return {.answer = StepAnswer::kLost, .on_lost = OnLost::kFail};
  return {.answer = StepAnswer::kLost, .on_lost = OnLost::kAsk, .question = question_of_step(key)};
}

// A person's answer about a lost step: `done RESULT`, `run` or `fail`.
enum class StepChoice { kDone, kRun, kFail };
constexpr std::string_view kDoneWith = "done ", kRunAgain = "run", kGiveUp = "fail";

std::optional<StepChoice> choice_in(std::string_view answer) {
  if (answer.starts_with(kDoneWith)) return StepChoice::kDone;
  if (answer == kRunAgain) return StepChoice::kRun;
  if (answer == kGiveUp) return StepChoice::kFail;
  return std::nullopt;
}

Status check_begin(const StepBegin& asked) {
  PAWL_OK(check_id("key", asked.key));
  PAWL_OK(check_word("args_hash", asked.args_hash));
  return check_id("session", asked.session);
}

std::unexpected<Error> no_step(const std::string& key) {
  return fail(ErrorKind::kNotFound, "step " + key + " was never begun");
}

}  // namespace

std::string question_of_step(const std::string& key) { return std::string(kStepQuestion) + key; }

Result<std::optional<JournalStore::Step>> JournalStore::step(const std::string& key) {
  PAWL_TRY(auto query, connection_->query("step"));
  PAWL_TRY(const bool row, query.bind(key).next());
  if (!row) return std::optional<Step>();
  return std::optional(read_step(query));
}

JournalStore::Step JournalStore::read_step(const Query& query) {
  Step out;
  out.row = {.key = query.text(0),
             .args_hash = query.text(2),
             .state = query.text(3),
             .kind = query.text(1) == name(StepKind::kPure) ? StepKind::kPure : StepKind::kEffect,
             .executions = query.number(4),
             .result = query.text(7),
             .error = query.text(8),
             .begun_at = query.text(9),
             .ended_at = query.text(10)};
  out.session = query.text(5);
  out.lost = query.text(6);
  return out;
}

Result<StepBegun> JournalStore::begin_step(const StepBegin& asked, WallTime now) {
  PAWL_OK(check_begin(asked));
  PAWL_TRY(auto transaction, begin("agent_begin_step", kStepRowBytes));
  PAWL_TRY(const auto known, step(asked.key));
  PAWL_TRY(auto begun, known ? begin_known(*known, asked, now) : begin_new(asked, now));
  if (auto done = transaction.commit(); !done) {
    steps_.reset();
    return std::unexpected(std::move(done).error());
  }
  return begun;
}

Result<StepBegun> JournalStore::begin_new(const StepBegin& asked, WallTime now) {
  PAWL_TRY(const std::int64_t steps, count_of_steps());
  if (steps >= kStepsMax)
    return fail(ErrorKind::kExhausted, fmt::format("the episode has its {} steps", kStepsMax));
  const std::string at = rfc3339(now);
  PAWL_TRY(auto query, connection_->query("insert_step"));
  query.bind(asked.key).bind(name(asked.kind)).bind(asked.args_hash).bind(asked.session).bind(at);
  PAWL_OK(query.run());
  ++*steps_;
  return StepBegun{};
}

Result<std::int64_t> JournalStore::count_of_steps() {
  if (!steps_) {
    PAWL_TRY(steps_, number("count_steps"));
  }
  return *steps_;
}

Result<StepBegun> JournalStore::begin_known(const Step& known, const StepBegin& asked, WallTime now) {
  const PaidStep& row = known.row;
  if (row.kind != asked.kind || row.args_hash != asked.args_hash)
    return fail(
        ErrorKind::kConflict,
        fmt::format("step {}: it was begun as {} with the arguments {}, and is asked for as {} with {}; "
                    "another step needs another key",
                    row.key, name(row.kind), row.args_hash, name(asked.kind), asked.args_hash));
  if (row.state == kDone)
    return StepBegun{.answer = StepAnswer::kDone, .execution = row.executions, .result = row.result};
  if (!known.lost.empty()) return lost(row.key, known.lost);
  if (row.state == kFailed) return begin_again(known, asked, now);
  // The same session repeats the request when it has not received the response.
  if (known.session == asked.session) return StepBegun{.execution = row.executions};
  return lose(known, asked, now);
}

Result<StepBegun> JournalStore::begin_again(const Step& known, const StepBegin& asked, WallTime now) {
  const std::string at = rfc3339(now);
  PAWL_TRY(auto query, connection_->query("begin_step_again"));
  PAWL_OK(query.bind(asked.key).bind(asked.session).bind(at).run());
  return StepBegun{.execution = known.row.executions + 1};
}

Result<StepBegun> JournalStore::lose(const Step& known, const StepBegin& asked, WallTime now) {
  const std::string& key = asked.key;
  const OnLost policy = policy_of(asked);
  PAWL_OK(report("step_lost", {{"key", key}, {"kind", name(asked.kind)}, {"on_lost", text_of(policy)}}, now));
  switch (policy) {
    case OnLost::kReExecute:
      return begin_again(known, asked, now);
    case OnLost::kFail:
      PAWL_OK(end_step(
          key, {.state = kFailed, .lost = kGivenUp, .result = "", .error = "its process is gone"}, now));
      return lost(key, kGivenUp);
    case OnLost::kAsk:
      break;
  }
  const std::string text = fmt::format(
      "Step {} was begun at {} by a process that is gone. Did it happen? Answer `done RESULT` (JSON), "
      "`run` to run it again, or `fail`.",
      key, known.row.begun_at);
  PAWL_OK(ask_anew(question_of_step(key), text, now));
  PAWL_TRY(auto query, connection_->query("lose_step"));
  PAWL_OK(query.bind(key).bind(kAsked).run());
  return lost(key, kAsked);
}

Status JournalStore::end_step(const std::string& key, const StepEnd& end, WallTime now) {
  const std::string at = rfc3339(now);
  PAWL_TRY(auto query, connection_->query("end_step"));
  query.bind(key).bind(end.state).bind(end.lost).bind(end.result).bind(end.error).bind(at);
  return query.run();
}

Status JournalStore::withdraw_question(const Step& known, std::string_view answer, WallTime now) {
  if (known.lost != kAsked) return {};
  return write_answer(question_of_step(known.row.key), answer, "agent", now);
}

Status JournalStore::complete_step(const std::string& key, std::string result, WallTime now) {
  PAWL_OK(check_id("key", key));
  PAWL_OK(check_json("result", result));
  PAWL_TRY(auto transaction, begin("agent_complete_step", result.size() + kStepRowBytes));
  PAWL_TRY(const auto known, step(key));
  if (!known) return no_step(key);
  if (known->row.state == kDone) {
    if (known->row.result == result) return {};
    return fail(ErrorKind::kConflict, "step " + key + " was completed with another result");
  }
  if (known->lost == kGivenUp)
    return fail(ErrorKind::kConflict, "step " + key + " is lost for ever: no call completes it any more");
  if (known->row.state == kFailed)
    return fail(ErrorKind::kConflict, "step " + key + " has failed: begin it again first");
  PAWL_OK(withdraw_question(*known, kDone, now));
  PAWL_OK(end_step(key, {.state = kDone, .result = result}, now));
  return transaction.commit();
}

Status JournalStore::fail_step(const std::string& key, std::string error, WallTime now) {
  PAWL_OK(check_id("key", key));
  PAWL_OK(check_text("error", error, kTextBytesMax));
  PAWL_TRY(auto transaction, begin("agent_fail_step", error.size() + kStepRowBytes));
  PAWL_TRY(const auto known, step(key));
  if (!known) return no_step(key);
  if (known->row.state == kDone) return fail(ErrorKind::kConflict, "step " + key + " was completed");
  if (known->row.state == kFailed) return {};
  PAWL_OK(withdraw_question(*known, kRunAgain, now));
  PAWL_OK(end_step(key, {.state = kFailed, .error = error}, now));
  return transaction.commit();
}

Status JournalStore::decide(const std::string& key, std::string_view answer, const std::string& who,
                            WallTime now) {
  const auto choice = choice_in(answer);
  if (!choice)
    return fail(ErrorKind::kInvalid,
                "answer: it is not `done RESULT` with a result in JSON, `run` or `fail`");
  if (*choice == StepChoice::kDone) {
    const auto result = answer.substr(kDoneWith.size());
    PAWL_OK(check_json("answer", result));
    return end_step(key, {.state = kDone, .result = result}, now);
  }
  const std::string error = who + " said `" + std::string(answer) + "`";
  const std::string_view lost = *choice == StepChoice::kFail ? kGivenUp : "";
  return end_step(key, {.state = kFailed, .lost = lost, .error = error}, now);
}

Result<std::vector<PaidStep>> JournalStore::steps(const std::string& after_key, std::int64_t limit) {
  PAWL_OK(check_word("after", after_key));
  if (limit < 1 || limit > kListMax)
    return fail(ErrorKind::kInvalid, "limit: it is not in 1 to " + std::to_string(kListMax));
  PAWL_TRY(auto query, connection_->query("steps_after"));
  query.bind(after_key).bind(limit);
  std::vector<PaidStep> out;
  for (std::int64_t bytes = 0; bytes < kListedBytesMax;) {
    PAWL_TRY(const bool row, query.next());
    if (!row) break;
    out.push_back(read_step(query).row);
    bytes += static_cast<std::int64_t>(out.back().result.size() + out.back().error.size());
  }
  return out;
}

}  // namespace pawl::agent
