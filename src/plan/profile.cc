#include "plan/profile.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/nearest.h"
#include "base/private_names.h"
#include "embedded/built_in_profiles_text.h"
#include "plan/keys.h"
#include "plan/profile_script.h"
#include "plan/sections.h"

namespace pawl::plan {
namespace {

constexpr std::size_t kTextsMax = 100, kMeaningBytesMax = 200;

struct BuiltIn {
  std::string_view name;
  const std::string_view* text;
};
constexpr std::array kBuiltIn = {
#define PAWL_PROFILE(name) BuiltIn{#name, &built_in_profiles_text::name},
#include "built_in_profiles.inc"
#undef PAWL_PROFILE
};

std::string braced(std::string_view word) { return "{" + std::string(word) + "}"; }

// The placeholders that a text may have.
struct Allowed {
  bool prompt = false, model = false, model_args = false, args = false, url = false;
  bool other_braces = false;  // they are text
};

constexpr std::string_view kPlaceholders[] = {"prompt", "args", "model_args", "model", "base_url"};

void check_placeholders(const YAML::Node& at, const std::string& what, const std::string& text,
                        const Allowed& allowed, Problems& problems) {
  for (const auto& name : placeholders_in(text)) {
    const bool is_whole = text == braced(name);
    if (name == "prompt" && allowed.prompt) continue;
    if (name == "base_url" && allowed.url) continue;
    if (allowed.other_braces && std::ranges::find(kPlaceholders, name) == std::end(kPlaceholders)) continue;
    if (name == "model" && allowed.model) continue;
    if (((name == "model_args" && allowed.model_args) || (name == "args" && allowed.args)) && is_whole)
      continue;
    std::string why = " has no place here";
    if (name == "model") why = " needs `needs_model: true`, or a place in `model_args`";
    if (name == "model_args" && allowed.args) why = " needs the key `model_args`, and a word of its own";
    if (name == "args" && allowed.args) why = " needs a word of its own";
    if (name == "base_url") why = " needs `base_url` with a `default`";
    problems.add(at, what + ": " + braced(name) + why);
  }
}

class Reader {
 public:
  Reader(const Mapping& top, Problems& problems) : top_(top), problems_(problems) {}

  Profile read() {
    if (const auto version = top_.require("version", problems_); version.IsDefined())
      read_integer(version, "version", {1, 1}, problems_);
    read_text("tested", out_.tested);
    read_text("install", out_.install);
    if (const auto flag = top_.get("needs_model"); flag.IsDefined())
      out_.needs_model = read_bool(flag, "needs_model", problems_).value_or(false);
    read_words("model_args", {.model = true, .url = has_url()}, out_.model_args);
    out_.acp = top_.get("acp").IsDefined();
    if (out_.acp) {
      read_acp();
    } else {
      top_.require("run", problems_);
      read_command_words("run", out_.run);
      read_command_words("continue", out_.continued);
    }
    read_variables(top_, out_.set);
    read_files();
    read_key();
    read_login();
    read_base_url();
    read_egress();
    if (const auto usage = top_.get("usage"); usage.IsDefined())
      out_.usage = read_word(usage, "usage", usage_words(), problems_).value_or("");
    if (out_.acp) out_.exit_codes = acp_exit_codes();
    read_exit_codes();
    return std::move(out_);
  }

 private:
  void read_text(const std::string& key, std::string& to) {
    if (const auto node = top_.get(key); node.IsDefined())
      to = read_string(node, key, problems_).value_or("");
  }

  void read_words(const std::string& key, const Allowed& allowed, std::vector<std::string>& to) {
    const auto node = top_.get(key);
    if (!node.IsDefined()) return;
    to = read_strings(node, key, problems_);
    if (!node.IsSequence()) return;
    if (node.size() == 0) problems_.add(node, key + ": expected words, found an empty list");
    for (const auto& item : node)
      if (item.IsScalar()) check_placeholders(item, key, item.Scalar(), allowed, problems_);
  }

  void read_command_words(const std::string& key, std::vector<std::string>& to) {
    const auto node = top_.get(key);
    read_words(key,
               {.prompt = !out_.acp,
                .model = out_.needs_model,
                .model_args = !out_.model_args.empty(),
                .args = true,
                .url = has_url()},
               to);
    if (to.empty()) return;
    check_program_name(node[0], key, to.front(), problems_);
    const auto misses = [&](const std::string& word) {
      return std::ranges::none_of(to, [&](const auto& each) { return each.find(word) != std::string::npos; });
    };
    if (!out_.acp && misses("{prompt}"))
      problems_.add(node, key + ": has no word with {prompt}, so the program gets no goal");
    if (misses("{args}"))
      problems_.add(node, key + ": has no word {args}, so that a plan's `args` would be lost");
    if (!out_.model_args.empty() && misses("{model_args}"))
      problems_.add(node, key + ": has no word {model_args}, so that the model would be lost");
  }

  // The protocol gives the goal, and goes on in a session.
  void read_acp() {
    out_.usage = kAcpUsage;
    for (const auto* key : {"run", "continue"})
      if (top_.get(key).IsDefined())
        problems_.add(top_.key_node(key), std::string(key) + ": `acp` is the command; leave one of them out");
    read_command_words("acp", out_.run);
  }

  void read_variables(const Mapping& mapping, NamedTexts& to) {
    const auto node = mapping.get("set");
    if (!node.IsDefined()) return;
    if (!is_table(node, "set", "names to values")) return;
    for (const auto& entry : node) {
      const std::string& name = entry.first.Scalar();
      if (!is_variable_name(name) || !fault_of_own_variable(name).empty())
        problems_.add(entry.first, "set: '" + name.substr(0, 60) + "' is no name that a profile may set");
      else if (is_secret_variable(name))
        problems_.add(entry.first, "set: " + name +
                                       " looks like a secret, and a profile holds none: `key` names "
                                       "the variable of a key");
      const auto value = read_string(entry.second, "set: " + name, problems_);
      if (!value) continue;
      check_placeholders(entry.second, "set", *value,
                         {.model = out_.needs_model, .url = has_url(), .other_braces = true}, problems_);
      to[name] = *value;
    }
  }

  void read_files() {
    const auto node = top_.get("files");
    if (!node.IsDefined() || !is_table(node, "files", "paths to texts")) return;
    for (const auto& entry : node) {
      const std::string& path = entry.first.Scalar();
      if (!is_safe_pattern(path) || path.find_first_of("\"$`\\") != std::string::npos)
        problems_.add(entry.first,
                      "files: '" + path.substr(0, 80) + "' must be a path below HOME, without ..");
      const auto text = read_string(entry.second, "files: " + path, problems_);
      if (!text) continue;
      if (!out_.needs_model && text->find("{model}") != std::string::npos)
        problems_.add(entry.second, "files: {model} needs `needs_model: true`");
      if (!has_url() && text->find("{base_url}") != std::string::npos)
        problems_.add(entry.second, "files: {base_url} needs `base_url` with a `default`");
      if (("\n" + *text + "\n").find("\n" + std::string(kEndOfFile) + "\n") != std::string::npos)
        problems_.add(entry.second, "files: a line that is " + std::string(kEndOfFile) + " ends the file");
      out_.files[path] = *text;
    }
  }

  bool has_url() const { return top_.get("base_url").IsDefined(); }

  bool is_table(const YAML::Node& node, const std::string& key, const std::string& of) {
    if (node.IsMap() && node.size() <= kTextsMax) return true;
    problems_.add(node, key + ": expected a mapping of at most " + std::to_string(kTextsMax) + " " + of +
                            ", found " + (node.IsMap() ? "more" : type_of(node)));
    return false;
  }

  void read_key() {
    read_text("key", out_.key);
    if (!out_.key.empty() && !is_variable_name(out_.key))
      problems_.add(top_.get("key"),
                    "key: '" + out_.key.substr(0, 60) + "' is not a name of an environment variable");
    const auto node = top_.get("other_keys");
    if (!node.IsDefined()) return;
    if (out_.key.empty()) problems_.add(top_.key_node("other_keys"), "other_keys: needs `key`");
    out_.other_keys = read_strings(node, "other_keys", problems_);
    for (const auto& item : node)
      if (item.IsScalar() && !is_variable_name(item.Scalar()))
        problems_.add(item, "other_keys: '" + item.Scalar().substr(0, 60) +
                                "' is not a name of an environment variable");
  }

  void read_login() {
    const auto node = top_.get("login");
    if (!node.IsDefined()) return;
    out_.login = read_strings(node, "login", problems_);
    for (std::size_t i = 0; i < out_.login.size(); ++i)
      if (!is_safe_pattern(out_.login[i]))
        problems_.add(node[i],
                      "login: '" + out_.login[i].substr(0, 80) + "' must be a path below HOME, without ..");
  }

  void read_base_url() {
    const auto node = top_.get("base_url");
    if (!node.IsDefined()) return;
    const Mapping url(node, "base_url", "profile_base_url", problems_);
    read_variables(url, out_.set_for_url);
    const auto place = url.require("default", problems_);
    if (!place.IsDefined()) return;
    out_.default_url = read_string(place, "default", problems_).value_or("");
    if (out_.default_url.empty()) return;
    if (const auto status = check_base_url(out_.default_url); !status)
      problems_.add(place, "default: " + status.error().message);
  }

  void read_egress() {
    const auto node = top_.get("egress");
    if (!node.IsDefined()) return;
    out_.egress = read_strings(node, "egress", problems_);
    check_egress(node, out_.egress, problems_);
  }

  void read_exit_codes() {
    const auto node = top_.get("exit_codes");
    if (!node.IsDefined() || !is_table(node, "exit_codes", "codes to what they mean")) return;
    for (const auto& entry : node) {
      const auto code = read_integer(entry.first, "exit_codes", {1, 255}, problems_);
      const auto meaning = read_string(entry.second, "exit_codes", problems_);
      if (!code || !meaning) continue;
      if (meaning->size() > kMeaningBytesMax)
        problems_.add(entry.second, "exit_codes: at most " + std::to_string(kMeaningBytesMax) + " bytes");
      out_.exit_codes[*code] = *meaning;
    }
  }

  const Mapping& top_;
  Problems& problems_;
  Profile out_;
};

}  // namespace

void check_program_name(const YAML::Node& at, const std::string& key, const std::string& word,
                        Problems& problems) {
  if (is_name(word) || (word.starts_with('/') && is_safe_pattern(word.substr(1)))) return;
  problems.add(
      at, key + ": '" + word.substr(0, 80) + "' must be the name of a program in PATH, or an absolute path");
}

std::vector<std::string> Profile::keys() const {
  if (key.empty()) return {};
  std::vector<std::string> out{key};
  out.insert(out.end(), other_keys.begin(), other_keys.end());
  return out;
}

ParsedProfile parse_profile(std::string_view text, const std::string& file) {
  Problems problems(file);
  Profile profile = read_yaml(text, problems, [](const YAML::Node& root, Problems& found) {
    const Mapping top(root, "the profile", "profile", found);
    return top.valid() ? Reader(top, found).read() : Profile();
  });
  ParsedProfile out{.problems = problems.take_errors()};
  if (out.problems.empty()) out.profile = std::move(profile);
  return out;
}

const std::map<std::int64_t, std::string>& acp_exit_codes() {
  static const std::map<std::int64_t, std::string> codes = {
      {20, "it does not speak the Agent Client Protocol as Pawl does, or does not offer the model"},
      {21, "it ended before its turn did, or could not be started"},
      {22, "its turn had the most tokens (max_tokens)"},
      {23, "its turn had the most requests of a model (max_turn_requests)"},
      {24, "it refused (refusal)"},
      {25, "its turn was cancelled"},
      {26, "it answered with an error"},
      {27, "it wants a login or a key (auth_required)"}};
  return codes;
}

std::vector<std::string> built_in_profiles() {
  std::vector<std::string> out;
  for (const auto& each : kBuiltIn) out.emplace_back(each.name);
  return out;
}

std::optional<std::string_view> built_in_profile(std::string_view name) {
  const auto* const found = std::ranges::find(kBuiltIn, name, &BuiltIn::name);
  return found == kBuiltIn.end() ? std::nullopt : std::optional(*found->text);
}

}  // namespace pawl::plan
