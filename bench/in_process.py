"""What pawl_bench measures inside one process, one or two of its benchmarks a part; and the simulator."""

import json
import os
import re
import statistics
import subprocess

ENGINE_ROUNDS = 5
HISTORIES = 1500


def benchmarks(place, pattern):
    """By name without its arguments of measuring: Engine/1, Claim."""
    # The programs write below build/ of their working folder. That folder is removed even after an interruption.
    (place.folder / "build").mkdir(exist_ok=True)
    done = subprocess.run([place.bench, "--benchmark_format=json", f"--benchmark_filter={pattern}"], check=True, capture_output=True, text=True,
                          cwd=place.folder)
    return {re.split("/iterations|/real_time|/manual_time", entry["name"])[0]: entry for entry in json.loads(done.stdout)["benchmarks"]}


def engine(place):
    """The engine and bare commits in turns, and a ratio a round: the disk changes its pace."""
    rounds = []
    for number in range(1, ENGINE_ROUNDS + 1):
        place.say(f"  round {number} of {ENGINE_ROUNDS}")
        found = benchmarks(place, "^(Engine/1/|BareCommits)")
        rounds.append((found["BareCommits"]["items_per_second"], found["Engine/1"]["transitions_per_s"]))
    yield "bare_commits_per_s", statistics.median(bare for bare, _ in rounds)
    yield "engine_transitions_per_s", statistics.median(alone for _, alone in rounds)
    yield "engine_by_bare_commits", statistics.median(bare / alone for bare, alone in rounds)


def engine_of_64(place):
    found = benchmarks(place, "^Engine/64/")["Engine/64"]
    yield "engine_64_transitions_per_s", found["transitions_per_s"]
    yield "engine_64_cpu_us_per_transition", found["cpu_us_per_transition"]


def claims(place):
    found = benchmarks(place, "^Claim")["Claim"]
    yield "claim_p50_us", found["p50_us"]
    yield "claim_p99_us", found["p99_us"]


def verify(place):
    yield "verify_mb_per_s", benchmarks(place, "^VerifyLedger")["VerifyLedger"]["bytes_per_second"] / 1e6


def redact(place):
    yield "redact_mb_per_s", benchmarks(place, "^Redact")["Redact"]["bytes_per_second"] / 1e6


def probe(place):
    found = benchmarks(place, "^Probe")["Probe"]
    yield "probe_us", found["probe_us"]
    yield "probe_by_bare_clone", found["probe_us"] / found["clone_us"]


def workspace(place):
    found = benchmarks(place, "^Workspace")
    yield "workspace_open_ms", found["WorkspaceOpen"]["real_time"]
    yield "workspace_copy_out_ms", found["WorkspaceCopyOut"]["real_time"]
    yield "workspace_first_use_by_b3sum", found["WorkspaceCheck"]["first_by_b3sum"]
    yield "workspace_later_use_ms", found["WorkspaceCheck"]["later_ms"]


def agent_growth(place):
    found = benchmarks(place, "^AgentGrowth")["AgentGrowth"]
    yield "agent.growth", found["ratio"]
    yield "agent.growth_all_kept", found["ratio_all_kept"]


def agent_state(place):
    found = benchmarks(place, "^Agent(Save|Load)/")
    yield "agent.save_1mib_1kb_change_ms", found["AgentSave"]["p50_ms"]
    yield "agent.load_1mib_ms", found["AgentLoad"]["p50_ms"]


def agent_of_a_million(place):
    yield "agent.load_of_a_million_us", benchmarks(place, "^AgentLoadOfAMillion")["AgentLoadOfAMillion"]["p50_us"]


def alone(place, pattern):
    """The time and the memory in MiB of one benchmark in a process of its own."""
    (place.folder / "build").mkdir(exist_ok=True)
    bench = subprocess.Popen([place.bench, "--benchmark_format=json", f"--benchmark_filter={pattern}"], stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, text=True, cwd=place.folder)
    try:
        took = json.loads(bench.stdout.read())["benchmarks"][0]["real_time"]
    except BaseException:
        bench.kill()
        raise
    finally:
        _, status, use = os.wait4(bench.pid, 0)
        bench.returncode = os.waitstatus_to_exitcode(status)
    return took, use.ru_maxrss / 1024


def report(place):
    took, memory = alone(place, "^ReadReport")
    yield "read_junit_100_mb_ms", took
    yield "read_junit_100_mb_mib", memory


def many_reports(place):
    yield "judge_1000_reports_mib", alone(place, "^JudgeReports")[1]


def simulator(place):
    """Histories of the real executor and store: a call into the world is what anything can happen at."""
    done = subprocess.run([place.simulator, "--histories", str(HISTORIES)], check=True, capture_output=True, text=True, cwd=place.folder)
    calls, histories = (int(re.search(rf"(\d+) {word}", done.stdout)[1]) for word in ("calls", "histories"))
    a_second = int(re.search(r"(\d+) a second", done.stdout)[1])
    yield "sim_histories_per_s", a_second
    yield "sim_histories_of_200_calls_per_s", a_second * calls / histories / 200
