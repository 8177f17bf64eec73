#include "supervisor/spool.h"

#include <algorithm>
#include <iterator>

#include "base/json_members.h"
#include "os/defences.h"

namespace pawl::supervisor {
namespace {

constexpr const char *kJobSeal = "job", *kResultSeal = "result";  // the names of the seals

Result<std::string> sealed_text(const std::string& path, const Seal& seal) {
  PAWL_TRY(std::string text, os::read_file(path, kSpoolFileBytesMax));
  if (!seal.is_sealed(text) && os::defences().spool)
    return fail(ErrorKind::kForged,
                path + " does not have the seal of its step: another program wrote it, or an older version");
  return text;
}

Result<Job> job_in(const std::string& path, const std::string& text) {
  PAWL_TRY(const Json json, parse_json(text));
  if (!json.is_object() || !json.contains("spec")) return fail(ErrorKind::kCorrupt, path + ": no spec");
  Job job;
  PAWL_TRY(job.spec, sandbox::spec_from_json(json["spec"]));
  std::string agent;
  try {
    job.sandbox_run_id = json.value("sandbox_run_id", "");
    job.backend = json.value("backend", "");
    agent = json.value("agent", "");
    job.hidden = json.value("hidden", std::vector<std::string>());
    job.credentials = json.value("credentials", std::map<std::string, std::string>());
    job.fresh_home = json.value("fresh_home", false);
    job.home_seals = json.value("home_seals", std::vector<std::string>());
  } catch (const Json::exception& error) {
    return fail(ErrorKind::kCorrupt, path + ": " + error.what());
  }
  if (agent.empty()) return job;
  PAWL_TRY(const Json context, parse_json(agent));
  PAWL_TRY(job.agent, agent::context_from_json(context));
  return job;
}

Result<SpooledResult> result_in(const std::string& path, const std::string& text) {
  auto json = parse_json(text);
  if (!json || !json->is_object() || !json->contains("run"))
    return fail(ErrorKind::kCorrupt, path + ": not a spooled result");
  PAWL_TRY(auto run, sandbox::run_from_json((*json)["run"]));
  return SpooledResult{.spec_hash = text_in(*json, "spec_hash"), .run = std::move(run)};
}

// A file that is missing or that no process can parse names no object that gc could remove.
bool names_nothing(const Error& error) {
  return error.kind == ErrorKind::kNotFound || error.kind == ErrorKind::kCorrupt ||
         error.kind == ErrorKind::kInvalid;
}

}  // namespace

std::string Spool::pawl_folder() const { return os::folder_of(os::folder_of(folder_)); }

std::string Spool::work_folder() const { return os::join(os::join(pawl_folder(), "work"), id()); }

std::string Spool::id() const { return folder_.substr(folder_.rfind('/') + 1); }

std::map<std::string, std::string> Spool::seals_of(const secrets::Redactor::Values& credentials) const {
  std::map<std::string, std::string> out;
  for (const auto& [name, value] : credentials) out[name] = Seal(key_, "credential " + name).of(value);
  return out;
}

Status Spool::write_job(const Job& job) const {
  const auto json = JsonMembers()
                        .text("sandbox_run_id", job.sandbox_run_id)
                        .text("backend", job.backend)
                        .json("spec", json_text(job.spec))
                        .text("agent", job.agent ? canonical(to_json(*job.agent)) : "")
                        .json("credentials", canonical(Json(job.credentials)))
                        .boolean("fresh_home", job.fresh_home)
                        .texts("home_seals", job.home_seals)
                        .texts("hidden", job.hidden);
  // Not durable on purpose: after a power loss there is no supervisor either, and the marker records what was
  // begun.
  return os::write_atomically(path(kJobFile), Seal(key_, kJobSeal).sealed(json.object()), 0600);
}

Result<Job> Spool::read_job() const {
  PAWL_TRY(const std::string text, sealed_text(path(kJobFile), Seal(key_, kJobSeal)));
  return job_in(path(kJobFile), text);
}

Status Spool::write_identity(const os::ProcessIdentity& identity) const {
  // Not durable: when a step has no identity, its recovery checks whether the machine went down since its
  // marker.
  return os::write_atomically(path(kIdentityFile), os::to_text(identity), 0600);
}

std::optional<os::ProcessIdentity> Spool::identity() const {
  auto text = os::read_file(path(kIdentityFile), 4096);
  if (!text) return std::nullopt;
  return os::parse_identity(*text);
}

Status Spool::write_result(const std::string& spec_hash, const sandbox::SandboxRun& run) const {
  const auto json = JsonMembers().text("spec_hash", spec_hash).json("run", json_text(run));
  return os::write_durably("spool.result", path(kResultFile), Seal(key_, kResultSeal).sealed(json.object()),
                           0600);
}

Result<sandbox::SandboxRun> Spool::read_result(const std::string& spec_hash) const {
  PAWL_TRY(auto result, read_result_of_any_spec());
  if (result.spec_hash != spec_hash)
    return fail(ErrorKind::kCorrupt, path(kResultFile) + ": the result of another spec");
  return std::move(result.run);
}

Result<SpooledResult> Spool::read_result_of_any_spec() const {
  PAWL_TRY(const std::string text, sealed_text(path(kResultFile), Seal(key_, kResultSeal)));
  return result_in(path(kResultFile), text);
}

Status Spool::write_abandoned() const {
  return os::write_durably("spool.abandoned", path("abandoned"), "", 0600);
}

Result<std::vector<std::string>> objects_named_in(const std::string& spool_folder) {
  std::vector<std::string> out;
  const auto look = [&](std::string_view file, const auto& add_from) -> Status {
    const std::string path = os::join(spool_folder, file);
    const auto text = os::read_file(path, kSpoolFileBytesMax);
    const Status added = text ? add_from(path, *text) : Status(std::unexpected(text.error()));
    return added || names_nothing(added.error()) ? Status() : added;
  };
  PAWL_OK(look(kJobFile, [&](const std::string& path, const std::string& text) -> Status {
    PAWL_TRY(const Job job, job_in(path, text));
    out = job.spec.workspace.layers;
    std::ranges::copy(job.spec.workspace.git_layers, std::back_inserter(out));
    out.push_back(job.spec.workspace.base_id);
    for (const auto& item : job.spec.copy_in) out.push_back(item.content);
    return {};
  }));
  PAWL_OK(look(kResultFile, [&](const std::string& path, const std::string& text) -> Status {
    PAWL_TRY(const auto result, result_in(path, text));
    for (const auto& id : sandbox::objects_of(result.run)) out.push_back(id);
    return {};
  }));
  return out;
}

}  // namespace pawl::supervisor
