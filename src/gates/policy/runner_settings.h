// Settings that make a build tool run another program in place of a test or a compiler, or treat failures as
// success. Their files may change for many reasons, so the check reads the added lines. Pure.
#pragma once

#include <string>
#include <string_view>

#include "base/policy.h"
#include "gates/policy/run_targets.h"

namespace pawl::gates {

// Whether a file at this path can have such settings; then its lines have to be read, whatever the policy
// asks for.
bool has_runner_settings(std::string_view path);

// The first such setting that `change` adds, in words with its line; "" when it adds none. Settings of linters count
// when a command of `targets` runs them.
std::string runner_setting(const FileChange& change, const RunTargets& targets);

// A line of words without the escapes of TOML, and without the quotes and backslashes of the shell.
std::string unquoted(std::string_view line);

}  // namespace pawl::gates
