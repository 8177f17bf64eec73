// Reads what steps get of the host: variables by name, or with a value of the plan; files and folders; and of
// an agent's step, credentials.
#include <algorithm>

#include "base/json.h"
#include "base/private_names.h"
#include "plan/sections.h"

namespace pawl::plan {
namespace {

constexpr std::size_t kVariablesMax = 1000;
// execve(2) has room for 2 MiB of arguments and variables, and a command may take half of it.
constexpr std::size_t kSetBytesMax = 256 << 10;
constexpr std::size_t kCredentialsMax = 16;  // per agent; each is read before each start
constexpr std::size_t kMountsMax = 32;       // each is looked through before each step

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

// A name with a value in the plan.
bool may_be_set(const YAML::Node& node, const Common& plan, Problems& problems) {
  if (!may_pass(node, problems)) return false;
  const std::string& name = node.Scalar();
  std::string fault = fault_of_own_variable(name);
  if (std::ranges::find(plan.env, name) != plan.env.end())
    fault = " is in `names` and in `set`: leave it out of one of them";
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

// A path without slashes at its end; "" when it is not such a path. `dst` is inside, where no ~ is.
std::string read_place(const YAML::Node& node, const std::string& key, Problems& problems) {
  auto path = read_string(node, key, problems).value_or("");
  if (path.empty()) return path;
  while (path.ends_with('/')) path.pop_back();
  const bool in_home = key != "dst" && path.starts_with("~/");
  if ((in_home || path.starts_with('/')) && is_safe_pattern(path.substr(in_home ? 2 : 1))) return path;
  problems.add(node, key + ": '" + node.Scalar().substr(0, 200) + "' must be an absolute path" +
                         (key != "dst" ? ", or begin with ~/, without .." : ", without .."));
  return {};
}

// A name that looks like a secret is welcome here.
void check_credential_name(const YAML::Node& node, const Common& plan, Problems& problems) {
  const std::string name = node.IsScalar() ? node.Scalar() : "";
  std::string fault = fault_of_own_variable(name);
  if (!is_variable_name(name))
    fault = " is not a name of an environment variable";
  else if (std::ranges::find(plan.env, name) != plan.env.end() || plan.env_set.contains(name))
    fault = " is in `env` of the plan, too: leave it out of one of them";
  if (!fault.empty()) problems.add(node, "credentials: '" + name.substr(0, 60) + "'" + fault);
}

// The program of a command runs on the host, where a plan is: a relative path has no fixed meaning there.
std::vector<std::string> read_host_command(const YAML::Node& node, Problems& problems) {
  if (!node.IsSequence()) {
    problems.add(node, "command: expected a list of words, found " + type_of(node) +
                           "; a shell is one, too: [sh, -c, \"...\"]");
    return {};
  }
  auto words = read_command(node, "command", Shell::kBest, problems);
  if (!words.empty() && words.front().find('/') != std::string::npos && !words.front().starts_with('/'))
    problems.add(node, "command: '" + words.front().substr(0, 200) +
                           "' must be an absolute path, or a name that is looked up in PATH");
  return words;
}

// Whether `text` is a JSON Pointer with a name in it (RFC 6901).
bool is_json_pointer(const std::string& text) {
  if (!text.starts_with('/')) return false;
  try {
    return !Json::json_pointer(text).empty();
  } catch (const Json::exception&) {
    return false;
  }
}

Credential read_credential(const YAML::Node& node, const std::string& name, Problems& problems) {
  Credential out{.name = name, .at = place_of(node)};
  const Mapping source(node, "a credential", "credential", problems);
  if (!source.valid()) return out;
  int sources = 0;
  if (const auto env = source.get("env"); env.IsDefined()) {
    ++sources;
    out.env = read_string(env, "env", problems).value_or("");
    if (!out.env.empty() && !is_variable_name(out.env))
      problems.add(env, "env: '" + out.env.substr(0, 60) + "' is not a name of an environment variable");
  }
  if (const auto file = source.get("file"); file.IsDefined()) {
    ++sources;
    out.file = read_place(file, "file", problems);
  }
  if (const auto command = source.get("command"); command.IsDefined()) {
    ++sources;
    out.command = read_host_command(command, problems);
  }
  if (const auto json = source.get("json"); json.IsDefined()) {
    out.json = read_string(json, "json", problems).value_or("");
    if (!out.json.empty() && !is_json_pointer(out.json))
      problems.add(json, "json: '" + out.json.substr(0, 200) +
                             "' must be a JSON Pointer, such as /tokens/access_token");
    if (!source.get("file").IsDefined()) problems.add(json, "json: needs `file`");
  }
  if (sources != 1)
    problems.add(node, "credentials: " + name + ": expected one of `env`, `file` and `command`");
  return out;
}

}  // namespace

void read_credentials(const Mapping& agent, const Common& plan, Phase& phase, Problems& problems) {
  const auto node = agent.get("credentials");
  if (!node.IsDefined()) return;
  if (!node.IsMap() || node.size() > kCredentialsMax)
    return problems.add(node,
                        "credentials: expected a mapping of at most 16 variables to sources, such as "
                        "{API_KEY: {env: API_KEY}}, found " +
                            (node.IsMap() ? "more" : type_of(node)));
  for (const auto& entry : node) {
    check_credential_name(entry.first, plan, problems);
    phase.credentials.push_back(
        read_credential(entry.second, entry.first.IsScalar() ? entry.first.Scalar() : "", problems));
  }
}

std::string fault_of_own_variable(const std::string& name) {
  if (name == "PATH")
    return " is Pawl's own in every sandbox; a command can set another: `PATH=/workspace/tools:$PATH make`";
  return name.starts_with("PAWL_") ? ": names that begin with PAWL_ are Pawl's own" : "";
}

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
