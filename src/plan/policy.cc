#include "plan/policy.h"

#include "plan/sections.h"

namespace pawl::plan {
namespace {

constexpr std::int64_t kCountMax = 1'000'000'000'000;  // files, lines or bytes
constexpr std::size_t kPatternsMax = 1000;

void read_limits(const Mapping& top, Policy& policy, Problems& problems) {
  const auto node = top.get("limits");
  if (!node.IsDefined()) return;
  const Mapping limits(node, "limits", "policy_limits", problems);
  const auto read = [&](const char* key, std::optional<std::int64_t>& to) {
    if (const auto value = limits.get(key); value.IsDefined())
      to = read_integer(value, key, {0, kCountMax}, problems);
  };
  read("files", policy.files_max);
  read("lines", policy.lines_max);
  read("file_bytes", policy.file_bytes_max);
  read("bytes", policy.bytes_max);
}

void read_patterns(const Mapping& top, const char* key, std::vector<std::string>& to, Problems& problems) {
  const auto node = top.get(key);
  if (!node.IsDefined()) return;
  to = read_strings(node, key, problems);
  if (to.size() > kPatternsMax) problems.add(node, std::string(key) + ": at most 1000 patterns");
  for (std::size_t i = 0; i < to.size(); ++i)
    if (!is_safe_pattern(to[i]))
      problems.add(i < node.size() ? node[i] : node,
                   std::string(key) + ": '" + to[i] + "' must be relative and stay inside the source");
}

void read_reaction(const Mapping& top, const char* key, Reaction& to, Problems& problems) {
  const auto node = top.get(key);
  if (!node.IsDefined()) return;
  to = read_enum<Reaction>(node, key, problems).value_or(to);
}

void read_trace(const Mapping& top, Policy& policy, Problems& problems) {
  const auto node = top.get("trace");
  if (!node.IsDefined()) return;
  const Mapping trace(node, "trace", "policy_trace", problems);
  read_reaction(trace, "shells", policy.trace_shells, problems);
  read_reaction(trace, "executables", policy.trace_executables, problems);
  read_reaction(trace, "endpoints", policy.trace_endpoints, problems);
}

Policy policy_from_yaml(const YAML::Node& root, Problems& problems) {
  Policy policy;
  const Mapping top(root, "the policy", "policy_file", problems);
  if (!top.valid()) return policy;
  if (const auto version = top.require("version", problems); version.IsDefined())
    read_integer(version, "version", {1, 1}, problems);
  read_limits(top, policy, problems);
  read_patterns(top, "forbidden_paths", policy.forbidden_paths, problems);
  read_patterns(top, "watched_paths", policy.watched_paths, problems);
  read_patterns(top, "secrets_except", policy.secrets_except, problems);
  read_reaction(top, "watched", policy.watched, problems);
  read_reaction(top, "binaries", policy.binaries, problems);
  read_reaction(top, "executables", policy.executables, problems);
  read_reaction(top, "symlinks", policy.symlinks, problems);
  read_reaction(top, "secrets", policy.secrets, problems);
  read_reaction(top, "npm_lockfile", policy.npm_lockfile, problems);
  read_trace(top, policy, problems);
  return policy;
}

}  // namespace

ParsedPolicy parse_policy(std::string_view text, const std::string& file) {
  Problems problems(file);
  auto policy = read_yaml(text, problems, policy_from_yaml);
  ParsedPolicy out{.problems = problems.take_errors()};
  if (out.problems.empty()) out.policy = std::move(policy);
  return out;
}

}  // namespace pawl::plan
