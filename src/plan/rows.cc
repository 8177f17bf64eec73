#include "plan/rows.h"

#include <algorithm>
#include <charconv>
#include <concepts>
#include <type_traits>

#include "base/json.h"
#include "plan/words.h"

namespace pawl::plan {
namespace {

template <typename Self, typename Type>
concept Is = std::same_as<std::remove_const_t<Self>, Type>;

// --- The members of each type, shared by the writer and the reader.
void members(Is<Place> auto& self, auto&& each) {
  each("line", self.line);
  each("column", self.column);
}
void members(Is<Resume> auto& self, auto&& each) {
  each("policy", self.policy);
  each("probe", self.probe);
}
void members(Is<Limits> auto& self, auto&& each) {
  each("backend", self.backend);
  each("base_image", self.base_image);
  each("memory_limit_mib", self.memory_limit_mib);
  each("pids_limit", self.pids_limit);
  each("cpu_limit_millis", self.cpu_limit_millis);
  each("disk_limit_mib", self.disk_limit_mib);
  each("output_limit_bytes", self.output_limit_bytes);
  each("time_budget_seconds", self.time_budget_seconds);
  each("refused_entries", self.refused_entries);
}
void members(Is<Reports> auto& self, auto&& each) {
  each("format", self.format);
  each("patterns", self.patterns);
}
void members(Is<Step> auto& self, auto&& each) {
  each("name", self.name);
  each("argv", self.argv);
  each("shell", self.shell);
  each("may_fail", self.may_fail);
  each("network", self.network);
  each("egress", self.egress);
  each("trace", self.trace);
  each("reports", self.reports);
  each("limits", self.limits);
}
void members(Is<RetryPolicy> auto& self, auto&& each) {
  each("non_retryable", self.non_retryable);
  each("timeout_retryable", self.timeout_retryable);
  each("oom_retryable", self.oom_retryable);
  each("same_failure_max", self.same_failure_max);
  each("flaky_reruns", self.flaky_reruns);
  each("flaky", self.flaky);
}
void members_of_guarded(Is<Guarded> auto& self, auto&& each) {
  each("protect", self.rules.protect);
  each("protect_existing", self.rules.protect_existing);
  each("may_be_absent", self.may_be_absent);
}
void members(Is<Gate> auto& self, auto&& each) {
  each("name", self.name);
  each("steps", self.steps);
  each("overrides", self.overrides);
  each("signals", self.signals);
  each("signals_at", self.signals_at);
  each("retry", self.retry);
  members_of_guarded(self.guarded, each);
  each("take_only", self.take_only);
  each("baseline", self.baseline);
  each("known_failing", self.known_failing);
}
void members(Is<Spending> auto& self, auto&& each) {
  each("tokens", self.tokens);
  each("usd_nanos", self.usd_nanos);
}
void members(Is<Credential> auto& self, auto&& each) {
  each("name", self.name);
  each("env", self.env);
  each("file", self.file);
  each("json", self.json);
  each("command", self.command);
  each("at", self.at);
}
void members(Is<Phase> auto& self, auto&& each) {
  each("id", self.id);
  each("goal", self.goal);
  each("agent", self.agent);
  each("agent_continue", self.agent_continue);
  each("agent_acp", self.agent_acp);
  each("credentials", self.credentials);
  each("agent_budget", self.agent_budget);
  each("max_children", self.max_children);
  each("agent_usage", self.agent_usage);
  each("agent_model", self.agent_model);
  each("exit_codes", self.exit_codes);
  each("gates", self.gates);
  each("best_of", self.best_of);
  each("max_attempts", self.max_attempts);
  each("resume", self.resume);
  each("on_retry", self.on_retry);
  each("durable", self.durable);
  each("may_be_empty", self.may_be_empty);
  each("agent_exit", self.agent_exit);
  members_of_guarded(self.guarded, each);
}
void members(Is<Doctor> auto& self, auto&& each) {
  each("step", self.step);
  each("after_failures", self.after_failures);
}
void members(Is<Replan> auto& self, auto&& each) {
  each("step", self.step);
  each("max_replans", self.max_replans);
}
void members(Is<Backoff> auto& self, auto&& each) {
  each("initial_seconds", self.initial_seconds);
  each("max_seconds", self.max_seconds);
}
void members(Is<Budget> auto& self, auto&& each) {
  each("sandbox_seconds", self.sandbox_seconds);
  each("of_agents", self.of_agents);
}
void members(Is<PolicyFile> auto& self, auto&& each) {
  each("file", self.file);
  each("blake3", self.blake3);
  each("at", self.at);
}
void members(Is<Mount> auto& self, auto&& each) {
  each("src", self.src);
  each("dst", self.dst);
  each("at", self.at);
}
void members(Is<Common> auto& self, auto&& each) {
  each("workflow", self.workflow);
  each("source_path", self.source_path);
  each("source_folder", self.source_folder);
  each("source_ref", self.source_ref);
  each("source_exclude", self.source_exclude);
  each("env", self.env);
  each("env_set", self.env_set);
  each("mounts", self.mounts);
  each("profiles", self.profiles);
  each("models", self.models);
  each("ignored", self.ignored);
  each("git", self.git);
  members_of_guarded(self.guarded, each);
  each("allow_shadowing", self.allow_shadowing);
  each("files", self.files);
  each("gate_files", self.gate_files);
  each("plan_for_agents", self.plan_for_agents);
  each("policy", self.policy);
  each("doctor", self.doctor);
  each("replan", self.replan);
  each("backoff", self.backoff);
  each("budget", self.budget);
  each("gates", self.gates);
  each("has_credentials", self.has_credentials);
  each("traced", self.traced);
}

template <typename Type>
concept Plain =
    std::same_as<Type, std::string> || std::same_as<Type, std::int64_t> || std::same_as<Type, bool>;

std::string key_text(const std::string& key) { return key; }
std::string key_text(std::int64_t key) { return std::to_string(key); }
bool read_key(const std::string& text, std::string& out) {
  out = text;
  return true;
}
bool read_key(const std::string& text, std::int64_t& out) {
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, out);
  return parsed.ec == std::errc() && parsed.ptr == end;
}

// Static members, so that each overload finds every other, whatever their order.
struct Writer {
  static Json write(const Plain auto& value) { return value; }
  static Json write(const HasWords auto& value) { return name(value); }
  template <typename Type>
  static Json write(const std::optional<Type>& value) {
    return value ? write(*value) : Json();
  }
  template <typename Type>
  static Json write(const std::vector<Type>& values) {
    Json out = Json::array();
    for (const auto& value : values) out.push_back(write(value));
    return out;
  }
  template <typename Key, typename Type>
  static Json write(const std::map<Key, Type>& values) {
    Json out = Json::object();
    for (const auto& [key, value] : values) out[key_text(key)] = write(value);
    return out;
  }
  static Json write(const auto& value) {
    Json out = Json::object();
    members(value, [&](const char* key, const auto& member) { out[key] = write(member); });
    return out;
  }
};

// Each overload returns false when the JSON has another type.
struct Reader {
  static bool read(const Json& from, std::string& to) {
    if (from.is_string()) to = from.get_ref<const std::string&>();
    return from.is_string();
  }
  static bool read(const Json& from, std::int64_t& to) {
    if (from.is_number_integer()) to = from.get<std::int64_t>();
    return from.is_number_integer();
  }
  static bool read(const Json& from, bool& to) {
    if (from.is_boolean()) to = from.get<bool>();
    return from.is_boolean();
  }
  template <HasWords Type>
  static bool read(const Json& from, Type& to) {
    const auto value = from.is_string() ? from_name<Type>(from.get_ref<const std::string&>()) : std::nullopt;
    to = value.value_or(to);
    return value.has_value();
  }
  template <typename Type>
  static bool read(const Json& from, std::optional<Type>& to) {
    to.reset();
    return from.is_null() || read(from, to.emplace());
  }
  template <typename Type>
  static bool read(const Json& from, std::vector<Type>& to) {
    to.clear();
    return from.is_array() &&
           std::ranges::all_of(from, [&](const Json& value) { return read(value, to.emplace_back()); });
  }
  template <typename Key, typename Type>
  static bool read(const Json& from, std::map<Key, Type>& to) {
    to.clear();
    return from.is_object() && std::ranges::all_of(from.items(), [&](const auto& item) {
             Key key{};
             return read_key(item.key(), key) && read(item.value(), to[key]);
           });
  }
  template <typename Type>
  static bool read(const Json& from, Type& to) {
    bool good = from.is_object();
    members(to, [&](const char* key, auto& member) {
      const auto found = good ? from.find(key) : from.end();
      if (good && found != from.end()) good = read(*found, member);
    });
    return good;
  }
};

template <typename Type>
Result<Type> of_row(std::string_view row, const std::string& what) {
  Type out;
  const auto json = parse_json(row);
  if (json && Reader::read(*json, out)) return out;
  return fail(ErrorKind::kCorrupt, "the row of " + what + " can't be read" +
                                       (json ? std::string() : ": " + json.error().message) +
                                       ": restore the state folder from a backup");
}

}  // namespace

std::string common_row(const Common& common) { return canonical(Writer::write(common)); }
std::string phase_row(const Phase& phase) { return canonical(Writer::write(phase)); }
Result<Common> common_of_row(std::string_view row) { return of_row<Common>(row, "a plan"); }
Result<Phase> phase_of_row(std::string_view row) { return of_row<Phase>(row, "a planned phase"); }

}  // namespace pawl::plan
