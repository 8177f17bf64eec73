// Processes: the identity of this one, the liveness of others, and the start of processes that outlive this
// one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "os/file.h"

namespace pawl::os {

// Identifies one process for ever: a pid is used again, but (boot, pid, start time) is not (starttime in
// proc(5)).
struct ProcessIdentity {
  std::string host;     // host name, and the pid namespace (pid_namespaces(7)) if it is not the initial one
  std::string boot_id;  // /proc/sys/kernel/random/boot_id
  std::int64_t pid = 0;
  std::uint64_t start_ticks = 0;
  bool operator==(const ProcessIdentity&) const = default;
};

ProcessIdentity this_process();
constexpr std::string_view kNoBoot = "unknown";
std::string boot_id();  // this host's current boot; kNoBoot: unknown
// "host/boot_id/pid/start_ticks". parse_identity() reads it back, and ignores a further '/' with what
// follows.
std::string to_text(const ProcessIdentity& identity);
std::optional<ProcessIdentity> parse_identity(std::string_view text);

enum class Liveness { kAlive, kDead, kUnknown };  // kUnknown: on another host, or it cannot be looked at
Liveness liveness(const ProcessIdentity& identity);

// Starts `argv` (argv[0] is a path) as the leader of a new session. stdin is /dev/null, or a pipe with all of
// `input`; stdout and stderr are appended to `log_path`. All other descriptors are closed, and the
// environment is exactly `env`. The process survives the death of this one. Returns its pid. It is a child of
// this process, which must reap it (wait_for_exit). REQUIRES: `input` has at most kInputBytesMax bytes.
constexpr std::size_t kInputBytesMax = 48 << 10;  // a pipe holds them before the process reads
Result<std::int64_t> spawn_detached(const std::vector<std::string>& argv, const std::vector<std::string>& env,
                                    const std::string& log_path, std::string_view input = {});
// The output of a program, and how it ended.
struct Printed {
  std::string text;         // its stdout
  std::optional<int> code;  // the exit code; no value: killed by a signal
};
// Runs `argv` (argv[0] is a path, or is looked up in PATH) as the leader of a new session. The environment and the
// stderr are those of this process, and stdin is empty. Returns when it has ended; processes that it leaves are
// not waited for. A program that can't be started has the exit code 127. kUnavailable: it was killed, with its
// process group, after `timeout_ms`. kExhausted: likewise, since it printed more than `bytes_max`.
// kCancelled: likewise, since interrupted().
Result<Printed> output_of(const std::vector<std::string>& argv, std::int64_t timeout_ms,
                          std::size_t bytes_max);
// A process whose stdin and stdout are pipes to this one.
struct Piped {
  std::int64_t pid = 0;
  UniqueFd to, from;  // its stdin and its stdout
};
// Starts `argv` (argv[0] is a path, or is looked up in PATH) with the environment and the stderr of this
// process, as the leader of a new session. A program that can't be started has the exit code 127. The process
// is a child of this one, which must reap it (wait_for_exit).
Result<Piped> spawn_piped(const std::vector<std::string>& argv);
// Reads stdin to its end and puts /dev/null in its place, so that no child gets it. kExhausted: more than
// kInputBytesMax bytes.
Result<std::string> take_standard_input();
struct Exit {
  bool gone = false;
  // The exit code of a child of this process. No value: killed by a signal, or not a child.
  std::optional<int> code;
};
// Waits until the process is gone, at most `timeout_ms` or until a signal arrives. Works for any process, and
// reaps a child. Not gone: also when it cannot be looked at.
Exit wait_for_exit(std::int64_t pid, std::int64_t timeout_ms);

// Sends SIGKILL to exactly this process if it lives on this host, and waits at most `timeout_ms` until it is
// gone, also when a signal arrives. True: it is gone. False also for a process whose liveness is unknown.
bool kill_process(const ProcessIdentity& identity, std::int64_t timeout_ms);

// Replaces this process with `program` and its arguments (execve(2)). Returns only on failure.
std::unexpected<Error> become(const std::string& program, char** argv);
Result<std::string> own_executable();  // the path of this program
std::vector<std::string> environment();
std::optional<std::string> environment_value(const std::string& name);

// From now on SIGINT, SIGTERM and SIGHUP, unless ignored, only set a flag (interrupted()). A second signal of
// the same number ends the process as usual.
void catch_interrupts();
bool interrupted();
bool asked_to_stop_by_keyboard();  // SIGINT was the last such signal
bool is_terminal(int fd);
bool reader_left(int fd);              // the other end of a pipe or socket is closed (poll(2))
std::size_t terminal_columns(int fd);  // 80: unknown
std::int64_t user_id();                // the real uid
// From now on other processes of the same user cannot read this process's memory or environment
// (PR_SET_DUMPABLE in prctl(2)). Root can.
void refuse_to_be_looked_into();
// A write to a closed pipe, or beyond the file limit of the caller (ulimit -f), becomes an error of write(2)
// instead of a fatal signal.
void ignore_write_signals();
// Occupies closed standard descriptors, so that their use fails with EBADF. Otherwise the next opened file,
// for example a database, would get the number and receive printed text.
void hold_standard_descriptors();
// The owner keeps all rights on what this process creates. What the umask takes from others stays.
void keep_owner_rights();

}  // namespace pawl::os
