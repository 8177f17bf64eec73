"""Shared by the tests of the real program: a folder with a plan and a source, and functions that run pawl in it.

PAWL names the program under test (CMake sets it). Standard library only.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

PAWL = os.environ["PAWL"]
TIMEOUT_S = 240
WAIT_S = 200  # for events that take less than a second on an idle machine


class PawlTest(unittest.TestCase):
    """A temporary folder for each test. A process that the test left running is an error."""

    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="pawl-test-"))
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)
        self.addCleanup(self.assert_nothing_left)

    # --- making plans and sources

    def write(self, path, text, mode=0o644):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(text, bytes):
            target.write_bytes(text)
        else:
            target.write_text(text)
        target.chmod(mode)
        return target

    def git(self, *args, cwd="."):
        done = subprocess.run(
            ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main", *args],
            cwd=self.root / cwd, capture_output=True, text=True, timeout=TIMEOUT_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def commit_all(self, cwd="."):
        if not (self.root / cwd / ".git").exists():
            self.git("init", "-q", cwd=cwd)
        self.git("add", "-A", cwd=cwd)
        self.git("commit", "-q", "-m", "base", cwd=cwd)

    # --- running pawl

    def pawl(self, *args, expect=0, env=None, cwd=".", stdin=subprocess.DEVNULL):
        done = subprocess.run([PAWL, *map(str, args)], cwd=self.root / cwd, capture_output=True, text=True,
                              errors="replace", timeout=TIMEOUT_S, env=self.environment(env), stdin=stdin)
        if expect is not None:
            self.assertEqual(done.returncode, expect,
                             f"pawl {' '.join(map(str, args))}\n{done.stdout}\n{done.stderr}")
        return done

    def pawl_json(self, *args, expect=0, env=None, cwd="."):
        done = self.pawl(*args, "--json", expect=expect, env=env, cwd=cwd)
        return json.loads(done.stdout.strip().splitlines()[-1])

    def start(self, *args, env=None, cwd="."):
        log = open(self.root / f"started-{time.monotonic_ns()}.log", "wb")
        process = subprocess.Popen([PAWL, *map(str, args)], cwd=self.root / cwd, stdout=log, stderr=log,
                                   stdin=subprocess.DEVNULL, env=self.environment(env))
        log.close()
        self.addCleanup(self.stop, process)
        return process

    @staticmethod
    def stop(process):
        if process.poll() is None:
            process.kill()
        process.wait()

    @staticmethod
    def environment(extra):
        out = {k: v for k, v in os.environ.items() if not k.startswith("PAWL_")}
        out.update(extra or {})
        return out

    # --- looking from outside

    def our_processes(self):
        """Pids whose command line names this test's folder: executors, supervisors, sandboxes."""
        return [int(entry) for entry in os.listdir("/proc") if entry.isdigit() and int(entry) != os.getpid() and self.is_ours(entry)]

    def is_ours(self, pid, word=b""):
        """Whether the process belongs to this test, and its command line has `word`. Of most processes it reads only the command line: waiting
        should be cheap."""
        try:
            command = pathlib.Path("/proc", str(pid), "cmdline").read_bytes()
            if str(self.root).encode() not in command or word not in command:
                return False
            return pathlib.Path("/proc", str(pid), "stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
        except OSError:
            return False  # it has ended

    def supervisors(self):
        return [pid for pid in self.our_processes() if self.is_ours(pid, b"pawl-supervisor")]

    def steps_at_work(self, label=""):
        """Folders of steps whose supervisor lives and has begun. A process of that name may not have the step's lock yet; then the step
        seems to have no supervisor. A killed process retains its pid while it ends, but has no command line."""
        out = []
        for identity in self.root.glob("*/.pawl/spool/*/supervisor"):
            try:
                if self.is_ours(self.supervisor_of(identity.parent), b"pawl-supervisor") and \
                        label in json.loads((identity.parent / "job.json").read_text())["spec"]["label"]:
                    out.append(identity.parent)
            except OSError:
                continue  # it has ended
        return out

    def wait_for_step(self, what, label="", seconds=WAIT_S):
        self.wait_until(lambda: self.steps_at_work(label), what, seconds)

    def wait_for_output(self, text, label="", times=1):
        """Waits until the supervisors of all steps at work have this text `times` times. What a step prints is lost with its supervisor before that."""
        def has_it(step):
            try:
                return (step / "output").read_bytes().count(text.encode()) >= times
            except FileNotFoundError:
                return False  # not begun, or over
        self.wait_until(lambda: (steps := self.steps_at_work(label)) and all(map(has_it, steps)), f"{text} is printed")

    def wake(self, label="", steps=1):
        """Ends the `sleep` of a step, as if its time had passed, so that a step lasts as long as a test needs, on any machine. A plan writes it as
        `sleep 60 || true`, since the step's shell ends at a failure. `steps`: how many steps must sleep; each of them is woken."""
        for pid in self.wait_for_sleep(label, steps):
            os.kill(pid, signal.SIGKILL)

    def wait_for_sleep(self, label="", steps=1):
        """Waits until this many steps are in their `sleep`. Returns the pids."""
        def asleep():
            found = [[pid for pid in self.below(self.supervisor_of(step)) if self.is_called(pid, b"sleep")] for step in self.steps_at_work(label)]
            return [pids[0] for pids in found if pids]

        self.wait_until(lambda: len(asleep()) >= steps, f"{steps} steps sleep")
        return asleep()

    @staticmethod
    def supervisor_of(step):
        try:
            return int((step / "supervisor").read_text().split("/")[-2])  # host/boot/pid/start
        except FileNotFoundError:
            return 0  # it has ended

    @classmethod
    def below(cls, pid):
        """The processes that a process started, and their descendants."""
        try:
            threads = os.listdir(f"/proc/{pid}/task")
        except OSError:
            return  # it has ended; pathlib's glob would raise in the middle of its own calls
        for thread in threads:
            try:
                found = pathlib.Path(f"/proc/{pid}/task/{thread}/children").read_text().split()
            except OSError:
                continue  # it has ended
            for child in found:
                yield int(child)
                yield from cls.below(int(child))

    @staticmethod
    def is_called(pid, program):
        try:
            return pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[0] == program
        except OSError:
            return False

    def kill_all(self, process):
        """kill -9 of an executor and its supervisors. No process is left when it returns."""
        process.kill()
        process.wait()

        def nothing_is_left():
            self.kill_supervisors()  # again each time: the executor may have forked a process that is not yet a supervisor
            return not self.our_processes()

        self.wait_until(nothing_is_left, "nothing is left")

    def kill_supervisors(self):
        for pid in self.supervisors():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # a child of a killed supervisor, which ended with it

    @staticmethod
    def our_cgroups(ids):
        left = []
        for folder, names, _ in os.walk("/sys/fs/cgroup"):
            left += [os.path.join(folder, n) for n in names if n.startswith("pawl-") and n[5:] in ids]
        return left

    def wait_until(self, condition, what, seconds=WAIT_S):
        started = time.monotonic()
        while (waited := time.monotonic() - started) < seconds:
            if condition():
                return
            time.sleep(min(0.01 + waited / 20, 0.05))  # looking takes processor time from the process that the test waits for
        logs = [log.read_text(errors="replace")[-2000:] for log in sorted(self.root.glob("started-*.log"))[-3:]]
        self.fail("\n".join([f"not within {seconds} s: {what}", *logs]))

    def assert_nothing_left(self):
        deadline = time.monotonic() + 30
        while self.our_processes() and time.monotonic() < deadline:
            time.sleep(0.02)
        left = self.our_processes()
        for pid in left:
            os.kill(pid, signal.SIGKILL)
        self.assertEqual(left, [], "processes left behind")
        mounts = [line for line in pathlib.Path("/proc/self/mounts").read_text().splitlines() if str(self.root) in line]
        self.assertEqual(mounts, [], "mounts left behind")

    # --- reading evidence

    def chains(self, run_id, cwd="."):
        """The ledger of a run: {phase_id or "": [rows]}, from a verified export."""
        folder = self.root / f"export-{time.monotonic_ns()}"
        self.pawl("export", run_id, folder, cwd=cwd)
        report = self.pawl_json("verify", folder, cwd=cwd)
        self.assertTrue(report["ok"], report)
        out = {"": self.rows(folder / "run.jsonl")}
        for phase in sorted((folder / "phases").iterdir()):
            out[phase.name] = self.rows(phase / "attempts.jsonl")
        return out

    @staticmethod
    def rows(path):
        return [json.loads(line) for line in path.read_text().splitlines()]


def plan(agent="true", gate="true", phases=1, **top):
    """The smallest plan with `phases` phases p1.. in one tier, whose agents need not change anything. `top` adds top-level YAML lines as raw
    text. Its gate does not run on base, since tests that use it count the steps of agents and gates."""
    lines = ["version: 1", "workflow: test", "source: {path: source}"]
    lines += [f"{key}: {value}" for key, value in top.items()]
    lines += ["gates:", f"  check: {{steps: [{{name: unit, run: {json.dumps(gate)}}}], signals: [build], baseline: none}}", "tiers:",
              "  - phases:"]
    for i in range(1, phases + 1):
        lines.append(f"      - {{id: p{i}, may_be_empty: true, goal: g, agent: {{run: {json.dumps(agent)}}}, gates: [check]}}")
    return "\n".join(lines) + "\n"
