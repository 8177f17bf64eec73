// A workspace over a tree of 50,000 files: opening it, copying out the changes, and comparing it with its id.
#include <benchmark/benchmark.h>
#include <stdlib.h>

#include <chrono>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "amount.h"
#include "median.h"
#include "os/file.h"
#include "sandbox/backend.h"
#include "workspace/workspace.h"

namespace {

const int kFolders = amount(500);
constexpr int kFilesEach = 100;

struct Tree {
  Tree() {
    char name[] = "build/bench-workspace-XXXXXX";
    PAWL_CHECK(mkdtemp(name) != nullptr);
    root = *pawl::os::absolute_path(name);
    for (int i = 0; i < kFolders; ++i) {
      const std::string folder = root + "/source/d" + std::to_string(i);
      PAWL_CHECK(pawl::os::make_folders(folder).has_value());
      for (int j = 0; j < kFilesEach; ++j)
        PAWL_CHECK(pawl::os::write_atomically(folder + "/f" + std::to_string(j), std::to_string(i * 1000 + j))
                       .has_value());
    }
    workspaces.emplace(*pawl::workspace::Workspaces::open(root + "/.pawl"));
    base = workspaces->snapshot_directory(root + "/source")->base_id;
  }
  ~Tree() { static_cast<void>(pawl::os::remove_tree(root)); }

  pawl::sandbox::Folders fresh(int n) const {
    const std::string work = root + "/.pawl/work/" + std::to_string(n);
    pawl::sandbox::Folders folders{
        {workspaces->base_tree(base)}, work + "/upper", work + "/work", work + "/scratch"};
    for (const auto& folder : {folders.upper, folders.work, folders.scratch})
      PAWL_CHECK(pawl::os::make_folders(folder).has_value());
    return folders;
  }

  std::string root, base;
  std::optional<pawl::workspace::Workspaces> workspaces;
};

Tree& tree() {
  static Tree tree;
  return tree;
}

// The time from the call to the first instruction of a command in the workspace, and back.
void WorkspaceOpen(benchmark::State& state) {
  tree();  // made before the measurement
  auto backend = *pawl::sandbox::make_backend(pawl::sandbox::default_backend());
  pawl::sandbox::SandboxSpec spec;
  spec.cmd = {"/bin/true"};
  int n = 0;
  for (auto _ : state) {
    const auto folders = tree().fresh(++n);
    const auto done =
        backend->execute(spec, folders, {.on_output = [](auto, auto) {}}, "bench-" + std::to_string(n));
    PAWL_CHECK(succeeded(done.run) && done.changes == sandbox::Changes::kOverlay);
  }
}
BENCHMARK(WorkspaceOpen)->Unit(benchmark::kMillisecond)->Iterations(50)->UseRealTime();

void WorkspaceCopyOut(benchmark::State& state) {
  int n = 1000;
  for (auto _ : state) {
    const auto folders = tree().fresh(++n);
    PAWL_CHECK(pawl::os::make_folders(folders.upper + "/d7").has_value());
    PAWL_CHECK(
        pawl::os::write_atomically(folders.upper + "/d7/f7", "changed " + std::to_string(n)).has_value());
    const auto start = std::chrono::steady_clock::now();
    const auto layer = tree().workspaces->collect(folders.upper, folders.lower, false);
    PAWL_CHECK(layer && !layer->layer_id.empty());
    state.SetIterationTime(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
}
BENCHMARK(WorkspaceCopyOut)->Unit(benchmark::kMillisecond)->Iterations(50)->UseManualTime();

double seconds_of(const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  PAWL_CHECK(work());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Checks a base against its id, first without remembered hashes, then with them, in turns with b3sum.
void WorkspaceCheck(benchmark::State& state) {
  const std::string sum =
      "find " + tree().workspaces->base_tree(tree().base) + " -type f -print0 | xargs -0 b3sum > /dev/null";
  std::vector<double> first_by_b3sum, later_ms;
  for (auto _ : state) {
    const auto fresh = *pawl::workspace::Workspaces::open(tree().root + "/.pawl");
    const auto check = [&] { return fresh.check_content(tree().base, {}).has_value(); };
    const double first = seconds_of(check), later = seconds_of(check);
    first_by_b3sum.push_back(first / seconds_of([&] { return std::system(sum.c_str()) == 0; }));
    later_ms.push_back(later * 1000);
  }
  state.counters["first_by_b3sum"] = median(first_by_b3sum);
  state.counters["later_ms"] = median(later_ms);
}
BENCHMARK(WorkspaceCheck)->Unit(benchmark::kMillisecond)->Iterations(5)->UseRealTime();

}  // namespace
