// How the inside of every sandbox looks to its programs, whatever the backend: the user, the places and the
// files that Pawl gives. Programs, plans and stored evidence rely on these values, so every backend takes them
// from here. PATH is in environment.h, because it depends on the host. Constants only: the filter compiler,
// which is built without the rest of this folder, includes this header, too.
#pragma once

#include <array>
#include <string_view>
#include <utility>

namespace pawl::sandbox::inside {

// The user id and the group id. Agents refuse to work as root, and no program needs root.
inline constexpr unsigned kUid = 1000;
inline constexpr char kUser[] = "agent";
inline constexpr char kHostName[] = "pawl";

// Places, as absolute paths. A step starts in kWorkspace.
inline constexpr char kWorkspace[] = "/workspace";
inline constexpr char kHome[] = "/home/agent";       // the user's home; on disk
inline constexpr char kTemporary[] = "/tmp";         // in memory
inline constexpr char kLargeFiles[] = "/var/tmp";    // on disk, for large temporary files
inline constexpr char kRun[] = "/run";               // in memory
inline constexpr char kSharedMemory[] = "/dev/shm";  // in memory
inline constexpr char kPlan[] = "/plan";             // the folder of the plan
inline constexpr char kPawl[] = "/pawl";             // Pawl's files for an agent, and the socket of its API
// Pawl's client of the Agent Client Protocol, for an agent that speaks it.
inline constexpr char kAcpClient[] = "/pawl-acp";
// The folders of WorkspaceSpec::git_objects lie below it, as 0, 1 and so on.
inline constexpr char kGitObjects[] = "/pawl-git";

// The variables that login(1) would set for the user. A spec's own values take precedence.
inline constexpr std::array kUserEnvironment = {"HOME=/home/agent", "LOGNAME=agent", "USER=agent"};

// Files of /etc with the same text in every sandbox: name and content. All others come from the host.
inline constexpr std::pair<const char*, std::string_view> kEtcFiles[] = {
    {"passwd",
     "root:x:0:0:root:/:/usr/sbin/nologin\nagent:x:1000:1000:agent:/home/agent:/bin/sh\n"
     "nobody:x:65534:65534:nobody:/:/usr/sbin/nologin\n"},
    {"group", "root:x:0:\nagent:x:1000:\nnogroup:x:65534:\n"},
    {"hosts", "127.0.0.1 localhost pawl\n::1 localhost\n"},
    {"resolv.conf", ""},
};
// The content of /etc/resolv.conf with network scoped: the resolver of the egress.
inline constexpr std::string_view kResolvConf = "nameserver 198.18.0.1\n";

}  // namespace pawl::sandbox::inside
