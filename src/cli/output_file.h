// The file of a command's -o option. Each command with such an option uses these functions, so that none
// destroys what it did not make.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"
#include "cli/command_line.h"

namespace pawl::cli {

struct OutputOptions {
  std::string path;  // "" and "-": stdout
  bool force = false;
};
void add_force_option(const Command& command, OutputOptions& options);

// Returns whether the output goes to stdout; the command then prints no other text there. Call this before the
// work. kConflict: a file is there, and no --force. kInvalid: the path takes no output.
Result<bool> goes_to_stdout(const OutputOptions& options);
// Reports an error of goes_to_stdout() and returns the exit code.
int report_output(const Error& error);

// A file is durable when this returns, and a symlink to it stays. A device or a FIFO is opened and written.
// Errors: also those of goes_to_stdout(), for a file that came meanwhile. `label` is that of
// os::write_durably().
Status write_output(std::string_view label, const OutputOptions& options, std::string_view bytes);

}  // namespace pawl::cli
