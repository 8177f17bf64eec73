#include "agent/acp/models.h"

#include <algorithm>

namespace pawl::agent::acp {
namespace {

constexpr std::size_t kOffersBytesMax = 256 << 10;  // for a list

// The values of an option, which may stand in groups.
std::vector<std::string> values_of(const PrintedObject& option) {
  std::vector<std::string> out;
  for (const auto& each : option.objects("options", kOffersBytesMax)) {
    if (auto value = each.text("value"); !value.empty()) out.push_back(std::move(value));
    for (const auto& grouped : each.objects("options", kOffersBytesMax)) out.push_back(grouped.text("value"));
  }
  return out;
}

bool is_too_long(const PrintedObject& object, std::string_view list) {
  return object.has(list) && !object.json(list, kOffersBytesMax);
}

}  // namespace

std::optional<Models> models_of(const PrintedObject& opened) {
  if (is_too_long(opened, "configOptions")) return Models{.is_too_long = true};
  const auto options = opened.objects("configOptions", kOffersBytesMax);
  auto found =
      std::ranges::find_if(options, [](const auto& each) { return each.text("category") == "model"; });
  // A category is optional.
  if (found == options.end())
    found = std::ranges::find_if(
        options, [](const auto& each) { return each.text("id") == "model" && !each.has("category"); });
  if (found != options.end())
    return Models{
        .option = found->text("id"), .current = found->text("currentValue"), .offered = values_of(*found)};
  const auto models = opened.object("models");
  if (!models) return std::nullopt;
  if (is_too_long(*models, "availableModels")) return Models{.is_too_long = true};
  Models out{.option = {}, .current = models->text("currentModelId"), .offered = {}};
  for (const auto& each : models->objects("availableModels", kOffersBytesMax))
    out.offered.push_back(each.text("modelId"));
  return out;
}

}  // namespace pawl::agent::acp
