#!/usr/bin/env python3
"""Output of commands on a terminal, in a pipe and for a program, and their errors for a wrong line."""

import os
import pty
import re
import resource
import subprocess

import at_once
from pawl_runs import WithRun
from pawl_testing import PAWL, TIMEOUT_S


class Output(WithRun):
    def test_piped_output_has_no_escape_codes(self):
        self.make_simple()
        done = self.pawl("run", "plan.yaml")
        self.assertNotIn("\x1b", done.stdout + done.stderr)
        self.assertNotIn("\r", done.stdout + done.stderr)

    def test_a_terminal_shows_the_step_and_its_last_line(self):
        self.make_simple(agent="for i in 1 2 3 4 5 6 7 8; do echo line-$i; sleep 0.2; done")
        text = self.on_a_terminal("run", "plan.yaml").decode(errors="replace")
        self.assertRegex(text, r"line-\d")
        self.assertIn("COMPLETE", text)
        self.assertNotIn("\x1b[2J", text, "it never clears the screen")

    def write_large(self, count):
        phases = "".join(f"      - {{id: p{i}, may_be_empty: true, goal: g, agent: {{run: [\"true\"]}}, gates: [check]}}\n" for i in range(count))
        (self.root / "large.yaml").write_text("version: 1\nworkflow: large\nsource: {path: source}\nprotect: [{pattern: tests, may_be_absent: true}]\n"
                                              "gates:\n  check: {steps: [{name: unit, run: [\"true\"]}]}\n"
                                              "tiers:\n  - phases:\n" + phases)

    def test_a_terminal_sees_that_a_large_plan_takes_long(self):
        def work():
            return os.times().children_user + os.times().children_system

        count, took = 10_000, 0
        while took < 2.5:  # large enough to take long on this machine, whatever else runs there
            count *= 2
            self.write_large(count)
            before = work()
            self.pawl("check", "large.yaml")
            took = work() - before

        def stderr_on_a_terminal(*options):
            ours, theirs = pty.openpty()
            program = subprocess.Popen([PAWL, "check", "large.yaml", *options], cwd=self.root, stdout=subprocess.DEVNULL, stderr=theirs)
            os.close(theirs)
            seen = b""
            try:
                while chunk := os.read(ours, 65536):
                    seen += chunk
            except OSError:
                pass  # all writers have ended
            os.close(ours)
            self.assertEqual(program.wait(TIMEOUT_S), 0, seen)
            return seen.decode()

        seen = stderr_on_a_terminal()
        self.assertIn("reading large.yaml: 1 s", seen)
        self.assertTrue(seen.endswith("\r\x1b[K"), "and leaves nothing behind")
        self.assertEqual(stderr_on_a_terminal("--json"), "")
        self.assertEqual(self.pawl("check", "large.yaml").stderr, "", "not a terminal")

    def test_every_command_has_help_with_an_example(self):
        names = re.findall(r"^  ([a-z]+) ", self.pawl("--help").stdout, re.M)
        for name in ("run resume status inspect why logs diff apply verify check export gc retry skip cancel migrate sandbox"
                     .split()):
            self.assertIn(name, names)
            self.assertIn("xample", self.pawl(name, "--help").stdout, name)
        self.assertRegex(self.pawl("--version").stdout, r"\d+\.\d+\.\d+")

    def test_a_misspelt_store_is_no_new_database(self):
        self.make_simple()
        self.pawl("run", "plan.yaml")
        for store in ("bogus.db", "sqlite:bogus.db"):
            for command in ("status", "stats", "resume last"):
                self.assertIn("bogus.db: no such database", self.pawl(*command.split(), "--store", store, expect=1).stderr)
        self.assertFalse((self.root / "bogus.db").exists())
        self.pawl("run", "plan.yaml", "--store", "sqlite:bogus.db")
        self.assertIn("COMPLETE", self.pawl("status", "--store", "sqlite:bogus.db").stdout)

    def test_logs_as_json(self):
        self.make_simple(agent="printf 'caf\\351\\n'", gate="echo judged")
        self.pawl("run", "plan.yaml")
        logs = self.pawl_json("logs", "last", "p1")
        self.assertEqual([(step["label"], step["text"]) for step in logs["steps"]],
                         [("p1.agent.run.attempt1", "caf\ufffd\n"), ("p1.check.unit.attempt1", "judged\n")])
        self.pawl("logs", "last", "p1", "--json", "--follow", expect=2)

    def test_a_refused_store_leaves_no_state_folder(self):
        self.make_simple()
        self.write("text.db", "not a database\n" * 100)
        for store, said in (("sqlite:nowhere/pawl.db", "no folder nowhere"), ("sqlite:text.db", "not a Pawl database")):
            with self.subTest(store):
                self.assertIn(said, self.pawl("run", "plan.yaml", "--store", store, expect=1).stderr)
                self.assertFalse((self.root / "source/.pawl").exists())
        for store, name in (("sqlite:own.db", "own.db"), ("postgres.db", "postgres.db")):
            self.pawl("run", "plan.yaml", "--store", store)
            self.assertTrue((self.root / name).exists())

    def test_a_store_of_another_kind_is_an_error_of_usage(self):
        self.make_simple()
        state = self.root / "source/.pawl"
        for store, said in (("postgres://host/db", "not available yet"), ("postgresql://host/db", "not available yet"), ("mysql:x", "mysql: no such database"),
                            ("foo://x", "foo: no such database"), ("sqlite3:x", "sqlite3: no such database"), ("sqlite:", "expected sqlite:PATH")):
            for command in "run plan.yaml", "status", "resume last", "verify last", "export last -o out", "gc":
                with self.subTest(store=store, command=command):
                    self.assertIn(said, self.pawl(*command.split(), "--store", store, expect=2).stderr)
                    self.assertFalse(state.exists())
        state.mkdir(mode=0o700)
        self.pawl("migrate", "--store", "mysql:x", expect=2)
        self.assertEqual([*state.iterdir(), *self.root.glob("mysql*")], [])

    def test_who_only_reads_needs_no_place_to_write(self):
        """On a read-only file system: after a run that is over, and with files of a killed run beside the
        database."""
        commands = ["status", "status last", "inspect last", "cost", "why last", "stats", "logs last p1", "budget last", "verify last",
                    "report last --force -o page.html"]
        script = "mount --bind source source && mount -o remount,bind,ro source || exit 98\n"
        script += "\n".join(f"'{PAWL}' {command} --dir source/.pawl || exit 99" for command in commands)
        script += f"\n! '{PAWL}' cancel last --dir source/.pawl\n"
        self.make_simple()
        self.pawl("run", "plan.yaml")
        self.in_namespace(script)
        self.make_simple(agent="sleep 1000")
        run = self.start("run", "plan.yaml")
        self.wait_for_step("the agent runs")
        self.kill_all(run)
        self.assertTrue((self.root / "source/.pawl/pawl.db-wal").exists())
        self.in_namespace(script)

    def in_namespace(self, script):
        done = subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", script], cwd=self.root, capture_output=True,
                              text=True, timeout=TIMEOUT_S, env=self.environment(None))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_misspelt_command_is_named_with_the_nearest_one(self):
        for line, said in (("chekc plan.yaml", "there is no command 'chekc'; did you mean 'check'? `pawl --help` lists them"),
                           ("chekc --help", "did you mean 'check'?"),
                           ("help run", "there is no command 'help': `pawl --help` lists them"),
                           ("sandbox exce -- true", "there is no command 'exce'; did you mean 'exec'? `pawl sandbox --help` lists them"),
                           ("checkpoint lsit", "did you mean 'list'?")):
            done = self.pawl(*line.split(), expect=2)
            self.assertIn(said, done.stderr)
            self.assertEqual(done.stdout, "")

    def test_what_could_not_be_written_is_not_said_to_be_done(self):
        self.make_simple(agent="echo said; echo x >new")
        self.pawl("run", "plan.yaml")
        for command in ("diff last", "diff last --json", "logs last p1", "status", "status --json", "inspect last", "verify last",
                        "cost --csv", "attest last", "check plan.yaml", "stats --json", "why last", "logs -f last p1", "sandbox health",
                        "sandbox exec -- echo hi", "sandbox exec --json -- echo hi", "sandbox exec --copy-out out -- echo hi",
                        "--help", "--version", "run --help", "sandbox --help", "sandbox exec --help", "report --help"):
            with open("/dev/full", "wb") as full:
                done = subprocess.run([PAWL, *command.split()], cwd=self.root, stdout=full, stderr=subprocess.PIPE, text=True,
                                      timeout=TIMEOUT_S)
            self.assertEqual(done.returncode, 1, command)
            self.assertIn("stdout could not be written: No space left on device", done.stderr, command)

    WRITERS = {"attest": b"{", "report": b"<!DOCTYPE html>"}  # commands with -o, and how their output begins

    def output(self, command, path, *options, expect=0, **more):
        done = subprocess.run([PAWL, command, "last", "-o", path, *options], cwd=self.root, stderr=subprocess.PIPE, timeout=TIMEOUT_S,
                              env=self.environment(None), **{"stdout": subprocess.PIPE, **more})
        self.assertEqual(done.returncode, expect, done.stderr)
        return done

    def test_an_output_file_replaces_a_file_only_when_it_is_told_to(self):
        self.make_simple()
        self.pawl("run", "plan.yaml")
        for command, begin in self.WRITERS.items():
            with self.subTest(command):
                page = self.root / f"{command}.out"
                self.output(command, page.name)
                self.assertTrue(page.read_bytes().startswith(begin))
                page.write_text("mine")
                link, missing = self.root / f"{command}.link", self.root / f"{command}.missing"
                link.symlink_to(page.name)
                missing.symlink_to(self.root / f"{command}.new")
                for name in (page.name, link.name):
                    self.assertIn(f"{name}: the file exists; --force replaces it", self.output(command, name, expect=2).stderr.decode())
                self.assertEqual(page.read_text(), "mine")
                self.output(command, link.name, "--force")
                self.assertTrue(page.read_bytes().startswith(begin))
                self.output(command, missing.name)
                self.assertTrue((self.root / f"{command}.new").read_bytes().startswith(begin))
                self.assertTrue(link.is_symlink() and missing.is_symlink())
                self.assertIn("is a folder", self.output(command, "source", "--force", expect=2).stderr.decode())
                loop = self.root / f"{command}.loop"
                loop.symlink_to(loop.name)
                self.output(command, loop.name, "--force", expect=2)
                self.assertTrue(loop.is_symlink())

    def test_an_output_file_that_is_a_pipe_is_written_and_stays(self):
        self.make_simple()
        self.pawl("run", "plan.yaml")
        os.mkfifo(self.root / "pipe")
        for command, begin in self.WRITERS.items():
            for options in ((), ("--force",)):
                with self.subTest(command, options=options):
                    reader = subprocess.Popen(["cat", "pipe"], cwd=self.root, stdout=subprocess.PIPE)
                    self.addCleanup(self.stop, reader)
                    self.assertIn(b"pipe", self.output(command, "pipe", *options).stdout)
                    self.assertTrue((self.root / "pipe").is_fifo())
                    self.assertTrue(reader.communicate(timeout=TIMEOUT_S)[0].startswith(begin))

    def test_an_output_file_that_is_a_descriptor_is_what_it_has_open(self):
        self.make_simple()
        self.pawl("run", "plan.yaml")
        for number, name in ((1, "out"), (2, "err")):
            (self.root / name).symlink_to(f"/proc/self/fd/{number}")
        for command in self.WRITERS:
            whole = self.output(command, "-").stdout
            for options in ((), ("--force",)):
                with self.subTest(command, options=options):
                    self.assertEqual(len(self.output(command, "out", *options).stdout), len(whole))
                    self.assertIn(whole[:15], self.output(command, "err", *options).stderr)
                    self.assertIn("Bad file descriptor", self.output(command, "/proc/self/fd/99", *options, expect=1).stderr.decode())
                    kept = self.root / f"{command}{len(options)}"
                    kept.write_bytes(b"before\n")
                    with kept.open("ab") as file:
                        self.output(command, "out", *options, stdout=file)
                    self.assertEqual(len(kept.read_bytes()), len(b"before\n") + len(whole), "appended, as the shell does")
                    self.assertTrue((self.root / "out").is_symlink() and (self.root / "err").is_symlink())

    def limited(self, bytes_max, *words, stdout=subprocess.DEVNULL):
        """The exit code and stderr of pawl when no file may grow beyond the limit (ulimit -f)."""
        done = subprocess.run([PAWL, *words], cwd=self.root, stdout=stdout, stderr=subprocess.PIPE, text=True, timeout=TIMEOUT_S,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_max, resource.RLIM_INFINITY)))
        return done.returncode, done.stderr

    def test_the_file_limit_of_the_caller_is_an_error_and_no_signal(self):
        self.make_simple(agent="seq 100000 > file", gate="seq 100000")
        for bytes_max in (512, 4096, 50_000, 500_000):  # the state, the database, the logs, the layer
            code, words = self.limited(bytes_max, "run", "plan.yaml", "--dir", f"state{bytes_max}")
            self.assertGreater(code, 0, f"{bytes_max}: {words}")
            self.assertRegex(words, "File too large|disk|full|lost|I/O", f"{bytes_max}: {words}")
        self.pawl("run", "plan.yaml")
        with open(self.root / "written", "wb") as out:
            code, words = self.limited(4096, "diff", "last", stdout=out)
        self.assertEqual(code, 1, words)
        self.assertIn("File too large", words)

    def test_a_command_that_nobody_can_hear_goes_on(self):
        closed = {"both full": ">/dev/full 2>&1", "stderr full": "2>/dev/full", "stderr closed": "2>&-", "all closed": "<&- >&- 2>&-"}
        for number, (what, redirection) in enumerate(closed.items()):
            with self.subTest(what):
                self.make_simple(agent=f"echo x >new{number}")
                done = subprocess.run(f"{PAWL} run plan.yaml {redirection}", shell=True, cwd=self.root, capture_output=True, timeout=TIMEOUT_S)
                self.assertIn(done.returncode, (0, 1))
                runs = self.pawl_json("status")["runs"]
                self.assertEqual((len(runs), runs[0]["state"]), (number + 1, "COMPLETE"))
                self.pawl("verify", "last")
                for words in ("status last", "status nonsense", "logs last p1", "why last", "nonsense"):
                    done = subprocess.run(f"{PAWL} {words} {redirection}", shell=True, cwd=self.root, capture_output=True, timeout=TIMEOUT_S)
                    self.assertTrue(0 <= done.returncode < 126, (words, done.returncode))
        self.pawl("verify", "last")

    def test_logs_on_a_terminal_spell_what_a_terminal_obeys(self):
        self.make_simple(agent=r"printf '\033]52;c;aGk=\007\033[2J\302\233A caf\303\251\ttab\nnext\n'")
        self.pawl("run", "plan.yaml")
        shown = self.on_a_terminal("logs", "last", "p1").decode()
        self.assertIn(r"\x1b]52;c;aGk=\x07\x1b[2J\u009bA café" + "\ttab\r\nnext\r\n", shown)
        self.assertNotIn("\x1b", shown)
        self.assertIn(b"\x1b]52;c;aGk=\x07\x1b[2J", self.on_a_terminal("logs", "last", "p1", "--raw"))
        self.assertIn("\x1b]52", self.pawl("logs", "last", "p1").stdout, "a program gets the bytes")

    def test_diff_on_a_terminal_spells_what_a_terminal_obeys(self):
        self.make_simple(agent=r"printf '\033]52;c;aGk=\007\033[2J\302\233A caf\303\251\ttab\r\nnext\n' >f; printf '\342\200\256' >'g h'")
        self.pawl("run", "plan.yaml")
        raw = subprocess.run([PAWL, "diff", "last"], cwd=self.root, capture_output=True, check=True).stdout
        self.assertIn(b"+\x1b]52;c;aGk=\x07\x1b[2J\xc2\x9bA caf\xc3\xa9\ttab\r\n+next\n", raw, "a program gets the bytes")
        shown = self.on_a_terminal("diff", "last").decode()
        self.assertIn("+" + r"\x1b]52;c;aGk=\x07\x1b[2J\u009bA café" + "\ttab" + r"\x0d" + "\r\n+next\r\n", shown)
        self.assertIn(r"+\u202e", shown)
        self.assertNotRegex(shown, "[\x1b\x07\x9b\u202e]")
        self.assertEqual(self.on_a_terminal("diff", "last", "--raw"), raw.replace(b"\n", b"\r\n"))
        self.assertEqual(subprocess.run([PAWL, "diff", "last", "--raw"], cwd=self.root, capture_output=True, check=True).stdout, raw)

    def left(self, command):
        """The part of a command's output that was read, and then its exit code when the reader has gone."""
        done = subprocess.run(f"{PAWL} {command}; echo ${{PIPESTATUS[0]}}", shell=True, executable="/bin/bash", cwd=self.root,
                              capture_output=True, text=True, timeout=TIMEOUT_S)
        return done.stdout.split()

    def test_a_command_in_a_sandbox_ends_when_nobody_reads_it(self):
        forever = "sh -c 'while echo x; do sleep 0.1; done'"
        self.assertEqual(self.left(f"sandbox exec --time-budget-seconds 3000 -- {forever} | head -n1"), ["x", "141"])
        self.assertEqual(self.left(f"sandbox exec --time-budget-seconds 3000 -- {forever.replace('echo x', 'echo x >&2')} 2>&1 | head -n1"),
                         ["x", "141"])
        silent = "sh -c 'sleep 0.3; echo made >f'"
        self.assertEqual(self.left(f"sandbox exec --copy-out out -- {silent} | true"), ["0"], "nothing was printed to nobody")
        self.assertEqual((self.root / "out/f").read_text(), "made\n")

    def test_following_ends_when_nobody_reads_it(self):
        self.make_simple(agent="echo x; sleep 1000")
        run = self.start("run", "plan.yaml")
        self.wait_for_step("the agent runs")
        self.assertEqual(self.left("logs -f last p1 | head -n1"), ["==>", "p1.agent.run.attempt1", "0"])
        self.kill_all(run)

    def test_an_anchor_or_a_key_that_is_none_is_not_taken_for_no_anchor(self):
        self.make_simple()
        self.pawl("run", "plan.yaml")
        head, key = (self.pawl_json("verify", "last")["head"], (self.root / "source/.pawl/keys/ledger.pub").read_text().strip())
        said = self.pawl("verify", "last", "--anchor", head, "--key", key).stdout
        self.assertIn(f"signed by {key}, the key you trust\nthe anchor is one of its rows\n", said)
        self.assertNotIn("trust", self.pawl("verify", "last").stdout)
        for option in ("--anchor", "--key"):
            for wrong in ("", "zz", head.upper()[:63]):
                self.assertIn("64 lower-case hexadecimal digits", self.pawl("verify", "last", option, wrong, expect=2).stderr)
            self.pawl("verify", "last", f"{option}=", expect=2)

    def test_an_export_of_pipes_and_devices_ends(self):
        self.make_simple()
        self.pawl("run", "plan.yaml")
        self.pawl("export", "last", "evidence")
        for name in ("run.jsonl", "head.json", "phases/p1/attempts.jsonl"):
            path = self.root / "evidence" / name
            kept = path.read_bytes()
            for make in (os.mkfifo, lambda path: os.symlink("/dev/zero", path), os.mkdir):
                path.unlink()
                make(path)
                self.assertIn("it is not a regular file", self.pawl("verify", "evidence", expect=13).stderr)
                path.rmdir() if path.is_dir() else path.unlink()
                path.write_bytes(kept)
        self.pawl("verify", "evidence")

    def test_a_patch_that_is_no_text_is_no_json(self):
        self.make_simple(agent="printf 'caf\\351\\n' >latin")
        self.pawl("run", "plan.yaml")
        self.assertIn("take it without --json", self.pawl("diff", "last", "--json", expect=1).stderr)
        patch = subprocess.run([PAWL, "diff", "last"], cwd=self.root, capture_output=True, check=True).stdout
        self.assertIn(b"+caf\xe9\n", patch)

    def test_a_closed_pipe_is_no_crash(self):
        self.make_simple()
        self.pawl("run", "plan.yaml")
        done = subprocess.run(f"{PAWL} inspect last --json | head -c 1; exit ${{PIPESTATUS[0]}}", shell=True,
                              executable="/bin/bash", cwd=self.root, capture_output=True, timeout=TIMEOUT_S)
        self.assertGreaterEqual(done.returncode, 0)
        self.assertLess(done.returncode, 128)


if __name__ == "__main__":
    at_once.main()
