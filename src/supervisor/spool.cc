#include "supervisor/spool.h"

#include "base/json_members.h"

namespace pawl::supervisor {

std::string Spool::pawl_folder() const { return os::folder_of(os::folder_of(folder_)); }

std::string Spool::work_folder() const { return os::join(os::join(pawl_folder(), "work"), id()); }

std::string Spool::id() const { return folder_.substr(folder_.rfind('/') + 1); }

Status Spool::write_job(const Job& job) const {
  const auto json = JsonMembers()
                        .text("sandbox_run_id", job.sandbox_run_id)
                        .text("backend", job.backend)
                        .json("spec", json_text(job.spec))
                        .text("agent", job.agent ? canonical(to_json(*job.agent)) : "")
                        .texts("hidden", job.hidden);
  // Not durable on purpose: after a power loss there is no supervisor either, and the marker records what was
  // begun.
  return os::write_atomically(path("job.json"), json.object(), 0600);
}

Result<Job> Spool::read_job() const {
  PAWL_TRY(const std::string text, os::read_file(path("job.json"), kSpoolFileBytesMax));
  PAWL_TRY(const Json json, parse_json(text));
  if (!json.is_object() || !json.contains("spec"))
    return fail(ErrorKind::kCorrupt, path("job.json") + ": no spec");
  Job job;
  PAWL_TRY(job.spec, sandbox::spec_from_json(json["spec"]));
  std::string agent;
  try {
    job.sandbox_run_id = json.value("sandbox_run_id", "");
    job.backend = json.value("backend", "");
    agent = json.value("agent", "");
    job.hidden = json.value("hidden", std::vector<std::string>());
  } catch (const Json::exception& error) {
    return fail(ErrorKind::kCorrupt, path("job.json") + ": " + error.what());
  }
  if (agent.empty()) return job;
  PAWL_TRY(const Json context, parse_json(agent));
  PAWL_TRY(job.agent, agent::context_from_json(context));
  return job;
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
  return os::write_durably("spool.result", path("result.json"), json.object(), 0600);
}

Result<Spool::SpooledResult> Spool::read_any_result() const {
  PAWL_TRY(const std::string text, os::read_file(path("result.json"), kSpoolFileBytesMax));
  auto json = parse_json(text);
  if (!json || !json->is_object() || !json->contains("run"))
    return fail(ErrorKind::kCorrupt, path("result.json") + ": not a spooled result");
  PAWL_TRY(auto run, sandbox::run_from_json((*json)["run"]));
  return SpooledResult{.spec_hash = text_in(*json, "spec_hash"), .run = std::move(run)};
}

Result<sandbox::SandboxRun> Spool::read_result(const std::string& spec_hash) const {
  PAWL_TRY(auto result, read_any_result());
  if (result.spec_hash != spec_hash)
    return fail(ErrorKind::kCorrupt, path("result.json") + ": the result of another spec");
  return std::move(result.run);
}

Result<std::vector<std::string>> Spool::objects() const {
  // A file that is missing or that no process can parse names no object that gc could remove.
  const auto means_nothing = [](const Error& error) {
    return error.kind == ErrorKind::kNotFound || error.kind == ErrorKind::kCorrupt ||
           error.kind == ErrorKind::kInvalid;
  };
  std::vector<std::string> out;
  if (const auto job = read_job()) {
    out = job->spec.workspace.layers;
    out.push_back(job->spec.workspace.base_id);
    for (const auto& item : job->spec.copy_in) out.push_back(item.content);
  } else if (!means_nothing(job.error())) {
    return std::unexpected(job.error());
  }
  if (const auto result = read_any_result()) {
    const auto& run = result->run;
    for (const auto& id : sandbox::objects_of(run)) out.push_back(id);
  } else if (!means_nothing(result.error())) {
    return std::unexpected(result.error());
  }
  return out;
}

Status Spool::write_abandoned() const {
  return os::write_durably("spool.abandoned", path("abandoned"), "", 0600);
}

}  // namespace pawl::supervisor
