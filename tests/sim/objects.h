// Layers without files. The content of a layer follows from its name, because the same layer is judged again
// after a crash.
#pragma once

#include <functional>
#include <future>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/sandboxes.h"
#include "sim/world.h"
#include "workspace/object_store.h"

namespace pawl::sim {

class SimObjects final : public workspace::ObjectStore {
 public:
  SimObjects(World& world, const SimSandboxes& sandboxes) : world_(world), sandboxes_(sandboxes) {}
  // No layer, or one with nothing but files as they were and empty folders.
  static bool changes_nothing(const std::string& layer) {
    return layer.empty() || std::hash<std::string>()(layer) % 11 == 0;
  }
  Result<workspace::Hold> hold() override { return workspace::Hold(); }
  bool has_layer(const std::string&) const override { return true; }
  Status check_before_use(const std::string&, const std::vector<std::string>&) const override { return {}; }
  std::future<Status> check_beside(std::vector<workspace::Used>) const override {
    return std::async(std::launch::deferred, [] { return Status(); });
  }
  std::vector<std::string> trees_of(const std::string& base_id) const override {
    return {"/base/" + base_id};
  }
  Result<std::string> blob_tail(const std::string& blob, std::uint64_t) const override {
    return "output\n" + sandboxes_.output_in(blob);
  }
  Result<std::vector<workspace::File>> files_of(const std::string& layer_id, const std::vector<std::string>&,
                                                std::uint64_t, std::size_t) const override {
    std::vector<workspace::File> out(1);
    out[0] = {.path = "answer", .bytes = std::make_unique<MemorySource>(sandboxes_.answer_in(layer_id))};
    return out;
  }
  Result<workspace::Workspaces::Filtered> without_protected(const std::string& layer_id, const std::string&,
                                                            const std::vector<std::string>&,
                                                            const PathRules& rules) override {
    workspace::Workspaces::Filtered out{.layer_id = layer_id};
    // Depends on the layer, not on the dice: the same layer is judged again after a crash.
    if (!rules.empty() && std::hash<std::string>()(layer_id) % 10 == 0)
      out.protected_changes.emplace_back("test/one");
    return out;
  }
  Result<workspace::Workspaces::Work> without_ignored(const std::string& layer_id,
                                                      const workspace::Workspaces::Source&,
                                                      const std::vector<std::string>&) override {
    return workspace::Workspaces::Work{.layer_id = layer_id};
  }
  Result<workspace::Workspaces::RefusedWork> refused_work(const std::vector<std::string>& named, std::int64_t,
                                                          const workspace::Workspaces::Source&,
                                                          const std::vector<std::string>&) const override {
    return workspace::Workspaces::RefusedWork{.paths = named};
  }
  Result<bool> leaves_out(const std::string&, const workspace::Workspaces::Source&,
                          const std::vector<std::string>&) const override {
    return false;
  }
  Result<workspace::Workspaces::Work> without_caches(const std::string& layer_id,
                                                     const workspace::Workspaces::Source&,
                                                     const std::vector<std::string>&) override {
    return workspace::Workspaces::Work{.layer_id = layer_id};
  }
  Status set_times(const std::string&, const std::string&, const std::vector<std::string>&) const override {
    return {};
  }
  Result<std::string> lid(const std::string&, const std::vector<std::string>&,
                          const std::vector<std::string>&,
                          const workspace::Workspaces::Sight&) const override {
    return std::string();
  }
  bool has_path(const std::string&, const std::vector<std::string>&, const std::string&) const override {
    return false;
  }
  Result<std::string> text_at(const std::string&, const std::vector<std::string>&, const std::string& path,
                              std::uint64_t) const override {
    return fail(ErrorKind::kNotFound, path);
  }
  Result<std::string> only(const std::string& layer_id, const std::vector<std::string>&) const override {
    return layer_id;
  }
  Result<std::vector<std::string>> stack(const std::string&,
                                         const std::vector<std::string>& layers) override {
    world_.pass("stack");
    return layers;
  }
  Result<workspace::Workspaces::Repository> repository_for(const workspace::Workspaces::Source&,
                                                           const std::vector<std::string>&,
                                                           const std::string&) override {
    return workspace::Workspaces::Repository();
  }
  Result<std::string> deletion_of(const std::string&, const std::vector<std::string>&,
                                  const std::vector<std::string>&) override {
    return std::string();
  }
  Result<std::vector<std::string>> overlap(const std::string& a, const std::string& b,
                                           std::size_t) const override {
    if (std::hash<std::string>()(a + b) % 3 == 0) return std::vector<std::string>{"file"};
    return std::vector<std::string>();
  }
  Status each_change(const std::string&, const std::vector<std::string>&, const std::string& layer,
                     const workspace::ReadsFile&,
                     const std::function<Status(const FileChange&)>& visit) const override {
    if (changes_nothing(layer)) return {};
    return visit(
        {.path = std::hash<std::string>()(layer) % 7 == 0 ? "conftest.py" : "file", .after = FileVersion()});
  }
  Result<workspace::Patch> diff(const std::string&, const std::vector<std::string>&,
                                const std::vector<std::string>& after, std::uint64_t) const override {
    const auto lines = std::hash<std::string>()(after.front()) % 3;
    std::string patch = "@@ -0,0 +1," + std::to_string(lines) + " @@\n";
    for (std::size_t i = 0; i < lines; ++i) patch += "+line\n";
    return workspace::Patch{.text = std::move(patch)};
  }

 private:
  World& world_;
  const SimSandboxes& sandboxes_;
};

}  // namespace pawl::sim
