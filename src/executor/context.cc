#include "executor/context.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <new>
#include <set>

#include "base/json.h"
#include "executor/steps.h"
#include "os/defences.h"
#include "sandbox/spec.h"

namespace pawl::executor {
namespace {

constexpr std::uint64_t kEvidenceLogBytesMax = 1 << 20;  // the end of each log: what an agent can still read

constexpr std::uint64_t kPatchBytesMax = 16 << 20;  // several times over in memory while it is made
constexpr std::size_t kLeftOutNamedMax = 100;

// Reports: as many as a person would look at, and no more than an agent can read.
constexpr std::size_t kReportsMax = 20, kReportHalfMax = 256 << 10;
constexpr std::uint64_t kReportReadMax = 128ULL << 20;

struct NamedFile {
  std::string name;  // in /pawl/evidence
  workspace::File file;
};

std::string name_of(const std::string& label, std::string path) {
  constexpr std::size_t kPathMax = 120;
  if (path.size() > kPathMax) path.erase(0, path.size() - kPathMax);
  for (auto& c : path)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '-') c = '_';
  return label + "." + path;
}

// gc may have removed reports; a step can continue without them.
std::vector<NamedFile> report_files(const World& world, const Evidence& evidence) {
  std::vector<NamedFile> out;
  std::set<std::string> names;
  for (const auto& [label, layer] : evidence.reports) {
    auto files = world.objects.files_of(layer, {"**"}, kReportReadMax, kReportsMax);
    if (!files) continue;
    for (auto& file : *files) {
      std::string name = name_of(label, world.redactor.redact(file.path));
      if (out.size() < kReportsMax && names.insert(name).second)
        out.push_back({.name = std::move(name), .file = std::move(file)});
    }
  }
  return out;
}

// The beginning and the end of a report, without secrets, including secrets that the cut would break. A
// report that cannot be read to its end is used as far as it was read.
std::string ends_of(const World& world, ByteSource& source) {
  secrets::RedactedSource report(world.redactor, source);
  std::string head, tail;
  for (auto piece = report.next(); piece && !piece->empty(); piece = report.next()) {
    const auto to_head = piece->substr(0, kReportHalfMax - std::min(head.size(), kReportHalfMax));
    head += to_head;
    tail += piece->substr(to_head.size());
    if (tail.size() > 2 * kReportHalfMax) tail.erase(0, tail.size() - kReportHalfMax);
  }
  if (tail.size() <= kReportHalfMax) return head + tail;
  return head + "\n...\n" + tail.substr(tail.size() - kReportHalfMax);
}

// git apply skips the lines before the first file.
std::string with_left_out(const workspace::Patch& patch) {
  std::string out;
  for (std::size_t i = 0; i < patch.left_out.size() && i < kLeftOutNamedMax; ++i)
    out +=
        "not in this patch: " + printable(patch.left_out[i].path) + " (" + patch.left_out[i].reason + ")\n";
  if (patch.left_out.size() > kLeftOutNamedMax)
    out += "and " + std::to_string(patch.left_out.size() - kLeftOutNamedMax) + " more\n";
  return out + patch.text;
}

Result<std::string> patch_of(const World& world, const std::string& base_id,
                             const std::vector<std::string>& below, const std::vector<std::string>& after) {
  const auto most = os::defences().bounds ? kPatchBytesMax : std::numeric_limits<std::uint64_t>::max();
  try {
    PAWL_TRY(const auto patch, world.objects.diff(base_id, below, after, most));
    return world.redactor.redact(with_left_out(patch));
  } catch (const std::bad_alloc&) {
    if (!os::defences().memory) throw;
  }
  // The next agent can continue without the patch.
  return std::string("not in this patch: no memory is left to make it\n");
}

}  // namespace

std::vector<std::string> paths_inside(const World& world, const Evidence& evidence) {
  std::vector<std::string> out;
  if (!evidence.agent_layer.empty()) out.emplace_back("/pawl/evidence/previous.patch");
  for (const auto& log : evidence.logs) out.push_back("/pawl/evidence/" + log.label + ".log");
  for (const auto& report : report_files(world, evidence)) out.push_back("/pawl/evidence/" + report.name);
  return out;
}

Status add_evidence(const World& world, const std::string& base_id, const Evidence& evidence, Context& to) {
  if (!evidence.agent_layer.empty()) {
    std::vector<std::string> after = evidence.below;
    after.insert(after.begin(), evidence.agent_layer);
    PAWL_TRY(auto text, patch_of(world, base_id, evidence.below, after));
    to.push_back({.path = "evidence/previous.patch", .bytes = std::move(text)});
  }
  for (const auto& log : evidence.logs) {
    auto tail = world.objects.blob_tail(log.blob, kEvidenceLogBytesMax);
    if (!tail && tail.error().kind == ErrorKind::kNotFound) continue;  // gc removed it
    PAWL_TRY(auto text, std::move(tail));
    to.push_back({.path = "evidence/" + log.label + ".log", .bytes = std::move(text)});
  }
  for (const auto& [name, file] : report_files(world, evidence))
    to.push_back({.path = "evidence/" + name, .bytes = ends_of(world, *file.bytes)});
  return {};
}

bool of_kept_episode(const store::StepRow& step, std::span<const store::EpisodeRow> episodes) {
  if (step.episode == 0) return true;
  return std::ranges::any_of(episodes, [&](const store::EpisodeRow& row) {
    return row.attempt_id == step.attempt_id && row.episode == step.episode && !row.kept_by.empty();
  });
}

Result<Context> agent_context(const World& world, const store::Claim& claim) {
  Context context;
  if (!claim.previous || claim.previous->feedback.empty()) return context;
  Evidence evidence{.agent_layer = claim.previous->agent_layer};
  if (!evidence.agent_layer.empty()) {
    PAWL_TRY(const auto layers, world.store.base_layers(*claim.previous));
    PAWL_TRY(evidence.below, world.objects.stack(claim.run.base_id, layers));
  }
  PAWL_TRY(const auto steps, world.store.steps(claim.run.run_id, claim.phase.phase_id));
  std::vector<store::EpisodeRow> episodes;
  if (std::ranges::any_of(steps, [](const auto& step) { return step.episode > 0; })) {
    PAWL_TRY(episodes, world.store.episodes(claim.run.run_id, claim.phase.phase_id));
  }
  for (const auto& step : steps) {
    if (!of_kept_episode(step, episodes)) continue;  // the feedback is not about the work of other episodes
    if (step.attempt_id != claim.previous->attempt_id || step.state != store::StepState::kDone) continue;
    PAWL_TRY(const Json json, parse_json(step.run));
    PAWL_TRY(const auto run, sandbox::run_from_json(json));
    if (!run.logs.empty()) evidence.logs.push_back({.label = step.label, .blob = run.logs});
    if (!run.copy_out.empty() && step.gate_id != kDoctorGate && step.gate_id != kReplanGate)
      evidence.reports.push_back({.label = step.label, .layer = run.copy_out});
  }
  context.push_back({.path = "feedback.json", .bytes = claim.previous->feedback + "\n"});
  PAWL_OK(add_evidence(world, claim.run.base_id, evidence, context));
  return context;
}

}  // namespace pawl::executor
