// Bases that are kept as what tells them from another one. A detail of this room.
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

// More trees than one for a base cost each look-up of a name in a sandbox; overlayfs takes 500 of them.
constexpr std::size_t kDerivedDepthMax = 8;
constexpr std::int64_t kDerivedEntriesMax = 100'000;  // of a layer; above it a copy is no slower
constexpr std::int64_t kDerivedPartMax = 4;           // at most a quarter of the lines of what it lies on

struct Derivation {
  std::string from;      // another base, kept whole or derived itself
  std::string layer_id;  // what tells this one from it
};

// What a base is made of: one that is kept whole, and layers on it, topmost first.
struct BaseParts {
  std::string whole;
  std::vector<std::string> layers;
};

// kNotFound: a part of it is not there.
Result<BaseParts> parts_of(const Workspaces& workspaces, const std::string& base_id);
// Of a base that is not kept whole, too; nothing when there is no record, or one that can't be read.
std::optional<Derivation> derivation_of(const std::string& folder, const std::string& base_id);
// Durable when it returns. The layer and the other base are there.
Status keep_derivation(const std::string& folder, const std::string& base_id, const Derivation& derivation);

// The manifest of a base, and of what layers make of it. The text of the whole base is mapped, and not
// copied: it may have a hundred megabytes, and a layer a few lines.
class BaseManifest {
 public:
  // kCorrupt: it does not have the hash that is the base's id.
  static Result<BaseManifest> open(const Workspaces& workspaces, const std::string& base_id);
  // `layer` lies on all that was there. Its entries are sorted by path.
  void add(const std::vector<Entry>& layer);

  Result<std::string> id() const;  // the hash of the text
  Result<std::int64_t> lines() const;
  Result<std::string> text() const;

 private:
  struct Placed {
    Entry entry;
    bool hides = false;  // a folder that replaced what was there, with all below it
  };
  struct Text {
    std::deque<std::string> lines;         // of the layers
    std::vector<std::string_view> pieces;  // of the mapped text, and these lines
  };
  explicit BaseManifest(os::MappedFile whole) : whole_(std::move(whole)) {}
  Result<Text> made() const;

  os::MappedFile whole_;
  std::map<std::string, Placed> placed_;  // by path
};

// Paths of the manifest `text` that have this name, which JSON writes as it is; sorted.
std::vector<std::string> paths_named(std::string_view text, std::string_view name);

// The paths of a base's submodules, sorted.
Result<std::vector<std::string>> submodules_of(const Workspaces& workspaces, const std::string& base_id);

// The base that is the base `near` with the layer that `make_layer` makes, of about `entries`. Durable when
// it returns. "" when a whole copy is better. kCorrupt, kNotFound: nothing can be built upon `near`.
Result<std::string> derive_base(Workspaces& workspaces, const std::string& near, std::int64_t entries,
                                const std::function<Result<std::string>()>& make_layer);

}  // namespace pawl::workspace
