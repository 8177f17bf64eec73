#include "workspace/repositories.h"

#include <algorithm>

#include "base/hash.h"
#include "base/json.h"
#include "workspace/seal.h"

namespace pawl::workspace {
namespace {

constexpr std::string_view kRepositories = "repositories";
// Part of each name. Another number stands for repositories that are made in another way.
constexpr int kMadeAs = 1;

}  // namespace

std::string repository_name(const std::string& base_id, const std::vector<std::string>& layers,
                            const std::string& history) {
  Json name = {{"made_as", kMadeAs}, {"base", base_id}, {"layers", layers}};
  if (!history.empty()) name["history"] = history;
  return blake3_hex(canonical(name));
}

Status keep_repository(const Workspaces& workspaces, const std::string& name, const MadeRepository& made) {
  return keep_record(workspaces, kRepositories, name,
                     canonical({{"base", made.base_id},
                                {"has_layers", made.has_layers},
                                {"commit", made.made.commit},
                                {"tree", made.made.tree},
                                {"layers", made.made.layers}}));
}

std::optional<MadeRepository> known_repository(const Workspaces& workspaces, const std::string& name) {
  const auto text = record_of(workspaces, kRepositories, name);
  const auto json = text ? parse_json(*text) : Result<Json>(Json());
  if (!json || !json->is_object()) return std::nullopt;
  MadeRepository out;
  try {
    json->at("base").get_to(out.base_id);
    json->at("has_layers").get_to(out.has_layers);
    json->at("commit").get_to(out.made.commit);
    json->at("tree").get_to(out.made.tree);
    json->at("layers").get_to(out.made.layers);
  } catch (const Json::exception&) {
    return std::nullopt;
  }
  const bool is_whole = std::ranges::all_of(
      out.made.layers, [&](const auto& id) { return is_hash(id) && workspaces.has_layer(id); });
  return is_whole && !out.made.layers.empty() ? std::optional(std::move(out)) : std::nullopt;
}

}  // namespace pawl::workspace
