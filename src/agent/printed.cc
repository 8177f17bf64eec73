#include "agent/printed.h"

#include <algorithm>

#include "base/lines.h"
#include "base/money.h"

namespace pawl::agent {

std::optional<PrintedObject> PrintedObject::parse(std::string text) {
  auto kept = std::make_unique<const std::string>(std::move(text));
  auto body = Body::parse(*kept);
  if (!body) return std::nullopt;
  return PrintedObject(std::move(kept), *std::move(body));
}

std::string PrintedObject::text(std::string_view name, std::int64_t characters_max) const {
  return body_.text(name, characters_max).value_or("");
}

std::int64_t PrintedObject::count(std::string_view name) const { return body_.integer(name).value_or(0); }

bool PrintedObject::is_no_count(std::string_view name) const {
  return has(name) && !body_.integer(name) && body_.any(name, sizeof "null") != "null";
}

std::optional<std::int64_t> PrintedObject::usd_micros(std::string_view name) const {
  constexpr std::size_t kDecimals = 6;
  auto number = body_.any(name, text_->size());
  if (!number) return std::nullopt;
  // JavaScript writes numbers below a millionth with an exponent (ECMA-262, Number::toString).
  if (const auto exponent = number->find_first_of("eE"); exponent != std::string::npos)
    return number->substr(exponent + 1).starts_with('-') && !number->starts_with('-') ? std::optional(0)
                                                                                      : std::nullopt;
  if (const auto point = number->find('.'); point != std::string::npos)
    number->resize(std::min(number->size(), point + 1 + kDecimals));
  const auto micros = money(name, *number);
  return micros ? std::optional(*micros) : std::nullopt;
}

std::optional<std::string> PrintedObject::json(std::string_view name, std::size_t bytes_max) const {
  auto value = body_.any(name, bytes_max);
  return value ? std::optional(*std::move(value)) : std::nullopt;
}

std::optional<PrintedObject> PrintedObject::object(std::string_view name) const {
  auto value = body_.any(name, text_->size());
  return value ? parse(*std::move(value)) : std::nullopt;
}

void PrintedObject::each_object(
    const std::function<void(const std::string& name, const PrintedObject& value)>& member) const {
  const auto names = body_.names();
  if (names.size() > kUsagesMax) return;
  for (const auto& name : names) {
    if (name.empty() || name.size() > static_cast<std::size_t>(kPrintedTextMax) || !is_valid_utf8(name))
      continue;
    if (const auto value = object(name)) member(name, *value);
  }
}

// `value` of Body is valid JSON without whitespace outside of strings.
std::vector<PrintedObject> PrintedObject::objects(std::string_view name, std::size_t bytes_max) const {
  std::vector<PrintedObject> out;
  const auto value = body_.any(name, bytes_max);
  if (!value || !value->starts_with('[')) return out;
  int depth = 0;
  bool in_string = false;
  std::size_t start = 1;
  for (std::size_t at = 1; at < value->size(); ++at) {
    const char c = (*value)[at];
    if (in_string) {
      if (c == '\\') ++at;
      in_string = c != '"';
      continue;
    }
    in_string = c == '"';
    if (c == '{' || c == '[') ++depth;
    if (depth == 0 && (c == ',' || c == ']')) {
      if (auto object = parse(value->substr(start, at - start))) out.push_back(*std::move(object));
      start = at + 1;
    }
    if (c == '}' || c == ']') --depth;
  }
  return out;
}

std::optional<PrintedObject> printed_result(std::string_view printed) {
  // Inside of a string the quotes would be escaped.
  const auto start = printed.rfind(R"({"type":"result")");
  if (start == std::string_view::npos) return std::nullopt;
  auto text = first_line(printed.substr(start));
  while (text.ends_with(']') || text.ends_with('\r')) text.remove_suffix(1);
  return PrintedObject::parse(std::string(text));
}

std::vector<Usage> usage_by_model(const PrintedObject& stats) {
  std::vector<Usage> out;
  const auto models = stats.object("models");
  if (!models) return out;
  models->each_object([&](const std::string& name, const PrintedObject& model) {
    const auto tokens = model.object("tokens");
    if (!tokens) return;
    const std::int64_t cached = tokens->count("cached");  // part of the prompt
    out.push_back({.model = name,
                   .input_tokens = sum_at_most_max(
                       std::max<std::int64_t>(tokens->count("prompt") - cached, 0), tokens->count("tool")),
                   .output_tokens = sum_at_most_max(tokens->count("candidates"), tokens->count("thoughts")),
                   .cached_tokens = cached});
  });
  return out;
}

void add_usage(std::vector<Usage>& to, const Usage& used) {
  const auto found = std::ranges::find(to, used.model, &Usage::model);
  if (found == to.end()) return to.push_back(used);
  found->input_tokens = sum_at_most_max(found->input_tokens, used.input_tokens);
  found->output_tokens = sum_at_most_max(found->output_tokens, used.output_tokens);
  found->cached_tokens = sum_at_most_max(found->cached_tokens, used.cached_tokens);
  found->usd_micros = found->usd_micros && used.usd_micros
                          ? std::optional(sum_at_most_max(*found->usd_micros, *used.usd_micros))
                          : std::nullopt;
}

std::vector<PrintedObject> printed_objects(std::string_view printed,
                                           std::initializer_list<std::string_view> parts, std::size_t most) {
  std::vector<PrintedObject> out;
  // Searches from the end. An object's last line ends with a brace, and its first line begins with one.
  std::size_t end = std::string_view::npos;  // end of the current object
  for (std::string_view line : TextLinesFromEnd(printed)) {
    if (out.size() >= most) break;
    if (line.ends_with('\r')) line.remove_suffix(1);
    const auto start = static_cast<std::size_t>(line.data() - printed.data());
    if (line == "}" || (line.starts_with('{') && line.ends_with('}'))) end = start + line.size();
    if (line.starts_with('{') && end != std::string_view::npos) {
      const auto text = printed.substr(start, end - start);
      const auto has = [&](std::string_view part) { return text.find(part) != std::string_view::npos; };
      if (std::ranges::any_of(parts, has))
        if (auto object = PrintedObject::parse(std::string(text))) out.push_back(*std::move(object));
      end = std::string_view::npos;
    }
  }
  std::ranges::reverse(out);
  return out;
}

}  // namespace pawl::agent
