#include "views/step_log.h"

#include <algorithm>
#include <utility>

#include "base/hash.h"
#include "os/defences.h"
#include "os/file.h"
#include "sandbox/spec.h"
#include "supervisor/supervisor.h"

namespace pawl::views {
namespace {

constexpr std::uint64_t kRecordBytesMax = 1ULL << 30;  // the largest output_limit_bytes that a plan can set

supervisor::StepFile file_of(StepRecord record) {
  switch (record) {
    case StepRecord::kOutput:
      return supervisor::StepFile::kOutput;
    case StepRecord::kTrace:
      return supervisor::StepFile::kTrace;
    case StepRecord::kNetwork:
      return supervisor::StepFile::kNetwork;
  }
  return supervisor::StepFile::kOutput;
}

const std::string& object_of(const sandbox::SandboxRun& run, StepRecord record) {
  switch (record) {
    case StepRecord::kOutput:
      return run.logs;
    case StepRecord::kTrace:
      return run.trace;
    case StepRecord::kNetwork:
      return run.network_log;
  }
  return run.logs;
}

}  // namespace

Result<StepText> text_of(const State& state, const store::StepRow& step, StepRecord record) {
  const bool done = step.state == store::StepState::kDone;
  std::string id, path = supervisor::step_path(state.folder, step.sandbox_run_id, file_of(record));
  if (done) {
    PAWL_TRY(const Json json, parse_json(step.run));
    PAWL_TRY(const auto run, sandbox::run_from_json(json));
    id = object_of(run, record);
    if (id.empty()) return StepText();
    path = state.workspaces->blob_path(id);
  }
  auto text = os::read_file(path, kRecordBytesMax);
  if (text && !id.empty() && !has_hash(*text, id) && os::defences().objects)
    return fail(ErrorKind::kForged, path + " was changed since it was kept");
  if (text) return StepText{.text = *std::move(text)};
  if (text.error().kind != ErrorKind::kNotFound) return std::unexpected(std::move(text).error());
  // A step that runs has no output yet, or its supervisor is just moving the log.
  return StepText{.text = "", .is_removed = done};
}

Result<std::optional<std::vector<store::StepRow>>> steps_of(store::Reader& store, const StepsOf& which) {
  PAWL_TRY(const auto attempts, store.attempts(which.run_id, which.phase_id));
  const auto attempt = std::ranges::find_if(attempts.rbegin(), attempts.rend(), [&](const auto& row) {
    return which.attempt == 0 || row.number == which.attempt;
  });
  if (attempt == attempts.rend()) return std::nullopt;
  PAWL_TRY(auto steps, store.steps(which.run_id, which.phase_id));
  std::erase_if(steps, [&](const store::StepRow& step) {
    return step.attempt_id != attempt->attempt_id || (which.episode != 0 && step.episode != which.episode);
  });
  return steps;
}

Json to_json(const store::StepRow& step, const std::string& text) {
  return {{"label", step.label},
          {"execution", step.execution},
          {"episode", step.episode},
          {"text", valid_utf8(text)}};
}

}  // namespace pawl::views
