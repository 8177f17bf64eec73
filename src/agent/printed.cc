#include "agent/printed.h"

#include <algorithm>

#include "agent/usage_reader.h"

namespace pawl::agent {
namespace {

constexpr std::size_t kNameCharactersMax = 200;

}  // namespace

std::optional<PrintedObject> PrintedObject::parse(std::string text) {
  auto kept = std::make_unique<const std::string>(std::move(text));
  auto body = Body::parse(*kept);
  if (!body) return std::nullopt;
  return PrintedObject(std::move(kept), *std::move(body));
}

std::string PrintedObject::text(std::string_view name) const {
  return body_.text(name, static_cast<std::int64_t>(kNameCharactersMax)).value_or("");
}

std::int64_t PrintedObject::count(std::string_view name) const { return body_.integer(name).value_or(0); }

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

std::optional<PrintedObject> PrintedObject::object(std::string_view name) const {
  auto value = body_.any(name, text_->size());
  return value ? parse(*std::move(value)) : std::nullopt;
}

void PrintedObject::each_object(
    const std::function<void(const std::string& name, const PrintedObject& value)>& member) const {
  const auto names = body_.names();
  if (names.size() > kUsagesMax) return;
  for (const auto& name : names) {
    if (name.empty() || name.size() > kNameCharactersMax || !is_valid_utf8(name)) continue;
    if (const auto value = object(name)) member(name, *value);
  }
}

std::vector<PrintedObject> printed_objects(std::string_view printed,
                                           std::initializer_list<std::string_view> parts) {
  std::vector<PrintedObject> out;
  // Searches from the end. An object's last line ends with a brace, and its first line begins with one.
  std::size_t end = std::string_view::npos;  // end of the current object
  for (std::size_t line_end = printed.size(); out.size() < kUsagesMax;) {
    const auto newline = line_end == 0 ? std::string_view::npos : printed.rfind('\n', line_end - 1);
    const std::size_t start = newline == std::string_view::npos ? 0 : newline + 1;
    auto line = printed.substr(start, line_end - start);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line == "}" || (line.starts_with('{') && line.ends_with('}'))) end = start + line.size();
    if (line.starts_with('{') && end != std::string_view::npos) {
      const auto text = printed.substr(start, end - start);
      const auto has = [&](std::string_view part) { return text.find(part) != std::string_view::npos; };
      if (std::ranges::any_of(parts, has))
        if (auto object = PrintedObject::parse(std::string(text))) out.push_back(*std::move(object));
      end = std::string_view::npos;
    }
    if (start == 0) break;
    line_end = start - 1;
  }
  std::ranges::reverse(out);
  return out;
}

}  // namespace pawl::agent
