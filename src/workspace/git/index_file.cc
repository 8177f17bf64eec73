#include "workspace/git/index_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "workspace/git/big_endian.h"

namespace pawl::workspace {
namespace {

constexpr std::string_view kIndexFileMagic = "DIRC";
constexpr std::uint32_t kIndexVersion = 2;
constexpr std::size_t kIndexHeadBytes = 12;    // The magic, the version and the number of entries.
constexpr std::size_t kIndexEntryBytes = 62;   // the bytes of an entry before its path
constexpr std::size_t kNameLengthMax = 0xFFF;  // A longer path has this length in its flags.

// One to eight zeros end an entry, so that its length is a multiple of eight.
std::size_t length_of_entry(std::size_t path_size) {
  return (kIndexEntryBytes + path_size + 8) & ~std::size_t{7};
}

std::string tree_line(std::uint32_t mode, std::string_view name, const ObjectId& id) {
  std::string out = fmt::format("{:o} {}", mode, name);
  out += '\0';
  out += bytes_of(id);
  return out;
}

// The order of the paths in an index is the order of the names in a tree, where a folder counts as if its name
// ended with a slash. One walk through the index thus makes all trees.
class TreeMaker {
 public:
  TreeMaker(const IndexItems& items, PackWriter& pack) : items_(items), pack_(pack) {}

  struct Made {
    ObjectId id{};
    std::size_t items = 0;
    std::string cache;  // All that follows the name of the tree in the extension.
  };
  Result<Made> make(const std::string& prefix) {
    constexpr std::uint32_t kTree = 040000;
    Made out;
    std::string content, below;
    std::size_t trees = 0;
    while (at_ < items_.size() && items_[at_].path.starts_with(prefix)) {
      const auto& item = items_[at_];
      const std::string_view rest = std::string_view(item.path).substr(prefix.size());
      const auto slash = rest.find('/');
      const auto name = rest.substr(0, slash);
      if (slash == std::string_view::npos) {
        content += tree_line(item.mode, name, item.id);
        ++out.items;
        ++at_;
        continue;
      }
      PAWL_TRY(const auto made, make(prefix + std::string(name) + "/"));
      content += tree_line(kTree, name, made.id);
      below += name;
      below += '\0';
      below += made.cache;
      out.items += made.items;
      ++trees;
    }
    out.id = id_of(ObjectType::kTree, content);
    if (!pack_.has(out.id)) PAWL_OK(pack_.add(packed(ObjectType::kTree, content)));
    out.cache = fmt::format("{} {}\n", out.items, trees);
    out.cache += bytes_of(out.id);
    out.cache += below;
    return out;
  }

 private:
  const IndexItems& items_;
  PackWriter& pack_;
  std::size_t at_ = 0;
};

}  // namespace

Result<Trees> add_trees(const IndexItems& items, PackWriter& pack) {
  PAWL_TRY(auto made, TreeMaker(items, pack).make(""));
  return Trees{.root = made.id, .cache = std::string(1, '\0') + made.cache};
}

// Without the changed time, the device, the inode and the owner: they differ from sandbox to sandbox.
std::string index_text(const IndexItems& items, std::string_view tree_cache) {
  std::size_t size = kIndexHeadBytes + tree_cache.size() + 64;
  for (const auto& item : items) size += length_of_entry(item.path.size());
  std::string out(kIndexFileMagic);
  out.reserve(size);
  put_32_bits(out, kIndexVersion);
  put_32_bits(out, static_cast<std::uint32_t>(items.size()));
  for (const auto& item : items) {
    const std::size_t begin = out.size();
    for (const std::uint32_t value :
         {0U, 0U, item.mtime_s, item.mtime_ns, 0U, 0U, item.mode, 0U, 0U, item.size})
      put_32_bits(out, value);
    out += bytes_of(item.id);
    put_16_bits(out, std::min(item.path.size(), kNameLengthMax));
    out += item.path;
    out.append(begin + length_of_entry(item.path.size()) - out.size(), '\0');
  }
  out += "TREE";
  put_32_bits(out, static_cast<std::uint32_t>(tree_cache.size()));
  out += tree_cache;
  Sha1 hash;
  hash.add(out);
  out += bytes_of(hash.end());
  return out;
}

Result<IndexItems> items_of_index(std::string_view text) {
  const auto corrupt = [] { return fail(ErrorKind::kCorrupt, "an index that Pawl made can't be read"); };
  if (text.size() < kIndexHeadBytes || !text.starts_with(kIndexFileMagic) ||
      get_32_bits(text, 4) != kIndexVersion)
    return corrupt();
  const std::size_t count = get_32_bits(text, 8);
  text.remove_prefix(kIndexHeadBytes);
  IndexItems out;
  for (std::size_t i = 0; i < count; ++i) {
    if (text.size() < kIndexEntryBytes) return corrupt();
    const auto path = text.substr(kIndexEntryBytes, text.find('\0', kIndexEntryBytes) - kIndexEntryBytes);
    const std::size_t length = length_of_entry(path.size());
    if (text.size() < length || path.empty()) return corrupt();
    auto& item = out.emplace_back(IndexItem{.path = std::string(path),
                                            .mode = get_32_bits(text, 24),
                                            .size = get_32_bits(text, 36),
                                            .mtime_s = get_32_bits(text, 8),
                                            .mtime_ns = get_32_bits(text, 12)});
    std::copy_n(text.data() + 40, item.id.size(), item.id.begin());
    text.remove_prefix(length);
  }
  return out;
}

}  // namespace pawl::workspace
