// Merges many layers to a few. Four adjacent layers are merged to one, four of those to a larger one, and so
// on. A file is thus linked once for each power of four, not once for each layer put on top (ext4 allows
// 65,000 links). overlayfs gets at most three trees for each power (it takes 500).
#include <algorithm>

#include "base/hash.h"
#include "workspace/changes.h"
#include "workspace/seal.h"
#include "workspace/workspace.h"

namespace pawl::workspace {
namespace {

constexpr std::size_t kMergedAtOnce = 4;

class Stack {
 public:
  // `layers`: topmost first.
  Stack(Workspaces& workspaces, const std::string& base_id, const std::vector<std::string>& layers)
      : workspaces_(workspaces), base_id_(base_id), layers_(layers.rbegin(), layers.rend()) {
    names_.reserve(layers_.size() + 1);
    names_.push_back(base_id);
    for (const auto& layer : layers_) names_.push_back(blake3_hex(names_.back() + layer));
  }

  Result<std::vector<std::string>> make() const {
    std::size_t size = 1;
    while (size * kMergedAtOnce <= layers_.size()) size *= kMergedAtOnce;
    std::vector<std::string> out;
    for (std::size_t begin = 0; begin < layers_.size(); begin += size) {
      while (size > layers_.size() - begin) size /= kMergedAtOnce;
      PAWL_TRY(auto merged, merge(begin, size, out));
      if (!merged.empty()) out.insert(out.begin(), std::move(merged));
    }
    return out;
  }

 private:
  // The name of the record for the merge of `size` layers from `begin` on. It binds everything below them.
  std::string name_of(std::size_t begin, std::size_t size) const {
    return blake3_hex(names_[begin + size] + "/" + std::to_string(size));
  }

  std::optional<std::string> known(std::size_t begin, std::size_t size) const {
    auto id = record_of(workspaces_, kMerges, name_of(begin, size));
    // The record is missing or torn by a power cut, or gc removed the layer.
    if (!id || (*id != kNothing && !(is_hash(*id) && workspaces_.has_layer(*id)))) return std::nullopt;
    return *id == kNothing ? std::string() : *id;
  }

  // The largest known merges of these layers, and the layers without one. Topmost first.
  std::vector<std::string> parts(std::size_t begin, std::size_t size) const {
    if (size == 1) return {layers_[begin]};
    std::vector<std::string> out;
    const std::size_t part = size / kMergedAtOnce;
    for (std::size_t at = begin + size; at > begin; at -= part) {
      const auto merged = part == 1 ? std::nullopt : known(at - part, part);
      if (merged && !merged->empty()) out.push_back(*merged);
      if (!merged) std::ranges::copy(parts(at - part, part), std::back_inserter(out));
    }
    return out;
  }

  Result<std::string> merge(std::size_t begin, std::size_t size,
                            const std::vector<std::string>& below) const {
    if (size == 1) return workspaces_.merge(base_id_, below, {layers_[begin]});
    if (auto merged = known(begin, size)) return *std::move(merged);
    PAWL_TRY(auto merged, workspaces_.merge(base_id_, below, parts(begin, size)));
    PAWL_OK(keep_record(workspaces_, kMerges, name_of(begin, size), merged.empty() ? kNothing : merged));
    return merged;
  }

  static constexpr std::string_view kMerges = "merges";
  static constexpr std::string_view kNothing = "nothing";  // The layers undo each other.

  Workspaces& workspaces_;
  const std::string& base_id_;
  const std::vector<std::string> layers_;  // The lowest first.
  std::vector<std::string> names_;         // Entry i names the base and the i lowest layers.
};

}  // namespace

Result<std::string> Workspaces::merge(const std::string& base_id, const std::vector<std::string>& below,
                                      const std::vector<std::string>& layers) {
  if (layers.empty()) return std::string();
  const View view(trees_of(base_id, below));
  PAWL_TRY(auto changes, changes_of(*this, view, layers));
  const std::size_t named = changes.size();
  PAWL_OK(add_folders_between(view, changes));
  if (layers.size() == 1 && changes.size() == named) return layers.front();
  return keep_changes(folder_, changes);
}

Result<std::string> Workspaces::merge_executions(const std::string& base_id,
                                                 const std::vector<std::string>& below,
                                                 const std::vector<std::string>& layers) {
  const View view(trees_of(base_id, below));
  PAWL_TRY(auto changes, changes_of(*this, view, layers));
  drop_unchanged(view, changes);
  PAWL_OK(add_folders_between(view, changes));
  return keep_changes(folder_, changes);
}

Result<std::vector<std::string>> Workspaces::stack(const std::string& base_id,
                                                   const std::vector<std::string>& layers) {
  return Stack(*this, base_id, layers).make();
}

}  // namespace pawl::workspace
