// HTTP requests on one episode, without sockets, exactly as docs/agent-api.yaml describes them.
//
// A request takes two steps, because a body may be large. find_route() judges the first line before the body
// arrives. Then handle(), or begin_save() and finish_save() for a checkpoint, executes the request. Not
// thread-safe, like the Journal.
#pragma once

#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "agent/journal.h"
#include "agent/server.h"

namespace pawl::agent {

constexpr int kNoSuccess = 300;                      // the first HTTP status that is not a success
constexpr std::size_t kBodyBytesMax = 2 << 20;       // for every body but a checkpoint's payload
constexpr std::int64_t kLogLinesMax = 1000;          // per second
constexpr std::int64_t kLogBytesMax = 64 << 20;      // in all
constexpr std::size_t kAnswerBytesMax = 4 << 20;     // for a list, plus one entry
constexpr std::size_t kPayloadsBytesMax = 16 << 20;  // for a list with payloads
constexpr std::size_t kSessionsRemembered = 1024;    // in memory; others are looked up in the episode

enum class Verb {
  kContext,
  kHeartbeat,
  kLog,
  kSave,
  kLoad,
  kList,
  kPrune,
  kSteps,
  kBegin,
  kComplete,
  kFail,
  kChildren,
  kSpawn,
  kFinish,
  kUsage,
  kAsk,
  kQuestion,
  kAnswer,
};

struct ApiResponse {
  int status = 200;
  std::string_view type = "application/json";
  std::string headers;  // more header lines, each with its CRLF
  std::string body;
  std::int64_t wait_ms = 0;  // how long the request waits for the answer to a question
  bool answered = false;     // a question has an answer now: requests that wait for an answer retry
  std::string_view unsaved;  // why the write was not saved; "": it was saved, or did not write
};

// The problem document of an HTTP error: invalid, foreign, not-found, method, too-large... `known`: the ids
// that exist, when the requested one does not.
ApiResponse problem(int status, std::string_view type, std::string_view detail,
                    const std::vector<std::string>& known = {});
ApiResponse problem(const Error& error);
inline constexpr std::string_view kDiskFull = "the disk is full", kIoError = "the disk failed";
std::string_view why_unsaved(const Error& error);  // kDiskFull or kIoError; "": the disk is not the cause
bool is_disk_full(const Error& error);
Error disk_full(std::string message);

struct Route {
  Verb verb = Verb::kContext;
  std::vector<std::pair<std::string_view, std::string>> query;  // decoded
  const std::string* parameter(std::string_view name) const;
};
// `by_operator`: the request came over the socket that agents never see. Errors: 400, 404, 405.
std::expected<Route, ApiResponse> find_route(std::string_view method, std::string_view target,
                                             bool by_operator);
// kInvalid: the parameter is not an integer from `least` to `most`. `otherwise`: the result without the
// parameter.
Result<std::int64_t> integer_parameter(const Route& route, std::string_view name, std::int64_t least,
                                       std::int64_t most, std::int64_t otherwise);
bool takes_body(Verb verb);
bool only_reads(Verb verb);
bool answers_much(Verb verb);  // its response may be large: Api::answer_bytes() tells the size

// The request headers that this API reads.
struct Headers {
  std::optional<std::string> session, goal, episode, metadata, spent;
};
// Stores a header named `Pawl-...`, in any case. False: the name is unknown, or the header came twice.
bool take_header(Headers& headers, std::string_view name, std::string_view value);
bool is_word(std::string_view text);  // 1 to 64 letters, digits, '.', '_' and '-'

struct Call {
  Route route;
  Headers headers;
  std::string session;  // the header's value, or the name given to the connection
  std::string_view body;
  std::shared_ptr<std::optional<Loaded>> loaded;  // for kLoad: the result of load_beside(), used once
};

// Loads the checkpoint that a kLoad asks for, over a connection of its own. Callable in any thread. No
// result: the checkpoint is damaged or missing, or the request is invalid. Then load() reports the error.
std::optional<Loaded> load_beside(const std::string& path, const Call& call, WallTime now);

class Api {
 public:
  struct Hooks {
    std::function<void(std::string_view level, std::string_view message)> on_log;
    std::function<void()> on_cap_reached;
    std::function<void(std::string_view why, std::int64_t room_needed)> on_unsaved;
    std::function<std::string(std::string_view)> redact;  // ServeSpec::redact
    std::function<Result<std::int64_t>()> free_bytes;     // the disk's
    std::function<std::int64_t()> served_ms;              // how long this process has served; never decreases
  };
  Api(std::unique_ptr<Journal> journal, Context context, Hooks hooks);

  // Group semantics as of Journal. commit() calls the hooks that report durable changes.
  Status begin_group(bool alone = false);
  bool must_roll_back() const { return journal_->must_roll_back(); }
  Status commit();
  void roll_back();
  // Call it after the last request. Records the time since the last commit, if it can.
  void note_end();

  // Executes every verb but kSave.
  ApiResponse handle(const Call& call, WallTime now);
  // Starts to receive a checkpoint; not inside a group. `bytes`: the payload's size as far as it is known.
  // kExhausted: the disk has no room for that many bytes; finish_save() checks the whole size again.
  Result<std::unique_ptr<Checkpoints::Saving>> begin_save(const Call& call, std::int64_t bytes, WallTime now);
  ApiResponse finish_save(const Call& call, Checkpoints::Saving& saving, WallTime now);
  // Whether a write that cannot be saved is accepted with 202 (degraded mode).
  bool goes_on_unsaved() const { return context_.best_effort; }
  // Completes the response of an unsaved write, and calls on_unsaved. Call it last, outside a group.
  void settle(const Call& call, ApiResponse& answer, WallTime now);
  // Approximate size of the response in bytes; 0 for a small one.
  std::size_t answer_bytes(const Call& call);

 private:
  struct Session {
    std::string word;
    std::int64_t number = 0;
    bool resumed = false;
    bool restart_reported = false;
    std::vector<std::string> missing_reported;  // missing ids that were reported in this session
    bool has_spawned = false;
  };
  struct Budget {
    Spent spent;
    bool stop = false;
  };
  using Handled = Result<ApiResponse>;

  Handled dispatch(const Call& call, WallTime now);
  Handled context(const Call& call, WallTime now);
  Handled heartbeat(const Call& call, WallTime now);
  Handled log(const Call& call, WallTime now);
  // kExhausted: the log is at its limit of lines or bytes.
  Status write_log(std::string_view level, std::string_view message, WallTime now);
  ApiResponse budget_response(const Budget& budget) const;
  Handled load(const Call& call, WallTime now);
  Handled list(const Call& call, WallTime now);
  Handled prune(const Call& call);
  Handled steps(const Call& call);
  Handled begin_step(const Call& call, WallTime now);
  Handled complete_step(const Call& call, WallTime now);
  Handled fail_step(const Call& call, WallTime now);
  Handled children(const Call& call);
  Handled spawn(const Call& call, WallTime now);
  Handled finish_child(const Call& call, WallTime now);
  Handled usage(const Call& call, WallTime now);
  Handled ask(const Call& call, WallTime now);
  Handled question(const Call& call);
  Handled answer(const Call& call, WallTime now);

  // Finds the call's session, or begins it.
  Result<Session*> session_of(const Call& call, WallTime now);
  Result<Spent> spent();  // up to this moment
  Result<Budget> budget();
  Result<Question> find_question(const std::string& key);
  static Result<StepBegin> step_of(const Call& call);
  static Result<ChildSpawn> child_of(const Call& call);
  Status check_room(std::int64_t bytes);
  bool answers_unsaved(const Call& call, ApiResponse& answer, WallTime now);
  bool remember_unsaved(const Call& call);  // false: too many are remembered already
  // Like the Journal's verbs. They also find steps and children that were begun or spawned unsaved.
  Status complete_step(const std::string& key, const std::string& result, WallTime now);
  Status fail_step(const std::string& key, const std::string& error, WallTime now);
  Status finish_child(const std::string& child_id, const std::string& result, WallTime now);
  void forget_group();
  void report_cap(const Budget& budget, WallTime now);
  void report_restart(Session& session, const Checkpoint& checkpoint, WallTime now);
  // Reports once that the agent resumed. `loaded`: {"loaded", ""} when the process saved or ended before it
  // loaded anything.
  void report_resumed(const Json& loaded, WallTime now);
  // The newest ids that have checkpoints; empty when `id` has checkpoints itself.
  Result<std::vector<std::string>> other_ids(const std::string& id);
  Handled not_loaded(const Call& call, const Error& error, WallTime now);
  // The answer to a list without a result for `asked`, an id or a prefix.
  Handled not_listed(const Call& call, std::string_view asked, WallTime now);
  // Reports a child of a parent that no session before knew, where these had children.
  Status look_at_parent(const Call& call, const ChildSpawn& child, const ChildSpawned& spawned, WallTime now);
  void report_missing(Session& session, const std::string& id, const std::string& known, WallTime now);
  std::string checkpoint_text(const Checkpoint& checkpoint, const std::string* payload) const;

  const std::unique_ptr<Journal> journal_;
  const Context context_;
  const Hooks hooks_;
  const std::string fingerprint_;
  std::unordered_map<std::string, Session> sessions_;
  std::int64_t noted_ms_ = 0;  // the part of served_ms() that the episode has recorded
  bool cap_reported_ = false;
  bool resumed_reported_ = false;
  WallTime last_call_;
  std::int64_t room_needed_ = 0;  // the largest free space that a refused save needed
  // Steps and children that were begun or spawned while no write could be saved. The request that ends a step or
  // child saves both, if it can.
  std::unordered_map<std::string, StepBegin> unsaved_steps_;
  std::unordered_map<std::string, ChildSpawn> unsaved_children_;
  std::string last_note_;  // a heartbeat's note, as it was logged
  std::int64_t log_second_ = 0, log_lines_ = 0, log_bytes_ = 0;
  std::vector<std::function<void()>> undo_;  // restores the state in memory when a group fails
  std::vector<std::function<void()>> after_commit_;
};

}  // namespace pawl::agent
