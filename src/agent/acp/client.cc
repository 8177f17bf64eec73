#include "agent/acp/client.h"

#include <algorithm>
#include <array>
#include <utility>

#include "agent/agent.h"
#include "base/json.h"
#include "base/json_members.h"

namespace pawl::agent::acp {
namespace {

constexpr std::int64_t kVersion = 1;
constexpr std::int64_t kMethodNotFound = -32601, kInvalidRequest = -32600;
constexpr std::string_view kInternalError = "-32603";
constexpr std::string_view kAuthRequired = "-32000";
constexpr std::size_t kIdBytesMax = 200;  // for a request
constexpr std::size_t kOpenTitleBytesMax = 8000;
constexpr std::size_t kOpenMax = kQuestionsMax;  // permissions that wait for a person

JsonMembers message() {
  JsonMembers out;
  out.text("jsonrpc", "2.0");
  return out;
}

std::optional<Ended> ended_by(std::string_view stop_reason) {
  static constexpr std::array<std::pair<std::string_view, Ended>, 5> kReasons = {
      {{"end_turn", Ended::kDone},
       {"max_tokens", Ended::kMaxTokens},
       {"max_turn_requests", Ended::kMaxTurnRequests},
       {"refusal", Ended::kRefusal},
       {"cancelled", Ended::kCancelled}}};
  for (const auto& [name, ended] : kReasons)
    if (name == stop_reason) return ended;
  return std::nullopt;
}

}  // namespace

Client::Client(Task task) : task_(std::move(task)), used_(task_.before.usd_micros) {
  const std::string info =
      JsonMembers().text("name", "pawl").text("title", "Pawl").text("version", PAWL_VERSION).object();
  ask(Asked::kInitialize, "initialize",
      JsonMembers()
          .number("protocolVersion", kVersion)
          .json("clientCapabilities",
                R"({"fs":{"readTextFile":false,"writeTextFile":false},"terminal":false})")
          .json("clientInfo", info)
          .object());
}

void Client::hear(std::string_view bytes) {
  while (!bytes.empty() && !ended_) {
    const auto end = bytes.find('\n');
    const auto part = bytes.substr(0, end);
    bytes.remove_prefix(end == bytes.npos ? bytes.size() : end + 1);
    if (!is_skipping_ && line_.size() + part.size() > kMessageBytesMax) {
      is_skipping_ = true;
      line_ = {};
      progress_.note("a message of more than 16 MiB is left out");
    }
    if (!is_skipping_) line_ += part;
    if (end == bytes.npos) return;
    if (!std::exchange(is_skipping_, false)) hear_line(std::exchange(line_, {}));
  }
}

void Client::hear_line(std::string_view line) {
  while (line.ends_with('\r') || line.ends_with(' ')) line.remove_suffix(1);
  if (line.empty()) return;
  if (const auto message = PrintedObject::parse(std::string(line))) return hear_message(*message);
  const bool is_object = line.starts_with('{');
  progress_.note((is_object ? "a message can't be read: " : "no message: ") + valid_utf8(line));
}

void Client::hear_message(const PrintedObject& message) {
  const auto id = message.json("id", kIdBytesMax);
  const std::string method = message.text("method");
  if (message.has("id") && message.has("method") && (!id || method.empty())) {
    progress_.note("a request is refused: its id or its method is too long, or no text");
    return answer_error(id.value_or("null"), kInvalidRequest, "Invalid Request");
  }
  if (!method.empty()) {
    if (id) return hear_request(message, *id);
    const auto parameters = method == "session/update" ? message.object("params") : std::nullopt;
    const auto update = parameters ? parameters->object("update") : std::nullopt;
    // An agent may have other sessions, of which the row of the attempt does not tell.
    const auto& mine = asked_ == Asked::kLoad || asked_ == Asked::kResume ? task_.before.id : session_;
    if (!update || parameters->text("sessionId") != mine) return;
    // An agent that loads a session tells all of it again.
    if (asked_ == Asked::kPrompt) hear_update(*update);
    if (asked_ == Asked::kPrompt || update->text("sessionUpdate") == "usage_update")
      used_.see_update(*update);
    return;
  }
  if (id != std::to_string(asked_id_)) return;
  asked_id_ = -1;
  if (const auto error = message.object("error")) return hear_error(*error);
  hear_result(message);
}

void Client::hear_update(const PrintedObject& update) {
  progress_.add_update(update);
  if (update.text("sessionUpdate").starts_with("tool_call")) seen_.see(update);
}

void Client::hear_request(const PrintedObject& message, const std::string& id) {
  const std::string method = message.text("method");
  if (method == "session/request_permission") return hear_permission(permission_of(message, id, seen_));
  progress_.note("not offered: " + method);
  answer_error(id, kMethodNotFound, "Method not found");
}

void Client::answer_error(const std::string& id, std::int64_t code, std::string_view text) {
  const std::string error = JsonMembers().number("code", code).text("message", text).object();
  messages_ += acp::message().json("id", id).json("error", error).object() + "\n";
}

void Client::hear_permission(Permission asked) {
  if (is_cancelled_ || asked.options.empty()) {
    messages_ += asked.response(nullptr);
  } else if (!task_.asks_person) {
    const auto* const allowing = asked.allowing();
    if (allowing != nullptr) progress_.note("allowed: " + asked.call.title);
    messages_ += asked.response(allowing);
  } else if (open_.size() == kOpenMax) {
    progress_.note("rejected, since " + std::to_string(kOpenMax) +
                   " permissions wait for a person: " + asked.call.title);
    messages_ += asked.response(asked.rejecting());
  } else {
    ask_person(std::move(asked));
  }
}

void Client::ask_person(Permission asked) {
  const auto& details = asked.call.details;
  progress_.note("waits for a person: " + asked.call.title + (details.empty() ? "" : " " + details));
  // `allow_once` is for one of two like requests. A later execution counts anew, and finds the answers in their order.
  if (const int times = ++asked_times_[asked.question.key]; times > 1)
    asked.question.key += "-" + std::to_string(times);
  questions_.push_back(asked.question);
  asked.call.details.clear();
  if (asked.call.title.size() > kOpenTitleBytesMax) asked.call.title = "a tool call";
  open_.push_back(std::move(asked));
}

void Client::answer(std::string_view key, std::string_view choice) {
  const auto asked = take_open(key);
  if (!asked) return;
  progress_.note(std::string(choice) + ", says a person: " + asked->call.title);
  messages_ += asked->response(asked->of_choice(choice));
}

void Client::reject(std::string_view key, const std::string& why) {
  const auto asked = take_open(key);
  if (!asked) return;
  progress_.note("rejected, since no person can be asked (" + why + "): " + asked->call.title);
  messages_ += asked->response(asked->rejecting());
}

std::optional<Permission> Client::take_open(std::string_view key) {
  const auto found = std::ranges::find_if(open_, [&](const auto& each) { return each.question.key == key; });
  if (found == open_.end()) return std::nullopt;
  auto out = std::move(*found);
  open_.erase(found);
  return out;
}

void Client::hear_result(const PrintedObject& message) {
  // session/load may answer with null.
  static const auto kNothing = PrintedObject::parse("{}");
  const auto found = message.object("result");
  const auto& result = found ? *found : *kNothing;
  switch (asked_) {
    case Asked::kInitialize:
      return hear_capabilities(result);
    case Asked::kNew:
    case Asked::kLoad:
    case Asked::kResume:
      return hear_session(result);
    case Asked::kModel:
      return hear_model(result);
    case Asked::kPrompt:
      return hear_stop(result);
  }
}

void Client::hear_capabilities(const PrintedObject& result) {
  if (const auto version = result.count("protocolVersion"); version != kVersion)
    return end(Ended::kProtocol, "the agent speaks version " + std::to_string(version) +
                                     " of the protocol, and Pawl speaks version 1");
  if (const auto info = result.object("agentInfo"))
    progress_.note(info->text("name") + " " + info->text("version"));
  const auto can = result.object("agentCapabilities");
  const auto of_sessions = can ? can->object("sessionCapabilities") : std::nullopt;
  can_load_ = can && can->json("loadSession", kIdBytesMax) == "true";
  if (task_.before.id.empty()) return ask_for_session(Asked::kNew);
  if (of_sessions && of_sessions->object("resume")) return ask_for_session(Asked::kResume);
  if (can_load_) return ask_for_session(Asked::kLoad);
  progress_.note("the agent can't load a session: it begins a new one");
  ask_for_session(Asked::kNew);
}

void Client::ask_for_session(Asked what) {
  JsonMembers parameters;
  parameters.text("cwd", task_.folder).json("mcpServers", "[]");
  if (what == Asked::kNew) {
    used_ = Used(0);
    return ask(what, "session/new", parameters.object());
  }
  parameters.text("sessionId", task_.before.id);
  ask(what, what == Asked::kLoad ? "session/load" : "session/resume", parameters.object());
}

void Client::hear_session(const PrintedObject& result) {
  session_ = asked_ == Asked::kNew ? result.text("sessionId") : task_.before.id;
  if (session_.empty()) return end(Ended::kProtocol, "the agent named no session");
  if (asked_ != Asked::kNew) progress_.note("goes on in session " + session_);
  const auto models = models_of(result);
  if (models) used_.set_model(models->current);
  if (task_.model.empty() || (models && models->current == task_.model)) return ask_for_turn();
  ask_for_model(models);
}

// The row of an attempt names its model: an agent that has another one must not work under that name.
void Client::ask_for_model(const std::optional<Models>& models) {
  if (!models) {
    progress_.note("the agent offers no choice of a model, and has its own");
    return ask_for_turn();
  }
  if (models->is_too_long) return end(Ended::kProtocol, "the agent's list of models has more than 256 KiB");
  if (std::ranges::find(models->offered, task_.model) == models->offered.end()) {
    std::string all;
    for (const auto& each : models->offered) all += (all.empty() ? "" : ", ") + each;
    return end(Ended::kProtocol, "the agent does not offer the model " + task_.model + ", but: " + all);
  }
  used_.set_model(task_.model);
  JsonMembers parameters;
  parameters.text("sessionId", session_);
  if (models->option.empty())
    return ask(Asked::kModel, "session/set_model", parameters.text("modelId", task_.model).object());
  ask(Asked::kModel, "session/set_config_option",
      parameters.text("configId", models->option).text("value", task_.model).object());
}

// An agent may answer with the model that it has now.
void Client::hear_model(const PrintedObject& result) {
  const auto models = models_of(result);
  if (!models || models->current == task_.model) return ask_for_turn();
  end(Ended::kProtocol,
      "the agent was given the model " + task_.model + ", and has another: " + models->current);
}

void Client::ask_for_turn() {
  const std::string block = JsonMembers().text("type", "text").text("text", task_.prompt).object();
  ask(Asked::kPrompt, "session/prompt",
      JsonMembers().text("sessionId", session_).json("prompt", "[" + block + "]").object());
}

void Client::hear_stop(const PrintedObject& result) {
  stop_reason_ = result.text("stopReason");
  used_.see_end(result);
  const auto how = ended_by(stop_reason_);
  if (!how) return end(Ended::kProtocol, "the agent ended its turn without a known reason: " + stop_reason_);
  end(*how, *how == Ended::kDone ? "" : "the agent ended its turn: " + stop_reason_);
}

void Client::hear_error(const PrintedObject& error) {
  const std::string code = error.json("code", kIdBytesMax).value_or("?");
  std::string why = "error " + code + ": " + shown_text(error, "message");
  // Libraries of the protocol put the message of an exception there.
  const auto details = code == kInternalError ? error.object("data") : std::nullopt;
  if (details && !shown_text(*details, "details").empty()) why += ": " + shown_text(*details, "details");
  // The data get a line of their own: they may contain any words of an agent, which are not a sign of a refusal.
  if (const auto data = error.json("data", kMessageBytesMax)) progress_.note("data of the error: " + *data);
  if (code == kAuthRequired) return end(Ended::kUnauthorized, why);
  // Qwen Code says that it can resume, and has no such method.
  if (asked_ == Asked::kResume && can_load_) return ask_for_session(Asked::kLoad);
  if (asked_ == Asked::kLoad || asked_ == Asked::kResume) {
    progress_.note("the agent can't load its session, and begins a new one: " + why);
    return ask_for_session(Asked::kNew);
  }
  if (is_cancelled_) return end(Ended::kCancelled, why);
  end(Ended::kFailed, why);
}

void Client::hear_end() {
  if (ended_) return;
  if (!line_.empty()) hear_line(std::exchange(line_, {}));
  if (!ended_) end(is_cancelled_ ? Ended::kCancelled : Ended::kLeft, "the agent ended before its turn did");
}

void Client::give_up(const std::string& why) {
  if (!ended_) end(Ended::kProtocol, why);
}

void Client::cancel() {
  if (ended_ || std::exchange(is_cancelled_, true)) return;
  for (const auto& asked : std::exchange(open_, {})) messages_ += asked.response(nullptr);
  if (asked_ != Asked::kPrompt) return end(Ended::kCancelled, "stopped");
  const std::string parameters = JsonMembers().text("sessionId", session_).object();
  messages_ += message().text("method", "session/cancel").json("params", parameters).object() + "\n";
}

void Client::ask(Asked what, std::string_view method, const std::string& parameters) {
  asked_ = what;
  asked_id_ = static_cast<std::int64_t>(what);
  messages_ +=
      message().number("id", asked_id_).text("method", method).json("params", parameters).object() + "\n";
}

void Client::end(Ended how, const std::string& why) {
  ended_ = how;
  progress_.last_note(why.empty() ? "done" : why);
}

std::string Client::last_line() const {
  std::vector<std::string> usages;
  for (const auto& each : used_.by_model()) {
    JsonMembers usage;
    usage.text("model", each.model)
        .number("input_tokens", each.input_tokens)
        .number("output_tokens", each.output_tokens)
        .number("cached_tokens", each.cached_tokens);
    if (each.usd_micros) usage.number("usd_micros", *each.usd_micros);
    usages.push_back(usage.object());
  }
  const auto& tools = progress_.tool_calls();
  return JsonMembers()
             .text("type", "acp_end")
             .text("session", session_)
             .text("stop_reason", stop_reason_)
             .number("exit_code", static_cast<std::int64_t>(*ended_))
             .number("tool_calls", tools.total)
             .number("tool_calls_failed", tools.failed)
             .json("usage", canonical_array(usages))
             .boolean("usage_is_part", used_.is_part() || (tools.total > 0 && used_.has_last_call_alone()))
             .object() +
         "\n";
}

}  // namespace pawl::agent::acp
