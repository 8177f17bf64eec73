"""Every figure that the project promises, with its goal, by group: what is measured together is one part."""

import pathlib
import sys

import agents
import in_process
import large
import programs
import runs
import sandboxes
from build import BENCH, HOOKS, LOAD, PAWL, PROGRAMS, SAVERS, SIMULATOR
from figure import Figure, Group, Part

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "savers"))
import savers  # noqa: E402
import steps  # noqa: E402


def part(says, measure, needs, *figures):
    return Part(says, measure, tuple(Figure(*each) for each in figures), frozenset(needs))


GROUPS = (
    Group("cli", "commands, as whole processes", (
        part("pawl --version", runs.version, [PAWL], ("version_ms", "ms", "< 10")),
        part("pawl status; pawl inspect with a ledger of a million rows", runs.status, [PAWL],
             ("status_ms", "ms", "< 10"), ("inspect_a_million_rows_ms", "ms", "< 100")),
        part("the size of the largest program", runs.binary, [PAWL], ("binary_mb", "MB", "< 20")),
    )),
    Group("attempt", "a whole attempt against two of bubblewrap's sandboxes", (
        part("five runs of 20 phases, and bubblewrap's sandboxes in turns", runs.attempts, [PAWL],
             ("two_bwraps_ms", "ms"), ("attempt_ms", "ms"), ("attempt_by_two_bwraps", "ratio", "<= 3")),
    )),
    Group("sandbox", "a sandbox with every wall", (
        part("one command, against bubblewrap's", sandboxes.one_command, [PAWL],
             ("sandbox_exec_ms", "ms"), ("bwrap_ms", "ms"), ("exec_by_bwrap", "ratio", "<= 0.75")),
        part("pawl sandbox health", sandboxes.health, [PAWL], ("health_ms", "ms", "< 2000")),
        part("renames over a base", sandboxes.renames, [PAWL], ("rename_file_us", "us"), ("rename_folder_ms", "ms")),
        part("a probe beside a bare clone", in_process.probe, [BENCH], ("probe_us", "us"), ("probe_by_bare_clone", "ratio", "<= 2.5")),
    )),
    Group("build", "a build of fifty C files in a sandbox", (
        part("a build in five ways, in turns", sandboxes.builds, [PAWL, HOOKS],
             ("build_ms", "ms"), ("build_traced_by_plain", "ratio", "<= 1.10"), ("build_by_fewer_walls", "ratio", "<= 1.03"),
             ("build_by_bwrap", "ratio")),
    )),
    Group("relay", "what an egress passes on", (
        part("4 GiB through an egress", sandboxes.relay, [PAWL], ("relay_gb_per_s", "GB/s", ">= 1"), ("relay_first_byte_ms", "ms", "< 2")),
    )),
    Group("workspace", "a workspace over 50,000 files", (
        part("a workspace over 50,000 files, opened, copied out of, and compared with its id, and b3sum in turns", in_process.workspace, [BENCH],
             ("workspace_open_ms", "ms", "< 20"), ("workspace_copy_out_ms", "ms", "< 20"),
             ("workspace_first_use_by_b3sum", "ratio", "<= 1.2"), ("workspace_later_use_ms", "ms", "< 150")),
    )),
    Group("large", "sources of many files, and steps that leave many", (
        Part("five commits of 10 changed files each", large.commits, large.COMMIT_FIGURES, frozenset([PAWL])),
        Part("the first snapshot, and `git worktree add` in turns", large.first, large.FIRST_FIGURES, frozenset([PAWL])),
        Part("a folder in which nothing changed, and `git status` in turns", large.folder_unchanged, large.FOLDER_FIGURES, frozenset([PAWL])),
        Part("pawl gc of a base, and `rm -rf` in turns", large.gc, large.GC_FIGURES, frozenset([PAWL])),
        Part("the repository of a step, and a fresh clone's `git status` in turns", large.git, large.GIT_FIGURES, frozenset([PAWL])),
        Part(f"a step that writes {large.NEW_FILES:,} files", large.collect, large.COLLECT_FIGURES, frozenset([PAWL])),
        Part(f"an executor whose agent writes {large.NAMED_FILES:,} names of {large.NAME_BYTES} bytes", large.names, large.NAMES_FIGURES, frozenset([PAWL])),
    )),
    Group("gates", "what gates add to their steps, and reports", (
        part("21 gates on 50,000 files", runs.gates, [PAWL], ("gate_adds_ms", "ms", "< 20")),
        part("a test report of 100 MB", in_process.report, [BENCH],
             ("read_junit_100_mb_ms", "ms", "< 800"), ("read_junit_100_mb_mib", "MiB", "< 57")),
        part("a thousand test reports of 2 MiB, judged as one", in_process.many_reports, [BENCH], ("judge_1000_reports_mib", "MiB", "< 200")),
    )),
    Group("engine", "the engine alone, without sandboxes", (
        part("durable transitions of one worker, and bare commits in turns", in_process.engine, [BENCH],
             ("bare_commits_per_s", "1/s"), ("engine_transitions_per_s", "1/s", ">= 7500"), ("engine_by_bare_commits", "ratio", "<= 1.5")),
        part("durable transitions of 64 workers", in_process.engine_of_64, [BENCH],
             ("engine_64_transitions_per_s", "1/s", ">= 24000"), ("engine_64_cpu_us_per_transition", "us", "<= 40")),
        part("claims in a database of a million phases", in_process.claims, [BENCH],
             ("claim_p50_us", "us", "< 200"), ("claim_p99_us", "us", "< 2000")),
    )),
    Group("executor", "memory, and coming back", (
        part("an executor that waits for a step", runs.at_rest, [PAWL], ("executor_at_rest_mib", "MiB", "< 25")),
        part("executors that come back, of runs of up to 100,000 phases", runs.restarts, [PAWL],
             ("executor_1k_phases_mib", "MiB"), ("executor_10k_phases_mib", "MiB"), ("executor_100k_phases_mib", "MiB"),
             ("restart_100k_ms", "ms", "< 500"), ("executor_growth", "ratio", "<= 1.1")),
    )),
    Group("ledger", "what pawl verify checks", (
        part("verification of 64 MiB of ledger", in_process.verify, [BENCH], ("verify_mb_per_s", "MB/s", ">= 500")),
    )),
    Group("secrets", "redaction", (
        part("redaction of a build's output", in_process.redact, [BENCH], ("redact_mb_per_s", "MB/s", ">= 300")),
    )),
    Group("agent", "the socket for agents", (
        part("a plain client's steps, alone and 64 at once", agents.journaled_steps, [PAWL, LOAD],
             ("agent.steps_1_in_flight_per_s", "1/s", ">= 2500"), ("agent.steps_64_in_flight_per_s", "1/s", ">= 20000")),
        part("a thousand saves of a conversation that grows, twice", in_process.agent_growth, [BENCH],
             ("agent.growth", "ratio", "<= 2"), ("agent.growth_all_kept", "ratio", "<= 12")),
        part("saves and loads of 1 MiB", in_process.agent_state, [BENCH],
             ("agent.save_1mib_1kb_change_ms", "ms", "< 1"), ("agent.load_1mib_ms", "ms", "< 3")),
        part("loads from a million checkpoints, which are made first", in_process.agent_of_a_million, [BENCH],
             ("agent.load_of_a_million_us", "us", "< 200")),
        part(f"an honest client among hostile ones, for {agents.HOSTILE_SECONDS} s", agents.among_hostile_clients, [PAWL],
             ("agent.p99_among_hostile_ms", "ms", "< 20")),
    )),
    Group("programs", "real agent programs with a scripted model, against the same outside of Pawl", (
        part("a task for each of six programs, inside and outside in turns", programs.measure, [PAWL, PROGRAMS], *programs.FIGURES),
        part("the first `pawl run` in a repository, to its model's first call, and the same program outside in turns", programs.first_calls,
             [PAWL, PROGRAMS], *programs.FIRST_CALL_FIGURES),
        part(f"a usage limit of {programs.WAIT_S} s for each of them, left alone and killed", programs.resets, [PAWL, PROGRAMS],
             *programs.RESET_FIGURES),
    )),
    Group("sim", "the simulator", (
        part(f"{in_process.HISTORIES} histories", in_process.simulator, [SIMULATOR],
             ("sim_histories_per_s", "1/s"), ("sim_histories_of_200_calls_per_s", "1/s", ">= 300")),
    )),
    Group("savers", "PawlSaver against LangGraph's savers for PostgreSQL and SQLite", (
        part("puts and gets of three savers, in turns", savers.measure, [PAWL, SAVERS], *savers.FIGURES),
    )),
    Group("sdk", "journaled steps through the TypeScript SDK, against Restate's", (
        part("steps of two SDKs, in turns", steps.measure, [PAWL, SAVERS], *steps.FIGURES),
    )),
)
