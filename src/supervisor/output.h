// The output of a step while it runs: its streams, its network log and its trace, redacted, in files of the
// spool that users can follow. A detail of this room.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "base/error.h"
#include "os/file.h"
#include "sandbox/backend.h"
#include "secrets/redact.h"
#include "supervisor/spool.h"
#include "workspace/workspace.h"

namespace pawl::supervisor {

// A file that grows as output comes. A failed write is remembered: a log with a hole must not pass for a whole log.
// Not thread-safe.
class OutputFile {
 public:
  static Result<OutputFile> create(const std::string& path);
  // With `wanted` false, the result has no file, and no bytes may be appended.
  static Result<OutputFile> create_if(bool wanted, const std::string& path);
  void append(std::string_view bytes);
  Status status() const;  // the first failed write
  std::int64_t size() const { return size_; }
  const std::string& path() const { return path_; }

 private:
  OutputFile(os::UniqueFd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  os::UniqueFd fd_;
  std::string path_;
  int error_ = 0;
  std::int64_t size_ = 0;
};

class StepOutput {
 public:
  // Makes the files that the job needs: output always, network and trace when the spec asks for them.
  static Result<std::unique_ptr<StepOutput>> open(const Spool& spool, const Job& job,
                                                  const secrets::Redactor::Values& credentials);

  void add(sandbox::Stream stream, std::string_view bytes);  // thread-safe with add_log_line()
  void add_log_line(std::string_view line);                  // a line of the agent's API; with its newline
  // A line has no newline. No two calls of one function run at the same time.
  void add_network_line(std::string_view line);
  void add_trace_line(std::string_view line);
  std::string redact(std::string_view text) const { return redactor_->redact(text); }  // thread-safe
  // Redacts an argument of a program in the trace, which may be cut.
  std::string redact_argument(std::string_view text) const;
  // Appends what the streams still hold back. REQUIRES: no other call comes, except the following ones.
  void finish();

  // The first write that failed. A step with such an output has no result.
  Status status() const;
  // Stores the files that are not empty and puts their ids and sizes into the run; redacts its paths.
  Status store(workspace::Workspaces& workspaces, sandbox::SandboxRun& run) const;

 private:
  StepOutput(std::unique_ptr<secrets::Redactor> redactor, OutputFile output, OutputFile network,
             OutputFile trace);

  const std::unique_ptr<secrets::Redactor> redactor_;
  // One redactor for each stream: bytes of the other stream in between are not part of a secret.
  secrets::Redactor::Stream out_, err_;
  std::mutex mutex_;   // guards output_: the agent's log lines come from another thread
  OutputFile output_;  // stdout and stderr, and the agent's log lines
  OutputFile network_, trace_;
};

}  // namespace pawl::supervisor
