// A workspace in a temporary folder, and one sandbox execution on it.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "egress/egress.h"
#include "os/clock.h"
#include "os/file.h"
#include "os/random.h"
#include "sandbox/backend.h"
#include "support/temp_folder.h"

namespace pawl::testing {

class SandboxBox {
 public:
  explicit SandboxBox(std::string backend = sandbox::default_backend()) : backend_(std::move(backend)) {
    folders.lower = {temp / "lower"};
    folders.upper = temp / "rw/upper";
    folders.work = temp / "rw/work";
    folders.scratch = temp / "scratch";
    for (const auto& folder : {folders.lower.front(), folders.upper, folders.work, folders.scratch})
      PAWL_CHECK(os::make_folders(folder));
  }

  // The result of `sh -c script`.
  sandbox::SandboxRun sh(const std::string& script) {
    spec.cmd = {"sh", "-c", script};
    return run();
  }
  sandbox::SandboxRun run() {
    out.clear();
    err.clear();
    os::SystemRandom random;
    id = os::uuid7(os::SystemClock().wall(), random);
    auto backend = sandbox::make_backend(backend_);
    const sandbox::Events events{
        .on_output =
            [this](sandbox::Stream stream, std::string_view bytes) {
              (stream == sandbox::Stream::kStdout ? out : err) += bytes;
            },
        .should_stop = should_stop,
        .open_outlet = open_outlet ? open_outlet
                                   : egress::outlet_of(
                                         spec, [this](std::string_view line) { (network += line) += '\n'; })
                                         .value(),
        .on_trace = [this](std::string_view line) { (trace += line) += '\n'; },
        .input = input};
    const auto execution = (*backend)->execute(spec, folders, events, id);
    copied = sandbox::is_whole_tree(execution.changes);
    fault = execution.fault;
    return execution.run;
  }

  TempFolder temp;
  sandbox::Folders folders;
  sandbox::SandboxSpec spec;
  std::function<bool()> should_stop;
  std::string out, err, id, network, trace;
  bool copied = false;
  std::optional<sandbox::Fault> fault;
  int input = -1;                   // as in Events
  sandbox::OpenOutlet open_outlet;  // instead of an egress with the spec's allowlist

 private:
  const std::string backend_;
};

}  // namespace pawl::testing
