"""Hostile programs (attacks.cc), each with the wall that stops it: stopped with every wall up, and further with that wall off.

A wall (or several, when a second one also stops it) is switched off by PAWL_WALLS_OFF, which only test builds know (src/os/walls.h); a limit, by a larger one;
the namespaces and the file system, by running the same program outside of any sandbox. What wants the network is in cli/egress_test.py.
"""

import ctypes
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

ORDINARY = 1234  # a user id that owns nothing

SECCOMP, LANDLOCK, MASKS, SESSION = "seccomp", "landlock", "masks", "session"

# (program, argument, wall or options that weaken it, why it must not work)
CALLS = [
    ("userns_unshare", "", SECCOMP, "a user namespace gives capabilities, and with them most of the kernel"),
    ("userns_clone", "", SECCOMP, "the same by clone"),
    ("userns_clone3", "", SECCOMP, "the same by clone3, whose flags no filter can see"),
    ("mount_in_userns", "", "seccomp landlock", "mounts of one's own cover read-only ones"),
    ("chroot_in_userns", "", SECCOMP, "a root of one's own is the first half of the classic escape"),
    ("netns_in_userns", "", SECCOMP, "the network code is large, and reachable with capabilities"),
    ("open_tree", "", SECCOMP, "the new mount interface does what mount does"),
    ("pidfd_getfd", "", SECCOMP, "takes descriptors out of other processes"),
    ("keyctl", "", SECCOMP, "keyrings are shared by user id, across namespaces"),
    ("add_key", "", SECCOMP, "a key outlives its step"),
    ("request_key", "", SECCOMP, "runs a helper of the host"),
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
    ("packet_socket", "", SECCOMP, "raw packets"),
    ("vsock_socket", "", SECCOMP, "reaches the hypervisor, past every network namespace"),
    ("key_socket_high_bits", "", SECCOMP, "the family, too, is 32 bits"),
    ("file_handle", "", SECCOMP, "the first half of opening files by number, past every path"),
    ("fanotify", "", SECCOMP, "watches files of others"),
    ("clock_settime", "", SECCOMP, "the machine's clock"),
    ("clock_adjtime", "", SECCOMP, "the machine's clock, slowly"),
    ("sysfs_call", "", SECCOMP, "a call that nobody needs"),
    ("move_pages", "", SECCOMP, "moves memory of others"),
    ("migrate_pages", "", SECCOMP, "moves memory of others"),
    ("write_proc_self", "", LANDLOCK, "what is not for writing is not written"),
    ("signal_init", "", LANDLOCK, "the init reports how the step ended"),
    ("session_of_host", "", SESSION, "a session without a terminal can't type into one"),
    ("read", "/proc/kallsyms", MASKS, "where the kernel's functions are"),
    ("read", "/proc/interrupts", MASKS, "what others type and send, by its timing"),
    ("read", "/proc/keys", MASKS, "keys of the same user"),
    ("list", "/proc/fs", MASKS, "what is mounted on the host"),
    ("list", "/proc/irq", MASKS, "the hardware"),
    ("list", "/proc/bus", MASKS, "the hardware"),
    ("fork_bomb", "", {"--pids": 1000}, "processes are few"),
    ("thread_bomb", "", {"--pids": 1000, "--memory-mib": 8192}, "threads count as processes"),
    ("memory_bomb", "", {"--memory-mib": 512}, "memory is bounded"),
    # What a busy disk has not taken yet counts as memory, and can't be reclaimed: with the narrow limit it is luck.
    ("disk_fill", "/workspace/x", {"--disk-mib": 512, "--memory-mib": 512}, "the host's disk is shared"),
    ("disk_fill", "/tmp/x", {"--disk-mib": 512, "--memory-mib": 512}, "so is its memory"),
    ("inode_fill", "/workspace", {"--disk-mib": 512}, "files without content fill a disk, too"),
    ("output_flood", "", {"--output-limit-bytes": 100000000}, "what is printed is kept"),
]
# What the command line gives by default, for the attacks on limits.
# A sandbox's init is Pawl's own program, and counts where no cgroup does: a sanitizer makes it larger. Still less than what memory_bomb wants.
MEMORY_MIB = 64 + int(os.environ.get("PAWL_SANITIZER_MIB", "0"))
NARROW = {"--pids": 64, "--memory-mib": MEMORY_MIB, "--disk-mib": 16, "--output-limit-bytes": 1000000, "--time-budget-seconds": 60}
# How a limit says that it was reached; the others are errors inside.
# Memory: the kernel's killer, or an error of malloc where rlimits stand in for a cgroup.
ENDINGS = {"memory_bomb": (137, 1), "disk_fill": (123,), "inode_fill": (123,), "output_flood": (123,)}


class Hostile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = pathlib.Path(tempfile.mkdtemp(prefix="pawl-hostile-"))
        for program in (os.environ["PAWL"], os.environ["PAWL"] + "-engine", os.environ["ATTACKS"]):
            shutil.copy(program, cls.root)
        os.chmod(cls.root, 0o755)
        (cls.root / "project").mkdir()
        cls.addClassCleanup(shutil.rmtree, cls.root, ignore_errors=True)

    def run_it(self, argv, walls_off="", **kwargs):
        passed = {name: kwargs.pop(name) for name in [*kwargs] if name.isupper()}
        env = {**os.environ, "PAWL_WALLS_OFF": walls_off, **passed}
        return subprocess.run([str(word) for word in argv], env=env, cwd=self.root, capture_output=True, timeout=600, **kwargs)

    def inside(self, attack, argument, limits=None, walls_off="", ro=(), **kwargs):
        options = [word for pair in {**NARROW, **(limits or {})}.items() for word in pair]
        shown = [word for pair in ro for word in ("--ro", pair)]
        return self.run_it([self.root / "pawl", "sandbox", "exec", "--workspace", self.root / "project", *options, "--ro", f"{self.root}/attacks:/attacks",
                            *shown, "--", "/attacks", attack, *([argument] if argument else [])], walls_off, **kwargs)

    def outside(self, attack, argument, **kwargs):
        return self.run_it([self.root / "attacks", attack, *([argument] if argument else [])], **kwargs)

    def assert_stopped(self, done, endings=(1, 128 + signal.SIGSYS)):
        # 1: an error; SIGSYS: killed by the filter. 125 would say that nothing ran.
        self.assertIn(done.returncode, endings, done.stderr)

    def test_calls_files_and_limits(self):
        self.assertGreaterEqual(len(CALLS), 45)
        for attack, argument, wall, why in CALLS:
            with self.subTest(attack=attack, argument=argument, why=why):
                endings = ENDINGS.get(attack) or (1, 128 + signal.SIGSYS)
                self.assert_stopped(self.inside(attack, argument), endings)
                for one in wall.split() if isinstance(wall, str) and " " in wall else ():
                    self.assert_stopped(self.inside(attack, argument, walls_off=one))
                further = (self.inside(attack, argument, walls_off=wall) if isinstance(wall, str)
                           else self.inside(attack, argument, wall))
                self.assertEqual(further.returncode, 0, f"without {wall}: {further.stderr}")

    def test_a_budget_ends_whatever_one_ignores(self):
        self.assert_stopped(self.inside("outlive_the_budget", "", {"--time-budget-seconds": 1}), (124,))
        self.assertEqual(self.inside("outlive_the_budget", "").returncode, 0)

    def test_two_walls_keep_what_is_read_only(self):
        plan = self.root / "plan"
        plan.mkdir(exist_ok=True)
        shown = [f"{plan}:/plan"]
        for path in ("/plan/x", "/x", "/etc/x", "/etc/ld.so.preload", "/var/x"):
            with self.subTest(path):
                for off in ("", "read_only", "landlock"):
                    self.assert_stopped(self.inside("make", path, walls_off=off, ro=shown))
                self.assertEqual(self.inside("make", path, walls_off="read_only landlock", ro=shown).returncode, 0)

    def test_the_host_is_out_of_sight(self):
        marker = self.root / "secret"
        marker.write_text("x")
        victim = subprocess.Popen(["sleep", "300"], env={"PAWL_HOSTILE_MARKER": "1"})
        self.addCleanup(lambda: (victim.kill(), victim.wait()))
        self.wait_until_mapped(victim.pid, b"PAWL_HOSTILE_MARKER")
        unix = socket.socket(socket.AF_UNIX)
        unix.bind(str(self.root / "docker.sock"))
        unix.listen(50)
        abstract = socket.socket(socket.AF_UNIX)
        abstract.bind(f"\0pawl-hostile-{os.getpid()}")
        abstract.listen(50)
        tcp = socket.create_server(("127.0.0.1", 0))
        for each in (unix, abstract, tcp):
            self.addCleanup(each.close)
        libc = ctypes.CDLL(None, use_errno=True)
        key = 0x50000000 + os.getpid()
        memory = libc.shmget(key, 4096, 0o1600)
        self.addCleanup(libc.shmctl, memory, 0, None)
        maps = pathlib.Path(f"/proc/{victim.pid}/maps").read_text().split("-")[0]
        table = [
            ("read", marker, "files of the host are not there"),
            ("dotdot", marker, "the root has no outside"),
            ("root_of_others", marker, "nor has another process's"),
            ("environ_of_others", "PAWL_HOSTILE_MARKER", "credentials live in environments"),
            ("processes", "", "other processes are not there"),
            ("signal", victim.pid, "nor can they be signalled"),
            ("ptrace", victim.pid, "nor traced"),
            ("vm_read", f"{victim.pid}:{maps}", "nor read"),
            ("unix_socket", self.root / "docker.sock", "a container engine's socket is root"),
            ("abstract_socket", f"pawl-hostile-{os.getpid()}", "abstract sockets have no path to hide"),
            ("loopback", tcp.getsockname()[1], "services of the host listen on loopback"),
            ("shared_memory", key, "System V shared memory is global"),
            ("list", "/sys", "devices and their switches"),
            ("hostname_of_host", socket.gethostname(), "what tells machines apart"),
        ]
        if os.geteuid() == 0:
            table += [("write_open", "/proc/sys/kernel/core_pattern", "the host runs what it names"),
                      ("read", "/etc/shadow", "secrets of the system"), ("many_files", "", "open files are bounded")]
        for attack, argument, why in table:
            with self.subTest(attack=attack, why=why):
                self.assert_stopped(self.inside(attack, str(argument)))
                if attack == "many_files":
                    continue  # outside it depends on who sets the limit
                further = self.outside(attack, str(argument))
                self.assertEqual(further.returncode, 0, f"outside: {further.stderr}")

    def wait_until_mapped(self, pid, marker):
        """Popen returns when the old program is gone, which is before the new one is mapped: its environment comes last."""
        deadline = time.monotonic() + 60
        while marker not in self.content(pathlib.Path(f"/proc/{pid}/environ")):
            self.assertLess(time.monotonic(), deadline, "the program was not loaded")
            time.sleep(0.001)

    def test_a_descriptor_is_a_right_and_none_is_inherited(self):
        with open("/dev/zero") as inherited:
            argument, passed = str(inherited.fileno()), {"pass_fds": [inherited.fileno()]}
            self.assert_stopped(self.inside("inherited_descriptor", argument, **passed))
            self.assertEqual(self.inside("inherited_descriptor", argument, walls_off="descriptors", **passed).returncode, 0)

    def test_the_init_is_not_traced(self):
        for off in ("", "init", "landlock"):
            self.assert_stopped(self.inside("ptrace_init", "", walls_off=off))
        self.assertEqual(self.inside("ptrace_init", "", walls_off="init landlock").returncode, 0)

    def test_no_core_is_left_and_open_files_are_bounded(self):
        """Whoever starts us must allow more, as systemd does by default."""
        for attack in ("core_dump", "many_files"):
            with self.subTest(attack):
                self.assert_stopped(self.inside(attack, ""))
                self.assertEqual(self.inside(attack, "", walls_off="limits").returncode, 0)

    def test_what_is_left_behind_dies(self):
        mine = f"1000.{os.getpid()}"  # others on this machine sleep, too: this test as another user, at the same time
        for script in (f"setsid sh -c 'sleep {mine} & sleep {mine}' >/dev/null 2>&1 & exit 0",
                       f"for i in 1 2 3 4 5 6 7 8; do sh -c 'exit 0' & done; (sleep {mine} >/dev/null 2>&1 &) ; exit 0"):
            done = self.run_it([self.root / "pawl", "sandbox", "exec", "--", "sh", "-c", script])
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(self.sleepers(mine), [])
            self.assertEqual(self.run_it(["sh", "-c", script]).returncode, 0)
            deadline = time.monotonic() + 60
            while not self.sleepers(mine):  # outside it lives on
                self.assertLess(time.monotonic(), deadline)
            for pid in self.sleepers(mine):
                os.kill(pid, signal.SIGKILL)

    def sleepers(self, seconds):
        return [int(path.parent.name) for path in pathlib.Path("/proc").glob("[0-9]*/cmdline")
                if self.content(path) == f"sleep\0{seconds}\0".encode()]

    @staticmethod
    def content(path):
        try:
            return path.read_bytes()
        except OSError:
            return b""

    def copied_out(self, *command, options=(), walls_off=""):
        """What `pawl sandbox exec --copy-out` says, and the folder that it made."""
        target = self.root / "out"
        subprocess.run(["rm", "-rf", target], check=True)
        done = self.run_it([self.root / "pawl", "sandbox", "exec", *options, "--copy-out", target, "--", *command], walls_off)
        return done, target

    def test_what_comes_out_is_files_folders_and_links_that_stay_inside(self):
        script = """
            echo ok > good; mkfifo fifo; ln -s /etc/passwd outside; ln -s ../../../x up; ln -s good inside
            cp /bin/true setuid; chmod 6755 setuid; mkdir -p d; ln good d/hard; touch "$(printf 'a\\nb')"
            python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("socket")'
            mkdir .pawl && echo filled > .pawl/runs; truncate -s 8G sparse 2>/dev/null; true"""
        done, target = self.copied_out("sh", "-c", script)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((target / "good").read_text(), "ok\n")
        self.assertEqual(os.readlink(target / "inside"), "good")
        refused = ("fifo", "socket", "outside", "up", "a\nb", ".pawl")
        for name in refused:
            self.assertFalse(os.path.lexists(target / name), name)
        self.assertEqual((target / "setuid").stat().st_mode & 0o7000, 0)
        self.assertLess(sum(p.stat().st_blocks for p in target.rglob("*")) * 512, 64 << 20, "a hole stays a hole")
        for name in (b"fifo", b"socket", b"outside", b".pawl"):
            self.assertIn(b"not copied out: " + name, done.stderr)
        done, target = self.copied_out("sh", "-c", script, walls_off="copy_out")
        self.assertEqual(done.returncode, 0, done.stderr)
        for name in refused:
            self.assertTrue(os.path.lexists(target / name), name)
        self.assertNotEqual((target / "setuid").stat().st_mode & 0o7000, 0)

    def test_a_sparse_bomb_is_refused_before_it_is_read(self):
        for walls_off, bombs in ("", 1), ("copy_out", 9):  # 64 MiB of length, holes and all
            done, target = self.copied_out("sh", "-c", "echo ok > good; for i in $(seq 9); do truncate -s 60M bomb$i; done",
                                           options=("--disk-mib", "64"), walls_off=walls_off)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual((target / "good").read_text(), "ok\n")
            self.assertEqual(len(list(target.glob("bomb*"))), bombs)
            self.assertEqual(b"not copied out: bomb" in done.stderr, not walls_off)

    def test_folders_nested_deeper_than_any_path_are_refused(self):
        script = """
import os
open('good', 'w').write('ok')
for _ in range(4000):
    os.mkdir('d'); os.chdir('d')"""
        done, target = self.copied_out("python3", "-c", script)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual((target / "good").read_text(), "ok")
        self.assertIn(b"not copied out: d/d/", done.stderr)
        self.assertLess(self.folders_below(target), 2000, "every path fits into PATH_MAX")
        _, target = self.copied_out("python3", "-c", script, walls_off="copy_out")
        self.assertEqual(self.folders_below(target), 4000)

    def folders_below(self, folder):
        return len(subprocess.run(["find", folder, "-mindepth", "1", "-type", "d"], check=True, capture_output=True).stdout.split())

    def test_a_folder_that_turns_into_a_link_is_taken_as_what_it_was_last(self):
        """Nothing in there lives when the tree is read: the race has ended, whoever ran it. And no link of it leads to the host."""
        secret = self.root / "of_the_host"
        secret.mkdir(exist_ok=True)
        (secret / "key").write_text("the host's")
        race = ("sh", "-c", f"""
            mkdir d; echo mine > d/key; ln -s {secret} l
            (while :; do mv -T d x; mv -T l d; mv -T d l; mv -T x d; done) >/dev/null 2>&1 & sleep 0.05""")
        for _ in range(5):
            done, target = self.copied_out(*race)
            self.assertEqual(done.returncode, 0, done.stderr)
            for path in target.rglob("*"):
                self.assertFalse(path.is_symlink(), path)
                self.assertEqual(path.read_text() if path.is_file() else "mine\n", "mine\n")
        done, target = self.copied_out(*race, walls_off="copy_out")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("the host's", [path.read_text() for path in target.glob("*/key")])

    def test_a_library_of_one_step_is_not_loaded_by_the_next(self):
        script = ("sh", "-c", "echo $LD_PRELOAD $LD_LIBRARY_PATH")
        self.assertEqual(self.run_it([self.root / "pawl", "sandbox", "exec", "--", *script], LD_LIBRARY_PATH="/x").stdout.strip(), b"")
        self.assertEqual(self.run_it(script, LD_LIBRARY_PATH="/x").stdout.strip(), b"/x")
        self.assertEqual(self.run_it([self.root / "pawl", "sandbox", "exec", "--env", "API_TOKEN", "--", "true"]).returncode, 0)


if __name__ == "__main__":
    if sys.argv.pop(1) == "ordinary_user" and os.geteuid() == 0:
        folder = pathlib.Path(tempfile.mkdtemp(prefix="pawl-hostile-bin-"))
        os.chmod(folder, 0o755)
        for program in (os.environ["PAWL"], os.environ["PAWL"] + "-engine", os.environ["ATTACKS"]):
            shutil.copy(program, folder)
        os.environ.update(PAWL=str(folder / "pawl"), ATTACKS=str(folder / "attacks"), HOME="/tmp")
        os.setgroups([])
        os.setgid(ORDINARY)
        os.setuid(ORDINARY)
        os.chdir("/")
    unittest.main(verbosity=1)
