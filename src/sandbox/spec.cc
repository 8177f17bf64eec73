#include "sandbox/spec.h"

#include <algorithm>
#include <array>

#include "base/endpoint.h"
#include "base/hash.h"
#include "base/json_members.h"
#include "base/private_names.h"
#include "sandbox/inside.h"

namespace pawl::sandbox {
namespace {

constexpr std::int64_t kTimeBudgetSecondsMax = 86'400;  // one day, for agents; plans limit gates to 600
constexpr std::int64_t kMemoryMibMin = 4, kMemoryMibMax = 1 << 20;
constexpr std::int64_t kPidsMax = 1 << 16;
constexpr std::int64_t kCpuMillisMin = 10, kCpuMillisMax = 1'024'000;
constexpr std::int64_t kDiskMibMax = 1 << 20;
constexpr std::int64_t kOutputBytesMax = 1LL << 32;

Status in_range(std::string_view field, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value >= least && value <= most) return {};
  return fail(ErrorKind::kInvalid, std::string(field) + ": " + std::to_string(value) + " is not between " +
                                       std::to_string(least) + " and " + std::to_string(most));
}

// An empty src is valid: the supervisor fills it in. Setup finds out whether the path exists.
Status check_source(const std::string& src, const std::string& field = "copy_in: src") {
  const bool clean = src.find('\0') == std::string::npos && (src + "/").find("/../") == std::string::npos;
  if (src.empty() || (src.starts_with('/') && clean)) return {};
  return fail(ErrorKind::kInvalid, field + " \"" + src + "\" is not an absolute path without ..");
}

std::string json_text(const CopyIn& item, bool with_source) {
  JsonMembers members;
  members.text("dst", item.dst)
      .text("access", item.access == Access::kReadOnly ? "ro" : "rw")
      .text("content", item.content);
  if (with_source) members.text("src", item.src);
  if (with_source && !item.below.empty()) members.texts("below", item.below);
  return members.object();
}

JsonMembers members_of(const SandboxSpec& spec, bool for_hash) {
  std::vector<std::string> copy_in;
  for (const auto& item : spec.copy_in) copy_in.push_back(json_text(item, !for_hash));
  JsonMembers workspace, members;
  workspace.text("base_id", spec.workspace.base_id).texts("layers", spec.workspace.layers);
  if (!spec.workspace.own_layer.empty()) workspace.text("own_layer", spec.workspace.own_layer);
  if (!spec.workspace.git_commit.empty()) workspace.text("git_commit", spec.workspace.git_commit);
  if (!spec.workspace.git_layers.empty() && !for_hash)
    workspace.texts("git_layers", spec.workspace.git_layers);
  if (!spec.workspace.git_objects.empty() && !for_hash)
    workspace.texts("git_objects", spec.workspace.git_objects);
  members.text("base_image", spec.base_image)
      .json("workspace", workspace.object())
      .json("copy_in", canonical_array(copy_in))
      .texts("env", spec.env)
      .texts("cmd", spec.cmd)
      .text("network", spec.network == Network::kNone ? "none" : "scoped")
      .texts("egress_allowlist", spec.egress_allowlist)
      .boolean("enable_trace", spec.enable_trace)
      .number("time_budget_seconds", spec.time_budget_seconds)
      .number("memory_limit_mib", spec.memory_limit_mib)
      .number("pids_limit", spec.pids_limit)
      .number("cpu_limit_millis", spec.cpu_limit_millis)
      .number("disk_limit_mib", spec.disk_limit_mib)
      .number("output_limit_bytes", spec.output_limit_bytes)
      .boolean("keep_layer", spec.keep_layer)
      .texts("copy_out", spec.copy_out);
  if (!spec.held.empty()) members.texts("held", spec.held);
  if (!for_hash) members.text("label", spec.label);
  return members;
}

}  // namespace

// A plan may place no file over a path that the sandbox itself consists of.
Status check_destination(const std::string& dst) {
  static constexpr std::array kSystem = {"/usr",    "/bin", "/sbin", "/lib",  "/lib32", "/lib64",
                                         "/libx32", "/etc", "/dev",  "/proc", "/sys",   inside::kWorkspace};
  const auto bad = [&](std::string_view why) {
    return fail(ErrorKind::kInvalid, "dst \"" + dst + "\" " + std::string(why));
  };
  if (!dst.starts_with('/') || dst == "/") return bad("is not an absolute path below /");
  if (dst.find("/../") != std::string::npos || dst.ends_with("/..") || dst.find("//") != std::string::npos ||
      dst.find("/./") != std::string::npos || dst.find('\0') != std::string::npos)
    return bad("has an empty, . or .. component");
  const std::string folder = dst.ends_with('/') ? dst : dst + "/";
  if ((inside::kHome + std::string("/")).starts_with(folder)) return bad("is HOME, or above it");
  for (const std::string system : kSystem)
    if (dst == system || dst.starts_with(system + "/")) return bad("is below a folder of the system");
  return {};
}

Mounts mounts_of(const SandboxSpec& spec) {
  Mounts out;
  for (const auto& item : spec.copy_in)
    if (item.dst != inside::kPlan && item.dst != inside::kPawl && item.dst != inside::kAcpClient)
      out[item.dst] = item.content;
  return out;
}

Status validate(const SandboxSpec& spec) {
  if (spec.base_image != "host" && spec.base_image.find("@sha256:") == std::string::npos)
    return fail(ErrorKind::kInvalid,
                "base_image: \"" + spec.base_image + "\" is not pinned: use host, or NAME@sha256:DIGEST");
  if (spec.base_image != "host")
    return fail(ErrorKind::kInvalid,
                "base_image: \"" + spec.base_image + "\" is not available yet: use host");
  if (spec.cmd.empty() || spec.cmd.front().empty())
    return fail(ErrorKind::kInvalid, "cmd: there is no command to run");
  for (const auto& word : spec.cmd)
    if (word.find('\0') != std::string::npos) return fail(ErrorKind::kInvalid, "cmd: an argument has a NUL");
  for (const auto& entry : spec.env) {
    const auto equals = entry.find('=');
    if (equals == std::string::npos || equals == 0 || entry.find('\0') != std::string::npos)
      return fail(ErrorKind::kInvalid, "env: \"" + entry + "\" is not NAME=value");
    if (is_secret_variable(entry.substr(0, equals)))
      return fail(ErrorKind::kInvalid,
                  "env: " + entry.substr(0, equals) + " looks like a secret and never passes");
    if (has_url_credentials(entry.substr(equals + 1)))
      return fail(ErrorKind::kInvalid, "env: " + entry.substr(0, equals) + " has credentials in a URL");
    if (has_password(entry.substr(equals + 1)))
      return fail(ErrorKind::kInvalid, "env: " + entry.substr(0, equals) + " has a password in it");
  }
  const auto& own = spec.workspace.own_layer;
  if (!own.empty() && (spec.workspace.layers.empty() || spec.workspace.layers.front() != own))
    return fail(ErrorKind::kInvalid, "workspace: own_layer is not the topmost of the layers");
  for (const auto& folder : spec.workspace.git_objects)
    PAWL_OK(check_source(folder, "workspace: git_objects"));
  for (const auto& item : spec.copy_in) {
    PAWL_OK(check_source(item.src));
    for (const auto& tree : item.below) PAWL_OK(check_source(tree));
    if (!item.below.empty() && item.access == Access::kReadWrite)
      return fail(ErrorKind::kInvalid, "copy_in: " + item.dst + " is of several trees, and only read");
    if (auto good = check_destination(item.dst); !good)
      return std::unexpected(std::move(good).error().in("copy_in"));
  }
  if (spec.network == Network::kNone && !spec.egress_allowlist.empty())
    return fail(ErrorKind::kInvalid, "egress: needs network: scoped");
  PAWL_TRY(const auto allowlist, net::Allowlist::parse(spec.egress_allowlist));
  if (spec.network == Network::kScoped && allowlist.endpoints().empty())
    return fail(ErrorKind::kInvalid, "egress: network: scoped needs at least one HOST:PORT");
  PAWL_OK(in_range("time_budget_seconds", spec.time_budget_seconds, 1, kTimeBudgetSecondsMax));
  PAWL_OK(in_range("memory_limit_mib", spec.memory_limit_mib, kMemoryMibMin, kMemoryMibMax));
  PAWL_OK(in_range("pids_limit", spec.pids_limit, 1, kPidsMax));
  PAWL_OK(in_range("cpu_limit_millis", spec.cpu_limit_millis, kCpuMillisMin, kCpuMillisMax));
  PAWL_OK(in_range("disk_limit_mib", spec.disk_limit_mib, 1, kDiskMibMax));
  return in_range("output_limit_bytes", spec.output_limit_bytes, 0, kOutputBytesMax);
}

std::string json_text(const SandboxSpec& spec) { return members_of(spec, false).object(); }

Result<SandboxSpec> spec_from_json(const Json& json) {
  SandboxSpec spec;
  try {
    json.at("base_image").get_to(spec.base_image);
    const Json& workspace = json.at("workspace");
    workspace.at("base_id").get_to(spec.workspace.base_id);
    workspace.at("layers").get_to(spec.workspace.layers);
    spec.workspace.own_layer = workspace.value("own_layer", std::string());
    spec.workspace.git_commit = workspace.value("git_commit", std::string());
    spec.workspace.git_layers = workspace.value("git_layers", std::vector<std::string>());
    spec.workspace.git_objects = workspace.value("git_objects", std::vector<std::string>());
    for (const auto& item : json.at("copy_in"))
      spec.copy_in.push_back(
          {.src = item.at("src").get<std::string>(),
           .below = item.value("below", std::vector<std::string>()),
           .dst = item.at("dst").get<std::string>(),
           .access = item.at("access").get<std::string>() == "ro" ? Access::kReadOnly : Access::kReadWrite,
           .content = item.at("content").get<std::string>()});
    json.at("env").get_to(spec.env);
    json.at("cmd").get_to(spec.cmd);
    spec.network = json.at("network").get<std::string>() == "none" ? Network::kNone : Network::kScoped;
    json.at("egress_allowlist").get_to(spec.egress_allowlist);
    json.at("enable_trace").get_to(spec.enable_trace);
    json.at("time_budget_seconds").get_to(spec.time_budget_seconds);
    json.at("memory_limit_mib").get_to(spec.memory_limit_mib);
    json.at("pids_limit").get_to(spec.pids_limit);
    json.at("cpu_limit_millis").get_to(spec.cpu_limit_millis);
    json.at("disk_limit_mib").get_to(spec.disk_limit_mib);
    json.at("output_limit_bytes").get_to(spec.output_limit_bytes);
    json.at("keep_layer").get_to(spec.keep_layer);
    json.at("copy_out").get_to(spec.copy_out);
    spec.held = json.value("held", std::vector<std::string>());
    json.at("label").get_to(spec.label);
  } catch (const Json::exception& error) {
    return fail(ErrorKind::kCorrupt, std::string("sandbox spec: ") + error.what());
  }
  return spec;
}

std::string spec_hash(const SandboxSpec& spec) { return blake3_hex(members_of(spec, true).object()); }

std::vector<std::string> objects_of(const SandboxRun& run) {
  return {run.logs, run.network_log, run.trace, run.layer, run.copy_out};
}

bool succeeded(const SandboxRun& run) { return run.outcome == Outcome::kExited && run.exit_code == 0; }

std::string json_text(const SandboxRun& run) {
  JsonMembers members;
  members.text("run_id", run.run_id)
      .text("backend", run.backend)
      .text("gate_isolation_class", run.gate_isolation_class)
      .text("started_at", run.started_at)
      .text("ended_at", run.ended_at)
      .text("outcome", name(run.outcome))
      .number("exit_code", run.exit_code)
      .number("signal", run.signal)
      .number("duration_ms", run.duration_ms)
      .number("cpu_ms", run.cpu_ms)
      .number("max_rss_kib", run.max_rss_kib)
      .number("microvm_milliseconds", run.microvm_milliseconds)
      .number("image_pull_bytes", run.image_pull_bytes)
      .boolean("build_cache_hit", run.build_cache_hit)
      .text("logs", run.logs)
      .number("logs_bytes", run.logs_bytes)
      .texts("egress_allowlist", run.egress_allowlist)
      .text("network_log", run.network_log)
      .number("egress_refused", run.egress_refused)
      .text("trace", run.trace)
      .text("layer", run.layer)
      .text("copy_out", run.copy_out)
      .text("reason", run.reason)
      .texts("refused", run.refused);
  if (run.refused_total > 0) members.number("refused_total", run.refused_total);
  if (!run.withheld.empty()) members.texts("withheld", run.withheld);
  if (run.rewritten > 0) members.number("rewritten", run.rewritten);
  if (!run.degraded.empty()) members.texts("degraded", run.degraded);
  if (run.unsaved > 0) members.number("unsaved", run.unsaved);
  if (run.room_needed > 0) members.number("room_needed", run.room_needed);
  if (!run.changed.empty()) members.texts("changed", run.changed);
  if (!run.mounts.empty()) members.json("mounts", canonical(Json(run.mounts)));
  return members.object();
}

Result<SandboxRun> run_from_json(const Json& json) {
  SandboxRun run;
  try {
    json.at("run_id").get_to(run.run_id);
    json.at("backend").get_to(run.backend);
    json.at("gate_isolation_class").get_to(run.gate_isolation_class);
    json.at("started_at").get_to(run.started_at);
    json.at("ended_at").get_to(run.ended_at);
    PAWL_TRY(run.outcome, outcome_from_name(json.at("outcome").get<std::string>()));
    json.at("exit_code").get_to(run.exit_code);
    json.at("signal").get_to(run.signal);
    json.at("duration_ms").get_to(run.duration_ms);
    json.at("cpu_ms").get_to(run.cpu_ms);
    json.at("max_rss_kib").get_to(run.max_rss_kib);
    json.at("microvm_milliseconds").get_to(run.microvm_milliseconds);
    json.at("image_pull_bytes").get_to(run.image_pull_bytes);
    json.at("build_cache_hit").get_to(run.build_cache_hit);
    json.at("logs").get_to(run.logs);
    json.at("logs_bytes").get_to(run.logs_bytes);
    json.at("egress_allowlist").get_to(run.egress_allowlist);
    json.at("network_log").get_to(run.network_log);
    json.at("egress_refused").get_to(run.egress_refused);
    json.at("trace").get_to(run.trace);
    json.at("layer").get_to(run.layer);
    json.at("copy_out").get_to(run.copy_out);
    json.at("reason").get_to(run.reason);
    json.at("refused").get_to(run.refused);
    // Older runs have no refused_total.
    run.refused_total = json.value("refused_total", static_cast<std::int64_t>(run.refused.size()));
    run.withheld = json.value("withheld", std::vector<std::string>());
    run.rewritten = json.value("rewritten", std::int64_t{0});
    run.changed = json.value("changed", std::vector<std::string>());
    if (const auto degraded = json.find("degraded"); degraded != json.end()) degraded->get_to(run.degraded);
    if (const auto unsaved = json.find("unsaved"); unsaved != json.end()) unsaved->get_to(run.unsaved);
    run.room_needed = json.value("room_needed", std::int64_t{0});
    if (const auto mounts = json.find("mounts"); mounts != json.end()) mounts->get_to(run.mounts);
  } catch (const Json::exception& error) {
    return fail(ErrorKind::kCorrupt, std::string("sandbox run: ") + error.what());
  }
  // A negative count may also be a number that is too large for its type.
  const auto counts = {run.duration_ms,      run.cpu_ms,     run.max_rss_kib,    run.microvm_milliseconds,
                       run.image_pull_bytes, run.logs_bytes, run.egress_refused, run.refused_total,
                       run.rewritten,        run.room_needed};
  if (std::ranges::any_of(counts, [](std::int64_t count) { return count < 0; }))
    return fail(ErrorKind::kCorrupt, "sandbox run: a count is negative or beyond 64 bits");
  return run;
}

}  // namespace pawl::sandbox
