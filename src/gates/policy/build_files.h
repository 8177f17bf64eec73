// Build files that switch tests off in several lines: files of CMake and Gradle, and Maven's POM. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/policy.h"
#include "gates/policy/run_targets.h"

namespace pawl::gates {

// How often `content` has `text` as words of its own, whatever white space and quotes are between its
// characters. Lines that are comments do not count.
std::int64_t times_spread(std::string_view content, std::string_view text, bool any_case);

// Whether a file at this path can switch tests off; then its content has to be read.
bool may_switch_off(std::string_view path, const RunTargets& targets);

// How `change` keeps tests from running or from failing, in words; "" when it does not. Settings that base has do not
// count.
std::string switches_off(const FileChange& change, const RunTargets& targets);

}  // namespace pawl::gates
