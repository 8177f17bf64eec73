#include "plan/profile_script.h"

#include <algorithm>

#include "base/endpoint.h"
#include "plan/profile.h"
#include "plan/script.h"

namespace pawl::plan {
namespace {

constexpr std::size_t kModelBytesMax = 200, kUrlBytesMax = 1000;

// A key that no server asks for: programs refuse to start without any.
constexpr std::string_view kNoKey = "none";
// In double quotes and in a here-document of a shell these have a meaning.
constexpr std::string_view kSpecialInQuotes = "\"$`\\", kSpecialInDocument = "$`\\";

// The goal, and from the second attempt on what the gates said. A program takes a text that begins with one of these
// characters for an option, or for a command of its own.
constexpr std::string_view kPrompt = R"sh(prompt=$PAWL_GOAL
was='Its changes are undone, and /pawl/evidence/previous.patch has them.'
case ${PAWL_CONTINUES:-} in
  retry)
    was='The files are as it left them, but for those that the judgement says were not kept. /workspace/.git has none of its commits.'
    prompt="Go on with your task:

$prompt" ;;
  ?*)
    was='/pawl/evidence/previous.patch has its changes.'
    prompt="You were interrupted. The files are as you left them. Go on with your task:

$prompt" ;;
esac
if [ -n "$PAWL_FEEDBACK" ]; then
  prompt="$prompt

An earlier attempt did not pass. $was The judgement, as JSON:
$(cat "$PAWL_FEEDBACK")"
fi
case $prompt in [-/!#@[:space:]]*) prompt="Your task:

$prompt" ;; esac
)sh";

bool is_placeholder_character(char c) { return (c >= 'a' && c <= 'z') || c == '_'; }

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

// The text between double quotes, or in a heredoc: what a shell would expand is escaped.
std::string escaped(std::string_view text, std::string_view special) {
  std::string out;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

bool is_plain(std::string_view word) {
  return !word.empty() && std::ranges::all_of(word, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_-./:@%+,").find(c) != std::string_view::npos;
  });
}

std::string in_quotes(std::string_view text) {
  return is_plain(text) ? std::string(text) : "\"" + escaped(text, "\"$`\\") + "\"";
}

class Script {
 public:
  Script(const Profile& profile, const ProgramChoice& choice)
      : profile_(profile),
        choice_(choice),
        url_(choice.base_url.empty() ? profile.default_url : choice.base_url) {}

  std::string text(const std::vector<std::string>& words) const {
    std::string out(kPrompt);
    for (const auto& [name, value] : profile_.set) out += exported(name, value);
    if (!choice_.base_url.empty()) {
      for (const auto& [name, value] : profile_.set_for_url) out += exported(name, value);
      if (!profile_.key.empty()) out += key_or_none();
    }
    for (const auto& [path, text] : profile_.files) out += file(path, text);
    return out + command(words) + "\n";
  }

 private:
  // Programs refuse to start without a key, also where the server asks for none. The key `none` would win over a
  // token, so it is set only when no other key is.
  std::string key_or_none() const {
    std::string out;
    for (const auto& other : profile_.other_keys) out += "${" + other + ":-}";
    if (!out.empty()) out = "[ -n \"" + out + "\" ] || ";
    return out + "export " + profile_.key + "=\"${" + profile_.key + ":-" + std::string(kNoKey) + "}\"\n";
  }

  // Placeholders become variables of the shell; base_url is a text without special characters.
  std::string filled(std::string_view text, std::string_view special) const {
    std::string out = escaped(text, special);
    replace_all(out, "{model}", "${PAWL_MODEL}");
    replace_all(out, "{base_url}", url_);
    return out;
  }

  std::string quoted(const std::string& filled) const {
    return is_plain(filled) ? filled : "\"" + filled + "\"";
  }

  // A word of a command. The shell has the prompt, and exports it to no program.
  std::string word(const std::string& text) const {
    std::string out = filled(text, kSpecialInQuotes);
    replace_all(out, "{prompt}", "${prompt}");
    return quoted(out);
  }

  std::string exported(const std::string& name, const std::string& value) const {
    return "export " + name + "=" + quoted(filled(value, kSpecialInQuotes)) + "\n";
  }

  std::string file(const std::string& path, const std::string& text) const {
    const auto slash = path.rfind('/');
    std::string out;
    if (slash != std::string::npos) out += "mkdir -p \"$HOME/" + path.substr(0, slash) + "\"\n";
    const std::string end(kEndOfFile);
    out += "cat >\"$HOME/" + path + "\" <<" + end + "\n" + filled(text, kSpecialInDocument);
    if (!out.ends_with('\n')) out += '\n';
    return out + end + "\n";
  }

  std::string command(const std::vector<std::string>& words) const {
    std::string out = "exec";
    if (profile_.acp) {
      out += " " + std::string(kAcpClient) + " --prompt=\"${prompt}\"";
      const bool by_argument = profile_.needs_model || !profile_.model_args.empty();
      if (!by_argument) out += " --model=\"${PAWL_MODEL}\"";
      if (choice_.asks_person) out += " --permissions=ask";
      out += " --";
    }
    for (const auto& each : words) {
      if (each == "{args}") {
        for (const auto& arg : choice_.args) out += " " + in_quotes(arg);
      } else if (each == "{model_args}") {
        std::string args;
        for (const auto& arg : profile_.model_args) args += (args.empty() ? "" : " ") + word(arg);
        out += " ${PAWL_MODEL:+" + args + "}";
      } else {
        out += " " + word(each);
      }
    }
    return out;
  }

  const Profile& profile_;
  const ProgramChoice& choice_;
  const std::string url_;
};

// "host:port" of a URL, as `egress` has it; "" when it is not such a URL.
std::string endpoint_of(std::string_view url) {
  std::string_view port = ":80";
  if (url.starts_with("https://")) {
    port = ":443";
    url.remove_prefix(std::string_view("https://").size());
  } else if (url.starts_with("http://")) {
    url.remove_prefix(std::string_view("http://").size());
  } else {
    return {};
  }
  std::string out(url.substr(0, url.find('/')));
  const auto colon = out.rfind(':');
  const bool has_port = colon != std::string::npos && out.find(']', colon) == std::string::npos;
  if (!has_port) out += port;
  const auto host = out.substr(0, out.rfind(':'));
  // Inside, the name leads to the sandbox itself. The egress takes the host's address there, by this name, too.
  if (net::is_local_name(net::host_name(host))) return "127.0.0.1" + out.substr(out.rfind(':'));
  return out;
}

bool has_only(std::string_view text, std::string_view marks) {
  return std::ranges::all_of(text, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           marks.find(c) != std::string_view::npos;
  });
}

// The URL for a message, without the parts in which people write passwords and keys.
std::string shown_of(const std::string& url) {
  std::string out = url;
  if (const auto at = out.rfind('@'); at != std::string::npos) {
    const auto scheme = out.find("://");
    const auto begin = scheme < at ? scheme + 3 : 0;
    out.replace(begin, at - begin, "...");
  }
  const auto end = out.find_first_of("?#");
  return end == std::string::npos ? out : out.substr(0, end + 1) + "...";
}

}  // namespace

std::vector<std::string> placeholders_in(std::string_view text) {
  std::vector<std::string> out;
  for (auto open = text.find('{'); open != std::string_view::npos; open = text.find('{', open + 1)) {
    auto end = open + 1;
    while (end < text.size() && is_placeholder_character(text[end])) ++end;
    if (end > open + 1 && end < text.size() && text[end] == '}')
      out.emplace_back(text.substr(open + 1, end - open - 1));
  }
  return out;
}

std::string script_of_profile(const Profile& profile, const std::vector<std::string>& words,
                              const ProgramChoice& choice) {
  return Script(profile, choice).text(words);
}

bool is_of_profile(const std::vector<std::string>& argv) {
  const auto script = script_of(argv);
  return script && script->starts_with(kPrompt);
}

std::vector<std::string> egress_of_profile(const Profile& profile, const ProgramChoice& choice) {
  if (!choice.base_url.empty()) return {endpoint_of(choice.base_url)};
  std::vector<std::string> out;
  if (!profile.default_url.empty()) out.push_back(endpoint_of(profile.default_url));
  std::ranges::copy(profile.egress, std::back_inserter(out));
  return out;
}

Status check_base_url(const std::string& url) {
  const auto bad = [&](const std::string& why) {
    return fail(ErrorKind::kInvalid, "'" + shown_of(url).substr(0, 200) + "': " + why);
  };
  if (url.size() > kUrlBytesMax) return bad("at most 1000 bytes");
  if (url.find('@') != std::string::npos) return bad("credentials in a URL never pass into a sandbox");
  const std::string endpoint = endpoint_of(url);
  if (endpoint.empty() || !has_only(url, "-._~:/[]%+,="))
    return bad("expected http://HOST[:PORT][/PATH] or https://, without a query");
  const auto parsed = net::Allowlist::parse({endpoint});
  if (!parsed) return std::unexpected(parsed.error());
  return {};
}

Status check_model_name(const std::string& model) {
  if (!model.empty() && model.size() <= kModelBytesMax && !model.starts_with('-') &&
      has_only(model, "-._:/@+[]=,"))
    return {};
  return fail(ErrorKind::kInvalid,
              "'" + model.substr(0, kModelBytesMax) +
                  "' can't be given to a program of a profile: up to 200 letters, digits and -._:/@+[]=,");
}

}  // namespace pawl::plan
