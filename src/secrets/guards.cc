#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <memory>
#include <string_view>

#include "secrets/shapes.h"

namespace pawl::secrets {
namespace {

RE2::Options guard_options() {
  RE2::Options out;
  out.set_encoding(RE2::Options::EncodingLatin1);  // bytes: output need not be UTF-8
  out.set_log_errors(false);
  return out;
}

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

// The first search, in all text. Wherever a guard below matches, this does.
constexpr char kHints[] =
    R"((?i:(?:passw(?:or)?d|passphrase|pwd|secret|token|api_?-?key|access_?-?key|credential)[a-z0-9_]*["']?[ \t]{0,4}[=:>])"
    R"(|[_-]pass["']?[ \t]{0,4}[=:>]|-(?:src|dest)?(?:store|key)?pass[a-z]*["']?[ \t,])"
    R"(|-[a-z-]*pass(?:w(?:or)?d|phrase)["']?[ \t,]|(?m:^|[ \t])password[ \t]|sshpass[ \t])"
    R"(|<[^<>\s]*(?:passw(?:or)?d|passphrase|pwd)[a-z0-9_]*[ \t]|authorization["']?[ \t]{0,4}[=:])"
    R"(|(?:passw(?:or)?d|passphrase|pwd)["'][ \t]{0,2},?[ \t]{0,4}["']?value)"
    R"(|identified[ \t]|curl[ \t]|pass["']?[ \t]{0,4}[=:]|(?:mysql|mariadb)[a-z-]*[ \t]))";

constexpr std::size_t kValueMax = 2048;  // bytes; the redactor holds back as many
constexpr std::size_t kValueMin = 4;

bool alphanumeric_at(std::string_view text, std::size_t at) {
  return at < text.size() && std::isalnum(static_cast<unsigned char>(text[at])) != 0;
}
bool space_at(std::string_view text, std::size_t at) {
  return at >= text.size() || std::isspace(static_cast<unsigned char>(text[at])) != 0;
}
bool quote_at(std::string_view text, std::size_t at) {
  return at < text.size() && (text[at] == '"' || text[at] == '\'');
}

// Whether the value stands for a secret and is none: `changeme`, `$NAME`, `xxxx`.
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
  std::string_view between, value, behind;  // behind: the rest of the text
  bool quoted;
};

// A call, or a member by its name.
bool is_expression(std::string_view value) {
  return value.find('(') != std::string_view::npos || value.find("[\"") != std::string_view::npos ||
         value.find("['") != std::string_view::npos;
}

// Whether the value after a password's name is a password, and not a word of a sentence or of a program.
bool is_password(const Guarded& found) {
  std::string_view value = found.value;
  if (quote_at(value, 0)) value = value.substr(1, value.size() - (quote_at(value, value.size() - 1) ? 2 : 1));
  if (value.starts_with("<redacted:") || is_stand_in(value)) return false;
  if (found.quoted) return true;
  const auto end = value.find_last_not_of(",;)]}");
  const bool closed = end + 1 < value.size();
  value = value.substr(0, end + 1);
  if (value.size() < 4 || value.front() == '/' || is_expression(value) || is_stand_in(value)) return false;
  const bool is_name = std::ranges::all_of(
      value, [](unsigned char c) { return std::isalpha(c) != 0 || c == '_' || c == '.'; });
  if (is_name && (closed || value.find('.') != std::string_view::npos)) return false;
  const bool assigned = found.between == "=" || found.between == ">" || found.between.empty();
  const auto next = found.behind.find_first_not_of(" \t\r");
  const bool alone = next == std::string_view::npos || found.behind[next] == '\n';
  return assigned || alone || (!is_name && has_letter(value) && value.size() >= 6);
}

// Excludes counts and measures: 12/40, 1200ms.
bool is_password_of_pass(const Guarded& found) {
  return has_letter(found.value) && has_digit(found.value) && has_letter(found.value.substr(0, 1)) &&
         found.value.size() >= 6 && is_password(found);
}

// After an option, a value that begins like an option is one. A string that begins with a blank is the rest
// of a program's line.
bool is_password_of_option(const Guarded& found) {
  const auto value = found.value;
  const bool of_list = found.between == ",";
  if (value.substr(of_list ? 1 : 0).starts_with('-') || (quote_at(value, 0) && space_at(value, 1)))
    return false;
  const bool names_a_place =
      value.starts_with("env:") || value.starts_with("file:") || value.starts_with("fd:");
  return !names_a_place && is_password(found);
}

// For a line of .netrc, where a sentence may begin with the same word.
bool is_password_of_line(const Guarded& found) {
  constexpr std::string_view kNext[] = {"login ", "account ", "machine ", "macdef "};
  const auto next = std::min(found.behind.find_first_not_of(" \t\r"), found.behind.size());
  const auto behind = found.behind.substr(next);
  const bool ends = behind.empty() || behind.starts_with('\n') ||
                    std::ranges::any_of(kNext, [&](auto word) { return behind.starts_with(word); });
  return ends && found.value.size() >= 6 && has_digit(found.value) && has_letter(found.value) &&
         is_password(found);
}

// The same option of container tools names ports.
bool is_password_of_client(const Guarded& found) { return has_letter(found.value) && is_password(found); }

bool is_random_secret(const Guarded& found) {
  constexpr double kBitsLeast = 3.0;
  return has_digit(found.value) && has_letter(found.value) && !found.behind.starts_with('(') &&
         bits_per_byte(found.value) >= kBitsLeast;
}

// Reads a value as programs write it: in quotes, without, or in pieces of both that a shell puts together.
class Reader {
 public:
  Reader(std::string_view text, std::string_view stops) : text_(text.substr(0, kValueMax)), stops_(stops) {
    text_ = text_.substr(0, text_.find_first_of("\r\n"));
  }

  // The size of the value at the beginning of the text; 0: none.
  std::size_t word() const {
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

  // The size of the rest of a string that began before the text.
  std::size_t rest_of(char quote) const {
    std::size_t at = 0;
    while (at < text_.size() && text_[at] != quote) at += text_[at] == '\\' ? 2 : 1;
    return std::min(at, text_.size());
  }

  // The size of the text of an element, before its end.
  std::size_t element() const {
    const auto end = text_.find('<');
    return end != std::string_view::npos && text_.substr(end).starts_with("</") ? end : 0;
  }

 private:
  // The size of the string at `at`; 0: it has no end.
  std::size_t quoted(std::size_t at) const {
    for (std::size_t end = at + 1; end < text_.size(); ++end) {
      if (text_[end] == text_[at]) return end + 1 - at;
      // A shell's string in ' may end in a backslash.
      if (text_[end] == '\\' && (text_[at] == '"' || alphanumeric_at(text_, end + 2))) ++end;
    }
    return 0;
  }

  // The size of what continues the value at `at`.
  std::size_t step(std::size_t at, bool behind_quote) const {
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

  std::string_view text_, stops_;
};

enum class Form { kWord, kString, kElement };

// The groups of `pattern`: what is between name and value, a quote that the value begins with, a quote that
// began before the value. Without the second, the value begins behind the match.
struct Guard {
  const char* pattern;
  bool (*is)(const Guarded&);
  Form form = Form::kWord;
  const char* stops = "";  // bytes that end a value without quotes
};

struct Extent {
  std::size_t begin, size;  // with its quotes
  char open;                // a quote before it, or 0
};

Extent value_of(std::string_view text, const Guard& guard, const std::array<re2::StringPiece, 4>& groups) {
  const auto offset = [&](const char* at) { return static_cast<std::size_t>(at - text.data()); };
  const auto& [match, between, quote, open] = groups;
  Extent out{.begin = offset(quote.empty() ? match.data() + match.size() : quote.data()),
             .size = 0,
             .open = open.empty() ? '\0' : open[0]};
  const auto rest = text.substr(out.begin);
  const Reader reader(rest, between == ">" ? "<" : guard.stops);
  if (guard.form == Form::kElement)
    out.size = reader.element();
  else if (out.open != 0)
    out.size = reader.rest_of(out.open);
  else if (quote_at(rest, 0) || (guard.form == Form::kWord && !rest.empty() &&
                                 std::string_view("=:<>").find(rest.front()) == std::string_view::npos))
    out.size = reader.word();
  return out;
}

// Skips the text of a mark that replaced a secret.
bool is_in_mark(std::string_view text, std::size_t offset) {
  constexpr std::size_t kMarkMax = 512;
  const auto before = text.substr(offset - std::min(offset, kMarkMax), std::min(offset, kMarkMax));
  const auto mark = before.rfind("<redacted:");
  return mark != std::string_view::npos && before.find('>', mark) == std::string_view::npos;
}

// Finds the values after a name that the guard's pattern matches, and that it accepts.
void find_behind(std::string_view text, const RE2& pattern, const Guard& guard, std::vector<Found>& out) {
  // A value that is none may contain a name. A long one is not read twice.
  constexpr std::size_t kAgainMax = 256;
  const re2::StringPiece whole(text.data(), text.size());
  std::array<re2::StringPiece, 4> groups;
  for (std::size_t at = 0; pattern.Match(whole, at, text.size(), RE2::UNANCHORED, groups.data(), 4);) {
    Extent value = value_of(text, guard, groups);
    at = value.begin;
    if (value.size == 0 || is_in_mark(text, value.begin)) continue;
    const std::size_t end = value.begin + value.size;
    const bool quoted = value.open == 0 && quote_at(text, value.begin);
    const Guarded found{.between = {groups[1].data(), groups[1].size()},
                        .value = text.substr(value.begin, value.size),
                        .behind = text.substr(end),
                        .quoted = quoted || value.open != 0 || guard.form == Form::kElement};
    const std::size_t closing = quoted && value.size > 1 && quote_at(text, end - 1) ? 1 : 0;
    if (value.size < kValueMin + closing + (quoted ? 1 : 0) || !guard.is(found)) {
      if (value.size > kAgainMax) at = end;
      continue;
    }
    out.push_back({.kind = "password",
                   .offset = value.begin + (quoted ? 1 : 0),
                   .size = value.size - closing - (quoted ? 1 : 0)});
    at = end;
  }
}

constexpr Guard kGuards[] = {
    // A name, the separator, and the value. Before a string: the bracket of a list, a prefix of Python.
    {R"((?i)(?:(?:passw(?:or)?d|passphrase|pwd)[a-z0-9_]*|[_-]pass)"
     R"(|\b(?:admin|app|auth|db|enc|ftp|git|http|key|ldap|login|mail|my|mysql|pg|proxy|redis|root|smtp|sql|ssh|store|user|vnc)pass))"
     R"(["']?([ \t]{0,4}(?:=>|:=|[=:>])[ \t]{0,4})(?:\[?[ \t]?[rbuf]{0,2}(["']))?)",
     is_password},
    // Options of commands, lines of .netrc, headers.
    {R"((?i)(?:\B-pass(?:in|out)?[ \t]+["']?pass:)"
     R"(|\B--?(?:[a-z-]*pass(?:w(?:or)?d|phrase)?|(?:src|dest)?(?:store|key)pass)[ \t]+)"
     R"(|\b(?:login|machine)[ \t]+\S+[ \t]+(?:account[ \t]+\S+[ \t]+)?password[ \t]+)"
     R"(|\bsshpass[ \t]+(?:-[a-z]+[ \t]+)*?-p[ \t]*))",
     is_password_of_option},
    {R"((?i)\B--?(?:[a-z-]*pass(?:w(?:or)?d|phrase)?|(?:src|dest)?(?:store|key)pass)["'][ \t]{0,2}(,)[ \t]{0,4}(["']))",
     is_password_of_option},
    {R"((?i)authorization["']?[ \t]{0,4}(?:=>|:=|[:=])[ \t]{0,4}\[?()()(["']?)(?:basic|bearer|token)[ \t]+)",
     is_password_of_option},
    {R"((?im)^[ \t]*password()[ \t]+)", is_password_of_line},
    {R"((?i)<[a-z0-9:._-]*(?:passw(?:or)?d|passphrase|pwd)[a-z0-9_]*(?:[ \t][^<>\r\n]*[^<>/\r\n])?(>))",
     is_password, Form::kElement},
    {R"((?i)\b(?:name|key|id)["']?[ \t]{0,2}[=:][ \t]{0,2}["'][^"'\r\n]{0,64}(?:passw(?:or)?d|passphrase|pwd)["'])"
     R"([ \t]{0,2},?[ \t]{0,4}["']?value["']?[ \t]{0,2}([=:])[ \t]{0,2})",
     is_password, Form::kString},
    {R"((?i)(?:\bidentified[ \t]+(?:with[ \t]+\S+[ \t]+)?(?:by|as)[ \t]+(?:password[ \t]+)?)"
     R"(|\b(?:with|encrypted|user[ \t]+\S+)[ \t]+password[ \t]+)"
     R"(|\bset[ \t]+password[ \t]+(?:for[ \t]+\S+[ \t]*)?=[ \t]*(?:password[ \t]*\()?))",
     is_password_of_option, Form::kString},
    // `pass` alone is also a word of builds and tests: only a value that looks like a password is one.
    {R"((?i)\bpass(=))", is_password_of_pass, Form::kWord, "&,;"},
    // For clients that take the password within the option.
    {R"(\b(?i:mysql|mariadb)[a-z-]*\b[^\r\n|;&]*?[ \t]-p)", is_password_of_client},
};

// In the arguments of curl: USER:PASSWORD, in one string or not.
constexpr Guard kOfCurl[] = {
    {R"([ \t](?:-[sSfLkviIgGjJNqaORZ#0-9]{0,8}[uU]|--user|--proxy-user)[ \t=]{0,4}()()(["'])[^:"'\r\n]+:)",
     is_password},
    {R"([ \t](?:-[sSfLkviIgGjJNqaORZ#0-9]{0,8}[uU]|--user|--proxy-user)[ \t=]{0,4}(?:["'][^:"'\r\n]+["']|[^\s:"']+):)",
     is_password},
};

constexpr char kRandom[] =
    R"((?i)(?:secret|token|api_?-?key|access_?-?key|credential)[a-z0-9_]*["']?([ \t]{0,4}(?:=>|:=|[=:>])[ \t]{0,4}["']?))"
    R"(([A-Za-z0-9+/_.~-][A-Za-z0-9+/=_.~-]{11,}))";

void find_random_guarded(std::string_view text, std::vector<Found>& out) {
  static const RE2 random(kRandom, guard_options());
  re2::StringPiece rest(text.data(), text.size()), between, value;
  while (RE2::FindAndConsume(&rest, random, &between, &value)) {
    const auto offset = static_cast<std::size_t>(value.data() - text.data());
    if (!is_in_mark(text, offset) && is_random_secret({.between = {between.data(), between.size()},
                                                       .value = {value.data(), value.size()},
                                                       .behind = text.substr(offset + value.size()),
                                                       .quoted = false}))
      out.push_back({.kind = "random_value", .offset = offset, .size = value.size()});
  }
}

// The patterns of the guards, each compiled once.
template <std::size_t kCount>
std::vector<std::unique_ptr<const RE2>> compiled(const Guard (&guards)[kCount]) {
  std::vector<std::unique_ptr<const RE2>> out;
  for (const auto& guard : guards) out.push_back(std::make_unique<const RE2>(guard.pattern, guard_options()));
  return out;
}

}  // namespace

std::string hint_of_guards() { return kHints; }

std::vector<Found> find_random(std::string_view text) {
  // Without quotes excludes expressions that a program would compute: a path of names, a call.
  static const RE2 quoted(kAssignment + std::string(R"(["']([A-Za-z0-9+/=_.~-]{16,512})["'])"),
                          guard_options()),
      bare(kAssignment + std::string(R"(([A-Za-z0-9+/=_~-]{16,512})(?:[\s;,&]|$))"), guard_options());
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
  static const auto patterns = compiled(kGuards), of_curl = compiled(kOfCurl);
  static const RE2 curl(R"((?i)\bcurl[ \t])", guard_options());
  std::vector<Found> out;
  for (std::size_t i = 0; i < patterns.size(); ++i) find_behind(text, *patterns[i], kGuards[i], out);
  if (RE2::PartialMatch({text.data(), text.size()}, curl))
    for (std::size_t i = 0; i < of_curl.size(); ++i) find_behind(text, *of_curl[i], kOfCurl[i], out);
  find_random_guarded(text, out);
  return out;
}

}  // namespace pawl::secrets
