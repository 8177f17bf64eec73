#include "agent/acp/used.h"

#include <algorithm>

#include "base/money.h"

namespace pawl::agent::acp {
namespace {

constexpr std::size_t kListBytesMax = 256 << 10;

// `usage` of the end of a turn (schema of the protocol, "Usage"). Its kinds of tokens have none in common.
Usage of_turn(const PrintedObject& usage, const std::string& model) {
  return {.model = model,
          .input_tokens = sum_at_most_max(usage.count("inputTokens"), usage.count("cachedWriteTokens")),
          .output_tokens = sum_at_most_max(usage.count("outputTokens"), usage.count("thoughtTokens")),
          .cached_tokens = usage.count("cachedReadTokens")};
}

// Gemini CLI: `_meta.quota.model_usage` of the end of a turn.
void add_of_gemini(const PrintedObject& meta, std::vector<Usage>& to) {
  const auto quota = meta.object("quota");
  if (!quota) return;
  for (const auto& each : quota->objects("model_usage", kListBytesMax)) {
    const auto tokens = each.object("token_count");
    if (tokens)
      add_usage(to, {.model = each.text("model"),
                     .input_tokens = tokens->count("input_tokens"),
                     .output_tokens = tokens->count("output_tokens")});
  }
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
  add_usage(on_the_way_, {.model = model_,
                          .input_tokens = std::max<std::int64_t>(usage->count("inputTokens") - cached, 0),
                          .output_tokens = usage->count("outputTokens"),
                          .cached_tokens = cached});
}

void Used::see_end(const PrintedObject& result) {
  if (const auto usage = result.object("usage")) add_usage(ended_, of_turn(*usage, model_));
  const auto meta = result.object("_meta");
  if (ended_.empty() && meta) add_of_gemini(*meta, ended_);
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
