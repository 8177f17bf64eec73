#include "agent/responses.h"

#include <array>
#include <cerrno>

#include "agent/body.h"
#include "base/json.h"

namespace pawl::agent {
namespace {

struct Kind {
  int status;
  std::string_view type;
};

Kind kind_of(const Error& error) {
  switch (error.kind) {
    case ErrorKind::kInvalid:
      return {400, "invalid"};
    case ErrorKind::kNotFound:
      return {404, "not-found"};
    case ErrorKind::kConflict:
      return {409, "conflict"};
    case ErrorKind::kDenied:
      return {403, "foreign"};
    case ErrorKind::kExhausted:
      if (is_disk_full(error)) return {507, "no-space"};
      return {429, "too-many"};
    case ErrorKind::kCorrupt:
    case ErrorKind::kForged:
      return {500, "corrupt"};
    case ErrorKind::kUnavailable:
    case ErrorKind::kIndeterminate:
    case ErrorKind::kCancelled:
      return {503, "unavailable"};
  }
  return {503, "unavailable"};
}

std::string_view title_of(int status) {
  constexpr std::array<std::pair<int, std::string_view>, 12> kTitles = {{
      {400, "The request is not valid"},
      {403, "This is another goal's or episode's socket"},
      {404, "Not found"},
      {405, "The path does not take this method"},
      {409, "It was reported with other values before"},
      {413, "The body is too large"},
      {429, "Too many"},
      {431, "The headers are too large"},
      {500, "What was stored is damaged"},
      {503, "Not now; it did not happen"},
      {507, "It could not be saved"},
      {417, "The expectation is not known"},
  }};
  for (const auto& [known, title] : kTitles)
    if (known == status) return title;
  return "Error";
}

}  // namespace

ApiResponse problem(int status, std::string_view type, std::string_view detail,
                    const std::vector<std::string>& known) {
  ObjectText out;
  out.text("type", "urn:pawl:" + std::string(type)).text("title", title_of(status));
  out.number("status", status).text("detail", detail);
  if (!known.empty()) out.raw("known", canonical(Json(known)));
  return {.status = status, .type = "application/problem+json", .body = std::move(out).take()};
}

bool is_disk_full(const Error& error) {
  return error.kind == ErrorKind::kExhausted && (error.sys_errno == ENOSPC || error.sys_errno == EDQUOT);
}

Error disk_full(std::string message) {
  return {.kind = ErrorKind::kExhausted, .message = std::move(message), .sys_errno = ENOSPC};
}

std::string_view why_unsaved(const Error& error) {
  if (is_disk_full(error)) return kDiskFull;
  return error.kind == ErrorKind::kIndeterminate ? kIoError : std::string_view();
}

ApiResponse problem(const Error& error) {
  const Kind kind = kind_of(error);
  ApiResponse out = problem(kind.status, kind.type, error.message);
  out.unsaved = why_unsaved(error);
  return out;
}

void ObjectText::name(std::string_view name) {
  if (out_.size() > 1) out_ += ',';
  out_ += '"';
  out_ += name;  // names are constants of this room: no escape is needed
  out_ += "\":";
}

ObjectText& ObjectText::text(std::string_view key, std::string_view value) {
  name(key);
  append_json_string(out_, value);
  return *this;
}

ObjectText& ObjectText::number(std::string_view key, std::int64_t value) {
  return raw(key, std::to_string(value));
}

ObjectText& ObjectText::boolean(std::string_view key, bool value) {
  return raw(key, value ? "true" : "false");
}

ObjectText& ObjectText::raw(std::string_view key, std::string_view json) {
  name(key);
  out_ += json;
  return *this;
}

std::string ObjectText::take() && {
  out_ += '}';
  return std::move(out_);
}

std::string spent_text(const Spent& spent) {
  ObjectText out;
  out.text("usd", money_text(spent.usd_micros)).number("tokens", spent.tokens);
  out.number("milliseconds", spent.milliseconds);
  return std::move(out).take();
}

std::string caps_text(const Context& context) {
  ObjectText out;
  if (context.usd_micros_cap) out.text("usd", money_text(*context.usd_micros_cap));
  if (context.tokens_cap) out.number("tokens", *context.tokens_cap);
  return std::move(out).take();
}

std::string step_text(const PaidStep& step) {
  ObjectText out;
  out.text("key", step.key).text("kind", step.kind == StepKind::kPure ? "pure" : "effect");
  out.text("args_hash", step.args_hash).text("state", step.state).number("executions", step.executions);
  if (!step.result.empty()) out.raw("result", step.result);
  if (!step.error.empty()) out.text("error", step.error);
  out.text("begun_at", step.begun_at);
  if (!step.ended_at.empty()) out.text("ended_at", step.ended_at);
  return std::move(out).take();
}

std::string child_text(const ChildRow& child) {
  ObjectText out;
  out.text("child_id", child.child_id).text("spec_hash", child.spec_hash).text("state", child.state);
  if (!child.result.empty()) out.raw("result", child.result);
  out.text("spawned_at", child.spawned_at);
  if (!child.finished_at.empty()) out.text("finished_at", child.finished_at);
  return std::move(out).take();
}

std::string question_text(const Question& question) {
  ObjectText out;
  out.text("key", question.key).text("question", question.text);
  if (!question.choices.empty()) {
    std::string choices;
    for (const auto& choice : question.choices) {
      choices += choices.empty() ? '[' : ',';
      append_json_string(choices, choice);
    }
    out.raw("choices", choices + "]");
  }
  if (question.answer) out.text("answer", *question.answer);
  out.text("asked_at", question.asked_at);
  if (!question.answered_at.empty()) out.text("answered_at", question.answered_at);
  return std::move(out).take();
}

std::string_view text_of(OnLost on_lost) {
  switch (on_lost) {
    case OnLost::kReExecute:
      return "re_execute";
    case OnLost::kAsk:
      return "ask";
    case OnLost::kFail:
      return "fail";
  }
  return "ask";
}

ApiResponse json_response(std::string body, int status) {
  return {.status = status, .body = std::move(body)};
}
ApiResponse no_content() { return {.status = 204, .type = {}}; }

}  // namespace pawl::agent
