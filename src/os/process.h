// Processes: who this one is, whether another one lives, how to start one that outlives us.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "os/file.h"

namespace pawl::os {

// Names one process for ever: the pid alone is used again, (boot, pid, start time) is not (proc(5):
// starttime).
struct ProcessIdentity {
  std::string host;     // its name, and the pid namespace (pid_namespaces(7)) when it is not the first one
  std::string boot_id;  // /proc/sys/kernel/random/boot_id
  std::int64_t pid = 0;
  std::uint64_t start_ticks = 0;
  bool operator==(const ProcessIdentity&) const = default;
};

ProcessIdentity this_process();
constexpr std::string_view kNoBoot = "unknown";
std::string boot_id();  // of this host, since it was started; kNoBoot where nobody says
// "host/boot_id/pid/start_ticks"; parse_identity reads it back, ignoring anything after a fifth '/'.
std::string to_text(const ProcessIdentity& identity);
std::optional<ProcessIdentity> parse_identity(std::string_view text);

enum class Liveness { kAlive, kDead, kUnknown };  // kUnknown: on another host, or in another pid namespace
Liveness liveness(const ProcessIdentity& identity);

// Starts `argv` (argv[0] is a path) as the leader of a session of its own, stdin from /dev/null, stdout and
// stderr to `log_path` (appended), every other descriptor closed, the environment exactly `env`. It is not
// killed when we die. Returns its pid; it is our child while we live, so somebody reaps it (wait_for_exit).
Result<std::int64_t> spawn_detached(const std::vector<std::string>& argv, const std::vector<std::string>& env,
                                    const std::string& log_path);
struct Exit {
  bool gone = false;
  // Of a child of ours that exited by itself; empty when it was killed, or is not ours.
  std::optional<int> code;
};
// Blocks until the process is gone, at most `timeout_ms`; also for processes that are not our children. Reaps
// it when it is our child.
Exit wait_for_exit(std::int64_t pid, std::int64_t timeout_ms);

// SIGKILL to exactly this process, when it lives on this host, and waits until it is gone, at most
// `timeout_ms`. True when it is gone; of one elsewhere nobody knows.
bool kill_process(const ProcessIdentity& identity, std::int64_t timeout_ms);

// This very process goes on as `program`, with its arguments (execve(2)). Returns only to say why not.
std::unexpected<Error> become(const std::string& program, char** argv);
Result<std::string> own_executable();  // a path that runs this very program again
std::vector<std::string> environment();
std::optional<std::string> environment_value(const std::string& name);

// From here on SIGINT, SIGTERM and SIGHUP, unless they are ignored, only set a flag (interrupted()); a second
// one ends the process as usual.
void catch_interrupts();
bool interrupted();
bool asked_to_stop_by_keyboard();  // by SIGINT, and not by another one after it
bool is_terminal(int fd);
bool reader_left(int fd);              // of a pipe or a socket: nobody can read what is written (poll(2))
std::size_t terminal_columns(int fd);  // 80 when it can't be known
std::int64_t user_id();                // the real uid
// From here on nobody of the same user can look into this process, its memory or its environment
// (PR_SET_DUMPABLE in prctl(2)); root can.
void refuse_to_be_looked_into();
void ignore_broken_pipes();  // a closed stdout is an error of write(2), not a death
// Where the caller has closed stdin, stdout or stderr, reading or writing them is an error (EBADF) from here
// on: else the next file that is opened, a database say, would be what is printed into.
void hold_standard_descriptors();

}  // namespace pawl::os
