#include "secrets/redact.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <mutex>

#include "base/hash.h"
#include "os/file.h"
#include "os/process.h"
#include "os/random.h"
#include "secrets/shapes.h"

namespace pawl::secrets {
namespace {

constexpr std::size_t kValueBytesMin = 6;
constexpr std::size_t kPendingMax = 64 << 10;  // longer than any secret; a longer line is cut between words
constexpr std::size_t kFingerprintDigits = 8;

std::string base64(std::string_view bytes, bool for_urls) {
  const std::string_view digits = for_urls
                                      ? "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
                                      : "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    unsigned group = 0;
    for (std::size_t j = 0; j < 3; ++j)
      group = group << 8U | (i + j < bytes.size() ? static_cast<unsigned char>(bytes[i + j]) : 0U);
    for (unsigned shift = 24; shift > 0;) out += digits[(group >> (shift -= 6)) & 63U];
  }
  return out;
}

// What base64 of anything has in it that has `value` in it, for each place that value can begin at (modulo
// 3): the digits that depend on no neighbour.
std::vector<std::string> base64_cores(std::string_view value, bool for_urls) {
  std::vector<std::string> out;
  for (std::size_t before = 0; before < 3; ++before) {
    const std::size_t bits_from = before * 8, bits_to = bits_from + value.size() * 8;
    const std::size_t first = (bits_from + 5) / 6, end = bits_to / 6;
    out.push_back(
        base64(std::string(before, '\0') + std::string(value), for_urls).substr(first, end - first));
  }
  return out;
}

std::string percent(std::string_view value, bool upper) {
  const std::string_view digits = upper ? "0123456789ABCDEF" : "0123456789abcdef";
  std::string out;
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '-' || c == '_' || c == '.' || c == '~') {
      out += c;
    } else {
      out += {'%', digits[byte >> 4U], digits[byte & 15U]};
    }
  }
  return out;
}

std::string in_json(std::string_view value) {
  std::string out;
  append_json_string(out, value);
  return out.substr(1, out.size() - 2);
}

std::vector<std::string> encodings(const std::string& value) {
  std::vector<std::string> out{value, in_json(value), percent(value, true), percent(value, false),
                               to_hex(value)};
  std::string upper = to_hex(value);
  std::ranges::transform(upper, upper.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  out.push_back(std::move(upper));
  for (const bool for_urls : {false, true})
    std::ranges::copy(base64_cores(value, for_urls), std::back_inserter(out));
  std::ranges::sort(out, std::ranges::greater(), &std::string::size);  // the longest that is there is taken
  out.erase(std::ranges::unique(out).begin(), out.end());
  return out;
}

struct Value {
  std::string kind;  // "env:NAME"
  std::string fingerprint;
  std::unique_ptr<RE2> forms;
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

// As rfind, for what is rarely there: memmem(3) goes over a text many times faster.
std::size_t find_last(std::string_view text, std::string_view what) {
  std::size_t last = std::string_view::npos;
  for (std::size_t at = 0;;) {
    const void* found = memmem(text.data() + at, text.size() - at, what.data(), what.size());
    if (found == nullptr) return last;
    last = static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
    at = last + 1;
  }
}

// Where `text` may be cut: behind the last line's end, and not within a key that has not ended.
std::size_t safe_cut(std::string_view text) {
  const auto line = text.find_last_of("\n\r");
  std::size_t cut = line == std::string_view::npos ? 0 : line + 1;
  const std::string_view lines = text.substr(0, cut);
  const std::size_t begin = find_last(lines, "-----BEGIN ");
  if (begin < cut && lines.find("-----END ", begin) == std::string_view::npos) cut = begin;
  return cut;
}

}  // namespace

struct Redactor::Rules {
  std::string key;
  std::vector<Value> values;
  std::vector<std::string> of_lines;  // values that go on behind a line's end
  std::string hint_pattern;
  mutable std::once_flag compiled;
  mutable std::unique_ptr<const RE2> hint;

  std::string fingerprint(std::string_view secret) const {
    // The key's length is fixed: no two pairs of key and secret are one text.
    return blake3_hex(key + std::string(secret)).substr(0, kFingerprintDigits);
  }

  // How much of `lines` has no end that a value may begin with.
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
  };

  // One pass over what has no secrets; where there is a hint of one, its line is looked at.
  std::vector<Hit> hits(std::string_view text) const {
    std::vector<Hit> out;
    if (text.empty()) return out;
    std::call_once(compiled, [this] { hint = std::make_unique<const RE2>(hint_pattern, options()); });
    const re2::StringPiece whole(text.data(), text.size());
    // Whether there is any is answered sooner than where.
    if (!RE2::PartialMatch(whole, *hint)) return out;
    re2::StringPiece match;
    for (std::size_t at = 0;
         at < text.size() && hint->Match(whole, at, text.size(), RE2::UNANCHORED, &match, 1);) {
      const auto offset = static_cast<std::size_t>(match.data() - text.data());
      const auto line = text.substr(0, offset).find_last_of("\n\r");
      const std::size_t begin = line == std::string_view::npos ? at : std::max(at, line + 1);
      const bool has_lines = match.starts_with("-----BEGIN");
      const std::size_t end =
          has_lines ? text.size() : std::min(text.find_first_of("\n\r", offset + match.size()), text.size());
      look_at(text.substr(begin, end - begin), begin, out);
      at = std::max(end, offset + 1);
    }
    // A named value goes before a shape that has it inside.
    std::ranges::stable_sort(out, {}, &Hit::offset);
    return out;
  }

  void look_at(std::string_view text, std::size_t from, std::vector<Hit>& out) const {
    for (const auto& value : values) {
      re2::StringPiece rest(text.data(), text.size()), match;
      while (RE2::FindAndConsume(&rest, *value.forms, &match))
        out.push_back({from + static_cast<std::size_t>(match.data() - text.data()), match.size(), value.kind,
                       value.fingerprint});
    }
    for (const auto& found : find(text))
      out.push_back(
          {from + found.offset, found.size, found.kind, fingerprint(text.substr(found.offset, found.size))});
  }
};

Redactor::Redactor(std::string key, const Values& values) {
  auto rules = std::make_unique<Rules>();
  rules->key = std::move(key);
  rules->hint_pattern = hint_pattern();
  for (const auto& [name, value] : values) {
    if (value.size() < kValueBytesMin) continue;
    if (value.find_first_of("\n\r") != std::string::npos) rules->of_lines.push_back(value);
    std::string forms;
    for (const auto& form : encodings(value)) forms += (forms.empty() ? "" : "|") + RE2::QuoteMeta(form);
    rules->hint_pattern += "|" + forms;
    rules->values.push_back({.kind = "env:" + name,
                             .fingerprint = rules->fingerprint(value),
                             .forms = std::make_unique<RE2>("(" + forms + ")", options())});
  }
  rules_ = std::move(rules);
}

Redactor::~Redactor() = default;

std::string Redactor::redact(std::string_view text) const {
  const auto hits = rules_->hits(text);
  if (hits.empty()) return std::string(text);
  std::string out;
  std::size_t done = 0;
  for (const auto& hit : hits) {
    const std::size_t end = hit.offset + hit.size;
    if (end <= done) continue;
    if (hit.offset >= done) {
      out.append(text, done, hit.offset - done);
      out += "<redacted:" + hit.kind + ":" + hit.fingerprint + ">";
    }
    done = end;  // of two that overlap, nothing of either is left
  }
  return out.append(text, done);
}

void Redactor::redact_strings(Json& value) const {
  if (value.is_string()) {
    value = redact(value.get_ref<const std::string&>());
  } else if (value.is_structured()) {
    for (auto& each : value) redact_strings(each);
  }
}

std::string Redactor::Stream::take(std::string_view bytes) {
  pending_ += bytes;
  std::size_t cut = safe_cut(pending_);
  cut = redactor_->rules_->before_a_value(std::string_view(pending_).substr(0, cut));
  if (cut == 0 && pending_.size() > kPendingMax) {
    // No secret is that long, so a part of one can only be at the end: the last half is kept back.
    const auto hits = redactor_->rules_->hits(pending_);
    cut = pending_.size() - kPendingMax / 2;
    for (const auto& hit : hits)
      if (hit.offset < cut && hit.offset + hit.size > cut)
        cut = hit.offset > 0 ? hit.offset : hit.offset + hit.size;
  }
  if (cut == 0) return {};
  std::string out = redactor_->redact(std::string_view(pending_).substr(0, cut));
  pending_.erase(0, cut);
  return out;
}

std::string Redactor::Stream::finish() {
  std::string out = redactor_->redact(pending_);
  pending_.clear();
  return out;
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
                    " is no key; move it away and a new one is made (fingerprints from before then "
                    "differ from those after)");
  Redactor::Values values;
  for (auto& name : secret_names(os::environment_value(kNamesVariable).value_or("")))
    if (auto value = os::environment_value(name)) values.emplace_back(std::move(name), *std::move(value));
  return std::make_unique<Redactor>(std::move(key), values);
}

}  // namespace pawl::secrets
