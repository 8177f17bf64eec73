#include "store/cost_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <span>

#include "base/json.h"
#include "base/money.h"

namespace pawl::store {
namespace {

constexpr std::array<std::string_view, 11> kCostKeys = {
    "backend", "build_cache_hit",      "emitted_at",       "entry_type",
    "gate_id", "gate_isolation_class", "image_pull_bytes", "microvm_seconds",
    "run_id",  "sandbox_run_id",       "workflow_id"};
constexpr std::array<std::string_view, 14> kUsageKeys = {
    "attempt_id", "cached_tokens", "emitted_at", "entry_type",     "input_tokens", "model", "output_tokens",
    "phase_id",   "run_id",        "source",     "sandbox_run_id", "usage_id",     "usd",   "workflow_id"};

constexpr std::array<std::string_view, 8> kUnknownKeys = {"attempt_id", "emitted_at", "entry_type",
                                                          "phase_id",   "run_id",     "sandbox_run_id",
                                                          "source",     "workflow_id"};

constexpr std::string_view kUnknownUsage = "cost.agent.unknown";

// Reads the members of one line, in the order and the bytes of canonical JSON. After the first fault every
// read returns an empty value, and done() returns the fault. A tree of JSON values would cost ten times as
// much, and a ledger has one row for each step.
class LineReader {
 public:
  LineReader(std::string_view line, std::span<const std::string_view> keys) : rest_(line), keys_(keys) {}

  std::string text(std::string_view key) {
    const auto raw = member(key) ? quoted() : std::string_view();
    if (raw.empty()) return wrong("a text");
    if (raw.find('\\') == raw.npos) {
      std::string out(raw.substr(1, raw.size() - 2));
      return written(out) == raw ? out : wrong("a text as it is written");
    }
    auto parsed = parse_json(raw);
    if (!parsed || !parsed->is_string()) return wrong("a text");
    auto out = parsed->get<std::string>();
    return written(out) == raw ? out : wrong("a text as it is written");
  }

  void constant(std::string_view key, std::string_view value) {
    if (text(key) != value) wrong(fmt::format("\"{}\"", value));
  }

  std::string time(std::string_view key) {
    auto out = text(key);
    return parse_rfc3339(out) ? out : wrong("a time of RFC 3339 in UTC with six digits");
  }

  bool boolean(std::string_view key) {
    if (!member(key)) return false;
    const bool value = rest_.starts_with("true");
    if (!value && !rest_.starts_with("false")) return wrong("true or false"), false;
    rest_.remove_prefix(value ? 4 : 5);
    return value;
  }

  std::int64_t count(std::string_view key) {
    if (!member(key)) return 0;
    const auto value = digits();
    return value ? *value : (wrong("a count of at most 63 bits"), 0);
  }

  // Reads "12.345" as 12345.
  std::int64_t thousandths(std::string_view key) {
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 1000 - 1;
    if (!member(key)) return 0;
    const auto whole = digits();
    const auto part = rest_.substr(0, 4);
    const bool is_part = part.size() == 4 && part[0] == '.' && std::ranges::all_of(part.substr(1), is_digit);
    if (!whole || *whole > kMost || !is_part) return wrong("a decimal with three digits"), 0;
    rest_.remove_prefix(part.size());
    return *whole * 1000 + (part[1] - '0') * 100 + (part[2] - '0') * 10 + (part[3] - '0');
  }

  Status done() {
    if (fault_.empty() && rest_ != "}") fault_ = "something comes after its last member" + named_here();
    return fault_.empty() ? Status() : fail(ErrorKind::kCorrupt, fault_);
  }

 private:
  static bool is_digit(char c) { return c >= '0' && c <= '9'; }

  static std::string written(std::string_view text) {
    std::string out;
    append_json_string(out, text);
    return out;
  }

  std::string wrong(std::string_view what) {
    if (fault_.empty()) fault_ = fmt::format("its {} is not {}", key_, what);
    return {};
  }

  // Moves to the value of `key`, which must be the next member.
  bool member(std::string_view key) {
    if (!fault_.empty()) return false;
    const std::string begin = fmt::format("{}\"{}\":", key_.empty() ? '{' : ',', key);
    if (rest_.starts_with(begin)) {
      rest_.remove_prefix(begin.size());
      key_ = key;
      return true;
    }
    fault_ = fmt::format("its {} is missing or not in its place", key) + named_here();
    return false;
  }

  // Names the member that stands where another member, or the end, was expected.
  std::string named_here() {
    if (rest_.empty() || (rest_[0] != '{' && rest_[0] != ',')) return "";
    rest_.remove_prefix(1);
    const auto raw = quoted();
    if (raw.empty()) return "";
    const auto name = raw.substr(1, raw.size() - 2);
    const bool known = std::ranges::find(keys_, name) != keys_.end();
    return fmt::format(" ({} member {})", known ? "before it comes the" : "there is an unknown",
                       printable(std::string(utf8_prefix(valid_utf8(name), 64))));
  }

  // Takes a JSON string with its quotes; empty when the text does not continue with one.
  std::string_view quoted() {
    if (!rest_.starts_with('"')) return {};
    std::size_t end = 1;
    while (end < rest_.size() && rest_[end] != '"') end += rest_[end] == '\\' ? 2 : 1;
    if (end >= rest_.size()) return {};
    const auto out = rest_.substr(0, end + 1);
    rest_.remove_prefix(out.size());
    return out;
  }

  std::optional<std::int64_t> digits() {
    const auto size = static_cast<std::size_t>(std::ranges::find_if_not(rest_, is_digit) - rest_.begin());
    std::int64_t value = 0;
    const auto read = std::from_chars(rest_.data(), rest_.data() + size, value);
    if (size == 0 || read.ec != std::errc() || (size > 1 && rest_[0] == '0')) return std::nullopt;
    rest_.remove_prefix(size);
    return value;
  }

  std::string_view rest_;
  std::span<const std::string_view> keys_;
  std::string_view key_;  // key of the newest member read
  std::string fault_;
};

}  // namespace

std::string cost_row(const CostFacts& facts) {
  const auto quoted = [](const std::string& text) {
    std::string out;
    append_json_string(out, text);
    return out;
  };
  // Formatted by hand instead of by canonical(): microvm_seconds is the only decimal that Pawl writes, always
  // with three digits.
  return fmt::format(
      R"({{"backend":{},"build_cache_hit":{},"emitted_at":"{}","entry_type":"cost.sandbox.run","gate_id":{},)"
      R"("gate_isolation_class":{},"image_pull_bytes":{},"microvm_seconds":{}.{:03},"run_id":{},)"
      R"("sandbox_run_id":{},"workflow_id":{}}})",
      quoted(facts.backend), facts.build_cache_hit, rfc3339(facts.emitted_at), quoted(facts.gate_id),
      quoted(facts.gate_isolation_class), facts.image_pull_bytes, facts.microvm_milliseconds / 1000,
      facts.microvm_milliseconds % 1000, quoted(facts.run_id), quoted(facts.sandbox_run_id),
      quoted(facts.workflow_id));
}

std::string usage_line(const UsageFacts& facts) {
  return canonical(
      {{"entry_type", "cost.agent.usage"},
       {"workflow_id", facts.workflow_id},
       {"run_id", facts.run_id},
       {"phase_id", facts.phase_id},
       {"attempt_id", facts.attempt_id},
       {"sandbox_run_id", facts.sandbox_run_id},
       {"usage_id", facts.usage_id},
       {"model", facts.model},
       {"source", facts.source},
       {"input_tokens", facts.input_tokens},
       {"output_tokens", facts.output_tokens},
       {"cached_tokens", facts.cached_tokens},
       // An agent may report more than the reader of money accepts.
       {"usd", facts.usd_nanos ? usd_text(std::min(*facts.usd_nanos, kUsdMax * kNanosOfUsd)) : ""},
       {"emitted_at", facts.emitted_at}});
}

std::string unknown_usage_line(const UsageFacts& facts) {
  return canonical({{"entry_type", kUnknownUsage},
                    {"workflow_id", facts.workflow_id},
                    {"run_id", facts.run_id},
                    {"phase_id", facts.phase_id},
                    {"attempt_id", facts.attempt_id},
                    {"sandbox_run_id", facts.sandbox_run_id},
                    {"source", facts.source},
                    {"emitted_at", facts.emitted_at}});
}

namespace {

Result<UsageFacts> read_unknown_usage_line(std::string_view line) {
  LineReader reader(line, kUnknownKeys);
  UsageFacts out{.is_unknown = true};
  out.attempt_id = reader.text("attempt_id");
  out.emitted_at = reader.time("emitted_at");
  reader.constant("entry_type", kUnknownUsage);
  out.phase_id = reader.text("phase_id");
  out.run_id = reader.text("run_id");
  out.sandbox_run_id = reader.text("sandbox_run_id");
  out.source = reader.text("source");
  out.workflow_id = reader.text("workflow_id");
  PAWL_OK(reader.done());
  return out;
}

}  // namespace

Result<CostFacts> read_cost_row(std::string_view line) {
  LineReader reader(line, kCostKeys);
  CostFacts out;
  out.backend = reader.text("backend");
  out.build_cache_hit = reader.boolean("build_cache_hit");
  const auto at = reader.time("emitted_at");
  reader.constant("entry_type", "cost.sandbox.run");
  out.gate_id = reader.text("gate_id");
  out.gate_isolation_class = reader.text("gate_isolation_class");
  out.image_pull_bytes = reader.count("image_pull_bytes");
  out.microvm_milliseconds = reader.thousandths("microvm_seconds");
  out.run_id = reader.text("run_id");
  out.sandbox_run_id = reader.text("sandbox_run_id");
  out.workflow_id = reader.text("workflow_id");
  PAWL_OK(reader.done());
  PAWL_TRY(out.emitted_at, parse_rfc3339(at));
  return out;
}

Result<UsageFacts> read_usage_line(std::string_view line) {
  if (line.find(kUnknownUsageMark) != line.npos) return read_unknown_usage_line(line);
  LineReader reader(line, kUsageKeys);
  UsageFacts out;
  out.attempt_id = reader.text("attempt_id");
  out.cached_tokens = reader.count("cached_tokens");
  out.emitted_at = reader.time("emitted_at");
  reader.constant("entry_type", "cost.agent.usage");
  out.input_tokens = reader.count("input_tokens");
  out.model = reader.text("model");
  out.output_tokens = reader.count("output_tokens");
  out.phase_id = reader.text("phase_id");
  out.run_id = reader.text("run_id");
  out.sandbox_run_id = reader.text("sandbox_run_id");
  out.source = reader.text("source");
  out.usage_id = reader.text("usage_id");
  const auto usd = reader.text("usd");
  out.workflow_id = reader.text("workflow_id");
  PAWL_OK(reader.done());
  if (usd.empty()) return out;
  out.usd_nanos = parse_usd(usd);
  if (!out.usd_nanos || usd_text(*out.usd_nanos) != usd)
    return fail(ErrorKind::kCorrupt, "its usd is not a decimal of dollars as it is written");
  return out;
}

}  // namespace pawl::store
