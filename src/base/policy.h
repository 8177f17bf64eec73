// Rules on the changes that an attempt may make (docs/policy.md), and the changes themselves. A policy file
// is parsed into a Policy, and the gates judge the changes by it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pawl {

constexpr std::uint64_t kPolicyBytesMax = 1 << 20;  // for a policy file
// Bounds of a changed file that a policy reads. A larger file is named and not read: the comparison of lines
// stores some hundred bytes per line.
constexpr std::uint64_t kPolicyReadMax = 16 << 20;
constexpr std::int64_t kPolicyLinesMax = 1'000'000;

// The consequence of a finding: none, a line in the verdict, or a failed attempt.
enum class Reaction { kAllow, kTell, kFail };

struct Policy {
  std::optional<std::int64_t> files_max;       // changed files
  std::optional<std::int64_t> lines_max;       // added and removed lines
  std::optional<std::int64_t> file_bytes_max;  // for one changed file
  std::optional<std::int64_t> bytes_max;       // for all changed files
  std::vector<std::string> forbidden_paths;    // patterns
  std::vector<std::string> watched_paths;      // patterns, besides those of gates/policy/watched.h
  std::vector<std::string> secrets_except;     // patterns of paths that are not searched for secrets
  Reaction watched = Reaction::kTell;
  Reaction binaries = Reaction::kTell;     // new ones
  Reaction executables = Reaction::kTell;  // new executable bits
  Reaction symlinks = Reaction::kTell;     // new or changed ones
  Reaction secrets = Reaction::kFail;      // in added lines
  Reaction npm_lockfile = Reaction::kFail;
  // For what a gate's trace has and the base's trace lacks, where the gate requires `trace`.
  Reaction trace_shells = Reaction::kFail;
  Reaction trace_executables = Reaction::kFail;
  Reaction trace_endpoints = Reaction::kFail;
};

struct FileVersion {
  bool is_link = false, is_executable = false;
  bool is_binary = false;    // by git's rule: a NUL byte near its start
  std::int64_t size = 0;     // in bytes
  std::string_view content;  // content of a file that was read, or target of a link
};

struct AddedLine {
  std::int64_t number = 0;  // from 1, in the new file
  std::string_view text;    // without its line ending
};

struct FileChange {
  std::string path;  // relative, safe
  std::optional<FileVersion> before, after;
  bool unread = false;           // over kPolicyReadMax or kPolicyLinesMax: content and lines are unknown
  std::vector<AddedLine> added;  // for a text file
  std::int64_t lines_removed = 0;
};

}  // namespace pawl
