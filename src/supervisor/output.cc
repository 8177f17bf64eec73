#include "supervisor/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "sandbox/trace_bounds.h"

namespace pawl::supervisor {

Result<OutputFile> OutputFile::create(const std::string& path) {
  os::UniqueFd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return fail_errno(errno, "create output", path);
  return OutputFile(std::move(fd), path);
}

Result<OutputFile> OutputFile::create_if(bool wanted, const std::string& path) {
  if (!wanted) return OutputFile(os::UniqueFd(), path);
  return create(path);
}

void OutputFile::append(std::string_view bytes) {
  while (!bytes.empty() && error_ == 0) {
    const ssize_t written = write(fd_.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      error_ = errno;
      return;
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
    size_ += written;
  }
}

Status OutputFile::status() const {
  if (error_ != 0) return fail_errno(error_, "write output", path_);
  return {};
}

StepOutput::StepOutput(std::unique_ptr<secrets::Redactor> redactor, OutputFile output, OutputFile network,
                       OutputFile trace)
    : redactor_(std::move(redactor)),
      out_(*redactor_),
      err_(*redactor_),
      output_(std::move(output)),
      network_(std::move(network)),
      trace_(std::move(trace)) {}

Result<std::unique_ptr<StepOutput>> StepOutput::open(const Spool& spool, const Job& job,
                                                     const secrets::Redactor::Values& credentials) {
  PAWL_TRY(auto output, OutputFile::create(spool.path("output")));
  PAWL_TRY(auto network,
           OutputFile::create_if(job.spec.network == sandbox::Network::kScoped, spool.path("network")));
  PAWL_TRY(auto trace, OutputFile::create_if(job.spec.enable_trace, spool.path("trace")));
  PAWL_TRY(auto redactor, secrets::open_redactor(spool.pawl_folder()));
  redactor->learn(credentials);
  return std::unique_ptr<StepOutput>(
      new StepOutput(std::move(redactor), std::move(output), std::move(network), std::move(trace)));
}

void StepOutput::add(sandbox::Stream stream, std::string_view bytes) {
  const std::lock_guard guard(mutex_);
  output_.append((stream == sandbox::Stream::kStdout ? out_ : err_).take(bytes));
}

void StepOutput::add_log_line(std::string_view line) {
  const std::lock_guard guard(mutex_);
  output_.append(redactor_->redact(line));
}

// The egress spells names of hosts in lower case.
void StepOutput::add_network_line(std::string_view line) {
  network_.append(redactor_->redact_any_case(line) + "\n");
}

void StepOutput::add_trace_line(std::string_view line) { trace_.append(redactor_->redact(line) + "\n"); }

std::string StepOutput::redact_argument(std::string_view text) const {
  // The tracer reads at most this many bytes of an argument, so a longer one is cut.
  return text.size() < sandbox::kTraceLookBytesMax ? redactor_->redact(text)
                                                   : redactor_->redact_beginning(text);
}

void StepOutput::finish() {
  output_.append(out_.finish());
  output_.append(err_.finish());
}

Status StepOutput::status() const {
  for (const auto* file : {&output_, &network_, &trace_}) PAWL_OK(file->status());
  return {};
}

Status StepOutput::store(workspace::Workspaces& workspaces, sandbox::SandboxRun& run) const {
  for (auto* paths : {&run.refused, &run.withheld})
    for (auto& path : *paths) path = redactor_->redact(path);
  run.logs_bytes = output_.size();
  const auto store_one = [&](const OutputFile& file, std::string& id) -> Status {
    if (file.size() == 0) return {};
    PAWL_TRY(id, workspaces.put_blob_file(file.path()));
    return {};
  };
  PAWL_OK(store_one(output_, run.logs));
  PAWL_OK(store_one(network_, run.network_log));
  return store_one(trace_, run.trace);
}

}  // namespace pawl::supervisor
