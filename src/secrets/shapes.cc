#include "secrets/shapes.h"

#include <re2/re2.h>
#include <re2/set.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <memory>
#include <mutex>
#include <string_view>

namespace pawl::secrets {
namespace {

struct Shape {
  const char* kind;
  const char* hint;    // a pattern found wherever `pattern` matches, and rarely elsewhere
  const char* begins;  // its first or early bytes: alternatives, separated by |
  const char* pattern;
};

// From the documentation of the issuers, and from what they register for secret scanning. A shape without a
// fixed prefix would match commit ids and checksums: those are left to find_random().
constexpr std::array kShapes = {
    Shape{"age_key", R"(AGE-SECRET)", "AGE-SECRET", R"(AGE-SECRET-KEY-1[0-9A-Z]{24,})"},
    Shape{"anthropic_key", R"(sk-ant-)", "sk-ant-", R"(\bsk-ant-[A-Za-z0-9_-]{24,})"},
    Shape{"atlassian_token", R"(ATATT3)", "ATATT3", R"(\bATATT3[A-Za-z0-9_=-]{24,})"},
    Shape{"aws_access_key_id", R"(A[KSBC][IC]A[A-Z2-7]{3})", "AKIA|ASIA|ABIA|ACCA",
          R"(\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b)"},
    Shape{"azure_storage_key", R"(AccountKey=)", "AccountKey=", R"(\bAccountKey=[A-Za-z0-9+/]{24,}={0,2})"},
    Shape{"databricks_token", R"(dapi[a-f0-9]{3})", "dapi", R"(\bdapi[a-f0-9]{24,}\b)"},
    Shape{"digitalocean_token", R"(do[opr]_v1_)", "dop_v1_|doo_v1_|dor_v1_",
          R"(\bdo[opr]_v1_[a-f0-9]{24,}\b)"},
    Shape{"docker_token", R"(dckr_)", "dckr_", R"(\bdckr_[op]at_[A-Za-z0-9_-]{20,})"},
    Shape{"github_token", R"(gh[pousr]_[A-Za-z0-9]{3}|github_pat_)", "ghp_|gho_|ghu_|ghs_|ghr_|github_pat_",
          R"(\b(?:gh[pousr]_[A-Za-z0-9]{24,}|github_pat_[A-Za-z0-9_]{24,}))"},
    Shape{"gitlab_token", R"(gl[a-z]+-[A-Za-z0-9_.-]{3})", "glpat-|gldt-|glrt-|glcbt-|glptt-|glft-|glsoat-",
          R"(\bgl(?:pat|dt|rt|cbt|ptt|ft|soat)-[A-Za-z0-9_.-]{20,})"},
    Shape{"google_api_key", R"(AIza)", "AIza", R"(\bAIza[A-Za-z0-9_-]{30,})"},
    Shape{"google_oauth_token", R"(ya29)", "ya29.", R"(\bya29\.[A-Za-z0-9_-]{24,})"},
    Shape{"huggingface_token", R"(hf_[A-Za-z0-9]{3})", "hf_", R"(\bhf_[A-Za-z0-9]{24,})"},
    Shape{"jwt", R"(eyJ[A-Za-z0-9_-]+[.]eyJ)", "eyJ",
          R"(\beyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,})"},
    Shape{"linear_key", R"(lin_api_)", "lin_api_", R"(\blin_api_[A-Za-z0-9]{24,})"},
    Shape{"mailgun_key", R"(key-[a-f0-9]{3})", "key-", R"(\bkey-[a-f0-9]{32}\b)"},
    Shape{"new_relic_key", R"(NRAK-)", "NRAK-", R"(\bNRAK-[A-Z0-9]{20,}\b)"},
    Shape{"npm_token", R"(npm_[A-Za-z0-9]{3})", "npm_", R"(\bnpm_[A-Za-z0-9]{24,}\b)"},
    Shape{"openai_key", R"(sk-[A-Za-z0-9_-]{6})", "sk-",
          R"(\bsk-(?:proj-|svcacct-|admin-)?[A-Za-z0-9_-]{32,})"},
    Shape{"password_in_url", R"(://[^/\s:@]+:[^/\s:@]+@)", "://",
          R"(\b[a-z][a-z0-9+.-]+://[^/\s:@"'<>]+:[^/\s:@"'<>$]{3,}@)"},
    // The whole key, in lines or escaped. Where its end is missing, as far as lines look like base64.
    Shape{"private_key", R"(-----BEGIN)", "-----BEGIN",
          R"(-----BEGIN (?:[A-Z0-9 ]* )?PRIVATE KEY(?: BLOCK)?-----)"
          R"((?:[A-Za-z0-9+/=\s\\:,.-]*-----END (?:[A-Z0-9 ]* )?PRIVATE KEY(?: BLOCK)?-----)"
          R"(|(?:(?:\s|\\[rn])+[A-Za-z0-9+/=]{16,})*))"},
    Shape{"pypi_token", R"(pypi-[A-Za-z0-9_-]{3})", "pypi-", R"(\bpypi-[A-Za-z0-9_-]{32,})"},
    Shape{"sendgrid_key", R"(SG[.])", "SG.", R"(\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{24,})"},
    Shape{"shopify_token", R"(shp(?:at|ca|pa|ss)_)", "shpat_|shpca_|shppa_|shpss_",
          R"(\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{24,}\b)"},
    Shape{"slack_token", R"(xox[a-z]-)", "xox", R"(\bxox[abeoprs]-[A-Za-z0-9-]{10,})"},
    Shape{"slack_webhook", R"(hooks[.]slack)", "hooks.slack",
          R"(\bhooks\.slack\.com/services/T[A-Z0-9]{6,}/B[A-Z0-9]{6,}/[A-Za-z0-9]{20,})"},
    Shape{"square_token", R"(sq0)", "sq0", R"(\bsq0(?:atp|csp)-[A-Za-z0-9_-]{22,})"},
    Shape{"stripe_key", R"([rs]k_(?:live|test)_)", "sk_live_|sk_test_|rk_live_|rk_test_",
          R"(\b[rs]k_(?:live|test)_[A-Za-z0-9]{20,})"},
    Shape{"telegram_token", R"([0-9]:AA)", ":AA", R"(\b[0-9]{8,10}:AA[A-Za-z0-9_-]{30,})"},
    Shape{"vault_token", R"(hv[sbr][.])", "hvs.|hvb.|hvr.", R"(\bhv[sbr]\.[A-Za-z0-9_-]{24,})"},
};

std::string hints_of_shapes() {
  std::string out;
  for (const auto& shape : kShapes) out += (out.empty() ? "" : "|") + std::string(shape.hint);
  return out;
}

// Replaces the beginning of a word in a shape's pattern. A terminal's colours, escapes of JSON and URLs, and
// the end of a name also end in letters.
constexpr std::string_view kWordBegins = R"(\b)",
                           kBegins = R"((?:\b|\x1b\[[0-9;]*[A-Za-z]|\\[nrt]|%[0-9A-Fa-f]{2}|_))";

// The pattern's match is its first group.
std::string with_beginning(std::string_view pattern) {
  if (!pattern.starts_with(kWordBegins)) return "(" + std::string(pattern) + ")";
  pattern.remove_prefix(kWordBegins.size());
  return std::string(kBegins) + "(" + std::string(pattern) + ")";
}

RE2::Options shape_options() {
  RE2::Options out;
  out.set_encoding(RE2::Options::EncodingLatin1);  // bytes: output need not be UTF-8
  out.set_log_errors(false);
  return out;
}

// One automaton finds which shapes are there at all; each of those is then located by its own pattern.
// Compiling it takes as long as a sandbox. Most programs never compile it, because their output has no hint
// of a shape.
class Shapes {
 public:
  Shapes() : any_(shape_options(), RE2::UNANCHORED) {
    for (const auto& shape : kShapes) any_.Add(with_beginning(shape.pattern), nullptr);
    any_.Compile();
  }

  std::vector<Found> find(std::string_view text) const {
    std::vector<int> there;
    std::vector<Found> out;
    if (!any_.Match({text.data(), text.size()}, &there)) return out;
    for (const int index : there) {
      const auto at = static_cast<std::size_t>(index);
      re2::StringPiece rest(text.data(), text.size()), match;
      while (RE2::FindAndConsume(&rest, pattern(at), &match))
        out.push_back({.kind = kShapes[at].kind,
                       .offset = static_cast<std::size_t>(match.data() - text.data()),
                       .size = match.size()});
    }
    std::ranges::stable_sort(out, {}, &Found::offset);
    std::size_t end = 0;
    std::erase_if(out, [&](const Found& found) {
      const bool overlaps = found.offset < end;
      if (!overlaps) end = found.offset + found.size;
      return overlaps;
    });
    return out;
  }

 private:
  // Compiled at its first match: most patterns are never needed.
  const RE2& pattern(std::size_t at) const {
    std::call_once(once_[at], [&] {
      patterns_[at] = std::make_unique<RE2>(with_beginning(kShapes[at].pattern), shape_options());
    });
    return *patterns_[at];
  }

  RE2::Set any_;
  mutable std::array<std::once_flag, kShapes.size()> once_;
  mutable std::array<std::unique_ptr<RE2>, kShapes.size()> patterns_;
};

// Shannon entropy of the bytes.
double bits_per_byte(std::string_view text) {
  std::array<double, 256> counts{};
  for (const char c : text) ++counts[static_cast<unsigned char>(c)];
  double bits = 0;
  for (const double count : counts)
    if (count > 0)
      bits -= count / static_cast<double>(text.size()) * std::log2(count / static_cast<double>(text.size()));
  return bits;
}

bool looks_random(std::string_view value) {
  // 16 random hexadecimal digits have about 3.2 bits, 20 digits of base64 about 4. Words and paths of that
  // length have fewer.
  constexpr double kBitsOfHex = 3.0, kBits = 3.7;
  const bool hex = std::ranges::all_of(value, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
  });
  const bool digit = std::ranges::any_of(value, [](char c) { return c >= '0' && c <= '9'; });
  return digit && bits_per_byte(value) >= (hex ? kBitsOfHex : kBits);
}

// For people and verdicts: the name and the assignment before a value in a source file.
constexpr char kAssignment[] =
    R"((?i)(?:secret|token|passw(?:or)?d|api_?key|access_?key|auth|credential)[a-z0-9_]{0,32}["']?\s*(?:[:=]|=>|:=)\s*)";

// Words that guard a value, and the bytes that follow them.
constexpr char kGuards[] =
    R"((?i:(?:passw(?:or)?d|passphrase|pwd|secret|token|api_?-?key|access_?-?key|credential)[a-z0-9_]*["']?[ \t]{0,4}[=:>])"
    R"(|[_-]pass["']?[ \t]{0,4}[=:>]|-pass[a-z]*[ \t]|[ \t]password[ \t]|sshpass[ \t]|authorization["']?[ \t]{0,4}[=:])"
    R"(|curl[ \t]|pass=|(?:mysql|mariadb)[a-z-]*[ \t]))";

// A name, the separator, and the value: in quotes, or up to a space.
constexpr char kPassword[] =
    R"((?i)(?:(?:passw(?:or)?d|passphrase|pwd)[a-z0-9_]*|[_-]pass)["']?([ \t]{0,4}(?:=>|:=|[=:>])[ \t]{0,4}))"
    R"(("[^"\r\n]{4,}"|'[^'\r\n]{4,}'|[^\s"'<>=:][^\s"'<>]{3,}))";
constexpr char kRandom[] =
    R"((?i)(?:secret|token|api_?-?key|access_?-?key|credential)[a-z0-9_]*["']?([ \t]{0,4}(?:=>|:=|[=:>])[ \t]{0,4}["']?))"
    R"(([A-Za-z0-9+/_.~-][A-Za-z0-9+/=_.~-]{11,}))";
// Options of commands, lines of .netrc, headers.
constexpr char kWord[] =
    R"((?i)(?:\B--?[a-z-]*pass(?:w(?:or)?d|phrase)?[ \t]+|\blogin[ \t]+\S+[ \t]+password[ \t]+|\bsshpass[ \t]+-p[ \t]*)"
    R"(|\bcurl\b[^\r\n]*[ \t](?:-u|--user)[ \t=]{0,4}["']?[^\s:"']+:)"
    R"(|authorization["']?[ \t]{0,4}[:=][ \t]{0,4}["']?(?:basic|bearer|token)[ \t]+)()([^\s"'<>-][^\s"'<>]{3,}))";

// `pass` alone is also a word of builds and tests: only a value that looks like a password is one.
constexpr char kPass[] = R"((?i)\bpass(=)([^\s"'<>&,;]{6,}))";
// For clients that take the password within the option.
constexpr char kClient[] =
    R"(\b(?i:mysql|mariadb)[a-z-]*\b[^\r\n|;&]*?[ \t]-p()["']?([^\s"'<>-][^\s"'<>]{3,}))";

// A placeholder for a secret.
bool is_stand_in(std::string_view value) {
  constexpr std::string_view kWords[] = {"changeme", "empty",  "example",  "false",    "hidden",   "missing",
                                         "none",     "null",   "optional", "password", "redacted", "required",
                                         "secret",   "string", "text",     "true",     "undefined"};
  std::string lower(value);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const bool one_letter = std::ranges::all_of(value, [&](char c) { return c == value.front(); });
  return one_letter || std::string_view("$%{*[(").find(value.front()) != std::string_view::npos ||
         std::ranges::find(kWords, lower) != std::end(kWords);
}

bool has_digit(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
}
bool has_letter(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char c) { return std::isalpha(c) != 0; });
}

struct Guarded {
  std::string_view between, value, behind;  // behind: the rest of the line
};

// Whether the value after a password's name is a password, and not a word of a sentence or of a program.
bool is_password(const Guarded& found) {
  std::string_view value = found.value;
  const bool quoted = value.front() == '"' || value.front() == '\'';
  if (quoted) value = value.substr(1, value.size() - 2);
  if (value.starts_with("<redacted:") || is_stand_in(value)) return false;
  if (quoted) return true;
  const auto end = value.find_last_not_of(",;)]}");
  const bool closed = end + 1 < value.size();
  value = value.substr(0, end + 1);
  if (value.size() < 4 || value.front() == '/' || value.find('(') != std::string_view::npos ||
      is_stand_in(value))
    return false;
  const bool is_name = std::ranges::all_of(
      value, [](unsigned char c) { return std::isalpha(c) != 0 || c == '_' || c == '.'; });
  if (is_name && (closed || value.find('.') != std::string_view::npos)) return false;
  const bool assigned = found.between == "=" || found.between == ">" || found.between.empty();
  const bool alone = found.behind.find_first_not_of(" \t\r") == std::string_view::npos;
  return assigned || alone || (!is_name && has_letter(value) && value.size() >= 6);
}

// Excludes counts and measures: 12/40, 1200ms.
bool is_password_of_pass(const Guarded& found) {
  return has_letter(found.value) && has_digit(found.value) && has_letter(found.value.substr(0, 1)) &&
         is_password(found);
}

// The same option of container tools names ports.
bool is_password_of_client(const Guarded& found) { return has_letter(found.value) && is_password(found); }

bool is_random_secret(const Guarded& found) {
  constexpr double kBitsLeast = 3.0;
  return has_digit(found.value) && has_letter(found.value) && !found.behind.starts_with('(') &&
         bits_per_byte(found.value) >= kBitsLeast;
}

// Finds the values after a name that `pattern` matches and `is` accepts. Skips the text of a mark that
// replaced a secret.
void find_behind(std::string_view text, const RE2& pattern, bool (*is)(const Guarded&), const char* kind,
                 std::vector<Found>& out) {
  re2::StringPiece rest(text.data(), text.size()), between, value;
  while (RE2::FindAndConsume(&rest, pattern, &between, &value)) {
    const auto offset = static_cast<std::size_t>(value.data() - text.data());
    constexpr std::size_t kMarkMax = 512;
    const auto before = text.substr(offset - std::min(offset, kMarkMax), std::min(offset, kMarkMax));
    const auto mark = before.rfind("<redacted:");
    if (mark != std::string_view::npos && before.find('>', mark) == std::string_view::npos) continue;
    const std::size_t end = offset + value.size();
    const auto behind = text.substr(end, text.substr(end).find('\n'));
    const std::size_t quote = value.starts_with("\"") || value.starts_with("'") ? 1 : 0;
    if (is({.between = {between.data(), between.size()},
            .value = {value.data(), value.size()},
            .behind = behind}))
      out.push_back({.kind = kind, .offset = offset + quote, .size = value.size() - 2 * quote});
  }
}

}  // namespace

std::string hint_pattern() { return hints_of_shapes() + "|" + kGuards; }

std::vector<std::string> beginnings() {
  std::vector<std::string> out = {"password", "PASSWORD"};
  for (const auto& shape : kShapes)
    for (std::string_view rest = shape.begins; !rest.empty();) {
      const auto end = std::min(rest.find('|'), rest.size());
      out.emplace_back(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
  return out;
}

std::vector<Found> find(std::string_view text) {
  static const RE2 hint(hints_of_shapes(), shape_options());
  if (!RE2::PartialMatch({text.data(), text.size()}, hint)) return {};
  static const Shapes shapes;
  return shapes.find(text);
}

std::vector<Found> find_random(std::string_view text) {
  // Without quotes excludes expressions that a program would compute: a path of names, a call.
  static const RE2 quoted(kAssignment + std::string(R"(["']([A-Za-z0-9+/=_.~-]{16,512})["'])"),
                          shape_options()),
      bare(kAssignment + std::string(R"(([A-Za-z0-9+/=_~-]{16,512})(?:[\s;,&]|$))"), shape_options());
  std::vector<Found> out;
  for (const RE2* pattern : {&quoted, &bare}) {
    re2::StringPiece rest(text.data(), text.size()), value;
    while (RE2::FindAndConsume(&rest, *pattern, &value))
      if (looks_random({value.data(), value.size()}))
        out.push_back({.kind = "random_value",
                       .offset = static_cast<std::size_t>(value.data() - text.data()),
                       .size = value.size()});
  }
  std::ranges::stable_sort(out, {}, &Found::offset);
  return out;
}

std::vector<Found> find_guarded(std::string_view text) {
  static const RE2 password(kPassword, shape_options()), random(kRandom, shape_options()),
      word(kWord, shape_options()), pass(kPass, shape_options()), client(kClient, shape_options());
  std::vector<Found> out;
  find_behind(text, password, is_password, "password", out);
  find_behind(text, word, is_password, "password", out);
  find_behind(text, pass, is_password_of_pass, "password", out);
  find_behind(text, client, is_password_of_client, "password", out);
  find_behind(text, random, is_random_secret, "random_value", out);
  return out;
}

std::vector<std::string> kinds() {
  std::vector<std::string> out;
  for (const auto& shape : kShapes) out.emplace_back(shape.kind);
  return out;
}

}  // namespace pawl::secrets
