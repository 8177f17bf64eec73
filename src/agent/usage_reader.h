// Reads the usage of known agent programs from their output: one file per program in usage/, named after it.
//
// The program itself prints these numbers. They are as trustworthy as an agent's reports over its socket.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "agent/reports.h"

namespace pawl::agent {

constexpr std::size_t kPrintedBytesMax = 4 << 20;  // the end of a step's standard output
constexpr std::size_t kUsagesMax = 100;            // the last usages of a step

// One Usage per model or conversation. Its id names a count that goes on in later executions, such as a session's: the
// usage has what earlier ones used. "": it is of this execution alone. Empty: `printed`, which an attacker may have written,
// has no usage of this program. Tokens from a cache are not input tokens. An unknown_usage() says that the program
// printed a part of its use. `model`: the model of a program that does
// not print it.
using ReadUsage = std::vector<Usage>(std::string_view printed, const std::string& model);

// The reader for the program's name; null: unknown.
ReadUsage* usage_reader(std::string_view name);

// The report that an execution used more than `source`, its reader, could read: an unknown amount. It has
// no tokens and no money. Each execution has at most one.
Usage unknown_usage(const std::string& sandbox_run_id, const std::string& source);
bool is_unknown(const Usage& usage);

}  // namespace pawl::agent
