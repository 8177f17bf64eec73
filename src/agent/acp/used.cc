#include "agent/acp/used.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

#include "base/money.h"

namespace pawl::agent::acp {
namespace {

constexpr std::size_t kListBytesMax = 256 << 10;

bool has_no_count(const PrintedObject& usage, std::initializer_list<std::string_view> counts) {
  return std::ranges::any_of(counts, [&](std::string_view name) { return usage.is_no_count(name); });
}

// `usage` of the end of a turn (schema of the protocol, "Usage"). Its kinds of tokens have none in common.
Usage of_turn(const PrintedObject& usage, const std::string& model) {
  return {.model = model,
          .input_tokens = sum_at_most_max(usage.count("inputTokens"), usage.count("cachedWriteTokens")),
          .output_tokens = sum_at_most_max(usage.count("outputTokens"), usage.count("thoughtTokens")),
          .cached_tokens = usage.count("cachedReadTokens")};
}

// Gemini CLI: `_meta.quota.model_usage` of the end of a turn. Returns whether a part of it can't be read.
bool add_of_gemini(const PrintedObject& meta, std::vector<Usage>& to) {
  const auto quota = meta.object("quota");
  if (!quota) return false;
  bool has_part = false;
  for (const auto& each : quota->objects("model_usage", kListBytesMax)) {
    const auto tokens = each.object("token_count");
    has_part = has_part || !tokens || has_no_count(*tokens, {"input_tokens", "output_tokens"});
    if (tokens)
      add_usage(to, {.model = each.text("model"),
                     .input_tokens = tokens->count("input_tokens"),
                     .output_tokens = tokens->count("output_tokens")});
  }
  return has_part;
}

}  // namespace

void Used::see_update(const PrintedObject& update) {
  if (update.text("sessionUpdate") == "usage_update") {
    const auto cost = update.object("cost");
    const auto amount = cost && cost->text("currency") == "USD" ? cost->usd_micros("amount") : std::nullopt;
    if (amount) cost_ = amount;
    context_ = update.count("used");
    return;
  }
  // Qwen Code: `_meta.usage` of an empty message after each call.
  const auto meta = update.object("_meta");
  const auto usage = meta ? meta->object("usage") : std::nullopt;
  if (!usage) return;
  const std::int64_t cached = usage->count("cachedReadTokens");  // a part of the input
  on_the_way_is_part_ =
      on_the_way_is_part_ || has_no_count(*usage, {"inputTokens", "outputTokens", "cachedReadTokens"});
  add_usage(on_the_way_, {.model = model_,
                          .input_tokens = std::max<std::int64_t>(usage->count("inputTokens") - cached, 0),
                          .output_tokens = usage->count("outputTokens"),
                          .cached_tokens = cached});
}

void Used::see_end(const PrintedObject& result) {
  if (const auto usage = result.object("usage")) {
    add_usage(ended_, of_turn(*usage, model_));
    ended_is_part_ = has_no_count(
        *usage, {"inputTokens", "outputTokens", "thoughtTokens", "cachedReadTokens", "cachedWriteTokens"});
  }
  const auto meta = result.object("_meta");
  if (ended_.empty() && meta) ended_is_part_ = add_of_gemini(*meta, ended_);
}

bool Used::has_last_call_alone() const {
  std::int64_t input = 0;
  for (const auto& each : ended_)
    input = sum_at_most_max(input, sum_at_most_max(each.input_tokens, each.cached_tokens));
  return !ended_.empty() && input <= context_;
}

std::vector<Usage> Used::by_model() const {
  auto out = ended_.empty() ? on_the_way_ : ended_;
  if (!cost_) return out;
  const auto cost = std::max<std::int64_t>(*cost_ - reported_, 0);
  // The cost is one of all models.
  if (out.size() == 1) out.front().usd_micros = cost;
  if (out.empty()) out.push_back({.model = model_, .usd_micros = cost});
  return out;
}

}  // namespace pawl::agent::acp
