#include "sandbox/probe.h"

#include "os/clock.h"
#include "os/random.h"

namespace pawl::sandbox {

Result<Probed> run_in_sandbox(Backend& backend, const ProbeSpec& probe) {
  if (probe.time_budget_seconds > kProbeSecondsMax)
    return fail(ErrorKind::kInvalid, "time_budget_seconds: a probe has at most " +
                                         std::to_string(kProbeSecondsMax) + ", not " +
                                         std::to_string(probe.time_budget_seconds));
  SandboxSpec spec;
  spec.cmd = probe.cmd;
  spec.env = probe.env;
  spec.workspace.git_objects = probe.git_objects;
  spec.copy_in = probe.shown;
  for (auto& item : spec.copy_in) item.access = Access::kReadOnly;
  spec.time_budget_seconds = probe.time_budget_seconds;
  spec.memory_limit_mib = probe.memory_limit_mib;
  spec.pids_limit = probe.pids_limit;
  spec.output_limit_bytes = kProbeOutputBytesMax;
  spec.label = "probe";
  PAWL_OK(validate(spec));
  Probed probed;
  const Events events{.on_output = [&](Stream, std::string_view bytes) { probed.output += bytes; }};
  os::SystemRandom random;
  probed.run = backend
                   .execute(spec, {.lower = probe.lower, .hidden = probe.hidden}, events,
                            os::uuid7(os::SystemClock().wall(), random))
                   .run;
  return probed;
}

}  // namespace pawl::sandbox
