#include "secrets/values.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <string>

#include "base/hash.h"
#include "base/lines.h"

namespace pawl::secrets {
namespace {

constexpr std::size_t kValueMax = 2048;  // bytes; the redactor holds back as many
constexpr std::size_t kGuessedMin = 6;   // bytes of a value that only looks like a password

bool alphanumeric_at(std::string_view text, std::size_t at) {
  return at < text.size() && std::isalnum(static_cast<unsigned char>(text[at])) != 0;
}
bool space_at(std::string_view text, std::size_t at) {
  return at >= text.size() || std::isspace(static_cast<unsigned char>(text[at])) != 0;
}

// Whether a shell or a template would put another value here: `$NAME`, `${NAME}`, `$HOME/x`, `$(command)`, `$1`.
// Not so hashes of passwords (`$2b$12$...`), and names with signs that end none (`$ecret!1`).
bool is_reference(std::string_view value) {
  const auto is_of_name = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  if (!value.starts_with('$')) return std::string_view("%{*[(").find(value.front()) != std::string_view::npos;
  const auto rest = value.substr(1);
  const auto* const end = std::ranges::find_if_not(rest, is_of_name);
  const auto name = rest.substr(0, static_cast<std::size_t>(end - rest.begin()));
  const auto behind = rest.substr(name.size());
  if (name.empty()) return true;
  constexpr std::string_view kHashes[] = {"apr1", "argon2d", "argon2i", "argon2id", "bcrypt", "gy",
                                          "md5",  "pbkdf2",  "scrypt",  "sha1",     "y"};
  const bool is_hash = std::isdigit(static_cast<unsigned char>(name.front())) != 0 ||
                       std::ranges::find(kHashes, name) != std::end(kHashes);
  if (is_hash && behind.starts_with('$') && behind.size() > kGuessedMin) return false;
  return behind.empty() || std::string_view("!#^*+~=").find(behind.front()) == std::string_view::npos;
}

// Whether the value stands for a secret and is none: `changeme`, `$NAME`, `xxxx`.
bool is_stand_in(std::string_view value) {
  constexpr std::string_view kWords[] = {
      "boolean",  "bytes",     "changeme", "empty",  "example", "failed",   "false",    "hidden",
      "invalid",  "incorrect", "missing",  "none",   "null",    "optional", "passed",   "password",
      "redacted", "required",  "secret",   "string", "text",    "true",     "undefined"};
  std::string lower(value);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  const bool one_letter = std::ranges::all_of(value, [&](char c) { return c == value.front(); });
  return one_letter || is_reference(value) || std::ranges::find(kWords, lower) != std::end(kWords);
}

// A call, or a member by its name.
bool is_expression(std::string_view value) {
  return value.find('(') != std::string_view::npos || value.find("[\"") != std::string_view::npos ||
         value.find("['") != std::string_view::npos;
}

// The value without its quotes.
std::string_view plain(std::string_view value) {
  if (!quote_at(value, 0)) return value;
  return value.substr(1, value.size() - (value.size() > 1 && quote_at(value, value.size() - 1) ? 2 : 1));
}

bool looks_like_password(std::string_view value) {
  return has_letter(value) && has_digit(value) && value.size() >= kGuessedMin;
}

bool ends_its_line(const Guarded& found) {
  const auto next = found.behind.find_first_not_of(" \t\r");
  if (next == std::string_view::npos || found.behind[next] == '\n') return true;
  return next > 0 && found.behind[next] == '#';  // a comment
}

// Comparisons, members and signatures have these joints, too.
bool is_of_programs(std::string_view joint) {
  return joint.find("==") != std::string_view::npos || joint.find("->") != std::string_view::npos;
}

bool is_assignment(std::string_view joint) {
  return joint.empty() || joint == ">" ||
         (joint.find_first_of(" \t") == std::string_view::npos && joint.find('=') != std::string_view::npos);
}

// Whether the key names a property of passwords, or a place: PASSWORD_MIN_LENGTH, password_file, PasswordHasher.
bool is_key_of_property(std::string_view name) {
  static const RE2 property(R"((?i:passw(?:or)?d)s?(?:[A-Za-z0-9_]*_)?)"
                            R"((?i:reset|min|max|length|policy|file|path|field|hasher|manager|timeout|url))"
                            R"(s?(?:$|[^A-Za-z0-9]|[A-Z][a-z]))");
  return RE2::PartialMatch({name.data(), name.size()}, property);
}

// Shells name the folder in PWD. A list of settings, `;PWD=x`, does not.
bool is_folder(const Guarded& found) {
  if (found.name == "PWD" || found.name == "OLDPWD") return !looks_like_password(plain(found.value));
  const bool is_command = found.name == "pwd" && found.between.find('=') == std::string_view::npos;
  return is_command && !found.quoted && !looks_like_password(found.value);
}

// Whether the value after `: ` is the type of a parameter or of a field.
bool is_type(const Guarded& found) {
  static const RE2 generic(
      R"(^&?(?:[A-Z][A-Za-z]*|[a-z_]+(?:\.|::)[A-Za-z_.:]+|dict|list|set|tuple|type|str|bytes)(?:\[.*\][,;:)?]*$|<[A-Za-z&]))"),
      name(R"(^(?:[A-Z][A-Za-z]*|str|bytes)$)"),
      known(R"(^[A-Za-z]*(?:Str|String|Bytes|Text|CharSequence)[,;)]*$)");
  const re2::StringPiece value(found.value.data(), found.value.size());
  if (found.between.find(':') == std::string_view::npos || found.between.find('=') != std::string_view::npos)
    return false;
  if (RE2::PartialMatch(value, generic))
    return found.value.find('<') == std::string_view::npos ||
           first_line(found.behind).find('>') != std::string_view::npos;
  return RE2::PartialMatch(value, known) ||
         (RE2::PartialMatch(value, name) && found.behind.starts_with(" = "));
}

// Whether the value names a pass of a compiler or a test: words, each with a number at most.
bool is_name_of_work(const Guarded& found) {
  static const RE2 words(R"(^[a-z]+[0-9]{0,2}(?:[-/._]+[a-z]+[0-9]{0,2})+$)");
  return !found.quoted && found.between.find('=') == std::string_view::npos &&
         RE2::PartialMatch({found.value.data(), found.value.size()}, words);
}

// Whether `closing` ends a setting whose value is `value`, and not an expression of a program: a statement of a
// shell, a list of settings, a mapping of YAML in braces.
bool closes_setting(const Guarded& found, std::string_view value, std::string_view closing) {
  static const RE2 next_key(R"(^[ \t]+[a-z0-9_-]+: )");
  constexpr std::size_t kWordMin = 8;  // programs have shorter names
  if (closing == ";")
    return is_assignment(found.between) &&
           (found.name.starts_with(';') || !ends_its_line(found) ||
            std::ranges::none_of(found.name, [](unsigned char c) { return std::islower(c) != 0; }));
  const re2::StringPiece behind(found.behind.data(), found.behind.size());
  const bool in_braces = closing.find_first_not_of('}') == std::string_view::npos ||
                         (closing == "," && RE2::PartialMatch(behind, next_key));
  if (!in_braces || found.between.find(':') == std::string_view::npos) return false;
  // A program has the name of a field in quotes.
  if (found.name.ends_with("value")) return found.name.find_first_of("\"'") == std::string_view::npos;
  return value.size() >= kWordMin &&
         std::ranges::all_of(value, [](unsigned char c) { return std::islower(c) != 0; });
}

// Whether the value is a name of a program, made of the key's word: password2, old_password1.
bool is_name_of_password(std::string_view value) {
  static const RE2 name(R"((?i)^(?:[a-z]+_)*(?:passw(?:or)?d|passphrase|pwd|pass)_?[0-9]$)");
  return RE2::PartialMatch({value.data(), value.size()}, name);
}

// Whether the word may be one of a passphrase. A sentence about passwords has at least one of the others.
bool is_word_of_passphrase(std::string_view word) {
  static const RE2 of_sentences(
      "^(?:a|an|and|are|as|at|be|been|but|by|can|cannot|changed?|characters?|check|confirm|default|do|does|"
      "email|empty"
      "|encrypted|enter|entered|error|expired|failed|field|file|for|form|from|get|given|has|hash|hashed|"
      "hashing|have"
      "|if|in|input|invalid|is|it|its|least|length|login|long|manager|match|matches|may|missing|more|must|"
      "needs?|new"
      "|no|not|of|ok|old|on|only|option|optional|or|page|passwords?|passed|please|policy|prompt|protected|"
      "provided"
      "|required|requires|reset|same|saved|secret|sent|set|should|stored|string|strength|tests?|text|than|"
      "that|the"
      "|then|this|to|too|type|updated|used?|users?|username|uses|using|validation|value|was|when|will|with|"
      "without"
      "|wrong|you|your)$");
  const bool is_plain =
      std::ranges::all_of(word, [](unsigned char c) { return std::islower(c) != 0 || std::isdigit(c) != 0; });
  return is_plain && word.size() > 1 && has_letter(word) &&
         !RE2::PartialMatch({word.data(), word.size()}, of_sentences);
}

}  // namespace

bool quote_at(std::string_view text, std::size_t at) {
  return at < text.size() && (text[at] == '"' || text[at] == '\'');
}
bool has_digit(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char c) { return std::isdigit(c) != 0; });
}
bool has_letter(std::string_view text) {
  return std::ranges::any_of(text, [](unsigned char c) { return std::isalpha(c) != 0; });
}

double bits_per_byte(std::string_view text) {
  std::array<double, 256> counts{};
  for (const char c : text) ++counts[static_cast<unsigned char>(c)];
  double bits = 0;
  for (const double count : counts)
    if (count > 0)
      bits -= count / static_cast<double>(text.size()) * std::log2(count / static_cast<double>(text.size()));
  return bits;
}

bool is_password(const Guarded& found) {
  std::string_view value = plain(found.value);
  if (value.empty() || value.starts_with("<redacted:") || is_stand_in(value)) return false;
  if (is_key_of_property(found.name) || is_folder(found)) return false;
  if (found.quoted) return true;
  if (is_type(found)) return false;
  const auto end = value.find_last_not_of(",;:)]}");
  const bool closed = end + 1 < value.size();
  value = value.substr(0, end + 1);
  if (value.size() < kValueMin || value.front() == '/' || is_expression(value) || is_stand_in(value))
    return false;
  const bool is_name = std::ranges::all_of(
      value, [](unsigned char c) { return std::isalpha(c) != 0 || c == '_' || c == '.'; });
  const auto next = found.behind.find_first_not_of(" \t");
  const bool in_spaced_braces = next != std::string_view::npos && found.behind[next] == '}';
  const auto closing = closed             ? plain(found.value).substr(end + 1)
                       : in_spaced_braces ? found.behind.substr(next, 1)
                                          : std::string_view();
  if (is_name && !closing.empty() && closes_setting(found, value, closing)) return true;
  if (is_name && (closed || value.find('.') != std::string_view::npos)) return false;
  if ((closed || !is_assignment(found.between)) && is_name_of_password(value)) return false;
  if (is_of_programs(found.between) || (found.name.ends_with(']') && !is_assignment(found.between)))
    return looks_like_password(value);
  return is_assignment(found.between) || ends_its_line(found) ||
         (!is_name && has_letter(value) && value.size() >= kGuessedMin);
}

// Excludes counts and measures: 12/40, 1200ms; and what builds and tests name: `PASS: test_2`.
bool is_password_of_pass(const Guarded& found) {
  const auto value = plain(found.value);
  const bool is_result = found.name.starts_with("PASS") &&
                         found.between.find(':') != std::string_view::npos &&
                         found.between.find('=') == std::string_view::npos;
  const bool is_count = !found.quoted && !has_letter(value.substr(0, 1)) && !value.starts_with('$');
  return !is_result && !is_count && !is_name_of_work(found) && looks_like_password(value) &&
         is_password(found);
}

// After an option, a value that begins like an option is one. A string that begins with a blank is the rest
// of a program's line.
bool is_password_of_option(const Guarded& found) {
  const auto value = found.value;
  // `-pass` has a number or a name after it, in other programs than openssl.
  const bool is_name = found.name.starts_with("--no-") ||
                       (found.name == "-pass " && !found.quoted && !looks_like_password(value));
  if (is_name) return false;
  const bool of_list = found.between == ",";
  if (value.substr(of_list ? 1 : 0).starts_with('-') || (quote_at(value, 0) && space_at(value, 1)))
    return false;
  const bool names_a_place =
      value.starts_with("env:") || value.starts_with("file:") || value.starts_with("fd:");
  return !names_a_place && is_password(found);
}

bool is_password_of_word(const Guarded& found) {
  return (found.quoted || ends_its_line(found) || looks_like_password(found.value)) &&
         is_password_of_option(found);
}

bool is_password_of_line(const Guarded& found) {
  constexpr std::string_view kNext[] = {"login ", "account ", "machine ", "macdef "};
  const auto next = std::min(found.behind.find_first_not_of(" \t\r"), found.behind.size());
  const auto behind = found.behind.substr(next);
  const bool ends = behind.empty() || behind.starts_with('\n') ||
                    std::ranges::any_of(kNext, [&](auto word) { return behind.starts_with(word); });
  return ends && looks_like_password(found.value) && is_password(found);
}

bool is_password_of_client(const Guarded& found) { return has_letter(found.value) && is_password(found); }

bool is_password_of_block(const Guarded& found) { return ends_its_line(found) && is_password(found); }

// A key of YAML has other keys and sentences below it, too.
bool is_password_of_next_line(const Guarded& found) {
  return ends_its_line(found) && (found.quoted || looks_like_password(found.value)) &&
         plain(found.value).find(':') == std::string_view::npos && is_password(found);
}

// Compilers and searches print such lines, too: FILE:LINE:a:b:c.
bool is_password_of_pgpass(const Guarded& found) {
  return ends_its_line(found) && looks_like_password(found.value) && is_password(found);
}

// Excludes the fields of an option: id=x,src=y.
bool is_token(const Guarded& found) {
  const auto value = plain(found.value);
  const auto field = value.find('=');
  const bool has_fields =
      field != std::string_view::npos && value.find_first_not_of('=', field) != std::string_view::npos;
  return !has_fields && value.find_first_of(" \t") == std::string_view::npos && looks_like_password(value) &&
         is_password_of_option(found);
}

bool is_password_of_text(const Guarded& found) {
  const auto value = plain(found.value);
  if (value.empty()) return false;
  const bool is_label = std::isupper(static_cast<unsigned char>(value.front())) != 0 && !has_digit(value);
  return !is_label && value.find_first_of(" \t") == std::string_view::npos && is_password(found);
}

bool is_password_of_pair(const Guarded& found) {
  // Names of fields and of algorithms: sha256, email2, user_id1.
  static const RE2 name(
      R"((?i)^(?:(?:sha|md|base|utf|aes|rsa|oauth|argon|ipv|http|email|address|line|field|user|test|arg|param|value|key|item|col|input|page|step)[a-z]*[_-]?[0-9]+)"
      R"(|[a-z]+(?:[_-][a-z]+)+[_-]?[0-9]*)$)");
  const auto value = plain(found.value);
  const auto next = std::min(found.behind.find_first_not_of(" \t"), found.behind.size());
  const auto behind = found.behind.substr(next);
  const bool is_pair =
      !behind.empty() && std::string_view(")]}").find(behind.front()) != std::string_view::npos;
  return is_pair && found.quoted && looks_like_password(value) &&
         value.find_first_of(" \t") == std::string_view::npos && !is_name_of_password(value) &&
         !RE2::PartialMatch({value.data(), value.size()}, name) && is_password(found);
}

bool is_passphrase(const Guarded& found) {
  constexpr std::size_t kWordsMin = 4, kWordsOfSettingMin = 3;
  const bool is_setting = found.between == "=" && std::ranges::none_of(found.name, [](unsigned char c) {
                            return std::islower(c) != 0;
                          });
  std::size_t words = 0;
  for (std::string_view rest = found.value; !rest.empty(); ++words) {
    const auto word = rest.substr(0, rest.find_first_of(" \t"));
    if (!is_word_of_passphrase(word)) return false;
    rest.remove_prefix(std::min(rest.find_first_not_of(" \t", word.size()), rest.size()));
  }
  return words >= (is_setting ? kWordsOfSettingMin : kWordsMin) && !is_key_of_property(found.name);
}

bool is_short_secret(const Guarded& found) {
  constexpr std::size_t kRandomMin = 12;  // longer values are found where they look random
  const auto value = plain(found.value);
  // A number, a version, a region of a cloud, an algorithm, a place.
  static const RE2 other(
      R"((?i)^(?:0x.*|v?[0-9]+(?:\.[0-9]+)+|[a-z]{2}-[a-z]+-[0-9]|(?:hs|rs|es|sha|aes)-?[0-9]{3}|.*/.*|changeme[0-9]+)$)");
  return !RE2::FullMatch({value.data(), value.size()}, other) && value.size() < kRandomMin &&
         has_letter(value) && has_digit(value) && is_password(found);
}

bool is_secret_of_query(const Guarded& found) {
  constexpr std::size_t kHexMin = 32;
  constexpr double kBitsOfHex = 3.0, kBits = 3.5;
  const auto value = found.value;
  const auto has = [&](int (*is)(int)) {
    return std::ranges::any_of(value, [&](unsigned char c) { return is(c) != 0; });
  };
  const bool is_hex = std::ranges::all_of(value, [](char c) { return hex_digit(c) >= 0; });
  if (is_hex) return value.size() >= kHexMin && bits_per_byte(value) >= kBitsOfHex;
  return has(std::isdigit) && has(std::isupper) && has(std::islower) && bits_per_byte(value) >= kBits;
}

ValueReader::ValueReader(std::string_view text, std::string_view stops)
    : text_(text.substr(0, kValueMax)), stops_(stops) {
  text_ = text_.substr(0, text_.find_first_of("\r\n"));
}

std::size_t ValueReader::word() const {
  std::size_t at = 0;
  if (quote_at(text_, 0)) {
    at = quoted(0);
    // A line that is cut has no closing quote.
    if (at == 0) return text_.find_first_of(" \t") == std::string_view::npos ? text_.size() : 0;
  }
  while (at < text_.size()) {
    const std::size_t size = step(at, at > 0 && quote_at(text_, at - 1));
    if (size == 0) break;
    at += size;
  }
  return at;
}

std::size_t ValueReader::rest_of(char quote) const {
  std::size_t at = 0;
  while (at < text_.size() && text_[at] != quote) at += text_[at] == '\\' ? 2 : 1;
  return std::min(at, text_.size());
}

std::size_t ValueReader::element() const {
  const auto end = text_.find('<');
  return end != std::string_view::npos && text_.substr(end).starts_with("</") ? end : 0;
}

std::size_t ValueReader::line() const { return std::min(text_.find_first_of("\"'"), text_.size()); }

// The size of the string at `at`; 0: it has no end.
std::size_t ValueReader::quoted(std::size_t at) const {
  for (std::size_t end = at + 1; end < text_.size(); ++end) {
    if (text_[end] == text_[at]) return end + 1 - at;
    // A shell's string in ' may end in a backslash.
    if (text_[end] == '\\' && (text_[at] == '"' || alphanumeric_at(text_, end + 2))) ++end;
  }
  return 0;
}

// The size of what continues the value at `at`.
std::size_t ValueReader::step(std::size_t at, bool behind_quote) const {
  const char c = text_[at];
  if (space_at(text_, at) || c == '>' || stops_.find(c) != std::string_view::npos) return 0;
  if (quote_at(text_, at)) {
    const bool is_empty = quote_at(text_, at + 1) && alphanumeric_at(text_, at + 2);
    if (is_empty) return 2;
    const bool opens = alphanumeric_at(text_, at + 1) || (behind_quote && quote_at(text_, at + 1));
    return opens ? std::max<std::size_t>(quoted(at), alphanumeric_at(text_, at + 1) ? 1 : 0) : 0;
  }
  if (c == '\\' && quote_at(text_, at + 1))
    return alphanumeric_at(text_, at + 2) || quote_at(text_, at + 2) ? 2 : 0;
  if (c == '\\' && !space_at(text_, at + 2) && space_at(text_, at + 1)) return 2;
  if (behind_quote) return alphanumeric_at(text_, at) ? 1 : 0;
  if (c == '<' && (text_.substr(at).starts_with("<redacted:") || !alphanumeric_at(text_, at + 1))) return 0;
  return 1;
}

}  // namespace pawl::secrets
