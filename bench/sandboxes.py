"""Sandboxes as whole processes, against bubblewrap's; a build in one; what an egress passes on."""

import json
import math
import os
import socket
import statistics
import subprocess
import threading
import time

from commands import BWRAP_FULL, median_ms, seconds

COMMANDS = 300
FILES = 50
ROUNDS_MIN = 8
ROUNDS_S = 100  # a round of five builds takes some ten seconds of CPU; a hundred rounds were most of the whole benchmark
SETTLED = 0.004  # distinguishes a goal of 1.03 from 1.02 and 1.04


def one_command(place):
    """One command in a sandbox with every wall, a whole process, against bubblewrap's."""
    ours, theirs = [], []
    for _ in range(COMMANDS):
        for times, argv in ((ours, [place.pawl, "sandbox", "exec", "--", "/bin/true"]), (theirs, BWRAP_FULL)):
            time.sleep(0.005)  # the kernel is still removing the namespaces of the command before
            times.append(seconds(argv))
    yield "sandbox_exec_ms", statistics.median(ours) * 1000
    yield "bwrap_ms", statistics.median(theirs) * 1000
    yield "exec_by_bwrap", statistics.median(ours) / statistics.median(theirs)


def health(place):
    yield "health_ms", median_ms(5, [place.pawl, "sandbox", "health"])


RENAMES = """
import json, os, statistics, time
def timed(call, *names):
    start = time.perf_counter()
    call(*names)
    return time.perf_counter() - start
files = [timed(os.rename, *pair) for _ in range(1000) for pair in (("file", "other"), ("other", "file"))]
folder = timed(os.rename, "folder", "moved")
print(json.dumps({"file_us": statistics.median(files) * 1e6, "folder_ms": folder * 1e3}))
"""


def renames(place):
    """In a workspace over a base, where each rename waits for the sandbox's init: a file, and a folder of the base with 1,000 files."""
    base = place.fresh("renames")
    (base / "folder").mkdir()
    for path in [base / "file"] + [base / "folder" / str(i) for i in range(1000)]:
        path.write_text("x" * 1000)
    argv = [place.pawl, "sandbox", "exec", "--workspace", base, "--", "/usr/bin/python3", "-c", RENAMES]
    rounds = [json.loads(subprocess.run(argv, check=True, capture_output=True, text=True).stdout) for _ in range(5)]
    for name in ("file_us", "folder_ms"):
        yield f"rename_{name}", statistics.median(each[name] for each in rounds)


def error_of_median(values):
    """The standard error of a median, from the median distance to it: one round that was disturbed does not count."""
    median = statistics.median(values)
    return 1.86 * statistics.median(abs(value - median) for value in values) / math.sqrt(len(values))


def builds(place):
    """Fifty C files in a sandbox, with a trace, and without two of its walls, which only a build with test hooks can leave out."""
    folder = place.fresh("builds")
    project = folder / "project"
    project.mkdir()
    for i in range(FILES):
        (project / f"f{i}.c").write_text(f"#include <stdio.h>\n#include <stdlib.h>\nint f{i}(int n) {{ return printf(\"%d\", n) + {i}; }}\n")
    build = ["sh", "-c", "for f in *.c; do cc -O1 -c $f -o /tmp/$f.o || exit 1; done"]
    plain = [place.pawl, "sandbox", "exec", "--workspace", project, "--"] + build
    traced = plain[:3] + ["--trace", folder / "trace"] + plain[3:]
    hooked = [place.hooked] + plain[1:]
    bwrap = BWRAP_FULL[:-1] + ["--bind", project, "/mnt", "--chdir", "/mnt"] + build
    fewer = {**os.environ, "PAWL_WALLS_OFF": "seccomp landlock"}
    ways = {"plain": (plain, None), "traced": (traced, None), "bwrap": (bwrap, None), "walls": (hooked, None), "fewer": (hooked, fewer)}
    times = {name: [] for name in ways}
    # One ratio per round: the machine is shared, and its speed changes.
    ratios = {"build_traced_by_plain": ("traced", "plain"), "build_by_fewer_walls": ("walls", "fewer"), "build_by_bwrap": ("plain", "bwrap")}
    found = {name: [] for name in ratios}
    started, error = time.monotonic(), math.inf
    while len(times["plain"]) < ROUNDS_MIN or (error > SETTLED and time.monotonic() - started < ROUNDS_S):
        for name, (argv, env) in ways.items():
            times[name].append(seconds(argv, env=env))
        for name, (over, under) in ratios.items():
            found[name].append(times[over][-1] / times[under][-1])
        error = max(map(error_of_median, found.values()))
        place.say(f"  {len(times['plain'])} rounds; the ratios are known to {error:.1%}")
    yield "build_ms", statistics.median(times["plain"]) * 1000
    for name, values in found.items():
        yield name, statistics.median(values)


CLIENT = """
import json, socket, sys, time
def connect():
    return socket.create_connection(("127.0.0.1", int(sys.argv[1])))
firsts = []
for _ in range(50):
    start = time.perf_counter()
    with connect() as peer:
        peer.recv(1)
    firsts.append(time.perf_counter() - start)
buffer, total, start = bytearray(65536), 0, time.perf_counter()
with connect() as peer:
    while got := peer.recv_into(buffer):
        total += got
        if total >= 4 << 30:
            break
print(json.dumps({"gb_per_s": total / 1e9 / (time.perf_counter() - start), "first_ms": sorted(firsts)[25] * 1000}))
"""


def relay(place):
    """What an egress passes on, from a server on this machine's loopback to a client in a sandbox."""
    server = socket.create_server(("127.0.0.1", 0))
    port = server.getsockname()[1]

    def serve():
        block = bytes(65536)
        while True:
            peer, _ = server.accept()
            with peer:
                try:
                    while True:
                        peer.sendall(block)
                except OSError:
                    pass  # the client has read enough

    threading.Thread(target=serve, daemon=True).start()
    done = subprocess.run([place.pawl, "sandbox", "exec", "--network", "scoped", "--egress", f"127.0.0.1:{port}", "--",
                           "/usr/bin/python3", "-c", CLIENT, str(port)], check=True, capture_output=True, text=True)
    found = json.loads(done.stdout)
    yield "relay_gb_per_s", found["gb_per_s"]
    yield "relay_first_byte_ms", found["first_ms"]
