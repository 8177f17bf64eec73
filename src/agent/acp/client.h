// The client's half of the Agent Client Protocol, version 1 (agentclientprotocol.com): JSON-RPC 2.0, one message in
// each line. Bytes of an agent go in; bytes for it and lines for people come out. Pure: no descriptor and no clock.
//
// It runs inside the sandbox, with no more rights than the agent, which may send any bytes. All stored data has a
// limit, and a message that is too long or no JSON is left out. It offers no files and no terminals, because the
// agent has its own in the sandbox. It gives an agent each permission that it requests, because the sandbox is the
// limit, or asks a person for each.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "agent/acp/models.h"
#include "agent/acp/permission.h"
#include "agent/acp/progress.h"
#include "agent/acp/used.h"
#include "agent/printed.h"

namespace pawl::agent::acp {

// How the turn ended. The values are the exit codes of the program.
enum class Ended {
  kDone = 0,              // end_turn
  kProtocol = 20,         // the agent speaks no version that is known, or lacks the model
  kLeft = 21,             // the agent ended before its turn did
  kMaxTokens = 22,        // max_tokens
  kMaxTurnRequests = 23,  // max_turn_requests
  kRefusal = 24,          // refusal
  kCancelled = 25,        // cancelled
  kFailed = 26,           // an error answered a request
  kUnauthorized = 27,     // the agent wants a login
};

// The session of an earlier execution; "": there was none.
struct Session {
  std::string id;
  std::int64_t usd_micros = 0;  // the reported part of its cost
};

struct Task {
  std::string prompt;
  std::string model;         // "": the agent's own
  std::string folder;        // where the agent works
  Session before;            // the session to continue
  bool asks_person = false;  // for each permission
};

class Client {
 public:
  explicit Client(Task task);  // the first message is ready

  void hear(std::string_view bytes);     // bytes of the agent's stdout
  void hear_end();                       // the agent closed its stdout
  void give_up(const std::string& why);  // the agent does not hear
  void cancel();                         // ends the turn; the agent answers with the end

  std::string take_messages() { return std::exchange(messages_, {}); }              // for the agent's stdin
  std::string take_lines() { return progress_.take(); }                             // for people
  std::vector<Question> take_questions() { return std::exchange(questions_, {}); }  // to a person
  // The person's choice.
  void answer(std::string_view key, std::string_view choice);
  // No person can be asked.
  void reject(std::string_view key, const std::string& why);

  // "" until the agent has opened it.
  const std::string& session() const { return session_; }
  std::optional<Ended> ended() const { return ended_; }
  // REQUIRES: ended(). One line of JSON for the usage reader `acp`.
  std::string last_line() const;
  Session left() const { return {.id = session_, .usd_micros = used_.cost_of_session()}; }

 private:
  enum class Asked { kInitialize, kNew, kLoad, kResume, kModel, kPrompt };

  void hear_line(std::string_view line);
  void hear_message(const PrintedObject& message);
  void hear_request(const PrintedObject& message, const std::string& id);
  void hear_result(const PrintedObject& message);
  void hear_error(const PrintedObject& error);
  void hear_capabilities(const PrintedObject& result);
  void hear_session(const PrintedObject& result);
  void hear_model(const PrintedObject& result);
  void hear_stop(const PrintedObject& result);
  void answer_error(const std::string& id, std::int64_t code, std::string_view text);
  void hear_update(const PrintedObject& update);
  void hear_permission(Permission asked);
  void ask_person(Permission asked);
  std::optional<Permission> take_open(std::string_view key);
  void ask(Asked what, std::string_view method, const std::string& parameters);
  void ask_for_session(Asked what);
  void ask_for_model(const std::optional<Models>& models);
  void ask_for_turn();
  void end(Ended how, const std::string& why);

  Task task_;
  std::string messages_, line_;
  SeenCalls seen_;
  std::vector<Permission> open_;  // whose questions have no answer
  std::vector<Question> questions_;
  std::map<std::string, int> asked_times_;  // by key of the question
  bool is_skipping_ = false;                // the rest of a line that is too long
  std::int64_t asked_id_ = -1;
  Asked asked_ = Asked::kInitialize;
  bool can_load_ = false;
  std::string session_, stop_reason_;
  bool is_cancelled_ = false;
  std::optional<Ended> ended_;
  Progress progress_;
  Used used_;
};

}  // namespace pawl::agent::acp
