#include "secrets/redact.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <iterator>
#include <mutex>
#include <tuple>
#include <unordered_map>

#include "base/hash.h"
#include "os/defences.h"
#include "os/file.h"
#include "os/process.h"
#include "os/random.h"
#include "secrets/shapes.h"
#include "secrets/spelling.h"

namespace pawl::secrets {
namespace {

constexpr std::size_t kValueBytesMin = 6;
constexpr std::size_t kFingerprintDigits = 8;

constexpr std::size_t kValueHintMax = 32;                    // bytes of a value in the first search
constexpr char kSplit[] = R"([A-Za-z0-9_.-]{0,5}\$?["'`])";  // a string ends soon after a secret's beginning
constexpr int kRoundsOfPacked = 2;                           // rounds of escapes within decoded digits
constexpr int kPackedMax = 2;                                // levels of digits: digits, and digits of digits

struct Value {
  std::string kind;  // "env:NAME"
  std::string fingerprint;
  std::string bytes, unquoted, plainest;  // "": too short
  std::string lower;
};

RE2::Options options() {
  RE2::Options out;
  out.set_encoding(RE2::Options::EncodingLatin1);
  out.set_log_errors(false);
  return out;
}

Status make_key(const std::string& folder, const std::string& path) {
  PAWL_OK(os::make_folders(folder, 0700));
  // Two programs that start at once must end with one key.
  PAWL_TRY(const auto lock, os::FileLock::lock(os::join(folder, "lock")));
  if (os::exists(path)) return {};
  std::array<unsigned char, kHashHexSize / 2> key{};
  os::SystemRandom().fill(key);
  return os::write_durably("keys", path, to_hex({reinterpret_cast<const char*>(key.data()), key.size()}),
                           0600);
}

std::string in_lower_case(std::string_view text) {
  std::string out(text);
  std::ranges::transform(
      out, out.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; });
  return out;
}

// Searching the bytes one after the other is faster than a check of each byte of the text.
bool has_any(std::string_view text, std::string_view bytes) {
  return std::ranges::any_of(bytes, [&](char c) { return text.find(c) != std::string_view::npos; });
}

// Whether a shape that was found in parts is put together from words: templates and arguments of commands. Its
// first `whole` bytes are a secret without the other parts.
bool is_of_words(std::string_view kind, std::string_view match, std::size_t whole) {
  constexpr std::size_t kTurnsMin = 2;
  const bool has_sign = std::ranges::any_of(
      match, [](unsigned char c) { return std::isdigit(c) != 0 || std::isupper(c) != 0; });
  return !has_sign || kind == "password_in_url" || (whole > 0 && turns_in(match.substr(whole)) < kTurnsMin);
}

// The line of `text` that contains a match.
Range line_of(std::string_view text, std::size_t offset, std::size_t size) {
  const auto begin = text.substr(0, offset).find_last_of("\n\r");
  return {.begin = begin == std::string_view::npos ? 0 : begin + 1,
          .end = std::min(text.find_first_of("\n\r", offset + size), text.size())};
}

}  // namespace

struct Redactor::Rules {
  std::string key;
  std::vector<Value> values;
  bool has_plainest = false;          // some value differs from its form without quotes
  std::vector<std::string> of_lines;  // values that contain the end of a line
  std::size_t longest = 2048;         // the longest secret, except keys in lines
  const os::Defences defences = os::defences();
  mutable std::once_flag compiled, packed_compiled;
  mutable std::unique_ptr<const RE2> hint, packed_hint;

  std::string fingerprint(std::string_view secret) const {
    // The key's length is fixed, so no two pairs of key and secret give the same text.
    return blake3_hex(key + std::string(secret)).substr(0, kFingerprintDigits);
  }

  // The size of `lines` without the suffix with which a value may begin.
  std::size_t before_a_value(std::string_view lines) const {
    std::size_t out = lines.size();
    for (const std::string_view value : of_lines)
      for (std::size_t size = std::min(value.size() - 1, lines.size()); lines.size() - size < out; --size)
        if (lines.ends_with(value.substr(0, size))) out = lines.size() - size;
    return out;
  }

  struct Hit {
    std::size_t offset, size;
    std::string kind, fingerprint;
    bool named = false;
  };
  using Hits = std::vector<Hit>;

  Hits hits(std::string_view text, bool any_case = false) const {
    Hits out;
    if (text.empty()) return out;
    search(text, kRoundsMax, kPackedMax, out);
    if (any_case && defences.spellings)
      find_values(in_lower_case(text), {.end = text.size()}, &Value::lower, out);
    // A named value comes before a shape that contains it. Of two hits at one offset, the longer one names
    // the kind.
    std::ranges::stable_sort(out, [](const Hit& a, const Hit& b) {
      return std::tuple(a.offset, !a.named, b.size) < std::tuple(b.offset, !b.named, a.size);
    });
    return out;
  }

  // The text with a mark in the place of each hit. REQUIRES: `hits` are in the order of hits().
  static std::string replaced(std::string_view text, const Hits& hits) {
    std::string out;
    std::size_t done = 0;
    for (const auto& hit : hits) {
      const std::size_t end = hit.offset + hit.size;
      if (end <= done) continue;
      if (hit.offset >= done) {
        out.append(text, done, hit.offset - done);
        out += "<redacted:" + hit.kind + ":" + hit.fingerprint + ">";
      }
      done = end;  // overlapping hits leave no byte
    }
    return out.append(text, done);
  }

  // Searches the text as it is, then each of its decoded spellings. Digits and quotes are decoded last.
  void search(std::string_view text, int rounds, int packed, Hits& out) const {
    Views views(text);
    const auto look = [&] {
      Hits found;
      find_known(views.last(), found);
      if (defences.spellings) find_in_parts(views.last(), found);
      add_origins(views, std::move(found), out);
    };
    look();
    if (!defences.spellings) return;
    const auto look_before = [&](Spelling spelling, int left) {
      Hits found;
      if (spelling == Spelling::kTerminal) {
        const Decoded strings = strings_of_terminal(views.last());
        Hits here;
        if (strings.changed()) search(strings.text(), left, packed, here);
        add_origins(strings, std::move(here), found);
      } else if (spelling == Spelling::kEscapes) {
        // An escape may take the first digits that stand after it: `%c2st...`, `\eG94...`.
        if (packed > 0 && has_digits_behind_escape(views.last()))
          find_packed_in_lines(views.last(), packed - 1, found);
        if (has_any(views.last(), "\\")) find_backslashed(views.last(), found);
      } else if (spelling == Spelling::kQuotedPrintable) {
        find_last_spellings(views.last(), packed, found);  // digits after a = may look like an escape
      }
      add_origins(views, std::move(found), out);
    };
    decode(views, rounds, look_before, look);
    Hits found;
    find_last_spellings(views.last(), packed, found);
    add_origins(views, std::move(found), out);
  }

  void find_last_spellings(std::string_view text, int packed, Hits& out) const {
    if (has_plainest || (!values.empty() && has_any(text, {"\"'\\+\0", 5})))
      find_unquoted(text, &Value::plainest, out);
    if (packed > 0) find_packed_in_lines(text, packed - 1, out);
  }

  static void add_origins(const auto& view, Hits found, Hits& out) {
    for (auto& hit : found) {
      const Range origin = view.origin(hit.offset, hit.size);
      hit.offset = origin.begin;
      hit.size = origin.end - origin.begin;
      out.push_back(std::move(hit));
    }
  }

  // Finds the values that begin before `where.end`.
  void find_values(std::string_view text, const Range& where, std::string Value::*form, Hits& out) const {
    for (const auto& value : values) {
      const std::string& wanted = value.*form;
      if (wanted.empty()) continue;
      const auto part = text.substr(0, std::min(text.size(), where.end + wanted.size() - 1));
      for (std::size_t at = where.begin; at < part.size();) {
        const void* found = memmem(part.data() + at, part.size() - at, wanted.data(), wanted.size());
        if (found == nullptr) break;
        at = static_cast<std::size_t>(static_cast<const char*>(found) - part.data());
        out.push_back({at, wanted.size(), value.kind, value.fingerprint, true});
        at += wanted.size();
      }
    }
  }

  void find_unquoted(std::string_view text, std::string Value::*form, Hits& out) const {
    const Decoded view = unquoted(text);
    Hits found;
    find_values(view.text(), {.end = view.text().size()}, form, found);
    add_origins(view, std::move(found), out);
  }

  // Finds what unescaped() would destroy: a shell quotes any byte by a backslash, also \7 and \b.
  void find_backslashed(std::string_view text, Hits& out) const {
    find_unquoted(text, &Value::unquoted, out);
    if (!has_backslashed(text)) return;
    const Decoded view = without_backslashes(text);
    Hits known;
    find_known(view.text(), known);
    add_origins(view, std::move(known), out);
  }

  // Finds shapes and named values between whose parts fillers stand. `out` has the hits in `text`.
  void find_in_parts(std::string_view text, Hits& out) const {
    if (!has_fillers(text)) return;
    const Decoded view = without_fillers(text);
    std::unordered_map<std::size_t, std::size_t> whole;
    for (const auto& hit : out)
      if (hit.kind != "password" && hit.kind != "random_value")
        whole[hit.offset] = std::max(whole[hit.offset], hit.size);
    Hits found;
    find_known(view.text(), found, false);
    std::erase_if(found, [&](const Hit& hit) {
      const auto same = whole.find(view.origin(hit.offset, hit.size).begin);
      const std::size_t before = same == whole.end() ? 0 : std::min(same->second, hit.size);
      return !hit.named &&
             is_of_words(hit.kind, std::string_view(view.text()).substr(hit.offset, hit.size), before);
    });
    if (!values.empty()) find_unquoted(view.text(), &Value::plainest, found);
    add_origins(view, std::move(found), out);
  }

  // When a program joins a text from strings, the beginning of a secret stands in the first string.
  void find_joined(std::string_view text, std::size_t begin, Hits& out) const {
    const Decoded view = joined(text, begin);
    if (!view.changed()) return;
    const std::string_view line = view.text();
    Hits found;
    for (const auto& one : find(line))
      found.push_back({one.offset, one.size, one.kind, fingerprint(line.substr(one.offset, one.size))});
    add_origins(view, std::move(found), out);
  }

  std::string pattern() const {
    std::string out = hint_pattern();
    for (const auto& value : values) out += "|" + RE2::QuoteMeta(value.bytes.substr(0, kValueHintMax));
    for (const auto& begin : beginnings()) out += "|" + RE2::QuoteMeta(begin) + kSplit;
    return out;
  }

  // One pass over text without secrets. Where a hint matches, its line is searched.
  void find_known(std::string_view text, Hits& out, bool guarded = true) const {
    std::call_once(compiled, [this] { hint = std::make_unique<const RE2>(pattern(), options()); });
    bool in_key = false;  // all text after a key that begins is searched at once, but for joined strings
    each_line(text, *hint, [&](const Range& line, bool begins_key) {
      if (defences.spellings) find_joined(text, line.begin, out);
      if (std::exchange(in_key, in_key || begins_key)) return line.end;
      const Range where{.begin = line.begin, .end = in_key ? text.size() : with_value(text, line).end};
      const auto part = text.substr(where.begin, where.end - where.begin);
      find_values(text, where, &Value::bytes, out);
      auto all = find(part);
      if (guarded && defences.guarded) std::ranges::move(find_guarded(part), std::back_inserter(all));
      for (const auto& found : all)
        out.push_back({line.begin + found.offset, found.size, found.kind,
                       fingerprint(part.substr(found.offset, found.size))});
      return in_key ? line.end : where.end;
    });
  }

  void find_packed_in_lines(std::string_view text, int packed, Hits& out) const {
    const bool wrapped = find_packed(text, packed, out);
    const auto find_in = [&](const std::vector<Decoded>& all, const auto& find) {
      for (const auto& view : all) {
        Hits found;
        find(view.text(), found);
        add_origins(view, std::move(found), out);
      }
    };
    const auto find_digits = [&](std::string_view digits, Hits& found) {
      find_packed(digits, packed, found);
    };
    find_in(stacked(text), find_digits);
    find_in(grouped(text), find_digits);
    find_in(dumped(text),
            [&](std::string_view bytes, Hits& found) { search(bytes, kRoundsOfPacked, packed, found); });
    if (!wrapped) return;
    // Only digits are joined across lines: a token at the end of a line is not the beginning of the next
    // line.
    const Decoded joined = unwrapped(text);
    Hits found;
    if (joined.changed()) find_packed(joined.text(), packed, found);
    add_origins(joined, std::move(found), out);
  }

  // Returns whether a run of digits ends with its line.
  bool find_packed(std::string_view text, int packed, Hits& out) const {
    bool wrapped = false;
    std::vector<Range> runs;
    std::string all;
    std::size_t at = 0;
    while (const auto run = next_packed(text, at)) {
      at = run->end;
      const auto digits = text.substr(run->begin, run->end - run->begin);
      wrapped = wrapped || digits.find('\n') != digits.npos ||
                (at < text.size() && (text[at] == '\n' || text[at] == '\r'));
      (all += digits) += '|';
      runs.push_back(*run);
    }
    // One search in all runs is faster than a search in each.
    const bool any = !runs.empty() && has_packed(all);
    for (const auto& run : runs) {
      const auto digits = text.substr(run.begin, run.end - run.begin);
      // The search finds beginnings in digits. In digits of digits it finds those of named values only.
      if ((any && has_packed(digits)) || (packed > 0 && may_nest(digits)))
        find_in_digits(digits, run.begin, packed, out);
    }
    return wrapped;
  }

  std::vector<std::string> bytes_of_values() const {
    std::vector<std::string> out;
    for (const auto& value : values) out.push_back(value.bytes);
    return out;
  }

  bool has_packed(std::string_view digits) const {
    std::call_once(packed_compiled, [this] {
      packed_hint = std::make_unique<const RE2>(packed_pattern(bytes_of_values()), options());
    });
    return RE2::PartialMatch({digits.data(), digits.size()}, *packed_hint);
  }

  void find_in_digits(std::string_view digits, std::size_t begin, int packed, Hits& out) const {
    for (const auto& view : unpacked(digits)) {
      Hits found, here;
      if (view.text().empty()) continue;
      search(view.text(), kRoundsOfPacked, packed, found);
      add_origins(view, std::move(found), here);
      for (auto& hit : here) {
        hit.offset += begin;
        out.push_back(std::move(hit));
      }
    }
  }

  // Calls `look(line, whether a key begins there)` for each line that matches; it returns where to go on.
  static void each_line(std::string_view text, const RE2& hint, const auto& look) {
    const re2::StringPiece whole(text.data(), text.size());
    // Asking whether there is a match is faster than asking where.
    if (!RE2::PartialMatch(whole, hint)) return;
    re2::StringPiece match;
    for (std::size_t at = 0;
         at < text.size() && hint.Match(whole, at, text.size(), RE2::UNANCHORED, &match, 1);) {
      const auto offset = static_cast<std::size_t>(match.data() - text.data());
      Range line = line_of(text, offset, match.size());
      line.begin = std::max(line.begin, at);
      const auto rest = text.substr(offset, line.end - offset);  // a key may begin after a token
      const bool is_key = std::min(rest.find("-----BEGIN"), rest.find("---- BEGIN")) != rest.npos;
      at = std::max<std::size_t>(look(line, is_key), offset + 1);
    }
  }
};

std::shared_ptr<const Redactor::Rules> Redactor::rules_for(const std::string& key, const Values& values) {
  auto rules = std::make_shared<Rules>();
  rules->key = key;
  for (const auto& [name, value] : values) {
    if (value.size() < kValueBytesMin) continue;
    if (value.find_first_of("\n\r") != std::string::npos) rules->of_lines.push_back(value);
    const auto long_enough = [](const std::string& form) {
      return form.size() < kValueBytesMin ? std::string() : form;
    };
    std::string plain = long_enough(plainest(value));
    rules->has_plainest = rules->has_plainest || plain != value;
    rules->longest = std::max(rules->longest, std::min(kPendingMax / 2, value.size() * kPackedHintMax));
    rules->values.push_back({.kind = "env:" + name,
                             .fingerprint = rules->fingerprint(value),
                             .bytes = value,
                             .unquoted = long_enough(unquoted(value).text()),
                             .plainest = std::move(plain),
                             .lower = in_lower_case(value)});
  }
  return rules;
}

Redactor::Redactor(std::string key, Values values)
    : key_(std::move(key)), values_(std::move(values)), rules_(rules_for(key_, values_)) {}

Redactor::~Redactor() = default;

void Redactor::learn(const Values& values) {
  const std::lock_guard guard(mutex_);
  const auto before = values_.size();
  for (const auto& value : values)
    if (std::ranges::find(values_, value) == values_.end()) values_.push_back(value);
  if (values_.size() > before) rules_ = rules_for(key_, values_);
}

std::shared_ptr<const Redactor::Rules> Redactor::rules() const {
  const std::lock_guard guard(mutex_);
  return rules_;
}

std::string Redactor::redact(std::string_view text) const {
  const auto rules = this->rules();
  return rules->replaced(text, rules->hits(text));
}

std::string Redactor::redact_any_case(std::string_view text) const {
  const auto rules = this->rules();
  return rules->replaced(text, rules->hits(text, true));
}

void Redactor::redact_strings(Json& value) const {
  if (value.is_string()) {
    value = redact(value.get_ref<const std::string&>());
  } else if (value.is_structured()) {
    for (auto& each : value) redact_strings(each);
  }
}

// The size of the beginning of `text` that is final: no secret in it continues after the end of `text`.
std::size_t Redactor::sure(std::string_view text) const {
  return rules()->before_a_value(text.substr(0, safe_cut(text)));
}

// Where to cut near `least`, so that no secret in `text` is divided.
std::size_t Redactor::cut_near(std::string_view text, std::size_t least) const {
  Range around;  // hits that overlap
  const auto is_divided = [&] { return around.begin < least && around.end > least; };
  for (const auto& hit : rules()->hits(text)) {
    if (hit.offset >= around.end && is_divided()) break;
    if (hit.offset >= around.end) around.begin = hit.offset;
    around.end = std::max(around.end, hit.offset + hit.size);
  }
  if (!is_divided()) return least;
  return around.begin > 0 ? around.begin : around.end;
}

// Whether a secret that begins before `least` may be longer than the rest of `text`: the rest encodes fewer
// than `plain_min` bytes.
bool Redactor::has_few_bytes_after(std::string_view text, std::size_t least, std::size_t plain_min) const {
  const auto rules = this->rules();
  const std::size_t plain = std::max(plain_min, rules->longest);
  return rules->defences.spellings && before_plain(text, plain).value_or(0) < least;
}

std::string Redactor::redact_beginning(std::string_view text) const {
  const std::size_t whole = sure(text), least = before_plain(text, rules()->longest).value_or(0);
  return redact(text.substr(0, whole >= least ? whole : cut_near(text, least)));
}

std::string Redactor::told(std::string_view text, std::size_t bytes_max) const {
  return printable(std::string(utf8_prefix(valid_utf8(redact(text)), bytes_max)));
}

std::vector<std::string> secret_names(std::string_view value) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at < value.size();) {
    const auto end = std::min(value.find_first_of(", ", at), value.size());
    if (end > at) out.emplace_back(value.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

Result<std::unique_ptr<Redactor>> open_redactor(const std::string& folder) {
  const std::string keys = os::join(folder, "keys"), path = os::join(keys, "redaction.key");
  if (!os::exists(path)) PAWL_OK(make_key(keys, path));
  PAWL_TRY(auto key, os::read_file(path, kHashHexSize));
  if (!is_hash(key))
    return fail(ErrorKind::kCorrupt,
                path +
                    " is not a key; move it away, and Pawl makes a new one (fingerprints from before then "
                    "differ from those after)");
  Redactor::Values values;
  for (auto& name : secret_names(os::environment_value(kNamesVariable).value_or("")))
    if (auto value = os::environment_value(name)) values.emplace_back(std::move(name), *std::move(value));
  return std::make_unique<Redactor>(std::move(key), std::move(values));
}

}  // namespace pawl::secrets
