"""Runs every hostile program of programs.py twice: it is stopped, and without its mechanism it gets through.

PAWL_WALLS_OFF, which only test builds read (src/os/defences.h), switches off an isolation mechanism, or
several when each of them stops the program alone. A limit is replaced by a larger one. A program whose
mechanism cannot be switched off (programs.py states why) runs outside of any sandbox instead.
"""

import contextlib
import ctypes
import fcntl
import os
import pathlib
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import unittest

import programs

ORDINARY = 1234  # a user id that owns no file
OWNER_OF_SETUID = 4321


class Hostile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.stopped, cls.further = set(), set()  # labels of programs that were stopped, and that got through
        cls.root = pathlib.Path(tempfile.mkdtemp(prefix="pawl-hostile-"))
        for program in (os.environ["PAWL"], os.environ["PAWL"] + "-engine", os.environ["ATTACKS"]):
            shutil.copy(program, cls.root)
        os.chmod(cls.root, 0o755)
        (cls.root / "project").mkdir()
        cls.addClassCleanup(shutil.rmtree, cls.root, ignore_errors=True)
        # Not below /tmp: every sandbox has its own /tmp, even if it sees all other folders of the host.
        cls.of_host = pathlib.Path(tempfile.mkdtemp(prefix="pawl-hostile-", dir="/var/tmp"))
        os.chmod(cls.of_host, 0o755)
        cls.addClassCleanup(shutil.rmtree, cls.of_host, ignore_errors=True)

    @classmethod
    def tearDownClass(cls):
        stopped = cls.stopped - ({programs.label(row) for row in programs.OF_ROOT} if os.geteuid() else set())
        assert stopped == cls.further, f"seen only with, or only without their walls: {stopped ^ cls.further}"

    def run_it(self, argv, walls_off="", **kwargs):
        passed = {name: kwargs.pop(name) for name in [*kwargs] if name.isupper()}
        env = {**os.environ, "PAWL_WALLS_OFF": walls_off, **passed}
        if "pid" in walls_off.split():
            env["PAWL_CGROUP"] = "none"  # a surviving process would hold its cgroup
        return subprocess.run([str(word) for word in argv], env=env, cwd=self.root, capture_output=True, timeout=600, **kwargs)

    def inside(self, attack, argument, limits=None, walls_off="", ro=(), **kwargs):
        options = [word for pair in {**programs.NARROW, **(limits or {})}.items() for word in pair]
        shown = [word for pair in ro for word in ("--ro", pair)]
        return self.run_it([self.root / "pawl", "sandbox", "exec", "--workspace", self.root / "project", *options, "--ro", f"{self.root}/attacks:/attacks",
                            *shown, "--", "/attacks", attack, *([argument] if argument else [])], walls_off, **kwargs)

    def outside(self, attack, argument, **kwargs):
        return self.run_it([self.root / "attacks", attack, *([argument] if argument else [])], **kwargs)

    def assert_stopped(self, program, done, endings=(1, 128 + signal.SIGSYS)):
        # 1: an error; SIGSYS: killed by the filter. 125 would mean that the program did not run.
        self.assertIn(done.returncode, endings, done.stderr)
        self.stopped.add(program)

    def assert_further(self, program, done):
        self.assertEqual(done.returncode, 0, done.stderr)
        self.further.add(program)

    def hold_lock_of_the_host(self):
        """Locks a file by its open description. Such a lock belongs to no process, so /proc/locks shows it in every pid namespace (fs/locks.c)."""
        file = open(self.of_host / "locked", "w")
        self.addCleanup(file.close)
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0))

    def test_calls_and_files(self):
        self.hold_lock_of_the_host()
        plan = self.root / "plan"
        plan.mkdir()
        ro = [f"{plan}:/plan"]
        for attack, argument, walls, why in programs.CALLS:
            if isinstance(walls, str):
                with self.subTest(attack=attack, argument=argument, why=why):
                    program = f"{attack} {argument}".strip()
                    self.assert_each_wall_stops(program, walls.split(), lambda off: self.inside(attack, argument, walls_off=off, ro=ro))
                    self.assert_further(program, self.inside(attack, argument, walls_off=walls, ro=ro))

    def test_limits(self):
        for attack, argument, wide, why in programs.CALLS:
            if not isinstance(wide, str):
                with self.subTest(attack=attack, argument=argument, why=why):
                    program = f"{attack} {argument}".strip()
                    self.assert_stopped(program, self.inside(attack, argument), programs.ENDINGS.get(attack) or (1, 128 + signal.SIGSYS))
                    self.assert_further(program, self.inside(attack, argument, wide))

    def assert_each_wall_stops(self, program, walls, run):
        """Checks that every mechanism together, and each of the given ones alone, stops the program."""
        self.assert_stopped(program, run(""))
        for one in walls if len(walls) > 1 else ():
            with self.subTest(only=one):
                self.assert_stopped(program, run(" ".join(set(walls) - {one})))

    def test_a_budget_ends_whatever_one_ignores(self):
        self.assert_stopped("outlive_the_budget", self.inside("outlive_the_budget", "", {"--time-budget-seconds": 1}), (124,))
        self.assert_further("outlive_the_budget", self.inside("outlive_the_budget", ""))

    def supervisor(self, walls_off=""):
        """Starts a sandbox. Returns its supervisor's pid and first mapped address ("" if unreadable)."""
        running = subprocess.Popen([self.root / "pawl", "sandbox", "exec", "--", "sh", "-c", "echo up; sleep 300"], stdout=subprocess.PIPE,
                                   env={**os.environ, "PAWL_HOSTILE_MARKER": "1", "PAWL_WALLS_OFF": walls_off})
        self.addCleanup(lambda: (running.terminate(), running.wait(), running.stdout.close()))
        self.assertEqual(running.stdout.readline(), b"up\n")
        return running.pid, self.content(pathlib.Path(f"/proc/{running.pid}/maps")).decode().split("-")[0]

    def test_the_host_is_out_of_sight(self):
        secret = self.of_host / "secret"
        secret.write_text("x")
        unix, abstract = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)
        unix.bind(str(self.of_host / "docker.sock"))
        os.chmod(self.of_host / "docker.sock", 0o777)
        abstract.bind(f"\0pawl-hostile-{os.getpid()}")
        tcp = socket.create_server(("127.0.0.1", 0))
        for each in (unix, abstract, tcp):
            each.listen(50)
            self.addCleanup(each.close)
        libc = ctypes.CDLL(None, use_errno=True)
        key = 0x50000000 + os.getpid()
        memory = libc.shmget(key, 4096, 0o1600)
        self.addCleanup(libc.shmctl, memory, 0, None)
        supervisor, maps = self.supervisor(walls_off="supervisor")
        arguments = {"secret": secret, "marker": "PAWL_HOSTILE_MARKER", "supervisor": supervisor, "maps": maps, "docker": self.of_host / "docker.sock",
                     "abstract": f"pawl-hostile-{os.getpid()}", "port": tcp.getsockname()[1], "shared": key, "host": socket.gethostname(),
                     "new": self.root / "new"}
        is_root = os.geteuid() == 0
        for row in programs.HOST + programs.HOST_OF_ROOT + programs.OUTSIDE + programs.OUTSIDE_OF_ROOT:
            attack, argument, *walls, why = row
            with self.subTest(attack=attack, argument=argument, why=why):
                argument, program = argument.format(**arguments), programs.label(row)
                walls = [wall for wall in " ".join(walls).split() if is_root or wall != "user"]
                if row in programs.OF_ROOT and not is_root:
                    self.assert_stopped(program, self.inside(attack, argument))
                    continue
                self.assert_each_wall_stops(program, walls, lambda off: self.inside(attack, argument, walls_off=off))
                self.assert_further(program, self.inside(attack, argument, walls_off=" ".join(walls)) if walls else self.outside(attack, argument))

    def test_nobody_of_the_same_user_looks_into_a_supervisor(self):
        for off in ("", "supervisor"):
            pid, _ = self.supervisor(off)
            for attack, argument in ("ptrace", pid), ("read", f"/proc/{pid}/environ"):
                done = self.outside(attack, str(argument))
                # Root may inspect every process.
                self.assertEqual(done.returncode, 0 if off or os.geteuid() == 0 else 1, done.stderr)

    def test_a_setuid_file_has_no_effect(self):
        if "SETUID" in os.environ:  # only root can make a setuid file
            inside = self.run_it([self.root / "pawl", "sandbox", "exec", "--ro", f"{os.environ['SETUID']}:/setuid", "--", "/setuid", "other_user"])
            self.assert_stopped("other_user", inside)
            self.assert_further("other_user", self.run_it([os.environ["SETUID"], "other_user"]))

    def test_what_is_shown_can_not_be_linked_to(self):
        self.assert_stopped("hardlink", self.inside("hardlink", "/attacks:/workspace/l"))
        self.assert_further("hardlink", self.outside("hardlink", f"{self.root}/attacks:{self.root}/l"))

    def test_a_descriptor_is_a_right_and_none_is_inherited(self):
        with open("/dev/zero") as inherited:
            attack, argument, passed = "inherited_descriptor", str(inherited.fileno()), {"pass_fds": [inherited.fileno()]}
            self.assert_stopped(attack, self.inside(attack, argument, **passed))
            self.assert_further(attack, self.inside(attack, argument, walls_off="descriptors", **passed))

    def test_what_is_left_behind_dies(self):
        mine = f"1000.{os.getpid()}"  # other processes sleep, too, such as this test as another user
        for name, script, why in programs.LEFT_RUNNING:
            with self.subTest(name, why=why):
                count, script = script.count("{sleep}"), script.format(sleep=f"sleep {mine}")
                done = self.run_it([self.root / "pawl", "sandbox", "exec", "--", "sh", "-c", script])
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(self.sleepers(mine), [])
                self.stopped.add(name)
                done = self.run_it([self.root / "pawl", "sandbox", "exec", "--", "sh", "-c", script], "pid")
                self.assertEqual(done.returncode, 0, done.stderr)
                deadline = time.monotonic() + 60
                while len(self.sleepers(mine)) < count:  # each survives; a late one would be found in the next turn
                    self.assertLess(time.monotonic(), deadline)
                self.further.add(name)
                while left := self.sleepers(mine):
                    for pid in left:
                        with contextlib.suppress(ProcessLookupError):  # killed in the turn before, and gone by now
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
        """Runs `pawl sandbox exec --copy-out`. Returns the completed process and the folder that it made."""
        target = self.root / "out"
        subprocess.run(["rm", "-rf", target], check=True)
        done = self.run_it([self.root / "pawl", "sandbox", "exec", *options, "--copy-out", target, "--", *command], walls_off)
        return done, target

    def test_what_comes_out_is_files_folders_and_links_that_stay_inside(self):
        for name, script, why in programs.LEFT_FILES:
            with self.subTest(name, why=why):
                script = f"echo ok > good; ln -s good inside; mkdir d; ln good d/hard; {script}"
                done, target = self.copied_out("sh", "-c", script)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(((target / "good").read_text(), (target / "d/hard").read_text(), os.readlink(target / "inside")), ("ok\n", "ok\n", "good"))
                self.assertFalse(os.path.lexists(target / name))
                self.assertIn(b"not copied out: ", done.stderr)
                self.stopped.add(name)
                done, target = self.copied_out("sh", "-c", script, walls_off="copy_out")
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertTrue(os.path.lexists(target / name))
                self.further.add(name)

    def test_a_setuid_file_loses_the_bit(self):
        for walls_off, seen in ("", self.stopped), ("copy_out", self.further):
            done, target = self.copied_out("sh", "-c", "cp /bin/true setuid; chmod 6755 setuid", walls_off=walls_off)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual((target / "setuid").stat().st_mode & 0o6000, 0o6000 if walls_off else 0)
            seen.add("setuid_left_behind")

    def test_a_sparse_bomb_is_refused_before_it_is_read(self):
        for walls_off, bombs, seen in ("", 1, self.stopped), ("copy_out", 9, self.further):  # 64 MiB of length, holes included
            done, target = self.copied_out("sh", "-c", "echo ok > good; for i in $(seq 9); do truncate -s 60M bomb$i; done",
                                           options=("--disk-mib", "64"), walls_off=walls_off)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual((target / "good").read_text(), "ok\n")
            self.assertEqual(len(list(target.glob("bomb*"))), bombs)
            self.assertLess(sum(p.stat().st_blocks for p in target.rglob("*")) * 512, 64 << 20, "a hole stays a hole")
            self.assertEqual(b"not copied out: bomb" in done.stderr, not walls_off)
            seen.add("sparse_bomb")

    def test_folders_nested_deeper_than_any_path_are_refused(self):
        path_bytes_max = 3000
        # A sanitizer's stack frames are large, and without the mechanism there are two thousand.
        stack = resource.getrlimit(resource.RLIMIT_STACK)
        resource.setrlimit(resource.RLIMIT_STACK, (256 << 20, stack[1]))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_STACK, stack)
        for program, name, depth in ("deep_folders", "d", 4000), ("long_names", "n" * 255, 40):
            script = f"""
import os
open('good', 'w').write('ok')
for _ in range({depth}):
    os.mkdir('{name}'); os.chdir('{name}')"""
            kept = (path_bytes_max + 1) // (len(name) + 1)
            with self.subTest(program):
                done, target = self.copied_out("python3", "-c", script)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual((target / "good").read_text(), "ok")
                self.assertEqual(done.stderr.decode(), f"pawl: not copied out: {'/'.join([name] * (kept + 1))}\n", "the first that is too long, with all in it")
                self.assertEqual(self.folders_below(target), kept)
                self.stopped.add(program)
                # One such folder makes the whole copy-out fail.
                done, target = self.copied_out("python3", "-c", script, walls_off="copy_out")
                self.assertEqual(done.returncode, 125)
                self.assertRegex(done.stderr.decode(), f"^pawl: open folder: {name}/{name}/.*: File name too long\n$")
                self.assertFalse(target.exists())
                self.further.add(program)

    def folders_below(self, folder):
        return len(subprocess.run(["find", folder, "-mindepth", "1", "-type", "d"], check=True, capture_output=True).stdout.split())

    def test_a_folder_that_turns_into_a_link_is_taken_as_what_it_was_last(self):
        """The tree is read when no process of the sandbox is alive, and no link of it leads to the host."""
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
        self.stopped.add("link_in_place_of_a_folder")
        done, target = self.copied_out(*race, walls_off="copy_out")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("the host's", [path.read_text() for path in target.glob("*/key")])
        self.further.add("link_in_place_of_a_folder")

    def test_a_folder_that_turns_into_a_link_while_it_is_read_leads_nowhere(self):
        """Two mechanisms: no process of the step is alive when its tree is read, and no link is followed.

        A FIFO is not copied out but removed. A reader that follows a link into the folder of the host would
        remove the FIFO there.
        """
        host = self.of_host / "swapped"
        host.mkdir()

        def lost(walls_off):
            self.assertFalse(self.survivors(), "of the last turn")
            if not (host / "fifo").exists():
                os.mkfifo(host / "fifo")
            os.chmod(host, 0o755)
            self.copied_out("/attacks", "swap_folders", host, options=("--ro", f"{self.root}/attacks:/attacks"), walls_off=walls_off)
            for pid in self.survivors():
                self.assertIn("pid", walls_off)
                os.kill(pid, signal.SIGKILL)
            while self.survivors():
                time.sleep(0.01)
            if "beneath" not in walls_off:
                self.assertEqual(host.stat().st_mode & 0o777, 0o755, "a mode is no link's, either")
            return not (host / "fifo").exists()

        for walls_off in ("", "beneath", *["pid"] * 10):
            self.assertFalse(lost(walls_off), walls_off)
        self.stopped.add("swap_folders")
        # The attack has to win a race, which a busy machine makes rare.
        self.assertTrue(any(lost("pid beneath") for _ in range(300)))
        self.further.add("swap_folders")

    def survivors(self):
        return [int(path.parent.name) for path in pathlib.Path("/proc").glob("[0-9]*/cmdline")
                if self.content(path) == f"/attacks\0swap_folders\0{self.of_host}/swapped\0".encode()]

    def test_a_workspace_shows_no_state_folder(self):
        source = self.root / "with_state"
        for state in (".pawl", "sub/deep/.pawl", "sub/otherwise"):
            (source / state / "keys").mkdir(parents=True)
            (source / state / "keys/ledger.key").write_text("secret\n")
        (source / "sub/file").write_text("file\n")
        self.open_to_all(source)
        for walls_off, seen, secrets in ("", self.stopped, 0), ("masks", self.further, 3):
            done = self.run_it([self.root / "pawl", "sandbox", "exec", "--workspace", source, "--", "sh", "-c", "cat sub/file; grep -rh . . 2>/dev/null"], walls_off)
            self.assertEqual((done.stdout.count(b"secret"), done.stdout.count(b"file\n")), (secrets, 2), done.stderr)
            seen.add("state_folder")
        for state in (".pawl", "sub/otherwise", ".pawl/keys", "sub/otherwise/keys"):
            done = self.run_it([self.root / "pawl", "sandbox", "exec", "--workspace", source / state, "--", "true"])
            self.assertIn(b"is a state folder", done.stderr)
        done = self.run_it([self.root / "pawl", "sandbox", "exec", "--ro", f"{source}/sub/otherwise:/plan", "--", "true"])
        self.assertIn(b"is not shown in a sandbox", done.stderr)

    def test_a_workspace_shows_no_copy_of_a_key(self):
        """A copy has the name of a key, or is another name of its file. The folder that is used lies below the workspace, or around it."""
        source = self.root / "with_keys"
        for state in source / ".pawl", source / "project/sub/.pawl":
            (state / "keys").mkdir(parents=True)
            for name in ("ledger.key", "redaction.key"):
                (state / "keys" / name).write_text("secret\n")
        project = source / "project"
        (project / "deep/er").mkdir(parents=True)
        for copy in ("ledger.key", "deep/redaction.key", "deep/er/ledger.key"):
            (project / copy).write_text("secret\n")
        os.link(source / ".pawl/keys/ledger.key", project / "deep/er/other")
        os.link(source / "project/sub/.pawl/keys/redaction.key", project / "deep/another")
        (project / "deep/link").symlink_to("er/ledger.key")
        for name in ("file", "deep/file", "deep/er/ledger.key.txt"):
            (project / name).write_text("shown\n")
        self.open_to_all(source)
        script = "grep -rh . . 2>/dev/null; cat deep/link; printf x >deep/er/ledger.key; rm -f deep/er/other; ls deep/er"
        for walls_off, seen, secrets in ("", self.stopped, 0), ("masks", self.further, 8):
            done = self.run_it([self.root / "pawl", "sandbox", "exec", "--workspace", project, "--", "sh", "-c", script], walls_off)
            self.assertEqual((done.stdout.count(b"secret"), done.stdout.count(b"shown\n")), (secrets, 3), done.stderr)
            seen.add("copied_key")
        done = self.run_it([self.root / "pawl", "sandbox", "exec", "--ro", f"{project}/deep:/plan", "--", "true"])
        self.assertIn(b"is not shown in a sandbox", done.stderr)

    def test_a_workspace_shows_no_copy_of_a_key_under_another_name(self):
        """The state folder lies in the workspace, or PAWL_DIR names it elsewhere."""
        source, elsewhere = self.root / "with_copies", self.root / "state_elsewhere"
        for state in source / ".pawl", elsewhere:
            (state / "keys").mkdir(parents=True)
            for name in ("ledger.key", "redaction.key"):
                (state / "keys" / name).write_text(f"secret {state.name} {name}\n")
        (source / "deep").mkdir()
        for state in ".pawl", elsewhere.name:
            for name in ("ledger.key", "redaction.key"):
                key = (source if state == ".pawl" else self.root) / state / "keys" / name
                (source / "deep" / f"{state}-{name}.bak").write_bytes(key.read_bytes())
                (source / "deep" / f"{state}-{name}.size").write_bytes(b"x" * key.stat().st_size)
        os.link(elsewhere / "keys/ledger.key", source / "deep/other")
        self.open_to_all(source)
        argv = [self.root / "pawl", "sandbox", "exec", "--workspace", source, "--", "sh", "-c", "cat deep/*"]
        done = self.run_it(argv, PAWL_DIR=str(elsewhere))
        self.assertEqual((done.stdout.count(b"secret"), len(done.stdout.split(b"x")) > 4), (0, True), done.stderr)
        done = self.run_it(argv)
        self.assertEqual(done.stdout.count(b"secret .pawl"), 0, done.stderr)
        self.assertEqual(done.stdout.count(b"secret state_elsewhere"), 3, "no state folder that is used")

    def test_a_link_with_the_name_of_a_key_hides_no_other_file(self):
        source = self.root / "with_links"
        (source / "src").mkdir(parents=True)
        (source / "src/file").write_text("shown\n")
        for name, target in ("redaction.key", "src"), ("src/ledger.key", ".."), ("src/redaction.key", "file"), ("ledger.key", "absent"):
            (source / name).symlink_to(target)
        (source / "src/deep").mkdir()
        (source / "src/deep/ledger.key").write_text("secret\n")
        self.open_to_all(source / "src/deep")
        script = "cat src/file; cat redaction.key/file; readlink ledger.key; cat src/deep/ledger.key"
        done = self.run_it([self.root / "pawl", "sandbox", "exec", "--workspace", source, "--", "sh", "-c", script])
        self.assertEqual((done.returncode, done.stdout), (0, b"shown\nshown\nabsent\n"), done.stderr)

    @staticmethod
    def open_to_all(top):
        """A sandbox of any user may read the folder."""
        for folder, _, files in os.walk(top):
            os.chmod(folder, 0o755)
            for name in files:
                if not os.path.islink(os.path.join(folder, name)):
                    os.chmod(os.path.join(folder, name), 0o644)

    def test_the_path_of_the_host_is_not_the_path_inside(self):
        for walls_off, seen in ("", self.stopped), ("environment", self.further):
            for planted in (".", "", "bin", "/tmp/bin", "/workspace/bin"):
                script = "mkdir -p bin /tmp/bin; for to in . bin /tmp/bin; do echo 'echo planted' >$to/rev; chmod 755 $to/rev; done; echo x | rev"
                done = self.run_it([self.root / "pawl", "sandbox", "exec", "--env", "PATH", "--", "/bin/sh", "-c", script], walls_off,
                                   PATH=f"{planted}:{os.environ['PATH']}")
                self.assertEqual(done.stdout, b"planted\n" if walls_off else b"x\n", done.stderr)
            seen.add("path_of_host")

    def test_a_library_that_the_environment_names_is_not_loaded(self):
        exec_it = [self.root / "pawl", "sandbox", "exec", "--ro", f"{os.environ['PRELOADED']}:/preloaded.so", "--"]
        self.assertEqual(self.run_it([*exec_it, "env", "LD_PRELOAD=/preloaded.so", "true"]).stdout, b"loaded\n", "it is there, and works")
        self.assertEqual(self.run_it([*exec_it, "true"], LD_PRELOAD="/preloaded.so").stdout, b"")
        self.stopped.add("library_path")
        self.assertEqual(self.run_it([*exec_it, "true"], "environment", LD_PRELOAD="/preloaded.so").stdout, b"loaded\n")
        self.further.add("library_path")

    def test_at_least_sixty_programs_and_none_of_them_without_a_reason(self):
        listed = set(self.run_it([self.root / "attacks", "--list"]).stdout.decode().split())
        self.assertLessEqual(listed, {name.split()[0] for name in programs.all_programs()})
        self.assertGreaterEqual(len(programs.all_programs()), 60)


def prepare():
    """As root: copies the programs for the ordinary user, and makes a setuid file (only root can)."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="pawl-hostile-bin-"))
    os.chmod(folder, 0o755)
    for program in (os.environ["PAWL"], os.environ["PAWL"] + "-engine", os.environ["ATTACKS"], os.environ["PRELOADED"]):
        shutil.copy(program, folder)
    setuid = shutil.copy(os.environ["ATTACKS"], folder / "setuid")
    os.chown(setuid, OWNER_OF_SETUID, OWNER_OF_SETUID)
    os.chmod(setuid, 0o4755)
    os.environ.update(PAWL=str(folder / "pawl"), ATTACKS=str(folder / "attacks"), SETUID=str(setuid),
                      PRELOADED=str(folder / pathlib.Path(os.environ["PRELOADED"]).name))
    return folder


def as_ordinary_user():
    folder = prepare()
    try:
        return subprocess.run([sys.executable, __file__, "invoker", *sys.argv[1:]], user=ORDINARY, group=ORDINARY, extra_groups=[], cwd="/",
                              env={**os.environ, "HOME": "/tmp"}).returncode
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    if sys.argv.pop(1) == "ordinary_user" and os.geteuid() == 0:
        sys.exit(as_ordinary_user())
    prepared = prepare() if os.geteuid() == 0 else None
    outcome = unittest.main(verbosity=1, exit=False).result
    if prepared:
        shutil.rmtree(prepared)
        if len(sys.argv) == 1:  # all tests: root runs every program
            assert Hostile.stopped == programs.all_programs(), f"never run: {programs.all_programs() - Hostile.stopped}"
    sys.exit(not outcome.wasSuccessful())
