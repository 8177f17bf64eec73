// Reads what every step gets of the host: variables by name, or with a value of the plan; files and folders.
#include <algorithm>

#include "base/private_names.h"
#include "plan/sections.h"

namespace pawl::plan {
namespace {

constexpr std::size_t kVariablesMax = 1000;
// execve(2) has room for 2 MiB of arguments and variables, and a command may take half of it.
constexpr std::size_t kSetBytesMax = 256 << 10;
constexpr std::size_t kMountsMax = 32;  // each is looked through before each step

// Adds a problem for a name that never passes. A plan can't opt out.
bool may_pass(const YAML::Node& node, Problems& problems) {
  const std::string& name = node.Scalar();
  if (!is_variable_name(name)) {
    problems.add(node, "env: '" + name.substr(0, 60) + "' is not a name of an environment variable");
    return false;
  }
  if (!is_secret_variable(name)) return true;
  problems.add(node, "env: " + name + " looks like a secret and never passes into a sandbox");
  return false;
}

void read_names(const YAML::Node& node, const std::string& what, Common& plan, Problems& problems) {
  plan.env = read_strings(node, what, problems);
  if (!node.IsSequence()) return;
  for (const auto& item : node)
    if (item.IsScalar()) may_pass(item, problems);
}

// A name with a value in the plan. The host's PATH never passes either, and PAWL_... is what Pawl tells agents.
bool may_be_set(const YAML::Node& node, const Common& plan, Problems& problems) {
  if (!may_pass(node, problems)) return false;
  const std::string& name = node.Scalar();
  std::string fault;
  if (std::ranges::find(plan.env, name) != plan.env.end())
    fault = " is in `names` and in `set`: leave it out of one of them";
  else if (name == "PATH")
    fault = " is Pawl's own in every sandbox; a command can set another: `PATH=/workspace/tools:$PATH make`";
  else if (name.starts_with("PAWL_"))
    fault = ": names that begin with PAWL_ are Pawl's own";
  if (!fault.empty()) problems.add(node, "env: " + name + fault);
  return fault.empty();
}

// The value as it stands; an empty one counts. A number without quotes has no fixed spelling in YAML.
std::optional<std::string> read_value(const YAML::Node& node, const std::string& name, Problems& problems) {
  std::string fault;
  if (type_of(node) != "a string")
    fault = "expected a string, found " + type_of(node) + ": put the value in quotes";
  else if (node.Scalar().find('\0') != std::string::npos)
    fault = "a NUL character in a string";
  else if (name.size() + node.Scalar().size() > kWordBytesMax)
    fault = std::to_string(node.Scalar().size()) + " bytes; a variable has at most " +
            std::to_string(kWordBytesMax) + " with its name";
  else if (has_url_credentials(node.Scalar()))
    fault = "has credentials in a URL, which never pass into a sandbox";
  else if (has_password(node.Scalar()))
    fault = "has a password in it, which never passes into a sandbox";
  if (fault.empty()) return node.Scalar();
  problems.add(node, "env: " + name + ": " + fault);
  return std::nullopt;
}

void read_set(const YAML::Node& node, Common& plan, Problems& problems) {
  if (!node.IsMap())
    return problems.add(node, "set: expected a mapping of names to values, found " + type_of(node));
  if (node.size() > kVariablesMax) return problems.add(node, "set: at most 1000 variables");
  std::size_t bytes = 0;
  for (const auto& entry : node) {
    if (!may_be_set(entry.first, plan, problems)) continue;
    auto value = read_value(entry.second, entry.first.Scalar(), problems);
    if (!value) continue;
    bytes += entry.first.Scalar().size() + value->size();
    plan.env_set[entry.first.Scalar()] = *std::move(value);
  }
  if (bytes > kSetBytesMax)
    problems.add(node, "set: " + std::to_string(bytes) + " bytes; all variables together have at most " +
                           std::to_string(kSetBytesMax) +
                           ": put long values into a file beside the plan, which a step finds in /plan");
}

// A path without slashes at its end; "" when it is no such path.
std::string read_place(const YAML::Node& node, const std::string& key, Problems& problems) {
  auto path = read_string(node, key, problems).value_or("");
  if (path.empty()) return path;
  while (path.ends_with('/')) path.pop_back();
  const bool in_home = key == "src" && path.starts_with("~/");
  if ((in_home || path.starts_with('/')) && is_safe_pattern(path.substr(in_home ? 2 : 1))) return path;
  problems.add(node, key + ": '" + node.Scalar().substr(0, 200) + "' must be an absolute path" +
                         (key == "src" ? ", or begin with ~/, without .." : ", without .."));
  return {};
}

}  // namespace

bool is_variable_name(const std::string& text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !text.empty() && text.size() <= 128 && letter(text.front()) &&
         std::ranges::all_of(text, [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

void read_env(const Mapping& top, Common& plan, Problems& problems) {
  const auto node = top.get("env");
  if (!node.IsDefined()) return;
  if (!node.IsMap() && !node.IsSequence())
    return problems.add(
        node, "env: expected a list of names, or a mapping of `names` and `set`, found " + type_of(node));
  if (node.IsSequence()) return read_names(node, "env", plan, problems);
  const Mapping env(node, "env", "env", problems);
  if (const auto names = env.get("names"); names.IsDefined()) read_names(names, "names", plan, problems);
  if (const auto set = env.get("set"); set.IsDefined()) read_set(set, plan, problems);
}

void read_mounts(const Mapping& top, Common& plan, Problems& problems) {
  const auto node = top.get("mounts");
  if (!node.IsDefined()) return;
  if (!node.IsSequence() || node.size() > kMountsMax)
    return problems.add(node, "mounts: expected a list of at most 32 mappings of `src` and `dst`, found " +
                                  (node.IsSequence() ? "more" : type_of(node)));
  for (const auto& item : node) {
    const Mapping mapping(item, "a mount", "mount", problems);
    Mount mount;
    mount.at = place_of(item);
    if (const auto src = mapping.require("src", problems); src.IsDefined())
      mount.src = read_place(src, "src", problems);
    if (const auto dst = mapping.get("dst"); dst.IsDefined()) mount.dst = read_place(dst, "dst", problems);
    plan.mounts.push_back(std::move(mount));
  }
}

}  // namespace pawl::plan
