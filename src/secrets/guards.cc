#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <memory>
#include <string>
#include <string_view>

#include "base/hash.h"
#include "secrets/shapes.h"
#include "secrets/values.h"

namespace pawl::secrets {
namespace {

RE2::Options guard_options() {
  RE2::Options out;
  out.set_encoding(RE2::Options::EncodingLatin1);  // bytes: output need not be UTF-8
  out.set_log_errors(false);
  return out;
}

bool looks_random(std::string_view value) {
  // 16 random hexadecimal digits have about 3.2 bits, 20 digits of base64 about 4. Words and paths of that
  // length have fewer.
  constexpr double kBitsOfHex = 3.0, kBits = 3.7;
  const bool hex = std::ranges::all_of(value, [](char c) { return hex_digit(c) >= 0; });
  const bool digit = std::ranges::any_of(value, [](char c) { return c >= '0' && c <= '9'; });
  return digit && bits_per_byte(value) >= (hex ? kBitsOfHex : kBits);
}

// For people and verdicts: the name and the assignment before a value in a source file.
constexpr char kAssignment[] =
    R"((?i)(?:secret|token|passw(?:or)?d|api_?key|access_?key|auth|credential)[a-z0-9_]{0,32}["']?\]?\s*(?:[:=]|=>|:=)\s*)";

// A key that names a secret, a joint, and a value: each guard below puts them together in one way.
constexpr char kPassword[] = R"((?:passw(?:or)?d|passphrase|pwd)[a-z0-9_]*)";
constexpr char kOtherPassword[] =
    R"((?:[_-](?:pass|pw)|requirepass|masterauth|rediscli_auth|)"
    R"(\b(?:admin|app|auth|db|enc|ftp|git|http|key|ldap|login|mail|my|mysql|pg|proxy|redis|root|smtp|sql|ssh|store|user|vnc)pass))";
constexpr char kToken[] = R"((?:secret|token|api_?-?key|access_?-?key|credential)[a-z0-9_]*)";
constexpr char kJoint[] = R"([ \t]*(?:==|=>|->|[+?:]?=|[:>])[ \t]*)";
// The end of a key in quotes, or of one in the brackets of a member.
constexpr char kKeyEnds[] = R"(["']?\]?)";
constexpr char kOption[] = R"(\B--?(?:[a-z-]*pass(?:w(?:or)?d|phrase)?|(?:src|dest)?(?:store|key)pass|pw))";
constexpr char kTokenOption[] = R"(\B--?[a-z-]*(?:token|secret|api-?key|access-?key))";
// A block of YAML, or a name in a list of names and values: the value stands in the next line.
constexpr char kBlock[] = R"(["']?[ \t]*:[ \t]*[|>][0-9+-]*[ \t]*(?:#[^\r\n]*)?)";
constexpr char kNamed[] = R"(\b(?:name|key|id)["']?[ \t]*[=:][ \t]*["']?[a-z0-9_. /-]*)";
constexpr char kNameEnds[] = R"(["']?[ \t]*,?[ \t]*)";
constexpr char kNextLine[] = R"(\r?\n[ \t]+)";
// The key in an element of its own, and the value in the next one: lists of properties of macOS and Hadoop.
constexpr char kKeyElement[] = R"(<(?:key|name)>[^<>\r\n]*)";
constexpr char kKeyElementEnds[] = R"([ ]?</(?:key|name)>[ \t]*)";
constexpr char kValueElement[] = R"((?:\r?\n[ \t]*)?<(?:string|value))";
constexpr char kAttributes[] = R"((?:[ \t]+[a-z_:.-]+[ \t]*=[ \t]*(?:"[^"<>\r\n]*"|'[^'<>\r\n]*'))*?)";
// The key is the first of two members of a list: `("password", "x")`, `[:password, "x"]`.
constexpr char kFirstOfPair[] = R"([\[({][ \t]*(?:["'][a-z0-9_. -]*|:[a-z0-9_]*))";
constexpr char kFirstEnds[] = R"(["']?[ \t]*,[ \t]*)";
constexpr char kLineEnds[] = R"(["']?[ \t]*:[ \t]*(?:#[^\r\n]*)?)";
// See is_empty_line().
const std::string kEmptyLines = R"((?:[ \t]*(?:#[^\r\n]*)?\r?\n){0,)" + std::to_string(kEmptyLinesMax) + "}";

std::string any_of(std::initializer_list<std::string_view> patterns) {
  std::string out;
  for (const auto pattern : patterns) (out += out.empty() ? "(?:" : "|") += pattern;
  return out + ")";
}

const std::string& any_password() {
  static const std::string out = any_of({kPassword, kOtherPassword, R"(\bpass|\bpw)"});
  return out;
}

// A name in a list, up to its value.
std::string pair_of(const std::string& key) {
  return kNamed + key + kNameEnds + R"((?:(?:#[^\r\n]*)?\r?\n)" + kEmptyLines +
         R"([ \t]*)?["']?value["']?[ \t]*)";
}

// The first search, in all text. Wherever a guard below matches, this does.
constexpr char kHints[] =
    R"((?i:(?:passw(?:or)?d|passphrase|pwd|secret|token|api_?-?key|access_?-?key|credential)[a-z0-9_]*["']?\]?[ \t]*[+?:-]?[=:>])"
    R"(|(?:pass|pw|auth|-key)["']?\]?[ \t]*[+?:-]?[=:>]|-(?:src|dest)?(?:store|key)?pass[a-z]*["']?[ \t,])"
    R"(|-[a-z-]*(?:pass(?:w(?:or)?d|phrase)|pw|token|secret|api-?key|access-?key)["']?[ \t,])"
    R"(|(?m:^|[ \t])password[ \t]|sshpass[ \t]|(?:requirepass|masterauth)[ \t])"
    R"(|(?:env|arg|setenv|setx)[ \t]+[a-z0-9_.-]*(?:passw|passphrase|pwd|pass|pw|secret|token|api_?-?key|access_?-?key|credential))"
    R"(|<[^<>\s]*(?:passw(?:or)?d|passphrase|pwd)[a-z0-9_]*[ \t]|authorization["']?\]?[ \t]*[=:])"
    R"(|(?:name|key|id)["']?[ \t]*[=:][ \t]*["']?[a-z0-9_. /-]*(?:passw|passphrase|pwd|pass|pw|secret|token|api_?-?key|access_?-?key|credential))"
    R"(|identified[ \t]|(?:curl|smbclient|rpcclient|lftp|https?|xh)[ \t]|cookie["']?(?:\][ \t]*=|[ \t]*:)|:(?:[0-9]{4,5}|\*):[a-z_*])"
    R"(|(?:mysql|mariadb|mongo)[a-z-]*[ \t]|(?:redis-cli|valkey-cli|login|zip|7z[a-z]?|sqlcmd|bcp|ipmitool|mosquitto_[a-z]+|ldap[a-z]+)[ \t])"
    R"(|(?:<(?:key|name)>|[\[({][ \t]*["':])[a-z0-9_. -]*(?:passw|passphrase|pwd|pass|pw|secret|token|api_?-?key|access_?-?key|credential)[a-z0-9_]*(?:[ ]?</|["']?[ \t]*,))"
    R"(|vault[ \t]|htpasswd[ \t]|--(?:password-stdin|with-token|pass(?:word|phrase)-fd)|sudo[ \t]+-[a-z]*S|chpasswd|passwd[ \t]+--stdin)"
    R"(|[?&](?:x-[a-z]+-)?(?:sig|signature|key)=))";

bool is_random_secret(const Guarded& found) {
  constexpr double kBitsLeast = 3.0;
  return has_digit(found.value) && has_letter(found.value) && !found.behind.starts_with('(') &&
         bits_per_byte(found.value) >= kBitsLeast;
}

enum class Form { kWord, kString, kElement, kLine };

// The groups of `pattern`: what is between name and value, a quote that the value begins with, a quote that
// began before the value. Without the second, the value begins after the match.
struct Guard {
  std::string pattern;
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
  const ValueReader reader(rest, between == ">" ? "<" : guard.stops);
  if (guard.form == Form::kElement)
    out.size = reader.element();
  else if (out.open != 0)
    out.size = reader.rest_of(out.open);
  else if (guard.form == Form::kLine && !quote_at(rest, 0))
    out.size = reader.line();
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

// The first byte of the key in which a match begins, also of the `;` before it.
const char* key_begin(std::string_view text, const char* match) {
  constexpr std::ptrdiff_t kKeyMax = 64;
  const char* out = match;
  const auto is_of_key = [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; };
  while (out > text.data() && match - out < kKeyMax && is_of_key(static_cast<unsigned char>(out[-1]))) --out;
  return out > text.data() && out[-1] == ';' ? out - 1 : out;
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
    const char* const name_begin = key_begin(text, groups[0].data());
    const char* const name_end =
        groups[1].data() == nullptr ? groups[0].data() + groups[0].size() : groups[1].data();
    const bool quoted = value.open == 0 && quote_at(text, value.begin);
    const Guarded found{.name = {name_begin, static_cast<std::size_t>(name_end - name_begin)},
                        .between = {groups[1].data(), groups[1].size()},
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

// Names with a joint.
std::vector<Guard> of_joints() {
  // Before a string: the bracket of a list, a prefix of Python.
  const std::string joint = kKeyEnds + std::string("(") + kJoint + R"()(?:\[?[ \t]?[rbuf]{0,2}(["']))?)";
  return {
      {"(?i)" + any_of({kPassword, kOtherPassword}) + joint, is_password},
      // `pass` alone is also a word of builds and tests: only a value that looks like a password is one.
      {"(?i)" + any_of({R"(\bpass|\bpw)"}) + joint, is_password_of_pass, Form::kWord, "&,;"},
      {R"((?i)\b(?:x-(?:[a-z]+-)*(?:api)?(?:key|token|secret|auth)|private-token|(?:[a-z]+-)*(?:api|access|auth|service|subscription)-key)["']?((?:\][ \t]*=|[ \t]*:)[ \t]*)(["'])?)",
       is_token},
      {R"((?i)authorization["']?\]?[ \t]*(?:=>|:=|[:=])[ \t]*\[?()()(["']?)(?:basic|bearer|token|digest|negotiate|ntlm|api-?key)[ \t]+)",
       is_password_of_option},
      {R"((?i)authorization["']?((?:\][ \t]*=|[ \t]*:)[ \t]*)(["'])?)", is_token},
      {R"((?i)set-cookie["']?(?:\][ \t]*=|[ \t]*:)[ \t]*\[?()()(["']?)[^\s=;"',]+=)", is_password,
       Form::kWord, ";,"},
      {R"((?i)(?:^|[^-])\bcookie["']?(?:\][ \t]*=|[ \t]*:)[ \t]*\[?()()(["']?)[^\s=;"',]+=)", is_password,
       Form::kLine},
      {R"((?i)<[a-z0-9:._-]*(?:passw(?:or)?d|passphrase|pwd)[a-z0-9_]*(?:[ \t][^<>\r\n]*[^<>/\r\n])?(>))",
       is_password, Form::kElement},
      {R"(\b(?:[A-Z0-9]+_)*SECRET(=)(["'])?)", is_short_secret, Form::kWord, "&,;`}"},
  };
}

// Names and values that are two words: options of commands, lines of .netrc and Dockerfiles, statements.
std::vector<Guard> of_words() {
  return {
      {R"((?i)(?:\B-pass(?:in|out)?[ \t]+["']?pass:|)" + std::string(kOption) +
           R"([ \t]+|\b(?:login|machine)[ \t]+\S+[ \t]+(?:account[ \t]+\S+[ \t]+)?password[ \t]+)"
           R"(|\bsshpass[ \t]+(?:-[a-z]+[ \t]+)*?-p[ \t]*))",
       is_password_of_option},
      {"(?i)" + std::string(kOption) + R"(["'][ \t]{0,2}(,)[ \t]{0,4}(["']))", is_password_of_option},
      {"(?i)" + std::string(kTokenOption) + R"((?:[ \t]+|=))", is_token},
      {"(?i)" + std::string(kTokenOption) + R"(["'][ \t]{0,2}(,)[ \t]{0,4}(["']))", is_token},
      {R"((?i)(?:(?:(?-i:\b(?:ENV|ARG))|\bsetenv|\bsetx)[ \t]+[a-z0-9_.-]*)" + any_password() +
           R"(|\brequirepass|\bmasterauth)[ \t]+)",
       is_password_of_word},
      {R"((?im)^[ \t]*password()[ \t]+)", is_password_of_line},
      {R"((?i)\bidentified[ \t]+(?:with[ \t]+\S+[ \t]+)?(?:by|as)[ \t]+(?:password[ \t]+)?)", is_token,
       Form::kWord, ";)"},
      {R"((?i)(?:\bidentified[ \t]+(?:with[ \t]+\S+[ \t]+)?(?:by|as)[ \t]+(?:password[ \t]+)?)"
       R"(|\bidentified[ \t]+(?:via|with)[ \t][^;\r\n]*?\busing[ \t]+(?:password[ \t]*\()?)"
       R"(|\b(?:with|encrypted|user[ \t]+\S+)[ \t]+password[ \t]+)"
       R"(|\b(?:create|alter)[ \t]+(?:user|role|login|group)[ \t][^;\r\n]*?\bpassword[ \t]+)"
       R"(|\bset[ \t]+password[ \t]+(?:for[ \t]+\S+[ \t]*)?=[ \t]*(?:(?:old_)?password[ \t]*\()?))",
       is_password_of_option, Form::kString},
      {R"((?i)\bvault[ \t]+(?:login|unwrap|token[ \t]+(?:lookup|renew|revoke))[ \t]+(?:-\S+[ \t]+)*(?:token=)?)",
       is_token},
      {"(?i)" +
           any_of({R"(--(?:password-stdin|with-token|pass(?:word|phrase)-fd))", R"(\bchpasswd)",
                   R"(\bpasswd[ \t]+--stdin)"}) +
           R"([^\r\n|;&<]*<<<[ \t]*)",
       is_password_of_option},
      // For clients that take the password within or after an option with one letter.
      {R"(\b(?i:mysql|mariadb)[a-z-]*\b[^\r\n|;&]*?[ \t]-p|\b7z[a-z]?\b[^\r\n|;&]*?[ \t]-p)",
       is_password_of_client},
      {R"(\b(?:(?:redis-cli|valkey-cli)\b[^\r\n|;&]*?[ \t]-a)"
       R"(|(?:login|mongo(?:sh|dump|restore|import|export|stat|top)?)\b[^\r\n|;&]*?[ \t]-p)"
       R"(|(?:zip|unzip|zipcloak|sqlcmd|bcp|ipmitool|mosquitto_pub|mosquitto_sub)\b[^\r\n|;&]*?[ \t]-P)"
       R"(|ldap[a-z]+\b[^\r\n|;&]*?[ \t]-w)[ \t]+)",
       is_password_of_client},
  };
}

// Values whose name stands elsewhere: in a field of its own, in the line before, or by its place in a line.
std::vector<Guard> of_places() {
  return {
      {"(?i)" + pair_of(any_password()) + R"(([=:])[ \t]*)", is_password},
      {"(?i)" + (kKeyElement + any_password()) + kKeyElementEnds + kValueElement + "(>)", is_password_of_text,
       Form::kElement},
      {"(?i)" + (kNamed + any_password()) + R"(["'])" + kAttributes + R"([ \t]+value[ \t]*(=)[ \t]*)",
       is_password},
      {"(?i)" + (kFirstOfPair + any_password()) + kFirstEnds, is_password_of_pair},
      {R"((?im)^[ \t]*(?:-[ \t]+)?(?:export[ \t]+)?[a-z0-9_.-]*(?:passw(?:or)?d|passphrase)[a-z0-9_]*([ \t]*[:=][ \t]*))",
       is_passphrase, Form::kLine},
      {"(?i)" + any_password() + kBlock + kNextLine + "()", is_password_of_block},
      {"(?i)" + any_password() + kLineEnds + R"(\r?\n)" + kEmptyLines + R"([ \t]+())",
       is_password_of_next_line},
      {R"((?im)^[ \t]*[a-z0-9.*_-]+:(?:[0-9]{4,5}|\*):[a-z_*][a-z0-9.*_-]*:[a-z0-9.*_@-]+:())",
       is_password_of_pgpass},
  };
}

// In the arguments of clients: USER:PASSWORD, in one string or not, and cookies.
constexpr char kClients[] = R"((?i)\b(?:curl|smbclient|rpcclient|lftp|https?|xh)[ \t])";

std::vector<Guard> of_clients() {
  const std::string option =
      R"([ \t](?:-[sSfLkviIgGjJNqaORZ#0-9]{0,8}[uU]|--user|--proxy-user|-a|--auth)[ \t=]{0,4})";
  return {
      {option + R"(()()(["'])[^:%,"'\r\n]+[:%,])", is_password},
      {option + R"((?:["'][^:%,"'\r\n]+["']|[^\s:%,"']+)[:%,])", is_password},
      {R"([ \t](?:-b|--cookie)[ \t=]{0,4}()()(["']?)[^\s=;"',]+=)", is_password, Form::kLine},
  };
}

// The value is the first group.
std::string random_pattern() {
  return "(?i)" +
         any_of({std::string(kToken) + kKeyEnds + kJoint,
                 R"((?-i:\b(?:ENV|ARG))[ \t]+[a-z0-9_]*)" + std::string(kToken) + R"([ \t]+)",
                 pair_of(kToken) + R"([=:][ \t]*)", std::string(kToken) + kBlock + kNextLine,
                 std::string(kFirstOfPair) + kToken + kFirstEnds,
                 std::string(kKeyElement) + kToken + kKeyElementEnds + kValueElement + ">"}) +
         R"(["']?([A-Za-z0-9+/_.~-][A-Za-z0-9+/=_.~-]{11,}))";
}

// Signatures and keys in the query of a URL.
constexpr char kOfQuery[] = R"((?i)[?&](?:x-[a-z]+-)?(?:sig|signature|key)=([A-Za-z0-9+/_.~%-]{16,}))";

// A secret that a command says to the next one.
constexpr char kPiped[] =
    R"(\b(?:echo|printf)[ \t]+(?:-[a-z]+[ \t]+)*(?:["']%s(?:\\n)?["'][ \t]+)?["']?([^\s"'|$`;&-][^"'|;&\r\n]*?)["']?[ \t]*\|[^\r\n;&]*?)"
    R"((?:--password-stdin|--with-token|--pass(?:word|phrase)-fd|\bsudo[ \t]+-[a-zA-Z]*S|\bchpasswd|\bpasswd[ \t]+--stdin|\bvault[ \t]+login[ \t]+-))";

// The fields of a list in the other order.
std::string reversed_pattern(const std::string& key) {
  return R"((?i)["']value["'][ \t]*:[ \t]*["']([^"'\r\n]*)["'][ \t]*,[ \t]*["'](?:name|key|id)["'][ \t]*:[ \t]*["'][a-z0-9_. /-]*)" +
         key + R"(["'])";
}

// With -b the last argument is the password.
constexpr char kHtpasswd[] =
    R"((?m)\bhtpasswd[ \t]+(?:-\S+[ \t]+)*?-[a-zA-Z]*b[a-zA-Z]*[ \t]+(?:[^\s|;&>]+[ \t]+){1,3}["']?([^\s"'|;&>]+)["']?[ \t]*(?:$|[|;&>#"')\r]))";

// The attributes of an element in the other order.
std::string reversed_attributes() {
  return R"((?i)\bvalue[ \t]*=[ \t]*["']([^"'<>\r\n]*)["'])" + std::string(kAttributes) +
         R"([ \t]+(?:name|key|id)[ \t]*=[ \t]*["'][a-z0-9_. /-]*)" + any_password() + R"(["'])";
}

// Finds the values that are the first group of `pattern`.
void find_captured(std::string_view text, const RE2& pattern, const char* kind, bool (*is)(const Guarded&),
                   std::vector<Found>& out) {
  re2::StringPiece rest(text.data(), text.size()), value;
  while (RE2::FindAndConsume(&rest, pattern, &value)) {
    const auto offset = static_cast<std::size_t>(value.data() - text.data());
    const Guarded found{.name = {},
                        .between = {},
                        .value = {value.data(), value.size()},
                        .behind = text.substr(offset + value.size()),
                        .quoted = false};
    if (!value.empty() && !is_in_mark(text, offset) && is(found))
      out.push_back({.kind = kind, .offset = offset, .size = value.size()});
  }
}

// Guards with their patterns, each compiled once.
struct Compiled {
  explicit Compiled(std::vector<Guard> all) : guards(std::move(all)) {
    for (const auto& guard : guards)
      patterns.push_back(std::make_unique<const RE2>(guard.pattern, guard_options()));
  }
  void find(std::string_view text, std::vector<Found>& out) const {
    for (std::size_t i = 0; i < guards.size(); ++i) find_behind(text, *patterns[i], guards[i], out);
  }

  std::vector<Guard> guards;
  std::vector<std::unique_ptr<const RE2>> patterns;
};

}  // namespace

std::string hint_of_guards() { return kHints; }

bool opens_value(std::string_view line) {
  constexpr std::size_t kLineMax = 512;
  if (line.size() > kLineMax) return false;
  static const std::string key = any_of({any_password(), kToken});
  static const RE2 opens("(?i)(?:" + key + kBlock + "|" + key + kLineEnds + "|" + kKeyElement + key +
                             kKeyElementEnds + "|" + kNamed + key + kNameEnds + R"((?:#[^\r\n]*)?)$)",
                         guard_options());
  return RE2::PartialMatch({line.data(), line.size()}, opens);
}

bool is_empty_line(std::string_view line) {
  const auto first = line.find_first_not_of(" \t\r");
  return first == std::string_view::npos || line[first] == '#';
}

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
  static const Compiled joints(of_joints()), words(of_words()), places(of_places()), clients(of_clients());
  static const RE2 client(kClients, guard_options()), random(random_pattern(), guard_options()),
      reversed(reversed_pattern(any_password()), guard_options()),
      attributes(reversed_attributes(), guard_options()), of_query(kOfQuery, guard_options()),
      piped(kPiped, guard_options()), htpasswd(kHtpasswd, guard_options());
  std::vector<Found> out;
  joints.find(text, out);
  words.find(text, out);
  places.find(text, out);
  if (RE2::PartialMatch({text.data(), text.size()}, client)) clients.find(text, out);
  find_captured(text, random, "random_value", is_random_secret, out);
  find_captured(text, reversed, "password", is_password, out);
  find_captured(text, attributes, "password", is_password_of_text, out);
  find_captured(text, of_query, "random_value", is_secret_of_query, out);
  find_captured(text, piped, "password", is_password, out);
  find_captured(text, htpasswd, "password", is_password_of_option, out);
  return out;
}

}  // namespace pawl::secrets
