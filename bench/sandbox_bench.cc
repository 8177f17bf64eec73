// A sandbox probe compared with a bare clone3 with the same namespaces and an exec, in turns.
#include <benchmark/benchmark.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <vector>

#include "median.h"
#include "sandbox/probe.h"

namespace {

template <typename Work>
double micros_of(Work work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
}

void bare_clone() {
  clone_args args{.flags = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC |
                           CLONE_NEWUTS | CLONE_NEWCGROUP,
                  .exit_signal = SIGCHLD};
  const long pid = syscall(SYS_clone3, &args, sizeof args);
  if (pid == 0) {
    char name[] = "/bin/true";
    char* argv[] = {name, nullptr};
    execv(name, argv);
    _exit(1);
  }
  int status = 0;
  PAWL_CHECK(waitpid(static_cast<pid_t>(pid), &status, 0) == pid && status == 0);
}

void Probe(benchmark::State& state) {
  const auto backend = *pawl::sandbox::make_backend("namespace");
  std::vector<double> probes, clones;
  for (auto _ : state) {
    clones.push_back(micros_of(bare_clone));
    probes.push_back(micros_of([&] {
      const auto probed = run_in_sandbox(*backend, {.cmd = {"/bin/true"}});
      PAWL_CHECK(probed && pawl::sandbox::succeeded(probed->run));
    }));
    state.SetIterationTime(probes.back() / 1e6);
  }
  state.counters["probe_us"] = median(probes);
  state.counters["clone_us"] = median(clones);
}
BENCHMARK(Probe)->Iterations(200)->UseManualTime()->Unit(benchmark::kMicrosecond);

}  // namespace
