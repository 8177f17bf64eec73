"""The hostile programs, each with the isolation mechanism that stops it and the reason why it must not work.

Programs that attack the network are in cli/egress_test.py. A name is that of a program in attacks.cc, or of
a script in this file. hostile_test.py runs each program twice: with every mechanism on it is stopped, and
with its own mechanism off it gets through.
"""

import os
import resource

# More than the part that a sandbox gets, on every machine.
HALF_OF_THE_SIGNALS = str(min(resource.getrlimit(resource.RLIMIT_SIGPENDING)[0] % (1 << 63) // 2, 20000))

SECCOMP, LANDLOCK, MASKS, SESSION = "seccomp", "landlock", "masks", "session"

# (program, argument, mechanisms or a larger limit, why). Runs inside, then inside without the mechanisms.
CALLS = [
    ("userns_unshare", "", SECCOMP, "a user namespace gives capabilities, and with them most of the kernel"),
    ("userns_clone", "", SECCOMP, "the same by clone"),
    ("userns_clone3", "", SECCOMP, "the same by clone3, whose flags no filter can see"),
    ("mount_in_userns", "", "seccomp landlock", "mounts of one's own cover read-only ones"),
    ("pivot_root_in_userns", "", "seccomp landlock", "so does a root of one's own"),
    ("chroot_in_userns", "", SECCOMP, "the classic escape: a root of one's own, and a descriptor from before it"),
    ("netns_in_userns", "", SECCOMP, "the network code is large, and reachable with capabilities"),
    ("raw_socket_in_userns", "", SECCOMP, "packets of one's own making"),
    ("setns", "", SECCOMP, "enters the namespaces of others"),
    ("open_tree", "", SECCOMP, "the new mount interface does what mount does"),
    ("pidfd_getfd", "", SECCOMP, "takes descriptors out of other processes"),
    ("keyctl", "", SECCOMP, "keyrings are shared by user id, across namespaces"),
    ("add_key", "", SECCOMP, "a key outlives its step"),
    ("request_key", "", SECCOMP, "runs a helper of the host"),
    ("bpf", "", SECCOMP, "programs in the kernel, with a history of holes"),
    ("perf_event", "", SECCOMP, "counts what other processes do, with a history of holes"),
    ("userfaultfd", "", SECCOMP, "stops the kernel in the middle of a copy: makes races easy"),
    ("io_uring", "", SECCOMP, "does calls that no filter sees"),
    ("memfd_secret", "", SECCOMP, "memory that nobody can account for"),
    ("modify_ldt", "", SECCOMP, "segments of one's own, for no program of today"),
    ("x32", "", SECCOMP, "the same calls under numbers that a careless list lets pass"),
    ("int80", "", SECCOMP, "the 32-bit calls have numbers of their own"),
    ("tiocsti", "", SECCOMP, "types into the terminal of whoever looks"),
    ("tiocsti_high_bits", "", SECCOMP, "the kernel looks at 32 bits of the request, a careless filter at 64"),
    ("tioclinux", "", SECCOMP, "types by the console's clipboard"),
    ("line_discipline", "", SECCOMP, "loads a module for terminals, with a history of holes"),
    ("packet_socket", "", SECCOMP, "raw packets"),
    ("packet_socketpair", "", SECCOMP, "the same code of the kernel by another call"),
    ("vsock_socket", "", SECCOMP, "reaches the hypervisor, past every network namespace"),
    ("key_socket_high_bits", "", SECCOMP, "the family, too, is 32 bits"),
    ("socket", "16,3,6", SECCOMP, "netlink of IPsec, a large part of the kernel"),
    ("socket", "16,2,12", SECCOMP, "netlink of packet filters, with a history of holes"),
    ("socket", "16,3,16", SECCOMP, "generic netlink loads whatever family is asked for"),
    ("socket", "16,3,15", SECCOMP, "the machine's devices, as they come and go"),
    ("socket", "16,3,4", SECCOMP, "netlink of socket statistics, a module a family"),
    ("socket", "16,3,9", SECCOMP, "the machine's audit"),
    ("socket", "16,3,21", SECCOMP, "the kernel's ciphers"),
    ("socket", "2,1,132", SECCOMP, "SCTP is a module that is loaded for whoever asks"),
    ("socket", "10,5,132", SECCOMP, "SCTP by packets, over IPv6"),
    ("socket", "2,6,33", SECCOMP, "DCCP, too"),
    ("socket", "2,1,262", SECCOMP, "MPTCP, too"),
    ("socket", "10,1,262", SECCOMP, "and over IPv6"),
    ("socket", "2,1,256", SECCOMP, "SMC, too"),
    ("socket", "2,2,136", SECCOMP, "UDP-Lite, which nobody uses"),
    ("socket", "2,2,115", SECCOMP, "tunnels"),
    ("socket", "2,524289,132", SECCOMP, "flags beside the type change nothing"),
    ("socket", "2,1,65542", SECCOMP, "the low bits of a protocol are not the protocol"),
    ("socket_high_bits", "2,1,132", SECCOMP, "nor are bits that the kernel does not look at"),
    ("socket_pair", "2,1,132", SECCOMP, "a pair makes both before it says that there is none"),
    ("socket_pair", "16,3,12", SECCOMP, "of netlink, too"),
    ("huge_pages", "", SECCOMP, "the host's pool of huge pages is no memory that a cgroup counts"),
    ("huge_pages_of_a_file", "", SECCOMP, "nor by a file"),
    ("huge_pages_high_bits", "", SECCOMP, "nor by bits beside the flag"),
    ("huge_pages_shared", "", SECCOMP, "nor by System V"),
    ("file_handle", "", SECCOMP, "the first half of opening files by number, past every path"),
    ("fanotify", "", SECCOMP, "watches files of others"),
    ("clock_settime", "", SECCOMP, "the machine's clock"),
    ("clock_adjtime", "", SECCOMP, "the machine's clock, slowly"),
    ("sysfs_call", "", SECCOMP, "a call that nobody needs"),
    ("move_pages", "", SECCOMP, "moves memory of others"),
    ("migrate_pages", "", SECCOMP, "moves memory of others"),
    ("write_proc_self", "", LANDLOCK, "what is not for writing is not written"),
    ("signal_init", "", LANDLOCK, "the init, its parent, reports how the step ended"),
    ("ptrace_init", "", "init landlock", "nor may its words be forged"),
    ("session_of_host", "", SESSION, "a session without a terminal can't type into one"),
    ("read", "/proc/kallsyms", MASKS, "where the kernel's functions are"),
    ("read", "/proc/interrupts", MASKS, "what others type and send, by its timing"),
    ("read", "/proc/softirqs", MASKS, "the same by another name"),
    ("read", "/proc/cmdline", MASKS, "how the host was started, at times with secrets"),
    ("read", "/proc/keys", MASKS, "keys of the same user"),
    ("list", "/proc/fs", MASKS, "what is mounted on the host"),
    ("list", "/proc/irq", MASKS, "the hardware"),
    ("list", "/proc/bus", MASKS, "the hardware"),
    ("core_dump", "", "limits", "a core is large, and has what was in memory"),
    ("inotify_instances", "", "quotas", "editors and desktops of the same user have none left"),
    ("timers", HALF_OF_THE_SIGNALS, "quotas", "nor timers"),
    ("queued_signals", HALF_OF_THE_SIGNALS, "quotas", "nor signals with a value, which timers are counted with"),
    # A queue has no path, so no Landlock rule can allow it.
    ("message_queues", "", "quotas landlock", "nor message queues"),
    ("read", "/proc/diskstats", MASKS, "what others do with the disks"),
    ("read", "/proc/locks", MASKS, "which files of the host are locked, whoever locked them"),
    ("read", "/proc/partitions", MASKS, "which disks there are"),
    ("read", "/proc/swaps", MASKS, "and what is on them"),
    ("read", "/proc/iomem", MASKS, "the hardware"),
    ("read", "/proc/config.gz", MASKS, "how the kernel was built, holes and all"),
    ("read", "/proc/key-users", MASKS, "which users there are, and how many keys they have"),
    ("many_files", "", "limits", "the machine's table of open files is shared"),
    ("fork_bomb", "", {"--pids": 1000}, "processes are few"),
    ("zombie_storm", "", {"--pids": 1000}, "so are those that have ended, while nobody waits for them"),
    ("thread_bomb", "", {"--pids": 1000, "--memory-mib": 8192}, "threads count as processes"),
    ("memory_bomb", "", {"--memory-mib": 512}, "memory is bounded"),
    # Data not yet written to a busy disk counts as memory and cannot be reclaimed. With the narrow memory
    # limit the result would be chance.
    ("disk_fill", "/workspace/x", {"--disk-mib": 512, "--memory-mib": 512}, "the host's disk is shared, and .pawl lies on it"),
    ("disk_fill", "/tmp/x", {"--disk-mib": 512, "--memory-mib": 512}, "so is its memory"),
    ("disk_fill", "/home/agent/x", {"--disk-mib": 512, "--memory-mib": 512}, "HOME lies on the host's disk, too"),
    ("nameless_fill", "/workspace", {"--disk-mib": 512, "--memory-mib": 512}, "what is unlinked and open takes its part of the disk"),
    ("unreadable_fill", "/workspace", {"--disk-mib": 512, "--memory-mib": 512}, "so does what nobody may look at"),
    ("inode_fill", "/workspace", {"--disk-mib": 512}, "files without content fill a disk, too"),
    ("output_flood", "", {"--output-limit-bytes": 100000000}, "what is printed is kept"),
    ("make", "/plan/x", "read_only landlock", "the plan judges the step"),
    ("make", "/x", "read_only landlock", "the root is the sandbox's, and counts as nobody's memory"),
    ("make", "/etc/x", "read_only landlock", "so is its /etc"),
    ("make", "/etc/ld.so.preload", "read_only landlock", "it is loaded into every program"),
    ("make", "/var/x", "read_only landlock", "what a step leaves is in its workspace"),
]

# The limits of every program, for the attacks on limits.
# In a sanitized build Pawl's own processes are larger, and they may count in a sandbox. The memory limit
# grows with them, and stays below the amount that memory_bomb takes.
MEMORY_MIB = 64 + int(os.environ.get("PAWL_SANITIZER_MIB", "0"))
NARROW = {"--pids": 64, "--memory-mib": MEMORY_MIB, "--disk-mib": 16, "--output-limit-bytes": 1000000, "--time-budget-seconds": 60}
# Exit codes of `pawl sandbox exec` when a limit was met; other attacks fail with an error inside.
# Memory: the kernel's OOM killer, or an error of malloc where rlimits replace a cgroup.
ENDINGS = {"memory_bomb": (137, 1), "disk_fill": (123, 1), "nameless_fill": (123,), "unreadable_fill": (123, 1), "inode_fill": (123,), "output_flood": (123,)}

# (program, argument, mechanisms, why). Runs inside, then inside without the mechanisms. Each of several
# mechanisms stops the program alone, so it gets through only without all of them.
# user: the sandbox's user is one that owns no file. Without root it is the same user inside and outside.
HOST = [
    ("read", "{secret}", "host", "files of the host are not there"),
    ("dotdot", "{secret}", "old_root landlock", "the root has no outside"),
    ("own_root", "{secret}", "host", "nor are they by another name"),
    ("root_of_others", "{secret}", "host init landlock", "nor by another process's"),
    ("processes", "", "proc", "other processes are not there"),
    ("signal", "{supervisor}", "pid user landlock", "nor can they be signalled"),
    ("unix_socket", "{docker}", "host", "a container engine's socket is root"),
    ("abstract_socket", "{abstract}", "net landlock", "abstract sockets have no path to hide"),
    ("loopback", "{port}", "net", "services of the host listen on loopback"),
    ("shared_memory", "{shared}", "ipc", "System V shared memory is global"),
    ("list", "/sys/class", "host", "devices and their switches"),
    ("hostname_of_host", "{host}", "uts", "what tells machines apart"),
]
# Only root gets through, because on the host only root may do this. An ordinary user's sandbox is tested with
# every mechanism on.
HOST_OF_ROOT = [
    ("write_open", "/proc/sys/kernel/core_pattern", "user read_only landlock", "the host runs what it names"),
    ("write_open", "/dev/kmsg", "devices user", "the kernel's log, and every other device"),
    ("write_open", "/sys/class/net/lo/mtu", "host user read_only landlock", "what the kernel does with its hardware"),
    ("read", "/etc/shadow", "host user", "secrets of the system"),
]
# Programs that the user namespace itself stops, even with all other mechanisms off: the kernel checks rights
# in the namespace of the target. Only root can have a sandbox without one, and it would not differ from the
# host. These programs run inside, then outside of any sandbox.
OUTSIDE = [
    ("environ_of_others", "{marker}", "credentials live in environments"),
    ("ptrace", "{supervisor}", "who traces a process is that process"),
    ("vm_read", "{supervisor}:{maps}", "who reads its memory has its secrets"),
]
OUTSIDE_OF_ROOT = [
    ("device_node", "{new}", "a device is whatever its number says"),
]

# Scripts that try to outlive their step; without the mechanism pid they do. {sleep} has an argument that
# identifies it.
LEFT_RUNNING = [
    ("double_fork_daemon", "setsid sh -c '{sleep} & {sleep}' >/dev/null 2>&1 & exit 0", "a daemon goes on without anybody's budget"),
    ("orphan_among_zombies", "for i in 1 2 3 4 5 6 7 8; do sh -c 'exit 0' & done; ({sleep} >/dev/null 2>&1 &) ; exit 0", "so does who hides among the dead"),
]

# (path, script, why). A script leaves an entry at the path in the workspace. The entry is not copied out, and
# without the mechanism copy_out it is.
LEFT_FILES = [
    ("fifo", "mkfifo fifo", "who opens it waits for ever"),
    ("socket", "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"socket\")'", "it leads to whoever listens"),
    ("absolute", "ln -s /etc/passwd absolute", "a link that is followed outside shows the host's files"),
    ("upwards", "ln -s ../../../x upwards", "so does one that climbs"),
    ("folder", "ln -s / folder", "and one in the place of a folder"),
    ("a\nb", "touch \"$(printf 'a\\nb')\"", "names are printed, and listed line by line"),
    ("a\x1b[2Jb", "touch \"$(printf 'a\\033[2Jb')\"", "they can steer a terminal"),
    (".git", "mkdir -p .git/hooks && echo x > .git/hooks/post-checkout", "git of the host runs hooks"),
    (".GIT", "mkdir -p .GIT/hooks && echo x > .GIT/hooks/post-checkout", "a file system may take capital letters for small ones"),
    (".git.", "mkdir .git. && echo x > .git./config", "NTFS drops dots at the end"),
    (".git ..", "mkdir '.git ..' && echo x > '.git ../config'", "and blanks"),
    (".git::$INDEX_ALLOCATION", "mkdir '.git::$INDEX_ALLOCATION' && echo x > '.git::$INDEX_ALLOCATION/config'", "NTFS: a stream of it is it"),
    (".git\\hooks", "mkdir '.git\\hooks' && echo x > '.git\\hooks/post-checkout'", "a backslash is a slash elsewhere"),
    ("a\\.git", "echo x > 'a\\.git'", "on either side"),
    ("GIT~1", "mkdir GIT~1 && echo x > GIT~1/config", "the short name that NTFS gives it"),
    (".g\u200cit", "mkdir .g\u200cit && echo x > .g\u200cit/config", "HFS+ ignores some characters"),
    ("\ufeff.git", "echo x > \ufeff.git", "at the front, too"),
    (".Pawl", "mkdir .Pawl && echo filled > .Pawl/runs", "by another spelling, too"),
    ("pawl~1", "mkdir pawl~1 && echo filled > pawl~1/runs", "and its short name"),
    (".gitModules", "echo x > .gitModules", "no rule of a plan or policy knows it by this name, and git does"),
    ("gi7eba~1", "echo x > gi7eba~1", "nor by this"),
    (".pawl", "mkdir .pawl && echo filled > .pawl/runs", "Pawl's own state"),
]

# Programs with a test of their own, which names the mechanism. hardlink and other_user also run outside, to
# show that they work: two mounts are never one file system, and a user namespace with one user has no other.
ALONE = {
    "outlive_the_budget": "a budget ends whatever one ignores",
    "inherited_descriptor": "a descriptor is a right",
    "other_user": "a setuid file makes nobody another one",
    "hardlink": "a second name of a file outlives the first, and the mount that it was shown by",
    "setuid_left_behind": "a setuid file on the host would be the host's",
    "sparse_bomb": "holes take no room until somebody reads them",
    "deep_folders": "no path leads to what lies too deep, and then nothing of the step would come out",
    "long_names": "the same with few folders",
    "swap_folders": "what was looked at is not what is read, nor what is removed",
    "link_in_place_of_a_folder": "and what is read last is not followed",
    "copied_key": "a copy of the key signs as the key does",
    "state_folder": "the key in it signs whatever its reader likes",
    "path_of_host": "what a step can write there would run in the place of a program",
    "library_path": "a library that the environment names is loaded into every program",
}

OF_ROOT = HOST_OF_ROOT + OUTSIDE_OF_ROOT
ALL = (CALLS, HOST, HOST_OF_ROOT, OUTSIDE, OUTSIDE_OF_ROOT, LEFT_RUNNING, LEFT_FILES)


def label(row):
    """Distinguishes a program from the same program with another argument."""
    return f"{row[0]} {row[1]}".strip() if row in CALLS + HOST + HOST_OF_ROOT + OUTSIDE + OUTSIDE_OF_ROOT else row[0]


def all_programs():
    return {label(row) for table in ALL for row in table} | set(ALONE)
