#include "agent/acp/models.h"

namespace pawl::agent::acp {
namespace {

constexpr std::size_t kOffersBytesMax = 256 << 10;  // of a list; a longer one is left out

// The values of an option, which may stand in groups.
std::vector<std::string> values_of(const PrintedObject& option) {
  std::vector<std::string> out;
  for (const auto& each : option.objects("options", kOffersBytesMax)) {
    if (auto value = each.text("value"); !value.empty()) out.push_back(std::move(value));
    for (const auto& grouped : each.objects("options", kOffersBytesMax)) out.push_back(grouped.text("value"));
  }
  return out;
}

}  // namespace

std::optional<Models> models_of(const PrintedObject& opened) {
  for (const auto& option : opened.objects("configOptions", kOffersBytesMax)) {
    if (option.text("category") != "model") continue;
    return Models{
        .option = option.text("id"), .current = option.text("currentValue"), .offered = values_of(option)};
  }
  const auto models = opened.object("models");
  if (!models) return std::nullopt;
  Models out{.option = {}, .current = models->text("currentModelId"), .offered = {}};
  for (const auto& each : models->objects("availableModels", kOffersBytesMax))
    out.offered.push_back(each.text("modelId"));
  return out;
}

}  // namespace pawl::agent::acp
