#include "agent/api.h"

#include <algorithm>

#include "agent/body.h"
#include "agent/fields.h"
#include "agent/responses.h"
#include "base/json.h"
#include "base/lines.h"

namespace pawl::agent {
namespace {

constexpr std::int64_t kNoteCharactersMax = 200, kTextCharactersMax = 8192;
constexpr std::int64_t kElapsedEveryMs = 100;  // recording writes one more page: not every commit does it

std::string fingerprint_of(const Context& context) {
  return canonical(Json{{"plan", context.plan}, {"model", context.model}, {"pawl", PAWL_VERSION}});
}

// Replaces control characters with '?', since a terminal would obey them.
std::string shown_line(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  std::string out(line);
  for (char& c : out)
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7F) c = '?';
  return out;
}

}  // namespace

Api::Api(std::unique_ptr<Journal> journal, Context context, Hooks hooks)
    : journal_(std::move(journal)),
      context_(std::move(context)),
      hooks_(std::move(hooks)),
      fingerprint_(fingerprint_of(context_)) {}

Status Api::begin_group(bool alone) { return journal_->begin_group(alone); }

Status Api::commit() {
  const std::int64_t served_ms = hooks_.served_ms ? hooks_.served_ms() : 0;
  const bool notes = journal_->has_written() && served_ms - noted_ms_ >= kElapsedEveryMs &&
                     journal_->note_elapsed(served_ms - noted_ms_);
  if (auto committed = journal_->commit(); !committed) {
    forget_group();
    return committed;
  }
  if (notes) noted_ms_ = served_ms;
  undo_.clear();
  for (const auto& tell : std::exchange(after_commit_, {})) tell();
  return {};
}

void Api::roll_back() {
  journal_->roll_back();
  forget_group();
}

void Api::note_end() {
  const std::int64_t served_ms = hooks_.served_ms ? hooks_.served_ms() : 0;
  if (journal_->note_elapsed(served_ms - noted_ms_)) noted_ms_ = served_ms;
  report_resumed({{"loaded", ""}}, last_call_);
}

void Api::forget_group() {
  after_commit_.clear();
  for (; !undo_.empty(); undo_.pop_back()) undo_.back()();
}

ApiResponse Api::handle(const Call& call, WallTime now) {
  last_call_ = now;
  auto handled = dispatch(call, now);
  return handled ? std::move(*handled) : problem(handled.error());
}

Api::Handled Api::dispatch(const Call& call, WallTime now) {
  if (call.route.verb == Verb::kAnswer) return answer(call, now);
  if (auto session = session_of(call, now); !session && !only_reads(call.route.verb))
    return std::unexpected(std::move(session).error());
  switch (call.route.verb) {
    case Verb::kContext:
      return context(call, now);
    case Verb::kHeartbeat:
      return heartbeat(call, now);
    case Verb::kLog:
      return log(call, now);
    case Verb::kLoad:
      return load(call, now);
    case Verb::kList:
      return list(call, now);
    case Verb::kPrune:
      return prune(call);
    case Verb::kSteps:
      return steps(call);
    case Verb::kBegin:
      return begin_step(call, now);
    case Verb::kComplete:
      return complete_step(call, now);
    case Verb::kFail:
      return fail_step(call, now);
    case Verb::kChildren:
      return children(call);
    case Verb::kSpawn:
      return spawn(call, now);
    case Verb::kFinish:
      return finish_child(call, now);
    case Verb::kUsage:
      return usage(call, now);
    case Verb::kAsk:
      return ask(call, now);
    case Verb::kQuestion:
      return question(call);
    case Verb::kSave:
    case Verb::kAnswer:
      break;
  }
  PAWL_CHECK(!"a save is begun and finished");
}

Result<Api::Session*> Api::session_of(const Call& call, WallTime now) {
  if (const auto known = sessions_.find(call.session); known != sessions_.end()) return &known->second;
  Session session{.word = call.session};
  PAWL_TRY(session.number, journal_->begin_session(call.session, now));
  if (session.number > 1) {
    PAWL_TRY(session.resumed, journal_->has_kept());
  }
  if (sessions_.size() >= kSessionsRemembered) sessions_.clear();  // the episode still knows them
  undo_.emplace_back([this, word = call.session] { sessions_.erase(word); });
  return &sessions_.insert_or_assign(call.session, session).first->second;
}

Result<Spent> Api::spent() {
  PAWL_TRY(auto out, journal_->spent());
  if (hooks_.served_ms) out.milliseconds += hooks_.served_ms() - noted_ms_;
  return out;
}

Result<Api::Budget> Api::budget() {
  Budget out;
  PAWL_TRY(out.spent, spent());
  out.stop = (context_.usd_micros_cap && out.spent.usd_micros >= *context_.usd_micros_cap) ||
             (context_.tokens_cap && out.spent.tokens >= *context_.tokens_cap);
  return out;
}

void Api::report_cap(const Budget& budget, WallTime now) {
  if (!budget.stop || cap_reported_) return;
  Json details = {{"usd", money_text(budget.spent.usd_micros)}, {"tokens", budget.spent.tokens}};
  if (context_.usd_micros_cap) details["usd_cap"] = money_text(*context_.usd_micros_cap);
  if (context_.tokens_cap) details["tokens_cap"] = *context_.tokens_cap;
  // The cap is reached even if the episode has no room for another event.
  static_cast<void>(journal_->add_event("usage_limit", details, now));
  cap_reported_ = true;
  undo_.emplace_back([this] { cap_reported_ = false; });
  if (hooks_.on_cap_reached) after_commit_.push_back(hooks_.on_cap_reached);
}

Api::Handled Api::context(const Call& call, WallTime now) {
  PAWL_TRY(const auto* session, session_of(call, now));
  PAWL_TRY(const auto left, budget());
  ObjectText out;
  out.text("run_id", context_.key.run_id).text("phase_id", context_.phase_id);
  out.text("goal_id", context_.key.goal_id).text("goal", context_.goal);
  out.text("episode_id", context_.key.episode_id).number("attempt", context_.attempt);
  out.text("model", context_.model).number("session", session->number);
  out.boolean("resumed", session->resumed).raw("fingerprint", fingerprint_);
  out.raw("spent", spent_text(left.spent)).raw("caps", caps_text(context_)).boolean("stop", left.stop);
  return json_response(std::move(out).take());
}

ApiResponse Api::budget_response(const Budget& budget) const {
  ObjectText out;
  out.raw("spent", spent_text(budget.spent)).raw("caps", caps_text(context_)).boolean("stop", budget.stop);
  return json_response(std::move(out).take());
}

Api::Handled Api::heartbeat(const Call& call, WallTime now) {
  if (!call.body.empty()) {
    PAWL_TRY(const auto body, Body::parse(call.body));
    PAWL_OK(body.only("note"));
    if (body.has("note")) {
      PAWL_TRY(const auto note, body.text("note", kNoteCharactersMax));
      // A repeated note is not logged again. A heartbeat succeeds even if the log is full.
      if (!note.empty() && note != last_note_ && write_log("heartbeat", note, now)) last_note_ = note;
    }
  }
  PAWL_TRY(const auto left, budget());
  return budget_response(left);
}

Api::Handled Api::log(const Call& call, WallTime now) {
  PAWL_TRY(const auto body, Body::parse(call.body));
  PAWL_OK(body.only("level", "message"));
  std::string level = "info";
  if (body.has("level")) {
    PAWL_TRY(level, body.text("level", kTextCharactersMax));
  }
  if (level != "debug" && level != "info" && level != "warning" && level != "error")
    return fail(ErrorKind::kInvalid, "'level' is debug, info, warning or error");
  PAWL_TRY(const auto message, body.text("message", kTextCharactersMax));
  PAWL_OK(write_log(level, message, now));
  return no_content();
}

Status Api::write_log(std::string_view level, std::string_view message, WallTime now) {
  if (const auto second = now.micros / 1'000'000; second != log_second_) {
    log_second_ = second;
    log_lines_ = 0;
  }
  const auto size = static_cast<std::int64_t>(message.size());
  const auto lines = 1 + std::ranges::count(message, '\n');
  if (log_lines_ + lines > kLogLinesMax)
    return fail(ErrorKind::kExhausted, "1,000 log lines a second: write fewer, or try again in a second");
  if (log_bytes_ + size > kLogBytesMax)
    return fail(ErrorKind::kExhausted, "64 MiB of log lines in all: there is no room for more");
  log_lines_ += lines;
  log_bytes_ += size;
  if (!hooks_.on_log) return {};
  for (const auto line : TextLines(message)) hooks_.on_log(level, shown_line(line));
  // An empty message, and the text after a last line end, count as a line above.
  if (message.empty() || message.ends_with('\n')) hooks_.on_log(level, "");
  return {};
}

Result<StepBegin> Api::step_of(const Call& call) {
  PAWL_TRY(const auto body, Body::parse(call.body));
  PAWL_OK(body.only("key", "kind", "args_hash", "on_lost"));
  StepBegin step{.session = call.session};
  PAWL_TRY(step.key, body.id("key"));
  PAWL_TRY(const auto kind, body.text("kind", kTextCharactersMax));
  if (kind != "pure" && kind != "effect") return fail(ErrorKind::kInvalid, "'kind' is pure or effect");
  step.kind = kind == "pure" ? StepKind::kPure : StepKind::kEffect;
  PAWL_TRY(step.args_hash, body.text("args_hash", kIdBytesMax));
  if (body.has("on_lost")) {
    PAWL_TRY(const auto on_lost, body.text("on_lost", kTextCharactersMax));
    for (const auto choice : {OnLost::kReExecute, OnLost::kAsk, OnLost::kFail})
      if (on_lost == text_of(choice)) step.on_lost = choice;
    if (!step.on_lost) return fail(ErrorKind::kInvalid, "'on_lost' is re_execute, ask or fail");
  }
  return step;
}

Api::Handled Api::begin_step(const Call& call, WallTime now) {
  PAWL_TRY(const auto step, step_of(call));
  PAWL_TRY(const auto begun, journal_->begin_step(step, now));
  ObjectText out;
  switch (begun.answer) {
    case StepAnswer::kRun:
      out.text("answer", "run").number("execution", begun.execution);
      break;
    case StepAnswer::kDone:
      report_resumed({{"step", step.key}}, now);
      out.text("answer", "done").raw("result", begun.result);
      break;
    case StepAnswer::kLost:
      report_resumed({{"step", step.key}}, now);
      out.text("answer", "lost").text("on_lost", text_of(begun.on_lost));
      if (!begun.question.empty()) out.text("question", begun.question);
      break;
  }
  return json_response(std::move(out).take());
}

Api::Handled Api::complete_step(const Call& call, WallTime now) {
  PAWL_TRY(const auto body, Body::parse(call.body));
  PAWL_OK(body.only("key", "result"));
  PAWL_TRY(const auto key, body.id("key"));
  PAWL_TRY(const auto result, body.any("result", kResultBytesMax));
  PAWL_OK(complete_step(key, result, now));
  return no_content();
}

Api::Handled Api::fail_step(const Call& call, WallTime now) {
  PAWL_TRY(const auto body, Body::parse(call.body));
  PAWL_OK(body.only("key", "error"));
  PAWL_TRY(const auto key, body.id("key"));
  PAWL_TRY(const auto error, body.text("error", kTextCharactersMax));
  PAWL_OK(fail_step(key, error, now));
  return no_content();
}

Result<ChildSpawn> Api::child_of(const Call& call) {
  PAWL_TRY(const auto body, Body::parse(call.body));
  PAWL_OK(body.only("parent", "spawn_seq", "ordinal", "spec_hash"));
  ChildSpawn child;
  PAWL_TRY(child.parent, body.id("parent"));
  PAWL_TRY(child.spawn_seq, body.integer("spawn_seq"));
  PAWL_TRY(child.ordinal, body.integer("ordinal"));
  PAWL_TRY(child.spec_hash, body.id("spec_hash"));
  return child;
}

Api::Handled Api::spawn(const Call& call, WallTime now) {
  PAWL_TRY(const auto child, child_of(call));
  PAWL_TRY(const auto spawned, journal_->spawn(child, context_.children_max, now));
  ObjectText out;
  out.text("child_id", spawned.child_id);
  if (spawned.answer != ChildAnswer::kStart) report_resumed({{"child", spawned.child_id}}, now);
  PAWL_OK(look_at_parent(call, child, spawned, now));
  switch (spawned.answer) {
    case ChildAnswer::kStart:
      out.text("answer", "start");
      break;
    case ChildAnswer::kResume:
      out.text("answer", "resume");
      break;
    case ChildAnswer::kDone:
      out.text("answer", "done").raw("result", spawned.result);
      break;
  }
  return json_response(std::move(out).take());
}

Api::Handled Api::finish_child(const Call& call, WallTime now) {
  PAWL_TRY(const auto body, Body::parse(call.body));
  PAWL_OK(body.only("child_id", "result"));
  PAWL_TRY(const auto child_id, body.id("child_id"));
  PAWL_TRY(const auto result, body.any("result", kResultBytesMax));
  PAWL_OK(finish_child(child_id, result, now));
  return no_content();
}

Api::Handled Api::usage(const Call& call, WallTime now) {
  PAWL_TRY(const auto body, Body::parse(call.body));
  PAWL_OK(body.only("id", "model", "input_tokens", "output_tokens", "cached_tokens", "usd"));
  Usage usage{.source = kToldByAgent};
  PAWL_TRY(usage.id, body.id("id"));
  PAWL_TRY(usage.model, body.text("model", kNoteCharactersMax));
  if (hooks_.redact)
    for (auto* text : {&usage.id, &usage.model}) *text = hooks_.redact(*text);
  PAWL_TRY(usage.input_tokens, body.integer("input_tokens"));
  PAWL_TRY(usage.output_tokens, body.integer("output_tokens"));
  if (body.has("cached_tokens")) {
    PAWL_TRY(usage.cached_tokens, body.integer("cached_tokens"));
  }
  if (body.has("usd")) {
    PAWL_TRY(const auto usd, body.text("usd", kNoteCharactersMax));
    PAWL_TRY(usage.usd_micros, money("usd", usd));
  }
  PAWL_OK(journal_->add_usage(usage, now));
  PAWL_TRY(const auto left, budget());
  report_cap(left, now);
  return budget_response(left);
}

Api::Handled Api::ask(const Call& call, WallTime now) {
  const std::string& key = *call.route.parameter("key");
  PAWL_OK(check_id("key", key));
  PAWL_TRY(const auto body, Body::parse(call.body));
  PAWL_OK(body.only("question", "choices"));
  PAWL_TRY(auto text, body.text("question", kTextCharactersMax));
  std::vector<std::string> choices;
  if (body.has("choices")) {
    PAWL_TRY(choices, body.texts("choices", kChoicesMax, kNoteCharactersMax));
  }
  if (hooks_.redact) {
    text = hooks_.redact(text);
    for (auto& choice : choices) choice = hooks_.redact(choice);
  }
  PAWL_TRY(const auto question, journal_->ask(key, text, choices, now));
  if (question.answer) report_resumed({{"question", key}}, now);
  return json_response(question_text(question));
}

Result<Question> Api::find_question(const std::string& key) {
  PAWL_TRY(auto found, journal_->question(key));
  if (!found) return fail(ErrorKind::kNotFound, "no such question: ask it first");
  return *std::move(found);
}

Api::Handled Api::question(const Call& call) {
  constexpr std::int64_t kWaitMsMax = 30'000;
  const std::string& key = *call.route.parameter("key");
  PAWL_OK(check_id("key", key));
  PAWL_TRY(const auto wait_ms, integer_parameter(call.route, "wait_ms", 0, kWaitMsMax, 0));
  PAWL_TRY(const auto question, find_question(key));
  ApiResponse out = json_response(question_text(question));
  if (!question.answer) out.wait_ms = wait_ms;
  return out;
}

Api::Handled Api::answer(const Call& call, WallTime now) {
  PAWL_TRY(const auto body, Body::parse(call.body));
  PAWL_OK(body.only("key", "answer", "who"));
  PAWL_TRY(const auto key, body.id("key"));
  PAWL_TRY(const auto answer, body.text("answer", kResultBytesMax));
  PAWL_TRY(const auto who, body.text("who", kNoteCharactersMax));
  PAWL_OK(journal_->answer(key, answer, who, now));
  PAWL_TRY(const auto question, find_question(key));
  ApiResponse out = json_response(question_text(question));
  out.answered = true;
  return out;
}

}  // namespace pawl::agent
