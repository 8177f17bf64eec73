// Bases that are stored as the difference from another base. A detail of this room.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "os/file.h"
#include "workspace/workspace.h"

namespace pawl::workspace {

// Each tree of a base costs every look-up of a name in a sandbox; overlayfs takes 500 trees.
constexpr std::size_t kDerivedDepthMax = 8;
constexpr std::int64_t kDerivedEntriesMax = 100'000;  // In one layer; above it a copy is no slower.
constexpr std::int64_t kDerivedPartMax = 4;           // At most a quarter of the lines of the base below.

struct Derivation {
  std::string from;      // Another base, stored whole or derived itself.
  std::string layer_id;  // The difference from `from`.
};

// The parts of a base: a base that is stored whole, and the layers on it, topmost first.
struct BaseParts {
  std::string whole;
  std::vector<std::string> layers;
};

// kNotFound: a part of the base is missing.
Result<BaseParts> parts_of(const Workspaces& workspaces, const std::string& base_id);
// How a base is derived, by its record. The base and the layer that it names are not looked up. nullopt: there is no
// record, or it can't be read.
std::optional<Derivation> derivation_of(const std::string& folder, const std::string& base_id);
// Durable when it returns. REQUIRES: the layer and the other base are stored.
Status keep_derivation(const std::string& folder, const std::string& base_id, const Derivation& derivation);

// The manifest of a base with layers applied. The text of the whole base is mapped, not copied: it may have a
// hundred megabytes, and a layer a few lines.
class BaseManifest {
 public:
  // kCorrupt: the hash of the manifest is not the base's id. kNotFound: a part of the base is missing.
  static Result<BaseManifest> open(const Workspaces& workspaces, const std::string& base_id);
  // Applies `layer` on top of all that was added before. REQUIRES: its entries are sorted by path.
  void add(const std::vector<Entry>& layer);

  Result<std::string> id() const;  // The hash of the text.
  Result<std::int64_t> lines() const;
  Result<std::string> text() const;

 private:
  struct Placed {
    Entry entry;
    bool hides = false;  // A folder that replaced an entry, and hides all below it.
  };
  struct Text {
    std::deque<std::string> lines;         // Lines that layers add.
    std::vector<std::string_view> pieces;  // Parts of the mapped text and of `lines`, in order.
  };
  explicit BaseManifest(os::MappedFile whole) : whole_(std::move(whole)) {}
  Result<Text> made() const;

  os::MappedFile whole_;
  std::map<std::string, Placed> placed_;  // By path.
};

// The paths in the manifest `text` whose last name is `name`, sorted. REQUIRES: JSON needs no escape for
// `name`.
std::vector<std::string> paths_named(std::string_view text, std::string_view name);

// The paths of a base's submodules, sorted.
Result<std::vector<std::string>> submodules_of(const Workspaces& workspaces, const std::string& base_id);

// Derives a base: the base `near` with the layer that `make_layer` makes, of about `entries` entries. Durable
// when it returns. "" when a whole copy is better. kCorrupt, kNotFound: `near` can't be built upon.
Result<std::string> derive_base(Workspaces& workspaces, const std::string& near, std::int64_t entries,
                                const std::function<Result<std::string>()>& make_layer);

}  // namespace pawl::workspace
