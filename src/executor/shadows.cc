// The parts of a gate's runner that a file of the work can stand in for. Also the files that earlier steps of a gate
// left, and that the next step would load in place of such a part. Early steps run code that the agent wrote, so the
// next step does not see such files. It sees the products of steps: installed packages, build trees, generated
// headers, programs.
#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <set>

#include "base/glob.h"
#include "executor/episode.h"
#include "plan/script.h"

namespace pawl::executor {
namespace {

std::string folder_of(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? "" : path.substr(0, slash);
}

// The folder of `path` up to a part of this name; "" when it has none.
std::string container_of(const std::string& path, std::string_view name) {
  const std::string inside = "/" + std::string(name) + "/", whole = "/" + path;
  const auto at = whole.find(inside);
  return at == std::string::npos ? "" : whole.substr(1, at + inside.size() - 2);
}

// Whether a new file may be a product of its step, although its name is that of a part of a runner.
bool may_be_product(const std::string& path, const gates::Shadows& shadows) {
  const auto was_there = [&](const std::string& other) { return shadows.was_there(other); };
  constexpr std::array<std::string_view, 4> kContainers = {"node_modules", "site-packages", "dist-packages",
                                                           "vendor"};
  for (const auto name : kContainers)
    if (const auto container = container_of(path, name); !container.empty()) return !was_there(container);
  constexpr std::array<std::string_view, 7> kMade = {".h",     ".hh", ".hpp",    ".hxx",
                                                     ".cmake", ".mk", "Makefile"};
  const auto is_end = [&](auto end) { return path.ends_with(end); };
  const std::string folder = folder_of(path);
  const std::string_view name = std::string_view(path).substr(folder.empty() ? 0 : folder.size() + 1);
  const bool is_link_to_installed =
      name == "node_modules";  // a folder of this name is not a change of a file
  if (is_link_to_installed || std::ranges::any_of(kMade, is_end) || was_there(path + ".in")) return true;
  const bool begins_package = name.starts_with("__init__.") || folder.ends_with(".dist-info");
  return !folder.empty() && !was_there(begins_package ? folder_of(folder) : folder) &&
         !(begins_package && folder_of(folder).empty());
}

}  // namespace

gates::Shadows Episode::shadows(const std::string& layer, const std::vector<std::string>& below) const {
  gates::Shadows out{.was_there =
                         [this](const std::string& path) {
                           return world_.objects.has_path(claim_->run.base_id, base_stack_, path);
                         },
                     .is_protected =
                         [this](const std::string& path) {
                           const bool covered =
                               any_covers(rules_.protect, path) || any_covers(rules_.protect_existing, path);
                           return covered && world_.objects.has_path(claim_->run.base_id, base_stack_, path);
                         },
                     .allowed = plan_->allow_shadowing};
  auto layers = below;
  if (!layer.empty()) layers.insert(layers.begin(), layer);
  out.is_there = [this, layers](const std::string& path) {
    return world_.objects.has_path(claim_->run.base_id, layers, path);
  };
  out.adds_tests = [this, layer, below, known = std::make_shared<std::optional<std::set<std::string>>>()](
                       const std::string& folder) {
    // The walk costs as much as the check itself, and few changes ask for it.
    if (!*known) *known = folders_of_new_tests(layer, below);
    return (*known)->contains(folder) || (*known)->contains("");
  };
  for (const auto& step : steps_)
    if (step.role == StepRole::kGate && step.rerun == 0) {
      const auto text = plan::text_of(step.step->argv);
      out.folders.add({text});
      out.targets.add({text});
    }
  const auto text_in = [this](std::vector<std::string> layers) {
    return [this, layers = std::move(layers)](const std::string& path) {
      constexpr std::uint64_t kBytesMax = 1 << 20;
      return world_.objects.text_at(claim_->run.base_id, layers, path, kBytesMax).value_or("");
    };
  };
  out.targets.read_makefiles(out.folders.modules, text_in(below));
  out.targets.read_work(text_in(below), text_in(std::move(layers)));
  gates::add_folders_of_work(out);
  out.targets.is_protected = out.is_protected;
  out.targets.in_base = out.was_there;
  out.targets.in_work = out.is_there;
  out.targets.hidden_failures = [](const auto& argv) { return plan::hidden_failures(argv); };
  return out;
}

std::set<std::string> Episode::folders_of_new_tests(const std::string& layer,
                                                    const std::vector<std::string>& below) const {
  std::set<std::string> out;
  if (layer.empty()) return out;
  const auto walk = world_.objects.each_change(
      claim_->run.base_id, below, layer, [](const std::string&) { return false; },
      [&](const FileChange& change) {
        const auto folder = folder_of(change.path);
        const auto name = change.path.substr(folder.empty() ? 0 : folder.size() + 1);
        const bool is_test = name.find("test") != name.npos || name == "conftest.py";
        if (change.after && !folder.empty() && name.ends_with(".py") && is_test) out.insert(folder);
        return Status();
      });
  if (!walk) out.insert("");  // any folder may have one
  return out;
}

Result<std::vector<std::string>> Episode::shadows_left(const std::string& layer,
                                                       const std::vector<std::string>& below) const {
  auto parts = shadows(layer, below);
  parts.was_there = [&](const std::string& path) {
    return world_.objects.has_path(claim_->run.base_id, below, path);
  };
  // A step builds programs for the next one, makes the files that targets name, and compiles protected sources.
  parts.is_protected = nullptr;
  parts.folders.programs.clear();
  parts.folders.libraries.clear();
  for (auto& make : parts.targets.makes) make.replaced.clear();
  const auto reads = [&](const std::string& path) { return gates::shadowing_reads(path, parts.targets); };
  std::vector<std::string> out;
  PAWL_OK(world_.objects.each_change(claim_->run.base_id, below, layer, reads, [&](const FileChange& change) {
    const bool is_made = !change.before && may_be_product(change.path, parts);
    if (!is_made && !gates::shadowing(change, parts).empty()) out.push_back(change.path);
    return Status();
  }));
  return out;
}

Result<workspace::Workspaces::Sight> Episode::sight_between(const std::string& gate_id,
                                                            const std::vector<std::string>& layers,
                                                            std::size_t left) const {
  auto sight = sight_of(gate_id);
  for (std::size_t i = 0; i < left; ++i) {
    auto known = shadows_left_.find(layers[i]);
    if (known == shadows_left_.end()) {
      std::vector<std::string> below(layers.begin() + static_cast<std::ptrdiff_t>(i) + 1, layers.end());
      below.insert(below.end(), base_stack_.begin(), base_stack_.end());
      PAWL_TRY(auto found, shadows_left(layers[i], below));
      known = shadows_left_.emplace(layers[i], std::move(found)).first;
    }
    std::ranges::copy(known->second, std::back_inserter(sight.shadows));
  }
  std::ranges::sort(sight.shadows);
  return sight;
}

}  // namespace pawl::executor
