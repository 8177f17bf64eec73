#include "agent/acp/program.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "agent/acp/client.h"
#include "agent/acp/people.h"
#include "base/json_members.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/process.h"

namespace pawl::agent::acp {
namespace {

constexpr std::string_view kPrompt = "--prompt=", kModel = "--model=", kAsks = "--permissions=ask";
constexpr std::string_view kSessionFile = ".pawl-acp-session";
constexpr std::size_t kSessionFileBytesMax = 4096;
constexpr int kWrongArguments = 2;
constexpr int kLookEveryMs = 100;         // for a signal that arrived, and for the agent's end
constexpr std::int64_t kCancelMs = 1000;  // less than the time between SIGTERM and SIGKILL
constexpr std::int64_t kLeaveMs = 2000;   // for an agent that writes its session when its turn is over
constexpr int kPiecesMax = 64;            // pieces of its last words, before the time is looked at again
constexpr std::size_t kUnsentBytesMax = 1 << 20;  // an agent that does not read more is left

void print(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = write(fd, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
}

std::string session_path() { return os::join(os::environment_value("HOME").value_or("/"), kSessionFile); }

// An agent may have written the file.
Session session_before() {
  if (os::environment_value("PAWL_CONTINUES").value_or("").empty()) return {};
  const auto text = os::read_file(session_path(), kSessionFileBytesMax);
  const auto kept = text ? PrintedObject::parse(*text) : std::nullopt;
  if (!kept) return {};
  return {.id = kept->text("session"), .usd_micros = kept->count("usd_micros")};
}

void keep(const Session& session) {
  const auto kept = os::write_atomically(
      session_path(),
      JsonMembers().text("session", session.id).number("usd_micros", session.usd_micros).object());
  if (!kept) print(STDERR_FILENO, "acp: the session is not kept: " + kept.error().message + "\n");
}

class Conversation {
 public:
  Conversation(Client& client, os::Piped agent) : client_(client), agent_(std::move(agent)) {
    fcntl(agent_.to.get(), F_SETFL, O_NONBLOCK);
    fcntl(agent_.from.get(), F_SETFL, O_NONBLOCK);
  }

  void run() {
    while (!client_.ended()) {
      if (os::interrupted()) stop();
      turn();
      if (!stopped_at_ && !client_.ended()) people_.attend(client_);
      print(STDOUT_FILENO, client_.take_lines());
      if (client_.session() != kept_) keep(client_.left());
      kept_ = client_.session();
    }
  }

  // Returns when the agent has ended, or its time is over. With this process all others of the sandbox end.
  void leave() {
    agent_.to.reset();
    const MonoTime begun = clock_.mono();
    while (ms_between(begun, clock_.mono()) < kLeaveMs && !is_gone(kLookEveryMs))
      for (int pieces = 0; pieces < kPiecesMax && agent_.from && read_some(); ++pieces) continue;
    if (client_.ended() == Ended::kLeft && code_)
      print(STDOUT_FILENO, "acp: the agent's exit code is " + std::to_string(*code_) + "\n");
  }

 private:
  void turn() {
    unsent_ += client_.take_messages();
    if (unsent_.size() > kUnsentBytesMax)
      return client_.give_up("the agent does not read what it is sent: 1 MiB is left");
    pollfd entries[] = {{.fd = agent_.from.get(), .events = POLLIN},
                        {.fd = unsent_.empty() ? -1 : agent_.to.get(), .events = POLLOUT}};
    const int ready = poll(entries, 2, kLookEveryMs);
    // By the clock: a process that the agent left may hold its stdout for ever, and write to it.
    if (const MonoTime now = clock_.mono(); ms_between(looked_at_, now) >= kLookEveryMs) {
      looked_at_ = now;
      if (is_gone(0)) return hear_last();
    }
    if (ready <= 0) return;
    if (entries[1].revents != 0) write_some();
    if (entries[0].revents != 0) hear();
  }

  bool is_gone(int timeout_ms) {
    const auto exit = os::wait_for_exit(agent_.pid, timeout_ms);
    if (exit.code) code_ = exit.code;
    return exit.gone;
  }

  // The pipe may have last words of the agent. It holds less than is read here.
  void hear_last() {
    for (int pieces = 0; pieces < kPiecesMax && agent_.from && read_some(); ++pieces)
      client_.hear(std::string_view(bytes_).substr(0, got_));
    client_.hear_end();
  }

  void hear() {
    if (read_some())
      client_.hear(std::string_view(bytes_).substr(0, got_));
    else if (!agent_.from)
      client_.hear_end();
  }

  // False: no bytes are there now. At the end, the pipe is closed.
  bool read_some() {
    const ssize_t got = read(agent_.from.get(), bytes_.data(), bytes_.size());
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (got <= 0) agent_.from.reset();
    got_ = got <= 0 ? 0 : static_cast<std::size_t>(got);
    return got > 0;
  }

  // An agent that closed its stdin ends soon, or says more.
  void write_some() {
    const ssize_t wrote = write(agent_.to.get(), unsent_.data(), unsent_.size());
    if (wrote < 0 && (errno == EAGAIN || errno == EINTR)) return;
    unsent_.erase(0, wrote < 0 ? unsent_.size() : static_cast<std::size_t>(wrote));
  }

  void stop() {
    if (!stopped_at_) stopped_at_ = clock_.mono();
    client_.cancel();
    if (ms_between(*stopped_at_, clock_.mono()) > kCancelMs) client_.hear_end();
  }

  Client& client_;
  os::Piped agent_;
  People people_;
  const os::SystemClock clock_;
  std::string unsent_, kept_;
  std::string bytes_ = std::string(64 << 10, '\0');
  std::size_t got_ = 0;
  MonoTime looked_at_ = clock_.mono();  // whether the agent is there
  std::optional<MonoTime> stopped_at_;
  std::optional<int> code_;
};

}  // namespace

bool is_name(std::string_view program) { return program.substr(program.rfind('/') + 1) == "pawl-acp"; }

int run(const std::vector<std::string>& arguments) {
  Task task;
  auto program = arguments.begin();
  bool is_known = true;
  for (; program != arguments.end() && *program != "--"; ++program) {
    if (program->starts_with(kPrompt))
      task.prompt = program->substr(kPrompt.size());
    else if (program->starts_with(kModel))
      task.model = program->substr(kModel.size());
    else if (*program == kAsks)
      task.asks_person = true;
    else
      is_known = false;
  }
  if (!is_known || task.prompt.empty() || program == arguments.end() || ++program == arguments.end()) {
    print(STDERR_FILENO, "pawl-acp starts an agent for `pawl run`: do not call it by hand.\n");
    return kWrongArguments;
  }
  os::ignore_write_signals();
  os::catch_interrupts();
  auto agent = os::spawn_piped({program, arguments.end()});
  if (!agent) {
    print(STDERR_FILENO, "acp: " + agent.error().message + "\n");
    return static_cast<int>(Ended::kLeft);
  }
  task.folder = os::absolute_path(".").value_or("/");
  task.before = session_before();
  Client client(std::move(task));
  Conversation conversation(client, *std::move(agent));
  conversation.run();
  if (!client.session().empty()) keep(client.left());
  // Before the agent leaves: after a stop there is less time than it may take.
  print(STDOUT_FILENO, client.take_lines() + client.last_line());
  conversation.leave();
  return static_cast<int>(*client.ended());
}

}  // namespace pawl::agent::acp
