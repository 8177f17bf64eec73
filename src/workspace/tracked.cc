// Reads git's index. Format: gitformat-index(5).
#include "workspace/tracked.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "os/file.h"

namespace pawl::workspace {
namespace {

constexpr std::uint64_t kIndexBytesMax = 1 << 30;  // The limit for an index of git, with some million files.
constexpr std::uint64_t kGitFileBytesMax = 1 << 16;
constexpr std::size_t kHeaderBytes = 12, kStatBytes = 40, kFlagsBytes = 2, kExtensionBytes = 8;
constexpr std::uint64_t kExtended = 0x4000;      // Two more bytes of flags follow.
constexpr std::size_t kSizesOfIds[] = {20, 32};  // SHA-1 and SHA-256; the index does not say which.
constexpr std::string_view kSharedExtension = "link";

// A number in network byte order. Bytes after the end count as zeros, so a read there finds no entry.
std::uint64_t number_at(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint64_t out = 0;
  for (std::size_t i = 0; i < size; ++i)
    out = out << 8U | (at + i < bytes.size() ? static_cast<unsigned char>(bytes[at + i]) : 0U);
  return out;
}

using EachName = std::function<void(std::string_view name, std::uint64_t number)>;

// The entries of an index whose ids have `id_bytes`.
class Entries {
 public:
  Entries(std::string_view bytes, std::size_t id_bytes)
      : bytes_(bytes.substr(0, bytes.size() < id_bytes ? 0 : bytes.size() - id_bytes)), id_bytes_(id_bytes) {}

  // Visits the entries. Returns the offset of their end; nullopt when the bytes are not such an index.
  std::optional<std::size_t> walk(const EachName& each) {
    const std::uint64_t version = number_at(bytes_, 4, 4), count = number_at(bytes_, 8, 4);
    if (!bytes_.starts_with("DIRC") || version < 2 || version > 4) return std::nullopt;
    for (std::uint64_t i = 0; i < count; ++i) {
      const std::size_t start = at_;
      at_ += kStatBytes + id_bytes_ + kFlagsBytes;
      if (at_ >= bytes_.size()) return std::nullopt;
      if ((number_at(bytes_, at_ - kFlagsBytes, kFlagsBytes) & kExtended) != 0) at_ += kFlagsBytes;
      if (!(version == 4 ? read_short_name() : read_name(start))) return std::nullopt;
      each(name_, i);
    }
    return at_;
  }

 private:
  bool read_name(std::size_t start) {
    const auto end = bytes_.find('\0', at_);
    if (end == std::string_view::npos) return false;
    name_ = bytes_.substr(at_, end - at_);
    at_ = start + ((end - start + 8) & ~std::size_t{7});  // 1 to 8 zeros.
    return at_ <= bytes_.size();
  }

  // A number of bytes to drop from the end of the previous name, then the text that replaces them.
  bool read_short_name() {
    std::uint64_t gone = 0;
    for (bool more = true, first = true; more; first = false) {
      if (at_ >= bytes_.size() || gone > bytes_.size()) return false;
      const std::uint64_t byte = static_cast<unsigned char>(bytes_[at_++]);
      gone = ((first ? gone : gone + 1) << 7U) + (byte & 0x7FU);
      more = (byte & 0x80U) != 0;
    }
    const auto end = bytes_.find('\0', at_);
    if (end == std::string_view::npos || gone > whole_.size()) return false;
    whole_.resize(whole_.size() - gone);
    whole_ += bytes_.substr(at_, end - at_);
    name_ = whole_;
    at_ = end + 1;
    return true;
  }

  const std::string_view bytes_;  // Without the hash at the end.
  const std::size_t id_bytes_;
  std::size_t at_ = kHeaderBytes;
  std::string_view name_;
  std::string whole_;
};

struct TrackedAt {
  std::vector<std::uint64_t> entries;  // Numbers of the entries that are the searched path, or lie below it.
  std::size_t id_bytes = 0;
  std::string_view shared;  // The extension that names the index which this one changes.
};

// nullopt: not an index whose ids have `id_bytes`.
std::optional<TrackedAt> look(std::string_view bytes, std::size_t id_bytes, const std::string& below) {
  TrackedAt out{.id_bytes = id_bytes};
  const auto end = Entries(bytes, id_bytes).walk([&](std::string_view name, std::uint64_t number) {
    if (name.starts_with(below) && (name.size() == below.size() || name[below.size()] == '/'))
      out.entries.push_back(number);
  });
  if (!end) return std::nullopt;
  std::string_view rest = bytes.substr(*end, bytes.size() - id_bytes - *end);
  while (rest.size() >= kExtensionBytes) {
    const std::uint64_t size = number_at(rest, 4, 4);
    if (size > rest.size() - kExtensionBytes) return std::nullopt;
    if (rest.starts_with(kSharedExtension)) out.shared = rest.substr(kExtensionBytes, size);
    rest.remove_prefix(kExtensionBytes + size);
  }
  return rest.empty() ? std::optional(std::move(out)) : std::nullopt;
}

// Whether the bit is set in an EWAH bitmap (git's Documentation/technical/bitmap-format). A word says how
// many words share one value, and how many literal words follow.
bool has_bit(std::string_view map, std::uint64_t bit) {
  constexpr std::size_t kSizesBytes = 8, kWordBytes = 8, kBits = 64;
  const std::uint64_t words = std::min<std::uint64_t>(number_at(map, 4, 4), map.size() / kWordBytes);
  std::uint64_t first = 0;  // The first bit of the next word.
  for (std::uint64_t i = 0; i < words && first <= bit;) {
    const std::uint64_t word = number_at(map, kSizesBytes + i * kWordBytes, kWordBytes);
    const std::uint64_t same = word >> 1U & 0xFFFFFFFFU, others = word >> 33U;
    if (bit < first + same * kBits) return (word & 1U) != 0;
    first += same * kBits;
    if (bit < first + others * kBits) {
      const std::uint64_t at = i + 1 + (bit - first) / kBits;
      return (number_at(map, kSizesBytes + at * kWordBytes, kWordBytes) >> (bit - first) % kBits & 1U) != 0;
    }
    first += others * kBits;
    i += 1 + others;
  }
  return false;
}

std::unexpected<Error> unreadable(const std::string& index) {
  return std::unexpected(Error{.kind = ErrorKind::kCorrupt,
                               .message = index + " is no index of git, so it does not say what git "
                                                  "tracks. `git status` says what is wrong with it",
                               .path = index});
}

Result<TrackedAt> look(const os::MappedFile& file, const std::string& index, const std::string& below) {
  for (const std::size_t id_bytes : kSizesOfIds)
    if (auto found = look(file.bytes(), id_bytes, below)) return *std::move(found);
  return unreadable(index);
}

// `below` is relative to the root of the work tree.
Result<bool> has(const std::string& index, const std::string& below) {
  const auto file = os::MappedFile::open(index, kIndexBytesMax);
  // The index belongs to another user, so it is not part of our clone.
  if (!file && file.error().kind == ErrorKind::kDenied) return false;
  if (!file) return std::unexpected(file.error());
  PAWL_TRY(const auto found, look(*file, index, below));
  if (!found.entries.empty()) return true;
  const auto id = found.shared.substr(0, found.id_bytes);
  if (id.find_first_not_of('\0') == std::string_view::npos) return false;
  const std::string shared = os::join(os::folder_of(index), "sharedindex." + to_hex(id));
  PAWL_TRY(const auto shared_file, os::MappedFile::open(shared, kIndexBytesMax));
  PAWL_TRY(const auto in_shared, look(shared_file, shared, below));
  const auto removed = found.shared.substr(id.size());
  for (const auto entry : in_shared.entries)
    if (!has_bit(removed, entry)) return true;
  return false;
}

// The index of the work tree with this .git. "" when .git is a file that leads nowhere, as in a container
// that has only the worktree.
Result<std::string> index_of(const std::string& git) {
  std::string folder = git;
  if (!os::is_folder(git)) {
    constexpr std::string_view kStart = "gitdir: ";
    if (!os::is_regular_file(git)) return std::string();
    PAWL_TRY(folder, os::read_file(git, kGitFileBytesMax));
    if (!folder.starts_with(kStart)) return std::string();
    folder.erase(0, kStart.size());
    folder.erase(folder.find_last_not_of("\r\n") + 1);
    if (!folder.starts_with('/')) folder = os::join(os::folder_of(git), folder);
  }
  std::string index = os::join(folder, "index");
  return os::is_regular_file(index) ? std::move(index) : std::string();
}

}  // namespace

Result<std::string> index_that_tracks(const std::string& folder) {
  std::string below;
  for (std::string above = folder;; above = os::folder_of(above)) {
    if (const std::string git = os::join(above, ".git"); os::exists(git)) {
      if (below.empty()) return git;
      PAWL_TRY(const auto index, index_of(git));
      if (!index.empty()) {
        PAWL_TRY(const bool has_it, has(index, below));
        if (has_it) return index;
      }
    }
    if (above == "/") return std::string();
    below = above.substr(above.rfind('/') + 1) + (below.empty() ? "" : "/" + below);
  }
}

}  // namespace pawl::workspace
