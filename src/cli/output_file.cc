#include "cli/output_file.h"

#include <cstdio>

#include "cli/context.h"
#include "cli/render/terminal.h"
#include "os/file.h"
#include "os/output.h"

namespace pawl::cli {
namespace {

using Kind = os::Destination::Kind;

Result<os::Destination> checked(const OutputOptions& options) {
  if (options.path.empty() || options.path == "-")
    return os::Destination{.kind = Kind::kDescriptor, .path = "-", .descriptor = fileno(stdout)};
  PAWL_TRY(auto to, os::destination_of(options.path));
  if (to.kind == Kind::kFile && !options.force)
    return fail(ErrorKind::kConflict, options.path + ": the file exists; --force replaces it");
  return to;
}

bool is_stdout(const os::Destination& to) {
  return to.kind == Kind::kDescriptor && to.descriptor == fileno(stdout);
}

}  // namespace

void add_force_option(const Command& command, OutputOptions& options) {
  command.flag("--force", options.force, "Replace the file when it is there");
}

Result<bool> goes_to_stdout(const OutputOptions& options) {
  PAWL_TRY(const auto to, checked(options));
  return is_stdout(to);
}

int report_output(const Error& error) {
  const int code = report(error);
  return error.kind == ErrorKind::kConflict || error.kind == ErrorKind::kInvalid ? kUsage : code;
}

Status write_output(std::string_view label, const OutputOptions& options, std::string_view bytes) {
  PAWL_TRY(const auto to, checked(options));
  if (is_stdout(to)) return print_for_programs(bytes);
  if (to.kind == Kind::kStream || to.kind == Kind::kDescriptor) return os::write_in_place(to, bytes);
  return os::write_durably(label, to.path, bytes);
}

}  // namespace pawl::cli
