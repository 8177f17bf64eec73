// HTTP requests on one episode, without sockets: what docs/agent-api.yaml says, and nothing besides.
//
// A request is taken in two steps, because a body may be large: find_route() judges its first line before the
// body has come; handle(), or begin_save() and finish_save(), does it. Not thread-safe, like the Episode.
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

#include "agent/episode.h"
#include "agent/server.h"

namespace pawl::agent {

constexpr int kNoSuccess = 300;                      // statuses from here on
constexpr std::size_t kBodyBytesMax = 2 << 20;       // of all but a checkpoint's payload
constexpr std::size_t kHeaderBytesMax = 128 << 10;   // metadata is 64 KiB before base64
constexpr std::int64_t kLogLinesMax = 1000;          // a second
constexpr std::int64_t kLogBytesMax = 64 << 20;      // in all
constexpr std::size_t kAnswerBytesMax = 4 << 20;     // of a list, and one entry more
constexpr std::size_t kPayloadsBytesMax = 16 << 20;  // of a list with payloads
constexpr std::size_t kSessionsRemembered = 1024;    // words; others are looked up in the episode

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

struct Answer {
  int status = 200;
  std::string_view type = "application/json";
  std::string headers;  // more lines, each with its CRLF
  std::string body;
  std::int64_t wait_ms = 0;  // of a question without an answer: how long who asks wants to wait for it
  bool answered = false;     // a question has an answer now: those who wait ask again
  std::string_view unsaved;  // why it could not be saved; "": it was, or there was nothing to save
};

// The problem document of an error, or of one of HTTP's own: invalid, foreign, not-found, method,
// too-large... `known`: ids that are there instead of the one that is not.
Answer problem(int status, std::string_view type, std::string_view detail,
               const std::vector<std::string>& known = {});
Answer problem(const Error& error);
inline constexpr std::string_view kDiskFull = "the disk is full", kIoError = "the disk failed";
std::string_view why_unsaved(const Error& error);  // one of them; "" for what is no matter of the disk
bool is_disk_full(const Error& error);
Error disk_full(std::string message);

struct Route {
  Verb verb = Verb::kContext;
  std::vector<std::pair<std::string_view, std::string>> query;  // decoded
  const std::string* parameter(std::string_view name) const;
};
// `by_operator`: on the socket that agents never see. 400, 404, 405.
std::expected<Route, Answer> find_route(std::string_view method, std::string_view target, bool by_operator);
// kInvalid when it is not from `least` to `most`; `otherwise` when it is not there.
Result<std::int64_t> integer_parameter(const Route& route, std::string_view name, std::int64_t least,
                                       std::int64_t most, std::int64_t otherwise);
bool takes_body(Verb verb);
bool only_reads(Verb verb);
bool answers_much(Verb verb);  // maybe: Api::answer_bytes() says

// What of a request's headers counts.
struct Headers {
  std::optional<std::string> session, goal, episode, metadata, spent;
};
// Takes a header named `Pawl-...`, in any case; false when there is none of that name, or it came already.
bool take_header(Headers& headers, std::string_view name, std::string_view value);
bool is_word(std::string_view text);  // 1 to 64 letters, digits, '.', '_' and '-'

struct Call {
  Route route;
  Headers headers;
  std::string session;  // the header's word, or one of the connection
  std::string_view body;
  std::shared_ptr<std::optional<Loaded>> loaded;  // of kLoad: what load_beside() has found; taken once
};

// Of kLoad, in any thread: what load would find, by a connection of its own. Nothing: it is damaged, or not
// there, or the request is wrong; load says so.
std::optional<Loaded> load_beside(const std::string& path, const Call& call, WallTime now);

class Api {
 public:
  struct Hooks {
    std::function<void(std::string_view level, std::string_view message)> on_log;
    std::function<void()> on_cap_reached;
    std::function<void(std::string_view why, std::int64_t room_needed)> on_unsaved;
    std::function<Result<std::int64_t>()> free_bytes;  // of the disk
    std::function<std::int64_t()> served_ms;           // for how long this process has; it never goes back
  };
  Api(std::unique_ptr<Episode> episode, Context context, Hooks hooks);

  // Like the Episode's. Hooks that tell of something durable are called by commit().
  Status begin_group(bool alone = false);
  bool spoilt() const { return episode_->spoilt(); }
  Status commit();
  void roll_back();
  // Nothing more comes: notes the time since the last commit, if it can.
  void note_end();

  // All but kSave.
  Answer handle(const Call& call, WallTime now);
  // Not inside a group. `bytes`: of the payload, as many as are known of. kExhausted when the disk has no
  // room for them; finish_save() looks again, for all of it.
  Result<std::unique_ptr<Episode::Saving>> begin_save(const Call& call, std::int64_t bytes, WallTime now);
  Answer finish_save(const Call& call, Episode::Saving& saving, WallTime now);
  // Whether a write that can't be saved is answered as if it were, with 202.
  bool goes_on_unsaved() const { return context_.best_effort; }
  // The last word on an answer: of one that is unsaved what the agent is told, and the hook. Not in a group.
  void settle(const Call& call, Answer& answer, WallTime now);
  // How many bytes an answer may have, roughly; 0 for small ones.
  std::size_t answer_bytes(const Call& call);

 private:
  struct Session {
    std::string word;
    std::int64_t number = 0;
    bool resumed = false;
    bool restart_told = false;
    std::vector<std::string> missing_told;  // ids that it looked for in vain
  };
  struct Budget {
    Spent spent;
    bool stop = false;
  };
  using Handled = Result<Answer>;

  Handled dispatch(const Call& call, WallTime now);
  Handled context(const Call& call, WallTime now);
  Handled heartbeat(const Call& call, WallTime now);
  Handled log(const Call& call, WallTime now);
  // kExhausted: the log has its bounds.
  Status write_log(std::string_view level, std::string_view message, WallTime now);
  Answer budget_answer(const Budget& budget) const;
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

  // Begins it when it is new.
  Result<Session*> session_of(const Call& call, WallTime now);
  Result<Spent> spent();  // up to this moment
  Result<Budget> budget();
  Result<Question> find_question(const std::string& key);
  static Result<StepBegin> step_of(const Call& call);
  static Result<ChildSpawn> child_of(const Call& call);
  Status check_room(std::int64_t bytes);
  bool answers_unsaved(const Call& call, Answer& answer, WallTime now);
  bool remember_unsaved(const Call& call);  // false: there is no room for more
  // The Episode's, of what was begun or spawned unsaved, too.
  Status complete_step(const std::string& key, const std::string& result, WallTime now);
  Status fail_step(const std::string& key, const std::string& error, WallTime now);
  Status finish_child(const std::string& child_id, const std::string& result, WallTime now);
  void forget_group();
  void tell_cap(const Budget& budget, WallTime now);
  void tell_restart(Session& session, const Checkpoint& checkpoint, WallTime now);
  // `loaded`: {} when a process begins afresh, or ends, and had loaded nothing.
  void tell_resumed(const Json& loaded, WallTime now);
  // The ids that have checkpoints, when the one that was asked for has none.
  Result<std::vector<std::string>> other_ids(const std::string& id);
  Handled not_loaded(const Call& call, const Error& error, WallTime now);
  void tell_missing(Session& session, const std::string& id, const std::string& known, WallTime now);
  std::string checkpoint_text(const Checkpoint& checkpoint, const std::string* payload) const;

  const std::unique_ptr<Episode> episode_;
  const Context context_;
  const Hooks hooks_;
  const std::string fingerprint_;
  std::unordered_map<std::string, Session> sessions_;
  std::int64_t noted_ms_ = 0;  // of served_ms(): it is in the episode
  bool cap_told_ = false;
  bool resumed_told_ = false;
  WallTime last_call_;
  std::int64_t room_needed_ = 0;  // the most that a save has asked for in vain
  // Begun and spawned when nothing could be saved: what ends them is saved with them, if it can be.
  std::unordered_map<std::string, StepBegin> unsaved_steps_;
  std::unordered_map<std::string, ChildSpawn> unsaved_children_;
  std::string last_note_;  // of a heartbeat, in the log
  std::int64_t log_second_ = 0, log_lines_ = 0, log_bytes_ = 0;
  std::vector<std::function<void()>> undo_;  // of what is remembered here, when a group fails
  std::vector<std::function<void()>> after_commit_;
};

}  // namespace pawl::agent
