#include "secrets/shapes.h"

#include <re2/re2.h>
#include <re2/set.h>

#include <algorithm>
#include <array>
#include <cctype>
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
  bool (*is)(std::string_view match) = nullptr;
};

// Whether `match`, SCHEME://USER:PASSWORD@, has a password and not a shell's variable or a port.
bool is_in_url(std::string_view match) {
  const auto user = match.find("://") + 3;
  const auto begin = match.find(':', user) + 1;
  const auto password = match.substr(begin, match.size() - 1 - begin);
  const auto of = [&](std::string_view bytes) {
    return password.find_first_not_of(bytes, 1) == password.npos;
  };
  constexpr std::size_t kLeast = 3;
  if (password.size() < kLeast) return false;
  if (password.starts_with('$') &&
      (of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") || of("abcdefghijklmnopqrstuvwxyz_")))
    return false;
  const auto digits = password.find_first_not_of("0123456789");
  return digits == 0 || digits == password.npos ||
         std::string_view("?#,").find(password[digits]) == password.npos;
}

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
    Shape{"google_oauth_secret", R"(GOCSPX-)", "GOCSPX-", R"(\bGOCSPX-[A-Za-z0-9_-]{20,})"},
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
    // The user may be empty. ${...} and $(...) are not passwords.
    Shape{"password_in_url", R"(://[^/\s:]*:[^/\s]+@)", "://",
          R"(\b[A-Za-z][A-Za-z0-9+.-]+://[^/\s:"'<>]*:(?:[^/\s"'<>$]|\$+[^{(/\s"'<>$])+\$*@)", is_in_url},
    // The whole key, in lines or escaped. Where its end is missing, as far as lines look like base64.
    Shape{
        "private_key", R"(-----BEGIN|---- BEGIN)", "-----BEGIN|---- BEGIN",
        R"((?:-----BEGIN (?:[A-Z0-9 ]* )?PRIVATE KEY(?: BLOCK)?-----|---- BEGIN SSH2 [A-Z ]*PRIVATE KEY ----))"
        R"((?:[A-Za-z0-9+/=\s\\:,.\"@-]*---(?:--END (?:[A-Z0-9 ]* )?PRIVATE KEY(?: BLOCK)?--|- END SSH2 [A-Z ]*PRIVATE KEY -)---)"
        R"(|(?:(?:\s|\\[rn])+[A-Za-z0-9+/=]{16,})*))"},
    Shape{"pypi_token", R"(pypi-[A-Za-z0-9_-]{3})", "pypi-", R"(\bpypi-[A-Za-z0-9_-]{32,})"},
    Shape{"sendgrid_key", R"(SG[.])", "SG.", R"(\bSG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{24,})"},
    Shape{"shopify_token", R"(shp(?:at|ca|pa|ss)_)", "shpat_|shpca_|shppa_|shpss_",
          R"(\bshp(?:at|ca|pa|ss)_[a-fA-F0-9]{24,}\b)"},
    Shape{"slack_token", R"(xox[a-z]-|xapp-[0-9])", "xox|xapp-",
          R"(\b(?:xox[abeoprs]-[A-Za-z0-9-]{10,}|xapp-[0-9]+-[A-Z0-9]{4,}-[0-9]+-[A-Fa-f0-9]{24,}))"},
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
        if (kShapes[at].is == nullptr || kShapes[at].is({match.data(), match.size()}))
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

}  // namespace

std::string hint_pattern() { return hints_of_shapes() + "|" + hint_of_guards(); }

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

std::vector<std::string> kinds() {
  std::vector<std::string> out;
  for (const auto& shape : kShapes) out.emplace_back(shape.kind);
  return out;
}

}  // namespace pawl::secrets
